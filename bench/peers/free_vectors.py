"""Vectors that cost next to nothing: what embedding takes is no part of the comparison."""

from __future__ import annotations

import zlib


def vector(text: str) -> list[float]:
    """Sixteen positive numbers, not of unit length, the same for the same text."""
    seed = zlib.crc32(text.encode())
    return [1.0 + (seed >> shift) % 7 for shift in range(16)]

"""Work on bodies off the loop: what is small is done at once, what may be large in threads, few at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

SMALL = 16 * 2**10
"""Bytes up to which a body is worked on at once: a small one may still become a large one."""
_AT_ONCE = 2
"""What comes out of a body is known only afterwards, so few at a time may be unpacked."""

T = TypeVar("T")


class Aside:
    """Where a receiver has its bodies unpacked, converted and checked."""

    def __init__(self) -> None:
        self._room = asyncio.Semaphore(_AT_ONCE)

    async def run(self, function: Callable[..., T], body: bytes, *arguments: Any) -> T:
        """``function(body, *arguments)``; in a thread where ``body`` is not small."""
        if len(body) < SMALL:
            return function(body, *arguments)
        async with self._room:
            return await asyncio.to_thread(function, body, *arguments)

"""Embedders: texts to unit vectors. Cosine measures topic, never support."""

from ragtrace.embedders.base import Embedder, cosine

__all__ = ["Embedder", "cosine"]

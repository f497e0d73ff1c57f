"""Put phrases together into one pattern."""

from __future__ import annotations


def one_of(*phrases: str) -> str:
    """A group that matches any of ``phrases``, each a regular expression, the first that fits."""
    return f"(?:{'|'.join(phrases)})"


def words(text: str) -> str:
    """A group that matches any of the words in ``text``, which is split at white space."""
    return one_of(*text.split())

"""The verdict cache: the same content judged by the same revision costs nothing the second time."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from typing import Protocol, TypeVar

from pydantic import TypeAdapter, ValidationError

T = TypeVar("T")


class VerdictStore(Protocol):
    """Where judged parts are kept: text by key. The collector backs it with its database."""

    def get(self, key: str) -> str | None:
        """The text under ``key``, if it is there."""

    def put(self, key: str, value: str) -> None:
        """Keep ``value``; may forget it later."""


class MemoryStore:
    """Keeps the ``entries`` least recently used last."""

    def __init__(self, entries: int) -> None:
        self._entries, self._kept = entries, OrderedDict[str, str]()

    def get(self, key: str) -> str | None:
        """The text under ``key``, if it is there; it becomes the most recent."""
        if key in self._kept:
            self._kept.move_to_end(key)
        return self._kept.get(key)

    def put(self, key: str, value: str) -> None:
        """Keep ``value``, forget the oldest when full."""
        self._kept[key] = value
        self._kept.move_to_end(key)
        while len(self._kept) > self._entries:
            self._kept.popitem(last=False)


def cache_key(revision: str, *content: object) -> str:
    """Key of what a judge of ``revision`` finds on ``content`` (values with a stable ``repr``)."""
    return hashlib.sha256("\x1f".join([revision, *map(repr, content)]).encode("utf-8", "replace")).hexdigest()


def recall(store: VerdictStore, key: str, kind: TypeAdapter[T]) -> T | None:
    """What is stored under ``key``; ``None`` where nothing is, or nothing that is still readable."""
    stored = store.get(key)
    if stored is None:
        return None
    try:
        return kind.validate_json(stored)
    except ValidationError:
        return None


def remember(store: VerdictStore, key: str, kind: TypeAdapter[T], value: T) -> None:
    """Store ``value`` under ``key``."""
    store.put(key, kind.dump_json(value).decode("utf-8"))

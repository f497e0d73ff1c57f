"""A completion that came as server-sent events although nobody asked for a stream."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ragtrace.judges.replies import read_mappings


def read_stream(body: bytes) -> dict[str, Any] | None:
    """The body of one completion that the chunks of ``body`` spell; ``None`` where it is no such stream.

    A stream that breaks off spells a text that breaks off. An error that a chunk holds is kept.
    """
    whole: dict[str, Any] = {}
    text: list[str] = []
    finish, streamed = None, False
    for chunk in _chunks(body):
        whole |= {key: value for key in ("usage", "error") if (value := chunk.get(key))}
        for part in read_mappings(chunk.get("choices"))[:1]:
            said = part.get("delta") or part.get("message")
            content = said.get("content") if isinstance(said, dict) else None
            text.append(content if isinstance(content, str) else "")
            finish, streamed = part.get("finish_reason") or finish, True
    if not streamed:
        return whole if "error" in whole else None
    return whole | {"choices": [{"finish_reason": finish, "message": {"content": "".join(text)}}]}


def _chunks(body: bytes) -> Iterator[dict[str, Any]]:
    """The JSON objects behind ``data:``."""
    # Not splitlines: a JSON string may hold what Unicode calls the end of a line.
    for line in body.decode("utf-8", "replace").split("\n"):
        if line.startswith("data:"):
            try:
                chunk = json.loads(line.removeprefix("data:"))
            except (ValueError, RecursionError):
                continue
            if isinstance(chunk, dict):
                yield chunk

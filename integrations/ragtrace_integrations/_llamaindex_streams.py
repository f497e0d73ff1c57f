"""The answers that LlamaIndex streams, followed to their end.

A streaming query is over, for LlamaIndex, before its first token: the model starts when the app reads, in a
place where nothing says to which query it belongs. So the query's id is current while the stream works.
"""

from __future__ import annotations

from collections.abc import Callable

from llama_index_instrumentation.span import active_span_id

from ragtrace_integrations._streams import Follower


class QueryFollower(Follower):
    """Follows the answer of the query ``span_id``; ``ended`` is told what it gave and what ended it."""

    def __init__(self, span_id: str, ended: Callable[[str, BaseException | None], None]) -> None:
        pieces: list[str] = []
        super().__init__(lambda piece: pieces.append(str(piece)), lambda error: ended("".join(pieces), error))
        self._span_id = span_id

    def __enter__(self) -> None:
        """Spans that start from here on belong to the query."""
        self._token = active_span_id.set(self._span_id)

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """What is current is again what was."""
        active_span_id.reset(self._token)
        super().__exit__(kind, error, trace)

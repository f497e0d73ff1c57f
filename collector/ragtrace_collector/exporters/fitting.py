"""Spans as one backend takes their attributes: no more of them, none longer."""

from __future__ import annotations

from dataclasses import dataclass

from ragtrace_collector.otlp import RawSpan, cap_attributes, cut_texts, join, split


@dataclass(frozen=True, slots=True)
class Fit:
    """``max_text`` is in bytes of one text, ``max_attributes`` counts those of one span; ``None`` = any."""

    max_text: int | None = None
    max_attributes: int | None = None

    def __call__(self, body: bytes) -> tuple[bytes, int]:
        """An encoded trace request → one that fits, and how many of its spans had to be changed.

        A request in which every span fits stays the very same bytes.

        Raises:
            MalformedOtlp: it is none.
        """
        if self.max_text is None and self.max_attributes is None:
            return body, 0
        spans = split(body)
        fitted = [self._fitted(span) for span in spans]
        changed = sum(after is not before for before, after in zip(spans, fitted, strict=True))
        return (join(fitted), changed) if changed else (body, 0)

    def _fitted(self, span: RawSpan) -> RawSpan:
        if self.max_attributes is not None:
            span = cap_attributes(span, self.max_attributes)
        return span if self.max_text is None else cut_texts(span, self.max_text)

"""Judge interactions that carry a certain attribute."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ragtrace_collector.policies import Candidate


@dataclass(frozen=True, slots=True)
class Attribute:
    """Some span, or its resource, has ``key``; with ``equals`` of that value, with ``pattern`` matching it.

    ``equals`` is compared as text where the attribute is no text (``"true"`` equals the boolean true);
    ``pattern`` is a regular expression that must be found in the value.
    """

    key: str
    equals: str | None = None
    pattern: str | None = None

    def __post_init__(self) -> None:
        if self.pattern is not None:
            try:
                re.compile(self.pattern)
            except re.error as error:
                raise ValueError(f"pattern is no regular expression: {error}") from None

    def matches(self, candidate: Candidate) -> bool:
        """Whether some value of ``key`` satisfies the rule."""
        values = (
            _as_text(attributes[self.key])
            for span in candidate.spans
            for attributes in (span.attributes, span.resource)
            if self.key in attributes
        )
        return any(self._accepts(value) for value in values)

    def _accepts(self, value: str) -> bool:
        if self.equals is not None and value != self.equals:
            return False
        return self.pattern is None or re.search(self.pattern, value) is not None


def _as_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)

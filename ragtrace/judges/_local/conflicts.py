"""What it is for a claim to conflict with a passage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ragtrace.judges._local.passages import Passage

Kind = Literal["quantity", "unit", "name", "antonym", "negation", "only", "reserved", "crossed"]


@dataclass(frozen=True, slots=True)
class Conflict:
    """The claim says ``claimed`` where ``passage`` says ``found``. A ``unit`` conflict is a nuance, no
    contradiction."""

    kind: Kind
    claimed: str
    found: str
    passage: Passage

    @property
    def contradicts(self) -> bool:
        """Whether it alone makes the claim contradicted."""
        return self.kind != "unit"

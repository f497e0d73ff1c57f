"""What a judge is asked in one request, and what it answered: the nouns of the LLM judge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from ragtrace.model import Language, Need, Support

Call = Literal["grounding", "reference"]


@dataclass(frozen=True, slots=True)
class Item:
    """A sentence to judge. ``number`` is its number in the request, 0 = shown for context only.

    ``unit`` is the index of the :class:`ragtrace.model.Unit` that it came from; ``cites`` the 1-based ranks.
    """

    number: int
    text: str
    unit: int = 0
    cites: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Shown:
    """What a request shows of a document. ``rank`` is 1-based; 0 stands for the earlier turns."""

    rank: int
    text: str


@dataclass(frozen=True, slots=True)
class Task:
    """One request of call 1 (``grounding``) or call 3 (``reference``).

    ``relevance_of`` are the ranks to judge for relevance. ``extra`` asks for the question's needs in call 1,
    for the answer's claims that the reference lacks in call 3. ``answer`` is shown in call 3 only.
    """

    call: Call
    language: Language
    question: str
    documents: tuple[Shown, ...]
    items: tuple[Item, ...]
    relevance_of: tuple[int, ...] = ()
    extra: bool = False
    rewritten: str | None = None
    answer: str | None = None

    @property
    def asked(self) -> tuple[Item, ...]:
        """The items that want a verdict."""
        return tuple(item for item in self.items if item.number)

    @property
    def has_pairs(self) -> bool:
        """Whether a cited document needs a verdict of its own."""
        return self.call == "grounding" and any(item.cites for item in self.asked)

    def narrowed(
        self,
        items: tuple[Item, ...],
        relevance_of: tuple[int, ...],
        extra: bool,
        ranks: frozenset[int] | None = None,
    ) -> Task:
        """The same request for less: only ``items`` and ``relevance_of``; ``ranks`` keeps those documents."""
        kept = tuple(d for d in self.documents if ranks is None or d.rank in ranks)
        return replace(self, items=items, relevance_of=relevance_of, extra=extra, documents=kept)


def canary_number(task: Task) -> int:
    """The number of the canary claim: behind all that the request asks."""
    return max((item.number for item in task.asked), default=0) + 1


def decoy_number(task: Task) -> int:
    """The number of the decoy document: behind all that the request shows."""
    return max((document.rank for document in task.documents), default=0) + 1


@dataclass(frozen=True, slots=True)
class Entry:
    """One claim of a reply. ``support`` is ``None`` for NO_CLAIM: the item states no fact.

    ``pairs`` maps cited ranks to their verdicts; ``confidence`` is the probability of support, 0..1. Not
    ``decided``: the verdict lacked evidence and could not be asked again.
    """

    number: int
    text: str
    support: Support | None
    quote: str = ""
    pairs: Mapping[int, Support] = field(default_factory=dict)
    in_answer: bool | None = None
    confidence: float | None = None
    decided: bool = True


@dataclass(frozen=True, slots=True)
class Findings:
    """What replies to a task said so far: item number → claims, rank → relevance, the extra part.

    ``canary`` says whether the known claim was judged rightly (``None`` = not judged at all), ``decoy``
    whether the decoy document was called helpful, which makes all relevance beside it worthless; ``ignored``
    counts entries that nobody asked for, repeats and values outside the enum; ``cut`` says that a reply ended
    early, ``problem`` what was wrong with the last reply.
    """

    entries: Mapping[int, tuple[Entry, ...]] = field(default_factory=dict)
    relevance: Mapping[int, bool] = field(default_factory=dict)
    needs: tuple[Need, ...] | None = None
    extra_claims: tuple[str, ...] | None = None
    canary: bool | None = None
    decoy: bool = False
    ignored: int = 0
    cut: bool = False
    problem: str | None = None

    def joined(self, later: Findings) -> Findings:
        """These findings with what ``later`` adds; what is known already stays."""
        return Findings(
            entries={**later.entries, **self.entries},
            relevance={**later.relevance, **self.relevance},
            needs=self.needs if self.needs is not None else later.needs,
            extra_claims=self.extra_claims if self.extra_claims is not None else later.extra_claims,
            canary=later.canary if self.canary is None else self.canary,
            decoy=self.decoy or later.decoy,
            ignored=self.ignored + later.ignored,
            cut=later.cut,
            problem=later.problem,
        )

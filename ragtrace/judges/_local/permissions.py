"""What a claim allows and a passage forbids, or the other way round, in whatever words: 禁用 and 可以使用."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from ragtrace.judges._local.passages import Passage, clauses
from ragtrace.text.tokens import content, words

_FORBIDS = re.compile(
    r"\b(?:(?:must|may|can|should|shall) ?not|cannot|can't|mustn't|shouldn't|do not|don't|never"
    r"|not (?:be )?(?:allowed|permitted|used|taken)|prohibited|forbidden|contraindicated|banned|disallowed)\b"
    r"|禁[用止忌]|严禁|[忌慎]用|不得|不可(?![抗靠能思])|不能|不允许|不[准许应宜]|[请切]勿|谢绝"
)
_ALLOWS = re.compile(
    r"\b(?:may|can|allowed|permitted|safe (?:to|for))\b|可以(?:放心)?|允许|准许|能够"
    r"|(?<![不许认])[可能](?=[使服食吃用带进入乘停办申])"
)
_BOUND = re.compile(r"\b(?:more|longer|less|later|earlier) than\b|\bexceed|超过|[多少低高大小早晚]于")
"""「不得超过」 forbids an amount, not the thing."""
_EXCEPTION = re.compile(r"\b(?:except|unless)\b|除非|除了?(?=[^，]{1,12}外)")
"""What follows is exempt. A condition ("if you are pregnant") stays with what it is of."""
_HELD, _HELD_BACK = 0.6, 0.5
"""The share of the claim's content in the clause of the passage, and of the clause's in the claim's."""
_FEWEST = 2


@dataclass(frozen=True, slots=True)
class _Rule:
    """A clause that allows or forbids, with the content of what it does so to."""

    mode: Literal["allows", "forbids"]
    text: str
    subject: frozenset[str]


def forbids(normal: str) -> bool:
    """Whether a normalised text forbids something."""
    return _FORBIDS.search(normal) is not None


def rival_permission(normal: str, passage: Passage) -> tuple[str, str] | None:
    """The clause of the claim ``normal`` that allows what ``passage`` forbids, or forbids what it allows, and
    the passage's; ``None`` where there is none, or another clause of the passage says the same."""
    said = _rules(normal)
    if not said or not (_FORBIDS.search(passage.normal) or _ALLOWS.search(passage.normal)):
        return None
    stated = _rules(passage.normal)
    for rule in said:
        like = [(_likeness(rule, other), other) for other in stated]
        against = max(
            ((s, o) for s, o in like if o.mode != rule.mode), key=lambda pair: pair[0], default=None
        )
        along = max((s for s, o in like if o.mode == rule.mode), default=0.0)
        if against is not None and against[0] >= _HELD and against[0] > along:
            return rule.text, against[1].text
    return None


def _likeness(rule: _Rule, other: _Rule) -> float:
    """The share of the content of ``rule`` in ``other``, 0 where that is of much else besides."""
    shared = len(rule.subject & other.subject)
    if len(rule.subject) < _FEWEST or shared < _HELD_BACK * len(other.subject):
        return 0.0
    return shared / len(rule.subject)


@lru_cache(maxsize=256)  # a claim is held against several passages
def _rules(normal: str) -> tuple[_Rule, ...]:
    if not (_FORBIDS.search(normal) or _ALLOWS.search(normal)):
        return ()
    return tuple(_read(normal))


def _read(normal: str) -> Iterator[_Rule]:
    for clause in clauses(normal):
        for part in _EXCEPTION.split(clause):
            forbids = _FORBIDS.search(part)
            if (forbids is None and not _ALLOWS.search(part)) or _BOUND.search(part):
                continue
            subject = frozenset(content(words(_ALLOWS.sub(" ", _FORBIDS.sub(" ", part)))))
            yield _Rule("allows" if forbids is None else "forbids", part.strip(" .。!！?？"), subject)

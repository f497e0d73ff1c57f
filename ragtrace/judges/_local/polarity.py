"""A bare yes or no: its content is the question's. "Can I pay by transfer?" – "Yes." claims that one can.

The passage that holds most of the question either says it or denies it; where the answer says the same, it
is supported, where it says the opposite, it is contradicted.
"""

from __future__ import annotations

import re
from functools import cache

from ragtrace.judges._local.claims import count_negations
from ragtrace.judges._local.conflicts import Conflict
from ragtrace.judges._local.corpus import Corpus, Evidence
from ragtrace.judges._local.passages import Passage
from ragtrace.judges._local.questions import NeedText, share_held
from ragtrace.judges._local.support import CONTRADICTED_AT_MOST, Finding
from ragtrace.model import Support
from ragtrace.text.tokens import normalise, words

_ENOUGH = 0.6
"""The share of the question from which a passage is taken to speak of the same."""
_BARELY, _FULLY = 0.55, 0.75
"""What it is believed where the passage holds just enough of the question, and where it holds all."""
_NO = re.compile(r"\b(?:no|nope|not|cannot|\w+n't)\b|[不否没]|禁止")
_BANS = re.compile(r"禁止|严禁|谢绝|拒绝|\b(?:banned|unavailable|disallowed)\b")
_CLAUSE = re.compile(r"[,;，；。]|\bbut\b|\bwhile\b|\bwhereas\b|但是?|而")


def says_yes(text: str) -> bool:
    """Whether a bare yes or no is a yes."""
    return not _NO.search(normalise(text))


def judge_polarity(yes: bool, need: NeedText, corpus: Corpus) -> Finding:
    """What the documents say of answering ``need``, a question to be answered by yes or no, with ``yes``."""
    shares = {index: share_held(need, passage) for index, passage in enumerate(corpus.passages)}
    best = max(shares, key=lambda index: (shares[index], -index), default=None)
    if best is None or not shares[best]:
        return Finding(Support.NOT_FOUND, CONTRADICTED_AT_MOST)
    passage, share = corpus.passages[best], shares[best]
    evidence = Evidence((passage,), share)
    if share < _ENOUGH:
        return Finding(Support.NOT_FOUND, round(share * _BARELY, 4), evidence)
    if yes is (_is_denied(need, passage) == _is_negative(normalise(need.text))):
        believed = _BARELY + (_FULLY - _BARELY) * (share - _ENOUGH) / (1 - _ENOUGH)
        return Finding(Support.SUPPORTED, believed, evidence)
    conflict = Conflict("negation", need.text, passage.text, passage)
    return Finding(Support.CONTRADICTED, CONTRADICTED_AT_MOST, evidence, conflict)


def _is_denied(need: NeedText, passage: Passage) -> bool:
    """Whether the clause of ``passage`` that holds most of ``need`` is a negative one."""
    clauses = [clause for clause in _CLAUSE.split(passage.normal) if clause.strip()]
    held = [sum(token in clause for token in _surface(need)) for clause in clauses]
    return _is_negative(clauses[held.index(max(held))]) if clauses else False


def _surface(need: NeedText) -> frozenset[str]:
    return frozenset(
        (*need.tokens, *need.forms, *(o for others in need.alternatives.values() for o in others))
    )


def _is_negative(normal: str) -> bool:
    plain = _asking().sub(" ", normal)
    return (count_negations(plain, tuple(words(plain))) + len(_BANS.findall(plain))) % 2 == 1


@cache
def _asking() -> re.Pattern[str]:
    """Chinese questions that hold a negator and do not negate."""
    return re.compile(r"([是能会要可有])(?:以)?[不没]\1(?:以)?|是否|能否|可否|有无")

"""Does an answer decline to answer?

A sentence is read clause by clause. A clause *declines* ("I cannot find that", "资料中没有相关信息"), is
*neutral* (an apology, an offer to help, where to ask instead), or says something. A sentence declines
when one of its clauses does and none says something; an answer abstains when one of its sentences
declines and the rest are neutral. So "The documents do not give the fee, but refunds take 3 days" is an
answer.
"""

from __future__ import annotations

from functools import lru_cache

from ragtrace.model import Language
from ragtrace.text import _abstain_en as en
from ragtrace.text import _abstain_zh as zh
from ragtrace.text.language import detect_language
from ragtrace.text.sentences import sentences

_EDGES = " \t\n.!?…,\"'“”‘’。！？~～、*_-"


def is_abstention(answer: str, language: Language | None = None) -> bool:
    """Whether the whole ``answer`` declines; false for an empty one and for one that goes on to answer."""
    declines = False
    for start, end in sentences(answer, language):
        sentence = answer[start:end]
        if says_not_in_documents(sentence):
            declines = True
        elif not is_neutral(sentence):
            return False
    return declines


def says_not_in_documents(sentence: str) -> bool:
    """Whether one sentence only says that there is no answer ("the documents do not say")."""
    kinds = _clauses(sentence)
    return True in kinds and False not in kinds


def is_neutral(sentence: str) -> bool:
    """Whether one sentence is an apology, a greeting, an offer to help, or says whom to ask instead."""
    kinds = _clauses(sentence)
    return bool(kinds) and all(kind is None for kind in kinds)


def is_courtesy(sentence: str) -> bool:
    """Whether one sentence is nothing but an apology, a greeting, or an offer to help."""
    if detect_language(sentence) == "zh":
        return all(zh.COURTESY.match(clause) for clause in _clauses_zh(sentence))
    return all(en.COURTESY.match(en.PREFIX.sub("", clause)) for clause in _clauses_en(sentence))


@lru_cache(maxsize=64)  # a sentence is asked for in several ways, one after the other
def _clauses(sentence: str) -> tuple[bool | None, ...]:
    """What each clause does: True it declines, None it is neutral, False it says something."""
    if detect_language(sentence) == "zh":
        return tuple(_kind_zh(clause) for clause in _clauses_zh(sentence))
    return tuple(_kind_en(clause) for clause in _clauses_en(sentence))


def _clauses_zh(sentence: str) -> list[str]:
    clauses = (clause.strip(_EDGES) for clause in zh.CLAUSE.split(sentence))
    return [zh.TURN.sub("", clause) for clause in clauses if clause]


@lru_cache(maxsize=64)
def _clauses_en(sentence: str) -> tuple[str, ...]:
    plain = sentence.lower().replace("’", "'").replace("**", "").strip(_EDGES)
    clauses = (clause.strip(_EDGES) for clause in en.CLAUSE.split(plain))
    return tuple(clause for clause in clauses if any(map(str.isalnum, clause)))


def _kind_en(clause: str) -> bool | None:
    body = en.PREFIX.sub("", clause)
    declines = any(sign in body for sign in en.SIGNS) and bool(en.DECLINES.search(body))
    if not declines and en.NEUTRAL.match(body):
        return None
    if en.CONDITION.match(body):
        return False
    return declines or (False if body else None)


def _kind_zh(clause: str) -> bool | None:
    neutral = bool(zh.NEUTRAL.match(clause))
    if zh.CONDITION.match(clause) and not neutral:
        return False
    if zh.DECLINES.search(clause):
        return True
    return None if neutral else False

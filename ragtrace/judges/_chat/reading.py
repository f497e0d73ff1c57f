"""From a reply's text to findings on the task that it answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ragtrace.judges._chat.canary import canary_holds
from ragtrace.judges._chat.entries import Entry, Findings, Item, Task, canary_number, decoy_number
from ragtrace.judges.replies import (
    Ambiguous,
    is_no_claim,
    read_flag,
    read_int,
    read_list,
    read_mappings,
    read_object,
    read_support,
    read_text,
)
from ragtrace.model import Need, Support
from ragtrace.text.language import detect_language

_KEYS = frozenset({"claims", "relevance", "needs", "extra"})


def read_findings(text: str, task: Task, confidences: Iterable[float | None] = ()) -> Findings:
    """What ``text`` says on ``task``. ``confidences`` are those of its claims, in order, where known.

    Entries that nobody asked for, repeats and values outside the enum are left out and counted. Of a cut
    reply the list that broke off is not taken for whole.
    """
    try:
        reply, cut = read_object(text, _KEYS)
    except Ambiguous:
        return Findings(problem="ambiguous")
    last_key = next(reversed(reply), None) if cut else None
    claims, ignored, canary = _claims(reply, task, list(confidences))
    if last_key == "claims":
        claims = _without_last(claims)
    helps, ignored_documents = _relevance(reply, task)
    decoy = helps.pop(decoy_number(task), False)
    wants_needs = task.extra and task.call == "grounding" and last_key != "needs"
    wants_extra = task.extra and task.call == "reference" and last_key != "extra"
    return Findings(
        entries=claims,
        relevance=helps,
        needs=_needs(reply) if wants_needs else None,
        extra_claims=_extra(reply) if wants_extra else None,
        canary=canary_holds(canary),
        decoy=decoy,
        ignored=ignored + ignored_documents,
        cut=cut,
        problem=_problem(text, reply, cut, ignored + ignored_documents),
    )


def read_questions(text: str, n: int) -> tuple[tuple[str, ...], bool | None]:
    """Call 2's reply: at most ``n`` different questions, and whether the answer is evasive."""
    try:
        reply, _ = read_object(text, frozenset({"questions", "evasive"}))
    except Ambiguous:
        return (), None
    found = (read_text(value) for value in read_list(reply.get("questions")))
    return tuple(dict.fromkeys(question for question in found if question))[:n], read_flag(
        reply.get("evasive")
    )


def _problem(text: str, reply: Mapping[str, Any], cut: bool, ignored: int) -> str | None:
    """What is wrong with a reply, as a reason for what it leaves out."""
    if not text.strip():
        return "empty_reply"
    if not reply:
        return "unparseable"
    if cut:
        return "truncated"
    return "outside_enum" if ignored else None


def _claims(
    reply: Mapping[str, Any], task: Task, confidences: list[float | None]
) -> tuple[dict[int, tuple[Entry, ...]], int, list[Support | None]]:
    asked = {item.number: item for item in task.asked}
    entries: dict[int, list[Entry]] = {}
    canary: list[Support | None] = []
    ignored = 0
    raw_claims = _listed(reply.get("claims"), "unit")
    if len(confidences) != len(raw_claims):
        confidences = [None] * len(raw_claims)
    for raw, confidence in zip(raw_claims, confidences, strict=True):
        number, verdict = read_int(raw.get("unit")), raw.get("verdict")
        support = read_support(verdict)
        if support is None and not is_no_claim(verdict):
            ignored += 1
        elif number == canary_number(task) and asked:
            canary.append(support)
        elif number is None or number not in asked:
            ignored += 1
        else:
            entry = _entry(raw, asked[number], support, confidence)
            known = entries.setdefault(number, [])
            if any(entry.text == other.text for other in known):
                ignored += 1
            else:
                known.append(entry)
    return {number: _settled(found) for number, found in entries.items()}, ignored, canary


def _listed(value: Any, key: str) -> list[Mapping[str, Any]]:
    """The entries of a reply's list, also where each sentence or document has a key of its own."""
    if not isinstance(value, dict):
        return read_mappings(value)
    return [
        {"helps": part, **part_fields, key: name}
        for name, parts in value.items()
        for part in read_list(parts)
        for part_fields in (part if isinstance(part, dict) else {},)
    ]


def _without_last(claims: dict[int, tuple[Entry, ...]]) -> dict[int, tuple[Entry, ...]]:
    """All but the sentence that a cut may have robbed of claims; a lone one is kept, or nothing ever ends."""
    return dict(list(claims.items())[:-1]) if len(claims) > 1 else claims


def _entry(raw: Mapping[str, Any], item: Item, support: Support | None, confidence: float | None) -> Entry:
    return Entry(
        number=item.number,
        text=_claim_text(read_text(raw.get("claim")), item.text),
        support=support,
        quote=read_text(raw.get("quote")),
        pairs=_pairs(raw, item),
        in_answer=read_flag(raw.get("in_answer")),
        confidence=confidence,
    )


def _claim_text(written: str, unit: str) -> str:
    """The claim as written; the unit's own words where none were, or where they are in another language."""
    return written if written and detect_language(written) == detect_language(unit) else unit


def _settled(found: list[Entry]) -> tuple[Entry, ...]:
    """A sentence called both a claim and no claim is a claim."""
    return tuple(entry for entry in found if entry.support is not None) or tuple(found[:1])


def _pairs(raw: Mapping[str, Any], item: Item) -> dict[int, Support]:
    pairs: dict[int, Support] = {}
    for pair in read_mappings(raw.get("pairs")):
        rank, says = read_int(pair.get("doc")), read_support(pair.get("says"))
        if rank in item.cites and rank is not None and says is not None:
            pairs.setdefault(rank, says)
    return pairs


def _relevance(reply: Mapping[str, Any], task: Task) -> tuple[dict[int, bool], int]:
    expected = {*task.relevance_of, decoy_number(task)} if task.relevance_of else set()
    helps: dict[int, bool] = {}
    ignored = 0
    for raw in _listed(reply.get("relevance"), "doc"):
        rank, flag = read_int(raw.get("doc")), read_flag(raw.get("helps"))
        if rank is None or flag is None or rank not in expected or rank in helps:
            ignored += 1
        else:
            helps[rank] = flag
    return helps, ignored


def _needs(reply: Mapping[str, Any]) -> tuple[Need, ...] | None:
    found = (
        Need(read_text(raw.get("need")), read_flag(raw.get("covered")), read_flag(raw.get("answered")))
        for raw in read_mappings(reply.get("needs"))
    )
    needs = [need for need in found if need.text and (need.covered is not None or need.answered is not None)]
    return tuple({need.text: need for need in reversed(needs)}.values())[::-1] or None


def _extra(reply: Mapping[str, Any]) -> tuple[str, ...] | None:
    if "extra" not in reply:
        return None
    return tuple(dict.fromkeys(text for value in read_list(reply["extra"]) if (text := read_text(value))))

"""Why a trace was or was not scored, in lines for people. Pure functions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ragtrace import extract
from ragtrace.extract.classify import is_rag_span
from ragtrace.model import Cause, Interaction, Language, SpanRecord
from ragtrace_collector.words.doctor import FIELDS, PHRASES, RELEASE, STATES, VERBS
from ragtrace_collector.words.reasons import status_words
from ragtrace_collector.words.terms import CAUSES, METRICS


def say(phrase: str, language: Language, **values: Any) -> str:
    """A phrase of the doctor's in ``language``, with its ``values``."""
    return PHRASES[phrase][language].format(**values)


def from_story(story: Mapping[str, Any], language: Language = "en") -> list[str]:
    """What the admin endpoint tells of a trace (``GET /traces/{id}``) → lines."""
    first = say("trace", language, id=story.get("trace_id", ""))
    if not story.get("seen"):
        return [first, f"  {say('not_seen', language)}"]
    state, spans = STATES[story["state"]][language], story["rag_spans"]
    seen = say("passed", language) if spans is None else say("seen", language, spans=spans, state=state)
    lines = [first, f"  {seen}"]
    if decision := story.get("decision"):
        lines.append(f"  {say('early', language, decision=say('decision', language, **decision))}")
    for told in story["interactions"]:
        lines += _interaction(told, language)
    if story["state"] == "held":
        lines.append(f"  {say('still_held', language)}")
    return lines


def from_spans(
    spans: Sequence[SpanRecord], interactions: Sequence[Interaction], language: Language = "en"
) -> list[str]:
    """What a file holds → lines, a paragraph a trace."""
    lines = []
    for trace_id in dict.fromkeys(span.trace_id for span in spans):
        mine = [span for span in spans if span.trace_id == trace_id]
        rag = [span for span in mine if is_rag_span(span.attributes, span.name, span.scope)]
        lines.append(say("trace", language, id=trace_id))
        lines.append(f"  {say('spans', language, spans=len(mine), rag=len(rag))}")
        found = [one for one in interactions if one.trace_id == trace_id]
        for one in found:
            lines.append(f"  {say('interaction', language, id=one.entry_span_id)}")
            lines += (f"    {line}" for line in extract.explain(one, language))
            lines.append(f"    {_fields({name: name in one.sources for name in FIELDS}, language)}")
        if not found:
            lines.append(f"  {say('no_interaction' if rag else 'no_rag', language)}")
    return lines


def _interaction(told: Mapping[str, Any], language: Language) -> Iterator[str]:
    why = RELEASE[told["release_reason"]][language]
    yield f"  {say('interaction', language, id=told['entry_span_id'])}"
    yield f"    {say('complete', language, seconds=told['complete_after_seconds'], why=why)}"
    if told.get("unread"):
        yield f"    {say('unread', language)}"
    if "fields" in told:
        yield f"    {_fields(told['fields'], language)}"
    explained = told.get("explained_zh" if language == "zh" else "explained") or told.get("explained", ())
    yield from (f"    {line}" for line in explained)
    decision = say("decision", language, **told["decision"])
    yield f"    {VERBS[told['decision']['verb']][language]}{say('colon', language)}{decision}"
    if "outcomes" in told:
        yield from (f"    {line}" for line in _outcomes(told["outcomes"], language))
        cause = told["diagnosis"] if language == "en" else CAUSES[Cause(told["diagnosis"])][language]
        yield f"    {say('diagnosis', language, cause=cause)}"
    if "skipped" in told:
        yield f"    {say('no_interaction', language)}"


def _outcomes(outcomes: Mapping[str, Mapping[str, Any]], language: Language) -> Iterator[str]:
    """The scored metrics on one line, then one line for each reason why others have no number."""
    scored = [
        f"{_metric(name, language)} {told['value']:.2f}" for name, told in outcomes.items() if "value" in told
    ]
    if scored:
        yield " · ".join(scored)
    reasons: dict[str, list[str]] = {}
    for name, told in outcomes.items():
        if "value" not in told:
            why = told.get("reason") or say("no_reason", language)
            reason = (
                f"{told['status']} ({why})"
                if language == "en"
                else status_words(told["status"], why, language)
            )
            reasons.setdefault(reason, []).append(_metric(name, language))
    colon, comma = say("colon", language), say("comma", language)
    yield from (f"{reason}{colon}{comma.join(names)}" for reason, names in reasons.items())


def _metric(name: str, language: Language) -> str:
    return name if language == "en" or name not in METRICS else METRICS[name][language]


def _fields(fields: Mapping[str, bool], language: Language) -> str:
    return " ".join(f"{FIELDS[name][language]} {'✓' if there else '✗'}" for name, there in fields.items())

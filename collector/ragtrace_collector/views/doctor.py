"""Why a trace was or was not scored, in lines for people. Pure functions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ragtrace import extract
from ragtrace.extract.classify import is_rag_span
from ragtrace.model import Interaction, SpanRecord

_RELEASE = {
    "entry": "its entry span came",
    "idle": "no entry span came; nothing more for the idle time",
    "age": "it was held for the longest time allowed",
    "memory": "memory was full",
    "stitched": "put together with other traces; nothing more came of them",
    "shutdown": "the collector stopped",
}
_NOT_SEEN = (
    "not seen: it is not among the last traces with RAG spans. Either it did not come here"
    " (does the app export to this collector?), or none of its spans carries attributes of RAG"
)
_NO_INTERACTION = (
    "no interaction in it: no span holds a question with documents or an answer"
    " (an evaluation, an index being built, a single embedding)"
)


def from_story(story: Mapping[str, Any]) -> list[str]:
    """What the admin endpoint tells of a trace (``GET /traces/{id}``) → lines."""
    if not story.get("seen"):
        return [f"trace {story.get('trace_id', '')}", f"  {_NOT_SEEN}"]
    lines = [
        f"trace {story['trace_id']}",
        f"  seen · {_count(story['rag_spans'], 'RAG span')} · {story['state']}",
    ]
    if decision := story.get("decision"):
        lines.append(f"  not judged: {_decision(decision)}, decided at its first span")
    for told in story["interactions"]:
        lines += _interaction(told)
    if story["state"] == "held":
        lines.append("  still held: it leaves two seconds after its entry span, or when nothing more comes")
    return lines


def from_spans(spans: Sequence[SpanRecord], interactions: Sequence[Interaction]) -> list[str]:
    """What a file holds → lines, a paragraph a trace."""
    lines = []
    for trace_id in dict.fromkeys(span.trace_id for span in spans):
        mine = [span for span in spans if span.trace_id == trace_id]
        rag = [span for span in mine if is_rag_span(span.attributes, span.name, span.scope)]
        lines += [f"trace {trace_id}", f"  {_count(len(mine), 'span')}, {len(rag)} of them RAG"]
        found = [one for one in interactions if one.trace_id == trace_id]
        for one in found:
            lines += [f"  interaction {one.entry_span_id}", *(f"    {line}" for line in extract.explain(one))]
            lines.append(f"    {_fields({name: name in one.sources for name in _FIELDS})}")
        if not found:
            lines.append(f"  {_NO_INTERACTION if rag else 'none of its spans carries attributes of RAG'}")
    return lines


_FIELDS = ("question", "documents", "answer")


def _interaction(told: Mapping[str, Any]) -> Iterator[str]:
    released = _RELEASE.get(told["release_reason"], told["release_reason"])
    yield f"  interaction {told['entry_span_id']}"
    yield f"    complete after {told['complete_after_seconds']:.1f} s ({released})"
    if "fields" in told:
        yield f"    {_fields(told['fields'])}"
    yield from (f"    {line}" for line in told.get("explained", ()))
    verb = {"judge": "judged", "screen": "screened only", "forward": "not judged"}[told["decision"]["verb"]]
    yield f"    {verb}: {_decision(told['decision'])}"
    if "outcomes" in told:
        yield from (f"    {line}" for line in _outcomes(told["outcomes"]))
        yield f"    diagnosis: {told['diagnosis']}"
    if "skipped" in told:
        yield f"    {_NO_INTERACTION}"


def _outcomes(outcomes: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """The scored metrics on one line, then one line for each reason why others have no number."""
    scored = [f"{name} {told['value']:.2f}" for name, told in outcomes.items() if "value" in told]
    if scored:
        yield " · ".join(scored)
    reasons: dict[str, list[str]] = {}
    for name, told in outcomes.items():
        if "value" not in told:
            reasons.setdefault(f"{told['status']} ({told.get('reason', 'no reason')})", []).append(name)
    yield from (f"{reason}: {', '.join(names)}" for reason, names in reasons.items())


def _fields(fields: Mapping[str, bool]) -> str:
    return " ".join(f"{name} {'✓' if there else '✗'}" for name, there in fields.items())


def _decision(decision: Mapping[str, Any]) -> str:
    return f"by {decision['rule']}, with probability {decision['probability']:g}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"

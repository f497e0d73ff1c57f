"""One judged interaction as a tree in the terminal.

A pure function from an :class:`~ragtrace.model.Evaluation` to a rich renderable; the language of the
interaction decides the words. Stages are shown rather than spans: what was retrieved, what was generated.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from ragtrace import semconv
from ragtrace.model import (
    Cause,
    Diagnosis,
    Evaluation,
    Hop,
    JudgedClaim,
    Language,
    Outcome,
    RetrievedDocument,
    Score,
    SpanRecord,
    Status,
    Support,
)
from ragtrace_collector.views.lines import NO_BREAK, Branch, shorten
from ragtrace_collector.words.terms import CAUSES, METRICS, PHRASES, STATUSES

SHOWN = (
    "faithfulness",
    "answer_relevancy",
    "context_precision",
    "context_recall",
    "citation_correctness",
    "answer_correctness",
)
_TRUNK = Text("│  ", "dim")
_GOOD, _WEAK, _BAD, _QUIET = "green", "yellow", "bold red", "dim"
_MAX_CLAIM, _MAX_QUOTE, _MAX_DOCUMENTS = 160, 70, 6
_MAX_COLUMN = 64
"""Cells of a claim beyond which it does not push the column of the reasons to the right."""
_MAX_EXPLANATION = 160
_MARKER_RUN = 12
"""Characters behind a claim within which a marker is shown as its own."""


def render(evaluation: Evaluation, spans: Sequence[SpanRecord] = ()) -> RenderableType:
    """The tree of one judged interaction.

    Args:
        evaluation: what was judged.
        spans: the interaction's spans, where they are at hand: they add names, models and durations.
    """
    by_id = {span.span_id: span for span in spans}
    return Group(
        _head(evaluation, by_id),
        *(_trunk(line) for line in _body(evaluation)),
        *_stages(evaluation, by_id),
        *_foot(evaluation.diagnosis, evaluation.language),
    )


def _head(evaluation: Evaluation, spans: Mapping[str, SpanRecord]) -> RenderableType:
    interaction, diagnosis = evaluation.interaction, evaluation.diagnosis
    entry = spans.get(interaction.entry_span_id or "")
    left = Branch(
        Text("● ", _colour(diagnosis)),
        Text("│ ", _QUIET),
        Text.assemble(
            (f"{entry.name}  " if entry else "", "bold"), f"“{shorten(interaction.question or '?', 120)}”"
        ),
    )
    name = CAUSES[diagnosis.cause][evaluation.language] if evaluation.language == "zh" else diagnosis.cause
    right = Text.assemble(
        (f"{diagnosis.path}  " if diagnosis.path else "", "bold red"), (name, _colour(diagnosis))
    )
    line = Table.grid(expand=True)
    line.add_column(ratio=1)
    line.add_column(justify="right", no_wrap=True)
    line.add_row(left, right)
    return line


def _body(evaluation: Evaluation) -> Iterator[RenderableType]:
    language = evaluation.language
    yield _scores(evaluation.outcomes, language)
    if not evaluation.claims:
        answer = evaluation.interaction.answer
        label = _say("answer", language) if answer else _say("no_answer", language)
        yield Text.assemble((label, _QUIET), f"  {shorten(answer or '', 100)}")
    widths = (cell_len(_claim_text(claim, evaluation)) for claim in evaluation.claims)
    width = max((width for width in widths if width <= _MAX_COLUMN), default=0)
    for claim in evaluation.claims:
        yield from _claim(claim, evaluation, width)
    for citation in evaluation.citations:
        if citation.status == "dangling":
            yield Text.assemble(("✗ ", _BAD), _say("dangling", language, label=shorten(citation.label, 24)))


def _scores(outcomes: Mapping[str, Outcome], language: Language) -> Text:
    parts = [_score(outcomes[name], language) for name in SHOWN if _is_worth_showing(outcomes.get(name))]
    return Text("   ").join(parts)


def _is_worth_showing(outcome: Outcome | None) -> bool:
    return outcome is not None and outcome.status is not Status.NOT_APPLICABLE


def _score(outcome: Outcome, language: Language) -> Text:
    name = METRICS[outcome.metric][language]
    if not isinstance(outcome, Score):
        return Text(f"{name} {STATUSES[outcome.status][language]}", style=_QUIET)
    if outcome.metric == "citation_correctness" and outcome.n_judged:
        right = round(outcome.value * outcome.n_judged)
        words = _say("right", language, right=right, total=outcome.n_judged)
        return Text.assemble(f"{name} ", (words, _shade(outcome.value)))
    text = Text.assemble(f"{name} ", (f"{outcome.value:.2f}", _shade(outcome.value)))
    if outcome.metric == "faithfulness" and outcome.n_judged:
        count = _say("of", language, judged=round(outcome.value * outcome.n_judged), total=outcome.n_judged)
        text.append(f" ({count})", style=_QUIET)
    return text


@dataclass(frozen=True, slots=True)
class _ClaimLine:
    """A claim with its reason beside it, in the column of all reasons; below it where that does not fit."""

    mark: Text
    text: str
    reason: str
    column: int

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        pad = " " * (max(self.column - cell_len(self.text), 0) + 3)
        beside = Text.assemble(_TRUNK, self.mark, self.text, pad, (self.reason, _QUIET))
        if beside.cell_len <= options.max_width:
            yield beside
            return
        under = Text.assemble(_TRUNK, "    ")
        yield Branch(Text.assemble(_TRUNK, self.mark), under, Text(self.text))
        yield Branch(under, under, Text(self.reason, _QUIET))


def _claim_text(judged: JudgedClaim, evaluation: Evaluation) -> str:
    answer = evaluation.interaction.answer or ""
    end = judged.claim.end
    limit = min((c.claim.start for c in evaluation.claims if c.claim.start >= end), default=end + _MARKER_RUN)
    behind = {
        (c.start, c.end) for c in evaluation.citations if end <= c.start <= min(limit, end + _MARKER_RUN)
    }
    markers = shorten("".join(answer[start:end] for start, end in sorted(behind)), _MAX_CLAIM)
    return f"{shorten(judged.claim.text, _MAX_CLAIM)}{f' {markers}' if markers else ''}"


def _claim(judged: JudgedClaim, evaluation: Evaluation, width: int) -> Iterator[RenderableType]:
    language, verdict = evaluation.language, judged.verdict
    text = _claim_text(judged, evaluation)
    if verdict is None:
        yield _ClaimLine(Text("? ", _WEAK), text, _say("not_judged", language), width)
        return
    mark, colour = ("✓ ", _GOOD) if verdict.support is Support.SUPPORTED else ("✗ ", _BAD)
    yield _ClaimLine(Text(mark, colour), text, reason(judged, language), width)
    for rank, pair in judged.pairs.items():
        if verdict.support is Support.SUPPORTED and pair and pair.support is not Support.SUPPORTED:
            yield Text.assemble(("  ! ", _WEAK), _say("miscited", language, n=rank))


def reason(judged: JudgedClaim, language: Language) -> str:
    """Why the claim has its verdict (it must have one): what the documents say, or which of them say so."""
    verdict = judged.verdict
    assert verdict is not None
    numbers = ", ".join(str(rank) for rank in verdict.documents)
    if verdict.support is Support.CONTRADICTED:
        if verdict.explanation:
            return shorten(verdict.explanation, _MAX_EXPLANATION)
        return _say("says", language, n=numbers, quote=shorten(verdict.quote or "", _MAX_QUOTE))
    if verdict.support is Support.NOT_FOUND:
        return _say("not_found", language)
    return (
        _say("in_documents" if len(verdict.documents) > 1 else "in_document", language, n=numbers)
        if numbers
        else ""
    )


def _stages(evaluation: Evaluation, spans: Mapping[str, SpanRecord]) -> Iterator[RenderableType]:
    interaction = evaluation.interaction
    lines = [_retrieval(hop, evaluation, spans) for hop in _retrievals(evaluation)]
    generation = spans.get(interaction.generation_span_id or "")
    if generation is not None:
        model = generation.attributes.get(semconv.LLM_MODEL_NAME) or generation.attributes.get(
            semconv.GEN_AI_REQUEST_MODEL, ""
        )
        cut = f"  {_say('partial', evaluation.language)}" if interaction.partial else ""
        lines.append(
            Text.assemble(
                (f"{_say('generate', evaluation.language)}  ", "bold"),
                f"{model}  {_took(generation)}".strip(),
                cut,
            )
        )
    for index, line in enumerate(lines):
        last = index == len(lines) - 1
        under = Text.assemble("   " if last else _TRUNK, "  ")
        yield Branch(Text("└─ " if last else "├─ ", _QUIET), under, line)


def _retrievals(evaluation: Evaluation) -> tuple[Hop, ...]:
    """The lists to show: the one that reached the prompt, or every hop where there were several."""
    interaction = evaluation.interaction
    if len(interaction.hops) > 1:
        return interaction.hops
    span_id = interaction.hops[0].span_id if interaction.hops else None
    return (Hop(None, interaction.documents, span_id),)


def _retrieval(hop: Hop, evaluation: Evaluation, spans: Mapping[str, SpanRecord]) -> Text:
    language = evaluation.language
    line = Text.assemble((f"{_say('retrieve', language)}  ", "bold"))
    if hop.documents is None:
        return line.append(_say("not_recorded", language), style=_WEAK)
    if not hop.documents:
        return line.append(_say("no_documents", language), style=_BAD)
    count = len(hop.documents)
    line.append(_say("document" if count == 1 else "documents", language, n=count))
    line.append("  ")
    ranks = {document.id: document.rank for document in evaluation.interaction.documents or ()}
    for document in hop.documents:
        line.append_text(_dot(evaluation.relevance.get(ranks.get(document.id, -1))))
    names = f"{NO_BREAK}· ".join(_document(document) for document in hop.documents[:_MAX_DOCUMENTS])
    more = f" +{count - _MAX_DOCUMENTS}" if count > _MAX_DOCUMENTS else ""
    line.append(f"  {names}{more}", style=_QUIET)
    span = spans.get(hop.span_id or "")
    return line.append(f"  {_took(span)}", style=_QUIET) if span else line


def _dot(relevance: float | None) -> Text:
    if relevance is None:
        return Text("· ", style=_QUIET)
    return Text("● ", style=_GOOD) if relevance >= 0.5 else Text("○ ", style=_QUIET)


def _document(document: RetrievedDocument) -> str:
    number = document.score if document.score is not None else document.distance
    name = shorten(document.id, 24) if document.id_source != "content_hash" else f"#{document.rank}"
    return name if number is None else f"{name}{NO_BREAK}{number:.2f}"


def _foot(diagnosis: Diagnosis, language: Language) -> Iterator[RenderableType]:
    join = _say("also_join", language)
    if diagnosis.also:
        names = join.join(CAUSES[cause][language] for cause in diagnosis.also)
        yield _indented(Text(_say("also", language), _QUIET), names)
    if diagnosis.missing:
        yield _indented(Text(_say("missing", language), _WEAK), join.join(diagnosis.missing))
    if diagnosis.advice and diagnosis.cause not in {Cause.OK, Cause.CORRECT_REFUSAL}:
        yield _indented(
            Text(_say("try", language), "cyan"), _say("advice_join", language).join(diagnosis.advice)
        )


def _trunk(line: RenderableType) -> RenderableType:
    return Branch(_TRUNK, Text.assemble(_TRUNK, "  "), line) if isinstance(line, Text) else line


def _indented(label: Text, body: str) -> RenderableType:
    """``body`` behind ``label``, its further lines under its first."""
    first = Text.assemble("   ", label)
    return Branch(first, Text(" " * first.cell_len), Text(body))


def failed(diagnosis: Diagnosis) -> bool:
    """Whether the interaction failed: on one of the paths, or by a refusal that was not needed."""
    return diagnosis.path is not None or diagnosis.cause is Cause.NEEDLESS_REFUSAL


def _colour(diagnosis: Diagnosis) -> str:
    if failed(diagnosis):
        return _BAD
    return _WEAK if diagnosis.cause is Cause.UNDETERMINED else _GOOD


def _shade(value: float) -> str:
    if value >= 0.8:
        return _GOOD
    return _WEAK if value >= 0.5 else _BAD


def _took(span: SpanRecord) -> str:
    milliseconds = (span.end_ns - span.start_ns) / 1e6
    if milliseconds >= 1000:
        return f"{milliseconds / 1000:.1f}{NO_BREAK}s"
    return f"{milliseconds:.0f}{NO_BREAK}ms"


def _say(phrase: str, language: Language, **values: object) -> str:
    return PHRASES[phrase][language].format(**values)

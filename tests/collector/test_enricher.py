"""What is written on spans: scalars, nothing for a number that is not there, every byte of before kept."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ragtrace import semconv
from ragtrace.model import (
    Cause,
    Diagnosis,
    Evaluation,
    Hop,
    Interaction,
    JudgeInfo,
    Outcome,
    RetrievedDocument,
    Score,
    SpanRecord,
    Status,
    Unscored,
)
from ragtrace.records import evaluation_from_dict
from ragtrace_collector import otlp
from ragtrace_collector.enricher import Carriers, enrich, late_carriers
from ragtrace_collector.otlp import RawSpan
from ragtrace_collector.stages import Decision, HeldInteraction, JudgedInteraction, ReleaseReason, Verb
from ragtrace_collector.verdict_attributes import entry_attributes, outcomes_json, retrieval_attributes

OFF = Carriers()
TRACE, ENTRY, RETRIEVAL = "ab" * 16, "01" * 8, "02" * 8
FAITHFUL = Score("faithfulness", 0.5, 1, 2, explanation="one of two")
DECLINED = Unscored("context_recall", Status.ABSTAINED, "abstained")


def document(text: str, rank: int) -> RetrievedDocument:
    return RetrievedDocument(f"d{text}", rank, text)


def evaluation(*outcomes: Outcome, **more: Any) -> Evaluation:
    interaction = Interaction(
        question="q",
        documents=(document("b", 1), document("a", 2)),
        hops=(Hop("q", (document("a", 1), document("b", 2), document("c", 3)), RETRIEVAL),),
        answer="a",
        trace_id=TRACE,
        entry_span_id=ENTRY,
        dialect="openinference",
    )
    found = Evaluation(
        interaction,
        {outcome.metric: outcome for outcome in outcomes},
        Diagnosis(Cause.UNFAITHFUL_ANSWER, "C", "generation", (Cause.OFF_QUESTION,), ("be strict",)),
        JudgeInfo("openai", "r1", "gpt", 2, 2900, 310),
        relevance={1: 0.2, 2: 0.9},
        sampling_probability=0.05,
        sampling_rule="share",
    )
    return replace(found, **more)


def span(span_id: str = ENTRY, **attributes: Any) -> RawSpan:
    return otlp.encode_span(
        SpanRecord(
            TRACE,
            span_id,
            None,
            "ask",
            resource={"service.name": "shop"},
            start_ns=1,
            end_ns=7,
            attributes={key.replace("__", "."): value for key, value in attributes.items()},
        )
    )


def judged(
    *evaluations: Evaluation, spans: tuple[RawSpan, ...] = (), screens: tuple[Evaluation, ...] = ()
) -> JudgedInteraction:
    held = HeldInteraction(TRACE, ENTRY, spans or (span(),), ReleaseReason.ENTRY, 0.0, 2.0)
    return JudgedInteraction(held, Decision(Verb.JUDGE, 0.05, "share"), evaluations, screens)


def written(item: JudgedInteraction, carriers: Carriers = OFF) -> Mapping[str, Any]:
    (raw,) = enrich(item, carriers).spans
    return otlp.read_span(raw).attributes


def test_a_score_is_written_with_what_it_was_made_of() -> None:
    """Value, status, counts; nothing that does not speak."""
    found = written(judged(evaluation(FAITHFUL)))
    mine = {key: value for key, value in found.items() if key.startswith("ragtrace.faithfulness")}
    assert mine == {
        "ragtrace.faithfulness": 0.5,
        "ragtrace.faithfulness.status": "scored",
        "ragtrace.faithfulness.n_judged": 1,
        "ragtrace.faithfulness.n_total": 2,
    }


def test_a_number_that_is_not_there_is_absent() -> None:
    """Status and reason say why; no 0, no NaN, no empty text."""
    found = written(judged(evaluation(DECLINED)))
    mine = {key: value for key, value in found.items() if key.startswith("ragtrace.context_recall")}
    assert mine == {
        "ragtrace.context_recall.status": "abstained",
        "ragtrace.context_recall.reason": "abstained",
    }


def test_zero_is_a_number() -> None:
    """A score of 0 is written as 0."""
    assert written(judged(evaluation(Score("faithfulness", 0.0))))["ragtrace.faithfulness"] == 0.0


def test_input_that_was_cut_shows() -> None:
    """kept_ratio is written only where something was left out."""
    found = written(judged(evaluation(replace(FAITHFUL, kept_ratio=0.4), Score("context_recall", 1.0))))
    assert found["ragtrace.faithfulness.kept_ratio"] == 0.4
    assert "ragtrace.context_recall.kept_ratio" not in found


def test_who_judged_and_why_and_what_it_means() -> None:
    """Judge, sampling and diagnosis stand on the entry span as scalars."""
    found = written(judged(evaluation(FAITHFUL)))
    assert {key: found[key] for key in found if key.startswith(("ragtrace.judge", "ragtrace.sampling"))} == {
        semconv.JUDGE_KIND: "openai",
        semconv.JUDGE_MODEL: "gpt",
        semconv.JUDGE_REVISION: "r1",
        semconv.JUDGE_CALLS: 2,
        semconv.JUDGE_INPUT_TOKENS: 2900,
        semconv.JUDGE_OUTPUT_TOKENS: 310,
        semconv.SAMPLING_PROBABILITY: 0.05,
        semconv.SAMPLING_RULE: "share",
    }
    assert {key: found[key] for key in found if key.startswith(semconv.DIAGNOSIS)} == {
        semconv.DIAGNOSIS: "unfaithful_answer",
        semconv.DIAGNOSIS_PATH: "C",
        semconv.DIAGNOSIS_STAGE: "generation",
        semconv.DIAGNOSIS_ALSO: ["off_question"],
        semconv.DIAGNOSIS_ADVICE: ["be strict"],
    }


def test_the_json_reads_back_and_does_not_repeat_the_texts() -> None:
    """One attribute holds all that was found, for tools of ours; documents are on the span already."""
    one = evaluation(FAITHFUL, DECLINED)
    record = json.loads(outcomes_json(one))
    assert not {"question", "answer", "documents", "hops"} & record.keys()
    assert evaluation_from_dict(one.interaction, record) == one


def test_a_retrieval_span_gets_the_relevance_of_its_own_documents_in_its_own_order() -> None:
    """The prompt's order is another; a document that did not reach the prompt was not judged."""
    found = retrieval_attributes(evaluation(FAITHFUL))
    assert found == {
        RETRIEVAL: {
            semconv.RETRIEVAL_RELEVANCE: [0.9, 0.2, -1.0],
            semconv.RETRIEVAL_PRECISION: 1.0,
            semconv.RETRIEVAL_NOISE: 0.5,
        }
    }


def test_a_retrieval_of_which_nothing_was_judged_stays_as_it_is() -> None:
    """No relevance, no precision of 0."""
    assert retrieval_attributes(evaluation(FAITHFUL, relevance={})) == {}


def test_original_bytes_are_kept_and_scores_stand_behind_them() -> None:
    """Unknown fields and order included."""
    unknown = b"\xfa\x3e\x03abc"  # field 1007, which no OTLP has
    raw = span(input__value="q")
    raw = replace(raw, data=raw.data + unknown)
    (sent,) = enrich(judged(evaluation(FAITHFUL), spans=(raw,))).spans
    assert sent.data.startswith(raw.data)
    assert len(sent.data) > len(raw.data)


def test_an_earlier_judgement_is_replaced_whole() -> None:
    """A score that is no longer one must not stay beside its new status."""
    raw = span(
        input__value="q", ragtrace__context_recall=0.9, ragtrace__diagnosis="ok", ragtrace__question="kept"
    )
    found = written(judged(evaluation(DECLINED), spans=(raw,)))
    assert "ragtrace.context_recall" not in found
    assert (found[semconv.DIAGNOSIS], found["ragtrace.question"], found["input.value"]) == (
        "unfaithful_answer",
        "kept",
        "q",
    )


def test_spans_that_nothing_is_said_of_are_the_same_object() -> None:
    """Without an evaluation nothing is touched."""
    raw = span(), span("09" * 8)
    assert enrich(judged(spans=raw)).spans == raw
    assert enrich(judged(evaluation(FAITHFUL), spans=raw)).spans[1] is raw[1]


def test_the_screen_speaks_under_its_own_name() -> None:
    """Beside the judge's scores, never in their place."""
    screen = evaluation(Score("faithfulness", 0.9), judge=JudgeInfo("embedded", "e1"))
    found = written(judged(evaluation(FAITHFUL), screens=(screen,)))
    assert (found["ragtrace.faithfulness"], found["ragtrace.screen.faithfulness"]) == (0.5, 0.9)
    assert found["ragtrace.screen.judge.revision"] == "e1"


def test_openinference_evaluations_start_behind_those_of_the_span() -> None:
    """Scored metrics only, each complete, from the next free index."""
    raw = span(evaluations__0__evaluation__name="mine", evaluations__3__evaluation__name="theirs")
    found = written(judged(evaluation(FAITHFUL, DECLINED), spans=(raw,)), Carriers(openinference=True))
    assert {key: value for key, value in found.items() if key.startswith("evaluations.4")} == {
        "evaluations.4.evaluation.name": "faithfulness",
        "evaluations.4.evaluation.score": 0.5,
        "evaluations.4.evaluation.annotator_kind": "LLM",
        "evaluations.4.evaluation.identifier": "ragtrace:r1",
        "evaluations.4.evaluation.explanation": "one of two",
    }
    assert not any(key.startswith("evaluations.5") for key in found)


def test_span_events_carry_scores_where_switched_on() -> None:
    """One gen_ai.evaluation.result a scored metric, at the end of the span; the span's own bytes stay."""
    raw = span()
    (sent,) = enrich(judged(evaluation(FAITHFUL, DECLINED), spans=(raw,)), Carriers(span_events=True)).spans
    (event,) = otlp.read_span(sent).events
    assert (event.name, event.time_ns) == (semconv.GEN_AI_EVENT_EVALUATION, 7)
    assert event.attributes[semconv.GEN_AI_EVALUATION_NAME] == "faithfulness"
    assert event.attributes[semconv.GEN_AI_EVALUATION_SCORE] == 0.5
    assert sent.data.startswith(raw.data)


def test_log_records_carry_scores_where_switched_on() -> None:
    """With the ids of the judged span and its resource."""
    enriched = enrich(judged(evaluation(FAITHFUL, DECLINED)), Carriers(log_records=True))
    (body,) = enriched.logs
    (record,) = otlp.read_logs(body)
    assert (record.trace_id, record.span_id, record.event_name) == (
        TRACE,
        ENTRY,
        semconv.GEN_AI_EVENT_EVALUATION,
    )
    assert record.attributes[semconv.GEN_AI_EVALUATION_SCORE] == 0.5
    assert (record.scope, record.resource["service.name"]) == (semconv.EVALUATION_SCOPE, "shop")


def test_other_carriers_are_off_by_default() -> None:
    """Only ragtrace's own attributes are added."""
    enriched = enrich(judged(evaluation(FAITHFUL)))
    record = otlp.read_span(enriched.spans[0])
    assert (enriched.logs, record.events) == ((), ())
    assert all(key.startswith("ragtrace.") for key in record.attributes)


def test_a_late_score_links_to_the_span_that_left() -> None:
    """A span of its own in the same trace and resource, and a log record."""
    late = late_carriers(judged(evaluation(FAITHFUL)), 99)
    (record,) = (otlp.read_span(raw) for raw in late.spans)
    assert (record.trace_id, record.parent_id, record.start_ns) == (TRACE, ENTRY, 99)
    assert [(link.trace_id, link.span_id) for link in record.links] == [(TRACE, ENTRY)]
    assert (record.scope, record.resource["service.name"]) == (semconv.EVALUATION_SCOPE, "shop")
    assert record.attributes["ragtrace.faithfulness"] == 0.5
    assert len(late.logs) == 1


def test_values_are_scalars_or_lists_of_them() -> None:
    """Every backend can filter by them."""
    for value in entry_attributes(evaluation(FAITHFUL, DECLINED)).values():
        parts = value if isinstance(value, list) else [value]
        assert all(isinstance(part, str | int | float | bool) for part in parts)

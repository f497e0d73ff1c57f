"""Evaluations go to plain JSON and come back the same."""

import json

from ragtrace.model import (
    Cause,
    Citation,
    Claim,
    Diagnosis,
    Evaluation,
    Interaction,
    JudgedClaim,
    JudgeInfo,
    Need,
    RetrievedDocument,
    Score,
    Status,
    Support,
    Unscored,
    Verdict,
)
from ragtrace.records import evaluation_from_dict, evaluation_to_dict, interaction_to_dict

INTERACTION = Interaction(
    question="退款多久到账？",
    documents=(RetrievedDocument("kb-1", 1, "3至5个工作日", score=0.5, metadata={"page": 2, "tags": {"a"}}),),
    answer="7天【1】。",
    trace_id="ab" * 16,
    entry_span_id="cd" * 8,
    missing=("reference",),
)
EVALUATION = Evaluation(
    interaction=INTERACTION,
    outcomes={
        "faithfulness": Score("faithfulness", 0.0, 1, 1, explanation="0 of 1"),
        "context_recall": Score("context_recall", 0.5, 1, 2, "needs", 0.25),
        "answer_correctness": Unscored(
            "answer_correctness", Status.NOT_APPLICABLE, "no_reference", 0, 1, "reference"
        ),
    },
    diagnosis=Diagnosis(
        Cause.CONTRADICTS_DOCUMENTS,
        "C",
        "generation",
        (Cause.MISCITED,),
        ("更严格的提示词",),
        ("x",),
        (Cause.RETRIEVAL_NOISY,),
    ),
    judge=JudgeInfo("embedded", "r1", None, 0, 0, 0),
    claims=(
        JudgedClaim(
            Claim("7天", 1, 0, 2, (1,)),
            Verdict(Support.CONTRADICTED, (1,), "3至5个工作日", 0.1, "回答说7天"),
            {1: Verdict(Support.NOT_FOUND), 2: None},
        ),
        JudgedClaim(Claim("x", 2, 3, 4), None),
    ),
    citations=(Citation("【1】", 2, 5, (1,)),),
    relevance={1: 0.9, 2: None},
    needs=(Need("退款多久", True, None),),
    language="zh",
    sampling_probability=0.05,
    sampling_rule="share",
)


def test_an_evaluation_survives_json() -> None:
    """What is written is read back equal, through real JSON text."""
    text = json.dumps(evaluation_to_dict(EVALUATION), ensure_ascii=False, allow_nan=False)
    assert evaluation_from_dict(INTERACTION, json.loads(text)) == EVALUATION


def test_the_promised_keys_are_there() -> None:
    """The shape that ``ragtrace score --json`` promises."""
    record = evaluation_to_dict(EVALUATION)
    assert {
        "trace_id",
        "span_id",
        "dialect",
        "question",
        "rewritten_question",
        "documents",
        "hops",
        "answer",
    } <= set(record)
    assert {"partial", "missing", "outcomes", "claims", "citations", "diagnosis", "judge"} <= set(record)
    assert {"id", "id_source", "text", "score", "distance", "rank", "metadata"} <= set(record["documents"][0])
    assert {"status", "value", "n_judged", "n_total", "basis", "kept_ratio", "reason"} <= set(
        record["outcomes"]["faithfulness"]
    )
    assert {"text", "start", "end", "verdict", "documents", "quote", "confidence"} <= set(record["claims"][0])
    assert {"path", "cause", "also", "advice"} <= set(record["diagnosis"])
    counted = {"calls", "input_tokens", "output_tokens", "estimated_calls", "local_claims"}
    assert {"kind", "model", "revision"} | counted == set(record["judge"])


def test_a_missing_number_is_null_and_never_zero() -> None:
    """An outcome without a number has a null value, its status and its reason."""
    outcome = evaluation_to_dict(EVALUATION)["outcomes"]["answer_correctness"]
    assert outcome["value"] is None
    assert (outcome["status"], outcome["reason"]) == ("not_applicable", "no_reference")


def test_unrecorded_documents_are_null_and_no_documents_are_an_empty_list() -> None:
    """``null`` and ``[]`` differ in JSON as they do in the model."""
    assert interaction_to_dict(Interaction(documents=None))["documents"] is None
    assert interaction_to_dict(Interaction(documents=()))["documents"] == []


def test_metadata_of_any_kind_becomes_json() -> None:
    """A set among the metadata costs nothing but its order."""
    document = interaction_to_dict(INTERACTION)["documents"][0]
    assert document["metadata"]["page"] == 2
    assert document["metadata"]["tags"] == ["a"]

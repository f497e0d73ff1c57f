"""The nouns: what every other module passes around.

Frozen, slotted, picklable dataclasses; standard library only. ``None`` and an empty tuple are different
everywhere: ``documents is None`` means that no retrieval was recorded (or its texts were not), ``()`` means
that a retrieval was recorded and returned nothing.

Document numbers are 1-based and count positions in ``Interaction.documents``, as a reader of the answer
counts them: the document cited as ``[1]`` has rank 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

AttributeValue = Any
"""A decoded OTLP AnyValue: str, bool, int, float, bytes, None, list or dict of the same."""

Language = Literal["en", "zh"]
IdSource = Literal["given", "metadata", "content_hash", "none"]


@dataclass(frozen=True, slots=True)
class SpanEvent:
    """One event of a span."""

    name: str
    time_ns: int
    attributes: Mapping[str, AttributeValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SpanLink:
    """A link from a span to another."""

    trace_id: str
    span_id: str
    attributes: Mapping[str, AttributeValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SpanRecord:
    """A decoded span, plain Python, no protobuf.

    Ids are lower-case hex; ``parent_id`` is ``None`` for a root. ``status`` is the OTLP code (0 unset, 1 ok,
    2 error). Times are nanoseconds since the epoch.
    """

    trace_id: str
    span_id: str
    parent_id: str | None
    name: str
    kind: int = 1
    scope: str = ""
    scope_version: str = ""
    resource: Mapping[str, AttributeValue] = field(default_factory=dict)
    attributes: Mapping[str, AttributeValue] = field(default_factory=dict)
    events: tuple[SpanEvent, ...] = ()
    links: tuple[SpanLink, ...] = ()
    status: int = 0
    status_message: str = ""
    start_ns: int = 0
    end_ns: int = 0
    dropped_attributes: int = 0


@dataclass(frozen=True, slots=True)
class LogRecord:
    """A decoded OTLP log record that names a trace; ``span_id`` is ``""`` where it names no span."""

    trace_id: str
    span_id: str
    event_name: str
    body: AttributeValue = None
    attributes: Mapping[str, AttributeValue] = field(default_factory=dict)
    scope: str = ""
    resource: Mapping[str, AttributeValue] = field(default_factory=dict)
    time_ns: int = 0


@dataclass(frozen=True, slots=True)
class RetrievedDocument:
    """One retrieved document.

    ``rank`` is its 1-based position. ``id`` is never invented: where the source gave none it is a content
    hash and ``id_source`` says ``content_hash`` (``none`` where there is no text to hash either, then ``id``
    is ``""``). ``score`` is the number of the stage that put the document where it stands, higher is better;
    where that stage was a reranker the same number is in ``rerank_score`` and the retriever's own is in the
    hop. A vector ``distance`` (lower is better) is never a score.
    """

    id: str
    rank: int
    text: str | None = None
    id_source: IdSource = "given"
    score: float | None = None
    distance: float | None = None
    rerank_score: float | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Hop:
    """One retrieval of an interaction: its query and its raw list, before rerank or fusion."""

    query: str | None
    documents: tuple[RetrievedDocument, ...] | None
    span_id: str | None = None


@dataclass(frozen=True, slots=True)
class Turn:
    """An earlier turn of the conversation."""

    question: str | None
    answer: str | None


@dataclass(frozen=True, slots=True)
class GivenCitation:
    """A citation that the app recorded in structured form: characters [start, end) of the answer cite.

    ``document`` is a document id, or a 1-based rank where it is an int.
    """

    document: str | int
    start: int | None = None
    end: int | None = None


@dataclass(frozen=True, slots=True)
class Feedback:
    """What a person said of the answer."""

    name: str
    value: float | str | bool
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class Interaction:
    """One question → documents → answer. A trace may hold several.

    ``documents`` is what reached the prompt, in that order (after rerank or fusion); the raw lists stay in
    ``hops``. ``sources`` says for each found field where it was found (``"<span name>:<attribute>"``);
    ``missing`` names the fields that the spans do not hold, each ``field`` or ``field: reason``.
    """

    question: str | None = None
    rewritten_question: str | None = None
    history: tuple[Turn, ...] = ()
    documents: tuple[RetrievedDocument, ...] | None = None
    hops: tuple[Hop, ...] = ()
    answer: str | None = None
    partial: bool = False
    error: str | None = None
    reference: str | None = None
    other_references: tuple[str, ...] = ()
    gold: Mapping[str, float] | None = None
    citations: tuple[GivenCitation, ...] = ()
    feedback: tuple[Feedback, ...] = ()
    language: Language | None = None
    app: str | None = None
    session: str | None = None
    user: str | None = None
    trace_id: str | None = None
    entry_span_id: str | None = None
    retrieval_span_ids: tuple[str, ...] = ()
    generation_span_id: str | None = None
    dialect: str = "record"
    sources: Mapping[str, str] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    kept_ratio: float = 1.0
    """Share of the recorded text that reached us: below 1 where a limit cut attributes on the way."""


MarkerStatus = Literal["resolved", "dangling", "ambiguous"]


@dataclass(frozen=True, slots=True)
class Citation:
    """One occurrence of a citation marker in the answer, at characters [start, end).

    ``documents`` are the 1-based ranks it points to; empty when ``dangling`` (no such document) or
    ``ambiguous`` (several documents carry that label).
    """

    label: str
    start: int
    end: int
    documents: tuple[int, ...] = ()
    status: MarkerStatus = "resolved"


@dataclass(frozen=True, slots=True)
class Unit:
    """A piece of the answer between sentence ends and marker runs: characters [start, end) hold ``text``.

    ``text`` is without its markers; ``citations`` are the markers of the run behind it. ``index`` is 1-based.
    ``check_worthy`` is false for greetings, questions, hedges, "the documents do not say".
    """

    index: int
    text: str
    start: int
    end: int
    citations: tuple[Citation, ...] = ()
    check_worthy: bool = True

    @property
    def cites(self) -> tuple[int, ...]:
        """The 1-based ranks that the unit's resolved markers point to, in order, without repeats."""
        return tuple(dict.fromkeys(rank for citation in self.citations for rank in citation.documents))


@dataclass(frozen=True, slots=True)
class Claim:
    """One factual statement of the answer. ``start``, ``end`` locate its unit, ``unit`` is its index."""

    text: str
    unit: int
    start: int
    end: int
    cites: tuple[int, ...] = ()
    check_worthy: bool = True


class Support(StrEnum):
    """What documents say of a claim."""

    SUPPORTED = "SUPPORTED"
    CONTRADICTED = "CONTRADICTED"
    NOT_FOUND = "NOT_FOUND"


@dataclass(frozen=True, slots=True)
class Verdict:
    """A judge's word on a claim: the documents (1-based ranks) that decide it, and a verbatim quote.

    ``confidence`` is the probability (0..1) that the claim is supported, where the judge has one.
    ``explanation`` is one sentence in the interaction's language.
    """

    support: Support
    documents: tuple[int, ...] = ()
    quote: str | None = None
    confidence: float | None = None
    explanation: str | None = None


class Status(StrEnum):
    """The status of a metric on an interaction."""

    SCORED = "scored"
    NOT_APPLICABLE = "not_applicable"
    ABSTAINED = "abstained"
    JUDGE_ERROR = "judge_error"
    SKIPPED = "skipped"
    TIMED_OUT = "timed_out"


@dataclass(frozen=True, slots=True)
class Score:
    """A metric that was scored: ``value`` in 0..1, from ``n_judged`` of ``n_total`` parts.

    ``basis`` names what it was measured against (``question``, ``reference``, ``needs``,
    ``generated_questions``, ``estimate``); ``kept_ratio`` < 1 says that input was cut.
    """

    metric: str
    value: float
    n_judged: int | None = None
    n_total: int | None = None
    basis: str | None = None
    kept_ratio: float = 1.0
    explanation: str | None = None
    evidence: Mapping[str, Any] = field(default_factory=dict)
    status: Literal[Status.SCORED] = Status.SCORED

    @property
    def reason(self) -> None:
        """Always ``None``: a score needs no excuse. Lets callers treat both outcomes alike."""
        return None


@dataclass(frozen=True, slots=True)
class Unscored:
    """A metric that has no number, and why."""

    metric: str
    status: Status
    reason: str
    n_judged: int | None = None
    n_total: int | None = None
    basis: str | None = None
    evidence: Mapping[str, Any] = field(default_factory=dict)

    @property
    def value(self) -> None:
        """Always ``None``: never a silent 0, 1 or NaN."""
        return None


Outcome = Score | Unscored


class Cause(StrEnum):
    """What a diagnosis names."""

    OK = "ok"
    CORRECT_REFUSAL = "correct_refusal"
    NEEDLESS_REFUSAL = "needless_refusal"
    RETRIEVAL_MISSED = "retrieval_missed"
    RETRIEVAL_MISRANKED = "retrieval_misranked"
    RETRIEVAL_NOISY = "retrieval_noisy"
    CONTRADICTS_DOCUMENTS = "contradicts_documents"
    UNFAITHFUL_ANSWER = "unfaithful_answer"
    MISCITED = "miscited"
    OFF_QUESTION = "off_question"
    UNDETERMINED = "undetermined"


Path = Literal["A", "B", "C", "D"]
Stage = Literal["retrieval", "generation"]


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The failure path of an interaction: the primary cause, the rest of the matches, and what to try.

    ``path`` is ``None`` for ``ok``, the refusals and ``undetermined``. ``missing`` names the outcomes that an
    ``undetermined`` diagnosis lacks. ``warnings`` are matches that are no failure (noise on a good answer).
    """

    cause: Cause
    path: Path | None = None
    stage: Stage | None = None
    also: tuple[Cause, ...] = ()
    advice: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    warnings: tuple[Cause, ...] = ()


@dataclass(frozen=True, slots=True)
class JudgeInfo:
    """Which judge gave the verdicts, and what it cost. Of ``estimated_calls`` of the ``calls`` the endpoint
    counted no tokens, so that theirs are estimates. ``local_claims`` are those that a cascade decided without
    its model."""

    kind: str
    revision: str
    model: str | None = None
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    estimated_calls: int = 0
    local_claims: int = 0


@dataclass(frozen=True, slots=True)
class JudgedClaim:
    """A claim with its verdict over all documents, and one per cited document.

    ``verdict`` is ``None`` where the judge gave no usable one; the claim then counts in ``n_total`` only.
    ``pairs`` maps the 1-based rank of a cited document to the verdict on it (or ``None``).
    """

    claim: Claim
    verdict: Verdict | None
    pairs: Mapping[int, Verdict | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Need:
    """One information need of the question: is it covered by the documents, answered by the answer?

    ``None`` where the judge did not say.
    """

    text: str
    covered: bool | None
    answered: bool | None


@dataclass(frozen=True, slots=True)
class Evaluation:
    """All that is known of one judged interaction."""

    interaction: Interaction
    outcomes: Mapping[str, Outcome]
    diagnosis: Diagnosis
    judge: JudgeInfo
    claims: tuple[JudgedClaim, ...] = ()
    citations: tuple[Citation, ...] = ()
    relevance: Mapping[int, float | None] = field(default_factory=dict)
    needs: tuple[Need, ...] = ()
    language: Language = "en"
    sampling_probability: float | None = None
    sampling_rule: str | None = None

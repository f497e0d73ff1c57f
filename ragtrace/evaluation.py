"""Interaction × metrics → outcomes: the one place with deadlines, concurrency and a budget.

The answer is read once (citations, units, abstention), the judge is asked once, and only for what the
metrics need and nothing else can decide; arithmetic and diagnosis follow. Whatever the judge or the
embedder does, every metric ends with an outcome.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from ragtrace.diagnosis import DEFAULT_THRESHOLDS, Thresholds, diagnose
from ragtrace.embedders.base import Embedder, cosine
from ragtrace.errors import JudgeError, JudgeTimeout, MissingExtra
from ragtrace.explanations import explanation
from ragtrace.judges.base import Fault, Judge, JudgeReply, JudgeRequest, Usage, Want
from ragtrace.metrics import DEFAULT_METRICS, IR_METRICS, Evidence, Metric, by_name
from ragtrace.model import (
    Evaluation,
    Interaction,
    JudgeInfo,
    Language,
    Need,
    Outcome,
    Score,
    Status,
    Unscored,
)
from ragtrace.reading import Reading, read
from ragtrace.text.checkworthy import is_evasive, is_greeting, is_small_talk
from ragtrace.text.citations import strip

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Budget:
    """What judging may cost in all; ``None`` = no limit. When it is spent, outcomes are
    ``skipped(budget_spent)``.

    A judgement that is under way is finished, so the last ones may overrun the limits.
    """

    max_calls: int | None = None
    max_tokens: int | None = None
    spent: Usage = field(default_factory=Usage)

    @property
    def is_spent(self) -> bool:
        """Whether no further judgement may begin."""
        tokens = self.spent.input_tokens + self.spent.output_tokens
        return _reached(self.spent.calls, self.max_calls) or _reached(tokens, self.max_tokens)


class Evaluator:
    """Evaluates interactions with one judge, from one event loop.

    Args:
        judge: gives the verdicts.
        embedder: gives the cosines; without one, metrics that need them are ``skipped(no_embedder)``.
        metrics: metrics or their names; ``None`` = the default ones, and the retrieval measures for
            interactions with gold documents.
        thresholds: where the diagnosis sees a failure.
        language: of prompts and advice; ``auto`` = that of the interaction.
        concurrency: judgements at a time; the others wait, and their deadlines run.
        budget: what judging may cost.
        first_document: the number that the app gives its first document in the prompt.
        clock: the judge's clock, in seconds.

    Raises:
        ConfigError: a metric name is unknown.
    """

    def __init__(
        self,
        judge: Judge,
        embedder: Embedder | None = None,
        metrics: Sequence[str | Metric] | None = None,
        *,
        thresholds: Thresholds = DEFAULT_THRESHOLDS,
        language: Language | Literal["auto"] = "auto",
        concurrency: int = 16,
        budget: Budget | None = None,
        first_document: int = 1,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._judge, self._embedder = judge, embedder
        self._metrics = DEFAULT_METRICS if metrics is None else by_name(metrics)
        self._with_gold = IR_METRICS if metrics is None else ()
        self._thresholds, self._language, self._first = thresholds, language, first_document
        self._room = asyncio.Semaphore(concurrency)
        self._budget = budget or Budget()
        self._clock = clock

    @property
    def metric_names(self) -> tuple[str, ...]:
        """The metrics that every interaction gets."""
        return tuple(metric.name for metric in self._metrics)

    @property
    def judge_info(self) -> JudgeInfo:
        """The judge, at no cost yet. The revision covers the embedder: a score's meaning hangs on it."""
        revision = self._judge.revision
        if self._embedder is not None:
            revision = hashlib.sha256(f"{revision}\n{self._embedder.name}".encode()).hexdigest()[:12]
        return JudgeInfo(self._judge.kind, revision, self._judge.model)

    async def evaluate(self, interaction: Interaction, deadline: float | None = None) -> Evaluation:
        """Evaluate one interaction; never raises for what judge, embedder or texts do.

        ``deadline`` is an absolute time of the clock; what is not there by then is ``timed_out``.
        """
        reading = read(interaction, self._language, first_document=self._first)
        metrics = (*self._metrics, *(self._with_gold if interaction.gold is not None else ()))
        wants = wanted(metrics, interaction, reading)
        reply = await self._ask(JudgeRequest(interaction, reading.units, wants, reading.language, deadline))
        evidence = await self._embed(_evidence(interaction, reading, reply), metrics, deadline)
        return self._conclude(evidence, metrics)

    def _conclude(self, evidence: Evidence, metrics: Sequence[Metric]) -> Evaluation:
        reply, interaction = evidence.reply, evidence.interaction
        outcomes = {metric.name: score(metric, evidence) for metric in metrics}
        diagnosis = diagnose(
            outcomes,
            claims=reply.claims,
            needs=_needs(interaction, reply),
            abstained=evidence.abstained,
            has_reference=interaction.reference is not None,
            evasive=_says_nothing(interaction, evidence),
            language=evidence.language,
            thresholds=self._thresholds,
        )
        usage = reply.usage
        return Evaluation(
            interaction,
            outcomes,
            diagnosis,
            replace(
                self.judge_info,
                calls=usage.calls,
                input_tokens=usage.input_tokens,
                output_tokens=usage.output_tokens,
                estimated_calls=usage.estimated_calls,
                local_claims=usage.local_claims,
            ),
            claims=reply.claims,
            citations=evidence.citations,
            relevance=reply.reference_relevance or reply.relevance,
            needs=reply.needs,
            language=evidence.language,
        )

    async def _ask(self, request: JudgeRequest) -> JudgeReply:
        """The judge's reply; whatever keeps it from replying becomes a fault of every want."""
        if not request.wants:
            return JudgeReply()
        try:
            async with asyncio.timeout(self._seconds_left(request.deadline)), self._room:
                if self._budget.is_spent:
                    return _faulty(request.wants, Status.SKIPPED, "budget_spent")
                reply = await self._judge.judge(request)
        except (TimeoutError, JudgeTimeout):
            return _faulty(request.wants, Status.TIMED_OUT, "deadline")
        except JudgeError as error:
            return _faulty(request.wants, Status.JUDGE_ERROR, error.reason)
        except Exception as error:  # noqa: BLE001  # a user's judge may raise anything; the metrics must end
            _log.warning("the judge %s raised %s", self._judge.kind, type(error).__name__)
            return _faulty(request.wants, Status.JUDGE_ERROR, "judge_raised")
        self._budget.spent += reply.usage
        return reply

    async def _embed(self, evidence: Evidence, metrics: Sequence[Metric], deadline: float | None) -> Evidence:
        """``evidence`` with its cosines, in one call to the embedder."""
        groups = texts_to_compare(evidence, metrics)
        if self._embedder is None or not groups:
            return evidence
        try:
            async with asyncio.timeout(self._seconds_left(deadline)):
                vectors = await self._embedder.embed([text for texts in groups.values() for text in texts])
        except TimeoutError:
            return replace(evidence, embedder_fault="deadline")
        except MissingExtra:
            return evidence
        except JudgeError as error:
            return replace(evidence, embedder_fault=error.reason)
        except Exception as error:  # noqa: BLE001  # as with judges
            _log.warning("the embedder %s raised %s", self._embedder.name, type(error).__name__)
            return replace(evidence, embedder_fault="embedder_raised")
        cosines, position = {}, 0
        for name, texts in groups.items():
            cosines[name] = cosine(vectors[position], vectors[position + 1 : position + len(texts)]).tolist()
            position += len(texts)
        return replace(
            evidence,
            similarities=tuple(cosines["questions"]) if "questions" in cosines else None,
            reference_similarity=cosines["reference"][0] if "reference" in cosines else None,
        )

    def _seconds_left(self, deadline: float | None) -> float | None:
        return None if deadline is None else max(0.0, deadline - self._clock())


def wanted(metrics: Sequence[Metric], interaction: Interaction, reading: Reading) -> frozenset[Want]:
    """What to ask the judge: what the metrics want, less what the reading has settled."""
    wants = frozenset(want for metric in metrics for want in metric.wants(interaction))
    if reading.abstained:
        wants -= {Want.VERDICTS, Want.QUESTIONS}
    if not any(unit.check_worthy for unit in reading.units):
        wants -= {Want.VERDICTS}
    return wants


def texts_to_compare(evidence: Evidence, metrics: Sequence[Metric]) -> dict[str, list[str]]:
    """Texts whose first is compared with the others, by what they are for; only what a metric will use."""
    interaction, names = evidence.interaction, {metric.name for metric in metrics}
    question = interaction.rewritten_question or interaction.question
    groups = {}
    if question and evidence.reply.questions and "answer_relevancy" in names:
        groups["questions"] = [question, *evidence.reply.questions]
    measured = evidence.reply.reference_similarity is not None
    if interaction.answer and interaction.reference and "answer_correctness" in names and not measured:
        groups["reference"] = [strip(interaction.answer, evidence.citations), interaction.reference]
    return groups


def score(metric: Metric, evidence: Evidence) -> Outcome:
    """The metric's outcome, explained, and never a number that is none, whatever the metric does."""
    try:
        outcome = metric.score(evidence)
    except Exception as error:  # noqa: BLE001
        _log.warning("the metric %s raised %s", metric.name, type(error).__name__)
        return Unscored(metric.name, Status.JUDGE_ERROR, "metric_raised")
    if not isinstance(outcome, Score):
        return outcome
    if not (math.isfinite(outcome.value) and 0.0 <= outcome.value <= 1.0):
        return Unscored(metric.name, Status.JUDGE_ERROR, "value_out_of_range")
    return replace(outcome, explanation=outcome.explanation or explanation(outcome, evidence.language))


def _evidence(interaction: Interaction, reading: Reading, reply: JudgeReply) -> Evidence:
    return Evidence(
        interaction,
        reply,
        reading.units,
        reading.citations,
        reading.abstained,
        language=reading.language,
    )


def _needs(interaction: Interaction, reply: JudgeReply) -> tuple[Need, ...]:
    """The needs; of a partial answer nobody knows what it would have answered."""
    if not interaction.partial:
        return reply.needs
    return tuple(replace(need, answered=None) for need in reply.needs)


def _says_nothing(interaction: Interaction, evidence: Evidence) -> bool:
    """Whether the answer says only that it depends, or to a real question only hello."""
    texts = [unit.text for unit in evidence.units]
    if any(map(is_evasive, texts)):
        return True
    question = interaction.question
    return (
        question is not None and not is_greeting(question) and bool(texts) and all(map(is_small_talk, texts))
    )


def _faulty(wants: frozenset[Want], status: Status, reason: str) -> JudgeReply:
    return JudgeReply(faults=tuple(Fault(want, status, reason) for want in sorted(wants)))


def _reached(spent: int, limit: int | None) -> bool:
    return limit is not None and spent >= limit

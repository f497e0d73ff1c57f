"""The cascade: clear claims are decided locally, the rest goes to a model in the same requests as ever.

Clear is what the embedded judge puts beyond the thresholds that reached ``precision`` on its fitted data.
Opt-in, and off for Chinese, where almost nothing is clear. ``usage.local_claims`` counts what it decided.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b

from ragtrace.errors import ConfigError
from ragtrace.judges._local.estimate import constants
from ragtrace.judges.base import Judge, JudgeReply, JudgeRequest, Usage, Want
from ragtrace.judges.embedded import EmbeddedJudge
from ragtrace.model import JudgedClaim, Language, Unit, Verdict


@dataclass(frozen=True)
class CascadeJudge:
    """The embedded judge before ``inner``.

    ``precision``: how often a locally decided claim should be right; one of the targets that thresholds were
    fitted for. ``languages``: where claims are decided locally at all.

    Raises:
        ConfigError: no thresholds were fitted for this precision.
    """

    inner: Judge
    precision: float = 0.85
    languages: tuple[Language, ...] = ("en",)
    _local: EmbeddedJudge = field(default_factory=EmbeddedJudge, init=False, repr=False)

    def __post_init__(self) -> None:
        known = constants().support["en"].clear
        if self.precision not in known:
            listed = ", ".join(map(str, known))
            raise ConfigError(f"{self.precision} is none of {listed}", "judge.precision")

    @property
    def kind(self) -> str:
        """Always ``cascade``."""
        return "cascade"

    @property
    def model(self) -> str | None:
        """The model of the inner judge."""
        return self.inner.model

    @property
    def revision(self) -> str:
        """Hash of both judges' revisions and of what decides which of them is asked."""
        parts = (self._local.revision, self.inner.revision, str(self.precision), *self.languages)
        return blake2b("|".join(parts).encode(), digest_size=6).hexdigest()

    async def aclose(self) -> None:
        """Free what the inner judge holds."""
        await self.inner.aclose()

    async def judge(self, request: JudgeRequest) -> JudgeReply:
        """Judge one interaction: locally what is clear, by the inner judge what is not."""
        if Want.VERDICTS not in request.wants or request.language not in self.languages:
            return await self.inner.judge(request)
        local = self._local.reply(replace(request, wants=frozenset({Want.VERDICTS})))
        decided = {judged.claim.unit: judged for judged in local.claims if self._is_clear(judged, request)}
        if not decided:
            return await self.inner.judge(request)
        asked = await self._ask(request, [unit for unit in request.units if unit.index not in decided])
        return _merged(asked, decided)

    async def _ask(self, request: JudgeRequest, rest: Sequence[Unit]) -> JudgeReply:
        """The inner judge on the undecided units; a reference is compared with the whole answer."""
        open_ = any(unit.check_worthy for unit in rest)
        wants = request.wants - {Want.REFERENCE} - (frozenset() if open_ else {Want.VERDICTS})
        reference = request.wants & {Want.REFERENCE}
        grounding, compared = await asyncio.gather(
            self._reply(replace(request, units=tuple(rest), wants=wants)),
            self._reply(replace(request, wants=reference)),
        )
        return replace(
            grounding,
            reference_claims=compared.reference_claims,
            unsupported_answer_claims=compared.unsupported_answer_claims,
            reference_relevance=compared.reference_relevance,
            reference_similarity=compared.reference_similarity,
            usage=grounding.usage + compared.usage,
            faults=(*grounding.faults, *compared.faults),
        )

    async def _reply(self, request: JudgeRequest) -> JudgeReply:
        return await self.inner.judge(request) if request.wants else JudgeReply()

    def _is_clear(self, judged: JudgedClaim, request: JudgeRequest) -> bool:
        """Whether the claim, and each of its cited pairs, is beyond a threshold."""
        low, high = constants().support[request.language].clear[self.precision]
        verdicts = (judged.verdict, *judged.pairs.values())
        return all(verdict is not None and _beyond(verdict, low, high) for verdict in verdicts)


def _beyond(verdict: Verdict, low: float | None, high: float | None) -> bool:
    p = verdict.confidence
    return p is not None and ((low is not None and p <= low) or (high is not None and p >= high))


def _merged(asked: JudgeReply, decided: Mapping[int, JudgedClaim]) -> JudgeReply:
    claims = sorted(
        (*asked.claims, *decided.values()), key=lambda judged: (judged.claim.unit, judged.claim.start)
    )
    return replace(asked, claims=tuple(claims), usage=asked.usage + Usage(local_claims=len(decided)))

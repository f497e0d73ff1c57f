"""The cascade: clear claims are decided locally, the rest goes to a model in the same requests as ever.

Clear is what the embedded judge puts beyond the bounds that kept a target precision on labelled data
(``cascade.json``, written by ``bench/fit_cascade.py``). Opt-in, and off for Chinese, where almost nothing is
clear. ``usage.local_claims`` counts what it decided.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from hashlib import blake2b
from importlib.resources import files
from typing import Any

from ragtrace.errors import ConfigError
from ragtrace.judges.base import Judge, JudgeReply, JudgeRequest, Usage, Want
from ragtrace.judges.embedded import EmbeddedJudge
from ragtrace.model import Interaction, JudgedClaim, Language, Verdict
from ragtrace.text.language import detect_language
from ragtrace.text.lexicon import english
from ragtrace.text.tokens import normalise, words

PROTOCOL = 2
"""Raised when it is decided in another way who judges a claim."""

_STOP_SHARE = 0.15
"""Of English text at least so many words are among the commonest ones; of other languages next to none."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """A claim is clear at a probability of at most ``low`` or at least ``high``; ``None`` = never."""

    low: float | None = None
    high: float | None = None

    def decide(self, verdict: Verdict, may_lack: bool) -> bool:
        """Whether ``verdict`` is clear; where not ``may_lack``, only support is."""
        p = verdict.confidence
        if p is None:
            return False
        if self.high is not None and p >= self.high:
            return True
        return may_lack and self.low is not None and p <= self.low


@cache
def fitted_bounds() -> Mapping[Language, Mapping[float, Bounds]]:
    """Language → target precision → the bounds that kept it; a target that nothing kept is not there."""
    table: dict[str, Any] = json.loads((files(__package__) / "cascade.json").read_text(encoding="utf-8"))
    return {
        language: {float(target): Bounds(low, high) for target, (low, high) in rows.items()}
        for language, rows in table["bounds"].items()
    }


@dataclass(frozen=True)
class CascadeJudge:
    """The embedded judge before ``inner``.

    ``precision``: how often a locally decided claim should be right; one of the targets that bounds were
    fitted for. ``languages``: where claims are decided locally at all.

    Raises:
        ConfigError: no bounds keep this precision, or none do in one of the languages.
    """

    inner: Judge
    precision: float = 0.85
    languages: tuple[Language, ...] = ("en",)
    _local: EmbeddedJudge = field(default_factory=EmbeddedJudge, init=False, repr=False)

    def __post_init__(self) -> None:
        known = fitted_bounds()
        if self.precision not in known["en"]:
            listed = ", ".join(map(str, known["en"]))
            raise ConfigError(f"{self.precision} is none of {listed}", "judge.precision")
        for language in self.languages:
            if self.precision not in known.get(language, {}):
                raise ConfigError(
                    f"no bound keeps a precision of {self.precision} in {language}", "judge.languages"
                )

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
        bounds = [self._bounds(language) for language in self.languages]
        parts = (PROTOCOL, self._local.revision, self.inner.revision, *self.languages, *bounds)
        return blake2b("|".join(map(str, parts)).encode(), digest_size=6).hexdigest()

    async def aclose(self) -> None:
        """Free what the inner judge holds."""
        await self.inner.aclose()

    async def judge(self, request: JudgeRequest) -> JudgeReply:
        """Judge one interaction: locally what is clear, by the inner judge what is not."""
        decided = self.decided(request)
        if not decided:
            return await self.inner.judge(request)
        rest = _without(request, decided)
        reply = await self.inner.judge(rest) if rest.wants else JudgeReply()
        return _merged(reply, decided)

    def decided(self, request: JudgeRequest) -> Mapping[int, JudgedClaim]:
        """Index of a unit → its claim with the verdicts, where they are clear: what the model is spared."""
        if Want.VERDICTS not in request.wants or request.language not in self.languages:
            return {}
        local = self._local.reply(replace(request, wants=frozenset({Want.VERDICTS})))
        bounds = self._bounds(request.language)
        may_lack = _shows_what_is_lacking(request.interaction)

        def is_clear(judged: JudgedClaim) -> bool:
            verdicts = (judged.verdict, *judged.pairs.values())
            return detect_language(judged.claim.text) == request.language and all(
                verdict is not None and bounds.decide(verdict, may_lack) for verdict in verdicts
            )

        return {judged.claim.unit: judged for judged in local.claims if is_clear(judged)}

    def _bounds(self, language: Language) -> Bounds:
        return fitted_bounds()[language][self.precision]


def _without(request: JudgeRequest, decided: Mapping[int, JudgedClaim]) -> JudgeRequest:
    """``request`` for what is not ``decided``.

    Decided units stay in view, without a verdict wanted: whether the answer meets the question, and whom a
    pronoun means, hangs on all of it.
    """
    units = tuple(
        replace(unit, check_worthy=False) if unit.index in decided else unit for unit in request.units
    )
    open_ = any(unit.check_worthy for unit in units)
    wants = request.wants if open_ else request.wants - {Want.VERDICTS}
    return replace(request, units=units, wants=wants)


def _merged(asked: JudgeReply, decided: Mapping[int, JudgedClaim]) -> JudgeReply:
    claims = sorted(
        (*asked.claims, *decided.values()), key=lambda judged: (judged.claim.unit, judged.claim.start)
    )
    return replace(asked, claims=tuple(claims), usage=asked.usage + Usage(local_claims=len(decided)))


def _shows_what_is_lacking(interaction: Interaction) -> bool:
    """Whether an English claim that shares no word with the documents lacks support.

    Not so where there is no text, where earlier turns may hold it, and where the documents are in another
    language: the words differ then, whatever they say.
    """
    texts = [document.text for document in interaction.documents or () if document.text]
    if not texts or interaction.history or detect_language(*texts) != "en":
        return False
    found = [word for text in texts for word in words(normalise(text))]
    return sum(word in english().stop for word in found) >= _STOP_SHARE * len(found)

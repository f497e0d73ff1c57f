"""The probability of a verdict from the probabilities of tokens.

With JSON output the verdict's token is not the first of the reply: it is found by its place in the text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace

from ragtrace.judges._chat.completion import TokenProbability
from ragtrace.judges._chat.entries import Entry
from ragtrace.judges._chat.schemas import VERDICTS
from ragtrace.model import Support

_VERDICT = re.compile(r'(?<!\\)"verdict"\s*:\s*"')


def claim_confidences(text: str, tokens: Sequence[TokenProbability]) -> list[float | None]:
    """For each ``"verdict"`` in ``text``, in order, the probability (0..1) that it is SUPPORTED.

    ``None`` where the tokens do not spell ``text`` or give no probability for the verdict's place.
    """
    if "".join(token.text for token in tokens) != text:
        return []
    starts: list[int] = []
    position = 0
    for token in tokens:
        starts.append(position)
        position += len(token.text)
    return [_at(match.end(), tokens, starts) for match in _VERDICT.finditer(text)]


def with_threshold(entry: Entry, threshold: float | None, evidence: bool) -> Entry:
    """``entry`` with the verdict that a fitted ``threshold`` on its confidence gives.

    Below it SUPPORTED becomes NOT_FOUND; at or above it NOT_FOUND becomes SUPPORTED where its quote is
    ``evidence`` in a document.
    """
    if threshold is None or entry.confidence is None:
        return entry
    if entry.support is Support.SUPPORTED and entry.confidence < threshold:
        return replace(entry, support=Support.NOT_FOUND)
    if entry.support is Support.NOT_FOUND and entry.confidence >= threshold and evidence:
        return replace(entry, support=Support.SUPPORTED)
    return entry


def _at(position: int, tokens: Sequence[TokenProbability], starts: Sequence[int]) -> float | None:
    """The probability of SUPPORTED at ``position``, where the verdict's first letter stands."""
    index = max((i for i, start in enumerate(starts) if start <= position), default=-1)
    if index < 0:
        return None
    token, lead = tokens[index], position - starts[index]
    supported = other = 0.0
    for text, logprob in token.others or ((token.text, token.logprob),):
        if text[:lead] != token.text[:lead] or not (word := text[lead:]):
            continue
        likely = math.exp(logprob)
        if _begins(word, "SUPPORTED"):
            supported += likely
        elif any(_begins(word, verdict) for verdict in VERDICTS):
            other += likely
    if not supported + other:
        return None
    if not token.others:
        return supported if supported else None
    return supported / (supported + other)


def _begins(word: str, verdict: str) -> bool:
    """Whether the token's text is the beginning of ``verdict``, or holds all of it."""
    bare = word.split('"', 1)[0]
    return bool(bare) and (verdict.startswith(bare) or bare.startswith(verdict))

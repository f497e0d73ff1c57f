"""A claim as the embedded judge reads it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from ragtrace.judges._local.passages import clause_tokens
from ragtrace.model import Language
from ragtrace.text._bounds import negated_bounds
from ragtrace.text._quantity_patterns import unit_of_name
from ragtrace.text.language import detect_language
from ragtrace.text.lexicon import chinese, english
from ragtrace.text.numbers import Quantity, quantities
from ragtrace.text.tokens import content, normalise, words

_CAPITAL = re.compile(r"(?<![.!?:]\s)(?<!^)(?<![\w'])[A-Z][\w'&-]*")
_CLAUSE_ENDS = re.compile(r"[，,；;](?!\d{3})")


@dataclass(frozen=True)
class ClaimText:
    """The text of a claim with its normal form, words and content tokens."""

    text: str
    normal: str
    words: tuple[str, ...]
    tokens: tuple[str, ...]

    @cached_property
    def language(self) -> Language:
        """The language of the claim."""
        return detect_language(self.text)

    @cached_property
    def weights(self) -> Mapping[str, float]:
        """Content token → how often it occurs."""
        return Counter(self.tokens)

    @cached_property
    def quantities(self) -> tuple[Quantity, ...]:
        """The quantities that the claim states."""
        return quantities(self.normal)

    @cached_property
    def surroundings(self) -> tuple[frozenset[str], ...]:
        """For each quantity the content tokens of its clause, without numbers."""
        return tuple(clause_tokens(self.normal, quantity) for quantity in self.quantities)

    @cached_property
    def wording(self) -> frozenset[str]:
        """The distinct content tokens that are no numbers."""
        return frozenset(token for token in self.tokens if not token[0].isdigit())

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Capitalised words that neither begin a sentence nor are units (MB), in lower case."""
        found = (match[0].lower().removesuffix("'s") for match in _CAPITAL.finditer(self.text))
        return tuple(name for name in found if name not in english().stop and name not in unit_of_name())

    @cached_property
    def clauses(self) -> tuple[ClaimText, ...]:
        """Its clauses, each as a claim."""
        return tuple(read_claim(part) for part in _CLAUSE_ENDS.split(self.text))

    @cached_property
    def negations(self) -> int:
        """How many words turn the statement round."""
        return count_negations(self.normal, self.words)


def read_claim(text: str) -> ClaimText:
    """Read the claim ``text``."""
    normal = normalise(text)
    tokens = tuple(words(normal))
    return ClaimText(text, normal, tokens, tuple(content(tokens)))


def count_negations(normal: str, tokens: tuple[str, ...]) -> int:
    """Negating words in a text, English and Chinese; those of a bound ("no more than") deny nothing."""
    negators = english().negators
    count = sum([token in negators or token.endswith("n't") for token in tokens if token.isascii()])
    if not normal.isascii():
        stripped = _not_negating().sub("", normal)
        count += sum([stripped.count(char) for char in chinese().negators])
    return max(0, count - negated_bounds(normal)) if count else 0


def _not_negating() -> re.Pattern[str]:
    global _pattern  # noqa: PLW0603
    if _pattern is None:
        _pattern = re.compile("|".join(map(re.escape, chinese().negator_exceptions)))
    return _pattern


_pattern: re.Pattern[str] | None = None

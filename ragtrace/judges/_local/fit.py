"""Does an answer fit a question? By its words, or by the documents where the answer repeats none of them.

"Refunds arrive in 3–5 working days" answers "When do I get my money back?" although they share no word: the
passage that is nearest to the question is the one that the answer is taken from. An answer taken from other
passages, however true, is beside the question.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ragtrace.judges._local.corpus import Corpus
from ragtrace.judges._local.estimate import logistic
from ragtrace.judges._local.passages import Reader
from ragtrace.judges._local.questions import NeedText, share_held
from ragtrace.judges._local.relevance import TYPED, coverage, gives_kind, known_tokens


@dataclass(frozen=True, slots=True)
class Fit:
    """How an answer stands to a need, each part 0..1. ``kind`` is ``None`` where the kind of answer has no
    form."""

    direct: float
    bridge: float
    kind: bool | None
    withheld: bool = False
    """The passage that is nearest to the question has what it asks for, and the answer has not."""

    @property
    def probability(self) -> float:
        """The probability that the answer addresses the need."""
        typed = 0.0 if self.kind is None else 1.0 if self.kind else _WITHHELD if self.withheld else _UNTYPED
        return logistic(-2.6 + 3.6 * self.direct + 3.2 * self.bridge + typed)


_UNTYPED, _WITHHELD = -1.6, -3.2
"""What it takes from the log odds that an answer has not the kind of thing that was asked for."""


@dataclass(frozen=True)
class Answer:
    """An answer as if it were a document."""

    corpus: Corpus

    @property
    def vocabulary(self) -> frozenset[str]:
        """Its distinct content tokens."""
        return self.corpus.vocabulary


def read_answer(text: str) -> Answer:
    """Read the answer ``text``."""
    return Answer(Corpus((Reader(0).read(text, 1),)))


def answer_fit(need: NeedText, answer: Answer, documents: tuple[Corpus, Sequence[int]] | None) -> Fit:
    """Hold the whole ``answer`` against one ``need``; ``documents`` are a corpus and its passages that are
    :func:`nearest` to the need, where there are any."""
    direct = coverage(need, known_tokens(need, answer.corpus))
    bridge = _bridge(need, answer.vocabulary, *documents) if documents is not None else direct
    kind = gives_kind(need.kind, (without_given(need, answer.corpus.text),))
    return Fit(direct, bridge, kind, kind is False and documents is not None and _withholds(need, *documents))


def _withholds(need: NeedText, corpus: Corpus, near: Sequence[int]) -> bool:
    texts = [without_given(need, corpus.passages[index].normal) for index in near]
    return bool(texts) and gives_kind(need.kind, texts) is True


def without_given(need: NeedText, normal: str) -> str:
    """A normalised text without the figures that are part of a name ("TL-900", "Wi-Fi 6E"): they count
    nothing. Only for needs that ask for a quantity."""
    return _PART_OF_NAME.sub(" ", normal) if need.kind in TYPED else normal


_PART_OF_NAME = re.compile(
    r"(?<![a-z0-9])(?!usd|eur|gbp|cny|rmb|hkd)(?:[a-z]{1,5}-?\d+[a-z]{0,2}|\d+[eiopqruyz])(?![a-z0-9])"
)


def _bridge(need: NeedText, vocabulary: frozenset[str], corpus: Corpus, near: Sequence[int]) -> float:
    """How much of the answer's own content stands near the question's, against the best passage anywhere."""
    own = vocabulary - set(need.tokens)
    if not own or not corpus.passages:
        return 0.0
    held = [len(own & passage.vocabulary) / len(own) for passage in corpus.passages]
    best = max(held)
    if not best:
        return 0.0
    ranks = {corpus.passages[index].rank for index in near}
    beside = (held[index] for index, passage in enumerate(corpus.passages) if passage.rank in ranks)
    return max([_BESIDE * max(beside, default=0.0), *(held[index] for index in near)]) / best


_BESIDE = 0.6
"""What it counts to be in the same document as the passage that is nearest to the question."""


def nearest(need: NeedText, corpus: Corpus) -> Sequence[int]:
    """Indexes of the passages that hold most of the need: all within a tenth of the best."""
    scores = [share_held(need, passage) for passage in corpus.passages]
    best = max(scores, default=0.0)
    return [index for index, score in enumerate(scores) if best and score >= best - 0.1]

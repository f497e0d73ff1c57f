"""Does an answer fit a question? Directly, by its words; or by the documents, where the answer repeats none of them.

"Refunds arrive in 3–5 working days" answers "How long until I get my money back?" although they share no word:
the passage that is nearest to the question is the one that the answer is taken from. An answer taken from other
passages, however true, is beside the question.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ragtrace.judges._local.claims import ClaimText
from ragtrace.judges._local.corpus import Corpus
from ragtrace.judges._local.estimate import logistic
from ragtrace.judges._local.questions import NeedText
from ragtrace.judges._local.relevance import coverage, gives_kind


@dataclass(frozen=True, slots=True)
class Fit:
    """How an answer stands to a need, each part 0..1. ``kind`` is ``None`` where the kind of answer has no form."""

    direct: float
    bridge: float
    kind: bool | None

    @property
    def probability(self) -> float:
        """The probability that the answer addresses the need."""
        typed = 0.0 if self.kind is None else 1.0 if self.kind else -1.6
        return logistic(-2.6 + 3.6 * self.direct + 3.2 * self.bridge + typed)


def answer_fit(need: NeedText, answer: ClaimText, corpus: Corpus | None) -> Fit:
    """Hold the whole ``answer`` against one ``need``."""
    vocabulary = frozenset(answer.tokens)
    direct = coverage(need.weights, vocabulary)
    bridge = _bridge(need, vocabulary, corpus) if corpus is not None else direct
    return Fit(direct, bridge, gives_kind(need.kind, (answer.normal,)))


def _bridge(need: NeedText, vocabulary: frozenset[str], corpus: Corpus) -> float:
    """How much of the answer's own content is in the passages nearest to the question, against the best anywhere."""
    own = vocabulary - set(need.tokens)
    if not own or not corpus.passages:
        return 0.0
    held = [len(own & passage.vocabulary) / len(own) for passage in corpus.passages]
    near = nearest(need, corpus)
    best = max(held)
    return max((held[index] for index in near), default=0.0) / best if best else 0.0


def nearest(need: NeedText, corpus: Corpus) -> Sequence[int]:
    """Indexes of the passages that hold most of the need: all within a tenth of the best."""
    scores = [coverage(need.weights, passage.vocabulary) for passage in corpus.passages]
    best = max(scores, default=0.0)
    return [index for index, score in enumerate(scores) if best and score >= best - 0.1]

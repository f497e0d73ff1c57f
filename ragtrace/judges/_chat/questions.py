"""Call 2 to its end: questions that can be compared with the one that was asked."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from ragtrace.judges._chat.parts import QuestionsPart
from ragtrace.text.language import detect_language, is_cjk


async def ask_usable_questions(
    ask: Callable[[], Awaitable[tuple[tuple[str, ...], bool | None]]], answer: str
) -> QuestionsPart:
    """Ask at most twice: a reply without questions, or in another language, measures nothing, and one that
    does not say whether the answer is evasive leaves open whether there is anything to measure."""
    error = ""
    for _ in range(2):
        questions, evasive = await ask()
        usable = tuple(question for question in questions if _same_script(question, answer))
        if usable and evasive is not None:
            return QuestionsPart(usable, evasive)
        error = "outside_enum" if usable else "language_mismatch" if questions else "unparseable"
    return QuestionsPart(error=error)


def _same_script(question: str, answer: str) -> bool:
    """Whether a generated question is in the answer's language, as far as the script tells.

    An answer in mixed script, or without letters, allows either.
    """
    wide = 0 if answer.isascii() else sum(map(is_cjk, answer))
    letters = sum(map(str.isalpha, answer)) if wide else 0
    if wide > 0.5 * letters and wide:
        return detect_language(question) == "zh"
    foreign = not question.isascii() and any(map(is_cjk, question))
    return bool(wide) or not foreign or not any(map(str.isalpha, answer))

"""Text that means nothing and is as long as it must be."""

from __future__ import annotations

import random

WORDS = """pump seal valve rotor shift grid steam panel alarm audit budget plant inlet outlet region winter coolant
pressure threshold manual committee record technician interval vibration schedule""".split()  # noqa: SIM905


def sentence(rng: random.Random, words: int = 12) -> str:
    """One sentence of so many words."""
    return f"{' '.join(rng.choices(WORDS, k=words)).capitalize()}."


def filler(rng: random.Random, tokens: int, words: int = 12) -> str:
    """Sentences that come to ``tokens`` tokens of four characters, or a few more."""
    sentences: list[str] = []
    while sum(map(len, sentences)) < tokens * 4:
        sentences.append(sentence(rng, words))
    return " ".join(sentences)

"""What the judge benches judge: interactions of one shape, and an honest model's reply to our requests."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from servers.prose import sentence

from ragtrace.model import Interaction
from ragtrace.testing import make_interaction

DOCUMENTS, CLAIMS, REFERENCE_CLAIMS = 5, 6, 4
_WORDS = 11
_CHARACTERS = 1_300


def sample(seed: int = 0) -> Interaction:
    """Five documents, an answer of six sentences of which five stand in them, a reference of four; each seed
    another one."""
    rng = random.Random(seed)
    documents = [_document(rng, number) for number in range(1, DOCUMENTS + 1)]
    stated = [document.split(". ")[3] + "." for document in documents] + [sentence(rng, _WORDS)]
    reference = [*stated[:3], sentence(rng, _WORDS)]
    return make_interaction(
        "Which inspection interval applies to the coolant pump seal, and who must approve a revision of it?",
        documents,
        " ".join(stated),
        reference=" ".join(reference),
    )


def _document(rng: random.Random, number: int) -> str:
    text = f"Document {number}."
    while len(text) < _CHARACTERS:
        text += f" {sentence(rng, _WORDS)}"
    return text


def from_file(path: Path) -> Interaction:
    """The first row of a JSONL file: question, contexts, answer, ground_truth."""
    row = json.loads(path.read_text("utf-8").splitlines()[0])
    return make_interaction(row["question"], row["contexts"], row["answer"], reference=row["ground_truth"])


def only_wanted(reply: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """What a model under a strict schema would have written of ``reply``."""
    return {key: value for key, value in reply.items() if key in schema["properties"]}

"""The questions that the demo asks, and the replies of the model that it plays."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.resources import files
from typing import Literal

from ragtrace.model import Cause

MODEL = "played-model"


@dataclass(frozen=True, slots=True)
class Scene:
    """One question, the app that answers it, the played reply, and the cause that it was written to show."""

    question: str
    app: Literal["functions", "langchain"]
    reply: str
    expected: Cause


def scenes() -> tuple[Scene, ...]:
    """All scenes, in the order in which they are asked."""
    lines = files(__package__).joinpath("questions.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    return tuple(Scene(r["question"], r["app"], r["reply"], Cause(r["expected"])) for r in rows)

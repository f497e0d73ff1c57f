"""One whole interaction in English and in Chinese, an honest judge of it, and its scores worked out by hand.

Three documents: the second is off the question. Three sentences in the answer: the first is cited rightly,
the second to the wrong document, the third is invented and not cited. Three sentences in the reference: the
answer makes the first two, no document holds the third.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from servers.openai_chat import Seen, good_reply

from ragtrace.model import Interaction, Language
from ragtrace.testing import ScriptedEmbedder, make_interaction

_TEXTS: dict[Language, dict[str, Any]] = {
    "en": {
        "question": "How often is the seal replaced, and what colour is the pump?",
        "documents": (
            "The seal is replaced every 500 hours.",
            "Lunch is served at noon.",
            "The pump is painted blue.",
        ),
        "answer": (
            "The seal is replaced every 500 hours [1]. The pump is painted blue [1]. "
            "The pump weighs 80 kilograms."
        ),
        "reference": (
            "The seal is replaced every 500 hours. The pump is painted blue. A technician does the work."
        ),
        "asked": ("How often is the seal replaced?", "What colour is the pump?", "Where is lunch?"),
    },
    "zh": {
        "question": "密封件多久更换一次？泵是什么颜色？",
        "documents": ("密封件每500小时更换一次。", "午餐在中午供应。", "泵被漆成蓝色。"),
        "answer": "密封件每500小时更换一次[1]。泵被漆成蓝色[1]。泵重80公斤。",
        "reference": "密封件每500小时更换一次。泵被漆成蓝色。由技术员完成工作。",
        "asked": ("密封件多久更换？", "泵是什么颜色？", "午餐在哪里？"),
    },
}
LANGUAGES: tuple[Language, ...] = ("en", "zh")

BY_JUDGE: dict[str, float] = {
    "faithfulness": 2 / 3,
    "answer_relevancy": 2 / 3,
    "context_precision": (1 / 1 + 2 / 3) / 2,
    "context_recall": 2 / 3,
    "context_noise": 1 / 3,
    "citation_correctness": 1 / 2,
    "citation_coverage": 1 / 3,
    "answer_correctness": 0.75 * 2 * 2 / (2 * 2 + 1 + 1) + 0.25 * 0,
}
"""Right values of what a judge decides. Correctness: two claims made, one missed, one too many; not alike."""

BY_CODE: dict[str, float] = {
    "citation_presence": 2 / 3,
    "hit@5": 1.0,
    "mrr": 1 / 3,
    "ndcg@5": 1 / 2,
    "precision@5": 1 / 5,
    "recall@5": 1.0,
}
"""Right values of what needs no judge, so that no fault may touch them: the third document is the gold one."""


def interaction(language: Language) -> Interaction:
    """The interaction, with a reference and a gold document."""
    texts = _TEXTS[language]
    made = make_interaction(
        texts["question"], texts["documents"], texts["answer"], reference=texts["reference"]
    )
    return replace(made, gold={"doc-3": 1.0})


def embedder(language: Language) -> ScriptedEmbedder:
    """Two of the three questions mean what was asked."""
    texts = _TEXTS[language]
    return ScriptedEmbedder([texts["question"], *texts["asked"][:2]])


def honest(seen: Seen) -> dict[str, Any]:
    """The reply of a judge that sees what there is to see."""
    texts = next(t for t in _TEXTS.values() if t["answer"][:4] in seen.user)
    if seen.call == "questions":
        return {"questions": list(texts["asked"]), "evasive": "no"}
    reply = good_reply(seen, relevant=lambda text: text in texts["documents"][::2])
    if seen.call == "reference":
        for entry in reply["claims"]:
            said = seen.units.get(entry["unit"], "?").rstrip(".。") in texts["answer"].replace("[1]", "")
            entry["in_answer"] = "yes" if said else "no"
        reply["extra"] = [texts["answer"].rpartition("]")[2].lstrip(" .。")]
    return reply

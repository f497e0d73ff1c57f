"""The JSON Schemas of the judge's replies: strict, and no larger than what a request asks.

The declining value comes first in every enum, so that a model or a decoder that takes the first choice
fails on the safe side. Order of keys is order of thought: the evidence is written before the verdict. Which
document decides a claim is not asked: code finds the quote.
"""

from __future__ import annotations

from typing import Any

from ragtrace.judges._chat.entries import Task, canary_number, decoy_number

Schema = dict[str, Any]

VERDICTS = ("NOT_FOUND", "SUPPORTED", "CONTRADICTED", "NO_CLAIM")
PAIR_VERDICTS = VERDICTS[:3]
YES_NO = ("no", "yes")
MAX_NEEDS, MAX_EXTRA = 4, 24
_CLAIMS_PER_ITEM = 4


def task_schema(task: Task, bounded: bool, keyed: bool = False) -> Schema:
    """The schema of a reply to ``task`` (with the canary's entries); ``bounded`` adds array lengths.

    ``keyed`` gives each sentence and document its own key (``U1``, ``D1``), so that a model that confuses
    their numbers cannot; that takes more tokens.
    """
    properties: Schema = {}
    definitions: Schema = {}
    if task.asked and keyed:
        definitions["unit"] = _array(_claim(task, {}), bounded, _CLAIMS_PER_ITEM, least=1)
        properties["claims"] = _keyed("U", [*(i.number for i in task.asked), canary_number(task)], "unit")
    elif task.asked:
        n = len(task.asked) + 1
        claim = _claim(task, {"unit": _INTEGER})
        properties["claims"] = _array(claim, bounded, n * _CLAIMS_PER_ITEM, least=n)
    if task.relevance_of and keyed:
        definitions["helps"] = _enum(YES_NO)
        properties["relevance"] = _keyed("D", [*task.relevance_of, decoy_number(task)], "helps")
    elif task.relevance_of:
        n = len(task.relevance_of) + 1
        properties["relevance"] = _array(_object(doc=_INTEGER, helps=_enum(YES_NO)), bounded, n, least=n)
    if task.extra:
        properties |= _extra(task, bounded, least=1 if keyed else 0)
    return _object(**properties) | ({"$defs": definitions} if definitions else {})


def questions_schema(n: int, bounded: bool) -> Schema:
    """The schema of call 2's reply: ``n`` questions, and whether the answer commits to nothing."""
    return _object(questions=_array(_STRING, bounded, n, least=n), evasive=_enum(YES_NO))


_STRING: Schema = {"type": "string"}
_INTEGER: Schema = {"type": "integer"}


def _extra(task: Task, bounded: bool, least: int) -> Schema:
    if task.call == "reference":
        return {"extra": _array(_STRING, bounded, most=MAX_EXTRA)}
    need = _object(need=_STRING, covered=_enum(YES_NO), answered=_enum(YES_NO))
    return {"needs": _array(need, bounded, MAX_NEEDS, least)}


def _keyed(letter: str, numbers: list[int], definition: str) -> Schema:
    return _object(**{f"{letter}{number}": {"$ref": f"#/$defs/{definition}"} for number in numbers})


def _claim(task: Task, first: Schema) -> Schema:
    properties: Schema = {**first, "claim": _STRING, "quote": _STRING}
    if task.has_pairs:
        pair = _object(doc=_INTEGER, says=_enum(PAIR_VERDICTS))
        properties["pairs"] = {"type": "array", "items": pair}
    if task.call == "reference":
        return _object(**properties, verdict=_enum(PAIR_VERDICTS), in_answer=_enum(YES_NO))
    return _object(**properties, verdict=_enum(VERDICTS))


def _object(**properties: Schema) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _array(items: Schema, bounded: bool, most: int, least: int = 0) -> Schema:
    bounds = ({"minItems": least} if least else {}) | {"maxItems": most}
    return {"type": "array", "items": items, **(bounds if bounded else {})}


def _enum(values: tuple[str, ...]) -> Schema:
    return {"type": "string", "enum": list(values)}

"""One OpenAI-compatible endpoint for all judges of ``judge_peers.py``: answers each in its format; counts.

A judge is told apart by the path that it posts to: ``/JUDGE/RUN/METRIC/v1/chat/completions``.

Nothing here judges. Ours is answered as an honest model would answer it, which can be computed, because our
requests number what they ask about. For the others the answer is an instance of the JSON Schema that the
request holds (in ``response_format``, in a tool, or in the prompt's text), and this is made up:

* a list has an item for each thing it is about: six claims of the answer, four of the reference, five
  documents, two facts a document;
* verdicts are positive in the first half of a list and negative in the second, single ones positive;
* a claim, statement or fact is a sentence of the sample; a reason is one sentence of 97 characters.

Tokens are characters / 4 for everyone: of all messages, of the schema and of the tools; of each choice.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from judge_faults import faulty
from judge_sample import CLAIMS, DOCUMENTS, REFERENCE_CLAIMS, only_wanted
from servers.openai_chat import Answer, Chat, FakeOpenAI, Http, Seen, good_reply

from ragtrace.model import Interaction

OURS = "ragtrace"
_REASON = "The context says so in the words that the statement uses, and nothing else in it contradicts that."
_QUESTION = "Which inspection interval applies to the seal of the coolant pump, and who approves it?"
_LENGTHS = {
    ("deepeval", "context_precision", "verdicts"): DOCUMENTS,
    ("deepeval", "context_recall", "verdicts"): REFERENCE_CLAIMS,
    ("deepeval", "faithfulness", "truths"): 2 * DOCUMENTS,
    ("ragas", "context_recall", "classifications"): REFERENCE_CLAIMS,
    ("ragas", "answer_correctness", "TP"): 3,
    ("ragas", "answer_correctness", "FP"): CLAIMS - 3,
    ("ragas", "answer_correctness", "FN"): REFERENCE_CLAIMS - 3,
}
"""How long a list is that is not about the answer's claims."""

Key = tuple[str, str, str]
"""Judge, run, metric."""


@dataclass
class Counted:
    """What came in for one key."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    def __add__(self, other: Counted) -> Counted:
        return Counted(
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
        )


def serve(pipe: Connection, sample: Interaction) -> None:
    """Run until told to stop: say the address, then answer each message with all counts so far."""
    endpoint = Endpoint(sample)
    with FakeOpenAI(endpoint).running() as server:
        pipe.send(server.url.removesuffix("/v1"))
        while pipe.recv():
            pipe.send(endpoint.counted)
            server.requests.clear()


@dataclass
class Endpoint:
    """Answers a request, and counts it."""

    sample: Interaction
    counted: dict[Key, Counted] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, seen: Seen) -> Answer:
        judge, run, metric, *_ = seen.path.strip("/").split("/")
        schema = _schema(seen.body)
        if judge == OURS:
            reply = only_wanted(good_reply(seen), schema)
        else:
            reply = Maker(self.sample, judge, metric, _text(seen.body), schema).make()
        answer = faulty(run, reply)
        if isinstance(answer, Http):
            spent = _input_tokens(seen.body), 0
        else:
            answer = _as_asked(answer, seen.body)
            spent = _input_tokens(seen.body), answer.copies * tokens(_written(answer))
        with self._lock:
            before = self.counted.get((judge, run, metric), Counted())
            self.counted[judge, run, metric] = before + Counted(1, *spent)
        return answer


def tokens(text: str) -> int:
    """Characters / 4: not a model's tokens, but the same for everyone."""
    return len(text) // 4 + 1


def _input_tokens(body: dict[str, Any]) -> int:
    extras = (body.get("response_format"), body.get("tools"))
    return tokens(_text(body)) + sum(tokens(json.dumps(extra)) for extra in extras if extra)


def _text(body: dict[str, Any]) -> str:
    contents = (message.get("content") or "" for message in body["messages"])
    return "\n".join(
        content if isinstance(content, str) else " ".join(part.get("text", "") for part in content)
        for content in contents
    )


def _schema(body: dict[str, Any]) -> dict[str, Any]:
    """The JSON Schema of the wanted reply: of the response format, of the first tool, or in the text."""
    wanted = (body.get("response_format") or {}).get("json_schema", {}).get("schema")
    if wanted is None and body.get("tools"):
        wanted = body["tools"][0]["function"]["parameters"]
    return wanted or next(_schemas_within(_text(body)), {})


def _schemas_within(text: str) -> Iterator[dict[str, Any]]:
    decoder, at = json.JSONDecoder(), text.find("{")
    while at >= 0:
        try:
            found, _ = decoder.raw_decode(text, at)
        except ValueError:
            found = None
        if isinstance(found, dict) and "properties" in found:
            yield found
        at = text.find("{", at + 1)


def _as_asked(answer: Chat, body: dict[str, Any]) -> Chat:
    """The answer as the call of a tool, or several times, where the request wants it so."""
    copies = body.get("n") or 1
    if not body.get("tools") or answer.content is None:
        return Chat(answer.content, answer.finish, choices=answer.choices, copies=copies)
    function = {"name": body["tools"][0]["function"]["name"], "arguments": answer.content}
    called = {"tool_calls": [{"id": "call", "type": "function", "function": function}]}
    return Chat(None, "tool_calls", choices=answer.choices, copies=copies, extra=called)


def _written(answer: Chat) -> str:
    called = answer.extra.get("tool_calls")
    return called[0]["function"]["arguments"] if called else answer.content or ""


@dataclass(frozen=True)
class Maker:
    """Makes an instance of a schema, with as many items as the sample has things to say about."""

    sample: Interaction
    judge: str
    metric: str
    request: str
    schema: dict[str, Any]

    def make(self) -> Any:
        """The reply; without a schema that of G-Eval, which asks for its two fields in prose."""
        return self._instance(self.schema, "", 0, 1) if self.schema else {"reason": _REASON, "score": 5}

    def _instance(self, schema: dict[str, Any], name: str, place: int, among: int) -> Any:
        """A value of ``schema`` for the property ``name``, in item ``place`` of ``among``."""
        schema = self._resolved(schema)
        good = place * 2 < among
        if "enum" in schema:
            return schema["enum"][0 if good else min(1, len(schema["enum"]) - 1)]
        match schema.get("type"):
            case "object":
                parts = schema.get("properties", {})
                return {key: self._instance(part, key, place, among) for key, part in parts.items()}
            case "array":
                length = self._length(name)
                return [self._instance(schema["items"], name, n, length) for n in range(length)]
            case "boolean":
                return good
            case "integer" | "number":
                return 0 if name == "noncommittal" else int(good)
        return self._string(name, place, good)

    def _resolved(self, schema: dict[str, Any]) -> dict[str, Any]:
        if "$ref" in schema:
            return self._resolved(self.schema["$defs"][schema["$ref"].rpartition("/")[2]])
        for key in ("anyOf", "oneOf", "allOf"):
            if key in schema:
                return self._resolved(next(part for part in schema[key] if part.get("type") != "null"))
        return schema

    def _length(self, name: str) -> int:
        if name == "statements" and str(self.sample.answer) not in self.request:
            return REFERENCE_CLAIMS if str(self.sample.reference) in self.request else CLAIMS
        return _LENGTHS.get((self.judge, self.metric, name), CLAIMS)

    def _string(self, name: str, place: int, good: bool) -> str:
        if name in {"verdict", "result", "value"}:
            return "yes" if good else "no"
        if name in {"claims", "statements", "truths", "statement", "expected_output"}:
            stated = (self.sample.answer or "").split(". ")
            return stated[place % len(stated)].rstrip(".") + "."
        return _QUESTION if name == "question" else _REASON

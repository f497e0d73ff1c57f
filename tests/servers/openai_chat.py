"""A real HTTP server that speaks the OpenAI chat protocol and answers as a script says.

``good_reply`` answers any of the judge's requests as an honest model would: it reads the items of the user
message, and supports a sentence when some document contains it.
"""

from __future__ import annotations

import json
import re
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

ITEM = re.compile(r"^\[([b-z]{4,}):([DUQA])(\d*)([^\]]*)\] ", re.MULTILINE)


@dataclass(frozen=True)
class Http:
    """An HTTP answer that is no completion. ``hold``: an event to wait for before answering; ``parts``: a
    chunked body, in which an event is waited for."""

    status: int = 200
    message: str = "no"
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None
    code: str | None = None
    hold: threading.Event | None = None
    parts: Iterable[bytes | threading.Event] | None = None


@dataclass(frozen=True)
class Chat:
    """A completion."""

    content: str | None = "{}"
    finish: str = "stop"
    refusal: str | None = None
    usage: tuple[int, int] | None = (100, 20)
    choices: bool = True
    copies: int = 1
    """How many choices, all the same: what a request with ``n`` asks for."""
    logprobs: list[dict[str, Any]] | None = None
    extra: dict[str, Any] = field(default_factory=dict)
    """More keys of the message."""
    more: dict[str, Any] = field(default_factory=dict)
    """More keys of the body."""


@dataclass(frozen=True)
class Seen:
    """A request that came: its body, its item texts by label, its headers, its path."""

    body: dict[str, Any]
    headers: dict[str, str]
    path: str = ""

    @property
    def system(self) -> str:
        return str(self.body["messages"][0]["content"])

    @property
    def user(self) -> str:
        return str(self.body["messages"][1]["content"])

    @property
    def items(self) -> list[tuple[str, int, str, str]]:
        """(kind, number, what follows the number, text) of every item."""
        found = list(ITEM.finditer(self.user))
        found = [match for match in found if match.group(1) == found[0].group(1)]
        ends = [match.start() for match in found[1:]] + [len(self.user) + 1]
        return [
            (m.group(2), int(m.group(3) or 0), m.group(4).strip(), self.user[m.end() : end - 1])
            for m, end in zip(found, ends, strict=True)
        ]

    @property
    def call(self) -> str:
        """grounding, reference or questions."""
        kinds = {kind for kind, *_ in self.items}
        if kinds == {"A"}:
            return "questions"
        return "reference" if "A" in kinds else "grounding"

    @property
    def units(self) -> dict[int, str]:
        """The sentences that want a verdict; the last is the canary, and left out."""
        numbered = {number: text for kind, number, _, text in self.items if kind == "U" and number}
        return dict(list(numbered.items())[:-1])

    @property
    def canary(self) -> int:
        """The number of the canary."""
        return max((number for kind, number, *_ in self.items if kind == "U"), default=0)

    @property
    def documents(self) -> dict[int, str]:
        return {number: text for kind, number, _, text in self.items if kind == "D"}


Answer = Http | Chat | str | dict[str, Any]
Script = Callable[[Seen], Answer]


def good_reply(
    seen: Seen,
    says: Callable[[str, dict[int, str]], str] | None = None,
    relevant: Callable[[str], bool] | None = None,
) -> dict[str, Any]:
    """The reply of an honest model. ``says`` overrules the verdict of a sentence, ``relevant`` of a document."""
    if seen.call == "questions":
        answer = seen.items[0][3]
        return {"questions": [f"{answer} ({n})?" for n in (1, 2, 3)], "evasive": "no"}
    documents = seen.documents
    reply: dict[str, Any] = {"claims": []}
    for kind, number, cites, text in seen.items:
        if kind == "U" and number and number != seen.canary:
            holders = [rank for rank, content in documents.items() if text.rstrip(".。") in content]
            verdict = says(text, documents) if says else ("SUPPORTED" if holders else "NOT_FOUND")
            quote = text.rstrip(".。") if verdict != "NOT_FOUND" else ""
            entry = claim(number, "", quote, verdict, seen)
            if cites:
                pairs = [int(rank) for rank in cites.removeprefix("cites ").split(",")]
                entry["pairs"] = [
                    {"doc": rank, "says": "SUPPORTED" if rank in holders else "NOT_FOUND"} for rank in pairs
                ]
            reply["claims"].append(entry)
    reply["claims"].append(claim(seen.canary, "", "", "NOT_FOUND", seen))
    question = next((text for kind, _, _, text in seen.items if kind == "Q"), "")
    decoy = max(documents, default=0)
    reply["relevance"] = [
        {"doc": rank, "helps": "yes" if rank != decoy and (relevant is None or relevant(text)) else "no"}
        for rank, text in documents.items()
    ]
    reply["needs"] = [{"need": question, "covered": "yes", "answered": "yes"}]
    reply["extra"] = []
    return reply


def claim(number: int, text: str, quote: str, verdict: str, seen: Seen) -> dict[str, Any]:
    made = {"unit": number, "claim": text, "quote": quote, "verdict": verdict}
    return made | ({"in_answer": "yes"} if seen.call == "reference" else {})


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that were killed: that is what some tests are for."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class FakeOpenAI:
    """Answers requests with ``script``, one list of answers or a function; the last answer of a list repeats."""

    def __init__(self, *script: Answer | Script) -> None:
        self._script: tuple[Answer | Script, ...] = script or (good_reply,)
        self._lock = threading.Lock()
        self.requests: list[Seen] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: Any) -> None:
                pass

            def do_POST(self) -> None:
                length = int(self.headers["content-length"])
                raw = self.rfile.read(length)
                if len(raw) < length:
                    return  # the client was killed
                body = json.loads(raw)
                seen = Seen(body, {key.lower(): value for key, value in self.headers.items()}, self.path)
                answer = outer._answer(seen)
                if isinstance(answer, Http):
                    self._refuse(answer)
                else:
                    self._send(200, completion(answer), ())

            def _refuse(self, answer: Http) -> None:
                if answer.hold is not None:
                    answer.hold.wait(30)
                if answer.parts is not None:
                    self._send_parts(answer.status, answer.parts)
                    return
                body = answer.body
                if body is None:
                    body = json.dumps({"error": {"message": answer.message, "code": answer.code}}).encode()
                self._send(answer.status, body, answer.headers)

            def _send(self, status: int, body: bytes, headers: tuple[tuple[str, str], ...]) -> None:
                fields = {"content-type": "application/json", "content-length": str(len(body))}
                try:
                    self.send_response_only(status)
                    for name, value in (fields | dict(headers)).items():
                        self.send_header(name, value)
                    self.end_headers()
                    self.wfile.write(body)
                    self.close_connection = int((fields | dict(headers))["content-length"]) != len(body)
                except OSError:
                    pass  # the client gave up, as it should

            def _send_parts(self, status: int, parts: Iterable[bytes | threading.Event]) -> None:
                try:
                    self.send_response_only(status)
                    self.send_header("transfer-encoding", "chunked")
                    self.end_headers()
                    for part in parts:
                        if isinstance(part, threading.Event):
                            part.wait(30)
                        else:
                            self.wfile.write(b"%x\r\n%b\r\n" % (len(part), part))
                    self.wfile.write(b"0\r\n\r\n")
                except OSError:
                    self.close_connection = True

        self._server = _Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def _answer(self, seen: Seen) -> Answer:
        with self._lock:
            self.requests.append(seen)
            step = self._script[min(len(self.requests), len(self._script)) - 1]
        return step(seen) if callable(step) else step

    @contextmanager
    def running(self) -> Iterator[FakeOpenAI]:
        thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        )
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()
            thread.join(5)


def completion(answer: Chat | str | dict[str, Any]) -> bytes:
    """The body of a response that holds ``answer``."""
    if isinstance(answer, dict):
        answer = Chat(json.dumps(answer, ensure_ascii=False))
    elif isinstance(answer, str):
        answer = Chat(answer)
    message: dict[str, Any] = {"role": "assistant", "content": answer.content, "refusal": answer.refusal}
    choice: dict[str, Any] = {"index": 0, "finish_reason": answer.finish, "message": message | answer.extra}
    if answer.logprobs is not None:
        choice["logprobs"] = {"content": answer.logprobs}
    made: dict[str, Any] = {
        "id": "x",
        "object": "chat.completion",
        "created": 1,
        "model": "fake",
        "choices": [choice | {"index": n} for n in range(answer.copies)] if answer.choices else [],
    }
    if answer.usage is not None:
        prompt, written = answer.usage
        made["usage"] = {
            "prompt_tokens": prompt,
            "completion_tokens": written,
            "total_tokens": prompt + written,
        }
    return json.dumps(made | answer.more).encode()

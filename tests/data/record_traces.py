"""Record what instrumentations put on the wire: small OTLP/JSON captures with what the app really did beside them.

usage: record_traces.py [--only PREFIX] [--environments DIR]

For each row of ``MATRIX`` a throw-away environment is made with uv (kept in DIR if given), ``recorded_app.py`` runs
in it against a model server and an OTLP receiver on loopback, and the requests are written as
``traces/<clothes>-<version>__<scenario>.json``, log records as ``.logs.json``, the app's report as
``.expected.json``. Paths, hosts, process ids and stack traces are taken out.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from ragtrace_collector.otlp import split
from ragtrace_collector.otlp_json import logs_to_json, to_json

HERE = Path(__file__).parent
TRACES = HERE / "traces"


@dataclass(frozen=True)
class Recording:
    """One environment: what the app wears, the version that names the file, what is installed, what is run."""

    clothes: str
    version: str
    packages: tuple[str, ...]
    scenarios: tuple[str, ...] = ("basic", "zh", "error")
    environment: dict[str, str] = field(default_factory=dict)


_HTTP = "opentelemetry-exporter-otlp-proto-http"
_V2 = {"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "true"}
_LANGFUSE = {"LANGFUSE_PUBLIC_KEY": "pk-lf-x", "LANGFUSE_SECRET_KEY": "sk-lf-x"}
_OLD = ("openai<2", "setuptools<80", "wrapt<2", "opentelemetry-sdk<1.34", _HTTP)
"""What the oldest instrumentations leaned on and newer libraries no longer have."""
_ALL = ("basic", "zh", "empty", "error", "multi")
MATRIX = (
    Recording("openinference-openai", "0.1.1", ("openinference-instrumentation-openai==0.1.1", *_OLD)),
    Recording(
        "openinference-openai",
        "0.1.66",
        ("openinference-instrumentation-openai==0.1.66", "openai", _HTTP),
        _ALL,
    ),
    Recording(
        "openinference-langchain",
        "0.1.12",
        (
            "openinference-instrumentation-langchain==0.1.12",
            "langchain-core<0.3",
            "langchain-openai<0.2",
            *_OLD,
        ),
    ),
    Recording(
        "openinference-langchain",
        "0.1.80",
        ("openinference-instrumentation-langchain==0.1.80", "langchain-core", "langchain-openai", _HTTP),
    ),
    Recording("traceloop-openai", "0.10.0", ("opentelemetry-instrumentation-openai==0.10.0", *_OLD)),
    Recording(
        "traceloop-openai", "0.62.4", ("opentelemetry-instrumentation-openai==0.62.4", "openai", _HTTP), _ALL
    ),
    Recording(
        "openai-v2",
        "2.0b0",
        ("opentelemetry-instrumentation-openai-v2==2.0b0", "httpx", *_OLD),
        environment=_V2,
    ),
    Recording(
        "openai-v2",
        "2.4b0",
        (
            "opentelemetry-instrumentation-openai-v2==2.4b0",
            "opentelemetry-util-genai==0.4b0",
            "openai",
            "httpx",
            _HTTP,
        ),
        environment=_V2,
    ),
    Recording("langfuse", "3.0.0", ("langfuse==3.0.0", "openai<2"), environment=_LANGFUSE),
    Recording("langfuse", "5.0.4", ("langfuse==5.0.4", "openai"), (*_ALL, "rerank"), _LANGFUSE),
    Recording("pydantic-ai", "0.1.0", ("pydantic-ai-slim[openai]==0.1.0", *_OLD)),
    Recording("pydantic-ai", "2.68.0", ("pydantic-ai-slim[openai]==2.68.0", "opentelemetry-sdk", _HTTP)),
    Recording(
        "openlit-langchain",
        "1.45.0",
        ("openlit==1.45.0", "langchain-core", "langchain-openai", _HTTP),
        ("basic", "zh", "multi"),
    ),
    Recording(
        "langfuse-langchain",
        "5.0.4",
        ("langfuse==5.0.4", "langchain", "langchain-core", "langchain-openai"),
        ("batch", "multi"),
        _LANGFUSE,
    ),
    Recording(
        "genai-llama-index",
        "1.3b0",
        (
            "opentelemetry-instrumentation-genai-llama-index==1.3b0",
            "opentelemetry-instrumentation-genai-openai==1.3b0",
            "llama-index-core",
            "llama-index-llms-openai-like",
            _HTTP,
        ),
        ("basic", "zh", "multi"),
        {"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "SPAN_ONLY"},
    ),
    Recording(
        "smolagents",
        "0.1.43",
        (
            "openinference-instrumentation-smolagents==0.1.43",
            "smolagents[openai]",
            "opentelemetry-sdk",
            _HTTP,
        ),
        ("basic",),
    ),
    Recording(
        "trulens",
        "2.16.0",
        ("trulens-core==2.16.0", "trulens-otel-semconv", "openai", _HTTP),
        ("basic", "zh"),
    ),
)


# --- model server and receiver ----------------------------------------------------------------------------


@dataclass
class Received:
    """Request bodies, in the order in which they came."""

    traces: list[bytes] = field(default_factory=list)
    logs: list[bytes] = field(default_factory=list)


_REPLIES = (
    ("late book cost", "Books may be kept for three weeks [2]; a late one costs twenty cents a day [1]."),
    ("kept", "Books may be kept for three weeks [1]."),
    ("图书可借阅多久", "图书可借阅三周【1】。"),
)


def reply_to(request: dict[str, Any]) -> dict[str, Any]:
    """The assistant's message: a search first where tools are offered, then the answer."""
    messages = request["messages"]
    said = json.dumps(messages, ensure_ascii=False)
    question = next((q for q in _questions(messages) if q), "")
    tools = [tool["function"]["name"] for tool in request.get("tools", ())]
    searched = any(
        message["role"] == "tool" or "Observation" in str(message.get("content")) for message in messages
    )
    if tools and not searched:
        return _call(next(name for name in tools if "search" in name), {"query": question})
    answer = next((reply for mark, reply in _REPLIES if mark in said), "I do not know.")
    if "final_answer" in tools:
        return _call("final_answer", {"answer": answer})
    return {"role": "assistant", "content": answer}


def _questions(messages: list[dict[str, Any]]) -> Iterator[str]:
    for message in reversed(messages):
        content = message.get("content")
        parts = [content] if isinstance(content, str) else [part.get("text", "") for part in content or ()]
        if message["role"] == "user":
            yield "\n".join(parts).removeprefix("New task:\n").strip()


def _call(name: str, arguments: dict[str, str]) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments, ensure_ascii=False)}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "call_1", "type": "function", "function": function}],
    }


class Handler(BaseHTTPRequestHandler):
    """Both servers in one: OTLP on the usual paths and Langfuse's, chat completions beside them."""

    received: Received

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        if self.path.endswith("/v1/traces"):
            self.received.traces.append(body)
            self._send(200, b"", "application/x-protobuf")
        elif self.path.endswith("/v1/logs"):
            self.received.logs.append(body)
            self._send(200, b"", "application/x-protobuf")
        elif self.path.endswith("/chat/completions"):
            self._complete(json.loads(body))
        else:
            self._send(404, b"{}", "application/json")

    def do_GET(self) -> None:
        self._send(200, b"{}", "application/json")

    def _complete(self, request: dict[str, Any]) -> None:
        if "boom" in json.dumps(request["messages"]):
            self._send(
                400, b'{"error": {"message": "refused", "type": "invalid_request_error"}}', "application/json"
            )
            return
        message = reply_to(request)
        choice = {
            "index": 0,
            "message": message,
            "finish_reason": "tool_calls" if "tool_calls" in message else "stop",
        }
        usage = {"prompt_tokens": 60, "completion_tokens": 12, "total_tokens": 72}
        reply = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": request["model"]}
        self._send(
            200, json.dumps({**reply, "choices": [choice], "usage": usage}).encode(), "application/json"
        )

    def _send(self, status: int, body: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""


# --- environments and runs --------------------------------------------------------------------------------


def environment(recording: Recording, where: Path) -> Path:
    """The Python of an environment with the recording's packages."""
    home = where / f"{recording.clothes}-{recording.version}"
    python = home / "bin" / "python"
    if not python.exists():
        subprocess.run(["uv", "venv", "-q", "--python", sys.executable, str(home)], check=True)
        subprocess.run(
            ["uv", "pip", "install", "-q", "--python", str(python), *recording.packages], check=True
        )
    return python


def run(recording: Recording, scenario: str, python: Path) -> tuple[Received, dict[str, Any]]:
    """Run the app once: what arrived, and what it reports."""
    handler = type("Bound", (Handler,), {"received": Received()})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{server.server_port}"
    variables = {
        "PATH": os.environ["PATH"],
        "HOME": str(python.parents[1]),
        "OTEL_EXPORTER_OTLP_ENDPOINT": base,
        "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
        "OPENAI_BASE_URL": base + "/v1",
        "OPENAI_API_KEY": "sk-none",
        "LANGFUSE_HOST": base,
        **recording.environment,
    }
    command = [str(python), str(HERE / "recorded_app.py"), recording.clothes, scenario]
    # Where the app runs, some instrumentations leave databases.
    done = subprocess.run(
        command,
        env=variables,
        cwd=python.parents[1],
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    server.shutdown()
    if done.returncode:
        raise SystemExit(f"{recording.clothes} {recording.version} {scenario} failed:\n{done.stderr[-2000:]}")
    return handler.received, json.loads(done.stdout.strip().splitlines()[-1])


# --- files ------------------------------------------------------------------------------------------------

_SCRUBBED = re.compile(
    r"stacktrace|filepath|^(host|process|os|server|net|url|http)\.|base_url|api_base|lineno"
)
_PATHS = re.compile(r"(?:/[\w.+-]+){3,}/?|127\.0\.0\.1:\d+")


def scrubbed(value: Any) -> Any:
    """OTLP/JSON without the attributes and parts of texts that tell where it was recorded."""
    if isinstance(value, dict):
        cleaned = {key: scrubbed(inner) for key, inner in value.items()}
        if isinstance(cleaned.get("attributes"), list):
            cleaned["attributes"] = [
                a for a in cleaned["attributes"] if not _SCRUBBED.search(a.get("key", ""))
            ]
        return cleaned
    if isinstance(value, list):
        return [scrubbed(item) for item in value]
    return _PATHS.sub("…", value) if isinstance(value, str) else value


def lines(requests: list[str]) -> str:
    """One scrubbed request a line."""
    return "".join(json.dumps(scrubbed(json.loads(r)), ensure_ascii=False) + "\n" for r in requests)


def write(name: str, received: Received, expected: dict[str, Any]) -> None:
    """The files of one capture."""
    TRACES.mkdir(exist_ok=True)
    (TRACES / f"{name}.json").write_text(
        lines([to_json(split(body)) for body in received.traces]), encoding="utf-8"
    )
    if received.logs:
        logs = lines([logs_to_json(body) for body in received.logs])
        (TRACES / f"{name}.logs.json").write_text(logs, encoding="utf-8")
    report = json.dumps(expected, ensure_ascii=False, indent=1)
    (TRACES / f"{name}.expected.json").write_text(report + "\n", encoding="utf-8")


def main() -> None:
    """Record what is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="")
    parser.add_argument("--environments", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        for recording in MATRIX:
            if not f"{recording.clothes}-{recording.version}".startswith(options.only):
                continue
            python = environment(recording, options.environments or Path(scratch))
            for scenario in recording.scenarios:
                name = f"{recording.clothes}-{recording.version}__{scenario}"
                received, expected = run(recording, scenario, python)
                write(name, received, expected)
                print(name, len(received.traces), "trace requests", len(received.logs), "log requests")


if __name__ == "__main__":
    main()

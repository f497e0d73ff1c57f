"""Personal data at intake, and a collector that calls nobody."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from collector.collector_rig import backend, running
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from ragtrace.errors import ConfigError
from ragtrace.redact import Redactor, named
from ragtrace_collector import otlp
from ragtrace_collector.otlp_redact import redact_text
from ragtrace_collector.privacy import is_content
from ragtrace_collector.settings import load
from ragtrace_collector.wiring import intake_token

EMAIL, PHONE = "zhang.wei@example.com", "13812345678"
REDACT = Redactor(key="k")


def request(**attributes: str) -> bytes:
    made = ExportTraceServiceRequest()
    span = (
        made.resource_spans.add()
        .scope_spans.add()
        .spans.add(
            trace_id=b"\1" * 16, span_id=b"\2" * 8, name="ask", start_time_unix_nano=1, end_time_unix_nano=2
        )
    )
    for key, value in attributes.items():
        span.attributes.add(key=key).value.string_value = value
    event = span.events.add(name="exception")
    event.attributes.add(key="exception.message").value.string_value = f"no user {EMAIL}"
    return made.SerializeToString()


def test_content_is_redacted_and_names_are_not() -> None:
    """In attributes and events; ids, plain attributes and resources stay comparable."""
    attributes = {"input.value": f"Write to {EMAIL}", "session.id": EMAIL, "http.url": EMAIL}
    cleaned = otlp.redact_traces(request(**attributes), REDACT, is_content)
    (span,) = otlp.read_spans(cleaned)
    placeholder = REDACT(EMAIL)
    assert span.attributes == {**attributes, "input.value": f"Write to {placeholder}"}
    assert span.events[0].attributes["exception.message"] == f"no user {placeholder}"


def test_a_request_without_personal_data_stays_the_same_bytes() -> None:
    """Whatever fields of it we do not know."""
    body = request(**{"input.value": "How long do refunds take?"}).replace(EMAIL.encode(), b"x" * len(EMAIL))
    assert otlp.redact_traces(body, REDACT, is_content) is body


def test_json_stays_json() -> None:
    """Texts in it are redacted at any depth, and numbers that are phones, which become texts."""
    value = json.dumps({"to": [EMAIL], "inner": json.dumps({"phone": int(PHONE)}), "n": 3, "ok": True})
    cleaned = json.loads(redact_text(value, REDACT))
    assert cleaned["to"] == [REDACT(EMAIL)]
    assert json.loads(cleaned["inner"]) == {"phone": REDACT(PHONE)}
    assert (cleaned["n"], cleaned["ok"]) == (3, True)
    assert redact_text("[" * 100_000 + EMAIL, REDACT).endswith(REDACT(EMAIL))


def test_log_bodies_are_redacted() -> None:
    """Some instrumentations put questions and answers only there."""
    made = ExportLogsServiceRequest()
    made.resource_logs.add().scope_logs.add().log_records.add().body.string_value = EMAIL
    assert EMAIL.encode() not in otlp.redact_logs(made.SerializeToString(), REDACT, is_content)


def test_patterns_of_the_users_own() -> None:
    """By kind, before ours."""
    assert Redactor("k", named({"ORDER": "ORD-[0-9]+"}))("ORD-17").startswith("<ORDER_")


@pytest.mark.parametrize("patterns", [{"order": "x"}, {"ORDER": "("}])
def test_a_pattern_that_cannot_be_is_an_error(patterns: dict[str, str]) -> None:
    """At start, with its path."""
    with pytest.raises(ConfigError, match=r"redaction\.patterns"):
        load(None, {"redaction": {"patterns": patterns}}, {})


@pytest.mark.usefixtures("judges")
async def test_personal_data_reaches_neither_disk_nor_backend(tmp_path: Path) -> None:
    """Redaction at intake comes before the spool, the judge and the export."""
    spool = tmp_path / "spool"
    redaction = {"intake": True, "keys": ["app.note"]}
    async with (
        backend() as behind,
        running(behind, redaction=redaction, spool=str(spool)) as rig,
    ):
        body = request(**{"openinference.span.kind": "CHAIN", "input.value": PHONE, "app.note": EMAIL})
        assert await rig.post(body) == 200
        written = b"".join(file.read_bytes() for file in spool.iterdir())
        await behind.until(lambda it: bool(it.spans))
        sent = b"".join(behind.bodies)
    for secret in (EMAIL.encode(), PHONE.encode()):
        assert secret not in written
        assert secret not in sent
    assert b"<EMAIL_" in sent


# --- local only -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "path"),
    [
        ({"judge": {"use": "openai"}}, "judge.base_url"),
        ({"judge": {"use": "openai", "base_url": "https://api.example.com/v1"}}, "judge.base_url"),
        ({"judge": {"use": "openai", "base_url": "http://127.0.0.1@example.com/v1"}}, "judge.base_url"),
        ({"judge": {"use": "openai", "base_url": "http://localhost.example.com/v1"}}, "judge.base_url"),
        ({"judge": {"use": "openai", "base_url": "http://10.0.0.7:8000/v1"}}, "judge.base_url"),
        ({"judge": {"use": "cascade"}}, "judge.base_url"),
        ({"judge": {"use": "my_judges:Mine"}}, "judge.use"),
        ({"embedder": {"use": "openai"}}, "embedder.base_url"),
        ({"embedder": {"use": "my_embedders:Mine"}}, "embedder.use"),
    ],
)
def test_local_only_does_not_go_with_a_judge_elsewhere(settings: dict[str, object], path: str) -> None:
    """An error at start that names the key, not a quiet exception to the rule."""
    with pytest.raises(ConfigError, match="local_only") as caught:
        load(None, {"privacy": "local_only", **settings}, {})
    assert caught.value.path == path


@pytest.mark.parametrize("use", ["openai", "cascade"])
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
def test_local_only_allows_a_judge_on_this_machine(use: str, host: str) -> None:
    """A model served on loopback is no call elsewhere."""
    judge = {"use": use, "base_url": f"http://{host}:8000/v1"}
    assert load(None, {"privacy": "local_only", "judge": judge}, {}).judge.use == use


@pytest.mark.parametrize(
    ("action", "is_allowed"),
    [
        ("socket.create_connection(('192.0.2.7', 80), 0.2)", True),
        ("socket.create_connection(('192.0.2.8', 80), 0.2)", False),
        ("socket.getaddrinfo('192.0.2.7', 80)", True),
        ("socket.getaddrinfo('api.example.com', 80)", False),
    ],
)
def test_only_the_hosts_that_are_named_may_be_reached_beside_loopback(action: str, is_allowed: bool) -> None:
    """By name or address, for the destinations are the user's own; not allowed is refused, not timed out."""
    code = (
        "import socket\nfrom ragtrace_collector.privacy import stay_local\n"
        f"stay_local(['192.0.2.7', 'localhost'])\n{action}"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert ("local_only" in run.stderr) is not is_allowed


@pytest.mark.parametrize(
    ("action", "is_allowed"),
    [
        ("socket.create_connection(('192.0.2.1', 80), 0.2)", False),
        ("socket.getaddrinfo('example.com', 80)", False),
        ("socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 80))", False),
        ("socket.getaddrinfo('127.0.0.1', 80)", True),
        (
            "s = socket.create_server(('127.0.0.1', 0)); socket.create_connection(s.getsockname()).close()",
            True,
        ),
    ],
)
def test_a_process_that_stays_local_reaches_loopback_alone(action: str, is_allowed: bool) -> None:
    """Whatever library tries, to connect or to look a name up."""
    code = f"import socket\nfrom ragtrace_collector.privacy import stay_local\nstay_local()\n{action}"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert (run.returncode == 0) is is_allowed
    assert ("local_only" in run.stderr) is not is_allowed


WATCH = """
import os, sys
def note(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo"):
        address = arguments[1] if event == "socket.connect" else arguments[:2]
        with open(os.environ["WATCHED"], "a") as out:
            out.write(repr(address) + "\\n")
sys.addaudithook(note)
"""


async def test_a_local_collector_opens_no_socket_but_to_its_destination(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The embedded judge scores in a process whose every connection and look-up is watched."""
    (tmp_path / "sitecustomize.py").write_text(WATCH)
    watched = tmp_path / "watched"
    watched.touch()
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("WATCHED", str(watched))
    from ragtrace.testing import make_trace

    settings = {"privacy": "local_only", "judge": {"use": "embedded"}, "embedder": {"use": "embedded"}}
    async with backend() as behind, running(behind, **settings) as rig:
        assert await rig.post(otlp.join(map(otlp.encode_span, make_trace()))) == 200
        await behind.until(lambda it: bool(it.spans))
        scores = [key.key for span in behind.spans for key in span.attributes]
    assert "ragtrace.faithfulness" in scores
    assert watched.read_text() == ""


# --- secrets ----------------------------------------------------------------------------------------------


def test_the_token_may_stand_in_a_file(tmp_path: Path) -> None:
    """As orchestrators hand secrets over; its line end is none of it."""
    file = tmp_path / "token"
    file.write_text("s3cret\n")
    assert intake_token(load(None, {"otlp": {"token_file": str(file)}}, {})) == "s3cret"


@pytest.mark.parametrize("content", [None, "", " \n"])
def test_a_token_file_without_token_is_an_error(tmp_path: Path, content: str | None) -> None:
    """Never an open door."""
    file = tmp_path / "token"
    if content is not None:
        file.write_text(content)
    with pytest.raises(ConfigError, match="token_file"):
        intake_token(load(None, {"otlp": {"token_file": str(file)}}, {}))

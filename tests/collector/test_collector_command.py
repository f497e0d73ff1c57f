"""``ragtrace collector`` as users run it: a process, its flags, its words, its end."""

from __future__ import annotations

import asyncio
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml
from collector.collector_rig import backend

from ragtrace.model import JudgeInfo
from ragtrace.testing import make_trace
from ragtrace_collector import otlp
from ragtrace_collector.commands.collector import start_block
from ragtrace_collector.config import Config
from ragtrace_collector.exporters.target import Destination
from ragtrace_collector.service import Running

COMMAND = [sys.executable, "-m", "ragtrace_collector", "collector"]
QUIET = ["--otlp-grpc", "off", "--admin", "off", "--spool", "off"]
WITHIN = 30.0


class Process:
    """A running command whose lines can be waited for."""

    def __init__(self, *arguments: str, folder: Path) -> None:
        # The home folder is the test's own: a default spool would lie in the user's.
        environment = {**os.environ, "HOME": str(folder), "XDG_STATE_HOME": str(folder), "COLUMNS": "200"}
        self.popen = subprocess.Popen(
            [*COMMAND, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=environment,
        )
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self.seen: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.popen.stdout is not None
        for line in self.popen.stdout:
            self._lines.put(line.rstrip())

    def line(self, word: str) -> str:
        """Wait for the first line with ``word`` in it."""
        while True:
            line = self._lines.get(timeout=WITHIN)
            self.seen.append(line)
            if word in line:
                return line

    def end(self) -> tuple[int, str]:
        """Wait for the end → exit code and all that was said."""
        code = self.popen.wait(WITHIN)
        self._reader.join(WITHIN)
        while not self._lines.empty():
            self.seen.append(self._lines.get())
        return code, "\n".join(self.seen)


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Callable[..., Process]]:
    """Start the command; what still runs at the end is killed."""
    started: list[Process] = []

    def start(*arguments: str) -> Process:
        started.append(Process(*arguments, folder=tmp_path))
        return started[-1]

    yield start
    for process in started:
        if process.popen.poll() is None:
            process.popen.kill()
            process.popen.wait()


def post(port: int, body: bytes) -> int:
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/v1/traces", body, {"content-type": "application/x-protobuf"}
    )
    with urllib.request.urlopen(request, timeout=WITHIN) as response:
        return int(response.status)


def port_of(line: str) -> int:
    return int(line.rpartition(":")[2])


def test_it_says_where_it_listens_judges_and_drains_at_sigterm(
    run: Callable[..., Process], tmp_path: Path
) -> None:
    """Held spans do not wait for their time when the process must end: they are judged and written."""
    out = tmp_path / "out.jsonl"
    process = run("--otlp-http", "127.0.0.1:0", "--out", str(out), *QUIET)
    port = port_of(process.line("listening"))
    assert "embedded" in process.line("judge  ")
    assert "none" in process.line("cost")
    assert post(port, otlp.join(otlp.encode_span(span) for span in make_trace())) == 200
    process.popen.send_signal(signal.SIGTERM)
    code, said = process.end()
    assert code == 0, said
    spans = otlp.read_spans(otlp.trace_request_from_json(out.read_bytes()))
    entry = next(span for span in spans if span.name == "ask")
    assert len(spans) == 3
    assert entry.attributes["ragtrace.faithfulness.status"] == "scored"
    assert "How long do refunds take?" in said, "without --export a judged trace is shown"


def test_ctrl_c_in_a_terminal_drains_too(run: Callable[..., Process], tmp_path: Path) -> None:
    """SIGINT is asked for an orderly end as SIGTERM is."""
    process = run("--otlp-http", "127.0.0.1:0", *QUIET)
    process.line("listening")
    process.popen.send_signal(signal.SIGINT)
    code, said = process.end()
    assert code == 0, said


async def test_what_was_acknowledged_survives_kill_9(run: Callable[..., Process], tmp_path: Path) -> None:
    """The backend is away, the process is killed: the next one delivers every acknowledged span."""
    async with backend(status=503) as behind:
        arguments = [
            "--otlp-http", "127.0.0.1:0", "--otlp-grpc", "off", "--admin", "off",
            "--spool", str(tmp_path / "spool"), "--export", f"http://127.0.0.1:{behind.port}",
        ]  # fmt: skip
        process = run(*arguments)
        port = port_of(await asyncio.to_thread(process.line, "listening"))
        acknowledged = set()
        for number in range(4):
            trace = make_trace(seed=f"trace {number}")
            body = otlp.join(otlp.encode_span(span) for span in trace)
            assert await asyncio.to_thread(post, port, body) == 200
            acknowledged |= {span.span_id for span in trace}
        process.popen.kill()
        process.popen.wait()
        behind.status = 200
        again = run(*arguments)
        await asyncio.to_thread(again.line, "listening")
        await behind.until(lambda b: {span.span_id.hex() for span in b.spans} >= acknowledged)
        again.popen.send_signal(signal.SIGTERM)
        assert (await asyncio.to_thread(again.end))[0] == 0
    scored = [s for s in behind.spans if any(a.key == "ragtrace.faithfulness.status" for a in s.attributes)]
    assert len(scored) == 4
    assert len(behind.spans) == 12


def test_a_port_in_use_is_one_clear_line(run: Callable[..., Process]) -> None:
    """Exit code 2, the address in the message, no traceback."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        code, said = run("--otlp-http", address, *QUIET).end()
    assert code == 2
    assert len(said.splitlines()) == 1
    assert address in said


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--otlp-http", "nowhere"], "otlp.http"),
        (["--otlp-http", "0.0.0.0:0"], "--insecure-bind"),
        (["--export", "ftp://x"], "export"),
        (["--sample", "2"], "sampling.share"),
        (["--judge", "clairvoyant"], "judge"),
        (["--model", "m"], "judge"),
        (["--config", "missing.yaml"], "missing.yaml"),
        (["--out", "no/such/folder/out.jsonl"], "out"),
    ],
)
def test_a_wrong_setting_is_one_clear_line(
    run: Callable[..., Process], arguments: list[str], word: str
) -> None:
    """Exit code 2 and the setting's name."""
    defaults = [] if "--otlp-http" in arguments else ["--otlp-http", "127.0.0.1:0"]
    code, said = run(*defaults, *QUIET, *arguments).end()
    assert code == 2, said
    assert len(said.splitlines()) == 1, said
    assert word in said


def test_an_unknown_key_of_the_file_is_named_by_its_path(run: Callable[..., Process], tmp_path: Path) -> None:
    """A mistyped key does not pass as a default."""
    file = tmp_path / "collector.yaml"
    file.write_text("sampling: {shaer: 0.1}")
    code, said = run("--config", str(file)).end()
    assert (code, "sampling.shaer" in said) == (2, True)


def test_the_settings_in_force_can_be_printed(run: Callable[..., Process], tmp_path: Path) -> None:
    """Flags over file over defaults, complete, secrets masked; nothing is started."""
    file = tmp_path / "collector.yaml"
    file.write_text("export: [{url: 'http://a:1', headers: {authorization: Bearer hush}}]\nadmin: off")
    code, said = run("--config", str(file), "--sample", "0.5", "--otlp-grpc", "off", "--print-config").end()
    shown = yaml.safe_load(said)
    assert (code, shown["sampling"]["share"], shown["otlp"]["grpc"], shown["admin"]) == (0, 0.5, "off", "off")
    assert "hush" not in said


def test_the_cost_of_a_remote_judge_is_said_before_it_arises(run: Callable[..., Process]) -> None:
    """Calls and tokens of a judged interaction, and the share that is judged."""
    process = run(
        "--otlp-http", "127.0.0.1:0", *QUIET,
        "--judge", "openai", "--model", "m", "--base-url", "http://127.0.0.1:9/v1",
    )  # fmt: skip
    assert "5%" in process.line("judge  ")
    assert "requests" in process.line("cost")


def test_destinations_on_one_host_are_told_apart_by_their_paths(tmp_path: Path) -> None:
    """The start names each, with neither user, password nor query."""
    config = Config(
        export=tuple(
            Destination(f"http://user:secret@127.0.0.1:9{path}?key=hidden")
            for path in ("/a/v1/traces", "/b/v1/traces")
        ),
        out=tmp_path / "out.jsonl",
    )
    running = Running(http=None, grpc=None, admin=None, judge=JudgeInfo("embedded", "abc"))
    told = start_block(config, running)
    assert "http://127.0.0.1:9/a/v1/traces, http://127.0.0.1:9/b/v1/traces" in told
    assert "secret" not in told
    assert "hidden" not in told

"""A collector of its own for the demo: a real process on free loopback ports."""

from __future__ import annotations

import contextlib
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ragtrace.errors import RagtraceError

_POLL = 0.05
START_WITHIN, STOP_WITHIN = 30.0, 20.0


@dataclass(frozen=True, slots=True)
class RunningCollector:
    """Where the demo's collector listens, and the file to which it writes judged traces."""

    endpoint: str
    out: Path


@contextlib.contextmanager
def collector(folder: Path, arguments: Sequence[str]) -> Iterator[RunningCollector]:
    """Run ``ragtrace collector`` with ``arguments`` until the block ends, then drain it.

    Args:
        folder: where its output goes.
        arguments: flags beside those for ports, output and spool.

    Raises:
        RagtraceError: it did not start; its own words are in the message.
    """
    otlp, admin = free_port(), free_port()
    out, log = folder / "judged.jsonl", folder / "collector.log"
    command = [sys.executable, "-m", "ragtrace_collector", "collector"]
    command += ["--otlp-http", f"127.0.0.1:{otlp}", "--otlp-grpc", "off", "--admin", f"127.0.0.1:{admin}"]
    command += ["--out", str(out), "--spool", "off", *arguments]
    with log.open("wb") as stream:
        process = subprocess.Popen(  # noqa: S603  # our own command line
            command, stdout=stream, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL
        )
    try:
        wait_for(lambda: answers(f"http://127.0.0.1:{admin}/health"), process, log)
        yield RunningCollector(f"http://127.0.0.1:{otlp}", out)
    finally:
        stop(process)


def stop(process: subprocess.Popen[bytes]) -> None:
    """Ask ``process`` to end, and end it where it does not listen."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
    try:
        process.wait(STOP_WITHIN)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def wait_for(
    ready: Callable[[], bool], process: subprocess.Popen[bytes], log: Path, within: float = START_WITHIN
) -> None:
    """Wait until ``ready()``, at most ``within`` seconds.

    Raises:
        RagtraceError: the process ended, or was not ready in time; the end of its log is in the message.
    """
    until = time.monotonic() + within
    while not ready():
        if process.poll() is not None or time.monotonic() > until:
            words = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-5:]
            raise RagtraceError(f"could not start: {' / '.join(words) or f'no word in {within:.0f} s'}")
        time.sleep(_POLL)


def free_port() -> int:
    """A loopback port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def answers(url: str) -> bool:
    """Whether ``url`` on loopback answers a GET."""
    try:
        with urllib.request.urlopen(url, timeout=1) as response:  # noqa: S310  # our own loopback URL
            return bool(response.status < 400)
    except (urllib.error.URLError, OSError):
        return False

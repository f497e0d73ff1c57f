"""A real Phoenix for the demo, on its own free ports, with its telemetry off."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from ragtrace.errors import MissingExtra
from ragtrace_collector.demo.process import answers, free_port, stop, wait_for

START_WITHIN = 180.0
"""Seconds; its first start builds a database and compiles a great many modules."""
COMMAND_VARIABLE = "RAGTRACE_PHOENIX"
"""Path of the ``phoenix`` command, where it is installed in another environment."""


@contextlib.contextmanager
def phoenix(folder: Path) -> Iterator[str]:
    """Run Phoenix with its data in ``folder`` → its base URL.

    Raises:
        MissingExtra: there is no ``phoenix`` command.
        RagtraceError: it did not start.
    """
    command = _command()
    port, grpc = free_port(), free_port()
    url, log = f"http://127.0.0.1:{port}", folder / "phoenix.log"
    environment = os.environ | {
        "PHOENIX_HOST": "127.0.0.1",
        "PHOENIX_PORT": str(port),
        "PHOENIX_GRPC_PORT": str(grpc),
        "PHOENIX_WORKING_DIR": str(folder),
        "PHOENIX_TELEMETRY_ENABLED": "false",
        "PHOENIX_ALLOW_EXTERNAL_RESOURCES": "false",
    }
    with log.open("wb") as stream:
        process = subprocess.Popen(  # noqa: S603  # the command that the user installed
            [command, "serve"],
            env=environment,
            stdout=stream,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
        )
    try:
        wait_for(lambda: answers(f"{url}/healthz"), process, log, START_WITHIN)
        yield url
    finally:
        stop(process)


def _command() -> str:
    beside = Path(sys.executable).with_name("phoenix")
    found = os.environ.get(COMMAND_VARIABLE) or (str(beside) if beside.exists() else shutil.which("phoenix"))
    if not found:
        raise MissingExtra("ragtrace demo --ui phoenix", "phoenix")
    return found

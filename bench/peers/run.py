"""One judge on the interactions of a file, in an environment of its own; prints what came of it.

    python run.py JUDGE URL ROWS.json RUN... [--correctness] [--warm-up N]

The first row is judged alone, once for each RUN, and a line of JSON printed; the others, with ``--warm-up``,
as run ``cpu``: those after the first N are measured. CPU is this process's, of the judging alone: imports,
clients and traces are made before.
No connection leaves the machine.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

Row = Mapping[str, Any]
"""question, contexts, answer, reference (``None`` where there is none)."""
Values = Mapping[str, Any]
"""By metric: a number, a label, ``None``, or the exception in its place; ``Status`` from ours."""
Judging = Callable[[], Sequence[Values]]

OFF = {
    "RAGAS_DO_NOT_TRACK": "true",
    "DEEPEVAL_TELEMETRY_OPT_OUT": "YES",
    "DEEPEVAL_DISABLE_DOTENV": "1",
    "DEEPEVAL_UPDATE_WARNING_OPT_IN": "0",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "DO_NOT_TRACK": "1",
    "PHOENIX_TELEMETRY_ENABLED": "false",
    "HF_HUB_OFFLINE": "1",
    "OPENAI_API_KEY": "none",
    "TQDM_DISABLE": "1",
}
DISTRIBUTIONS = {"phoenix": "arize-phoenix-evals"}


def stay_home(event: str, arguments: tuple[Any, ...]) -> None:
    """An audit hook that refuses what does not go to this machine."""
    if event == "socket.connect":
        host = arguments[1][0] if isinstance(arguments[1], tuple) else "localhost"
    elif event == "socket.getaddrinfo":
        host = arguments[0]
    else:
        return
    if host not in {"127.0.0.1", "localhost", "::1", None, b"127.0.0.1", b"localhost"}:
        raise OSError(f"not from this bench: {host!r}")


def kind(value: Any) -> tuple[str, str]:
    """What a value is (number, label, None, NaN, exception, status), and how it is shown."""
    if value is None:
        return "None", "None"
    if isinstance(value, BaseException):
        print(f"{type(value).__name__}: {value}", file=sys.stderr)
        return "exception", type(value).__name__
    if isinstance(value, bool | int | float):
        return ("NaN", "NaN") if math.isnan(value) else ("number", f"{value:.2f}")
    if isinstance(value, str):
        return "label", value
    return "status", str(value)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("judge")
    parser.add_argument("url")
    parser.add_argument("rows", type=Path)
    parser.add_argument("runs", nargs="+")
    parser.add_argument("--correctness", action="store_true")
    parser.add_argument("--warm-up", type=int)
    arguments = parser.parse_args()
    os.environ.update(OFF)
    sys.addaudithook(stay_home)
    peer = importlib.import_module(f"with_{arguments.judge}")
    rows = json.loads(arguments.rows.read_text("utf-8"))

    def prepared(some: Sequence[Row], run: str) -> Judging:
        url = f"{arguments.url}/{arguments.judge}/{run}"
        judging: Judging = peer.prepare(some, lambda metric: f"{url}/{metric}/v1", arguments.correctness)
        return judging

    which = version(DISTRIBUTIONS.get(arguments.judge, arguments.judge))
    for run in arguments.runs:
        values = {metric: kind(value) for metric, value in prepared(rows[:1], run)()[0].items()}
        print("\n" + json.dumps({"run": run, "version": which, "values": values}), flush=True)
    if arguments.warm_up is not None:
        prepared(rows[1 : 1 + arguments.warm_up], "cpu")()
        measured = rows[1 + arguments.warm_up :]
        judging = prepared(measured, "cpu")
        begun = time.process_time()
        judging()
        spent = (time.process_time() - begun) * 1000 / len(measured)
        print("\n" + json.dumps({"cpu_ms": spent}), flush=True)
    os._exit(0)  # some peers hold their exit up to send what they noted


if __name__ == "__main__":
    main()

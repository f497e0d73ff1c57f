"""A run that is killed goes on where it was, against a real HTTP judge that counts."""

import io
import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from servers.openai_chat import FakeOpenAI, Seen, good_reply

from ragtrace_collector.cli import run

ROWS = 12


def call_of(seen: Seen) -> tuple[Any, ...]:
    """What a request asks, without its nonce and its canary."""
    return (seen.call, *(text for *_, text in seen.items if "arcel" in text))


class Judge:
    """Answers honestly; after ``limit`` answers it keeps every further caller waiting until ``open`` is set."""

    def __init__(self, limit: int | None = None) -> None:
        self.limit, self.open = limit, threading.Event()
        self.answered: Counter[tuple[Any, ...]] = Counter()
        self._lock = threading.Lock()

    def __call__(self, seen: Seen) -> dict[str, Any]:
        with self._lock:
            waits = self.limit is not None and self.answered.total() >= self.limit
            if not waits:
                self.answered[call_of(seen)] += 1
        if waits:
            self.open.wait(60)
        return good_reply(seen)


@pytest.fixture
def serve() -> Iterator[Callable[[Judge], str]]:
    """Start a server in front of a judge; gives its URL."""
    running = []

    def start(judge: Judge) -> str:
        context = FakeOpenAI(judge).running()
        running.append((judge, context))
        return context.__enter__().url

    yield start
    for judge, context in running:
        judge.open.set()
        context.__exit__(None, None, None)


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    return written(tmp_path / "set.jsonl")


def written(path: Path) -> Path:
    """The set, written to ``path``."""
    with path.open("w") as out:
        for n in range(ROWS):
            fact = f"Parcel number {n} weighs {n + 2} kilograms."
            row = {
                "question": f"How heavy is parcel {n}?",
                "answer": fact,
                "contexts": [fact],
                "reference": fact,
            }
            out.write(json.dumps(row) + "\n")
    return path


@dataclass(frozen=True)
class Straight:
    """What a run that nothing cut off asked and found."""

    asked: frozenset[tuple[Any, ...]]
    means: dict[str, Any]
    scores: list[dict[str, Any]]


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory) -> Straight:
    rows, judge = written(tmp_path_factory.mktemp("straight") / "set.jsonl"), Judge()
    with FakeOpenAI(judge).running() as server:
        means = means_of(finished(command(rows, server.url)))
    return Straight(frozenset(judge.answered), means, scores(rows.parent / "out.jsonl"))


def command(rows: Path, url: str, *more: str) -> list[str]:
    return [
        *(
            sys.executable,
            "-m",
            "ragtrace_collector",
            "evaluate",
            str(rows),
            "--judge",
            "openai",
            "--model",
            "m",
        ),
        *("--base-url", url, "--concurrency", "3", "--journal", str(rows.parent / "journal.sqlite")),
        *("--rows", str(rows.parent / "out.jsonl"), "--json", *more),
    ]


def environment() -> dict[str, str]:
    return {**os.environ, "OPENAI_API_KEY": "k"}


def scores(path: Path) -> list[dict[str, Any]]:
    records = [json.loads(line) for line in path.read_text().splitlines()]
    return [{name: one["value"] for name, one in record["outcomes"].items()} for record in records]


def finished(arguments: list[str]) -> dict[str, Any]:
    """The summary of a run to the end, in this process: starting another takes longer than the run."""
    with redirect_stdout(io.StringIO()) as out:
        assert run(arguments[3:]) == 0
    summary: dict[str, Any] = json.loads(out.getvalue())
    return summary


def means_of(summary: dict[str, Any]) -> dict[str, Any]:
    return {name: one["mean"] for name, one in summary["metrics"].items()}


def wait_for_parts(journal: Path, count: int) -> None:
    """Until ``count`` judged parts are kept."""
    tick = threading.Event()
    for _ in range(2400):
        if journal.exists():
            try:
                with sqlite3.connect(f"file:{journal}?mode=ro", uri=True) as db:
                    if db.execute("SELECT count(*) FROM parts").fetchone()[0] >= count:
                        return
            except sqlite3.OperationalError:
                pass
        tick.wait(0.05)
    raise AssertionError(f"never {count} parts in the journal")


IN_TWO = pytest.param(2, marks=pytest.mark.slow)  # starts four worker processes, each with its own embedder


@pytest.mark.parametrize("processes", [1, IN_TWO])
def test_kill_9_in_the_middle_pays_nothing_twice(
    rows: Path, serve: Callable[[Judge], str], straight: Straight, processes: int
) -> None:
    """No answered call is made again, though rows were cut off between their calls; the result is the same."""
    judge = Judge(limit=10)
    arguments = command(rows, serve(judge), "--processes", str(processes))
    process = subprocess.Popen(
        arguments, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    wait_for_parts(rows.parent / "journal.sqlite", 10)
    process.send_signal(signal.SIGKILL)
    process.wait(30)
    assert not (rows.parent / "out.jsonl").exists()

    judge.limit = None
    resumed = finished(arguments)
    assert scores(rows.parent / "out.jsonl") == straight.scores
    assert means_of(resumed) == straight.means
    assert set(judge.answered) == straight.asked
    assert set(judge.answered.values()) == {1}


def test_a_finished_run_costs_nothing_again(rows: Path, serve: Callable[[Judge], str]) -> None:
    """The same command gives the same summary without a call; --fresh pays anew."""
    judge = Judge()
    arguments = command(rows, serve(judge))
    first = finished(arguments)
    paid = judge.answered.total()
    assert paid == 3 * ROWS
    again = finished(arguments)
    assert again["metrics"] == first["metrics"]
    assert (first.get("known_before"), again["known_before"]) == (None, ROWS)
    assert judge.answered.total() == paid
    finished([*arguments, "--fresh"])
    assert judge.answered.total() == 2 * paid


def test_ctrl_c_finishes_the_rows_at_work_and_keeps_them(rows: Path, serve: Callable[[Judge], str]) -> None:
    """Exit code 130, one line that says how to go on, and no call twice."""
    judge = Judge(limit=7)
    arguments = command(rows, serve(judge))
    process = subprocess.Popen(
        arguments, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    wait_for_parts(rows.parent / "journal.sqlite", 7)
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None
    assert "finishing the rows at work" in process.stderr.readline()
    judge.limit = None
    with judge._lock:
        judge.open.set()
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert out == ""
    assert "the same command goes on from there" in err
    finished(arguments)
    assert max(judge.answered.values()) == 1


def test_rows_that_failed_are_tried_again(rows: Path, serve: Callable[[Judge], str]) -> None:
    """An endpoint that was down is no result: coverage says so, and the next run judges those rows."""
    dead = command(rows, "http://127.0.0.1:1/v1")
    down = finished(dead)
    assert down["metrics"]["faithfulness"]["coverage"] == 0.0
    assert down["metrics"]["faithfulness"]["mean"] is None
    again = finished(dead)
    assert again["metrics"]["faithfulness"]["statuses"] == {"judge_error": ROWS}
    assert finished(command(rows, serve(Judge())))["metrics"]["faithfulness"]["mean"] == 1.0

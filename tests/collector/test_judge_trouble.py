"""What ``score``, ``evaluate`` and ``agree`` say of a judge that does not answer, as their user calls them."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest
from servers.openai_chat import FakeOpenAI, Http, Seen, good_reply

from ragtrace_collector.cli import run
from ragtrace_collector.trouble import JUDGE_FAILED, Trouble

CLOSED = "http://127.0.0.1:9/v1"
KEY = "sk-very-secret"
COMMANDS = ("score", "evaluate", "agree")


def answered(number: int) -> dict[str, object]:
    text = f"Kiln {number} reaches {900 + number} degrees."
    return {"question": f"How hot is kiln {number}?", "contexts": [text], "answer": text, "label": number % 2}


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three rows, a journal of the test's own, and a key that must not be shown."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    rows = [answered(number) | {"label_kind": "support"} for number in range(3)]
    Path("rows.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")


def judged_by(command: str, url: str, *more: str) -> int:
    flags = ["--judge", "openai", "--base-url", url, "--model", "some-model", "--json", *more]
    return run([command, "rows.jsonl", *flags, *(["--quiet"] if command == "evaluate" else [])])


@pytest.mark.parametrize("command", COMMANDS)
def test_a_closed_port_is_one_line_with_the_address(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The first real error, what to change, and an exit code that says so."""
    assert judged_by(command, CLOSED) == JUDGE_FAILED
    assert capsys.readouterr().err.splitlines() == [
        f"judge: 3 of 3 interactions have no scores: cannot connect to {CLOSED} (judge.base_url)"
    ]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(("status", "hint"), [(401, "OPENAI_API_KEY"), (404, "some-model")])
def test_a_refusal_names_what_to_change(
    command: str, status: int, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """401 is the key, 404 the path or the model; neither line holds the key nor what the server said."""
    with FakeOpenAI(Http(status, f"wrong: {KEY}")).running() as server:
        assert judged_by(command, f"{server.url}?token=hidden") == JUDGE_FAILED
    (line,) = capsys.readouterr().err.splitlines()
    assert hint in line
    assert not [secret for secret in (KEY, "hidden") if secret in line]


def test_a_slow_endpoint_names_the_flag(capsys: pytest.CaptureFixture[str]) -> None:
    """A model of one's own may need minutes for a request: how long is for its user to say."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        assert judged_by("score", url, "--judge-timeout", "0.1") == JUDGE_FAILED
    assert capsys.readouterr().err.endswith(f"{url} does not answer in time (--judge-timeout)\n")


def test_a_flag_of_a_model_is_none_of_the_embedded_judge(capsys: pytest.CaptureFixture[str]) -> None:
    """It would change nothing."""
    assert run(["score", "rows.jsonl", "--judge-timeout", "9"]) == 2
    assert "--judge-timeout needs --judge openai" in capsys.readouterr().err


def test_a_password_in_the_address_is_not_shown() -> None:
    """Nor its user: the line may end in a log."""
    line = Trouble(total=1, lost=1, first="quota").line("https://user:word@models.example/v1", "m")
    assert line is not None
    assert line.endswith("spent at https://models.example/v1")


def test_some_lost_rows_are_counted_and_the_code_is_0(capsys: pytest.CaptureFixture[str]) -> None:
    """The others have their scores."""

    def script(seen: Seen) -> Http | dict[str, object]:
        return Http(401) if "iln 1" in seen.user else good_reply(seen)

    with FakeOpenAI(script).running() as server:
        assert judged_by("score", server.url) == 0
    assert capsys.readouterr().err.startswith("judge: 1 of 3 interactions have no scores: ")


def test_a_judge_that_answers_is_not_spoken_of(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing on stderr."""
    with FakeOpenAI().running() as server:
        assert judged_by("score", server.url) == 0
    assert capsys.readouterr().err == ""

"""Where settings come from, which wins, and how a wrong one is named."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import yaml

from ragtrace.diagnosis import Thresholds
from ragtrace.errors import ConfigError, ConfigErrors
from ragtrace_collector.config import default_spool_dir
from ragtrace_collector.part_checks import wrong_parts
from ragtrace_collector.settings import as_yaml, load


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "collector.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_arguments_win_over_environment_over_file_over_defaults(tmp_path: Path) -> None:
    """Each layer wins over those below it, key by key."""
    file = write(tmp_path, "otlp: {grpc: 127.0.0.1:1, http: 127.0.0.1:1}\nadmin: 127.0.0.1:1\n")
    environment = {"RAGTRACE_COLLECTOR_OTLP__HTTP": "127.0.0.1:2", "RAGTRACE_COLLECTOR_ADMIN": "127.0.0.1:2"}
    config = load(file, {"admin": "127.0.0.1:3"}, environment)
    assert (config.otlp.grpc, config.otlp.http, config.admin) == ("127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3")
    assert config.otlp.max_request_bytes == 64 * 2**20


@pytest.mark.parametrize("text", ["", "# nothing\n"])
def test_an_empty_file_leaves_the_defaults(tmp_path: Path, text: str) -> None:
    """A file without settings is no error."""
    assert load(write(tmp_path, text), {}, {}) == load(None, {}, {})


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("nonsense: 1", "nonsense"),
        ("otlp: {grcp: off}", "otlp.grcp"),
        ("assembly: {quite: 1}", "assembly.quite"),
        ("carriers: {openinferense: true}", "carriers.openinferense"),
        ("export: [{url: 'http://a', headerz: {}}]", "export.0.headerz"),
        ("export: [{headers: {a: b}}]", "export.0.url"),
        ("export: ['ftp://a']", "export.0"),
        ("sampling: {share: 1.5}", "sampling.share"),
        ("sampling: {screen: openai}", "sampling.screen"),
        ("scoring: {deadline: 0}", "scoring.deadline"),
        ("scoring: {language: fr}", "scoring.language"),
        ("otlp: {http: 4318}", "otlp.http"),
        ("otlp: {http: 'localhost'}", "otlp.http"),
        ("otlp: {http: 'localhost:99999'}", "otlp.http"),
        ("assembly: {quiet: soon}", "assembly.quiet"),
        ("assembly: {remembered: 0}", "assembly"),
        ("otlp: {token: '${NOT_THERE}'}", "otlp.token"),
        ("stitch: {by: trace}", "stitch.by"),
        ("stitch: {wait: -1}", "stitch"),
        ("mapping: [1]", "mapping"),
        ("mapping: {retrieval: {nmae: search}}", "mapping.retrieval.nmae"),
        ("mapping: {retrieval: {name: '('}}", "mapping.retrieval.name"),
        ("mapping: not/there.yaml", "mapping"),
    ],
)
def test_a_wrong_setting_is_named_by_its_path(tmp_path: Path, text: str, path: str) -> None:
    """Unknown keys, wrong values and missing variables are errors that say where."""
    with pytest.raises(ConfigError) as caught:
        load(write(tmp_path, text), {}, {})
    assert caught.value.path.startswith(path)


ALL_WRONG = """
otlp: {grcp: x}
export: ["nope"]
assembly: {quite: 1}
sampling: {share: 7, rules: [{use: latencyy}, {use: latency, at_leest: 1}]}
judge: {use: openai, temprature: 0, timeout: -1, attempts: 0, base_url: "ftp://x", model: ""}
embedder: {use: opnai}
scoring: {deadline: soon, metrics: [faithfullness]}
"""


def test_all_that_is_wrong_is_told_at_once(tmp_path: Path) -> None:
    """One start, one list: each with its path, and the key that was meant."""
    with pytest.raises(ConfigErrors) as caught:
        load(write(tmp_path, ALL_WRONG), {}, {}, parts=wrong_parts)
    told = {error.path: error.message for error in caught.value.errors}
    assert told.keys() == {
        *("otlp.grcp", "export.0", "assembly.quite", "sampling.share", "scoring.deadline", "scoring.metrics"),
        *("sampling.rules.0.use", "sampling.rules.1.at_leest", "sampling.rules.1.at_least", "embedder.use"),
        *("judge.temprature", "judge.timeout", "judge.attempts", "judge.base_url", "judge.model"),
    }
    for path, meant in (
        ("otlp.grcp", "grpc"),
        ("assembly.quite", "quiet"),
        ("sampling.rules.1.at_leest", "at_least"),
        ("judge.temprature", "temperature"),
    ):
        assert told[path] == f"unknown key; did you mean {meant}?"


def test_thresholds_of_the_diagnosis_are_settings(tmp_path: Path) -> None:
    """Those that are named move, the others stay; what is printed shows all."""
    config = load(write(tmp_path, "diagnosis: {faithfulness: 0.9, first_relevant_rank: 5}"), {}, {})
    assert config.diagnosis.in_force == Thresholds(faithfulness=0.9, first_relevant_rank=5)
    printed = yaml.safe_load(as_yaml(config))["diagnosis"]
    assert printed == asdict(config.diagnosis.in_force)
    assert load(None, {}, {"RAGTRACE_COLLECTOR_DIAGNOSIS__FAITHFULNESS": "0.7"}).diagnosis.faithfulness == 0.7


def test_all_thresholds_that_are_wrong_are_told_at_once(tmp_path: Path) -> None:
    """Out of range, of another type, mistyped: each by its path."""
    text = "diagnosis: {faithfulness: 80, context_noise: much, first_relevant_rank: 0, context_recal: 0.5}"
    with pytest.raises(ConfigErrors) as caught:
        load(write(tmp_path, text), {}, {})
    told = {error.path: error.message for error in caught.value.errors}
    assert told.keys() == {
        f"diagnosis.{name}"
        for name in ("faithfulness", "context_noise", "first_relevant_rank", "context_recal")
    }
    assert told["diagnosis.context_recal"] == "unknown key; did you mean context_recall?"


def test_all_that_a_file_refers_to_in_vain_is_told_at_once(tmp_path: Path) -> None:
    """Variables and files, each with the setting that wants it."""
    text = "otlp: {token: '${NOT_THERE}'}\njudge: {use: openai, api_key: '${file:not/there}'}\nout: '${NOR_THIS}'"
    with pytest.raises(ConfigErrors) as caught:
        load(write(tmp_path, text), {}, {})
    assert [error.path for error in caught.value.errors] == ["otlp.token", "judge.api_key", "out"]


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("judge: {use: openai, modle: m}", "judge.modle"),
        ("judge: {use: openai, seed: many}", "judge.seed"),
        ("judge: {use: openai, threshold: 0.5}", "judge.threshold"),
        ("judge: {use: cascade, modle: m, precision: 0.85}", "judge.modle"),
        ("judge: {use: openai, api_key_file: not/there}", "judge.api_key_file"),
        ("judge: {rememer: 5}", "judge.rememer"),
        ("judge: {use: opnai}", "judge.use"),
        ("embedder: {use: openai, modle: m}", "embedder.modle"),
        ("sampling: {rules: [{use: error}, {use: error}]}", "sampling.rules.1.name"),
        ("scoring: {metrics: [mrr, faith]}", "scoring.metrics"),
    ],
)
def test_a_wrong_part_is_named_by_its_path(tmp_path: Path, text: str, path: str) -> None:
    """Before anything is started, and whether or not anything else is wrong."""
    file = write(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        load(file, {}, {}, parts=wrong_parts)
    assert caught.value.path == path
    with pytest.raises(ConfigErrors) as both:
        load(file, {"max_bytes": 0}, {}, parts=wrong_parts)
    assert [error.path for error in both.value.errors] == ["max_bytes", path]


@pytest.mark.parametrize(
    "text",
    [
        "judge: {use: openai, model: m, api_key: k, timeout: 5}",
        "judge: {use: cascade, model: m, api_key: k, precision: 0.85, languages: [en]}",
        "judge: {use: 'my_own.judges:Mine', anything: 1}",
        "embedder: {use: openai, model: m, base_url: 'http://127.0.0.1:1/v1'}",
        "scoring: {metrics: ['hit@3', 'my_own.metrics:Mine']}",
    ],
)
def test_right_parts_are_let_through_and_none_of_the_users_is_loaded(tmp_path: Path, text: str) -> None:
    """Their own code is for the scoring worker."""
    config = load(write(tmp_path, text), {}, {}, parts=wrong_parts)
    assert config != load(None, {}, {})


@pytest.mark.parametrize("text", ["[1, 2]", "a: [", "just words"])
def test_a_file_that_holds_no_settings_is_named(tmp_path: Path, text: str) -> None:
    """What is no YAML mapping is an error with the file's name."""
    with pytest.raises(ConfigError, match=r"collector\.yaml"):
        load(write(tmp_path, text), {}, {})


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    """A path with a typing mistake is an error, not a run with defaults."""
    with pytest.raises(ConfigError, match=r"missing\.yaml"):
        load(tmp_path / "missing.yaml", {}, {})


def test_an_unknown_variable_of_ours_is_an_error() -> None:
    """A mistyped environment variable does not pass unseen."""
    with pytest.raises(ConfigError) as caught:
        load(None, {}, {"RAGTRACE_COLLECTOR_SAMPLNG__SHARE": "0.1"})
    assert caught.value.path == "samplng"


@pytest.mark.parametrize("word", ["off", "'off'", "false"])
def test_off_is_off_however_yaml_reads_it(tmp_path: Path, word: str) -> None:
    """YAML reads a bare off as false; both mean the same here."""
    text = f"otlp: {{grpc: {word}}}\nadmin: {word}\nspool: {word}\nsampling: {{screen: {word}}}"
    config = load(write(tmp_path, text), {}, {})
    assert (config.otlp.grpc, config.admin, config.spool.folder(), config.sampling.screen) == (
        None,
        None,
        None,
        "off",
    )


@pytest.mark.parametrize(
    ("judge", "share", "deadline", "redacts"),
    [({"use": "embedded"}, 1.0, 2.0, False), ({"use": "openai", "model": "m"}, 0.05, 20.0, True)],
)
def test_defaults_follow_the_judge(
    judge: dict[str, Any], share: float, deadline: float, redacts: bool
) -> None:
    """The embedded judge sees all, at once and unredacted; a remote one a share, with patience, redacted."""
    config = load(None, {"judge": judge}, {})
    assert (config.share, config.deadline, config.redacts) == (share, deadline, redacts)


def test_another_judge_on_the_command_line_leaves_no_options_of_the_file(tmp_path: Path) -> None:
    """Options belong to the part that they were written for."""
    file = write(tmp_path, "judge: {use: openai, model: m, base_url: 'http://x'}")
    assert load(file, {"judge": {"use": "embedded"}}, {}).judge.options == {}
    assert load(file, {"judge": {"use": "openai", "model": "n"}}, {}).judge.options == {
        "model": "n",
        "base_url": "http://x",
    }


def test_a_screen_beside_the_embedded_judge_would_say_the_same_twice() -> None:
    """The screen runs only where another judge is the main one."""
    assert not load(None, {"sampling": {"screen": "embedded"}}, {}).screens
    assert load(None, {"sampling": {"screen": "embedded"}, "judge": {"use": "openai"}}, {}).screens


def test_what_is_printed_reads_back_and_shows_no_secret(tmp_path: Path) -> None:
    """The printed settings are complete, and secrets of the file and the environment are masked."""
    text = (
        "otlp: {token: '${TOKEN}'}\n"
        "export: ['http://a:1', {url: 'grpc://b:2', headers: {authorization: Bearer hush}}]\n"
        "judge: {use: openai, model: m, api_key: hush, max_output_tokens: 5}\n"
        "sampling: {rules: [{use: error}]}\n"
    )
    shown = as_yaml(load(write(tmp_path, text), {}, {"TOKEN": "hush"}))
    assert "hush" not in shown
    assert yaml.safe_load(shown)["judge"]["max_output_tokens"] == 5
    again = load(write(tmp_path, shown), {}, {})
    assert as_yaml(again) == shown


def test_the_spool_lies_in_the_users_state_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """XDG_STATE_HOME decides, by default ~/.local/state."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert default_spool_dir() == tmp_path / "ragtrace" / "spool"
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_spool_dir() == tmp_path / ".local" / "state" / "ragtrace" / "spool"


def test_credentials_in_a_url_are_not_printed(tmp_path: Path) -> None:
    """User, password and query values of a destination stay secret; host and path are shown."""
    file = tmp_path / "c.yaml"
    file.write_text('export: ["http://user:hunter2@backend:1/v1/traces?api_key=hunter3"]')
    printed = as_yaml(load(file, {}))
    assert "hunter" not in printed
    assert "backend:1/v1/traces?api_key=" in printed


def test_a_mapping_stands_in_the_settings_or_in_a_file(tmp_path: Path) -> None:
    """Either way it is the same, and is shown among the settings in force."""
    inline = load(write(tmp_path, "mapping: {retrieval: {name: search, documents: app.hits}}"), {}, {})
    (tmp_path / "mapping.yaml").write_text("retrieval: {name: search, documents: app.hits}")
    from_file = load(None, {"mapping": str(tmp_path / "mapping.yaml")}, {})
    assert from_file.attribute_mapping == inline.attribute_mapping
    assert yaml.safe_load(as_yaml(from_file))["mapping"] == {
        "retrieval": {"name": "search", "documents": "app.hits"}
    }


@pytest.mark.parametrize(("text", "by"), [("stitch: off", "off"), ("stitch: calls", "calls"), ("", "off")])
def test_stitching_is_named_by_one_word(tmp_path: Path, text: str, by: str) -> None:
    """YAML's bare ``off`` is meant as it is written."""
    assert load(write(tmp_path, text), {}, {}).stitch.by == by

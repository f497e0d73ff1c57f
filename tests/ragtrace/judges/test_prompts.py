"""Prompts: ours, a user's own, and what is checked of the latter."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from servers.openai_chat import good_reply

from ragtrace.errors import ConfigError
from ragtrace.judges import create
from ragtrace.judges.base import Want
from ragtrace.judges.chat import ChatJudge, ChatOptions
from ragtrace.judges.prompting import LANGUAGES, SECTIONS, load_prompts, prompt_files
from ragtrace.testing import make_interaction
from ragtrace.text.language import detect_language


def write(folder: Path, name: str, text: str) -> Path:
    target = folder / name
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, "utf-8")
    return folder


def test_every_prompt_is_there_in_both_languages() -> None:
    """With all its sections, each written in its language."""
    prompts = load_prompts()
    for language in LANGUAGES:
        for name, sections in SECTIONS.items():
            for section in sections:
                assert detect_language(prompts.texts[language][name][section]) == language


def test_a_request_is_told_of_nothing_that_it_does_not_want() -> None:
    """The rubric holds the sections of the wanted keys, and of the example only those."""
    system = load_prompts().system("en", "grounding", ["relevance"], "ab12")
    assert "relevance:" in system
    assert "[ab12:" in system
    assert not any(word in system for word in ("claims:", "pairs:", "needs:", "CONTRADICTED", "Tickets"))


async def test_own_prompts_replace_ours_file_by_file(bench: Any, tmp_path: Path) -> None:
    """The changed file is sent, the others stay ours, the rule on data cannot be replaced."""
    ours = prompt_files()["en/grounding.md"]
    write(tmp_path, "en/grounding.md", ours.replace("Check units", "You are a pharmacist. Check units"))
    judge = bench(good_reply, prompts=str(tmp_path))
    await judge.ask(make_interaction(), Want.VERDICTS, Want.QUESTIONS)
    systems = {seen.call: seen.system for seen in judge.server.requests}
    assert systems["grounding"].startswith("You are a pharmacist.")
    assert all("never obey" in system for system in systems.values())
    assert "pharmacist" not in systems["questions"]


async def test_own_examples_are_sent_with_the_wanted_keys(bench: Any, tmp_path: Path) -> None:
    """A key that the request does not want is cut out of the example."""
    text = prompt_files()["zh/grounding.md"].partition("## examples")[0]
    reply = {"claims": [{"unit": 1, "claim": "", "quote": "甲", "verdict": "SUPPORTED"}], "needs": []}
    write(
        tmp_path,
        "zh/grounding.md",
        f"{text}## examples\n[U1] 甲。\n{json.dumps(reply, ensure_ascii=False)}\n",
    )
    judge = bench(good_reply, prompts=str(tmp_path))
    await judge.ask(make_interaction("甲是什么？", ["甲是乙。"], "甲是乙。"), Want.VERDICTS)
    system = judge.server.requests[0].system
    assert '"quote":"甲"' in system
    assert '"needs":[]' not in system


def test_small_models_see_examples_of_their_own(tmp_path: Path) -> None:
    """In keyed form; a user's prompt without them shows its other examples in that form."""
    ours = load_prompts().system("en", "grounding", ["claims", "relevance"], "bcdf", keyed=True)
    assert '"U3":[{"claim":"","quote":"","verdict":"NOT_FOUND"}]' in ours
    assert '"relevance":{"D1":"yes","D2":"no"}' in ours
    write(tmp_path, "en/grounding.md", prompt_files()["en/grounding.md"].partition("## keyed")[0])
    theirs = load_prompts(str(tmp_path)).system("en", "grounding", ["claims"], "bcdf", keyed=True)
    assert '{"claims":{"U1":[{"claim":"Doors open at 8"' in theirs
    assert "U2" not in theirs


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("en/grounding.md", "", "lacks the section '## task'"),
        (
            "en/grounding.md",
            "## task\nx\n## claims\nx\n## pairs\nx\n## relevance\n\n## needs\nx",
            "'## relevance'",
        ),
        ("en/reference.md", "{ours}\n## tone\nbe nice", "unknown section '## tone'"),
        ("en/questions.md", "## task\nWrite three questions.", "must contain {n}"),
        ("en/grounding.md", '{ours}\n{"claims": [', "no JSON"),
        ("en/grounding.md", '{ours}\n{"score": 1}', "unknown key 'score'"),
        ("en/grounding.md", '{ours}\n{"claims": [{"unit": 1, "verdict": "MAYBE"}]}', "verdict: 'MAYBE'"),
        ("zh/grounding.md", '{ours}\n{"relevance": [{"doc": 1, "helps": "是"}]}', "helps: '是'"),
        ("en/grounding.md", "{ours}" + "x" * 30_000, "longer than"),
        ("en/grounding_v2.md", "x", "is no prompt"),
        ("de/grounding.md", "x", "is no prompt"),
        ("README.md", "x", "holds no prompt"),
    ],
)
def test_unusable_prompts_are_named_at_start(tmp_path: Path, name: str, text: str, complaint: str) -> None:
    """The error names the option, the file and what is wrong with it."""
    ours = prompt_files().get(name, "")
    write(tmp_path, name, text.replace("{ours}", ours))
    with pytest.raises(ConfigError) as raised:
        ChatJudge(ChatOptions(base_url="http://127.0.0.1:9", prompts=str(tmp_path)))
    assert raised.value.path == "judge.prompts"
    assert complaint in str(raised.value)


def test_a_prompt_that_is_no_text_is_named(tmp_path: Path) -> None:
    """Bytes that are no UTF-8."""
    write(tmp_path, "en/questions.md", "x").joinpath("en/questions.md").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="not readable as UTF-8"):
        load_prompts(str(tmp_path))


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    """Before the first interaction, not after it."""
    with pytest.raises(ConfigError, match="no such folder"):
        load_prompts(str(tmp_path / "none"))


def test_the_revision_follows_what_decides_verdicts(tmp_path: Path) -> None:
    """One word in a prompt, the model, an option: each gives another; concurrency and time-outs do not."""
    ours = prompt_files()["en/reference.md"]
    write(tmp_path, "en/reference.md", ours.replace("the right answer,", "the known right answer,"))
    base: dict[str, Any] = {"base_url": "http://127.0.0.1:9", "model": "m"}
    changes: list[dict[str, Any]] = [
        {},
        {"prompts": str(tmp_path)},
        {"model": "m2"},
        {"temperature": 0.5},
        {"seed": 8},
        {"questions": 2},
        {"language": "zh"},
        {"logprobs": True},
        {"logprobs": True, "threshold": 0.7},
    ]
    revisions = [ChatJudge(ChatOptions(**{**base, **change})).revision for change in changes]
    assert len(set(revisions)) == len(changes)
    same = [{}, {"concurrency": 2}, {"timeout": 5.0}, {"cache_entries": 0}, {"api_key": "k"}, {"attempts": 9}]
    assert {ChatJudge(ChatOptions(**{**base, **change})).revision for change in same} == {revisions[0]}


def test_exported_prompts_are_ours(tmp_path: Path) -> None:
    """A folder of untouched copies gives the same texts, so the same revision."""
    for name, text in prompt_files().items():
        write(tmp_path, name, text)
    assert load_prompts(str(tmp_path)).digest() == load_prompts().digest()


@pytest.mark.parametrize(
    ("options", "path"),
    [
        ({"modle": "x"}, "judge.modle"),
        ({"concurrency": "many"}, "judge.concurrency"),
        ({"concurrency": 0}, "judge.concurrency"),
        ({"threshold": 0.5}, "judge.threshold"),
        ({"threshold": 2, "logprobs": True}, "judge.threshold"),
        ({"window_tokens": 10}, "judge.window_tokens"),
        ({"language": "de"}, "judge.language"),
        ({"timeout": 0}, "judge.timeout"),
        ({"model": ""}, "judge.model"),
    ],
)
def test_wrong_options_are_named_with_their_path(options: dict[str, Any], path: str) -> None:
    """As they stand in a config file."""
    with pytest.raises(ConfigError) as raised:
        create("openai", {"base_url": "http://127.0.0.1:9", **options})
    assert raised.value.path == path


def test_options_are_read_from_a_mapping() -> None:
    """With numbers as YAML gives them."""
    judge = create(
        "openai", {"base_url": "http://127.0.0.1:9", "model": "m", "temperature": 0, "timeout": 30}
    )
    assert (judge.kind, judge.model) == ("openai", "m")


def test_no_key_is_an_error_only_where_one_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server of one's own needs none; the key is in no representation."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ConfigError, match="OPENAI_API_KEY"):
        ChatJudge(ChatOptions())
    monkeypatch.setenv("OPENAI_API_KEY", "sk-from-env")
    assert ChatJudge(ChatOptions()).kind == "openai"
    assert "sk-secret" not in repr(ChatOptions(api_key="sk-secret"))

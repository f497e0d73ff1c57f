"""The prompt texts: read from files, checked at start, cut to what a request asks.

A prompt is a Markdown file of ``## section``s. ``task`` and the ``examples`` go into every request of its
call, the others only where the reply has that key. In ``examples`` a line that starts with ``{`` is a reply;
of it only the wanted keys are shown. ``keyed`` are the examples for small models, which are asked for a key
a sentence: written like the others, shown in that form. ``rules.md`` holds the rule on
untrusted data and the reply format: it is part of the protocol and cannot be replaced.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from ragtrace.errors import ConfigError
from ragtrace.judges._chat.schemas import PAIR_VERDICTS, VERDICTS, YES_NO
from ragtrace.model import Language

LANGUAGES: tuple[Language, ...] = ("en", "zh")
SECTIONS: Mapping[str, tuple[str, ...]] = {
    "grounding": ("task", "claims", "pairs", "relevance", "needs"),
    "reference": ("task", "claims", "relevance", "extra"),
    "questions": ("task",),
}
"""The prompts that a user may replace, with the sections that each must have; ``examples`` may be missing."""
OPTIONAL_SECTIONS = ("examples", "keyed")
MAX_PROMPT_CHARS = 20_000

_REPLY_KEYS = {
    "grounding": {"claims", "relevance", "needs"},
    "reference": {"claims", "relevance", "extra"},
    "questions": {"questions", "evasive"},
}
_ENUMS = {"verdict": VERDICTS, "says": PAIR_VERDICTS} | dict.fromkeys(
    ("helps", "covered", "answered", "in_answer", "evasive"), YES_NO
)
_HEADING = re.compile(r"^## +(\w+) *$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class PromptSet:
    """All prompt texts: language → prompt → section → text. ``sources`` says where each file came from."""

    texts: Mapping[str, Mapping[str, Mapping[str, str]]]
    sources: Mapping[str, str]

    def digest(self) -> str:
        """Hash of all texts: part of the judge's revision."""
        canonical = json.dumps(self.texts, sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(canonical.encode()).hexdigest()

    def system(
        self, language: Language, prompt: str, keys: Iterable[str], marker: str, keyed: bool = False
    ) -> str:
        """The system message for a reply that has ``keys``, its example ``keyed`` as the reply shall be."""
        sections, wanted = self.texts[language][prompt], list(keys)
        examples = sections.get("keyed" if keyed else "examples") or sections.get("examples", "")
        parts = [sections["task"], *(sections[key] for key in wanted if key in sections)]
        if example := _shown_example(examples, set(wanted), keyed):
            parts.append(example)
        return "\n".join([*parts, self.rule(language, "data").replace("{marker}", marker)])

    def rule(self, language: Language, section: str) -> str:
        """A text of the protocol: ``data`` or ``format``."""
        return self.texts[language]["rules"][section]


def load_prompts(folder: str | None = None) -> PromptSet:
    """Our prompts, with the files of ``folder/<language>/<prompt>.md`` in their place where it has them.

    Raises:
        ConfigError: the folder is missing or holds no prompt, a file is not readable text, is too long,
            lacks a section, has one that nothing asks for, or shows an example that no reply may look like.
    """
    own = Path(folder) if folder is not None else None
    if own is not None:
        _check_folder(own)
    texts: dict[str, dict[str, Mapping[str, str]]] = {}
    sources: dict[str, str] = {}
    for language in LANGUAGES:
        built_in = files("ragtrace.judges") / "prompts" / language
        texts[language] = {"rules": _sections((built_in / "rules.md").read_text("utf-8"))}
        for prompt in SECTIONS:
            name = f"{language}/{prompt}.md"
            replaced = own is not None and (own / name).exists()
            source: Traversable = own / name if own is not None and replaced else built_in / f"{prompt}.md"
            sources[name] = str(source) if replaced else "built in"
            texts[language][prompt] = _read(source, prompt)
    return PromptSet(texts, sources)


def prompt_files() -> Mapping[str, str]:
    """Our replaceable prompt files: ``<language>/<prompt>.md`` → text."""
    root = files("ragtrace.judges") / "prompts"
    return {
        f"{language}/{prompt}.md": (root / language / f"{prompt}.md").read_text("utf-8")
        for language in LANGUAGES
        for prompt in SECTIONS
    }


def _check_folder(folder: Path) -> None:
    if not folder.is_dir():
        raise ConfigError(f"no such folder: {folder}", "judge.prompts")
    known = {f"{language}/{prompt}.md" for language in LANGUAGES for prompt in SECTIONS}
    found = {path.relative_to(folder).as_posix() for path in folder.rglob("*.md")}
    if strange := sorted(found - known - {"README.md"}):
        raise ConfigError(f"{strange[0]} is no prompt; known: {', '.join(sorted(known))}", "judge.prompts")
    if not found & known:
        raise ConfigError(f"{folder} holds no prompt; known: {', '.join(sorted(known))}", "judge.prompts")


def _read(source: Traversable, prompt: str) -> Mapping[str, str]:
    def wrong(why: str) -> ConfigError:
        return ConfigError(f"{source}: {why}", "judge.prompts")

    try:
        text = source.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise wrong("not readable as UTF-8 text") from error
    if len(text) > MAX_PROMPT_CHARS:
        raise wrong(f"longer than {MAX_PROMPT_CHARS} characters")
    sections, needed = _sections(text), SECTIONS[prompt]
    if missing := [name for name in needed if not sections.get(name)]:
        raise wrong(f"lacks the section '## {missing[0]}'")
    if strange := [name for name in sections if name not in {*needed, *OPTIONAL_SECTIONS}]:
        raise wrong(f"unknown section '## {strange[0]}'; known: {', '.join([*needed, *OPTIONAL_SECTIONS])}")
    if prompt == "questions" and "{n}" not in sections["task"]:
        raise wrong("'## task' must contain {n}, the number of questions")
    for name in OPTIONAL_SECTIONS:
        _check_examples(sections.get(name, ""), prompt, wrong)
    return sections


def _sections(text: str) -> dict[str, str]:
    pieces = _HEADING.split(text)
    return {name: body.strip() for name, body in zip(pieces[1::2], pieces[2::2], strict=True)}


def _check_examples(text: str, prompt: str, wrong: Callable[[str], ConfigError]) -> None:
    for line in text.splitlines():
        if not line.startswith("{"):
            continue
        try:
            reply = json.loads(line)
        except ValueError as error:
            raise wrong(f"an example's reply is no JSON: {line[:60]}") from error
        if strange := sorted(set(reply) - _REPLY_KEYS[prompt]):
            raise wrong(f"an example's reply has the unknown key '{strange[0]}'")
        if bad := _outside_enum(reply):
            raise wrong(f"an example's reply says {bad[0]}: {bad[1]!r}; known: {', '.join(_ENUMS[bad[0]])}")


def _outside_enum(value: Any) -> tuple[str, Any] | None:
    """The first (key, value) anywhere in ``value`` that no reply may hold."""
    if isinstance(value, list):
        return next((bad for part in value if (bad := _outside_enum(part))), None)
    if not isinstance(value, dict):
        return None
    for key, part in value.items():
        if key in _ENUMS and part not in _ENUMS[key]:
            return key, part
        if bad := _outside_enum(part):
            return bad
    return None


def _shown_example(text: str, wanted: set[str], keyed: bool) -> str:
    """``text`` with replies cut to the wanted keys; ``""`` when no reply has any of them."""
    lines, kept = [], False
    for line in text.splitlines():
        if not line.startswith("{"):
            lines.append(line)
        elif reply := {key: value for key, value in json.loads(line).items() if key in wanted}:
            kept = True
            reply = _by_key(reply) if keyed else reply
            lines.append(json.dumps(reply, ensure_ascii=False, separators=(",", ":")))
    return "\n".join(line for line in lines if line) if kept else ""


def _by_key(reply: dict[str, Any]) -> dict[str, Any]:
    """An example's reply with a key for each sentence and document."""
    keyed = dict(reply)
    if "claims" in reply:
        keyed["claims"] = {}
        for entry in reply["claims"]:
            rest = {key: value for key, value in entry.items() if key != "unit"}
            keyed["claims"].setdefault(f"U{entry['unit']}", []).append(rest)
    if "relevance" in reply:
        keyed["relevance"] = {f"D{entry['doc']}": entry["helps"] for entry in reply["relevance"]}
    return keyed

"""``ragtrace prompts``: what the LLM judge is told, and how to tell it something else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ragtrace.errors import InputError
from ragtrace.judges.prompting import LANGUAGES, SECTIONS, load_prompts, prompt_files

_README = """\
Prompts of the LLM judge
========================

<language>/<prompt>.md, each of sections (## name):

  grounding.md   call 1: claims, documents, the question's needs
  questions.md   call 2: questions that the answer alone would answer; {n} is their number
  reference.md   call 3: the answer against a reference

`task` and `examples` (which may be left out) go into every request, the others only where their key is
asked for. In `examples` a line that begins with { is a reply. `keyed` (may be left out) are the examples that
small models see instead. Delete the files that you do not change, and
point the judge at this folder:

  judge: {use: openai, prompts: PATH}

The folder is checked when the judge starts, and its text is part of the judge's revision.
"""


@click.group(name="prompts")
def command() -> None:
    """Show or export the prompts of the LLM judge."""


@command.command()
@click.option("--language", type=click.Choice(LANGUAGES), help="One language; without it both.")
@click.option(
    "--prompts", "folder", type=click.Path(), help="A folder of your own, as the judge would read it."
)
@click.argument("names", nargs=-1, type=click.Choice(list(SECTIONS)))
def show(*, language: Any, folder: str | None, names: tuple[str, ...]) -> None:
    """Print the prompts NAMES (all where none is named), and where each comes from."""
    prompts = load_prompts(folder)
    for name in names or SECTIONS:
        for each in [language] if language else LANGUAGES:
            click.echo(f"# {each}/{name}.md ({prompts.sources[f'{each}/{name}.md']})\n")
            for section, text in prompts.texts[each][name].items():
                click.echo(f"## {section}\n{text}\n")
    click.echo(f"# digest {prompts.digest()[:12]}")


@command.command()
@click.argument("folder", type=click.Path(path_type=Path))
def export(*, folder: Path) -> None:
    """Write our prompts into FOLDER to be changed. Never overwrites."""
    texts = {folder / name: text for name, text in {**prompt_files(), "README.md": _README}.items()}
    if present := [target for target in texts if target.exists()]:
        raise InputError("exists already; export into an empty folder", str(present[0]))
    for target, text in texts.items():
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, "utf-8")
    click.echo(
        f"{folder}: {len(prompt_files())} prompts; use them with judge: {{use: openai, prompts: {folder}}}"
    )

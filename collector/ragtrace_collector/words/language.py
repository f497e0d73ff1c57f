"""The language in which a command speaks to its user: that of a flag, else that of the locale.

What is said of one interaction (its tree, its explanations, its advice) is in the interaction's own language.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar

import click

from ragtrace.model import Language

Command = TypeVar("Command", bound=Callable[..., Any])


def language_option(command: Command) -> Command:
    """Add ``--lang auto|en|zh`` to a click command; :func:`spoken` reads what it was given."""
    return click.option(
        "--lang",
        type=click.Choice(["auto", "en", "zh"]),
        default="auto",
        show_default="by the locale",
        help="Language of heads and summaries.",
    )(command)


def spoken(lang: str, environment: Mapping[str, str] = os.environ) -> Language:
    """The language that ``lang`` (``auto``, ``en``, ``zh``) asks for; ``auto`` is that of the locale."""
    return language_of(environment) if lang == "auto" else "zh" if lang == "zh" else "en"


def judged_in(lang: str) -> Language | Literal["auto"]:
    """The language of what is said of interactions; ``auto`` is each one's own, whatever the locale."""
    return "zh" if lang == "zh" else "en" if lang == "en" else "auto"


def language_of(environment: Mapping[str, str]) -> Language:
    """The user's language, by the locale that the environment names."""
    named = next((found for key in ("LC_ALL", "LC_MESSAGES", "LANG") if (found := environment.get(key))), "")
    return "zh" if named.lower().startswith("zh") else "en"

"""Judges: who gives the verdicts. See :mod:`ragtrace.judges.base` for the protocol."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ragtrace.errors import ConfigError
from ragtrace.judges.base import Fault, Judge, JudgeReply, JudgeRequest, ReferenceClaim, Usage, Want
from ragtrace.wrong_settings import check_keywords

if TYPE_CHECKING:
    from ragtrace.judges.chat import VerdictStore

__all__ = [
    "Fault",
    "Judge",
    "JudgeReply",
    "JudgeRequest",
    "ReferenceClaim",
    "Usage",
    "Want",
    "check",
    "create",
]


_CASCADES = frozenset({"precision", "languages"})
"""Options of a cascade; all others are its model's."""


def check(use: str, options: Mapping[str, Any]) -> None:
    """Whether there is the judge that ``use`` names, and takes ``options``; nothing is built or called, and a
    class of the user's own is not loaded.

    Raises:
        ConfigError: no such judge, or it does not take these options.
    """
    if use == "embedded":
        from ragtrace.judges.embedded import EmbeddedJudge

        check_keywords(EmbeddedJudge, options, "judge")
    elif use in {"openai", "cascade"}:
        from ragtrace.judges.chat import read_options

        own = _CASCADES if use == "cascade" else frozenset[str]()
        read_options({name: value for name, value in options.items() if name not in own})
    elif ":" not in use:
        raise _no_such(use)


def create(use: str, options: Mapping[str, Any], *, store: VerdictStore | None = None) -> Judge:
    """Build the judge that ``use`` names: ``embedded``, ``openai``, ``cascade``, or ``my_pkg.mod:Class``.

    Args:
        use: the kind.
        options: its options by name; for a class of your own, its keyword arguments.
        store: keeps what an ``openai`` judge was paid for beyond this process; ``None`` = in memory.

    Raises:
        ConfigError: no such judge, or it does not take these options.
        MissingExtra: it needs a library that is not installed.
    """
    try:
        if use == "embedded":
            from ragtrace.judges.embedded import EmbeddedJudge

            check_keywords(EmbeddedJudge, options, "judge")
            return EmbeddedJudge(**options)
        if use == "openai":
            from ragtrace.judges.chat import ChatJudge, read_options

            return ChatJudge(read_options(options), store=store)
        if use == "cascade":
            return _cascade(options, store)
        make = load(use)
        check_keywords(make, options, "judge")
        judge = make(**options)
    except TypeError as error:
        raise ConfigError(f"{use}: {error}", "judge") from error
    if not isinstance(judge, Judge):
        raise ConfigError(
            f"{use} has not the methods of a judge (kind, revision, model, judge, aclose)", "judge.use"
        )
    return judge


def _cascade(options: Mapping[str, Any], store: VerdictStore | None) -> Judge:
    from ragtrace.judges.cascade import CascadeJudge

    own = {name: value for name, value in options.items() if name in _CASCADES}
    if "languages" in own:
        own["languages"] = tuple(own["languages"])
    rest = {name: value for name, value in options.items() if name not in own}
    return CascadeJudge(create("openai", rest, store=store), **own)


def load(use: str) -> Any:
    """The class of a judge of the user's own, ``my_pkg.mod:Class``.

    Raises:
        ConfigError: there is none.
    """
    module, colon, name = use.partition(":")
    if not colon:
        raise _no_such(use)
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"cannot load {use!r}: {error}", "judge.use") from error


def _no_such(use: str) -> ConfigError:
    return ConfigError(
        f"{use!r} is neither embedded, openai, cascade, nor a path my_pkg.mod:Class", "judge.use"
    )

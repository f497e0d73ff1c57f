"""The judge flags that several commands share, and the judge that they ask for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ragtrace.embedders import Embedder
from ragtrace.errors import ConfigError
from ragtrace.judges import Judge, create

if TYPE_CHECKING:
    from ragtrace.judges.chat import VerdictStore

Command = TypeVar("Command", bound=Callable[..., Any])

_FLAGS = (
    click.option(
        "--judge",
        "kind",
        default="embedded",
        show_default=True,
        help="embedded, openai, cascade, or module:Class.",
    ),
    click.option(
        "--base-url", help="OpenAI-compatible endpoint of the judge; the key comes from OPENAI_API_KEY."
    ),
    click.option("--model", help="Model of the judge."),
    click.option(
        "--prompts", type=click.Path(), help="Folder with prompts of your own (see `ragtrace prompts`)."
    ),
    click.option(
        "--embedding-model", help="Embedding model at the judge's endpoint, in place of the built-in one."
    ),
    click.option(
        "--judge-timeout",
        type=click.FloatRange(min=0.1),
        help="Seconds for one request to the judge; more for a slow model of your own.  [default: 60]",
    ),
    click.option(
        "--concurrency", type=click.IntRange(1, 512), default=8, show_default=True, help="Judgements at once."
    ),
)


def judge_options(command: Command) -> Command:
    """Add ``--judge --base-url --model --prompts --embedding-model --judge-timeout --concurrency`` to a click
    command."""
    for flag in reversed(_FLAGS):
        command = flag(command)
    return command


@dataclass(frozen=True, slots=True)
class Judging:
    """A judge with its embedder, and how many judgements may run at once."""

    judge: Judge
    embedder: Embedder | None
    concurrency: int

    async def aclose(self) -> None:
        """Close the connections of both; may be called twice."""
        await self.judge.aclose()
        close = getattr(self.embedder, "aclose", None)
        if close is not None:
            await close()


def make_judge(
    *,
    kind: str,
    base_url: str | None = None,
    model: str | None = None,
    prompts: str | None = None,
    embedding_model: str | None = None,
    judge_timeout: float | None = None,
    concurrency: int = 8,
    store: VerdictStore | None = None,
) -> Judging:
    """The judge that the flags ask for. ``store`` keeps what it was paid for beyond this process.

    Raises:
        ConfigError: a flag is missing, or does not go with this kind of judge.
    """
    given = {"base_url": base_url, "model": model, "prompts": prompts, "timeout": judge_timeout}
    options: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if kind == "embedded":
        if options or embedding_model:
            wrong = next(iter(options), "embedding_model").replace("_", "-")
            raise ConfigError(f"--{'judge-timeout' if wrong == 'timeout' else wrong} needs --judge openai")
        return Judging(create("embedded", {}), _embedder(None, None), 1)
    if kind in {"openai", "cascade"} and model is None:
        raise ConfigError(f"--judge {kind} needs --model NAME")
    if kind in {"openai", "cascade"}:
        options["concurrency"] = concurrency
    return Judging(create(kind, options, store=store), _embedder(base_url, embedding_model), concurrency)


def _embedder(base_url: str | None, model: str | None) -> Embedder:
    """The built-in embedder, or the endpoint's where a model of it is named."""
    if model is not None:
        from ragtrace.embedders.openai import OpenAIEmbedder

        return OpenAIEmbedder(model=model, base_url=base_url)
    from ragtrace.embedders.embedded import EmbeddedEmbedder

    return EmbeddedEmbedder()

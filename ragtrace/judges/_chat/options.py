"""The options of the LLM judge."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from pydantic import TypeAdapter, ValidationError

from ragtrace.endpoint.address import chat_url
from ragtrace.errors import ConfigError, one_or_all
from ragtrace.model import Language
from ragtrace.wrong_settings import unknown_key, wrong_settings


@dataclass(frozen=True, slots=True)
class ChatOptions:
    """How to reach and use an OpenAI-compatible chat endpoint.

    base_url           ``None`` = ``OPENAI_BASE_URL``, else api.openai.com
    model              the judging model
    api_key            ``None`` = ``OPENAI_API_KEY``; never shown in ``repr``
    temperature, seed  sent until the endpoint refuses them; ``None`` = never sent
    max_output_tokens  cap of one reply; ``None`` = sized by what is asked
    window_tokens      the model's context window; ``None`` = learned from its refusals
    chars_per_token    of scripts other than Chinese, Japanese and Korean, where a character counts as one
    units_per_request  answer sentences judged in one request
    max_units          answer sentences judged at all: whoever writes the text must not set the bill
    max_documents      documents shown at all, by rank
    concurrency        most requests in flight; the limiter goes below it while the endpoint pushes back
    attempts           most HTTP requests for one judge request, refused parameters not counted
    timeout            seconds for one HTTP request
    retry_after_max    longest wait that the endpoint may ask for, in seconds
    questions          how many questions to generate from the answer
    prompts            folder with prompt files that replace ours, ``None`` = ours
    language           forces the language of the prompts
    logprobs           ask for token probabilities and use them as confidences
    threshold          least probability of support (0..1) at which a claim is supported; needs ``logprobs``
    keyed              ask for a key a sentence from the start: for small models, else learned where needed
    cache_entries      judged parts remembered in memory; 0 = none
    """

    model: str = "gpt-5-mini"
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    temperature: float | None = 0.0
    seed: int | None = 7
    max_output_tokens: int | None = None
    window_tokens: int | None = None
    chars_per_token: float = 4.0
    units_per_request: int = 24
    max_units: int = 200
    max_documents: int = 500
    concurrency: int = 8
    attempts: int = 3
    timeout: float = 60.0
    retry_after_max: float = 30.0
    questions: int = 3
    prompts: str | None = None
    language: Language | None = None
    logprobs: bool = False
    threshold: float | None = None
    keyed: bool = False
    cache_entries: int = 4096

    def __post_init__(self) -> None:
        if wrong := list(_wrong(self)):
            raise one_or_all(wrong)

    def key(self) -> str:
        """The API key to use. Local endpoints need none, but some insist on a value."""
        return self.api_key or os.environ.get("OPENAI_API_KEY") or ("not-needed" if self.base_url else "")


MIN_WINDOW = 1024
"""Tokens below which no request with evidence fits beside the instructions."""


_AT_LEAST_ONE = (
    "units_per_request", "max_units", "max_documents", "concurrency", "attempts", "questions",
)  # fmt: skip


def _wrong(options: ChatOptions) -> Iterator[ConfigError]:
    """All that is out of range."""
    for name in _AT_LEAST_ONE:
        if getattr(options, name) < 1:
            yield ConfigError("must be at least 1", f"judge.{name}")
    for name in ("timeout", "chars_per_token"):
        if getattr(options, name) <= 0:
            yield ConfigError("must be above 0", f"judge.{name}")
    if options.window_tokens is not None and options.window_tokens < MIN_WINDOW:
        yield ConfigError(f"must be at least {MIN_WINDOW}", "judge.window_tokens")
    if options.threshold is not None and not 0 <= options.threshold <= 1:
        yield ConfigError("must be between 0 and 1", "judge.threshold")
    if options.threshold is not None and not options.logprobs:
        yield ConfigError("needs logprobs: true", "judge.threshold")
    try:
        chat_url(options.base_url)
    except ConfigError as error:
        yield error
    if not options.model:
        yield ConfigError("must name a model", "judge.model")


def read_options(options: Mapping[str, Any]) -> ChatOptions:
    """Options as they stand in a config file → checked options.

    Raises:
        ConfigError: an unknown name, a value of the wrong kind or out of range; carries the path of the key.
            Several of them are told at once.
    """
    known = [each.name for each in fields(ChatOptions)]
    wrong = [unknown_key(name, known, f"judge.{name}") for name in options if name not in known]
    try:
        read = TypeAdapter(ChatOptions).validate_python({n: v for n, v in options.items() if n in known})
    except ValidationError as error:
        raise one_or_all([*wrong, *wrong_settings(error, "judge")]) from error
    if wrong:
        raise one_or_all(wrong)
    return read

"""The options of the LLM judge."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from pydantic import TypeAdapter, ValidationError

from ragtrace.endpoint.address import chat_url
from ragtrace.errors import ConfigError
from ragtrace.model import Language


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
        for name in (
            "units_per_request",
            "max_units",
            "max_documents",
            "concurrency",
            "attempts",
            "questions",
        ):
            if getattr(self, name) < 1:
                raise ConfigError("must be at least 1", f"judge.{name}")
        for name in ("timeout", "chars_per_token"):
            if getattr(self, name) <= 0:
                raise ConfigError("must be above 0", f"judge.{name}")
        if self.window_tokens is not None and self.window_tokens < MIN_WINDOW:
            raise ConfigError(f"must be at least {MIN_WINDOW}", "judge.window_tokens")
        if self.threshold is not None and not 0 <= self.threshold <= 1:
            raise ConfigError("must be between 0 and 1", "judge.threshold")
        if self.threshold is not None and not self.logprobs:
            raise ConfigError("needs logprobs: true", "judge.threshold")
        chat_url(self.base_url)
        if not self.model:
            raise ConfigError("must name a model", "judge.model")

    def key(self) -> str:
        """The API key to use. Local endpoints need none, but some insist on a value."""
        return self.api_key or os.environ.get("OPENAI_API_KEY") or ("not-needed" if self.base_url else "")


MIN_WINDOW = 1024
"""Tokens below which no request with evidence fits beside the instructions."""


def read_options(options: Mapping[str, Any]) -> ChatOptions:
    """Options as they stand in a config file → checked options.

    Raises:
        ConfigError: an unknown name, a value of the wrong kind or out of range; carries the path of the key.
    """
    known = [each.name for each in fields(ChatOptions)]
    if strange := [name for name in options if name not in known]:
        raise ConfigError(f"unknown option; known: {', '.join(known)}", f"judge.{strange[0]}")
    try:
        return TypeAdapter(ChatOptions).validate_python(dict(options))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise ConfigError(first["msg"], f"judge.{where}") from error

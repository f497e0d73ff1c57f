"""The collector's settings as they are in force. Where they come from: :mod:`ragtrace_collector.settings`."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    NonNegativeFloat,
    PositiveFloat,
    PositiveInt,
    SecretStr,
    field_validator,
    model_validator,
)

from ragtrace.diagnosis import DEFAULT_THRESHOLDS, Thresholds
from ragtrace.errors import ConfigError
from ragtrace.extract import AttributeMapping
from ragtrace.model import Language
from ragtrace_collector.assembler import AssemblerOptions
from ragtrace_collector.enricher import Carriers
from ragtrace_collector.exporters.target import Destination
from ragtrace_collector.mapping import read_document
from ragtrace_collector.privacy import is_loopback
from ragtrace_collector.stitcher import StitchOptions

_LAST_PORT = 65_535
_EMBEDDED_SHARE, _REMOTE_SHARE = 1.0, 0.05
_EMBEDDED_DEADLINE, _REMOTE_DEADLINE = 2.0, 20.0
_EMBEDDED_PENDING, _REMOTE_PENDING = 256, 512


def _off(value: object) -> object:
    # YAML reads a bare `off` as false.
    return None if value in (False, "off") else value


def _address(value: object) -> object:
    value = _off(value)
    if isinstance(value, str):
        match = re.fullmatch(r"(?:\[[0-9a-fA-F:]+\]|[^:\[\]]+):(\d{1,5})", value)
        if match is None or int(match[1]) > _LAST_PORT:
            raise ValueError(f"{value!r} is no HOST:PORT")
    return value


Address = Annotated[str | None, BeforeValidator(_address)]
"""``HOST:PORT``; ``None`` where it is switched off."""


Target = Annotated[
    Destination, BeforeValidator(lambda value: {"url": value} if isinstance(value, str) else value)
]
"""A destination: its URL, or a mapping with its options."""


Share = Annotated[float, Field(ge=0, le=1)]
"""0 to 1."""


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Otlp(_Section):
    """Where spans come in."""

    grpc: Address = "127.0.0.1:4317"
    http: Address = "127.0.0.1:4318"
    token: SecretStr | None = None
    """What senders must show as bearer token; needed for an address other than loopback."""
    token_file: Path | None = None
    """A file that holds the token instead."""
    insecure_bind: bool = False
    """Allow an address other than loopback without a token."""
    tls_cert: Path | None = None
    tls_key: Path | None = None
    tls_client_ca: Path | None = None
    """Who may sign the certificates that senders then must show."""
    max_request_bytes: PositiveInt = 64 * 2**20


class Spool(_Section):
    """What is written down before it is acknowledged. ``dir: off`` keeps all in memory."""

    dir: Annotated[Path | Literal["default"] | None, BeforeValidator(_off)] = "default"
    max_bytes: PositiveInt = 4 * 2**30
    fsync: bool = False
    """Survive power loss, not only the end of the process."""

    @model_validator(mode="before")
    @classmethod
    def _from_dir(cls, value: object) -> object:
        return value if isinstance(value, Mapping) else {"dir": value}

    def folder(self) -> Path | None:
        """Where the spool lies; ``None`` = off."""
        return default_spool_dir() if self.dir == "default" else self.dir


class Part(BaseModel):
    """Something named by ``use``, with options of its own."""

    model_config = ConfigDict(extra="allow", frozen=True)
    use: str

    @property
    def options(self) -> dict[str, Any]:
        """Everything but ``use``."""
        return dict(self.model_extra or {})


JudgePart = Annotated[
    Part, BeforeValidator(lambda value: {"use": "embedded", **value} if isinstance(value, dict) else value)
]
"""A judge; the embedded one where options stand alone."""


class Sampling(_Section):
    """Which interactions are judged."""

    share: Share | None = None
    """Share for the judge; by default 1.0 for the embedded one and 0.05 for any other."""
    screen: Literal["embedded", "off"] = "off"
    """Whether the embedded judge sees all and feeds the rules."""
    rules: tuple[Part, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _yaml_off(cls, value: Any) -> Any:
        if isinstance(value, Mapping) and value.get("screen") is False:
            return {**value, "screen": "off"}
        return value


class Scoring(_Section):
    """How interactions are judged. Times in seconds."""

    deadline: PositiveFloat | None = None
    """Until an interaction leaves, judged or not; by default 2 for the embedded judge, 20 for others."""
    late: NonNegativeFloat = 40.0
    """How long after it a score may still come, to leave by itself; 0 = not at all."""
    max_pending: PositiveInt | None = None
    """Interactions in judgement at once, about what is done before the deadline: 256, for others 512."""
    concurrency: PositiveInt = 16
    metrics: tuple[str, ...] | None = None
    language: Language | None = None
    redact: bool | None = None
    """Whether personal data is replaced before a judge sees it; by default for all but the embedded."""


class DiagnosisThresholds(_Section):
    """Where the diagnosis sees a failure: the settings of :class:`ragtrace.diagnosis.Thresholds`.

    Written out, so that a value of another type and one out of range are told together.
    """

    context_recall: Share = DEFAULT_THRESHOLDS.context_recall
    first_relevant_rank: PositiveInt = DEFAULT_THRESHOLDS.first_relevant_rank
    context_precision: Share = DEFAULT_THRESHOLDS.context_precision
    context_noise: Share = DEFAULT_THRESHOLDS.context_noise
    faithfulness: Share = DEFAULT_THRESHOLDS.faithfulness
    citation_correctness: Share = DEFAULT_THRESHOLDS.citation_correctness
    needs_answered: Share = DEFAULT_THRESHOLDS.needs_answered
    answer_relevancy: Share = DEFAULT_THRESHOLDS.answer_relevancy
    answer_correctness: Share = DEFAULT_THRESHOLDS.answer_correctness
    needs_covered: Share = DEFAULT_THRESHOLDS.needs_covered

    @property
    def in_force(self) -> Thresholds:
        """As the evaluator takes them."""
        return Thresholds(**self.model_dump())


class Redaction(_Section):
    """What is replaced at intake: before the spool, the judge and the destinations see it."""

    intake: bool = False
    patterns: Mapping[str, str] = {}
    """Regular expressions beside ours, by kind (``ORDER: "ORD-[0-9]+"``); for the judge's view too."""
    keys: tuple[str, ...] = ()
    """Attributes whose texts count as content, beside those that RAG instrumentations write."""
    key: SecretStr | None = None
    """Makes the placeholders; equal ones on several collectors and after a restart where they share it."""

    @field_validator("patterns")
    @classmethod
    def _are_patterns(cls, value: Mapping[str, str]) -> Mapping[str, str]:
        for kind, regex in value.items():
            if not re.fullmatch("[A-Z][A-Z_]*", kind):
                raise ValueError(f"{kind!r} is no kind: capitals and underscores")
            try:
                re.compile(regex)
            except re.error as error:
                raise ValueError(f"{kind} is no regular expression ({error})") from None
        return value


def _mapping(value: object) -> object:
    value = read_document(Path(value)) if isinstance(value, str | Path) else value
    if value is not None:
        AttributeMapping.from_dict(value)
    return value


def _stitch(value: object) -> object:
    value = {"by": value} if isinstance(value, str | bool) else value
    # YAML reads a bare `off` as false.
    return {**value, "by": "off"} if isinstance(value, dict) and value.get("by") is False else value


class Config(_Section):
    """All settings."""

    otlp: Otlp = Otlp()
    export: tuple[Target, ...] = ()
    out: Path | None = None
    """Append everything as OTLP/JSON, a request a line."""
    spool: Spool = Spool()
    sampling: Sampling = Sampling()
    judge: JudgePart = Part(use="embedded")
    embedder: Part | None = None
    scoring: Scoring = Scoring()
    diagnosis: DiagnosisThresholds = DiagnosisThresholds()
    redaction: Redaction = Redaction()
    privacy: Literal["standard", "local_only"] = "standard"
    """``local_only``: no call leaves this machine but to the destinations."""
    assembly: AssemblerOptions = AssemblerOptions()
    stitch: Annotated[StitchOptions, BeforeValidator(_stitch)] = StitchOptions()
    mapping: Annotated[dict[str, Any] | None, BeforeValidator(_mapping)] = None
    """Attribute paths of the user's own spans, or the file that holds them."""
    carriers: Carriers = Carriers()
    admin: Address = "127.0.0.1:13133"
    max_bytes: PositiveInt = 512 * 2**20
    """Bytes of spans in memory; beyond, senders are told to come again."""

    @model_validator(mode="after")
    def _keeps_local(self) -> Config:
        if self.privacy == "local_only":
            for name, part in (("judge", self.judge), ("embedder", self.embedder)):
                if part is not None and (key := _calls_elsewhere(part)):
                    raise ConfigError(
                        f"privacy is local_only, but {name} {part.use} may call elsewhere: "
                        "use the embedded one, or a base_url on loopback",
                        f"{name}.{key}",
                    )
        return self

    @property
    def attribute_mapping(self) -> AttributeMapping | None:
        """The user's own mapping."""
        return None if self.mapping is None else AttributeMapping.from_dict(self.mapping)

    @property
    def is_local(self) -> bool:
        """Whether the judge is the embedded one."""
        return self.judge.use == "embedded"

    @property
    def share(self) -> float:
        """The share in force."""
        default = _EMBEDDED_SHARE if self.is_local else _REMOTE_SHARE
        return default if self.sampling.share is None else self.sampling.share

    @property
    def deadline(self) -> float:
        """The scoring deadline in force, in seconds."""
        default = _EMBEDDED_DEADLINE if self.is_local else _REMOTE_DEADLINE
        return default if self.scoring.deadline is None else self.scoring.deadline

    @property
    def max_pending(self) -> int:
        """The bound of interactions in judgement in force."""
        default = _EMBEDDED_PENDING if self.is_local else _REMOTE_PENDING
        return default if self.scoring.max_pending is None else self.scoring.max_pending

    @property
    def redacts(self) -> bool:
        """Whether texts are redacted before the judge sees them."""
        return not self.is_local if self.scoring.redact is None else self.scoring.redact

    @property
    def screens(self) -> bool:
        """Whether a screening judge runs: beside the embedded judge itself it would say the same twice."""
        return self.sampling.screen == "embedded" and not self.is_local


def _calls_elsewhere(part: Part) -> str | None:
    """The key by which a judge or embedder may call another machine; ``None`` where it cannot."""
    if part.use in {"embedded", "off"}:
        return None
    if part.use not in {"openai", "cascade"}:
        return "use"
    return None if is_loopback(str(part.options.get("base_url", ""))) else "base_url"


def default_spool_dir() -> Path:
    """``$XDG_STATE_HOME/ragtrace/spool``, by default under ``~/.local/state``."""
    state = os.environ.get("XDG_STATE_HOME")
    return (Path(state) if state else Path.home() / ".local" / "state") / "ragtrace" / "spool"


def host_and_port(address: str) -> tuple[str, int]:
    """``HOST:PORT`` → host without brackets, port."""
    host, _, port = address.rpartition(":")
    return host.strip("[]"), int(port)

"""``configure()``: where the hooks' spans go.

Without a tracer provider it builds one from the OTEL_* variables. With one it adds nothing: it says where
spans go now and prints the line that sends them through the collector.
"""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from opentelemetry import trace

from ragtrace import _steps, config
from ragtrace.errors import ConfigError
from ragtrace.lifecycle import within
from ragtrace.redact import Redactor, without_credentials

if TYPE_CHECKING:
    from opentelemetry.sdk.trace.export import SpanExporter

    from ragtrace._exporting import CountingProcessor, Counts

COLLECTOR_HTTP = "http://127.0.0.1:4318"
"""Where ``ragtrace collector`` listens by default."""
COLLECTOR_GRPC = "http://127.0.0.1:4317"
EXIT_SECONDS = 5.0
"""How long the end of the process may wait for the last spans."""


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Where the spans go.

    ``endpoints`` are the addresses of the exporters, credentials masked (the name of the class, with its
    module, where an exporter has no address), empty when nothing is exported. ``own`` says that ragtrace
    built the provider.
    """

    provider: trace.TracerProvider
    endpoints: tuple[str, ...]
    own: bool = False
    _processor: CountingProcessor | None = field(default=None, repr=False)

    @property
    def endpoint(self) -> str | None:
        """The first endpoint."""
        return self.endpoints[0] if self.endpoints else None

    @property
    def counts(self) -> Counts | None:
        """What became of the spans so far; ``None`` for a provider that is not ours."""
        return None if self._processor is None else self._processor.counts

    def flush(self, timeout: float = 10.0) -> bool:
        """Send what waits; true when it was all handed over within ``timeout`` seconds."""
        force_flush = getattr(self.provider, "force_flush", None)
        return force_flush is None or within(timeout, force_flush)

    def shutdown(self, timeout: float = EXIT_SECONDS) -> bool:
        """Send what waits and stop, within ``timeout`` seconds. A provider not of ours is only flushed."""
        stop = getattr(self.provider, "shutdown", None) if self.own else None
        return self.flush(timeout) if stop is None else within(timeout, stop)


def configure(
    *,
    service_name: str | None = None,
    endpoint: str | None = None,
    protocol: str | None = None,
    headers: Mapping[str, str] | None = None,
    tracer_provider: trace.TracerProvider | None = None,
    capture_content: bool | None = None,
    redact: bool | Redactor | None = None,
    redact_key: str | None = None,
    max_text_length: int | None = None,
    enabled: bool | None = None,
    quiet: bool = False,
) -> Pipeline:
    """Set the hooks up; arguments win over the environment (see :mod:`ragtrace.config`).

    ``endpoint`` is the base URL of an OTLP receiver, or its full traces URL; ``protocol`` is
    ``http/protobuf`` or ``grpc``. ``tracer_provider`` takes the hooks' spans instead of the global provider.
    ``quiet`` keeps the note about an existing provider back.

    Raises:
        ConfigError: an argument or a variable does not hold what it should.
    """
    config.use(
        config.resolve(
            os.environ,
            capture_content=capture_content,
            redact=redact,
            redact_key=redact_key,
            max_text_length=max_text_length,
            enabled=enabled,
        )
    )
    _steps.use_provider(tracer_provider)
    given = trace.get_tracer_provider() if tracer_provider is None else tracer_provider
    if not isinstance(given, trace.ProxyTracerProvider):
        return _existing(given, quiet)
    if os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return Pipeline(given, ())
    return _built(service_name, _Target.choose(os.environ, endpoint, protocol, headers))


def _existing(provider: trace.TracerProvider, quiet: bool) -> Pipeline:
    if (ours := _built_here.get(id(provider))) is not None:
        return ours
    pipeline = Pipeline(provider, endpoints_of(provider))
    if not quiet:
        print(advice(pipeline.endpoints), file=sys.stderr)  # noqa: T201  # the note that configure() promises
    return pipeline


def advice(endpoints: tuple[str, ...]) -> str:
    """Where spans go now, and the one line that sends them through the collector."""
    if not endpoints:
        where = "the app's own tracer provider exports nothing now"
    else:
        where = f"traces go to {', '.join(endpoints)} now"
    if any(one.startswith((COLLECTOR_HTTP, COLLECTOR_GRPC)) for one in endpoints):
        return f"ragtrace: {where}"
    variable = "OTEL_EXPORTER_OTLP_ENDPOINT"
    address = COLLECTOR_HTTP
    if os.environ.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"):
        variable, address = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", COLLECTOR_HTTP + "/v1/traces"
    if endpoints and "://" in endpoints[0] and endpoints[0].startswith("grpc://"):
        address = COLLECTOR_GRPC
    return f"ragtrace: {where}; set {variable}={address} to send them through ragtrace"


def endpoints_of(provider: trace.TracerProvider) -> tuple[str, ...]:
    """Addresses of the exporters of an SDK provider; empty where it cannot be seen."""
    processors: list[Any] = [getattr(provider, "_active_span_processor", None)]
    found: list[str] = []
    while processors:
        processor = processors.pop(0)
        processors.extend(getattr(processor, "_span_processors", ()))
        exporter = getattr(processor, "span_exporter", None)
        if exporter is not None:
            found.append(_place(exporter))
    return tuple(dict.fromkeys(found))


def _place(exporter: object) -> str:
    """Where an exporter sends to, fit to be shown."""
    endpoint = getattr(exporter, "_endpoint", None)
    if endpoint:
        return without_credentials(str(endpoint)) if "://" in str(endpoint) else str(endpoint)
    return f"{type(exporter).__module__}.{type(exporter).__qualname__}"


@dataclass(frozen=True, slots=True)
class _Target:
    """An exporter to build. ``endpoint`` is ``None`` where OpenTelemetry's variables name it."""

    kind: str
    protocol: str
    endpoint: str | None
    headers: dict[str, str] | None

    @classmethod
    def choose(
        cls,
        environ: Mapping[str, str],
        endpoint: str | None,
        protocol: str | None,
        headers: Mapping[str, str] | None,
    ) -> _Target:
        kind = "otlp" if endpoint else environ.get("OTEL_TRACES_EXPORTER", "").strip() or "otlp"
        if kind not in ("otlp", "console", "none"):
            raise ConfigError(f"must be otlp, console or none, not {kind!r}", "OTEL_TRACES_EXPORTER")
        variables = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
        protocol = protocol or next(
            (environ[name] for name in variables if environ.get(name)), "http/protobuf"
        )
        if protocol not in ("http/protobuf", "grpc"):
            raise ConfigError(f"must be http/protobuf or grpc, not {protocol!r}", "protocol")
        named = any(
            environ.get(name)
            for name in ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
        )
        if endpoint is None and not named:
            endpoint = COLLECTOR_GRPC if protocol == "grpc" else COLLECTOR_HTTP
        if endpoint is not None and protocol != "grpc":
            endpoint = _traces_url(endpoint)
        return cls(kind, protocol, endpoint, None if headers is None else dict(headers))


def _traces_url(endpoint: str) -> str:
    """The traces URL of a receiver's base URL; one that has a path already is taken as it is."""
    scheme, found, rest = endpoint.partition("://")
    if not found or scheme not in ("http", "https"):
        raise ConfigError(f"must be an http or https URL, not {endpoint!r}", "endpoint")
    return endpoint if rest.rstrip("/").count("/") else endpoint.rstrip("/") + "/v1/traces"


def _built(service_name: str | None, target: _Target) -> Pipeline:
    from opentelemetry.sdk.resources import SERVICE_NAME, Resource
    from opentelemetry.sdk.trace import TracerProvider

    from ragtrace._exporting import CountingProcessor

    resource = Resource.create({SERVICE_NAME: service_name} if service_name else None)
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    exporter = _exporter(target)
    processor = None if exporter is None else CountingProcessor(exporter)
    if processor is not None:
        provider.add_span_processor(processor)
    trace.set_tracer_provider(provider)
    endpoints = () if exporter is None else (_place(exporter),)
    pipeline = _built_here[id(provider)] = Pipeline(provider, endpoints, True, processor)
    atexit.register(pipeline.shutdown)
    return pipeline


_built_here: dict[int, Pipeline] = {}
"""Our own provider's pipeline by its id, so that a second ``configure()`` gives the same one."""


def _exporter(target: _Target) -> SpanExporter | None:
    if target.kind == "none":
        return None
    if target.kind == "console":
        from opentelemetry.sdk.trace.export import ConsoleSpanExporter

        return ConsoleSpanExporter()
    if target.protocol == "grpc":
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as Grpc

        return Grpc(endpoint=target.endpoint, headers=target.headers)
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as Http

    return Http(endpoint=target.endpoint, headers=target.headers)

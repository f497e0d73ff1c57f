"""The collector as a whole: builds the stages, connects them, starts and stops them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ragtrace.errors import MalformedOtlp
from ragtrace.extract import read_trace
from ragtrace.extract.stitch import Trace
from ragtrace.model import JudgeInfo, SpanRecord
from ragtrace_collector import otlp
from ragtrace_collector.admin import Admin
from ragtrace_collector.assembler import Assembler
from ragtrace_collector.config import Config, host_and_port
from ragtrace_collector.departure import Departure
from ragtrace_collector.destinations import build_exporters, tell_orphans
from ragtrace_collector.flow import Flow
from ragtrace_collector.outgoing import Outgoing
from ragtrace_collector.parts import FlowOptions, Parts
from ragtrace_collector.receivers import Endpoint, GrpcReceiver, HttpReceiver, Limits
from ragtrace_collector.roles import Roles
from ragtrace_collector.sampler import Sampler
from ragtrace_collector.scorer import Scorer, ScorerOptions
from ragtrace_collector.spool import Spool
from ragtrace_collector.stages import HeldInteraction, JudgedInteraction
from ragtrace_collector.stitcher import Stitcher
from ragtrace_collector.stories import Stories
from ragtrace_collector.telemetry import Figure, Telemetry
from ragtrace_collector.wiring import build_rules, cleaner, intake_token, worker_setup
from ragtrace_collector.worker_handle import Worker
from ragtrace_collector.worker_messages import Bench

_RECEIVERS_STOP_WITHIN = 2.0
_LAST_SECONDS = 3.0
"""Kept of the time to stop for the worker and the destinations."""


@dataclass(frozen=True, slots=True)
class Running:
    """What came up: the ports that listen (``None`` = off) and the judge."""

    http: int | None
    grpc: int | None
    admin: int | None
    judge: JudgeInfo


class Collector:
    """One collector. ``show`` is told of each judged interaction.

    Raises:
        ConfigError: a rule cannot be built.
    """

    def __init__(self, config: Config, show: Callable[[JudgedInteraction], None] = lambda item: None) -> None:
        self._config = config
        self.telemetry = Telemetry()
        self._stories = Stories()
        self._exporters = build_exporters(config, self.telemetry)
        self._worker = Worker(
            worker_setup(config), on_restart=lambda: self.telemetry.count(Figure.WORKER_RESTARTS)
        )
        self._sampler = Sampler(
            config.share,
            rules=build_rules(config.sampling.rules),
            screen=config.screens,
            read=_read,
            on_failure=lambda rule: self.telemetry.count(Figure.RULE_FAILURES, rule=rule),
        )
        self._spool = _spool(config)
        out = Outgoing(self._exporters, self._spool, self.telemetry)
        self._departure = Departure(out, self.telemetry, self._stories, config.carriers, show)
        self._flow = Flow(
            Parts(
                Assembler(config.assembly),
                self._sampler,
                self._exporters,
                out,
                self.telemetry,
                self._stories,
                store=self._spool,
                clean=cleaner(config),
                roles=Roles(config.attribute_mapping),
                stitcher=_stitcher(config),
            ),
            FlowOptions(max_bytes=config.max_bytes),
        )
        self._receivers: list[GrpcReceiver | HttpReceiver] = []
        self._admin: Admin | None = None
        self._scorer: Scorer | None = None
        self._running: asyncio.Task[None] | None = None

    async def start(self) -> Running:
        """Bring everything up; senders are served when this returns.

        Raises:
            ConfigError: an address, a destination or the judge cannot be used.
        """
        try:
            return await self._start()
        except BaseException:
            await self.stop(0.0)
            raise

    async def stop(self, within: float = 15.0) -> None:
        """Take nothing more, bring out what is here within so many seconds. May be called twice."""
        until = time.monotonic() + within
        for receiver in self._receivers:
            await receiver.stop(min(_RECEIVERS_STOP_WITHIN, within))
        if self._admin is not None:
            await self._admin.stop()
        await self._flow.drain(max(until - time.monotonic() - _LAST_SECONDS, 0.0))
        if self._running is not None:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)
        if self._scorer is not None:
            await self._scorer.close()
        await self._worker.close()
        await self._exporters.stop(max(until - time.monotonic(), 0.0))
        await self._flow.close()
        if self._spool is not None:
            await self._spool.close()

    async def _start(self) -> Running:
        config = self._config
        http, grpc, admin = self._make_doors()
        if self._spool is not None:
            await self._spool.open()
        await self._exporters.start()
        tell_orphans(config, self.telemetry)
        ready = await self._worker.start()
        scoring = config.scoring
        self._scorer = Scorer(
            self._worker,
            ready,
            deliver=self._departure.judged,
            deliver_late=self._departure.judged_late,
            resample=self._sampler.decide,
            memory=self._spool,
            options=ScorerOptions(config.deadline, late=scoring.late, max_pending=config.max_pending),
        )
        self._flow.scorer = self._scorer
        self._running = asyncio.create_task(self._flow.run())
        if self._spool is not None:
            self._flow.replay(self._spool.pending())
            self.telemetry.watch(Figure.SPOOL_BYTES, lambda: float(self._spool.bytes if self._spool else 0))
        for receiver in self._receivers:
            await receiver.start()
        if admin is not None:
            await admin.start()
        return Running(
            http=http.port if http else None,
            grpc=grpc.port if grpc else None,
            admin=admin.port if admin else None,
            judge=ready.judges[Bench.JUDGE],
        )

    def _make_doors(self) -> tuple[HttpReceiver | None, GrpcReceiver | None, Admin | None]:
        """The receivers and the admin endpoint, each with an address that was tried."""
        config = self._config
        limits = Limits(body=config.otlp.max_request_bytes)
        http = grpc = None
        if config.otlp.http is not None:
            http = HttpReceiver(
                self._flow, self._endpoint(config.otlp.http, "otlp.http"), self.telemetry, limits
            )
            self._receivers.append(http)
        if config.otlp.grpc is not None:
            grpc = GrpcReceiver(
                self._flow, self._endpoint(config.otlp.grpc, "otlp.grpc"), self.telemetry, limits
            )
            self._receivers.append(grpc)
        if config.admin is not None:
            endpoint = self._endpoint(config.admin, "admin")
            self._admin = Admin(endpoint, self.telemetry, self._stories, self.health)
        return http, grpc, self._admin

    def _endpoint(self, address: str, name: str) -> Endpoint:
        """The endpoint of ``address``, tried before anything slow is loaded.

        Raises:
            ConfigError: it cannot be listened on.
        """
        host, port = host_and_port(address)
        otlp_ = self._config.otlp
        is_intake = name != "admin"
        endpoint = Endpoint(
            host,
            port,
            name,
            token=intake_token(self._config) if is_intake else None,
            cert=otlp_.tls_cert if is_intake else None,
            key=otlp_.tls_key if is_intake else None,
            client_ca=otlp_.tls_client_ca if is_intake else None,
            insecure=otlp_.insecure_bind,
        )
        endpoint.bind().close()
        return endpoint

    def health(self) -> Mapping[str, Any]:
        """Whether it works, under ``healthy``, and what is going on."""
        return {
            "healthy": self._worker.pid is not None,
            "worker": self._worker.pid,
            "destinations_healthy": self._exporters.healthy,
            "held_spans": self.telemetry.value(Figure.HELD),
            "spooled_spans": self.telemetry.value(Figure.SPOOLED),
            "unaccounted_spans": self.telemetry.value(Figure.UNACCOUNTED),
            "judging": self._worker.pending,
        }


def _spool(config: Config) -> Spool | None:
    folder = config.spool.folder()
    if folder is None:
        return None
    return Spool(folder, max_bytes=config.spool.max_bytes, fsync=config.spool.fsync)


def _stitcher(config: Config) -> Stitcher | None:
    if config.stitch.by == "off":
        return None
    mapping = config.attribute_mapping

    def read(held: HeldInteraction) -> Trace:
        try:
            return read_trace(_read(held), held.logs, mapping=mapping)
        except MalformedOtlp:
            return Trace(())  # what cannot be read waits for nothing

    return Stitcher(config.stitch, read)


def _read(held: HeldInteraction) -> tuple[SpanRecord, ...]:
    return tuple(otlp.read_span(raw) for raw in (*held.left, *held.spans))

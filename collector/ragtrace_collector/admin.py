"""The admin endpoint: health, Prometheus metrics, and what became of a trace. Bound apart from the intake."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from aiohttp import web

from ragtrace_collector.receivers import Endpoint
from ragtrace_collector.stories import Stories
from ragtrace_collector.telemetry import Telemetry

_TRACE_ID = re.compile(r"[0-9a-f]{32}")


class Admin:
    """Serves from :meth:`start` to :meth:`stop`.

    ``health`` is asked at each request for what is going on, and whether all is well under ``"healthy"``.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        telemetry: Telemetry,
        stories: Stories,
        health: Callable[[], Mapping[str, Any]],
    ) -> None:
        self._endpoint, self._telemetry = endpoint, telemetry
        self._stories, self._health = stories, health
        self._runner: web.AppRunner | None = None
        self.port = endpoint.port

    async def start(self) -> None:
        """Listen.

        Raises:
            ConfigError: the address cannot be listened on, or is not safe to.
        """
        socket = self._endpoint.bind()
        self.port = socket.getsockname()[1]
        app = web.Application()
        app.add_routes(
            [
                web.get("/health", self._get_health),
                web.get("/metrics", self._get_metrics),
                web.get("/traces/{trace_id}", self._get_trace),
            ]
        )
        self._runner = web.AppRunner(app, access_log=None)
        await self._runner.setup()
        await web.SockSite(self._runner, socket).start()

    async def stop(self) -> None:
        """Close. May be called twice."""
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def _get_health(self, _: web.Request) -> web.Response:
        health = dict(self._health())
        return web.json_response(health, status=200 if health.get("healthy") else 503)

    async def _get_metrics(self, _: web.Request) -> web.Response:
        return web.Response(body=self._telemetry.exposition(), headers={"Content-Type": _PROMETHEUS})

    async def _get_trace(self, request: web.Request) -> web.Response:
        trace_id = request.match_info["trace_id"].lower()
        if not _TRACE_ID.fullmatch(trace_id):
            return web.json_response({"error": "a trace id is 32 hexadecimal digits"}, status=400)
        story = self._stories.find(trace_id)
        if story is None:
            return web.json_response({"trace_id": trace_id, "seen": False}, status=404)
        return web.json_response(story.as_json())


_PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"

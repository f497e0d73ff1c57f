"""OTLP over HTTP: protobuf and JSON, plain, gzip or deflate.

https://opentelemetry.io/docs/specs/otlp/#otlphttp. A raw ASGI app on uvicorn: a web framework's routing and
request objects cost more than everything else on the way of a batch.
"""

from __future__ import annotations

import asyncio
import math
import ssl
from typing import Any

import uvicorn

from ragtrace.errors import TooLarge
from ragtrace_collector.otlp import logs_request_from_json, trace_request_from_json
from ragtrace_collector.otlp_replies import encode_status, status_to_json
from ragtrace_collector.receivers.answers import (
    DRAINING,
    TOO_SLOW,
    UNAUTHORIZED,
    UNKNOWN_PATH,
    WRONG_METHOD,
    WRONG_TYPE,
    Answer,
    Rejected,
    answer_to,
)
from ragtrace_collector.receivers.aside import Aside
from ragtrace_collector.receivers.content import check, decode_content
from ragtrace_collector.receivers.endpoint import DEFAULT_LIMITS, Admission, Endpoint, Limits, Ticket
from ragtrace_collector.receivers.protocol import guarded_protocol
from ragtrace_collector.stages import Consumer, Signal, SpanBatch
from ragtrace_collector.telemetry import Figure, Telemetry

PATHS = {
    "/v1/traces": Signal.TRACES,
    "/v1/logs": Signal.LOGS,
    "/api/public/otel/v1/traces": Signal.TRACES,
}
"""The last is where Langfuse's SDK posts its spans."""

PROTOBUF, JSON = "application/x-protobuf", "application/json"


_Headers = dict[bytes, bytes]


class OtlpApp:
    """The ASGI application: one request in, one answer out. Answers when ``next`` has taken the batch."""

    def __init__(
        self, next: Consumer[SpanBatch], endpoint: Endpoint, limits: Limits, telemetry: Telemetry
    ) -> None:
        self._next, self._endpoint, self._limits, self._telemetry = next, endpoint, limits, telemetry
        self._admission = Admission(limits.in_flight)
        self._aside = Aside()
        self.draining = False

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one request, as ASGI has it."""
        headers: _Headers = dict(scope["headers"])
        content_type = headers.get(b"content-type", b"").partition(b";")[0].strip().lower().decode("latin-1")
        signal = PATHS.get(scope["path"])
        try:
            answer = await self._take(scope, receive, headers, signal, content_type)
        except _Disconnected:
            return
        self._count(signal, "accepted" if answer is None else answer.name)
        if answer is None:
            await _say(send, 200, b"{}" if content_type == JSON else b"", content_type)
        else:
            await _say_no(send, answer, content_type)

    async def _take(
        self, scope: Any, receive: Any, headers: _Headers, signal: Signal | None, content_type: str
    ) -> Answer | None:
        """One request → the answer where it is not yes. Of what was raised nothing is kept."""
        try:
            self._look_at_head(scope, headers, signal, content_type)
            assert signal is not None
            with self._admission.ticket() as ticket:
                body = await self._read(receive, headers, ticket)
                body = await self._decode(body, headers, ticket, signal, content_type)
                await self._next.consume(SpanBatch(body, signal=signal))
        except _Disconnected:
            raise
        except Exception as error:  # noqa: BLE001  # whatever happens behind us, the sender gets an answer
            return answer_to(error)
        return None

    def _count(self, signal: Signal | None, answer: str) -> None:
        self._telemetry.count(Figure.REQUESTS, transport="http", signal=signal or "none", answer=answer)

    def _look_at_head(self, scope: Any, headers: _Headers, signal: Signal | None, content_type: str) -> None:
        if self.draining:
            raise Rejected(DRAINING)
        if not self._endpoint.admits(headers.get(b"authorization", b"").decode("latin-1")):
            raise Rejected(UNAUTHORIZED)
        if signal is None:
            raise Rejected(UNKNOWN_PATH)
        if scope["method"] != "POST":
            raise Rejected(WRONG_METHOD)
        if content_type not in (PROTOBUF, JSON):
            raise Rejected(WRONG_TYPE)

    async def _read(self, receive: Any, headers: _Headers, ticket: Ticket) -> bytes:
        declared = headers.get(b"content-length", b"0")
        if not declared.isdigit() or int(declared) > self._limits.body:
            raise TooLarge(f"the body is longer than {self._limits.body} bytes")
        chunks: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(self._limits.body_time):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise _Disconnected
                    chunk: bytes = message.get("body", b"")
                    size += len(chunk)
                    if size > self._limits.body:
                        raise TooLarge(f"the body is longer than {self._limits.body} bytes")
                    ticket.grow(len(chunk))
                    chunks.append(chunk)
                    if not message.get("more_body"):
                        return chunks[0] if len(chunks) == 1 else b"".join(chunks)
        except TimeoutError:
            raise Rejected(TOO_SLOW) from None

    async def _decode(
        self, body: bytes, headers: _Headers, ticket: Ticket, signal: Signal, content_type: str
    ) -> bytes:
        encoding = headers.get(b"content-encoding", b"").decode("latin-1").strip().lower()
        if encoding:
            packed = len(body)
            body = await self._aside.run(decode_content, body, encoding, self._limits.body)
            ticket.grow(max(len(body) - packed, 0))
        if content_type == JSON:
            if len(body) > self._limits.json:
                raise TooLarge(f"JSON is taken up to {self._limits.json} bytes")
            convert = trace_request_from_json if signal is Signal.TRACES else logs_request_from_json
            body = await self._aside.run(convert, body)
        await check(body, signal, self._aside)
        return body


class _Disconnected(Exception):
    """The sender went away: nobody to answer."""


async def _say_no(send: Any, answer: Answer, content_type: str) -> None:
    if content_type == PROTOBUF:
        body = encode_status(answer.code, answer.message)
    else:
        content_type, body = JSON, status_to_json(answer.code, answer.message)
    # What is left of the body must not be read to its end: the sender is cut off instead.
    extra = [(b"connection", b"close")] if answer.status in {401, 404, 405, 408, 413, 415} else []
    if answer.retry_after is not None:
        extra.append((b"retry-after", b"%d" % max(math.ceil(answer.retry_after), 1)))
    if answer.status == 401:
        extra.append((b"www-authenticate", b"Bearer"))
    if answer.status == 405:
        extra.append((b"allow", b"POST"))
    await _say(send, answer.status, body, content_type, extra)


async def _say(
    send: Any, status: int, body: bytes, content_type: str, extra: list[tuple[bytes, bytes]] | None = None
) -> None:
    headers = [
        (b"content-type", content_type.encode("latin-1")),
        (b"content-length", b"%d" % len(body)),
        *(extra or []),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


class HttpReceiver:
    """Listens from :meth:`start` to :meth:`stop`."""

    def __init__(
        self,
        next: Consumer[SpanBatch],
        endpoint: Endpoint,
        telemetry: Telemetry,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        self._endpoint, self._limits, self._telemetry = endpoint, limits.affordable(), telemetry
        self._app = OtlpApp(next, endpoint, limits, telemetry)
        self._server: uvicorn.Server | None = None
        self._serving: asyncio.Task[None] | None = None
        self.port = endpoint.port

    async def start(self) -> None:
        """Listen.

        Raises:
            ConfigError: the address cannot be listened on, or is not safe to.
        """
        socket = self._endpoint.bind()
        self.port = socket.getsockname()[1]
        config = uvicorn.Config(
            self._app,
            http=guarded_protocol(self._limits, self._refuse),
            ws="none",
            lifespan="off",
            interface="asgi3",
            log_config=None,
            log_level="critical",  # it logs a line for each broken request
            access_log=False,
            server_header=False,
            date_header=False,
            proxy_headers=False,
            timeout_keep_alive=math.ceil(self._limits.idle),
            ssl_certfile=self._endpoint.cert,
            ssl_keyfile=self._endpoint.key,
            ssl_ca_certs=None if self._endpoint.client_ca is None else str(self._endpoint.client_ca),
            ssl_cert_reqs=ssl.CERT_NONE if self._endpoint.client_ca is None else ssl.CERT_REQUIRED,
        )
        try:
            config.load()
        except (OSError, ssl.SSLError) as error:
            raise self._endpoint.unusable(f"its certificate cannot be used: {error}") from None
        # Server.serve would take over the signals, which belong to whoever runs us: its parts are called.
        self._server = uvicorn.Server(config)
        self._server.lifespan = config.lifespan_class(config)
        await self._server.startup(sockets=[socket])
        self._serving = asyncio.create_task(self._server.main_loop())

    def _refuse(self, reason: str) -> None:
        """What never became a request is counted too."""
        self._telemetry.count(Figure.REQUESTS, transport="http", signal="none", answer=reason)

    async def stop(self, grace: float = 5.0) -> None:
        """Refuse what comes now, give the requests in work ``grace`` seconds to be answered, close."""
        self._app.draining = True
        if self._server is None or self._serving is None:
            return
        self._server.config.timeout_graceful_shutdown = math.ceil(grace)
        self._server.should_exit = True
        await self._serving
        await self._server.shutdown()
        self._server = None

"""Delivery over loopback HTTP to backends that take, refuse, delay and break; the clock is ours."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest
from aiohttp import web
from collector.exporter_rig import YES, Backend, Reply, delivering
from collector.otlp_peers import encoded_request
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from ragtrace.model import LogRecord
from ragtrace.semconv import TRUNCATION_MARKER
from ragtrace_collector import otlp
from ragtrace_collector.exporters import Destination, Exporters, make_outlet
from ragtrace_collector.stages import Refused, Signal, SpanBatch
from ragtrace_collector.telemetry import Figure, Telemetry


async def test_a_batch_that_nobody_changed_arrives_as_the_bytes_that_came() -> None:
    """Once, with the headers that were asked for, and the future is done after the backend's yes."""
    async with (
        Backend().serving() as backend,
        delivering(backend.url, headers={"X-Mlflow-Experiment-Id": "7"}) as delivery,
    ):
        body = encoded_request(5)
        await delivery.send(body)
        ((path, headers, received),) = backend.requests
    assert (path, received) == ("/v1/traces", body)
    assert (headers["x-mlflow-experiment-id"], headers["content-type"]) == ("7", "application/x-protobuf")
    assert delivery.balance() == (5, 0)


async def test_langfuse_is_reached_on_its_own_route_with_its_own_keys() -> None:
    """Basic authorization on /api/public/otel/v1/traces."""
    async with Backend().serving() as backend:
        url = f"{backend.url}/api/public/otel/v1/traces"
        async with delivering(url, headers={"Authorization": "Basic cGs6c2s="}) as delivery:
            await delivery.send(encoded_request())
        ((path, headers, _),) = backend.requests
    assert (path, headers["authorization"]) == ("/api/public/otel/v1/traces", "Basic cGs6c2s=")


async def test_gzip_is_spoken_where_asked() -> None:
    """The backend's web server unpacks it by the header."""
    async with Backend().serving() as backend, delivering(backend.url, compression="gzip") as delivery:
        small, large = encoded_request(2), encoded_request(2, "x" * 100_000, first_id=3)
        await delivery.send(small)
        await delivery.send(large)
        assert [body for _, _, body in backend.requests] == [small, large]
        assert all(headers["content-encoding"] == "gzip" for _, headers, _ in backend.requests)


async def test_batches_that_wait_go_together() -> None:
    """Joined as bytes, up to the size of a request."""
    async with Backend().serving() as backend, delivering(backend.url) as delivery:
        await delivery.send(*(encoded_request(2, first_id=first) for first in (1, 3, 5)))
        assert sorted(backend.taken) == [1, 2, 3, 4, 5, 6]
        assert len(backend.requests) < 3
    assert delivery.balance() == (6, 0)


async def test_batches_go_together_up_to_a_number_of_spans() -> None:
    """What a crash may send twice is bounded by it; a batch of more stays whole, for halving it costs time."""
    async with Backend().serving() as backend, delivering(backend.url, max_spans=5) as delivery:
        await delivery.send(
            *(encoded_request(2, first_id=first) for first in (1, 3, 5, 7)), encoded_request(9)
        )
    sizes = [len(otlp.split(body)) for _, _, body in backend.requests]
    assert (sum(sizes), max(sizes), sorted(sizes)[-2]) == (17, 9, 4)


@pytest.mark.parametrize("status", [429, 502, 503, 504])
async def test_what_may_pass_is_tried_again(status: int) -> None:
    """Waiting twice as long each time; Retry-After is honoured."""
    replies = iter([(status, {}, b""), (status, {}, b""), (status, {"retry-after": "17"}, b""), YES])
    async with Backend(lambda spans: next(replies)).serving() as backend, delivering(backend.url) as delivery:
        await delivery.send(encoded_request(3))
        assert backend.taken == [1, 2, 3]
    assert delivery.clock.slept == [0.5, 1.0, 17.0]
    assert delivery.telemetry.value(Figure.RETRIES) == 3
    assert delivery.balance() == (3, 0)


async def test_a_backend_that_is_away_is_waited_for() -> None:
    """Nobody listens, then somebody does."""
    async with Backend().serving() as backend:
        port = int(backend.url.rpartition(":")[2])
    later = Backend()

    async with delivering(f"http://127.0.0.1:{port}") as delivery:
        sending = asyncio.create_task(delivery.send(encoded_request()))
        await asyncio.wait_for(delivery.clock.fifth.wait(), 10)
        assert not delivery.exporters.healthy
        app = web.Application()
        app.router.add_post("/{path:.*}", later.handle)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", port).start()
        await sending
        assert (later.taken, delivery.exporters.healthy) == ([1], True)
        await runner.cleanup()


async def test_a_backend_that_hangs_is_given_up_and_tried_again() -> None:
    """After the timeout of one request."""
    hanging = asyncio.Event()

    class Hanging(Backend):
        async def handle(self, request: web.Request) -> web.Response:
            if not self.requests:
                self.requests.append(("", {}, b""))
                await hanging.wait()
            return await super().handle(request)

    async with Hanging().serving() as backend, delivering(backend.url, timeout=0.2) as delivery:
        await delivery.send(encoded_request())
        assert (backend.taken, len(delivery.clock.slept)) == ([1], 1)
        hanging.set()


@pytest.mark.parametrize("status", [307, 401, 403, 404, 405, 408, 415])
async def test_a_refusal_of_who_asks_or_where_loses_nothing(
    status: int, caplog: pytest.LogCaptureFixture
) -> None:
    """A token that has expired, a wrong path: spans wait until it is mended, and the log says once how."""
    replies = iter([(status, {}, b"")] * 7 + [YES])
    async with Backend(lambda spans: next(replies)).serving() as backend, delivering(backend.url) as delivery:
        await delivery.send(encoded_request(3))
        assert backend.taken == [1, 2, 3]
    assert delivery.balance() == (3, 0)
    assert sum("Spans are kept" in line for line in caplog.messages) == (status != 408)


async def test_a_backend_that_comes_and_goes_gets_two_lines(caplog: pytest.LogCaptureFixture) -> None:
    """One when it goes, one when it has been back for half a minute: not a pair for each time in between."""
    flapping = [(503, {}, b"")] * 3 + [YES]
    replies = iter([*flapping * 5, YES, YES, *flapping])
    async with Backend(lambda spans: next(replies)).serving() as backend, delivering(backend.url) as delivery:
        for _ in range(5):
            await delivery.send(encoded_request())
            delivery.clock.now += 10
        assert [line.partition(" ")[2][:7] for line in caplog.messages] == ["is away"]
        delivery.clock.now += 15
        await delivery.send(encoded_request())
        assert len(caplog.messages) == 1
        delivery.clock.now += 6
        await delivery.send(encoded_request())
        assert "takes spans again, for 31 seconds now" in caplog.messages[1]
        await delivery.send(encoded_request())
        assert ["is away" in line for line in caplog.messages] == [True, False, True]


async def test_a_backend_without_logs_does_not_hold_up_spans() -> None:
    """Log records that have nowhere to go are let go; spans that have are delivered."""

    class WithoutLogs(Backend):
        async def handle(self, request: web.Request) -> web.Response:
            if request.path.endswith("/logs"):
                return web.Response(status=404)
            return await super().handle(request)

    body = otlp.encode_log(LogRecord("01" * 16, "02" * 8, "e"))
    async with WithoutLogs().serving() as backend, delivering(backend.url) as delivery:
        await delivery.send_batches(SpanBatch(body, signal=Signal.LOGS))
        await delivery.send(encoded_request())
    assert (backend.taken, delivery.clock.slept) == ([1], [])


@pytest.mark.parametrize("status", [406, 409, 410])
async def test_what_will_never_be_taken_is_dropped_and_counted(status: int) -> None:
    """At once and whole: another size would not help."""
    async with (
        Backend(lambda spans: (status, {}, b"")).serving() as backend,
        delivering(backend.url) as delivery,
    ):
        await delivery.send(encoded_request(4))
        assert len(backend.requests) == 1
    assert delivery.balance() == (0, 4)
    assert delivery.telemetry.value(Figure.REJECTED, reason="rejected") == 4


async def test_the_one_bad_span_is_isolated() -> None:
    """A backend that answers 400 to it takes the 99 others, each once."""

    def rule(spans: list[Any]) -> Reply:
        return (400, {}, b"") if any(int(span.span_id, 16) == 42 for span in spans) else YES

    async with Backend(rule).serving() as backend, delivering(backend.url) as delivery:
        await delivery.send(encoded_request(100))
        assert sorted(backend.taken) == [number for number in range(1, 101) if number != 42]
        assert len(backend.requests) < 20
    assert delivery.balance() == (99, 1)


async def test_batches_that_were_joined_are_accounted_for_each_by_itself() -> None:
    """The bad one among them costs the others nothing."""

    def rule(spans: list[Any]) -> Reply:
        return (400, {}, b"") if any(int(span.span_id, 16) == 2 for span in spans) else YES

    async with Backend(rule).serving() as backend, delivering(backend.url) as delivery:
        await delivery.send(*(encoded_request(1, first_id=first) for first in range(1, 6)))
        assert sorted(backend.taken) == [1, 3, 4, 5]
    assert delivery.balance() == (4, 1)


async def test_a_request_that_breaks_the_backend_is_found_out_when_others_get_through() -> None:
    """500 to one span for ever: it is isolated, for the rest proves that the backend is up."""

    def rule(spans: list[Any]) -> Reply:
        return (500, {}, b"") if any(int(span.span_id, 16) == 3 for span in spans) else YES

    async with (
        Backend(rule).serving() as backend,
        delivering(backend.url, at_once=2, max_request=250) as delivery,
    ):
        poisoned = asyncio.create_task(delivery.send(encoded_request(4)))
        number = 10
        while not poisoned.done():
            await delivery.send(encoded_request(1, first_id=number))
            number += 1
        await poisoned
        assert sorted(backend.taken) == [1, 2, 4, *range(10, number)]
    assert delivery.telemetry.value(Figure.REJECTED, reason="rejected") == 1


async def test_an_outage_that_begins_beside_a_success_drops_nothing() -> None:
    """What was confirmed before the first failure proves nothing about the request that fails now."""
    gate = asyncio.Event()
    replies = iter([(500, {}, b"")] * 7 + [YES])

    class Ending(Backend):
        async def handle(self, request: web.Request) -> web.Response:
            if not self.requests:
                response = await super().handle(request)
                gate.set()
                return response
            await gate.wait()
            return await super().handle(request)

    backend = Ending(lambda spans: YES if int(spans[0].span_id, 16) == 1 else next(replies))
    async with backend.serving(), delivering(backend.url, at_once=2, max_request=80) as delivery:
        await delivery.send(encoded_request(1), encoded_request(1, first_id=2))
    assert sorted(backend.taken) == [1, 2]
    assert delivery.balance() == (2, 0)


async def test_partial_success_is_read_and_counted() -> None:
    """The backend said that it threw two of five away; nothing is sent again."""
    reply = ExportTraceServiceResponse()
    reply.partial_success.rejected_spans = 2
    texts = iter(
        [
            ("application/x-protobuf", reply.SerializeToString()),
            ("application/json", b'{"partialSuccess":{"rejectedSpans":"1"}}'),
        ]
    )

    def rule(spans: list[Any]) -> Reply:
        kind, body = next(texts)
        return 200, {"content-type": kind}, body

    async with Backend(rule).serving() as backend, delivering(backend.url) as delivery:
        await delivery.send(encoded_request(5))
        await delivery.send(encoded_request(5, first_id=6))
        assert len(backend.requests) == 2
    assert delivery.balance() == (7, 3)
    assert delivery.telemetry.value(Figure.REJECTED, reason="partial_success") == 3


@pytest.mark.parametrize("max_body", [4 * 2**20, 16 * 2**20])
async def test_fat_spans_arrive_in_requests_of_a_size_that_is_taken(max_body: int) -> None:
    """159 spans of 100 KB, each once, uncut, whatever the backend's limit is."""
    async with (
        Backend(max_body=max_body).serving() as backend,
        delivering(backend.url, max_request=20_000_000) as delivery,
    ):
        await delivery.send(encoded_request(159, "x" * 100_000))
        assert Counter(backend.taken) == Counter(range(1, 160))
        first = len(backend.requests)
        # The limit was learned: the next batch is packed to it at once.
        await delivery.send(encoded_request(159, "x" * 100_000, first_id=1_000))
        assert all(len(body) <= max_body for _, _, body in backend.requests[first:])
    assert delivery.balance() == (318, 0)


async def test_a_span_that_is_too_large_alone_is_cut_until_it_is_taken() -> None:
    """11 MB in one attribute; its neighbours arrive untouched."""
    async with Backend(max_body=4 * 2**20).serving() as backend, delivering(backend.url) as delivery:
        fat = encoded_request(1, "款" * 3_700_000, first_id=2)
        await delivery.send(encoded_request(1) + fat + encoded_request(1, first_id=3))
        spans = {
            int(span.span_id, 16): span
            for *_, body in backend.requests
            if len(body) <= 4 * 2**20
            for span in otlp.read_spans(body)
        }
    assert sorted(spans) == [1, 2, 3]
    assert spans[2].attributes["text"].endswith(TRUNCATION_MARKER)
    assert len(spans[2].attributes["text"].encode()) > 2**19
    assert delivery.telemetry.value(Figure.CUT) == 1
    assert delivery.balance() == (3, 0)


async def test_a_span_that_cannot_be_made_to_fit_is_dropped_and_counted() -> None:
    """It ends; it does not try for ever."""
    async with Backend(max_body=20).serving() as backend, delivering(backend.url) as delivery:
        await delivery.send(encoded_request(2))
        assert backend.taken == []
    assert delivery.balance() == (0, 2)


async def test_texts_are_cut_for_a_backend_that_drops_long_ones() -> None:
    """Only what is longer; the rest of the batch keeps its bytes."""
    async with Backend().serving() as backend, delivering(backend.url, max_text=100) as delivery:
        short = encoded_request(1)
        await delivery.send(short)
        await delivery.send(encoded_request(1, "y" * 1_000))
        assert backend.requests[0][2] == short
        assert len(otlp.read_spans(backend.requests[1][2])[0].attributes["text"].encode()) <= 100


async def test_logs_go_to_the_same_backend() -> None:
    """To /v1/logs beside /v1/traces; they are no spans in the books."""
    body = otlp.encode_log(LogRecord("01" * 16, "02" * 8, "e"))
    async with Backend().serving() as backend, delivering(backend.url) as delivery:
        await delivery.send_batches(SpanBatch(body, signal=Signal.LOGS), SpanBatch(encoded_request()))
        assert sorted((path, received) for path, _, received in backend.requests) == [
            ("/v1/logs", body),
            ("/v1/traces", encoded_request()),
        ]
    assert delivery.balance() == (1, 0)


async def test_a_full_queue_refuses_and_takes_again_once_there_is_room() -> None:
    """Memory is bounded in bytes; one destination that is full is enough, and nobody else got the batch then."""
    gate = asyncio.Event()

    class Slow(Backend):
        async def handle(self, request: web.Request) -> web.Response:
            response = await super().handle(request)
            await gate.wait()
            return response

    async with Slow().serving() as backend, delivering(backend.url, queue_bytes=1_000) as delivery:
        first = delivery.exporters.submit(SpanBatch(encoded_request(1, "x" * 900)))
        with pytest.raises(Refused):
            delivery.exporters.submit(SpanBatch(encoded_request(1, "x" * 900, first_id=2)))
        await asyncio.wait_for(backend.arrived.wait(), 5)
        assert not first.done()
        gate.set()
        await asyncio.wait_for(first, 10)
        await delivery.send(encoded_request(1, "x" * 900, first_id=3))
        assert backend.taken == [1, 3]


async def test_every_destination_gets_every_batch_and_a_slow_one_does_not_hold_up_the_other() -> None:
    """Done means that all have answered; dropped is only what none of them took."""
    gate = asyncio.Event()

    class Slow(Backend):
        async def handle(self, request: web.Request) -> web.Response:
            await gate.wait()
            return web.Response(status=409)

    telemetry = Telemetry()
    async with Slow().serving() as slow, Backend().serving() as fast:
        exporters = Exporters([make_outlet(Destination(backend.url), telemetry) for backend in (slow, fast)])
        await exporters.start()
        future = exporters.submit(SpanBatch(encoded_request(3)))
        await asyncio.wait_for(fast.arrived.wait(), 5)
        assert (future.done(), exporters.held_spans) == (False, 3)
        gate.set()
        assert (await asyncio.wait_for(future, 5), exporters.held_spans) == (0, 0)
        assert await exporters.stop(0) == 0


async def test_stopping_says_how_much_was_left() -> None:
    """What was not answered for is in no other book, and its futures are cancelled."""
    async with Backend(lambda spans: (503, {}, b"")).serving() as backend:
        telemetry = Telemetry()
        exporters = Exporters([make_outlet(Destination(backend.url), telemetry)])
        await exporters.start()
        future = exporters.submit(SpanBatch(encoded_request(7)))
        await asyncio.wait_for(backend.arrived.wait(), 5)
        assert await exporters.stop(0.05) == 7
        assert future.cancelled()
    assert telemetry.value(Figure.EXPORTED) == 0


async def test_without_destinations_a_batch_is_done_with_at_once() -> None:
    """The collector may run for its terminal tree alone."""
    done = Exporters([]).submit(SpanBatch(encoded_request(2)))
    assert (done.done(), await done) == (True, 0)

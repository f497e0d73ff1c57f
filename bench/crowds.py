"""The crowds of bench/connections.py, each a process of its own: ``crowds.py NAME HTTP_PORT GRPC_PORT``."""

from __future__ import annotations

import asyncio
import contextlib
import resource
import sys
import zlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import aiohttp
import grpc
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

EXPORT = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
PROTOBUF = {"content-type": "application/x-protobuf"}
GZIP = {**PROTOBUF, "content-encoding": "gzip"}
IDLE, BUSY, SLOW, SILENT, BOMBS_AT_ONCE = 1_000, 200, 400, 300, 8
BUSY_PAUSE = 0.5
"""Seconds between the requests of a busy connection: 400 a second in all."""
MIB = 2**20


@dataclass(frozen=True)
class Place:
    """Where a collector listens."""

    http: int
    grpc: int

    @property
    def url(self) -> str:
        """Where spans go over HTTP."""
        return f"http://127.0.0.1:{self.http}/v1/traces"


Crowd = Callable[[Place], Awaitable[None]]
"""Does harm until it is ended."""


# --- what is sent -----------------------------------------------------------------------------------------


def ordinary(spans: int = 20) -> bytes:
    """Plain spans of about 2 KB."""
    request = ExportTraceServiceRequest()
    scope = request.resource_spans.add().scope_spans.add()
    for number in range(1, spans + 1):
        span = scope.spans.add(
            trace_id=number.to_bytes(16, "big"), span_id=number.to_bytes(8, "big"), name="n"
        )
        span.attributes.add(key="http.route").value.string_value = "x" * 2_000
    return request.SerializeToString()


def gzip_of_zeros(size: int) -> bytes:
    """A gzip body that unpacks to ``size`` zeros: a block that stands by itself, again and again."""
    block_size = 64 * MIB
    machine = zlib.compressobj(9, wbits=-15)
    block = b"".join(machine.compress(b"\0" * MIB) for _ in range(block_size // MIB))
    block += machine.flush(zlib.Z_FULL_FLUSH)
    end = zlib.compressobj(wbits=-15).flush()
    return b"\x1f\x8b\x08" + b"\0" * 6 + b"\xff" + block * (size // block_size) + end + b"\0" * 8


def packed(body: bytes) -> bytes:
    """``body`` as gzip."""
    machine = zlib.compressobj(1, wbits=31)
    return machine.compress(body) + machine.flush()


# --- crowds -----------------------------------------------------------------------------------------------


async def nobody(place: Place) -> None:
    await asyncio.Event().wait()


async def idle_and_busy(place: Place) -> None:
    body = ordinary(1)

    async def busy() -> None:
        async with aiohttp.ClientSession() as session:
            while True:
                with contextlib.suppress(aiohttp.ClientError):
                    async with session.post(place.url, data=body, headers=PROTOBUF) as response:
                        await response.read()
                await asyncio.sleep(BUSY_PAUSE)

    async def idle() -> None:
        await trickle(place.http, b"", 3_600)

    await asyncio.gather(*(idle() for _ in range(IDLE)), *(busy() for _ in range(BUSY)))


async def cut_off(reader: asyncio.StreamReader) -> None:
    """Returns when the other side has ended the connection."""
    with contextlib.suppress(OSError):
        await reader.read()


async def trickle(port: int, data: bytes, pause: float) -> None:
    """Connects, sends a byte now and then, and connects again when cut off."""
    while True:
        with contextlib.suppress(OSError):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            ended = asyncio.create_task(cut_off(reader))
            for at in range(len(data) or 1):
                writer.write(data[at : at + 1])
                if (await asyncio.wait([ended], timeout=pause))[0]:
                    break
            ended.cancel()
            writer.close()


async def slow_heads(place: Place) -> None:
    head = b"POST /v1/traces HTTP/1.1\r\nhost: x\r\n" + b"x: y\r\n" * 1_000
    await asyncio.gather(*(trickle(place.http, head, 0.5) for _ in range(SLOW)))


async def slow_bodies(place: Place) -> None:
    fields = (b"host: x", b"content-type: application/x-protobuf", b"content-length: 9999")
    head = b"\r\n".join([b"POST /v1/traces HTTP/1.1", *fields, b"", b""])

    async def one() -> None:
        while True:
            with contextlib.suppress(OSError):
                reader, writer = await asyncio.open_connection("127.0.0.1", place.http)
                writer.write(head)
                ended = asyncio.create_task(cut_off(reader))
                while not (await asyncio.wait([ended], timeout=0.5))[0]:
                    writer.write(b"x")
                writer.close()

    await asyncio.gather(*(one() for _ in range(SLOW)))


async def silent_grpc(place: Place) -> None:
    await asyncio.gather(*(trickle(place.grpc, b"", 3_600) for _ in range(SILENT)))


def bombs(body: bytes, headers: dict[str, str]) -> Crowd:
    async def over_http(place: Place) -> None:
        async def one() -> None:
            while True:
                with contextlib.suppress(aiohttp.ClientError):
                    async with (
                        aiohttp.ClientSession() as session,
                        session.post(place.url, data=body, headers=headers) as response,
                    ):
                        await response.read()

        await asyncio.gather(*(one() for _ in range(BOMBS_AT_ONCE)))

    return over_http


def grpc_bombs(message: bytes) -> Crowd:
    """A packed message, said to be plain: gRPC's own packing would take the attacker longer than us."""

    async def over_grpc(place: Place) -> None:
        async def one() -> None:
            options = [("grpc.max_send_message_length", -1), ("grpc.use_local_subchannel_pool", 1)]
            address = f"127.0.0.1:{place.grpc}"
            async with grpc.aio.insecure_channel(address, options=options) as channel:
                while True:
                    with contextlib.suppress(grpc.aio.AioRpcError):
                        await channel.unary_unary(EXPORT)(message, timeout=60)

        await asyncio.gather(*(one() for _ in range(BOMBS_AT_ONCE)))

    return over_grpc


CROWDS: dict[str, Callable[[], Crowd]] = {
    "nobody": lambda: nobody,
    "1,000 idle, 200 busy": lambda: idle_and_busy,
    "400 slow heads": lambda: slow_heads,
    "400 slow bodies": lambda: slow_bodies,
    "300 silent gRPC": lambda: silent_grpc,
    "10 GiB gzip, HTTP": lambda: bombs(gzip_of_zeros(10 * 2**30), GZIP),
    "10 GiB gzip, gRPC": lambda: grpc_bombs(gzip_of_zeros(10 * 2**30)),
    "32 M tiny resources": lambda: bombs(packed(b"\x0a\x00" * (31 * MIB)), GZIP),
}


async def main(name: str, place: Place) -> None:
    """Gather the crowd, say so, and stay."""
    crowd = CROWDS[name]()
    gathering = asyncio.ensure_future(crowd(place))
    await asyncio.sleep(1.0)
    print("here", flush=True)
    await gathering


if __name__ == "__main__":
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 16_384), hard))
    asyncio.run(main(sys.argv[1], Place(int(sys.argv[2]), int(sys.argv[3]))))

"""Encodings of bodies, with a bound on what comes out; and whether what came out is of ordinary density."""

from __future__ import annotations

import zlib

from ragtrace.errors import MalformedOtlp, TooLarge
from ragtrace_collector.otlp import check_logs, check_traces
from ragtrace_collector.receivers.answers import WRONG_ENCODING, Rejected
from ragtrace_collector.receivers.aside import Aside
from ragtrace_collector.stages import Signal

_MEMBERS = 16
"""A gzip body may have several members. Each costs a copy of what follows it."""
_PIECE = 8 * 2**20
"""Bytes that are unpacked in one go: for a bomb no more is taken than what fits, and nothing joined."""
_GZIP, _ZLIB, _RAW = 16 + zlib.MAX_WBITS, zlib.MAX_WBITS, -zlib.MAX_WBITS


def decode_content(body: bytes, encoding: str, limit: int) -> bytes:
    """A body as it came over HTTP → the request, of at most ``limit`` bytes.

    Raises:
        Rejected: an encoding that is not known here.
        MalformedOtlp: the body is not of that encoding, or is cut short.
        TooLarge: more would come out than ``limit``; that much and no more was unpacked.
    """
    if encoding in {"", "identity"} or not body:
        return body
    if encoding in {"gzip", "x-gzip"}:
        return _inflate(body, _GZIP, limit)
    if encoding == "deflate":
        # RFC 9110 means zlib's format by it; some senders leave its two-byte head out.
        is_zlib = len(body) >= 2 and body[0] & 0x0F == 8 and int.from_bytes(body[:2], "big") % 31 == 0
        return _inflate(body, _ZLIB if is_zlib else _RAW, limit)
    raise Rejected(WRONG_ENCODING)


_MAGIC = {b"\x1f\x8b": "gzip", b"\x78": "deflate"}
"""How packed messages begin. An OTLP request begins with the tag of field 1, or one that is like it."""


def decode_message(body: bytes, limit: int) -> bytes:
    """A gRPC message as it came → the request, of at most ``limit`` bytes. Raises as :func:`decode_content`.

    gRPC keeps the message's encoding to itself, so it is told by its first bytes, which no OTLP request has:
    a tag of 0x1f would be of no wire type, one of 0x78 of a field that OTLP does not have.
    """
    encoding = next((name for magic, name in _MAGIC.items() if body.startswith(magic)), "")
    return decode_content(body, encoding, limit)


async def check(body: bytes, signal: Signal, aside: Aside) -> None:
    """See that an encoded request does not hold more parts than can be worked on.

    In a thread where a glance is not enough: what one costs is known only afterwards.

    Raises:
        TooLarge: it does.
        MalformedOtlp: it is none.
    """
    see = check_logs if signal is Signal.LOGS else check_traces
    if not see(body, glance=True):
        await aside.run(see, body)


def _inflate(body: bytes, window: int, limit: int) -> bytes:
    out: list[bytes] = []
    room = limit
    for _ in range(_MEMBERS):
        machine = zlib.decompressobj(window)
        while not machine.eof:
            part = _unpacked(machine, body, min(room + 1, _PIECE))
            room -= len(part)
            if room < 0:
                # Whoever keeps the exception for a while keeps the variables of this function, too.
                del part, machine, body
                out.clear()
                raise TooLarge(f"the body unpacks to more than {limit} bytes")
            if not (part or machine.eof):
                raise MalformedOtlp("the packed body is cut short")
            out.append(part)
            body = machine.unconsumed_tail
        body = machine.unused_data
        if not body:
            return b"".join(out) if len(out) > 1 else out[0]
    raise MalformedOtlp("the body has too many gzip members")


def _unpacked(machine: zlib._Decompress, body: bytes, most: int) -> bytes:
    try:
        return machine.decompress(body, most)
    except zlib.error:
        raise MalformedOtlp("the body cannot be unpacked") from None

"""The protobuf wire format, walked by hand: where fields begin and end, never what they mean.

A span that is only cut out of one request and put into another keeps every byte this way, unknown fields
and field order included, which a parse and a serialisation do not promise.

Format: https://protobuf.dev/programming-guides/encoding/ (varints of at most ten bytes; groups, which no OTLP
message has, are refused).
"""

from __future__ import annotations

from collections.abc import Iterator

from ragtrace.errors import MalformedOtlp

VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5
_MAX_VARINT_SHIFT = 63


def tag(number: int, wire_type: int = LENGTH) -> int:
    """Field ``number`` and ``wire_type`` → the tag that precedes the field's value."""
    return number << 3 | wire_type


def read_varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    """The varint at ``data[at:end]`` → its value and the position behind it.

    Raises:
        MalformedOtlp: it runs past ``end``, or is longer than ten bytes.
    """
    value = shift = 0
    while at < end:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > _MAX_VARINT_SHIFT:
            raise MalformedOtlp("a varint is longer than ten bytes")
    raise MalformedOtlp("a varint is cut short")


def fields(data: bytes, at: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    """The fields of the message at ``data[at:end]``, in order.

    Yields:
        ``(tag, start, value_start, stop)``: the field with its tag is ``data[start:stop]``, its value
        ``data[value_start:stop]`` (for a length-delimited field without the length).

    Raises:
        MalformedOtlp: a field runs past ``end``, has number 0, or is a group.
    """
    while at < end:
        start = at
        key = data[at]
        at += 1
        if key >= 0x80:
            key, at = read_varint(data, start, end)
        wire_type = key & 7
        if wire_type == LENGTH:
            if at < end and data[at] < 0x80:
                size, at = data[at], at + 1
            else:
                size, at = read_varint(data, at, end)
            value, at = at, at + size
        elif wire_type == VARINT:
            value = at
            _, at = read_varint(data, at, end)
        elif wire_type == FIXED64:
            value, at = at, at + 8
        elif wire_type == FIXED32:
            value, at = at, at + 4
        else:
            raise MalformedOtlp(f"wire type {wire_type} is not used by OTLP")
        if at > end or key < 8:
            raise MalformedOtlp("a field runs past its message" if key >= 8 else "a field has number 0")
        yield key, start, value, at


def varint(value: int) -> bytes:
    """A number of 0 or more → its varint."""
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def delimited(number: int, value: bytes) -> bytes:
    """``value`` as the length-delimited field ``number``."""
    return head(number, len(value)) + value


def head(number: int, size: int) -> bytes:
    """What precedes the ``size`` bytes of the length-delimited field ``number``."""
    return varint(tag(number)) + varint(size)

"""How requests are answered: one table for both transports."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from ragtrace.errors import MalformedOtlp, TooLarge
from ragtrace_collector.stages import Refused

_log = logging.getLogger(__name__)
LONGEST_RETRY_AFTER = 2.0
"""Seconds. SDK exporters give a batch up after ten seconds in all, waiting included."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer other than yes. ``name`` is what it is counted by, ``code`` is gRPC's, ``status`` HTTP's."""

    name: str
    status: int
    code: int
    message: str
    retry_after: float | None = None


class Rejected(Exception):  # an answer to the sender, no fault of ours
    """The request gets ``answer`` and goes no further."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.message)
        self.answer = answer


UNAUTHORIZED = Answer("unauthorized", 401, 16, "a bearer token is needed")
UNKNOWN_PATH = Answer("unknown_path", 404, 5, "OTLP is taken at /v1/traces and /v1/logs")
WRONG_METHOD = Answer("wrong_method", 405, 12, "only POST is taken here")
TOO_SLOW = Answer("too_slow", 408, 4, "the request did not arrive in time")
NO_MESSAGE = Answer("no_message", 400, 3, "the call holds no message")
"""gRPC itself answers to a message that is too large; here such a call has none."""
WRONG_TYPE = Answer(
    "wrong_content_type", 415, 3, "the content type must be application/x-protobuf or application/json"
)
WRONG_ENCODING = Answer(
    "wrong_content_encoding", 415, 3, "the content encoding must be gzip, deflate or none"
)
DRAINING = Answer("draining", 503, 14, "shutting down", 1.0)
FAILED = Answer("failed", 503, 14, "the request could not be worked on", 1.0)


def answer_to(error: Exception) -> Answer:
    """What a receiver, or what stands behind it, raised → the answer to the sender.

    A fault of ours is logged, and answered as one that may pass: the sender still has the spans, and keeps
    them.
    """
    if isinstance(error, Rejected):
        return error.answer
    if isinstance(error, Refused):
        return Answer("refused", 429, 8, error.reason, min(error.retry_after, LONGEST_RETRY_AFTER))
    if isinstance(error, MalformedOtlp):
        return Answer("malformed", 400, 3, str(error))
    if isinstance(error, TooLarge):
        return Answer("too_large", 413, 3, str(error))
    _log.error("a request failed: %s", type(error).__name__)
    return FAILED

"""What is fuzzed: five functions from bytes, each with seeds. None may raise, whatever the bytes.

The bytes are what a stranger controls: a request's body (its first byte chooses how it is sent), the spans
that a dialect has to read, an answer with citations, a model's reply.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import fuzz_requests
import fuzz_texts


@dataclass(frozen=True)
class Target:
    """``run`` takes any bytes and returns; ``seeds`` are inputs to begin with."""

    run: Callable[[bytes], None]
    seeds: Callable[[], Iterator[bytes]]


TARGETS = {
    "http": Target(fuzz_requests.http_body, fuzz_requests.http_seeds),
    "grpc": Target(fuzz_requests.grpc_body, fuzz_requests.grpc_seeds),
    "extract": Target(fuzz_texts.extractors, fuzz_texts.extractor_seeds),
    "citations": Target(fuzz_texts.citation_parser, fuzz_texts.citation_seeds),
    "replies": Target(fuzz_texts.reply_parser, fuzz_texts.reply_seeds),
}

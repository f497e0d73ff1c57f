"""What servers and models do wrong: one table, by what has to become of it.

``RIGHT_IN_THE_END``: retries, fewer parameters, tolerant reading and re-asks must lead to the numbers of an
honest judge. ``NEVER_RIGHT``: every metric that is judged must end with this status and reason. ``HANGING``:
it never ends, and the deadline has to. The honest judge is that of :mod:`servers.case`.
"""

from __future__ import annotations

import gzip
import itertools
import json
import threading
import zlib
from collections.abc import Callable
from typing import Any

from servers.case import honest
from servers.openai_chat import Answer, Chat, Http, Script, Seen, completion

from ragtrace.model import Status

Reply = dict[str, Any]
Change = Callable[[Reply], Answer]


def always(change: Change) -> Script:
    """An honest server, but for what ``change`` does to each reply."""
    return lambda seen: change(honest(seen))


def grounded(change: Change) -> Script:
    """An honest server, but for what ``change`` does to the replies of call 1."""
    return lambda seen: change(honest(seen)) if seen.call == "grounding" else honest(seen)


def once(first: Answer | Script, then: Script = honest) -> Script:
    """``first`` for the first request of each call, an honest server ever after."""
    met: set[str] = set()
    lock = threading.Lock()

    def script(seen: Seen) -> Answer:
        with lock:
            new = seen.call not in met
            met.add(seen.call)
        step = first if new else then
        return step(seen) if callable(step) else step

    return script


def refusing(parameter: str, message: str = "Unsupported parameter: '{}' is not supported") -> Script:
    """A server that answers 400 while a request has ``parameter``."""
    return lambda seen: Http(400, message.format(parameter)) if parameter in seen.body else honest(seen)


def with_format(*known: str) -> Script:
    """A server that knows only these kinds of response_format (``none`` = its absence)."""

    def script(seen: Seen) -> Answer:
        kind = seen.body.get("response_format", {"type": "none"})["type"]
        if kind not in known:
            return Http(400, f"response_format type {kind} is unavailable now")
        return honest(seen)

    return script


def text_of(reply: Reply) -> str:
    return json.dumps(reply, ensure_ascii=False)


def cut(reply: Reply) -> Answer:
    text = text_of(reply)
    return Chat(text[: text.index('"claims"') + len(text) // 4], finish="length")


def stringly(reply: Reply) -> Answer:
    """Numbers as strings, as some providers' JSON mode gives them."""
    return json.loads(text_of(reply), parse_int=str)


def with_noise(reply: Reply) -> Answer:
    """Repeats, sentences and documents that nobody asked about, and a verdict that is none."""
    claims, relevance = reply["claims"], reply.get("relevance", [])
    strange = [
        {"unit": 99, "claim": "x", "quote": "", "verdict": "SUPPORTED"},
        "text",
        None,
        {"verdict": "-1"},
    ]
    return reply | {
        "claims": [*claims, *claims, *strange, claims[0] | {"claim": "other", "verdict": "N/A"}],
        "relevance": [
            *relevance,
            *({**entry, "helps": "no"} for entry in relevance),
            {"doc": 77, "helps": "yes"},
        ],
        "score": 0.1,
    }


def key_twice(reply: Reply) -> Answer:
    """Every list twice under its key, empty the second time."""
    text = text_of(reply)
    return Chat(text[:-1] + "".join(f', "{key}": []' for key in reply) + "}")


def opposite_after(reply: Reply) -> Answer:
    """The reply, and one that says nothing of the like."""
    return Chat(f"{text_of(reply)}\n{text_of({key: [] for key in reply})}")


def in_pieces(reply: Reply) -> Answer:
    """An object for each key."""
    return Chat("\n".join(text_of({key: value}) for key, value in reply.items()))


def parts(*more: dict[str, Any]) -> Change:
    """The content as a list of parts: ``more``, then the text in two."""

    def change(reply: Reply) -> Answer:
        text = text_of(reply)
        halves = ({"type": "text", "text": half} for half in (text[:20], text[20:]))
        return Chat(content=[*more, *halves])

    return change


def as_tool_call(reply: Reply) -> Answer:
    call = {"id": "c", "type": "function", "function": {"name": "json", "arguments": text_of(reply)}}
    return Chat(None, finish="tool_calls", extra={"tool_calls": [call]})


def as_function_call(reply: Reply) -> Answer:
    return Chat(None, finish="function_call", extra={"function_call": {"name": "json", "arguments": reply}})


def used(**usage: Any) -> Change:
    return lambda reply: Chat(text_of(reply), usage=None, more={"usage": usage})


def encoded(coding: str, pack: Callable[[bytes], bytes]) -> Change:
    return lambda reply: Http(200, headers=(("content-encoding", coding),), body=pack(completion(reply)))


def body(change: Callable[[bytes], bytes]) -> Change:
    return lambda reply: Http(200, body=change(completion(reply)))


def streamed(ending: str = "data: [DONE]\n\n", keep: int | None = None) -> Change:
    """Server-sent events, seven characters a chunk; ``keep``: only so many chunks come."""

    def change(reply: Reply) -> Answer:
        text = text_of(reply)
        chunks = [text[i : i + 7] for i in range(0, len(text), 7)][:keep]
        events = [{"choices": [{"index": 0, "delta": {"content": chunk}}]} for chunk in chunks]
        events.append({"choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 20}})
        lines = "".join(f"data: {json.dumps(event)}\r\n\r\n" for event in events)
        return Http(
            200,
            headers=(("content-type", "text/event-stream"),),
            body=f": hello\n\n{lines}{ending}".encode(),
        )

    return change


def inner_error(**error: Any) -> Answer:
    return Chat(choices=False, more={"error": error})


def moved(status: int, location: str = "/v1/chat/completions/") -> Http:
    return Http(status, headers=(("location", location),))


RIGHT_IN_THE_END: dict[str, Script] = {
    "honest": honest,
    # --- statuses
    "429 with Retry-After": once(Http(429, headers=(("retry-after", "1"),))),
    "429 with Retry-After in milliseconds": once(Http(429, headers=(("retry-after-ms", "20"),))),
    "429 with a date that is past": once(
        Http(429, headers=(("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT"),))
    ),
    "429 with nonsense": once(Http(429, headers=(("retry-after", "soon"),))),
    "429 without": once(Http(429)),
    "503": once(Http(503)),
    "500": once(Http(500)),
    "529 overloaded": once(Http(529)),
    "307 on the same host": once(moved(307)),
    "308 on the same host": once(moved(308)),
    # --- bodies
    "html instead of json": once(Http(200, body=b"<html>bad gateway</html>")),
    "half a response body": once(Http(200, body=b'{"id": "x", "choices": [')),
    "less than its content-length": once(Http(200, headers=(("content-length", "9999"),), body=b'{"id": ')),
    "no body": once(Http(200, body=b"")),
    "null": once(Http(200, body=b"null")),
    "a list": once(Http(200, body=b"[]")),
    "byte order mark before the body": always(body(lambda said: b"\xef\xbb\xbf" + said)),
    "gzip": always(encoded("gzip", gzip.compress)),
    "deflate": always(encoded("deflate", zlib.compress)),
    "gzip that is none": once(always(encoded("gzip", lambda said: said))),
    "gzip that breaks off": once(always(encoded("gzip", lambda said: gzip.compress(said)[:-40]))),
    "events although no stream was asked for": always(streamed()),
    "events that break off": once(always(streamed("", keep=5))),
    "events that end in an error": once(always(streamed('data: {"error": {"message": "lost"}}\n\n', keep=5))),
    "200 with an error": once(inner_error(message="upstream failed")),
    "200 with an error 429": once(inner_error(message="slow down", code=429)),
    "200 with an error 503 in a string": once(inner_error(message="busy", code="503")),
    "200 with an error in the choice": once(
        Http(
            200,
            body=json.dumps({"choices": [{"error": {"code": 502}, "message": {"content": "{"}}]}).encode(),
        )
    ),
    "200 that is an error itself": once(Http(200, body=b'{"object": "error", "message": "no", "code": 500}')),
    # --- choices and messages
    "empty choices": once(Chat(choices=False)),
    "content null": once(Chat(None)),
    "empty text": once(Chat("")),
    "reasoning without content": once(Chat("", extra={"reasoning_content": '{"claims": []}'})),
    "reasoning beside content": always(
        lambda reply: Chat(text_of(reply), extra={"reasoning_content": '{"claims": []}'})
    ),
    "content in parts": always(parts()),
    "content in parts, thinking among them": always(
        parts({"type": "thinking", "thinking": '{"claims": []}'})
    ),
    "a tool call instead of content": always(as_tool_call),
    "a function call instead of content": always(as_function_call),
    # --- texts
    "prose once": once(Chat("Sure! The statement is supported.")),
    "empty object": once(Chat("{}")),
    "cut once": once(grounded(cut)),
    "byte order mark before the text": always(lambda reply: Chat("\ufeff" + text_of(reply))),
    "thinking before": always(lambda reply: Chat(f'<think>{{"claims": []}} hm</think>\n{text_of(reply)}')),
    "thinking without its opening tag": always(lambda reply: Chat(f"so...\n</think>\n\n{text_of(reply)}")),
    "code fence": always(lambda reply: Chat(f"```json\n{text_of(reply)}\n```")),
    "the reply twice": always(lambda reply: Chat(f"{text_of(reply)}\n{text_of(reply)}")),
    "an object for each key": always(in_pieces),
    "two different replies once": once(always(opposite_after)),
    "every key twice once": once(always(key_twice)),
    "numbers that are none beside": grounded(lambda r: Chat(text_of(r | {"score": float("nan")}))),
    "a claim about sentence NaN": grounded(
        lambda r: Chat(text_of(r | {"claims": [*r["claims"], r["claims"][0] | {"unit": float("nan")}]}))
    ),
    "numbers in strings": always(stringly),
    "flags as booleans": always(
        lambda r: json.loads(text_of(r).replace('"yes"', "true").replace('"no"', "false"))
    ),
    "verdicts in lower case": grounded(lambda r: Chat(text_of(r).replace("SUPPORTED", "supported"))),
    "repeats and strangers": grounded(with_noise),
    # --- what stands beside the text
    "finish says length, reply is whole": always(lambda reply: Chat(text_of(reply), finish="length")),
    "finish says a word nobody knows": always(lambda reply: Chat(text_of(reply), finish="eos_token")),
    "finish says content_filter, reply is whole": always(
        lambda reply: Chat(text_of(reply), finish="content_filter")
    ),
    "no usage": always(lambda reply: Chat(text_of(reply), usage=None)),
    "usage in strings": always(used(prompt_tokens="100", completion_tokens="20")),
    "usage below zero": always(used(prompt_tokens=-1, completion_tokens=-1)),
    "usage beyond all bounds": always(used(prompt_tokens=1e300, completion_tokens=10**30)),
    "usage that is none": always(used(prompt_tokens=None, completion_tokens=[1])),
    # --- parameters
    "temperature unsupported": refusing(
        "temperature", "Unsupported value: '{}' does not support 0 with this model"
    ),
    "seed unsupported": refusing("seed"),
    "max_tokens unsupported": refusing("max_tokens", "Use 'max_completion_tokens' instead of '{}'"),
    "json_object only": with_format("json_object", "none"),
    "no response_format at all": with_format("none"),
    "refuses without a reason": lambda seen: Http(400) if "response_format" in seen.body else honest(seen),
    "array lengths unsupported": lambda seen: (
        Http(400, "schema: 'minItems' is not permitted")
        if "maxItems" in json.dumps(seen.body)
        else honest(seen)
    ),
    "422 instead of 400": lambda seen: Http(422, "seed: extra") if "seed" in seen.body else honest(seen),
    "more than one choice refused": lambda seen: (
        Http(400, "only n=1 supported") if seen.body.get("n", 1) != 1 else honest(seen)
    ),
}

JUDGE_ERROR, TIMED_OUT = Status.JUDGE_ERROR, Status.TIMED_OUT
NEVER_RIGHT: dict[str, tuple[Script | Answer, str]] = {
    "429 for ever": (Http(429), "rate_limited"),
    "429 with a day to wait": (Http(429, headers=(("retry-after", "86400"),)), "rate_limited"),
    "429 until a far date": (
        Http(429, headers=(("retry-after", "Wed, 21 Oct 2099 07:28:00 GMT"),)),
        "rate_limited",
    ),
    "quota spent": (Http(429, "You exceeded your quota", code="insufficient_quota"), "quota"),
    "500 for ever": (Http(500), "server_error"),
    "401": (Http(401), "unauthorized"),
    "403": (Http(403), "forbidden"),
    "404": (Http(404), "not_found"),
    "400 for ever": (Http(400, "bad"), "bad_request"),
    "413 for ever": (Http(413, "limit 1048576 bytes"), "window_exceeded"),
    "307 to another host": (moved(307, "http://127.0.0.2:9/v1/chat/completions"), "redirected"),
    "308 to another port": (moved(308, "http://127.0.0.1:9/v1/chat/completions"), "redirected"),
    "307 in a circle": (moved(307), "redirected"),
    "302 to a login page": (moved(302), "redirected"),
    "307 to nowhere": (Http(307), "redirected"),
    "307 to a file": (moved(307, "file:///etc/hostname"), "redirected"),
    "filtered on the way in": (Http(400, "flagged", code="content_filter"), "content_filter"),
    "filtered, with 200": (inner_error(message="flagged", code="content_filter"), "content_filter"),
    "filtered on the way out": (Chat(None, finish="content_filter"), "content_filter"),
    "refusal": (Chat(None, refusal="I cannot help with that"), "refused"),
    "refusal as a part": (Chat(content=[{"type": "refusal", "refusal": "No."}]), "refused"),
    "error with 200 for ever": (inner_error(message="upstream failed"), "server_error"),
    "key refused with 200": (inner_error(message="no", code=401), "unauthorized"),
    "never JSON": (Chat("I think the answer is mostly fine."), "unparseable"),
    "always empty": (Chat(""), "empty_reply"),
    "no choices ever": (Chat(choices=False), "empty_reply"),
    "reasoning only": (Chat("", extra={"reasoning_content": '{"claims": []}'}), "empty_reply"),
    "a tool call of another kind": (
        Chat(None, extra={"tool_calls": [{"function": {"name": "search", "arguments": '{"q": 1}'}}, 7]}),
        "incomplete",
    ),
    "html for ever": (Http(200, body=b"<html></html>"), "malformed_response"),
    "events without one": (Http(200, body=b"data: [DONE]\n\n"), "malformed_response"),
    "bytes of no encoding": (Http(200, body=b"\xff\xfe\xfa\x00\x81"), "malformed_response"),
    "less than its content-length for ever": (
        Http(200, headers=(("content-length", "99"),), body=b"{"),
        "unreachable",
    ),
    "a body without end": (Http(parts=itertools.repeat(b" " * 2**20)), "reply_too_large"),
    "endless thinking": (Chat('<think>well {"claims": []}'), "unparseable"),
    "two different replies for ever": (always(opposite_after), "ambiguous"),
    "every key twice for ever": (always(key_twice), "ambiguous"),
}

HANGING: dict[str, Callable[[threading.Event], Answer | Script]] = {
    "no answer": lambda never: Http(hold=never),
    "a body that stops in its middle": lambda never: Http(parts=(b'{"id": "x", ', never)),
    "events that stop": lambda never: Http(parts=(b'data: {"choices": []}\n\n', never)),
}

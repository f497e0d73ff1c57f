"""The collector as a whole: real senders before it, a real backend behind it, a real worker beside it."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from collector.collector_rig import Backend, Rig, backend, eventually, running
from collector.otlp_peers import encoded_request, sdk_spans
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcSpanExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from opentelemetry.sdk.trace.export import SpanExportResult

from ragtrace import semconv
from ragtrace.model import LogRecord, SpanRecord
from ragtrace.testing import make_interaction, make_trace
from ragtrace_collector import otlp
from ragtrace_collector.telemetry import Figure, unaccounted


def request_of(*spans: SpanRecord) -> bytes:
    return otlp.join(otlp.encode_span(span) for span in spans)


def rag(seed: str = "trace") -> bytes:
    """An encoded request with one whole interaction."""
    return request_of(*make_trace(seed=seed))


def entry(behind: Backend) -> Span:
    return next(span for span in behind.spans if span.name == "ask")


def attributes(span: Span) -> Mapping[str, Any]:
    found = {}
    for pair in span.attributes:
        kind = pair.value.WhichOneof("value")
        found[pair.key] = getattr(pair.value, kind) if kind else None
    return found


async def settled(rig: Rig) -> None:
    """Wait until nothing is held any more."""
    await eventually(lambda: not rig.collector.telemetry.value(Figure.HELD))


async def test_a_judged_interaction_arrives_once_with_its_scores(judges: Path) -> None:
    """All three spans arrive; the entry says how it was judged, with what probability, by whom."""
    async with backend() as behind, running(behind) as rig:
        assert await rig.post(rag()) == 200
        await behind.until(lambda b: len(b.spans) == 3)
        found = attributes(entry(behind))
        assert found["ragtrace.faithfulness"] == 1.0
        assert found["ragtrace.faithfulness.status"] == "scored"
        assert found["ragtrace.answer_relevancy.status"] != "scored"
        assert "ragtrace.answer_relevancy" not in found
        assert (found[semconv.SAMPLING_PROBABILITY], found[semconv.SAMPLING_RULE]) == (1.0, "share")
        assert (found[semconv.JUDGE_KIND], found[semconv.JUDGE_REVISION]) == ("test", "r1")
        retrieval = attributes(next(span for span in behind.spans if span.name == "retrieve"))
        assert [value.double_value for value in retrieval[semconv.RETRIEVAL_RELEVANCE].values] == [0.9]
        await settled(rig)
        assert unaccounted(rig.collector.telemetry) == 0


@pytest.mark.parametrize(
    ("diagnosis", "cause", "moved"),
    [({}, "unfaithful_answer", None), ({"faithfulness": 0.4}, "ok", ["faithfulness=0.4"])],
)
async def test_a_threshold_of_the_settings_decides_the_diagnosis(
    diagnosis: Mapping[str, float], cause: str, moved: list[str] | None
) -> None:
    """Half of the answer stands in the document: a failure by the default, none where half is enough."""
    spans = make_trace(
        make_interaction(
            question="How long do refunds take?",
            documents=["Refunds take 5 working days."],
            answer="Refunds take 5 working days. Gift cards never expire in Norway.",
        )
    )
    async with backend() as behind, running(behind, judge={"use": "embedded"}, diagnosis=diagnosis) as rig:
        assert await rig.post(request_of(*spans)) == 200
        await behind.until(lambda b: len(b.spans) == 3)
        found = attributes(entry(behind))
        assert (found["ragtrace.faithfulness"], found[semconv.DIAGNOSIS]) == (0.5, cause)
        written = found.get(semconv.DIAGNOSIS_THRESHOLDS)
        assert moved == (None if written is None else [value.string_value for value in written.values])
        (told,) = (await rig.ask(f"/traces/{spans[0].trace_id}"))[1]["interactions"]
        assert told["thresholds"] == diagnosis


async def test_enriched_spans_keep_every_original_byte(judges: Path) -> None:
    """What was received is the beginning of what is sent; the scores stand behind it."""
    body = rag()
    originals = {raw.span_id: raw for raw in otlp.split(body)}
    async with backend() as behind, running(behind) as rig:
        await rig.post(body)
        await behind.until(lambda b: len(b.spans) == 3)
    for sent in (raw for one in behind.bodies for raw in otlp.split(one)):
        original = originals[sent.span_id]
        assert sent.data.startswith(original.data)
        assert (sent.resource, sent.scope) == (original.resource, original.scope)
    assert (
        sum(raw.data != originals[raw.span_id].data for one in behind.bodies for raw in otlp.split(one)) == 2
    )


async def test_plain_spans_pass_bit_for_bit_and_at_once(judges: Path) -> None:
    """A request without RAG is confirmed when the backend has it, unchanged to the last byte."""
    body = encoded_request(50, text="x" * 100)
    async with backend() as behind, running(behind, assembly={"quiet": 60.0}) as rig:
        assert await rig.post(body) == 200
        assert behind.bodies == [body]
        assert rig.collector.telemetry.value(Figure.HELD) == 0


async def test_the_real_sdk_exporter_is_served(judges: Path) -> None:
    """The OpenTelemetry SDK's own exporter gets its success, and its spans arrive."""
    async with backend() as behind, running(behind) as rig:
        exporter = OTLPSpanExporter(endpoint=f"http://127.0.0.1:{rig.running.http}/v1/traces")
        result = await asyncio.to_thread(exporter.export, sdk_spans(5))
        assert result is SpanExportResult.SUCCESS
        await behind.until(lambda b: len(b.spans) == 5)


async def test_grpc_is_served_beside_http(judges: Path) -> None:
    """The SDK's gRPC exporter gets its success, and its spans arrive."""
    async with backend() as behind, running(behind, otlp={"grpc": "127.0.0.1:0"}) as rig:
        exporter = GrpcSpanExporter(endpoint=f"127.0.0.1:{rig.running.grpc}", insecure=True)
        try:
            result = await asyncio.to_thread(exporter.export, sdk_spans(5))
        finally:
            exporter.shutdown()
        assert result is SpanExportResult.SUCCESS
        await behind.until(lambda b: len(b.spans) == 5)


async def test_a_judge_that_cannot_be_reached_is_said_on_the_span(judges: Path) -> None:
    """Nothing slows down for long, nothing is a number, and the reason is one of the judge's."""
    judge = {"use": "openai", "model": "m", "base_url": "http://127.0.0.1:9/v1", "attempts": 1}
    async with backend() as behind, running(behind, judge=judge) as rig:
        await rig.post(rag())
        await behind.until(lambda b: len(b.spans) == 3)
        found = attributes(entry(behind))
        assert found["ragtrace.faithfulness.status"] == "judge_error"
        assert found["ragtrace.faithfulness.reason"]
        assert "ragtrace.faithfulness" not in found


async def test_an_unsampled_interaction_is_neither_held_nor_changed(judges: Path) -> None:
    """Decided at its first span: it leaves at once, byte for byte, and the admin endpoint knows why."""
    body = rag()
    async with backend() as behind, running(behind, sampling={"share": 0.0}, assembly={"quiet": 60.0}) as rig:
        await rig.post(body)
        await behind.until(lambda b: len(b.spans) == 3)
        assert otlp.split(behind.bodies[0]) == otlp.split(body)
        status, story = await rig.ask(f"/traces/{make_trace()[0].trace_id}")
        assert (status, story["state"], story["rag_spans"]) == (200, "forwarded", None)
        assert story["decision"] == {"verb": "forward", "probability": 1.0, "rule": "share"}


async def test_what_is_not_held_is_not_written_down_but_acknowledged_by_the_backend(
    judges: Path, tmp_path: Path
) -> None:
    """A request of RAG spans of which none is drawn is safe where a request of plain spans is."""
    async with backend() as behind:
        behind.gate = asyncio.Event()
        more = {"sampling": {"share": 0.0}, "spool": {"dir": str(tmp_path)}}
        async with running(behind, **more) as rig:
            posting = asyncio.create_task(rig.post(rag()))
            figures = rig.collector.telemetry
            await eventually(lambda: figures.value(Figure.HELD) == 3)
            assert (posting.done(), figures.value(Figure.SPOOL_BYTES)) == (False, 0.0)
            behind.gate.set()
            assert await posting == 200


async def test_a_rule_judges_what_the_share_passes_over(judges: Path) -> None:
    """With certainty, and the rule is named on the span."""
    rules = [{"use": "attribute", "name": "chain", "key": "ragtrace.kind", "equals": "interaction"}]
    async with backend() as behind, running(behind, sampling={"share": 0.0, "rules": rules}) as rig:
        await rig.post(rag())
        await behind.until(lambda b: len(b.spans) == 3)
        found = attributes(entry(behind))
        assert (found[semconv.SAMPLING_PROBABILITY], found[semconv.SAMPLING_RULE]) == (1.0, "chain")


async def test_the_screen_sees_what_the_judge_does_not(judges: Path) -> None:
    """Its scores stand under their own name; the judge's are absent, not 0."""
    sampling = {"share": 0.0, "screen": "embedded"}
    async with backend() as behind, running(behind, sampling=sampling) as rig:
        await rig.post(rag())
        await behind.until(lambda b: len(b.spans) == 3)
        found = attributes(entry(behind))
        assert found["ragtrace.screen.judge.kind"] == "embedded"
        assert found["ragtrace.screen.faithfulness.status"] == "scored"
        assert "ragtrace.faithfulness" not in found
        assert "ragtrace.faithfulness.status" not in found


async def test_a_judge_that_hangs_does_not_hold_the_spans(judges: Path) -> None:
    """They leave by the deadline, timed out; nothing is a number."""
    slow = {"judge": {"use": "own_judges:Hangs"}, "scoring": {"deadline": 0.2, "late": 0}}
    async with backend() as behind, running(behind, **slow) as rig:
        await rig.post(rag())
        await behind.until(lambda b: len(b.spans) == 3)
        found = attributes(entry(behind))
        assert found["ragtrace.faithfulness.status"] == "timed_out"
        assert "ragtrace.faithfulness" not in found
        assert found[semconv.DIAGNOSIS] == "undetermined"


async def test_stopping_does_not_wait_for_a_judge_that_hangs(judges: Path) -> None:
    """What is in judgement when the time to stop is over leaves without scores, and says why."""
    slow = {"judge": {"use": "own_judges:Hangs"}, "scoring": {"deadline": 600.0}}
    async with backend() as behind:
        async with running(behind, **slow) as rig:
            await rig.post(rag())
            await eventually(lambda: rig.collector.health()["judging"])
        found = attributes(entry(behind))
        assert len(behind.spans) == 3
        assert found["ragtrace.faithfulness.status"] == "judge_error"
        assert found["ragtrace.faithfulness.reason"] == "worker_down"


async def test_a_score_that_misses_the_deadline_follows_by_itself(judges: Path) -> None:
    """A span that links to the judged one, and log records with its ids."""
    slow = {"judge": {"use": "own_judges:Slow"}, "scoring": {"deadline": 0.2, "late": 10}}
    async with backend() as behind, running(behind, **slow) as rig:
        await rig.post(rag())
        await behind.until(lambda b: len(b.spans) == 4 and bool(b.log_records))
        late = next(span for span in behind.spans if span.name == "ragtrace evaluation")
        judged = entry(behind)
        assert attributes(judged)["ragtrace.faithfulness.status"] == "timed_out"
        assert attributes(late)["ragtrace.faithfulness"] == 1.0
        assert (late.trace_id, late.parent_span_id) == (judged.trace_id, judged.span_id)
        assert (late.links[0].trace_id, late.links[0].span_id) == (judged.trace_id, judged.span_id)
        record = behind.log_records[0]
        assert (record.event_name, record.span_id) == (semconv.GEN_AI_EVENT_EVALUATION, judged.span_id)
        await settled(rig)
        assert unaccounted(rig.collector.telemetry) == 0


async def test_a_killed_worker_costs_scores_and_no_spans(judges: Path) -> None:
    """The interaction in work leaves as an error of the judge; the next one is judged by the next worker."""
    async with backend() as behind, running(behind, judge={"use": "own_judges:Dies"}) as rig:
        await rig.post(rag())
        await behind.until(lambda b: len(b.spans) == 3)
        found = attributes(entry(behind))
        assert found["ragtrace.faithfulness.status"] == "judge_error"
        assert found["ragtrace.faithfulness.reason"] == "worker_lost"


async def test_late_spans_and_repeated_requests_are_forwarded_and_not_judged_again(judges: Path) -> None:
    """Once released, an interaction is decided: what comes of it later is sent on as it is."""
    counting = {"judge": {"use": "own_judges:Counts", "file": str(judges / "asked")}}
    async with backend() as behind, running(behind, **counting) as rig:
        await rig.post(rag())
        await behind.until(lambda b: len(b.spans) == 3)
        await rig.post(rag())
        await behind.until(lambda b: len(b.spans) == 6)
        await settled(rig)
    assert len((judges / "asked").read_text().splitlines()) == 1
    assert sum("ragtrace.faithfulness" in attributes(span) for span in behind.spans) == 1


async def test_log_records_are_forwarded_and_read_with_their_span(judges: Path) -> None:
    """The request arrives as it was sent."""
    body = otlp.encode_log(LogRecord("ab" * 16, "01" * 8, "gen_ai.choice", {"a": "b"}, time_ns=5))
    async with backend() as behind, running(behind) as rig:
        assert await rig.post(body, "/v1/logs") == 200
        await behind.until(lambda b: bool(b.log_bodies))
        assert behind.log_bodies == [body]


MAPPING = {
    "interaction": {"name": "POST /ask", "question": "app.request/q", "answer": "app.reply"},
    "retrieval": {
        "name": "search",
        "query": "app.query",
        "documents": "app.hits",
        "text": "body",
        "id": "key",
    },
}


def mapped_request() -> bytes:
    """An interaction in an app's own words, beside a span of another kind that has one of its attributes."""
    hits = '[{"key": "d1", "body": "Refunds take three days."}]'
    ask = {"app.request": '{"q": "How long do refunds take?"}', "app.reply": "Three days."}
    root = SpanRecord("ab" * 16, "01" * 8, None, "POST /ask", attributes=ask, end_ns=9)
    found = {"app.query": "refunds", "app.hits": hits}
    search = SpanRecord("ab" * 16, "02" * 8, "01" * 8, "search", attributes=found, start_ns=1, end_ns=5)
    other = SpanRecord("cd" * 16, "03" * 8, None, "cache", attributes={"app.query": "x"}, end_ns=9)
    return request_of(search, root, other)


async def test_spans_of_an_apps_own_naming_are_judged_by_its_mapping(judges: Path) -> None:
    """Held, read and scored by the attribute paths of the settings; without them they pass as plain spans."""
    async with backend() as behind, running(behind, mapping=MAPPING) as rig:
        assert await rig.post(mapped_request()) == 200
        await behind.until(lambda b: len(b.spans) == 3)
        found = {span.name: attributes(span) for span in behind.spans}
        assert found["POST /ask"]["ragtrace.faithfulness"] == 1.0
        assert found["POST /ask"]["ragtrace.dialect"] == "mapping"
        assert [v.double_value for v in found["search"][semconv.RETRIEVAL_RELEVANCE].values] == [0.9]
        assert not any(key.startswith("ragtrace.") for key in found["cache"])
        await settled(rig)
    async with backend() as behind, running(behind) as rig:
        await rig.post(mapped_request())
        await behind.until(lambda b: len(b.spans) == 3)
        assert not any(key.startswith("ragtrace.") for span in behind.spans for key in attributes(span))


async def test_content_under_mapped_names_is_redacted_at_intake(judges: Path) -> None:
    """What a mapping names holds texts of users, whatever its attributes are called."""
    ask = {"app.request": '{"q": "Write to ada@example.org"}', "app.reply": "ada@example.org has it."}
    root = SpanRecord("ab" * 16, "01" * 8, None, "POST /ask", attributes=ask, end_ns=9)
    redaction = {"intake": True, "key": "k"}
    async with backend() as behind, running(behind, mapping=MAPPING, redaction=redaction) as rig:
        await rig.post(request_of(root))
        await behind.until(lambda b: len(b.spans) == 1)
    assert b"ada@example.org" not in b"".join(behind.bodies)


def lone_steps(session: str | None = None) -> tuple[SpanRecord, SpanRecord]:
    """The retrieval and the model call of one interaction, each the only span of a trace."""
    _, retrieval, call = make_trace(seed="steps")
    prompt = next(v for k, v in retrieval.attributes.items() if k.endswith("document.content"))
    named = {} if session is None else {semconv.SESSION_ID: session}
    shown = {
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": prompt,
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.content": "Refunds take three days.",
    }
    return (
        replace(retrieval, parent_id=None, attributes={**retrieval.attributes, **named}),
        replace(
            call,
            parent_id=None,
            trace_id="ef" * 16,
            attributes={**call.attributes, **shown, **named},
            start_ns=retrieval.end_ns + 1,
            end_ns=retrieval.end_ns + 2,
        ),
    )


@pytest.mark.parametrize(("by", "session"), [("calls", None), ("sessions", "s-1")])
async def test_steps_in_traces_of_their_own_are_judged_as_one(
    judges: Path, by: str, session: str | None
) -> None:
    """The scores stand on the model call, both traces tell of it; each span leaves once, in its own trace."""
    retrieval, call = lone_steps(session)
    async with backend() as behind, running(behind, stitch={"by": by, "wait": 0.5}) as rig:
        await rig.post(request_of(retrieval))
        await rig.post(request_of(call))
        await behind.until(lambda b: len(b.spans) == 2)
        found = {span.trace_id.hex(): attributes(span) for span in behind.spans}
        assert found[call.trace_id]["ragtrace.faithfulness"] == 1.0
        assert semconv.RETRIEVAL_RELEVANCE in found[retrieval.trace_id]
        for trace_id in found:
            _, story = await rig.ask(f"/traces/{trace_id}")
            (told,) = story["interactions"]
            assert (told["release_reason"], told["fields"]["answer"]) == ("stitched", True)
        await settled(rig)
        assert unaccounted(rig.collector.telemetry) == 0


async def test_stopping_lets_go_of_what_waits_for_its_other_half(judges: Path) -> None:
    """A collector that stops sends what it was still going to put together."""
    retrieval, call = lone_steps()
    async with backend() as behind:
        async with running(behind, stitch={"by": "calls", "wait": 60}) as rig:
            await rig.post(request_of(retrieval, call))
            await eventually(lambda: rig.collector.telemetry.value(Figure.HELD) == 2)
        found = {span.trace_id.hex(): attributes(span) for span in behind.spans}
    assert found[call.trace_id]["ragtrace.faithfulness"] == 1.0


async def test_spans_of_a_judge_that_something_traced_go_nowhere(judges: Path) -> None:
    """They are refused by their scope and counted; what came with them arrives."""
    own = SpanRecord("cd" * 16, "09" * 8, None, "chat", scope=semconv.JUDGE_SCOPE)
    async with backend() as behind, running(behind) as rig:
        await rig.post(request_of(own, *make_trace()))
        await behind.until(lambda b: len(b.spans) == 3)
        await settled(rig)
        assert "chat" not in {span.name for span in behind.spans}
        assert rig.collector.telemetry.value(Figure.DROPPED, reason="judge_scope") == 1
        assert unaccounted(rig.collector.telemetry) == 0


async def test_a_request_that_is_no_otlp_is_refused_and_counted(judges: Path) -> None:
    """It leaves no trace in the books."""
    async with backend() as behind, running(behind, spool=str(judges / "spool")) as rig:
        assert await rig.post(b"\xff\xff not otlp") == 400
        assert rig.collector.telemetry.value(Figure.SPOOL_BYTES) == 0
        assert unaccounted(rig.collector.telemetry) == 0


async def test_without_a_spool_full_memory_refuses(judges: Path) -> None:
    """The sender is told to come again; what was taken before is not lost."""
    more = {"max_bytes": 4_000, "assembly": {"quiet": 0.5}}
    async with backend() as behind, running(behind, **more) as rig:
        answers = [await rig.post(rag(f"trace {number}")) for number in range(10)]
        assert {200, 429} == set(answers)
        await behind.until(lambda b: len(b.spans) == 3 * answers.count(200))
        await settled(rig)
        assert rig.collector.telemetry.value(Figure.REFUSED, reason="memory") == 3 * answers.count(429)
        assert unaccounted(rig.collector.telemetry) == 0


async def test_a_restart_delivers_what_the_backend_did_not_take_and_judges_nothing_twice(
    judges: Path,
) -> None:
    """Acknowledged is delivered: after an outage and a restart each span arrives, scored by the first run."""
    more = {
        "spool": str(judges / "spool"),
        "judge": {"use": "own_judges:Counts", "file": str(judges / "asked")},
    }
    async with backend(status=503) as behind:
        async with running(behind, **more) as rig:
            assert await rig.post(rag()) == 200
            assert await rig.post(encoded_request(5)) == 200
            await eventually(lambda: rig.collector.telemetry.value(Figure.INTERACTIONS))
        behind.status = 200
        async with running(behind, **more) as rig:
            await behind.until(lambda b: len(b.spans) == 8)
            await settled(rig)
            assert unaccounted(rig.collector.telemetry) == 0
            assert attributes(entry(behind))["ragtrace.faithfulness"] == 1.0
        async with running(behind, **more) as rig:
            assert rig.collector.telemetry.value(Figure.REPLAYED) == 0
    assert len((judges / "asked").read_text().splitlines()) == 1


async def test_an_outage_longer_than_memory_waits_on_disk(judges: Path) -> None:
    """What does not fit into memory is acknowledged on disk, and delivered when the backend is back."""
    more = {"spool": str(judges / "spool"), "max_bytes": 20_000, "sampling": {"share": 0.0}}
    async with backend(status=503) as behind, running(behind, **more) as rig:
        for number in range(40):
            assert await rig.post(rag(f"trace {number}")) == 200
        assert rig.collector.telemetry.value(Figure.HELD_BYTES) <= 20_000
        assert rig.collector.telemetry.value(Figure.SPOOLED) > 0
        behind.status = 200
        await behind.until(lambda b: len({(s.trace_id, s.span_id) for s in b.spans}) == 120)
        await settled(rig)
        assert unaccounted(rig.collector.telemetry) == 0


async def test_a_destination_that_is_away_does_not_hold_up_the_others(judges: Path) -> None:
    """What it misses waits on disk for it alone, over a restart too; the other has each span once, at once."""
    async with backend() as good, backend(status=503) as away:
        urls = [f"http://127.0.0.1:{one.port}" for one in (good, away)]
        more = {"spool": str(judges / "spool"), "export": urls, "max_bytes": 20_000}
        async with running(good, **more) as rig:
            for number in range(40):
                assert await rig.post(rag(f"trace {number}")) == 200
            await good.until(lambda b: len(b.spans) >= 120)
            await eventually(lambda: rig.collector.telemetry.value(Figure.SHELVED) > 60)
            shelved = rig.collector.telemetry.value(Figure.SHELVED)
        assert away.spans == []
        async with running(good, **more) as rig:
            away.status = 200
            await away.until(lambda b: len(keys_of(b)) == 120)
            await settled(rig)
            assert unaccounted(rig.collector.telemetry) == 0
    assert len(keys_of(good)) == 120
    # Only what was on its way to the one that is away before that was noticed is not known to be safe.
    assert len(good.spans) - 120 <= 120 - shelved


def keys_of(behind: Backend) -> set[tuple[bytes, bytes]]:
    return {(span.trace_id, span.span_id) for span in behind.spans}


async def test_the_admin_endpoint_tells_what_became_of_a_trace(judges: Path) -> None:
    """Seen, complete after, fields, sampling, outcomes: all but the texts."""
    async with backend() as behind, running(behind) as rig:
        await rig.post(rag())
        await behind.until(lambda b: len(b.spans) == 3)
        status, story = await rig.ask(f"/traces/{make_trace()[0].trace_id}")
        (told,) = story["interactions"]
        assert (status, story["seen"], story["rag_spans"]) == (200, True, 3)
        assert told["release_reason"] == "entry"
        assert told["fields"] == {"question": True, "documents": True, "answer": True}
        assert told["outcomes"]["faithfulness"] == {"status": "scored", "value": 1.0}
        assert "refunds" not in str(story).lower()
        assert (await rig.ask("/traces/" + "0" * 32))[0] == 404
        assert (await rig.ask("/traces/short"))[0] == 400
        assert (await rig.ask("/health"))[0] == 200
        assert "ragtrace_collector_received_spans_total 3.0" in (await rig.ask("/metrics"))[1]


async def test_a_worker_that_was_killed_from_outside_is_replaced(judges: Path) -> None:
    """Health goes down and comes back; the next interaction is judged."""
    async with backend() as behind, running(behind) as rig:
        worker = (await rig.ask("/health"))[1]["worker"]
        os.kill(worker, signal.SIGKILL)
        await eventually(lambda: rig.collector.telemetry.value(Figure.WORKER_RESTARTS))
        await eventually(lambda: rig.collector.health()["worker"])
        await rig.post(rag("after"))
        await behind.until(lambda b: len(b.spans) == 3)
        assert rig.collector.telemetry.value(Figure.WORKER_RESTARTS) == 1

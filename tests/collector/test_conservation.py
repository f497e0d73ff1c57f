"""Every span that came in is in exactly one book, at every moment: the law that the metrics page shows."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from collector.collector_rig import Rig, backend, eventually, running
from collector.otlp_peers import encoded_request

from ragtrace.testing import make_trace
from ragtrace_collector import otlp
from ragtrace_collector.assembler import Assembler, AssemblerOptions
from ragtrace_collector.exporters import Exporters
from ragtrace_collector.flow import Flow
from ragtrace_collector.outgoing import Outgoing
from ragtrace_collector.parts import FlowOptions, Parts
from ragtrace_collector.sampler import Sampler
from ragtrace_collector.settlement import Note
from ragtrace_collector.stages import SpanBatch
from ragtrace_collector.stories import Stories
from ragtrace_collector.telemetry import PREFIX, Figure, Telemetry, unaccounted

LAW = (
    {"received_spans_total", "replayed_spans_total", "made_spans_total"},
    {"forwarded_spans_total", "held_spans", "spooled_spans", "refused_spans_total", "dropped_spans_total"},
)


def rag(seed: str) -> bytes:
    return otlp.join(otlp.encode_span(span) for span in make_trace(seed=seed))


async def metrics(rig: Rig) -> dict[str, float]:
    """The metrics page, as a scraper reads it, summed over labels."""
    status, page = await rig.ask("/metrics")
    assert status == 200
    found: dict[str, float] = {}
    for line in page.splitlines():
        if not line.startswith("#"):
            name, _, value = line.rpartition(" ")
            short = name.partition("{")[0].removeprefix(PREFIX)
            found[short] = found.get(short, 0.0) + float(value)
    return found


def law(figures: dict[str, float]) -> float:
    came, went = (sum(figures.get(name, 0.0) for name in side) for side in LAW)
    return came - went


async def looked_at_until(rig: Rig, work: asyncio.Future[object]) -> list[dict[str, float]]:
    """The metrics page again and again until ``work`` is done, and once more."""
    pages = []
    while not work.done():
        pages.append(await metrics(rig))
    return [*pages, await metrics(rig)]


async def traffic(rig: Rig) -> list[int]:
    """Plain, judged, repeated and broken requests at once → how they were answered."""
    bodies = [encoded_request(40, first_id=1 + 40 * n) for n in range(8)]
    bodies += [rag(f"{n % 6}") for n in range(12)]
    bodies += [b"\x0a\xff", encoded_request(3)[:-2]]
    return await asyncio.gather(*(rig.post(body) for body in bodies))


@pytest.mark.parametrize("spooled", [False, True])
async def test_the_metrics_page_shows_nothing_unaccounted_at_any_moment(
    judges: Path, tmp_path: Path, spooled: bool
) -> None:
    """While spans are held, judged, spooled, sent, refused and dropped: the gauge is 0, and the books say so."""
    spool = str(tmp_path / "spool") if spooled else "off"
    async with backend() as behind, running(behind, spool=spool, max_bytes=60_000) as rig:
        sent = asyncio.ensure_future(traffic(rig))
        pages = await looked_at_until(rig, sent)
        await eventually(lambda: not rig.collector.telemetry.value(Figure.HELD))
        behind.status = 409  # from now on nothing is taken
        pages += await looked_at_until(rig, asyncio.ensure_future(rig.post(encoded_request(5))))
        pages.append(await metrics(rig))
        assert (await sent).count(400) == 2
        _, health = await rig.ask("/health")
    assert [page["unaccounted_spans"] for page in pages] == [0.0] * len(pages)
    assert [law(page) for page in pages] == [0.0] * len(pages)
    assert health["unaccounted_spans"] == 0
    assert pages[-1]["dropped_spans_total"] == 5
    assert pages[-1]["received_spans_total"] == 8 * 40 + 12 * 3 + 5


async def test_a_span_that_goes_missing_shows_on_the_metrics_page(judges: Path) -> None:
    """The gauge is computed from the books: it is no constant."""
    async with backend() as behind, running(behind) as rig:
        rig.collector.telemetry.count(Figure.RECEIVED, 3)
        assert (await metrics(rig))["unaccounted_spans"] == 3


class StuckStore:
    """A disk that does not come back from a write."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()

    async def put(self, item: SpanBatch) -> int:
        self.asked.set()
        await asyncio.Event().wait()
        return 0

    async def get(self, number: int) -> SpanBatch | None: ...

    async def remove(self, numbers: object) -> None: ...

    async def note(self, notes: list[tuple[int, Note]]) -> None: ...


async def test_a_sender_that_hangs_up_while_its_request_is_written_leaves_no_gap() -> None:
    """Its spans count as held until then, and as refused from then on: it was told nothing, and has them still."""
    telemetry, exporters, store = Telemetry(), Exporters([]), StuckStore()
    parts = Parts(
        Assembler(AssemblerOptions()),
        Sampler(1.0),
        exporters,
        Outgoing(exporters, store, telemetry),
        telemetry,
        Stories(),
        store=store,
    )
    taking = asyncio.create_task(Flow(parts, FlowOptions()).consume(SpanBatch(rag("one"))))
    await store.asked.wait()
    assert (telemetry.value(Figure.HELD), unaccounted(telemetry)) == (3, 0)
    taking.cancel()
    await asyncio.gather(taking, return_exceptions=True)
    assert telemetry.value(Figure.REFUSED, reason="not_written") == 3
    assert (telemetry.value(Figure.HELD), unaccounted(telemetry)) == (0, 0)

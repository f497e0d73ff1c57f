"""What a restart still has to send of a request of which some spans are settled."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from collector.otlp_peers import encoded_request
from hypothesis import given
from hypothesis import strategies as st

from ragtrace_collector import otlp
from ragtrace_collector.custody import Custody
from ragtrace_collector.settlement import Note, from_bytes, key_of, left_of, to_bytes
from ragtrace_collector.spool import Spool
from ragtrace_collector.stages import SpanBatch

ids = st.binary(max_size=16)


@given(st.lists(st.tuples(ids, ids)))
def test_keys_survive_the_disk(keys: list[tuple[bytes, bytes]]) -> None:
    """Ids of any length, as senders may make them."""
    assert from_bytes(to_bytes(keys)) == tuple(keys)


@given(st.data())
def test_what_is_left_is_what_was_not_settled(data: st.DataObject) -> None:
    """In whatever order the parts of a request leave, and where it holds a span twice."""
    spans = otlp.split(encoded_request(6)) + otlp.split(encoded_request(2))
    held = data.draw(st.sets(st.sampled_from(range(8)), min_size=1))
    mine = [span for place, span in enumerate(spans) if place in held]
    others = [span for place, span in enumerate(spans) if place not in held]
    rest = SpanBatch(otlp.join(others), count=len(others)) if others else None
    custody, notes = Custody(), list[Note]()
    request = custody.take(mine, 1, rest)
    expected = Counter(map(key_of, spans))
    if rest is not None:
        notes += [note for _, note in custody.settle_rest(request, rest).notes]
        expected -= Counter(map(key_of, others))
    for part in (mine[:2], mine[2:3]):
        settled = custody.settle(part)
        notes += [note for _, note in settled.notes]
        expected -= Counter(map(key_of, part))
        if settled.finished:
            assert not expected
            return
    assert Counter(map(key_of, left_of(spans, notes))) == expected


async def test_a_restart_gives_back_what_is_not_settled(tmp_path: Path) -> None:
    """The spans that left beside a held one are not sent again, and are in no figure."""
    body = encoded_request(5)
    spans = otlp.split(body)
    spool = Spool(tmp_path)
    await spool.open()
    number = await spool.put(SpanBatch(body))
    await spool.note([(number, Note(True, (key_of(spans[1]), key_of(spans[3]))))])
    await spool.note([(number, Note(False, (key_of(spans[3]),)))])
    await spool.close()
    again = Spool(tmp_path)
    await again.open()
    assert again.pending() == [(number, 1)]
    found = await again.get(number)
    assert found is not None
    assert otlp.split(found.body) == [spans[1]]
    await again.remove([number])
    await again.close()


async def test_a_number_that_comes_again_has_no_notes(tmp_path: Path) -> None:
    """After the last request is gone numbers begin anew: what was noted then must not hide new spans."""
    spool = Spool(tmp_path)
    await spool.open()
    number = await spool.put(SpanBatch(encoded_request(2)))
    await spool.note([(number, Note(True, ()))])
    await spool.remove([number])
    await spool.note([(number, Note(True, ()))])
    await spool.close()
    again = Spool(tmp_path)
    await again.open()
    same = await again.put(SpanBatch(body := encoded_request(3)))
    found = await again.get(same)
    assert (same, found and found.body) == (number, body)
    await again.close()

"""What a cascade decides without its model, how often rightly, and the tokens that it saves.

    python bench/cascade.py LABELS.jsonl… [--precision 0.85] [--tokens-of 60]

LABELS are files as ``ragtrace agree`` reads them. No model is needed: what is not clear is left open, and the
tokens are counted by a fake endpoint in a process of its own that answers as an honest model would (as in
``bench/judge_cost.py``: characters / 4, schema included). They are counted on so many rows of each file,
spread over it, in three uses: each claim alone, as ``ragtrace agree`` asks; up to six claims that share their
documents as one answer, for faithfulness alone; the same answers for all metrics, as live traffic is judged.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path

from judge_cost import Cost, serve
from rich.console import Console

from ragtrace.agreement import report
from ragtrace.judged_rows import JudgedRow, judge_row
from ragtrace.judges.base import Judge, JudgeReply, JudgeRequest, Want
from ragtrace.judges.cascade import CascadeJudge
from ragtrace.judges.chat import ChatJudge, ChatOptions
from ragtrace.labelled import LabelledRow, read_rows
from ragtrace.model import Unit
from ragtrace_collector.views.agreement import decided_table

CLAIMS = 6
"""Of one answer, at most."""
VERDICTS = frozenset({Want.VERDICTS})
ALL = frozenset({Want.VERDICTS, Want.RELEVANCE, Want.NEEDS, Want.QUESTIONS})
QUESTION = "What is known of this?"


class Absent:
    """A model that says nothing."""

    kind, revision, model = "openai", "absent", None

    async def judge(self, request: JudgeRequest) -> JudgeReply:
        return JudgeReply()

    async def aclose(self) -> None:
        pass


async def decisions(rows: Iterable[LabelledRow], precision: float) -> list[JudgedRow]:
    """The rows as the cascade leaves them."""
    judge = CascadeJudge(Absent(), precision)
    return [await judge_row(judge, row) for row in rows]


def spread(rows: Sequence[LabelledRow], n: int) -> list[LabelledRow]:
    """``n`` of the rows, from all over them."""
    return [rows[place * len(rows) // n] for place in range(min(n, len(rows)))]


def alone(rows: Iterable[LabelledRow]) -> Iterator[JudgeRequest]:
    """A request for each claim."""
    for row in rows:
        yield answer_of([row], VERDICTS)


def answers(rows: Sequence[LabelledRow], n: int) -> Iterator[JudgeRequest]:
    """Answers whose claims share their documents, until about ``n`` claims are taken."""
    shared: dict[tuple[str | None, ...], list[LabelledRow]] = defaultdict(list)
    for row in rows:
        shared[tuple(document.text for document in row.interaction.documents or ())].append(row)
    groups = [found[i : i + CLAIMS] for found in shared.values() for i in range(0, len(found), CLAIMS)]
    each = sum(map(len, groups)) / max(1, len(groups))
    wanted = max(1, round(n / each)) if groups else 0
    for place in range(min(wanted, len(groups))):
        yield answer_of(groups[place * len(groups) // wanted], VERDICTS)


def answer_of(rows: Sequence[LabelledRow], wants: frozenset[Want]) -> JudgeRequest:
    """One answer of the claims of ``rows``, over the documents of the first."""
    claims = [row.claim or row.interaction.answer or "" for row in rows]
    units, start = [], 0
    for index, claim in enumerate(claims, start=1):
        units.append(Unit(index, claim, start, start + len(claim)))
        start += len(claim) + 1
    asked = rows[0].interaction.question or QUESTION
    interaction = replace(rows[0].interaction, question=asked, answer=" ".join(claims))
    return JudgeRequest(interaction, tuple(units), wants, rows[0].language)


async def cost(judge: Judge, requests: Sequence[JudgeRequest], pipe: Connection) -> Cost:
    """What the endpoint counted for ``requests``."""
    for request in requests:
        await judge.judge(request)
    pipe.send(True)
    return Cost(*pipe.recv())


async def costs(url: str, sets: Sequence[Sequence[LabelledRow]], n: int, precision: float, pipe: Connection):
    """Print calls and tokens of the model alone and behind the cascade, in both uses."""
    whole = [request for rows in sets for request in answers(rows, n)]
    asked = {
        "each claim alone": [request for rows in sets for request in alone(spread(rows, n))],
        "faithfulness alone": whole,
        "all metrics": [replace(request, wants=ALL) for request in whole],
    }
    model = ChatJudge(ChatOptions(model="fake", base_url=url, cache_entries=0))
    cascade = CascadeJudge(model, precision)
    print(f"{'':20}{'':10}{'requests':>9}{'calls':>7}{'input':>11}{'output':>10}")
    for name, requests in asked.items():
        without, behind = [await cost(judge, requests, pipe) for judge in (model, cascade)]
        for kind, one in (("openai", without), ("cascade", behind)):
            counted = f"{len(requests):9,}{one.calls:7,}{one.input_tokens:11,}{one.output_tokens:10,}"
            print(f"{name:20}{kind:10}{counted}")
        saved = [
            f"{name} {1 - after / before:.1%}"
            for name, before, after in (
                ("calls", without.calls, behind.calls),
                ("input", without.input_tokens, behind.input_tokens),
                ("output", without.output_tokens, behind.output_tokens),
            )
        ]
        print(f"{'':20}{'saved':10} {', '.join(saved)}")
    await model.aclose()


@contextmanager
def endpoint() -> Iterator[tuple[str, Connection]]:
    """The counting endpoint: its URL, and the pipe that asks what it counted."""
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(theirs,), daemon=True)
    server.start()
    try:
        yield ours.recv(), ours
    finally:
        ours.send(False)
        server.join(5)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--precision", type=float, default=0.85)
    parser.add_argument("--tokens-of", type=int, default=60, metavar="ROWS")
    arguments = parser.parse_args()
    sets = [
        [row for row in read_rows(path, "support", ("source", "lang")) if row is not None]
        for path in arguments.files
    ]
    judged = asyncio.run(decisions((row for rows in sets for row in rows), arguments.precision))
    Console().print(decided_table(report(judged)))
    with endpoint() as (url, pipe):
        asyncio.run(costs(url, sets, arguments.tokens_of, arguments.precision, pipe))


if __name__ == "__main__":
    main()

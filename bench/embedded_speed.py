"""How fast and how large the embedded judge is, on one core, without and with the embedder.

An interaction is five documents of 200 tokens (English: words; Chinese: 300 characters), an answer of six
cited claims, copied, reworded or with another number, and a question. What is timed is all of
``Evaluator.evaluate``: citations, units, verdicts, metrics, diagnosis. Every measurement is the CPU time of a
process of its own, no document comes twice unless the line says so, and what is printed is the best of
several batches: the others measure what else the machine does. Texts are generated, or cut from files of
yours, one text a line. The embedded judge wants no cosine for live traffic: with the embedder, question,
answer and documents are embedded beside it.

    python bench/embedded_speed.py [--en FILE.txt] [--zh FILE.txt] [--interactions 100]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from embedded_sample import LANGUAGES, traffic

from ragtrace.evaluation import Evaluator
from ragtrace.judges.embedded import EmbeddedJudge
from ragtrace.model import Interaction
from ragtrace.testing import make_interaction
from ragtrace_collector.garbage import collect_seldom

if TYPE_CHECKING:
    from ragtrace.embedders.embedded import EmbeddedEmbedder

BATCH = 20
AT_LEAST = {"judge": 150, "warm": 60}
"""Interactions a second, without embedder and with one that knows the texts."""
MEBIBYTES = {"judge": 80, "warm": 250}
FIRST_SCORE = 0.6
"""Seconds from the start of the process, without embedder."""

# --- in a process of its own -------------------------------------------------------------------------------


def measure(mode: str, language: str, file: str, count: int) -> dict[str, float]:
    """CPU milliseconds an interaction in the best and the median batch, and the resident memory in MiB.

    ``mode``: ``judge`` alone, ``again`` with documents that it has read before, with an embedder that is
    ``cold`` (every text is new to it) or ``warm``; each as in the collector's worker, except ``hosted``:
    alone in a process whose garbage collection is Python's default.
    """
    embedder = embedder_for(mode)
    given = [
        make_interaction(row["question"], row["documents"], row["answer"])
        for row in traffic(language, file, count + BATCH)
    ]
    evaluator = Evaluator(EmbeddedJudge(), embedder)
    run(evaluator, given[count:], embedder)
    if mode != "hosted":
        collect_seldom()
    spent = []
    for first in range(0, BATCH if mode == "cold" else count, BATCH):  # an embedding takes its time
        batch = given[first : first + BATCH]
        if mode in {"again", "warm"}:
            run(evaluator, batch, embedder)
        spent.append(run(evaluator, batch, embedder))
    spent.sort()
    return {"best": spent[0], "median": spent[len(spent) // 2], "memory": resident()}


def embedder_for(mode: str) -> EmbeddedEmbedder | None:
    """An embedder where ``mode`` wants one; without, not even its module is loaded."""
    if mode not in {"cold", "warm"}:
        return None
    from ragtrace.embedders.embedded import EmbeddedEmbedder

    return EmbeddedEmbedder()


def run(evaluator: Evaluator, given: Sequence[Interaction], embedder: EmbeddedEmbedder | None) -> float:
    """Evaluate in turn, and embed all texts where there is an embedder → CPU milliseconds an interaction, of
    all threads."""

    async def one_by_one() -> None:
        for one in given:
            await evaluator.evaluate(one)
            if embedder is not None:
                documents = (document.text or "" for document in one.documents or ())
                await embedder.embed([one.question or "", one.answer or "", *documents])

    begun = time.process_time()
    asyncio.run(one_by_one())
    return (time.process_time() - begun) * 1000 / len(given)


def resident() -> float:
    """Resident memory of this process. In MiB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


FIRST = """
import asyncio
from ragtrace.evaluation import Evaluator
from ragtrace.judges.embedded import EmbeddedJudge
from ragtrace.testing import make_interaction
one = make_interaction("When is it due?", ["The fee is due within 30 days."], "It is due within 30 days [1].")
print(asyncio.run(Evaluator(EmbeddedJudge()).evaluate(one)).outcomes["faithfulness"])
import time
print(time.process_time())
"""


# --- the report --------------------------------------------------------------------------------------------


def child(*arguments: object) -> dict[str, float]:
    """What :func:`measure` gives in a new process, which uses one core."""
    limits = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    command = [sys.executable, __file__, "--child", *map(str, arguments)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ, **limits})
    found: dict[str, float] = json.loads(done.stdout)
    return found


def first_score(times: int = 3) -> tuple[float, float]:
    """Least seconds (by the clock, of CPU) from the start of a process to its first score."""
    took = []
    for _ in range(times):
        begun = time.monotonic()
        done = subprocess.run([sys.executable, "-c", FIRST], check=True, capture_output=True, text=True)
        took.append((time.monotonic() - begun, float(done.stdout.split()[-1])))
    return min(clock for clock, _ in took), min(cpu for _, cpu in took)


MODES = {
    "judge": "judge alone, every document new",
    "hosted": "the same in a host's process",
    "again": "judge alone, documents seen before",
    "cold": "with the embedder, every text new",
    "warm": "with the embedder, its cache warm",
}


def report(files: dict[str, str], count: int) -> bool:
    """Print the table; whether all bounds hold."""
    good = True
    print(f"one core, load {os.getloadavg()[0]:.1f}; best batch (median) of {BATCH} interactions\n")
    print(f"{'':38}{'ms CPU':>14}{'per s':>8}{'MiB':>7}")
    for language in LANGUAGES:
        for mode, name in MODES.items():
            found = child(mode, language, files[language], count)
            rate = 1000 / found["best"]
            over = rate < AT_LEAST.get(mode, 0) or found["memory"] > MEBIBYTES.get(mode, 1e9)
            spent = f"{found['best']:.2f} ({found['median']:.2f})"
            bound = f"   MISSES {AT_LEAST.get(mode, 0)}/s or {MEBIBYTES.get(mode)} MiB" if over else ""
            print(f"{language}  {name:34}{spent:>14}{rate:8.0f}{found['memory']:7.0f}{bound}", flush=True)
            good = good and not over
    clock, cpu = first_score()
    print(f"\nfirst score after {clock:.2f} s, {cpu:.2f} s of CPU (at most {FIRST_SCORE})")
    return good and cpu <= FIRST_SCORE


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--en", default="", metavar="FILE", help="English texts, one a line")
    parser.add_argument("--zh", default="", metavar="FILE", help="Chinese texts, one a line")
    parser.add_argument("--interactions", type=int, default=100)
    parser.add_argument("--child", nargs=4, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        mode, language, file, count = arguments.child
        print(json.dumps(measure(mode, language, file, int(count))))
        return 0
    return 0 if report({"en": arguments.en, "zh": arguments.zh}, arguments.interactions) else 1


if __name__ == "__main__":
    sys.exit(main())

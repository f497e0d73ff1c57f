"""What judging one interaction costs: calls, tokens, and our own CPU time.

The sample is five documents of 200 words, an answer of six claims and a reference of four. The endpoint is a
fake in a process of its own that answers as an honest model would and counts what it is sent: input tokens
are characters / 4 of all messages and of the JSON Schema, output tokens characters / 4 of the reply. CPU is
this process's over many different interactions, the cache off; the model's time is the fake's, not in it.

    python bench/judge_cost.py [--sample FILE.jsonl] [--interactions 200]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import sys
import threading
import time
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from judge_sample import from_file, only_wanted, sample
from servers.openai_chat import Chat, FakeOpenAI, Seen, good_reply

from ragtrace.evaluation import Evaluator
from ragtrace.judges.chat import ChatJudge, ChatOptions
from ragtrace.model import Interaction, Status
from ragtrace.testing import ScriptedEmbedder

LIVE, WITH_REFERENCE = (2, 3_000, 700), (3, 5_000, 1_100)
"""Most calls, input tokens and output tokens of one interaction."""
CPU_MILLISECONDS = 12.0


@dataclass(frozen=True)
class Cost:
    """What the endpoint counted."""

    calls: int
    input_tokens: int
    output_tokens: int


def serve(pipe: Connection) -> None:
    """Run the fake; answer each message on ``pipe`` with what was counted since the last one."""
    lock, counted = threading.Lock(), [0, 0, 0]

    def script(seen: Seen) -> Chat:
        wanted = seen.body.get("response_format", {}).get("json_schema", {}).get("schema", {})
        sent = [*(message["content"] for message in seen.body["messages"]), json.dumps(wanted)]
        reply = json.dumps(only_wanted(good_reply(seen), wanted), ensure_ascii=False, separators=(",", ":"))
        spent = sum(len(part) // 4 + 1 for part in sent), len(reply) // 4 + 1
        with lock:
            counted[0] += 1
            counted[1] += spent[0]
            counted[2] += spent[1]
        return Chat(reply, usage=spent)

    with FakeOpenAI(script).running() as server:
        pipe.send(server.url)
        while pipe.recv():
            with lock:
                pipe.send(tuple(counted))
                counted[:] = 0, 0, 0
            server.requests.clear()


async def cost_of(judge: ChatJudge, interaction: Interaction, pipe: Connection) -> tuple[Cost, str]:
    """What one evaluation costs, and how its metrics ended."""
    evaluation = await Evaluator(judge, ScriptedEmbedder()).evaluate(interaction)
    pipe.send(True)
    scored = sum(outcome.status is Status.SCORED for outcome in evaluation.outcomes.values())
    failed = [name for name, outcome in evaluation.outcomes.items() if outcome.status is Status.JUDGE_ERROR]
    ended = f"{scored} scored, {len(evaluation.outcomes) - scored - len(failed)} not applicable"
    return Cost(*pipe.recv()), ended + (f", FAILED: {', '.join(failed)}" if failed else "")


async def cpu_of(judge: ChatJudge, interactions: list[Interaction], warm_up: int) -> float:
    """CPU milliseconds of this process an interaction."""
    evaluator = Evaluator(judge, ScriptedEmbedder(), concurrency=4)
    await asyncio.gather(*map(evaluator.evaluate, interactions[:warm_up]))
    begun = time.process_time()
    await asyncio.gather(*map(evaluator.evaluate, interactions[warm_up:]))
    return (time.process_time() - begun) * 1000 / (len(interactions) - warm_up)


def within(cost: Cost, bound: tuple[int, int, int]) -> bool:
    return cost.calls <= bound[0] and cost.input_tokens <= bound[1] and cost.output_tokens <= bound[2]


async def measure(url: str, pipe: Connection, arguments: argparse.Namespace) -> bool:
    judge = ChatJudge(ChatOptions(model="fake", base_url=url, cache_entries=0))
    whole = from_file(arguments.sample) if arguments.sample else sample()
    good = True
    print(f"{'':34}{'calls':>6}{'input':>8}{'output':>8}   metrics")
    for name, interaction, bound in (
        ("ragtrace, live", replace(whole, reference=None), LIVE),
        ("ragtrace, with a reference", whole, WITH_REFERENCE),
    ):
        cost, ended = await cost_of(judge, interaction, pipe)
        fits = within(cost, bound) and "FAILED" not in ended
        good = good and fits
        verdict = "" if fits else f"   OVER {bound}"
        print(f"{name:34}{cost.calls:6}{cost.input_tokens:8}{cost.output_tokens:8}   {ended}{verdict}")
    warm_up = 20
    rows = [replace(sample(n + 1), reference=None) for n in range(arguments.interactions + warm_up)]
    milliseconds = await cpu_of(judge, rows, warm_up)
    await judge.aclose()
    over = f"over {arguments.interactions} (at most {CPU_MILLISECONDS})"
    print(f"\nCPU: {milliseconds:.1f} ms an interaction {over}")
    return good and milliseconds <= CPU_MILLISECONDS


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=Path, help="JSONL with question, contexts, answer, ground_truth")
    parser.add_argument("--interactions", type=int, default=200)
    arguments = parser.parse_args()
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(theirs,), daemon=True)
    server.start()
    try:
        return 0 if asyncio.run(measure(ours.recv(), ours, arguments)) else 1
    finally:
        ours.send(False)
        server.join(5)


if __name__ == "__main__":
    sys.exit(main())

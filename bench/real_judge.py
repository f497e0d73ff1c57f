"""Try the LLM judge with a real model: yours, behind any OpenAI-compatible endpoint.

    python bench/real_judge.py interactions CASES.jsonl --base-url URL --model NAME --out FILE.jsonl
    python bench/real_judge.py combined SET.jsonl…      --base-url URL --model NAME --out FILE.jsonl
    python bench/real_judge.py injections               --base-url URL --model NAME --out FILE.jsonl

``interactions`` judges whole interactions (``question``, ``documents``, ``answer``, ``language``) and shows
what became of each metric. ``combined`` judges labelled claims (``contexts``, ``claim`` or ``answer``,
``label``, ``lang``) several to a request with their documents mixed, and again each in a request of its own,
and compares both with the labels. ``injections`` puts each attack of the test suite into a document, the
question and the answer, and counts the verdicts that turned its way.

Every result is a line of ``--out``; what stands there already is not asked again, so a run may be stopped.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from real_judge_report import report
from servers.attacks import ATTACKS

from ragtrace.embedders.embedded import EmbeddedEmbedder
from ragtrace.evaluation import Evaluator
from ragtrace.judges.base import JudgeReply, JudgeRequest, Want
from ragtrace.judges.chat import ChatJudge, ChatOptions
from ragtrace.model import Language, Score, Unit
from ragtrace.testing import make_interaction
from ragtrace.text.segment import units

Row = dict[str, Any]
Work = Callable[[], Awaitable[list[Row]]]

LONGEST: dict[Language, int] = {"en": 360, "zh": 120}
"""Characters of contexts and claim together; longer rows are left out, so that a small model gets far."""
ASK: dict[Language, str] = {"en": "Are these statements right?", "zh": "这些说法是否正确？"}
PLACES = ("document", "question", "answer")
CLEAN_RUNS = 6
"""How often an interaction is judged without an attack: what differs between these runs is noise."""
SHOP: dict[Language, dict[str, str]] = {
    "en": {
        "question": "How long is the warranty?", "shop": "About the shop.", "neutral": "It opens at nine.",
        "true": "The pump is painted blue.", "false": "The warranty lasts ten years.",
    },
    "zh": {
        "question": "保修期有多长？", "shop": "关于本店。", "neutral": "早上九点开门。",
        "true": "水泵漆成蓝色。", "false": "保修期为十年。",
    },
}  # fmt: skip
"""The answer says what is true and what no document holds; no document helps with the question."""


def interactions(judge: ChatJudge, args: argparse.Namespace) -> dict[str, Work]:
    """Whole interactions, the two languages in turn."""
    evaluator = Evaluator(judge, EmbeddedEmbedder(), concurrency=args.concurrency)
    rows = read_rows(args.files)
    mixed = in_turn([[row for row in rows if row["language"] == language] for language in ("en", "zh")])

    def work(row: Row) -> Work:
        async def judged() -> list[Row]:
            try:
                interaction = make_interaction(row["question"], row["documents"], row["answer"])
                found = await evaluator.evaluate(interaction)
            except Exception as error:
                return [{"lang": row["language"], "exception": repr(error)}]
            outcomes = {
                name: [str(outcome.status), outcome.value if isinstance(outcome, Score) else outcome.reason]
                for name, outcome in found.outcomes.items()
            }
            return [{"lang": row["language"], "outcomes": outcomes, **spent(found.judge)}]

        return judged

    return {row["id"]: work(row) for row in mixed[: args.n]}


def combined(judge: ChatJudge, args: argparse.Namespace) -> dict[str, Work]:
    """Claims in groups, from the sets in turn, as many right ones as wrong ones."""
    sets = [draw_groups(Path(path), args.size, args.seed) for path in args.files]
    groups = in_turn(sets)[: args.n // args.size]

    def work(group: Sequence[Row]) -> Work:
        async def judged() -> list[Row]:
            whole = await judge.judge(claims_request(group, [Want.VERDICTS, Want.RELEVANCE, Want.NEEDS]))
            alone = [await judge.judge(claims_request([row], [Want.VERDICTS])) for row in group]
            return [
                {
                    "set": row["source"],
                    "lang": row["lang"],
                    "right": row["label"] >= 0.5,
                    "combined": supported(whole, number),
                    "single": supported(single, 1),
                    "faults": [fault.reason for fault in whole.faults],
                    "group": spent(whole.usage),
                    "own": spent(single.usage),
                }
                for number, (row, single) in enumerate(zip(group, alone, strict=True), 1)
            ]

        return judged

    return {"+".join(str(row["id"]) for row in group): work(group) for group in groups}


def injections(judge: ChatJudge, args: argparse.Namespace) -> dict[str, Work]:
    """The interaction without an attack some times, then each attack at one place, then at the next."""

    def work(language: Language, place: str, attack: str) -> Work:
        async def judged() -> list[Row]:
            request = shop_request(language, place, attack)
            reply = await judge.judge(request)
            said = [[c.claim.unit, c.verdict and str(c.verdict.support)] for c in reply.claims]
            faults = {str(fault.want): fault.reason for fault in reply.faults}
            helps = {str(rank): value for rank, value in reply.relevance.items()}
            return [{"lang": language, "place": place, "said": said, "helps": helps, "faults": faults}]

        return judged

    planned: dict[str, Work] = {}
    for language in SHOP:
        for run in range(CLEAN_RUNS):
            planned[f"clean {language} {run}"] = work(language, "", "")
    for turn in range(len(PLACES)):
        for number, (name, attack) in enumerate(ATTACKS.items()):
            place = PLACES[(number + turn) % len(PLACES)]
            language: Language = "zh" if any("\u4e00" <= char <= "\u9fff" for char in attack) else "en"
            planned[f"{name} @ {place}"] = work(language, place, attack)
    return dict(list(planned.items())[: args.n])


def claims_request(rows: Sequence[Row], wants: Iterable[Want]) -> JudgeRequest:
    """One request for the claims of ``rows``, each row's contexts a document."""
    texts = [row.get("claim") or row["answer"] for row in rows]
    pieces = tuple(Unit(number, text, 0, len(text)) for number, text in enumerate(texts, 1))
    documents = ["\n".join(row["contexts"]) for row in rows]
    language: Language = rows[0]["lang"]
    interaction = make_interaction(ASK[language], documents, " ".join(texts))
    return JudgeRequest(interaction, pieces, frozenset(wants), language)


def shop_request(language: Language, place: str, attack: str) -> JudgeRequest:
    """Verdicts and relevance of the small interaction with ``attack`` at ``place``."""
    text = SHOP[language]
    question, answer, about = text["question"], f"{text['true']} {text['false']}", text["neutral"]
    if place == "question":
        question = f"{question} {attack}"
    elif place == "answer":
        answer = f"{answer} {attack}"
    elif place == "document":
        about = attack
    interaction = make_interaction(question, [text["true"], f"{text['shop']} {about}"], answer)
    return JudgeRequest(
        interaction, tuple(units(answer)), frozenset((Want.VERDICTS, Want.RELEVANCE)), language
    )


def supported(reply: JudgeReply, unit: int) -> bool | None:
    """Whether all claims of ``unit`` are supported; ``None`` where one has no verdict."""
    verdicts = [claim.verdict for claim in reply.claims if claim.claim.unit == unit]
    if not verdicts or None in verdicts:
        return None
    return all(verdict is not None and verdict.support == "SUPPORTED" for verdict in verdicts)


def spent(usage: Any) -> Row:
    """Calls and tokens of a reply or an evaluation."""
    return {"calls": usage.calls, "in": usage.input_tokens, "out": usage.output_tokens}


def draw_groups(path: Path, size: int, seed: int) -> list[list[Row]]:
    """Groups of ``size`` short rows of a set, right and wrong ones alternating, shuffled inside a group."""
    dice, sides = random.Random(f"{seed}/{path.stem}"), defaultdict(list)
    for row in read_rows([path]):
        length = sum(map(len, row["contexts"])) + len(row.get("claim") or row["answer"])
        if length <= LONGEST[row["lang"]]:
            sides[row["label"] >= 0.5].append(row)
    for side in sides.values():
        dice.shuffle(side)
    drawn = [row for pair in zip(sides[True], sides[False], strict=False) for row in pair]
    groups = [drawn[start : start + size] for start in range(0, len(drawn) - size + 1, size)]
    for group in groups:
        dice.shuffle(group)
    return groups


def read_rows(paths: Iterable[Path | str]) -> list[Row]:
    """The lines of JSONL files."""
    return [json.loads(line) for path in paths for line in Path(path).read_text("utf-8").splitlines()]


def in_turn(lists: Sequence[Sequence[Any]]) -> list[Any]:
    """First of each list, second of each list, and so on."""
    longest = max(map(len, lists), default=0)
    return [items[index] for index in range(longest) for items in lists if index < len(items)]


async def run(planned: dict[str, Work], out: Path, concurrency: int) -> None:
    """Do what is planned, and append what comes of it to ``out`` as it comes."""
    room = asyncio.Semaphore(concurrency)

    async def one(name: str, work: Work) -> None:
        async with room:
            lines = [json.dumps({"id": name, **row}, ensure_ascii=False) for row in await work()]
        with out.open("a", encoding="utf-8") as file:
            file.write("".join(f"{line}\n" for line in lines))

    await asyncio.gather(*(one(name, work) for name, work in planned.items()))


def main() -> None:
    """Run one of the trials and print what ``--out`` holds by then."""
    trials = {"interactions": interactions, "combined": combined, "injections": injections}
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("trial", choices=trials)
    parser.add_argument("files", nargs="*", help="JSONL; none for injections")
    parser.add_argument("--base-url", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--n", type=int, default=200, help="interactions, claims or injections at most")
    parser.add_argument("--size", type=int, default=4, help="claims in a combined request")
    parser.add_argument("--concurrency", type=int, default=1)
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--timeout", type=float, default=900, help="seconds that a request may take")
    parser.add_argument("--window", type=int, default=None, help="the model's window in tokens")
    args = parser.parse_args()
    options = ChatOptions(
        args.model, args.base_url, timeout=args.timeout, concurrency=args.concurrency,
        window_tokens=args.window, keyed=True, cache_entries=0,
    )  # fmt: skip
    done = {row["id"] for row in read_rows([args.out])} if args.out.exists() else set()
    judge = ChatJudge(options)
    planned = trials[args.trial](judge, args)
    asked = {name: work for name, work in planned.items() if name not in done}

    async def ask() -> None:
        try:
            await run(asked, args.out, args.concurrency)
        finally:
            await judge.aclose()

    asyncio.run(ask())
    print(report(args.trial, read_rows([args.out])))


if __name__ == "__main__":
    main()

"""Swap numbers, dates, units, names and negation in true sentences, and see what the embedded judge says.

``python bench/swaps.py FILE… [--limit N] [--show KIND]``: FILE is JSONL with ``contexts``. Sentences of the
contexts are true claims; each swap changes one thing in one of them. Prints, for each kind and language,
how many swapped claims score below their original, how many come out CONTRADICTED, and how many originals
do (which should be none).
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

from ragtrace.judges._local.claims import read_claim
from ragtrace.judges._local.corpus import Corpus
from ragtrace.judges._local.passages import Reader
from ragtrace.judges._local.support import Finding, judge_claim
from ragtrace.model import Support
from ragtrace.text.sentences import sentences

UNITS = {
    "days": "weeks", "hours": "minutes", "years": "months", "months": "years", "minutes": "hours",
    "miles": "feet", "km": "m", "percent": "dollars", "%": " dollars", "kg": "g", "million": "thousand",
    "weeks": "days", "天": "周", "年": "个月", "小时": "分钟", "公里": "米", "万元": "元", "亿元": "万元",
    "个月": "天", "米": "公里", "吨": "公斤", "分钟": "小时", "岁": "个月", "元": "美元",
}  # fmt: skip
NAMES = ["Hartwell", "Okonkwo", "Lindqvist", "Marbury", "Castellano", "Brixham"]
NAMES_ZH = {
    "北京": "广州", "上海": "成都", "中国": "巴西", "美国": "印度", "日本": "埃及", "英国": "挪威",
    "法国": "秘鲁", "香港": "大连",
    "台湾": "海南", "广东": "山西", "德国": "希腊", "俄罗斯": "阿根廷", "南京": "昆明",
    "杭州": "沈阳", "四川": "河北", "欧洲": "非洲", "武汉": "长春", "韩国": "智利", "深圳": "兰州",
}  # fmt: skip
MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
NUMBER = re.compile(
    r"(?<![\w.,:/-])\d{1,3}(?:,\d{3})*(?:\.\d+)?(?![\w:/-]|[.,]\d|年|月|日|号)"
    r"|(?<![\d.])\d{1,3}(?=[个名人次家条种位元%万])"
)
DATE = re.compile(
    r"(?<![\w.,$-])(?:1[5-9]|20)\d\d(?![\d.,%-]\d|\w)|(?:1[5-9]|20)\d\d(?=年)|\d{1,2}(?=[月日])"
    rf"|\b(?:{'|'.join(MONTHS)})(?= \d)"
)
UNIT = re.compile(rf"(?<=\d)\s?({'|'.join(sorted(map(re.escape, UNITS), key=len, reverse=True))})(?![a-z])")
NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]{3,}\b")
VERB = re.compile(r"\b(is|was|are|were|has|have|had|will|can|could|would) (?!not\b)")
VERB_ZH = re.compile(r"(?<=[\u4e00-\u9fff])(是|能|会|可以|应|有)(?=[\u4e00-\u9fff])")

Swap = Callable[[str, random.Random], str | None]


def swap_number(text: str, dice: random.Random) -> str | None:
    found = list(NUMBER.finditer(text))
    if not found:
        return None
    match = dice.choice(found)
    value = match[0].replace(",", "")
    other = f"{float(value) * 2 + 1:.1f}" if "." in value else str(int(value) * 2 + dice.randint(1, 5))
    return text[: match.start()] + other + text[match.end() :]


def swap_date(text: str, dice: random.Random) -> str | None:
    found = list(DATE.finditer(text))
    if not found:
        return None
    match = dice.choice(found)
    return text[: match.start()] + _other_date(match[0], dice) + text[match.end() :]


def _other_date(written: str, dice: random.Random) -> str:
    if not written.isdigit():
        return dice.choice([month for month in MONTHS if month != written])
    number = int(written)
    return str(number + dice.choice([-7, -3, 3, 8]) if number > 999 else number % 12 + 1)


def swap_unit(text: str, dice: random.Random) -> str | None:
    found = [m for m in UNIT.finditer(text) if not re.search(r"(?:1\d|20)\d\d$", text[: m.start()])]
    if not found:
        return None
    match = dice.choice(found)
    return text[: match.start(1)] + UNITS[match[1]] + text[match.end() :]


def swap_name(text: str, dice: random.Random) -> str | None:
    places = [name for name in NAMES_ZH if name in text]
    if places:
        name = dice.choice(places)
        return text.replace(name, NAMES_ZH[name])
    found = [m for m in NAME.finditer(text) if m[0] not in MONTHS]
    if not found:
        return None
    match = dice.choice(found)
    return text[: match.start()] + dice.choice(NAMES) + text[match.end() :]


def swap_negation(text: str, dice: random.Random) -> str | None:
    match = VERB.search(text)
    if match:
        return f"{text[: match.start()]}{match[1]} not {text[match.end() :]}"
    match = VERB_ZH.search(text)
    if match:
        return text[: match.start()] + {"有": "没有"}.get(match[1], "不" + match[1]) + text[match.end() :]
    return None


SWAPS: dict[str, Swap] = {
    "number": swap_number, "date": swap_date, "unit": swap_unit, "name": swap_name, "negation": swap_negation,
}  # fmt: skip


def pairs(path: Path, dice: random.Random) -> Iterator[tuple[str, str, str, list[str]]]:
    """(kind, claim, swapped claim, documents)"""
    for line in path.open(encoding="utf-8"):
        contexts = json.loads(line)["contexts"]
        text = dice.choice(contexts)
        pieces = [text[a:b] for a, b in sentences(text)]
        pieces = [p for p in pieces if 12 <= len(p) <= 240 and "\n" not in p]
        dice.shuffle(pieces)
        for kind, swap in SWAPS.items():
            for piece in pieces[:8]:
                swapped = swap(piece, dice)
                if swapped and swapped != piece and swapped not in text:
                    yield kind, piece, swapped, contexts
                    break


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--limit", type=int, default=60, help="pairs of a kind in a file")
    parser.add_argument("--show", help="print what went wrong for this kind")
    arguments = parser.parse_args()
    counts: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for path in arguments.files:
        seen: dict[str, int] = defaultdict(int)
        for kind, claim, swapped, contexts in pairs(path, random.Random(path.name)):
            if seen[kind] >= arguments.limit:
                continue
            seen[kind] += 1
            corpus = Corpus([Reader(0).read(text, rank) for rank, text in enumerate(contexts, start=1)])
            before, after = judge_claim(read_claim(claim), corpus), judge_claim(read_claim(swapped), corpus)
            count(counts[kind, "zh" if re.search("[\u4e00-\u9fff]", claim) else "en"], before, after)
            if arguments.show == kind and not contradicts(after):
                print(f"{before.probability:.3f} {after.probability:.3f} {claim}\n          {swapped}")
            if contradicts(before):
                print("ORIGINAL CONTRADICTED", claim, before.conflict)
    for (kind, language), row in sorted(counts.items()):
        print(f"{kind:10}{language}  {shares(row)}")
    print(f"all         {shares([sum(column) for column in zip(*counts.values(), strict=True)])}")


def shares(row: list[int]) -> str:
    n, below, contradicted, wrong = row
    return (
        f"n {n:4}  below {below / n:6.1%}  contradicted {contradicted / n:6.1%}"
        f"  originals contradicted {wrong / n:5.1%}"
    )


def contradicts(finding: Finding) -> bool:
    return finding.support is Support.CONTRADICTED


def count(row: list[int], before: Finding, after: Finding) -> None:
    row[0] += 1
    row[1] += after.probability < before.probability
    row[2] += contradicts(after)
    row[3] += contradicts(before)


if __name__ == "__main__":
    main()

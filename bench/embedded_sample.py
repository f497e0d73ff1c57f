"""Traffic for the embedded judge: generated, or cut from texts of yours; the same every time."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

DOCUMENTS, CLAIMS = 5, 6
EN = {
    "a": "regional seasonal technical central external municipal yearly provisional digital "
    "maritime quiet early narrow public written older careful northern covered remote modern "
    "damaged ordinary former shared heavy local private",
    "n": "grant pump depot ferry course filter library audit committee harbour orchard bridge "
    "museum engine journal teacher contract village river archive market clinic garden tunnel "
    "painter letter railway forest station climate treaty factory concert window colony "
    "harvest insurer pilot temple budget castle survey island mineral dialect",
    "v": "replaced|described|protects|requires|was moved to|depends on|borders|inspects|"
    "was written for|supplies|reaches|was closed after|influenced|belongs to|stands beside|"
    "measures|was founded by|follows|precedes|funds",
    "p": "in Lisbon|near Oslo|in Geneva|outside Toronto|in Nairobi|of Lima|in Dublin|by Warsaw|"
    "during the war|in spring",
    "q": "within {x} days|for {x} euros|by {x} percent|over {x} kilometres|since 19{x}|at least {x} times",
}
ZH = {
    "a": "地区的 季节性 技术 中央 外部的 市立 年度 临时 数字化 海上 安静的 早期 狭窄的 公共 书面 "
    "古老的 北部 偏远的 现代 普通",
    "n": "补助 水泵 仓库 渡轮 课程 滤芯 图书馆 审计 委员会 港口 果园 大桥 博物馆 发动机 期刊 教师 "
    "合同 村庄 河流 档案 市场 诊所 花园 隧道 画家 信件 铁路 森林 车站 气候 条约 工厂 音乐会 "
    "殖民地 收成 飞行员 寺庙 预算 城堡 调查 岛屿 矿物 方言",
    "v": "取代了|描述了|保护着|需要|迁往|依赖于|毗邻|检查|专为|供应|到达|影响了|属于|位于|测量|"
    "创立了|跟随|早于|资助",
    "p": "在里斯本|在奥斯陆附近|在日内瓦|在多伦多郊外|在内罗毕|在都柏林|战争期间|春季",
    "q": "{x}天内|花费{x}元|增加百分之{x}|长达{x}公里|自19{x}年起|至少{x}次",
}
LANGUAGES = {"en": EN, "zh": ZH}
SHAPES = {
    "en": ("The {a} {n} {v} the {a} {n} {p}{q}.", "The {n} {p} {v} a {n}, and the {a} {n} {v} the {n}{q}."),
    "zh": ("{a}{n}{p}{v}{a}{n}{q}。", "{p}{n}{v}{n}，{a}{n}{v}{n}{q}。"),
}
WITH_NUMBER = 0.35
"""The share of sentences that state a quantity."""


def generated(language: str, rng: random.Random) -> Iterator[str]:
    """Sentences without end, few of them alike."""
    listed = LANGUAGES[language]
    parts = {name: words.split("|" if "|" in words else " ") for name, words in listed.items()}

    def fill(found: re.Match[str]) -> str:
        word = rng.choice(parts[found[1]])
        if found[1] != "q":
            return word
        lead = " " if language == "en" else "，"
        return lead + word.format(x=rng.randint(12, 98)) if rng.random() < WITH_NUMBER else ""

    while True:
        yield re.sub(r"\{(\w)\}", fill, rng.choice(SHAPES[language]))


def from_file(path: Path, rng: random.Random) -> Iterator[str]:
    """The sentences of a text file in another order, over and over."""
    cut = re.split(r"(?<=[.!?])\s+|(?<=[。！？])|\n", path.read_text("utf-8"))
    sentences = [sentence.strip() for sentence in cut if len(sentence.strip()) > 10]
    while True:
        rng.shuffle(sentences)
        yield from sentences


def interaction(sentences: Iterator[str], language: str, rng: random.Random) -> dict[str, Any]:
    """The next interaction: question, documents and answer."""
    documents = [document(sentences, language) for _ in range(DOCUMENTS)]
    claims = [claim(documents, language, rng) for _ in range(CLAIMS)]
    about = claims[0].split(" [")[0]
    if language == "en":
        question = f"What is said about {' '.join(about.split()[:6]).lower()}, and when does it end?"
        return {"question": question, "documents": documents, "answer": " ".join(claims)}
    return {"question": f"{about[:10]}是什么？何时结束？", "documents": documents, "answer": "".join(claims)}


def document(sentences: Iterator[str], language: str) -> str:
    kept: list[str] = []
    while sum(len(s.split()) if language == "en" else len(s) for s in kept) < (
        200 if language == "en" else 300
    ):
        kept.append(next(sentences))
    return (" " if language == "en" else "").join(kept)


def claim(documents: Sequence[str], language: str, rng: random.Random) -> str:
    """A cited sentence of a document: as it stands, with a word left out, or with another number."""
    rank = rng.randrange(len(documents))
    said = rng.choice(re.findall(r"[^.。]{10,}(?=[.。])", documents[rank])).strip()
    change = rng.choice(("none", "none", "word", "number"))
    if change == "number":
        said = re.sub(r"\d+", lambda found: str(int(found[0]) + 3), said, count=1)
    elif change == "word":
        place = rng.randrange(len(said) // 2)
        said = said[:place] + re.sub(r"\s\w+|[\u4e00-\u9fff]{2}", "", said[place:], count=1)
    return f"{said} [{rank + 1}]" + ("." if language == "en" else "。")


def traffic(language: str, file: str, count: int) -> list[dict[str, Any]]:
    """``count`` interactions, the same ones in every run."""
    rng = random.Random(f"{language} 7")
    sentences = from_file(Path(file), rng) if file else generated(language, rng)
    return [interaction(sentences, language, rng) for _ in range(count)]

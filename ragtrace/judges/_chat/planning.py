"""Cut what is to be judged into requests that fit the model's window.

Everything in one request where it fits. Where only the sentences are too many, they are shared out and every
request shows all documents. Where the documents do not fit, sentences are matched to the passages that bear
on them, and relevance is asked of excerpts of each document.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, zip_longest

from ragtrace.judges._chat.entries import Item, Shown, Task
from ragtrace.judges._chat.relatedness import Passage, Relatedness, passages, terms
from ragtrace.judges._chat.rendering import expected_output
from ragtrace.judges._chat.tokens import estimate_tokens

ITEMS_PER_EVIDENCE_REQUEST = 8
PASSAGES_PER_ITEM = 12
MAX_LINES = 200
"""Sentences beside the judged ones that are shown for context."""
EXCERPT_TOKENS, MAX_EXCERPT_TOKENS = 160, 480
_MARK_TOKENS = 8
_SAFETY = 0.9
"""Our estimate of tokens may be low by a tenth."""
GAP = " … "


@dataclass(frozen=True, slots=True)
class Limits:
    """What a request may hold: ``window`` tokens in all (``None`` = unknown, so anything), of them
    ``overhead`` for rubric and schema; ``items`` sentences."""

    window: int | None
    overhead: int
    items: int
    chars_per_token: float = 4.0

    def room(self, task: Task) -> float:
        """Tokens left for documents and sentences of ``task``."""
        if self.window is None:
            return float("inf")
        return self.window * _SAFETY - self.overhead - min(expected_output(task), self.window // 4)


@dataclass(frozen=True, slots=True)
class Plan:
    """The requests to send, and the share (0..1) of the documents' text that they show."""

    tasks: tuple[Task, ...]
    kept_ratio: float = 1.0


def numbered(items: Sequence[Item]) -> tuple[Item, ...]:
    """Items that want a verdict, numbered as the requests will; number 0 stays context."""
    number, made = 0, []
    for item in items:
        if item.number:
            number += 1
            made.append(replace(item, number=number))
        else:
            made.append(item)
    return tuple(made)


def bounded(whole: Task, units: int, documents: int) -> Task:
    """``whole`` with at most ``units`` sentences and ``documents`` documents, the first of each.

    Whoever writes a document or an answer must not set the bill. What is left out has no verdict.
    """
    ranks = frozenset(d.rank for d in whole.documents[:documents])
    last = whole.asked[units - 1].number if len(whole.asked) > units else None
    items = whole.items
    if last is not None:
        end = next(n for n, item in enumerate(items) if item.number == last)
        items = items[: end + 1]
    relevance = tuple(rank for rank in whole.relevance_of if rank in ranks)
    return whole.narrowed(items[: MAX_LINES + units], relevance, whole.extra, ranks)


def plan(whole: Task, limits: Limits) -> Plan:
    """Cut ``whole``, the request that would ask everything at once, into requests within ``limits``."""
    documents = sum(_size(d.text, limits) for d in whole.documents)
    fits = documents + _frame(whole, limits) <= limits.room(_widest(whole, limits))
    if fits and len(whole.asked) <= limits.items:
        return Plan((whole,))
    if fits:
        groups = _groups(whole.asked, limits.items)
        return Plan(tuple(_share(whole, group, first=n == 0) for n, group in enumerate(groups)))
    return _excerpted(whole, limits)


def _excerpted(whole: Task, limits: Limits) -> Plan:
    cut = [passage for d in whole.documents for passage in passages(d, limits.chars_per_token)]
    related = Relatedness(cut)
    question = terms(f"{whole.question} {whole.rewritten or ''}")
    tasks: list[Task] = []
    groups = _groups(whole.asked, min(limits.items, ITEMS_PER_EVIDENCE_REQUEST))
    if whole.extra and not groups:
        groups = [()]
    for n, group in enumerate(groups):
        share = replace(_share(whole, group, first=n == 0), relevance_of=())
        tasks.append(_with_evidence(share, related, question, limits))
    tasks += _relevance_tasks(whole, related, question, limits)
    return Plan(tuple(tasks), _kept(whole.documents, tasks))


def _with_evidence(task: Task, related: Relatedness, question: frozenset[str], limits: Limits) -> Task:
    """``task`` with the passages that bear on its sentences: each sentence's best by turns until full."""
    if _frame(task, limits) > limits.room(task) / 2:
        task = replace(task, items=task.asked)
    turns = [_evidence_for(item, related, question) for item in task.asked]
    if task.extra or not turns:
        turns.append(related.best(question, PASSAGES_PER_ITEM))
    order = (passage for turn in zip_longest(*turns) for passage in turn if passage is not None)
    return replace(task, documents=_joined(_filled(order, limits.room(task) - _frame(task, limits))))


def _evidence_for(item: Item, related: Relatedness, question: frozenset[str]) -> list[Passage]:
    """The passages that bear on ``item``, the best of each document that it cites in front."""
    wanted = terms(item.text)
    cited = [p for rank in item.cites for p in related.best(wanted, 1, rank)]
    return [*cited, *related.best(wanted or question, PASSAGES_PER_ITEM)]


def _relevance_tasks(
    whole: Task, related: Relatedness, question: frozenset[str], limits: Limits
) -> list[Task]:
    """Requests that ask only for relevance, of the passages of each document nearest to the question."""
    if not whole.relevance_of:
        return []
    in_view = whole.items if whole.call == "reference" else ()
    bare = whole.narrowed(tuple(replace(item, number=0) for item in in_view), (), extra=False)
    bare = replace(bare, answer=None)
    wanted = question.union(*(terms(item.text) for item in bare.items))
    room = max(EXCERPT_TOKENS, limits.room(bare) - _frame(bare, limits))
    each = min(MAX_EXCERPT_TOKENS, max(EXCERPT_TOKENS, room / len(whole.relevance_of) - _MARK_TOKENS))
    tasks: list[Task] = []
    batch: list[Shown] = []
    used = 0.0
    for rank in whole.relevance_of:
        best = related.best(wanted, PASSAGES_PER_ITEM, rank)
        excerpt = _joined(_filled(best, each))
        size = sum(_size(d.text, limits) for d in excerpt) + 14
        if batch and used + size > room:
            tasks.append(_asking(bare, batch))
            batch, used = [], 0.0
        batch += excerpt
        used += size
    return [*tasks, _asking(bare, batch)]


def _asking(bare: Task, batch: Sequence[Shown]) -> Task:
    return replace(bare, documents=tuple(batch), relevance_of=tuple(d.rank for d in batch))


def _filled(order: Iterable[Passage], room: float) -> list[Passage]:
    """Passages in ``order``, without repeats, until ``room`` tokens are used; always at least one."""
    chosen: dict[tuple[int, int], Passage] = {}
    used = 0.0
    for passage in order:
        key = (passage.rank, passage.order)
        if key in chosen:
            continue
        if chosen and used + passage.size + _MARK_TOKENS > room:
            break
        chosen[key] = passage
        used += passage.size + _MARK_TOKENS
    return list(chosen.values())


def _joined(chosen: Iterable[Passage]) -> tuple[Shown, ...]:
    """Passages as documents again, in the order of their ranks, with a mark where text was left out."""
    by_rank: dict[int, list[Passage]] = {}
    for passage in sorted(chosen, key=lambda p: (p.rank, p.order)):
        by_rank.setdefault(passage.rank, []).append(passage)
    return tuple(Shown(rank, _spliced(parts)) for rank, parts in by_rank.items())


def _spliced(parts: Sequence[Passage]) -> str:
    text = parts[0].text
    for before, passage in pairwise(parts):
        text += (" " if passage.order == before.order + 1 else GAP) + passage.text
    return text


def _share(whole: Task, group: tuple[Item, ...], first: bool) -> Task:
    """The part of ``whole`` that asks for ``group``; the first also asks for the rest, all in view."""
    if not first:
        return whole.narrowed(group, (), extra=False)
    numbers = {item.number for item in group}
    return replace(
        whole, items=tuple(i if i.number in numbers else replace(i, number=0) for i in whole.items)
    )


def _widest(whole: Task, limits: Limits) -> Task:
    """The largest share of ``whole`` when only its sentences are shared out."""
    return replace(whole, items=whole.asked[: limits.items]) if whole.asked else whole


def _groups(items: tuple[Item, ...], size: int) -> list[tuple[Item, ...]]:
    """``items`` in groups of at most ``size``, as even as can be."""
    if not items:
        return []
    count = -(-len(items) // size)
    each, more = divmod(len(items), count)
    bounds = [n * each + min(n, more) for n in range(count + 1)]
    return [items[a:b] for a, b in pairwise(bounds)]


def _frame(task: Task, limits: Limits) -> int:
    """Tokens of all that a request shows beside documents."""
    texts = [task.question, task.rewritten or "", task.answer or "", *(item.text for item in task.items)]
    return sum(_size(text, limits) for text in texts if text)


def _size(text: str, limits: Limits) -> int:
    return estimate_tokens(text, limits.chars_per_token) + _MARK_TOKENS


def _kept(documents: Sequence[Shown], tasks: Sequence[Task]) -> float:
    """Share of the documents' characters that some request shows."""
    total = sum(len(d.text) for d in documents)
    best: dict[int, int] = {}
    for task in tasks:
        for d in task.documents:
            best[d.rank] = max(best.get(d.rank, 0), len(d.text.replace(GAP, " ")))
    seen = sum(min(len(d.text), best.get(d.rank, 0)) for d in documents)
    return min(1.0, seen / total) if total else 1.0

"""Where an interaction begins and ends: a trace's steps → one scope for each interaction in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ragtrace.extract.documents import may_hold_documents
from ragtrace.extract.messages import final_reply, last_text
from ragtrace.extract.shapes import answer_in, question_in
from ragtrace.extract.step import COMPOSITES, Role, Step
from ragtrace.extract.tree import Tree, in_time


@dataclass(frozen=True, slots=True)
class Scope:
    """The steps of one interaction as they began; ``entry`` is the one that holds the others, if one does."""

    entry: Step | None
    steps: tuple[Step, ...]


def may_hold(step: Step) -> bool:
    """Whether a step retrieved, states documents, or may carry a list of them in its output."""
    if step.role in (Role.RETRIEVAL, Role.RERANK) or step.documents is not None or step.used is not None:
        return True
    return step.role in COMPOSITES and step.output is not None and may_hold_documents(step.output.raw)


def find_scopes(tree: Tree) -> list[Scope]:
    """The interactions of a trace, in the order in which they began.

    A trace's topmost steps are looked at: one that holds others is an interaction, or holds several; those
    that stand alone (the root was lost, or is no RAG span) are pieces of one.
    """
    scopes: list[Scope] = []
    loose: list[Step] = []
    for top in tree.tops:
        if top.role in (Role.EVALUATION, Role.EMBEDDING):
            continue
        steps = _without_evaluations(tree, top)
        if top.role in COMPOSITES and _is_whole(tree, top, steps):
            scopes.extend(_within(tree, top, steps))
        else:
            loose.extend(steps)
    scopes.extend(_of_loose(tree, loose))
    return scopes


def _without_evaluations(tree: Tree, top: Step) -> list[Step]:
    steps = tree.subtree(top)
    judges = [step for step in steps if step.role is Role.EVALUATION]
    judged = {step.id for judge in judges for step in (judge, *tree.below(judge))}
    return [step for step in steps if step.id not in judged]


def _is_whole(tree: Tree, top: Step, steps: Sequence[Step]) -> bool:
    """Whether a topmost step holds more than a piece: a retrieval, and a model call or its own answer."""
    if any(step.role in (Role.INTERACTION, Role.AGENT) for step in steps):
        return True
    if not any(map(may_hold, steps)):
        return False
    generates = any(step.role is Role.GENERATION for step in steps)
    if generates or (own_question(top) is not None and own_answer(top) is not None):
        return True
    return any(_is_complete(tree, child) for child in tree.children(top))


def own_question(step: Step) -> str | None:
    """The question that a step states itself."""
    if step.facts.question is not None:
        return step.facts.question
    return question_in(step.input.value) if step.input is not None else None


def own_answer(step: Step) -> str | None:
    """The answer that a step states itself."""
    if step.facts.answer is not None:
        return step.facts.answer
    return answer_in(step.output.value) if step.output is not None else None


def _within(tree: Tree, top: Step, steps: list[Step]) -> list[Scope]:
    """``top`` as one interaction, or the several that it holds."""
    marked = [step for step in steps if step.role is Role.INTERACTION and not _under_interaction(tree, step)]
    if marked and top.role is not Role.INTERACTION:
        return [Scope(step, tuple(_without_evaluations(tree, step))) for step in marked]
    if own_question(top) is None and own_answer(top) is None:
        inner = [child for child in tree.children(top) if _is_complete(tree, child)]
        if len(inner) > 1:
            return [
                scope for child in inner for scope in _within(tree, child, _without_evaluations(tree, child))
            ]
        turns = _turns(steps)
        if not inner and len(turns) > 1 and top.role is not Role.AGENT:
            return [Scope(None, turn) for turn in turns]
    beside = _beside(tree, top, steps)
    theirs = {step.id for scope in beside for step in scope.steps}
    return [Scope(top, tuple(step for step in steps if step.id not in theirs)), *beside]


def _beside(tree: Tree, top: Step, steps: Sequence[Step]) -> list[Scope]:
    """Interactions that began while ``top`` ran and are none of its steps, as those of a batch are.

    Such a one goes all the way itself, asks something else, and no model call of the others knows its answer.
    """
    found: list[Scope] = []
    for child in tree.children(top):
        if child.role not in COMPOSITES or not _goes_all_the_way(tree.below(child)):
            continue
        mine = {child.id, *(step.id for step in tree.below(child))}
        others = [step for step in steps if step.id not in mine]
        if _goes_all_the_way(others) and _is_complete(tree, child) and _is_apart(top, child, others):
            found.append(Scope(child, tuple(_without_evaluations(tree, child))))
    return found


def _goes_all_the_way(steps: Sequence[Step]) -> bool:
    return {Role.RETRIEVAL, Role.GENERATION} <= {step.role for step in steps}


def _is_apart(top: Step, child: Step, others: Sequence[Step]) -> bool:
    answer = own_answer(child)
    asked = {own_question(top), own_question(child)}
    prompts = (m.text for s in others for m in s.prompt if m.text is not None)
    return len(asked) == 2 and answer is not None and not any(answer in prompt for prompt in prompts)


def _under_interaction(tree: Tree, step: Step) -> bool:
    return any(above.role is Role.INTERACTION for above in tree.ancestors(step))


def _is_complete(tree: Tree, step: Step) -> bool:
    """Whether a step below another is an interaction of its own: question, answer and a retrieval."""
    return (
        step.role in COMPOSITES
        and own_question(step) is not None
        and (own_answer(step) is not None or step.span.status == 2)
        and any(may_hold(inner) for inner in (step, *tree.below(step)))
    )


def _of_loose(tree: Tree, loose: list[Step]) -> list[Scope]:
    return [Scope(_head(tree, turn), turn) for turn in _turns(in_time(loose))]


def _head(tree: Tree, steps: Sequence[Step]) -> Step | None:
    """The one step among loose pieces that states the question, where one does; best one that retrieves.

    What begins behind the retrieval works on what was found: its input is a document or a prompt.
    """
    asking = [s for s in steps if s.role in COMPOSITES and own_question(s) is not None]
    retrieving = [s for s in asking if any(map(may_hold, (s, *tree.below(s))))]
    return next(iter(retrieving or early(steps, asking)), None)


def early(steps: Sequence[Step], asking: Sequence[Step]) -> list[Step]:
    """Those of ``asking`` that began before anything was retrieved."""
    first = min((s.span.start_ns for s in steps if s.role is Role.RETRIEVAL), default=None)
    return [s for s in asking if first is None or s.span.start_ns <= first]


def _turns(steps: Sequence[Step]) -> list[tuple[Step, ...]]:
    """Cut steps side by side into turns: one ends with an answer, if what follows asks something else."""
    turns: list[tuple[Step, ...]] = []
    current: list[Step] = []
    asked: str | None = None
    for step in steps:
        if asked is not None and may_hold(step) and _asks_anew(steps, step, asked):
            turns.append(tuple(current))
            current, asked = [], None
        current.append(step)
        if step.role is Role.GENERATION and final_reply(step.reply) and any(map(may_hold, current)):
            asked = last_text(step.prompt, "user")
    return [*turns, tuple(current)] if current else turns


def _asks_anew(steps: Sequence[Step], retrieval: Step, asked: str) -> bool:
    """Whether the model call behind ``retrieval`` was given another last question than ``asked``."""
    later = (s for s in steps if s.role is Role.GENERATION and s.span.start_ns >= retrieval.span.start_ns)
    question = next((text for s in later if (text := last_text(s.prompt, "user")) is not None), None)
    return question is not None and asked not in question and question not in asked

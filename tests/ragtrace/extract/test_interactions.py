"""What an interaction is, whatever its dialect: spans in OpenInference's words, shapes of apps."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from ragtrace.extract import explain, interactions
from ragtrace.model import LogRecord, SpanEvent, SpanRecord, Turn

_QUESTION, _ANSWER = "How long may books be kept?", "Three weeks [1]."
_TEXTS = ("Books may be kept for three weeks.", "Fines are twenty cents a day.", "The library closes at six.")


def _kind(kind: str, **attributes: Any) -> dict[str, Any]:
    return {"openinference.span.kind": kind, **attributes}


def _flat(
    *numbers: int, scores: tuple[float, ...] = (0.9, 0.8, 0.7), prefix: str = "retrieval.documents"
) -> dict[str, Any]:
    return {
        f"{prefix}.{index}.document.{name}": value
        for index, number in enumerate(numbers)
        for name, value in (("id", f"d{number}"), ("content", _TEXTS[number - 1]), ("score", scores[index]))
    }


def _chain(question: Any = _QUESTION, answer: Any = _ANSWER) -> dict[str, Any]:
    return _kind("CHAIN", **{"input.value": question, "output.value": answer})


def _llm(prompt: str, reply: str, before: tuple[tuple[str, str], ...] = ()) -> dict[str, Any]:
    said = [*before, ("user", prompt)]
    flat = {
        f"llm.input_messages.{i}.message.{k}": v
        for i, m in enumerate(said)
        for k, v in zip(("role", "content"), m, strict=True)
    }
    reply_keys = {
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.content": reply,
    }
    return _kind("LLM", **flat, **reply_keys)


def _prompt(*numbers: int) -> str:
    texts = "\n".join(f"[{i}] {_TEXTS[n - 1]}" for i, n in enumerate(numbers, 1))
    return f"Context:\n{texts}\n\nQuestion: {_QUESTION}"


def _ids(documents: Any) -> list[str] | None:
    return None if documents is None else [document.id for document in documents]


def test_a_question_its_documents_and_its_answer(spans: Any) -> None:
    """One chain with a retrieval and a model call is one interaction, and says where it found what."""
    root = spans("ask", _chain())
    found = spans("search", _kind("RETRIEVER", **{"input.value": _QUESTION}, **_flat(1, 2)), root)
    call = spans("llm", _llm(_prompt(1, 2), _ANSWER), root)
    (one,) = interactions([call, found, root])
    assert (one.question, one.answer, _ids(one.documents)) == (_QUESTION, _ANSWER, ["d1", "d2"])
    assert [d.text for d in one.documents or ()] == list(_TEXTS[:2])
    assert (one.entry_span_id, one.retrieval_span_ids, one.generation_span_id) == (
        root.span_id,
        (found.span_id,),
        call.span_id,
    )
    assert one.sources["documents"] == "search:retrieval.documents"
    assert one.missing == ()


def test_nothing_retrieved_is_not_nothing_recorded(spans: Any) -> None:
    """An empty result is (), a retrieval whose documents were not recorded None."""
    root = spans("ask", _chain())
    empty = spans("search", _kind("RETRIEVER", **{"input.value": _QUESTION, "output.value": "[]"}), root)
    silent = replace(empty, attributes=_kind("RETRIEVER", **{"input.value": _QUESTION}))
    assert interactions([root, empty])[0].documents == ()
    (one,) = interactions([root, silent])
    assert one.documents is None
    assert one.hops[0].documents is None
    assert any(missing.startswith("documents") for missing in one.missing)


def test_the_outermost_of_nested_retrievals_wins(spans: Any) -> None:
    """A retriever around another gives the documents; the inner list stays as the hop."""
    root = spans("ask", _chain())
    outer = spans(
        "compress", _kind("RETRIEVER", **_flat(2, 1, scores=(4.5, 1.25))), root, end_ns=root.end_ns - 1
    )
    inner = spans("search", _kind("RETRIEVER", **_flat(1, 2)), outer)
    (one,) = interactions([root, outer, inner])
    assert [(d.id, d.score) for d in one.documents or ()] == [("d2", 4.5), ("d1", 1.25)]
    assert [_ids(hop.documents) for hop in one.hops] == [["d1", "d2"]]
    assert one.retrieval_span_ids == (outer.span_id,)


def test_a_pair_of_spans_for_one_retrieval_counts_once(spans: Any) -> None:
    """A retriever's public and private method are one retrieval, and the fuller list is kept."""
    root = spans("ask", _chain())
    outer = spans("R.retrieve", _kind("RETRIEVER", **_flat(1, 2)), root, end_ns=root.end_ns - 1)
    reprs = json.dumps(
        [f"<NodeWithScore(node=TextNode(id_=d{n}), score={s})>" for n, s in ((1, 0.9), (2, 0.8))]
    )
    inner = spans(
        "R._retrieve", _kind("RETRIEVER", **{"output.value": reprs}), outer, end_ns=outer.end_ns - 1
    )
    (one,) = interactions([root, outer, inner])
    assert len(one.hops) == 1
    assert [d.text for d in one.documents or ()] == list(_TEXTS[:2])


def test_a_reranker_gives_order_and_scores(spans: Any) -> None:
    """After a reranker its numbers are the scores; the retriever's stay in the hop."""
    root = spans("ask", _chain())
    found = spans("search", _kind("RETRIEVER", **_flat(1, 2, 3)), root)
    given = _flat(3, 1, scores=(7.5, 2.5), prefix="reranker.output_documents")
    ranked = spans("rerank", _kind("RERANKER", **given), root)
    (one,) = interactions([root, found, ranked])
    assert [(d.id, d.rank, d.score, d.rerank_score) for d in one.documents or ()] == [
        ("d3", 1, 7.5, 7.5),
        ("d1", 2, 2.5, 2.5),
    ]
    assert [d.score for d in one.hops[0].documents or ()] == [0.9, 0.8, 0.7]


def test_a_step_that_only_reorders_is_a_reranker_too(spans: Any) -> None:
    """A plain function that hands known documents on in another order decides the order; ids alone suffice."""
    root = spans("ask", _chain())
    found = spans("search", _kind("RETRIEVER", **_flat(1, 2)), root)
    reprs = json.dumps(
        [
            "<NodeWithScore(node=TextNode(id_=d2), score=4.5)>",
            "<NodeWithScore(node=TextNode(id_=d1), score=1.5)>",
        ]
    )
    step = spans("postprocess", _kind("CHAIN", **{"output.value": reprs}), root)
    (one,) = interactions([root, found, step])
    assert [(d.id, d.text, d.score) for d in one.documents or ()] == [
        ("d2", _TEXTS[1], 4.5),
        ("d1", _TEXTS[0], 1.5),
    ]


def test_several_retrievals_are_hops_without_repeats(spans: Any) -> None:
    """Two queries give two hops; a document that both found counts once."""
    root = spans("ask", _chain())
    first = spans("search", _kind("RETRIEVER", **{"input.value": "a"}, **_flat(1, 2)), root)
    second = spans("search", _kind("RETRIEVER", **{"input.value": "b"}, **_flat(3, 2)), root)
    (one,) = interactions([root, first, second])
    assert [hop.query for hop in one.hops] == ["a", "b"]
    assert _ids(one.documents) == ["d1", "d2", "d3"]


def test_the_order_of_fused_lists_is_found_in_the_prompt(spans: Any) -> None:
    """Where no span states the final order, the prompt does."""
    root = spans("ask", _chain())
    first = spans("search", _kind("RETRIEVER", **_flat(1, 2)), root)
    second = spans("search", _kind("RETRIEVER", **_flat(3, 2)), root)
    call = spans("llm", _llm(_prompt(3, 1, 2), _ANSWER), root)
    (one,) = interactions([root, first, second, call])
    assert _ids(one.documents) == ["d3", "d1", "d2"]


def test_one_line_that_a_tool_returned_is_the_text_of_its_one_document(spans: Any) -> None:
    """Ids alone are recorded and the tool around the retrieval shows the text; of two documents it would not."""

    def asked(*ids: str) -> list[SpanRecord]:
        root = spans("agent", _kind("AGENT", **{"input.value": _QUESTION, "output.value": _ANSWER}))
        tool = spans("lookup", _kind("TOOL", **{"output.value": _TEXTS[0]}), root)
        flat = {f"retrieval.documents.{i}.document.id": name for i, name in enumerate(ids)}
        return [root, tool, spans("search", _kind("RETRIEVER", **flat), tool)]

    (one,) = interactions(asked("d1"))
    assert [(d.id, d.text) for d in one.documents or ()] == [("d1", _TEXTS[0])]
    (two,) = interactions(asked("d1", "d2"))
    assert [d.text for d in two.documents or ()] == [None, None]


def test_documents_that_the_prompt_left_out_did_not_reach_it(spans: Any) -> None:
    """An app that retrieves three and shows the model one used one; the hop keeps all."""
    root = spans("ask", _chain())
    found = spans("search", _kind("RETRIEVER", **_flat(1, 2, 3)), root)
    call = spans("llm", _llm(_prompt(2), _ANSWER), root)
    (one,) = interactions([root, found, call])
    assert _ids(one.documents) == ["d2"]
    assert _ids(one.hops[0].documents) == ["d1", "d2", "d3"]


def test_a_prompt_that_was_cut_takes_no_document_away(spans: Any) -> None:
    """Where the sender cut strings, a text that is not in the prompt may have been behind the cut."""
    root = spans("ask", _chain())
    found = spans(
        "search", _kind("RETRIEVER", **_flat(1, 2, 3), **{"output.value": _prompt(1, 2, 3)[:60]}), root
    )
    call = spans("llm", _llm(_prompt(1, 2, 3)[:60], _ANSWER), root)
    (one,) = interactions([root, found, call])
    assert _ids(one.documents) == ["d1", "d2", "d3"]


def test_evicted_attributes_leave_the_rest(spans: Any) -> None:
    """Documents may begin at any index; how many are gone shows as kept_ratio."""
    flat = {key.replace("documents.0.", "documents.3."): value for key, value in _flat(1).items()}
    root = spans("ask", _chain())
    found = spans("search", _kind("RETRIEVER", **flat), root, dropped_attributes=6)
    (one,) = interactions([root, found])
    assert _ids(one.documents) == ["d1"]
    assert one.kept_ratio == 0.25
    assert "documents: cut on the way" in one.missing


def test_masked_fields_are_missing(spans: Any) -> None:
    """``__REDACTED__`` is neither question, text nor answer."""
    root = spans("ask", _chain("__REDACTED__", "__REDACTED__"))
    flat = {
        "retrieval.documents.0.document.content": "__REDACTED__",
        "retrieval.documents.0.document.id": "d1",
    }
    found = spans("search", _kind("RETRIEVER", **flat, **{"input.value": "__REDACTED__"}), root)
    (one,) = interactions([root, found])
    assert (one.question, one.answer) == (None, None)
    assert [(d.id, d.text) for d in one.documents or ()] == [("d1", None)]
    assert {"question", "answer", "documents.text"} <= set(one.missing)


def test_an_interaction_that_failed_has_an_error_and_no_answer(spans: Any) -> None:
    """The failed model call's prompt is no answer, and the exception is named without its traceback."""
    event = SpanEvent(
        "exception", 0, {"exception.type": "openai.RateLimitError", "exception.message": "slow down"}
    )
    root = spans("ask", _kind("CHAIN", **{"input.value": _QUESTION}), status=2, events=(event,))
    found = spans("search", _kind("RETRIEVER", **_flat(1)), root)
    (one,) = interactions([root, found])
    assert one.answer is None
    assert one.error == "RateLimitError: slow down"
    assert not one.partial


def test_an_answer_with_an_error_is_partial(spans: Any) -> None:
    """What was streamed before the failure is there, and marked."""
    root = spans("ask", _chain(), status=2, status_message="CancelledError()")
    found = spans("search", _kind("RETRIEVER", **_flat(1)), root)
    (one,) = interactions([root, found])
    assert one.answer == _ANSWER
    assert one.partial


def test_a_rewritten_question_and_the_turns_before(spans: Any) -> None:
    """The question is what the user typed; the condensed one and the history are beside it."""
    before = (("user", "Who may borrow books?"), ("assistant", "Members."))
    root = spans("ask", _chain({"question": "And how long?"} and json.dumps({"question": "And how long?"})))
    condense = spans("condense", _llm("And how long?", _QUESTION, before), root)
    found = spans("search", _kind("RETRIEVER", **{"input.value": _QUESTION}, **_flat(1)), root)
    call = spans("llm", _llm(_prompt(1), _ANSWER, before), root)
    (one,) = interactions([root, condense, found, call])
    assert (one.question, one.rewritten_question) == ("And how long?", _QUESTION)
    assert one.history == (Turn("Who may borrow books?", "Members."),)


def test_a_search_query_of_an_agent_is_no_rewritten_question(spans: Any) -> None:
    """Words that a tool was called with are a query; the documents of each call are a hop."""
    root = spans(
        "agent",
        _kind(
            "AGENT",
            **{"input.value": json.dumps({"messages": [["user", _QUESTION]]}), "output.value": _ANSWER},
        ),
    )
    rows = json.dumps([{"id": "d1", "text": _TEXTS[0], "score": 0.9}])
    tool = spans(
        "search_kb",
        _kind("TOOL", **{"input.value": '{"query": "book loan period"}', "output.value": rows}),
        root,
    )
    (one,) = interactions([root, tool])
    assert one.rewritten_question is None
    assert [hop.query for hop in one.hops] == ["book loan period"]
    assert _ids(one.documents) == ["d1"]


def test_a_tool_around_a_retrieval_is_not_another(spans: Any) -> None:
    """A tool that wraps a retriever and returns its documents is the same retrieval."""
    root = spans("agent", _kind("AGENT", **{"input.value": _QUESTION, "output.value": _ANSWER}))
    rows = json.dumps([{"id": "d1", "text": _TEXTS[0], "score": 0.9}])
    tool = spans("search_kb", _kind("TOOL", **{"output.value": rows}), root, end_ns=root.end_ns - 1)
    inner = spans("R", _kind("RETRIEVER", **_flat(1)), tool)
    (one,) = interactions([root, tool, inner])
    assert len(one.hops) == 1


def test_several_interactions_in_one_trace(spans: Any) -> None:
    """A span that holds two whole interactions and asks nothing itself is none of its own."""
    batch = spans("batch", _kind("CHAIN"))
    turns = []
    for number, question in ((1, "How long?"), (2, "What is the fine?")):
        root = spans("ask", _chain(question, f"answer {number}"), batch)
        turns += [root, spans("search", _kind("RETRIEVER", **_flat(number)), root)]
    found = interactions([batch, *turns])
    assert [(one.question, one.answer, _ids(one.documents)) for one in found] == [
        ("How long?", "answer 1", ["d1"]),
        ("What is the fine?", "answer 2", ["d2"]),
    ]


def test_sub_questions_of_one_question_are_one_interaction(spans: Any) -> None:
    """An engine that asks itself parts of the question is one interaction with several hops."""
    root = spans("ask", _chain())
    parts = []
    for number in (1, 2):
        inner = spans("sub", _chain(f"part {number}?", f"part answer {number}"), root)
        parts += [inner, spans("search", _kind("RETRIEVER", **_flat(number)), inner)]
    (one,) = interactions([root, *parts])
    assert (one.question, one.answer) == (_QUESTION, _ANSWER)
    assert len(one.hops) == 2


def test_runs_of_a_batch_that_hang_below_one_of_them_are_interactions_of_their_own(spans: Any) -> None:
    """A run that retrieves, asks and answers for itself, and whose answer no other call is told, is no step."""

    def run(number: int, question: str, parent: SpanRecord | None) -> list[SpanRecord]:
        root = spans("chain", _chain(question, f"Answer {number}."), parent)
        found = spans("search", _kind("RETRIEVER", **{"input.value": question}, **_flat(number)), root)
        prompt = f"[1] {_TEXTS[number - 1]}\n\nQuestion: {question}"
        return [root, found, spans("llm", _llm(prompt, f"Answer {number}."), root)]

    first = run(1, "How long?", None)
    found = interactions([*first, *run(2, "What is the fine?", first[0])])
    assert [(one.question, one.answer, _ids(one.documents)) for one in found] == [
        ("How long?", "Answer 1.", ["d1"]),
        ("What is the fine?", "Answer 2.", ["d2"]),
    ]
    part = run(2, "What is the fine?", first[0])
    whole = spans("llm", _llm("Put together: Answer 2.", "Answer 1."), first[0])
    (one,) = interactions([*first, *part, whole])
    assert len(one.hops) == 2


def test_a_trace_whose_root_is_plain_or_lost(spans: Any) -> None:
    """Retrieval and model call side by side are one interaction; the model call stands for it."""
    http = spans("POST /ask", {"http.route": "/ask"}, scope="fastapi")
    found = spans("search", _kind("RETRIEVER", **{"input.value": _QUESTION}, **_flat(1, 2)), http)
    call = spans("llm", _llm(_prompt(1, 2), _ANSWER), http)
    for given in ([http, found, call], [found, call]):
        (one,) = interactions(given)
        assert (one.question, one.answer, _ids(one.documents)) == (_QUESTION, _ANSWER, ["d1", "d2"])
        assert one.entry_span_id == call.span_id


def test_a_step_that_works_on_what_was_found_states_no_question(spans: Any) -> None:
    """A splitter behind the retrieval has a text for input and a text for output: a document, both times."""
    found = spans("search", _kind("RETRIEVER", **{"input.value": _QUESTION}, **_flat(1)))
    split = spans("split", _chain({"text": _TEXTS[0]}, [_TEXTS[0]]))
    call = spans("llm", _llm(f"{_TEXTS[0]}\n---\nQuery: {_QUESTION}\nAnswer: ", _ANSWER))
    (one,) = interactions([found, split, call])
    assert (one.question, one.answer) == (_QUESTION, _ANSWER)


def test_the_repr_of_an_object_is_no_answer(spans: Any) -> None:
    """An output that is an object's description leaves the answer to the model call below."""
    root = spans("run", _chain(_QUESTION, "StopEvent(result=AgentOutput(response=ChatMessage(role=1)))"))
    found = spans("search", _kind("RETRIEVER", **_flat(1)), root)
    (one,) = interactions([root, found, spans("llm", _llm(_prompt(1), _ANSWER), root)])
    assert one.answer == _ANSWER
    said = spans("run", _chain(_QUESTION, "F(x) = 3 holds, as in Table(1)."))
    (one,) = interactions([said, spans("search", _kind("RETRIEVER", **_flat(1)), said)])
    assert one.answer == "F(x) = 3 holds, as in Table(1)."


def test_two_turns_side_by_side_are_two_interactions(spans: Any) -> None:
    """Without a span around each turn, a new question after an answer begins another."""
    pieces = []
    for number, question in ((1, "How long may books be kept?"), (2, "What does a day late cost?")):
        pieces.append(spans("search", _kind("RETRIEVER", **{"input.value": question}, **_flat(number))))
        pieces.append(
            spans(
                "llm", _llm(f"Context:\n[1] {_TEXTS[number - 1]}\n\nQuestion: {question}", f"answer {number}")
            )
        )
    found = interactions(pieces)
    assert [(one.question, one.answer) for one in found] == [
        ("How long may books be kept?", "answer 1"),
        ("What does a day late cost?", "answer 2"),
    ]


def test_a_span_that_arrives_twice_counts_once(spans: Any) -> None:
    """A span sent again, and one sent first half and then whole, is one span."""
    root = spans("ask", _chain())
    found = spans("search", _kind("RETRIEVER", **_flat(1, 2)), root)
    half = replace(root, attributes={"openinference.span.kind": "CHAIN"}, end_ns=0)
    (one,) = interactions([half, found, found, root])
    assert (one.question, len(one.hops)) == (_QUESTION, 1)


def test_what_retrieves_nothing_is_no_interaction(spans: Any) -> None:
    """An evaluation, an index being built, an agent being made, a chat without retrieval give none."""
    judge = spans("judge", _kind("EVALUATOR", **{"input.value": "q", "output.value": "1"}))
    inner = spans("search", _kind("RETRIEVER", **_flat(1)), judge)
    embedding = spans("embed", _kind("EMBEDDING"))
    made = spans("create_agent x", {"gen_ai.operation.name": "create_agent"})
    chain = spans("chain", _chain())
    chat = spans("llm", _llm("hello", "hi"), chain)
    assert interactions([judge, inner, embedding, made, chain, chat]) == []


def test_an_agent_that_retrieved_nothing_is_one(spans: Any) -> None:
    """An agent could have retrieved: that it did not is what a user wants to see."""
    (one,) = interactions(
        [spans("agent", _kind("AGENT", **{"input.value": _QUESTION, "output.value": _ANSWER}))]
    )
    assert one.documents is None


def test_an_agent_inside_a_workflow_that_failed_before_it_searched(spans: Any) -> None:
    """The workflow around the agent says nothing itself; the interaction and its error are there."""
    flow = spans("workflow", {"gen_ai.operation.name": "invoke_workflow"})
    agent = spans("agent", {"gen_ai.operation.name": "invoke_agent"}, flow)
    failed = spans("llm", _llm(_QUESTION, ""), agent, status=2, status_message="refused")
    (one,) = interactions([flow, agent, failed])
    assert (one.question, one.answer, one.documents, one.error) == (_QUESTION, None, None, "refused")


def test_a_tools_query_is_the_question_where_no_model_call_was_recorded(spans: Any) -> None:
    """Nothing else tells of the question then; beside a model call it is what the model wrote."""
    agent = spans("agent", {"gen_ai.operation.name": "invoke_agent"})
    tool = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.call.arguments": json.dumps({"query": _QUESTION}),
        "gen_ai.tool.call.result": json.dumps([{"id": "d1", "text": _TEXTS[0]}]),
    }
    found = [agent, spans("search", tool, agent)]
    (one,) = interactions(found)
    assert (one.question, _ids(one.documents)) == (_QUESTION, ["d1"])
    assert one.sources["question"] == "search:gen_ai.tool.call.arguments"
    asked = spans("llm", _llm("And on Sundays?\nPlease look.", "Three weeks."), agent)
    (one,) = interactions([*found, asked])
    assert one.question != _QUESTION


def test_numbered_rules_in_a_prompt_are_no_documents(spans: Any) -> None:
    """Texts that the retrieval left out are taken from between the fences, their metadata left behind."""
    rules = "Some rules to follow:\n1. Never refer to the context.\n2. Answer only what was asked."
    nodes = f"source: rules.md\npage: 1\n\n{_TEXTS[0]}\n\nsource: fines.md\npage: 2\n\n{_TEXTS[1]}"
    fence = "-" * 21
    prompt = f"Context information is below.\n{fence}\n{nodes}\n{fence}\nQuery: {_QUESTION}\nAnswer: "
    root = spans("ask", _chain())
    ids = {f"retrieval.documents.{i}.document.id": f"d{i + 1}" for i in range(2)}
    found = spans("search", _kind("RETRIEVER", **ids), root)
    (one,) = interactions([root, found, spans("llm", _llm(prompt, _ANSWER, (("system", rules),)), root)])
    assert [(d.id, d.text) for d in one.documents or ()] == [("d1", _TEXTS[0]), ("d2", _TEXTS[1])]
    (one,) = interactions([root, found, spans("llm", _llm("Now.", _ANSWER, (("system", rules),)), root)])
    assert [d.text for d in one.documents or ()] == [None, None]


def test_traces_of_one_session_are_stitched_on_request_only(spans: Any) -> None:
    """One trace for each step: together they are one interaction if the user says so."""
    other = type(spans)("1af7651916cd43dd8448eb211c80319c")
    found = spans("search", _kind("RETRIEVER", **{"session.id": "s", "input.value": _QUESTION}, **_flat(1)))
    late = {"start_ns": found.end_ns + 10**12, "end_ns": found.end_ns + 10**12 + 1}
    call = replace(other("llm", _llm(_prompt(1), _ANSWER) | {"session.id": "s"}, **late), span_id="f" * 16)
    assert [one.answer for one in interactions([found, call])] == [None]
    (one,) = interactions([found, call], stitch=True)
    assert (one.question, one.answer, one.session) == (_QUESTION, _ANSWER, "s")


def test_a_lone_model_call_is_joined_to_the_retrieval_that_it_shows(spans: Any) -> None:
    """A call in a trace of its own belongs to the one retrieval whose documents it was given; two fit: none does."""

    def lone(number: int, begins: int) -> SpanRecord:
        maker = type(spans)(f"{number:032x}")
        span = maker("llm", _llm(_prompt(1, 2), _ANSWER), start_ns=begins, end_ns=begins + 1)
        return replace(span, span_id=f"{number:016x}")

    found = spans("search", _kind("RETRIEVER", **{"input.value": _QUESTION}, **_flat(1, 2)))
    soon = found.end_ns + 1_000_000
    (one,) = interactions([found, lone(7, soon)])
    assert one.answer == _ANSWER
    assert [i.answer for i in interactions([found, lone(7, soon), lone(8, soon)])] == [None]
    assert [i.answer for i in interactions([found, lone(7, found.start_ns - 1)])] == [None]


def test_several_retrievals_of_one_lone_call_are_hops_of_one_interaction(spans: Any) -> None:
    """Each in a trace of its own, each shown by the one call; two that found the same could be two requests."""

    def alone(number: int, name: str, attributes: dict[str, Any], begins: int) -> SpanRecord:
        span = type(spans)(f"{number:032x}")(name, attributes, start_ns=begins, end_ns=begins + 1)
        return replace(span, span_id=f"{number:016x}")

    first = alone(1, "search", _kind("RETRIEVER", **{"input.value": "How long?"}, **_flat(1)), 10)
    second = alone(2, "search", _kind("RETRIEVER", **{"input.value": "What fine?"}, **_flat(2)), 11)
    call = alone(3, "llm", _llm(_prompt(2, 1), _ANSWER), 1_000_000)
    (one,) = interactions([first, second, call])
    assert (one.question, one.answer, _ids(one.documents)) == (_QUESTION, _ANSWER, ["d2", "d1"])
    assert (one.trace_id, one.entry_span_id) == (call.trace_id, call.span_id)
    same = alone(2, "search", _kind("RETRIEVER", **{"input.value": "How long?"}, **_flat(1)), 11)
    assert [i.answer for i in interactions([first, same, call])] == [None, None]


def test_a_lone_call_that_failed_says_why_unless_another_answered(spans: Any) -> None:
    """The error belongs to the retrieval whose documents it was given; a retry that answered counts instead."""

    def lone(number: int, attributes: dict[str, Any], status: int) -> SpanRecord:
        span = type(spans)(f"{number:032x}")("llm", attributes, start_ns=begins, end_ns=begins, status=status)
        return replace(span, span_id=f"{number:016x}", status_message="refused" if status == 2 else "")

    found = spans("search", _kind("RETRIEVER", **{"input.value": _QUESTION}, **_flat(1)))
    begins = found.end_ns + 1
    failed, answered = lone(7, _llm(_prompt(1), ""), 2), lone(8, _llm(_prompt(1), _ANSWER), 1)
    (one,) = interactions([found, failed])
    assert (one.answer, one.error) == (None, "refused")
    (one,) = interactions([found, failed, answered])
    assert (one.answer, one.error) == (_ANSWER, None)


def test_a_model_call_of_which_only_the_log_record_came(spans: Any) -> None:
    """Its span was lost: the record's messages answer the retrieval, which stands for the interaction."""
    found = spans("search", _kind("RETRIEVER", **{"input.value": _QUESTION}, **_flat(1)))
    messages = {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": [{"role": "user", "parts": [{"type": "text", "content": _prompt(1)}]}],
        "gen_ai.output.messages": [{"role": "assistant", "parts": [{"type": "text", "content": _ANSWER}]}],
    }
    name = "gen_ai.client.inference.operation.details"
    log = LogRecord("f" * 32, "e" * 16, name, attributes=messages, time_ns=found.end_ns + 1)
    (one,) = interactions([found], [log])
    assert (one.answer, one.entry_span_id) == (_ANSWER, found.span_id)


def test_an_exception_without_an_answer_is_an_error_whatever_the_status(spans: Any) -> None:
    """Some set no error status on a span that raised; an exception that was handled is no failure."""
    raised = (SpanEvent("exception", 0, {"exception.type": "a.Refused", "exception.message": "no"}),)

    def asked(**output: str) -> list[SpanRecord]:
        root = spans("ask", _kind("CHAIN", **{"input.value": _QUESTION, **output}), events=raised)
        return [root, spans("search", _kind("RETRIEVER", **_flat(1)), root)]

    (one,) = interactions(asked())
    assert one.error == "Refused: no"
    (one,) = interactions(asked(**{"output.value": _ANSWER}))
    assert (one.error, one.partial) == (None, False)


def test_documents_that_a_list_left_out_are_found_in_the_prompt(spans: Any) -> None:
    """A count says how many there were; the prompt numbers as many and begins with those that are listed."""
    listed = [{"content": text} for text in _TEXTS[:2]]
    attributes = {
        "gen_ai.operation.name": "retrieval",
        "gen_ai.retrieval.query.text": _QUESTION,
        "gen_ai.retrieval.document_count": 3,
        "gen_ai.retrieval.documents": json.dumps(listed),
    }
    root = spans("ask", _chain())
    found, call = spans("search", attributes, root), spans("llm", _llm(_prompt(1, 2, 3), _ANSWER), root)
    (one,) = interactions([root, found, call])
    assert [d.text for d in one.documents or ()] == list(_TEXTS)
    assert one.kept_ratio == 1.0
    (one,) = interactions([root, found])
    assert [d.text for d in one.documents or ()] == list(_TEXTS[:2])
    assert one.kept_ratio == 2 / 3
    assert any(missing.startswith("documents: cut") for missing in one.missing)


def test_a_distance_is_never_a_score(spans: Any) -> None:
    """Numbers of a vector store that rise from the best hit on are distances, also under the app's name for them."""
    root = spans(
        "ask",
        {"function.args": f"({_QUESTION!r},)", "gen_ai.output.messages": [[], _ANSWER]},
        scope="openlit",
    )
    rows = [{"id": "d1", "text": _TEXTS[0], "score": 0.2}, {"id": "d2", "text": _TEXTS[1], "score": 0.7}]
    step = spans(
        "retrieve",
        {"function.args": f"({_QUESTION!r},)", "gen_ai.output.messages": rows},
        root,
        scope="openlit",
        end_ns=root.end_ns - 1,
    )
    store = spans("GET kb", {"db.system.name": "chroma", "db.operation.name": "GET"}, step)
    (one,) = interactions([root, step, store])
    assert [(d.score, d.distance) for d in one.documents or ()] == [(None, 0.2), (None, 0.7)]


def test_documents_without_ids_are_known_by_their_content(spans: Any) -> None:
    """No id is made up: a hash of the text stands in and says so; an id in the metadata is one."""
    root = spans("ask", _chain())
    flat = {
        "retrieval.documents.0.document.content": _TEXTS[0],
        "retrieval.documents.1.document.content": _TEXTS[1],
        "retrieval.documents.1.document.metadata": '{"doc_id": "d2", "score": 0.5}',
    }
    (one,) = interactions([root, spans("search", _kind("RETRIEVER", **flat), root)])
    first, second = one.documents or ()
    assert first.id_source == "content_hash"
    assert first.score is None
    assert (second.id, second.id_source, second.score) == ("d2", "metadata", 0.5)


def test_an_explanation_says_what_is_missing_and_what_to_do(spans: Any) -> None:
    """The lines for people name the dialect, each field with its place, and a remedy for each gap."""
    root = spans("ask", _chain())
    silent = spans("search", _kind("RETRIEVER", **{"input.value": _QUESTION}), root)
    (one,) = interactions([root, silent])
    lines = explain(one)
    assert lines[0] == "dialect: openinference"
    assert "question: 27 characters from ask:input.value" in lines
    assert any("ragtrace.record_documents(documents)" in line for line in lines if line.startswith("missing"))

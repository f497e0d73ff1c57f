"""What the prompt tells of the documents: their order, and texts that the retrieval span left out.

Only what is certain is taken: a document is placed where its own text stands, a text is taken only where the
prompt numbers, labels or separates exactly as many pieces as were retrieved.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from ragtrace.documents import content_id
from ragtrace.extract.known import ranked
from ragtrace.model import RetrievedDocument

_MAX_WORK = 200_000_000
"""Documents times characters of the prompt: beyond, their order is not looked for."""
_MAX_NUMBERED = 999
_FRAGMENT = 48
"""So many characters at its beginning are enough to say that a document is there, cut or not."""
_WORDS = "document|doc|source|context|passage|chunk|snippet|result|reference|文档|资料|片段|参考|来源|文献"
_STYLES = (
    *(
        r"\[{n}\]",
        r"【{n}】",
        r"［{n}］",
        r"\[\[{n}\]\]",
        r"\[\^{n}\]",
        r"\({n}\)",
        r"（{n}）",
    ),
    *(rf"(?:{_WORDS})\s*#?\s*{{n}}\s*[:：.、)\]-]", rf"[\[【](?:{_WORDS})\s*#?\s*{{n}}[\]】]\s*[:：]?"),
)
_NUMBERED = tuple(
    re.compile(rf"^[ \t]*{style.format(n='([0-9]{1,3})')}[ \t]*", re.MULTILINE | re.IGNORECASE)
    for style in _STYLES
)
"""Marks at the beginning of a line that number the documents of a prompt."""
_COUNTED = re.compile(r"^[ \t]*([0-9]{1,3})[.)、．][ \t]*", re.MULTILINE)
"""Marks that number documents only where nothing else stands: rules for the model are numbered so too."""
_FENCE = re.compile(r"^[ \t]*-{10,}[ \t]*$", re.MULTILINE)
_HEADER_LINE = re.compile(r"[\w .-]{1,64}: .*")
_SEPARATORS = ("\n\n---\n\n", "\n---\n", "\n\n", "\n")
_TAGS = re.compile(
    r"<(document|doc|source|context|passage|chunk|snippet)\b([^<>]*)>\s*(.*?)\s*</\1>",
    re.DOTALL | re.IGNORECASE,
)
_CONTEXT_NAMES = re.compile(
    r"context|documents?$|docs$|passages?$|chunks?$|snippets?$|sources?$|资料|文档", re.IGNORECASE
)
_BLANK_LINE = re.compile(r"\n[ \t]*\n")


# --- order ------------------------------------------------------------------------------------------------


def in_prompt_order(
    documents: Sequence[RetrievedDocument], texts: Sequence[str], *, complete: bool
) -> tuple[RetrievedDocument, ...]:
    """``documents`` in the order in which their texts stand in the prompt's messages ``texts``.

    Those that are not there did not reach the prompt and are left out, if ``complete`` says that the prompt
    was not cut. Unchanged where a document has no text, or none can be placed.
    """
    if not documents or not texts or any(d.text is None for d in documents):
        return ranked(documents)
    if len(documents) * sum(map(len, texts)) > _MAX_WORK:
        return ranked(documents)
    places = _places([d.text or "" for d in documents], texts)
    if all(place is None for place in places):
        return ranked(documents)
    if None in places and not complete:
        return ranked(documents)
    placed = [(place, d) for place, d in zip(places, documents, strict=True) if place is not None]
    return ranked([d for _, d in sorted(placed, key=lambda pair: pair[0])])


def _places(wanted: Sequence[str], texts: Sequence[str]) -> list[tuple[int, int] | None]:
    """For each text wanted the message and the character where it stands."""
    rows = [[_find(text, message) for text in wanted] for message in texts]
    full = [index for index, row in enumerate(rows) if None not in row]
    if full:
        # Earlier turns of a conversation may quote the same documents: the last message that has all counts.
        return [None if at is None else (full[-1], at) for at in rows[full[-1]]]
    return [
        next(((index, at) for index, row in enumerate(rows) if (at := row[position]) is not None), None)
        for position in range(len(wanted))
    ]


def _find(text: str, message: str) -> int | None:
    """Where ``text`` stands in ``message``: as it is, with other white space, as JSON, or its beginning."""
    at = message.find(text)
    if at >= 0:
        return at
    message = _squeezed(message)
    text = _squeezed(text)
    for form in (text, *_json_forms(text), text[:_FRAGMENT] if len(text) > _FRAGMENT else text):
        if form and (at := message.find(form)) >= 0:
            return at
    return None


def _json_forms(text: str) -> tuple[str, ...]:
    plain, escaped = json.dumps(text, ensure_ascii=False)[1:-1], json.dumps(text)[1:-1]
    return tuple(form for form in (plain, escaped) if form != text)


@lru_cache(maxsize=64)
def _squeezed(text: str) -> str:
    return " ".join(text.split())


# --- texts ------------------------------------------------------------------------------------------------


def with_texts(
    documents: Sequence[RetrievedDocument],
    bounded: Iterable[str],
    messages: Iterable[str],
) -> tuple[RetrievedDocument, ...]:
    """``documents``, of which none has a text, with the texts that the prompt holds; unchanged where unsure.

    ``bounded`` are strings that hold the documents and nothing else (a template's variable, a tool's result);
    in ``messages`` they stand among other text, so the last one's end is looked for.
    """
    ids = [d.id for d in documents]
    messages = list(messages)
    for text in (*bounded, *(fenced for text in messages if (fenced := _fenced(text)) is not None)):
        pieces = (
            _labelled(text, ids)
            or _numbered(text, len(ids))
            or _tagged(text, ids)
            or _separated(text, len(ids))
            or _alone(text, len(ids))
        )
        if pieces is not None:
            return _filled(documents, pieces)
    for text in messages:
        pieces = (
            _labelled(text, ids, bounded=False)
            or _numbered(text, len(ids), bounded=False)
            or _tagged(text, ids)
        )
        if pieces is not None:
            return _filled(documents, pieces)
    return tuple(documents)


def with_rest(
    documents: Sequence[RetrievedDocument], total: int, bounded: Iterable[str], messages: Iterable[str]
) -> tuple[RetrievedDocument, ...]:
    """``documents``, the first of ``total``, with the others as the prompt numbers them.

    Unchanged where the prompt does not number as many, beginning with those that are known.
    """
    if not len(documents) < total <= _MAX_NUMBERED or any(d.text is None for d in documents):
        return tuple(documents)
    known = [_squeezed(d.text or "") for d in documents]
    for texts, is_bounded in ((bounded, True), (messages, False)):
        for text in texts:
            pieces = _numbered(text, total, bounded=is_bounded)
            if pieces and None not in pieces and [_squeezed(p or "") for p in pieces[: len(known)]] == known:
                rest = (
                    RetrievedDocument(content_id(p or ""), rank, p, "content_hash")
                    for rank, p in enumerate(pieces[len(known) :], len(known) + 1)
                )
                return (*documents, *rest)
    return tuple(documents)


def context_variables(variables: Mapping[str, object]) -> list[str]:
    """The texts of those variables whose names say that they hold documents."""
    return [
        value for name, value in variables.items() if isinstance(value, str) and _CONTEXT_NAMES.search(name)
    ]


def _filled(
    documents: Sequence[RetrievedDocument], pieces: Sequence[str | None]
) -> tuple[RetrievedDocument, ...]:
    return tuple(replace(d, text=piece or None) for d, piece in zip(documents, pieces, strict=True))


def _numbered(text: str, count: int, *, bounded: bool = True) -> list[str | None] | None:
    """Pieces behind ``[1]`` … ``[count]``, each once, at the beginnings of lines."""
    for style in (*_NUMBERED, *((_COUNTED,) if bounded else ())):
        marks = list(style.finditer(text))
        if [int(mark.group(1)) for mark in marks] == list(range(1, count + 1)):
            return _between(text, marks, bounded)
    return None


def _labelled(text: str, ids: Sequence[str], *, bounded: bool = True) -> list[str | None] | None:
    """Pieces behind the documents' own ids, each once, at the beginnings of lines."""
    if not all(ids):
        return None
    names = "|".join(re.escape(name) for name in sorted(ids, key=len, reverse=True))
    marks = list(
        re.finditer(
            rf"^[ \t]*(?:[-*] )?[\[(【]?(?:id\s*[:=]\s*)?({names})(?:[\])】]:?|:)[ \t]*", text, re.MULTILINE
        )
    )
    if sorted(mark.group(1) for mark in marks) != sorted(ids):
        return None
    found = dict(zip((mark.group(1) for mark in marks), _between(text, marks, bounded), strict=True))
    return [found[name] for name in ids]


def _between(text: str, marks: Sequence[re.Match[str]], bounded: bool) -> list[str | None]:
    """The pieces between marks. ``bounded``: nothing but the last piece stands behind the last mark."""
    ends = [mark.start() for mark in marks[1:]]
    pieces: list[str | None] = [text[m.end() : end].strip() for m, end in zip(marks, ends, strict=False)]
    tail = text[marks[-1].end() :]
    return [*pieces, tail.strip() if bounded else _up_to_blank(tail, pieces)]


def _up_to_blank(tail: str, pieces: Sequence[str | None]) -> str | None:
    """The last piece ends at the first blank line, if there is one and none of the others has one inside."""
    if any(piece is not None and _BLANK_LINE.search(piece) for piece in pieces):
        return None
    end = _BLANK_LINE.search(tail)
    return tail[: end.start()].strip() if end else (tail.strip() if "\n" not in tail.strip() else None)


def _tagged(text: str, ids: Sequence[str]) -> list[str | None] | None:
    """``<document …>text</document>``, as many as were retrieved; by the ids in the tags where all are."""
    found = _TAGS.findall(text)
    if len(found) != len(ids):
        return None
    by_id = {
        name: inner
        for name in ids
        for _, attributes, inner in found
        if re.search(rf"\b{re.escape(name)}\b", attributes)
    }
    if len(by_id) == len(ids):
        return [by_id[name] for name in ids]
    return [inner for _, _, inner in found]


def _alone(text: str, count: int) -> list[str | None] | None:
    """One line of plain text, where one document was retrieved."""
    line = text.strip()
    return [line] if count == 1 and line and "\n" not in line and line[0] not in "[{(<" else None


def _separated(text: str, count: int) -> list[str | None] | None:
    for separator in _SEPARATORS:
        pieces = [piece.strip() for piece in text.strip().split(separator)]
        if len(pieces) == count and count > 1 and all(pieces):
            return list(pieces)
    return None


def _fenced(text: str) -> str | None:
    """What stands between two lines of dashes, as LlamaIndex puts its nodes, without their metadata."""
    fences = list(_FENCE.finditer(text))
    if len(fences) != 2:
        return None
    blocks = _BLANK_LINE.split(text[fences[0].end() : fences[1].start()].strip())
    return "\n\n".join(block for block in blocks if not all(map(_HEADER_LINE.fullmatch, block.splitlines())))

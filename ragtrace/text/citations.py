"""Which documents an answer cites, occurrence by occurrence.

All written forms are read (:mod:`ragtrace.text.markers`) and resolved against the documents that were in the
prompt. Numbers count documents from 1, unless the answer's numbers only make sense as the documents' own ids.
Markers in code, links that lead elsewhere and the source list at the end are left alone.

``(1)`` is read as a citation only when the answer has no marker of another form, every such number ends a
clause, and each is the number of a document: in any other text it is a count or the number of a step.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from urllib.parse import unquote

from ragtrace.model import Citation, GivenCitation, MarkerStatus, RetrievedDocument
from ragtrace.text.markers import Form, Marker, find_markers
from ragtrace.text.structure import LineKind, code_spans, lines

_TITLE_KEYS = (
    "title",
    "source",
    "file_name",
    "filename",
    "name",
    "document_title",
    "url",
    "link",
    "path",
    "file_path",
)
_URL_KEYS = ("url", "source", "link", "source_url", "uri", "href")


def parse(
    answer: str,
    documents: Sequence[RetrievedDocument] | None,
    given: Sequence[GivenCitation] = (),
    *,
    first: int = 1,
) -> tuple[Citation, ...]:
    """Every citation in ``answer``, left to right; a marker that names several documents gives one for each.

    ``documents`` are those of the prompt, in its order (``None`` = not recorded: every marker is
    dangling); ``given`` are citations that the app recorded itself: each stands at the end of the text
    that it covers, and replaces the written markers inside that text. ``first`` is the number that the
    app gives its first document.
    """
    markers = [m for m in find_markers(_blank(answer)) if not _covered(m, given)]
    if not markers and not given:
        return ()
    index = _Labels(documents or (), first)
    resolved = [*_given(answer, given, index)]
    by_id = index.numbers_are_ids(markers)
    for marker in _admitted(markers, index):
        resolved.extend(_resolve(marker, index, numbers_are_ids=by_id))
    return tuple(sorted(resolved, key=lambda citation: (citation.start, citation.end)))


def strip(answer: str, citations: Sequence[Citation]) -> str:
    """``answer`` without its markers; the space before a marker goes with it."""
    kept, position = [], 0
    for start, end in sorted({(c.start, c.end) for c in citations if c.end > c.start}):
        if start >= position:
            kept.append(answer[position:start].rstrip(" \u3000"))
            position = end
    return "".join([*kept, answer[position:]])


class _Labels:
    """The ways in which documents can be named, each mapped to ranks."""

    def __init__(self, documents: Sequence[RetrievedDocument], first: int) -> None:
        self._first = first
        self._count = len(documents)
        self._ids: dict[str, list[int]] = {}
        self._titles: dict[str, list[int]] = {}
        self._urls: dict[str, list[int]] = {}
        for rank, document in enumerate(documents, start=1):
            own_id = document.id if document.id_source in ("given", "metadata") else ""
            _add(self._ids, _fold(own_id), rank)
            for key in _TITLE_KEYS:
                _add(self._titles, _fold(_basename(document.metadata.get(key))), rank)
                _add(self._titles, _fold(document.metadata.get(key)), rank)
            for url in (*(document.metadata.get(key) for key in _URL_KEYS), own_id):
                _add(self._urls, _url(url), rank)
        self._shapes = {_shape(label) for label in self._ids}

    def by_number(self, label: str) -> list[int]:
        """The rank with that number, as a list of none or one."""
        rank = int(label) - self._first + 1
        return [rank] if 1 <= rank <= self._count else []

    def by_name(self, label: str) -> list[int]:
        """The ranks of the documents with that id, title or file name."""
        folded = _fold(re.sub(r"^(?:doc(?:ument)?[_ ]?)?id\s*[:：=]\s*", "", label, flags=re.IGNORECASE))
        return self._ids.get(folded) or self._titles.get(folded) or self._urls.get(_url(label)) or []

    def by_url(self, url: str) -> list[int]:
        """The ranks of the documents at that address."""
        return self._urls.get(_url(url), [])

    def looks_like_id(self, label: str) -> bool:
        """Whether ``label`` has the shape of the documents' ids (``doc-99`` beside ``doc-1``), which no
        plain word has."""
        return _shape(_fold(label)) in self._shapes and any(c.isdigit() or c in "-_./:#" for c in label)

    def numbers_are_ids(self, markers: Sequence[Marker]) -> bool:
        """Whether the answer's numbers are ids: some are no document's number, all are ids."""
        labels = {label for m in markers if m.form is Form.NUMBERED for label in m.labels}
        return any(not self.by_number(n) for n in labels) and all(_fold(n) in self._ids for n in labels)


def _admitted(markers: Sequence[Marker], index: _Labels) -> Iterator[Marker]:
    """Drop what only looks like a citation."""
    kept = [m for m in markers if m.form is not Form.PARENTHESISED and _is_citation(m, index)]
    bare = [m for m in markers if m.form is Form.PARENTHESISED]
    if not kept and all(index.by_number(label) for m in bare for label in m.labels):
        kept = bare
    return iter(kept)


def _is_citation(marker: Marker, index: _Labels) -> bool:
    match marker.form:
        case Form.LINK:
            return bool(index.by_url(marker.url or "")) or _names_document(marker.labels[0], index)
        case Form.BRACKETED:
            return all(_names_document(label, index) for label in _parts(marker, index))
        case _:
            return True


def _names_document(label: str, index: _Labels) -> bool:
    return bool(index.by_name(label)) or index.looks_like_id(label)


def _parts(marker: Marker, index: _Labels) -> tuple[str, ...]:
    """The labels of ``[doc-1, doc-2]``; a title that holds a comma stays whole."""
    if marker.form is not Form.BRACKETED or index.by_name(marker.labels[0]):
        return marker.labels
    return tuple(
        label.lstrip("^@#") for part in re.split(r"[,;，；、]", marker.labels[0]) if (label := part.strip())
    )


def _resolve(marker: Marker, index: _Labels, *, numbers_are_ids: bool) -> Iterator[Citation]:
    for label in _parts(marker, index):
        if marker.form is Form.LINK and marker.url:
            ranks = index.by_url(marker.url) or index.by_name(label)
        elif label.isdecimal() and len(label) <= 3 and not numbers_are_ids:
            ranks = index.by_number(label)
        else:
            ranks = index.by_name(label)
        yield _citation(label, marker.start, marker.end, ranks)


def _given(answer: str, given: Sequence[GivenCitation], index: _Labels) -> Iterator[Citation]:
    for citation in given:
        end = len(answer) if citation.end is None else max(0, min(citation.end, len(answer)))
        label = str(citation.document)
        ranks = index.by_number(label) if isinstance(citation.document, int) else index.by_name(label)
        start = end
        if citation.start is not None and (inside := _written_inside(answer, citation.start, end)):
            start = inside
        yield _citation(label, start, end, ranks)


def _written_inside(answer: str, start: int, end: int) -> int | None:
    """Where the marker that ends the covered text begins, if the covered text ends with one."""
    markers = [m for m in find_markers(answer[:end]) if m.start >= start and m.end == end]
    return markers[0].start if markers else None


def _covered(marker: Marker, given: Sequence[GivenCitation]) -> bool:
    return any(
        c.start is not None and c.end is not None and c.start <= marker.start and marker.end <= c.end
        for c in given
    )


def _citation(label: str, start: int, end: int, ranks: Sequence[int]) -> Citation:
    status: MarkerStatus = "dangling" if not ranks else "resolved" if len(ranks) == 1 else "ambiguous"
    return Citation(label, start, end, tuple(ranks) if status == "resolved" else (), status)


def _blank(answer: str) -> str:
    """``answer`` with code and source-list lines blanked, every other character where it was."""
    chars = list(answer)
    sources = [(line.start, line.end) for line in lines(answer) if line.kind is LineKind.SOURCE]
    for start, end in [*code_spans(answer), *sources]:
        chars[start:end] = [char if char == "\n" else "\0" for char in chars[start:end]]
    return "".join(chars)


def _add(index: dict[str, list[int]], label: str, rank: int) -> None:
    if label and rank not in index.setdefault(label, []):
        index[label].append(rank)


def _fold(label: object) -> str:
    return (
        " ".join(str(label).split()).casefold()
        if isinstance(label, str | int) and not isinstance(label, bool)
        else ""
    )


def _basename(value: object) -> str | None:
    return re.split(r"[\\/]", value.rstrip("/"))[-1] if isinstance(value, str) else None


def _url(value: object) -> str:
    if not isinstance(value, str):
        return ""
    plain = unquote(value.strip()).partition("#")[0].rstrip("/")
    return re.sub(r"^https?://(?:www\.)?", "", plain, flags=re.IGNORECASE).casefold()


def _shape(label: str) -> str:
    """``doc-12`` → ``a-0``: runs of letters and of digits, whatever they are."""
    return re.sub(r"\d+", "0", re.sub(r"[^\W\d_]+", "a", label))

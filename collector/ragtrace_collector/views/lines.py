"""Lines of text for a terminal: cut or wrapped by cells, where a Chinese character takes two.

Rich wraps at spaces only, so a Chinese sentence would be pushed down whole or cut in the middle of a mark.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

_ELLIPSIS = "…"
_STAYS_WITH_LAST = frozenset("，。、；：？！）］】》”’…,.;:?!)]}%")
_STAYS_WITH_NEXT = frozenset("（［【《“‘([{")
NO_BREAK = "\u00a0"
"""A space at which no line is broken; shown as any other."""
_SPACES = frozenset((" ", NO_BREAK))
_LEAST = 20
"""Cells below which wrapping gives columns of single words: the terminal then breaks the line itself."""


def shorten(text: str, width: int) -> str:
    """``text`` on one line, cut to ``width`` terminal cells."""
    flat = "".join(_visible(character) for character in " ".join(text.split()))
    if cell_len(flat) <= width:
        return flat
    kept = ""
    for character in flat:
        if cell_len(kept + character) >= width:
            break
        kept += character
    return kept + _ELLIPSIS


@dataclass(frozen=True, slots=True)
class Branch:
    """``body`` behind ``first``; where it does not fit, its further lines stand behind ``rest``."""

    first: Text
    rest: Text
    body: Text

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The lines, each inside the console's width."""
        room = options.max_width - max(self.first.cell_len, self.rest.cell_len)
        for number, line in enumerate(wrap(self.body, room)):
            line.plain = line.plain.replace(NO_BREAK, " ")
            yield Text.assemble(self.rest if number else self.first, line)


def wrap(text: Text, width: int) -> list[Text]:
    """``text`` in lines of at most ``width`` cells, broken at spaces and between Chinese characters.

    A closing mark never opens a line and an opening one never ends it. A word longer than a line is broken.
    """
    width = max(width, _LEAST)
    cuts, line = [], 0
    for start, end in _pieces(text.plain):
        rest = text.plain[start:end]
        if line and line + cell_len(rest.rstrip()) > width:
            cuts.append(start)
            line = 0
        while cell_len(rest.rstrip()) > width:
            rest = rest[_fitting(rest, width) :]
            cuts.append(end - len(rest))
        line += cell_len(rest)
    lines = list(text.divide(cuts))
    for part in lines:
        part.rstrip()
    return lines


def _pieces(plain: str) -> Iterator[tuple[int, int]]:
    """[start, end) of the parts that stay together, each with the spaces behind it."""
    start = 0
    for index in range(1, len(plain)):
        if _may_break(plain[index - 1], plain[index]):
            yield start, index
            start = index
    if plain:
        yield start, len(plain)


def _may_break(last: str, following: str) -> bool:
    if following in _SPACES or following in _STAYS_WITH_LAST or last in _STAYS_WITH_NEXT:
        return False
    if NO_BREAK in (last, following):
        return False
    return last == " " or _is_wide(last) or _is_wide(following)


def _is_wide(character: str) -> bool:
    return cell_len(character) > 1


def _fitting(word: str, width: int) -> int:
    """How many characters of ``word`` fit into ``width`` cells; at least one."""
    cells = 0
    for index, character in enumerate(word):
        cells += cell_len(character)
        if cells > width:
            return max(index, 1)
    return len(word)


def _visible(character: str) -> str:
    """``character``, or a stand-in for one that would steer the terminal (an escape) or cannot be written."""
    return character if character.isprintable() else "\ufffd"

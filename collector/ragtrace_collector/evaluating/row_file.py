"""The rows of a set on disk: a run holds one in memory at a time, however many there are."""

from __future__ import annotations

import pickle
import tempfile
from array import array
from collections.abc import Sequence
from typing import overload

from ragtrace.model import Interaction


class RowFile(Sequence[Interaction]):
    """A sequence that is appended to and read, in an unnamed temporary file that goes with it."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(prefix="ragtrace-rows-")  # noqa: SIM115  # lives as long as this
        self._ends = array("q", [0])

    def append(self, row: Interaction) -> None:
        """Add a row at the end."""
        self._file.seek(self._ends[-1])
        self._ends.append(self._ends[-1] + self._file.write(pickle.dumps(row, pickle.HIGHEST_PROTOCOL)))

    def __len__(self) -> int:
        return len(self._ends) - 1

    @overload
    def __getitem__(self, place: int) -> Interaction: ...
    @overload
    def __getitem__(self, place: slice) -> list[Interaction]: ...
    def __getitem__(self, place: int | slice) -> Interaction | list[Interaction]:
        if isinstance(place, slice):
            return [self._read(one) for one in range(*place.indices(len(self)))]
        return self._read(range(len(self))[place])

    def _read(self, place: int) -> Interaction:
        begin, end = self._ends[place], self._ends[place + 1]
        self._file.seek(begin)
        row: Interaction = pickle.loads(self._file.read(end - begin))  # noqa: S301  # written by append()
        return row

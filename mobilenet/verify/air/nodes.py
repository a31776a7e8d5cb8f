"""The nodes of a run by index, and a row of a table in words.

Shapes    index: int64 (rows,), stations first, then hosts; -1: the run has no such node
Units     integer nanoseconds
Errors    none
Source    ours: docs/run-directory.md
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mobilenet.clock import SECOND
from mobilenet.rundir.table import CodedColumn, Table


@dataclass(frozen=True, slots=True)
class Nodes:
    """How many there are."""

    stations: int
    hosts: int

    @property
    def count(self) -> int:
        return self.stations + self.hosts

    def index(self, name: str) -> int:
        """The index of a node; -1: there is none of that name."""
        kind, number = name[:1], name[1:]
        if kind not in ("s", "h") or not number.isascii() or not number.isdigit() or str(int(number)) != number:
            return -1
        if kind == "s":
            return int(number) if int(number) < self.stations else -1
        return self.stations + int(number) if int(number) < self.hosts else -1

    def indices(self, names: CodedColumn) -> np.ndarray:
        """The index of each row's node."""
        return names.map([self.index(name) for name in names.words], -1).astype(np.int64)

    def name(self, index: int) -> str:
        return f"s{index}" if index < self.stations else f"h{index - self.stations}"


def row_in_words(name: str, table: Table, row: int) -> str:
    """A row of frames, links or messages, to begin a sentence with."""
    at_ns = table["send_ns" if name == "messages" else "start_ns"][row]
    return f"{name}: row {row} ({table['sender'][row]} to {table['receiver'][row]} at {at_ns / SECOND:.6f} s)"


def first(wrong: np.ndarray) -> int | None:
    """The first row that is wrong, or None."""
    return int(wrong.argmax()) if wrong.any() else None

"""Return the lines to and from programs in a run, either from its record or by repeating the run.

Model     lines.parquet holds all lines in the order in which they were sent. A run that did not record them is
          repeated, including its programs. Two lines are equal if their values are equal, regardless of whitespace and
          of the order of keys, which some languages randomise in each process
Shapes    columns as in record/schema.py; a Line is one row
Errors    RunError if the directory is not a run of programs, or if the run differs when it is repeated
Source    ours: docs/guide/programs.md
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import NamedTuple

from mobilenet.engine.clock import Progress
from mobilenet.lab.programs.conversation import decode
from mobilenet.lab.replay.rerun import lines_again
from mobilenet.record.reader import RunError, read_frame, read_manifest

NODE = re.compile(r"[hsp][0-9]{1,9}")


class Line(NamedTuple):
    time_ns: int
    node: str
    life: int
    said: bool  # whether the program wrote the line
    line: str


class Difference(NamedTuple):
    """The first difference between two runs of programs. `number` is the number of the line, starting at 1, among the
    lines that the node sent, or received, in the same life.
    """

    node: str
    life: int
    is_output: bool
    number: int
    once: str | None  # None if this run contains no further line
    then: str | None


def lines_of(directory: Path, progress: Progress | None = None, allow_code: bool = False) -> tuple[list[Line], bool]:
    """Return all lines of a run, and whether the run was repeated to obtain them."""
    read_manifest(directory)
    if (directory / "lines.parquet").exists():
        frame = read_frame(directory, "lines")
        rows = zip(*(frame[name].tolist() for name in Line._fields), strict=True)
        lines = [Line(*row) for row in rows]
        if strange := next((line.node for line in lines if not NODE.fullmatch(line.node)), None):
            raise RunError(f"{directory / 'lines.parquet'}: {strange[:40]!r} is not a node; the run is damaged")
        return lines, False
    return [Line(*row) for row in lines_again(directory, progress, allow_code)], True


def lines_of_node(lines: list[Line], node: str, life: int, directory: Path) -> list[Line]:
    """Return the lines of one life of a node. Raise RunError if there are none."""
    node_lines = [line for line in lines if line.node == node and line.life == life]
    if not node_lines:
        there = sorted({line.node for line in lines}, key=lambda name: (name[0], int(name[1:])))
        lives = max((line.life for line in lines if line.node == node), default=0)
        choice = f"expected one of {', '.join(there)}" if there else "there are none"
        what = (
            f"{node}: life {life} does not exist; expected {'1' if lives == 1 else f'1 to {lives}'}"
            if lives
            else f"no program {node}; {choice}"
        )
        raise RunError(f"{directory}: {what}")
    return node_lines


def first_difference(once: list[Line], then: list[Line]) -> Difference | None:
    """Return the first difference between two runs of one scenario, or None if all lines agree."""
    for place, (a, b) in enumerate(zip(once, then, strict=False)):
        if a != b and not (a[:-1] == b[:-1] and _say_the_same(a.line, b.line)):
            same_place = (a.node, a.life, a.said) == (b.node, b.life, b.said)
            return _at(once[: place + 1], a.line, b.line if same_place else None)
    if len(once) == len(then):
        return None
    longer = once if len(once) > len(then) else then
    last = longer[: min(len(once), len(then)) + 1]
    return _at(last, last[-1].line if longer is once else None, None if longer is once else last[-1].line)


def value_of(line: str) -> str:
    """Return the value of a line in a canonical form, in which 1, 1.0 and true differ. Raise ValueError or
    RecursionError if the line is not valid JSON.
    """
    return json.dumps(decode(line), sort_keys=True)


def _say_the_same(a: str, b: str) -> bool:
    try:
        return value_of(a) == value_of(b)
    except (ValueError, RecursionError):
        return False


def _at(until: list[Line], once: str | None, then: str | None) -> Difference:
    last = until[-1]
    number = sum(line[1:4] == last[1:4] for line in until)
    return Difference(last.node, last.life, last.said, number, once, then)

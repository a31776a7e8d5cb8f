"""One program alone with what it was told in a run, and the first answer that is another one.

Model     the lines of one life of a node are fed to a command, and each answer is held against the recorded one as
          JSON, line by line. The emulator is not there: nothing depends on what is answered
Units     seconds of wall time
Errors    ProgramError, as in a run
Source    ours: docs/guide/programs.md
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from mobilenet.experiments.programs.transcript import Line
from mobilenet.programs.children import Children
from mobilenet.programs.conversation import Conversation

PATIENCE_S = 86_400.0  # somebody may be looking at it in a debugger


class Parting(NamedTuple):
    """An answer that differs: what was told, and the lines of both answers."""

    told: str
    number: int  # of the event, from 1
    recorded: list[str]
    answered: list[str]


def feed(
    lines: Sequence[Line],
    command: Sequence[str],
    folder: Path,
    on_event: Callable[[int], None] = lambda number: None,
    within_s: float = PATIENCE_S,
) -> Parting | None:
    """The first answer that is not as recorded; None: all are."""
    children = Children(folder)
    name = lines[0].node
    try:
        talk = Conversation(children, children.spawn(name, command), name, within_s)
        for number, (told, recorded) in enumerate(exchanges(lines), 1):
            _, answered = talk.ask(told)
            if _values(answered) != _values(recorded):
                return Parting(told, number, recorded, answered)
            on_event(number)
        return None
    finally:
        children.close()


def exchanges(lines: Sequence[Line]) -> Iterator[tuple[str, list[str]]]:
    """What was told, and the lines of its answer."""
    told: str | None = None
    answer: list[str] = []
    for line in lines:
        if line.said:
            answer.append(line.line)
            continue
        if told is not None:
            yield told, answer
        told, answer = line.line, []
    if told is not None:
        yield told, answer


def _values(lines: Sequence[str]) -> list[Any]:
    return [json.loads(line) for line in lines]

"""Replay one program on the events that it received in a run, and find the first answer that differs.

Model     The recorded events of one life of a node are sent to a command, and each answer is compared with the
          recorded one as JSON, line by line. The emulator is not involved, so the answers do not influence later
          events
Units     seconds of wall time
Errors    ProgramError as in a run; RunError for lines that cannot come from a recorded run
Source    ours: docs/guide/programs.md
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from mobilenet.lab.programs.children import Children
from mobilenet.lab.programs.conversation import Conversation
from mobilenet.lab.replay.transcript import Line, value_of
from mobilenet.record.reader import RunError


class Parting(NamedTuple):
    """The first event whose answer differs, with the lines of both answers."""

    event: str
    number: int  # event number, starting at 1
    recorded: list[str]
    answered: list[str]


def feed(
    lines: Sequence[Line],
    command: Sequence[str],
    folder: Path,
    within_s: float,
    on_event: Callable[[int], None] = lambda number: None,
) -> Parting | None:
    """Return the first answer that differs from the recorded one, or None. `within_s` limits the wall time per
    answer.
    """
    inputs_and_outputs = [(event, recorded, _values(recorded, folder)) for event, recorded in exchanges(lines)]
    children = Children(folder)
    name = lines[0].node
    try:
        talk = Conversation(children, children.spawn(name, command), name, within_s)
        for number, (event, recorded, values) in enumerate(inputs_and_outputs, 1):
            _, answered = talk.ask(event)
            if _values(answered, folder) != values:
                return Parting(event, number, recorded, answered)
            on_event(number)
        return None
    finally:
        children.close()


def exchanges(lines: Sequence[Line]) -> Iterator[tuple[str, list[str]]]:
    """Yield each event with the lines of its answer."""
    event: str | None = None
    answer: list[str] = []
    for line in lines:
        if line.said:
            answer.append(line.line)
            continue
        if event is not None:
            yield event, answer
        event, answer = line.line, []
    if event is not None:
        yield event, answer


def _values(lines: Sequence[str], folder: Path) -> list[str]:
    try:
        return [value_of(line) for line in lines]
    except (ValueError, RecursionError):
        raise RunError(
            f"{folder / 'lines.parquet'}: contains a program's line that is not JSON; the run is damaged"
        ) from None

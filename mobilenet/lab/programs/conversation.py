"""Communicate with a program: send a line for each event, and read the lines of its answer.

Model     Emulated time stands still until the answer is complete, so a slow program makes the run slow but does not
          change it. The answer is checked as a whole before any part of it takes effect. Each answer has one deadline,
          counted from the event. The clock is read only if an answer is slow or arrives in pieces, so an answer in
          several pieces may exceed the limit by the fraction SOON
Units     seconds of wall time, bytes
Errors    ProgramError, one line: the program, its line, and what was expected. If the answer is late, `is_input` is
          False
Source    ours: docs/guide/programs.md
"""

from __future__ import annotations

import json
import os
import select
import sys
import time
from contextlib import suppress
from typing import Any, NoReturn

from mobilenet.lab.programs.children import Child, Children
from mobilenet.quoting import cut, spell_out
from mobilenet.simulation.parties import ProgramError

LONGEST_LINE_BYTES = 1 << 20  # maximum length of a line of a program
LONGEST_ANSWER_BYTES = 64 << 20
LONGEST_QUOTED = 160  # maximum number of characters of a line in a message
CHUNK_BYTES = 1 << 16
SOON = 0.01  # Most answers take less than this fraction of the time limit.
DONE = {"do": "done"}


def _no_number(name: str) -> NoReturn:
    raise json.JSONDecodeError(f"{name} is not JSON", name, 0)


decode = json.JSONDecoder(parse_constant=_no_number).decode


def short_line(line: str) -> str:
    """Shorten a line for use in a message."""
    return spell_out(cut(line, LONGEST_QUOTED))


class Conversation:
    """The conversation with one program. `name` is the name of the node in error messages; `answer_within_s` is the
    time limit for each answer.
    """

    def __init__(self, children: Children, child: Child, name: str, answer_within_s: float) -> None:
        self._children = children
        self.child = child
        self._name = name
        self._within_s = answer_within_s
        self._soon_s = answer_within_s * SOON
        self._soon_ms = self._soon_s * 1000
        self._output = select.poll()
        self._output.register(child.back, select.POLLIN)
        self._lines = 0  # number of lines that the program has written

    def ask(self, event: str) -> tuple[list[dict[str, Any]], list[str]]:
        """Send an event, given as a line without its line break. Return the answer without `done`, both as values and
        as lines.
        """
        child = self.child
        data = event.encode() + b"\n"
        if self._output.poll(0):
            self._refuse_early()
        try:
            written = os.write(child.to, data)
        except BlockingIOError:
            written = 0
        except OSError:
            self._fail(f"its program {self._children.how_it_ended(child)}", event)
        deadline_s: float | None = None
        if written < len(data):
            deadline_s = time.monotonic() + self._within_s
            answer = self._write_rest(data[written:], event, deadline_s)
        else:
            answer = os.read(child.back, CHUNK_BYTES) if self._output.poll(self._soon_ms) else b""
        if not answer.endswith(b"\n") or not _ends(answer):
            if deadline_s is None:
                deadline_s = time.monotonic() + self._within_s - (0.0 if answer else self._soon_s)
            answer = self._read_rest(answer, event, deadline_s)
        return self._parse(answer, event)

    def tell_end(self, event: str) -> None:
        """Send a last event without waiting for an answer."""
        with suppress(OSError):  # The program may have stopped listening.
            os.write(self.child.to, event.encode() + b"\n")

    def end(self) -> None:
        self._children.kill(self.child)

    # --- what is not usual

    def _write_rest(self, data: bytes, event: str, deadline_s: float) -> bytes:
        """Write the remaining bytes to a program that reads too slowly, perhaps because it is writing."""
        both = select.poll()
        both.register(self.child.to, select.POLLOUT)
        both.register(self.child.back, select.POLLIN)
        answer = b""
        while data:
            ready = dict(both.poll(max(0.0, deadline_s - time.monotonic()) * 1000))
            if not ready:
                self._fail_late(event)
            if ready.get(self.child.back):
                answer += self._some(event)
            if ready.get(self.child.to):
                try:
                    data = data[os.write(self.child.to, data) :]
                except BlockingIOError:
                    continue
                except OSError:
                    self._fail(f"its program {self._children.how_it_ended(self.child)}", event)
        return answer

    def _read_rest(self, answer: bytes, event: str, deadline_s: float) -> bytes:
        parts = [answer]
        size, line_bytes = len(answer), len(answer) - answer.rfind(b"\n") - 1
        tail = answer
        while not (tail.endswith(b"\n") and _ends(tail)):
            if line_bytes > LONGEST_LINE_BYTES:
                self._fail(f"its program wrote a line of more than {LONGEST_LINE_BYTES:,} bytes", event)
            if size > LONGEST_ANSWER_BYTES:
                self._fail(f'its program wrote more than {LONGEST_ANSWER_BYTES:,} bytes without {{"do":"done"}}', event)
            if not self._output.poll(max(0.0, deadline_s - time.monotonic()) * 1000):
                whole = b"".join(parts).rpartition(b"\n")[0]
                if whole:
                    # An error in the incomplete answer may be the reason why it is late.
                    self._parse(whole + b"\n", event)
                self._fail_late(event)
            part = self._some(event)
            parts.append(part)
            size += len(part)
            cut_at = part.rfind(b"\n")
            line_bytes = line_bytes + len(part) if cut_at < 0 else len(part) - cut_at - 1
            tail = (tail + part)[-200:]  # longer than any spelling of `done` with spaces
        return b"".join(parts)

    def _some(self, event: str) -> bytes:
        part = os.read(self.child.back, CHUNK_BYTES)
        if not part:
            self._fail(f"its program {self._children.how_it_ended(self.child)}", event)
        return part

    def _parse(self, answer: bytes, event: str) -> tuple[list[dict[str, Any]], list[str]]:
        try:
            lines = answer.decode().split("\n")
        except UnicodeDecodeError as error:
            after = short_line(answer[: error.start].decode()[-60:])
            self._fail(f"its program wrote bytes that are not UTF-8, after {after!r}", event)
        lines.pop()
        actions = []
        for number, line in enumerate(lines, 1):
            try:
                action = decode(line)
            except (json.JSONDecodeError, RecursionError):
                self._fail_line(number, line, "is not JSON; expected one object on each line", event)
            except ValueError:
                most = f"{sys.get_int_max_str_digits():,}"
                self._fail_line(number, line, f"contains a whole number with more than {most} digits", event)
            if type(action) is not dict or type(action.get("do")) is not str:
                self._fail_line(number, line, 'expected an object with the key "do", such as {"do":"done"}', event)
            actions.append(action)
        for number, action in enumerate(actions, 1):
            if action["do"] == "done":
                if action != DONE:
                    self._fail_line(number, lines[number - 1], 'expected {"do":"done"} without other keys', event)
                if number < len(actions):
                    self._fail_line(number + 1, lines[number], 'after {"do":"done"}, which ends an answer', event)
        if actions and actions[-1]["do"] == "done":
            actions.pop()
            self._lines += len(lines)
        return actions, lines

    def _refuse_early(self) -> None:
        """Refuse a program that writes a line or ends before the emulator has sent an event."""
        data = os.read(self.child.back, CHUNK_BYTES)
        if not data:
            self._fail(f"its program {self._children.how_it_ended(self.child)}, without being asked to stop", "")
        first = data.decode("utf-8", "replace").partition("\n")[0]
        self._fail_line(1, first, 'after {"do":"done"}: a program writes only in response to an event', "")

    def refuse(self, number: int, answered: int, line: str, what: str, event: str) -> NoReturn:
        """Refuse line `number` of the last answer, because it requests something impossible. The answer had `answered`
        lines.
        """
        self._fail_line(number - answered, line, what, event)

    def _fail_late(self, event: str) -> NoReturn:
        error = (
            f"{self._name}: no answer within {self._within_s:g} s (protocol.answer_within_s){_after(event)}; expected"
            ' lines that end with {"do":"done"} and are flushed'
        )
        raise ProgramError(error, is_input=False)

    def _fail_line(self, number: int, line: str, what: str, event: str) -> NoReturn:
        self._fail(f"line {self._lines + number} of its output, {short_line(line)}: {what}", event)

    def _fail(self, what: str, event: str) -> NoReturn:
        raise ProgramError(f"{self._name}: {what}{_after(event)}")


def _after(event: str) -> str:
    return f"; the event was {short_line(event)}" if event else ""


def _ends(answer: bytes) -> bool:
    """Return whether the last complete line is `done`. Spaces in the JSON are allowed."""
    last = answer[answer.rfind(b"\n", 0, len(answer) - 1) + 1 :]
    if last == b'{"do":"done"}\n':
        return True
    if len(last) > 200 or b"done" not in last:
        return False
    try:
        action = decode(last.decode())
    except (ValueError, RecursionError):
        return False
    return type(action) is dict and action.get("do") == "done"

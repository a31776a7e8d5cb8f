"""Find events in the lines that programs write, with two regular expressions of the scenario.

Model     The lines come from standard output or from a file that grows; only complete lines are read. A search that
          takes too long is interrupted by a signal that counts the CPU time of the process, because some expressions
          need years of CPU time for a few characters. Where signals are not available (outside the main thread), the
          search is not interrupted
Units     bytes; seconds of CPU time
Errors    ProgramError: an expression that takes too long, or does not find a number. ScenarioError: a sender that does
          not exist. In this case the numbers of all senders may be wrong, so the run is not stored
Source    ours: docs/guide/real-time.md
"""

from __future__ import annotations

import re
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from stat import S_ISREG
from types import FrameType
from typing import Any, NamedTuple

from mobilenet.lab.programs.conversation import short_line
from mobilenet.parameters import ScenarioError
from mobilenet.quoting import quote
from mobilenet.scenario.base import is_file
from mobilenet.simulation.parties import ProgramError

CHUNK_BYTES = 65_536
LONGEST_LINE_BYTES = 1 << 20
LONGEST_NUMBER = 12  # maximum number of digits in a number
LONGEST_SEARCH_S = 1.0  # maximum CPU time for a search of all lines that one program has written since the last search


class ProgramLine(NamedTuple):
    """A broadcast, or the delivery of a message from `sender`. Messages are identified by the number that the program
    uses.
    """

    sender: int | None  # None if the line reports a broadcast
    number: int


class Expressions:
    """The expressions in `lines` of a scenario. If `lines` is None, the search finds no events. `hosts` is the number
    of hosts.
    """

    def __init__(self, lines: Any, hosts: int) -> None:
        self._hosts = hosts
        self._first = 0 if lines is None else lines.first_number
        self._looked_for: list[tuple[str, re.Pattern[bytes]]] = []
        if lines is not None:
            self._looked_for = [(key, re.compile(getattr(lines, key).encode())) for key in ("deliver", "broadcast")]

    @property
    def are_none(self) -> bool:
        return not self._looked_for

    def find(self, host: int, lines: Sequence[bytes], events: list[ProgramLine], log: Path | None = None) -> None:
        """Append the events in these lines of a host's program to `events`, in order. If a line is invalid, only the
        events before it are added. `log` is the file that contains the lines, or None for standard output.
        """
        key, line = "", b""
        try:
            with _no_longer_than(LONGEST_SEARCH_S):
                for line in lines:
                    for key, expression in self._looked_for:
                        if (match := expression.search(line)) is not None:
                            sender = self._sender(host, match["sender"], line, log) if key == "deliver" else None
                            events.append(ProgramLine(sender, _whole(host, match["number"], line)))
                            break
        except _TooLong:
            raise ProgramError(
                f"h{host}: searching its line {_in_words(line)} for protocol.lines.{key} takes longer than"
                f" {LONGEST_SEARCH_S:g} s; expected an expression without nested repetitions such as (a+)+"
            ) from None

    def _sender(self, host: int, text: bytes | None, line: bytes, log: Path | None) -> int:
        """Return the host whose message a delivery names. Raise ScenarioError if this host does not exist."""
        sender = _whole(host, text, line) - self._first
        if not 0 <= sender < self._hosts:
            where = "its standard output" if log is None else quote(log)
            last = self._first + self._hosts - 1
            raise ScenarioError(
                f"protocol.lines.deliver: in the line {_in_words(line)} of h{host} in {where}, got sender"
                f" {sender + self._first}, expected a host from {self._first} to {last}; if the programs number hosts"
                " from 1, set protocol.lines.first_number: 1"
            )
        return sender


def _whole(host: int, text: bytes | None, line: bytes) -> int:
    """Return the number that a group of a regular expression has matched. Raise ProgramError if the text is not a
    number.
    """
    if text is None or not text.isdigit() or len(text) > LONGEST_NUMBER:
        what = "nothing" if text is None else _in_words(text)
        raise ProgramError(
            f"h{host}: in its line {_in_words(line)}, protocol.lines found {what}, expected a whole number of at most"
            f" {LONGEST_NUMBER} digits"
        )
    return int(text)


def _in_words(text: bytes) -> str:
    return short_line(text.decode("utf-8", "replace"))


class _TooLong(Exception):
    """Raised if the search takes more CPU time than allowed."""


@contextmanager
def _no_longer_than(limit_s: float) -> Iterator[None]:
    """Raise _TooLong if the block takes more CPU time. A signal is used because it also interrupts regular
    expressions.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    is_over = False

    def stop(number: int, frame: FrameType | None) -> None:
        if not is_over:
            raise _TooLong

    before = signal.signal(signal.SIGVTALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, limit_s)
        yield
    finally:
        is_over = True
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


class Log:
    """A reader of the complete lines that a program writes to standard output or to a file, which may not exist yet."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._rest = b""
        there = path.stat() if path is not None and is_file(path) else None
        self.is_missing = path is not None and there is None
        self._inode = None if there is None else there.st_ino
        self._read_bytes = 0 if there is None else there.st_size  # This skips the output of an earlier run.

    def more(self) -> bytes:
        """Return what was added to the file, or everything if the file was replaced."""
        assert self.path is not None
        try:
            status = self.path.stat()
            if not S_ISREG(status.st_mode):
                return b""
            if status.st_size < self._read_bytes or status.st_ino != self._inode:
                self._read_bytes, self._rest, self._inode = 0, b"", status.st_ino
            with self.path.open("rb") as file:
                file.seek(self._read_bytes)
                data = file.read(CHUNK_BYTES)
        except OSError:
            return b""
        self.is_missing = False
        self._read_bytes += len(data)
        return data

    def lines(self, data: bytes) -> list[bytes]:
        *whole, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > LONGEST_LINE_BYTES:
            self._rest = b""
        return whole

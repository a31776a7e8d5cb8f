"""Tests that a line that a program writes before a datagram comes first in the record, whenever the emulator reads
it.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mobilenet.lab.programs.children import Child
from mobilenet.lab.programs.realtime.applications import Applications, ProgramSettings, SentDatagram
from mobilenet.lab.programs.realtime.lines import CHUNK_BYTES, Expressions
from mobilenet.scenario.real_time import Lines
from mobilenet.simulation.parties import RealTime

LINES = Lines()


class LateWriter:
    """A program that writes its line and then sends a datagram exactly when the emulator reads its input."""

    def __init__(self, write: Any, child: Child | None) -> None:
        self._write = write
        self._child = child

    def start(self, name: str) -> Child | None:
        return self._child

    def take(self, ready: set[Any]) -> Iterator[SentDatagram]:
        self._write()
        yield SentDatagram("h0", "h1", b"x")

    def note_entry(self, one: SentDatagram) -> None: ...

    def fill_in(self, word: str, host: int) -> str:
        return word.replace("{me}", str(host))

    def failures(self) -> tuple[()]:
        return ()


@pytest.mark.parametrize("words_before", [0, 3 * CHUNK_BYTES // 5])
@pytest.mark.parametrize("way", ["standard output", "a log"])
def test_program_output_is_handled_before_later_datagrams(way: str, words_before: int, tmp_path: Path) -> None:
    noted: list[str] = []
    text = b"word\n" * words_before + b"broadcast 0\n"
    is_log = way == "a log"
    back, out = os.pipe()
    if not is_log:
        text = text[-CHUNK_BYTES:]  # A pipe holds at most this many bytes.
    settings = ProgramSettings("log{me}.txt" if is_log else None, Expressions(LINES, 2), tmp_path)
    between: Any = LateWriter(
        lambda: (tmp_path / "log0.txt").write_bytes(text) if is_log else os.write(out, text), Child(0, out, back)
    )
    applications = Applications(
        settings, between, lambda now, node, event, *more: noted.append(event), lambda: 0, RealTime()
    )
    applications.begin(SimpleNamespace(name="h0", port=SimpleNamespace(me=0), send=lambda to, data: 0))
    applications._take()
    applications.pace.close()
    os.close(back)
    os.close(out)
    assert noted == ["broadcast", "datagram"]

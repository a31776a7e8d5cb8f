"""If a program writes a line and then sends, the line comes first in the record, whenever the emulator looks."""

import os
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mobilenet.programs.children import Child
from mobilenet.realtime.addresses import Addresses
from mobilenet.realtime.applications import Applications, Told
from mobilenet.realtime.lines import CHUNK_BYTES, Expressions
from mobilenet.realtime.pace import RealTime
from mobilenet.scenario.datagrams import Lines

LINES = Lines()


class LateWriter:
    """A gateway: when it is looked at, a program has just written its line and then sent a datagram."""

    def __init__(self, write: Any) -> None:
        self._write = write

    def take(self) -> Iterator[tuple[int, int, bytes]]:
        self._write()
        yield 0, 1, b"x"


@pytest.mark.parametrize("words_before", [0, 3 * CHUNK_BYTES // 5])
@pytest.mark.parametrize("way", ["standard output", "a log"])
def test_a_line_comes_before_what_was_sent_after_it(way: str, words_before: int, tmp_path: Path) -> None:
    noted: list[str] = []
    text = b"word\n" * words_before + b"broadcast 0\n"
    is_log = way == "a log"
    back, out = os.pipe()
    if not is_log:
        text = text[-CHUNK_BYTES:]  # a pipe holds no more
    told = Told(None, 7000, None, "log{me}.txt" if is_log else None, Expressions(LINES, 2), tmp_path)
    gateway: Any = LateWriter(lambda: (tmp_path / "log0.txt").write_bytes(text) if is_log else os.write(out, text))
    applications = Applications(
        told,
        Addresses("127.77", 2, 7000),
        gateway,
        None,  # type: ignore[arg-type]
        lambda now, node, event, *more: noted.append(event),
        lambda: 0,
        RealTime(),
    )
    applications._see_who_ended = lambda: None  # type: ignore[method-assign]
    host: Any = SimpleNamespace(port=SimpleNamespace(me=0), send=lambda to, data: 0)
    applications.begin(host)
    os.set_blocking(back, False)
    applications._running[0] = Child(0, out, back)
    applications._take()
    applications.pace.close()
    os.close(back)
    os.close(out)
    assert noted == ["broadcast", "datagram"]

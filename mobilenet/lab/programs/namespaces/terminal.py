"""Connect the user's terminal to a pseudo-terminal in which a program of a machine runs.

Model     Bytes are copied in both directions, with the user's terminal in raw mode. The pseudo-terminal has the size
          that the user's terminal has at the start
Errors    none: the connection ends when either side is closed
Source    pty(7), termios(3)
"""

from __future__ import annotations

import fcntl
import os
import select
import sys
import termios
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

LOOK_S = 0.1  # time between two checks of whether the connection is over
CHUNK_BYTES = 65_536


def new_pseudo_terminal() -> tuple[int, int]:
    """Open a pseudo-terminal. Return its two ends: first the emulator's end, then the program's end."""
    ours, theirs = os.openpty()
    if sys.stdin.isatty():
        size = fcntl.ioctl(sys.stdin, termios.TIOCGWINSZ, b"\0" * 8)
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, size)
    return ours, theirs


@contextmanager
def _raw(descriptor: int) -> Iterator[None]:
    if not os.isatty(descriptor):
        yield
        return
    before = termios.tcgetattr(descriptor)
    try:
        tty.setraw(descriptor, termios.TCSANOW)
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def connect(ours: int, is_over: Callable[[], bool]) -> None:
    """Copy bytes between the user's terminal and the pseudo-terminal, until the program closes its end or `is_over`
    returns True.
    """
    keyboard, screen = sys.stdin.fileno(), sys.stdout.fileno()
    sources = [ours, keyboard]
    with _raw(keyboard), suppress(OSError):  # The error EIO means that the program has closed its end.
        while not is_over():
            for source in select.select(sources, [], [], LOOK_S)[0]:
                data = os.read(source, CHUNK_BYTES)
                if not data and source == ours:
                    return
                if not data:
                    sources.remove(keyboard)
                    os.write(ours, b"\4")  # the character that a user types to end the input
                else:
                    _write(screen if source == ours else ours, data)


def _write(target: int, data: bytes) -> None:
    while data:
        data = data[os.write(target, data) :]

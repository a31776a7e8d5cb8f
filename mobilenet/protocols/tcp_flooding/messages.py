"""What TCP flooding says over its links, and how many bytes that is.

Source    ours: docs/protocols/tcp-flooding.md. Ping and Return are ping and pong of PC-broadcast
Units     bytes; an identifier takes 4, a number 8, a flag 1, the body what it declares; a procedure is named by a
          station and its own number
Body      an int: the declared payload bytes. Nothing looks inside
"""

from __future__ import annotations

from typing import NamedTuple

ID, NUMBER, FLAG = 4, 8, 1
PROCEDURE = ID + NUMBER

Procedure = tuple[int, int]  # the station that began it, its number there


class Control:
    """No payload, no list."""

    __slots__ = ()

    @property
    def payload_bytes(self) -> int:
        return 0

    def list_sizes(self) -> tuple[tuple[str, int], ...]:
        return ()


class App(NamedTuple):
    """An application message: over each link once."""

    origin: int
    seq: int
    body: int

    @property
    def size_bytes(self) -> int:
        return ID + NUMBER + self.body

    @property
    def payload_bytes(self) -> int:
        return self.body

    def list_sizes(self) -> tuple[tuple[str, int], ...]:
        return ()


# --- host to station


class _Attach(NamedTuple):
    ses: int
    via: tuple[int, ...]
    keep: bool


class Attach(_Attach, Control):
    """The first word over a new link: the stations in `via` know the host's past.

    `keep`: the link to the last of them still stands.
    """

    __slots__ = ()

    @property
    def size_bytes(self) -> int:
        return NUMBER + ID * len(self.via) + FLAG


class _Session(NamedTuple):
    ses: int


class Reenter(_Session, Control):
    """The old link is lost: the new one cannot become safe by a ping."""

    __slots__ = ()
    size_bytes = NUMBER


class Moved(_Session, Control):
    """This link is safe, and the old one is gone."""

    __slots__ = ()
    size_bytes = NUMBER


class Stay(_Session, Control):
    """Over the old link: the new one is not wanted any more."""

    __slots__ = ()
    size_bytes = NUMBER


class Here(Control):
    """The keep-alive probe: a station that has lost the connection answers by ending it (R6)."""

    __slots__ = ()
    size_bytes = FLAG


class Leave(_Session, Control):
    """The last word; the station answers by ending the connection."""

    __slots__ = ()
    size_bytes = NUMBER


# --- station to host


class Safe(_Session, Control):
    """The host's answer came round: what was buffered for this link follows."""

    __slots__ = ()
    size_bytes = NUMBER


class _Welcome(NamedTuple):
    ses: int
    past: tuple[tuple[int, int], ...]


class Welcome(_Welcome, Control):
    """From here on everything; of what was before, nothing: `past` has the highest number of each origin."""

    __slots__ = ()

    @property
    def size_bytes(self) -> int:
        return NUMBER + len(self.past) * (ID + NUMBER)


# --- between stations; Ping and Return also over the old link of the host


class _Ping(NamedTuple):
    id: Procedure
    host: int
    ses: int
    via: int


class Ping(_Ping, Control):
    """To `host` by way of `via`: behind everything that the new station had forwarded."""

    __slots__ = ()
    size_bytes = PROCEDURE + ID + NUMBER + ID


class _Return(NamedTuple):
    id: Procedure


class Return(_Return, Control):
    """The host's answer: behind everything that it has said."""

    __slots__ = ()
    size_bytes = PROCEDURE


class _Close(NamedTuple):
    id: Procedure
    host: int
    ses: int
    via: tuple[int, ...]


class Close(_Close, Control):
    """Whoever has a link of an older session of this host drops it; those in `via` answer."""

    __slots__ = ()

    @property
    def size_bytes(self) -> int:
        return PROCEDURE + ID + NUMBER + ID * len(self.via)


class _Closed(NamedTuple):
    id: Procedure
    station: int


class Closed(_Closed, Control):
    """`station` has no such link any more: behind everything that it passed to the host, and took from it."""

    __slots__ = ()
    size_bytes = PROCEDURE + ID

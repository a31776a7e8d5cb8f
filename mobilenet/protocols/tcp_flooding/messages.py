"""The messages of TCP flooding. Sizes derive from the fields: ../fields.py.

Source    ours: docs/protocols/tcp-flooding.md. Ping and Return are ping and pong of PC-broadcast
Units     bytes; a procedure is named by a station and its own number
Body      an int: the declared payload bytes. Nothing looks inside
"""

from __future__ import annotations

from typing import NamedTuple

from ..fields import FLAG, Body, Flag, Id, Number, message

Procedure = tuple[Id, Number]  # the station that began it, its number there


@message()
class App(NamedTuple):
    """An application message, sent over each link once."""

    origin: Id
    seq: Number
    body: Body


# --- host to station


@message()
class Attach(NamedTuple):
    """The first message over a new link: the stations in `via` know the host's past.

    `keep`: the link to the last of them is still open.
    """

    ses: Number
    via: tuple[Id, ...]
    keep: Flag


@message()
class Reenter(NamedTuple):
    """A notice that the old link is lost: the new one cannot become safe by a ping."""

    ses: Number


@message()
class Moved(NamedTuple):
    """A notice that this link is safe, and that the old one is gone."""

    ses: Number


@message()
class Stay(NamedTuple):
    """A notice over the old link: the new one is not wanted any more."""

    ses: Number


@message(head=FLAG)
class Here:
    """The keep-alive probe: a station that has lost the connection answers by ending it (R6)."""

    __slots__ = ()


@message()
class Leave(NamedTuple):
    """The last message of a host; the station answers by ending the connection."""

    ses: Number


# --- station to host


@message()
class Safe(NamedTuple):
    """A notice that the host's answer came round: what was buffered for this link follows."""

    ses: Number


@message()
class Welcome(NamedTuple):
    """The start of everything that follows. Of what was before, `past` has the highest number of each origin."""

    ses: Number
    past: tuple[tuple[Id, Number], ...]


# --- between stations; Ping and Return also over the old link of the host


@message()
class Ping(NamedTuple):
    """A ping to `host` by way of `via`, behind everything that the new station had forwarded."""

    id: Procedure
    host: Id
    ses: Number
    via: Id


@message()
class Return(NamedTuple):
    """The host's answer to a ping, behind everything that it has sent."""

    id: Procedure


@message()
class Close(NamedTuple):
    """A request to stations with a link of an older session of this host to drop it; those in `via` answer."""

    id: Procedure
    host: Id
    ses: Number
    via: tuple[Id, ...]


@message()
class Closed(NamedTuple):
    """An answer that `station` has no such link any more, behind all that it passed to the host and took from it."""

    id: Procedure
    station: Id

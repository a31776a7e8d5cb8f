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
    """An application message: over each link once."""

    origin: Id
    seq: Number
    body: Body


# --- host to station


@message()
class Attach(NamedTuple):
    """The first word over a new link: the stations in `via` know the host's past.

    `keep`: the link to the last of them is still open.
    """

    ses: Number
    via: tuple[Id, ...]
    keep: Flag


@message()
class Reenter(NamedTuple):
    """The old link is lost: the new one cannot become safe by a ping."""

    ses: Number


@message()
class Moved(NamedTuple):
    """This link is safe, and the old one is gone."""

    ses: Number


@message()
class Stay(NamedTuple):
    """Over the old link: the new one is not wanted any more."""

    ses: Number


@message(head=FLAG)
class Here:
    """The keep-alive probe: a station that has lost the connection answers by ending it (R6)."""

    __slots__ = ()


@message()
class Leave(NamedTuple):
    """The last word; the station answers by ending the connection."""

    ses: Number


# --- station to host


@message()
class Safe(NamedTuple):
    """The host's answer came round: what was buffered for this link follows."""

    ses: Number


@message()
class Welcome(NamedTuple):
    """From here on everything; of what was before, nothing: `past` has the highest number of each origin."""

    ses: Number
    past: tuple[tuple[Id, Number], ...]


# --- between stations; Ping and Return also over the old link of the host


@message()
class Ping(NamedTuple):
    """To `host` by way of `via`: behind everything that the new station had forwarded."""

    id: Procedure
    host: Id
    ses: Number
    via: Id


@message()
class Return(NamedTuple):
    """The host's answer: behind everything that it has sent."""

    id: Procedure


@message()
class Close(NamedTuple):
    """Stations with a link of an older session of this host drop it; those in `via` answer."""

    id: Procedure
    host: Id
    ses: Number
    via: tuple[Id, ...]


@message()
class Closed(NamedTuple):
    """`station` has no such link any more: behind everything that it passed to the host, and took from it."""

    id: Procedure
    station: Id

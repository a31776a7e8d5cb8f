"""The messages of TCP flooding. Their sizes are derived from the fields: ../fields.py.

Source    ours: docs/protocols/tcp-flooding.md. Ping and Return are ping and pong of PC-broadcast
Units     bytes. A station and its counter identify a procedure
Body      an int, the number of payload bytes. The content of the payload is not represented
"""

from __future__ import annotations

from typing import NamedTuple

from ..fields import FLAG, Body, Flag, Id, Number, message

Procedure = tuple[Id, Number]  # (the station that began it, the station's counter)


@message()
class App(NamedTuple):
    """An application message, which is sent once over each link."""

    origin: Id
    seq: Number
    body: Body


# --- host to station


@message()
class Attach(NamedTuple):
    """The first message over a new link. The stations in `via` know the host's past.

    `keep` is true if the link to the last station in `via` is still open.
    """

    ses: Number
    via: tuple[Id, ...]
    keep: Flag


@message()
class Reenter(NamedTuple):
    """A notice that the old link is lost, so that a ping cannot make the new link safe."""

    ses: Number


@message()
class Moved(NamedTuple):
    """A notice that this link is safe and that the host has closed the old one."""

    ses: Number


@message()
class Stay(NamedTuple):
    """A notice over the old link that the host no longer wants the new one."""

    ses: Number


@message(head=FLAG)
class Here:
    """The keep-alive probe. A station that has lost the connection answers by ending it (R6)."""

    __slots__ = ()


@message()
class Leave(NamedTuple):
    """The last message of a host. The station answers by ending the connection."""

    ses: Number


# --- station to host


@message()
class Safe(NamedTuple):
    """A notice that the host's answer has arrived at the new station. The messages that were buffered for this link
    follow.
    """

    ses: Number


@message()
class Welcome(NamedTuple):
    """The first message to a host on a link without history. `past` contains the highest message number of each origin
    so far.
    """

    ses: Number
    past: tuple[tuple[Id, Number], ...]


# --- between stations; Ping and Return also over the old link of the host


@message()
class Ping(NamedTuple):
    """A ping to `host` through `via`. It is sent after everything that the new station had forwarded."""

    id: Procedure
    host: Id
    ses: Number
    via: Id


@message()
class Return(NamedTuple):
    """The host's answer to a ping. It is sent after everything that the host had broadcast."""

    id: Procedure


@message()
class Close(NamedTuple):
    """A request to drop links of older sessions of this host. The stations in `via` answer."""

    id: Procedure
    host: Id
    ses: Number
    via: tuple[Id, ...]


@message()
class Closed(NamedTuple):
    """A report that `station` has closed its link. It is sent after everything that the station passed to the host and
    received from it.
    """

    id: Procedure
    station: Id

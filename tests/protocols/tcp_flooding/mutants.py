"""Undo one rule at a time, and count the drawn scenarios until the verifier notices the fault.

    python -m tests.protocols.tcp_flooding.mutants [--limit N] [names]

Model     the swarm draws the scenarios for the radio, with this protocol. A mutant is caught when the
          verdict is `violated`. If a run raises an exception, the verifier has not caught the mutant, and the search
          continues. A mutant is a subclass if a whole handler changes, and an edit of a few lines in a fresh copy of
          the package (tests/protocols/edits.py) if a clause changes
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import pytest

from mobilenet.lab.hunt.swarm import scenes
from mobilenet.protocols.tcp_flooding import Host, Station, Status
from mobilenet.protocols.tcp_flooding.declaration import TcpFlooding
from mobilenet.protocols.tcp_flooding.messages import App, Attach, Closed, Moved, Ping, Return, Stay, Welcome
from mobilenet.protocols.tcp_flooding.spacing import HostLink
from tests.protocols.edits import Edit, mutate

from .verdicts import judge

SHARED = ("messages", "parameters", "stable_storage")  # the network and the scenarios use these modules
LIMIT = 3000


class Mutant(NamedTuple):
    rule: str
    host: type[Host] = Host
    station: type[Station] = Station


MUTANTS: dict[str, Mutant] = {}
Class = TypeVar("Class", bound=type)


def mutant(name: str) -> Callable[[Class], Class]:
    def note(cls: Class) -> Class:
        role = {"host": cls} if issubclass(cls, Host) else {"station": cls}
        MUTANTS[name] = Mutant(str(cls.__doc__), **role)
        return cls

    return note


def edited_mutant(name: str, rule: str, *edits: Edit) -> None:
    """Register a mutant that consists of edits. The lines that they replace carry the label of the step or rule."""
    copy = mutate("mobilenet.protocols.tcp_flooding", name, edits, SHARED)
    MUTANTS[name] = Mutant(rule, copy.Host, copy.Station)


# --- flooding


ALREADY_HERE = "if m.seq <= self._received.get(m.origin, -1):"
TAKES_COPIES = Edit(
    "host",
    "if m.origin != self._port.me and m.seq > self._received.get(m.origin, -1):",
    "if m.origin != self._port.me:",
)

edited_mutant(
    "out_of_order",
    "of what waits for a host, the newest goes first",
    Edit(
        "station",
        "self._number = 0",
        """
        self._number = 0
        self._held: dict[int, App] = {}
    """,
    ),
    Edit(
        "station",
        "self._spacing.copies(receivers, m)",
        """
        for link in receivers:
            held = self._held.pop(link.host, None)
            if held is None and m.seq % 3 == 0:
                self._held[link.host] = m
                continue
            self._spacing.say(link, m)
            if held is not None:
                self._spacing.say(link, held)
    """,
    ),
)
edited_mutant(
    "late_flood",
    "hosts of the cell first, the other stations after the next message only",
    Edit(
        "station",
        "self._number = 0",
        """
        self._number = 0
        self._late: tuple[App, int | None] | None = None
    """,
    ),
    Edit(
        "station",
        "self._backbone.flood(m, None if self._p.echo else neighbour)",
        """
        if self._late is None and source is not None:
            self._late = m, neighbour
        else:
            self._backbone.flood(m, neighbour)
            if self._late is not None:
                late, self._late = self._late, None
                self._backbone.flood(*late)
    """,
    ),
)
edited_mutant(
    "copies_at_stations",
    "later copies are passed on to hosts as well, and hosts take them",
    Edit(
        "station",
        ALREADY_HERE,
        """
        if m.seq <= self._received.get(m.origin, -1):
            self._spacing.copies([link for link in self._links.values() if link.safe and link.host != m.origin], m)
    """,
    ),
    TAKES_COPIES,
)
edited_mutant("copies_at_hosts", "hosts deliver every copy", TAKES_COPIES)

# --- by ping


@mutant("unsafe_at_once")
class UnsafeAtOnce(Station):
    """The station uses the new link at once, in both directions."""

    def _ping_old_link(self, link: HostLink, via: int) -> None:
        self._make_safe(link)


edited_mutant(
    "stale_return",
    "the Return of any ping to this host will do",
    Edit(
        "station",
        "self._number = 0",
        """
        self._number = 0
        self._asked: dict[Procedure, int] = {}
    """,
    ),
    Edit(
        "station",
        "self._backbone.flood(Ping(link.ping, link.host, link.ses, via))",
        """
        self._backbone.flood(Ping(link.ping, link.host, link.ses, via))
        self._asked[link.ping] = link.host
    """,
    ),
    Edit("station", "if link.ping == m.id:", "if link.ping is not None and self._asked.get(m.id) == link.host:"),
)


@mutant("nothing_kept")
class NothingKept(Station):
    """The station does not buffer messages between Ping and Return."""

    def _make_safe(self, link: HostLink) -> None:
        link.buffer = None
        super()._make_safe(link)


@mutant("kept_last")
class KeptLast(Station):
    """The station sends buffered messages after newer messages."""

    def _make_safe(self, link: HostLink) -> None:
        kept, link.buffer = link.buffer or [], None
        super()._make_safe(link)
        link.buffer = kept

    def _receive(self, m: App, neighbour: int | None, source: HostLink | None) -> None:
        super()._receive(m, neighbour, source)
        for link in self._links.values():
            if link.safe and link.buffer:
                kept, link.buffer = link.buffer, None
                for late in kept:
                    self._spacing.say(link, late)


@mutant("ping_overtakes")
class PingOvertakes(Station):
    """A Ping overtakes messages that wait for the host."""

    def _on_ping(self, neighbour: int, m: Ping) -> None:
        link = self._links.get(m.host)
        if m.via == self._me and link is not None and link.safe and link.ses < m.ses and link.waiting:
            link.channel.say(m)
        else:
            super()._on_ping(neighbour, m)


edited_mutant(
    "only_own_again",
    "between Return and Safe only own messages are kept",
    Edit(
        "host",
        """
        self._received[m.origin] = m.seq
        if self._buffer is not None:
            self._buffer.append(m)
    """,
        "self._received[m.origin] = m.seq",
    ),
)


@mutant("only_unacknowledged_again")
class OnlyUnacknowledgedAgain(Host):
    """After Return, the host does not buffer those of its own messages that the old station has acknowledged."""

    def _on_safe(self, channel: Any) -> None:
        self._buffer = [m for m in self._buffer or [] if m.seq in self.stable.unsent and m.origin == self._port.me]
        super()._on_safe(channel)


@mutant("says_nothing_again")
class SaysNothingAgain(Host):
    """The host does not buffer messages between Return and Safe."""

    def _on_safe(self, channel: Any) -> None:
        self._buffer = []
        super()._on_safe(channel)


@mutant("return_over_new")
class ReturnOnNew(Host):
    """The host sends Return over the new link."""

    def _on_ping(self, channel: Any, m: Ping) -> None:
        if self._by_ping and m.ses == self.stable.ses and self._buffer is None and self._next is not None:
            self._buffer = []
            self._next.say(Return(m.id))


# --- by gap


edited_mutant(
    "closed_not_awaited",
    "Welcome without waiting for Closed",
    Edit("station", "if not link.closing:", "if not link.safe:"),
)


@mutant("one_via")
class OneVia(Host):
    """The host forgets the old station when Safe arrives."""

    def _on_safe(self, channel: Any) -> None:
        super()._on_safe(channel)
        self.stable.via = (channel.peer,)


@mutant("no_via")
class NoVia(Host):
    """A host that comes back does not report its previous station."""

    def on_recover(self) -> None:
        self.stable.via = ()
        super().on_recover()


@mutant("no_gap")
class NoGap(Host):
    """A host that has missed messages does not report a gap."""

    def _on_welcome(self, channel: Any, m: Welcome) -> None:
        port, self._port = self._port, _Mute(self._port)  # type: ignore[assignment]
        super()._on_welcome(channel, m)
        self._port = port


class _Mute:
    def __init__(self, port: Any) -> None:
        self._port = port

    def gap(self, session: int, station: int) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        return getattr(self._port, name)


edited_mutant(
    "past_ignored",
    "what was before the link may still come",
    Edit("host", "self._received = dict(m.past)", "pass"),
)


@mutant("closed_before_done")
class ClosedBeforeDone(Station):
    """A station sends Closed without closing the link."""

    def _on_close(self, neighbour: int, m: Any) -> None:
        if self._me in m.via:
            self._backbone.flood(Closed(m.id, self._me))
            self._backbone.flood(m, neighbour)
        else:
            super()._on_close(neighbour, m)


# --- hosts


@mutant("own_forgotten")
class OwnForgotten(Host):
    """The host does not send its own messages again after a gap."""

    def _on_welcome(self, channel: Any, m: Welcome) -> None:
        self.stable.unsent.clear()
        super()._on_welcome(channel, m)


@mutant("leaves_at_once")
class LeavesAtOnce(Host):
    """The host forgets its own messages in transit when it leaves."""

    def _try_leave(self) -> None:
        if self._want_leave:
            self.stable.unsent.clear()
        super()._try_leave()


@mutant("no_moved")
class NoMoved(Station):
    """A station does not tell the others to drop their links to a host that has moved."""

    def _on_moved(self, link: HostLink, m: Moved) -> None:
        pass


@mutant("no_stay")
class NoStay(Station):
    """A station does not tell the others to drop their links to a host that has turned back."""

    def _on_stay(self, link: HostLink, m: Stay) -> None:
        link.ses = m.ses


@mutant("old_admitted")
class OldAdmitted(Station):
    """A station accepts an Attach of an older session."""

    def _admit(self, channel: Any, message: Any) -> HostLink | None:
        self._newest.pop(channel.peer, None)
        return super()._admit(channel, message)

    def _on_attach(self, link: HostLink, m: Attach) -> None:
        super()._on_attach(link, m)


@mutant("delivers_out")
class DeliversOut(Host):
    """A host delivers messages before Welcome."""

    def on_message(self, channel: Any, m: Any) -> None:
        if channel is self._next and type(m) is App and self.stable.status is not Status.OUT:
            self._on_app(m)
        super().on_message(channel, m)


class Kill(NamedTuple):
    name: str
    schedules: int  # number of scenarios tried before the mutant was caught, or the limit
    seed: int | None
    check: str | None  # the first violated property, or None if the mutant survives
    explanation: str


def hunt(name: str, limit: int = LIMIT, first: int = 0) -> Kill:
    m = MUTANTS[name]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TcpFlooding, "host", m.host)
        patch.setattr(TcpFlooding, "station", m.station)
        for seed in range(first, first + limit):
            try:
                verdicts = judge(scenes.draw(seed, "tcp_flooding"))
            except (AssertionError, KeyError, RuntimeError):
                continue
            for check, verdict in verdicts.items():
                if verdict.answer == "violated":
                    return Kill(name, seed - first + 1, seed, check, verdict.explanation)
    return Kill(name, limit, None, None, "")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--limit", type=int, default=LIMIT)
    arguments = parser.parse_args()
    alive = 0
    for name in arguments.names or MUTANTS:
        kill = hunt(name, arguments.limit)
        alive += kill.check is None
        print(
            f"{name:26} {kill.schedules:5} {kill.check or 'SURVIVES':13} {MUTANTS[name].rule} |"
            f" {kill.explanation.splitlines()[:1]}",
            flush=True,
        )
    print(f"{alive} alive")
    return 1 if alive else 0


if __name__ == "__main__":
    raise SystemExit(main())

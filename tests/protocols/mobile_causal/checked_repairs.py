"""The two classes of `repair: selective`, watched from outside: what the verifier cannot see in a record.

Checks    R2, R7  what a station believes a host to have, that host has, or has delivered, in the present session
          R3      without progress, a host reports a gap at most `most_reports` times after the wait that progress found
                  under way, and waits at least twice as long each time. It does not report what another host has just
                  reported. The largest number that it takes to exist exists. A report causes no copy of a number of
                  which one was sent within `repair_rest_s`, or within `doubt_s`, if that is shorter
          R5      what another host of the same station has exists for this one as well
          R8      after `cell_copies` copies for the cell, a message is sent to single hosts
Errors    Untrue, out of the run
Source    docs/protocols/repair.md
"""

from __future__ import annotations

from typing import Any

from mobilenet.clock import ns
from mobilenet.protocols.mobile_causal.messages import AppCo, AppOne, AppSh, Have

FIRST = 0.2  # of report_s: the shortest wait for a first report


class Untrue(Exception):
    """A check is broken."""


def checked(protocol: Any) -> tuple[Any, Any]:
    """The host and the station of a protocol's module, with the checks."""
    hosts: dict[int, Any] = {}  # the present lives
    stations: dict[int, Any] = {}
    return _host(protocol, hosts, stations), _station(protocol, hosts, stations)


def _host(protocol: Any, hosts: dict[int, Any], stations: dict[int, Any]) -> Any:
    class CheckedHost(protocol.SelectiveHost):  # type: ignore[misc]
        def __init__(self, port: Any, *arguments: Any) -> None:
            super().__init__(port, *arguments)
            hosts[port.me] = self
            self._reported: list[int] = []  # when, since the last progress
            self._progress: tuple[int, int] | None = None
            self._heard_ns: int | None = None  # when another host reported the present gap

        def on_receive(self, sender: int, message: Any) -> None:
            if type(message) is Have and self._hears(message):
                was_to_report = self._report_timer.running
                super().on_receive(sender, message)
                if was_to_report and self._tells_all_that_is_missing(message):
                    self._heard_ns = self._port.now
                if self._newest < max((message.nxt - 1, *message.have)):
                    raise Untrue(f"h{self._port.me} does not believe that {message} exists")
                return
            super().on_receive(sender, message)

        def _new_session(self, cause: str) -> None:
            super()._new_session(cause)
            if self._newest >= 0:
                raise Untrue(f"h{self._port.me} believes that {self._newest} exists, which is of another session")

        def _hears(self, m: Any) -> bool:
            return self._connected and m.station == self._session_station == self._cell

        def _tells_all_that_is_missing(self, m: Any) -> bool:
            there = self._rbuf.stream.keys() | self._rbuf.skip
            missing = set(range(self.stable.nxt, self._newest + 1)) - there
            return self.stable.nxt >= self._rbuf.base and missing.isdisjoint(m.have) and (
                not missing or m.nxt <= min(missing) and max(missing) < max(m.have, default=0)
            )  # fmt: skip

        def _report(self) -> None:
            now, progress = self._port.now, (self.stable.ses, self.stable.nxt)
            if progress != self._progress:
                self._reported, self._progress = [], progress
            shortest_ns = int(ns(self._p.report_s) * FIRST)
            if self._reported and now - self._reported[-1] < shortest_ns << (len(self._reported) - 1):
                raise Untrue(f"h{self._port.me} reports {progress} without backing off")
            self._reported.append(now)
            if len(self._reported) > self._p.most_reports + 1:
                raise Untrue(f"h{self._port.me} reports {progress} {len(self._reported)} times")
            if self._heard_ns is not None and now - self._heard_ns < shortest_ns:
                raise Untrue(f"h{self._port.me} reports what it has just heard")
            if self._newest >= stations[self._session_station]._stream.next_number:
                raise Untrue(f"h{self._port.me} believes that {self._newest} exists")
            super()._report()

    return CheckedHost


def _station(protocol: Any, hosts: dict[int, Any], stations: dict[int, Any]) -> Any:
    class CheckedStream(protocol.selective_station.SelectiveStream):  # type: ignore[misc]
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            self._last_ns: dict[tuple[int, int | None], int] = {}  # (number, host or the cell) -> when a copy was sent
            self._times: dict[int, int] = {}  # number -> copies for the cell

        def on_sent(self, message: Any) -> None:
            if type(message) is AppSh:
                self._times[message.number] = self._times.get(message.number, 0) + 1
                self._last_ns[message.number, None] = self._port.now
            elif type(message) in (AppOne, AppCo):
                self._last_ns[message.number, message.host] = self._port.now
            super().on_sent(message)

        def _repair(self, c: Any, number: int) -> None:
            rest_ns = ns(min(self._p.repair_rest_s, self._p.doubt_s))
            for key in ((number, None), (number, c.host)):
                if key in self._last_ns and self._port.now - self._last_ns[key] < rest_ns:
                    raise Untrue(f"s{self._port.me} repairs {number} for h{c.host} twice within the rest")
            super()._repair(c, number)
            if number >= c.base and self._times.get(number, 0) >= self._p.cell_copies and number not in c.direct:
                raise Untrue(f"s{self._port.me} sends {number} to the cell {self._times[number] + 1} times")

        def begin_session(self, c: Any) -> None:
            super().begin_session(c)
            self._forget_copies(c)
            if c.have or c.copied or c.direct:
                raise Untrue(f"s{self._port.me} knows of a session of h{c.host} that has ended")

        def delete(self, c: Any) -> None:
            super().delete(c)
            self._forget_copies(c)

        def _forget_copies(self, c: Any) -> None:
            for key in [key for key in self._last_ns if key[1] == c.host]:
                del self._last_ns[key]

    class CheckedStation(protocol.SelectiveStation):  # type: ignore[misc]
        def __init__(self, port: Any, *arguments: Any) -> None:
            super().__init__(port, *arguments)
            stations[port.me] = self

        def _new_stream(self, check: bool) -> Any:
            return CheckedStream(self._port, self._send, self._p, self.ctx, check)

        def _on_have(self, m: Any) -> None:
            super()._on_have(m)
            c, host = self.ctx.get(m.host), hosts[m.host]
            if c is None or c.ses != host.stable.ses or not host._connected:
                return
            there = host._rbuf.stream.keys() | host._rbuf.recovery.keys()
            if wrong := [n for n in c.have if n >= host.stable.nxt and n not in there]:
                raise Untrue(f"s{self._port.me} believes h{m.host} to have {wrong}")

    return CheckedStation

"""Observe the classes of `repair: selective`, and check the rules that the verifier cannot check in the record of a
run.

Checks    R1      a message for one node is sent as a unicast frame
          R2      a station resends no message to a silent host
          R2, R7  a station believes that a host has a number only if the host has it or has delivered it in the present
                  session
          R3      without progress, a host reports a gap at most `most_reports` times after the wait that was running
                  when the progress occurred, and waits at least twice as long each time. It does not report what
                  another host has just reported. After the first report of a gap whose wait began after the last
                  progress, its reports and acknowledgements are unicast frames. The largest number that it assumes to
                  exist does exist. A report causes no copy of a number that was sent within `repair_rest_s` or, from
                  the last number that the report lists on, within `doubt_s`
          R3b     a heartbeat is a unicast frame
          R4      a station sends an ack_C only within `report_s` after a host has repeated a message
          R5      a number that another host of the same station has also exists for this host
          R6      if the MAC gives up an App_hs, the host sends it again at once. If the MAC gives it up again, the host
                  waits for `retry_s`, then for twice that time, and so on up to I(x). A new session restarts this
                  sequence. A message from a station to one host waits no longer than that
          R8      after `cell_copies` copies for the cell, a message is sent to individual hosts
          R9      first copies are sent to individual hosts only if there is one host, or if there are at most
                  `few_hosts` hosts and one of them has lacked more than `lossy_share`, and while no other copy is in
                  the queue. Then each of these hosts is sent a separate copy
Errors    Untrue, which ends the run
Source    docs/protocols/repair.md
"""

from __future__ import annotations

from typing import Any

from mobilenet.engine.clock import ns
from mobilenet.protocols.mobile_causal.messages import AppCo, AppHs, AppOne, AppSh, Have
from mobilenet.protocols.mobile_causal.stream import CELL

FIRST = 0.2  # shortest wait before a first report, as a fraction of report_s
QUEUE_NS = ns(0.1)  # A copy waits for less than this time behind earlier copies.
MANY = 100  # With a window of this size, copies never wait for the next round.


class Untrue(Exception):
    """Raised if a rule of `repair: selective` is broken."""


def with_checks(protocol: Any) -> tuple[Any, Any]:
    """Return subclasses of the protocol's host and station with the checks added."""
    hosts: dict[int, Any] = {}  # host -> its current life
    stations: dict[int, Any] = {}
    return _host(protocol, hosts, stations), _station(protocol, hosts, stations)


class WatchedPort:
    """A port that checks whether each message for one node is sent as a unicast frame."""

    def __init__(self, port: Any) -> None:
        self._port = port
        self.beats = False
        self.reports_again = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._port, name)

    def send(self, to: int, message: Any) -> None:
        raise Untrue(f"{message} for {to} is not a unicast frame")

    def broadcast(self, message: Any) -> None:
        if self.beats:
            raise Untrue(f"the heartbeat {message} is a broadcast frame")
        if self.reports_again:
            raise Untrue(f"{message}, after a report of the same gap, is a broadcast frame")
        self._port.broadcast(message)


class Retries:
    """Tracks which frames the MAC gave up on in one session, and when their next copies are due. With `or_earlier`, a
    copy may be sent earlier because of a report.
    """

    def __init__(self, p: Any, or_earlier: bool = False) -> None:
        self._p = p
        self._or_earlier = or_earlier
        # number -> (how often the MAC gave up on it, and when it last did)
        self._given_up: dict[int, tuple[int, int]] = {}
        self._usual_s: dict[int, float] = {}  # number -> I(x) at that time, without jitter

    def given_up(self, number: int, now: int, pending: int) -> None:
        p = self._p
        self._given_up[number] = (self._given_up.get(number, (0, 0))[0] + 1, now)
        share = min(pending, p.window) / p.window
        self._usual_s[number] = p.resend_first_s - (p.resend_first_s - p.resend_full_s) * share

    def pause(self, number: int) -> None:
        """Record that a frame was sent, or was due while the host had no station."""
        if number in self._given_up:
            self._given_up[number] = (self._given_up[number][0], -1)

    def forget_from(self, number: int) -> None:
        self._given_up = {n: given_up for n, given_up in self._given_up.items() if n < number}

    def on_sent(self, number: int, now: int) -> None:
        times, at_ns = self._given_up.get(number, (0, -1))
        if at_ns < 0:
            return
        self.pause(number)
        p, waited_ns = self._p, now - at_ns
        wait_s = min(p.retry_s * 2 ** (times - 2), self._usual_s[number]) if times > 1 else 0
        if not self._or_earlier and waited_ns < ns(wait_s * p.resend_jitter_low):
            raise Untrue(f"{number} is sent again {waited_ns} ns after it was given up for the {times}th time")
        if p.window >= MANY and waited_ns > QUEUE_NS + ns(wait_s * p.resend_jitter_high):
            raise Untrue(f"{number} is sent again only {waited_ns} ns after it was given up for the {times}th time")


def _host(protocol: Any, hosts: dict[int, Any], stations: dict[int, Any]) -> Any:
    class CheckedHost(protocol.SelectiveHost):  # type: ignore[misc]
        def __init__(self, port: Any, stable: Any, parameters: Any, *arguments: Any) -> None:
            self._retries = Retries(parameters)
            super().__init__(WatchedPort(port), stable, parameters, *arguments)
            hosts[port.me] = self
            self._reported: list[int] = []  # times of the reports since the last progress
            self._progress: tuple[int, int] | None = None
            # The progress at the time when the wait for the next report began.
            self._waits_since: tuple[int, int] | None = None
            self._report_progress: tuple[int, int] | None = None  # the progress at the time of the last report of a gap
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

        def _send_heartbeat(self) -> None:
            self._port.beats = True
            super()._send_heartbeat()
            self._port.beats = False

        def _acknowledge(self, station: int, is_heartbeat: bool) -> None:
            """Check an acknowledgement. If `most_reports` is 1, the host does not report again, and its
            acknowledgements remain broadcast frames.
            """
            is_same = self._report_progress == (self.stable.ses, self.stable.nxt) and self._newest >= self.stable.nxt
            self._port.reports_again = is_same and self._p.most_reports > 1
            super()._acknowledge(station, is_heartbeat)
            self._port.reports_again = False

        def _wait_to_report(self) -> None:
            self._waits_since = self.stable.ses, self.stable.nxt
            super()._wait_to_report()

        def _make_app(self, seq: int) -> Any:
            message = super()._make_app(seq)
            if message is None:
                self._retries.pause(seq)
            return message

        def _to_cell(self, message: Any) -> None:
            self._retries.on_sent(message.seq, self._port.now)
            super()._to_cell(message)

        def on_dropped(self, message: Any) -> None:
            if type(message) is AppHs and self._resender._copies.get(message.seq) is message:
                self._retries.given_up(message.seq, self._port.now, len(self._resender))
            super().on_dropped(message)

        def _new_session(self, cause: str) -> None:
            self._retries = Retries(self._p)
            super()._new_session(cause)
            if self._newest >= 0:
                raise Untrue(f"h{self._port.me} believes that {self._newest} exists, which is of another session")
            if self._resender._times:
                raise Untrue(f"h{self._port.me} counts what the MAC gave up in another session")

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
            is_counted = self._waits_since == progress
            super()._report()
            if is_counted:
                self._report_progress = progress

    return CheckedHost


def _station(protocol: Any, hosts: dict[int, Any], stations: dict[int, Any]) -> Any:
    class CheckedStream(protocol.selective_station.SelectiveStream):  # type: ignore[misc]
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            self._last_ns: dict[tuple[int, int | None], int] = {}  # (number, host or the cell) -> time of the last copy
            self._times: dict[int, int] = {}  # number -> how many copies were sent to the cell
            self._lacked: dict[int, set[int]] = {}  # host -> numbers that it has lacked in its session
            self._singles: list[int] = []  # receivers of the copies that were just handed over
            self._retries: dict[int, Retries] = {}  # host -> retries in its session
            # Last number listed in the report that is being answered; lower numbers that it does not list are missing.
            self._last_listed = 0

        def _transmit(self, message: Any) -> None:
            if type(message) is AppOne:
                self._singles.append(message.host)
            if type(message) in (AppOne, AppCo):
                self._retries_of(message.host).on_sent(message.number, self._port.now)
            super()._transmit(message)

        def _retries_of(self, host: int) -> Retries:
            return self._retries.setdefault(host, Retries(self._p, or_earlier=True))

        def _first(self, number: int, item: Any) -> None:
            lacking, self._singles = self._lack(number), []
            queued = list(self._resender._copies)
            super()._first(number, item)
            if not self._singles:
                return
            if self._singles != [c.host for c in lacking] or (number, CELL) not in self._resender._state:
                raise Untrue(f"s{self._port.me} sends {number} to {self._singles} only")
            if len(lacking) > 1 and (
                len(lacking) > self._p.few_hosts or not any(self._is_lossy(c, number) for c in lacking)
            ):
                raise Untrue(f"s{self._port.me} sends {number} to {self._singles} one by one")
            if len(lacking) > 1 and queued:
                raise Untrue(f"s{self._port.me} sends {number} to {self._singles} though {queued} are queued")

        def _copy(self, key: tuple[int, int]) -> Any:
            message = super()._copy(key)
            number, host = key
            is_needed = len(self._lack(number)) > 1 if host == CELL else self._hears(self._contexts[host])
            if message is not None and not is_needed:
                raise Untrue(f"s{self._port.me} sends {message} again, which no host that it hears needs")
            if message is None:
                self._retries_of(host).pause(number)
            return message

        def _lack(self, number: int) -> list[Any]:
            """Return the hosts that the station hears and that may lack this number of the stream."""
            return [
                c
                for c in self._contexts.values()
                if self._hears(c) and number >= max(c.nxt, c.base) and number not in c.have | c.skip
            ]

        def _hears(self, c: Any) -> bool:
            """Return whether a host is connected and not silent."""
            is_silent = self._port.now - c.heard_ns > ns(self._p.silent_after_s)
            return c.state.name == "OWN" and not c.expired and not is_silent

        def _is_lossy(self, c: Any, number: int) -> bool:
            return len(self._lacked.get(c.host, ())) > self._p.lossy_share * (number - c.base)

        def on_sent(self, message: Any, given_up: bool) -> None:
            if type(message) is AppSh:
                self._times[message.number] = self._times.get(message.number, 0) + 1
                self._last_ns[message.number, None] = self._port.now
            elif type(message) in (AppOne, AppCo) and message.host in self._contexts:
                self._last_ns[message.number, message.host] = self._port.now
                if given_up and self._resender._copies.get((message.number, message.host)) is message:
                    retries = self._retries_of(message.host)
                    retries.given_up(message.number, self._port.now, len(self._resender))
            super().on_sent(message, given_up)

        def note(self, c: Any, have: tuple[int, ...]) -> None:
            self._last_listed = max(have, default=c.nxt)
            super().note(c, have)

        def _repair(self, c: Any, number: int) -> None:
            rest_ns = ns(self._p.repair_rest_s if number < self._last_listed else self._p.doubt_s)
            copies: list[tuple[int, int | None]] = [(number, c.host)]
            if number >= c.base:  # Below the base, the number refers to another message.
                copies.append((number, None))
            for key in copies:
                if key in self._last_ns and self._port.now - self._last_ns[key] < rest_ns:
                    raise Untrue(f"s{self._port.me} repairs {number} for h{c.host} twice within {rest_ns} ns")
            if number >= c.base:
                self._lacked.setdefault(c.host, set()).add(number)
            super()._repair(c, number)
            if number >= c.base and self._times.get(number, 0) >= self._p.cell_copies and number not in c.direct:
                raise Untrue(f"s{self._port.me} sends {number} to the cell {self._times[number] + 1} times")

        def begin_session(self, c: Any) -> None:
            super().begin_session(c)
            self._forget_copies(c)
            # Recovery messages remain, including those that the MAC gave up on.
            self._retries_of(c.host).forget_from(c.base)
            if c.have or c.copied or c.direct:
                raise Untrue(f"s{self._port.me} knows of a session of h{c.host} that has ended")

        def delete(self, c: Any) -> None:
            super().delete(c)
            self._forget_copies(c)
            self._retries.pop(c.host, None)

        def _forget_copies(self, c: Any) -> None:
            self._lacked.pop(c.host, None)
            for key in [key for key in self._last_ns if key[1] == c.host]:
                del self._last_ns[key]

    class CheckedStation(protocol.SelectiveStation):  # type: ignore[misc]
        def __init__(self, port: Any, *arguments: Any) -> None:
            super().__init__(WatchedPort(port), *arguments)
            stations[port.me] = self
            self._again_ns: int | None = None  # time when a host last repeated an accepted message

        def _on_app_hs(self, m: Any) -> None:
            c = self.ctx.get(m.host)
            if c is not None and m.seq < c.seq_h:
                self._again_ns = self._port.now
            super()._on_app_hs(m)

        def _on_ack_timer(self) -> None:
            if self._again_ns is None or self._port.now - self._again_ns > ns(self._p.report_s):
                raise Untrue(f"s{self._port.me} sends an ack_C, though no host has just repeated a message")
            super()._on_ack_timer()

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

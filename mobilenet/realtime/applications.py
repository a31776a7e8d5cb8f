"""The programs of a run in real time: what they send enters their hosts, and the lines that they write become events.

Model     a host's program lives from the moment the host joins, and again from each recovery on; a crash kills it,
          with its process group. Programs that the user has started are cut off from the network for as long as their
          host is not there. First the datagrams are taken from their sockets, then all lines are read, and only then do
          the datagrams enter the network: what a program wrote before it sent is there by then, so a broadcast is
          recorded before any host can deliver it. Numbers of messages are the program's own, in any order; in the
          record each host's count from 0
Units     bytes
Errors    ProgramError: a program that fails
Source    ours: docs/guide/real-time.md
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from mobilenet.programs.children import Child, Children, ProgramError
from mobilenet.protocols.datagram_relay import Datagram, Memory, RelayHost
from mobilenet.protocols.port import MessageId, UnicastHostPort
from mobilenet.realtime.addresses import Addresses
from mobilenet.realtime.gateway import MOST_BYTES, Gateway
from mobilenet.realtime.lines import CHUNK_BYTES, Expressions, Log, Said
from mobilenet.realtime.pace import Pace, RealTime
from mobilenet.realtime.tcp_refusal import TcpRefusal

HEADER_BYTES = 16  # of Datagram
CHUNKS_AT_ONCE = 256  # of one program's lines, before the network goes on: it may write as fast as it is read
LOOKED_AFTER_S = 0.1  # so often it is looked whether programs have failed
QUIET_NS = 1_000_000_000  # without datagrams and lines for this time, programs are at rest
UNKNOWN = 10**12  # numbers of messages from here on: delivered, and never broadcast
Note = Callable[..., None]  # EventLog.add


class Told(NamedTuple):
    """What a scenario declares about them."""

    command: tuple[str, ...] | None
    port: int
    own_port: int | None
    logs: str | None
    lines: Expressions
    folder: Path  # where programs start, and logs are
    is_new: bool = False  # it is that of the new run, and has another name when the run is over


class Applications:
    """The applications of one run. `note` adds an event; `now` returns the emulated time."""

    def __init__(
        self,
        told: Told,
        addresses: Addresses,
        gateway: Gateway,
        children: Children,
        note: Note,
        now: Callable[[], int],
        asked: RealTime,
    ) -> None:
        self._told = told
        self._addresses = addresses
        self._gateway = gateway
        self._tcp = TcpRefusal(addresses)
        self._children = children
        self._note = note
        self._now = now
        self.pace = Pace(self._take, asked)
        self._hosts: dict[int, LiveHost] = {}  # those whose programs may talk
        self._running: dict[int, Child] = {}
        self._mute: set[int] = set()  # those of them that have closed their standard output
        self._over: set[int] = set()  # processes of those that have ended well
        self._look_s = 0.0  # time of the next check for ended programs
        self._logs: dict[int, Log] = {}
        self._numbers: dict[tuple[int, int], int] = {}  # (host, what its program calls a message) -> number
        self._counts: dict[int, int] = {}
        self._stirred_ns = 0  # when something came in last
        self.undeliverable = 0
        self.too_long = 0

    # --- lives

    def open(self) -> None:
        """Listen at the port; ScenarioError where that is impossible."""
        self._gateway.open(self._told.port)
        self._tcp.open(self._told.port)
        for each in (*self._gateway.sockets, self._tcp.listening):
            if each is not None:
                self.pace.listen(each)

    def begin(self, host: LiveHost) -> None:
        """Its program may talk from now on, and is started if that is up to us."""
        me = host.port.me
        self._hosts[me] = host
        if self._told.command is not None:
            words = [self._addresses.filled_in(word, me, self._told.own_port) for word in self._told.command]
            child = self._running[me] = self._children.spawn(f"h{me}", words)
            os.set_blocking(child.back, False)
            self.pace.listen(child.back)
        if self._told.logs is None:
            self._logs[me] = Log(None)
        elif me not in self._logs:
            self._logs[me] = Log(self._told.folder / self._addresses.filled_in(self._told.logs, me, None))

    def end_life(self, me: int) -> None:
        if self._hosts.pop(me, None) is None:
            return
        child = self._running.pop(me, None)
        if child is not None:
            if me not in self._mute:
                self.pace.forget(child.back)
            self._mute.discard(me)
            self._children.kill(child)

    def end(self) -> None:
        self._gateway.close()
        self._tcp.close()
        self._children.close()
        self._addresses.close()
        self.pace.close()

    def is_quiet(self) -> bool:
        """Whether nothing was sent or written for a while."""
        return self._now() - self._stirred_ns >= QUIET_NS

    def _log_name(self, path: Path | None) -> str:
        return str(path) if path is None or not self._told.is_new else str(path.relative_to(self._told.folder))

    def document(self) -> dict[str, Any]:
        """For the manifest."""
        return {
            "lateness_ms": self.pace.lateness_ms(),
            "datagrams_from_outside": self._gateway.from_outside,
            "datagrams_misaddressed": self._gateway.misaddressed,
            "datagrams_unidentified": self._gateway.unidentified,
            "datagrams_not_taken": self.undeliverable,
            "datagrams_too_long": self.too_long,
            "logs_that_never_were": sorted(self._log_name(log.path) for log in self._logs.values() if log.is_missing),
            "senders_renamed": [[f"h{a}", f"h{b}"] for a, b in sorted(self._gateway.renamed)],
            "claimed_twice": [f"h{me}" for me in sorted(self._gateway.claimed_twice)],
            "asked_for_tcp": [f"h{me}" for me in sorted(self._tcp.asked)],
        }

    def not_at_rest(self) -> list[str]:
        """For people."""
        if self.is_quiet():
            return []
        return [f"programs sent or reported something within the last {QUIET_NS / 1e9:g} s"]

    # --- what comes in

    def _take(self) -> None:
        came = list(self._gateway.take())  # before the lines: all that was written before they were sent is read now
        self._tcp.answer()
        for me in sorted(self._hosts):
            self._read(me)
        self._see_who_ended()
        for source, to, data in came:
            host = self._hosts.get(source)
            if host is None:
                continue
            self._stirred_ns = self._now()
            if len(data) > MOST_BYTES - HEADER_BYTES:
                self.too_long += 1
                continue
            number = host.send(to, data)
            detail = {"to": f"h{to}", "bytes": len(data)}
            self._note(self._now(), f"h{source}", "datagram", f"h{source}:{number}", None, None, detail)

    def hand_over(self, datagram: Datagram) -> None:
        """It has come to its host."""
        self._stirred_ns = self._now()
        if self._gateway.hand_over(datagram.source, datagram.to, datagram.data):
            name = f"h{datagram.source}:{datagram.number}"
            self._note(self._now(), f"h{datagram.to}", "datagram_received", name)
        else:
            self.undeliverable += 1

    def _read(self, me: int) -> None:
        """Read all that it has written by now."""
        child, log = self._running.get(me), self._logs[me]
        for _ in range(CHUNKS_AT_ONCE):
            if child is None or me in self._mute:
                break
            try:
                data = os.read(child.back, CHUNK_BYTES)
            except BlockingIOError:
                break
            if data == b"":
                self.pace.forget(child.back)
                self._mute.add(me)
            elif log.path is None:
                self._hear(me, log.lines(data))
            if len(data) < CHUNK_BYTES:
                break
        for _ in range(CHUNKS_AT_ONCE):
            if log.path is None:
                break
            data = log.more()
            self._hear(me, log.lines(data))
            if len(data) < CHUNK_BYTES:
                break

    def _see_who_ended(self) -> None:
        """A program need not live as long as its host, but it must not fail. Its output is not a sign of life: it may
        close it, and its children may keep it open.
        """
        now_s = time.monotonic()
        if not self._running or now_s < self._look_s:
            return
        self._look_s = now_s + LOOKED_AFTER_S
        ended = {child.pid for child in self._children.ended()} - self._over
        for me, child in self._running.items():
            if child.pid in ended and (how := self._children.failure(child)) is not None:
                raise ProgramError(f"h{me}: its program {how}")
        self._over |= ended

    def _hear(self, me: int, lines: list[bytes]) -> None:
        if not lines or self._told.lines.are_none:
            return
        self._stirred_ns = self._now()
        found: list[Said] = []
        try:
            self._told.lines.find(me, lines, found, self._logs[me].path)
        finally:
            for sender, said in found:
                self._note_said(me, sender, said)

    def _note_said(self, me: int, sender: int | None, said: int) -> None:
        if sender is not None:
            number = self._numbers.get((sender, said), UNKNOWN + said)
            self._hosts[me].port.deliver(MessageId(sender, number), None)
            return
        number = self._counts[me] = self._counts.get(me, -1) + 1
        self._numbers[me, said] = number  # a new life may begin at 0 again
        self._note(self._now(), f"h{me}", "broadcast", f"h{me}:{number}")


class LiveHost(RelayHost):
    """A host with a program attached."""

    def __init__(self, applications: Applications, port: UnicastHostPort, memory: Memory) -> None:
        super().__init__(port, memory, applications.hand_over)
        self._applications = applications

    def join(self) -> None:
        was = self.memory.member
        super().join()
        if self.memory.member and not was:
            self._applications.begin(self)

    def leave(self) -> bool:
        self._applications.end_life(self.port.me)
        return super().leave()

    def on_recover(self) -> None:
        if self.memory.member:
            self._applications.begin(self)

    def on_end(self) -> None:
        self._applications.end_life(self.port.me)

"""The programs of a run in real time: what they send enters their hosts, and what they say becomes events.

Model     a host's program lives from the moment the host joins, and again from each recovery on; a crash kills it,
          with its process group. Programs that the user has started are cut off from the network for as long as their
          host is not there. Before a datagram is looked at, all lines are: who says that it broadcasts before it sends
          is recorded before anybody can deliver that. Numbers of messages are the program's own, in any order; in the
          record each host's count from 0
Units     bytes
Errors    ProgramError: a program that fails
Source    ours: docs/guide/real-time.md
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from stat import S_ISREG
from typing import Any, NamedTuple

from mobilenet.programs.children import Child, Children, ProgramError
from mobilenet.programs.conversation import shown
from mobilenet.protocols.datagram_relay import Datagram, Memory, RelayHost
from mobilenet.protocols.port import MessageId, UnicastHostPort
from mobilenet.realtime.addresses import Addresses
from mobilenet.realtime.gateway import MOST_BYTES, Gateway
from mobilenet.realtime.pace import Pace
from mobilenet.realtime.tcp_refusal import TcpRefusal

CHUNK_BYTES = 65_536
LONGEST_LINE_BYTES = 1 << 20
HEADER_BYTES = 16  # of Datagram
QUIET_NS = 1_000_000_000  # so long nothing comes in and nothing is said: programs are at rest
LONGEST_NUMBER = 12  # digits
UNKNOWN = 10**12  # numbers of messages from here on: delivered, and never broadcast
Note = Callable[..., None]  # EventLog.add


class Told(NamedTuple):
    """What a scenario says of them."""

    command: tuple[str, ...] | None
    port: int
    own_port: int | None
    logs: str | None
    broadcast: re.Pattern[bytes] | None
    deliver: re.Pattern[bytes] | None
    folder: Path


class Applications:
    """Of one run. `note`: adds an event; `now`: emulated time."""

    def __init__(
        self,
        told: Told,
        addresses: Addresses,
        gateway: Gateway,
        children: Children,
        note: Note,
        now: Callable[[], int],
        hard_limit_ms: float | None,
        stopped: Callable[[], str],
    ) -> None:
        self._told = told
        self._addresses = addresses
        self._gateway = gateway
        self._tcp = TcpRefusal(addresses)
        self._children = children
        self._note = note
        self._now = now
        self.pace = Pace(self._take, hard_limit_ms, stopped)
        self._hosts: dict[int, LiveHost] = {}  # those whose programs may talk
        self._running: dict[int, Child] = {}
        self._mute: set[int] = set()  # those of them that have closed their standard output
        self._logs: dict[int, _Log] = {}
        self._numbers: dict[tuple[int, int], int] = {}  # (host, what its program calls a message) -> number
        self._counts: dict[int, int] = {}
        self._stirred_ns = 0  # when something came in last
        self.undeliverable = 0
        self.too_long = 0

    # --- lives

    def open(self) -> None:
        """ScenarioError where nobody can listen at the port."""
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
            self._logs[me] = _Log(None)
        elif me not in self._logs:
            self._logs[me] = _Log(self._told.folder / self._addresses.filled_in(self._told.logs, me, None))

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
        self.pace.close()

    def is_quiet(self) -> bool:
        """Nothing was sent or said for a while."""
        return self._now() - self._stirred_ns >= QUIET_NS

    def document(self) -> dict[str, Any]:
        """For the manifest."""
        return {
            "lateness_ms": self.pace.lateness_ms(),
            "datagrams_of_strangers": self._gateway.strangers,
            "datagrams_for_nobody": self.undeliverable,
            "datagrams_too_long": self.too_long,
            "logs_that_never_were": sorted(str(log.path) for log in self._logs.values() if log.is_missing),
            "asked_for_tcp": [f"h{me}" for me in sorted(self._tcp.asked)],
        }

    def not_at_rest(self) -> list[str]:
        """For people."""
        if self.is_quiet():
            return []
        return [f"programs sent or said something within the last {QUIET_NS / 1e9:g} s"]

    # --- what comes in

    def _take(self) -> None:
        self._tcp.answer()
        for me in sorted(self._hosts):
            self._read(me)
        for source, to, data in self._gateway.take():
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
        child, log = self._running.get(me), self._logs[me]
        if child is not None and me not in self._mute:
            try:
                data = os.read(child.back, CHUNK_BYTES)
            except BlockingIOError:
                data = None
            if data == b"":
                self._ended(me, child)
            elif data and log.path is None:
                self._hear(me, log.lines(data))
        if log.path is not None:
            self._hear(me, log.lines(log.more()))

    def _ended(self, me: int, child: Child) -> None:
        """A program need not live as long as its host, but it must not fail."""
        self.pace.forget(child.back)
        self._mute.add(me)
        if (how := self._children.failure(child)) is not None:
            raise ProgramError(f"h{me}: its program {how}")

    def _hear(self, me: int, lines: list[bytes]) -> None:
        told = self._told
        if told.broadcast is None or told.deliver is None:
            return
        for line in lines:
            self._stirred_ns = self._now()
            if (found := told.deliver.search(line)) is not None:
                key = self._whole(me, found["sender"], line), self._whole(me, found["number"], line)
                number = self._numbers.get(key, UNKNOWN + key[1] % UNKNOWN)
                self._hosts[me].port.deliver(MessageId(key[0], number), None)
            elif (found := told.broadcast.search(line)) is not None:
                number = self._counts[me] = self._counts.get(me, -1) + 1
                self._numbers[me, self._whole(me, found["number"], line)] = number  # a new life may begin anew
                self._note(self._now(), f"h{me}", "broadcast", f"h{me}:{number}")

    @staticmethod
    def _whole(me: int, text: bytes | None, line: bytes) -> int:
        """What a group of an expression has found, as a number."""
        if text is None or not text.isdigit() or len(text) > LONGEST_NUMBER:
            found = "nothing" if text is None else shown(text.decode("utf-8", "replace"))
            raise ProgramError(
                f"h{me}: its line {shown(line.decode('utf-8', 'replace'))}: protocol.lines finds {found} there,"
                f" expected a whole number of at most {LONGEST_NUMBER} digits"
            )
        return int(text)


class LiveHost(RelayHost):
    """A host with a program beside it."""

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


class _Log:
    """Whole lines of what a program writes, on standard output or into a file. It need not be there yet."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._rest = b""
        self.is_missing = path is not None and not path.is_file()
        self._inode = path.stat().st_ino if path is not None and path.is_file() else None
        self._read_bytes = path.stat().st_size if path is not None and path.is_file() else 0  # of an earlier run

    def more(self) -> bytes:
        """What is new in it; from its beginning, where it was begun anew."""
        assert self.path is not None
        try:
            found = self.path.stat()
            if not S_ISREG(found.st_mode):
                return b""
            if found.st_size < self._read_bytes or found.st_ino != self._inode:
                self._read_bytes, self._rest, self._inode = 0, b"", found.st_ino
            with self.path.open("rb") as file:
                file.seek(self._read_bytes)
                data = file.read(CHUNK_BYTES)
        except OSError:
            return b""
        self.is_missing = False
        self._read_bytes += len(data)
        return data

    def lines(self, data: bytes) -> list[bytes]:
        *whole, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > LONGEST_LINE_BYTES:
            self._rest = b""
        return whole


def patterns(lines: Any) -> tuple[re.Pattern[bytes] | None, re.Pattern[bytes] | None]:
    """Of `lines` of a scenario: what tells of broadcasts, and of deliveries."""
    if lines is None:
        return None, None
    return re.compile(lines.broadcast.encode()), re.compile(lines.deliver.encode())

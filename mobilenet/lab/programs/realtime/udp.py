"""Connect programs that use UDP on the loopback interface to their hosts.

Model     Each program is either a child of the run's supervisor or started by the user. The gateway owns the socket
Units     bytes
Errors    ScenarioError: a port that is in use. ProgramError: a command that cannot be started
Source    ours: docs/guide/real-time.md
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from mobilenet.lab.programs.children import Child, Children
from mobilenet.lab.programs.realtime.addresses import Addresses
from mobilenet.lab.programs.realtime.applications import Applications, SentDatagram, WithProgram
from mobilenet.lab.programs.realtime.gateway import MOST_BYTES, Gateway
from mobilenet.lab.programs.realtime.pace import Pace
from mobilenet.lab.programs.realtime.tcp_refusal import TcpRefusal
from mobilenet.protocols.datagram_relay import Datagram, Memory, RelayHost
from mobilenet.protocols.port import UnicastHostPort

HEADER_BYTES = 16  # size of the header of a Datagram


class UdpSockets:
    """The sockets of one run. `command` is None if the user starts the programs. `ports` holds the port of the network
    and the port of the programs.
    """

    def __init__(
        self,
        command: Sequence[str] | None,
        ports: tuple[int, int | None],
        addresses: Addresses,
        gateway: Gateway,
        children: Children,
    ) -> None:
        self._command = command
        self._port, self._own_port = ports
        self._addresses = addresses
        self._gateway = gateway
        self._tcp = TcpRefusal(addresses)
        self._children = children
        self._running: dict[str, Child] = {}
        self._over: set[int] = set()  # PIDs of the programs that have ended
        self.too_long = 0

    def open(self, pace: Pace) -> None:
        self._gateway.open(self._port)
        self._tcp.open(self._port)
        for each in (*self._gateway.sockets, self._tcp.listening):
            if each is not None:
                pace.listen(each)

    def wait_until_ready(self) -> None: ...

    def fill_in(self, word: str, host: int, own_port: int | None = None) -> str:
        return self._addresses.fill_in(word, host, own_port)

    def start(self, name: str) -> Child | None:
        if self._command is None:
            return None
        words = [self.fill_in(word, int(name[1:]), self._own_port) for word in self._command]
        child = self._running[name] = self._children.spawn(name, words)
        return child

    def stop(self, name: str, child: Child | None) -> None:
        if child is not None:
            del self._running[name]
            self._children.kill(child)

    def signal(self, name: str, number: int) -> bool:
        child = self._running[name]
        if child in self._children.reap():
            return False
        with suppress(OSError):
            os.killpg(child.pid, number)
        return True

    def take(self, ready: Sequence[Any]) -> Iterator[SentDatagram]:
        for source, to, data in self._gateway.take():
            if len(data) > MOST_BYTES - HEADER_BYTES:
                self.too_long += 1
            else:
                yield SentDatagram(f"h{source}", f"h{to}", data)
        self._tcp.answer()

    def note_entry(self, one: SentDatagram) -> None: ...

    def hand_over(self, name: str, datagram: Datagram) -> bool:
        return self._gateway.hand_over(datagram.source, datagram.to, datagram.data)

    def failures(self) -> Iterator[tuple[str, str]]:
        if not self._running:
            return
        ended = {child.pid for child in self._children.reap()} - self._over
        self._over |= ended
        for name, child in self._running.items():
            if child.pid in ended and (how := self._children.failure(child)) is not None:
                yield name, how

    def close(self) -> None:
        self._gateway.close()
        self._tcp.close()
        self._children.close()
        self._addresses.close()

    def document(self) -> dict[str, Any]:
        gateway = self._gateway
        return {
            "datagrams_from_outside": gateway.from_outside,
            "datagrams_misaddressed": gateway.misaddressed,
            "datagrams_unidentified": gateway.unidentified,
            "datagrams_too_long": self.too_long,
            "senders_renamed": [[f"h{a}", f"h{b}"] for a, b in sorted(gateway.renamed)],
            "claimed_twice": [f"h{me}" for me in sorted(gateway.claimed_twice)],
            "asked_for_tcp": [f"h{me}" for me in sorted(self._tcp.refused_hosts)],
        }


class LiveHost(WithProgram, RelayHost):
    """A host with a program attached."""

    def __init__(self, applications: Applications, port: UnicastHostPort, memory: Memory) -> None:
        self.name = f"h{port.me}"
        super().__init__(port, memory, lambda datagram: applications.hand_over(self.name, datagram))
        self.applications = applications

    def send(self, to: str, data: bytes) -> int:  # type: ignore[override]
        return super().send(int(to[1:]), data)

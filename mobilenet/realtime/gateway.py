"""The socket between programs and the emulated network.

Model     one UDP socket on the loopback interface receives what is sent to any address of a pair, sees which one it
          was, and sends from any. Where the system does not let us bind to that interface, there is one socket for each
          address. A program is where its last datagram came from, or at its own address and port if that is configured.
          What is not from 127.0.0.0/8, or not for a pair of hosts, is dropped and counted
Units     bytes
Errors    ScenarioError: a port that is taken, a system that is not Linux
Source    RFC 768; Linux: ip(7), IP_PKTINFO, and socket(7), SO_BINDTODEVICE; ours: docs/guide/real-time.md
"""

from __future__ import annotations

import socket
import struct
import sys
from collections.abc import Iterator

from mobilenet.parameters import ScenarioError
from mobilenet.realtime.addresses import Addresses

IP_PKTINFO = 8  # Linux; Python knows it from 3.12 on
INFO = struct.Struct("@i4s4s")  # interface, the address of ours, the destination
MOST_BYTES = 65_507  # of a datagram
MOST_PLACES = 1000  # that are remembered of a host
AT_ONCE = 256  # datagrams, before the network goes on
RECEIVE_BUFFER_BYTES = 1 << 22


class Gateway:
    """Takes datagrams from programs and hands them over. `own_port`: where programs listen; None: learned."""

    def __init__(self, addresses: Addresses, hosts: int, own_port: int | None) -> None:
        self._addresses = addresses
        self._hosts = hosts
        self._at: dict[int, tuple[str, int]] = {}  # host -> where its program is
        if own_port is not None:
            self._at = {host: (addresses.of(host, host), own_port) for host in range(hosts)}
        self._is_learned = own_port is None
        self._left: dict[int, set[tuple[str, int]]] = {}  # host -> where its program was before
        self.claimed_twice: set[int] = set()  # hosts that several programs claim to be, at the same time
        self.strangers = 0
        self.sockets: dict[socket.socket, bytes | None] = {}  # with the one address that it is bound to
        self._from: dict[bytes | None, socket.socket] = {}

    def open(self, port: int) -> None:
        if sys.platform != "linux":
            raise ScenarioError(
                "protocol: programs that use UDP run only on Linux, where all addresses in 127.0.0.0/8 are local"
            )
        try:
            self.sockets = self._on_the_loopback(port) or self._one_each(port)
        except OSError as error:
            self.close()
            raise ScenarioError(
                f"protocol.port: cannot listen on port {port} of the loopback interface: {error.strerror}; expected a"
                " free port"
            ) from None
        self._from = {name: each for each, name in self.sockets.items()}

    def close(self) -> None:
        for each in self.sockets:
            each.close()
        self.sockets = {}

    def take(self) -> Iterator[tuple[int, int, bytes]]:
        """What programs have sent: from, to, data. Not more than AT_ONCE of each socket."""
        for each, bound in self.sockets.items():
            for _ in range(AT_ONCE):
                try:
                    data, notes, _, source = each.recvmsg(MOST_BYTES, socket.CMSG_SPACE(INFO.size))
                except BlockingIOError:
                    break
                ends = self._ends(notes, bound)
                if ends is None or not source[0].startswith("127."):
                    self.strangers += 1
                    continue
                if self._is_learned and self._at.get(ends[0]) != source:
                    self._moves(ends[0], source)
                yield (*ends, data)

    def _moves(self, host: int, place: tuple[str, int]) -> None:
        """A restarted program comes from another address; one that comes back was never gone."""
        before = self._left.setdefault(host, set())
        if place in before:
            self.claimed_twice.add(host)
        elif host in self._at and len(before) < MOST_PLACES:
            before.add(self._at[host])
        self._at[host] = place

    def hand_over(self, source: int, to: int, data: bytes) -> bool:
        """Give a datagram to the program of a host, from the address that it knows the sender by. False: the address of
        that program is unknown, or its buffer is full.
        """
        where = self._at.get(to)
        if where is None:
            return False
        name = socket.inet_aton(self._addresses.of(to, source))
        ours = self._from.get(name) or self._from[None]
        try:
            ours.sendmsg([data], [(socket.IPPROTO_IP, IP_PKTINFO, INFO.pack(0, name, name))], 0, where)
        except OSError:  # full, or refused: the datagram is lost, as it would be elsewhere
            return False
        return True

    def _ends(self, notes: list[tuple[int, int, bytes]], bound: bytes | None) -> tuple[int, int] | None:
        if bound is not None:
            return self._addresses.ends(bound)
        for level, kind, value in notes:
            if level == socket.IPPROTO_IP and kind == IP_PKTINFO:
                return self._addresses.ends(INFO.unpack(value[: INFO.size])[2])
        return None

    def _on_the_loopback(self, port: int) -> dict[socket.socket, bytes | None] | None:
        """One socket for all addresses; None where the system does not allow that."""
        ours = _new_socket()
        try:
            ours.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"lo\0")
        except PermissionError:  # before Linux 5.7
            ours.close()
            return None
        ours.setsockopt(socket.IPPROTO_IP, IP_PKTINFO, 1)
        try:
            ours.bind(("", port))
        except OSError:
            ours.close()
            raise
        return {ours: None}

    def _one_each(self, port: int) -> dict[socket.socket, bytes | None]:
        found: dict[socket.socket, bytes | None] = {}
        try:
            for host in range(self._hosts):
                for peer in range(self._hosts):
                    if host != peer:
                        ours = _new_socket()
                        found[ours] = socket.inet_aton(self._addresses.of(host, peer))
                        ours.bind((self._addresses.of(host, peer), port))
        except OSError:
            for each in found:
                each.close()
            raise
        return found


def _new_socket() -> socket.socket:
    ours = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    ours.setblocking(False)
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER_BYTES)
    return ours

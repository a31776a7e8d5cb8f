"""Connect programs to the emulated network through a socket.

Model     One UDP socket on the loopback interface receives the datagrams for all addresses of pairs, reads the
          destination of each, and sends from any of these addresses. If the system does not allow a socket to be bound
          to that interface, each address has a separate socket. A datagram is delivered at the host's own port if a
          socket is open there, and otherwise at the address from which the program last sent. A datagram is dropped
          and counted if it comes from outside 127.0.0.0/8, is not addressed to a host, or has an unknown sender
Units     bytes
Errors    ScenarioError: a port that is in use, or a system other than Linux
Source    RFC 768; Linux: ip(7), IP_PKTINFO and IP_RECVERR; socket(7), SO_BINDTODEVICE; ours: docs/guide/real-time.md
"""

from __future__ import annotations

import socket
import struct
import sys
from collections.abc import Iterator

from mobilenet.lab.programs.realtime.addresses import Addresses
from mobilenet.parameters import ScenarioError

IP_PKTINFO = 8  # The constant of Linux, which Python does not define before 3.12.
IP_RECVERR = 11
INFO = struct.Struct("@i4s4s")  # the fields of the structure: interface, local address and destination
MOST_BYTES = 65_507  # largest datagram
MOST_PLACES = 1000  # maximum number of earlier addresses to remember for a pair of hosts
AT_ONCE = 256  # maximum number of datagrams to read before the network continues
RECEIVE_BUFFER_BYTES = 1 << 22
Place = tuple[str, int]  # address and port of a program's socket


class Gateway:
    """The socket between programs and the network. `own_port` is the port at which programs listen, or None if the
    gateway learns the ports.
    """

    def __init__(self, addresses: Addresses, hosts: int, own_port: int | None) -> None:
        self._addresses = addresses
        self._hosts = hosts
        self._own_port = own_port
        # (host, peer) -> the address from which the program of the host last sent to this peer
        self._spoke: dict[tuple[int, int], Place] = {}
        self._last: dict[int, Place] = {}  # host -> the address from which its program last sent to any host
        # (host, peer) -> the earlier addresses from which the program sent
        self._left: dict[tuple[int, int], set[Place]] = {}
        self.claimed_twice: set[int] = set()  # hosts for which several programs send at the same time
        # Pairs (sender according to the source address, sender according to the destination address), for datagrams in
        # which these differ.
        self.renamed: set[tuple[int, int]] = set()
        self.from_outside = 0
        self.misaddressed = 0
        self.unidentified = 0
        # socket -> the address to which it is bound, or None for the socket of all addresses
        self.sockets: dict[socket.socket, bytes | None] = {}
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
        """Yield the datagrams that programs have sent, as (sender, receiver, data). At most AT_ONCE are taken from each
        socket.
        """
        for each, bound in self.sockets.items():
            _refusals(each)
            for _ in range(AT_ONCE):
                try:
                    data, notes, _, source = each.recvmsg(MOST_BYTES, socket.CMSG_SPACE(INFO.size))
                except BlockingIOError:
                    break
                except ConnectionRefusedError:  # The receiver refused an earlier datagram.
                    continue
                if not source[0].startswith("127."):
                    self.from_outside += 1
                elif (ends := self._ends(_destination(notes) if bound is None else bound, source)) is not None:
                    self._learn(ends, source)
                    yield (*ends, data)

    def _ends(self, destination: bytes, source: Place) -> tuple[int, int] | None:
        """Return the sender and receiver of a datagram. If the socket of the program is bound to the host's own
        address, this address identifies the sender. Any other socket sends from 127.0.0.1, and the destination address,
        which belongs to a pair, identifies the sender.
        """
        ends = self._addresses.ends(destination)
        if ends is None:
            self.misaddressed += 1
            return None
        by_pair, to = ends
        owner = self._addresses.owner(socket.inet_aton(source[0]))
        # The destination is a flat address, and the program's socket is not bound to the address of its host.
        if owner is None and by_pair == to:
            self.unidentified += 1
            return None
        if owner is not None and owner != by_pair != to:
            self.renamed.add((owner, by_pair))
        sender = by_pair if owner is None else owner
        if sender == to:
            self.misaddressed += 1
            return None
        return sender, to

    def _learn(self, ends: tuple[int, int], place: Place) -> None:
        """Remember the address from which a program sends. A program that restarts has a new address. If an earlier
        address occurs again, two programs are sending for the same host.
        """
        self._last[ends[0]] = place
        known = self._spoke.get(ends)
        if known == place:
            return
        self._spoke[ends] = place
        if known is None or self._own_port is not None:
            return
        before = self._left.setdefault(ends, set())
        if place in before:
            self.claimed_twice.add(ends[0])
        elif len(before) < MOST_PLACES:
            before.add(known)

    def hand_over(self, source: int, to: int, data: bytes) -> bool:
        """Deliver a datagram to the program of a host, from the address by which the program knows the sender. Try its
        `own_port`, then the address from which it last sent to this sender, then the address from which it last sent to
        any host. Return False if none of these takes the datagram.
        """
        name = socket.inet_aton(self._addresses.of(to, source))
        ours = self._from.get(name) or self._from[None]
        own = None if self._own_port is None else (self._addresses.of(to, to), self._own_port)
        places = (own, self._spoke.get((to, source)), self._last.get(to))
        return any(_send(ours, name, data, place) for place in dict.fromkeys(places) if place is not None)

    def _on_the_loopback(self, port: int) -> dict[socket.socket, bytes | None] | None:
        """Return one socket that serves all addresses, or None if the system does not allow that."""
        ours = _new_socket()
        try:
            ours.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"lo\0")
        except PermissionError:  # Before Linux 5.7, this requires special permission.
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
        sockets: dict[socket.socket, bytes | None] = {}
        try:
            for host in range(self._hosts):
                for peer in range(self._hosts):
                    if (host == peer) == self._addresses.flat:
                        ours = _new_socket()
                        sockets[ours] = socket.inet_aton(self._addresses.of(host, peer))
                        ours.bind((self._addresses.of(host, peer), port))
        except OSError:
            for each in sockets:
                each.close()
            raise
        return sockets


def _new_socket() -> socket.socket:
    ours = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    ours.setblocking(False)
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER_BYTES)
    ours.setsockopt(socket.IPPROTO_IP, IP_RECVERR, 1)
    return ours


def _destination(notes: list[tuple[int, int, bytes]]) -> bytes:
    infos = (value for level, kind, value in notes if level == socket.IPPROTO_IP and kind == IP_PKTINFO)
    return INFO.unpack(next(infos)[: INFO.size])[2]  # type: ignore[no-any-return]


def _send(ours: socket.socket, name: bytes, data: bytes, place: Place) -> bool:
    """Return whether a socket at this address has taken the datagram. The loopback interface reports a refusal
    immediately.
    """
    for _ in range(2):  # A first attempt may report the error of an earlier datagram.
        try:
            ours.sendmsg([data], [(socket.IPPROTO_IP, IP_PKTINFO, INFO.pack(0, name, name))], 0, place)
        except ConnectionRefusedError:
            continue
        except OSError:  # The buffer is full, so the datagram is lost, as on any network.
            return False
        return place not in _refusals(ours)
    return False


def _refusals(ours: socket.socket) -> set[Place]:
    """Return the addresses that have refused datagrams of this socket since the last call."""
    places: set[Place] = set()
    while True:
        try:
            places.add(ours.recvmsg(0, 0, socket.MSG_ERRQUEUE)[3])
        except OSError:  # All errors have been read.
            return places

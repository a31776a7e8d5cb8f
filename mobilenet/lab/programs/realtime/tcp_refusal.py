"""Refuse TCP with an explanation, because hosts use only UDP.

Model     A TCP socket listens on the same port as the socket for datagrams. Each connection receives one line, and is
          closed. Without this socket, the system would refuse connections without giving a reason
Source    ours: docs/guide/real-time.md
"""

from __future__ import annotations

import socket
from contextlib import suppress

from mobilenet.lab.programs.realtime.addresses import Addresses

AT_ONCE = 16  # Maximum number of connections before the network continues, because a program may try again and again.
ANSWER = b"mobilenet carries UDP alone: no TCP here\n"


class TcpRefusal:
    """A socket that refuses TCP. `refused_hosts` contains the hosts whose programs tried to use TCP."""

    def __init__(self, addresses: Addresses) -> None:
        self._addresses = addresses
        self.refused_hosts: set[int] = set()
        self.listening: socket.socket | None = None

    def open(self, port: int) -> None:
        """Listen on the loopback interface, if this is possible and the port is free."""
        ours = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            ours.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"lo\0")
            ours.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            ours.bind(("", port))
            ours.listen()
        except OSError:
            ours.close()
            return
        ours.setblocking(False)
        self.listening = ours

    def answer(self) -> None:
        """Answer the connections that have arrived since the last call."""
        for _ in range(AT_ONCE):
            if self.listening is None:
                return
            try:
                asking, _ = self.listening.accept()
            except OSError:
                return
            with asking, suppress(OSError):
                ends = self._addresses.ends(socket.inet_aton(asking.getsockname()[0]))
                if ends is not None:
                    self.refused_hosts.add(ends[0])
                asking.send(ANSWER)

    def close(self) -> None:
        if self.listening is not None:
            self.listening.close()
            self.listening = None

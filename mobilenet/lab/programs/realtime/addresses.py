"""Assign an address to each pair of hosts, so that the destination of a datagram also identifies its sender.

Model     Host A reaches host B at PREFIX.A.B; PREFIX.A.A is the address of A itself. All of these addresses are local
          to this machine, because on Linux all of 127.0.0.0/8 is local and needs no special permission
Errors    none
Source    ours: docs/guide/real-time.md
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from socket import inet_aton

from mobilenet.engine.scratch import scratch_folder


class Addresses:
    """The addresses of `hosts` hosts, of which there are at most 256. `prefix` is the first two octets, such as 127.77.
    Programs refer to h0 as number `first`. With `flat`, all hosts reach a host at the same address; otherwise each pair
    has an address.
    """

    def __init__(self, prefix: str, hosts: int, port: int, first: int = 0, flat: bool = False) -> None:
        self._text = prefix
        self._prefix = inet_aton(f"{prefix}.0.0")[:2]
        self._hosts = hosts
        self._port = port
        self._first = first
        self.flat = flat
        self._block = ExitStack()  # holds the folder with the hosts files until close()
        self._folder: Path | None = None

    def of(self, host: int, peer: int) -> str:
        """Return the address at which `host` reaches `peer`, without the port. If both are the same host, return the
        address of this host itself.
        """
        return f"{self._text}.{peer if self.flat else host}.{peer}"

    def ends(self, address: bytes) -> tuple[int, int] | None:
        """Return the sender and the receiver to which an address belongs, or None if it does not belong to any host.
        The address is given as four bytes. If it is the address of a host itself, sender and receiver are this host.
        """
        host, peer = address[2], address[3]
        if address[:2] != self._prefix or max(host, peer) >= self._hosts:
            return None
        return host, peer

    def owner(self, address: bytes) -> int | None:
        """Return the host whose own address this is, or None if the address belongs to a pair of hosts or is
        unknown.
        """
        ends = self.ends(address)
        return ends[0] if ends is not None and ends[0] == ends[1] else None

    def fill_in(self, word: str, host: int, own_port: int | None) -> str:
        """Return a word of a host's command, or the name of its log, with the placeholders replaced."""
        values = {
            "{me}": str(host + self._first),
            "{address}": self.of(host, host),
            "{own_port}": str(own_port or 0),
            "{peers}": ",".join(f"{self.of(host, peer)}:{self._port}" for peer in range(self._hosts) if peer != host),
        }
        for name, value in values.items():
            word = word.replace(name, value)
        return word.replace("{hosts_file}", self._hosts_file(host, own_port)) if "{hosts_file}" in word else word

    def _hosts_file(self, host: int, own_port: int | None) -> str:
        """Write a file with a line `NUMBER ADDRESS PORT` for each host, as this host reaches it, and return its
        path.
        """
        if self._folder is None:
            self._folder = self._block.enter_context(scratch_folder("hosts"))
        path = self._folder / f"hosts{host + self._first}"
        ports = (own_port if peer == host else self._port for peer in range(self._hosts))
        lines = (f"{peer + self._first} {self.of(host, peer)} {port}\n" for peer, port in enumerate(ports))
        path.write_text("".join(lines), encoding="ascii")
        return str(path)

    def close(self) -> None:
        """Remove the hosts files."""
        self._block.close()

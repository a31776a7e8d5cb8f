"""The keys of a scenario for real software: programs in network namespaces, whose IP packets travel over the network.

Model     Each host is a machine with an address, a name and a device mob0. Host hN has the address network + N + 1, and
          station sN has network + 128.0 + N + 1. Stations without a program have no address.
Units     bytes; limits are in megabytes of 1024² bytes
Errors    pydantic.ValidationError, which the scenario reports as one line for each problem
Source    ours: docs/guide/real-software.md
"""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network
from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from mobilenet.parameters import Parameters
from mobilenet.scenario.programs import WITHOUT_NUL, CommandLine
from mobilenet.scenario.real_time import RealTimePrograms

NETWORK = r"^[0-9]{1,3}\.[0-9]{1,3}\.0\.0/16$"
FIRST_STATION = 128 << 8  # difference between the first station's address and the network's address
Node = Annotated[str, Field(pattern=r"^[hs](0|[1-9][0-9]{0,4})$")]
Folder = Annotated[str, Field(min_length=1, max_length=4000), WITHOUT_NUL]


class Limits(Parameters):
    """The resources that the programs of each node may use together."""

    processes: int = Field(
        default=64, ge=1, le=10_000, description="maximum number of processes and threads at the same time"
    )
    memory_mb: int = Field(default=512, ge=16, le=1_000_000, description="maximum resident memory")
    output_mb: int = Field(
        default=64,
        ge=1,
        le=100_000,
        description="maximum size of the standard output that is read, of each file, and of each hidden folder",
    )


class Ip(RealTimePrograms):
    """Any programs that use IP and run in real time under mobilenet serve. Each host has its own namespaces."""

    places: ClassVar[tuple[str, ...]] = ("{me}", "{address}")
    most_hosts: ClassVar[int] = 2000
    why_most: ClassVar[str] = "each host runs in separate processes"

    name: Literal["ip"]
    commands: dict[Node, CommandLine | None] = Field(
        default={},
        max_length=10_000,
        description="commands of individual hosts (h3), instead of `command`, and of stations (s0); null: none",
    )
    network: str = Field(
        default="10.77.0.0/16",
        json_schema_extra={"pattern": NETWORK},
        description="private network of the nodes; the address of host h0 ends in 0.1, and that of station s0 in 128.1",
    )
    mtu_bytes: int = Field(default=1500, ge=576, le=2296, description="maximum size of an IP packet")
    broadcast: Literal["cell", "all"] = Field(
        default="cell", description="whether broadcast and multicast packets reach the sender's cell or all cells"
    )
    forward: bool = Field(
        default=False,
        description="whether a station forwards the packets for a host that has moved to another cell",
    )
    root: bool = Field(default=False, description="whether programs are root in their namespaces")
    folders: tuple[Folder, ...] = Field(
        default=(),
        max_length=100,
        description="folders that are otherwise hidden, but that programs may read, such as /home/me/lib",
    )
    limits: Limits = Field(default=Limits(), description="what the programs of each node may use")

    @model_validator(mode="after")
    def _makes_sense(self) -> Ip:
        try:
            network = IPv4Network(self.network)
        except ValueError:
            network = None
        if network is None or network.prefixlen != 16 or not network.is_private or network.is_loopback:
            raise ValueError(f"network: {self.network} is not a private /16 network; expected one such as 10.77.0.0/16")
        return self

    def command_of(self, node: str) -> CommandLine | None:
        """Return the command of a node, such as h3, or None if the node has no command."""
        return self.commands.get(node, self.command if node[0] == "h" else None)

    def address_of(self, node: str) -> str:
        """Return the address of a node, such as h3."""
        first = FIRST_STATION if node[0] == "s" else 0
        return str(IPv4Network(self.network).network_address + first + int(node[1:]) + 1)

    def node_at(self, address: bytes) -> str | None:
        """Return the node to which an address of four bytes would belong, or None if it is outside the network."""
        number = int(IPv4Address(address)) - int(IPv4Network(self.network).network_address)
        if not 0 < number < 0xFFFF:
            return None
        return f"s{number - FIRST_STATION - 1}" if number > FIRST_STATION else f"h{number - 1}"

    def commands_by_key(self) -> Iterator[tuple[str, CommandLine]]:
        yield from super().commands_by_key()
        for node, command in self.commands.items():
            if command is not None:
                yield f"commands.{node}", command

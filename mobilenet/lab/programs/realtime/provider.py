"""Provide the programs of a real-time run as hosts, and the clock that determines their pace.

Model     Stations relay what the programs send (protocols/datagram_relay.py, packet_relay.py). Such a run must be
          requested explicitly, so that it does not start by surprise. No two of these runs are identical
Errors    ScenarioError: real time was requested for protocols that do not support it, or was not requested for these
          programs
Source    ours: docs/guide/real-time.md, docs/guide/real-software.md
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from mobilenet.lab.programs.children import Children
from mobilenet.lab.programs.namespaces.machines import Machines
from mobilenet.lab.programs.realtime.addresses import Addresses
from mobilenet.lab.programs.realtime.applications import Applications, Exchange, ProgramSettings
from mobilenet.lab.programs.realtime.gateway import Gateway
from mobilenet.lab.programs.realtime.lines import Expressions
from mobilenet.lab.programs.realtime.tunnels import LivePacketHost, LivePacketStation, Tunnels
from mobilenet.lab.programs.realtime.udp import LiveHost, UdpSockets
from mobilenet.parameters import ScenarioError
from mobilenet.protocols.datagram_relay import Memory, RelayStation
from mobilenet.protocols.declaration import Declaration
from mobilenet.protocols.packet_relay import PacketMemory
from mobilenet.record.recorder import Recording
from mobilenet.scenario import AnyScenario
from mobilenet.scenario.datagrams import Datagrams
from mobilenet.scenario.ip import Ip
from mobilenet.scenario.protocol_groups import OwnDeclaration
from mobilenet.simulation.parties import RealTime
from mobilenet.simulation.scenario_copy import write_scenario

Counts = dict[str, int]  # numbers of stations and of hosts


class RelayedPrograms(Applications):
    """Provides hosts with programs attached, and the stations that relay between them."""

    def declaration(self, protocol: Any) -> type[Declaration]:
        applications = self

        class RelayDeclaration(OwnDeclaration):
            name = protocol.name
            stable = PacketMemory if isinstance(protocol, Ip) else Memory

            @staticmethod
            def host(port: Any, memory: Any, parameters: Any, stations: int) -> Any:  # type: ignore[override]
                if isinstance(parameters, Ip):
                    return LivePacketHost(applications, port, memory, parameters)
                return LiveHost(applications, port, memory)

            @staticmethod
            def station(port: Any, wired: Any, parameters: Any, stations: int) -> Any:  # type: ignore[override]
                if isinstance(parameters, Ip):
                    return LivePacketStation(applications, port, wired, parameters)
                return RelayStation(port, wired)

        return RelayDeclaration


def provide(
    scenario: AnyScenario, counts: Counts, recording: Recording, errors_into: Path | None, now: Callable[[], int],
    real_time: RealTime | None,
) -> Applications:  # fmt: skip
    """Return the programs of a run in real time."""
    protocol: Any = scenario.protocol
    if real_time is None:
        what = "datagrams are" if isinstance(protocol, Datagrams) else "ip is"
        raise ScenarioError(f"protocol.name: {what} for programs that run in real time; use mobilenet serve")
    hosts = counts["hosts"]
    if hosts > protocol.most_hosts:
        raise ScenarioError(f"hosts: got {hosts}, expected at most {protocol.most_hosts}, because {protocol.why_most}")
    folder = scenario.folder.resolve()
    is_copy = errors_into is not None and any(protocol.commands_by_key()) and (folder / "manifest.json").is_file()
    if errors_into is not None and is_copy:  # If a run is repeated, the files of the first run stay as they are.
        write_scenario(errors_into, scenario)
        folder = errors_into.resolve()
        (folder / (protocol.logs or "")).parent.mkdir(parents=True, exist_ok=True)
    children = Children(folder, errors_into)
    between = (
        _tunnels(protocol, counts, Machines(children), errors_into, folder, now, real_time.shell)
        if isinstance(protocol, Ip)
        else _sockets(protocol, hosts, children)
    )
    setup = ProgramSettings(protocol.logs, Expressions(protocol.lines, hosts), folder, is_copy)
    if isinstance(protocol, Ip):
        setup = setup._replace(most_output_bytes=protocol.limits.output_mb << 20, outputs=errors_into)
    return RelayedPrograms(setup, between, recording.events.add, now, real_time)


def _sockets(protocol: Datagrams, hosts: int, children: Children) -> Exchange:
    addresses = Addresses(protocol.prefix, hosts, protocol.port, protocol.first_number, protocol.flat)
    gateway = Gateway(addresses, hosts, protocol.own_port)
    return UdpSockets(protocol.command, (protocol.port, protocol.own_port), addresses, gateway, children)


def _tunnels(protocol: Ip, counts: Counts, machines: Machines, run: Path | None, *more: Any) -> Exchange:
    hosts = [f"h{number}" for number in range(counts["hosts"])]
    stations = [name for name in (f"s{number}" for number in range(counts["stations"])) if protocol.command_of(name)]
    return Tunnels(protocol, [*hosts, *stations], machines, run, *more)

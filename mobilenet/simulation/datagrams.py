"""Programs that use UDP as the hosts of a run: their declaration, and the clock that paces them.

Model     their stations relay datagrams (protocols/datagram_relay.py). They live in real time. Such a run has to be
          asked for explicitly, so that it does not start by surprise, and no two of its runs are identical
Errors    ScenarioError: real time for others, or none for these
Source    ours: docs/guide/real-time.md
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from mobilenet.parameters import ScenarioError
from mobilenet.programs.children import Children
from mobilenet.protocols.datagram_relay import Memory, RelayStation
from mobilenet.protocols.declaration import Declaration
from mobilenet.realtime.addresses import Addresses
from mobilenet.realtime.applications import Applications, LiveHost, Told
from mobilenet.realtime.gateway import Gateway
from mobilenet.realtime.lines import Expressions
from mobilenet.realtime.pace import RealTime
from mobilenet.rundir.recorder import Recording
from mobilenet.scenario import AnyScenario
from mobilenet.scenario.datagrams import MOST_HOSTS, Datagrams
from mobilenet.scenario.protocol_groups import OwnDeclaration
from mobilenet.simulation.kept_scenario import write_scenario


def applications_of(
    scenario: AnyScenario,
    hosts: int,
    recording: Recording,
    now: Callable[[], int],
    errors_into: Path | None,
    real_time: RealTime | None,
) -> Applications | None:
    """The programs of a run in real time; None: it has none."""
    protocol: Any = scenario.protocol
    if not isinstance(protocol, Datagrams):
        if real_time is not None:
            raise ScenarioError(
                f"protocol.name: {protocol.name} runs in virtual time, with mobilenet run; expected datagrams"
            )
        return None
    if real_time is None:
        raise ScenarioError("protocol.name: datagrams are for programs that run in real time; use mobilenet serve")
    if hosts > MOST_HOSTS:
        raise ScenarioError(
            f"hosts: got {hosts}, expected at most {MOST_HOSTS}, because a host's number is one octet of an address"
        )
    folder = scenario.folder.resolve()
    is_copy = errors_into is not None and protocol.command is not None and (folder / "manifest.json").is_file()
    if errors_into is not None and is_copy:  # the files of the run that is repeated stay as they are
        write_scenario(errors_into, scenario)
        folder = errors_into.resolve()
        (folder / (protocol.logs or "")).parent.mkdir(parents=True, exist_ok=True)
    told = Told(
        protocol.command, protocol.port, protocol.own_port, protocol.logs, Expressions(protocol.lines, hosts),
        folder, is_copy,
    )  # fmt: skip
    addresses = Addresses(protocol.prefix, hosts, protocol.port, protocol.first_number, protocol.flat)
    gateway = Gateway(addresses, hosts, protocol.own_port)
    children = Children(folder, errors_into)
    return Applications(told, addresses, gateway, children, recording.events.add, now, real_time)


def declaration_of_datagrams(applications: Applications) -> type[Declaration]:
    """Hosts with programs attached, and stations that relay."""

    class Relayed(OwnDeclaration):
        name = "datagrams"
        stable = Memory

        @staticmethod
        def host(port: Any, memory: Memory, parameters: Any, stations: int) -> LiveHost:  # type: ignore[override]
            return LiveHost(applications, port, memory)

        @staticmethod
        def station(port: Any, wired: Any, parameters: Any, stations: int) -> RelayStation:  # type: ignore[override]
            return RelayStation(port, wired)

    return Relayed

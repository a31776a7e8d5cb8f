"""A scenario of hosts and stations, which determines a run and is checked before the run begins.

Model     mobile_keys.py defines the keys, and preflight.py checks several of them together. Names of files are
          relative to the scenario's folder.
Errors    ScenarioError, one line for each problem: `dynamic.yaml:14: wireless.range: unknown key; did you mean
          'range_m'?`
Source    ours: docs/guide/scenarios.md
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Self

from mobilenet.engine.clock import MILLISECOND, SECOND
from mobilenet.network.radio.framing import Framing
from mobilenet.network.wired.parameters import BackboneParameters
from mobilenet.scenario import preflight
from mobilenet.scenario.base import code_of_metrics, effective, files_of_metrics, require_files
from mobilenet.scenario.mobile_keys import MobileKeys
from mobilenet.scenario.programs import command_in_words, warnings_of
from mobilenet.scenario.protocol_groups import OwnProgram, OwnProtocol, declaration_of
from mobilenet.scenario.real_time import RealTimePrograms
from mobilenet.scenario.yaml_reader import Node
from mobilenet.world.layout import FileLayout, station_positions
from mobilenet.world.mobility import OwnMobility
from mobilenet.world.track_mobility import Tracks

__all__ = ["OwnProtocol", "Scenario", "effective"]

JOINED_AFTER_S = 5.0  # estimated time until hosts that want to join have joined
HEADERS_BYTES = 60  # enough for the headers of a message in the stream of a cell


class Scenario(MobileKeys):
    """A scenario of hosts and stations."""

    @property
    def station_count(self) -> int:
        return len(station_positions(self.stations.layout, self._folder, self.anchor))

    @property
    def wires(self) -> BackboneParameters:
        return self.stations.backbone

    @property
    def tick_ns(self) -> int:
        """The interval at which a host looks for a better station."""
        return self.hosts.attachment.tick_ms * MILLISECOND

    @property
    def longest_wait_s(self) -> float | None:
        """The longest time for which a node waits for others before it tries again, or None if this is unknown."""
        frame_s = Framing(self.wireless).datagram(self.workload.payload_bytes + HEADERS_BYTES)[1] / SECOND
        return declaration_of(self.protocol).longest_wait_s(self.protocol, self.all_hosts or 0, frame_s)

    @property
    def usual_drain_s(self) -> float:
        """The time limit if drain_s is null: 60 s in real time, and otherwise at least the length of the active part
        and several attempts of each node.
        """
        if isinstance(self.protocol, RealTimePrograms):
            return 60.0
        return max(120.0, self.duration_s + min(3600.0, 20 * (self.longest_wait_s or 0.0)))

    @property
    def longest_drain_s(self) -> float:
        """The time limit for becoming quiescent, in seconds after the active part."""
        return self.usual_drain_s if self.drain_s is None else self.drain_s

    @property
    def lasts(self) -> str:
        return f"{self.duration_s:g} s"

    def estimated_events(self) -> int:
        return preflight.estimated_events(self)

    @property
    def events_of_joins(self) -> int:
        return preflight.events_of_joins(self)

    @property
    def steady_from_s(self) -> float:
        return JOINED_AFTER_S + declaration_of(self.protocol).first_join_spread_s(self.protocol)

    def events_of_drain(self) -> int:
        return preflight.drain_events(self, self.longest_drain_s)

    def doubts_about_files(self) -> list[str]:
        return preflight.doubts_about_tracks(self)

    def warnings(self) -> list[str]:
        return [*warnings_of(self.protocol, self.folder), *preflight.warnings(self)]

    def complete(self, root: Node) -> Self:
        require_files(self, root)
        origin = preflight.origin_of(self, root)
        return self if origin == self.origin else self.model_copy(update={"origin": origin})

    def check(self, root: Node) -> None:
        preflight.check(self, root)

    def files(self) -> Iterator[tuple[str, Path]]:
        """Yield the files that the scenario names, as (dotted path of the key, path of the file)."""
        if isinstance(self.stations.layout, FileLayout):
            yield "stations.layout.file", self._folder / self.stations.layout.file
        if isinstance(self.hosts.mobility, Tracks):
            yield "hosts.mobility.file", self._folder / self.hosts.mobility.file
        if isinstance(self.hosts.mobility, OwnMobility):
            yield "hosts.mobility.class", self._folder / self.hosts.mobility.file
        if self.wireless.obstacles is not None:
            yield "wireless.obstacles.file", self._folder / self.wireless.obstacles.file
        if isinstance(self.protocol, OwnProtocol) and self.protocol.file is not None:
            yield "protocol.class", self._folder / self.protocol.file
        if isinstance(self.protocol, (OwnProgram, RealTimePrograms)):
            yield from self.protocol.named_files(self._folder)
        for place, process in enumerate(self.own_processes):
            yield f"own_processes.{place}.process", self._folder / process.file
        yield from files_of_metrics(self.metrics, self._folder)

    def patterns(self) -> Iterator[tuple[str, str]]:
        if isinstance(self.protocol, (OwnProgram, RealTimePrograms)):
            yield from ((f"protocol.files.{place}", pattern) for place, pattern in enumerate(self.protocol.files))

    def code(self) -> Iterator[tuple[str, str, str | None]]:
        if isinstance(self.protocol, OwnProtocol):
            yield "protocol.class", self.protocol.reference, self.protocol.file
        if isinstance(self.protocol, OwnProgram):
            yield "protocol.command", command_in_words(self.protocol.command.host), None
        if isinstance(self.protocol, RealTimePrograms):
            for key, command in self.protocol.commands_by_key():
                yield f"protocol.{key}", command_in_words(command), None
        if isinstance(self.hosts.mobility, OwnMobility):
            yield "hosts.mobility.class", self.hosts.mobility.reference, self.hosts.mobility.file
        for place, process in enumerate(self.own_processes):
            yield f"own_processes.{place}.process", process.process, process.file
        yield from code_of_metrics(self.metrics)

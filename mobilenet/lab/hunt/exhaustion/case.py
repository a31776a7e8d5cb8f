"""A case to explore: how many nodes, what may happen to hosts and how often, and which protocol.

Model     see space.py for what the bounds mean
Errors    none
Source    ours
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mobilenet.lab.hunt.controlled.node import Node, host_node, station_node
from mobilenet.lab.hunt.controlled.port import Clock
from mobilenet.protocols.declaration import Declaration

from .encoding import Forget, nothing


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    roles: type[Declaration]
    parameters: Any
    cells: tuple[int, ...]  # where each host is in the beginning
    messages: tuple[int, ...]  # how many each host may broadcast
    parents: tuple[int, ...] = ()  # the tree of stations: parents[i] is the neighbour of station i+1 towards station 0
    moves: int = 0  # changes of cell, in total
    movers: tuple[int, ...] = (0,)  # the hosts that move
    crashes: int = 0
    joined: bool = (
        True  # begin when all hosts are members and have delivered one message of each, and nothing is in transit
    )
    leaves: int = 0
    joins: int = 0  # joins of hosts that have left
    counted: tuple[str, ...] = ()  # types of messages that may change their receiver's state a limited number of times:
    repeats: int = 3  # each message once; all of them this many times, as old ones may repeat
    step_ns: int = 10_000_000  # by which a node's clock advances with each input: see local.py
    forget: Forget = nothing  # attributes that no longer matter: see encoding.py
    single_owner: bool = False  # no two stations serve one host

    @property
    def stations(self) -> int:
        return len(self.parents) + 1

    def build_host(self, number: int, clock: Clock) -> Node:
        return host_node(number, self.cells[number], self.roles, self.parameters, self.stations, clock)

    def build_station(self, number: int, clock: Clock) -> Node:
        return station_node(number, self.roles, self.parameters, self.stations, clock)

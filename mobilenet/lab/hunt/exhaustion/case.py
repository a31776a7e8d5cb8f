"""A case to explore: the nodes, the protocol, and which events may happen to hosts and how often.

Model     space.py explains the bounds
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
    cells: tuple[int, ...]  # the initial cell of each host
    messages: tuple[int, ...]  # maximum number of messages that each host may broadcast
    parents: tuple[int, ...] = ()  # the tree of stations: parents[i] is the neighbour of station i+1 towards station 0
    moves: int = 0  # maximum number of cell changes, over all hosts
    movers: tuple[int, ...] = (0,)  # the hosts that may change their cell
    crashes: int = 0
    # If True, all hosts are members when the search begins, each host has delivered one message of every host, and no
    # message is in transit.
    joined: bool = True
    leaves: int = 0
    joins: int = 0  # how many times hosts may join again after leaving, over all hosts
    # Types of messages whose effects are limited: see `repeats`.
    counted: tuple[str, ...] = ()
    # Each message of a counted type may change its receiver once. Messages that have already done this may change their
    # receiver again, `repeats` times in total.
    repeats: int = 3
    step_ns: int = 10_000_000  # The clock of a node advances by this much before each input: see local.py.
    forget: Forget = nothing  # Returns the attributes that no longer matter: see encoding.py
    single_owner: bool = False  # whether to check that at most one station serves a host

    @property
    def stations(self) -> int:
        return len(self.parents) + 1

    def build_host(self, number: int, clock: Clock) -> Node:
        return host_node(number, self.cells[number], self.roles, self.parameters, self.stations, clock)

    def build_station(self, number: int, clock: Clock) -> Node:
        return station_node(number, self.roles, self.parameters, self.stations, clock)

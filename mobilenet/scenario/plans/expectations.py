"""The facts known about a run before it begins, as plain values for checking the record.

Model     host_plans.py derives these facts from a scenario, and mobilenet.verify compares the record with them. Neither
          module depends on the other.
Units     integer nanoseconds; metres, metres per second, bytes
Source    ours: docs/verdicts-and-metrics.md
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

NEVER_S = 1e9  # represents a missing promise where a time limit is expected


class HostPlan(NamedTuple):
    """The plan for one host."""

    # When the host is asked to `join` or to `leave`, in chronological order. Each request is repeated until it is met.
    requests: list[tuple[int, str]]
    speed_mps: float  # the highest speed of the host
    drags: Sequence[int] = ()  # times at which interventions move the host
    is_added: bool = False  # whether an intervention adds the host during the run


class Places(NamedTuple):
    """The positions of stations, and their range."""

    stations_m: list[tuple[float, float]]
    range_m: float
    by_power: bool = False  # whether reception depends on received power, so that no distance guarantees it


class KnownProtocol(NamedTuple):
    """A protocol that promises more than its order of delivery. Custom protocols never count as known."""

    checks: str  # the module whose CHECKS verify these promises
    parameters: Any  # the parameters of the protocol in the scenario


class LossyCut(NamedTuple):
    """A cut link that loses messages, although the protocol assumes that links do not lose any."""

    protocol: str
    station: str
    other: str
    since_ns: int
    until_ns: int


class Radio(NamedTuple):
    """Facts about the radio and the backbone's failure detector that the counters must reflect."""

    least_loss: float  # the lowest random loss at any time
    most_loss: float
    acknowledges: bool  # whether the MAC may acknowledge frames
    least_retries: int  # minimum number of retries before the MAC gives up on a frame; 0: the MAC never retries
    suspects: bool  # whether stations may suspect each other
    always_up: bool  # whether nodes never crash, appear late or disappear, and radios are never switched off
    queue_frames: int  # maximum number of frames in the queue of a node's radio
    around_bytes: int  # size of the headers of a frame
    least_airtime_ns: int  # airtime of the shortest frame
    group_retries: int = 0  # number of times that a station's MAC repeats each broadcast data frame


class Expectations(NamedTuple):
    """The known facts about a run of hosts and stations. None means that a fact is not known."""

    end_ns: int  # the end of all planned events
    protocol: KnownProtocol | None
    hosts: list[HostPlan] | None = None
    places: Places | None = None
    radio: Radio | None = None
    asked_again_ns: int = 0  # interval at which a request to join or leave is repeated until it is met
    # whether users' processes may ask hosts to join and leave; the record contains these requests
    processes_ask: bool = False
    in_the_air_ns: int | None = None  # the longest time from the start of a station's frame to its arrival
    lossy_cuts: Sequence[LossyCut] = ()


class ProcessPlan(NamedTuple):
    """The known facts about a run of plain processes."""

    completes: bool  # whether each broadcast of a correct source is complete when the run is quiescent
    hop_ns: int  # shortest time from sending a message over one link until the receiver handles it
    distances: Sequence[Sequence[int]] | None  # number of links between any two processes; None: at least one
    loses: bool = False  # whether the network may lose messages

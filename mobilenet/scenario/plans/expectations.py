"""What is known of a run before it begins, for a check of its record: plain values, nothing is computed here.

Model     host_plans.py derives it from a scenario, mobilenet.verify compares the record with it; neither knows
          the other
Units     integer nanoseconds; metres, metres per second, bytes
Source    ours: docs/verdicts-and-metrics.md
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

NEVER_S = 1e9  # the bound if nothing is promised


class HostPlan(NamedTuple):
    """The plan for one host."""

    # when it is asked to `join` and to `leave`, in order; each request is repeated until it is met
    requests: list[tuple[int, str]]
    speed_mps: float  # its highest speed
    drags: Sequence[int] = ()  # when it is moved by hand
    is_added: bool = False  # by hand, during the run


class Places(NamedTuple):
    """The places of stations, and their range."""

    stations_m: list[tuple[float, float]]
    range_m: float
    by_power: bool = False  # then no distance is surely within range


class KnownProtocol(NamedTuple):
    """A protocol that promises more than its order. Custom protocols are never known in this sense."""

    checks: str  # the module whose CHECKS judge those promises
    parameters: Any  # the scenario's parameters


class LossyCut(NamedTuple):
    """A cut link that loses messages, although the protocol assumes that it loses none."""

    protocol: str
    station: str
    other: str
    since_ns: int
    until_ns: int


class Radio(NamedTuple):
    """The counts of the radio, and the failure detector of the backbone."""

    least_loss: float  # random loss, lowest at any time
    most_loss: float
    acknowledges: bool  # whether frames may be acknowledged by the MAC
    least_retries: int  # for a frame that the MAC gives up; 0: it never tries again
    suspects: bool  # whether stations may suspect each other
    always_up: bool  # no node ever crashes, appears late or vanishes, and no radio is switched off
    queue_frames: int  # the most that wait in a node's radio
    around_bytes: int  # the headers of a frame
    least_airtime_ns: int  # airtime of the shortest frame
    group_retries: int = 0  # how often the MAC of a station repeats each broadcast frame with data


class Expectations(NamedTuple):
    """The known facts about a run of hosts and stations; None: not known."""

    end_ns: int  # the end of all that is planned
    protocol: KnownProtocol | None
    hosts: list[HostPlan] | None = None
    places: Places | None = None
    radio: Radio | None = None
    asked_again_ns: int = 0  # a request to join or leave is repeated this often until it is met
    processes_ask: bool = False  # custom processes may ask hosts to join and leave: the record has what they ask
    in_the_air_ns: int | None = None  # the longest time from the beginning of a station's frame to its arrival
    lossy_cuts: Sequence[LossyCut] = ()


class ProcessPlan(NamedTuple):
    """The known facts about a run of plain processes."""

    completes: bool  # each broadcast of a correct source is complete at rest
    hop_ns: int  # no message takes less time over one link, from its sending to its handling
    distances: Sequence[Sequence[int]] | None  # links between two processes; None: at least one
    loses: bool = False  # the network may lose messages

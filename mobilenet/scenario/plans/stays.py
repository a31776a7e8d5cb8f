"""Determine when a host appears, when it is first asked to join, and when it is asked to leave for good.

Model     A host that is present from the beginning is asked to join within the time over which the protocol spreads the
          first joins. A later host is asked when it appears. A host that is initially absent because of churn is not
          asked. A host is asked to leave before its track ends, and a request to join that would come later is omitted.
          The simulation and the verifier's plans share this module.
Units     integer nanoseconds
Source    ours: docs/models/world.md
"""

from __future__ import annotations

from typing import NamedTuple

from mobilenet.engine.clock import ns
from mobilenet.engine.random_streams import Stream
from mobilenet.scenario.mobile import Scenario
from mobilenet.scenario.protocol_groups import declaration_of
from mobilenet.world.trajectory import Trajectory


class Stay(NamedTuple):
    """The planned stay of a host. None means that a request is not made."""

    appears_ns: int
    joins_ns: int | None
    leaves_ns: int | None


def stay_of(scenario: Scenario, host: int, trajectory: Trajectory | None, is_absent: bool) -> Stay:
    """Plan the stay of a host. If `trajectory` is None, the host is present for the whole run. `is_absent` means that
    churn lets it join later.
    """
    appears_ns, leaves_ns = (0, None) if trajectory is None else (trajectory.appears_ns, trajectory.leaves_ns)
    if leaves_ns is not None and leaves_ns >= ns(scenario.duration_s):
        leaves_ns = None
    if is_absent:
        return Stay(appears_ns, None, leaves_ns)
    spread_s = declaration_of(scenario.protocol).first_join_spread_s(scenario.protocol)
    wait_ns = 0 if appears_ns else ns(Stream(scenario.seed, "join", f"h{host}").uniform(0, spread_s))
    joins_ns = appears_ns + wait_ns
    return Stay(appears_ns, joins_ns if leaves_ns is None or joins_ns <= leaves_ns else None, leaves_ns)

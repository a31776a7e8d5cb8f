"""Derive which links are cut and which radios are off, and whether this breaks assumptions of protocols.

Model     Repeating a cut or a switch changes nothing. Everything works again after the active part. Protocols assume
          that wires do not lose messages; only TCP sends lost messages again. A link that only delays messages breaks
          no assumption, because protocols do not assume how long a wire takes, and the failure detector over VCube
          may be wrong for any length of time. A radio that is off breaks no assumption, because the radio may lose
          any message.
Units     integer nanoseconds
Source    ours: docs/models/world.md, docs/models/backbone.md
"""

from __future__ import annotations

from typing import NamedTuple

from mobilenet.engine.clock import ns
from mobilenet.scenario.mobile import Scenario
from mobilenet.scenario.plans.expectations import LossyCut
from mobilenet.scenario.protocol_groups import declaration_of
from mobilenet.world.interventions import Cut, Mend, OfStation, in_order


class Switch(NamedTuple):
    """A change of a link (cut or repaired) or of a station's radio, either by an intervention or at the end of the
    active part.
    """

    at_ns: int
    event: str  # cut, mend, radio_off or radio_on
    station: str
    other: str | None = None  # the other end of the link
    loses: bool = False  # whether messages that are sent over the link are lost


def switches(scenario: Scenario) -> list[Switch]:
    """Return all switches in chronological order."""
    plan: list[Switch] = []
    cut: set[tuple[int, int]] = set()
    off: set[int] = set()
    for one in in_order(scenario.interventions):
        at_ns = ns(one.at_s)
        if isinstance(one, Cut | Mend) and (one.ends in cut) == isinstance(one, Mend):
            cut ^= {one.ends}
            a, b = one.ends
            plan.append(Switch(at_ns, one.do, f"s{a}", f"s{b}", isinstance(one, Cut) and one.loses))
        elif isinstance(one, OfStation) and (int(one.station[1:]) in off) == (one.do == "radio_on"):
            off ^= {int(one.station[1:])}
            plan.append(Switch(at_ns, one.do, one.station))
    end_ns = ns(scenario.duration_s)
    plan += [Switch(end_ns, "mend", f"s{a}", f"s{b}") for a, b in sorted(cut)]
    return plan + [Switch(end_ns, "radio_on", f"s{station}") for station in sorted(off)]


def lossy_cuts(scenario: Scenario) -> list[LossyCut]:
    """Return the cuts that break an assumption of the protocol."""
    if "connections" in declaration_of(scenario.protocol).needs:
        return []
    cuts = []
    planned = switches(scenario)
    for place, one in enumerate(planned):
        if one.loses and one.other is not None:
            mends = (later for later in planned[place:] if later.event == "mend")
            until_ns = next(m.at_ns for m in mends if (m.station, m.other) == (one.station, one.other))
            cuts.append(LossyCut(scenario.protocol.name, one.station, one.other, one.at_ns, until_ns))
    return cuts

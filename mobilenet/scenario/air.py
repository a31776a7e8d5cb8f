"""What follows from a scenario about single frames, and about single messages on wires.

Model     the loss of a radio changes by hand alone. A frame of a protocol of ours carries at most one application
          message, or a segment, a list with an entry for each host, and a bit for each message that a host skips
Units     integer nanoseconds, bytes, bits per second
Errors    none
Source    ours: docs/models/radio.md, docs/models/wires.md, docs/verdicts-and-metrics.md
"""

from __future__ import annotations

from mobilenet.engine.kernel import ns
from mobilenet.network.tcp.parameters import TcpParameters
from mobilenet.scenario.expectations import Air
from mobilenet.scenario.mobile import Scenario
from mobilenet.scenario.protocol_groups import declaration_of
from mobilenet.world.interventions import Loss, in_order

FIELDS_BYTES = 16_384  # headers and every field of fixed size, many times over


def air(scenario: Scenario) -> Air:
    """The radio and the wires of a scenario."""
    wireless, backbone, declaration = scenario.wireless, scenario.stations.backbone, declaration_of(scenario.protocol)
    by_hand = [one for one in in_order(scenario.interventions) if isinstance(one, Loss)]
    most_bytes = None
    if declaration.details is not None:
        tcp = getattr(scenario.protocol, "tcp", None) or TcpParameters()
        segment_bytes = tcp.mss_bytes if "connections" in declaration.needs else 0
        most_bytes = FIELDS_BYTES + scenario.workload.payload_bytes + segment_bytes
    return Air(
        wireless,
        [(0, wireless.loss), *((ns(one.at_s), one.loss) for one in by_hand)],
        scenario.record.frames,
        scenario.record.messages,
        declaration.acts_on_frames,
        most_bytes,
        round(backbone.bandwidth_mbps * 1_000_000),
        ns(backbone.delay_ms / 1000),
    )

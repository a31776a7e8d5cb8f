"""What follows from a scenario about single frames, and about single messages on wires.

Model     the loss of a radio changes only by hand. A frame of a protocol of ours carries at most one application
          message, or a segment, a list with an entry for each host, and a bit for each message that a host skips
Units     integer nanoseconds, bytes, bits per second, dBm
Errors    none
Source    phy.py and framing.py for air times; ours: docs/models/radio.md, docs/models/wires.md,
          docs/verdicts-and-metrics.md
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil

from mobilenet.clock import MICROSECOND, SECOND, ns
from mobilenet.expected.expectations import Air, AirTime, Carrier, Segmenting
from mobilenet.expected.strengths import rates_mbps, strengths
from mobilenet.network.radio.frame import HALF_DUPLEX, OUTCOMES, SINR_OUTCOMES
from mobilenet.network.radio.framing import Framing
from mobilenet.network.radio.links import reach_m, reception_of
from mobilenet.network.radio.parameters import WirelessParameters
from mobilenet.network.radio.phy import (
    ACK_BYTES,
    DSSS_PREAMBLE_NS,
    DSSS_RATES,
    MODES,
    OFDM_PREAMBLE_NS,
    OFDM_SYMBOL_NS,
)
from mobilenet.network.radio.reception import DSSS_SYNC_NS, OFDM_TRAINING_NS
from mobilenet.network.tcp.congestion import MAX_WINDOW
from mobilenet.network.tcp.parameters import TcpParameters
from mobilenet.propagation.path_loss import SPEED_OF_LIGHT_MPS
from mobilenet.scenario.mobile import Scenario
from mobilenet.scenario.protocol_groups import OwnDeclaration, declaration_of
from mobilenet.world.interventions import Loss, in_order

FIELDS_BYTES = 16_384  # headers and every field of fixed size, many times over
OFDM_BITS = 16 + 6  # service field and tail

# As network/radio/interference.py has it, which loads the medium; tests/scenario/test_air.py compares the two.
FARTHEST_NS = 10_100


def air(scenario: Scenario) -> Air:
    """The radio and the wires of a scenario."""
    wireless, backbone = scenario.wireless, scenario.stations.backbone
    framing, is_power, is_acking = Framing(wireless), wireless.model == "sinr", wireless.mac == "acking"
    broadcast, unicast = (airtime(wireless, rate) for rate in (framing.broadcast_mbps, framing.unicast_mbps))
    full_duplex = is_acking and wireless.full_duplex
    outcomes = [outcome for outcome in (SINR_OUTCOMES if is_power else OUTCOMES) if outcome != OUTCOMES[HALF_DUPLEX]]
    has_links = is_power and scenario.record.frames
    rules, rates = (reception_of(wireless), rates_mbps(wireless)) if has_links else (None, set())
    by_hand = [one for one in in_order(scenario.interventions) if isinstance(one, Loss)]
    declaration = declaration_of(scenario.protocol)
    return Air(
        scenario.record.frames,
        scenario.record.messages,
        is_power,
        outcomes if full_duplex else [*outcomes, OUTCOMES[HALF_DUPLEX]],
        full_duplex,
        wireless.capture_db is not None,
        not is_power and wireless.interference_m == wireless.range_m,
        ceil(reach_m(wireless) / (SPEED_OF_LIGHT_MPS / SECOND)) + 2,  # distances are rounded as well
        FARTHEST_NS,
        broadcast,
        unicast,
        [
            Carrier(framing.datagram(0)[0], broadcast),
            Carrier(framing.segment(0)[0], unicast),
            Carrier(framing.acknowledged_datagram(0)[0], unicast),
        ],
        None if is_acking else _ack(wireless),
        not is_acking and may_acknowledge(scenario),
        strengths(wireless) if scenario.record.frames or scenario.record.messages else {},
        0.0 if rules is None else min(map(rules.detected_cdbm, rates)) / 100,
        0.0 if rules is None else min(map(rules.noise_cdbm_of, rates)) / 100,
        0.0 if rules is None else max(map(rules.noise_cdbm_of, rates)) / 100,
        0.0 if rules is None else max(map(rules.clear_cdbm, rates)) / 100,
        [(0, wireless.loss), *((ns(one.at_s), one.loss) for one in by_hand)],
        declaration.acts_on_frames,
        _most_bytes(scenario),
        round(backbone.bandwidth_mbps * 1_000_000),
        ns(backbone.delay_ms / 1000),
        declaration.details is not None and "connections" in declaration.needs,
        0 if is_acking else MODES[wireless.mode].sifs_ns,
        0 if is_acking else MODES[wireless.mode].difs_ns,
        wireless.fading is not None,
        0.0 if rules is None else (rules.tx_cdbm(True) - rules.tx_cdbm(False)) / 100,
        rules is not None and rules.cutoff_m >= rules.reach_m,
        DSSS_SYNC_NS if rates.intersection(DSSS_RATES) else OFDM_TRAINING_NS,
        0 if is_acking else MODES[wireless.mode].signal_extension_ns,
        _segmenting(scenario),
    )


def may_acknowledge(scenario: Scenario) -> bool:
    """Return whether the MAC may acknowledge frames of the scenario's protocol."""
    declaration = declaration_of(scenario.protocol)
    is_own = issubclass(declaration, OwnDeclaration)
    return "connections" in declaration.needs or is_own or declaration.unicasts(scenario.protocol)


def airtime(wireless: WirelessParameters, rate_mbps: float) -> AirTime:
    """How long frames of any size last at that rate; a test holds it to the radio's own numbers."""
    rate = Fraction(repr(rate_mbps))
    if wireless.mac == "acking":
        step = MICROSECOND / rate
        return AirTime(0, wireless.phy_header_bits, step.numerator, step.denominator, 1)
    if rate_mbps in DSSS_RATES:
        step = MICROSECOND / rate
        return AirTime(DSSS_PREAMBLE_NS, 0, step.numerator, step.denominator, 1)
    step = MICROSECOND / (rate * OFDM_SYMBOL_NS)
    base_ns = OFDM_PREAMBLE_NS + MODES[wireless.mode].signal_extension_ns
    return AirTime(base_ns, OFDM_BITS, step.numerator, step.denominator, OFDM_SYMBOL_NS)


def _ack(wireless: WirelessParameters) -> tuple[int, int]:
    mode = MODES[wireless.mode]
    return ACK_BYTES, mode.airtime_ns(ACK_BYTES, mode.ack_rate_mbps(wireless.unicast_mbps))


def _segmenting(scenario: Scenario) -> tuple[Segmenting, Segmenting] | None:
    declaration = declaration_of(scenario.protocol)
    if declaration.details is None or "connections" not in declaration.needs:
        return None
    radio = getattr(scenario.protocol, "tcp", None) or TcpParameters()
    wired = getattr(scenario.protocol, "wired_tcp", None) or radio
    payload_bytes = scenario.workload.payload_bytes
    windows = (MAX_WINDOW if tcp.window_bytes is None else tcp.window_bytes for tcp in (radio, wired))
    on_radio, on_wires = (
        Segmenting(tcp.mss_bytes, window_bytes, tcp.nagle, payload_bytes)
        for tcp, window_bytes in zip((radio, wired), windows, strict=True)
    )
    return on_radio, on_wires


def _most_bytes(scenario: Scenario) -> int | None:
    declaration = declaration_of(scenario.protocol)
    if declaration.details is None:
        return None
    tcp = getattr(scenario.protocol, "tcp", None) or TcpParameters()
    segment_bytes = tcp.mss_bytes if "connections" in declaration.needs else 0
    return FIELDS_BYTES + scenario.workload.payload_bytes + segment_bytes

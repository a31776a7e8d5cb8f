"""How long frames of a scenario take on the radio, how likely they arrive, and how many copies that takes.

Units     seconds, nanoseconds; shares
Errors    none
Source    ours: docs/validation/trust.md
"""

from __future__ import annotations

from math import ceil, inf, log, log1p, pi, sqrt

from mobilenet.clock import SECOND
from mobilenet.expected.wired_time import HEADERS_BYTES, segment_bytes, segments
from mobilenet.network.radio.framing import Framing
from mobilenet.network.radio.phy import ACK_BYTES, MODES
from mobilenet.scenario.mobile import Scenario
from mobilenet.scenario.protocol_groups import declaration_of

UNHEARD_IS_RARER_THAN = 1e-6
NEVER_S = 1e9
HIDDEN = 3 * sqrt(3) / (4 * pi)  # probability that two places of a disk are farther apart than its radius
LOST_ANYHOW = 0.1  # of all frames, when no host broadcasts any more: MOST_HEARTBEAT_SHARE follows from it
LOST_UNDER_LOAD = 0.5  # the same while hosts broadcast and stations send copies again
RIVALS = 2  # segments that time out at the same time as one, of nodes that it does not hear


def arrives(scenario: Scenario) -> float:
    """How likely a frame arrives at least."""
    return (1 - scenario.most_loss) * (1 - LOST_ANYHOW)


def copies(crowd: int, chance: float) -> float:
    """How many copies of a message it takes on average until the try of each host of the crowd has succeeded: the
    longest of `crowd` geometric numbers; infinite, where none succeeds.
    """
    if chance <= 0:
        return inf
    return 1 + (1 + log(max(1, crowd))) / -log1p(-chance)


def airtime_ns(scenario: Scenario) -> int:
    """The time of the frame with a message, or with the longest segment of one."""
    framing, size = Framing(scenario.wireless), scenario.workload.payload_bytes + HEADERS_BYTES
    if "connections" not in declaration_of(scenario.protocol).needs:
        return framing.datagram(size)[1]
    return framing.segment(min(size, segment_bytes(scenario.protocol.tcp) + HEADERS_BYTES))[1]


def copy_s(scenario: Scenario) -> float:
    """A copy without acknowledgement and its repetitions by the MAC, each with the wait before it on a free channel:
    DIFS and half of the window.
    """
    wireless, mode = scenario.wireless, MODES[scenario.wireless.mode]
    return wireless.group_copies * (mode.difs_ns + mode.cw_min * mode.slot_ns / 2 + airtime_ns(scenario)) / SECOND


def control_s(scenario: Scenario) -> float:
    """The air time of a message without payload."""
    return Framing(scenario.wireless).datagram(HEADERS_BYTES)[1] / SECOND


def unicast_s(scenario: Scenario) -> float:
    """How long a station is busy with a frame that the MAC acknowledges, on average: at each attempt it waits for DIFS
    and half of its window, sends, and waits for the acknowledgement. What others send meanwhile is in the shares.
    """
    wireless, mode = scenario.wireless, MODES[scenario.wireless.mode]
    ack_ns = mode.airtime_ns(ACK_BYTES, mode.ack_rate_mbps(wireless.unicast_mbps))
    around_ns = mode.difs_ns + mode.sifs_ns + mode.slot_ns + ack_ns + airtime_ns(scenario)
    window, reaches, in_all_ns = mode.cw_min, 1.0, 0.0
    for _ in range(wireless.retry_limit):
        in_all_ns += reaches * (around_ns + window * mode.slot_ns / 2)
        reaches *= 1 - arrives(scenario) ** 2
        window = min(2 * window + 1, mode.cw_max)
    return in_all_ns / SECOND


def over_tcp_s(scenario: Scenario) -> float:
    """A message to one host: all of its segments."""
    return segments(scenario.protocol.tcp, scenario.workload.payload_bytes) * unicast_s(scenario)


def segment_loss_probability(scenario: Scenario) -> float:
    """How likely all attempts of the MAC at a segment fail."""
    return float((1 - arrives(scenario) ** 2) ** scenario.wireless.retry_limit)


def collide_again(scenario: Scenario) -> float:
    """How likely it is that hidden terminals collide at all attempts of the MAC at a segment.

    Timeouts of TCP double up to the same longest one, so two segments that collided once may be sent at the same time
    again. An attempt succeeds if the back-offs differ by more than a segment lasts from that of each rival.
    """
    mode, again = MODES[scenario.wireless.mode], 1.0
    slots, lasts_ns = mode.cw_min + 1, airtime_ns(scenario)
    for _ in range(scenario.wireless.retry_limit):
        again *= min(1.0, 2 * RIVALS * lasts_ns / (slots * mode.slot_ns))
        slots = min(2 * slots, mode.cw_max + 1)
    return again


def heard_every_s(heartbeat_s: float, loss: float, lost_anyhow: float = LOST_ANYHOW) -> float:
    """How long a reachable host may remain unheard, or without the answer to what was heard, but for one time in a
    million.

    Assumed is that heartbeats are lost independently of each other, each with the configured loss and `lost_anyhow` to
    collisions. So their intervals must differ: at equal ones a collision of two hidden hosts repeats itself. And the
    radio must not be overloaded: where more collides, hosts may be unheard for longer.
    """
    arrives_both_ways = ((1 - loss) * (1 - lost_anyhow)) ** 2
    if arrives_both_ways == 0:
        return NEVER_S
    return heartbeat_s * ceil(log(UNHEARD_IS_RARER_THAN) / log1p(-arrives_both_ways))


def tries(rounds: int, crowd: int, chance: float) -> float:
    """The most tries that these rounds take together, but for one time in a million, if a round is over when
    the try of each host of the crowd has succeeded.

    The longest of `crowd` geometric numbers is at most log(crowd) / -log1p(-chance) more than one of them. That N
    tries of one host succeed less than a share a of the time has a probability of exp(-N KL(a, chance)) at most
    (Chernoff and Hoeffding).
    """
    if not rounds:
        return 0.0
    for_all = rounds * ceil(log(max(1, crowd)) / -log1p(-chance))
    of_one = rounds / chance
    while of_one * _divergence(rounds / of_one, chance) < -log(UNHEARD_IS_RARER_THAN):
        of_one *= 1.05
    return for_all + of_one


def _divergence(share: float, chance: float) -> float:
    """Return the Kullback-Leibler divergence between two coins."""
    return share * log(share / chance) + (1 - share) * log((1 - share) / (1 - chance))

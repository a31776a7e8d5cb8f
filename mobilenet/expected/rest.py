"""How soon after its active part a run of hosts is surely at rest, and why that is not promised where it is not sure.

Model     after `duration_s` no host broadcasts, crashes or walks, and every host is within reach of a station. What
          is left to do then has a bound, if the radio retries (dcf), loses little at random, and was not overloaded
          before: until every host was heard and answered (heard_every_s of whatever is repeated most rarely; over TCP:
          until the longest timeout is over); the exchanges of a join, handoff or leave, one after the other; what they
          send over wires; and the backlog of hosts that were away. A backlog takes the airtime of its copies, at the
          share of the time that resending may take, and one round of acknowledgements for each window. The bound is
          generous; it is a promise that the run is held to, not an estimate
Units     seconds; shares of a station's time
Errors    none
Source    ours: docs/validation/trust.md
"""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, log, pi, sqrt
from typing import Any, NamedTuple

from mobilenet.clock import SECOND, ns
from mobilenet.expected.wired_time import HEADERS_BYTES, on_wires_s
from mobilenet.network.radio.framing import Framing
from mobilenet.network.radio.phy import ACK_BYTES, MODES
from mobilenet.scenario.mobile import Scenario
from mobilenet.scenario.protocol_groups import declaration_of
from mobilenet.world.faults import outages
from mobilenet.world.interventions import Cut, Interval

# Shares that have no closed bound, and limits beyond which nothing is promised. Each is on the safe side for the reason
# beside it; all else follows from the scenario
UNHEARD_IS_RARER_THAN = 1e-6
UNUSUAL = 6  # standard deviations of a Poisson number that are never exceeded
NEVER_S = 1e9
HIDDEN = 3 * sqrt(3) / (4 * pi)  # probability that two places of a disk are farther apart than its radius
LOST_ANYHOW = 0.1  # of all frames, when nobody broadcasts any more: MOST_HEARTBEAT_SHARE follows from it
LOST_UNDER_LOAD = 0.5  # the same while hosts broadcast and stations send copies again
MOST_LOSS = 0.2  # at random: a frame and its answer still arrive in (0.8 * 0.9)**2 = 52 % of all tries
# of a station's time for first copies: at MOST_LOSS 100 hosts need 9 of each (_copies), which is 36 % of its time, and
# 72 % if a second station is heard as well
MOST_SHARE = 0.04
# over TCP for the copies to all hosts, with the attempts of the MAC: with its acknowledgements, which take no longer,
# TCP takes half of the time, and a copy waits for half of another on average (M/D/1)
MOST_SHARE_OVER_TCP = 0.25
# of a cell's time: a frame is lost if one of a hidden host begins within its airtime before or after its begin, so
# exp(-2 * HIDDEN * share) arrive
MOST_HEARTBEAT_SHARE = -log(1 - LOST_ANYHOW) / (2 * HIDDEN)
MOST_WIRE_SHARE = 0.25  # with acknowledgements half of its time: a message waits for half of another on average (M/D/1)
MOST_QUEUE_SHARE = 0.5  # of the time between copies: a copy waits for half of another on average (M/D/1)
LEAST_SPREAD = 0.2  # of an interval's factors: with equal intervals two hidden hosts collide again and again
FEWEST_RETRANSMISSIONS = 4
LEAST_SILENCE = 0.7  # of silence_s, from one probe of a host over TCP to the next
MOST_PROBED = 3.0  # hosts that wait for an answer: at one moment in twenty none of them does, and the run is at rest
RIVALS = 2  # segments that time out at the same time as one, of nodes that it does not hear
MOST_AGAIN = 0.5  # probability that hidden terminals collide at all attempts of the MAC: 20 timeouts are enough


class Rest(NamedTuple):
    within_s: float | None  # after the active part; None: not promised
    because: str | None  # why not


def rest(scenario: Scenario) -> Rest:
    """The promise of a scenario of hosts."""
    protocol, hosts = scenario.protocol, scenario.all_hosts
    objection = next(_objections(scenario), None)
    if objection is None:
        assert hosts is not None
        objection = next(_unfit(protocol, scenario), None) or _overload(scenario, hosts)
    if objection is not None:
        return Rest(None, objection)
    if _resends(scenario):
        return _by_resending(scenario, protocol, hosts or 0)
    return _over_connections(scenario, protocol, hosts or 0)


def _resends(scenario: Scenario) -> bool:
    return declaration_of(scenario.protocol).rests == "by resending"


def _objections(scenario: Scenario) -> Iterator[str]:
    """Why nothing is promised, whatever the numbers of the protocol are."""
    protocol, wireless, loss = scenario.protocol, scenario.wireless, scenario.most_loss
    if declaration_of(protocol).rests is None:
        yield says_nothing_of_rest(protocol.name)
    if wireless.mac != "dcf":
        yield f"wireless.mac is {wireless.mac}, which gives up what is not acknowledged"
    if wireless.model == "sinr":
        yield "wireless.model is sinr: how often frames are lost between two places has no bound"
    elif wireless.disturbs_unsensed:
        yield "frames disturb farther than they are sensed (wireless.interference_range_m)"
    if loss > MOST_LOSS:
        yield f"the random loss is {loss:g}, more than {MOST_LOSS:g}"
    if any(isinstance(one, Interval) for one in scenario.interventions):
        yield "somebody changes how often hosts broadcast"
    cuts = [one for one in scenario.interventions if isinstance(one, Cut)]
    if any(one.loses for one in cuts):
        yield "somebody cuts a link, and what was sent over it is lost"
    if cuts and (not _resends(scenario) or scenario.stations.backbone.kind != "tree"):
        yield "somebody cuts a link, and others wait for what it holds"
    if scenario.all_hosts is None:
        yield "how many hosts there are is known only when their tracks are read"


def _unfit(protocol: Any, scenario: Scenario) -> Iterator[str]:
    """Numbers of the protocol with which it need not come to rest."""
    if not _resends(scenario):
        wires_s, tries = on_wires_s(scenario, 0), protocol.tcp.max_retransmissions
        if wires_s > protocol.handoff_wait_s:
            yield f"a handoff over these wires may take longer than handoff_wait_s, {protocol.handoff_wait_s:g} s"
        if tries < FEWEST_RETRANSMISSIONS:
            yield f"tcp.max_retransmissions is {tries}, so connections end without need"
        if protocol.tcp.connect_timeout_s < protocol.tcp.rto_initial_s:
            yield (
                f"tcp.connect_timeout_s is {protocol.tcp.connect_timeout_s:g} s, less than tcp.rto_initial_s,"
                f" {protocol.tcp.rto_initial_s:g} s, so a connection whose first segment is lost is not set up"
            )
        probed = (scenario.all_hosts or 0) * protocol.tcp.delayed_ack_s / (LEAST_SILENCE * protocol.silence_s)
        if probed > MOST_PROBED:
            yield (
                f"silence_s is {protocol.silence_s:g} s, so at each moment about {probed:.2g} hosts wait for the answer"
                " to a probe"
            )
        if (again := _collide_again(scenario)) > MOST_AGAIN:
            yield (
                "two segments of nodes that do not hear each other collide at each attempt of the MAC with a"
                f" probability of up to {again:.2g} (wireless.retry_limit), and again at each timeout of TCP"
            )
        return
    low, high = protocol.resend_jitter_low, protocol.resend_jitter_high
    again_s, asked_s = protocol.resend_first_s * high, protocol.control_interval_s * high
    queue_frames = scenario.wireless.queue_frames
    if high - low < LEAST_SPREAD:
        yield (
            f"resend_jitter_low and resend_jitter_high differ by less than {LEAST_SPREAD:g}, so frames that collide"
            " once may collide again and again"
        )
    if protocol.silent_after_s < again_s:
        yield (
            f"silent_after_s is {protocol.silent_after_s:g} s and copies are up to {again_s:g} s apart, so a host that"
            " was heard may be sent none"
        )
    if protocol.cookie_lifetime_s < asked_s:
        yield (
            f"cookie_lifetime_s is {protocol.cookie_lifetime_s:g} s and a join is repeated after up to {asked_s:g} s,"
            " so its cookie may be too old each time"
        )
    if queue_frames < 2 * protocol.mac_backlog:
        yield (
            f"wireless.queue_frames is {queue_frames}, less than twice protocol.mac_backlog, {protocol.mac_backlog}, so"
            " copies may be dropped again and again"
        )


def _by_resending(scenario: Scenario, protocol: Any, hosts: int) -> Rest:
    loss, high, crowd = scenario.most_loss, protocol.resend_jitter_high, _crowd(scenario, hosts)
    left = _left(scenario, hosts)
    slowest_s = max(
        max(protocol.heartbeat_s, protocol.control_interval_s, protocol.resend_first_s) * high,
        protocol.ack_max_s,
        protocol.forwarding_jitter_s,
    )
    answered_s = heard_every_s(slowest_s, loss)
    talk_s = declaration_of(scenario.protocol).settling.exchanges * heard_every_s(
        protocol.control_interval_s * high, loss
    )
    # A full window is sent again until each host has it, and then until each acknowledgement arrives. The station has
    # to hear heartbeats to go on.
    arrives = _arrives(scenario)
    rounds = ceil(left / protocol.window) if left > protocol.window else 0
    if _are_away_while_up(scenario):
        rounds *= 2  # by their host, and then by stations
    again_s = protocol.resend_full_s * high + protocol.forwarding_jitter_s
    if protocol.silent_after_s < protocol.heartbeat_s * high:
        again_s = max(again_s, protocol.heartbeat_s * high)  # stations rest between the heartbeats
    rounds_s = _tries(rounds, crowd, arrives**2) * again_s
    rounds_s += _tries(rounds, crowd, arrives) * (again_s + protocol.ack_max_s)
    copies = _copies(crowd, arrives**2) * (min(protocol.window, _all_messages(scenario, hosts)) + left)
    backlog_s = copies * _airtime_ns(scenario) / SECOND / protocol.resend_share
    return Rest(answered_s + talk_s + on_wires_s(scenario, left) + rounds_s + backlog_s, None)


def _over_connections(scenario: Scenario, protocol: Any, hosts: int) -> Rest:
    left, spacing_s = _left(scenario, hosts), protocol.spacing_ms / 1e3
    again = _collide_again(scenario)
    timeouts = ceil(log(UNHEARD_IS_RARER_THAN) / log(again)) if again else 1
    longest_s = timeouts * protocol.tcp.rto_max_s + 1.3 * protocol.silence_s
    longest_s += protocol.handoff_wait_s + hosts * spacing_s
    again_s = heard_every_s(1.5 * protocol.reconnect_s, scenario.most_loss)
    one_s = _unicast_s(scenario) + (spacing_s if protocol.spacing == "per_queue" else 0.0)
    copies = 2 * left * _crowd(scenario, hosts)  # each with TCP's acknowledgement
    talk_s = _talk_s(scenario, protocol.tcp)
    return Rest(longest_s + again_s + talk_s + on_wires_s(scenario, left) + copies * one_s, None)


def _talk_s(scenario: Scenario, tcp: Any) -> float:
    """The exchanges of a host over connections that are there: each may wait for one timeout, and one of them for as
    many as are not rarer than one in a million. The first timeout is that of a connection without a sample.
    """
    first_s = min(tcp.rto_max_s, max(tcp.rto_initial_s, tcp.rto_min_s, tcp.rto_after_lost_syn_s))
    lost = (1 - _arrives(scenario) ** 2) ** scenario.wireless.retry_limit
    in_a_row = ceil(log(UNHEARD_IS_RARER_THAN) / log(lost))
    longest_s: float = sum(min(tcp.rto_max_s, first_s * 2.0 ** min(doubled, 20)) for doubled in range(in_a_row))
    ordinary_s: float = declaration_of(scenario.protocol).settling.exchanges * (first_s + tcp.delayed_ack_s)
    return ordinary_s + longest_s


def _arrives(scenario: Scenario) -> float:
    """How likely a frame arrives at least."""
    return (1 - scenario.most_loss) * (1 - LOST_ANYHOW)


def _copies(crowd: int, chance: float) -> float:
    """How many copies of a message it takes on average until the try of each host of the crowd has succeeded: the
    longest of so many geometric numbers.
    """
    return 1 + (1 + log(max(1, crowd))) / -log(1 - chance)


def _unicast_s(scenario: Scenario) -> float:
    """How long a station is busy with a frame that the MAC acknowledges, on average: at each attempt it waits for DIFS
    and half of its window, sends, and waits for the acknowledgement. What others send meanwhile is in the shares.
    """
    wireless, mode = scenario.wireless, MODES[scenario.wireless.mode]
    ack_ns = mode.airtime_ns(ACK_BYTES, mode.ack_rate_mbps(wireless.unicast_mbps))
    around_ns = mode.difs_ns + mode.sifs_ns + mode.slot_ns + ack_ns + _airtime_ns(scenario)
    window, reaches, in_all_ns = mode.cw_min, 1.0, 0.0
    for _ in range(wireless.retry_limit):
        in_all_ns += reaches * (around_ns + window * mode.slot_ns / 2)
        reaches *= 1 - _arrives(scenario) ** 2
        window = min(2 * window + 1, mode.cw_max)
    return in_all_ns / SECOND


def _collide_again(scenario: Scenario) -> float:
    """How likely it is that hidden terminals collide at all attempts of the MAC at a segment.

    Timeouts of TCP double up to the same longest one, so two segments that collided once may be sent at the same time
    again. An attempt succeeds if the back-offs differ by more than a segment lasts from that of each rival.
    """
    mode, again = MODES[scenario.wireless.mode], 1.0
    slots, airtime_ns = mode.cw_min + 1, _airtime_ns(scenario)
    for _ in range(scenario.wireless.retry_limit):
        again *= min(1.0, 2 * RIVALS * airtime_ns / (slots * mode.slot_ns))
        slots = min(2 * slots, mode.cw_max + 1)
    return again


def _tries(rounds: int, crowd: int, chance: float) -> float:
    """How many tries so many rounds take together at most, but for one time in a million, if a round is over when
    the try of each host of the crowd has succeeded.

    The longest of `crowd` geometric numbers is at most log(crowd) / -log(1 - chance) more than one of them. That N
    tries of one host succeed less than a share a of the time has a probability of exp(-N KL(a, chance)) at most
    (Chernoff and Hoeffding).
    """
    if not rounds:
        return 0.0
    for_all = rounds * ceil(log(max(1, crowd)) / -log(1 - chance))
    tries = rounds / chance
    while tries * _divergence(rounds / tries, chance) < -log(UNHEARD_IS_RARER_THAN):
        tries *= 1.05
    return for_all + tries


def _divergence(share: float, chance: float) -> float:
    """Of Kullback and Leibler, between two coins."""
    return share * log(share / chance) + (1 - share) * log((1 - share) / (1 - chance))


def _left(scenario: Scenario, hosts: int) -> int:
    """How many messages hosts may have missed that were away. A list of messages may be one burst at the end."""
    if scenario.workload.messages:
        return len(scenario.workload.messages)
    mean = _longest_absence_s(scenario, hosts) * _messages_per_s(scenario, hosts)
    return ceil(mean + UNUSUAL * sqrt(mean))


def _all_messages(scenario: Scenario, hosts: int) -> int:
    mean = scenario.duration_s * _messages_per_s(scenario, hosts)
    return ceil(mean + UNUSUAL * sqrt(mean))


def says_nothing_of_rest(protocol: str) -> str:
    """Why nothing is promised of a protocol that is not ours."""
    return f"{protocol} says nothing of rest"


def _crowd(scenario: Scenario, hosts: int) -> int:
    """Hosts of the fullest cell: all of them, where an area may lie in one."""
    if getattr(scenario.hosts.mobility, "area", None) is not None:
        return hosts
    return min(hosts, 3 * ceil(hosts / scenario.station_count))


def _airtime_ns(scenario: Scenario) -> int:
    framing, needs = Framing(scenario.wireless), declaration_of(scenario.protocol).needs
    size = scenario.workload.payload_bytes + HEADERS_BYTES
    return (framing.segment if "connections" in needs else framing.datagram)(size)[1]


def _messages_per_s(scenario: Scenario, hosts: int) -> float:
    workload = scenario.workload
    return max(hosts * workload.broadcasts_per_host_per_s, len(workload.messages) / scenario.duration_s)


def _overload(scenario: Scenario, hosts: int) -> str | None:
    """What is not far below its capacity."""
    protocol = scenario.protocol
    per_s = _messages_per_s(scenario, hosts)
    airtime_s = _airtime_ns(scenario) / SECOND
    wire = scenario.stations.backbone
    wire_share = (
        per_s * 8 * (scenario.workload.payload_bytes + HEADERS_BYTES + wire.header_bytes) / (wire.bandwidth_mbps * 1e6)
    )
    shares = [(wire_share, MOST_WIRE_SHARE, "a wire's time")]
    if _resends(scenario):
        heartbeat = Framing(scenario.wireless).datagram(HEADERS_BYTES)[1] / SECOND / protocol.heartbeat_s
        shares += [
            (per_s * airtime_s, MOST_SHARE, "a station's time"),
            (_crowd(scenario, hosts) * heartbeat, MOST_HEARTBEAT_SHARE, "a cell's time for heartbeats"),
        ]
    else:
        copies_per_s = per_s * _crowd(scenario, hosts)
        shares.append((copies_per_s * _unicast_s(scenario), MOST_SHARE_OVER_TCP, "a station's time"))
        if protocol.spacing == "per_queue":
            shares.append(
                (copies_per_s * protocol.spacing_ms / 1e3, MOST_QUEUE_SHARE, "a station's time between copies")
            )
    for share, most, of_what in shares:
        if share > most:
            return f"the load takes {share:.0%} of {of_what}, which is not far below its capacity".replace("%", " %")
    return None


def _longest_absence_s(scenario: Scenario, hosts: int) -> float:
    """For how long a host may have been away while others broadcast."""
    duration_s = scenario.duration_s
    if _are_away_while_up(scenario):
        return duration_s
    down = outages(scenario.faults, scenario.seed, hosts, ns(duration_s))
    return min(duration_s, max((outage.lasts_ns for outage in down), default=0) / SECOND)


def _are_away_while_up(scenario: Scenario) -> bool:
    """Whether hosts may broadcast out of reach of all stations: by hand, or where an area has holes."""
    return bool(scenario.interventions) or getattr(scenario.hosts.mobility, "area", None) is not None


def surely_heard_every_s(scenario: Scenario) -> float:
    """The promise of a scenario of hosts about hosts that are reachable; NEVER_S: none.

    It is given on the conditions of rest that concern the radio, and while hosts broadcast more collides.
    """
    protocol, wireless, hosts = scenario.protocol, scenario.wireless, scenario.all_hosts
    heartbeat_s = declaration_of(protocol).longest_heartbeat_s(protocol)
    if not heartbeat_s:
        return 0.0
    sure = wireless.mac == "dcf" and wireless.model == "unit_disk" and not wireless.disturbs_unsensed
    if not sure or hosts is None or any(isinstance(one, Interval) for one in scenario.interventions):
        return NEVER_S
    if next(_unfit(protocol, scenario), None) is not None or _overload(scenario, hosts) is not None:
        return NEVER_S
    return heard_every_s(heartbeat_s, scenario.most_loss, LOST_UNDER_LOAD)


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
    return heartbeat_s * ceil(log(UNHEARD_IS_RARER_THAN) / log(1 - arrives_both_ways))

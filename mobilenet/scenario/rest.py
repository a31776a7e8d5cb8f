"""How soon after its active part a run of hosts is surely at rest, and why that is not promised where it is not sure.

Model     after `duration_s` nobody broadcasts, crashes or walks any more and everybody is in reach of a station. What
          is left to do then has a bound, if the radio retries (dcf), loses little at random, and was not overloaded
          before: until every host was heard and answered (heard_every_s of whatever is repeated most rarely; over
          TCP: until the longest timeout is over), what a
          handoff or join that is under way still says over wires, and the backlog of who was away, sent at the share of
          the time that resending may take. The bound is generous; it is a promise to be held to, no estimate
Units     seconds; shares of a station's time
Errors    none
Source    ours: docs/validation/trust.md
"""

from __future__ import annotations

from math import ceil, log
from typing import NamedTuple

from mobilenet.engine.kernel import MICROSECOND, SECOND
from mobilenet.network.radio.framing import Framing
from mobilenet.scenario.mobile import Scenario
from mobilenet.scenario.protocol_groups import declaration_of
from mobilenet.world.faults import ExplicitFaults, PaperFaults, RandomFaults
from mobilenet.world.interventions import Cut, Interval

UNHEARD_IS_RARER_THAN = 1e-6
LOST_ANYHOW = 0.1  # of all frames: collisions and noise of any kind
MOST_LOSS = 0.2  # at random, beyond which nothing is promised
MOST_SHARE = 0.04  # of a station's time, for the first copies of all messages; over TCP for a copy to each host
MOST_SHARE_OVER_TCP = 0.2
MOST_HEARTBEAT_SHARE = 0.15
MOST_WIRE_SHARE = 0.25
MOST_QUEUE_SHARE = 0.5
FEWEST_RETRANSMISSIONS = 4
HEADERS_BYTES = 60  # of a message in the stream of a cell, and more than enough
CONTENTION_NS = 500 * MICROSECOND  # of a unicast frame, with its ACK
TALK_S = 20.0  # joins, handoffs and leaves that are under way, each asked for again until it is answered
HOPS = 20  # of a handoff over the wires, one after the other
COPIES = 4  # of a message, until all hosts of a cell have it
LONGEST_OF_RANDOM = 10  # outages, in mean outages


class Rest(NamedTuple):
    within_s: float | None  # after the active part; None: not promised
    because: str | None  # why not


def rest(scenario: Scenario) -> Rest:
    """The promise of a scenario of hosts."""
    protocol, wireless, hosts = scenario.protocol, scenario.wireless, scenario.all_hosts
    if protocol.name not in ("mobile_causal", "tcp_flooding"):
        return Rest(None, says_nothing_of_rest(protocol.name))
    if wireless.mac != "dcf":
        return Rest(None, f"wireless.mac is {wireless.mac}, which gives up what is not acknowledged")
    if wireless.model == "sinr":
        return Rest(None, "wireless.model is sinr: how often frames are lost between two places has no bound")
    loss = scenario.most_loss
    if loss > MOST_LOSS:
        return Rest(None, f"the random loss is {loss:g}, more than {MOST_LOSS:g}")
    if any(isinstance(one, Interval) for one in scenario.interventions):
        return Rest(None, "somebody changes how often hosts broadcast")
    backbone = scenario.stations.backbone
    cuts = [one for one in scenario.interventions if isinstance(one, Cut)]
    if any(one.loses for one in cuts):
        return Rest(None, "somebody cuts a link, and what was sent over it is lost")
    if cuts and (protocol.name != "mobile_causal" or backbone.kind != "tree"):
        return Rest(None, "somebody cuts a link, and others wait for what it holds")
    if hosts is None:
        return Rest(None, "how many hosts there are is known only when their tracks are read")
    overload = _overload(scenario, hosts)
    if overload is not None:
        return Rest(None, overload)
    # Wires are not overloaded, so what one was cut for so long is sent within as long.
    held_s = scenario.duration_s if cuts else 0.0
    on_wires_s = HOPS * scenario.station_count * backbone.delay_ms / 1e3 + held_s
    airtime_s = _airtime_ns(scenario) / SECOND
    # A list of messages may be one burst at the end; of others those may be left that somebody missed who was away.
    left = len(scenario.workload.messages) or _longest_absence_s(scenario) * _messages_per_s(scenario, hosts)
    if protocol.name == "mobile_causal":
        repeated_s = (
            max(protocol.heartbeat_s, protocol.control_interval_s, protocol.resend_first_s)
            * protocol.resend_jitter_high
        )
        answered_s = heard_every_s(max(repeated_s, protocol.ack_max_s, protocol.forwarding_jitter_s), loss)
        backlog_s = COPIES * (protocol.window + left) * airtime_s / protocol.resend_share
        return Rest(answered_s + TALK_S + on_wires_s + backlog_s, None)
    if on_wires_s > protocol.handoff_wait_s:
        return Rest(
            None, f"a handoff over these wires may take longer than handoff_wait_s, {protocol.handoff_wait_s:g} s"
        )
    if protocol.tcp.max_retransmissions < FEWEST_RETRANSMISSIONS:
        return Rest(
            None, f"tcp.max_retransmissions is {protocol.tcp.max_retransmissions}, so connections end without need"
        )
    spaced_s = hosts * protocol.spacing_ms / 1e3
    longest_s = protocol.tcp.rto_max_s + 1.3 * protocol.silence_s + protocol.handoff_wait_s + spaced_s
    again_s = heard_every_s(1.5 * protocol.reconnect_s, loss)
    one_s = airtime_s + CONTENTION_NS / SECOND + (protocol.spacing_ms / 1e3 if protocol.spacing == "per_queue" else 0.0)
    return Rest(longest_s + again_s + TALK_S + on_wires_s + COPIES * left * _crowd(scenario, hosts) * one_s, None)


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
    if protocol.name == "mobile_causal":
        heartbeat = Framing(scenario.wireless).datagram(HEADERS_BYTES)[1] / SECOND / protocol.heartbeat_s
        shares += [
            (per_s * airtime_s, MOST_SHARE, "a station's time"),
            (_crowd(scenario, hosts) * heartbeat, MOST_HEARTBEAT_SHARE, "a cell's time for heartbeats"),
        ]
    else:
        copies_per_s = per_s * _crowd(scenario, hosts)
        shares.append((copies_per_s * (airtime_s + CONTENTION_NS / SECOND), MOST_SHARE_OVER_TCP, "a station's time"))
        if protocol.spacing == "per_queue":
            shares.append(
                (copies_per_s * protocol.spacing_ms / 1e3, MOST_QUEUE_SHARE, "a station's time between copies")
            )
    for share, most, of_what in shares:
        if share > most:
            return f"the load takes {share:.0%} of {of_what}, which is not far below its capacity".replace("%", " %")
    return None


def _longest_absence_s(scenario: Scenario) -> float:
    """For how long a host may have been away while others broadcast."""
    faults, duration_s = scenario.faults, scenario.duration_s
    longest_s = duration_s if scenario.interventions else 0.0
    if isinstance(faults, PaperFaults):
        longest_s = (
            faults.first_duration_s + faults.duration_step_s * max(0.0, duration_s - faults.first_at_s) / faults.every_s
        )
    elif isinstance(faults, ExplicitFaults):
        longest_s = max((outage.duration_s for outage in faults.outages), default=0.0)
    elif isinstance(faults, RandomFaults):
        longest_s = LONGEST_OF_RANDOM * faults.mean_duration_s
    if getattr(scenario.hosts.mobility, "area", None) is not None:  # it may have holes
        longest_s = duration_s
    return min(longest_s, duration_s)


def heard_every_s(heartbeat_s: float, loss: float) -> float:
    """How long a reachable host may remain unheard, or without the answer to what was heard, but for one time in a
    million.

    Assumed is that heartbeats are lost independently of each other, each with the configured loss and LOST_ANYHOW to
    collisions. So their intervals must differ: at equal ones a collision of two hidden hosts repeats itself. And the
    radio must not be overloaded: where more than LOST_ANYHOW collides, hosts may be unheard for longer.
    """
    arrives_both_ways = ((1 - loss) * (1 - LOST_ANYHOW)) ** 2
    if arrives_both_ways == 0:
        return 1e9
    return heartbeat_s * ceil(log(UNHEARD_IS_RARER_THAN) / log(1 - arrives_both_ways))

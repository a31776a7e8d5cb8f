"""How soon after its active part a run of hosts is surely at rest, and why that is not promised where it is not sure.

Model     after `duration_s` no host broadcasts, crashes or walks, and every host is within reach of a station. What
          is left to do then has a bound, if the radio retries (dcf), loses little at random, and was not overloaded
          before (capacity.py): until every host was heard and answered (heard_every_s of whatever is repeated most
          rarely; over TCP: until the longest timeout is over); the exchanges of a join, handoff or leave, one after
          the other; what they send over wires; and a backlog. A backlog is what hosts missed that were away; or what
          waits because windows let through less than is offered (windows.py), which may be all messages of the run.
          It takes the airtime of its copies, at the share of the time that resending may take, and one round of
          acknowledgements for each window. The bound is generous; it is a promise that the run is held to, not an
          estimate
Units     seconds
Errors    none
Source    ours: docs/validation/trust.md
"""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, log
from typing import Any, NamedTuple

from mobilenet.expected import windows
from mobilenet.expected.capacity import MOST_LOSS, overload, resends
from mobilenet.expected.load import (
    all_messages,
    are_away_while_up,
    at_most,
    comes_per_s,
    crowd,
    messages_missed,
    messages_per_s,
)
from mobilenet.expected.radio_time import (
    LOST_UNDER_LOAD,
    NEVER_S,
    UNHEARD_IS_RARER_THAN,
    arrives,
    collide_again,
    control_s,
    copies,
    copy_s,
    heard_every_s,
    over_tcp_s,
    segment_loss_probability,
    tries,
)
from mobilenet.expected.wired_time import HEADERS_BYTES, answer_s, longest_way, most_delay_s, on_wires_s, segments
from mobilenet.network.wired.parameters import TEST_INTERVAL_S, TIMEOUT_S
from mobilenet.scenario.mobile import Scenario
from mobilenet.scenario.protocol_groups import declaration_of
from mobilenet.world.interventions import Cut, Impair, ImpairLink, Interval

# Limits beyond which nothing is promised. Each is on the safe side for the reason next to it; those of loads are in
# capacity.py
LEAST_SPREAD = 0.2  # of an interval's factors: with equal intervals two hidden hosts collide again and again
FEWEST_RETRANSMISSIONS = 4
LEAST_SILENCE = 0.7  # of silence_s, from one probe of a host over TCP to the next
MOST_PROBED = 3.0  # hosts that wait for an answer: at one moment in twenty none of them does, and the run is at rest
SLOW_START = 4  # segments at the beginning, at most (RFC 5681)
PAST_BYTES = 12  # of each host, in the first message to one over TCP
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
        objection = next(_unfit(protocol, scenario), None) or overload(scenario, hosts)
    if objection is not None:
        return Rest(None, objection)
    rest_of = _by_resending if resends(scenario) else _over_connections
    promise = rest_of(scenario, protocol, hosts or 0)
    assert promise.within_s is not None
    return Rest(promise.within_s + most_delay_s(scenario, Impair), None)  # the last frames of an impaired host are late


def _objections(scenario: Scenario) -> Iterator[str]:
    """Why nothing is promised, whatever the numbers of the protocol are."""
    protocol, wireless, loss = scenario.protocol, scenario.wireless, scenario.most_loss
    if declaration_of(protocol).rests is None:
        yield says_nothing_of_rest(protocol.name)
    if wireless.mac != "dcf":
        yield f"wireless.mac is {wireless.mac}, which gives up on frames that are not acknowledged"
    if wireless.model == "sinr":
        yield "wireless.model is sinr: the loss rate between two positions has no bound"
    elif wireless.disturbs_unsensed:
        yield "frames interfere at distances at which they are not sensed (wireless.interference_range_m)"
    if loss > MOST_LOSS:
        yield f"the random loss is {loss:g}, more than {MOST_LOSS:g}"
    if any(isinstance(one, Interval) for one in scenario.interventions):
        yield "an intervention changes how often hosts broadcast"
    cuts = [one for one in scenario.interventions if isinstance(one, Cut)]
    if any(one.loses for one in cuts):
        yield "an intervention cuts a link, and messages on it are lost"
    if cuts and (not resends(scenario) or scenario.stations.backbone.kind != "tree"):
        yield "an intervention cuts a link, and other nodes wait for the messages on it"
    impaired = [one for one in scenario.interventions if isinstance(one, ImpairLink)]
    if any(one.loss for one in impaired):
        yield "an intervention impairs a link, and messages on it are lost"
    if impaired and (not resends(scenario) or scenario.stations.backbone.kind != "tree"):
        yield "an intervention impairs a link, and other nodes wait for the messages on it"
    yield from _suspicions(scenario)
    if scenario.all_hosts is None:
        yield "the number of hosts is unknown until their tracks are read"


def _suspicions(scenario: Scenario) -> Iterator[str]:
    """Two stations have no tree between them that a suspicion could change."""
    wire = scenario.stations.backbone
    if wire.detects and scenario.station_count > 2:
        round_s = (wire.test_interval_s or TEST_INTERVAL_S) + (wire.timeout_s or TIMEOUT_S)
        if answer_s(scenario) > round_s:
            yield (
                f"the answer to a test takes {answer_s(scenario):.3g} s over these wires, and stations are tested again"
                f" after {round_s:.3g} s, so they suspect each other in every round, and broadcasts start again"
            )


def _unfit(protocol: Any, scenario: Scenario) -> Iterator[str]:
    """Numbers of the protocol with which it need not come to rest."""
    return _unfit_to_resend(protocol, scenario) if resends(scenario) else _unfit_over_connections(protocol, scenario)


def _unfit_over_connections(protocol: Any, scenario: Scenario) -> Iterator[str]:
    hosts, wires_s, again = scenario.all_hosts or 0, on_wires_s(scenario, 0), protocol.tcp.max_retransmissions
    if wires_s > protocol.handoff_wait_s:
        yield f"a handoff over these wires may take longer than handoff_wait_s, {protocol.handoff_wait_s:g} s"
    if again < FEWEST_RETRANSMISSIONS:
        yield f"tcp.max_retransmissions is {again}, so connections may be closed unnecessarily"
    if protocol.tcp.connect_timeout_s < protocol.tcp.rto_initial_s:
        yield (
            f"tcp.connect_timeout_s is {protocol.tcp.connect_timeout_s:g} s, less than tcp.rto_initial_s,"
            f" {protocol.tcp.rto_initial_s:g} s, so a connection whose first segment is lost is not set up"
        )
    probed = hosts * protocol.tcp.delayed_ack_s / (LEAST_SILENCE * protocol.silence_s)
    if probed > MOST_PROBED:
        yield (
            f"silence_s is {protocol.silence_s:g} s, so the number of hosts that wait for the answer to a probe is"
            f" about {probed:.2g} at any moment"
        )
    queue_frames, at_once = scenario.wireless.queue_frames, _burst_segments(scenario, hosts)
    if queue_frames < at_once:
        yield (
            f"wireless.queue_frames is {queue_frames}, but {at_once} segments may arrive at once, so some are dropped"
            " repeatedly"
        )
    if (collide := collide_again(scenario)) > MOST_AGAIN:
        yield (
            "two segments of nodes that do not hear each other collide at each attempt of the MAC with a"
            f" probability of up to {collide:.2g} (wireless.retry_limit), and again at each timeout of TCP"
        )


def _burst_segments(scenario: Scenario, hosts: int) -> int:
    """How many segments a station queues at once: one for each host of the fullest cell. If copies follow each other
    more slowly than the radio sends them, those for one host: a message, or what slow start begins with.
    """
    tcp, in_cell = scenario.protocol.tcp, crowd(scenario, hosts)
    of_one = segments(tcp, scenario.workload.payload_bytes)
    if scenario.protocol.spacing_ms / 1e3 < over_tcp_s(scenario):
        return max(of_one, in_cell)
    return max(of_one, min(in_cell, tcp.initial_window_segments or SLOW_START))


def _unfit_to_resend(protocol: Any, scenario: Scenario) -> Iterator[str]:
    low, high = protocol.resend_jitter_low, protocol.resend_jitter_high
    again_s, asked_s = protocol.resend_first_s * high, protocol.control_interval_s * high
    queue_frames = scenario.wireless.queue_frames
    if high - low < LEAST_SPREAD:
        yield (
            f"resend_jitter_low and resend_jitter_high differ by less than {LEAST_SPREAD:g}, so frames that collide"
            " once may collide repeatedly"
        )
    if protocol.silent_after_s < again_s:
        yield (
            f"silent_after_s is {protocol.silent_after_s:g} s and copies are up to {again_s:g} s apart, so a host may"
            " count as silent before a copy is sent to it"
        )
    if protocol.cookie_lifetime_s < asked_s:
        yield (
            f"cookie_lifetime_s is {protocol.cookie_lifetime_s:g} s and a join is repeated after up to {asked_s:g} s,"
            " so its cookie may have expired each time"
        )
    if queue_frames < 2 * protocol.mac_backlog:
        yield (
            f"wireless.queue_frames is {queue_frames}, less than twice protocol.mac_backlog, {protocol.mac_backlog}, so"
            " copies may be dropped repeatedly"
        )


def _by_resending(scenario: Scenario, protocol: Any, hosts: int) -> Rest:
    loss, high, listeners = scenario.most_loss, protocol.resend_jitter_high, crowd(scenario, hosts)
    in_all, away = all_messages(scenario, hosts), messages_missed(scenario, hosts)
    behind = windows.behind_in_cells(scenario, hosts, in_all)
    left = max(away, behind)
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
    chance = arrives(scenario)
    rounds = ceil(left / protocol.window) if left > protocol.window or behind else 0
    if are_away_while_up(scenario) or behind:
        rounds *= 2  # by their host, and then by stations
    again_s = protocol.resend_full_s * high + protocol.forwarding_jitter_s
    if protocol.silent_after_s < protocol.heartbeat_s * high:
        again_s = max(again_s, protocol.heartbeat_s * high)  # stations rest between the heartbeats
    rounds_s = tries(rounds, listeners, chance**2) * again_s
    rounds_s += tries(rounds, listeners, chance) * (again_s + protocol.ack_max_s)
    in_air = copies(listeners, chance**2) * (min(protocol.window, in_all) + left)
    one_s = copy_s(scenario) / protocol.resend_share
    acks_s = listeners * control_s(scenario) * min(1.0, 2 * one_s / (protocol.ack_min_s + protocol.ack_max_s))
    backlog_s = in_air * (one_s + acks_s)
    wires_s = on_wires_s(scenario, left) + _over_vcube_s(scenario, hosts)
    return Rest(answered_s + talk_s + wires_s + rounds_s + backlog_s, None)


def _over_vcube_s(scenario: Scenario, hosts: int) -> float:
    """What waits at a station whose broadcasts go one after the other: messages, and what all hosts of a cell need."""
    window = windows.over_vcube(scenario)
    if window is None:
        return 0.0
    per_s, in_cell = windows.of_fullest_cell_per_s(scenario, hosts), crowd(scenario, hosts)
    burst = len(scenario.workload.messages)
    waiting = max(burst, window.most_waiting(per_s, burst + at_most(per_s * scenario.duration_s)))
    return window.takes_s(waiting + in_cell * declaration_of(scenario.protocol).settling.broadcasts)


def _over_connections(scenario: Scenario, protocol: Any, hosts: int) -> Rest:
    spacing_s, in_all, per_s = protocol.spacing_ms / 1e3, all_messages(scenario, hosts), messages_per_s(scenario, hosts)
    again = collide_again(scenario)
    timeouts = ceil(log(UNHEARD_IS_RARER_THAN) / log(again)) if again else 1
    longest_s = timeouts * protocol.tcp.rto_max_s + 1.3 * protocol.silence_s
    longest_s += protocol.handoff_wait_s + hosts * spacing_s
    again_s = heard_every_s(1.5 * protocol.reconnect_s, scenario.most_loss)
    one_s = over_tcp_s(scenario) + (spacing_s if protocol.spacing == "per_queue" else 0.0)
    # Up, from link to link, and down: each connection with what it did not let through as it was offered
    away, radio, wire = messages_missed(scenario, hosts), windows.on_radio(scenario), windows.on_wires(scenario)
    of_one = in_all if scenario.workload.messages else at_most(scenario.duration_s * per_s / max(1, hosts))
    up = max(away, radio.most_waiting(per_s / max(1, hosts), of_one))
    down = max(away, radio.most_waiting(per_s, in_all))
    asked_per_s = comes_per_s(scenario, hosts) * declaration_of(scenario.protocol).settling.messages
    offered = in_all + at_most(scenario.duration_s * asked_per_s)
    between = max(away, wire.most_waiting(per_s + asked_per_s, offered)) if scenario.station_count > 1 else 0
    rounds_s = radio.takes_s(up) + radio.takes_s(down) + wire.takes_s(between)
    in_air = 2 * max(up, down, between) * crowd(scenario, hosts)  # each with TCP's acknowledgement
    talk_s = _talk_s(scenario, protocol.tcp, radio, hosts) + _talk_on_wires_s(scenario, wire)
    return Rest(longest_s + again_s + talk_s + on_wires_s(scenario, between) + rounds_s + in_air * one_s, None)


def _talk_s(scenario: Scenario, tcp: Any, radio: windows.Window, hosts: int) -> float:
    """The exchanges of a host over connections that are there: each may wait for one timeout, and one of them for as
    many as are not rarer than one in a million.
    """
    first_s = windows.first_timeout_s(tcp)
    in_a_row = ceil(log(UNHEARD_IS_RARER_THAN) / log(segment_loss_probability(scenario)))
    longest_s: float = sum(min(tcp.rto_max_s, first_s * 2.0 ** min(doubled, 20)) for doubled in range(in_a_row))
    exchanges = declaration_of(scenario.protocol).settling.exchanges
    ordinary_s: float = exchanges * (first_s + tcp.delayed_ack_s)
    past = hosts * PAST_BYTES // HEADERS_BYTES  # what a host gets when it comes, in messages
    return ordinary_s + longest_s + windows.opens_s(radio, tcp) + radio.takes_s(1 + past)


def _talk_on_wires_s(scenario: Scenario, wire: windows.Window) -> float:
    """A short segment waits for the acknowledgement of those before it, at each station on the way."""
    messages = declaration_of(scenario.protocol).settling.messages
    return longest_way(scenario) * messages * wire.lasts_s


def says_nothing_of_rest(protocol: str) -> str:
    """Why nothing is promised of a protocol that is not ours."""
    return f"{protocol} does not promise to come to rest"


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
    if next(_unfit(protocol, scenario), None) is not None or overload(scenario, hosts) is not None:
        return NEVER_S
    return heard_every_s(heartbeat_s, scenario.most_loss, LOST_UNDER_LOAD) + most_delay_s(scenario, Impair)

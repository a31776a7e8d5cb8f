"""Which share of what each load of a scenario takes, and how much it may take so that a run surely comes to rest.

Model     shares of the time of a station, of a cell, of a wire. Beyond these limits nothing is promised; what windows
          let through is another question (windows.py), and only makes the promise longer
Units     seconds; shares of a time
Errors    none
Source    ours: docs/validation/trust.md
"""

from __future__ import annotations

from collections.abc import Iterator
from math import log
from typing import NamedTuple

from mobilenet.clock import SECOND
from mobilenet.expected.load import all_messages, crowd, messages_per_s
from mobilenet.expected.radio_time import (
    HIDDEN,
    LOST_ANYHOW,
    airtime_ns,
    arrives,
    control_s,
    copies,
    copy_s,
    over_tcp_s,
    unicast_s,
)
from mobilenet.expected.wired_time import answer_s, bits_s
from mobilenet.network.wired.parameters import TEST_INTERVAL_S, TIMEOUT_S
from mobilenet.scenario.mobile import Scenario
from mobilenet.scenario.protocol_groups import declaration_of

# at random: a frame and its answer still arrive in (0.8 * 0.9)**2 = 52 % of all tries
MOST_LOSS = 0.2
# of a station's time for first copies: at MOST_LOSS 100 hosts need 9 of each (copies), which is 36 % of its time, and
# 72 % if a second station is heard as well
MOST_SHARE = 0.04
# over TCP for the copies to all hosts, with the attempts of the MAC: with its acknowledgements, which take no longer,
# TCP takes half of the time, and a copy waits for half of another on average (M/D/1)
MOST_SHARE_OVER_TCP = 0.25
# of a cell's time: a frame is lost if one of a hidden host begins within its airtime before or after its begin, so
# exp(-2 * HIDDEN * share) arrive
MOST_HEARTBEAT_SHARE = -log(1 - LOST_ANYHOW) / (2 * HIDDEN)
# of a cell's time if all of its hosts join at once, with the answers: an answered host asks no more. With more, radios'
# queues fill with requests, and answers to them are too late
MOST_CONTROL_SHARE = 1.0
# of a cell's time for what hosts acknowledge while others broadcast: their part when copies are sent again
MOST_ACK_SHARE = 0.25
# of a station's time for copies sent again: with more, two that do not hear each other silence the hosts between them
MOST_RESEND_SHARE = 0.5
MOST_TIMEOUT_SHARE = 0.5  # of a cell's or a wire's time if all hosts send a segment again at each timeout of TCP
MOST_WIRE_SHARE = 0.25  # with acknowledgements half of its time: a message waits for half of another on average (M/D/1)
MOST_QUEUE_SHARE = 0.5  # of the time between copies: a copy waits for half of another on average (M/D/1)


class Share(NamedTuple):
    taken: float
    most: float
    of_what: str
    what: str = "the load"


def resends(scenario: Scenario) -> bool:
    return declaration_of(scenario.protocol).rests == "by resending"


def overload(scenario: Scenario, hosts: int) -> str | None:
    """What is not far below its capacity."""
    of_protocol = _of_resending if resends(scenario) else _over_connections
    for share in (*_of_wires(scenario, hosts), *of_protocol(scenario, hosts)):
        if share.taken > share.most:
            taken = f"{share.taken:.0%}".replace("%", " %")
            return f"{taken} of {share.of_what} goes to {share.what}; this is close to capacity"
    return None


def _of_wires(scenario: Scenario, hosts: int) -> Iterator[Share]:
    one_s, wire = bits_s(scenario), scenario.stations.backbone
    yield Share(messages_per_s(scenario, hosts) * one_s, MOST_WIRE_SHARE, "a wire's time")
    if wire.detects:
        round_s = (wire.test_interval_s or TEST_INTERVAL_S) + min(wire.timeout_s or TIMEOUT_S, answer_s(scenario))
        yield Share(2 * one_s / round_s, MOST_WIRE_SHARE, "a wire's time", "tests")


def _of_resending(scenario: Scenario, hosts: int) -> Iterator[Share]:
    protocol, in_cell, per_s = scenario.protocol, crowd(scenario, hosts), messages_per_s(scenario, hosts)
    one_s = control_s(scenario)
    yield Share(per_s * scenario.wireless.group_copies * airtime_ns(scenario) / SECOND, MOST_SHARE, "a station's time")
    yield Share(in_cell * one_s / protocol.heartbeat_s, MOST_HEARTBEAT_SHARE, "a cell's time", "heartbeats")
    yield Share(2 * in_cell * one_s / protocol.control_interval_s, MOST_CONTROL_SHARE, "a cell's time", "joins")
    window_s = min(protocol.window, all_messages(scenario, hosts)) * copy_s(scenario)
    again = min(protocol.resend_share, window_s / (protocol.resend_full_s * protocol.resend_jitter_low))
    yield Share(again, MOST_RESEND_SHARE, "a station's time", "copies sent again")
    heard_per_s = per_s * copies(in_cell, arrives(scenario) ** 2)
    acks_per_s = in_cell * min(heard_per_s, 2 / (protocol.ack_min_s + protocol.ack_max_s))
    yield Share(acks_per_s * one_s, MOST_ACK_SHARE, "a cell's time", "acknowledgements")


def _over_connections(scenario: Scenario, hosts: int) -> Iterator[Share]:
    protocol, in_cell = scenario.protocol, crowd(scenario, hosts)
    copies_per_s = messages_per_s(scenario, hosts) * in_cell
    yield Share(copies_per_s * over_tcp_s(scenario), MOST_SHARE_OVER_TCP, "a station's time")
    if protocol.spacing == "per_queue":
        spacing_s = protocol.spacing_ms / 1e3
        yield Share(copies_per_s * spacing_s, MOST_QUEUE_SHARE, "a station's time", "pauses between copies")
    again = in_cell * unicast_s(scenario) / protocol.tcp.rto_max_s
    yield Share(again, MOST_TIMEOUT_SHARE, "a cell's time", "segments retransmitted at each timeout")
    wired = protocol.wired_tcp or protocol.tcp
    yield Share(
        bits_s(scenario) / wired.rto_max_s,
        MOST_TIMEOUT_SHARE,
        "a wire's time",
        "segments retransmitted at each timeout",
    )

"""What windows let through: of the protocol that sends copies again, of TCP on the radio and on wires, of VCube.

Model     a window takes a number of messages at once, and some time until it takes the next ones. By Little's law as
          many messages are in transit on average as are offered in that time. If a Poisson number of that mean fits
          into the window, nothing waits. If it does not, windows are customers in a queue, and as long as the share of
          the time that they take is at most MOST_SERVED, more than log(1e-6) / log(share) of them wait one time in a
          million (M/M/1; they take equal times, so fewer do). Beyond it, all messages of the run may wait when it is
          over
Units     seconds, bytes
Errors    none
Source    ours: docs/validation/trust.md
"""

from __future__ import annotations

from math import ceil, log, log2
from typing import Any, NamedTuple

from mobilenet.expected.load import at_most, comes_per_s, crowd, messages_per_s
from mobilenet.expected.radio_time import (
    UNHEARD_IS_RARER_THAN,
    arrives,
    copies,
    copy_s,
    segment_loss_probability,
    unicast_s,
)
from mobilenet.expected.wired_time import HEADERS_BYTES, longest_way, message_s, segment_bytes
from mobilenet.scenario.mobile import Scenario

MOST_SERVED = 0.75  # of the time: what a window lasts is a mean, and a quarter is left for what that does not know


class Window(NamedTuple):
    messages: int  # at once
    lasts_s: float  # until the next ones

    def takes_s(self, messages: int) -> float:
        """The time until this number is through."""
        return ceil(messages / self.messages) * self.lasts_s

    def most_waiting(self, per_s: float, in_all: int) -> int:
        """The most messages that wait for their turn at this rate of offers."""
        under_way = per_s * self.lasts_s
        if at_most(under_way) <= self.messages:
            return 0
        share = under_way / self.messages
        if share > MOST_SERVED:
            return in_all
        return min(in_all, self.messages * ceil(log(UNHEARD_IS_RARER_THAN) / log(share)))


# --- copies that are sent again


def behind_in_cells(scenario: Scenario, hosts: int, in_all: int) -> int:
    """How many messages of a run wait in a cell at its end because copies are sent again too slowly: the window is
    full, or copies take longer than `resend_share` allows.
    """
    protocol, per_s, listeners = scenario.protocol, messages_per_s(scenario, hosts), crowd(scenario, hosts)
    again = (copies(listeners, arrives(scenario) ** 2) - 1) * copy_s(scenario)
    if per_s * again / protocol.resend_share > MOST_SERVED:
        return in_all
    return _of_resending(scenario, listeners).most_waiting(per_s, in_all)


def _of_resending(scenario: Scenario, listeners: int) -> Window:
    """A message is sent again until each host has it, and is pending until the acknowledgement of each has come."""
    protocol, chance = scenario.protocol, arrives(scenario)
    factor = (protocol.resend_jitter_low + protocol.resend_jitter_high) / 2
    again_s = protocol.resend_full_s * factor + protocol.forwarding_jitter_s / 2
    ack_s, needed = (protocol.ack_min_s + protocol.ack_max_s) / 2, copies(listeners, chance)
    return Window(protocol.window, (needed - 1) * again_s + needed * ack_s)


# --- TCP


def on_radio(scenario: Scenario) -> Window:
    """A connection with a host. A round is a segment there and its acknowledgement back, which may be delayed, and
    the timeouts if the MAC gives up a segment.
    """
    tcp = scenario.protocol.tcp
    return _of_tcp(tcp, scenario, 2 * unicast_s(scenario), segment_loss_probability(scenario))


def on_wires(scenario: Scenario) -> Window:
    """A connection between two stations, where nothing is lost."""
    tcp = scenario.protocol.wired_tcp or scenario.protocol.tcp
    return _of_tcp(tcp, scenario, 2 * message_s(scenario), 0.0)


def first_timeout_s(tcp: Any) -> float:
    """The first timeout is that of a connection without a sample."""
    return float(min(tcp.rto_max_s, max(tcp.rto_initial_s, tcp.rto_min_s, tcp.rto_after_lost_syn_s)))


def opens_s(window: Window, tcp: Any) -> float:
    """How long slow start takes. Delayed acknowledgements halve its growth."""
    segment = segment_bytes(tcp)
    return 2 * ceil(log2(max(2.0, (tcp.window_bytes or 2**30) / segment))) * window.lasts_s


def _of_tcp(tcp: Any, scenario: Scenario, there_and_back_s: float, lost_share: float) -> Window:
    """Only full segments leave while bytes are in flight, so the rest of a window stays empty. Where timeouts are
    shorter than a round, each takes the congestion window back to one segment.
    """
    size, segment = scenario.workload.payload_bytes + HEADERS_BYTES, segment_bytes(tcp)
    round_s = there_and_back_s + tcp.delayed_ack_s
    window_bytes = segment if tcp.rto_max_s < round_s else tcp.window_bytes or 2**30
    at_once_bytes = max(segment, window_bytes - segment)
    at_once = max(1, at_once_bytes // size)
    if tcp.messages_in_flight is not None:
        at_once = min(at_once, tcp.messages_in_flight)
    rounds = ceil(at_once * size / at_once_bytes)
    if tcp.nagle and at_once * size > segment:
        rounds += 1  # the last segment of a message may be short, and waits for those before it
    in_segments = ceil(at_once * size / segment)
    timeouts_s = in_segments * lost_share * (first_timeout_s(tcp) + round_s)
    return Window(at_once, rounds * round_s + timeouts_s)


# --- VCube


def over_vcube(scenario: Scenario) -> Window | None:
    """The window of a backbone whose stations broadcast one message at a time. The others: None."""
    if not scenario.stations.backbone.broadcasts_in_turn or scenario.station_count < 2:
        return None
    return Window(1, longest_way(scenario) * message_s(scenario))


def of_fullest_cell_per_s(scenario: Scenario, hosts: int) -> float:
    """What the station of the fullest cell broadcasts: the messages of its hosts, and for each that comes a request."""
    return crowd(scenario, hosts) / max(1, hosts) * (messages_per_s(scenario, hosts) + comes_per_s(scenario, hosts))

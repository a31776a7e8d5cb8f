"""What the network carried: frames, bytes, collisions, messages on wires.

Model     from running totals, which were sampled at both ends of the window. Frames are everything above the MAC that
          went onto the medium; its ACKs do not count, and what it sent again counts in `frames`, but is not a message
          sent. A pair is a frame and a node in its range; where power decides, one at which its preamble is detected if
          the medium is silent, and what was missed is lost to others as well. Of pairs that collided there are three
          shares: of all pairs; of those with a node that the frame is for (a station's broadcast is for the hosts that
          it serves); and of these, where the receiver had begun with the frame: without pairs that it never attempted,
          sent through, or was down for. Messages sent per delivery are counted in two ways: as frames; and as copies of
          application messages (payload in the air, divided by that of one message, so two in one segment count as two)
          plus frames that do nothing but acknowledge (a protocol's or TCP's own); what a MAC sends again counts here
Units     frames, bytes, seconds, as the names show
Source    the quantities of Wilhelm, Arantes, Sens (2020), section V; ours: docs/verdicts-and-metrics.md
"""

from __future__ import annotations

import numpy as np

from mobilenet.clock import SECOND
from mobilenet.metrics.declaration import Metric, ratio
from mobilenet.rundir.table import Columns, Table

LOST_TO_OTHERS = ("collision", "never_attempted", "preamble_missed")
BEGUN = ("received", "collision", "random", "bit_errors")


class Network:
    """What the network carried in the window, by the totals at both ends; `payload_bytes`: of one message."""

    def __init__(
        self, samples: Columns, begin: int, end: int, broadcasts: int, deliveries: int, payload_bytes: int | None
    ) -> None:
        self.broadcasts, self.deliveries, self.window_s = broadcasts, deliveries, (end - begin) / SECOND
        at: dict[int, dict[str, float]] = {begin: {}, end: {}}
        table = Table.of(samples)
        times, nodes = table.numbers("time_ns"), table.column("node")
        rows = np.flatnonzero((nodes.codes == nodes.code("network")) & ((times == begin) | (times == end)))
        columns = (table.pick(name, rows) for name in ("time_ns", "quantity", "value"))
        for time, quantity, value in zip(*columns, strict=True):
            at[time][quantity] = value
        self.total = {name: at[end].get(name, 0.0) - at[begin].get(name, 0.0) for name in at[end]}
        self.frames = self.of("radio_frames")
        self.pairs = self._all("pairs_")
        self.copies_and_acks: float | None = None
        if payload_bytes and "radio_acknowledgements" in self.total:  # not in records of older versions
            self.copies_and_acks = self.of("radio_payload_bytes") / payload_bytes + self.of("radio_acknowledgements")
        airtime_ns = self.total.get("radio_airtime_ns")  # None in records of older versions
        self.airtime_s = None if airtime_ns is None else airtime_ns / SECOND
        self.traits = ("bit errors",) if "pairs_bit_errors" in self.total else ()

    def of(self, quantity: str) -> float:
        return self.total.get(quantity, 0)

    def _all(self, prefix: str) -> float:
        return sum(value for name, value in self.total.items() if name.startswith(prefix))

    def lost_to_others(self, prefix: str) -> float | None:
        return ratio(sum(self.of(prefix + outcome) for outcome in LOST_TO_OTHERS), self._all(prefix))

    def collision_share(self) -> float | None:
        begun = sum(self.of(f"addressed_pairs_{outcome}") for outcome in BEGUN)
        return ratio(self.of("addressed_pairs_collision"), begun)


NETWORK: tuple[Metric[Network], ...] = (
    Metric("frames", "frames transmitted", lambda n: int(n.frames), symbol="frames"),
    Metric(
        "frames_per_s",
        "frames transmitted per second",
        lambda n: ratio(n.frames, n.window_s),
        "1/s",
        symbol="frame rate",
    ),
    Metric(
        "messages_sent_per_delivery",
        "frames sent per delivery",
        lambda n: ratio(n.frames - n.of("radio_mac_retries") - n.of("radio_group_retries"), n.deliveries),
        "frames",
        symbol="frames per delivery",
        better="lower",
    ),
    Metric(
        "airtime_per_delivery_s",
        "time on the air per delivery, including the MAC's retransmissions and acknowledgements",
        lambda n: ratio(n.airtime_s, n.deliveries),
        "s",
        symbol="airtime per delivery",
        better="lower",
    ),
    Metric(
        "copies_and_acks_per_delivery",
        "copies of application messages, plus acknowledgements, sent per delivery",
        lambda n: ratio(n.copies_and_acks, n.deliveries),
        "messages",
        symbol="copies and acks per delivery",
        better="lower",
    ),
    Metric(
        "receivers_in_range_per_frame",
        "old name of potential_receivers_per_frame",
        lambda n: ratio(n.pairs, n.frames),
        symbol="receivers in range",
    ),
    Metric(
        "potential_receivers_per_frame",
        "mean number of nodes within reach of a frame (in range or, with sinr, able to detect it in silence)",
        lambda n: ratio(n.pairs, n.frames),
        symbol="receivers in range",
    ),
    Metric(
        "collision_ratio",
        "share of receptions lost to collisions",
        lambda n: n.lost_to_others("pairs_"),
        symbol="lost to collisions",
        better="lower",
    ),
    Metric(
        "collision_ratio_addressed",
        "share of receptions by the addressee that were lost to collisions",
        lambda n: n.lost_to_others("addressed_pairs_"),
        symbol="addressed, lost to collisions",
        better="lower",
    ),
    Metric(
        "collision_ratio_addressed_begun",
        "share of the receptions begun by the addressee that were lost to collisions",
        lambda n: n.collision_share(),
        symbol="begun, lost to collisions",
        better="lower",
    ),
    Metric(
        "bit_error_ratio",
        "share of receptions lost to noise only",
        lambda n: ratio(n.of("pairs_bit_errors"), n.pairs),
        of="bit errors",
        symbol="lost to noise",
        better="lower",
    ),
    Metric(
        "radio_bytes", "bytes transmitted by radio", lambda n: int(n.of("radio_bytes")), "bytes", symbol="sent by radio"
    ),
    Metric(
        "radio_bytes_per_s",
        "bytes transmitted by radio per second",
        lambda n: ratio(n.of("radio_bytes"), n.window_s),
        "bytes/s",
        symbol="radio load",
    ),
    Metric(
        "control_bytes_per_broadcast",
        "bytes of control messages transmitted by radio per broadcast",
        lambda n: ratio(n.of("radio_control_bytes"), n.broadcasts),
        "bytes",
        symbol="control per broadcast",
        better="lower",
    ),
    Metric("wired_messages", "messages on wires", lambda n: int(n.of("wired_messages")), symbol="messages on wires"),
    Metric("wired_bytes", "bytes on wires", lambda n: int(n.of("wired_bytes")), "bytes", symbol="sent on wires"),
)

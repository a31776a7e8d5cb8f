"""The metrics of the network's traffic: frames, bytes, collisions, and messages on wires.

Model     the metrics are computed from running totals, which were sampled at both ends of the window. Only frames of
          layers above the MAC are counted. ACKs of the MAC are not counted, and its retransmissions count in `frames`,
          but not as messages sent. A pair is a frame and a node within its reach: in its range or, with the power-based
          radio, a node that would detect its preamble on a silent medium. With the power-based radio, frames whose
          preamble was missed also count as lost to others. There are three shares of collided pairs: of all pairs; of
          the pairs in which the frame is for the node (a station's broadcast is for the hosts that it serves); and of
          the pairs in which the receiver had begun to receive the frame. Messages sent per delivery are counted in two
          ways: as frames; and as copies of application messages plus frames that only acknowledge (of a protocol or of
          TCP). The number of copies is the payload in the air divided by that of one message, so that two messages in
          one segment count as two, and retransmissions of the MAC count. Deprecated metrics include ACKs of the MAC,
          except the number of frames. Older records do not count ACKs separately, and include ACKs in all other
          counters. Metrics that exclude ACKs are then None
Units     frames, bytes, seconds
Source    the quantities of Wilhelm, Arantes, Sens (2020), section V; ours: docs/verdicts-and-metrics.md
"""

from __future__ import annotations

import numpy as np

from mobilenet.engine.clock import SECOND
from mobilenet.metrics.declaration import Metric, ratio
from mobilenet.record.table import Columns, Table

LOST_TO_OTHERS = ("collision", "never_attempted", "preamble_missed")
INCORRECT = ("collision", "random", "bit_errors")  # outcomes of frames that arrived with errors
BEGUN = ("received", *INCORRECT)


class Network:
    """The traffic in the window, computed from the totals at both ends. `payload_bytes`: the payload of one message."""

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
        self.pairs, self.pairs_and_acks = self._all("pairs_"), self._all("pairs_", "ack_pairs_")
        self.bytes = self.of("radio_bytes")
        self.bytes_and_acks = self.bytes + self.of("radio_mac_ack_bytes")
        parts_bytes = self.of("radio_control_bytes") + self.of("radio_payload_bytes")
        # Whether the counters exclude ACKs of the MAC. In older records, bytes beyond these parts are ACKs.
        self.is_apart = self.bytes <= parts_bytes or "radio_payload_bytes" not in self.total
        self.copies_and_acks: float | None = None
        if payload_bytes and "radio_acknowledgements" in self.total:  # older records do not have this counter
            self.copies_and_acks = self.of("radio_payload_bytes") / payload_bytes + self.of("radio_acknowledgements")
        airtime_ns = self.total.get("radio_airtime_ns")  # None in records of older versions
        self.airtime_s = None if airtime_ns is None else airtime_ns / SECOND
        self.traits = ("bit errors",) if "pairs_bit_errors" in self.total else ()

    def of(self, quantity: str) -> float:
        return self.total.get(quantity, 0)

    def _all(self, *prefixes: str) -> float:
        return sum(value for name, value in self.total.items() if name.startswith(prefixes))

    def without_acks(self, value: float | None) -> float | None:
        """Return this value, which was computed from counters of frames, or None if these counters include ACKs of the
        MAC.
        """
        return value if self.is_apart else None

    def lost_to_others(self, *prefixes: str) -> float | None:
        """Return the share of the pairs of these kinds that were lost because of other frames."""
        lost = sum(self.of(prefix + outcome) for prefix in prefixes for outcome in LOST_TO_OTHERS)
        return ratio(lost, self._all(*prefixes))

    def collision_share(self, *prefixes: str) -> float | None:
        """Return the share of collisions among the pairs of these kinds whose reception had begun."""
        begun = sum(self.of(prefix + outcome) for prefix in prefixes for outcome in BEGUN)
        return ratio(sum(self.of(f"{prefix}collision") for prefix in prefixes), begun)


def deprecation(name: str, words: str) -> str:
    """Describe a metric that counts the MAC's ACKs as well. `name`: the metric that replaces it."""
    return f"{words} (deprecated: use {name})"


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
        "nodes_within_reach_per_frame",
        "mean number of nodes within reach of a frame (in range or, with sinr, able to detect it in silence)",
        lambda n: n.without_acks(ratio(n.pairs, n.frames)),
        symbol="nodes within reach",
    ),
    Metric(
        "collision_loss_ratio",
        "share of receptions lost to collisions",
        lambda n: n.without_acks(n.lost_to_others("pairs_")),
        symbol="lost to collisions",
        better="lower",
    ),
    Metric(
        "collision_loss_ratio_addressed",
        "share of receptions by the addressee that were lost to collisions",
        lambda n: n.without_acks(n.lost_to_others("addressed_pairs_")),
        symbol="addressed, lost to collisions",
        better="lower",
    ),
    Metric(
        "collision_loss_ratio_addressed_begun",
        "share of the receptions begun by the addressee that were lost to collisions",
        lambda n: n.without_acks(n.collision_share("addressed_pairs_")),
        symbol="begun, lost to collisions",
        better="lower",
    ),
    Metric(
        "noise_loss_ratio",
        "share of receptions lost to noise only",
        lambda n: n.without_acks(ratio(n.of("pairs_bit_errors"), n.pairs)),
        of="bit errors",
        symbol="lost to noise",
        better="lower",
    ),
    Metric("frame_bytes", "bytes of frames", lambda n: n.without_acks(int(n.bytes)), "bytes", symbol="sent by radio"),
    Metric(
        "frame_bytes_per_s",
        "bytes of frames per second",
        lambda n: n.without_acks(ratio(n.bytes, n.window_s)),
        "bytes/s",
        symbol="radio load",
    ),
    # These deprecated metrics keep their values under the old names.
    Metric(
        "receivers_in_range_per_frame",
        deprecation("nodes_within_reach_per_frame", "mean number of nodes within reach of a frame or ACK, per frame"),
        lambda n: ratio(n.pairs_and_acks, n.frames),
        symbol="receivers in range",
    ),
    Metric(
        "potential_receivers_per_frame",
        deprecation("nodes_within_reach_per_frame", "mean number of nodes within reach of a frame or ACK, per frame"),
        lambda n: ratio(n.pairs_and_acks, n.frames),
        symbol="receivers in range",
    ),
    Metric(
        "collision_ratio",
        deprecation("collision_loss_ratio", "share of receptions, also of ACKs, lost to collisions"),
        lambda n: n.lost_to_others("pairs_", "ack_pairs_"),
        symbol="lost to collisions, with ACKs",
        better="lower",
    ),
    Metric(
        "collision_ratio_addressed",
        deprecation(
            "collision_loss_ratio_addressed",
            "share of receptions by the addressee, also of ACKs, that were lost to collisions",
        ),
        lambda n: n.lost_to_others("addressed_pairs_", "addressed_ack_pairs_"),
        symbol="addressed, lost, with ACKs",
        better="lower",
    ),
    Metric(
        "collision_ratio_addressed_begun",
        deprecation(
            "collision_loss_ratio_addressed_begun",
            "share of the receptions begun by the addressee, also of ACKs, that were lost to collisions",
        ),
        lambda n: n.collision_share("addressed_pairs_", "addressed_ack_pairs_"),
        symbol="begun, lost, with ACKs",
        better="lower",
    ),
    Metric(
        "bit_error_ratio",
        deprecation("noise_loss_ratio", "share of receptions, also of ACKs, lost to noise only"),
        lambda n: ratio(n.of("pairs_bit_errors") + n.of("ack_pairs_bit_errors"), n.pairs_and_acks),
        of="bit errors",
        symbol="lost to noise, with ACKs",
        better="lower",
    ),
    Metric(
        "radio_bytes",
        deprecation("frame_bytes", "bytes of frames and ACKs"),
        lambda n: int(n.bytes_and_acks),
        "bytes",
        symbol="sent by radio, with ACKs",
    ),
    Metric(
        "radio_bytes_per_s",
        deprecation("frame_bytes_per_s", "bytes of frames and ACKs per second"),
        lambda n: ratio(n.bytes_and_acks, n.window_s),
        "bytes/s",
        symbol="radio load, with ACKs",
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

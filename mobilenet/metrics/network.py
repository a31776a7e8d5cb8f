"""What the network carried: frames, bytes, collisions, messages on wires.

Model     from running totals, which were sampled at both ends of the window. Frames are everything above the MAC that
          went onto the medium; its ACKs do not count, and what it sent again counts in `frames`, but is no message
          sent. A pair is a frame and a node in its range; where power decides, one at which its preamble is detected if
          the medium is silent, and what was missed is lost to others as well. Of pairs that collided there are three
          shares: of all pairs; of those with a node that the frame is for (a station's broadcast is for the hosts that
          it serves); and of these, where the receiver had begun with the frame: without pairs that it never attempted,
          sent through, or was down for. Messages sent per delivery are counted in two ways: as frames; and as copies of
          application messages (payload in the air, divided by that of one message, so two in one segment count as two)
          plus frames that do nothing but acknowledge (a protocol's or TCP's own); what a MAC sends again counts here
Units     frames, bytes, seconds, as the names say
Source    the quantities of Wilhelm, Arantes, Sens (2020), section V; ours: docs/verdicts-and-metrics.md
"""

from __future__ import annotations

import numpy as np

from mobilenet.clock import SECOND
from mobilenet.metrics.registry import Row, ratio
from mobilenet.rundir.table import Columns, Table

LOST_TO_OTHERS = ("collision", "never_attempted", "preamble_missed")
BEGUN = ("received", "collision", "random", "bit_errors")


def network(samples: Columns, begin: int, end: int, broadcasts: int, deliveries: int, payload_bytes: int | None) -> Row:
    """From the running totals, which were sampled at both ends of the window; `payload_bytes` of one application
    message.
    """
    at: dict[int, dict[str, float]] = {begin: {}, end: {}}
    table = Table.of(samples)
    times, nodes = table.numbers("time_ns"), table.coded("node")
    rows = np.flatnonzero((nodes.codes == nodes.code("network")) & ((times == begin) | (times == end)))
    columns = (table.picked(name, rows) for name in ("time_ns", "quantity", "value"))
    for time, quantity, value in zip(*columns, strict=True):
        at[time][quantity] = value
    total = {name: at[end].get(name, 0.0) - at[begin].get(name, 0.0) for name in at[end]}

    def lost(prefix: str) -> float | None:
        pairs = sum(value for name, value in total.items() if name.startswith(prefix))
        return ratio(sum(total.get(prefix + outcome, 0) for outcome in LOST_TO_OTHERS), pairs)

    begun = sum(total.get(f"addressed_pairs_{outcome}", 0) for outcome in BEGUN)
    pairs = sum(value for name, value in total.items() if name.startswith("pairs_"))
    copies_and_acks = None
    if payload_bytes and "radio_acknowledgements" in total:  # not in records of older versions
        copies_and_acks = total["radio_payload_bytes"] / payload_bytes + total["radio_acknowledgements"]
    window_s = (end - begin) / SECOND
    frames = total.get("radio_frames", 0)
    return {
        "frames": int(frames),
        "frames_per_s": ratio(frames, window_s),
        "messages_sent_per_delivery": ratio(frames - total.get("radio_mac_retries", 0), deliveries),
        "copies_and_acks_per_delivery": ratio(copies_and_acks, deliveries),
        "receivers_in_range_per_frame": ratio(pairs, frames),
        "collision_ratio": lost("pairs_"),
        "collision_ratio_addressed": lost("addressed_pairs_"),
        "collision_ratio_addressed_begun": ratio(total.get("addressed_pairs_collision", 0), begun),
        **({"bit_error_ratio": ratio(total["pairs_bit_errors"], pairs)} if "pairs_bit_errors" in total else {}),
        "radio_bytes": int(total.get("radio_bytes", 0)),
        "radio_bytes_per_s": ratio(total.get("radio_bytes", 0), window_s),
        "control_bytes_per_broadcast": ratio(total.get("radio_control_bytes", 0), broadcasts),
        "wired_messages": int(total.get("wired_messages", 0)),
        "wired_bytes": int(total.get("wired_bytes", 0)),
    }

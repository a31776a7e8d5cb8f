"""All metrics: what each is called, in which unit it is, and what it means, in words for people.

Model     a metric has words, and a unit where it is no bare count or share. Those that come first in a report come
          first here. A buffer of a plug-in is called by its quantity; another metric that is not listed (of an older
          version, say) by its name, with spaces. A user's own metrics (own.py) bring words and unit with them
Units     s, bytes, t.u. as said
Source    ours: docs/verdicts-and-metrics.md
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from mobilenet.quoting import cut

Row = dict[str, float | int | None]

MOBILE: dict[str, tuple[str, str]] = {  # words, unit; those that come first in a report first
    "broadcasts": ("messages broadcast by hosts in the measured time", ""),
    "deliveries": ("deliveries at members in the measured time", ""),
    "broadcasts_undelivered": ("pairs (member, message) still owed at the end", ""),
    "delivery_delay_mean_s": ("mean delay from broadcast to delivery, the sender's own included", "s"),
    "delivery_delay_p95_s": ("delay that 95 % of deliveries stay below", "s"),
    "messages_sent_per_delivery": ("frames sent per delivery", "frames"),
    "collision_ratio": ("share of receptions lost to collisions", ""),
    "station_sbuffer_mean": ("messages that a station keeps (SBuffer), mean", "messages"),
    "host_rbuffer_mean": ("messages that a host holds back (RBuffer), mean", "messages"),
    "handoffs": ("confirmed changes of station that began in the measured time", ""),
    "handoff_duration_mean_s": ("mean time that a handoff takes", "s"),
    "handoff_interruption_mean_s": ("mean time from the last delivery before a handoff to the first after it", "s"),
    "crashes": ("crashes", ""),
    "gaps": ("gaps (hosts told that they missed messages)", ""),
    "delivery_ratio": ("share of the deliveries owed that happened (reachability)", ""),
    "deliveries_owed": ("pairs (message, host that is a member from its broadcast to the end)", ""),
    "window_s": ("length of the measured time", "s"),
    "broadcasts_offered": ("messages that applications wanted to broadcast", ""),
    "broadcasts_refused": ("broadcasts refused (host down or no member)", ""),
    "delivery_delay_others_mean_s": ("mean delay from broadcast to delivery at another host", "s"),
    "delivery_delay_p50_s": ("median delay from broadcast to delivery", "s"),
    "delivery_delay_p99_s": ("delay that 99 % of deliveries stay below", "s"),
    "delivery_delay_max_s": ("longest delay", "s"),
    "delivery_delay_survival_p50_s": ("median delay, what is still waiting included", "s"),
    "delivery_delay_survival_p95_s": ("delay that 95 % stay below, what is still waiting included", "s"),
    "delivery_delay_survival_p99_s": ("delay that 99 % stay below, what is still waiting included", "s"),
    "deliveries_missed_by_gaps": ("pairs (member, message) missed by gaps", ""),
    "frames": ("frames in the air", ""),
    "frames_per_s": ("frames in the air per second", "1/s"),
    "receivers_in_range_per_frame": ("nodes within reach of a frame (range; by power: detected in silence), mean", ""),
    "collision_ratio_addressed": ("share of receptions lost to collisions, of frames for that receiver", ""),
    "collision_ratio_addressed_begun": (
        "share of receptions begun that were lost to collisions, of frames for that receiver",
        "",
    ),
    "bit_error_ratio": ("share of receptions lost to noise alone", ""),
    "copies_and_acks_per_delivery": (
        "copies of application messages and acknowledgements sent per delivery",
        "messages",
    ),
    "radio_bytes": ("bytes in the air", "bytes"),
    "radio_bytes_per_s": ("bytes in the air per second", "bytes/s"),
    "control_bytes_per_broadcast": ("bytes of control in the air per broadcast", "bytes"),
    "wired_messages": ("messages on wires", ""),
    "wired_bytes": ("bytes on wires", "bytes"),
    "mac_queue_drops": ("frames dropped from full queues of the radio", ""),
    "station_sbuffer_max": ("most messages that a station keeps (SBuffer)", "messages"),
    "station_rbuffer_mean": ("messages that a station holds back (RBuffer), mean", "messages"),
    "station_rbuffer_max": ("most messages that a station holds back (RBuffer)", "messages"),
    "host_sbuffer_mean": ("messages of a host not acknowledged yet (SBuffer), mean", "messages"),
    "host_sbuffer_max": ("most messages of a host not acknowledged yet (SBuffer)", "messages"),
    "host_rbuffer_max": ("most messages that a host holds back (RBuffer)", "messages"),
    "handoffs_superseded": ("handoffs superseded by the next session", ""),
    "recoveries": ("confirmed new sessions for another cause than a change of station", ""),
    "handoff_duration_max_s": ("longest handoff", "s"),
    "handoff_interruption_excess_mean_s": ("interruption beyond a host's usual time between deliveries, mean", "s"),
    "handoffs_with_recovered": ("handoffs in which messages were sent again", ""),
    "handoffs_with_skipped": ("handoffs whose confirmation told the host to skip messages, as it had them", ""),
    "handoff_recovered_mean": ("messages sent again per handoff, mean", "messages"),
    "handoff_skipped_mean": ("messages to skip per confirmed handoff, mean", "messages"),
    "datagrams": ("datagrams that programs have sent", ""),
    "datagrams_received": ("of these, datagrams that reached the program they were for", ""),
    "datagram_loss_ratio": ("share of the datagrams that did not", ""),
    "datagram_delay_mean_s": ("mean time that a datagram is under way", "s"),
    "datagram_delay_p50_s": ("median time that a datagram is under way", "s"),
    "datagram_delay_p95_s": ("time that 95 % of datagrams stay below", "s"),
    "datagram_delay_p99_s": ("time that 99 % of datagrams stay below", "s"),
    "backlog_slope": ("relative growth of what waits, over the second half", ""),
    **{
        f"{name}_{kind}": (f"{words}, {said}", "entries")
        for name, words in (
            ("m_d", "hosts named in a message of a station that must not deliver it (M_d)"),
            ("skip", "messages to skip in a confirmation sent, repeated ones and joins included"),
            ("handoff_undelivered_list", "undelivered messages that a station answers with (Rsp1)"),
            ("handoff_wanted_list", "messages that the new station asks for (Req2)"),
            ("handoff_recovered_list", "messages that it is sent (Rsp2)"),
            ("handoff_received_list", "messages received meanwhile that are listed (Rsp2)"),
        )
        for kind, said in (("mean", "mean"), ("max", "most"))
    },
}
PROCESSES: dict[str, tuple[str, str]] = {
    "broadcasts": ("messages broadcast", ""),
    "deliveries": ("deliveries in the whole run, own ones included", ""),
    "latency": ("latency until the last message counts", "t.u."),
    "delivery_latency_mean": ("mean delay from broadcast to delivery at another process", "t.u."),
    "messages": ("messages sent", ""),
    "messages_per_process_mean": ("messages sent per process, mean", "messages"),
    "packets_aggregated_share": ("share of packets with several messages", ""),
    "reception_latency_mean": ("mean delay from broadcast to reception", "t.u."),
    "pending_max": ("most messages held back by a process", "messages"),
    "detector_messages": ("messages of the failure detector", ""),
    "crashes": ("crashes", ""),
    "suspicions": ("suspicions", ""),
    "suspicions_taken_back": ("suspicions taken back", ""),
    "delivery_ratio": ("share of the deliveries owed that happened (reachability)", ""),
    "deliveries_owed": ("pairs (message, process that never crashes)", ""),
    "delivery_delay_mean_s": ("mean delay from broadcast to delivery at another process", "t.u."),
    "delivery_latency_max": ("longest delay from broadcast to delivery at another process", "t.u."),
    "message_bytes": ("bytes sent", "bytes"),
    "broadcasts_complete": ("broadcasts whose source was told that all have them", ""),
    "packets": ("packets sent", ""),
    "pending_max_mean": ("most messages held back, mean over processes", "messages"),
}
SIGNED = ("backlog_slope", "handoff_interruption_excess_mean_s")  # all others cannot be below 0


LONGEST_WORDS, LONGEST_UNIT = 200, 40  # of a user's metric, which may say anything


def meaning(metric: str, of_processes: bool = False, own: Mapping[str, Any] | None = None) -> str:
    """In words, with the unit; `own`: name -> (words, unit) of a user's metrics, as the manifest has them."""
    words, unit = _known(metric, of_processes, own or {})
    return f"{words} ({unit})" if unit else words


def _known(metric: str, of_processes: bool, own: Mapping[str, Any]) -> tuple[str, str]:
    if metric in own:
        words, unit = own[metric]
        return cut(" ".join(str(words).split()), LONGEST_WORDS), cut(" ".join(str(unit).split()), LONGEST_UNIT)
    known = (PROCESSES if of_processes else MOBILE).get(metric)
    if known is not None:
        return known
    if not of_processes and (buffer := re.fullmatch(r"(host|station)_(.+)_(mean|max)", metric)):
        who, quantity, kind = buffer.groups()
        words = f"messages in {quantity} of a {who}"
        return f"{words}, mean" if kind == "mean" else f"most {words}", "messages"
    stem, _, last = metric.rpartition("_")
    unit = {"s": "t.u." if of_processes else "s", "bytes": "bytes"}.get(last, "")
    return (stem if last == "s" else metric).replace("_", " "), unit


# --- how they are worked out


def ratio(a: float | None, b: float | None) -> float | None:
    return a / b if a is not None and b else None


def mean(values: Any) -> float | None:
    return float(np.mean(values)) if len(values) else None

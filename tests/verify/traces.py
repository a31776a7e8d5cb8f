"""Traces written by hand, and the verdicts on them.

Shapes    a line is `[seconds] host event [message]`, as in `2.5 h0 deliver h1:0`; without seconds, a moment after the last
"""

from __future__ import annotations

from typing import Any

from mobilenet.record import EventLog
from mobilenet.verify import Verdict, verify

NO_PAIRS: dict[str, Any] = {"pairs_in_range": 0, "received": 0, "lost": {}}
NO_COUNTERS: dict[str, Any] = {
    "radio": {"frames": 0, "bytes": 0, **NO_PAIRS, "addressed": NO_PAIRS, "mac_acks": 0},
    "wired": {"sent": 0, "delivered": 0, "bytes": 0, "in_flight": 0},
    "by_message_type": {"host": {}, "station": {}, "wired": {}},
}
NETWORK = ("radio_frames", "radio_bytes", "radio_control_bytes", "wired_messages", "wired_bytes", "pairs_received",
           "addressed_pairs_received")  # fmt: skip


def verdicts(
    lines: str,
    gap_after_s: float | None = None,
    heard_every_s: float = 1.0,
    quiescent: bool = True,
    rest_within_s: float | None = None,
    broadcast: str | None = "causal",
    buffers: tuple[tuple[str, float], ...] = tuple((f"h{i}", 0.0) for i in range(4)),
) -> dict[str, Verdict]:
    log = EventLog()
    time = 0.0
    for line in lines.strip().splitlines():
        words = line.split()
        if words[0][0].isdigit():
            time = float(words.pop(0))
        else:
            time += 0.001
        log.add(round(time * 1e9), *words)
    samples = [(0, "network", name, 0.0) for name in NETWORK] + [(0, node, "sbuffer", size) for node, size in buffers]
    columns = {name: list(column) for name, column in zip(("time_ns", "node", "quantity", "value"), zip(*samples, strict=True), strict=True)}
    manifest = {
        "fingerprint": log.fingerprint(), "quiescent": quiescent, "simulated_s": 1000.0, "duration_s": 500.0, "drain_s": 60.0,
        "promises": {"broadcast": broadcast, "gap_after_s": gap_after_s, "heard_every_s": heard_every_s,
                     "rest_within_s": rest_within_s, "duplicating_air": False},
    }  # fmt: skip
    return verify({name: getattr(log, name) for name in EventLog.COLUMNS}, columns, NO_COUNTERS, manifest)


def answers(lines: str, **options: Any) -> dict[str, str]:
    """Only what is not valid."""
    return {check: verdict.answer for check, verdict in verdicts(lines, **options).items() if verdict.answer != "valid"}

"""Judge traces written by hand.

Shapes    a line is `[seconds] host event [message]`, as in `2.5 h0 deliver h1:0`. Without seconds, the event happens a
          moment after the previous one. A host's `join` and `handoff_end` are followed by a station, if there is one.
          A station's `expire` is followed by the host and the duration of its silence: `70 s0 expire h1 10`. A
          `handoff_start` may end with `because_of` and its cause. `grown` contains the final values of the running
          totals of the network, and `wired` the counters of the wires
"""

from __future__ import annotations

from typing import Any

from mobilenet.record.recorder import Recording
from mobilenet.verify import Evidence, Verdict, verify

NO_PAIRS: dict[str, Any] = {"pairs_in_range": 0, "received": 0, "lost": {}}
NO_COUNTERS: dict[str, Any] = {
    "radio": {
        "frames": 0,
        "bytes": 0,
        **NO_PAIRS,
        "addressed": NO_PAIRS,
        "mac_acks": 0,
        "mac_retries": 0,
        "queue_drops": 0,
    },
    "wired": {"sent": 0, "delivered": 0, "bytes": 0, "in_flight": 0},
    "by_message_type": {"host": {}, "station": {}, "wired": {}},
}
END_S = 1000.0
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
    longest_wait_s: float | None = None,
    grown: dict[str, float] | None = None,
    wired: dict[str, int] | None = None,
) -> dict[str, Verdict]:
    recording = Recording()
    log, samples = recording.events, recording.samples
    time = 0.0
    for line in lines.strip().splitlines():
        words = line.split()
        if words[0][0].isdigit():
            time = float(words.pop(0))
        else:
            time += 0.001
        node, event, *rest = words
        now_ns = round(time * 1e9)
        if event == "expire":
            log.add(now_ns, node, event, detail={"host": rest[0], "silent_s": float(rest[1])})
        elif rest and rest[0] == "because_of":
            log.add(now_ns, node, event, detail={"cause": rest[1]})
        elif rest and event in ("join", "handoff_end"):
            log.add(now_ns, node, event, station=rest[0])
        else:
            log.add(now_ns, node, event, *rest)
    for name in NETWORK:
        samples.add(round(END_S * 1e9), "network", name, 0.0)
    for node, size in buffers:
        samples.add(round(END_S * 1e9), node, "sbuffer", size)
    for name, total in (grown or {}).items():
        samples.add(round(END_S * 1e9), "network", name, total)
    recording.counters = NO_COUNTERS | {"wired": NO_COUNTERS["wired"] | (wired or {})}
    manifest = {
        "fingerprint": recording.fingerprint(), "quiescent": quiescent, "simulated_s": END_S, "duration_s": 500.0,
        "drain_s": 60.0,
        "hosts": None, "stations": 0, "protocol": "mobile_causal",
        "promises": {"broadcast": broadcast, "gap_after_s": gap_after_s, "heard_every_s": heard_every_s,
                     "rest_within_s": rest_within_s, "longest_wait_s": longest_wait_s, "duplicating_air": False},
    }  # fmt: skip
    return verify(Evidence(recording.tables(), recording.document(), manifest))


def answers(lines: str, **options: Any) -> dict[str, str]:
    """Return the answers of the checks that are not valid."""
    return {check: verdict.answer for check, verdict in verdicts(lines, **options).items() if verdict.answer != "valid"}

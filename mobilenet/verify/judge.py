"""All verdicts on one run directory.

Checks    record        the fingerprint fits the events, times never go back, every event is well formed
          creation .. delivery: see broadcast.py
          conservation  every frame and every pair (frame, receiver in range) is accounted for, on air and wire
          drained       after quiescence every buffer is empty
Errors    RunError when the directory cannot be read at all
Source    ours: DESIGN.md §8
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from mobilenet.record import fingerprint
from mobilenet.rundir import read_columns, read_events, read_json, read_manifest
from mobilenet.verify.broadcast import SAFETY, BroadcastJudge

Answer = Literal["valid", "violated", "unknown"]
NODE = re.compile(r"[hsp]\d+")
MESSAGE = re.compile(r"[hsp]\d+:\d+")
WITH_MESSAGE = ("broadcast", "deliver")
BUFFERS = ("sbuffer", "rbuffer")
CHECKS = ("record", *SAFETY, "delivery", "conservation", "drained")


@dataclass(frozen=True, slots=True)
class Verdict:
    """One check's answer; the explanation of a violation, or why it is unknown."""

    answer: Answer
    explanation: str = ""


NOT_QUIESCENT = Verdict("unknown", "the run was not quiescent at its end")
NOTHING_DELIVERED = Verdict("unknown", "nothing was delivered")


def overall(verdicts: dict[str, Verdict]) -> Answer:
    """Violated if anything is; unknown if the rest is not all known."""
    answers = {verdict.answer for verdict in verdicts.values()}
    return "violated" if "violated" in answers else "unknown" if "unknown" in answers else "valid"


def verify_run(directory: Path) -> dict[str, Verdict]:
    """Judge a run directory. Raises RunError when it is no whole run directory."""
    manifest = read_manifest(directory)
    return verify(
        read_events(directory),
        read_columns(directory, "samples"),
        read_json(directory, "counters.json"),
        manifest,
    )


def verify(
    events: dict[str, list[Any]],
    samples: dict[str, list[Any]],
    counters: dict[str, Any],
    manifest: dict[str, Any],
) -> dict[str, Verdict]:
    """Judge the columns of a run: a verdict for each of CHECKS, those on broadcast only where the run promises one."""
    damage = _record_problem(events, manifest)
    if damage is not None:
        unreadable = Verdict("unknown", "the record is damaged")
        return dict.fromkeys(CHECKS, unreadable) | {"record": Verdict("violated", damage)}
    promises = manifest.get("promises", {})
    verdicts = {"record": Verdict("valid")}
    if promises.get("broadcast") is not None:
        verdicts |= _broadcast_verdicts(events, promises, manifest.get("quiescent") is True)
    quiescent = manifest.get("quiescent") is True
    lost = _conservation_problem(counters, quiescent)
    verdicts["conservation"] = Verdict("valid") if lost is None else Verdict("violated", lost)
    left = _left_in_buffers(samples)
    if not quiescent:
        verdicts["drained"] = NOT_QUIESCENT
    else:
        verdicts["drained"] = Verdict("valid") if left is None else Verdict("violated", left)
    return verdicts


def _broadcast_verdicts(events: dict[str, list[Any]], promises: dict[str, Any], quiescent: bool) -> dict[str, Verdict]:
    judge = BroadcastJudge(events, promises.get("gap_after_s"), promises.get("heard_every_s", 0.0))
    judge.judge()
    idle = judge.deliveries == 0
    verdicts = {}
    for check in SAFETY:
        if check in judge.violations:
            verdicts[check] = Verdict("violated", judge.violations[check])
        else:
            verdicts[check] = NOTHING_DELIVERED if idle and check != "gaps" else Verdict("valid")
    owed = next(judge.undelivered(), None)
    if not quiescent:
        verdicts["delivery"] = NOT_QUIESCENT
    elif owed is not None:
        verdicts["delivery"] = Verdict("violated", owed)
    else:
        verdicts["delivery"] = NOTHING_DELIVERED if idle else Verdict("valid")
    return verdicts


def _record_problem(events: dict[str, list[Any]], manifest: dict[str, Any]) -> str | None:
    times = events["time_ns"]
    if any(time is None for time in times):
        return "events: an event has no time"
    for row in range(1, len(times)):
        if times[row] < times[row - 1]:
            return f"events: time goes back at event {row}, from {times[row - 1]} to {times[row]} ns"
    if times and (times[0] < 0 or times[-1] > manifest.get("simulated_s", 0) * 1e9 + 1):
        return f"events: times reach from {times[0]} to {times[-1]} ns, outside of the {manifest.get('simulated_s')} s simulated"
    for row, (event, node, message) in enumerate(
        zip(events["event"], events["node"], events["message"], strict=True)
    ):
        if event is None or node is None or not NODE.fullmatch(node):
            return f"events: event {row} has node {node!r} and event {event!r}"
        if message is not None and not MESSAGE.fullmatch(message):
            return f"events: event {row} has message {message!r}, expected something like 'h12:5'"
        if message is None and event in WITH_MESSAGE:
            return f"events: event {row} ({event}) names no message"
    found = fingerprint(events)
    if found != manifest.get("fingerprint"):
        return f"events: their fingerprint is {found[:16]}…, the manifest says {str(manifest.get('fingerprint'))[:16]}…"
    return None


def _conservation_problem(counters: dict[str, Any], quiescent: bool) -> str | None:
    try:
        radio, wired = counters["radio"], counters["wired"]
        kinds = counters["by_message_type"]
        for label, pairs in (("radio", radio), ("radio.addressed", radio["addressed"])):
            known = pairs["received"] + sum(pairs["lost"].values())
            if pairs["pairs_in_range"] != known:
                return f"{label}: {pairs['pairs_in_range']} pairs in range, but {known} received or lost"
            if min(pairs["received"], *pairs["lost"].values()) < 0:
                return f"{label}: a count is negative"
        if radio["addressed"]["pairs_in_range"] > radio["pairs_in_range"]:
            return "radio: more addressed pairs than pairs in range"
        by_kind = sum(kind["count"] for side in ("host", "station") for kind in kinds[side].values())
        if radio["frames"] != by_kind + radio["mac_acks"]:
            return f"radio: {radio['frames']} frames, but {by_kind} messages and {radio['mac_acks']} MAC ACKs"
        hops = sum(kind["count"] for kind in kinds["wired"].values())
        if wired["sent"] != hops:
            return f"wired: {wired['sent']} sent, but {hops} counted by kind"
        if wired["sent"] != wired["delivered"] + wired["in_flight"]:
            return f"wired: {wired['sent']} sent, {wired['delivered']} delivered and {wired['in_flight']} in flight"
        if quiescent and wired["in_flight"]:
            return f"wired: quiescent, but {wired['in_flight']} in flight"
    except (KeyError, TypeError, AttributeError) as error:
        return f"counters.json lacks or garbles {error}"
    return None


def _left_in_buffers(samples: dict[str, list[Any]]) -> str | None:
    last: dict[tuple[str, str], float] = {}
    for node, quantity, value in zip(samples["node"], samples["quantity"], samples["value"], strict=True):
        if quantity in BUFFERS:
            last[node, quantity] = value
    for (node, quantity), value in sorted(last.items()):
        if value != 0:
            return f"{node} still holds {value:g} messages in its {quantity} after quiescence"
    return None

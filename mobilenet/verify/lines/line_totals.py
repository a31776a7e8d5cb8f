"""Check that the counters of the network agree with the lines exchanged with programs.

Checks    for processes: each line `send` is one message, which was sent or never left; each line `receive` is one
          message that was received. The counted bytes agree with the lines
          for hosts and stations: a frame that a line requests is missing if it found a full queue, or if it was waiting
          when its node crashed, vanished or ended. If no frame is missing, bytes and payload agree with the lines.
          Programs report at most the receptions of the network, and at least those of the frames' addressees. Over
          wires, each message reaches each station to which a line sends it, unless messages were lost or are in transit
Model     a message without `bytes` has the size of its compact UTF-8 encoding and its payload
Units     bytes
Source    ours: docs/guide/programs.md
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from mobilenet.record.kinds import PROCESSES, run_kind
from mobilenet.scenario.plans.expectations import Expectations

SENDS = ("send", "broadcast")
encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def line_totals_problem(
    rows: Iterable[Any], counters: dict[str, Any], manifest: dict[str, Any], expected: Expectations | None
) -> str | None:
    """Return the first count that differs. `rows`: the lines, as in judge.py."""
    counts: Counter[tuple[str, str]] = Counter()  # (kind of node, quantity)
    crossing = manifest.get("stations", 0) - 1
    copies = 1 + (expected.radio.group_retries if expected and expected.radio else 0)
    for line in rows:
        role, what = line.node[0], line.object
        if line.is_action and (action := what.get("do")) in (*SENDS, "wire"):
            number = crossing if action == "wire" and what.get("to") is None else 1
            name = "wire" if action == "wire" else "sent"
            payload = what.get("payload_bytes", 0)
            size = what["bytes"] if "bytes" in what else len(_text_bytes(what.get("message"))) + payload
            if role == "s" and action == "broadcast" and payload:
                number = copies
            counts[role, name] += number
            counts[role, "bytes"] += number * size * (name == "sent")
            counts[role, "payload"] += number * payload * (name == "sent")
        elif not line.is_action and what.get("ev") in ("receive", "wire", "start", "dropped"):
            counts[role, f"{what['ev']} event"] += 1
    try:
        problems = (
            _of_processes(counts, counters["messages"])
            if run_kind(manifest) is PROCESSES
            else _of_hosts(counts, counters, manifest["quiescent"], expected, copies)
        )
        return next(problems, None)
    except (KeyError, TypeError, AttributeError) as error:
        return f"counters.json: a counter is missing or not a number: {error}"


def _text_bytes(message: Any) -> bytes:
    return encode(message).encode("utf-8", "surrogatepass")


def _of_processes(counts: Counter[tuple[str, str]], messages: dict[str, Any]) -> Iterator[str]:
    pairs = (
        ("sent", messages["sent"] + messages["never_left"], "messages that were sent or never left"),
        ("receive event", messages["received"], "messages received"),
        ("bytes", messages["bytes"], "bytes"),
    )
    for name, counted, words in pairs:
        if counts["p", name] != counted:
            yield f"lines: {counts['p', name]} {words}, but counters.json has {counted}"


def _of_hosts(
    counts: Counter[tuple[str, str]], counters: dict[str, Any], quiescent: bool,
    expected: Expectations | None, copies: int,
) -> Iterator[str]:  # fmt: skip
    """Yield the totals that differ. `copies`: how often stations send each frame; receivers report one copy."""
    radio, wired = counters["radio"], counters["wired"]
    for side in ("host", "station"):
        kinds = counters["by_message_type"][side].values()
        sent, size, control = (sum(kind[name] for kind in kinds) for name in ("count", "bytes", "control_bytes"))
        sent_count = counts[side[0], "sent"]
        if sent > sent_count:
            yield f"lines: {side}s report {sent_count} frames, but counters.json has {sent}"
        # the messages that wait in a node's radio are dropped when its life ends
        more = radio["queue_drops"] + counts[side[0], "start event"] * (
            (expected.radio.queue_frames if expected and expected.radio else sent_count) + 1
        )
        more *= copies
        if sent < sent_count - more:
            yield (
                f"lines: {side}s report {sent_count} frames, but counters.json has {sent}, and at most"
                f" {more} were dropped"
            )
        payload, text = counts[side[0], "payload"], counts[side[0], "bytes"]
        if sent == sent_count and size - control != payload:
            yield f"lines: {payload} bytes of payload from {side}s, but counters.json has {size - control}"
        around = expected.radio.around_bytes if expected and expected.radio else None
        if sent == sent_count and around is not None and size != text + sent * around:
            yield (
                f"lines: {text} bytes in {sent} frames of {side}s, but counters.json has {size} with {around} bytes"
                " of headers each"
            )
    received_count = counts["h", "receive event"] + counts["s", "receive event"]
    if not radio["addressed"]["received"] <= received_count * copies <= radio["received"] * copies:
        yield (
            f"lines: {received_count} frames are reported to nodes, but counters.json has {radio['received']} received,"
            f" {radio['addressed']['received']} of them by their addressees"
        )
    dropped = counts["h", "dropped event"] + counts["s", "dropped event"]
    if dropped > radio["queue_drops"]:
        yield f"lines: {dropped} frames are reported as dropped, but counters.json has {radio['queue_drops']}"
    sent_count, received_count = counts["s", "wire"], counts["s", "wire event"]
    if received_count > sent_count or quiescent and not wired.get("lost") and received_count != sent_count:
        yield (
            f"lines: {received_count} messages from other stations are reported to stations, but {sent_count} were sent"
        )

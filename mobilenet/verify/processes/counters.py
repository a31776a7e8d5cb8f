"""Whether the counters of a run of processes are numbers of things, and whether their sums come out.

Checks    every counter has its type, and is not negative
          what was sent arrived, was lost at a crashed process, or is in flight; classes of messages sum up to what was
          handed to the network; so do packets by their messages and by their bytes
          bytes fit the sizes of the classes; without suspicions a broadcast takes a tree and an acknowledgement for
          each other process
          there were as many messages as deliveries need; the last reception is not before the last of these, nor before
          those by which sources learn that broadcasts are complete
          receptions on the packet network: each broadcast once at each other process, which waited at least the
          network's delay and at most until the delivery
          without a failure detector its counters are 0; with one every process tests its partners in the first round
Model     of plug-ins and programs only what the network counts by itself
Units     messages, bytes, integer nanoseconds
Source    ours: docs/run-directory.md, docs/verdicts-and-metrics.md
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from mobilenet.expected.expectations import Broadcasting, ProcessPlan
from mobilenet.rundir.table import Table

COUNTS = ("sent", "received", "receiver_down", "in_flight", "never_left", "bytes", "last_reception_ns")
OF_PACKETS = ("receptions", "receptions_waited_ns")
DISTRIBUTIONS = ("packets_by_messages", "packets_by_bytes_from")
BYTES_STEP = 100  # of a class in packets_by_bytes_from
WHOLE = re.compile("0|[1-9][0-9]{0,17}")


class Deliveries(NamedTuple):
    """Deliveries of messages at processes other than their sources, each counted once."""

    pairs: int
    last_ns: int
    delays_ns: int  # from broadcast to delivery, in all
    broadcasts: int


def counters_problem(
    counters: dict[str, Any], events: Table, manifest: dict[str, Any], plan: ProcessPlan | None
) -> str | None:
    """Return the first counter that cannot be."""
    problem = next(_shape_problems(counters, plan), None)
    if problem is not None:
        return f"counters.json: {problem}"
    return next(_problems(counters, events, manifest, plan), None)


def _shape_problems(counters: dict[str, Any], plan: ProcessPlan | None) -> Iterator[str]:
    for name in ("messages", "detector"):
        lane = counters.get(name)
        if name not in counters:
            yield f"{name} is missing"
            return
        if lane is None and name == "detector" and (plan is None or plan.network == "packet"):
            continue
        if not isinstance(lane, dict):
            yield f"{name} is {lane!r}, expected an object with counters"
            return
        for key in COUNTS:
            any_size = key == "bytes" and name == "messages" and plan is not None and plan.broadcasting is None
            if not (_is_number if any_size else _is_count)(lane.get(key)):
                yield f"{name}.{key} is {lane.get(key)!r}, expected a whole number ≥ 0"
    messages = counters["messages"]
    if "lost" in messages and not (plan is not None and plan.loses and _is_count(messages["lost"])):
        yield (
            f"messages.lost is {messages['lost']!r}; expected a whole number if the network loses messages, and"
            " otherwise no such key"
        )
    is_packet = "packets_by_messages" in messages if plan is None else plan.network == "packet"
    if is_packet:
        for key in OF_PACKETS:
            if not _is_count(messages.get(key)):
                yield f"messages.{key} is {messages.get(key)!r}, expected a whole number ≥ 0"
        for key in DISTRIBUTIONS:
            if not _are_counts(messages.get(key), WHOLE):
                expected = "expected a mapping from whole numbers to numbers of packets"
                yield f"messages.{key} is {messages.get(key)!r}, {expected}"
    elif ("by_kind" in messages or plan is not None) and not _are_counts(messages.get("by_kind"), re.compile(".*")):
        yield f"messages.by_kind is {messages.get('by_kind')!r}, expected the number of messages of each class"


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _is_count(value: object) -> bool:
    return type(value) is int and value >= 0


def _are_counts(value: object, key: re.Pattern[str]) -> bool:
    return isinstance(value, dict) and all(key.fullmatch(name) and _is_count(n) for name, n in value.items())


def _problems(
    counters: dict[str, Any], events: Table, manifest: dict[str, Any], plan: ProcessPlan | None
) -> Iterator[str]:
    messages, detector = counters["messages"], counters["detector"]
    for name, lane in (("messages", messages), ("detector", detector)):
        if lane is not None:
            yield from _sum_problems(name, lane)
    if manifest["quiescent"] and messages["in_flight"]:
        yield f"messages: {messages['in_flight']} in flight, although the run is at rest; expected 0"
    if "packets_by_messages" in messages:
        yield from _packets_problems(messages, plan)
    if plan is None:
        return
    end_ns = round(manifest["simulated_s"] * 1e9)
    for name, lane in (("messages", messages), ("detector", detector)):
        if lane is not None and lane["last_reception_ns"] > 0:
            if lane["last_reception_ns"] + plan.hand_over_ns > end_ns:
                yield f"{name}: last_reception_ns is {lane['last_reception_ns']}, after the end of the run"
            hop_ns = 0 if name != "detector" or plan.detector is None else plan.detector.hop_ns
            if lane["last_reception_ns"] + plan.hand_over_ns < hop_ns:
                yield (
                    f"{name}: last_reception_ns is {lane['last_reception_ns']}, but no message takes less than"
                    f" {hop_ns - plan.hand_over_ns} ns"
                )
            if not lane["received"] and not lane["receiver_down"] and not lane.get("lost"):
                yield f"{name}: last_reception_ns is {lane['last_reception_ns']}, but nothing arrived"
    if detector is not None:
        yield from _detector_problems(detector, plan, end_ns)
    if plan.broadcasting is not None:
        deliveries = _deliveries(events)
        yield from _kinds_problems(messages, plan.broadcasting, manifest, events, deliveries)
        yield from _reception_problems(messages, plan, manifest, deliveries)
        yield from _completion_problems(messages, events)


def _sum_problems(name: str, lane: dict[str, Any]) -> Iterator[str]:
    lost = lane.get("lost", 0)
    if lane["sent"] != lane["received"] + lane["receiver_down"] + lane["in_flight"] + lost:
        yield (
            f"{name}: {lane['sent']} sent, but {lane['received']} received, {lane['receiver_down']} at"
            f" processes that were down, {lane['in_flight']} in flight, {lost} lost"
        )
    kinds = lane.get("by_kind")
    if kinds is not None and sum(kinds.values()) != lane["sent"] + lane["never_left"]:
        yield f"{name}: {lane['sent']} sent and {lane['never_left']} that never left, but {sum(kinds.values())} by kind"


def _packets_problems(messages: dict[str, Any], plan: ProcessPlan | None) -> Iterator[str]:
    for key in DISTRIBUTIONS:
        if (total := sum(messages[key].values())) != messages["sent"]:
            yield f"messages: {messages['sent']} packets sent, but {total} in {key}"
    carried = sum(int(size) * count for size, count in messages["packets_by_messages"].items())
    if messages["receptions"] > carried:
        yield f"messages: {messages['receptions']} receptions, but all packets together carry {carried} messages"
    if plan is None or plan.broadcasting is None:
        return
    sizes = messages["packets_by_bytes_from"]
    least = sum(int(size) * count for size, count in sizes.items())
    most = least + (BYTES_STEP - 1) * sum(sizes.values())
    if not least <= messages["bytes"] <= most:
        yield f"messages: {messages['bytes']} bytes, but packets_by_bytes_from has {least} to {most}"
    if messages["receptions_waited_ns"] < messages["receptions"] * plan.hop_ns:
        yield (
            f"messages: {messages['receptions']} receptions waited {messages['receptions_waited_ns']} ns, but the"
            f" network takes at least {plan.hop_ns} ns for each"
        )


def _detector_problems(detector: dict[str, Any], plan: ProcessPlan, end_ns: int) -> Iterator[str]:
    handed = detector["sent"] + detector["never_left"]
    if plan.detector is None:
        planted = next((key for key in COUNTS if detector[key]), None)
        if planted is not None:
            yield f"detector: {planted} is {detector[planted]}, but the scenario has no failure detector"
        return
    least = sum(count for i, count in enumerate(plan.detector.partners) if plan.crashes_ns.get(f"p{i}", end_ns + 1) > 0)
    if handed < least:
        yield f"detector: {handed} tests and answers, but the first round has {least} tests"
    low, high = plan.detector.least_bytes * handed, plan.detector.most_bytes * handed
    if not low <= detector["bytes"] <= high:
        yield f"detector: {detector['bytes']} bytes, but {handed} tests and answers take {low} to {high}"


def _deliveries(events: Table) -> Deliveries:
    event, node, message = (events.column(name) for name in ("event", "node", "message"))
    times = events.numbers("time_ns")
    sent_rows = event.rows("broadcast")[::-1]
    sent_ns = np.full(len(message.words) + 1, -1, np.int64)
    sent_ns[message.codes[sent_rows]] = times[sent_rows]
    codes = {name: code for code, name in enumerate(node.words)}
    source = message.map([codes.get(word.partition(":")[0], -1) for word in message.words], nothing=-1)
    rows = event.rows("deliver")
    rows = rows[(source[rows] != node.codes[rows]) & (sent_ns[message.codes[rows]] >= 0)]
    pairs = node.codes[rows].astype(np.int64) * (len(message.words) + 1) + message.codes[rows]
    rows = rows[np.unique(pairs, return_index=True)[1]]
    if not len(rows):
        return Deliveries(0, 0, 0, len(sent_rows))
    delays = sum((times[rows] - sent_ns[message.codes[rows]]).tolist())
    return Deliveries(len(rows), int(times[rows].max()), delays, len(sent_rows))


def _kinds_problems(
    messages: dict[str, Any], broadcasting: Broadcasting, manifest: dict[str, Any], events: Table,
    deliveries: Deliveries,
) -> Iterator[str]:  # fmt: skip
    kinds = messages.get("by_kind")
    if kinds is None:
        low, high = (bytes_ * messages["sent"] for bytes_ in broadcasting.kinds["packet"])
        carried = sum(int(size) * count for size, count in messages["packets_by_messages"].items())
    else:
        strangers = sorted(set(kinds) - set(broadcasting.kinds))
        if strangers:
            yield (
                f"messages: {strangers[0]} in by_kind, but {broadcasting.name} sends only"
                f" {', '.join(broadcasting.kinds)}"
            )
            return
        low, high = (sum(broadcasting.kinds[kind][end] * count for kind, count in kinds.items()) for end in (0, 1))
        carried = sum(broadcasting.carries.get(kind, 0) * count for kind, count in kinds.items())
    if not low <= messages["bytes"] <= high:
        yield f"messages: {messages['bytes']} bytes, but messages of these classes have {low} to {high}"
    if carried < deliveries.pairs:
        yield f"messages: {deliveries.pairs} deliveries at other processes, but all messages together carry {carried}"
    if kinds is not None and messages["received"] * max(broadcasting.carries.values()) < deliveries.pairs:
        yield (
            f"messages: {deliveries.pairs} deliveries at other processes, but only"
            f" {messages['received']} messages received"
        )
    needed = broadcasting.text_bytes * deliveries.pairs
    if messages["bytes"] < needed:
        yield (
            f"messages: {messages['bytes']} bytes, but {deliveries.pairs} deliveries at other processes"
            f" require {needed}"
        )
    troubles = len(events.column("event").rows("suspect", "crash"))
    if kinds is None or troubles or not manifest["quiescent"]:
        return
    due = deliveries.broadcasts * (manifest["processes"] - 1)
    if broadcasting.quiet_bytes is not None and messages["bytes"] != broadcasting.quiet_bytes * due:
        yield (
            f"messages: {messages['bytes']} bytes, but {deliveries.broadcasts} broadcasts require"
            f" {broadcasting.quiet_bytes * due}"
        )
    if broadcasting.spans:
        for kind in ("tree", "ack"):
            if kinds.get(kind, 0) != due:
                yield (
                    f"messages: {kinds.get(kind, 0)} {kind} in by_kind, but {deliveries.broadcasts}"
                    f" broadcasts require {due}"
                )


def _reception_problems(
    messages: dict[str, Any], plan: ProcessPlan, manifest: dict[str, Any], deliveries: Deliveries
) -> Iterator[str]:
    last_ns = deliveries.last_ns - plan.hand_over_ns
    if deliveries.pairs and messages["last_reception_ns"] < last_ns:
        yield (
            f"messages: last_reception_ns is {messages['last_reception_ns']}, but the last delivery at another process"
            f" requires a reception at {last_ns} or later"
        )
    if plan.network != "packet":
        return
    if messages["receptions"] < deliveries.pairs:
        yield (
            f"messages: {deliveries.pairs} deliveries at other processes, but only {messages['receptions']} receptions"
        )
    due = deliveries.broadcasts * (manifest["processes"] - 1)
    if messages["receptions"] > due or manifest["quiescent"] and messages["receptions"] != due:
        yield f"messages: {messages['receptions']} receptions, but {deliveries.broadcasts} broadcasts require {due}"
    if manifest["quiescent"] and deliveries.pairs == due and messages["receptions_waited_ns"] > deliveries.delays_ns:
        yield (
            f"messages: receptions waited {messages['receptions_waited_ns']} ns in total, but the delays from"
            f" broadcast to delivery add up to only {deliveries.delays_ns} ns"
        )


def _completion_problems(messages: dict[str, Any], events: Table) -> Iterator[str]:
    """A source learns of completion by a reception, unless it suspects a process, or has just begun."""
    event, node, times = events.column("event"), events.column("node"), events.numbers("time_ns")
    happened = times * len(node.words) + node.codes
    rows = event.rows("complete")
    rows = rows[~np.isin(happened[rows], happened[event.rows("broadcast", "suspect", "trust")])]
    named = [json.loads(detail)["at_ns"] for detail in events.pick("detail", rows)]
    if named and max(named) > messages["last_reception_ns"]:
        yield (
            f"messages: last_reception_ns is {messages['last_reception_ns']}, but a source learns from a reception at"
            f" {max(named)} that its broadcast is complete"
        )

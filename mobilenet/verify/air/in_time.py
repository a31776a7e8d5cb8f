"""Check that the running totals agree with the rows of `frames` and `messages` at each moment of their samples.

Checks    messages and bytes on wires, frames and bytes in the air, payload and acknowledgements: from each sample to
          the next at least as many as rows, and no more than rows and what has none in the whole run
          over TCP, where every frame is to be acknowledged: enough retries, and none of what was acknowledged, unless
          a node is so far away that acknowledgements are handled after their timeout
Model     a message on a wire is counted when its station sends it, a frame when its last receiver has it: not before
          its end, and at most one propagation delay later. Frames without receivers, and messages that are on a wire
          when the run ends, have no rows
Units     integer nanoseconds, bytes
Shapes    since_ns, until_ns, weights: over what is counted
Errors    none
Source    ours: docs/run-directory.md
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from mobilenet.clock import SECOND
from mobilenet.expected.expectations import Air, Expectations
from mobilenet.verify.air.messages import Hops
from mobilenet.verify.air.nodes import Nodes
from mobilenet.verify.air.outages import DOWN
from mobilenet.verify.air.outcomes import RECEIVED
from mobilenet.verify.air.pairs import Pairs
from mobilenet.verify.air.tallies import SIDES, Totals

ONLY_ACKNOWLEDGES = "TcpAck"
AT_ONCE_NS = 500  # with a longer propagation delay an acknowledgement may be handled after its timeout
OUTSTANDING = 2  # attempts of a node that are not followed by an acknowledgement or a retry yet


class Addend(NamedTuple):
    """What rows add to a total."""

    table: str
    quantity: str
    since_ns: np.ndarray  # not counted before
    until_ns: np.ndarray  # counted by then
    weights: np.ndarray
    total: float  # in the whole run, with what has no row


def frames_in_time_problem(
    pairs: Pairs, nodes: Nodes, totals: Totals, counters: dict[str, Any], expected: Expectations
) -> str | None:
    """The first total that frames contradict."""
    assert expected.air is not None
    data, acks = pairs.first[~pairs.is_ack[pairs.first]], pairs.first[pairs.is_ack[pairs.first]]
    radio = counters["radio"]
    are_apart = "acks" in radio
    sizes = [("radio_bytes", radio["bytes"], data if are_apart else pairs.first)]
    sizes += [("radio_mac_ack_bytes", radio["acks"]["bytes"], acks)] if are_apart else []
    sent = _SentFrames(
        "frames", pairs.table.column("kind"), data, pairs.sender[data] < nodes.stations, counters, expected
    )
    each = [
        *(
            Addend("frames", quantity, pairs.end_ns[of], pairs.end_ns[of] + pairs.delay_ns, pairs.size_bytes[of], total)
            for quantity, total, of in sizes
        ),
        *sent.counts(pairs.end_ns[data], pairs.end_ns[data] + pairs.delay_ns),
    ]
    problem = next((problem for one in each for problem in _problems(one, totals)), None)
    if problem is None and expected.air.only_segments and expected.air.ack is not None:
        return _retries_problem(pairs, nodes, totals, counters)
    return problem


def messages_in_time_problem(
    hops: Hops, nodes: Nodes, totals: Totals, counters: dict[str, Any], expected: Expectations, alone: bool
) -> str | None:
    """The first total that messages contradict; `alone`: frames are not recorded."""
    assert expected.air is not None
    wired = np.flatnonzero(hops.is_wired)
    at_ns = hops.send_ns[wired]
    size_bytes = hops.size_bytes[wired] + (expected.wired_header_bytes or 0)
    each = [
        Addend("messages", "wired_messages", at_ns, at_ns, np.ones(len(wired)), counters["wired"]["sent"]),
        Addend("messages", "wired_bytes", at_ns, at_ns, size_bytes, counters["wired"]["bytes"]),
    ]
    radio = np.flatnonzero(~hops.is_wired)
    begins = np.ones(len(radio), bool)  # rows of one frame are together
    begins[1:] = (np.diff(hops.sender[radio]) != 0) | (np.diff(hops.send_ns[radio]) != 0)
    heads = radio[begins]
    since_ns, until_ns = _ends(hops, heads, expected.air)
    if alone:
        from_station = hops.sender[heads] < nodes.stations
        sent = _SentFrames("messages", hops.table.column("kind"), heads, from_station, counters, expected)
        each += sent.counts(since_ns, until_ns)
    if expected.air.only_segments:
        details = hops.table.column("detail")
        payload = details.map([_payload(word) for word in details.words], 0)[heads]
        total_bytes = _payload_in_counters(counters)
        each.append(Addend("messages", "radio_payload_bytes", since_ns, until_ns, payload, total_bytes))
    return next((problem for one in each for problem in _problems(one, totals)), None)


def _ends(hops: Hops, heads: np.ndarray, air: Air) -> tuple[np.ndarray, np.ndarray]:
    """When the frames of these messages end at the earliest, and when all receivers have them at the latest."""
    sizes, which = np.unique(hops.size_bytes[heads], return_inverse=True)
    lasts = [[airtime.of(size + around) for size in sizes.tolist()] for around, airtime in air.carriers]
    lasts_ns = np.array(lasts, np.int64).reshape(len(lasts), -1)[:, which]
    sent_ns = hops.send_ns[heads]
    return sent_ns + lasts_ns.min(axis=0), sent_ns + lasts_ns.max(axis=0) + air.delay_ns


def _payload(detail: str) -> float:
    payload_bytes = json.loads(detail).get("payload_bytes", 0)
    return float(payload_bytes) if type(payload_bytes) is int and abs(payload_bytes) < 1 << 40 else 0.0


def _payload_in_counters(counters: dict[str, Any]) -> float:
    kinds = counters["by_message_type"]
    return float(sum(kind["bytes"] - kind["control_bytes"] for side in SIDES for kind in kinds[side].values()))


class _SentFrames:
    """Frames of messages: the first row of each."""

    def __init__(
        self,
        table: str,
        kinds: Any,
        heads: np.ndarray,
        from_station: np.ndarray,
        counters: dict[str, Any],
        expected: Expectations,
    ) -> None:
        self._table, self._counters, self._expected = table, counters, expected
        self._words, self._codes, self._from_station = kinds.words, kinds.codes[heads], from_station

    def counts(self, since_ns: np.ndarray, until_ns: np.ndarray) -> Iterator[Addend]:
        """How many, those that only acknowledge, and payload, as far as kinds of messages determine it."""
        kinds, assumed = self._counters["by_message_type"], self._expected
        known = assumed.radio.kinds if assumed.radio is not None else None
        count = {side: {name: float(tally["count"]) for name, tally in kinds[side].items()} for side in SIDES}
        every = {side: dict.fromkeys(count[side], 1.0) for side in SIDES}
        by_name = {"radio_frames": every}
        if known is not None:
            by_name["radio_acknowledgements"] = {
                side: {name: float(kind.acknowledges) for name, kind in known.get(side, {}).items()} for side in SIDES
            }
            if assumed.payload_bytes is not None:
                by_name["radio_payload_bytes"] = {
                    side: {name: float(kind.carries * (assumed.payload_bytes or 0)) for name, kind in some.items()}
                    for side in SIDES
                    for some in (known.get(side, {}),)
                }
        elif assumed.air is not None and assumed.air.only_segments:
            by_name["radio_acknowledgements"] = {
                side: {name: float(name == ONLY_ACKNOWLEDGES) for name in count[side]} for side in SIDES
            }
        for quantity, values in by_name.items():
            weights = np.zeros(len(self._codes))
            for is_station, side in ((True, "station"), (False, "host")):
                of = np.array([values[side].get(word, 0.0) for word in self._words])
                own = self._from_station == is_station
                weights[own] = of[self._codes[own]]
            if quantity == "radio_payload_bytes":
                total = _payload_in_counters(self._counters)
            else:  # a class that is not known may only acknowledge
                total = sum(count[side][name] * values[side].get(name, 1.0) for side in SIDES for name in count[side])
            yield Addend(self._table, quantity, since_ns, until_ns, weights, total)


def _problems(counted: Addend, totals: Totals) -> Iterator[str]:
    at_ns, values = totals.of(counted.quantity)
    if not len(at_ns):
        return
    most = _sums_at(counted.since_ns, counted.weights, at_ns, "right")
    fewest = _sums_at(counted.until_ns, counted.weights, at_ns, "left")
    # what was counted without a row by the sample before, and in the whole run
    hidden = np.maximum.accumulate(np.append(0.0, values - most))[:-1]
    least, greatest = fewest + hidden, most + counted.total - counted.weights.sum()
    wrong = (values < least) | (values > greatest)
    if wrong.any():
        at = int(wrong.argmax())
        expected = f"expected {least[at]:.15g} to {greatest[at]:.15g} according to the rows of {counted.table}"
        yield f"samples: {counted.quantity} is {values[at]:.15g} at {at_ns[at] / SECOND:g} s, {expected}"


def _sums_at(times_ns: np.ndarray, weights: np.ndarray, at_ns: np.ndarray, side: Any) -> np.ndarray:
    order = np.argsort(times_ns, kind="stable")
    sums = np.append(0.0, np.cumsum(weights[order], dtype=float))
    totals: np.ndarray = sums[np.searchsorted(times_ns[order], at_ns, side)]
    return totals


def _retries_problem(pairs: Pairs, nodes: Nodes, totals: Totals, counters: dict[str, Any]) -> str | None:
    """An attempt is acknowledged, tried again or given up; a node's last one, and those of a crash, may be neither."""
    at_ns, retries = totals.of("radio_mac_retries")
    frames_ns, frames = totals.of("radio_frames")
    if not np.isin(at_ns, frames_ns).all():
        return None
    attempts = frames[np.searchsorted(frames_ns, at_ns)]
    acks_ns = np.sort(pairs.end_ns[pairs.is_ack & pairs.addressed & (pairs.outcome == RECEIVED)])
    is_prompt = pairs.delay_ns <= AT_ONCE_NS
    most = attempts - np.searchsorted(acks_ns, at_ns - pairs.delay_ns) if is_prompt else attempts
    events, given_up = counters["rows"]["events"], counters["radio"].get("mac_given_up", 0)
    excused = given_up + sum(events.get(event, 0) for event in DOWN) + OUTSTANDING * nodes.count
    least = attempts - np.searchsorted(acks_ns, at_ns, "right") - excused
    wrong = (retries < least) | (retries > most)
    if not wrong.any():
        return None
    at = int(wrong.argmax())
    expected = f"expected {max(0, least[at]):g} to {most[at]:g}, since {attempts[at]:g} frames were sent"
    return f"samples: radio_mac_retries is {retries[at]:g} at {at_ns[at] / SECOND:g} s, {expected}"

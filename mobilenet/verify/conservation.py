"""Check that every frame is accounted for, on radio and wires.

Model     a pair consists of a frame and a node within its reach: in range or, where power decides, a node that would
          detect its preamble on a silent medium. The frame was received there, or lost for one reason. The same holds
          for the MAC's acknowledgements, which are counted separately (radio_counters.py). The copies that an
          adversary's radio makes of frames are counted as `duplicated`. Frames that had not arrived at the end are
          `in_flight`. Counters that are recorded both in counters.json and in the samples of the network agree. The
          share of random losses agrees with the scenario. Only acknowledged frames are retried or given up; stations
          repeat broadcast frames with data as often as the scenario says
Units     frames, bytes of PSDU
Source    IEEE 802.11-2016, 9.3.1.4 (an ACK has 14 bytes); ours: docs/verdicts-and-metrics.md
"""

from __future__ import annotations

from collections.abc import Iterator
from math import log, sqrt
from typing import Any

from mobilenet.record.table import Table
from mobilenet.scenario.plans.expectations import Radio
from mobilenet.verify.evidence import Evidence
from mobilenet.verify.radio_counters import acks_among_frames, pair_counters

MAC_ACK_BYTES = 14
RARER_THAN = 1e-12  # events that are less likely are not attributed to chance


def conservation_problem(run: Evidence) -> str | None:
    """Return the first sum that does not add up, or None."""
    radio = None if run.of_hosts is None else run.of_hosts.radio
    return next(_problems(run.counters, run.quiescent, radio), None) or _sample_problem(run.counters, run.samples)


def _problems(counters: dict[str, Any], quiescent: bool, expected: Radio | None) -> Iterator[str]:
    yield from _radio_problems(counters, expected)
    yield from _wired_problems(counters, quiescent, expected)


def _radio_problems(counters: dict[str, Any], expected: Radio | None) -> Iterator[str]:
    yield from no_counts("counters", {key: counters[key] for key in ("radio", "wired", "by_message_type")})
    radio, kinds = counters["radio"], counters["by_message_type"]
    yield from no_counts("radio", {key: radio[key] for key in ("queue_drops", "mac_retries")})
    for label, _, of_all in pair_counters(radio):
        yield from _pairs_problems(label, of_all)
    on_air = [kind for side in ("host", "station") for kind in kinds[side].values()]
    frames, acks = sum(kind["count"] for kind in on_air), acks_among_frames(radio)
    if radio["frames"] != frames + acks:
        yield f"radio: {radio['frames']} frames, but {frames} messages{f' and {acks} MAC ACKs' if acks else ''}"
    size = sum(kind["bytes"] for kind in on_air) + MAC_ACK_BYTES * acks
    if radio["bytes"] != size:
        yield f"radio: {radio['bytes']} bytes, but {size} in messages{' and MAC ACKs' if acks else ''}"
    if "acks" in radio and radio["acks"]["bytes"] != MAC_ACK_BYTES * radio["mac_acks"]:
        yield f"radio.acks: {radio['acks']['bytes']} bytes, but {radio['mac_acks']} ACKs of {MAC_ACK_BYTES} bytes each"
    for side in ("host", "station", "wired"):
        for name, kind in kinds[side].items():
            if kind["control_bytes"] > kind["bytes"]:
                yield f"{side} {name}: {kind['control_bytes']} control bytes, but only {kind['bytes']} bytes in total"
    if expected is not None:
        yield from _chance_problems(radio, expected)
        yield from _unicast_problems(radio, expected)
        for label, _, pairs in pair_counters(radio):
            if (down := pairs["lost"].get("receiver_down")) and expected.always_up:
                yield f"{label}: {down} pairs lost as receiver_down, but every node is always up"


def _pairs_problems(label: str, of_all: dict[str, Any]) -> Iterator[str]:
    """Yield each sum that does not add up, for all pairs and for addressed pairs."""
    addressed = of_all["addressed"]
    for name, pairs in ((label, of_all), (f"{label}.addressed", addressed)):
        known = pairs["received"] + sum(pairs["lost"].values()) + pairs.get("in_flight", 0)
        copies = pairs.get("duplicated", 0)
        if pairs["pairs_in_range"] + copies != known:
            yield (
                f"{name}: {pairs['pairs_in_range']} pairs (frame, node within reach) and {copies} copies, but {known}"
                " received, lost or in flight"
            )
    for key in ("pairs_in_range", "received"):
        if addressed[key] > of_all[key]:
            yield f"{label}: {key} is {of_all[key]}, but {addressed[key]} for the addressed pairs"


def _wired_problems(counters: dict[str, Any], quiescent: bool, expected: Radio | None) -> Iterator[str]:
    wired, kinds = counters["wired"], counters["by_message_type"]
    hops = sum(kind["count"] for kind in kinds["wired"].values())
    if wired["sent"] != hops:
        yield f"wired: {wired['sent']} sent, but {hops} counted by kind"
    lost = wired.get("lost", 0)
    if wired["sent"] != wired["delivered"] + wired["in_flight"] + lost:
        but = f", {lost} lost" if lost else ""
        yield f"wired: {wired['sent']} sent, but {wired['delivered']} delivered{but} and {wired['in_flight']} in flight"
    if quiescent and wired["in_flight"]:
        yield f"wired: {wired['in_flight']} in flight, although the run is at rest; expected 0"
    if wired.get("suspicions") and expected is not None and not expected.suspects:
        yield f"wired: {wired['suspicions']} suspicions, but this backbone has no failure detector"


def _chance_problems(radio: dict[str, Any], expected: Radio) -> Iterator[str]:
    """Check that the fraction of random losses, among frames that meet no other frame, agrees with the scenario, except
    for deviations that chance explains (Bernstein).
    """
    each = [pairs for _, _, pairs in pair_counters(radio)]
    lost = sum(pairs["lost"].get("random", 0) for pairs in each)
    tried = sum(pairs["received"] for pairs in each) + lost
    for share, sign in ((expected.least_loss, -1), (expected.most_loss, 1)):
        mean, variance, rare = tried * share, tried * share * (1 - share), -log(RARER_THAN)
        most = 0.0 if variance == 0 else rare / 3 + sqrt(rare**2 / 9 + 2 * rare * variance)
        if sign * (lost - mean) > most + 1:
            yield f"radio: {lost} of {tried} receptions lost at random, but the scenario's loss is {share:g}"


def _unicast_problems(radio: dict[str, Any], expected: Radio) -> Iterator[str]:
    """Yield each problem with the counts of acknowledgements and retries."""
    given_up, retries = radio.get("mac_given_up", 0), radio["mac_retries"]
    if not expected.acknowledges:
        for name, count in (("mac_acks", radio["mac_acks"]), ("mac_given_up", given_up), ("mac_retries", retries)):
            if count:
                yield f"radio: {count} {name}, but no frame of this protocol is acknowledged"
    frames = radio["frames"] - acks_among_frames(radio)
    if retries > frames:
        yield f"radio: {retries} mac_retries, but only {frames} frames other than MAC ACKs"
    if retries < given_up * expected.least_retries or retries and not expected.least_retries:
        yield f"radio: {retries} mac_retries, but {given_up} mac_given_up with {expected.least_retries} retries each"


def no_counts(path: str, value: Any) -> Iterator[str]:
    """Yield each value in nested counters that is not a count."""
    if isinstance(value, dict):
        for key, inside in value.items():
            yield from no_counts(f"{path}.{key}", inside)
    elif not isinstance(value, int) or isinstance(value, bool) or value < 0:
        yield f"{path} is {value!r}, expected a whole number ≥ 0"


def _sample_problem(counters: dict[str, Any], samples: Table) -> str | None:
    """Return how the last samples of the network differ from the counters of the same names, or None."""
    last: dict[str, float] = {}
    rows = samples.column("node").rows("network")
    for quantity, value in zip(samples.pick("quantity", rows), samples.pick("value", rows), strict=True):
        last[quantity] = value
    radio, wired, kinds = counters["radio"], counters["wired"], counters["by_message_type"]
    on_air = [kind for side in ("host", "station") for kind in kinds[side].values()]
    control = sum(kind["control_bytes"] for kind in on_air)
    payload = sum(kind["bytes"] for kind in on_air) - control
    totals = {
        "radio_frames": radio["frames"] - acks_among_frames(radio),
        "radio_bytes": radio["bytes"],
        "radio_control_bytes": control,
        # older records do not have this counter
        **({"radio_payload_bytes": payload} if "radio_payload_bytes" in last else {}),
        "wired_messages": wired["sent"],
        "wired_bytes": wired["bytes"],
        **({"wired_lost": wired.get("lost", 0)} if wired.get("lost") or "wired_lost" in last else {}),
        **({"radio_mac_retries": radio["mac_retries"]} if radio["mac_retries"] or "radio_mac_retries" in last else {}),
        **(
            {"radio_group_retries": radio.get("mac_group_retries", 0)}
            if radio.get("mac_group_retries") or "radio_group_retries" in last
            else {}
        ),
        **_pair_totals("pairs_", radio),
    }
    if "acks" in radio or "radio_mac_acks" in last:
        acks = radio["acks"]
        totals |= {"radio_mac_acks": radio["mac_acks"], "radio_mac_ack_bytes": acks["bytes"]}
        totals |= _pair_totals("ack_pairs_", acks)
    for quantity, count in totals.items():
        if last.get(quantity) != count:
            return f"{quantity}: {count} in counters.json, but {last.get(quantity)} in the last sample"
    return None


def _pair_totals(prefix: str, counters: dict[str, Any]) -> dict[str, int]:
    """Return the running totals that repeat the counters of pairs, by name."""
    return {
        f"{before}{prefix}{outcome}": count
        for before, pairs in (("", counters), ("addressed_", counters["addressed"]))
        for outcome, count in {"received": pairs["received"], **pairs["lost"]}.items()
    }

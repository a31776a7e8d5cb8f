"""What a MAC that listens does, and power between stations: sound runs pass, and what an insider edits is caught.

Source    ours: docs/verdicts-and-metrics.md
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from .damage import Copy, Edits, verdicts_after
from .on_air_worlds import POWER, WORLDS
from .test_recorded_frames import move, refate, renew, with_fate

NEAR = {"layout": {"shape": "points", "points_m": [[0, 0], [60, 0]]}}
RUNS = {
    "tcp": WORLDS["tcp"],
    "tcp_messages": WORLDS["tcp"] | {"record": {"messages": True}},
    "disk": WORLDS["disk"],
    "frames_alone": WORLDS["frames_alone"],
    "shadows": WORLDS["power"] | {"stations": NEAR, "wireless": POWER | {"tx_dbm": 20, "shadowing": {"sigma_db": 6}}},
}


edit = Edits()


@pytest.mark.parametrize(("how", "name"), edit.all)
def test_an_edit_is_caught(how: str, name: str, runs: dict[str, Path], tmp_path: Path) -> None:
    edit.require_caught(how, name, runs, tmp_path)


@edit("record", "tcp")
def received_and_not_acknowledged(copy: Copy) -> None:
    rows = [row for row in with_fate(copy, "random") if copy.frames.kind[row] == "TcpAck"]
    for row in [row for row in rows if copy.frames.addressed[row]][:3]:
        refate(copy, row, "received")
    renew(copy)


@edit("record", "tcp")
def lost_and_acknowledged(copy: Copy) -> None:
    rows = [row for row in with_fate(copy, "received") if copy.frames.kind[row] == "TcpAck"]
    refate(copy, next(row for row in rows if copy.frames.addressed[row]), "random")
    renew(copy)


@edit("record", "tcp")
def an_acknowledgement_that_is_late(copy: Copy) -> None:
    row = copy.frames.kind.index("mac_ack")
    move(copy, row, copy.frames.start_ns[row] + 2_000)


def count_acks_as_frames(copy: Copy) -> None:
    radio = copy.counters["radio"]
    acks = radio.pop("acks")
    radio["frames"], radio["bytes"] = radio["frames"] + radio["mac_acks"], radio["bytes"] + acks["bytes"]
    for counters, own in ((radio, acks), (radio["addressed"], acks["addressed"])):
        counters["pairs_in_range"] += own["pairs_in_range"]
        counters["received"] += own["received"]
        counters["lost"] = {name: count + own["lost"][name] for name, count in counters["lost"].items()}


@pytest.mark.parametrize("name", ["tcp", "tcp_messages"])
def test_a_record_of_an_older_version_is_sound(name: str, runs: dict[str, Path], tmp_path: Path) -> None:
    """It has no counters of ACKs, and those of frames include them."""

    def make_older(copy: Copy) -> None:
        count_acks_as_frames(copy)
        samples, of_acks, own = copy.samples, {}, []
        for row, (at_ns, quantity) in enumerate(samples.each("time_ns", "quantity")):
            if "ack_pairs_" in quantity or quantity.startswith("radio_mac_ack"):
                own.append(row)
                name = "radio_bytes" if quantity == "radio_mac_ack_bytes" else quantity.replace("ack_pairs_", "pairs_")
                of_acks[at_ns, name] = samples.value[row]
        for row, key in enumerate(samples.each("time_ns", "quantity")):
            samples.value[row] += of_acks.get(key, 0.0)
        samples.remove(own)

    verdicts = verdicts_after(runs[name], tmp_path / "older", make_older)
    assert {verdict.answer for verdict in verdicts.values()} == {"valid"}, verdicts


@edit("conservation", "tcp tcp_messages")
def acknowledgements_count_as_frames(copy: Copy) -> None:
    """As in records of older versions, but the running totals do not."""
    count_acks_as_frames(copy)


@edit("conservation", "tcp tcp_messages")
def bytes_of_acknowledgements(copy: Copy) -> None:
    copy.counters["radio"]["acks"]["bytes"] += 14
    last = copy.samples.where(quantity="radio_mac_ack_bytes")[-1]
    copy.samples.value[last] += 14


@edit("conservation", "tcp tcp_messages")
def an_acknowledgement_received_twice(copy: Copy) -> None:
    copy.counters["radio"]["acks"]["received"] += 1
    copy.samples.value[copy.samples.where(quantity="ack_pairs_received")[-1]] += 1


@edit("conservation", "tcp")
def an_acknowledgement_lost_for_another_reason(copy: Copy) -> None:
    lost = copy.counters["radio"]["acks"]["lost"]
    lost["random"], lost["collision"] = lost["random"] - 1, lost["collision"] + 1
    for quantity, change in (("ack_pairs_random", -1), ("ack_pairs_collision", 1)):
        rows = copy.samples.where(quantity=quantity)
        last = copy.samples.value[rows[-1]]
        for row in rows:
            copy.samples.value[row] += change * (copy.samples.value[row] == last)


@edit("conservation", "tcp")
def acknowledgements_counted_late(copy: Copy) -> None:
    """Their running totals begin at 5 s."""
    samples = copy.samples
    is_early = [at_ns < 5_000_000_000 for at_ns in samples.time_ns]
    names = ("ack_pairs_", "addressed_ack_pairs_", "radio_mac_ack")
    copy.samples.remove(
        row for row, quantity in enumerate(samples.quantity) if is_early[row] and quantity.startswith(names)
    )


@edit("conservation", "tcp tcp_messages")
def no_retries(copy: Copy) -> None:
    radio = copy.counters["radio"]
    radio["mac_retries"], _ = 0, radio.pop("mac_given_up", None)
    copy.samples.remove(copy.samples.where(quantity="radio_mac_retries"))


@edit("record", "disk")
def a_frame_follows_at_once(copy: Copy) -> None:
    """5 us after the end of one that its sender has received."""
    frames = copy.frames
    heads = dict.fromkeys(frames.each("start_ns", "sender", "kind"))
    received = {frames.at(row, "start_ns", "receiver"): row for row in with_fate(copy, "received")}
    for (first_ns, _, _), (next_ns, sender, _) in pairwise(heads):
        row = received.get((first_ns, sender), -1)
        if row >= 0 and 30_000 < next_ns - frames.end_ns[row] < 400_000:
            start_ns = frames.end_ns[row] + 5_000
            messages = copy.messages
            for other in messages.where(send_ns=next_ns, sender=sender, medium="radio"):
                messages.send_ns[other] = start_ns
                if messages.receive_ns[other] is not None:
                    messages.receive_ns[other] += start_ns - next_ns
            return move(copy, frames.where(start_ns=next_ns, sender=sender)[0], start_ns)
    raise AssertionError


@edit("record", "frames_alone")
def a_frame_begins_inside_another(copy: Copy) -> None:
    """Of two acknowledgements without effect, one after the other, whose senders hear each other."""
    frames = copy.frames
    of: dict[tuple[int, str], list[int]] = {}
    for row, head in enumerate(frames.each("start_ns", "sender")):
        of.setdefault(head, []).append(row)
    every = sorted(of)
    for before, one, other, after in zip(every, every[1:], every[2:], every[3:], strict=False):
        lasts_ns = frames.end_ns[of[one][0]] - one[0]
        kinds = {frames.kind[row] for row in of[one] + of[other]}
        fates = {frames.fate[row] for row in of[one] + of[other]}
        ends = [{frames.receiver[row] for row in of[head]} for head in (one, other)]
        if (kinds, fates) != ({"AckH"}, {"received"}) or other[1] not in ends[0] or one[1] not in ends[1]:
            continue
        if before[0] + 3_000_000 > one[0] or one[0] + 3_000_000 > after[0] or other[0] - one[0] > 100_000_000:
            continue
        for row in of[one] + of[other]:
            receiver, is_first = frames.receiver[row], row in of[one]
            if receiver == (other if is_first else one)[1]:
                refate(copy, row, "half_duplex")
            elif receiver in ends[0] & ends[1]:
                refate(copy, row, "collision" if is_first else "never_attempted")
        move(copy, of[other][0], one[0] + lasts_ns // 2)
        return renew(copy)
    raise AssertionError


@edit("record", "shadows")
def power_between_stations_changes(copy: Copy) -> None:
    links = copy.links
    ends = links.each("sender", "receiver")
    row = [row for row, (a, b) in enumerate(ends) if a[0] == b[0] == "s"][5]
    for name in ("power_dbm", "sinr_db"):
        links[name][row] = round(links[name][row] + 0.5, 2)

"""Messages recorded without frames: sound runs pass (test_recorded_frames.py), and what an insider edits is caught.

Source    ours: docs/verdicts-and-metrics.md
"""

from __future__ import annotations

from itertools import pairwise
from math import dist
from pathlib import Path
from typing import Any

import pytest

from .damage import Copy, Edits
from .on_air_worlds import MOVING, WORLDS

ONLY: dict[str, Any] = {"record": {"messages": True}}
HELD = {"interventions": [{**one, "loses": False} if one["do"] == "cut" else one
                          for one in WORLDS["cut"]["interventions"]]}  # fmt: skip
RUNS = {
    "disk": WORLDS["only_messages"],
    "power": WORLDS["power"] | ONLY,
    "tcp": WORLDS["tcp"] | ONLY,
    "cut": MOVING | HELD | ONLY,
}


edit = Edits()


@pytest.mark.parametrize(("how", "name"), edit.all)
def test_an_edit_is_caught(how: str, name: str, runs: dict[str, Path], tmp_path: Path) -> None:
    edit.require_caught(how, name, runs, tmp_path)


def radio(copy: Copy, *fates: str) -> list[int]:
    return [row for row in copy.messages.where(medium="radio") if not fates or copy.messages.fate[row] in fates]


def fewer_lost_at_random(copy: Copy, count: int) -> None:
    """So many pairs were not within reach."""
    for counters in (copy.counters["radio"], copy.counters["radio"]["addressed"]):
        counters["lost"]["random"] -= count
        counters["pairs_in_range"] -= count
    for row, quantity in enumerate(copy.samples.quantity):
        if quantity in ("pairs_random", "addressed_pairs_random"):
            copy.samples.value[row] = max(0.0, copy.samples.value[row] - count)


@edit("conservation", "disk tcp")
def what_was_lost_has_no_row(copy: Copy) -> None:
    copy.messages.remove(radio(copy, "random", "collision", "never_attempted"))


@edit("conservation", "disk power tcp")
def no_message_came_up(copy: Copy) -> None:
    copy.messages.remove(row for row in radio(copy) if copy.messages.kind[row] in ("AppHs", "TcpData"))


@edit("conservation", "disk tcp")
def lost_for_another_reason(copy: Copy) -> None:
    for row in radio(copy, "random", "collision"):
        copy.messages.fate[row] = "half_duplex"


@edit("record", "disk")
def down_without_a_crash(copy: Copy) -> None:
    """One for the other, so that sums come out."""
    rows = [row for row in radio(copy, "random") if copy.messages.sender[row][0] == "h"]
    down = next(row for row in radio(copy, "receiver_down") if copy.messages.kind[row] != "AppSh")
    copy.messages.fate[rows[0]], copy.messages.fate[down] = "receiver_down", "random"


@edit("conservation", "disk power tcp")
def a_host_that_is_down_sends(copy: Copy) -> None:
    messages = copy.messages
    crash, recover = copy.first("crash", "h1"), copy.first("recover", "h1")
    row = next(row for row in radio(copy, "received") if messages.sender[row] == "h1")
    shift = (copy.events.time_ns[crash] + copy.events.time_ns[recover]) // 2 - messages.send_ns[row]
    messages.send_ns[row] += shift
    messages.receive_ns[row] += shift


@edit("conservation", "disk")
@edit("record", "power tcp")
def two_messages_at_once(copy: Copy) -> None:
    messages = copy.messages
    own = messages.where(medium="radio", sender="s1")
    one, other = next((a, b) for a, b in pairwise(own)
                      if messages.send_ns[b] > messages.send_ns[a] and messages.fate[b] == "received"
                      and messages.send_ns.count(messages.send_ns[b]) == 1)  # fmt: skip
    shift = messages.send_ns[other] - messages.send_ns[one] - 100_000
    messages.send_ns[other] -= shift
    messages.receive_ns[other] -= shift


@edit("record", "disk tcp")
def heard_from_far_away(copy: Copy) -> None:
    """By the station 130 m away."""
    rows = [row for row in radio(copy, "received") if copy.messages.kind[row] in ("AckH", "TcpAck")]
    for row in rows:
        ends = copy.messages.sender, copy.messages.receiver
        for column in ends:
            if column[row][0] == "s":
                column[row] = "s1" if column[row] == "s0" else "s0"


@edit("record", "disk tcp")
def out_of_range_nearby(copy: Copy) -> None:
    rows = [row for row in radio(copy, "random") if copy.messages.kind[row] not in ("AppSh", "AckC")]
    for row in rows:
        copy.messages.fate[row] = "out_of_range"
    fewer_lost_at_random(copy, len(rows))


@edit("record", "disk")
def a_message_for_all_misses_a_near_host(copy: Copy) -> None:
    messages = copy.messages
    places = {(node, at): (x, y) for at, node, x, y in copy.positions.each("time_ns", "node", "x_m", "y_m")}

    def is_near(row: int) -> bool:
        when = messages.send_ns[row] // 1_000_000_000 * 1_000_000_000
        return dist(places[messages.sender[row], 0], places[messages.receiver[row], when]) < 30

    row = next(row for row in radio(copy, "random") if messages.kind[row] == "AppSh" and is_near(row))
    copy.messages.remove([row])
    fewer_lost_at_random(copy, 1)


@edit("record", "disk power")
def one_message_with_two_names(copy: Copy) -> None:
    messages = copy.messages
    row = next(row for row in radio(copy) if row and messages.kind[row] == "AppSh" and
               messages.send_ns[row] == messages.send_ns[row - 1])  # fmt: skip
    messages.message[row] = "h0:0" if messages.message[row] != "h0:0" else "h1:0"


@edit("record", "cut")
def a_cut_wire_carries(copy: Copy) -> None:
    """What was sent meanwhile arrives meanwhile, as fast as it did before."""
    messages = copy.messages
    row = next(row for row in messages.where(medium="wired") if 2e9 < messages.send_ns[row] < 2.9e9)
    assert messages.receive_ns[row] > 3e9
    messages.receive_ns[row] = messages.send_ns[row] + 50_000_000

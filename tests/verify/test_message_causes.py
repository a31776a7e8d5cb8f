"""Causes of messages and of what hosts do: sound runs pass (test_recorded_frames.py), edits are caught.

Source    ours: docs/verdicts-and-metrics.md
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from .damage import Copy, Edits
from .on_air_worlds import TWO_CELLS, WORLDS
from .test_recorded_frames import renew

CALM: dict[str, Any] = {"faults": None, "protocol": {"name": "mobile_causal"}}
MESSAGES = WORLDS["only_messages"] | CALM
RUNS = {
    "disk": WORLDS["disk"] | CALM,
    "only_messages": MESSAGES,
    "frames_alone": WORLDS["frames_alone"],
    "vcube": MESSAGES | {"stations": {"layout": TWO_CELLS, "backbone": {"kind": "vcube_causal"}}},
    "slow": MESSAGES | {"stations": {"layout": TWO_CELLS, "backbone": {"kind": "tree", "delay_ms": 300}}},
    "lonely": MESSAGES | {"hosts": {"count": 2, "mobility": {"model": "static"}}},
    "leaving": MESSAGES | {"churn": {"changes": [{"host": "h1", "at_s": 5, "kind": "leave"}]}},
    "tcp": WORLDS["tcp"],
    "tcp_messages": WORLDS["tcp"] | {"record": {"messages": True}},
    "tcp_frames": WORLDS["tcp"] | {"record": {"frames": True}},
}


edit = Edits()


@pytest.mark.parametrize(("how", "name"), edit.all)
def test_an_edit_is_caught(how: str, name: str, runs: dict[str, Path], tmp_path: Path) -> None:
    edit.require_caught(how, name, runs, tmp_path)


def of_kind(copy: Copy, *kinds: str, medium: str = "radio") -> list[int]:
    return [row for row in copy.messages.where(medium=medium) if copy.messages.kind[row] in kinds]


def last_name(copy: Copy) -> str:
    return str(copy.events.message[copy.last("broadcast")])


def lose(copy: Copy, rows: list[int]) -> None:
    """Nobody receives these; counters agree."""
    keys = set()
    for row in rows:
        if copy.messages.fate[row] == "received":
            copy.messages.change(row, fate="random", receive_ns=None)
            keys.add(copy.messages.at(row, "send_ns", "sender", "receiver"))
    radio = copy.counters["radio"]
    if "frames" in copy.optional:
        for row, key in enumerate(copy.frames.each("start_ns", "sender", "receiver")):
            if key in keys:
                copy.frames.fate[row] = "random"
        renew(copy)
        return
    for counters in (radio, radio["addressed"]):
        counters["received"] -= len(keys)
        counters["lost"]["random"] += len(keys)


@edit("record", "disk only_messages")
def a_wire_carries_what_is_broadcast_later(copy: Copy) -> None:
    copy.messages.message[of_kind(copy, "App", medium="wired")[0]] = last_name(copy)


@edit("record", "disk only_messages vcube")
def a_station_radios_what_is_broadcast_later(copy: Copy) -> None:
    first_ns = copy.messages.send_ns[of_kind(copy, "AppSh")[0]]
    for row in copy.messages.where(kind="AppSh", medium="radio", send_ns=first_ns):
        copy.messages.message[row] = last_name(copy)


@edit("record", "disk only_messages vcube")
def a_host_sends_a_message_of_another(copy: Copy) -> None:
    row = of_kind(copy, "AppHs")[-1]
    names = [copy.events.message[each] for each in copy.rows("broadcast")]
    copy.messages.message[row] = next(name for name in names if not name.startswith(copy.messages.host[row]))


@edit("record", "disk only_messages vcube")
def a_station_speaks_of_another_host(copy: Copy) -> None:
    row = of_kind(copy, "LeaveAck", "InitAck")[0]
    copy.messages.host[row] = "h1" if copy.messages.receiver[row] == "h0" else "h0"


@edit("record", "disk only_messages vcube")
def no_message_has_a_name(copy: Copy) -> None:
    for row in of_kind(copy, "AppHs"):
        copy.messages.message[row] = None


@edit("record", "disk")
@edit("conservation", "only_messages")
def a_message_never_came_up(copy: Copy) -> None:
    name = copy.events.message[copy.rows("broadcast")[5]]
    lose(copy, copy.messages.where(kind="AppHs", medium="radio", message=name))


@edit("record", "disk only_messages")
def a_message_never_crossed_the_wire(copy: Copy) -> None:
    """The wire carries another one that has crossed it already."""
    rows = of_kind(copy, "App", medium="wired")
    copy.messages.message[rows[9]] = copy.messages.message[rows[8]]


@edit("record", "lonely")
def a_message_crosses_a_wire_twice(copy: Copy) -> None:
    """It replaces a message that no host in the next cell needs."""
    table, rows = copy.messages, of_kind(copy, "App", medium="wired")
    radioed = {table.at(row, "sender", "message") for row in of_kind(copy, "AppSh")}
    row = next(row for row in rows[1:] if table.at(row, "receiver", "message") not in radioed)
    before = [other for other in rows if other < row and table.receiver[other] == table.receiver[row]]
    table.message[row] = table.message[before[-1]]


def late(copy: Copy, kind: str) -> None:
    """The last one on a wire that nothing shows to have arrived then leaves its station 0.1 ms later."""
    table = copy.messages
    ends = list(table.each("sender", "receiver"))
    wired = table.where(medium="wired")
    sent = {table.at(row, "sender", "message"): table.send_ns[row] for row in of_kind(copy, "AppSh")[::-1]}
    for row in reversed(of_kind(copy, kind, medium="wired")):
        at_ns, there_ns = table.at(row, "send_ns", "receive_ns")
        near = [other for other in wired if ends[other] == ends[row] and abs(table.send_ns[other] - at_ns) < 10**7]
        if len(near) == 1 and sent.get((ends[row][1], table.message[row]), 1 << 62) > there_ns + 100_000:
            table.send_ns[row] += 100_000
            table.receive_ns[row] += 100_000
            break
    else:
        raise AssertionError
    order = sorted(wired, key=lambda other: table.receive_ns[other])
    for column in table.values():
        for place, value in zip(wired, [column[other] for other in order], strict=True):
            column[place] = value


@edit("record", "disk only_messages")
def a_message_waits_in_a_station(copy: Copy) -> None:
    late(copy, "App")


@edit("record", "leaving")
def a_leave_waits_in_a_station(copy: Copy) -> None:
    late(copy, "Delete")


@edit("record", "disk only_messages vcube")
def a_host_names_a_session_that_never_was(copy: Copy) -> None:
    asked = [row for row in of_kind(copy, "Req1", medium="wired") if not copy.messages.detail_of(row)["join"]]
    for row in of_kind(copy, "Init") + asked:
        copy.messages.say(row, lc=0, nxt=0)


@edit("record", "disk")
@edit("conservation", "only_messages vcube")
def nobody_asked_to_join(copy: Copy) -> None:
    lose(copy, of_kind(copy, "Join"))


@edit("record", "disk")
@edit("conservation", "only_messages vcube")
def nobody_asked_for_a_handoff(copy: Copy) -> None:
    lose(copy, of_kind(copy, "Init"))


@edit("record", "disk only_messages")
def an_answer_of_another_session(copy: Copy) -> None:
    for row in of_kind(copy, "Req1", medium="wired"):
        copy.messages.session[row] += 100


@edit("record", "disk only_messages")
def other_stations_answered_for_another_host(copy: Copy) -> None:
    for row in of_kind(copy, "Nothing", medium="wired"):
        copy.messages.host[row] = "h4" if copy.messages.host[row] != "h4" else "h3"


@edit("record", "disk only_messages")
def listed_before_its_broadcast(copy: Copy) -> None:
    rows = of_kind(copy, "Rsp1", medium="wired")
    row, names = next((row, names) for row in rows if (names := copy.messages.detail_of(row)["undelivered"]))
    copy.messages.say(row, undelivered=[last_name(copy), *names[1:]])


@edit("record", "slow")
def recovered_from_nowhere(copy: Copy) -> None:
    name = copy.events.message[copy.first("broadcast")]
    for row in of_kind(copy, "Rsp2", medium="wired"):
        copy.messages.say(row, bodies=[name] * len(copy.messages.detail_of(row)["bodies"]))


@edit("record", "disk only_messages vcube")
def acknowledged_before_its_broadcast(copy: Copy) -> None:
    for row in of_kind(copy, "AckC"):
        number_of = copy.messages.detail_of(row)["seq_h"]
        copy.messages.say(row, seq_h={host: number + 90 for host, number in number_of.items()})


# --- what hosts do


def receptions(copy: Copy, station: str, host: str, *kinds: str) -> list[int]:
    """When the host has received a message of these kinds."""
    table = copy.optional.get("frames", copy.optional.get("messages"))
    assert table is not None
    ends = table["end_ns" if "end_ns" in table else "receive_ns"]
    rows = table.where(sender=station, receiver=host, fate="received")
    return [ends[row] for row in rows if table.kind[row] in kinds]


def last_of(copy: Copy, row: int) -> int:
    """When the host of this event did something before."""
    rows = [each for each in copy.events.where(node=copy.events.node[row]) if each < row]
    return int(copy.events.time_ns[rows[-1]]) if rows else 0


@edit("record", "disk only_messages frames_alone")
def a_host_joins_with_a_challenge(copy: Copy) -> None:
    for row in copy.rows("join"):
        host, station, now_ns = copy.events.at(row, "node", "station", "time_ns")
        early = [at for at in receptions(copy, station, host, "Chal") if last_of(copy, row) < at < now_ns]
        if early:
            return copy.shift(row, early[0])
    raise AssertionError


@edit("record", "frames_alone")
def a_delivery_with_an_acknowledgement(copy: Copy) -> None:
    for row in reversed(copy.rows("deliver")):
        host, station, now_ns = copy.events.at(row, "node", "station", "time_ns")
        sent = copy.events.time_ns[copy.events.message.index(copy.events.message[row])]
        late = max(last_of(copy, row), sent + 13_000_000)
        early = [at for at in receptions(copy, station, host, "AckC") if late < at < now_ns - 1_000_000]
        if early:
            return copy.shift(row, early[0])
    raise AssertionError


def halfway(copy: Copy, event: str) -> None:
    """Something of a host happens earlier, while it receives nothing."""
    for row in reversed(copy.rows(event)):
        host, now_ns, name = copy.events.at(row, "node", "time_ns", "message")
        sent_ns = copy.events.time_ns[copy.events.message.index(name)] + 12_000_000 if name else 0
        early_ns = max(sent_ns, last_of(copy, row))
        if early_ns + 400_000 < now_ns and (not name or not name.startswith(host)):
            return copy.shift(row, (early_ns + now_ns) // 2)
    raise AssertionError


@edit("record", "tcp tcp_messages tcp_frames")
def a_delivery_before_its_data(copy: Copy) -> None:
    halfway(copy, "deliver")


@edit("record", "tcp tcp_messages tcp_frames")
def a_handoff_without_data(copy: Copy) -> None:
    halfway(copy, "handoff_end")

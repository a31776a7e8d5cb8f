"""What messages say of positions, numbers, acknowledgements and lists: sound runs pass, edits are caught.

Source    ours: docs/verdicts-and-metrics.md
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from mobilenet.verify import verify_run

from .damage import Copy, Edits, verdicts_after
from .on_air_worlds import accusations, record
from .test_message_causes import of_kind

THREE = {"layout": {"shape": "points", "points_m": [[0, 0], [130, 0], [60, 110]]}, "backbone": {"kind": "tree"}}
DISK: dict[str, Any] = {
    "seed": 11,
    "duration_s": 14,
    "drain_s": 30,
    "stations": THREE,
    "wireless": {"range_m": 85, "loss": 0.05},
    "hosts": {"count": 6, "mobility": {"model": "random_waypoint", "speed_mps": [6, 12]}},
    "faults": {
        "schedule": "explicit",
        "outages": [{"host": "h1", "at_s": 5, "duration_s": 3}, {"host": "h2", "at_s": 4, "duration_s": 0.6}],
    },
    "churn": {
        "changes": [
            {"host": "h3", "at_s": 6, "kind": "leave"},
            {"host": "h3", "at_s": 9, "kind": "join"},
            {"host": "h4", "at_s": 10, "kind": "leave"},
        ]
    },
    "protocol": {"name": "mobile_causal", "expiry_s": 1.5, "heartbeat_s": 0.3},
    "workload": {"interval_s": 0.4},
    "record": {"frames": True, "messages": True, "positions_interval_s": 0.5},
}
FAST: dict[str, Any] = {"mobility": {"model": "random_waypoint", "speed_mps": [20, 40]}}
RUNS = {
    "disk": DISK,
    "power": DISK | {"wireless": {"model": "sinr", "tx_dbm": 8}},
    "fast": DISK | {"hosts": FAST | {"count": 6}, "record": {"messages": True}},
    "many": DISK | {"hosts": FAST | {"count": 14}, "record": {"messages": True}},
    "vcube": DISK | {"stations": THREE | {"backbone": {"kind": "vcube_causal"}}},
    "bare": DISK | {"record": {}},
}


edit = Edits()


@pytest.mark.parametrize(("how", "name"), edit.all)
def test_an_edit_is_caught(how: str, name: str, runs: dict[str, Path], tmp_path: Path) -> None:
    words, function = edit.all[how, name]
    verdicts = verdicts_after(runs[name], tmp_path / "edited", function)
    explanations = [verdict.explanation for verdict in verdicts.values() if verdict.answer == "violated"]
    assert any(words in one for one in explanations), explanations


def about(copy: Copy, row: int) -> tuple[Any, ...]:
    return copy.messages.at(row, "host", "session")


def of_one_session(copy: Copy, row: int) -> list[int]:
    """All messages of the kind of this one and about the same session of the same host."""
    kind, host, session = copy.messages.at(row, "kind", "host", "session")
    return copy.messages.where(kind=kind, host=host, session=session)


def of_one_frame(copy: Copy, row: int) -> list[int]:
    """All rows of the frame of this one."""
    kind, sender, send_ns = copy.messages.at(row, "kind", "sender", "send_ns")
    return copy.messages.where(kind=kind, sender=sender, send_ns=send_ns)


# --- positions


@edit("according to its station, the message at that position is", "disk power vcube")
def a_session_begins_elsewhere(copy: Copy) -> None:
    """The host and its stations agree on it."""
    first = of_kind(copy, "InitAck")[3]
    key = about(copy, first)
    for row in of_one_session(copy, first):
        copy.messages.add(row, start=3, base=3)
    for row in [*of_kind(copy, "AckH", "Init"), *of_kind(copy, "Req1", medium="wired")]:
        session = copy.messages.detail_of(row).get("lc", copy.messages.session[row])
        if (copy.messages.host[row], session) == key:
            copy.messages.add(row, nxt=3)


@edit("according to its station, the message at that position is", "disk fast vcube")
def recovery_messages_have_other_numbers(copy: Copy) -> None:
    for row in of_kind(copy, "AppCo"):
        copy.messages.add(row, number=100)


@edit("which it has had since", "disk power vcube")
def a_delivery_waits_for_the_next_frame(copy: Copy) -> None:
    events, table = copy.events, copy.messages
    for row in copy.rows("deliver")[100:]:
        node, station, now_ns = events.at(row, "node", "station", "time_ns")
        after = next((at for at in events.where(node=node) if at > row), None)
        if after is None or events.event[after] != "deliver" or events.time_ns[after] == now_ns:
            continue
        until_ns = events.time_ns[after]
        acks = table.where(kind="AckH", sender=node)
        got = [table.receive_ns[at] for at in table.where(kind="AppSh", sender=station, receiver=node)]
        later = [at_ns for at_ns in got if at_ns and now_ns + 2000 < at_ns < until_ns]
        if not later or any(now_ns <= table.send_ns[at] <= until_ns for at in acks):
            continue
        return copy.shift(row, later[0])
    raise AssertionError("none can wait")


@edit("must still be waiting there", "disk power vcube")
def hosts_hold_nothing_back(copy: Copy) -> None:
    samples, end_ns = copy.samples, max(copy.samples.time_ns)
    rows = [row for row in samples.where(quantity="rbuffer") if samples.node[row][0] == "h"]
    samples.remove(row for row in rows if samples.time_ns[row] < end_ns or samples.value[row])


@edit("but nothing arrives there", "disk power")
def a_host_holds_something_early(copy: Copy) -> None:
    rows = [row for host in range(6) for row in copy.samples.where(node=f"h{host}", quantity="rbuffer")]
    row = next(row for row in rows if copy.samples.value[row] == 1 and copy.samples.time_ns[row] > 3_000_000_000)
    copy.samples.time_ns[row] -= 5_000
    copy.samples.sort("time_ns")


# --- acknowledgements


@edit("of them were acknowledged", "disk power vcube")
def stations_acknowledge_nothing(copy: Copy) -> None:
    for row in of_kind(copy, "AckC"):
        copy.messages.say(row, seq_h=dict.fromkeys(copy.messages.detail_of(row)["seq_h"], 0))


@edit("stations had received only", "disk vcube")
def a_station_acknowledges_what_has_not_come(copy: Copy) -> None:
    """It was broadcast by then."""
    table = copy.messages
    for row in of_kind(copy, "AckC"):
        number_of, send_ns = copy.messages.detail_of(row)["seq_h"], table.send_ns[row]
        for host in number_of:
            came = [at for at in table.where(kind="AppHs", host=f"h{host}") if table.receive_ns[at] is not None]
            got = {table.message[at] for at in came if table.receive_ns[at] <= send_ns}
            broadcast = copy.rows("broadcast", f"h{host}")
            sent = [copy.events.message[at] for at in broadcast if copy.events.time_ns[at] <= send_ns]
            if sent and sent[-1] not in got:
                for other in of_one_frame(copy, row):
                    table.say(other, seq_h=number_of | {host: len(sent)})
                return
    raise AssertionError("all that was broadcast has come")


@edit("had already acknowledged", "disk power vcube")
def an_acknowledgement_takes_back(copy: Copy) -> None:
    rows = of_kind(copy, "AckC")
    row = next(row for row in rows[20:] if copy.messages.fate[row] != "received")
    for other in copy.messages.where(kind="AckC", send_ns=copy.messages.send_ns[row]):
        copy.messages.say(other, seq_h=dict.fromkeys(copy.messages.detail_of(other)["seq_h"], 0))


@edit("of them were acknowledged", "disk power vcube")
def an_sbuffer_shrinks_later(copy: Copy) -> None:
    samples = copy.samples
    rows = samples.where(node="h0", quantity="sbuffer")
    for before, row, after in zip(rows[10:], rows[11:], rows[12:], strict=False):
        falls = samples.value[row] < samples.value[before]
        if falls and samples.time_ns[after] - samples.time_ns[row] > 60_000_000:
            samples.time_ns[row] += 40_000_000
            return samples.sort("time_ns")
    raise AssertionError("none shrinks")


@edit("already knew that all its messages before", "disk fast")
def a_copy_of_an_old_message(copy: Copy) -> None:
    rows, seen = of_kind(copy, "AppHs"), set()
    for row in rows:
        name = copy.messages.message[row]
        if name in seen and copy.messages.send_ns[row] > 8_000_000_000:
            copy.messages.message[row] = f"{copy.messages['host'][row]}:0"
            return
        if copy.messages.fate[row] == "received":
            seen.add(name)


@edit("first_seq is", "disk power vcube")
def a_join_counts_from_another_number(copy: Copy) -> None:
    for row in of_kind(copy, "Join"):
        copy.messages.add(row, first_seq=4)


@edit("the next position is", "disk power vcube")
def a_host_acknowledges_less(copy: Copy) -> None:
    rows = copy.messages.where(kind="AckH", host="h0")
    copy.messages.say(rows[30], nxt=copy.messages.detail_of(rows[5])["nxt"] - 1)


# --- what comes in at stations


@edit("begins with number", "disk power")
def hosts_acknowledge_the_start(copy: Copy) -> None:
    starts: dict[tuple[Any, Any], int] = {}
    for row in of_kind(copy, "AckH"):
        copy.messages.say(row, nxt=starts.setdefault(about(copy, row), copy.messages.detail_of(row)["nxt"]))


@edit("arrives there as number", "disk power")
def a_cell_has_other_numbers(copy: Copy) -> None:
    """Two messages that came over the wires right after each other, as far as no delivery tells them apart."""
    for row in of_kind(copy, "AppSh", "AppCo"):
        copy.messages.add(row, number=1)
    for row in of_kind(copy, "InitAck"):
        copy.messages.add(row, start=1, base=1)
        copy.messages.say(row, skip=[number + 1 for number in copy.messages.detail_of(row)["skip"]])
    for row in [*of_kind(copy, "AckH", "Init"), *of_kind(copy, "Req1", medium="wired")]:
        if not copy.messages.detail_of(row).get("join"):
            copy.messages.add(row, nxt=1)


@edit("begins with message number", "disk power")
def a_station_remembers_what_it_forgot(copy: Copy) -> None:
    rows = copy.samples.where(node="s2", quantity="sbuffer")
    value = copy.samples.value
    before = next(row for row, after in pairwise(rows[39:]) if value[after] > 2 and value[row] == value[after] - 1)
    copy.samples.remove([rows[rows.index(before) + 1]])


@edit("a copy of", "disk")
def a_station_repeats_what_all_have(copy: Copy) -> None:
    first: dict[str, tuple[str, str]] = {}
    seen: set[tuple[str, str]] = set()
    table = copy.messages
    delivered = {copy.events.at(row, "node", "time_ns") for row in copy.rows("deliver")}
    last_ns = -1
    for row in of_kind(copy, "AppSh"):
        sender, name, send_ns = table.at(row, "sender", "message", "send_ns")
        first.setdefault(sender, (name, table.detail[row]))
        rows = of_one_frame(copy, row)
        has_effect = any(
            node == table.receiver[at] and abs(at_ns - (table.receive_ns[at] or 0)) < 2000
            for at in rows
            for node, at_ns in delivered
        )
        if send_ns > 9_000_000_000 and (sender, name) in seen and send_ns != last_ns and not has_effect:
            for at in rows:
                table.message[at], table.detail[at] = first[sender]
            return
        seen.add((sender, name))
        last_ns = send_ns


# --- joins and handoffs


def on_wires(copy: Copy, kind: str) -> list[int]:
    return of_kind(copy, kind, medium="wired")


@edit("but its host did not receive this cookie", "disk power vcube")
def a_cookie_of_nobody(copy: Copy) -> None:
    for row in of_kind(copy, "Join"):
        if "cookie" in copy.messages.detail_of(row):
            copy.messages.add(row, cookie=50)


@edit("was already given to another host", "disk power vcube")
def all_cookies_are_one(copy: Copy) -> None:
    for row in of_kind(copy, "Join", "Chal"):
        if "cookie" in copy.messages.detail_of(row):
            copy.messages.say(row, cookie=1)


@edit("no host asks that station for such a session", "disk fast")
def requests_of_another_station(copy: Copy) -> None:
    for row in on_wires(copy, "Req1"):
        copy.messages.say(row, source=(copy.messages.detail_of(row)["source"] + 1) % 3)


@edit("no host asks that station for such a session", "disk fast")
def requests_that_are_joins(copy: Copy) -> None:
    for row in on_wires(copy, "Req1"):
        copy.messages.say(row, join=True)


@edit("no station had given up on the host", "fast")
def a_station_says_that_it_gave_up_early(copy: Copy) -> None:
    for row in of_one_session(copy, on_wires(copy, "Rsp1")[0]):
        copy.messages.say(row, expired=True)


@edit("but its station had received", "disk fast")
def a_station_is_told_of_other_numbers(copy: Copy) -> None:
    for row in on_wires(copy, "Rsp1"):
        copy.messages.say(row, seq_h=max(0, copy.messages.detail_of(row)["seq_h"] - 5))


def turn_round(copy: Copy, kind: str, key: str) -> None:
    """The lists of all messages of that kind."""
    for row in on_wires(copy, kind):
        copy.messages.say(row, **{key: copy.messages.detail_of(row)[key][::-1]})


@edit("had not all reached its sender in this order by then", "disk fast")
def a_list_is_the_other_way_round(copy: Copy) -> None:
    for kind, key in (("Rsp1", "undelivered"), ("Req2", "wanted"), ("Rsp2", "bodies")):
        turn_round(copy, kind, key)


@edit("no Rsp1 offered these", "disk")
def a_station_wants_what_nobody_offered(copy: Copy) -> None:
    row = next(row for row in on_wires(copy, "Req2") if copy.messages.detail_of(row)["wanted"])
    name = copy.events.message[copy.first("broadcast")]
    for other in of_one_session(copy, row):
        copy.messages.say(other, wanted=[name, *copy.messages.detail_of(other)["wanted"][1:]])


@edit("no Req2 requested exactly these", "disk")
def bodies_in_another_order(copy: Copy) -> None:
    turn_round(copy, "Rsp2", "bodies")


# --- lists


@edit("had this value by then", "disk power vcube")
def lists_are_measured_later(copy: Copy) -> None:
    for row in copy.samples.where(quantity="md"):
        if copy.samples.time_ns[row] < 12_000_000_000:
            copy.samples.time_ns[row] += 300_000_000
    copy.samples.sort("time_ns")


def exchange_lengths(copy: Copy, *quantities: str) -> None:
    """Two that differ, of the first quantity that has such."""
    values = copy.samples.value
    rows = [copy.samples.where(quantity=quantity) for quantity in quantities]
    one, other = next((a, b) for same in rows for a in same for b in same if values[a] != values[b])
    values[one], values[other] = values[other], values[one]


@edit("had this value by then", "disk power vcube")
def lengths_exchanged(copy: Copy) -> None:
    exchange_lengths(copy, "acks")


@edit("with a list of that length at that time", "disk fast")
def lengths_on_wires_exchanged(copy: Copy) -> None:
    exchange_lengths(copy, "undelivered", "wanted", "new_ids")


@edit("delivers this message only later", "many")
def a_message_names_a_host_that_lacks_it(copy: Copy) -> None:
    table = copy.messages
    at_ns = {copy.events.at(row, "message", "node"): copy.events.time_ns[row] for row in copy.rows("deliver")}
    for row in of_kind(copy, "AppSh"):
        listed = copy.messages.detail_of(row)["delivered"]
        for host in range(6) if listed else ():
            if at_ns.get((table.message[row], f"h{host}"), 0) > table.send_ns[row]:
                for other in of_one_frame(copy, row):
                    table.say(other, delivered=[host, *listed[1:]])
                return
    raise AssertionError("whoever is not named has it")


# --- without messages


@edit("without being asked to, although its sbuffer has not been emptied", "disk bare")
def a_host_leaves_later(copy: Copy) -> None:
    row = copy.first("leave")
    copy.events.time_ns[row] += 50_000 if "messages" in copy.optional else 100_000


@edit("reinit", "disk bare")
def a_cell_change_is_said_to_be_a_reinit(copy: Copy) -> None:
    row = next(row for row in copy.rows("handoff_start") if '"cell"' in copy.events.detail[row])
    copy.events.detail[row] = '{"cause": "reinit"}'


LOSSY: dict[str, Any] = {
    "seed": 301,
    "duration_s": 10.5,
    "stations": {"layout": {"shape": "points", "points_m": [[0, 0], [130, 0]]}},
    "wireless": {"model": "sinr", "tx_dbm": 12, "path_loss": {"model": "umi"}, "mode": "g_erp"},
    "hosts": {"count": 24, "mobility": {"model": "random_waypoint", "speed_mps": [2, 5]}},
    "protocol": {"name": "mobile_causal"},
    "workload": {"interval_s": 0.5},
    "interventions": [
        {"at_s": 3.934, "do": "drag", "host": "h4", "to_m": [-54.70756210668523, -15.330840982108278]},
        {"at_s": 6.041, "do": "drag", "host": "h4", "to_m": [167.65819232405616, 42.45536057746388]},
        {"at_s": 10, "do": "add", "to_m": [35.15553155166743, 10]},
        {"at_s": 10, "do": "cut", "link": ["s0", "s1"], "loses": True},
    ],
    "faults": {"schedule": "explicit", "outages": [{"host": "h0", "at_s": 3, "duration_s": 2}]},
    "churn": {"changes": [{"host": "h1", "at_s": 2, "kind": "leave"}, {"host": "h1", "at_s": 4, "kind": "join"}]},
}


def test_what_a_wire_lost_is_delivered_where_it_never_came_in(tmp_path: Path) -> None:
    """It was recovered for a host that came from beyond the wire."""
    record(LOSSY, tmp_path / "run")
    assert "record" not in accusations(verify_run(tmp_path / "run"))

"""What messages say of positions, numbers, acknowledgements and lists: sound runs pass, edits are caught.

Source    ours: docs/verdicts-and-metrics.md
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mobilenet.verify import verify_run

from .damage import Copy, Damage, verdicts_after
from .test_message_causes import of_kind
from .test_recorded_frames import accused, record

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


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    place = tmp_path_factory.mktemp("runs")
    for name, scenario in RUNS.items():
        record(scenario, place / name)
        assert not accused(verify_run(place / name)), name
    return {name: place / name for name in RUNS}


EDITS: dict[tuple[str, str], tuple[str, Damage]] = {}


def edit(words: str, *names: str) -> Callable[[Damage], Damage]:
    """Register an edit of the runs with these names; the explanation has to contain `words`."""

    def register(function: Damage) -> Damage:
        EDITS.update({(function.__name__, name): (words, function) for name in names})
        return function

    return register


@pytest.mark.parametrize(("how", "name"), EDITS)
def test_an_edit_is_caught(how: str, name: str, runs: dict[str, Path], tmp_path: Path) -> None:
    words, function = EDITS[how, name]
    verdicts = verdicts_after(runs[name], tmp_path / "edited", function)
    said = [verdict.explanation for verdict in verdicts.values() if verdict.answer == "violated"]
    assert any(words in one for one in said), said


def say(copy: Copy, row: int, **values: Any) -> None:
    """The message says this as well, or instead."""
    detail = json.loads(copy.messages["detail"][row])
    copy.messages["detail"][row] = json.dumps(detail | values)


def said(copy: Copy, row: int) -> dict[str, Any]:
    return json.loads(copy.messages["detail"][row] or "{}")  # type: ignore[no-any-return]


def about(copy: Copy, row: int) -> tuple[Any, Any]:
    return copy.messages["host"][row], copy.messages["session"][row]


def resort(copy: Copy) -> None:
    """Samples by time."""
    order = sorted(range(len(copy.samples["node"])), key=lambda row: copy.samples["time_ns"][row])
    copy.samples = {name: [column[row] for row in order] for name, column in copy.samples.items()}


def sampled(copy: Copy, node: str, quantity: str) -> list[int]:
    pairs = zip(copy.samples["node"], copy.samples["quantity"], strict=True)
    return [row for row, pair in enumerate(pairs) if pair == (node, quantity)]


# --- positions


@edit("by what its station sends that one is", "disk", "power", "vcube")
def a_session_begins_elsewhere(copy: Copy) -> None:
    """The host and its stations agree on it."""
    key = about(copy, of_kind(copy, "InitAck")[3])
    for row in of_kind(copy, "InitAck"):
        if about(copy, row) == key:
            say(copy, row, **{name: said(copy, row)[name] + 3 for name in ("start", "base")})
    for row in [*of_kind(copy, "AckH", "Init"), *of_kind(copy, "Req1", medium="wired")]:
        session = said(copy, row).get("lc", copy.messages["session"][row])
        if (copy.messages["host"][row], session) == key:
            say(copy, row, nxt=said(copy, row)["nxt"] + 3)


@edit("by what its station sends that one is", "disk", "fast", "vcube")
def recovery_messages_have_other_numbers(copy: Copy) -> None:
    for row in of_kind(copy, "AppCo"):
        say(copy, row, number=said(copy, row)["number"] + 100)


@edit("which it has had since", "disk", "power", "vcube")
def a_delivery_waits_for_the_next_frame(copy: Copy) -> None:
    events, table = copy.events, copy.messages
    for row in copy.rows("deliver")[100:]:
        node, station, now_ns = (events[name][row] for name in ("node", "station", "time_ns"))
        after = next((at for at in range(row + 1, len(events["node"])) if events["node"][at] == node), None)
        if after is None or events["event"][after] != "deliver" or events["time_ns"][after] == now_ns:
            continue
        until_ns = events["time_ns"][after]
        acks = [at for at in of_kind(copy, "AckH") if table["sender"][at] == node]
        got = [
            table["receive_ns"][at]
            for at in of_kind(copy, "AppSh")
            if (table["sender"][at], table["receiver"][at]) == (station, node)
        ]
        later = [at_ns for at_ns in got if at_ns and now_ns + 2000 < at_ns < until_ns]
        if not later or any(now_ns <= table["send_ns"][at] <= until_ns for at in acks):
            continue
        event = {name: column[row] for name, column in events.items()} | {"time_ns": later[0]}
        copy.remove(row)
        copy.insert(next(at for at, at_ns in enumerate(events["time_ns"]) if at_ns > later[0]), **event)
        return
    raise AssertionError("none can wait")


@edit("and are still to wait", "disk", "power", "vcube")
def hosts_hold_nothing_back(copy: Copy) -> None:
    for row, (node, quantity) in enumerate(zip(copy.samples["node"], copy.samples["quantity"], strict=True)):
        if node[0] == "h" and quantity == "rbuffer":
            copy.samples["value"][row] = 0.0


@edit("and nothing arrives there", "disk", "power")
def a_host_holds_something_early(copy: Copy) -> None:
    rows = [row for node in ("h0", "h1", "h2", "h3", "h4", "h5") for row in sampled(copy, node, "rbuffer")]
    row = next(row for row in rows if copy.samples["value"][row] == 1 and copy.samples["time_ns"][row] > 3_000_000_000)
    copy.samples["time_ns"][row] -= 5_000
    resort(copy)


# --- acknowledgements


@edit("it was told that they got through", "disk", "power", "vcube")
def stations_acknowledge_nothing(copy: Copy) -> None:
    for row in of_kind(copy, "AckC"):
        say(copy, row, seq_h=dict.fromkeys(said(copy, row)["seq_h"], 0))


@edit("stations have received", "disk", "vcube")
def a_station_acknowledges_what_has_not_come(copy: Copy) -> None:
    """It was broadcast by then."""
    table, broadcast = copy.messages, copy.rows("broadcast")
    for row in of_kind(copy, "AckC"):
        told, send_ns = said(copy, row)["seq_h"], table["send_ns"][row]
        for host in told:
            got = {
                table["message"][at]
                for at in of_kind(copy, "AppHs")
                if table["host"][at] == f"h{host}" and (table["receive_ns"][at] or send_ns + 1) <= send_ns
            }
            sent = [
                copy.events["message"][at]
                for at in broadcast
                if copy.events["node"][at] == f"h{host}" and copy.events["time_ns"][at] <= send_ns
            ]
            if sent and sent[-1] not in got:
                for other in of_kind(copy, "AckC"):
                    if (table["sender"][other], table["send_ns"][other]) == (table["sender"][row], send_ns):
                        say(copy, other, seq_h=told | {host: len(sent)})
                return
    raise AssertionError("all that was broadcast has come")


@edit("has acknowledged", "disk", "power", "vcube")
def an_acknowledgement_takes_back(copy: Copy) -> None:
    rows = of_kind(copy, "AckC")
    row = next(row for row in rows[20:] if copy.messages["fate"][row] != "received")
    send_ns = copy.messages["send_ns"][row]
    for other in rows:
        if copy.messages["send_ns"][other] == send_ns:
            say(copy, other, seq_h=dict.fromkeys(said(copy, other)["seq_h"], 0))


@edit("it was told that they got through", "disk", "power", "vcube")
def an_sbuffer_shrinks_later(copy: Copy) -> None:
    rows, samples = sampled(copy, "h0", "sbuffer"), copy.samples
    for before, row, after in zip(rows[10:], rows[11:], rows[12:], strict=False):
        falls = samples["value"][row] < samples["value"][before]
        if falls and samples["time_ns"][after] - samples["time_ns"][row] > 60_000_000:
            samples["time_ns"][row] += 40_000_000
            return resort(copy)
    raise AssertionError("none shrinks")


@edit("knew by", "disk", "fast")
def a_copy_of_an_old_message(copy: Copy) -> None:
    rows, seen = of_kind(copy, "AppHs"), set()
    for row in rows:
        name = copy.messages["message"][row]
        if name in seen and copy.messages["send_ns"][row] > 8_000_000_000:
            copy.messages["message"][row] = f"{copy.messages['host'][row]}:0"
            return
        if copy.messages["fate"][row] == "received":
            seen.add(name)


@edit("first_seq is", "disk", "power", "vcube")
def a_join_counts_from_another_number(copy: Copy) -> None:
    for row in of_kind(copy, "Join"):
        say(copy, row, first_seq=said(copy, row)["first_seq"] + 4)


@edit("the next position is", "disk", "power", "vcube")
def a_host_acknowledges_less(copy: Copy) -> None:
    rows = [row for row in of_kind(copy, "AckH") if copy.messages["host"][row] == "h0"]
    say(copy, rows[30], nxt=said(copy, rows[5])["nxt"] - 1)


# --- what comes in at stations


@edit("begins with number", "disk", "power")
def hosts_acknowledge_the_start(copy: Copy) -> None:
    starts: dict[tuple[Any, Any], int] = {}
    for row in of_kind(copy, "AckH"):
        say(copy, row, nxt=starts.setdefault(about(copy, row), said(copy, row)["nxt"]))


@edit("comes in there as number", "disk", "power")
def a_cell_has_other_numbers(copy: Copy) -> None:
    """Two messages that came over the wires right after each other, as far as no delivery tells them apart."""
    for row in of_kind(copy, "AppSh"):
        say(copy, row, number=said(copy, row)["number"] + 1)
    for row in of_kind(copy, "InitAck"):
        told = said(copy, row)
        say(copy, row, start=told["start"] + 1, base=told["base"] + 1, skip=[number + 1 for number in told["skip"]])
    for row in of_kind(copy, "AppCo"):
        say(copy, row, number=said(copy, row)["number"] + 1)
    for row in [*of_kind(copy, "AckH", "Init"), *of_kind(copy, "Req1", medium="wired")]:
        if not said(copy, row).get("join"):
            say(copy, row, nxt=said(copy, row)["nxt"] + 1)


@edit("begins with message number", "disk", "power")
def a_station_remembers_what_it_forgot(copy: Copy) -> None:
    rows = sampled(copy, "s2", "sbuffer")
    row = next(row for row in rows[40:] if copy.samples["value"][row] > 2)
    copy.samples["value"][row] -= 1


@edit("a copy of", "disk")
def a_station_repeats_what_all_have(copy: Copy) -> None:
    first: dict[str, tuple[str, str]] = {}
    seen: set[tuple[str, str]] = set()
    table = copy.messages
    delivered = {tuple(copy.events[name][row] for name in ("node", "time_ns")) for row in copy.rows("deliver")}
    last_ns = -1
    for row in of_kind(copy, "AppSh"):
        sender, name, send_ns = (table[column][row] for column in ("sender", "message", "send_ns"))
        first.setdefault(sender, (name, table["detail"][row]))
        rows = [at for at in of_kind(copy, "AppSh") if (table["sender"][at], table["send_ns"][at]) == (sender, send_ns)]
        has_effect = any(
            node == table["receiver"][at] and abs(at_ns - (table["receive_ns"][at] or 0)) < 2000
            for at in rows
            for node, at_ns in delivered
        )
        if send_ns > 9_000_000_000 and (sender, name) in seen and send_ns != last_ns and not has_effect:
            for at in rows:
                table["message"][at], table["detail"][at] = first[sender]
            return
        seen.add((sender, name))
        last_ns = send_ns


# --- joins and handoffs


def on_wires(copy: Copy, kind: str) -> list[int]:
    return of_kind(copy, kind, medium="wired")


@edit("and its host was given none such", "disk", "power", "vcube")
def a_cookie_of_nobody(copy: Copy) -> None:
    for row in of_kind(copy, "Join"):
        if "cookie" in said(copy, row):
            say(copy, row, cookie=said(copy, row)["cookie"] + 50)


@edit("was given to somebody else", "disk", "power", "vcube")
def all_cookies_are_one(copy: Copy) -> None:
    for row in of_kind(copy, "Join", "Chal"):
        if "cookie" in said(copy, row):
            say(copy, row, cookie=1)


@edit("no host asks that station for such a session", "disk", "fast")
def requests_of_another_station(copy: Copy) -> None:
    for row in on_wires(copy, "Req1"):
        say(copy, row, source=(said(copy, row)["source"] + 1) % 3)


@edit("no host asks that station for such a session", "disk", "fast")
def requests_that_are_joins(copy: Copy) -> None:
    for row in on_wires(copy, "Req1"):
        say(copy, row, join=True)


@edit("no station has given the host up before", "fast")
def a_station_says_that_it_gave_up_early(copy: Copy) -> None:
    row = on_wires(copy, "Rsp1")[0]
    for other in on_wires(copy, "Rsp1"):
        if about(copy, other) == about(copy, row):
            say(copy, other, expired=True)


@edit("and its station was told", "disk", "fast")
def a_station_is_told_of_other_numbers(copy: Copy) -> None:
    for row in on_wires(copy, "Rsp1"):
        say(copy, row, seq_h=max(0, said(copy, row)["seq_h"] - 5))


@edit("have not come in at its sender in this order", "disk", "fast")
def a_list_is_the_other_way_round(copy: Copy) -> None:
    for row in on_wires(copy, "Rsp1"):
        say(copy, row, undelivered=said(copy, row)["undelivered"][::-1])
    for row in on_wires(copy, "Req2"):
        say(copy, row, wanted=said(copy, row)["wanted"][::-1])
    for row in on_wires(copy, "Rsp2"):
        say(copy, row, bodies=said(copy, row)["bodies"][::-1])


@edit("no Rsp1 has offered that", "disk")
def a_station_wants_what_nobody_offered(copy: Copy) -> None:
    row = next(row for row in on_wires(copy, "Req2") if said(copy, row)["wanted"])
    name = next(copy.events["message"][at] for at in copy.rows("broadcast"))
    for other in on_wires(copy, "Req2"):
        if about(copy, other) == about(copy, row):
            say(copy, other, wanted=[name, *said(copy, other)["wanted"][1:]])


@edit("no Req2 has asked for just that", "disk")
def bodies_in_another_order(copy: Copy) -> None:
    for row in on_wires(copy, "Rsp2"):
        say(copy, row, bodies=said(copy, row)["bodies"][::-1])


# --- lists


@edit("is left for that", "disk", "power", "vcube")
def lists_are_measured_later(copy: Copy) -> None:
    for row, quantity in enumerate(copy.samples["quantity"]):
        if quantity == "md" and copy.samples["time_ns"][row] < 12_000_000_000:
            copy.samples["time_ns"][row] += 300_000_000
    resort(copy)


@edit("is left for that", "disk", "power", "vcube")
def lengths_exchanged(copy: Copy) -> None:
    values = copy.samples["value"]
    rows = [row for row, quantity in enumerate(copy.samples["quantity"]) if quantity == "acks"]
    one, other = next((a, b) for a in rows for b in rows if values[a] != values[b])
    values[one], values[other] = values[other], values[one]


@edit("with as many leaves it then", "disk", "fast")
def lengths_on_wires_exchanged(copy: Copy) -> None:
    values = copy.samples["value"]
    for quantity in ("undelivered", "wanted", "new_ids"):
        rows = [row for row, name in enumerate(copy.samples["quantity"]) if name == quantity]
        if (pair := next(((a, b) for a in rows for b in rows if values[a] != values[b]), None)) is not None:
            values[pair[0]], values[pair[1]] = values[pair[1]], values[pair[0]]
            return


@edit("which delivers it later", "many")
def a_message_names_a_host_that_lacks_it(copy: Copy) -> None:
    table = copy.messages
    at_ns = {(copy.events["message"][row], copy.events["node"][row]): copy.events["time_ns"][row]
             for row in copy.rows("deliver")}  # fmt: skip
    for row in of_kind(copy, "AppSh"):
        listed = said(copy, row)["delivered"]
        for host in range(6) if listed else ():
            if at_ns.get((table["message"][row], f"h{host}"), 0) > table["send_ns"][row]:
                key = table["sender"][row], table["send_ns"][row]
                for other in of_kind(copy, "AppSh"):
                    if (table["sender"][other], table["send_ns"][other]) == key:
                        say(copy, other, delivered=[host, *listed[1:]])
                return
    raise AssertionError("whoever is not named has it")


# --- without messages


@edit("when it is not asked to and its sbuffer does not empty", "disk", "bare")
def a_host_leaves_later(copy: Copy) -> None:
    row = copy.rows("leave")[0]
    copy.events["time_ns"][row] += 50_000 if "messages" in copy.optional else 100_000


@edit("reinit", "disk", "bare")
def a_cell_change_is_said_to_be_a_reinit(copy: Copy) -> None:
    row = next(row for row in copy.rows("handoff_start") if '"cell"' in copy.events["detail"][row])
    copy.events["detail"][row] = '{"cause": "reinit"}'


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
    assert "record" not in accused(verify_run(tmp_path / "run"))

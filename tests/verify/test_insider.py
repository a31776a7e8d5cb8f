"""Whoever edits a record and renews its checksums and counts is caught by what the scenario and the rest of the
record say.

Model     each edit is made in a run that was really recorded, as carefully as somebody would who knows the format:
          what would be noticed before is changed along. `caught by`: the property that has to be violated
Source    ours: docs/verdicts-and-metrics.md
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from math import hypot
from pathlib import Path
from typing import Any

import pytest

import mobilenet
from mobilenet.expected.by_kind import expectations_of
from mobilenet.rundir.reader import RunError, read_coded, read_json
from mobilenet.scenario import Scenario
from mobilenet.scenario.run_source import read_source
from mobilenet.swarm.campaign import record_adversary
from mobilenet.swarm.schedule import draw
from mobilenet.verify import verify_run
from mobilenet.verify.judge import overall
from mobilenet.verify.record.needed import needed_problem
from tests.conftest import SCENARIOS

from .damage import SCENARIO, Copy, Edits, Runs, verdicts_after
from .test_gaps import SILENT_HOSTS

TRACKS = """
duration_s: 30
stations: {layout: {shape: points, points_m: [[0, 0], [130, 0]]}}
wireless: {range_m: 80}
hosts: {mobility: {model: tracks, file: tracks.csv}}
protocol: {name: mobile_causal}
workload: {interval_s: 1}
record: {positions_interval_s: 0.5}
"""


def _walk() -> Iterator[str]:
    """To and fro between the stations, some from later on, one not to the end."""
    for host, (begin, end, ahead) in enumerate([(0, 40, 0), (0, 40, 30), (4, 40, 180), (6.5, 40, 90), (2, 20, 120)]):
        t = begin
        while t <= end:
            yield f"{t},walker{host},{abs((ahead + 7 * t) % 260 - 130) if host else 7 * t - 130},{5 * host}"
            t += 0.5


def tracks_in(folder: Path) -> Path:
    """The scenario of these walkers, written there."""
    (folder / "tracks.csv").write_text("t,id,x,y\n" + "\n".join(_walk()) + "\n")
    scenario = folder / "tracks.yaml"
    scenario.write_text(TRACKS)
    return scenario


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    place = tmp_path_factory.mktemp("runs")

    def radio(name: str, text: str, *changes: str) -> None:
        mobilenet.run(Scenario.from_text(text, list(changes)), out=place / name)

    radio("mobile", SCENARIO, "warmup_s=5")
    radio("steady", SCENARIO, "churn=null", "faults=null")
    few = "workload={arrivals: explicit, messages: [{host: h0, at_s: 3}, {host: h1, at_s: 15}]}"
    radio("rare", SCENARIO, "churn=null", few)
    radio("rim", SCENARIO, "churn=null", "faults=null", "wireless.range_m=70", "hosts.count=40", few)
    away = "{at_s: 5.05, do: drag, host: h4, to_m: [400, 0]}, {at_s: 9.05, do: drag, host: h4, to_m: [0, 0]}"
    radio("away", SCENARIO, "churn=null", "faults=null", f"interventions=[{away}]")
    radio("tcp", SCENARIO, "protocol={name: tcp_flooding}")
    radio("silent", SILENT_HOSTS)
    radio("expiring", SILENT_HOSTS, "record.messages=false")
    mobilenet.run(tracks_in(tmp_path_factory.mktemp("tracks")), out=place / "tracks")
    gossip = SCENARIOS / "own_protocol" / "gossip.yaml"
    mobilenet.run(gossip, out=place / "gossip", overrides=["duration_s=10", "hosts.count=8"], allow_code=True)
    (place / "adversary").mkdir()
    record_adversary(draw(8, "mixed"), place / "adversary")
    return {path.name: path for path in place.iterdir()}


def test_as_they_were_recorded_all_are_valid(runs: Runs) -> None:
    for path in runs.values():
        assert overall(verify_run(path)) == "valid", path


edit = Edits()


@pytest.mark.parametrize(("how", "name"), edit.all)
def test_an_edit_is_caught(how: str, name: str, runs: Runs, tmp_path: Path) -> None:
    edit.require_caught(how, name, runs, tmp_path)


@edit("record", "mobile")
def a_silence_longer_than_time(copy: Copy) -> None:
    copy.insert(copy.last("deliver"), node="s0", event="expire", detail='{"host": "h1", "silent_s": 1e300}')


def change(copy: Copy, row: int, **values: Any) -> None:
    for name, value in values.items():
        copy.events[name][row] = value


def own(copy: Copy, node: str, since: int = 0) -> list[int]:
    """All rows of a node."""
    return [row for row in copy.events.where(node=node) if row >= since]


def exchange_station(copy: Copy, row: int) -> None:
    """The event is of the other one of two stations."""
    copy.events.station[row] = "s1" if copy.events.station[row] == "s0" else "s0"


def sessions_from(copy: Copy, node: str, since: int, add: int) -> None:
    """The sessions of a host from a row on, all of them, become others."""
    for row in own(copy, node, since):
        if copy.events.session[row] is not None:
            copy.events.session[row] += add


def handed_over(copy: Copy, place: int = 0) -> tuple[str, int, int]:
    """A host whose handoff ends and which then delivers, in that session; the rows of both."""
    handoffs = []
    for end in copy.rows("handoff_end"):
        after = own(copy, copy.events.node[end], end + 1)
        if after and copy.events.event[after[0]] == "deliver":
            handoffs.append((copy.events.node[end], end, after[0]))
    return handoffs[place]


def forget(copy: Copy, rows: list[int], *events: str) -> None:
    """Those of the rows that tell of such events are taken out."""
    copy.remove(*(row for row in rows if copy.events.event[row] in events))


def quiet_host(copy: Copy) -> str:
    """One that is a member from its first join to the end, and never crashes."""
    return next(
        host for host in sorted(set(copy.events.node))
        if host[0] == "h" and len(copy.rows("join", host)) == 1 and not copy.rows("leave",
        host) and not copy.rows("crash", host)
    )  # fmt: skip


# --- 1: no host joins or leaves unasked


@edit("membership", "mobile steady tcp gossip silent tracks")
def leaves_at_the_end_unasked(copy: Copy) -> None:
    host = quiet_host(copy)
    sessions = [s for n, s in copy.events.each("node", "session") if n == host and s is not None]
    times = copy.events.time_ns
    copy.events.insert(len(times), time_ns=times[-1], node=host, event="leave", session=max(sessions) + 1)


@edit("membership", "mobile")
def leaves_before_it_was_asked(copy: Copy) -> None:
    """h3, asked at 12 s, is gone at 10 s already: it delivers nothing any more, and refuses."""
    early = copy.after(10e9)
    copy.move(copy.first("leave", "h3"), early)
    sent = []
    for row in reversed([row for row in own(copy, "h3", early) if copy.events.time_ns[row] < 12.5e9]):
        if copy.events.event[row] == "broadcast":
            sent.append(copy.events.message[row])
            change(copy, row, event="refused", message=None, detail='{"cause": "not a member"}')
        elif copy.events.event[row] in ("deliver", "handoff_start", "handoff_end"):
            copy.remove(row)
    copy.remove(*(row for row in copy.rows("deliver") if copy.events.message[row] in sent))


@edit("membership", "mobile")
def joins_again_before_it_was_asked(copy: Copy) -> None:
    copy.move(copy.rows("join", "h2")[1], copy.after(9.5e9))


@edit("membership", "steady tcp")
def leaves_and_joins_again_at_once(copy: Copy) -> None:
    """What it was owed until then it need not deliver any more."""
    host, end, delivery = handed_over(copy)
    session, station = copy.events.session[end], copy.events.station[end]
    sessions_from(copy, host, end + 1, 2)
    for event, more in (("join", 2), ("leave", 1)):
        copy.insert(
            delivery, node=host, event=event, session=session + more, station=station if event == "join" else None
        )


@edit("membership", "tracks")
def leaves_long_before_its_track_ends(copy: Copy) -> None:
    left = copy.first("leave")
    copy.move(left, copy.first("join", copy.events.node[left]) + 1)


@edit("record", "tracks")
def is_there_before_its_track_begins(copy: Copy) -> None:
    first = max(own(copy, host)[0] for host in set(copy.events.node) if host[0] == "h")
    assert copy.events.time_ns[first] > 1e9
    copy.move(first, 3)


@edit("membership", "steady tcp")
def never_joins(copy: Copy) -> None:
    """All that it did as a member is taken out, and its application is refused."""
    host = quiet_host(copy)
    forget(copy, own(copy, host), "join", "deliver", "handoff_start", "handoff_end", "gap")
    refuse(copy, copy.rows("broadcast", host))


@edit("membership", "mobile")
def never_joins_again(copy: Copy) -> None:
    """h2, asked to leave and to join again: what it did in its second membership is taken out."""
    again = copy.rows("join", "h2")[1]
    forget(copy, own(copy, "h2", again), "join", "deliver", "handoff_start", "handoff_end")
    refuse(copy, [row for row in copy.rows("broadcast", "h2") if row >= again])


@edit("membership", "mobile")
def never_leaves(copy: Copy) -> None:
    """h3, whose leave is taken out; what it misses then is another matter."""
    copy.remove(copy.first("leave", "h3"))


# --- 2: sessions


@edit("membership", "steady tcp adversary")
def sessions_go_back(copy: Copy) -> None:
    host, *_ = handed_over(copy)
    sessions_from(copy, host, copy.last("handoff_start", host), -1)


@edit("membership", "steady tcp adversary")
def sessions_are_shifted_from_one_handoff_on(copy: Copy) -> None:
    host, *_ = handed_over(copy)
    sessions_from(copy, host, copy.last("handoff_start", host), 5)


@edit("membership", "mobile")
def sessions_begin_anew_in_a_second_membership(copy: Copy) -> None:
    second = copy.rows("join", "h2")[1]
    sessions_from(copy, "h2", second, 1 - copy.events.session[second])


@edit("membership", "steady tcp adversary")
def a_handoff_ends_with_another_station_than_it_began_with(copy: Copy) -> None:
    """One that nothing is delivered in."""
    end = next(
        row
        for row in copy.rows("handoff_end")
        if (after := own(copy, copy.events.node[row], row + 1)) and copy.events.event[after[0]] != "deliver"
    )
    exchange_station(copy, end)


@edit("record", "steady tcp adversary gossip")
def deliveries_without_sessions(copy: Copy) -> None:
    for row in copy.rows("deliver", quiet_host(copy)):
        copy.events.session[row] = None


@edit("record", "steady tcp adversary")
def a_delivery_in_the_session_before(copy: Copy) -> None:
    _, _, delivery = handed_over(copy)
    copy.events.session[delivery] -= 1


# --- 3: deliveries within handoffs, out of coverage, with another station


@edit("membership", "steady adversary")
def delivers_within_a_handoff(copy: Copy) -> None:
    """The first delivery after a handoff comes before its end, in the session before, with either station."""
    host, end, delivery = handed_over(copy)
    confirmed = [row for row in own(copy, host) if row < end and copy.events.event[row] in ("join", "handoff_end")][-1]
    change(copy, delivery, session=copy.events.session[confirmed])
    copy.move(delivery, end)


@edit("membership", "steady mobile adversary")
def delivers_out_of_coverage(copy: Copy) -> None:
    host, end, delivery = handed_over(copy)
    change(copy, delivery, station=None)
    copy.insert(
        delivery + 1, node=host, event="in_coverage", station=copy.events.station[end] if own_cells(copy) else None
    )
    copy.insert(delivery, node=host, event="out_of_coverage")


def own_cells(copy: Copy) -> bool:
    return any(copy.events.station[row] for row in copy.rows("in_coverage"))


@edit("record", "steady tcp gossip")
def delivers_with_a_station_out_of_coverage(copy: Copy) -> None:
    delivery = copy.rows("deliver")[40]
    host, station = copy.events.node[delivery], copy.events.station[delivery]
    copy.insert(delivery + 1, node=host, event="in_coverage", station=station)
    copy.insert(delivery, node=host, event="out_of_coverage")


@edit("record", "steady tcp gossip")
def delivers_in_no_cell_within_coverage(copy: Copy) -> None:
    copy.events.station[copy.rows("deliver")[40]] = None


@edit("record", "adversary")
def delivers_with_a_station_where_none_is_told(copy: Copy) -> None:
    copy.events.station[copy.rows("deliver")[5]] = "s0"


@edit("membership", "steady mobile tracks")
def delivers_with_another_station(copy: Copy) -> None:
    row = copy.rows("deliver")[40]
    exchange_station(copy, row)


@edit("membership", "tcp")
def delivers_with_a_station_that_it_has_nothing_to_do_with(copy: Copy) -> None:
    host = quiet_host(copy)
    begun = copy.rows("handoff_start", host)
    row = next(row for row in copy.rows("deliver", host) if not begun or row < begun[0])
    exchange_station(copy, row)


@edit("record", "gossip")
def delivers_with_a_station_far_away(copy: Copy) -> None:
    row = copy.rows("deliver")[40]
    copy.events.station[row] = "s2" if copy.events.station[row] != "s2" else "s0"


@edit("record", "tcp")
def all_deliveries_of_a_host_are_with_one_station(copy: Copy) -> None:
    """As if it had never changed cells."""
    host = quiet_host(copy)
    assert len({copy.events.station[row] for row in copy.rows("deliver", host)}) > 1
    joined = copy.first("join", host)
    for row in reversed(own(copy, host)):
        event = copy.events.event[row]
        if event in ("handoff_start", "handoff_end", "out_of_coverage") or event == "in_coverage" and row > joined:
            copy.remove(row)
        elif event == "deliver":
            change(copy, row, station=copy.events.station[joined], session=copy.events.session[joined])


# --- 4: what was recovered and skipped


def the_first_end_says(copy: Copy, **values: Any) -> None:
    copy.events.say(copy.first("handoff_end"), **values)


EVERY_END = "steady tracks adversary"
for _runs, _values in (
    (EVERY_END, {"recovered": -1}),
    (EVERY_END, {"recovered": 1.5}),
    (EVERY_END, {"recovered": "2"}),
    ("steady tracks", {"recovered": 9}),
    (EVERY_END, {"recovered": 10**6}),
    (EVERY_END, {"skipped": -1}),
    (EVERY_END, {"skipped": True}),
    ("steady tracks", {"skipped": 71}),
    (EVERY_END, {"skipped": 10**6}),
    (EVERY_END, {"healed": 1}),
):
    edit.add(f"handoff_end says {json.dumps(_values)}", "record", _runs, partial(the_first_end_says, **_values))


@edit("record", "steady adversary")
def a_handoff_tells_nothing(copy: Copy) -> None:
    copy.events.detail[copy.first("handoff_end")] = None


@edit("record", "tcp")
def a_handoff_tells_what_the_protocol_does_not(copy: Copy) -> None:
    copy.events.say(copy.first("handoff_end"), recovered=1)


@edit("record", "steady tcp adversary")
def a_handoff_without_a_cause(copy: Copy) -> None:
    copy.events.detail[copy.first("handoff_start")] = None


@edit("record", "steady tcp adversary")
def a_handoff_of_a_host_that_did_not_recover(copy: Copy) -> None:
    row = next(row for row in copy.rows("handoff_start") if "cell" in copy.events.detail[row])
    copy.events.say(row, cause="recovery")


@edit("record", "adversary")
def more_recovered_than_is_delivered(copy: Copy) -> None:
    """In the last session of a host, that lasts until the run is at rest."""
    ends = {copy.events.node[row]: row for row in copy.rows("handoff_end")}

    def deliveries(host: str) -> int:
        return len([row for row in copy.rows("deliver", host) if row > ends[host]])

    host = min(ends, key=deliveries)
    copy.events.say(ends[host], recovered=1 + deliveries(host))


# --- 5: the station of a join


@edit("membership", "steady mobile")
def joins_with_another_station_and_delivers_with_its_own(copy: Copy) -> None:
    row = copy.first("join", quiet_host(copy))
    exchange_station(copy, row)


@edit("record", "steady tcp tracks")
def joins_with_a_station_that_is_too_far_away(copy: Copy) -> None:
    """All that follows is with that station as well."""
    stations = copy.manifest["station_positions_m"]
    last: dict[str, list[tuple[int, float, float]]] = {}
    for time, node, x, y in copy.positions.each("time_ns", "node", "x_m", "y_m"):
        last.setdefault(node, []).append((time, x, y))

    def distance(row: int, station: int) -> float:
        time, host = copy.events.time_ns[row], copy.events.node[row]
        _, x, y = min(last[host], key=lambda place: abs(place[0] - time))
        sx, sy = stations[station]
        return hypot(x - sx, y - sy)

    pairs = [(distance(row, station), row, station) for row in copy.rows("join") for station in range(len(stations))]
    _, row, station = max(pairs)
    copy.events.station[row] = f"s{station}"


@edit("record", "tracks")
def comes_into_a_cell_that_is_not_the_nearest(copy: Copy) -> None:
    """The host with the number 2 appears where both are in range."""
    copy.events.station[copy.first("in_coverage", "h2")] = "s0"


@edit("record", "tracks")
def comes_into_coverage_too_early(copy: Copy) -> None:
    """h0 begins 130 m away from its station."""
    row = copy.first("in_coverage", "h0")
    assert copy.events.time_ns[row] > 5e9
    copy.move(row, copy.after(3e9))


# --- 6: broadcasts that are refused, and those that are not


def without(copy: Copy, message: str) -> None:
    copy.remove(*copy.events.where(event="deliver", message=message))


def refuse(copy: Copy, broadcasts: list[int], cause: str = "not a member") -> None:
    """The hosts refuse these broadcasts, and no host delivers them."""
    for row in reversed(broadcasts):
        message = copy.events.message[row]
        change(copy, row, event="refused", message=None, detail=json.dumps({"cause": cause}))
        without(copy, message)


@edit("membership", "steady tcp mobile")
def a_broadcast_is_refused_by_a_member(copy: Copy) -> None:
    refuse(copy, copy.rows("broadcast", quiet_host(copy))[-1:])


@edit("record", "steady tcp mobile gossip")
def a_broadcast_is_refused_by_a_host_that_is_up(copy: Copy) -> None:
    refuse(copy, copy.rows("broadcast", quiet_host(copy))[-1:], "down")


@edit("record", "steady tcp gossip")
def a_broadcast_that_nobody_told_of(copy: Copy) -> None:
    row = copy.last("broadcast", quiet_host(copy))
    message = copy.events.message[row]
    copy.remove(row)
    without(copy, message)


@edit("record", "steady tcp gossip tracks")
def a_broadcast_a_little_later(copy: Copy) -> None:
    """So delays are shorter."""
    times = copy.events.time_ns
    row = copy.rows("broadcast")[3]
    later = next(after for after in range(row, len(times)) if times[after] > times[row])
    times[row:later] = [times[later]] * (later - row)  # some deliver it themselves, in the same nanosecond


@edit("record", "mobile")
def a_refusal_left_out(copy: Copy) -> None:
    copy.remove(copy.last("refused"))


@edit("record", "mobile")
def a_refusal_for_another_cause(copy: Copy) -> None:
    row = next(row for row in copy.rows("refused") if "member" in copy.events.detail[row])
    copy.events.detail[row] = '{"cause": "down"}'


@edit("record", "mobile")
def a_refusal_for_no_cause(copy: Copy) -> None:
    copy.events.detail[copy.first("refused")] = '{"cause": "no wish to"}'


@edit("membership", "mobile")
def a_refusal_becomes_a_broadcast(copy: Copy) -> None:
    """h3 left for good; the message is owed only to members, so no host delivers it before it leaves."""
    row = copy.last("refused", "h3")
    change(copy, row, event="broadcast", message=f"h3:{len(copy.rows('broadcast', 'h3'))}", detail=None)


@edit("membership", "mobile")
def a_broadcast_long_after_it_was_asked_to_leave(copy: Copy) -> None:
    """h3 goes on as if it was a member, for a second."""
    row = next(row for row in copy.rows("refused", "h3") if copy.events.time_ns[row] > 12.2e9)
    left = copy.first("leave", "h3")
    change(copy, row, event="broadcast", message=f"h3:{len(copy.rows('broadcast', 'h3'))}", detail=None)
    copy.repeat(left, row + 1)
    copy.remove(left)


@edit("record", "steady mobile tcp")
def a_crash_that_nobody_planned(copy: Copy) -> None:
    """It is up again at once; handoffs of a host that recovered come along."""
    row = copy.last("deliver", quiet_host(copy))
    for event in ("recover", "crash"):
        copy.insert(row, node=quiet_host(copy), event=event)


@edit("record", "mobile")
def a_crash_left_out(copy: Copy) -> None:
    copy.remove(copy.first("recover", "h1"), copy.first("crash", "h1"))


@edit("record", "rare")
def a_crash_and_all_that_tells_of_it_left_out(copy: Copy) -> None:
    recovery = next(row for row in copy.rows("handoff_start", "h1") if "recovery" in copy.events.detail[row])
    copy.events.detail[recovery] = '{"cause": "reinit"}'
    copy.remove(copy.first("recover", "h1"), copy.first("crash", "h1"))


# --- 7: running totals


def totals(copy: Copy, quantity: str) -> list[int]:
    return copy.samples.where(node="network", quantity=quantity)


@edit("record", "steady tcp gossip")
def a_total_falls(copy: Copy) -> None:
    rows = totals(copy, "radio_frames")
    copy.samples.value[rows[3]] = copy.samples.value[rows[4]] + 1


def at(copy: Copy, time_s: float, quantity: str | None = None) -> None:
    """Without the totals at a moment."""
    rows = copy.samples.where(node="network", time_ns=round(time_s * 1e9))
    chosen = [row for row in rows if quantity in (None, copy.samples.quantity[row])]
    assert chosen
    copy.samples.remove(chosen)


@edit("record", "mobile")
def no_totals_at_the_end_of_the_warmup(copy: Copy) -> None:
    at(copy, 5)


@edit("record", "steady tcp gossip")
def no_totals_at_the_beginning(copy: Copy) -> None:
    at(copy, 0)


@edit("record", "steady tcp tracks")
def no_totals_at_the_end_of_the_active_part(copy: Copy) -> None:
    at(copy, copy.manifest["duration_s"])


@edit("record", "steady tcp")
def no_totals_in_a_second_between(copy: Copy) -> None:
    at(copy, 7)


@edit("record", "steady tcp")
def one_total_is_not_told_at_the_end_of_the_active_part(copy: Copy) -> None:
    at(copy, copy.manifest["duration_s"], "pairs_collision")


@edit("record", "steady")
def control_bytes_that_do_not_add_up(copy: Copy) -> None:
    copy.samples.value[totals(copy, "radio_control_bytes")[5]] += 7


@edit("record", "steady tcp")
def more_addressed_pairs_than_pairs(copy: Copy) -> None:
    values, pairs = copy.samples.value, totals(copy, "pairs_random")
    addressed = totals(copy, "addressed_pairs_random")
    lost = values[pairs[3]]
    for row in pairs[3:6]:
        values[row] = lost
    for row in addressed[3:6]:
        values[row] = lost + 1
    for row in addressed[6:]:
        values[row] += lost + 1


@edit("conservation", "steady mobile")
def bytes_of_one_kind_given_to_another(copy: Copy) -> None:
    kinds = copy.counters["by_message_type"]["station"]
    kinds["AppSh"]["bytes"] -= 10
    kinds["AckC"]["bytes"] += 10


@edit("conservation", "steady adversary")
def bytes_on_the_wire_that_are_in_no_message(copy: Copy) -> None:
    copy.counters["by_message_type"]["wired"]["App"]["bytes"] += 100


@edit("conservation", "steady tcp")
def bytes_of_no_message(copy: Copy) -> None:
    kinds = copy.counters["by_message_type"]["host"]
    name = next(iter(kinds))
    kinds["Nothing"] = {"count": 0, "bytes": 50, "control_bytes": 50}
    kinds[name]["bytes"] -= 50
    kinds[name]["control_bytes"] -= 50


# --- 8: places


def places(copy: Copy, node: str) -> list[int]:
    return copy.positions.where(node=node)


@edit("record", "steady tcp gossip tracks")
def a_host_is_elsewhere_for_a_second(copy: Copy) -> None:
    copy.positions.x_m[places(copy, quiet_host(copy))[4]] += 30


def a_place_is(copy: Copy, value: float) -> None:
    copy.positions.y_m[places(copy, "h1")[2]] = value


for _value in (float("nan"), float("inf")):
    edit.add(f"a place that is {_value}", "record", "steady tcp gossip tracks", partial(a_place_is, value=_value))


@edit("record", "steady tcp gossip tracks")
def a_station_is_elsewhere(copy: Copy) -> None:
    copy.positions.x_m[places(copy, "s1")[0]] += 1


@edit("record", "steady gossip")
def a_station_is_nowhere(copy: Copy) -> None:
    copy.positions.remove(places(copy, "s1")[:1])


@edit("record", "steady gossip tracks")
def a_place_left_out(copy: Copy) -> None:
    copy.positions.remove([places(copy, quiet_host(copy))[4]])


@edit("record", "steady")
def the_last_places_left_out(copy: Copy) -> None:
    copy.positions.remove(row for row, time in enumerate(copy.positions.time_ns) if time > 12e9)


@edit("record", "steady gossip")
def a_host_of_another_scenario(copy: Copy) -> None:
    copy.positions.insert(0, time_ns=0, node="h99", x_m=0.0, y_m=0.0)


@edit("record", "steady mobile tcp gossip tracks")
def a_host_is_half_a_metre_aside_all_the_time(copy: Copy) -> None:
    for row in places(copy, "h1"):
        copy.positions.x_m[row] += 0.5


@edit("record", "steady tracks")
def a_host_goes_straight_on_where_it_turned(copy: Copy) -> None:
    rows = places(copy, "h1")
    first, last = rows[5], rows[9]
    for column in ("x_m", "y_m"):
        values = copy.positions[column]
        for n, row in enumerate(rows[5:9]):
            values[row] = values[first] + (values[last] - values[first]) * n / 4
    copy.positions.x_m[rows[7]] += 0.01


# --- 10: what was given up


@edit("delivery", "silent")
def all_deliveries_of_what_hosts_said_before_a_gap(copy: Copy) -> None:
    """Gaps excuse what their hosts missed; what they said themselves they keep."""
    last = {copy.events.node[row]: row for row in copy.rows("gap")}
    assert last
    messages = {copy.events.message[row] for row in copy.rows("broadcast") if row < last.get(copy.events.node[row], 0)}
    assert len(messages) >= 10
    copy.remove(*(row for row in copy.rows("deliver") if copy.events.message[row] in messages))


LOOKS_NS = 3_000_000_000 // 8  # a station gives up at a multiple of that


@edit("gaps", "silent")
def a_host_that_talks_is_given_up(copy: Copy) -> None:
    """With a gap behind it, which would excuse what the host missed."""
    rows = [row for row in copy.rows("deliver") if copy.events.message[row].split(":")[0] == "h4"
            and copy.events.node[row] != "h4"]  # fmt: skip
    row = rows[len(rows) // 2]
    now_ns = (copy.events.time_ns[row] // LOOKS_NS + 1) * LOOKS_NS
    before = [r for r in own(copy, "h4") if r < row and copy.events.event[r] in ("join", "handoff_end")][-1]
    station = copy.events.station[before]
    copy.insert_at(now_ns, node=station, event="expire", detail='{"host": "h4", "silent_s": 3.0}')


def given_up_later(copy: Copy, later_ns: int) -> None:
    """The first host that a station gives up, so much later."""
    row = copy.first("expire")
    copy.events.add(row, silent_s=later_ns / 1e9)
    copy.shift(row, copy.events.time_ns[row] + later_ns)


@edit("gaps", "silent")
def a_host_is_given_up_at_the_second_look(copy: Copy) -> None:
    given_up_later(copy, LOOKS_NS)


@edit("gaps", "silent")
def a_host_is_given_up_between_two_looks(copy: Copy) -> None:
    given_up_later(copy, 1000)


@edit("gaps", "silent")
def a_host_is_given_up_twice(copy: Copy) -> None:
    row = copy.first("expire")
    copy.repeat(row, row)
    given_up_later(copy, LOOKS_NS)


@edit("gaps", "silent")
def a_host_that_is_said_to_have_been_forgotten(copy: Copy) -> None:
    """That excuse needs a host that joins again, and stations never forget hosts here."""
    gap = copy.first("gap")
    host = copy.events.node[gap]
    begun = [row for row in copy.rows("handoff_start", host) if row < gap][-1]
    change(copy, begun, detail='{"cause": "join"}')
    copy.move(gap, begun)


# --- 11: coverage


def at_a_tick(copy: Copy, host: str, after_s: float) -> tuple[int, int]:
    """The first event after some tick at which the host has no event of its own: its row, and the tick."""
    tick_ns = round(after_s * 1e9)
    while any(copy.events.node[row] == host for row in rows_at(copy, tick_ns, tick_ns + 200_000_000)):
        tick_ns += 200_000_000
    return copy.after(tick_ns), tick_ns


def rows_at(copy: Copy, begin_ns: int, end_ns: int) -> list[int]:
    return [row for row, time in enumerate(copy.events.time_ns) if begin_ns <= time <= end_ns]


@edit("record", "rare")
def a_visit_to_another_cell_left_out(copy: Copy) -> None:
    """The host delivers what it delivered there when it is back, so it never was with another station."""
    visits = []
    for host in {copy.events.node[row] for row in copy.rows("handoff_end")}:
        rows = own(copy, host)
        what = [copy.events.event[row] for row in rows]
        at = [i for i, event in enumerate(what) if event in ("handoff_start", "handoff_end")]
        for a, b, c, d in zip(at, at[1:], at[2:], at[3:], strict=False):
            is_whole = [what[i] for i in (a, b, c, d)] == ["handoff_start", "handoff_end"] * 2
            if is_whole and set(what[a : d + 1]) <= {"handoff_start", "handoff_end", "deliver"}:
                before = [copy.events.station[row] for row in rows[:a] if copy.events.station[row] is not None]
                if before and before[-1] == copy.events.station[rows[d]]:
                    visits.append((host, rows[a], rows[b], rows[c], rows[d]))
    host, *gone = min(visits)
    first, last = gone[0], gone[-1]
    back = {"station": copy.events.station[last], "session": copy.events.session[last] - 2}
    sessions_from(copy, host, last, -2)
    late = [row for row in copy.rows("deliver", host) if first < row < last]
    end_ns = copy.events.time_ns[last]
    for place, row in enumerate(late, last + 1):
        copy.insert(place, **copy.events.row(row) | back | {"time_ns": end_ns})
    copy.remove(*gone, *late)


@edit("record", "steady tcp gossip tracks")
def a_host_in_the_middle_of_a_cell_is_said_to_be_nowhere(copy: Copy) -> None:
    host, tick_ns, station = next(
        (node, at_ns, station)
        for node, at_ns, x, y in copy.positions.each("node", "time_ns", "x_m", "y_m")
        for station, (a, b) in enumerate(copy.manifest["station_positions_m"])
        if node[0] == "h" and 3e9 < at_ns < 15e9 and hypot(x - a, y - b) < copy.manifest["range_m"] / 2
    )
    copy.insert_at(tick_ns, node=host, event="out_of_coverage")
    copy.insert_at(tick_ns, node=host, event="in_coverage", station=f"s{station}")


@edit("record", "away")
def an_absence_left_out(copy: Copy) -> None:
    out = copy.first("out_of_coverage")
    host = copy.events.node[out]
    copy.remove(out, next(row for row in copy.rows("in_coverage", host) if row > out))


@edit("record", "rim")
def an_absence_between_two_positions(copy: Copy) -> None:
    """Of a host near the rim of its cell, for a tick."""
    stations_m, rim_m = copy.manifest["station_positions_m"], copy.manifest["range_m"]
    places = copy.positions.each("node", "time_ns", "x_m", "y_m")
    nearest_m = {(node, at_ns): min(hypot(x - a, y - b) for a, b in stations_m)
                 for node, at_ns, x, y in places if node[0] == "h"}  # fmt: skip
    for (host, at_ns), before_m in nearest_m.items():
        both_m = before_m, nearest_m.get((host, at_ns + 10**9), 0)
        tick_ns, until_ns = at_ns + 500_000_000, at_ns + 600_000_000
        rows = own(copy, host)
        quiet = all(not at_ns - 10**9 < copy.events.time_ns[row] < at_ns + 2 * 10**9 for row in rows)
        if quiet and 2e9 < at_ns < 18e9 and rim_m - 4 < min(both_m) and max(both_m) < rim_m - 0.5:
            stations = [copy.events.station[row] for row in rows if copy.events.time_ns[row] < at_ns]
            where = next(name for name in reversed(stations) if name is not None)
            copy.insert_at(until_ns, node=host, event="in_coverage", station=where)
            return copy.insert_at(tick_ns, node=host, event="out_of_coverage")
    raise AssertionError("no host near a rim")


@edit("record", "away")
def a_host_comes_back_between_two_ticks(copy: Copy) -> None:
    row = copy.last("in_coverage")
    before, after = copy.events.time_ns[row - 1], copy.events.time_ns[row]
    assert before < after - 1
    change(copy, row, time_ns=after - 1)


# --- 12: sizes


def sizes_of(copy: Copy, kind: str, quantity: str) -> list[int]:
    pairs = copy.samples.each("node", "quantity")
    return [row for row, (node, what) in enumerate(pairs) if node[0] == kind and what == quantity]


@edit("record", "mobile steady rare tracks")
def stations_keep_three_times_as_much(copy: Copy) -> None:
    for row in sizes_of(copy, "s", "sbuffer"):
        copy.samples.value[row] *= 3


@edit("record", "mobile steady tracks")
def stations_keep_one_message_at_most(copy: Copy) -> None:
    for row in sizes_of(copy, "s", "sbuffer"):
        copy.samples.value[row] = min(1.0, copy.samples.value[row])


@edit("record", "mobile steady rare tracks")
def what_a_station_takes_it_forgets_at_once(copy: Copy) -> None:
    """All hosts would have to acknowledge it in a nanosecond."""
    samples, last, shrunk = copy.samples, dict[str, float](), []
    for row in sizes_of(copy, "s", "sbuffer"):
        time, node, value = samples.at(row, "time_ns", "node", "value")
        if (grown := value - last.get(node, 0.0)) > 0:
            samples.value[row] = grown
            samples.insert(len(samples.node), **samples.row(row) | {"value": 0.0, "time_ns": time + 1})
        elif value:
            shrunk.append(row)
        last[node] = value
    samples.remove(shrunk)
    samples.sort("time_ns")


@edit("record", "mobile steady rare tracks silent")
def hosts_keep_nothing(copy: Copy) -> None:
    for row in sizes_of(copy, "h", "sbuffer"):
        copy.samples.value[row] = 0.0


@edit("record", "steady silent")
def a_host_keeps_a_message_too_many(copy: Copy) -> None:
    for row in [row for row in sizes_of(copy, "h", "sbuffer") if copy.samples.value[row]][3:9]:
        copy.samples.value[row] += 1


@edit("record", "steady mobile tracks")
def messages_leave_a_host_a_nanosecond_after_their_broadcasts(copy: Copy) -> None:
    sent = {(copy.events.node[row], copy.events.time_ns[row]) for row in copy.rows("broadcast")}
    copy.samples.remove(sizes_of(copy, "h", "sbuffer"))
    own = [(time, node, value) for node, at_ns in sent for time, value in ((at_ns, 1.0), (at_ns + 1, 0.0))]
    end_ns = max(copy.samples.time_ns)
    own += [(end_ns, node, 0.0) for node in {node for node, _ in sent}]
    for time, node, value in own:
        copy.samples.insert(len(copy.samples.node), time_ns=time, node=node, quantity="sbuffer", value=value)
    copy.samples.sort("time_ns")


@edit("record", "steady")
def a_host_holds_back_more_than_there_is(copy: Copy) -> None:
    row = next(row for row in sizes_of(copy, "h", "rbuffer") if copy.samples.value[row])
    copy.samples.value[row] += 1000


@edit("record", "steady")
def a_station_holds_back_more_than_there_is(copy: Copy) -> None:
    row = sizes_of(copy, "s", "sbuffer")[5]
    for value in (0.0, 40.0):
        copy.samples.insert(row, **copy.samples.row(row) | {"quantity": "rbuffer", "value": value})


@edit("record", "mobile steady rare tracks")
def a_size_that_has_not_changed_is_sampled_again(copy: Copy) -> None:
    row = sizes_of(copy, "s", "sbuffer")[5]
    copy.samples.insert(row + 1, **copy.samples.row(row))


@edit("record", "mobile steady")
def an_empty_buffer_is_sampled_first(copy: Copy) -> None:
    row = sizes_of(copy, "s", "sbuffer")[0]
    copy.samples.insert(row, **copy.samples.row(row) | {"value": 0.0})


def no_lengths_of(copy: Copy, quantity: str) -> None:
    copy.samples.remove(copy.samples.where(quantity=quantity))


for _quantity, _check in (("md", "conservation"), ("skip", "record"), ("bodies", "record")):
    edit.add(f"no lengths of {_quantity}", _check, "mobile", partial(no_lengths_of, quantity=_quantity))


@edit("record", "steady mobile tracks")
def half_as_many_frames_in_the_first_half(copy: Copy) -> None:
    rows = totals(copy, "radio_frames")
    for row in rows[: len(rows) // 2]:
        copy.samples.value[row] //= 2


@edit("record", "steady tcp gossip")
def more_frames_than_their_bytes_allow(copy: Copy) -> None:
    rows = totals(copy, "radio_frames")
    for row in rows[3:-2]:
        copy.samples.value[row] = copy.samples.value[rows[-2]]


@edit("record", "steady")
def nothing_was_received_for_a_while(copy: Copy) -> None:
    rows = totals(copy, "pairs_received")
    for quantity in ("pairs_received", "addressed_pairs_received"):
        for row in totals(copy, quantity)[: len(rows) // 2]:
            copy.samples.value[row] = 0.0


# --- 13: counters


def rename(copy: Copy, was: str, now: str) -> None:
    """Of all pairs, in the counters and in each sample."""
    for label, pairs in (("pairs_", copy.counters["radio"]), ("addressed_pairs_", copy.counters["radio"]["addressed"])):
        lost = pairs["lost"]
        lost[now], lost[was] = lost[now] + lost[was], 0
        for one, other in zip(totals(copy, label + now), totals(copy, label + was), strict=True):
            copy.samples.value[one] += copy.samples.value[other]
            copy.samples.value[other] = 0.0


@edit("conservation", "tracks")
def collisions_are_called_random(copy: Copy) -> None:
    rename(copy, "collision", "random")


@edit("conservation", "tcp silent")
def random_losses_are_called_collisions(copy: Copy) -> None:
    rename(copy, "random", "collision")


@edit("conservation", "steady rare")
def lists_a_hundred_times_as_long(copy: Copy) -> None:
    for row in range(len(copy.samples.node)):
        if copy.samples.quantity[row] in ("acks", "undelivered", "wanted"):
            copy.samples.value[row] *= 100


@edit("conservation", "steady rare")
def frames_a_byte_shorter(copy: Copy) -> None:
    kind = copy.counters["by_message_type"]["host"]["AckH"]
    for count in (kind, copy.counters["radio"]):
        count["bytes"] -= kind["count"]
    kind["control_bytes"] -= kind["count"]
    for quantity in ("radio_bytes", "radio_control_bytes"):
        copy.samples.value[totals(copy, quantity)[-1]] -= kind["count"]
        copy.samples.value[totals(copy, quantity)[-2]] -= kind["count"]


@edit("conservation", "steady")
def a_kind_of_another_name(copy: Copy) -> None:
    kinds = copy.counters["by_message_type"]["host"]
    kinds["Prayer"] = kinds.pop("AckH")


@edit("conservation", "steady rare")
def nothing_acknowledges(copy: Copy) -> None:
    for row in totals(copy, "radio_acknowledgements"):
        copy.samples.value[row] = 0.0


@edit("conservation", "steady tcp gossip")
def a_hundred_receivers_of_each_frame(copy: Copy) -> None:
    for label, pairs in (("pairs_", copy.counters["radio"]), ("addressed_pairs_", copy.counters["radio"]["addressed"])):
        for outcome in ("collision", "random"):
            pairs["pairs_in_range"] += 99 * pairs["lost"][outcome]
            pairs["lost"][outcome] *= 100
            for row in totals(copy, label + outcome):
                copy.samples.value[row] *= 100
        pairs["pairs_in_range"] += 99 * pairs["received"]
        pairs["received"] *= 100
        for row in totals(copy, label + "received"):
            copy.samples.value[row] *= 100


@edit("conservation", "steady")
def losses_at_nodes_that_are_never_down(copy: Copy) -> None:
    rename(copy, "collision", "receiver_down")


@edit("record", "steady tcp tracks")
def half_a_message(copy: Copy) -> None:
    row = next(row for row, node in enumerate(copy.samples.node) if node != "network" and copy.samples.value[row])
    copy.samples.value[row] += 0.5


@edit("record", "steady tcp gossip")
def a_broadcast_with_a_station(copy: Copy) -> None:
    change(copy, copy.rows("broadcast")[3], station="s0")


@edit("record", "steady tcp gossip")
def a_datagram_where_nothing_sends_any(copy: Copy) -> None:
    copy.insert(copy.rows("deliver")[3], node="h1", event="datagram", message="h1:0", detail='{"to": "h2", "bytes": 3}')


@edit("conservation", "steady tcp gossip")
def suspicions_of_nobody(copy: Copy) -> None:
    copy.counters["wired"]["suspicions"] = 3


@edit("conservation", "steady tcp")
def frames_given_up_without_retries(copy: Copy) -> None:
    copy.counters["radio"]["mac_given_up"] = copy.counters["radio"]["mac_retries"] + 1


# --- 9: the manifest


OTHER: dict[str, Callable[[Any], Any]] = {
    "station_positions_m": lambda value: [[value[0][0] + 1, value[0][1]], *value[1:]],
    "range_m": lambda value: value + 1,
    "payload_bytes": lambda value: value + 1,
    "station_links": lambda value: [],
    "station_names": lambda value: value | {"s0": "north"},
    "host_names": lambda value: value | {"h0": "Ann"},
    "skipped_tracks": lambda value: value + 1,
}


def refusal(run: Path, folder: Path, key: str, change: Callable[[Any], Any]) -> str:
    """What is said of the run whose manifest says something else under that key."""
    copy = Copy(run, folder / "edited")
    copy.manifest[key] = change(copy.manifest.get(key))
    copy.save()
    with pytest.raises(RunError, match=rf"manifest\.json: damaged: {key}") as refused:
        verify_run(copy.path)
    assert len(str(refused.value).splitlines()) == 1
    return str(refused.value)


@pytest.mark.parametrize("key", OTHER)
@pytest.mark.parametrize("name", ["steady", "tracks"])
def test_what_the_manifest_tells_readers_follows_from_the_scenario(
    name: str, key: str, runs: Runs, tmp_path: Path
) -> None:
    assert "but scenario.yaml gives" in refusal(runs[name], tmp_path, key, OTHER[key])


@pytest.mark.parametrize("key", ["station_names", "host_names", "skipped_tracks"])
def test_so_does_that_of_an_adversary(key: str, runs: Runs, tmp_path: Path) -> None:
    refusal(runs["adversary"], tmp_path, key, OTHER[key])


MISLEADING: dict[str, Any] = {
    "command": "mobilenet run steady/scenario.yaml --out steady-again; rm -rf .",
    "replication": 7,
    "own_metrics": {"fairness": ["how fair", ""]},
    "ended_by_error": "gossip.py:12: division by zero",
    "wall_s": "soon",
    "mobilenet_version": None,
    "real_time": {"lateness_ms": {}},
    "not_at_rest": ["h1 waits"],
    "own_metrics_failed": {"fairness": "why"},
}


@pytest.mark.parametrize("key", MISLEADING)
def test_what_else_a_manifest_cannot_say(key: str, runs: Runs, tmp_path: Path) -> None:
    refusal(runs["steady"], tmp_path, key, lambda _: MISLEADING[key])


SWARMS = {"steady": "--seed 3", "gossip": "--seed 1 --protocol gossip.py:Gossip --allow-code", "adversary": "--seed 9"}


@pytest.mark.parametrize("name", SWARMS)
def test_a_swarm_has_not_drawn_any_run(name: str, runs: Runs, tmp_path: Path) -> None:
    refusal(runs[name], tmp_path, "command", lambda _: f"mobilenet swarm --count 1 {SWARMS[name]}")


@pytest.mark.parametrize("name", ["plain", "a b", "it's", "\u202eturned", "two\nlines", "back\\slash", "q'\u202e"])
def test_the_command_of_a_run_fits_whatever_its_directory_is_called(name: str, tmp_path: Path) -> None:
    run = mobilenet.run(Scenario.from_text(SCENARIO, ["duration_s=2"]), out=tmp_path / name)
    verify_run(run.path)


def test_a_manifest_from_before_these_keys_is_none_the_worse(runs: Runs, tmp_path: Path) -> None:
    copy = Copy(runs["steady"], tmp_path / "older")
    for key in OTHER:
        del copy.manifest[key]
    copy.save()
    assert overall(verify_run(copy.path)) == "valid"


# --- 15: gaps over connections


@edit("gaps", "tcp")
def a_gap_between_two_deliveries(copy: Copy) -> None:
    row = copy.rows("deliver", quiet_host(copy))[5]
    copy.insert(row, **copy.events.row(row) | {"event": "gap", "message": None})


# --- 14: what comes sooner than the radio allows


@edit("record", "tcp gossip")
def a_delivery_1_us_after_its_broadcast(copy: Copy) -> None:
    """The last message's first delivery at another host."""
    sent = copy.last("broadcast")
    message, host = copy.events.message[sent], copy.events.node[sent]
    row = next(r for r in copy.rows("deliver") if copy.events.message[r] == message and copy.events.node[r] != host)
    copy.shift(row, copy.events.time_ns[sent] + 1000)


def handoff_ends_after(copy: Copy, took_ns: int) -> None:
    """The first one that takes longer, and in which nothing else happens to the host; its station tells the list of
    skipped messages as early.
    """
    for end in copy.rows("handoff_end"):
        host = copy.events.node[end]
        begin = [row for row in copy.rows("handoff_start", host) if row < end][-1]
        early = copy.events.time_ns[begin] + took_ns
        if copy.events.time_ns[end] > early and own(copy, host, begin)[1] == end:
            end_ns = copy.events.time_ns[end]
            copy.shift(end, early)
            for row, (time, quantity) in enumerate(copy.samples.each("time_ns", "quantity")):
                if early < time <= end_ns and quantity in ("skip", "bodies"):
                    copy.samples.time_ns[row] = early
            return copy.samples.sort("time_ns")
    raise AssertionError("no handoff of this kind")


@edit("record", "steady tcp")
def a_handoff_ends_1_us_after_it_begins(copy: Copy) -> None:
    handoff_ends_after(copy, 1000)


@edit("record", "steady")
def a_handoff_without_a_word_over_the_wire(copy: Copy) -> None:
    """The time suffices for two frames, but not for a round trip over the wire to the previous station."""
    handoff_ends_after(copy, 300_000)


@edit("record", "steady tcp")
def joins_as_soon_as_it_is_asked(copy: Copy) -> None:
    plans = expectations_of(read_source(copy.path / "scenario.yaml")).hosts
    row = copy.first("join")
    copy.shift(row, plans[int(copy.events.node[row][1:])].requests[0][0] + 1)


# --- what is empty, and what events take


@edit("record", "mobile")
def leaves_before_its_messages_are_acknowledged(copy: Copy) -> None:
    """Its sbuffer empties only after that."""
    row = copy.first("leave", "h3")
    left_ns = copy.events.time_ns[row]
    sizes = copy.samples.where(node="h3", quantity="sbuffer")
    copy.samples.time_ns[[row for row in sizes if copy.samples.time_ns[row] <= left_ns][-1]] = left_ns + 1000
    copy.samples.sort("time_ns")


@edit("record", "mobile silent")
def a_host_that_is_down_keeps_its_rbuffer(copy: Copy) -> None:
    row = copy.first("crash", "h1")
    now_ns = copy.events.time_ns[row] + 500_000_000
    for time_ns, value in ((now_ns, 1.0), (now_ns + 1000, 0.0)):
        place = next(r for r, time in enumerate(copy.samples.time_ns) if time > time_ns)
        copy.samples.insert(place, time_ns=time_ns, node="h1", quantity="rbuffer", value=value)


def over_wires(copy: Copy, kind: str, number: int) -> None:
    """So many messages fewer of that class, in counters and totals: the first ones."""
    counts, wired = copy.counters["by_message_type"]["wired"][kind], copy.counters["wired"]
    each = counts["bytes"] // counts["count"]
    size = wired["bytes"] - sum(one["bytes"] for one in copy.counters["by_message_type"]["wired"].values())
    around = size // wired["sent"]
    counts["count"] -= number
    for name in ("bytes", "control_bytes"):
        counts[name] -= number * each
    for name in ("sent", "delivered"):
        wired[name] -= number
    wired["bytes"] -= number * (each + around)
    for quantity, most in (("wired_messages", wired["sent"]), ("wired_bytes", wired["bytes"])):
        for row in totals(copy, quantity):
            copy.samples.value[row] = min(copy.samples.value[row], float(most))


@edit("conservation", "mobile steady tracks")
def no_station_asked_another_one_for_hosts(copy: Copy) -> None:
    over_wires(copy, "Req1", copy.counters["by_message_type"]["wired"]["Req1"]["count"])


@edit("conservation", "mobile steady tracks")
def requests_have_no_answers(copy: Copy) -> None:
    over_wires(copy, "Nothing", copy.counters["by_message_type"]["wired"]["Nothing"]["count"])


@edit("conservation", "mobile")
def nobody_told_the_other_stations_of_a_leave(copy: Copy) -> None:
    over_wires(copy, "Delete", 1)


NEEDED = ("host AppHs", "host Join", "host Init", "host Leave", "station AppSh and AppOne and AppCo", "station AckC",
          "station InitAck", "station Chal", "station LeaveAck", "wired App", "wired Rsp1", "wired Rsp2")  # fmt: skip


@pytest.mark.parametrize("kinds", NEEDED)
def test_what_happened_takes_messages_of_each_class(kinds: str, runs: Runs) -> None:
    path = runs["mobile"]
    events, samples = read_coded(path, "events"), read_coded(path, "samples")
    counters, plan = read_json(path, "counters.json"), expectations_of(read_source(path / "scenario.yaml"))
    assert needed_problem(events, samples, counters, True, plan) is None
    side, *names = kinds.replace(" and ", " ").split()
    for name in names:
        counters["by_message_type"][side].pop(name, None)
    problem = needed_problem(events, samples, counters, True, plan)
    assert problem is not None and problem.startswith(f"{kinds}: 0 were sent")


# --- who is given up, and what follows


@edit("gaps", "expiring")
def given_up_by_a_station_that_the_host_is_not_with(copy: Copy) -> None:
    """At the first look that is more than T after a confirmation by the other one."""
    look_ns, silent_ns = 375_000_000, 3_000_000_000
    for row in sorted(copy.rows("join") + copy.rows("handoff_end")):
        host, station, since_ns = copy.events.at(row, "node", "station", "time_ns")
        now_ns = -(-(since_ns + 2000 + silent_ns) // look_ns) * look_ns
        later = [other for event in ("handoff_start", "crash") for other in copy.rows(event, host) if other > row]
        if all(copy.events.time_ns[other] > now_ns for other in later):
            detail = json.dumps({"host": host, "silent_s": (now_ns - since_ns - 2000) / 1e9})
            other = "s1" if station == "s0" else "s0"
            return copy.insert_at(now_ns, node=other, event="expire", detail=detail)
    raise AssertionError


@edit("gaps", "expiring silent")
def given_up_without_a_gap(copy: Copy) -> None:
    copy.remove(*copy.rows("gap"))


@edit("gaps", "expiring silent")
def down_for_long_and_never_given_up(copy: Copy) -> None:
    copy.remove(*copy.rows("gap"), *copy.rows("expire"))


# --- the order of a cell


def causes(copy: Copy) -> dict[str, set[str]]:
    """Map each message to those that its sender had broadcast or delivered before."""
    known: dict[str, set[str]] = {}
    causes_of: dict[str, set[str]] = {}
    for event, node, message in copy.events.each("event", "node", "message"):
        if event == "broadcast":
            causes_of[message] = set(known.get(node, ()))
        if event in ("broadcast", "deliver"):
            known.setdefault(node, set()).update({message}, causes_of[message])
    return causes_of


@edit("record", "steady silent expiring")
def two_messages_in_another_order_than_at_another_host_of_the_cell(copy: Copy) -> None:
    events, before = copy.events, causes(copy)
    sent = {events.message[row]: row for row in copy.rows("broadcast")}
    since = {
        (events.node[row], events.session[row]): (row, events.station[row])
        for row in copy.rows("join") + copy.rows("handoff_end")
    }
    with_: dict[tuple[str, str], tuple[int, str]] = {}  # (host, message) -> row of its delivery, station
    for row in copy.rows("deliver"):
        begun, station = since[events.node[row], events.session[row]]
        if begun < sent[events.message[row]]:
            with_[events.node[row], events.message[row]] = row, station
    for (host, one), (row, station) in with_.items():
        after = next((other for other in own(copy, host, row + 1)), None)
        if after is None or events.event[after] != "deliver" or sent[events.message[after]] > row:
            continue
        two = events.message[after]
        others = [name for name, message in with_ if message == one and name != host]
        shared = [name for name in others if with_[name, one][1] == with_.get((name, two), (0, ""))[1] == station]
        is_free = one not in before[two] and two not in before[one] and (host, two) in with_
        if shared and is_free and host not in (one.split(":")[0], two.split(":")[0]):
            change(copy, row, message=two)
            change(copy, after, message=one)
            return
    raise AssertionError


# --- when things can happen at the earliest


@edit("record", "mobile steady tracks")
def a_handoff_begins_between_two_ticks(copy: Copy) -> None:
    row = next(row for row in copy.rows("handoff_start") if "cell" in copy.events.detail[row])
    copy.events.time_ns[row] += 1000


@edit("record", "rare expiring")
def an_sbuffer_grows_before_the_wire_can_have_brought_the_message(copy: Copy) -> None:
    """The first one: nothing else can have come in."""
    samples, sent = copy.samples, copy.first("broadcast")
    now_ns = copy.events.time_ns[sent]
    stations = {"s0", "s1"} - {copy.events.station[copy.first("join", copy.events.node[sent])]}
    sizes = samples.where(quantity="sbuffer")
    row = next(row for row in sizes if samples.node[row] in stations and samples.time_ns[row] > now_ns)
    samples.time_ns[row] = now_ns + 2_000_000
    samples.sort("time_ns")


@edit("record", "mobile steady rim")
def the_last_positions_of_all_nodes_are_missing(copy: Copy) -> None:
    last_ns = max(copy.positions.time_ns)
    copy.positions.remove([row for row, at_ns in enumerate(copy.positions.time_ns) if at_ns == last_ns])


@edit("record", "mobile")
def a_detail_names_two_causes(copy: Copy) -> None:
    """A reader of JSON takes the first or the last of equal keys."""
    row = copy.first("handoff_start")
    copy.events.detail[row] = copy.events.detail[row].replace("{", '{"cause": "join", ', 1)


# --- what no run records


@pytest.mark.parametrize("field", ["crash message", "in_coverage session", "refused message", "broadcast detail"])
def test_a_value_in_a_column_that_the_event_does_not_have(field: str, runs: Runs, tmp_path: Path) -> None:
    event, column = field.split()
    value: Any = {"message": "h0:0", "session": 77, "detail": '{"a": 1}'}[column]

    def fill(copy: Copy) -> None:
        copy.events[column][copy.first(event)] = value

    verdict = verdicts_after(runs["mobile"], tmp_path / "edited", fill)["record"]
    assert verdict.answer == "violated" and f"({event}) has {column}" in verdict.explanation


@pytest.mark.parametrize("what", ["h0 temperature", "network echoes", "h0 wanted"])
def test_a_sample_of_something_that_nothing_measures(what: str, runs: Runs, tmp_path: Path) -> None:
    node, quantity = what.split()

    def add(copy: Copy) -> None:
        times = copy.samples.time_ns
        copy.samples.insert(len(times), time_ns=times[-1], node=node, quantity=quantity, value=36.0)

    verdict = verdicts_after(runs["mobile"], tmp_path / "edited", add)["record"]
    assert verdict.answer == "violated" and quantity in verdict.explanation

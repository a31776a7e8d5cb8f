"""Run directories that were whole and are not any more: each is rejected, and by the property that it breaks."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from mobilenet.verify.record.datagrams import datagram_problem
from typer.testing import CliRunner

import mobilenet
from mobilenet.cli.main import app
from mobilenet.expected.by_kind import expectations_of
from mobilenet.expected.expectations import Expectations
from mobilenet.rundir.reader import RunError
from mobilenet.scenario import Scenario
from mobilenet.swarm.campaign import record_adversary
from mobilenet.swarm.schedule import draw
from mobilenet.verify import verify_run
from mobilenet.verify.judge import overall

from .damage import SCENARIO, Copy, Damage, Edits, Runs, verdicts_after


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return mobilenet.run(Scenario.from_text(SCENARIO), out=tmp_path_factory.mktemp("runs") / "whole").path


@pytest.fixture(scope="module")
def adversary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("adversary")
    record_adversary(draw(8, "mixed"), path)
    return path


def test_the_undamaged_runs_are_valid(whole: Path, adversary: Path) -> None:
    for path in (whole, adversary):
        assert {verdict.answer for verdict in verify_run(path).values()} == {"valid"}


damages = Edits()


def damage(check: str) -> Callable[[Damage], Damage]:
    return damages(check, "whole")


def deliveries_of_one_sender(copy: Copy, node: str = "h0") -> tuple[int, int]:
    """Two deliveries at a node, one after the other, of messages of the same sender."""
    rows = copy.rows("deliver", node)
    origin = {row: copy.events.message[row].split(":")[0] for row in rows}
    return next((a, b) for a, b in combinations(rows, 2) if origin[a] == origin[b] != node)


@damage("delivery")
def a_delivery_removed(copy: Copy) -> None:
    """The last one of all: nothing depends on it."""
    copy.remove(copy.last("deliver"))


@damage("causal_order")
def an_early_delivery_removed(copy: Copy) -> None:
    copy.remove(deliveries_of_one_sender(copy)[0])


@damage("duplication")
def a_delivery_repeated(copy: Copy) -> None:
    row = copy.rows("deliver", "h0")[3]
    copy.repeat(row, row + 1)


@damage("causal_order")
def deliveries_exchanged(copy: Copy) -> None:
    copy.swap(*deliveries_of_one_sender(copy))


@damage("creation")
def a_broadcast_removed(copy: Copy) -> None:
    copy.remove(copy.rows("broadcast")[4])


@damage("creation")
def a_broadcast_after_its_delivery(copy: Copy) -> None:
    row = copy.rows("broadcast")[4]
    copy.swap(row, copy.events.where(event="deliver", message=copy.events.message[row])[0])


@damage("creation")
def the_id_of_another_host(copy: Copy) -> None:
    row = copy.rows("broadcast", "h0")[1]
    copy.events.message[row] = "h1" + copy.events.message[row][2:]


@damage("creation")
def an_unknown_message_delivered(copy: Copy) -> None:
    copy.events.message[copy.last("deliver", "h0")] = "h0:999"


@damage("duplication")
def a_delivery_of_another_message(copy: Copy) -> None:
    first, second = deliveries_of_one_sender(copy)
    copy.events.message[second] = copy.events.message[first]


@damage("membership")
def a_join_removed(copy: Copy) -> None:
    copy.remove(copy.first("join", "h0"))


@damage("membership")
def a_second_join(copy: Copy) -> None:
    row = copy.rows("deliver", "h0")[5]
    copy.insert(row, node="h0", event="join", session=copy.events.session[row], station="s0")


@damage("membership")
def a_leave_added(copy: Copy) -> None:
    copy.insert(copy.rows("deliver", "h0")[5], node="h0", event="leave", session=9)


@damage("membership")
def a_delivery_while_crashed(copy: Copy) -> None:
    crash = copy.first("crash", "h1")
    copy.swap(max(row for row in copy.rows("deliver", "h1") if row < crash), crash)


@damage("membership")
def a_crash_while_down(copy: Copy) -> None:
    copy.insert(copy.first("recover", "h1"), node="h1", event="crash")


@damage("membership")
def a_delivery_at_a_host_that_left(copy: Copy) -> None:
    end = len(copy.events.time_ns) - 1
    copy.insert(end, node="h3", event="deliver", message=copy.events.message[copy.last("broadcast")])


@damage("gaps")
def a_gap_where_none_is_allowed(copy: Copy) -> None:
    copy.insert(copy.rows("deliver", "h0")[5], node="h0", event="gap", session=9, station="s0")


@damage("gaps")
def a_host_given_up_where_none_may_be(copy: Copy) -> None:
    detail = json.dumps({"host": "h0", "silent_s": 1.0})
    copy.insert(copy.rows("deliver", "h0")[5], node="s0", event="expire", detail=detail)


@damage("record")
def time_goes_back(copy: Copy) -> None:
    times = copy.events.time_ns
    row = next(row for row in range(10, len(times)) if times[row] > times[row - 1])
    times[row] = times[row - 1] - 1


@damage("record")
def an_event_after_the_end(copy: Copy) -> None:
    copy.events.time_ns[-1] += 10**12


@damage("record")
def a_node_that_cannot_be(copy: Copy) -> None:
    copy.events.node[5] = "host 5"


@damage("record")
def a_message_that_cannot_be(copy: Copy) -> None:
    copy.events.message[copy.first("deliver")] = "h1:-1"


@damage("record")
def a_delivery_without_message(copy: Copy) -> None:
    copy.events.message[copy.first("deliver")] = None


@damage("record")
def a_detail_that_is_no_object(copy: Copy) -> None:
    copy.events.detail[3] = "{"


@damage("record")
def a_run_that_says_it_did_not_come_to_rest(copy: Copy) -> None:
    copy.manifest["quiescent"] = False


@damage("record")
def a_run_that_ended_before_its_time(copy: Copy) -> None:
    copy.manifest["simulated_s"] = copy.manifest["duration_s"] / 2


@damage("record")
def a_run_that_lasted_longer_than_its_samples(copy: Copy) -> None:
    copy.manifest["simulated_s"] += 1


@damage("record")
def an_event_of_an_unknown_name(copy: Copy) -> None:
    copy.events.event[copy.first("in_coverage")] = "in_coverag"


@damage("record")
def a_host_event_at_a_station(copy: Copy) -> None:
    copy.events.node[copy.first("in_coverage")] = "s0"


@damage("record")
def a_station_that_is_a_host(copy: Copy) -> None:
    copy.events.station[copy.first("join")] = "h1"


@damage("record")
def a_negative_session(copy: Copy) -> None:
    copy.events.session[copy.first("handoff_start")] = -1


@damage("record")
def a_delivery_in_another_session(copy: Copy) -> None:
    copy.events.session[copy.first("deliver")] = 77


@damage("record")
def a_host_given_up_by_nobody_knows_whom(copy: Copy) -> None:
    copy.insert(5, node="s0", event="expire", detail='{"host": "s1", "silent_s": 3.0}')


@damage("record")
def the_begin_of_a_handoff_cut_out(copy: Copy) -> None:
    copy.remove(copy.last("handoff_start"))


@damage("record")
def the_end_of_a_handoff_cut_out(copy: Copy) -> None:
    copy.remove(copy.first("handoff_end"))


@damage("record")
def all_ends_of_handoffs_cut_out(copy: Copy) -> None:
    copy.remove(*copy.rows("handoff_end"))


@damage("record")
def all_handoffs_cut_out(copy: Copy) -> None:
    copy.remove(*copy.rows("handoff_start"), *copy.rows("handoff_end"))


@damage("record")
def one_buffer_of_one_host_not_sampled(copy: Copy) -> None:
    copy.samples.remove(copy.samples.where(node="h2", quantity="rbuffer"))


@damage("record")
def one_buffer_of_one_station_not_sampled(copy: Copy) -> None:
    copy.samples.remove(copy.samples.where(node="s1", quantity="sbuffer"))


@damage("record")
def a_host_not_sampled(copy: Copy) -> None:
    copy.samples.remove(copy.samples.where(node="h0"))


@damage("record")
def a_host_of_which_only_the_scenario_knows(copy: Copy) -> None:
    for table in (copy.events, copy.positions, copy.samples):
        table.remove(table.where(node="h4"))


@damage("record")
def the_last_sample_of_a_buffer_cut_off(copy: Copy) -> None:
    copy.samples.remove(copy.samples.where(node="h1", quantity="sbuffer")[-1:])


@damage("record")
def rows_not_counted(copy: Copy) -> None:
    copy.counters["rows"] = {"events": copy.counters["rows"]["events"], "samples": "many"}
    copy.save = lambda *flags: Copy.save(copy, True, False)  # type: ignore[method-assign]


@damage("record")
def a_sample_that_is_no_number(copy: Copy) -> None:
    copy.samples.value[7] = float("nan")


@damage("record")
def samples_out_of_order(copy: Copy) -> None:
    for column in copy.samples.values():
        column.reverse()


@damage("drained")
def a_buffer_left_full(copy: Copy) -> None:
    copy.samples.value[copy.samples.where(node="s0", quantity="sbuffer")[-1]] = 3.0


def change_count(copy: Copy, path: str, change: int) -> None:
    *groups, name = path.split(".")
    group = copy.counters
    for key in groups:
        group = group[key]
    group[name] += change


for _path in (
    "radio.frames",
    "radio.bytes",
    "radio.pairs_in_range",
    "radio.received",
    "radio.lost.collision",
    "radio.lost.random",
    "radio.addressed.received",
    "radio.addressed.lost.half_duplex",
    "radio.mac_acks",
    "wired.sent",
    "wired.delivered",
    "wired.bytes",
    "wired.in_flight",
    "by_message_type.host.AckH.count",
    "by_message_type.station.AppSh.bytes",
    "by_message_type.station.AppSh.control_bytes",
    "by_message_type.wired.App.count",
):
    for _change in (1, -1):
        how = f"{_path}{_change:+}"
        damages.add(how, "conservation", "whole", partial(change_count, path=_path, change=_change))


@damage("conservation")
def two_counters_that_make_up_for_each_other(copy: Copy) -> None:
    copy.counters["radio"]["received"] += 1
    copy.counters["radio"]["lost"]["collision"] -= 1


@damage("conservation")
def copies_on_a_radio_that_makes_none(copy: Copy) -> None:
    copy.counters["radio"]["received"] += 1
    copy.counters["radio"]["duplicated"] = 1


@damage("conservation")
def a_counter_missing(copy: Copy) -> None:
    del copy.counters["radio"]["addressed"]


@damage("conservation")
def a_counter_that_is_text(copy: Copy) -> None:
    copy.counters["wired"]["sent"] = "many"


@pytest.mark.parametrize("name", [how for how, _ in damages.all])
def test_each_damage_is_caught_by_its_property(name: str, whole: Path, tmp_path: Path) -> None:
    check, function = damages.all[name, "whole"]
    verdicts = verdicts_after(whole, tmp_path / "damaged", function)
    assert verdicts[check].answer == "violated", verdicts
    assert overall(verdicts) == "violated"
    assert 1 <= len(verdicts[check].explanation.splitlines()) < 10


def test_the_fingerprint_catches_any_change(whole: Path, tmp_path: Path) -> None:
    def cause_changed(copy: Copy) -> None:
        row = next(row for row in copy.rows("handoff_start") if copy.events.detail[row] == '{"cause": "cell"}')
        copy.events.detail[row] = '{"cause": "reinit"}'

    assert verdicts_after(whole, tmp_path / "a", cause_changed, renew=False)["record"].answer == "violated"
    # no station has sent a Reinit
    assert verdicts_after(whole, tmp_path / "b", cause_changed)["conservation"].answer == "violated"


def test_buffers_that_were_never_sampled_anywhere_are_unknown(whole: Path, tmp_path: Path) -> None:
    def forget(copy: Copy) -> None:
        for buffer in ("sbuffer", "rbuffer"):
            copy.samples.remove(copy.samples.where(quantity=buffer))

    assert verdicts_after(whole, tmp_path / "damaged", forget)["drained"].answer == "unknown"


def cut(share: float, *events: str) -> Damage:
    """Without the last part of the events, or of those of some kinds only."""

    def function(copy: Copy) -> None:
        rows = [row for row, event in enumerate(copy.events.event) if not events or event in events]
        copy.remove(*rows[-max(1, round(share * len(rows))) :])

    return function


CUTS: dict[str, Damage] = {
    "the last event": cut(0),
    "the second half": cut(0.5),
    "all events": cut(1),
    "all handoffs": cut(1, "handoff_start", "handoff_end"),
    "who came into coverage": cut(1, "in_coverage"),
    "the last sample": lambda copy: [column.pop() for column in copy.samples.values()],
    "a sample in the middle": lambda copy: [column.pop(20) for column in copy.samples.values()],
    "a position": lambda copy: [column.pop(50) for column in copy.positions.values()],
}


@pytest.mark.parametrize("name", CUTS)
def test_rows_that_are_cut_off_are_missed_by_their_number(
    name: str, whole: Path, adversary: Path, tmp_path: Path
) -> None:
    for path in (whole, adversary):
        if name == "a position" and path is adversary:
            continue  # no run has one there
        verdicts = verdicts_after(path, tmp_path / path.name, CUTS[name], recount=False)
        assert verdicts["record"].answer == "violated", name
        assert "counters.json counts" in verdicts["record"].explanation


@pytest.mark.parametrize("change", [{"quiescent": False}, {"simulated_s": 1.0}, {"fingerprint": "0" * 64}])
def test_a_damaged_manifest_of_the_adversary(change: dict[str, Any], adversary: Path, tmp_path: Path) -> None:
    verdicts = verdicts_after(adversary, tmp_path / "damaged", lambda copy: copy.manifest.update(change), renew=False)
    assert verdicts["record"].answer == "violated"


def test_an_adversary_that_never_comes_to_rest_violates_its_promise(adversary: Path, tmp_path: Path) -> None:
    def endless(copy: Copy) -> None:
        copy.manifest |= {"quiescent": False, "simulated_s": copy.manifest["simulated_s"] + 100}
        end_ns = max(copy.samples.time_ns)
        copy.samples.time_ns = [time + 100 * 10**9 if time == end_ns else time for time in copy.samples.time_ns]

    verdicts = verdicts_after(adversary, tmp_path / "damaged", endless)
    assert verdicts["drained"].answer == "violated" and verdicts["delivery"].answer == "valid"


# --- directories that cannot be read


def rewrite(path: Path, name: str, change: Callable[[dict[str, Any]], object]) -> None:
    file = path / f"{name}.json"
    value = json.loads(file.read_text())
    change(value)
    file.write_text(json.dumps(value))


def manifest(**values: Any) -> Callable[[Path], None]:
    """The manifest says that."""
    return lambda path: rewrite(path, "manifest", lambda document: document.update(values))


def contents(name: str, data: bytes) -> Callable[[Path], object]:
    """The file has these bytes."""
    return lambda path: (path / name).write_bytes(data)


def without_column(path: Path, table: str, column: str) -> None:
    import pyarrow.parquet as pq

    file = path / f"{table}.parquet"
    pq.write_table(pq.read_table(file).drop_columns([column]), file)


def as_text(path: Path, table: str, column: str) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = path / f"{table}.parquet"
    data = pq.read_table(file)
    place = data.column_names.index(column)
    pq.write_table(data.set_column(place, column, data[column].cast(pa.string())), file)


def truncate(path: Path, name: str) -> None:
    data = (path / name).read_bytes()
    (path / name).write_bytes(data[: len(data) // 2])


FILES = ("events.parquet", "samples.parquet", "positions.parquet", "counters.json", "manifest.json", "scenario.yaml")
UNREADABLE: dict[str, Callable[[Path], object]] = {
    **{f"{name} missing": lambda path, name=name: (path / name).unlink() for name in FILES},
    **{f"{name} truncated": lambda path, name=name: truncate(path, name) for name in FILES},
    "a table that was not counted": lambda path: shutil.copy(path / "positions.parquet", path / "frames.parquet"),
    "a table missing": lambda path: rewrite(path, "counters", lambda c: c["rows"].update(messages=3)),
    "a table that is none": contents("messages.parquet", b"send_ns\n"),
    "events empty": contents("events.parquet", b""),
    "events are text": contents("events.parquet", b"time_ns,node\n"),
    "events without node": lambda path: without_column(path, "events", "node"),
    "samples without value": lambda path: without_column(path, "samples", "value"),
    "times as text": lambda path: as_text(path, "events", "time_ns"),
    "values as text": lambda path: as_text(path, "samples", "value"),
    "counters a list": contents("counters.json", b"[]"),
    "manifest not UTF-8": contents("manifest.json", b"\xff\xfe"),
    "another format": manifest(format_version=99),
    "no promises": lambda path: rewrite(path, "manifest", lambda m: m.pop("promises")),
    "quiescent as text": manifest(quiescent="yes"),
    "simulated time as text": manifest(simulated_s="20"),
    "simulated time not finite": manifest(simulated_s=float("inf")),
    "promise of a wrong type": lambda path: rewrite(
        path, "manifest", lambda m: m["promises"].update(heard_every_s=None)
    ),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_is_no_run_directory_is_refused_in_one_line(name: str, whole: Path, tmp_path: Path) -> None:
    path = Copy(whole, tmp_path / "damaged").path
    UNREADABLE[name](path)
    with pytest.raises(RunError) as refusal:
        verify_run(path)
    assert len(str(refusal.value).splitlines()) == 1


# --- what cannot be computed with


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    place, shipped = tmp_path_factory.mktemp("small"), Path(mobilenet.__file__).parents[1] / "scenarios"
    recorded = ["duration_s=6", "faults=null", "churn=null", "wireless={model: sinr, tx_dbm: 8}"]
    recorded += ["record.frames=true", "record.messages=true"]
    mobilenet.run(Scenario.from_text(SCENARIO, recorded), out=place / "radio")
    mobilenet.run(shipped / "vcube" / "causal.yaml", out=place / "processes", overrides=["processes=6"])
    programs = ["duration_s=4", "record.programs=true"]
    mobilenet.run(shipped / "programs" / "flood.yaml", out=place / "programs", overrides=programs, allow_code=True)
    return {path.name: path for path in place.iterdir()}


def nest(times: int) -> str:
    return '{"a":' * times + "1" + "}" * times


def action(**values: Any) -> Damage:
    """The first frame that a program sends says this as well."""

    def change(copy: Copy) -> None:
        texts = copy.lines.line
        row = next(row for row, text in enumerate(texts) if json.loads(text).get("do") in ("send", "broadcast"))
        texts[row] = json.dumps(json.loads(texts[row]) | values)

    return change


def cell(table: str, column: str, value: Any) -> Damage:
    """Change the value of a column in the last row."""

    def change(copy: Copy) -> None:
        {"events": copy.events, "positions": copy.positions, **copy.optional}[table][column][-1] = value

    return change


BEYOND: dict[str, tuple[str, Damage]] = {  # which run, and what is done to it
    "events nested": ("radio", cell("events", "detail", nest(3000))),
    "messages nested": ("radio", cell("messages", "detail", nest(3000))),
    "lines nested": ("programs", cell("lines", "line", nest(3000))),
    "no detector": ("processes", lambda copy: copy.counters.pop("detector")),
    "simulated_s": ("radio", lambda copy: copy.manifest.update(simulated_s=10**400)),
    "frames": ("radio", lambda copy: copy.counters["radio"].update(frames=10**400)),
    "sent": ("processes", lambda copy: copy.counters["messages"].update(sent=10**400)),
    "bytes": ("programs", action(bytes="x")),
    "payload_bytes": ("programs", action(payload_bytes=None)),
    "do": ("programs", action(do=["a"])),
    "wired": ("programs", lambda copy: copy.counters.update(wired="x")),
    "station": ("programs", lambda copy: copy.counters["by_message_type"].update(station=1.5)),
    "size_bytes": ("radio", cell("messages", "size_bytes", 1 << 62)),
    "positions.time_ns": ("radio", cell("positions", "time_ns", 1 << 62)),
    "position later": ("radio", cell("positions", "time_ns", 1 << 60)),
    "power_dbm": ("radio", cell("links", "power_dbm", 1e308)),
    "a long text": ("radio", cell("events", "detail", "x\n" * 20_000)),
    "a long promise": ("radio", lambda copy: copy.manifest.update(promises="x" * 50_000)),
}


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("name", BEYOND)
def test_what_cannot_be_computed_with_is_refused_or_violated(name: str, small: Runs, tmp_path: Path) -> None:
    run, function = BEYOND[name]
    try:
        verdicts = verdicts_after(small[run], tmp_path / "damaged", function)
    except RunError as refusal:
        assert len(str(refusal).splitlines()) == 1 and len(str(refusal)) < len(str(tmp_path)) + 400
    else:
        assert overall(verdicts) == "violated"
        assert all(len(verdict.explanation) < 2000 for verdict in verdicts.values())


def test_nesting_that_a_program_may_send_is_read(small: Runs, tmp_path: Path) -> None:
    verdicts_after(small["programs"], tmp_path / "deep", cell("lines", "line", nest(880)))


# --- datagrams of programs


@pytest.mark.parametrize(
    ("received_ns", "size", "words"),
    [
        (2_000_000, 100, None),
        (1_000_010, 100, "10 ns after it was sent"),
        (2_000_000, -1, "-1 bytes"),
        (2_000_000, 60_000, "in the air"),
    ],
)
def test_a_datagram_takes_a_frame(received_ns: int, size: int, words: str | None) -> None:
    expected_of_it = expectations_of(Scenario.from_text(SCENARIO))
    assert isinstance(expected_of_it, Expectations)
    events: dict[str, list[Any]] = {
        "time_ns": [1_000_000, received_ns],
        "event": ["datagram", "datagram_received"],
        "node": ["h0", "h1"],
        "message": ["h0:0", "h0:0"],
        "detail": [json.dumps({"to": "h1", "bytes": size}), None],
    }
    problem = datagram_problem(events, {"radio": {"bytes": 500}}, expected_of_it)
    assert problem is None if words is None else words in str(problem)


# --- through the command line


@pytest.mark.parametrize("name", ["a_delivery_removed", "deliveries_exchanged", "a_buffer_left_full", "wired.sent+1"])
def test_the_command_line_says_1_for_violated(name: str, whole: Path, tmp_path: Path) -> None:
    copy = Copy(whole, tmp_path / "damaged")
    check, function = damages.all[name, "whole"]
    function(copy)
    copy.save()
    result = CliRunner().invoke(app, ["verify", str(copy.path)])
    assert result.exit_code == 1 and f"{check} violated:" in result.output


@pytest.mark.parametrize("name", ["events.parquet missing", "events.parquet truncated", "no promises", "times as text"])
def test_the_command_line_says_2_for_unreadable(name: str, whole: Path, tmp_path: Path) -> None:
    path = Copy(whole, tmp_path / "damaged").path
    UNREADABLE[name](path)
    assert CliRunner().invoke(app, ["verify", str(path)]).exit_code == 2

"""Tests that the verifier rejects damaged run directories, and names the property that each of them violates."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from typer.testing import CliRunner

import mobilenet
from mobilenet.cli.main import app
from mobilenet.lab.hunt.swarm.campaign import keep_run, record_adversary
from mobilenet.lab.hunt.swarm.schedule import draw
from mobilenet.record.reader import RunError
from mobilenet.record.writer import file_digests
from mobilenet.scenario import Scenario
from mobilenet.scenario.plans.expectations import Expectations
from mobilenet.scenario.plans.hosts import expectations
from mobilenet.verify import verify_run
from mobilenet.verify.datagrams import datagram_problem
from mobilenet.verify.judge import overall
from tests.conftest import SCENARIOS
from tests.tools import sign

from .damage import SCENARIO, Copy, Damage, Edits, verdicts_after


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return mobilenet.run(Scenario.from_text(SCENARIO), out=tmp_path_factory.mktemp("runs") / "whole").path


@pytest.fixture(scope="module")
def adversary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("adversary")
    record_adversary(draw(8, "mixed"), path)
    return path


def test_undamaged_runs_are_valid(whole: Path, adversary: Path) -> None:
    for path in (whole, adversary):
        assert {verdict.answer for verdict in verify_run(path).values()} == {"valid"}


damages = Edits()


def damage(check: str) -> Callable[[Damage], Damage]:
    return damages(check, "whole")


def deliveries_of_one_sender(copy: Copy, node: str = "h0") -> tuple[int, int]:
    """Return the rows of two successive deliveries at a node of messages from the same other sender."""
    rows = copy.rows("deliver", node)
    origin = {row: copy.events.message[row].split(":")[0] for row in rows}
    return next((a, b) for a, b in combinations(rows, 2) if origin[a] == origin[b] != node)


@damage("delivery")
def a_delivery_removed(copy: Copy) -> None:
    """Remove the last delivery, because no other event depends on it."""
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


@damage("drained")
def a_buffer_left_full(copy: Copy) -> None:
    copy.samples.value[copy.samples.where(node="s0", quantity="sbuffer")[-1]] = 3.0


@pytest.mark.parametrize("name", [how for how, _ in damages.all])
def test_each_kind_of_damage_violates_the_matching_property(name: str, whole: Path, tmp_path: Path) -> None:
    check, function = damages.all[name, "whole"]
    verdicts = verdicts_after(whole, tmp_path / "damaged", function)
    assert verdicts[check].answer == "violated", verdicts
    assert overall(verdicts) == "violated"
    assert 1 <= len(verdicts[check].explanation.splitlines()) < 10


def test_the_drained_check_is_unknown_without_buffer_samples(whole: Path, tmp_path: Path) -> None:
    def forget(copy: Copy) -> None:
        for buffer in ("sbuffer", "rbuffer"):
            copy.samples.remove(copy.samples.where(quantity=buffer))

    assert verdicts_after(whole, tmp_path / "damaged", forget)["drained"].answer == "unknown"


def test_an_adversary_that_never_rests_violates_its_promise(adversary: Path, tmp_path: Path) -> None:
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
    return lambda path: rewrite(path, "manifest", lambda document: document.update(values))


def contents(name: str, data: bytes) -> Callable[[Path], object]:
    """Return a function that replaces the content of a file."""
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


def without_digest(path: Path, name: str) -> None:
    """Write the manifest of a run without the digest of this file."""
    digests = {other: digest for other, digest in file_digests(path).items() if other != name}
    with mock.patch("mobilenet.record.writer.file_digests", lambda _: digests):
        sign(path, json.loads((path / "manifest.json").read_text()))


FILES = ("events.parquet", "samples.parquet", "positions.parquet", "counters.json", "manifest.json", "scenario.yaml")
UNREADABLE: dict[str, Callable[[Path], object]] = {
    **{f"{name} missing": lambda path, name=name: (path / name).unlink() for name in FILES},
    **{f"{name} truncated": lambda path, name=name: truncate(path, name) for name in FILES},
    "a table that was not counted": lambda path: shutil.copy(path / "positions.parquet", path / "frames.parquet"),
    "a digest missing": lambda path: without_digest(path, "positions.parquet"),
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
    "another end": manifest(simulated_s=20),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_an_unreadable_run_directory_is_rejected_in_one_line(name: str, whole: Path, tmp_path: Path) -> None:
    path = Copy(whole, tmp_path / "damaged").path
    UNREADABLE[name](path)
    with pytest.raises(RunError) as refusal:
        verify_run(path)
    assert len(str(refusal.value).splitlines()) == 1


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
def test_a_datagram_faster_than_its_frame_is_reported(received_ns: int, size: int, words: str | None) -> None:
    expected_of_it = expectations(Scenario.from_text(SCENARIO))
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


@pytest.mark.parametrize("name", ["a_delivery_removed", "deliveries_exchanged", "a_buffer_left_full"])
def test_verify_exits_with_1_for_a_violated_run(name: str, whole: Path, tmp_path: Path) -> None:
    copy = Copy(whole, tmp_path / "damaged")
    check, function = damages.all[name, "whole"]
    function(copy)
    copy.save()
    result = CliRunner().invoke(app, ["verify", str(copy.path)])
    assert result.exit_code == 1 and f"{check} violated:" in result.output


@pytest.mark.parametrize("name", ["events.parquet missing", "events.parquet truncated", "another end", "times as text"])
def test_verify_exits_with_2_for_an_unreadable_run(name: str, whole: Path, tmp_path: Path) -> None:
    path = Copy(whole, tmp_path / "damaged").path
    UNREADABLE[name](path)
    assert CliRunner().invoke(app, ["verify", str(path)]).exit_code == 2


INPUTS = {  # input files of the run
    "gossip.py": ("own_protocol/gossip.yaml", ["duration_s=3", "hosts.count=3"]),
    "ring.py": ("own_protocol/ring.yaml", ["processes=4"]),
    "flood.py": ("programs/flood.yaml", ["duration_s=3", "hosts.count=3"]),
    "drive.csv": ("first.yaml", ["duration_s=9", "hosts={mobility: {model: tracks, file: programs/drive.csv}}"]),
}


@pytest.mark.parametrize("name", [*INPUTS, "of a swarm"])
def test_an_input_file_without_a_digest_is_reported(name: str, tmp_path: Path) -> None:
    if name in INPUTS:
        scenario, changes = INPUTS[name]
        mobilenet.run(SCENARIOS / scenario, out=tmp_path / "run", overrides=changes, allow_code=True)
    else:
        keep_run(4, tmp_path / "run", protocol=f"{SCENARIOS / 'own_protocol/gossip.py'}:Gossip")
    file = next((tmp_path / "run").rglob(name if name in INPUTS else "gossip.py"))
    assert overall(verify_run(tmp_path / "run")) != "violated"
    kept = str(file.relative_to(tmp_path / "run"))
    without_digest(tmp_path / "run", kept)
    with pytest.raises(RunError, match=f"damaged: files has no digest of {kept}"):
        verify_run(tmp_path / "run")
    file.unlink()
    with pytest.raises(RunError, match=file.name):
        verify_run(tmp_path / "run")

"""Tests that `mobilenet verify --repeat` repeats a run. It finds faults that the record alone cannot show.

Source    ours: docs/verdicts-and-metrics.md
"""

from __future__ import annotations

import json
import os
import struct
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import mobilenet
from mobilenet.cli.main import app
from mobilenet.judgement import judge_anew
from mobilenet.lab.hunt.swarm.campaign import keep_run
from mobilenet.lab.live.repetition import divergence
from mobilenet.lab.live.session import LiveSession
from mobilenet.lab.live.stopped_run import keep_unfinished
from mobilenet.lab.programs import run_programs
from mobilenet.lab.programs.conversation import Conversation
from mobilenet.parameters import ScenarioError
from mobilenet.protocols.names import SELECTIVE
from mobilenet.record.reader import RunError
from mobilenet.record.schema import DERIVED_FILES
from mobilenet.scenario import Scenario
from mobilenet.verify import verify_run
from mobilenet.verify.judge import overall
from tests.conftest import SCENARIOS
from tests.tools import copy_run, editing

from .damage import SCENARIO, Copy

GOSSIP = SCENARIOS / "own_protocol" / "gossip.py"
SETTLES = """
import json, sys
for line in sys.stdin:
    e = json.loads(line)
    if e["ev"] == "stop": break
    if e["ev"] == "start": cell = None
    elif e["ev"] == "cell": cell = e["station"]
    elif e["ev"] == "join" and cell is not None: print(json.dumps({"do": "joined", "session": 1, "station": cell}))
    elif e["ev"] == "leave": print(json.dumps({"do": "left", "session": 2}))
    elif e["ev"] == "broadcast": print(json.dumps({"do": "refuse"}))
    print('{"do":"done"}', flush=True)
"""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("repeat") / "run"
    record = ["record={messages: true, frames: true, causes: true}"]
    mobilenet.run(Scenario.from_text(SCENARIO, record), out=path)
    return path


EDITS: dict[str, tuple[Callable[[Copy], object], str]] = {
    "a message later": (
        lambda copy: copy.messages.change(copy.messages.where(kind="AckH", fate="received")[0], size_bytes=77),
        "messages: row ",
    ),
    "a frame with another fate": (lambda copy: copy.frames.change(3, fate="random"), "frames: row 3 ("),
    "a zero of another sign": (lambda copy: copy.samples.change(0, value=-0.0), "samples: row 0 ("),
    "a flag for a number": (
        lambda copy: copy.counters["radio"].update(queue_drops=False),
        "counters.json: radio: queue_drops: False, but the repeat has 0",
    ),
    "a counter that is called nothing": (
        lambda copy: copy.counters.update(more="nothing"),
        "counters.json: more: 'nothing', but the repeat has nothing",
    ),
    "a fact that is called nothing": (
        lambda copy: copy.manifest.update(more="nothing"),
        "manifest.json: more: 'nothing', but the repeat has nothing",
    ),
    "a counter of nothing": (lambda copy: copy.counters.update(more=None), "counters.json: more: None, but the repeat"),
    "a host elsewhere": (lambda copy: copy.positions.change(5, x_m=0.5), "positions: row 5 ("),
    "a delivery later": (lambda copy: copy.events.change(copy.last("deliver"), time_ns=19 * 10**9), "events: row "),
    "another cause of a handoff": (
        lambda copy: copy.events.say(copy.first("handoff_start"), cause="x"), "events: row ",
    ),
    "a sample less": (lambda copy: copy.samples.remove([len(copy.samples.node) - 1]), "samples: "),
    "another cause": (lambda copy: copy.optional["causes"].change(9, kind="x"), "causes: row 9 ("),
    "a counter": (
        lambda copy: copy.counters["radio"].update(queue_drops=1),
        "counters.json: radio: queue_drops: 1, but the repeat has 0",
    ),
    "a fact": (
        lambda copy: copy.manifest.update(skipped_tracks=3), "manifest.json: skipped_tracks: 3, but the repeat has 0",
    ),
    "another promise": (
        lambda copy: copy.manifest["promises"].update(gap_after_s=1), "manifest.json: promises: gap_after_s: 1, but",
    ),
    "a scenario that repeats something else": (
        lambda copy: _rewrite(copy.path / "scenario.yaml", "loss: 0.05", "loss: 0.06"), "",
    ),
    "a number of another type": (
        lambda copy: copy.counters["radio"].update(frames=float(copy.counters["radio"]["frames"])),
        "counters.json: radio: frames: ",
    ),
    "what is no counter": (lambda copy: copy.counters.update(radio=5), "counters.json: radio: 5, but the repeat"),
    "what is no detail": (lambda copy: copy.events.change(copy.first("handoff_start"), detail="["), "events: row "),
    "the middle of a long text": (lambda copy: _change_the_middle(copy.messages.detail), "messages: row "),
    "a long list": (
        lambda copy: copy.manifest.update(not_at_rest=["h0"] * 50), "manifest.json: not_at_rest: ['h0', 'h0', ",
    ),
    "what is no time": (lambda copy: copy.manifest.update(simulated_s="x"), "manifest.json: simulated_s: 'x', but"),
}  # fmt: skip


def _change_the_middle(texts: list[str | None]) -> None:
    """Change the middle of the first long string without changing its length."""
    row = next(row for row, text in enumerate(texts) if text is not None and len(text) > 100)
    text = str(texts[row])
    texts[row] = f"{text[:60]}X{text[61:]}"


def _rewrite(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


@pytest.mark.parametrize("name", EDITS)
def test_verify_repeat_finds_every_edit(name: str, whole: Path, tmp_path: Path) -> None:
    copy = Copy(whole, tmp_path / "copy")
    edit, words = EDITS[name]
    edit(copy)
    copy.save()
    where = divergence(copy.path)
    assert where is not None and where.startswith(words)
    one, _, other = where.partition(", but the repeat has ")
    assert not one.endswith(f" {other}")  # the output shows where the strings differ
    result = CliRunner().invoke(app, ["verify", str(copy.path), "--repeat", "--quiet"])
    assert result.exit_code == 1 and result.output.endswith(f"{copy.path}: not the same when repeated\n")


# These values of NaN differ in the sign and in the payload.
@pytest.mark.parametrize("bits", ["fff8000000000000", "7ff8000000000001"])
def test_verify_repeat_finds_a_different_nan(bits: str, tmp_path: Path) -> None:
    radio = ["wireless={model: sinr}", "record={frames: true}"]
    copy = Copy(mobilenet.run(Scenario.from_text(SCENARIO, radio), out=tmp_path / "run").path, tmp_path / "copy")
    values = copy.links.sinr_db
    row = next(row for row, value in enumerate(values) if value != value)
    values[row] = struct.unpack(">d", bytes.fromhex(bits))[0]
    copy.save()
    where = divergence(copy.path) or ""
    assert where.startswith(f"links: row {row} (")
    assert where.endswith(f"has sinr_db nan (bits {bits}), but the repeat has nan (bits 7ff8000000000000)")


@pytest.mark.parametrize("value", ["-0.0", "false"])
def test_verify_repeat_finds_a_different_zero_of_a_metric(value: str, whole: Path, tmp_path: Path) -> None:
    path = copy_run(whole, tmp_path / "copy")
    _rewrite(path / "metrics.json", '"mac_queue_drops": 0', f'"mac_queue_drops": {value}')
    assert any("metrics.json: " in line for line in judge_anew(path)[2])
    with pytest.raises(RunError, match=r"metrics.json: .* but the repeat has"):
        divergence(path)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [("metrics.json", '"deliveries": ', '"deliveries": 1'), ("verdict.json", "valid", "unknown")],
)
def test_an_edited_derived_file_counts_as_damage(name: str, old: str, new: str, whole: Path, tmp_path: Path) -> None:
    path = copy_run(whole, tmp_path / "copy")
    _rewrite(path / name, old, new)
    with pytest.raises(RunError, match=f"{name}: .* but the repeat has"):
        divergence(path)


@pytest.mark.parametrize("name", ["events.parquet", "counters.json", "manifest.json", "scenario.yaml"])
def test_verify_reports_a_file_with_a_changed_byte(name: str, whole: Path, tmp_path: Path) -> None:
    path = copy_run(whole, tmp_path / "copy") / name
    data = path.read_bytes()
    for place in (len(data) // 3, len(data) - 2):
        path.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        with pytest.raises(RunError, match=name):
            verify_run(path.parent)
    path.write_bytes(data)
    assert overall(verify_run(path.parent)) == "valid"


def test_a_duplicate_key_in_a_json_file_is_rejected(whole: Path, tmp_path: Path) -> None:
    path = copy_run(whole, tmp_path / "copy")
    _rewrite(path / "counters.json", '"radio":', '"radio": {}, "radio":')
    with editing(path / "manifest.json"):
        pass
    with pytest.raises(RunError, match=r"counters.json: not readable as JSON: the key radio occurs twice"):
        verify_run(path)


@pytest.mark.parametrize("value", ["NaN", "-Infinity"])
def test_a_malformed_number_in_a_json_file_is_rejected(value: str, whole: Path, tmp_path: Path) -> None:
    path = copy_run(whole, tmp_path / "copy")
    _rewrite(path / "counters.json", '"queue_drops": 0', f'"queue_drops": {value}')
    with editing(path / "manifest.json"):
        pass
    with pytest.raises(RunError, match=rf"counters.json: not readable as JSON: {value} is not a number"):
        divergence(path)


def test_verify_repeat_states_where_the_records_differ(whole: Path, tmp_path: Path) -> None:
    assert CliRunner().invoke(app, ["verify", str(whole), "--repeat"]).exit_code == 0
    copy = Copy(whole, tmp_path / "copy")
    EDITS["a message later"][0](copy)
    copy.save()
    assert overall(verify_run(copy.path)) == "valid"
    result = CliRunner().invoke(app, ["verify", str(copy.path), "--repeat"])
    assert result.exit_code == 1 and "the repeated run differs: messages: row" in result.output


def test_verify_can_repeat_a_process_run(tmp_path: Path) -> None:
    path = mobilenet.run(SCENARIOS / "vcube" / "reliable.yaml", out=tmp_path / "run").path
    assert divergence(path) is None


@pytest.mark.parametrize(
    "options", [{}, {"protocol": SELECTIVE}, {"backbone": "vcube_reliable"}, {"protocol": f"{GOSSIP}:Gossip"}]
)
@pytest.mark.parametrize("seed", [4, 5])
def test_verify_repeat_repeats_runs_of_swarms(seed: int, options: dict[str, str], tmp_path: Path) -> None:
    keep_run(seed, tmp_path / "run", **options)
    assert divergence(tmp_path / "run", allow_code=True) is None


EDITS_OF_SCHEDULES = {
    "loss: 0.14590691071033413": ("loss: 0.9", "scenario.yaml: air: loss: 0.9, but the repeat has 0.1459"),
    "late_ns: 2421712835": ("late_ns: 1", "scenario.yaml: air: late_ns: 1, but"),
    "flavour: slow_wire": ("flavour: calm", "scenario.yaml: flavour: 'calm', but the repeat has 'slow_wire'"),
    "stations: 3": ("stations: 4", "scenario.yaml: stations: 4, but"),
    "drain_s: 60": ("drain_s: 1", "scenario.yaml: drain_s: 1.0, but"),
    "window: 150": ("window: 1", "scenario.yaml: protocol: window: 1, but the repeat has 150"),
    "seed: 4": ("seed: 6", "events: row "),
    "backbone: tree": ("backbone: vcube_causal", "events: row "),
}


@pytest.mark.parametrize("old", EDITS_OF_SCHEDULES)
def test_editing_a_saved_schedule_is_detected(old: str, tmp_path: Path) -> None:
    keep_run(4, tmp_path / "run")
    new, words = EDITS_OF_SCHEDULES[old]
    with editing(tmp_path / "run/manifest.json"):
        _rewrite(tmp_path / "run/scenario.yaml", f"{old}\n", f"{new}\n")
    assert (divergence(tmp_path / "run") or "").startswith(words)


def test_a_schedule_of_a_plug_in_uses_the_files_of_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gossip.py").write_text(GOSSIP.read_text().replace('promises = "best_effort"', 'promises = "fifo"'))
    keep_run(10, tmp_path / "run", protocol=f"{tmp_path / 'gossip.py'}:Gossip")
    (tmp_path / "gossip.py").write_text("raise RuntimeError")
    monkeypatch.chdir(tmp_path)
    with editing(tmp_path / "run/manifest.json") as manifest:
        manifest["command"] = None
    assert overall(verify_run(tmp_path / "run")) == "violated"
    assert divergence(tmp_path / "run", allow_code=True) is None
    with pytest.raises(ScenarioError, match=r"gossip\.py:Gossip, with your full permissions"):
        divergence(tmp_path / "run")
    with editing(tmp_path / "run/manifest.json"):
        _rewrite(tmp_path / "run/scenario.yaml", "promises: fifo", "promises: best_effort")
    (tmp_path / "run/verdict.json").unlink()
    where = "scenario.yaml: protocol: promises: 'best_effort', but the repeat has 'fifo'"
    assert divergence(tmp_path / "run", allow_code=True) == where
    with editing(tmp_path / "run/manifest.json"):
        _rewrite(tmp_path / "run/gossip.py", '"""', 'raise RuntimeError\n"""')
    with pytest.raises(ScenarioError, match=r"run/gossip\.py:1: RuntimeError"):
        divergence(tmp_path / "run", allow_code=True)


def test_a_schedule_of_programs_uses_the_files_of_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("node.py").write_text(SETTLES)
    words = [sys.executable, "node.py"]
    named = json.dumps({"command": {"host": words, "station": words}, "promises": "best_effort"})
    keep_run(2, Path("run"), protocol=named)
    Path("node.py").write_text("raise RuntimeError")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert divergence(Path("../run"), allow_code=True) is None


def test_verify_repeat_does_not_report_a_timeout_as_a_difference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flood = (SCENARIOS / "programs" / "flood.py").read_text()
    (tmp_path / "flood.py").write_text(f'import os, time\nif os.environ.get("SLOW"): time.sleep(30)\n{flood}')
    (tmp_path / "flood.yaml").write_text((SCENARIOS / "programs" / "flood.yaml").read_text())
    run = mobilenet.run(tmp_path / "flood.yaml", out=tmp_path / "run", overrides=["duration_s=3"], allow_code=True).path
    monkeypatch.setenv("SLOW", "1")
    # Only the programs of the repeated run have so little time. The others may start slowly on a busy machine.
    monkeypatch.setattr(run_programs, "Conversation", lambda *parts: Conversation(*parts[:-1], answer_within_s=0.1))
    result = CliRunner().invoke(app, ["verify", str(run), "--repeat", "--allow-code"])
    assert result.exit_code == 3 and "could not be repeated: " in result.output
    assert "protocol.answer_within_s" in result.output


@pytest.mark.parametrize("name", DERIVED_FILES)
def test_a_record_file_that_is_a_pipe_counts_as_damage(name: str, whole: Path, tmp_path: Path) -> None:
    path = copy_run(whole, tmp_path / "copy", name)
    os.mkfifo(path / name)
    result = CliRunner().invoke(app, ["verify", str(path), "--repeat"])
    assert result.exit_code == 2 and f"{name}: is not a file" in result.output


@pytest.mark.parametrize("name", DERIVED_FILES)
def test_verify_does_not_claim_to_have_compared_a_missing_file(name: str, whole: Path, tmp_path: Path) -> None:
    path = copy_run(whole, tmp_path / "copy", name)
    result = CliRunner().invoke(app, ["verify", str(path), "--repeat"])
    what = {"verdict.json": "verdict, ", "metrics.json": "metric, "}.pop(name)
    assert result.exit_code == 0
    words = "repeated: the two records are the same in every row, counter, packet, verdict, metric, manifest entry"
    assert words.replace(what, "") in result.output


@pytest.mark.parametrize("steps", [0, 7])
def test_a_stopped_run_is_repeated_up_to_where_it_stopped(steps: int, tmp_path: Path) -> None:
    session = LiveSession(Scenario.from_text(SCENARIO))
    session.play(6.123456789)
    for _ in range(steps):
        session.step()
    path = keep_unfinished(session, tmp_path / "stopped")
    assert "stopped by hand" in mobilenet.load(path).manifest["ended_by_error"]
    assert divergence(path) is None
    copy = Copy(path, tmp_path / "copy")
    copy.samples.value[0] += 1
    copy.save()
    assert str(divergence(copy.path)).startswith("samples: row 0 (")


EDITS_OF_STOPPED_RUNS: dict[str, tuple[Callable[[Copy], object], int, str]] = {
    "very many seconds": (
        lambda copy: copy.manifest.update(simulated_s=1e300),
        2, "manifest.json: simulated_s is '1e+300', which no run writes there; the run is damaged",
    ),
    "another second": (lambda copy: copy.manifest.update(simulated_s=-1), 1, "events: "),
    "no rows": (lambda copy: copy.counters.pop("rows"), 1, "counters.json: rows: nothing, but the repeat has {"),
    "5 rows": (lambda copy: copy.counters.update(rows=5), 1, "counters.json: rows: 5, but the repeat has {"),
    "no radio": (lambda copy: copy.counters.pop("radio"), 1, "counters.json: radio: nothing, but the repeat has {"),
    "another count": (
        lambda copy: copy.counters["radio"].update(queue_drops=77),
        1, "counters.json: radio: queue_drops: 77, but the repeat has 0",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    session = LiveSession(Scenario.from_text(SCENARIO))
    session.play(3)
    return keep_unfinished(session, tmp_path_factory.mktemp("repeat") / "stopped")


@pytest.mark.parametrize("name", EDITS_OF_STOPPED_RUNS)
def test_verify_repeat_reports_an_edit_of_a_stopped_run(name: str, stopped: Path, tmp_path: Path) -> None:
    copy = Copy(stopped, tmp_path / "copy")
    edit, code, words = EDITS_OF_STOPPED_RUNS[name]
    edit(copy)
    copy.save(renew=False)
    result = CliRunner().invoke(app, ["verify", str(copy.path), "--repeat", "--quiet"])
    assert result.exit_code == code and words in result.output


@pytest.mark.parametrize(
    ("edit", "key"),
    [
        (lambda copy: copy.manifest.update(own_metrics=5), "manifest.json: own_metrics"),
        (lambda copy: copy.manifest.update(own_metrics=[1]), "manifest.json: own_metrics"),
        (lambda copy: copy.manifest.update(own_checks=[5]), "manifest.json: own_checks"),
        (lambda copy: copy.counters.pop("rows"), "counters.json: rows"),
        (lambda copy: copy.counters.pop("radio"), "counters.json: radio"),
    ],
)
def test_verify_reports_impossible_values_of_keys(
    edit: Callable[[Copy], object], key: str, whole: Path, tmp_path: Path
) -> None:
    copy = Copy(whole, tmp_path / "copy")
    edit(copy)
    copy.save(renew=False)
    with pytest.raises(RunError, match=key):
        judge_anew(copy.path)


def test_a_process_run_with_a_forged_early_end_is_rejected(tmp_path: Path) -> None:
    path = mobilenet.run(SCENARIOS / "vcube" / "reliable.yaml", out=tmp_path / "run").path
    with editing(path / "manifest.json") as manifest:
        manifest["ended_by_error"] = "stopped by hand at 3 s"
    assert divergence(path) == "manifest.json: ended_by_error: 'stopped by hand at 3 s', but the repeat has nothing"


@pytest.mark.parametrize(
    "edit",
    [
        lambda copy: copy.events.change(copy.first("handoff_start"), detail="{"),
        lambda copy: copy.events.change(copy.first("broadcast"), message=None),
    ],
)
def test_an_impossible_record_is_rejected_in_one_line(
    edit: Callable[[Copy], object], whole: Path, tmp_path: Path
) -> None:
    copy = Copy(whole, tmp_path / "copy")
    edit(copy)
    copy.save()
    with pytest.raises(RunError, match="its record is none that mobilenet writes"):
        judge_anew(copy.path)


COLUMNS_NO_RUN_HAS: dict[str, tuple[str, Callable[[pa.Table], pa.Table], str]] = {
    "one more": (
        "positions",
        lambda table: table.append_column("more", table["x_m"]),
        "positions: the record has the column more",
    ),
    "one twice": (
        "causes",
        lambda table: table.append_column("kind", table["kind"]),
        "causes.parquet: column kind occurs more than once",
    ),
    "one without values, not even their type": (
        "messages",
        lambda table: table.set_column(
            table.column_names.index("session"), pa.field("session", pa.null()), [pa.nulls(len(table))]
        ),
        "messages.parquet: column session is null, expected int64",
    ),
}


@pytest.mark.parametrize("name", COLUMNS_NO_RUN_HAS)
def test_unexpected_columns_in_a_table_are_found(name: str, whole: Path, tmp_path: Path) -> None:
    file, edit, words = COLUMNS_NO_RUN_HAS[name]
    path = copy_run(whole, tmp_path / "copy") / f"{file}.parquet"
    pq.write_table(edit(pq.read_table(path)), path)
    with editing(path.with_name("manifest.json")):
        pass
    result = CliRunner().invoke(app, ["verify", str(path.parent), "--repeat", "--quiet"])
    assert result.exit_code in (1, 2) and words in result.output

"""Tests that verdict.json and metrics.json can be derived from the record. `show` requires these files, and `verify`
writes missing ones again.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

import mobilenet
from mobilenet.api import judge_anew
from mobilenet.cli.main import app
from mobilenet.record import reader
from mobilenet.record.reader import RunError
from mobilenet.record.schema import DERIVED_FILES
from mobilenet.scenario import Scenario
from mobilenet.verify import verify_run

from .damage import SCENARIO


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return mobilenet.run(
        Scenario.from_text(SCENARIO, ["duration_s=8", "churn=null"]), out=tmp_path_factory.mktemp("runs") / "whole"
    ).path


@pytest.fixture
def run(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "a run"))


def command(*words: str | Path) -> tuple[int, str]:
    result = CliRunner().invoke(app, [str(word) for word in words])
    return result.exit_code, result.output


@pytest.mark.parametrize("name", DERIVED_FILES)
def test_show_reports_a_missing_file_and_how_to_recreate_it(name: str, run: Path) -> None:
    (run / name).unlink()
    code, output = command("show", run)
    assert code == 2 and output == f"{run / name}: missing; `mobilenet verify '{run}'` recreates it from the record\n"


@pytest.mark.parametrize("names", [DERIVED_FILES[:1], DERIVED_FILES[1:], DERIVED_FILES])
def test_verify_recreates_derived_files_exactly(names: tuple[str, ...], run: Path) -> None:
    before = {name: json.loads((run / name).read_text()) for name in DERIVED_FILES}
    for name in names:
        (run / name).unlink()
    code, output = command("verify", run)
    assert code == 0 and [f"{run / name} was missing, and has been restored" in output for name in DERIVED_FILES] == [
        n in names for n in DERIVED_FILES
    ]
    assert {name: json.loads((run / name).read_text()) for name in DERIVED_FILES} == before
    assert command("show", run)[0] == 0


def test_verify_reports_a_wrong_derived_file_without_changing_it(run: Path) -> None:
    text = (run / "verdict.json").read_text().replace('"valid"', '"violated"').replace('""', '"late"')
    (run / "verdict.json").write_text(text)
    code, output = command("verify", run)
    assert code == 2 and f"{run / 'verdict.json'} has the verdict violated, which contradicts the record" in output
    assert (run / "verdict.json").read_text() == text


@pytest.mark.parametrize(
    "text", ["{", "[]", "{}", '{"checks": 3}', '{"checks": {"record": {}}}', '{"checks": {"record": 1}}']
)
def test_a_garbled_verdict_file_is_reported(text: str, run: Path) -> None:
    (run / "verdict.json").write_text(text)
    verdicts, notes, wrong = judge_anew(run)
    assert verdicts["record"].answer == "valid" and notes == [] and len(wrong) == 1 and "verdict.json" in wrong[0]
    with pytest.raises(RunError):
        print(mobilenet.Run(run).verdict)
    code, output = command("show", run)
    assert code == 2 and len(output.splitlines()) == 1


def test_verify_works_where_it_cannot_write(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, value: object) -> None:
        raise OSError(28, "No space left on device")

    (run / "metrics.json").unlink()
    monkeypatch.setattr("mobilenet.judgement.write_json", full)
    verdicts, notes, _ = judge_anew(run)
    assert verdicts["record"].answer == "valid"
    assert notes == [f"{run / 'metrics.json'} was missing, and cannot be written: No space left on device"]


def test_edits_to_run_files_are_detected(whole: Path, tmp_path: Path) -> None:
    """An edit of the scenario, the counters or the manifest is detected even if the record remains plausible."""
    for name, old, new in (
        ("scenario.yaml", "max_events: 1", "max_events: 2"), ("counters.json", '"queue_drops": 0',
        '"queue_drops": 55'), ("manifest.json", "\n", "\r"),
    ):  # fmt: skip
        path = tmp_path / name.partition(".")[0]
        shutil.copytree(whole, path)
        text = (path / name).read_text()
        assert old in text
        (path / name).write_text(text.replace(old, new, 1), newline="")
        with pytest.raises(RunError, match=f"{name}: changed since the run wrote it"):
            verify_run(path)
    path = tmp_path / "more"
    shutil.copytree(whole, path)
    (path / "notes.txt").write_text("my own")
    assert verify_run(path)["record"].answer == "valid"


@pytest.mark.parametrize(("name", "value"), [("delivery_delay_mean_s", 1e-9), ("no_metric", None)])
def test_verify_reports_edited_metrics(name: str, value: float | None, whole: Path, tmp_path: Path) -> None:
    path = tmp_path / "edited"
    shutil.copytree(whole, path)
    metrics = json.loads((path / "metrics.json").read_text())
    (path / "metrics.json").write_text(json.dumps(metrics | {name: value}))
    _, _, wrong = judge_anew(path)
    assert len(wrong) == 1 and f"{name} contradicts the record" in wrong[0]


@pytest.mark.parametrize("text", [b"{", b"[]", b"\xff", b"[" * 100_000, b"{}", b'{"deliveries": []}'])
@pytest.mark.parametrize("name", DERIVED_FILES)
def test_verify_continues_after_it_finds_a_garbled_file(name: str, text: bytes, run: Path) -> None:
    (run / name).write_bytes(text)
    code, output = command("verify", run)
    lines = [line for line in output.splitlines() if name in line]
    assert code == 2 and len(lines) == 1 and "remove the file, and `mobilenet verify` recreates it" in lines[0]
    code, output = command("show", run)
    assert code == 2 and len(output.splitlines()) == 1 and "remove the file, and" in output
    (run / name).unlink()
    assert command("verify", run)[0] == 0 and command("show", run)[0] == 0


@pytest.mark.parametrize("small_bytes", [0, 10**9])
@pytest.mark.parametrize("table", ["events", "samples", "positions"])
def test_show_detects_damaged_tables(table: str, small_bytes: int, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "SMALL_BYTES", small_bytes)
    assert command("show", run)[0] == 0
    path = run / f"{table}.parquet"
    whole = path.read_bytes()
    place = len(whole) // 3
    flipped = whole[:place] + bytes([whole[place] ^ 255]) + whole[place + 1 :]
    for spoilt in (whole[:-5], whole[5:], whole[:place], *([flipped, b""] if small_bytes else [])):
        path.write_bytes(spoilt)
        code, output = command("show", run)
        assert (
            code == 2 and output.startswith(f"{path}: changed since the run wrote it") and len(output.splitlines()) == 1
        )
    path.unlink()
    assert command("show", run)[0] == 2


@pytest.mark.parametrize("name", DERIVED_FILES)
def test_a_damaged_file_is_reported_with_its_exit_code(name: str, run: Path) -> None:
    whole = (run / name).read_bytes()
    for damaged in (whole.replace(b"\n", b"\r", 1), whole.replace(b"valid", b"vamid").replace(b": ", b":", 1), b""):
        (run / name).write_bytes(damaged)
        code, output = command("verify", run, "--quiet")
        assert code == 2 and output.endswith(f"{run}: damaged\n") and str(run / name) in output
    assert command("verify", run, "--repeat", "--quiet")[0] == 2

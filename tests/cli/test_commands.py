"""Tests of the output of each command, of its exit code, and of the next steps that it suggests."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from mobilenet import __version__, api, judgement
from mobilenet.cli import console, progress
from mobilenet.cli.console import Exit
from mobilenet.cli.main import PANELS, app
from mobilenet.record.reader import read_events
from mobilenet.record.table import Table
from tests.tools import sign

from .command import FIRST, SHORT, everything_below, mobilenet


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("place")
    done = mobilenet("run", FIRST, *SHORT, place=place)
    assert done.returncode == 0, done.stderr
    place.joinpath("said").write_text(done.stdout)
    return place


def call(*words: str | Path) -> int:
    """Call a command in this process, so that the test can replace functions."""
    from typer.main import get_command

    code = get_command(app).main([str(word) for word in words], prog_name="mobilenet", standalone_mode=False)
    return int(code or 0)


@pytest.fixture
def violated(place: Path, tmp_path: Path) -> Path:
    """Return a copy of the run in which one host delivers a message twice."""
    directory = tmp_path / "broken"
    directory.mkdir()
    for file in (place / "runs" / "first-s1").iterdir():
        directory.joinpath(file.name).write_bytes(file.read_bytes())
    events = read_events(directory)
    row = events["event"].index("deliver")
    for cells in events.values():
        cells.insert(row, cells[row])
    Table.of(events).write(directory / "events.parquet")
    manifest = json.loads((directory / "manifest.json").read_text())
    sign(directory, manifest)
    return directory


def test_run_prints_its_result_and_the_next_command(place: Path) -> None:
    lines = (place / "said").read_text().splitlines()
    assert "s simulated in" in lines[0] and "deliveries" in lines[1] and lines[2] == "verdict: valid"
    assert lines[-1] == "Next: mobilenet show runs/first-s1"


def test_the_printed_next_command_can_be_typed_as_it_is(tmp_path: Path) -> None:
    done = mobilenet("run", FIRST, *SHORT, "--out", "a b's", place=tmp_path)
    assert done.returncode == 0 and done.stderr == ""
    assert done.stdout.endswith("""Next: mobilenet show 'a b'"'"'s'\n""")
    assert everything_below(tmp_path)[0] == "a b's"


def test_a_second_run_gets_a_new_directory_name(place: Path) -> None:
    done = mobilenet("run", FIRST, *SHORT, "--seed", "7", "--set", "hosts.count=3", place=place)
    again = mobilenet("run", FIRST, *SHORT, "--seed", "7", place=place)
    assert done.stdout.endswith("Next: mobilenet show runs/first-s7\n")
    assert again.stdout.endswith("Next: mobilenet show runs/first-s7-2\n")
    one, other = api.Run(place / "runs/first-s7"), api.Run(place / "runs/first-s7-2")
    assert one.manifest["seed"] == other.manifest["seed"] == 7
    assert set(one.positions["node"]) - set(other.positions["node"]) == set()
    assert "h2" in set(one.positions["node"]) and {"h3", "h4", "h5"} <= set(other.positions["node"]) - set(
        one.positions["node"]
    )
    assert "count: 3" in (one.path / "scenario.yaml").read_text()


def test_the_manifest_contains_the_command_that_repeats_the_run(place: Path) -> None:
    run = api.Run(place / "runs" / "first-s1")
    command = run.manifest["command"]
    assert command == "mobilenet run first-s1/scenario.yaml --out first-s1-again"
    done = mobilenet(*command.split()[1:], place=place / "runs")
    assert done.returncode == 0
    assert api.Run(place / "runs" / "first-s1-again").manifest["fingerprint"] == run.manifest["fingerprint"]


def test_check_accepts_a_scenario_with_an_override(place: Path) -> None:
    done = mobilenet("check", FIRST, "--set", "hosts.count=7", place=place)
    assert done.returncode == 0 and done.stderr == ""
    assert "no problems found; 30 s of simulated time, about" in done.stdout
    assert done.stdout.splitlines()[-1] == f"Next: mobilenet run {FIRST} --set hosts.count=7"


def test_verify_and_show_accept_a_valid_run(place: Path) -> None:
    done = mobilenet("verify", "runs/first-s1", place=place)
    assert done.returncode == 0 and done.stdout.count(" valid") >= 8
    assert done.stdout.splitlines()[-1] == "runs/first-s1: valid. Next: mobilenet report runs/first-s1"
    done = mobilenet("show", "runs/first-s1", place=place)
    assert done.returncode == 0 and "delivery_delay_mean_s" in done.stdout
    assert done.stdout.splitlines()[-1] == "runs/first-s1: valid. Next: mobilenet map runs/first-s1"
    properties = json.loads(mobilenet("show", "runs/first-s1", "--json", place=place).stdout)["properties"]
    assert properties["record"] == {"answer": "valid", "explanation": ""}


def test_a_violation_is_explained_and_exits_with_1(violated: Path) -> None:
    done = mobilenet("verify", violated, place=violated.parent)
    assert done.returncode == 1 and done.stderr == ""
    assert "duplication violated: " in done.stdout and done.stdout.splitlines()[-1] == f"{violated}: violated"


def test_run_exits_with_1_when_the_run_is_violated(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from mobilenet.verify import Verdict

    real = judgement.verify
    monkeypatch.setattr(
        judgement, "verify", lambda *columns: real(*columns) | {"duplication": Verdict("violated", "h1 twice")}
    )
    monkeypatch.chdir(tmp_path)
    assert call("run", FIRST, *SHORT) == Exit.VIOLATED
    output = capsys.readouterr().out
    assert "duplication violated: h1 twice\n" in output and output.endswith("Next: mobilenet show runs/first-s1\n")
    assert api.Run("runs/first-s1").verdict == "violated"


def test_swarm_prints_its_counts_and_the_next_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    campaign = pytest.importorskip("mobilenet.lab.hunt.swarm.campaign")

    def hunt(seeds: range, *options: object) -> Iterator[SimpleNamespace]:
        for seed in seeds:
            answer = "violated" if seed == 5 else "valid"
            yield SimpleNamespace(seed=seed, answer=answer, network="full", explanation="h1 delivered h2:3 before h3:1")

    monkeypatch.setattr(campaign, "run_campaign", hunt)
    assert call("swarm", "--count", "2", "--workers", "1") == 0
    assert capsys.readouterr().out.splitlines()[-1] == "Next: mobilenet swarm --count 2 --seed 3"
    assert call("swarm", "--count", "3", "--seed", "4") == Exit.VIOLATED
    output = capsys.readouterr().out
    assert "h1 delivered h2:3 before h3:1" in output and "Repeat: mobilenet swarm --count 1 --seed 5" in output
    assert output.splitlines()[-1].startswith("Next: mobilenet ")


def test_help_lists_every_command_and_version_prints_the_version(place: Path) -> None:
    done = mobilenet(place=place)
    assert done.returncode == 0 and done.stdout.splitlines()[-1].startswith("Next: ")
    for panel, commands in PANELS.items():
        listed = done.stdout.split(f"\n{panel}:\n")[1].split("\n\n")[0]
        assert [line.split()[0] for line in listed.splitlines()] == list(commands)
        for line in listed.splitlines():  # Each description is a complete sentence.
            assert len(line.split(maxsplit=1)[1]) <= 50 and line.endswith(".") and not line.endswith("..."), line
    assert mobilenet("--version", place=place).stdout == f"mobilenet {__version__}\n"


def test_progress_is_printed_line_by_line_without_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = [100.0]
    monkeypatch.setattr(console.time, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(progress, "PLAIN_PROGRESS_S", 10.0)
    with progress.progress(False, "dynamic", rest=0.2) as update:
        assert update is not None
        for second in range(1, 41):
            clock[0] += 0.5
            update(float(second), 30.0)
    assert capsys.readouterr().err == (
        "20 of 30 s simulated, 2.0 s per second, 8 s left\n30 s simulated, draining for 10 s\n"
    )
    with progress.progress(False, "slow") as update:
        for done_s in (0.0, 0.4):  # The simulation has made little or no progress yet.
            clock[0] += 10
            update(done_s, 30.0)
    assert capsys.readouterr().err == (
        "0 of 30 s simulated, 0.000 s per second\n0 of 30 s simulated, 0.020 s per second, 1480 s left\n"
    )
    with progress.progress(True, "dynamic") as update:
        assert update is None


def test_an_internal_error_explains_how_to_report_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import pyarrow as pa

    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MOBILENET_DEBUG", raising=False)
    for error in (
        AssertionError("two\nlines " + "x" * 500),
        pa.ArrowInvalid("no"),
        RecursionError("deep"),
        KeyError("key"),
    ):
        with monkeypatch.context() as patch:

            def fail(*_: object, error: Exception = error) -> None:
                raise error

            patch.setattr(api, "write_recording", fail)
            assert call("run", FIRST, *SHORT) == Exit.UNFINISHED
            streams = capsys.readouterr()
            assert streams.out == "" and streams.err.count("\n") == 1 and len(streams.err) < 500
            assert (
                streams.err.startswith(f"internal error: {type(error).__name__}: ")
                and "please report it" in streams.err
            )
            patch.setenv("MOBILENET_DEBUG", "1")
            with pytest.raises(type(error)):
                call("run", FIRST, *SHORT)
            capsys.readouterr()
    assert everything_below(tmp_path) == []


def test_run_exits_as_unfinished_if_memory_runs_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def hungry(*_: object) -> None:
        raise MemoryError

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(api, "write_recording", hungry)
    assert call("run", FIRST, *SHORT) == Exit.UNFINISHED
    assert capsys.readouterr().err == "out of memory; nothing was written\n"
    assert everything_below(tmp_path) == []

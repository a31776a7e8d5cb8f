"""Tests of studies on a real Spark. One study is killed and resumed, one uses a cluster that loses a worker, and one
contains runs that fail.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from mobilenet.viz.comparison import draw

from mobilenet.engine import native
from mobilenet.lab.studies import StudyError, spark
from mobilenet.lab.studies.batch import Standing
from mobilenet.lab.studies.cluster import cluster
from mobilenet.lab.studies.configurations import PlannedRun
from mobilenet.lab.studies.declaration import Study
from mobilenet.lab.studies.java import java_version
from mobilenet.lab.studies.query.spark_classes import keep_classes
from mobilenet.lab.studies.spark import QUICK_TO_START, local_master, spark_session
from mobilenet.lab.studies.study import Result, compare_study, estimate, run_study
from mobilenet.lab.studies.tables import write_tables
from mobilenet.lab.studies.task import perform_runs
from tests.cli.command import mobilenet
from tests.conftest import REPLICATIONS, ROOT
from tests.lab.studies.directories import kill, manifests, run, study_in, tables_of
from validation.aggregation import build, measure_all, oracle

pytestmark = pytest.mark.spark


def test_a_finished_study_has_all_its_runs_and_tables(finished: Result) -> None:
    assert (finished.done, finished.failed, finished.violated, finished.unstable) == (4 * REPLICATIONS, [], [], [])
    runs = pd.read_parquet(finished.store.path / "runs.parquet")
    assert list(runs["state"]) == ["done"] * 16
    assert runs.groupby("replication")["seed"].nunique().eq(1).all() and runs["seed"].nunique() == REPLICATIONS
    rows = json.loads((finished.store.path / "comparison.json").read_text())["findings"]
    assert len(rows) == 4
    slower = [row for row in rows if row["metric"] == "delivery_delay_mean_s" and row["workload.interval_s"] == 1]
    assert slower[0]["verdict"] == "different" and slower[0]["difference"] > 0


def test_replications_share_seeds_across_configurations(finished: Result) -> None:
    """A replication has the same seed in both configurations, and therefore the same initial positions of hosts."""
    a, b = (pd.read_parquet(finished.store.runs / f"c00{c}-r0001" / "positions.parquet") for c in (0, 3))
    other = pd.read_parquet(finished.store.runs / "c000-r0002" / "positions.parquet")
    first = [frame[frame["time_ns"] == 0].reset_index(drop=True) for frame in (a, b, other)]
    assert first[0].equals(first[1]) and not first[0].equals(first[2])


def test_a_killed_study_resumes_with_a_different_worker_count(
    finished: Result, study_file: Path, tmp_path: Path
) -> None:
    before = kill("study", study_file, "--out", "out", place=tmp_path, runs=3)
    assert len(before) < 16 and not (tmp_path / "out" / "tables").exists()
    assert mobilenet("study", study_file, "--out", "out", "--workers", "2", "--quiet", place=tmp_path).returncode == 0
    assert before.items() < manifests(tmp_path).items() and len(manifests(tmp_path)) == 16
    assert tables_of(tmp_path / "out") == tables_of(finished.store.path)


NAME = "spark-defaults.conf"


def test_losing_a_cluster_worker_does_not_change_the_tables(
    finished: Result, study_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The master accepts only clients that know the secret. The executors run the modules that were compiled here."""
    out = tmp_path / "cluster"
    killed = []
    monkeypatch.setenv("JDK_JAVA_OPTIONS", QUICK_TO_START)
    monkeypatch.setattr(spark, "MASTER_TAKES_US_WITHIN_S", 200)
    with cluster(2, 7391) as (url, workers, settings):
        assert settings.stat().st_mode & 0o77 == 0 and "authenticate true" in (settings / NAME).read_text()
        stranger = (
            "import sys; from mobilenet.lab.studies import spark; spark.MASTER_TAKES_US_WITHIN_S = 12\n"
            "with spark.spark_session(sys.argv[1]): print('taken')"
        )
        refused = subprocess.run([sys.executable, "-c", stranger, url], capture_output=True, text=True, check=False)
        assert refused.returncode == 1 and "StudyError" in refused.stderr and "taken" not in refused.stdout
        monkeypatch.setenv("SPARK_CONF_DIR", str(settings))

        def lose_one(standing: Standing) -> None:
            if any((out / "starting").glob("c*")) and not killed:
                os.killpg(workers[0].pid, signal.SIGKILL)
                killed.append(standing.left)

        with spark_session(url) as session:
            look = eval("lambda _: (__import__('mobilenet').__file__, __import__('mobilenet').native.in_use())")
            file, is_compiled = session.sparkContext.parallelize([0], 1).map(look).collect()[0]
            assert ".zip" in file and is_compiled == native.in_use()
            result = run_study(study_file, out, session, lose_one)
    assert killed and killed[0] > 0 and result.done == 16
    assert tables_of(out) == tables_of(finished.store.path)


def test_a_failed_run_is_listed_in_the_table_and_retried(finished: Result, study_file: Path, tmp_path: Path) -> None:
    out = Path(shutil.copytree(finished.store.path, tmp_path / "broken"))
    in_the_way = out / "runs" / "c001-r0002"
    shutil.rmtree(in_the_way)
    in_the_way.touch()
    result = run(study_file, out)
    (failed,) = result.failed
    assert result.done == 15 and "c001-r0002: " in failed and "already exists" in failed
    states = pd.read_csv(out / "runs.csv").set_index("run")["state"]
    assert states.pop("c001-r0002") == "failed" and set(states) == {"done"}
    assert set(pd.read_csv(out / "tables" / "summary.csv").query("configuration == 1")["n"]) == {3}
    in_the_way.unlink()
    assert run(study_file, out).failed == []
    assert tables_of(out) == tables_of(finished.store.path)


def test_a_study_recomputes_damaged_runs(finished: Result, study_file: Path, tmp_path: Path) -> None:
    out = Path(shutil.copytree(finished.store.path, tmp_path / "damaged"))
    events = out / "runs" / "c000-r0001" / "events.parquet"
    events.write_bytes(events.read_bytes()[:1000])
    (out / "runs" / "c001-r0002" / "samples.parquet").unlink()
    lefts: list[int] = []
    assert run(study_file, out, lambda standing: lefts.append(standing.left)).failed == []
    assert min(lefts) == 0 and max(lefts) <= 2
    assert tables_of(out) == tables_of(finished.store.path)


def test_levels_of_any_kind_can_be_compared_and_drawn(tmp_path: Path) -> None:
    """Tables, comparisons and figures use the same names for null, mappings, and numbers with a decimal point."""
    levels = (
        "factors:\n  wireless.loss: [0.0, 0.2]\n"
        "  faults: [null, {schedule: explicit, outages: [{host: h1, at_s: 3, duration_s: 1}]}]\n"
        "compare: {factor: faults, baseline: null, metrics: [delivery_delay_mean_s, handoff_interruption_mean_s]}\n"
    )
    out = run(study_in(tmp_path, levels, duration_s=8), tmp_path / "levels").store.path
    compare_study(out)
    draw(out, out / "comparison.svg")
    rows = pd.read_csv(out / "comparison.csv", keep_default_na=False)
    assert set(rows["baseline"]) == {"null"} and len(rows) == 4 and (out / "comparison.svg").stat().st_size > 5000


def test_a_server_that_is_not_a_spark_master_is_reported() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        code = (
            "import mobilenet.lab.studies.spark as s\ns.MASTER_TAKES_US_WITHIN_S = 5\ntry:\n"
            f"    with s.spark_session('spark://127.0.0.1:{listener.getsockname()[1]}'): pass\n"
            "except s.StudyError as error: print(error, flush=True)\n"
            "with s.spark_session('local[1]') as session: print(session.range(2).count(), flush=True)\n"
            "import os; os._exit(0)"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=300, check=True
        )
    refused, count = done.stdout.splitlines()
    assert "no compatible Spark master" in refused and count == "2"


def test_a_run_with_an_unreadable_scenario_counts_as_failed(tmp_path: Path) -> None:
    (tmp_path / "failed").mkdir()
    (tmp_path / "configurations" / "c000").mkdir(parents=True)
    (tmp_path / "configurations" / "c000" / "scenario.yaml").write_text("seed: nonsense\n")
    perform_runs(tmp_path, "terminating", [PlannedRun(0, 1, 1)])
    assert "scenario.yaml:1: " in json.loads((tmp_path / "failed" / "c000-r0001.json").read_text())["error"]
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("old", "new", "folder", "problem"),
    [
        (
            "[1, 2]",
            "[1, 3]",
            "finished",
            r"another study: factors.workload.interval_s was \[1, 2\]",
        ),
        ("", "", "full", "exists and is not a study"),
        ("metrics: [delivery", "metrics: [delviery", "new", "unknown metric 'delviery_delay_mean_s'"),
    ],
)
def test_the_study_command_rejects_a_bad_study(
    finished: Result, study_file: Path, tmp_path: Path, old: str, new: str, folder: str, problem: str
) -> None:
    (tmp_path / "other.yaml").write_text(study_file.read_text().replace(old, new))
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter.txt").touch()
    with pytest.raises(StudyError, match=problem):
        run(tmp_path / "other.yaml", finished.store.path if folder == "finished" else tmp_path / folder, workers=1)


@pytest.mark.parametrize(
    ("master", "problem"),
    [
        ("spark://127.0.0.1:1", "no answer"),
        ("spark://nowhere.invalid:7077", "no answer"),
        ("mars", "expected local"),
        ("local[0]", "expected local"),
    ],
)
def test_the_study_command_rejects_a_bad_spark_master(master: str, problem: str) -> None:
    with pytest.raises(StudyError, match=problem), spark_session(master):
        pass


def test_comparing_something_other_than_a_study_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="not a study directory"):
        compare_study(tmp_path)


def test_the_estimate_of_a_study_covers_each_configuration(study_file: Path) -> None:
    estimates = estimate(Study.load(study_file))
    assert [e.runs for e in estimates] == [REPLICATIONS] * 4 and all(
        e.cpu_s > 0 and e.disk_bytes > 1000 for e in estimates
    )


def test_spark_tables_agree_with_pandas(tmp_path: Path) -> None:
    """The test runs `python -m validation.aggregation` with a small study."""
    store, runs = build(tmp_path, 4, 14_000)
    measure_all(store, runs)
    with spark_session(local_master(1)) as spark:
        write_tables(store, [2, 2], spark)
    exact, approximate, rows = oracle(store, runs)
    assert exact <= 1e-9 and approximate <= 1e-3 and rows == 14_000


def test_spark_loads_its_classes_from_the_class_archive(tmp_path: Path) -> None:
    """The test runs in a separate process with its own Java."""
    keep_classes()
    code = (
        "import sys\n"
        "from mobilenet.lab.studies.java import class_options, java_home\n"
        "from mobilenet.lab.studies.spark import spark_session\n"
        "log = f'-Xlog:class+load:file={sys.argv[1]}'\n"
        "options = class_options(java_home()).replace('-Xlog:disable', log) or log\n"
        "with spark_session('local[1]', java_options=options) as session: print(session.range(5).count())"
    )
    log = tmp_path / "classes"
    command = [sys.executable, "-c", code, str(log)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=True)
    (loaded,) = [line for line in log.read_text().splitlines() if " org.apache.spark.SparkContext source: " in line]
    assert done.stdout == "5\n" and "shared objects file (top)" in loaded


def test_the_packaged_java_runs_spark(tmp_path: Path) -> None:
    """A separate process whose PATH does not contain Java simulates a machine without Java."""
    bare = tmp_path / "bin"
    bare.mkdir()
    tools = (
        "sh", "bash", "dirname", "basename", "cat", "ps", "uname", "env", "nice", "id", "hostname", "tr", "sed", "grep",
    )  # fmt: skip
    for path in filter(None, map(shutil.which, tools)):
        (bare / Path(path).name).symlink_to(path)
    code = (
        "from mobilenet.lab.studies.spark import *\n"
        "from mobilenet.lab.studies.java import java_home\n"
        "with spark_session('local[1]') as spark: print(java_home(), spark.range(5).count())"
    )
    environment = {key: value for key, value in os.environ.items() if key != "JAVA_HOME"} | {"PATH": str(bare)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, cwd=ROOT, capture_output=True, text=True, timeout=300, check=True
    )
    home, count = done.stdout.split()
    assert "mobilenet-java" in home and count == "5" and java_version(Path(home)) in (17, 21)

"""Tests of `mobilenet query`: views with and without Spark, the ten questions of the guide, access to files, and
rejected queries.
"""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import mobilenet
from mobilenet.lab.studies import StudyError
from mobilenet.lab.studies.query.places import runs_of
from mobilenet.lab.studies.query.spark_sql import answer, ask, plan_of, table, views_of
from mobilenet.lab.studies.query.views import NAMES
from mobilenet.lab.studies.spark import local_master, spark_session
from mobilenet.lab.studies.study import run_study
from mobilenet.record.reader import RunError
from tests.conftest import SCENARIOS
from tests.lab.studies.directories import nothing
from tests.tools import invoke, refusal
from tests.write_views_page import PAGE, with_views

pytestmark = pytest.mark.spark

STUDY = f"""
scenario: {SCENARIOS}/faults.yaml
set:
  {{duration_s: 11, hosts.count: 20, faults.first_at_s: 2, record.causes: true, record.messages: true,
   record.frames: true}}
factors:
  protocol.name: [mobile_causal]
  wireless.loss: [0, 0.2]
  "a`b": [{{warmup_s: 0}}]
  RUN: [{{workload.payload_bytes: 100}}]
replications: {{min: 2}}
"""
QUESTIONS = re.findall(r"```sql\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("query [odd] {name}")
    (folder / "study.yaml").write_text(STUDY)
    run_study(folder / "study.yaml", folder / "done", local_master(1), nothing)
    return folder / "done"


def rows(view: pa.Table) -> list[dict[str, object]]:
    return view.sort_by([(name, "ascending") for name in view.column_names]).to_pylist()


def test_query_views_with_and_without_spark_are_identical(study: Path) -> None:
    runs = runs_of(study)
    with spark_session(local_master(1)) as session, views_of(runs, session) as views:
        for name in NAMES:
            if name in ("links", "lines"):
                with pytest.raises(StudyError, match=f"no run recorded {name}; set record"):
                    views[name]
                continue
            with_spark, alone = views[name].toArrow(), table(runs, name)
            assert [*map(str, with_spark.schema)] == [*map(str, alone.schema)]
            assert len(alone) and rows(with_spark) == rows(alone), name


def test_query_views_agree_with_the_recorded_tables(study: Path) -> None:
    frames = mobilenet.StudyFrames(study)
    deliveries, runs = frames.table("deliveries").to_pandas(), frames.table("runs").to_pandas()
    for path in sorted((study / "runs").iterdir()):
        own = mobilenet.load(path)
        mine = deliveries[deliveries.run == path.name]
        assert len(mine) == (own.events.event == "deliver").sum()
        window = mine[mine.broadcast_s.between(own.manifest["warmup_s"], own.manifest["duration_s"], inclusive="left")]
        assert window.delay_s.mean() == pytest.approx(own.metrics["delivery_delay_mean_s"])
        assert runs[runs.run == path.name].broadcasts.item() == own.metrics["broadcasts"]
    buffers = frames.table("buffers").to_pandas()
    assert (buffers.to_s >= buffers.from_s).all() and set(buffers.buffer) == {"sbuffer", "rbuffer"}
    assert set(runs["wireless.loss"]) == {0, 0.2} and set(runs["replication"]) == {1, 2}


def test_query_shows_the_buffers_of_processes(tmp_path: Path) -> None:
    mobilenet.run(SCENARIOS / "vcube" / "causal.yaml", out=tmp_path / "run", overrides={"processes": 4})
    buffers = table(runs_of(tmp_path / "run"), "buffers").to_pandas()
    assert set(buffers.node) == {"p0", "p1", "p2", "p3"} and set(buffers.buffer) == {"pending"}


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_ten_questions_of_the_query_guide_have_answers(question: str, study: Path) -> None:
    assert len(QUESTIONS) == 10
    with spark_session(local_master(1)) as session, views_of(runs_of(study), session) as views:
        assert len(answer(ask(views, session, question)))


def test_queries_read_only_the_columns_they_need(study: Path) -> None:
    sums = "SELECT receiver, sum(delay_s) FROM deliveries WHERE `wireless.loss` = 0.2 GROUP BY 1"
    last = "SELECT max(x_m) FROM positions WHERE configuration = 1"
    with spark_session(local_master(1)) as session, views_of(runs_of(study), session) as views:
        plan = plan_of(ask(views, session, sums))
        assert "session:bigint" not in plan and "detail" not in plan and "dynamicpruning" in plan
        frame = ask(views, session, last)
        assert "ReadSchema: struct<x_m:double>" in (plan := plan_of(frame)) and "dynamicpruning" in plan
        answer(frame)
        assert "events" not in plan


def test_queries_accept_a_single_run_or_a_folder_of_runs(study: Path, tmp_path: Path) -> None:
    alone = table(runs_of(study / "runs" / "c000-r0001"), "deliveries")
    all_runs = table(runs_of(study / "runs"), "deliveries")
    assert set(alone["run"].to_pylist()) == {"c000-r0001"} and alone["configuration"].null_count == len(alone)
    assert rows(all_runs.filter(pa.compute.equal(all_runs["run"], "c000-r0001"))) == rows(alone)
    shutil.copytree(study / "runs" / "c000-r0001", tmp_path / "runs" / "mine")
    (tmp_path / "runs" / "notes").mkdir()
    assert table(runs_of(tmp_path / "runs"), "runs")["run"].to_pylist() == ["mine"]


def test_the_query_command_prints_a_table(study: Path, tmp_path: Path) -> None:
    sql = "SELECT run, avg(delay_s) AS mean_s FROM deliveries GROUP BY run ORDER BY run"
    done = invoke("query", study, sql, "--workers", 1)
    assert done.exit_code == 0 and "c001-r0002" in done.output
    for name, read in (("answer.csv", pa.csv.read_csv), ("answer.parquet", pq.read_table)):
        assert invoke("query", study, sql, "--workers", 1, "--out", tmp_path / name).exit_code == 0
        assert read(tmp_path / name)["run"].to_pylist() == [f"c00{c}-r000{r}" for c in (0, 1) for r in (1, 2)]
    assert "Scan parquet" in invoke("query", study, sql, "--workers", 1, "--explain").output
    assert invoke("query", study, "SELECT 1 AS x", "--workers", 1, "--quiet").output == '"x"\n1\n'


def test_the_command_that_query_prints_can_be_run(study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    many = invoke("query", study, "SELECT 'a b' AS text, * FROM events", "--workers", 1)
    assert "the first 40 of" in many.output
    for ending in ("--out answer.csv", "--explain"):
        printed = many.output.splitlines()[-1]
        assert printed.startswith("Next: mobilenet query ") and printed.endswith(ending)
        many = invoke(*shlex.split(printed.removeprefix("Next: mobilenet ")), "--workers", 1)
        assert many.exit_code == 0
    assert len(pa.csv.read_csv(tmp_path / "answer.csv")) > 40


def test_query_rejects_invalid_sql(study: Path) -> None:
    with spark_session(local_master(1)) as session, views_of(runs_of(study), session) as views:
        for sql, why in (
            ("SELECT x FROM rnus", "unknown view 'rnus'"),
            ("SELECT nothing FROM runs", "UNRESOLVED_COLUMN.*; the views are runs, events"),
            ("SELECT run, FROM runs", "TRAILING_COMMA"),
            ("SELECT 1 / 0", "DIVIDE_BY_ZERO"),
            ("SELECT * FROM links", "set record.frames"),
            ("DROP TABLE runs", "expected a query"),
        ):
            with pytest.raises(StudyError, match=why) as error:
                answer(ask(views, session, sql))
            assert "\n" not in str(error.value)
        sql = "/* of all runs */ SELECT `a``b`, `level of RUN`, count(*) AS n FROM Deliveries GROUP BY 1, 2"
        assert answer(ask(views, session, sql))["n"].to_pylist() == [len(table(runs_of(study), "deliveries"))]
    for sql, why in (("SELECT nothing FROM runs", "UNRESOLVED_COLUMN"), ("SELECT array(1) AS a", "a: CSV cannot hold")):
        assert why in refusal("query", study, sql, "--workers", 1, "--quiet")


@pytest.mark.parametrize("view", ["events", "deliveries", "handoffs", "positions"])
def test_query_reports_which_table_is_damaged(view: str, study: Path, tmp_path: Path) -> None:
    name = "positions.parquet" if view == "positions" else "events.parquet"
    shutil.copytree(study / "runs" / "c000-r0001", tmp_path / "runs" / "mine")
    (tmp_path / "runs" / "mine" / name).write_bytes(b"")
    with spark_session(local_master(1)) as session, views_of(runs_of(tmp_path / "runs"), session) as views:
        for read in (lambda: table(runs_of(tmp_path / "runs"), view), lambda: ask(views, session, f"TABLE {view}")):
            with pytest.raises(RunError, match=f"mine/{name}: damaged"):
                read()


def test_query_rejects_bad_arguments_before_spark_starts(study: Path, tmp_path: Path) -> None:
    for words, why in (
        ((tmp_path / "none", "SELECT 1"), "no such directory"),
        ((tmp_path, "SELECT 1"), "contains no run"),
        ((study, "SELECT 1", "--out", "x.txt"), "ends in .csv or .parquet"),
        ((study, "SELECT 1", "--out", tmp_path / "none" / "x.csv"), "a folder that exists"),
        ((study, "SELECT 1", "--out", "x.csv", "--explain"), "no answer to write"),
    ):
        assert why in refusal("query", *words)
    with pytest.raises(StudyError, match="unknown view 'rnus'"):
        table(runs_of(study), "rnus")


def test_the_query_page_documents_every_view() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == with_views(page), "run python -m tests.write_views_page"

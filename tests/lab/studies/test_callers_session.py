"""Tests of notebooks that have a Spark session. Studies and queries use this session, and other studies run in a
separate process.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import mobilenet
from mobilenet.lab.studies import StudyError, own_process
from mobilenet.lab.studies.cluster import cluster
from mobilenet.lab.studies.java import java_home
from mobilenet.lab.studies.own_process import chosen_spark, on_spark
from mobilenet.lab.studies.spark import QUICK_TO_START, require_spark
from tests.conftest import FIRST, SCENARIOS

pytestmark = pytest.mark.spark
IN_PROCESS = own_process._in_process  # as it is before tests/conftest.py replaces it

# These options make Java start faster. Java then skips the optimisations that are useful only in long runs.
OF_JAVA = {"JDK_JAVA_OPTIONS": QUICK_TO_START}

NOTEBOOK = f"""
import os, shutil, sys, threading, time
from pathlib import Path
from pyspark.sql import SparkSession

here = Path.cwd()

def slow(numbers):
    while not (here / "studied").exists():
        time.sleep(0.1)
    return numbers

session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
session.sparkContext.setLogLevel("OFF")
mine = []
numbers = session.sparkContext.parallelize([1, 2], 1).mapPartitions(slow)
running = threading.Thread(target=lambda: mine.append(numbers.count()), daemon=True)
running.start()
variables, settings = dict(os.environ), dict(session.sparkContext.getConf().getAll())
import mobilenet

gossip = Path("{SCENARIOS}/own_protocol")
shutil.copy(gossip / "gossip.yaml", "gossip.yaml")
dies = "        import os\\n        os.kill(os.getpid(), 9) if self.settings.times == 4 else None\\n"
begins = "        rumour = Rumour("
Path("gossip.py").write_text((gossip / "gossip.py").read_text().replace(begins, dies + begins))
keys = {{"scenario": "gossip.yaml", "set": {{"duration_s": 5}}, "factors": {{"protocol.settings.times": [3, 4]}},
         "replications": {{"min": 2}}}}
study = mobilenet.study(keys, out="here", spark=session, allow_code=True)
assert set(study.planned["state"]) == {{"done", "failed"}} and len(study.runs) == 2, study.planned
views = study.views(session)
views["deliveries"].createOrReplaceTempView("deliveries")
for name in ("runs", "events", "handoffs"):
    assert views[name].columns[:3] == ["run", "configuration", "replication"]
rows = session.sql("SELECT run, count(*) n FROM deliveries GROUP BY run ORDER BY run").collect()
assert [row.n for row in rows] == list(study.table("deliveries").to_pandas().groupby("run").size())
assert mine == []
(here / "studied").touch()
running.join()
assert mine == [2], mine

apart = mobilenet.study(keys, out="apart", workers=1, allow_code=True)
assert apart.runs.equals(study.runs), (apart.runs, study.runs)

class Enough(Exception):
    pass

def stop(standing):
    raise Enough

for where in ({{"spark": session}}, {{"workers": 1}}):
    try:
        mobilenet.study(keys | {{"set": {{"duration_s": 20_000}}}}, out="stopped" + "-".join(where), progress=stop,
                        allow_code=True, **where)
    except Enough:
        print("stopped", *where, flush=True)
assert dict(os.environ) == variables
now = dict(session.sparkContext.getConf().getAll())
assert {{name: now[name] for name in settings}} == settings
print(session.range(5).count(), flush=True)
session.stop()
"""


@pytest.mark.timeout(900)
def test_a_study_leaves_an_existing_spark_session_unchanged(tmp_path: Path) -> None:
    """During the study, the caller's session has a running job. It allows each task to fail only once. Two runs of the
    study kill their process twice.
    """
    done = subprocess.run(
        [sys.executable, "-c", NOTEBOOK], cwd=tmp_path, env=os.environ | OF_JAVA, capture_output=True, text=True,
        timeout=880, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.splitlines()[-3:] == ["stopped spark", "stopped workers", "5"]


ON_A_CLUSTER = """
import sys
from pyspark.sql import SparkSession
import mobilenet
session = SparkSession.builder.master(sys.argv[1]).config("spark.ui.enabled", "false").getOrCreate()
session.sparkContext.setLogLevel("OFF")
keys = {"scenario": sys.argv[2], "set": {"duration_s": 5}, "replications": {"min": 2}}
print(len(mobilenet.study(keys, out="out", spark=session).runs), session.range(5).count(), flush=True)
session.stop()
"""


def test_workers_without_mobilenet_receive_a_copy(tmp_path: Path) -> None:
    """The Python interpreter of the workers has all libraries, but cannot find the editable installation of
    mobilenet.
    """
    python = tmp_path / "python"
    libraries = sysconfig.get_paths()["purelib"]
    python.write_text(f'#!/bin/sh\nPYTHONPATH="$PYTHONPATH:{libraries}" exec \'{sys.executable}\' -S "$@"\n')
    python.chmod(0o755)
    with cluster(1, 7392) as (url, _, settings):
        environment = os.environ | OF_JAVA | {
            "SPARK_CONF_DIR": str(settings), "PYSPARK_PYTHON": str(python), "PYSPARK_DRIVER_PYTHON": sys.executable,
            "JAVA_HOME": str(java_home()), "SPARK_LOCAL_IP": "127.0.0.1",
        }  # fmt: skip
        done = subprocess.run(
            [sys.executable, "-c", ON_A_CLUSTER, url, str(FIRST)],
            cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=400, check=False,
        )  # fmt: skip
    assert done.stdout == "2 5\n", done.stderr[-3000:]


class RemoteSession:
    """A stand-in for a session of Spark Connect, which would need libraries that `make setup` does not install."""

    __module__ = "pyspark.sql.connect.session"


def test_studies_reject_unsuitable_spark_sessions(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="a session of Spark Connect"):
        require_spark(RemoteSession())  # type: ignore[arg-type]
    with pytest.raises(StudyError, match="workers, master, spark: expected one of them"):
        chosen_spark(2, None, RemoteSession())
    with pytest.raises(StudyError, match="expected local"):
        mobilenet.study({"scenario": str(FIRST), "replications": {"min": 2}}, out=tmp_path / "out", master="mars")


def test_errors_in_the_study_process_reach_the_caller(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_process, "_in_process", IN_PROCESS)
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "letter").write_text("dear")
    with pytest.raises(StudyError, match="there: exists and is not a study; choose another directory for out"):
        mobilenet.study({"scenario": str(FIRST), "replications": {"min": 2}}, out=tmp_path / "there", workers=1)
    with pytest.raises(StudyError, match="the process of the study ended with code 3"):
        on_spark("local[1]", lambda spark, report: __import__("os")._exit(3), print)

"""Settings and fixtures for all tests.

Hypothesis sets no deadlines, because the machine may be busy. One small study runs on a real Spark, once, for all tests
that read the directory of a study.
"""

from __future__ import annotations

import gc
import re
import signal
from collections.abc import Iterator
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from mobilenet.lab.studies.study import Result

settings.register_profile("mobilenet", deadline=None, print_blob=True)
settings.load_profile("mobilenet")

# A shell that starts the tests in the background ignores Ctrl-C for them, and all child processes would inherit this
# setting.
signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).parents[1]
SCENARIOS = ROOT / "scenarios"
FIRST = SCENARIOS / "first.yaml"
REPLICATIONS = 4
STUDY = f"""scenario: {FIRST}
factors:
  workload.interval_s: [1, 2]
  wireless.loss: [0, 0.2]
replications: {{min: {REPLICATIONS}}}
compare:
  factor: wireless.loss
  baseline: 0
  metrics: [delivery_delay_mean_s, messages_sent_per_delivery]
  equivalence_margin: 0.05
"""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--repetitions", type=int, default=1, help="of whole searches and screenings (20 in docs/)")


@pytest.fixture
def repetitions(request: pytest.FixtureRequest) -> int:
    return int(request.config.getoption("--repetitions"))


@pytest.hookimpl(tryfirst=True)  # This hook must run before `-m` selects the tests.
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "finished" in getattr(item, "fixturenames", ()):
            item.add_marker("spark")


def pytest_collection_finish() -> None:
    """Exclude the tests and imported modules from garbage collection. They take half a gigabyte, and every full
    collection would scan them.
    """
    gc.collect()
    gc.freeze()


def end_java() -> None:
    """End the Java process of Spark, so that the next session reads the settings again. A cluster that this process has
    started continues to run.
    """
    from pyspark import SparkContext

    gateway: Any = SparkContext._gateway
    SparkContext._gateway = SparkContext._jvm = None
    if gateway is not None:
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait(30)


@pytest.fixture(scope="session", autouse=True)
def one_spark() -> Iterator[None]:
    """Share one Spark session with two workers among all commands and functions called in this process. The number of
    workers that they request is ignored.

    Starting a session for each of them would take seconds. Other tests check how a session ends, and run the studies of
    Python functions in a process of their own (tests/lab/studies/test_callers_session.py).
    """
    from mobilenet.lab.studies import own_process, spark

    start, finish, end = spark._start, spark._finish, spark._end
    current: list[SparkSession] = []

    def start_or_share(settings: Any, master: str) -> SparkSession:
        if master.startswith("local"):
            # The URL contains the number of workers that the command requested.
            assert settings["spark.master"].startswith(master.removesuffix("]"))
            two = re.sub(r"\d+|\*", "2", settings["spark.master"], count=1)
            current[:] = [start(settings | {"spark.master": two}, master)]
            return current[0]
        if current:
            finish(current.pop())
        end_java()
        return start(settings, master)

    def finish_unless_shared(session: SparkSession) -> None:
        if not session.sparkContext.master.startswith("local"):
            finish(session)
            end_java()

    def end_unless_shared(session: SparkSession) -> None:
        if session.sparkContext.master.startswith("local") and not spark.has_stopped(session):
            session.sparkContext.cancelAllJobs()
        else:
            end(session)

    with (
        mock.patch.object(spark, "_start", start_or_share),
        mock.patch.object(spark, "_finish", finish_unless_shared),
        mock.patch.object(spark, "_end", end_unless_shared),
        mock.patch.object(own_process, "_in_process", lambda spark, work, report: work(spark, report)),
    ):
        yield
    if current:
        finish(current[0])


@pytest.fixture(scope="session", autouse=True)
def rows_in_lists() -> Iterator[None]:
    """Keep all rows in the lists of the recorder, because many tests read these lists. On a slow machine, the recorder
    would otherwise write them to files during the run.
    """
    with mock.patch("mobilenet.record.recorder.LONGEST_S", inf):
        yield


@pytest.fixture(scope="session", autouse=True)
def no_progress_lines() -> Iterator[None]:
    """Print no progress lines, because many tests compare everything that a command prints. On a slow machine, even a
    short command would print such lines.
    """
    with mock.patch("mobilenet.cli.progress.PLAIN_PROGRESS_S", 1e6):
        yield


@pytest.fixture
def unpainted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compose figures without rendering them, because rendering takes most of the time."""
    from matplotlib.figure import Figure

    monkeypatch.setattr(Figure, "savefig", lambda self, name, **options: Path(name).write_text("<svg></svg>"))


@pytest.fixture(scope="session")
def study_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("study") / "loss.yaml"
    file.write_text(STUDY)
    return file


@pytest.fixture(scope="session")
def finished(study_file: Path) -> Result:
    from mobilenet.lab.studies.spark import local_master
    from mobilenet.lab.studies.study import run_study

    return run_study(study_file, study_file.parent / "finished", local_master(2), lambda *counts: None)

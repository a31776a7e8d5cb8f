"""Make the views available to Spark SQL, as DataFrames, and as Arrow tables.

Model     A view is created when Spark reports that a query mentions an unknown name. A recorded table is read through
          links to the files of all runs, which form a table partitioned by run. So a query with a condition on a run,
          its configuration or a level reads only the files of these runs.
Errors    StudyError with one line, for SQL that Spark refuses, or for a view of a table that no run recorded.
Source    ours: docs/guide/query.md
"""

from __future__ import annotations

import atexit
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, redirect_stdout, suppress
from functools import partial
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

import pyarrow as pa

from mobilenet.engine.scratch import scratch_folder
from mobilenet.lab.studies import StudyError
from mobilenet.lab.studies.query.places import Runs
from mobilenet.lab.studies.query.views import EVENTS_OF_DELIVERIES, NAMES, RUNS, VIEWS, View, rows_of_run
from mobilenet.lab.studies.spark import path_pattern, require_spark
from mobilenet.lab.studies.tables import TASKS_PER_WORKER
from mobilenet.quoting import unknown
from mobilenet.record.reader import glance_at_table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MOST_SENT_BYTES = 2**32  # Larger sets of events are joined without sending all broadcasts to each worker.
COMMENTS = r"(\s|/\*.*?\*/|--[^\n]*\n)*"
A_QUERY = re.compile(rf"{COMMENTS}(\(|(SELECT|WITH|FROM|VALUES|TABLE)\b)", re.IGNORECASE | re.DOTALL)
OF_PYTHON = re.compile(r"Traceback \(most(?:.|\n)*?\n(?:\w+\.)*\w*(?:Error|Exception): (.*)")
READING = re.compile(r"file:(/\S+?\.parquet)")
# Java's slower compiler makes faster code. It pays off only for large sets of events, and there only for loops over
# many rows.
COMPILED_FROM_BYTES = 2**26
COMPILE_LOOPS = (
    "-XX:TieredStopAtLevel=4 -XX:Tier4InvocationThreshold=100000 -XX:Tier4MinInvocationThreshold=12000"
    " -XX:Tier4CompileThreshold=300000 -XX:Tier4BackEdgeThreshold=800000"
)
FAILURES = 4  # Spark gives up after this many failures of a task. A damaged file fails every time.
EXPECTED = f"the views are {', '.join(NAMES)}"


def table(runs: Runs, name: str) -> pa.Table:
    """Return a complete view without using Spark."""
    if name not in NAMES:
        raise StudyError(unknown("view", name, NAMES))
    if name == RUNS:
        return runs.results()
    view, parts = VIEWS[name], []
    for place in _with_table(runs, view):
        rows = rows_of_run(view, runs.paths[place])
        keys = [pa.repeat(runs.keys[column][place], len(rows)) for column in runs.columns]
        parts.append(pa.table([*keys, *rows.columns], names=[*runs.columns, *rows.column_names]))
    return pa.concat_tables(parts)


def _with_table(runs: Runs, view: View) -> list[int]:
    """Return the indices of the runs that recorded the data for the view."""
    tables = ("events", "samples") if view.table is None else (view.table,)
    files = [[path / f"{name}.parquet" for name in tables] for path in runs.paths]
    places = [place for place, (first, *_) in enumerate(files) if not view.needs or first.is_file()]
    if not places:
        raise StudyError(f"{runs.where}: no run recorded {view.table}; set {view.needs}: true in the scenario")
    for place in places:
        for file in files[place]:
            glance_at_table(file)
    return places


class Views(Mapping[str, "DataFrame"]):
    """The views by name. Each view is created on first access. `folder` must be visible to all workers while the views
    are in use.
    """

    def __init__(self, runs: Runs, session: SparkSession, folder: Path) -> None:
        self._runs, self._session, self._folder = runs, session, folder
        self._made: dict[str, DataFrame] = {}
        self._names_in_sql: list[str] = []

    def __iter__(self) -> Iterator[str]:
        return iter(NAMES)

    def __len__(self) -> int:
        return len(NAMES)

    def __getitem__(self, name: str) -> DataFrame:
        if name not in NAMES:
            raise KeyError(unknown("view", name, NAMES))
        if name not in self._made:
            self._made[name] = self._make(name)
        return self._made[name]

    def name_in_sql(self, name: str) -> None:
        """Make a view available in SQL under its name."""
        self[name].createOrReplaceTempView(name)
        self._names_in_sql.append(name)

    def remove_names(self) -> None:
        """Remove the names of all views from SQL."""
        for name in self._names_in_sql:
            with suppress(Exception):  # The library py4j raises an error if Java has ended.
                self._session.catalog.dropTempView(name)

    def _make(self, name: str) -> DataFrame:
        if name == RUNS:
            return self._session.createDataFrame(self._runs.results())
        view = VIEWS[name]
        if name == "deliveries":
            rows = self._deliveries()
        elif view.table is not None:
            rows = self._of_table(view)
        else:
            rows = self._run_by_run(view)
        return self._with_names(rows, [column.name for column in view.columns])

    def _with_names(self, rows: DataFrame, columns: list[str]) -> DataFrame:
        """Replace the index of the run in each row by the columns that identify the run."""
        from pyspark.sql.functions import broadcast

        names = ["`{}`".format(name.replace("`", "``")) for name in (*self._runs.columns, *columns)]
        return rows.join(broadcast(self._session.createDataFrame(self._runs.keys)), "place").select(names)

    def _of_table(self, view: View) -> DataFrame:
        table = self._files(view)
        columns = [
            f"if({c.source} < 0, null, {c.source}) / 1e9 AS {c.name}" if c.source.endswith("_ns") else f"`{c.source}`"
            for c in view.columns
        ]
        return table.selectExpr("place", *columns)

    def _files(self, view: View) -> DataFrame:
        """Return the recorded table of all runs, partitioned by the index of the run."""
        from pyspark.sql.pandas.types import from_arrow_schema

        folder = self._folder / str(view.table)
        if not folder.exists():
            for place in _with_table(self._runs, view):
                partition = folder / f"place={place}"
                partition.mkdir(parents=True)
                file = (self._runs.paths[place] / f"{view.table}.parquet").resolve()
                (partition / file.name).symlink_to(file)
        kinds = [(c.source, pa.int64() if c.source.endswith("_ns") else c.kind) for c in view.columns]
        schema = from_arrow_schema(pa.schema([*kinds, ("place", pa.int32())]))
        return self._session.read.schema(schema).parquet(path_pattern(folder))

    def _deliveries(self) -> DataFrame:
        events = self._files(VIEWS["events"]).select("place", *EVENTS_OF_DELIVERIES)
        sent = events.where("event = 'broadcast'").selectExpr("place", "message", "node sender", "time_ns sent_ns")
        if _events_bytes(self._runs) < MOST_SENT_BYTES:
            sent = sent.hint("broadcast")
        delivered = events.where("event = 'deliver'").join(sent, ["place", "message"])
        # Floating-point numbers represent times of up to 104 days exactly. Spark checks differences of integers for
        # overflow, which takes longer.
        delay_s = "(double(time_ns) - double(sent_ns)) / 1e9 delay_s"
        seconds = ("sent_ns / 1e9 broadcast_s", "time_ns / 1e9 delivery_s", delay_s)
        return delivered.selectExpr("place", "message", "sender", "node receiver", *seconds, "station", "session")

    def _run_by_run(self, view: View) -> DataFrame:
        """Return a view whose rows are computed in Python, separately for each run."""
        from pyspark.sql.pandas.types import from_arrow_schema

        _with_table(self._runs, view)
        schema = from_arrow_schema(view.schema.insert(0, pa.field("place", pa.int32())))
        places = self._session.range(
            0, len(self._runs.paths), 1, TASKS_PER_WORKER * self._session.sparkContext.defaultParallelism
        )
        paths = [str(path.absolute()) for path in self._runs.paths]
        return places.mapInArrow(partial(_compute, view.name, paths), schema)


def _compute(name: str, paths: list[str], batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a view for the runs with the requested indices."""
    for batch in batches:
        for place in batch.column(0).to_pylist():
            rows = rows_of_run(VIEWS[name], Path(paths[place]))
            rows = rows.add_column(0, pa.field("place", pa.int32()), pa.repeat(pa.scalar(place, pa.int32()), len(rows)))
            yield from rows.combine_chunks().to_batches()


@contextmanager
def views_of(runs: Runs, session: SparkSession) -> Iterator[Views]:
    """Open the views for the duration of a with block."""
    is_local = str(session.sparkContext.master).startswith("local")
    with scratch_folder("views", None if is_local else runs.where) as folder:
        views = Views(runs, session, folder)
        try:
            yield views
        finally:
            views.remove_names()


def lasting_views(runs: Runs, session: SparkSession) -> Views:
    """Open views that remain available as long as this process runs."""
    require_spark(session)
    block = ExitStack()
    atexit.register(block.close)
    return block.enter_context(views_of(runs, session))


def ask(views: Views, session: SparkSession, sql: str) -> DataFrame:
    """Return a DataFrame that represents the answer to a query. It is not computed yet."""
    from pyspark.errors import AnalysisException, ParseException

    if not A_QUERY.match(sql):
        raise StudyError(
            f"SQL: expected a query, such as SELECT verdict, count(*) FROM runs GROUP BY 1; got: {sql[:40]}"
        )
    while True:
        try:
            return session.sql(sql)
        except ParseException as error:
            raise StudyError(f"SQL: {_reason(error)}; {EXPECTED}") from None
        except AnalysisException as error:
            if error.getCondition() != "TABLE_OR_VIEW_NOT_FOUND":
                raise StudyError(f"SQL: {_reason(error)}; {EXPECTED}") from None
            name = (error.getMessageParameters() or {}).get("relationName", "").strip("`").lower()
            if name not in NAMES:
                raise StudyError(f"SQL: {unknown('view', name, NAMES)}") from None
        # This call is outside the except block, because its errors are not refusals by Spark.
        views.name_in_sql(name)


def answer(frame: DataFrame) -> pa.Table:
    """Compute a DataFrame. If this fails, raise StudyError with the reason that Spark reports."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    try:
        return frame.toArrow()
    except (PySparkException, Py4JJavaError) as error:
        raise StudyError(f"SQL: {_reason(error)}") from None


def plan_of(frame: DataFrame) -> str:
    """Return Spark's plan for a query: the files, columns and partitions that it reads, and what it does with them."""
    plan = StringIO()
    with redirect_stdout(plan):
        frame.explain("formatted")
    return plan.getvalue().strip()


def heap() -> str:
    """Return the memory that Java may use for a query: a quarter of the memory of the machine, which is also the
    default of Java. Spark needs it to store information about the files of each run.
    """
    return f"{max(1, os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') // 4 >> 30)}g"


def java_options(runs: Runs) -> str:
    """Return the options with which Java answers a query about these runs soonest."""
    return COMPILE_LOOPS if _events_bytes(runs) >= COMPILED_FROM_BYTES else ""


def _events_bytes(runs: Runs) -> int:
    files = [path / "events.parquet" for path in runs.paths]
    return sum(file.stat().st_size for file in files if file.is_file())


def tasks_done(session: SparkSession) -> tuple[int, int]:
    """Return the number of finished tasks and the number of all tasks in the active stages."""
    tracker = session.sparkContext.statusTracker()
    stages = [stage for number in tracker.getActiveStageIds() if (stage := tracker.getStageInfo(number)) is not None]
    return sum(stage.numCompletedTasks for stage in stages), sum(stage.numTasks for stage in stages)


def _reason(error: Exception) -> str:
    """Return the reason for an error in one line, as reported by Spark or by the code that it runs. The line names the
    file of the run that was being read.
    """
    whole = str(error)
    if (own := OF_PYTHON.search(whole)) is not None:
        return own[1][:400]
    file = READING.search(whole)
    reading = "" if file is None else f", when it read {os.path.realpath(unquote(file[1]))}"
    text = whole.rpartition("\nCaused by: ")[2]
    for end in ("\n\nJVM stacktrace", "\n\tat ", ";\n", "== SQL"):
        text = text.partition(end)[0]
    return " ".join(text.split())[:400] + reading

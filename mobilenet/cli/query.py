"""The command that answers questions in SQL about many runs."""

from __future__ import annotations

import shlex
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mobilenet.cli.console import Exit, fail, print_table, reporting, say
from mobilenet.cli.options import Master, Quiet, Workers, refuse_both
from mobilenet.cli.progress import tasks_progress
from mobilenet.cli.study import while_spark_lives
from mobilenet.quoting import format_number, pluralize, quote

if TYPE_CHECKING:
    import pyarrow as pa

MOST_ROWS = 40
FORMATS = (".csv", ".parquet")


def query(
    where: Annotated[
        Path, typer.Argument(metavar="WHERE", help="The directory of a study or a run, or a folder of runs.")
    ],
    sql: Annotated[
        str, typer.Argument(metavar="SQL", help='For example "SELECT verdict, count(*) FROM runs GROUP BY verdict".')
    ],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Write the answer into a .csv or .parquet file.")
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Print Spark's plan instead of the answer.")] = False,
    master: Master = None,
    workers: Workers = None,
    quiet: Quiet = False,
) -> None:
    """Ask a question in SQL about many runs.

    Spark answers. The views are runs, events, deliveries, buffers, handoffs, positions, and frames, links, messages,
    lines and causes where they were recorded.
    """
    early = "Spark ended before the query was answered, for example because memory ran out"
    with reporting(quiet, reads=[where]), while_spark_lives(early):
        from mobilenet.lab.studies.query import spark_sql
        from mobilenet.lab.studies.query.places import runs_of
        from mobilenet.lab.studies.spark import local_master, spark_session

        refuse_both(master, workers)
        if out is not None:
            _require_place(out, explain)
        runs = runs_of(where)
        if runs.unfinished:
            say(runs.unfinished)
        options = spark_sql.heap(), spark_sql.java_options(runs), spark_sql.FAILURES
        spark = spark_session(master or local_master(workers), *options)
        with spark as session, spark_sql.views_of(runs, session) as views:
            frame = spark_sql.ask(views, session, sql)
            if explain:
                say(spark_sql.plan_of(frame), always=True)
                return
            with tasks_progress(quiet, lambda: spark_sql.tasks_done(session)):
                rows = spark_sql.answer(frame)
        if out is not None:
            _write(rows, out)
            say(f"{pluralize(len(rows), 'row')} in {quote(out)}")
            say(f"Next: mobilenet query {quote(where)} {shlex.quote(sql)} --explain")
            return
        if quiet:
            say(_as_csv(rows), always=True)
            return
        _print(rows)
        say(f"Next: mobilenet query {quote(where)} {shlex.quote(sql)} --out answer.csv")


def _require_place(out: Path, explain: bool) -> None:
    """Exit with an error before Spark starts if the target cannot be written."""
    if out.suffix not in FORMATS:
        fail(f"--out {out}: expected a file that ends in .csv or .parquet", Exit.BAD_INPUT)
    if explain:
        fail(f"--out {out}: --explain has no answer to write", Exit.BAD_INPUT)
    if out.is_dir() or not out.absolute().parent.is_dir():
        fail(f"--out {out}: expected a file in a folder that exists", Exit.BAD_INPUT)


def _as_csv(rows: pa.Table) -> str:
    import pyarrow.csv

    _require_plain(rows)
    text = BytesIO()
    pyarrow.csv.write_csv(rows, text)
    return text.getvalue().decode().rstrip("\n")


def _write(rows: pa.Table, out: Path) -> None:
    import pyarrow.csv
    import pyarrow.parquet

    from mobilenet.record.atomic_files import in_place_of

    if out.suffix == ".csv":
        _require_plain(rows)
    write = pyarrow.csv.write_csv if out.suffix == ".csv" else pyarrow.parquet.write_table
    with in_place_of(out) as partial:
        write(rows, partial)


def _require_plain(rows: pa.Table) -> None:
    """Exit with an error if CSV cannot represent a value."""
    import pyarrow.types as kinds

    for field in rows.schema:
        if kinds.is_nested(field.type) or kinds.is_binary(field.type):
            fail(
                f"{field.name}: CSV cannot hold {field.type}; expected --out with a file that ends in .parquet",
                Exit.BAD_INPUT,
            )


def _print(rows: pa.Table) -> None:
    columns = [column.to_pylist() for column in rows.slice(0, MOST_ROWS).columns]
    numbers = [
        place for place, field in enumerate(rows.schema) if str(field.type).startswith(("int", "float", "double"))
    ]
    print_table(rows.column_names, [[_in_words(value) for value in row] for row in zip(*columns, strict=True)], numbers)
    if len(rows) > MOST_ROWS:
        say(f"the first {MOST_ROWS} of {pluralize(len(rows), 'row')}")


def _in_words(value: Any) -> str:
    return "" if value is None else format_number(value) if isinstance(value, float) else str(value)

"""The command that measures the speed of the simulator on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mobilenet.cli.console import Exit, fail, reporting, say
from mobilenet.quoting import quote


def bench(
    repeat: Annotated[
        int, typer.Option("--repeat", min=1, help="Number of runs of each case; the median is reported.")
    ] = 3,
    table: Annotated[
        Path, typer.Option("--csv", metavar="FILE", help="CSV file to which the rows are appended.")
    ] = Path("bench.csv"),
    studies: Annotated[bool, typer.Option(help="Also measure studies on Spark.")] = True,
) -> None:
    """Measure the speed of the simulator.

    All times are also given relative to a bare event queue on the same machine.
    """
    with reporting():
        from mobilenet.engine import native
        from mobilenet.lab.bench import packets
        from mobilenet.lab.bench.parts import parts_of_the_simulator
        from mobilenet.lab.bench.row import append, heading, line
        from mobilenet.lab.studies.spark import NOT_INSTALLED, is_installed

        try:
            table.open("a").close()
        except OSError as error:
            fail(f"{table}: cannot be written: {error.strerror}", Exit.BAD_INPUT)
        interpreted = "interpreted; python3 make.py setup compiles it if a C compiler is installed"
        say(f"the hot path is {'compiled' if native.in_use() else interpreted}")
        parts = parts_of_the_simulator(repeat)
        if (reason := packets.why_not()) is not None:
            say(f"real software is not measured: {reason}")
        else:
            parts.append(("_packets", packets.COLUMNS, packets.measure()))
        if studies and not is_installed():
            say(f"studies are not measured: {NOT_INSTALLED}")
        elif studies:
            from mobilenet.lab.bench import studies as on_spark

            parts.append(("_studies", on_spark.COLUMNS, on_spark.measure()))
        for suffix, columns, rows in parts:
            say(f"\n{heading(columns)}")
            for row in rows:
                say(line(columns, row))
                append(table.with_name(f"{table.stem}{suffix}.csv"), row)
        say(f"Next: look at {quote(table)}; the targets are in mobilenet/lab/bench/")

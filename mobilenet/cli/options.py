"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mobilenet.cli.console import Exit, fail

ScenarioFile = Annotated[Path, typer.Argument(metavar="SCENARIO", help="A scenario file (YAML).")]
RunDirectory = Annotated[Path, typer.Argument(metavar="RUN", help="A run directory.")]
StudyDirectory = Annotated[Path, typer.Argument(metavar="STUDY", help="The directory of a finished study.")]
Overrides = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Override one value, for example hosts.count=20. May be repeated."),
]
Seed = Annotated[int | None, typer.Option("--seed", metavar="N", help="Seed that replaces the scenario's seed.")]
AllowCode = Annotated[
    bool,
    typer.Option("--allow-code", help="Run the scenario's plug-ins and programs. They run with your full permissions."),
]
NewRun = Annotated[
    Path | None, typer.Option("--out", "-o", metavar="DIR", help="Run directory; by default a new one in runs/.")
]
Force = Annotated[bool, typer.Option("--force", help="Replace an existing run directory once the new run is complete.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only warnings, errors and the answer, in one line.")]
Master = Annotated[
    str | None,
    typer.Option(
        "--master", metavar="URL", help="Spark master: local[N], spark://HOST:PORT, yarn, ...; by default this machine."
    ),
]
Workers = Annotated[
    int | None,
    typer.Option("--workers", min=1, metavar="N", help="Number of cores of this machine to use; by default all."),
]
Metrics = Annotated[
    list[str] | None,
    typer.Option("--metric", metavar="NAME", help="A metric, as listed by `mobilenet reference`. May be repeated."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print only the results, as JSON.")]
RunOrStudy = Annotated[Path, typer.Argument(metavar="RUN|STUDY", help="The directory of a run or of a study.")]


def refuse_both(master: str | None, workers: int | None) -> None:
    """Exit with an error if both --master and --workers are given."""
    if master is not None and workers is not None:
        fail(
            "expected either --workers or --master, not both: --workers sets the number of cores on this machine;"
            " with --master, the master sets it",
            Exit.BAD_INPUT,
        )

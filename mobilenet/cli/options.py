"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

ScenarioFile = Annotated[Path, typer.Argument(metavar="SCENARIO", help="A scenario file (YAML).")]
RunDirectory = Annotated[Path, typer.Argument(metavar="RUN", help="A run directory.")]
StudyDirectory = Annotated[Path, typer.Argument(metavar="STUDY", help="The directory of a finished study.")]
Overrides = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change one value, as in hosts.count=20. Repeatable."),
]
Seed = Annotated[int | None, typer.Option("--seed", metavar="N", help="Instead of the scenario's seed.")]
AllowCode = Annotated[
    bool,
    typer.Option("--allow-code", help="The scenario's own code and programs may run. They may do all that you may."),
]
NewRun = Annotated[
    Path | None, typer.Option("--out", metavar="DIR", help="The run directory; by default one below runs/.")
]
Force = Annotated[
    bool, typer.Option("--force", help="Replace the run directory of this name, once the new run is whole.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but what is wrong.")]
Master = Annotated[
    str | None,
    typer.Option("--master", metavar="URL", help="local[N], spark://HOST:PORT, yarn, ...; by default this machine."),
]
Workers = Annotated[
    int | None, typer.Option("--workers", min=1, metavar="N", help="Cores of this machine; by default all.")
]

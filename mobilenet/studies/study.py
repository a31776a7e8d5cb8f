"""A study from its file to its tables, and from its tables to a comparison.

Model     run_study: the table of runs, the runs, the aggregation, the comparison, each on disk before the next begins;
          called again it does what is missing. compare_study reads only the tables and needs no Spark.
Errors    ScenarioError for the file, StudyError for the directory, Spark or a metric that does not exist
Source    ours: docs/guide/studies.md
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mobilenet.api import run
from mobilenet.metrics.registry import MOBILE
from mobilenet.quoting import counted
from mobilenet.rundir.writer import write_json
from mobilenet.scenario import OwnProtocol, ProcessScenario
from mobilenet.studies import StudyError
from mobilenet.studies.batch import Progress, run_all
from mobilenet.studies.caveats import doubts
from mobilenet.studies.commands import require_programs
from mobilenet.studies.compare import Finding, findings
from mobilenet.studies.configurations import Configuration, configurations, seed_of, shown_level
from mobilenet.studies.csv_tables import read_rows, table_rows
from mobilenet.studies.declaration import Study
from mobilenet.studies.rows import write_rows
from mobilenet.studies.spark import require_master, spark_session
from mobilenet.studies.store import Store, create, open_store
from mobilenet.studies.tables import write_tables

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STUDIES = Path("studies")
TRIAL_S = 5.0  # simulated seconds of the trial behind an estimate
SPARK_S = 10.0  # wall time that a study of few runs takes besides them: Spark's start, first task, tables, end


@dataclass(frozen=True, slots=True)
class Result:
    store: Store
    done: int
    failed: list[str]  # run: why
    violated: list[str]  # runs
    unstable: list[Configuration]
    doubts: list[str] = field(default_factory=list)  # about others, for people


def default_directory(file: Path) -> Path:
    return STUDIES / file.stem


def run_study(
    study: Path | Study,
    out: Path | None,
    master: str,
    progress: Progress,
    say: Callable[[str], None] = lambda line: None,
    allow_code: bool = False,
    session: SparkSession | None = None,
) -> Result:
    """Run everything that is missing; `progress` is called now and then, `say` for each repair;
    `allow_code`: as for mobilenet.run.

    `study` is a file, or a study that no file holds, which needs `out`. `session`: one of `master` that is open
    already.
    """
    if isinstance(study, Path):
        out = out if out is not None else default_directory(study)
        study = Study.load(study)
    if out is None:
        raise StudyError("a study that is not read from a file needs the directory out")
    require_master(master)
    _require_metrics(study)
    store = create(study, out, allow_code, say)
    with store.alone():
        (store.path / "comparison.json").unlink(missing_ok=True)
        with nullcontext(session) if session is not None else spark_session(master) as spark:
            require_programs(store, spark)
            targets = run_all(store, spark, progress)
            unstable = write_tables(store, targets, spark)
        rows = read_rows(store.path / "runs.csv")
        if study.compare is not None:
            compare_study(store.path)
    table = read_rows(store.tables / "runs.csv")
    return Result(
        store,
        sum(row["state"] == "done" for row in rows),
        [f"{row['run']}: {row['error']}" for row in rows if row["state"] == "failed"],
        [row["run"] for row in table if row["verdict"] == "violated"],
        [store.configurations[number] for number in sorted(unstable)],
        doubts(table_rows(store.path, "tables/summary.csv")),
    )


def _require_metrics(study: Study) -> None:
    """Those that the study compares, or is stopped by."""
    until = study.replications.until
    for metric in (*(study.compare.metrics if study.compare else ()), *([until.metric] if until else ())):
        require_metric(study, metric)


def require_metric(study: Study, metric: str) -> None:
    """Before anything is run. What runs of processes are measured by depends on their protocol."""
    scenario = study.scenario_with()
    if isinstance(scenario, ProcessScenario):
        return
    known = [*known_metrics(), *(reference.rpartition(":")[2] for reference in scenario.metrics)]
    # how a plug-in calls its buffers is known when it has run
    may_be = isinstance(scenario.protocol, OwnProtocol) and re.fullmatch(r"(host|station)_.+_(mean|max)", metric)
    if metric not in known and not may_be:
        close = get_close_matches(metric, known, 1)
        raise StudyError(
            f"unknown metric {metric!r}{f', did you mean {close[0]!r}?' if close else ''}; the metrics are:"
            f" {', '.join(known)}"
        )


def known_metrics() -> list[str]:
    """Return the metrics that a run of a mobile scenario may have in a study."""
    return sorted(name for name, metric in MOBILE.items() if metric.of not in ("datagrams", "bit errors"))


def compare_study(path: Path) -> list[Finding]:
    """comparison.json, comparison.csv and comparison.parquet from the tables of a finished study."""
    store = open_store(path)
    wanted = store.study.compare
    if wanted is None:
        raise StudyError(f"{path}: the study has no comparison; add `compare:` to its file and run it again")
    if not (store.tables / "runs.csv").is_file():
        raise StudyError(f"{path}: the study is not finished; run `mobilenet study` again")
    values: dict[tuple[int, str], dict[int, float]] = {}
    rows = table_rows(path, "tables/runs.csv", wanted.metrics)
    for metric in wanted.metrics:
        require_metric(store.study, metric)
        for row in rows:
            if row.get(metric):
                values.setdefault((int(row["configuration"]), metric), {})[int(row["replication"])] = float(row[metric])
    unstable = {
        int(row["configuration"]) for row in table_rows(path, "tables/summary.csv") if row["label"] == "unstable"
    }
    found = findings(wanted, store.configurations, values, unstable, store.study.confidence)
    write_rows(path, "comparison", [finding.row() for finding in found])
    write_json(
        path / "comparison.json",
        {"factor": wanted.factor, "baseline": wanted.baseline, "confidence": store.study.confidence,
         "equivalence_margin": wanted.equivalence_margin, "findings": [finding.row() for finding in found]},
    )  # fmt: skip
    return found


@dataclass(frozen=True, slots=True)
class Estimate:
    configuration: Configuration
    runs: int
    most_runs: int
    cpu_s: float  # of one run
    disk_bytes: float  # of one run


def estimate(study: Study, allow_code: bool = False) -> list[Estimate]:
    """What a study would take, from a short trial of each configuration's first run."""
    import tempfile

    _require_metrics(study)
    found = configurations(study, allow_code)
    seed = seed_of(study, 1)
    rule = study.replications
    estimates = []
    with tempfile.TemporaryDirectory(prefix="mobilenet-trial-") as folder:
        for c in found:
            whole = study.scenario_of(c.number, (*c.overrides, f"seed={seed}"))
            trial = whole.trial(TRIAL_S)
            started = time.process_time()
            directory = run(trial, out=Path(folder) / str(c.number), allow_code=allow_code, keep_early_end=False).path
            cpu_s = time.process_time() - started
            scale = whole.estimated_events() / trial.estimated_events()
            size = sum(part.stat().st_size for part in directory.iterdir())
            estimates.append(Estimate(c, rule.min, rule.most, cpu_s * scale, size * scale))
    return estimates


def shown_finding(finding: Finding) -> list[str]:
    """For people: what was compared and the verdict; below it the numbers."""
    r: Any = finding.result
    verdict = finding.verdict
    if verdict == "inconclusive":
        told = "a million more replications" if finding.more is None else counted(finding.more, "more replication")
        verdict += f", {'more than' if finding.more is None else 'about'} {told}"
    lines = [f"  {finding.metric}: {shown_level(finding.level)} against {shown_level(finding.baseline)}: {verdict}"]
    if r is not None:
        numbers = (
            f"    {r.mean:.4g} against {r.baseline_mean:.4g}, difference {r.difference.mean:.3g} ±"
            f" {r.difference.half_width:.2g}"
        )
        if r.ratio is not None:
            numbers += f", ratio {r.ratio:.3g} ({r.ratio_low:.3g} to {r.ratio_high:.3g})"
        lines.append(f"{numbers}, {counted(r.pairs, 'pair')}")
    return lines

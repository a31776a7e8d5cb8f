"""Run a study from its file to its tables, and compare levels.

Model     run_study creates the table of runs, makes the runs, aggregates them and compares the levels. Each result is
          on disk before the next step begins, and another call makes only what is missing. compare_study reads only the
          tables and does not need Spark.
Errors    ScenarioError for an invalid file. StudyError for an unusable directory or Spark, or an unknown metric.
Source    ours: docs/guide/studies.md
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mobilenet.forecast import forecast
from mobilenet.lab.studies import StudyError
from mobilenet.lab.studies.batch import Progress, require_programs, run_all
from mobilenet.lab.studies.compare import Finding, findings
from mobilenet.lab.studies.configurations import Configuration, configurations, seed_of
from mobilenet.lab.studies.declaration import Study
from mobilenet.lab.studies.level_names import LevelNames
from mobilenet.lab.studies.parts import index
from mobilenet.lab.studies.precedence import ACCEPTED, Delivered
from mobilenet.lab.studies.sentences import deliveries, doubts
from mobilenet.lab.studies.spark import Spark, require_spark, spark_session
from mobilenet.lab.studies.store import Store, create, open_store, require_same, with_replications_so_far
from mobilenet.lab.studies.table_files import AGAIN, PROBABLY, UNSTABLE, read_rows, values_of_runs, write_table
from mobilenet.lab.studies.tables import write_tables
from mobilenet.metrics.delay_shares import DELAY_SHARES
from mobilenet.metrics.registry import Vocabulary
from mobilenet.quoting import as_file_name, unknown
from mobilenet.record.atomic_files import in_place_of
from mobilenet.record.provenance import stamping_of
from mobilenet.record.stamp import in_document, normal_command
from mobilenet.record.writer import write_json
from mobilenet.scenario import OwnProtocol

STUDIES = Path("studies")
# Approximate wall time that a study with few runs needs besides its runs: to start Spark, run its first task, write the
# tables, and end.
SPARK_S = 10.0


@dataclass(frozen=True, slots=True)
class Result:
    store: Store
    done: int
    failed: list[str]  # each entry has the form RUN: REASON
    violated: list[str]  # names of the runs that violate a property
    unstable: list[Configuration]
    doubts: list[str] = field(default_factory=list)  # warnings for readers of the means (sentences.py)


def default_directory(study: Study, file: Path) -> Path:
    """Return studies/NAME, where NAME is the name of the study or, if it does not have one, of its file. For the
    study.yaml in the directory of a study, return this directory.
    """
    if study.is_kept:
        return study.folder
    return STUDIES / (as_file_name(study.name or "") or file.stem)


def run_study(
    study: Path | Study,
    out: Path | None,
    spark: Spark,
    progress: Progress,
    say: Callable[[str], None] = lambda line: None,
    allow_code: bool = False,
    command: str | None = None,
) -> Result:
    """Make all runs and tables that are missing. `progress` is called from time to time, and `say` for each repair.
    `allow_code` has the same meaning as in mobilenet.run.

    `study` is a file, or a study that was not read from a file and therefore needs `out`. `command` is recorded in the
    provenance of the tables. The default is `mobilenet study`.
    """
    if isinstance(study, Path):
        file, study = study, Study.load(study)
        out = out if out is not None else default_directory(study, file)
    if out is None:
        raise StudyError("out: missing; a study that is given as a dictionary needs a directory")
    study = with_replications_so_far(study, out, say)
    require_spark(spark)
    _require_metrics(study)
    store = create(study, out, allow_code, say)
    with store.alone():
        (store.path / "comparison.json").unlink(missing_ok=True)
        with spark_session(spark) as session:
            require_programs(store, session)
            targets = run_all(store, session, progress)
            unstable = write_tables(store, targets, session, command)
        if study.compare is not None:
            compare_study(store.path)
    summary, names = read_rows(store.path, "tables/summary"), LevelNames(study.factors)
    broadcast = Delivered.of_study(store.path).means(ACCEPTED)
    return Result(
        store,
        sum(row["state"] == "done" for row in read_rows(store.path, "runs")),
        store.failed_runs(),
        store.violated_runs(),
        [store.configurations[number] for number in sorted(unstable)],
        [*deliveries(summary, names, broadcast), *doubts(summary, names, (UNSTABLE, PROBABLY))],
    )


def _require_metrics(study: Study) -> None:
    """Raise an error if the study compares a metric that does not exist, or uses such a metric in its stopping rule."""
    until = study.replications.until
    for metric in (*(study.compare.metrics if study.compare else ()), *([until.metric] if until else ())):
        require_metric(study, metric)


def require_metric(study: Study, metric: str) -> None:
    """Raise an error for an unknown metric before any run begins. The metrics of processes depend on their protocol."""
    scenario = study.base()
    if metric in DELAY_SHARES:
        if not scenario.record.causes:
            raise StudyError(f"{metric}: needs the causes of each run; expected `set: {{record.causes: true}}`")
        return
    if not (of_all := known_metrics(study.words)):
        return
    known = [*of_all, *(reference.rpartition(":")[2] for reference in scenario.metrics)]
    # The names of a plug-in's buffers are known only after a run.
    may_be = isinstance(scenario.protocol, OwnProtocol) and re.fullmatch(r"(host|station)_.+_(mean|max)", metric)
    if metric not in known and not may_be:
        raise StudyError(unknown("metric", metric, known))


def known_metrics(words: Vocabulary) -> list[str]:
    """Return the names of metrics that runs in a study may have. Those of processes are not known in advance."""
    return sorted(
        name
        for name, metric in words.declared.items()
        if words.are_known and metric.of not in ("datagrams", "connections", "bit errors")
    )


def compare_study(path: Path, metrics: Sequence[str] = ()) -> list[Finding] | None:
    """Write comparison.json, comparison.csv and comparison.parquet from the tables of a finished study. Return None if
    the study does not declare a comparison, or if the runs to compare are missing. `metrics` contains additional
    metrics to compare.
    """
    store = open_store(path)
    comparison = store.study.compare
    if not (store.tables / "runs.parquet").is_file():
        raise StudyError(f"{path}: the study is not finished; {AGAIN}")
    if comparison is None:
        return None
    further = tuple(metric for metric in dict.fromkeys(metrics) if metric not in comparison.metrics)
    comparison = comparison.model_copy(update={"metrics": (*comparison.metrics, *further)})
    for metric in comparison.metrics:
        require_metric(store.study, metric)
    labels = {row["configuration"]: row["label"] for row in read_rows(path, "tables/summary")}
    with_runs = [one for one in store.configurations if one.number in labels]
    unstable = {number for number, label in labels.items() if label == UNSTABLE}
    all_findings = findings(
        comparison, with_runs, values_of_runs(path, comparison.metrics), unstable,
        store.study.confidence, Delivered.of_study(path, store.observing()), store.study.words,
    )  # fmt: skip
    if not all_findings and len(with_runs) < len(store.configurations):
        (path / "comparison.json").unlink(missing_ok=True)  # The existing file describes runs that no longer exist.
        return None
    document = {
        "factor": comparison.factor, "baseline": comparison.baseline, "confidence": store.study.confidence,
        "equivalence_margin": comparison.equivalence_margin,
        "findings": [finding.document() for finding in all_findings],
    }  # fmt: skip
    with stamping_of(path, normal_command("compare", "STUDY", metric=further)):
        write_table(path, "comparison", [finding.row() for finding in all_findings])
        with in_place_of(path / "comparison.json") as partial:
            write_json(partial, in_document(document))
    return all_findings


@dataclass(frozen=True, slots=True)
class Estimate:
    configuration: Configuration
    runs: int  # number of runs that are still to be made
    most_runs: int
    cpu_s: float  # CPU time of one run; 0 if all runs are done
    disk_bytes: float  # disk space of one run


def estimate(study: Study, allow_code: bool = False, out: Path | None = None) -> list[Estimate]:
    """Estimate the effort of a study by running the beginning of each configuration's first run. Runs that already
    exist in `out` are not counted.
    """

    _require_metrics(study)
    if out is not None and (out / "study.yaml").is_file():
        require_same(out, study)
    study = study if out is None else with_replications_so_far(study, out)
    all_configurations = configurations(study, allow_code)
    seed = seed_of(study, 1)
    rule, done = study.replications, _runs_done(study, out)
    estimates = []
    for c in all_configurations:
        runs, most = (max(0, count - done[c.number]) for count in (rule.min, rule.most))
        scenario = study.scenario_of(c.number, (*c.overrides, f"seed={seed}"))
        one = forecast(scenario, allow_code) if most else None
        cpu_s, disk_bytes = (0.0, 0.0) if one is None else (one.cpu_s, one.record_bytes)
        estimates.append(Estimate(c, runs, most, cpu_s, disk_bytes))
    return estimates


def _runs_done(study: Study, out: Path | None) -> Counter[int]:
    """Count the runs of each configuration that have already been measured in the directory."""
    parts = index(out / "measured", study.kind).values() if out is not None else ()
    return Counter(int(run[1:].partition("-r")[0]) for part in parts for run in part)

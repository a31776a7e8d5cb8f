"""Make the runs that a claims file needs, and answer its claims.

Model     Each experiment is a study in the directory OUT/NAME. Only the configurations of open claims get runs. Runs
          with the lowest cost per open claim come first. The choice of the next runs depends only on existing runs, so
          a killed command resumes where it stopped. A time limit stops the runs, and leaves the remaining claims open.
Errors    ScenarioError for an invalid file. StudyError for an unusable directory or Spark, or an unknown metric.
Source    ours: docs/guide/claims.md
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mobilenet.lab.studies import OutError, StudyError
from mobilenet.lab.studies.batch import Progress, Round, Standing, require_programs, run_all
from mobilenet.lab.studies.capacity.feasibility import Row
from mobilenet.lab.studies.claims.answer import (
    AnsweredClaim,
    Outcome,
    answer_to,
    quantity,
    requirement,
    requirement_of_print,
)
from mobilenet.lab.studies.claims.declaration import Answer, NoViolation, Published
from mobilenet.lab.studies.claims.interim_looks import Looks
from mobilenet.lab.studies.claims.paper_rules import COMMAND, PaperVerdicts
from mobilenet.lab.studies.claims.questions import Cell, Plan, Question
from mobilenet.lab.studies.claims.schedules import SECONDS_EACH, command, play
from mobilenet.lab.studies.claims.words import markdown
from mobilenet.lab.studies.configurations import RUN, PlannedRun
from mobilenet.lab.studies.parts import metrics_by_configuration
from mobilenet.lab.studies.precedence import USES_RUN, NotPaired, common_deliveries
from mobilenet.lab.studies.spark import Spark, require_spark, spark_session
from mobilenet.lab.studies.statistics import Bounds
from mobilenet.lab.studies.store import Store, create
from mobilenet.lab.studies.study import STUDIES, known_metrics
from mobilenet.lab.studies.table_files import write_table
from mobilenet.lab.studies.tables import write_tables
from mobilenet.metrics.declaration import OfDelays
from mobilenet.quoting import as_file_name, pluralize, quote, unknown
from mobilenet.record.atomic_files import write_whole
from mobilenet.record.provenance import inputs_of_claims
from mobilenet.record.reader import RunError
from mobilenet.record.stamp import PLACE, in_document, in_text, new_provenance, stamping
from mobilenet.record.writer import write_json

# The time limit for runs. It is less than ten minutes, because Spark needs time to start and the tables must be
# written.
QUICK_S = 540.0
EVENTS_PER_S = 150_000  # approximate speed of a run on one core; only the order of the experiments depends on it
MARK = "claims.json"
# name of the copy of the claims file, which refers to the studies in the same directory
KEPT = "claims.yaml"
LEFT = "left by --quick"
# Configurations are run in the same round if they cost at most this many times as much as the cheapest one.
TOGETHER = 4


class TimeUp(Exception):
    """Raised when the time limit is reached. Completed runs are kept."""


@dataclass(frozen=True)
class Means:
    """The options that determine how the claims are evaluated."""

    out: Path
    workers: int | None = None
    progress: Progress = lambda standing: None
    say: Callable[[str], None] = lambda line: None
    allow_code: bool = False
    limit_s: float | None = None
    began_s: float = field(default_factory=time.monotonic)

    def check_time(self) -> None:
        """Raise TimeUp if the time limit has passed."""
        if self.limit_s is not None and time.monotonic() - self.began_s > self.limit_s:
            raise TimeUp

    def report(self, standing: Standing) -> None:
        self.progress(standing)
        self.check_time()


class CommonDelays:
    """Computes and caches delays over the deliveries that two runs have in common. The runs belong to two places."""

    def __init__(self, stores: Mapping[str, Store]) -> None:
        self._stores = stores
        self._observing = {name: store.observing() for name, store in stores.items()}
        self._known: dict[tuple[Cell, Cell, int, OfDelays], tuple[float, float] | None] = {}

    def __call__(self, own: Cell, other: Cell, replication: int, metric: OfDelays) -> tuple[float, float] | None:
        """Return the values of the metric at the two places. Raise NotPaired if the runs cannot be compared, and
        StudyError if a run cannot be read.
        """
        key = own, other, replication, metric
        if any(cell.configuration in self._observing[cell.experiment] for cell in (own, other)):
            raise NotPaired(USES_RUN)
        if key not in self._known:
            run, run_of_other = (
                self._stores[cell.experiment].runs / PlannedRun(cell.configuration, replication, 0).id
                for cell in (own, other)
            )
            try:
                self._known[key] = common_deliveries(run, run_of_other).compare(metric)
            except RunError as error:
                raise StudyError(f"{error}; run the same command again") from None
        return self._known[key]


def default_directory(file: Path) -> Path:
    """Return the default directory of the answers, studies/FILE-claims."""
    name = as_file_name(file.stem)
    return STUDIES / (name if name.endswith("claims") else f"{name}-claims")


def answer(plan: Plan, means: Means, spark: Spark) -> Outcome:
    """Answer all claims, and write the answers into the directory."""
    if plan.studies:
        require_spark(spark)
    _require_own(means.out)
    stores = {
        name: create(study, means.out / name, means.allow_code, means.say) for name, study in plan.studies.items()
    }
    write_whole(means.out / KEPT, plan.claims.file_text(stores))
    work = _Work(plan, means, stores)
    with ExitStack() as held:
        for store in stores.values():
            held.enter_context(store.alone())
        with suppress(TimeUp):
            work.play_short()
        if stores:
            with spark_session(spark) as session:
                work.run(session)
        with suppress(TimeUp):
            work.play_all()
        outcome = work.outcome()
        inputs = inputs_of_claims(plan.claims.file_text(stores), [store.path for store in stores.values()])
        permission = next(filter(None, (store.permission() for store in stores.values())), "")
        with stamping(new_provenance(f"mobilenet claims {PLACE}/{KEPT}{permission}", inputs)):
            write_table(means.out, "claims", outcome.rows())
            write_whole(means.out / "claims.md", in_text(markdown(outcome), "\n<!-- ", " -->"))
            write_json(means.out / MARK, in_document(outcome.json()))
    return outcome


def _require_own(out: Path) -> None:
    if out.exists() and not (out / MARK).is_file() and (not out.is_dir() or any(out.iterdir())):
        raise OutError(f"{out}: exists and does not contain answers to claims")
    try:
        out.mkdir(parents=True, exist_ok=True)
        if not (out / MARK).is_file():
            write_json(out / MARK, {"claims": []})
    except OSError as error:
        raise StudyError(f"{error.filename or out}: cannot be written: {error.strerror}") from None


class _Work:
    """Performs the runs of all experiments, and collects the answers."""

    def __init__(self, plan: Plan, means: Means, stores: dict[str, Store]) -> None:
        self._plan, self._means, self._stores = plan, means, stores
        self._looks = Looks(
            plan.questions, plan.error, plan.claims.replications, plan.claims.rare, CommonDelays(stores)
        )
        self._targets = {name: [0] * len(store.configurations) for name, store in stores.items()}
        self._rows: dict[Cell, list[Row]] = {}
        self._others: dict[str, AnsweredClaim] = {}  # answers to claims about schedules and papers
        self._published = PaperVerdicts(means.out, means.workers)
        for store in stores.values():
            store.clear_notes()

    def run(self, spark: Any) -> None:
        """Run all experiments until every question is answered or the time limit has passed."""
        for store in self._stores.values():
            require_programs(store, spark)
        with suppress(TimeUp):
            while missing := self._missing():
                self._means.check_time()
                self._perform(missing, spark)
        for name, store in self._stores.items():
            if any(self._targets[name]):
                write_tables(store, self._targets[name], spark)

    def _missing(self) -> dict[Cell, int]:
        """Return how many more replications each configuration needs for the next looks."""
        needs = self._looks.replications()
        missing = {cell: runs - self._targets[cell.experiment][cell.configuration] for cell, runs in needs.items()}
        return {cell: more for cell, more in missing.items() if more > 0}

    def _perform(self, missing: dict[Cell, int], spark: Any) -> None:
        """Run the configuration with the lowest cost per open claim, together with configurations of the same
        experiment that cost about as much. Judge the claims afterwards.
        """
        costs = self._plan.costs
        waiting = Counter(cell for question in self._looks.open for cell in question.cells)
        cheapest = min(missing, key=lambda cell: (costs[cell] / max(1, waiting[cell]), cell))
        name, targets = cheapest.experiment, list(self._targets[cheapest.experiment])
        for cell, more in missing.items():
            if cell.experiment == name and costs[cell] <= TOGETHER * costs[cheapest]:
                targets[cell.configuration] += more
        store, note = self._stores[name], f"{name}, {pluralize(len(self._looks.open), 'open claim')}"
        self._targets[name] = targets
        try:
            run_all(store, spark, lambda one: self._means.report(one._replace(note=note)), [Round(targets)])
        finally:
            rows_by_configuration = metrics_by_configuration(store.measured, targets)
            self._rows |= {Cell(name, number): rows for number, rows in rows_by_configuration.items()}
            self._judge(name)

    def _judge(self, name: str) -> None:
        """Answer the questions for which an experiment has enough runs. If a run failed, the questions about this
        experiment remain undecided.
        """
        failures = len(self._stores[name].failures())
        for question in self._looks.open if failures else ():
            if any(cell.experiment == name for cell in question.cells):
                self._looks.give_up(question, f"{pluralize(failures, 'run')} of {name} failed")
        self._require_metrics(name)
        self._looks.take(self._rows)

    def _require_metrics(self, name: str) -> None:
        """Raise ScenarioError if the runs do not have the metric of a claim. Only metrics of plug-ins and processes
        need this check: all others were checked before, and the first runs may lack them by chance.
        """
        known = sorted({key for cell, rows in self._rows.items() if cell.experiment == name for r in rows for key in r})
        for question in self._looks.questions.values():
            is_declared = question.metric in known_metrics(question.words)
            is_here = question.cells[0].experiment == name
            if known and is_here and question.metric not in known and not is_declared:
                what = unknown("metric", question.metric, known)
                raise self._plan.claims.problem(("claims", question.name, "metric"), what)

    def play_short(self) -> None:
        """Play the schedules of the claims that take less time than the cheapest experiment."""
        costs = self._plan.costs
        cheapest = min((costs[cell] * more for cell, more in self._missing().items()), default=0) / EVENTS_PER_S
        for question in self._plan.questions:
            claim = question.claim
            if isinstance(claim, NoViolation) and claim.schedules * SECONDS_EACH <= cheapest:
                self._play(question, claim)

    def play_all(self) -> None:
        """Answer the claims that do not refer to runs of experiments. Claims with few schedules come first."""
        left = [question for question in self._plan.questions if question.name not in self._others]
        for question in sorted(left, key=lambda one: getattr(one.claim, "schedules", 0)):
            if isinstance(question.claim, NoViolation):
                self._play(question, question.claim)
        for question in sorted(left, key=lambda one: getattr(one.claim, "largest", 0)):
            if isinstance(question.claim, Published):
                self._means.check_time()
                verdict = self._published.verdict(question.claim, self._means.say, self._means.check_time)
                finding = verdict.finding
                required = requirement_of_print(finding.printed)
                self._others[question.name] = AnsweredClaim(
                    question, verdict.answer, quantity(question), "", required, finding.bounds, 0, COMMAND, finding.why,
                    printed=finding.printed,
                )  # fmt: skip

    def _play(self, question: Question, claim: NoViolation) -> None:
        self._means.check_time()
        workers = self._means.workers or os.cpu_count() or 1
        note = f"schedules of {claim.protocol}"

        def advance(left: int) -> None:
            self._means.report(Standing(claim.schedules - left, 0, left, 1, left, note))

        outcome = play(claim, self._means.out, workers, self._plan.claims.error, advance)
        share = Bounds(outcome.violated, 0.0, outcome.high)
        words = f"{quantity(question)}, and the interval of their share:"
        why = outcome.why or (f"{outcome.unknown} unknown" if outcome.unknown else "")
        self._others[question.name] = AnsweredClaim(
            question, outcome.answer, words, "", requirement(question), share, outcome.schedules, command(claim), why
        )

    def outcome(self) -> Outcome:
        """Return all answers, when all runs are finished."""
        violated_runs = tuple(self._violations())
        return Outcome(
            self._means.out,
            self._plan.claims.name or "",
            self._plan.claims.error,
            self._plan.claims.rare,
            self._plan.claims.seed,
            tuple(self._answer(question, violated_runs) for question in self._plan.questions),
            sum(map(sum, self._targets.values())),
            tuple(self._failures()),
            violated_runs,
        )

    def _answer(self, question: Question, violated_runs: Sequence[Path]) -> AnsweredClaim:
        if question.name in self._others:
            return self._others[question.name]
        if not question.tests:
            claim = question.claim
            shell_command = command(claim) if isinstance(claim, NoViolation) else COMMAND
            return AnsweredClaim(
                question, Answer.UNDECIDED, quantity(question), "", requirement(question), None, 0, shell_command, LEFT,
                is_left=True,
            )  # fmt: skip
        judged = self._looks.judged[question.name]
        names = dict.fromkeys(cell.experiment for cell in question.cells)
        shell_command = " && ".join(f"mobilenet report {quote(Path(PLACE, name))}" for name in names)
        is_left = not judged.is_final
        judged = judged._replace(why=LEFT) if is_left else judged
        cells = {(cell.experiment, cell.configuration) for cell in question.cells}
        violated = sum(
            (run.parents[1].name, int(numbers[1])) in cells
            for run in violated_runs
            if (numbers := RUN.fullmatch(run.name))
        )
        return answer_to(question, judged, shell_command, is_left, violated)

    def _failures(self) -> Iterator[str]:
        for name, store in self._stores.items():
            if (store.path / "runs.parquet").is_file():
                yield from (f"{name}/{line}" for line in store.failed_runs())

    def _violations(self) -> Iterator[Path]:
        for name, store in self._stores.items():
            if any(self._targets[name]):
                yield from (store.runs / run for run in store.violated_runs())

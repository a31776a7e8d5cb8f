"""Run a capacity search: a study that chooses its next runs from the results of its earlier ones.

Model     In each round, the search (search.py) requests the runs that it needs next, within the budget. The choice
          depends only on the results of earlier looks (interim analyses), ordered by replication. So a killed search
          resumes where it stopped, and the number of workers does not affect the answer. A decision uses exactly the
          runs of its look, even if more exist. After the time limit, a search ends with its current look. The answer is
          then the same as with a budget of the runs made so far.
Errors    ScenarioError for an invalid question. StudyError for an unusable directory or Spark, or if the runs lack a
          required metric.
Source    ours: docs/guide/capacity.md
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from mobilenet.lab.studies import StudyError
from mobilenet.lab.studies.batch import Progress, Round, Standing, require_programs, run_all
from mobilenet.lab.studies.capacity.answer import SearchQuestion, SearchResult
from mobilenet.lab.studies.capacity.feasibility import Judge, Row, ValueJudgement
from mobilenet.lab.studies.capacity.question import Plan, normal_form
from mobilenet.lab.studies.capacity.search import Step, Verdict, claims, first_values, next_step, runs_left
from mobilenet.lab.studies.capacity.words import document, markdown, progress_note
from mobilenet.lab.studies.configurations import plan_runs
from mobilenet.lab.studies.parts import metrics_by_configuration
from mobilenet.lab.studies.spark import Spark, require_spark, spark_session
from mobilenet.lab.studies.statistics import look
from mobilenet.lab.studies.store import Store, create
from mobilenet.lab.studies.study import known_metrics
from mobilenet.lab.studies.table_files import write_table
from mobilenet.lab.studies.tables import write_tables
from mobilenet.quoting import unknown
from mobilenet.record.atomic_files import write_whole
from mobilenet.record.provenance import stamping_of
from mobilenet.record.stamp import in_document, in_text
from mobilenet.record.writer import write_json


@dataclass(frozen=True)
class Outcome:
    """The result of a search, and the runs that failed or violated a property."""

    store: Store
    result: SearchResult
    failed: list[str]  # each entry names a run and the reason why it failed
    violated: list[str]  # names of runs
    is_out_of_time: bool
    command: str  # command that creates the directory again


class TimeIsUp(StudyError):
    """Raised when the time limit passes before the question is answered."""

    is_input = False


class Rounds:
    """Produces the rounds of a search, and judges the values after each round."""

    def __init__(self, plan: Plan, store: Store) -> None:
        self._plan, self._store = plan, store
        self._judge = Judge(plan.requirements, plan.question.error / claims(plan.last), plan.question.rare)
        self._judged: dict[int, ValueJudgement] = {}
        self._targets: list[int] = [0] * len(plan.values)
        self._step = Step(Verdict.UNDECIDED, {})
        self._is_over_budget = False

    def __iter__(self) -> Iterator[Round]:
        """Yield the next round until the question is answered, a run fails, or the budget is exceeded."""
        targets, note, budget, judged = list(self._targets), "", self._plan.question.budget, self._judged
        for value in first_values(self._plan.last):
            targets[value] = look(0)
        while not self._is_over_budget:
            new = sum(targets) - sum(self._targets)
            left = runs_left(self._plan.last, judged, self._step) if judged else budget
            yield Round(targets, note, max(0, min(left - new, budget - sum(targets))))
            if self._store.failures() or not (run_counts := self._take(targets)):
                return
            targets = [run_counts.get(value, target) for value, target in enumerate(targets)]
            self._is_over_budget = sum(targets) > budget
            middle = min(run_counts)
            note = progress_note(self._plan.search_question, self._plan.values[middle], judged.get(middle))

    @property
    def targets(self) -> list[int]:
        """The number of judged runs of each value."""
        return self._targets

    def _take(self, targets: list[int]) -> dict[int, int]:
        """Judge the values that have new runs. Return the number of runs that each value needs next."""
        changed = {value for value, target in enumerate(targets) if target > self._targets[value]}
        self._targets = targets
        rows = metrics_by_configuration(self._store.measured, targets)
        self._require_metrics(rows)
        judged = self._judged
        judged |= {value: self._judge.judge(rows.get(value, []), judged.get(value)) for value in changed}
        self._step = next_step(self._plan.last, judged)
        return self._step.run_counts

    def answer(self, question: SearchQuestion, targets: list[int]) -> SearchResult:
        """Return the answer after the last round."""
        values, step = self._plan.values, self._step
        return SearchResult(
            question,
            step.verdict,
            None if step.holds_at is None else values[step.holds_at],
            None if step.fails_at is None else values[step.fails_at],
            {values[number]: self._judged[number] for number in sorted(self._judged)},
            sum(targets),
            self._is_over_budget,
            len(self._store.failures()),
        )

    def _require_metrics(self, rows: dict[int, list[Row]]) -> None:
        """Raise StudyError if the runs do not have a required metric. Only metrics of plug-ins and processes need this
        check: all others were checked before the search, and the first runs may lack them by chance.
        """
        declared = known_metrics(self._plan.search_question.words)
        known = sorted({name for own in rows.values() for row in own for name in row})
        for one in self._plan.requirements:
            if known and one.metric not in known and one.metric not in declared:
                raise StudyError(unknown("metric", one.metric, known))


def search(
    plan: Plan,
    out: Path,
    spark: Spark,
    progress: Progress,
    say: Callable[[str], None] = lambda line: None,
    allow_code: bool = False,
) -> Outcome:
    """Make the runs that are missing, and write the answer into the directory."""
    require_spark(spark)
    store = create(plan.study, out, allow_code, say)
    ends_s = time.monotonic() + 60 * plan.question.minutes

    def report(standing: Standing) -> None:
        progress(standing)
        if time.monotonic() > ends_s:
            raise TimeIsUp(
                f"stopped after {plan.question.minutes:g} min, when {standing.done} of {standing.done + standing.left}"
                " runs for a first look were complete; run the same command again to resume"
            )

    with store.alone():
        rounds, question, is_out_of_time = Rounds(plan, store), plan.question, False
        with spark_session(spark) as session:
            require_programs(store, session)
            try:
                targets = run_all(store, session, report, rounds)
            except TimeIsUp:
                targets, is_out_of_time = rounds.targets, True
                if not (runs := plan_runs(plan.study, targets)):
                    raise
                store.write_runs(runs, {run.id for run in runs})
                question = replace(question, budget=len(runs))
            command = normal_form(question, bool(store.code()))
            write_tables(store, targets, session, command)
        result = rounds.answer(replace(plan, question=question).search_question, targets)
        with stamping_of(out, command):
            write_table(out, "capacity", result.rows())
            write_json(out / "capacity.json", in_document(document(result)))
            write_whole(out / "capacity.md", in_text(markdown(result), "\n<!-- ", " -->"))
        return Outcome(store, result, store.failed_runs(), store.violated_runs(), is_out_of_time, command)

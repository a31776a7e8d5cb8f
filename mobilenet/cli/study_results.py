"""Print the results of a study as text or JSON: its means, its comparison, and the verdicts on its runs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mobilenet.cli.console import DAMAGED, DIFFERS, conclude, print_table, reporting, say
from mobilenet.cli.options import AsJson, Metrics, Quiet, StudyDirectory
from mobilenet.quoting import percentage, pluralize, quote

if TYPE_CHECKING:
    from mobilenet.lab.studies.effects import Effect
    from mobilenet.viz.study_tables import StudyTables

MOST_ROWS = 40
MOST_BRIEF = 4  # the maximum number of configurations that are shown with --quiet
LONG_LINE = 300  # the maximum length of a line with --quiet, in characters
MOST_EFFECTS = 10  # the maximum number of effects on a metric that are shown on the screen


def compare(study: StudyDirectory, metric_names: Metrics = None, as_json: AsJson = False, quiet: Quiet = False) -> None:
    """Compare the settings of a finished study.

    The command prints how much the levels of a factor differ, with confidence intervals. If several factors vary, it
    first prints the effects of single levels and of pairs; --metric adds metrics. For a study without `compare`, it
    prints the means.
    """
    with reporting(quiet, reads=[study], as_json=as_json):
        from mobilenet.lab.studies.effects import study_effects, write_effects
        from mobilenet.lab.studies.sentences import doubts
        from mobilenet.lab.studies.store import open_store
        from mobilenet.lab.studies.study import compare_study
        from mobilenet.lab.studies.tables import tables_of_what_is_there
        from mobilenet.viz.comparison import draw, has_room
        from mobilenet.viz.figures.means import metrics_of_interest
        from mobilenet.viz.files import together
        from mobilenet.viz.study_tables import study_tables

        if note := tables_of_what_is_there(study):
            say(note)
        has_comparison = compare_study(study, metric_names or ()) is not None
        tables = study_tables(study)
        metrics = metrics_of_interest(tables, metric_names or ())
        effects = study_effects(study, tables.factors, metrics, tables.confidence)
        write_effects(study, effects)
        if as_json:
            document = {"comparison": tables.comparison} if has_comparison else {"means": means(tables, metrics)}
            say(json.dumps(document | {"effects": [effect.row() for effect in effects]}, indent=1), always=True)
            return
        in_words = _print_effects(effects, tables, study / "effects.csv")
        if not has_comparison:
            is_early = open_store(study).study.compare is not None
            reason = "No two levels to compare have runs yet" if is_early else "The study file has no key `compare`"
            say(f"{reason}, so these are the means of the study:\n")
            _print_means(tables, metrics)
            conclude(" ".join(in_words.values()) or _means_in_brief(tables, metrics))
            say(f"Next: mobilenet report {quote(study)}")
            return
        _print_comparison(tables)
        for line in _in_brief(tables):
            conclude(line)
        for line in doubts(tables.summary, tables.levels):
            say(line)
        where = f"drawn in {quote(study / 'comparison.png')}" if has_room(tables) else "in comparison.csv"
        if has_room(tables):
            with together(study) as place:
                for suffix in ("svg", "png"):
                    draw(study, place / f"comparison.{suffix}")
        say(f"{quote(study)}: {pluralize(len((tables.comparison or {})['findings']), 'comparison')}, {where}")
        say(f"Next: mobilenet report {quote(study)}")


def show_study(directory: Path, metric_names: Sequence[str], as_json: bool) -> None:
    """Print the means of a study with their intervals, and the verdicts on its runs."""
    from mobilenet.lab.studies.sentences import doubts
    from mobilenet.lab.studies.tables import tables_of_what_is_there
    from mobilenet.viz.figures.means import metrics_of_interest
    from mobilenet.viz.study_tables import study_tables

    note = tables_of_what_is_there(directory)
    tables = study_tables(directory)
    metrics = metrics_of_interest(tables, metric_names)
    verdicts = Counter(row["verdict"] for row in tables.rows("tables/runs"))
    if as_json:
        every = metrics if metric_names else list(dict.fromkeys(row["metric"] for row in tables.summary))
        document = {
            "study": tables.name,
            "factors": tables.factors,
            "confidence": tables.confidence,
            "verdicts": dict(sorted(verdicts.items())),
            **({"unfinished": note} if note else {}),
            "means": means(tables, every),
        }
        say(json.dumps(document, indent=1))
        return
    if note:
        say(note)
    _print_means(tables, metrics)
    for line in doubts(tables.summary, tables.levels):
        say(line)
    judged = ", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items()))
    say(f"{quote(directory)}: {pluralize(sum(verdicts.values()), 'run')}: {judged}; --metric selects other metrics")
    say(f"Next: mobilenet {'compare' if tables.comparison else 'report'} {quote(directory)}")


def means(tables: StudyTables, metrics: Sequence[str]) -> list[dict[str, Any]]:
    """Return the rows of the summary table for these metrics."""
    names = ("configuration", *tables.factors, "metric", "n", "infinite", "label", "mean", "low", "high")
    return [{name: row[name] for name in names} for row in tables.summary if row["metric"] in metrics]


def _print_means(tables: StudyTables, metrics: Sequence[str]) -> None:
    from mobilenet.viz.means_table import head_and_rows, note_of_means

    head, rows = head_and_rows(tables, metrics)
    print_table(head, rows[:MOST_ROWS], right=list(range(len(tables.factors), len(head))))
    if len(rows) > MOST_ROWS:
        say(f"... and {pluralize(len(rows) - MOST_ROWS, 'more row')}; `mobilenet figures --markdown` writes them all")
    say(note_of_means(tables))


def _print_effects(effects: Sequence[Effect], tables: StudyTables, file: Path) -> dict[str, str]:
    """Print the effects on each metric. Return one summarising sentence per metric."""
    from mobilenet.lab.studies.effects import BEFORE_DELAYS, by_metric
    from mobilenet.lab.studies.sentences import changed_before, conclusions

    in_words = conclusions(effects, tables.levels, tables.confidence, tables.words)
    for metric, own in by_metric(effects).items():
        words = tables.words.axis_name(metric)
        if own[0].is_size:
            say(f"Average change of {words} over the range of each key, largest first:")
        else:
            say(f"Effects on {words} relative to the first level of each factor, averaged over the other factors:")
        interval, changed = f"{tables.confidence * 100:g} % interval", changed_before(own)
        head = ["effect", "", interval, "p (Holm)", *(w for m in changed for w in (BEFORE_DELAYS[m], interval))]
        rows = [_effect_row(effect, tables, changed) for effect in own[:MOST_EFFECTS]]
        print_table(head, rows, right=range(1, len(head)))
        if len(own) > MOST_EFFECTS:
            say(f"... and {pluralize(len(own) - MOST_EFFECTS, 'smaller effect')}")
        say(in_words[metric])
        say("")
    if effects:
        say(f"All effects are in {quote(file)}.\n")
    return in_words


def _effect_row(effect: Effect, tables: StudyTables, changed: Sequence[str]) -> tuple[str, ...]:
    """Return the table row of an effect, with a value and its interval for each metric in `changed`."""
    from mobilenet.lab.studies.sentences import changes_in_numbers, effect_in_numbers, effect_name
    from mobilenet.viz.words import probability

    mean, low, high = effect_in_numbers(effect)
    own = effect_name(effect, tables.levels), mean, f"{low} to {high}", probability(effect.p_adjusted)
    return (*own, *changes_in_numbers(effect, changed))


def _print_comparison(tables: StudyTables) -> None:
    from mobilenet.lab.studies.sentences import sentence

    comparison = tables.comparison or {}
    others = [factor for factor in tables.factors if factor != comparison["factor"]]
    findings = comparison["findings"]
    for where in dict.fromkeys(tables.in_words(finding, others) for finding in findings):
        if where:
            say(f"{where}:")
        here = [finding for finding in findings if tables.in_words(finding, others) == where]
        for metric in dict.fromkeys(finding["metric"] for finding in here):
            say(f"  {tables.words.meaning(metric)} [{metric}]")
            for finding in here:
                if finding["metric"] == metric:
                    say(f"    {sentence(finding, comparison, tables.levels, tables.words)}")
        say("")


def _in_brief(tables: StudyTables) -> list[str]:
    """Return warnings, and one line for each comparison. Replace a line that is too long with a short form that
    contains the delivery ratio.
    """
    from mobilenet.lab.studies.sentences import sentence

    comparison = tables.comparison or {}
    others = [factor for factor in tables.factors if factor != comparison["factor"]]
    lines = []
    for finding in comparison["findings"]:
        where = "".join(f"{place}: " for place in [tables.in_words(finding, others)] if place)
        full, short = (
            f"{finding['metric']}: {where}{sentence(finding, comparison, tables.levels, tables.words, opens)}"
            for opens in (True, False)
        )
        lost = finding.get("delivery_ratio") not in (None, 1)
        delivered = f"delivered {percentage(finding['delivery_ratio'])}; " if lost else ""
        lines.append(full if len(full) <= LONG_LINE else f"{delivered}{short}")
    return [*filter(None, [" ".join(tables.doubts())]), *lines]


def _means_in_brief(tables: StudyTables, metrics: Sequence[str]) -> str:
    """Return warnings, followed by the means of the first configurations."""
    from mobilenet.viz.means_table import head_and_rows

    head, rows = head_and_rows(tables, metrics)
    means = [", ".join(f"{name} {cell}" for name, cell in zip(head, row, strict=True)) for row in rows[:MOST_BRIEF]]
    return " ".join([*tables.doubts(), "; ".join(means)])


def verify_study(directory: Path, share: float, allow_code: bool, quiet: bool) -> str:
    """Judge each run of a study again from its record, and return the worst verdict. Repeat a fraction `share` of the
    runs, at even intervals.
    """
    from mobilenet.cli.record_check import judge_recorded
    from mobilenet.lab.studies import StudyError
    from mobilenet.lab.studies.table_files import AGAIN
    from mobilenet.record.reader import RunError

    runs = sorted(path.parent for path in (directory / "runs").glob("*/manifest.json"))
    if not runs:
        raise StudyError(f"{directory / 'runs'}: no runs; expected the runs of a study; {AGAIN}")
    counts: Counter[str] = Counter()
    count = ceil(share * len(runs))
    asked = {runs[place * len(runs) // count] for place in range(count)}
    for run in runs:
        try:
            answer, _, _, wrong = judge_recorded(run, run in asked, allow_code, quiet)
        except RunError as error:
            answer, wrong = DAMAGED, [str(error)]
        for line in wrong:
            say(f"{DAMAGED}: {line}", always=True)
        if answer not in ("valid", DAMAGED):
            say(f"{answer}: {quote(run)}", always=answer != "unknown")
        counts[answer] += 1
    worst = next(answer for answer in ("violated", DIFFERS, DAMAGED, "unknown", "valid") if counts[answer])
    judged = ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items()))
    repeated = f"; {pluralize(len(asked), 'run')} repeated" if asked else ""
    conclude(f"{quote(directory)}: {pluralize(len(runs), 'run')} checked again: {judged}{repeated}")
    say(f"{quote(directory)}: {pluralize(len(runs), 'run')} checked again: {judged}{repeated}")
    return worst

"""Section V of the mobile paper: every printed figure with ours, with an interval.

Model     one study for each experiment (mobile_plan.py), run or taken as it is; ours is the mean over replications
          with its t interval. `fits`: our mean lies in what the printed figure can mean; else our mean over the
          printed number (the middle of what it can mean; where that begins at 0, its end). One
          definition for each printed word, in all rows: collisions are those of all pairs in range, messages per
          delivery are copies of application messages and acknowledgements. The other definitions are in a separate
          table
Units     those of the metrics
Errors    StudyError, ScenarioError, RunError
Source    Wilhelm, Arantes, Sens (2020), section V; data/papers/wilhelm2020_mobile.csv; ours: docs/validation/paper.md
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mobilenet.lab.shipped import PAPERS
from mobilenet.lab.studies.batch import Progress
from mobilenet.lab.studies.papers import mobile_series as series
from mobilenet.lab.studies.papers.jobs import in_markdown, markdown
from mobilenet.lab.studies.papers.mobile_plan import ENGINEERING, EXPERIMENTS, KNOWN_TO, WORDS, Experiment
from mobilenet.lab.studies.papers.mobile_tables import (
    Rows,
    Runs,
    definition_rows,
    directories,
    interval_in_words,
    length_rows,
    over_time,
    rows_of,
    values_of,
    verdict_rows,
)
from mobilenet.lab.studies.rows import write_rows
from mobilenet.lab.studies.spark import spark_context
from mobilenet.lab.studies.statistics import Interval, Values, compare_pairs, t_interval
from mobilenet.lab.studies.study import run_study
from mobilenet.record.provenance import stamping_of
from mobilenet.record.stamp import normal_command
from mobilenet.record.whole import write_whole

PRINTED = PAPERS / "wilhelm2020_mobile.csv"
BACK_WITHIN = 2.0  # times what it was before: it has recovered
NOT_RECOVERED = {9.0: "does not recover entirely before the next outage"}  # length of an outage -> Section V.C on it
LOOK_S = 5.0  # before each fault, the mean SBuffer of s3 over this time


@dataclass(frozen=True, slots=True)
class Line:
    experiment: str
    quantity: str
    printed: str
    ours: str
    verdict: str
    known: str  # how well: half of the interval over the mean, and why it is wide where it is
    engineering: str  # the same with the engineering defaults, where that was asked for
    place: str
    remark: str = ""  # what was tried, where it does not come out


def reproduce(
    out: Path, master: str, progress: Progress, say: Callable[[str], None], engineering: bool = False
) -> list[Line]:
    """Run what is missing, and hold it against the paper; writes OUT/mobile.md, mobile.csv and the tables of the
    figures.
    """
    parts: list[tuple[str, tuple[Experiment, ...], Path]] = [("", EXPERIMENTS, out)]
    if engineering:
        parts.append(("engineering defaults, ", ENGINEERING, out / "engineering"))
    with spark_context(master) as context:
        for words, experiments, folder in parts:
            for place, experiment in enumerate(experiments, 1):
                target = folder / experiment.name
                say(f"{words}{place} of {len(experiments)}: {experiment.words}: {target}")
                run_study(experiment.study(), target, master, progress, context=context)
    return hold_against_print(out, engineering)


def hold_against_print(out: Path, engineering: bool) -> list[Line]:
    """The tables of a reproduction whose studies are done."""
    runs = rows_of(EXPERIMENTS, out)
    others = rows_of(ENGINEERING, out / "engineering") if engineering else {}
    lines = [
        *printed_lines(runs, others),
        *compared_lines(runs, others),
        *collapse_lines(out, runs),
        *recovery_lines(out, runs),
    ]
    rows = [{field: getattr(line, field) for field in Line.__slots__} for line in lines]
    tables = {
        "mobile_definitions": definition_rows(runs),
        "mobile_lengths": length_rows(out, runs),
        "mobile_verdicts": verdict_rows(out, runs),
    }
    tables_of_figures = {"mobile_over_time": over_time(out, runs)}
    studies = [out / one.name for one in EXPERIMENTS]
    studies += [out / "engineering" / one.name for one in ENGINEERING if engineering]
    with stamping_of(studies, normal_command("reproduce", "mobile", engineering=engineering)):
        for name, table in {"mobile": rows, **tables, **tables_of_figures}.items():
            write_rows(out, name, table)
        write_whole(out / "mobile.md", in_markdown(document(rows, tables, bool(others))))
    return lines


def printed_lines(runs: Runs, others: Runs) -> Iterator[Line]:
    with PRINTED.open(newline="", encoding="utf-8") as file:
        for printed in csv.DictReader(file):
            name, metric = printed["experiment"], printed["metric"]
            values = values_of(runs[name], metric)
            beside = values_of(others[name], metric) if name in others else None
            meant = float(printed["low"]), float(printed["high"])
            yield line(
                WORDS[name], metric, printed["printed"], values, meant, printed["place"], printed["remark"], beside
            )


def line(
    experiment: str,
    quantity: str,
    printed: str,
    values: Values,
    meant: tuple[float, float] | str,
    place: str,
    remark: str = "",
    beside: Values | None = None,
) -> Line:
    """Values of the replications with what is printed, which can mean all from `meant[0]` to `meant[1]`; where it is
    not a number, `meant` is the verdict.
    """
    interval = t_interval(values)
    verdict = meant if isinstance(meant, str) else verdict_against(interval.mean, *meant)
    other = "" if beside is None or not len(beside) else interval_in_words(t_interval(beside))
    remark = "" if verdict == "fits" else remark
    return Line(
        experiment, quantity, printed, interval_in_words(interval), verdict, precision(interval, values), other, place,
        remark,
    )  # fmt: skip


def verdict_against(mean: float, low: float, high: float) -> str:
    if low <= mean <= high:
        return "fits"
    printed = (low + high) / 2 if low > 0 else high
    return f"{mean / printed:.2g} times" if 0 < printed < float("inf") else "above" if mean > high else "below"


def precision(i: Interval, values: Values) -> str:
    """How well the mean is known; where not to KNOWN_TO, what the runs were like."""
    if i.mean == 0:
        return f"n = {i.n}"
    share = i.half_width / abs(i.mean)
    text = f"± {share:.0%}, n = {i.n}".replace("%", " %")
    return text if share <= KNOWN_TO else f"{text}: runs differ, {values.min():.3g} to {values.max():.3g}"


def compared_lines(runs: Runs, others: Runs) -> Iterator[Line]:
    """The text's statements on two experiments: the same seeds, so differences and ratios are paired."""
    over = "flooding over TCP compared with the mobile broadcast"
    for metric, printed, low, high, place in (
        ("delivery_delay_mean_s", "10 times (2 s against 0.20 s)", 9.5, 10.5, "V.A"),
        ("copies_and_acks_per_delivery", "4 times (1.58 against 0.4)", 3.9, 4.0, "V.A"),
        ("station_sbuffer_mean", "an order of magnitude or more", 10.0, float("inf"), "V.A, Figure 6a"),
    ):
        ratio = ratio_of(runs["tcp_static"], runs["static"], metric)
        beside = ratio_of(others["tcp_static"], others["static"], metric) if others else ""
        verdict = verdict_against(float(ratio.split()[0]), low, high)
        known_how = "geometric mean over pairs"
        yield Line(over, f"{metric}, ratio", printed, ratio, verdict, known_how, beside, place)
    walking, standing = paired_values(runs["dynamic"], runs["static_25"], "delivery_delay_mean_s")
    beside_each_other = (
        paired_values(others["dynamic"], others["static_25"], "delivery_delay_mean_s") if others else None
    )
    yield line(
        "walking compared with stationary, 25 messages a second",
        "delivery_delay_mean_s, difference",
        "+0.05 s",
        walking - standing,
        (0.045, 0.055),
        "V.B",
        beside=None if beside_each_other is None else beside_each_other[0] - beside_each_other[1],
    )


def paired_values(rows: Rows, baseline: Rows, metric: str) -> tuple[Values, Values]:
    """The pairs of the replications that both have."""
    one, other = (
        {row["replication"]: float(row[metric]) for row in table if row[metric]} for table in (rows, baseline)
    )
    both = [replication for replication in one if replication in other]
    return np.array([one[r] for r in both]), np.array([other[r] for r in both])


def ratio_of(rows: Rows, baseline: Rows, metric: str) -> str:
    comparison = compare_pairs(*paired_values(rows, baseline, metric))
    return f"{comparison.ratio:.3g} times ({comparison.ratio_low:.3g} to {comparison.ratio_high:.3g})"


def collapse_lines(out: Path, runs: Runs) -> Iterator[Line]:
    """Yield lines on flooding over TCP at 35 messages a second: the paper states only that it does not work."""
    place, heavy_runs = "V.A", directories(out, runs, "tcp_heavy")
    growth = np.array([series.backlog_growth_per_s(directory) for directory in heavy_runs])
    words, printed = WORDS["tcp_heavy"], "hardly handled, no meaningful figures"
    verdict = "collapses" if t_interval(growth).low > 0 else "holds"
    yield line(words, "growth of all SBuffers, messages a second", printed, growth, verdict, place)
    for metric in ("station_sbuffer_mean", "delivery_delay_mean_s"):
        remark = "no steady value: it grows with the length of the run"
        values = values_of(runs["tcp_heavy"], metric)
        yield line(words, metric, printed, values, "unstable", place, remark)
    missing = np.array(
        [series.never_joined(directory) for directory in directories(out, runs, "tcp_static")], dtype=np.float64
    )
    never, printed = "hosts, out of 70, that never become members", "connections fail (75 s is exceeded)"
    yield line(WORDS["tcp_static"], never, printed, missing, "", place)


def recovery_lines(out: Path, runs: Runs) -> Iterator[Line]:
    """SBuffer of s3 before each fault, and before the next one."""
    before = np.array([series.before_faults(directory, LOOK_S) for directory in directories(out, runs, "faults")])
    faults = series.faults_of(directories(out, runs, "faults")[0])
    for number in range(before.shape[1] - 1):
        first, then = t_interval(before[:, number]), t_interval(before[:, number + 1])
        outage_s = faults["first_duration_s"] + number * faults["duration_step_s"]
        recovers = then.mean <= BACK_WITHIN * max(first.mean, 1.0)
        printed = NOT_RECOVERED.get(outage_s, "recovers a few seconds after the outage")
        verdict = "recovers" if recovers else f"{then.mean / first.mean:.2g} times"
        yield Line(
            WORDS["faults"],
            f"SBuffer of s3 around an outage of {outage_s:g} s",
            printed,
            f"{interval_in_words(first)} before it, {interval_in_words(then)} before the next one",
            verdict + (", unlike in the paper" if recovers == (outage_s in NOT_RECOVERED) else ""),
            f"n = {then.n}",
            "",
            "V.C, Figure 8b",
        )
    most = values_of(runs["faults"], "station_sbuffer_max")
    remark = (
        "not seen: our SBuffers stay below 400 messages here; in the runs from which the settings were inferred, a"
        " station with 642 messages recovered in 1.5 s"
    )
    yield line(WORDS["faults"], "station_sbuffer_max", "unstable from about 400", most, "", "V.C", remark)


# --- the further tables


def document(rows: list[dict[str, Any]], tables: dict[str, list[dict[str, Any]]], with_engineering: bool) -> str:
    """mobile.md."""

    def table(rows: list[dict[str, Any]], names: dict[str, str]) -> str:
        return markdown(tuple(names.values()), [[row[name] for name in names] for row in rows])

    columns = {
        "experiment": "experiment",
        "quantity": "quantity",
        "printed": "published",
        "ours": "ours",
        "verdict": "",
        "known": "precision",
    }
    columns |= {"engineering": "engineering defaults"} if with_engineering else {}
    tried = list(
        dict.fromkeys(f"- {row['experiment']}, {row['quantity']}: {row['remark']}\n" for row in rows if row["remark"])
    )
    as_they_are = {name: list(next(iter(table_rows))) for name, table_rows in tables.items()}
    lengths = [name for name in as_they_are["mobile_lengths"] if not name.startswith(("mean_", "low_", "high_"))]
    return (
        "# Wilhelm, Arantes and Sens (2020), Section V\n\nMeans over replications with 95 % t intervals, with seeds"
        " from 2000 upwards.\n\n"
        + table(rows, columns | {"place": "where"})
        + "\n## What is not reproduced\n\n"
        + "".join(tried)
        + "\n## Alternative definitions\n\n"
        + table(tables["mobile_definitions"], {name: name for name in as_they_are["mobile_definitions"]})
        + "\n## Delay of flooding over TCP and the length of the run\n\n"
        + table(tables["mobile_lengths"], {name: name for name in lengths})
        + "\n## Verdicts\n\n"
        + table(tables["mobile_verdicts"], {name: name for name in as_they_are["mobile_verdicts"]})
    )

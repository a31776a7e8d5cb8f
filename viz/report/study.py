"""The report of a study, with any number of runs.

Errors    StudyError for a directory that is not a finished study, or is damaged
Source    ours: docs/guide/pictures.md
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from mobilenet.engine.scratch import scratch_folder
from mobilenet.lab.studies.compare import judged_row
from mobilenet.lab.studies.effects import BEFORE_DELAYS, Effect, study_effects
from mobilenet.lab.studies.sentences import (
    SAME_MOVEMENT,
    changed_before,
    changes_in_numbers,
    conclusions,
    effect_in_numbers,
    effect_name,
    has_one_movement,
    pairing,
    sentence,
)
from mobilenet.lab.studies.table_files import missing_runs
from mobilenet.metrics.registry import SIGNED
from mobilenet.parameters import ScenarioError
from mobilenet.quoting import format_number, pluralize, quote
from mobilenet.scenario import load_scenario
from mobilenet.scenario.radio_words import radio_of_study

from ..figures import study_figures
from ..figures.means import metrics_of_interest
from ..study_tables import StudyTables, infinite, study_tables, words_of
from ..style import Look, percent
from ..words import probability, with_interval
from .limits import limits_of
from .page import bullets, code, details, paragraph, pictures, radio, table, text, whole
from .searches import capacity_answer, command_again

FIRST = (
    "delivery_delay_mean_s",
    "latency",
    "messages_sent_per_delivery",
    "messages",
    "collision_loss_ratio",
    "station_sbuffer_mean",
    "handoff_interruption_mean_s",
)
MOST_ROWS = 2_000
MOST_EFFECTS = 20
FACTORIAL = (
    "The effect of a level is its mean difference from the first level of its factor, over all levels of the other"
    " factors. The effect of two levels together is half the amount by which one changes the effect of the other."
)
SCREENED = (
    "Each key moved by half of its range, at the points of random trajectories, in the same worlds at each point. The"
    " size is the mean of the changes without their signs, scaled to the whole range (mu* of Morris)."
)


def study_page(directory: Path) -> str:
    tables = study_tables(directory)
    rows, runs, listed = tables.summary, tables.rows("tables/runs"), tables.rows("runs")
    verdicts = Counter(run["verdict"] for run in runs)
    failed = sum(run["state"] == "failed" for run in listed)
    overall = (
        "violated" if verdicts["violated"] else "unknown" if verdicts["unknown"] or failed or not runs else "valid"
    )
    factors = tables.factors
    with scratch_folder("report") as folder:
        figures = pictures(study_figures(directory, folder, Look((".svg",), captions=False)))
    metrics = metrics_of_interest(tables)
    effects = study_effects(directory, tables.factors, metrics, tables.confidence)
    order = list(dict.fromkeys((*metrics, *FIRST)))
    main = sorted((row for row in rows if row["metric"] in order), key=lambda row: order.index(row["metric"]))
    sections = [
        ("Figures", figures),
        (
            "The numbers",
            _numbers(main, tables) + details("all metrics", _numbers(rows[:MOST_ROWS], tables, names=True)),
        ),
        ("The comparison", _findings(tables)),
        ("The effects", _effects(effects, tables)),
        (
            "The runs",
            _counts(verdicts, failed)
            + radio(radio_of_study(directory))
            + (
                code("\n".join(run["run"] for run in runs if run["verdict"] == "violated")[:5000])
                if verdicts["violated"]
                else ""
            ),
        ),
        ("The study", code(words_of(directory, "study.yaml"))),
        (
            "The scenario of the first configuration, with all default values",
            details("scenario.yaml", code(_scenario(directory))),
        ),
        (
            "How to repeat this",
            paragraph("From the folder that holds the study, into a new one:") + code(_again(directory)),
        ),
        (
            "What the models leave out",
            bullets(limits_of(file.parent for file in sorted(directory.glob("configurations/*/scenario.yaml")))),
        ),
    ]
    configurations = {run["configuration"] for run in runs}
    missing = missing_runs(directory)
    subtitle = text(
        f"{pluralize(len(runs), 'run')} of {pluralize(len(configurations), 'configuration')}; factors:"
        f" {', '.join(factors) or 'none'}{'; ' if missing else ''}{missing or ''}"
    )
    answer = _answer(tables, effects, verdicts, failed, capacity_answer(directory))
    return whole(tables.name, overall, subtitle, answer, sections)


def _again(directory: Path) -> str:
    """Return the command that repeats the study."""
    if (command := command_again(directory)) is not None:
        return command
    name = directory.resolve().name
    allow = " --allow-code" if any(map(_uses_code, sorted(directory.glob("configurations/*/scenario.yaml")))) else ""
    return f"mobilenet study {quote(Path(name) / 'study.yaml')} --out {quote(Path(name + '-again'))}{allow}"


def _worlds(directory: Path) -> str:
    """Return a sentence on how the replications differ."""
    try:
        scenario = load_scenario(directory / "configurations" / "c000" / "scenario.yaml")
    except ScenarioError:
        return "each with its own seed"
    return SAME_MOVEMENT if has_one_movement(scenario) else "each with its own world"


def _uses_code(scenario: Path) -> bool:
    try:
        return any(load_scenario(scenario).code())
    except ScenarioError:
        return False


def _scenario(directory: Path) -> str:
    name = "configurations/c000/scenario.yaml"
    return words_of(directory, name) if (directory / name).is_file() else ""


def _counts(verdicts: Counter[str], failed: int) -> str:
    parts = [f"{count} {verdict}" for verdict, count in sorted(verdicts.items())] + (
        [f"{failed} failed"] if failed else []
    )
    return paragraph(text(", ".join(parts) or "none"))


def _numbers(rows: list[dict[str, Any]], tables: StudyTables, names: bool = False) -> str:
    """Return one row for each configuration and metric. If `names` is true, add the metrics' names in files."""
    factors, sure = tables.factors, percent(tables.confidence)
    head = (
        *(factor.rpartition(".")[2] for factor in factors),
        *(("name",) if names else ()),
        "quantity",
        "n",
        "mean",
        f"{sure} interval from",
        "to",
        "note",
    )
    lines = [
        (
            *(tables.levels.name(factor, row[factor]) for factor in factors),
            *((row["metric"],) if names else ()),
            tables.words.meaning(row["metric"]),
            str(row["n"]),
            *with_interval(row["metric"], row["mean"], row["low"], row["high"]),
            " ".join(filter(None, (infinite(row), row["label"]))),
        )
        for row in rows
    ]
    explanation = f"n replications, {_worlds(tables.path)}; mean over them, and its {sure} t interval."
    if any(line[-3] == "< 0" for line in lines):
        explanation += " “< 0”: the symmetric interval extends below the possible values of this quantity."
    return paragraph(text(explanation)) + table(head, lines, numbers=len(factors) + 1 + names)


def _answer(
    tables: StudyTables, effects: list[Effect], verdicts: Counter[str], failed: int, of_search: str | None
) -> str:
    comparison = tables.comparison
    judged = (
        "Every run was judged by the verifier: "
        + ", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items()))
        + "."
    )
    judged += "".join(f" {line}" for line in tables.doubts())
    judged += f" Failed, and left out of the numbers: {pluralize(failed, 'run')}." if failed else ""
    if of_search is not None:
        return of_search + paragraph(text(judged))
    if effects and (comparison is None or not comparison["findings"]):
        return (
            paragraph("<b>Which setting matters most?</b>")
            + bullets(_conclusions(effects, tables))
            + paragraph(text(judged))
        )
    if comparison is None or not comparison["findings"]:
        return paragraph(
            "<b>What do the runs measure?</b>",
            text("The means below, with t intervals over replications."),
            text(judged),
        )
    factor = comparison["factor"]
    question = f"What is the effect of {factor}, relative to {tables.levels.name(factor, comparison['baseline'])}?"
    more = len(comparison["findings"]) - 40
    return (
        paragraph(f"<b>{text(question)}</b>")
        + _sentences(comparison["findings"][:40], tables)
        + (paragraph(text(f"{more} more below.")) if more > 0 else "")
        + paragraph(text(judged))
    )


def _sentences(findings: list[dict[str, Any]], tables: StudyTables) -> str:
    """Return a list of metrics, each with an entry for every level and combination of the other factors."""
    comparison = tables.comparison or {}
    others = [factor for factor in tables.factors if factor != comparison["factor"]]
    parts = []
    for metric in dict.fromkeys(finding["metric"] for finding in findings):
        own = [finding for finding in findings if finding["metric"] == metric]
        lines = [sentence(finding, comparison, tables.levels, tables.words) for finding in own]
        where = [tables.in_words(finding, others) for finding in own]
        placed = [f"{place}: {line}" if place else line for place, line in zip(where, lines, strict=True)]
        parts.append(paragraph(text(f"{tables.words.meaning(metric)}:")) + bullets(placed))
    return "".join(parts)


def _conclusions(effects: list[Effect], tables: StudyTables) -> list[str]:
    return list(conclusions(effects, tables.levels, tables.confidence, tables.words).values())


def _effects(effects: list[Effect], tables: StudyTables) -> str:
    """Return a table of the effects in order of size, or an empty string for a study of fewer than two factors."""
    if not effects:
        return ""
    interval, changed = f"{percent(tables.confidence)} interval", changed_before(effects)
    head = ["effect", "quantity", "change", f"{interval} from", "to", "p, adjusted"]
    head += [words for metric in changed for words in (f"change of the {BEFORE_DELAYS[metric]}", interval)]
    lines = [
        (
            effect_name(effect, tables.levels),
            tables.words.axis_name(effect.metric),
            *effect_in_numbers(effect),
            probability(effect.p_adjusted),
            *changes_in_numbers(effect, changed),
        )
        for effect in effects
    ]
    explanation = SCREENED if effects[0].is_size else FACTORIAL
    largest, rest = lines[:MOST_EFFECTS], lines[MOST_EFFECTS:MOST_ROWS]
    more = details("smaller effects", table(head, rest, numbers=2)) if rest else ""
    return paragraph(text(explanation)) + table(head, largest, numbers=2) + more


def _findings(tables: StudyTables) -> str:
    comparison = tables.comparison
    if comparison is None or not comparison["findings"]:
        return ""
    head = (
        "level", "quantity", "verdict", "delivery ratio", "of the baseline", "mean", "baseline", "difference", "from",
        "to", "p, adjusted", "pairs",
    )  # fmt: skip
    lines = []
    for f in map(judged_row, comparison["findings"]):
        others = [tables.levels.in_words(name, f[name]) for name in tables.factors if name != comparison["factor"]]
        level = ", ".join([tables.levels.in_words(comparison["factor"], f["level"]), *others])
        difference = with_interval(SIGNED[0], f.get("difference"), f.get("difference_low"), f.get("difference_high"))
        lines.append(
            (
                level,
                tables.words.meaning(f["metric"]),
                f["verdict"],
                *(format_number(f.get(name)) for name in ("delivery_ratio", "baseline_delivery_ratio")),
                format_number(f.get("mean")),
                format_number(f.get("baseline_mean")),
                *difference,
                probability(f.get("p_adjusted")),
                format_number(f.get("pairs")),
            )
        )
    margin = comparison["equivalence_margin"]
    explanation = (
        f"Differences and their {comparison['confidence'] * 100:g} % t intervals are"
        f" {pairing(f.get('unpaired', '') for f in comparison['findings'])}; p values are adjusted by Holm's method."
    )
    if any(f.get("common_deliveries") is not None for f in comparison["findings"]):
        explanation += (
            " Where two levels delivered different shares, delays are those of the deliveries that both made."
        )
    explanation += (
        f" Equivalent: two one-sided tests put the ratio within ±{margin * 100:g} %." if margin is not None else ""
    )
    return paragraph(text(explanation)) + table(head, lines, numbers=3)

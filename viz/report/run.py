"""The report of one run.

Errors    RunError for a directory that is not a run
Source    ours: docs/guide/pictures.md
"""

from __future__ import annotations

from pathlib import Path

from mobilenet.api import Run
from mobilenet.engine.scratch import scratch_folder
from mobilenet.metrics.registry import VOCABULARIES
from mobilenet.quoting import format_number, pluralize
from mobilenet.record.kinds import run_kind
from mobilenet.record.reader import read_coded
from mobilenet.scenario.radio_words import radio_of_run

from ..figures import run_figures
from ..figures.record import manifest_of
from ..map.data import document
from ..map.page import page as map_page
from ..map.record import name_of_run, scenario_of
from ..style import Look
from ..words import PROPERTIES
from .limits import ONE_RUN, limits_of
from .page import bullets, code, details, embedded_page, paragraph, pictures, radio, table, text, whole

CHECK = ("property", "answer", "question", "explanation")


def run_page(directory: Path) -> str:
    manifest_of(directory)  # Raise an error before anything is drawn.
    run = Run(directory)
    manifest, kind = run.manifest, run_kind(run.manifest)
    words = PROPERTIES | manifest.get("own_checks", {})
    checks = [
        (check, verdict.answer, words.get(check, ""), verdict.explanation or "")
        for check, verdict in run.verdicts.items()
    ]
    # The map is made first, because it takes the most memory.
    moving = map_page(document(directory)) if kind.look == "map" else ""
    with scratch_folder("report") as folder:
        drawn = run_figures(directory, folder, Look((".svg",), captions=False))
        figures, still = pictures(drawn), pictures(figure for figure in drawn if figure.path.stem == "field")
    scenario = (directory / "scenario.yaml").read_text(encoding="utf-8")
    sections = [
        ("The numbers", _numbers(run)),
        ("The map", _map(moving, still) if moving else ""),
        ("Figures", figures),
        ("The verdict, property by property", table(CHECK, checks, numbers=4)),
        ("The scenario with all default values", radio(radio_of_run(directory)) + code(scenario)),
        (
            "How to repeat this",
            paragraph("From the folder that holds the run directory:")
            + code(manifest["command"])
            + paragraph(f"The same events {kind.same_times}. Fingerprint:")
            + code(manifest["fingerprint"]),
        ),
        ("What the models leave out", bullets(limits_of([directory]))),
    ]
    subtitle = text(
        f"{manifest['protocol']}, {kind.participants(manifest)}, seed {manifest['seed']}, {manifest['simulated_s']:g}"
        f" {kind.unit} simulated, mobilenet {manifest['mobilenet_version']}; folder {directory.resolve().name}"
    )
    caveats = "".join(f"<p class=caveat>{text(line)}</p>" for line in (*map(_warning, run.warnings), ONE_RUN))
    return whole(
        name_of_run(directory, scenario_of(directory)), run.verdict, subtitle, _answer(run) + caveats, sections
    )


def _numbers(run: Run) -> str:
    kind, metrics, own = run_kind(run.manifest), run.metrics, run.manifest.get("own_metrics", {})
    words = VOCABULARIES[kind.name]
    first = [
        (words.meaning(key, own), format_number(metrics[key]))
        for key in (*own, *words.first)
        if metrics.get(key) is not None
    ]
    rest = [(key, words.meaning(key, own), format_number(value)) for key, value in metrics.items()]
    return (
        (paragraph(text(period)) if (period := kind.period(run.manifest)) else "")
        + table(("quantity", "this run"), first)
        + details("all metrics", table(("name", "quantity", "value"), rest, numbers=2))
    )


def _map(moving: str, still: str) -> str:
    return (
        "<p class=onscreen>Space plays, h jumps to the next handoff; click a host, a station or a message.</p>"
        f"<div class=onpaper>{still}</div>{embedded_page(moving, 'map of the run')}"
    )


def _warning(line: str) -> str:
    return f"Warning: {line}."


def _answer(run: Run) -> str:
    """Return the question about a run and its answer, in words."""
    promise = run.manifest["promises"]["broadcast"]
    question = run_kind(run.manifest).questions.get(promise, f"Did the broadcast keep its promise ({promise})?")
    broken, unknown = (
        [f"{name}: {verdict.explanation}" for name, verdict in run.verdicts.items() if verdict.answer == answer]
        for answer in ("violated", "unknown")
    )
    if broken:
        return paragraph(f"<b>{text(question)} No.</b>") + "".join(code(line) for line in broken)
    event = read_coded(run.path, "events", ["event"]).column("event")
    counts = (
        f"The verdict covers the whole run: {pluralize(len(event.rows('deliver')), 'delivery')} of"
        f" {pluralize(len(event.rows('broadcast')), 'broadcast')}."
    )
    _, _, share = run.answer.partition("; ")
    counts += f" The measurement period {share}." if share else ""
    if unknown:
        owed = f" {run.still_owed}." if run.still_owed else ""
        return paragraph(f"<b>{text(question)} Not known.</b>", text(counts + owed)) + "".join(
            paragraph(text(line)) for line in unknown
        )
    return paragraph(f"<b>{text(question)} Yes.</b>", text(counts))

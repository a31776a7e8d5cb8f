"""Measure the effect of an intervention by comparing runs with and without it, and describe it in a few sentences.

Model     The observed time starts with the intervention. The comparison uses the messages that were both broadcast and
          delivered in this time: their delays and the number of deliveries, in the whole network, at the node
          concerned, and at the other hosts of its cell. These are the hosts whose session was with the same station
          before the intervention. Up to the intervention, the two runs with the same random world are identical
Units     seconds
Source    paired t intervals: lab/studies/statistics.py; ours: docs/guide/live.md
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from mobilenet.engine.clock import ns
from mobilenet.lab.studies.statistics import compare_means
from mobilenet.metrics.deliveries import Deliveries
from mobilenet.record.reader import read_coded
from mobilenet.record.table import Table
from mobilenet.world.interventions import (
    Add,
    AnyIntervention,
    Cut,
    Drag,
    Impair,
    ImpairLink,
    Interval,
    Loss,
    Mend,
    OfHost,
    OfStation,
    OnHost,
)

EFFECTS = ("delivery_delay_mean_s", "deliveries")  # metrics of the whole network
THERE = ("delivery_delay_mean_there_s", "deliveries_there")  # metrics of the affected host or station
CELL = ("delivery_delay_mean_cell_s", "deliveries_cell")  # metrics of the other hosts in its cell
COUNTS = (EFFECTS[1], THERE[1], CELL[1])
CONFIDENCE = 0.95

WORDS = {  # words for interventions on a host or a station
    "crash": "crash of", "recover": "recovery of", "join": "join of", "leave": "departure of",
    "broadcast": "broadcast by", "radio_off": "radio switched off at", "radio_on": "radio switched on at",
}  # fmt: skip


def in_words(one: AnyIntervention) -> str:
    """Return a short description of an intervention, such as `crash of h3 at 12.5 s`."""
    match one:
        case OfHost():
            what = f"{WORDS[one.do]} {one.host}"
        case OfStation():
            what = f"{WORDS[one.do]} {one.station}"
        case Drag():
            what = f"drag of {one.host} to {_place(one.to_m)}"
        case Add():
            what = f"new host at {_place(one.to_m)}"
        case Loss():
            what = f"random loss of {one.loss:g}"
        case Interval():
            what = f"broadcast interval of {one.interval_s:g} s"
        case Cut() | Mend():
            kind = "repair" if isinstance(one, Mend) else "lossy cut" if one.loses else "cut"
            what = f"{kind} of {'–'.join(one.link)}"
        case Impair():
            what = f"{_impairment(one)} of {one.host}"
        case ImpairLink():
            what = f"{_impairment(one)} of {'–'.join(one.link)}"
    return f"{what} at {one.at_s:.6g} s"


def _impairment(one: Impair | ImpairLink) -> str:
    """Return a description such as `loss of 10 %`, `delay of 0.2 s`, or `end of the impairment`. A loss and a delay are
    joined by `and`.
    """
    loss, delay = f"loss of {100 * one.loss:g} %", f"delay of {one.delay_s:g} s"
    if one.loss and one.delay_s:
        return f"{loss} and {delay}"
    return loss if one.loss else delay if one.delay_s else "end of the impairment"


def differences(study: Path, one: AnyIntervention, end_s: float) -> list[dict[str, Any]]:
    """Return the differences in the metrics EFFECTS between the runs with and without `one`. Include the metrics THERE
    and CELL if they apply to any hosts.

    `study` has two configurations; the second contains the intervention. Runs with a growing backlog are included,
    although studies give no mean for them, because the question is the effect within a limited time.
    """
    columns = ["run", "configuration", "replication"]
    runs = pq.read_table(study / "tables" / "runs.parquet", columns=columns).to_pandas()
    measured = [outcome(read_coded(study / "runs" / run, "events"), one, end_s) for run in runs["run"]]
    return compare_worlds(pd.concat([runs, pd.DataFrame(measured, index=runs.index)], axis=1))


def compare_worlds(runs: pd.DataFrame) -> list[dict[str, Any]]:
    """Compare the runs that share a random world, and return confidence intervals. `runs` has the columns
    `replication`, `configuration` (1: with the intervention), and one for each metric. Ignore worlds in which a run
    lacks the value.
    """
    findings = []
    for metric in (*EFFECTS, *(name for name in (*THERE, *CELL) if name in runs)):
        values = pd.DataFrame()
        if metric in runs:
            values = runs.pivot_table(index="replication", columns="configuration", values=metric).dropna()
        if values.shape[1] < 2 or len(values) < 2:
            findings.append({"metric": metric, "pairs": 0})
            continue
        result = compare_means(values[1].to_numpy(float), values[0].to_numpy(float), CONFIDENCE)
        mean, low, high = result.difference, result.difference_low, result.difference_high
        findings.append({"metric": metric, "pairs": result.pairs, "difference": mean, "low": low, "high": high})
    return findings


def outcome(events: Table, one: AnyIntervention, end_s: float) -> dict[str, float]:
    """Return the metrics EFFECTS for messages that were broadcast after the intervention and delivered before `end_s`.
    Include the metrics THERE and CELL if they apply to any hosts.
    """
    host = one.host if isinstance(one, OnHost) else None
    at_ns = ns(one.at_s)
    cells = dict(station_changes(events, at_ns))
    station = one.station if isinstance(one, OfStation) else cells.get(host or "")
    others = [name for name, of in cells.items() if of == station and name != host] if station else []
    deliveries = Deliveries(events)
    inside = deliveries.was_broadcast & (deliveries.sent_ns >= at_ns) & (deliveries.time_ns < ns(end_s))
    node = events.column("node")
    groups = {EFFECTS: inside}
    for metrics, hosts in ((THERE, [host] if host else []), (CELL, others)):
        if hosts:
            groups[metrics] = inside & np.isin(deliveries.node, [node.code(each) for each in hosts])
    measures = {}
    for (mean, count), own in groups.items():
        measures[count] = float(own.sum())
        if own.any():
            measures[mean] = float(deliveries.delay_s[own].mean())
    return measures


def station_changes(events: Table, at_ns: int) -> Iterator[tuple[str, str | None]]:
    """Yield each host with the station of its session, in chronological order, up to `at_ns`. None means that the host
    has left.
    """
    event = events.column("event")
    rows = event.rows("join", "handoff_end", "leave")
    # The intervention takes effect at this time, so only earlier events describe the situation before it.
    rows = rows[events.numbers("time_ns")[rows] < at_ns]
    names = zip(*(events.pick(name, rows) for name in ("event", "node", "station")), strict=True)
    for kind, node, station in names:
        yield node, None if kind == "leave" else station


def effect_in_words(one: AnyIntervention, after_s: float, findings: list[dict[str, Any]]) -> str:
    """Return a description of the effect, with intervals: one sentence for each metric that differs, and one for all
    others.
    """
    host = one.host if isinstance(one, OnHost) else ""
    cell = f"the other hosts of {host}'s cell" if host else "the hosts of its cell"
    words = {
        "delivery_delay_mean_s": ("the mean delivery delay", " s"), "deliveries": ("the number of deliveries", ""),
        THERE[0]: (f"the mean delay at {host} itself", " s"), THERE[1]: (f"the number of deliveries at {host}", ""),
        CELL[0]: (f"the mean delay at {cell}", " s"), CELL[1]: (f"the number of deliveries at {cell}", ""),
    }  # fmt: skip
    worlds = max(finding["pairs"] for finding in findings)
    sentences, alike = [], []
    for finding in sorted(findings, key=lambda one: one["metric"] not in COUNTS):  # delivery metrics come first
        name, unit = words[finding["metric"]]
        if not finding["pairs"]:
            sentences.append(f"Too few runs have a value for {name}.")
            continue
        low, high = finding["low"], finding["high"]
        half = (high - low) / 2
        some = f" in {finding['pairs']} worlds" if finding["pairs"] < worlds else ""
        if low > 0 or high < 0:
            size = _amount(abs(finding["difference"]), half, unit)
            sentences.append(f"{name[0].upper()}{name[1:]} {'rises' if low > 0 else 'falls'} by {size}{some}.")
        else:
            alike.append(f"{name} ({_amount(finding['difference'], half, unit, '+')}{some})")
    if alike:
        sentences.append(f"The worlds show no measurable difference in {', or in '.join(alike)}.")
    return (
        f"Effect of the {in_words(one)} on the following {after_s:.3g} s, from {worlds} worlds with and without"
        " the intervention"
        f" ({100 * CONFIDENCE:g} % intervals): " + " ".join(sentences)
    )


def _amount(mean: float, half: float, unit: str, sign: str = "") -> str:
    """Return the mean and the half width of its interval, rounded to the second significant digit of the half width."""
    digits = max(0, 1 - math.floor(math.log10(half))) if half > 0 else 3 if unit else 0
    return f"{mean:{sign},.{digits}f}{unit} ± {half:,.{digits}f}{unit}"


def _place(to_m: tuple[float, float]) -> str:
    return f"[{to_m[0]:g}, {to_m[1]:g}]"

"""Print the tables of docs/protocols/repair.md about the cost and benefit of repairs, and draw its figure.

    mobilenet robust scenarios/studies/repair_standing.yaml --out repair_standing
    mobilenet robust scenarios/studies/repair_walking.yaml --out repair_walking
    python -m validation.repairs repair_standing repair_walking

Model     ratios are paired by world, with 95 % t intervals of their logarithms. A limit is met if the upper end of the
          interval does not exceed it. The mean of an unstable configuration describes only these runs
Units     seconds; frames and seconds of airtime per delivery; ratios
Source    ours: docs/protocols/repair.md
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from math import floor, log10
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
from mobilenet.viz.style import COLOURS, caption, entitle, figure_legend, log_axis, page, save

from mobilenet.lab.studies.declaration import Study
from mobilenet.lab.studies.level_names import LevelNames
from mobilenet.lab.studies.statistics import compare_means, t_interval
from mobilenet.lab.studies.table_files import UNSTABLE

RADIOS = ("disk", "capture", "log_distance", "shadowing", "fading")
DRAWN = {"disk": ("o", 9), "shadowing": ("^", 6), "fading": ("s", 5)}  # (marker, its size in points)
TCP, PAPER, ALONE, BOTH = "TCP", "paper", "selective", "selective and groupcast"
DELAY, FRAMES, AIRTIME = "delivery_delay_mean_s", "messages_sent_per_delivery", "airtime_per_delivery_s"
PICTURE = Path(__file__).parents[1] / "docs" / "pictures" / "repairs.png"
LIKE_DISK = {(DELAY, TCP): 0.5, (DELAY, PAPER): 1.05, (FRAMES, PAPER): 1.05, (AIRTIME, PAPER): 1.05}
LIMITS: dict[str, dict[tuple[str, str], float]] = {  # radio -> (metric, baseline) -> largest allowed ratio
    **dict.fromkeys(("disk", "capture", "log_distance"), LIKE_DISK),
    "shadowing": {(DELAY, TCP): 1.0, (FRAMES, TCP): 1.0, (AIRTIME, PAPER): 1.05},
    **{radio: {(DELAY, TCP): 1.0, (FRAMES, TCP): 1.5} for radio in ("fading", "walls")},
}
ALONE_UNDER_FADING = 2.2
# These studies have only one radio.
ALONE_ON = {"elsewhere": "disk", "town": "walls", **dict.fromkeys(("sparse", "load", "retries"), "fading")}


class Scene(NamedTuple):
    """The runs with one radio and one combination of the other factors, grouped by variant and in the order of
    replications.
    """

    hosts: str
    radio: str
    where: str
    runs: dict[str, pd.DataFrame]
    unstable: set[str]

    def mean(self, variant: str, metric: str) -> float:
        return float(self.runs[variant][metric].mean())


def scenes(out: Path) -> Iterator[Scene]:
    hosts = out.name.rpartition("_")[2].replace("standing", "stationary")
    is_alone = (out / "tables").is_dir()
    studies = {ALONE_ON.get(hosts, ""): out} if is_alone else {radio: out / radio for radio in RADIOS}
    for radio, study in studies.items():
        if not (study / "tables" / "runs.parquet").exists():
            continue
        names = LevelNames(Study.load(study / "study.yaml").factors)
        tables = {name: pq.read_table(study / "tables" / f"{name}.parquet").to_pandas() for name in ("runs", "summary")}
        columns = list(tables["runs"].columns)
        others = columns[2 : columns.index("configuration")]
        grouped = tables["runs"].groupby(others, sort=False) if others else [((), tables["runs"])]
        for levels, rows in grouped:
            at = dict(zip(others, levels, strict=True))
            on = names.name("radio", at.pop("radio")) if "radio" in at else radio
            where = ", ".join(names.in_words(name, level) for name, level in at.items())
            runs = {
                names.name("variant", level): of.sort_values("replication")
                for level, of in sorted(rows.groupby("variant"), key=lambda group: group[1]["configuration"].iloc[0])
            }
            summary = tables["summary"]
            unstable = {
                variant
                for variant, of in runs.items()
                if UNSTABLE in set(summary[summary["configuration"] == of["configuration"].iloc[0]]["label"])
            }
            yield Scene(hosts, on, where, runs, unstable)


def print_means(all_scenes: list[Scene], metric: str, factor: float) -> None:
    variants = list(all_scenes[0].runs)
    print("| hosts, radio | where |", " | ".join(variants), "|")
    print("|---" * (2 + len(variants)) + "|")
    for scene in all_scenes:
        cells = [mean(scene, variant, metric, factor) for variant in variants]
        print(f"| {scene.hosts}, {scene.radio} | {scene.where} |", " | ".join(cells), "|")


def mean(scene: Scene, variant: str, metric: str, factor: float) -> str:
    """Format the mean with half the width of its interval. Unstable runs have no interval, because longer runs would
    give another mean.
    """
    span = t_interval(np.array(scene.runs[variant][metric]), 0.95)
    if variant in scene.unstable:
        return f"{factor * span.mean:.3g}*"
    digits = max(0, 2 - floor(log10(factor * span.mean)))
    return f"{factor * span.mean:.{digits}f} ± {factor * (span.high - span.mean):.{digits}f}"


def print_targets(all_scenes: list[Scene], variant: str) -> int:
    """Print a row for each scene. Return how many limits are exceeded."""
    baselines = [name for name in (TCP, PAPER) if name in all_scenes[0].runs]
    columns = [(metric, baseline) for metric in (DELAY, FRAMES, AIRTIME) for baseline in baselines]
    words = {DELAY: "delay", FRAMES: "frames", AIRTIME: "airtime"}
    print("| hosts, radio | where |", " | ".join(f"{words[m]} / {b}" for m, b in columns), "| delivered | missed |")
    print("|---" * (4 + len(columns)) + "|")
    missed = 0
    for scene in all_scenes:
        cells, limits = [], limits_of(scene.radio, variant)
        bad = ["unstable"] if variant in scene.unstable else []
        for metric, baseline in columns:
            text, high = ratio(scene, variant, baseline, metric)
            limit = None if baseline in scene.unstable else limits.get((metric, baseline))
            if limit is not None and high > limit:
                bad.append(f"{words[metric]} / {baseline}: limit {limit:g}")
            cells.append(text)
        delivered, others = (scene.mean(name, "delivery_ratio") for name in (variant, TCP))
        if delivered < others:
            bad.append("delivered")
        missed += len(bad)
        share = f"{delivered:.4g}" if delivered == others else f"{delivered:.4g} (TCP {others:.4g})"
        print(f"| {scene.hosts}, {scene.radio} | {scene.where} |", " | ".join([*cells, share, ", ".join(bad)]), "|")
    return missed


def limits_of(radio: str, variant: str) -> dict[tuple[str, str], float]:
    limits = dict(LIMITS[radio])
    if variant != ALONE:
        limits.pop((AIRTIME, PAPER), None)
    elif radio in ("fading", "walls"):
        limits[DELAY, TCP] = ALONE_UNDER_FADING
    return limits


def ratio(scene: Scene, variant: str, baseline: str, metric: str) -> tuple[str, float]:
    """Return the ratio as text, and the upper end of its interval."""
    own, other = (scene.runs[name].set_index("replication")[metric] for name in (variant, baseline))
    shared = own.index.intersection(other.index)
    comparison = compare_means(np.array(own[shared]), np.array(other[shared]))
    assert comparison.ratio is not None and comparison.ratio_low is not None and comparison.ratio_high is not None
    star = "*" if baseline in scene.unstable else ""
    return (
        f"{comparison.ratio:.2f}{star} ({comparison.ratio_low:.2f} to {comparison.ratio_high:.2f})",
        comparison.ratio_high,
    )


def print_handoffs(out: Path) -> None:
    study = out / "disk" if (out / "disk").is_dir() else out
    handoffs = pq.read_table(study / "tables" / "handoffs.parquet").to_pandas()
    names = LevelNames(Study.load(study / "study.yaml").factors)
    print("| variant | handoffs | mean interruption, s | 95th percentile, s |\n|---|---|---|---|")
    for level, rows in handoffs.groupby("variant", sort=False):
        took = rows["interruption_s"].dropna()
        print(f"| {names.name('variant', level)} | {len(took)} | {took.mean():.3g} | {took.quantile(0.95):.3g} |")


def draw(all_scenes: list[Scene]) -> None:
    """Draw delay against frames per delivery. There is a panel for each kind of hosts and interval, a colour for each
    variant, and a marker for each radio.
    """
    places = list(dict.fromkeys((scene.hosts, scene.where) for scene in all_scenes))
    variants = list(all_scenes[0].runs)
    with page(3.1 * len(places), 4.2, 1, len(places), sharex=True, sharey=True, squeeze=False) as (figure, panels):
        for place, axes in zip(places, panels[0], strict=True):
            for scene in all_scenes:
                if (scene.hosts, scene.where) == place and scene.radio in DRAWN:
                    for colour, variant in zip(COLOURS, variants, strict=False):
                        _mark(axes, scene, variant, colour)
            axes.set_title(f"{place[0]}, every {place[1].removeprefix('interval_s ')} s", fontsize=9)
            for axis, metric in ((axes.xaxis, FRAMES), (axes.yaxis, DELAY)):
                means = [scene.mean(variant, metric) for scene in all_scenes for variant in variants]
                log_axis(axis, min(means), max(means))
            axes.set_xlabel("frames per delivery", fontsize=8)
        panels[0][0].set_ylabel("mean delay (s)", fontsize=8)
        handles, labels = _legend(axes, variants)
        figure_legend(figure, handles, labels)
        entitle(figure, "Delay against frames per delivery, by movement and interval between broadcasts")
        pairs = {len(runs) for scene in all_scenes for runs in scene.runs.values()}
        caption(
            figure,
            f"Means over {min(pairs)} runs of 60 s with 95 % t intervals. Hollow: the backlog keeps growing, so the"
            " value is that of these runs only.",
        )
        save(figure, PICTURE)


def _mark(axes: Any, scene: Scene, variant: str, colour: str) -> None:
    spans = [t_interval(np.array(scene.runs[variant][metric]), 0.95) for metric in (FRAMES, DELAY)]
    (x, *x_ends), (y, *y_ends) = ((s.mean, s.mean - max(s.low, s.mean / 10), s.high - s.mean) for s in spans)
    mark, size = DRAWN[scene.radio]
    axes.errorbar(
        [x], [y], xerr=[[end] for end in x_ends], yerr=[[end] for end in y_ends], fmt=mark, color=colour,
        markersize=size, linewidth=1, markerfacecolor="white" if variant in scene.unstable else colour,
    )  # fmt: skip


def _legend(axes: Any, variants: list[str]) -> tuple[list[Any], list[str]]:
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], color=c, marker="o", linestyle="none") for c, _ in zip(COLOURS, variants, strict=False)]
    handles += [Line2D([], [], color="#555555", marker=mark, linestyle="none") for mark, _ in DRAWN.values()]
    return handles, [*variants, *DRAWN]


def main(outs: list[Path]) -> int:
    all_scenes = [scene for out in outs for scene in scenes(out)]
    missed = 0
    for metric, factor, words in (
        (DELAY, 1, "mean delay, s"),
        (FRAMES, 1, "frames per delivery"),
        (AIRTIME, 1000, "airtime per delivery, ms"),
    ):
        print(f"\n{words}\n")
        print_means(all_scenes, metric, factor)
    variants = (ALONE, BOTH) if ALONE in all_scenes[0].runs else tuple(all_scenes[0].runs)[1:]
    for variant in variants:
        print(f"\n{variant}\n")
        missed += print_targets(all_scenes, variant)
    print("\nhandoffs on the disk\n")
    for out in outs:
        print_handoffs(out)
    drawn = ""
    is_whole = {scene.hosts for scene in all_scenes} == {"stationary", "walking"}
    if is_whole and {scene.radio for scene in all_scenes} >= DRAWN.keys():
        draw(all_scenes)
        drawn = f"; drawn: {PICTURE}"
    print(f"\n{missed} limits missed{drawn}")
    return 0


if __name__ == "__main__":
    sys.exit(main([Path(name) for name in sys.argv[1:]]))

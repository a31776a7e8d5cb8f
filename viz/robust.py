"""Draw the effects of a comparison on several radios next to each other, with the verdicts.

Model     Each metric has a panel, each comparison has a row, and each radio has a mark with an interval. The marks of
          significant effects are filled, and the others are hollow. The axis is logarithmic for ratios and linear for
          differences.
Source    ours: docs/guide/robust.md
"""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

from mobilenet.lab.studies.level_names import LevelNames
from mobilenet.lab.studies.robust.verdicts import Claim, effect_in_figures, pair_of, ratios_of, shares_of_levels
from mobilenet.lab.studies.sentences import pairing
from mobilenet.metrics.registry import OF_HOSTS

from .style import COLOURS, QUIET, caption, cut, log_axis, page, plain, save

MARKS = ("o", "s", "^", "D", "v", "P", "X")
SPREAD = 0.72  # the fraction of a row's height that its marks fill
NARROW = 5.0
WIDEST = 70  # the maximum number of characters in a title
LEAST_ROOM = 1.02
VERDICT = 34  # the maximum number of characters in a line of a verdict
ROW_IN, HEAD_IN, FOOT_IN, LINE_IN = 0.82, 0.85, 1.3, 0.14


def draw(factor: str, names: LevelNames, confidence: float, claims: list[Claim], target: Path) -> None:
    """Write the figure as SVG, PNG or PDF, according to the suffix. `factor` is the compared factor."""
    metrics = list(dict.fromkeys(claim.metric for claim in claims))
    of_metric = {metric: [claim for claim in claims if claim.metric == metric] for metric in metrics}
    verdicts = [textwrap.fill(claim.verdict_in_full(pair_of(claim, factor, names)), VERDICT) for claim in claims]
    row_in = max(ROW_IN, LINE_IN * max(verdict.count("\n") + 2 for verdict in verdicts))
    ratios = [HEAD_IN + row_in * len(own) for own in of_metric.values()]
    height = FOOT_IN + sum(ratios)
    as_ratios = ratios_of(claims)
    with page(8.2, height, len(metrics), 1, squeeze=False, height_ratios=ratios) as (figure, axes):
        for panel, (metric, own) in zip(axes[:, 0], of_metric.items(), strict=True):
            rows = [(_row_name(factor, names, claim), verdicts[claims.index(claim)], claim) for claim in own]
            _panel(panel, metric, rows, metric in as_ratios)
        baseline = names.name(factor, claims[0].baseline)
        pairs = sorted({e.result.pairs for claim in claims for e in claim.effects if e.result is not None})
        many = f"{pairs[0]} to {pairs[-1]}" if len(pairs) > 1 else f"{pairs[0]}" if pairs else "no"
        shares = shares_of_levels(claims, factor, names)
        of_levels = "".join(f" {line[0].upper()}{line[1:]}." for line in shares)
        caption(
            figure,
            f"Effects relative to {baseline} with {confidence * 100:g} % t intervals,"
            f" {pairing(e.unpaired for claim in claims for e in claim.effects)}"
            f" ({many} pairs). Filled: significant after Holm's correction over all marks of this picture;"
            " hollow: not. On the right:"
            f" whether the finding with {claims[0].effects[0].radio} survives. Where two levels delivered different"
            f" shares of what they owed, delays are those of the deliveries that both made.{of_levels}",
        )
        handles, radios = _legend(claims[0])
        figure.legend(
            handles, [plain(name) for name in radios], loc="outside upper left", ncols=min(7, len(radios)), fontsize=9,
            frameon=False, handletextpad=0.3, columnspacing=1.2,
        )  # fmt: skip
        save(figure, target)


def _legend(claim: Claim) -> tuple[list[Any], list[str]]:
    from matplotlib.lines import Line2D

    names = [effect.radio for effect in claim.effects]
    handles = [
        Line2D([], [], color=COLOURS[number % len(COLOURS)], marker=MARKS[number % len(MARKS)], linestyle="none")
        for number in range(len(names))
    ]
    return handles, names


def _panel(axes: Any, metric: str, own: list[tuple[str, str, Claim]], as_ratio: bool) -> None:
    axes.axvline(1.0 if as_ratio else 0.0, color="#7A7A7A", linewidth=0.8)
    ends: list[float] = []
    for place, (_, verdict, claim) in enumerate(own):
        count = len(claim.effects)
        for number, effect in enumerate(claim.effects):
            y = place + ((number - (count - 1) / 2) * SPREAD / count)
            colour = COLOURS[number % len(COLOURS)]
            estimate = effect_in_figures(effect, as_ratio)
            if estimate is None:
                axes.text(
                    0.01, y, f"{effect.radio}: {effect.lack}", transform=axes.get_yaxis_transform(), fontsize=7,
                    va="center", color=QUIET, bbox={"color": "white", "pad": 0.2},
                )  # fmt: skip
                continue
            ends += [estimate.low, estimate.high]
            axes.errorbar(
                [estimate.value], [y], xerr=[[estimate.value - estimate.low], [estimate.high - estimate.value]],
                color=colour, fmt=MARKS[number % len(MARKS)], markersize=5, capsize=2, linewidth=1.2,
                markerfacecolor=colour if effect.direction else "white",
            )  # fmt: skip
        axes.text(
            1.02, place, plain(verdict), transform=axes.get_yaxis_transform(),
            fontsize=8, va="center", fontweight="bold" if claim.flips_under else "normal",
        )  # fmt: skip
        if place:
            axes.axhline(place - 0.5, color="#DDDDDD", linewidth=0.6)
    axes.set_yticks(range(len(own)), [plain(textwrap.fill(name, 26)) for name, *_ in own], fontsize=8)
    axes.set_ylim(len(own) - 0.5, -0.5)
    axes.tick_params(left=False)
    axes.spines["left"].set_visible(False)
    axes.set_title(plain(textwrap.fill(OF_HOSTS.meaning(metric), WIDEST)), fontsize=10)
    axes.set_xlabel("ratio to the baseline" if as_ratio else "difference from the baseline", fontsize=8)
    axes.tick_params(labelsize=8)
    if as_ratio and ends:
        least, most = min([*ends, 1.0]), max([*ends, 1.0])
        log_axis(axes.xaxis, least, most)
        room = max(LEAST_ROOM, (most / least) ** 0.06)
        axes.set_xlim(least / room, most * room)
        if most / least < NARROW:  # Ticks only at 1, 2 and 5 would be too few.
            from matplotlib.ticker import MaxNLocator

            axes.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5]))
            axes.tick_params(axis="x", which="minor", bottom=False)


def _row_name(factor: str, names: LevelNames, claim: Claim) -> str:
    """Return the compared level with the levels of the other factors."""
    others = [names.in_words(other, level) for other, level in claim.others.items()]
    return cut(", ".join([names.name(factor, claim.level), *others]), 70)

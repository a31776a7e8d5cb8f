"""A comparison in sentences: by how much a level differs from the baseline, which way, and how sure that is.

Model     a change is given as a ratio where there is one, since that is what figures show: in percent up to twice as
          much, as a factor beyond. The ratio is the geometric mean over the pairs; where the means point the other way,
          the difference is given instead. The test is on the difference; where it and the interval of the ratio seem
          to disagree, the sentence gives the difference as well. `better` and `worse` stand where the metric has a
          direction (metrics/declaration.py), for the setting that is not behind in what it delivered (delivered.py)
Source    ours: docs/guide/studies.md
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mobilenet.metrics.registry import SIGNED, axis_name, better, unit_of
from mobilenet.quoting import format_number, pluralize
from mobilenet.studies.compare import judged_row
from mobilenet.studies.delivered import DELIVERED, NOT_PAIRED, NOT_READABLE, Share, as_shares, objection, opening
from mobilenet.studies.effects import Effect, by_metric, study_effects
from mobilenet.studies.level_names import LevelNames

Row = Mapping[str, Any]  # of comparison.json: Finding.row()
TIMES = 2.0  # from here on a ratio is a factor
BEFORE_DELAYS = {DELIVERED: "delivery ratio", "broadcasts_refused": "number of refused broadcasts"}
WHY_NOT = {
    NOT_PAIRED: "because their hosts planned different broadcasts",
    NOT_READABLE: "because runs that would show the deliveries in common cannot be read",
    "no data": "because fewer than two pairs of runs have deliveries in common",
}


def sentence(row: Row, comparison: Row, names: LevelNames, of_processes: bool = False) -> str:
    """`tcp_flooding: 0.181 s, 55 % lower than for mobile_causal (0.405 s); 95 % interval 52 to 58 % lower: better`."""
    factor, metric, verdict = comparison["factor"], row["metric"], row["verdict"]
    level, base = names.in_words(factor, row["level"]), names.in_words(factor, comparison["baseline"])
    shares = as_shares(row.get("shares", ()))
    begin = f"{level}: {opening(shares, base)}"
    if verdict == "unstable":
        return f"{begin}cannot be compared with {base}, because an unstable level has no mean"
    if row.get("mean") is None:
        return f"{begin}cannot be compared with {base}, because fewer than two pairs of runs have a value"
    common, unit = row.get("common_deliveries"), unit_of(metric, of_processes)
    if common is not None and row.get("common_mean") is None:
        own, other = _with_unit(row, unit)
        return f"{begin}{own}, and {other} for {base}, each over its own deliveries; not judged, {WHY_NOT[verdict]}"
    if common is not None:
        begin += f"over the {pluralize(common, 'delivery')} that both made: "
        row = judged_row(row)
    own, other = _with_unit(row, unit)
    sure = f"{comparison['confidence'] * 100:g} % interval"
    if row["difference_low"] == row["difference_high"] == 0:
        return f"{begin}{own}, the same as for {base} in every pair"
    if row.get("ratio") is not None and (row["ratio"] - 1) * row["difference"] >= 0:
        interval = _interval(row["ratio_low"], row["ratio_high"])
        change = f"{_change(row['ratio'])} for {base} ({other}); {sure} {interval}"
    else:
        side = "higher" if row["difference"] > 0 else "lower"
        change = (
            f"{format_number(abs(row['difference']))} {side} than for {base} ({other}); {sure} {_of_difference(row)}"
        )
    change += f", {pluralize(row['pairs'], 'pair')}"
    return f"{begin}{own}, {change}: {_verdict(row, comparison, better(metric, of_processes), shares, (level, base))}"


def _with_unit(row: Row, unit: str) -> tuple[str, str]:
    """Return the means of the level and of the baseline."""
    own, other = (f"{format_number(row[name])}{f' {unit}' if unit else ''}" for name in ("mean", "baseline_mean"))
    return own, other


def _change(ratio: float) -> str:
    if ratio >= TIMES:
        return f"{ratio:.3g} times as high as"
    if f"{abs(ratio - 1):.2g}" == "0":
        return "the same as"
    return f"{_percent(ratio)} % {'lower' if ratio < 1 else 'higher'} than"


def _percent(ratio: float) -> str:
    percent = abs(ratio - 1) * 100
    return f"{percent:.2g}" if percent < 99.5 else f"{percent:.0f}"


def _interval(low: float, high: float) -> str:
    """Both ends in one unit: percent, or a factor if one of them is one."""
    if high >= TIMES:
        return f"{low:.3g} to {high:.3g} times"
    if high <= 1:
        return f"{_percent(high)} to {_percent(low)} % lower"
    if low >= 1:
        return f"{_percent(low)} to {_percent(high)} % higher"
    return f"{_percent(low)} % lower to {_percent(high)} % higher"


def _of_difference(row: Row) -> str:
    return f"{row['difference_low']:.3g} to {row['difference_high']:.3g}"


def _verdict(row: Row, comparison: Row, direction: str, shares: Sequence[Share], names: tuple[str, str]) -> str:
    verdict: str = row["verdict"]
    if verdict == "different" and not row.get("is_paired", True):
        verdict += f", but not judged, {WHY_NOT[NOT_PAIRED]}"
    elif verdict == "different" and row["metric"] not in SIGNED and direction:
        verdict = _judgement(row["difference"], direction, shares, names)
    if verdict == "equivalent":
        return f"equivalent within ±{comparison['equivalence_margin'] * 100:g} %"
    if row["verdict"] == "inconclusive":
        more = row.get("more_replications")
        many = (
            "more than a million more replications" if more is None else f"about {pluralize(more, 'more replication')}"
        )
        verdict += f"; {many} would probably settle it"
    if row.get("ratio") is not None:
        seems = not row["ratio_low"] <= 1 <= row["ratio_high"]
        if seems != (row["verdict"] == "different"):
            p = f"p = {row['p_adjusted']:.2g} after Holm's correction"
            verdict += f" (the test applies to the difference, {_of_difference(row)}; {p})"
    return verdict


def _judgement(difference: float, direction: str, shares: Sequence[Share], names: tuple[str, str]) -> str:
    """Return `better` or `worse`, or why the favoured setting is not called better; the delivery ratio comes first."""
    is_favoured = (difference < 0) == (direction == "lower")
    word = "better" if is_favoured else "worse"
    why = objection(shares, not is_favoured, names)
    return f"{'lower' if difference < 0 else 'higher'}, but not called {word}, because {why}" if why else word


def effect_name(effect: Effect, names: LevelNames) -> str:
    """`loss 0.05`, or `loss 0.05 with TCP`."""
    return " with ".join(names.in_words(factor, level) for factor, level in effect.levels)


def with_sign(value: float) -> str:
    return f"{'-' if value < 0 else '+'}{format_number(abs(value))}"


def effect_in_numbers(effect: Effect) -> tuple[str, str, str]:
    """The effect and both ends of its interval; a size has no sign."""
    i = effect.interval
    if effect.is_size:
        return format_number(i.mean), format_number(max(0.0, i.low)), format_number(i.high)
    return with_sign(i.mean), with_sign(i.low), with_sign(i.high)


def conclusions(
    path: Path, all_effects: Sequence[Effect], factors: Sequence[str], names: LevelNames, confidence: float,
    of_processes: bool,
) -> dict[str, str]:  # fmt: skip
    """Return for each metric what the effects on it come to. If the effect is one on a delay, and changes the delivery
    ratio too, the sentence opens with that. Raises StudyError for damaged tables.
    """
    on_delivery = study_effects(path, factors, list(BEFORE_DELAYS), confidence) if all_effects else []
    sentences = {}
    for metric, own in by_metric(all_effects).items():
        begin = _delivery_first(own[0], on_delivery, names, confidence) if better(metric, of_processes) else ""
        sentences[metric] = begin + effects_conclusion(own, names, confidence, of_processes)
    return sentences


def _delivery_first(effect: Effect, on_delivery: Sequence[Effect], names: LevelNames, confidence: float) -> str:
    """What the same levels change in the delivery ratio, and in the number of refused broadcasts if that is certain."""
    changes = []
    for own in on_delivery:
        is_certain = own.interval.low > 0 or own.interval.high < 0
        if own.levels == effect.levels and own.metric != effect.metric and own.interval.mean and (
            own.metric == DELIVERED or is_certain
        ):  # fmt: skip
            mean, low, high = effect_in_numbers(own)
            changes.append(
                f"the {BEFORE_DELAYS[own.metric]} by {mean} ({confidence * 100:g} % interval {low} to {high})"
            )
    if not changes:
        return ""
    return (
        f"{effect_name(effect, names)} changes {' and '.join(changes)}, so the next sentence compares different"
        " messages and does not judge which setting is better. "
    )


def effects_conclusion(effects: Sequence[Effect], names: LevelNames, confidence: float, of_processes: bool) -> str:
    """What the effects on one metric come to; the largest comes first: `The largest effect on delay (s): ...`."""
    first, alpha = effects[0], 1 - confidence
    sure = [effect for effect in effects if effect.p_adjusted < alpha]
    differ = "differs" if len(sure) == 1 else "differ"
    counts = f"{len(sure)} of the {pluralize(len(effects), 'effect')} {differ} from 0 (adjusted p < {alpha:.2g})"
    if not sure:
        counts = f"none of the {pluralize(len(effects), 'effect')} differs from 0 (adjusted p < {alpha:.2g})"
    metric, (mean, low, high) = axis_name(first.metric, of_processes), effect_in_numbers(first)
    change = f"{mean}; {confidence * 100:g} % interval {low} to {high}"
    return f"The largest effect on {metric}: {effect_name(first, names)} ({change}); {counts}."

"""Describe the results of a study in sentences, with their certainty and with warnings for readers.

Model     If a ratio exists, a change is reported as a ratio: in percent below a factor of 2, and as a factor otherwise.
          The ratio is the geometric mean over the pairs. The sentence states this if the ratio of the means differs. If
          the means differ in the other direction, the difference is reported instead. The test is on the difference. If
          it seems to disagree with the interval of the ratio, the sentence contains the difference as well. The words
          `better` and `worse` are used only if the metric has a direction (metrics/declaration.py), and only for a
          setting that is not behind in what it delivered (precedence.py). A seed determines the walks, the broadcasts
          and the failures. Recorded tracks do not depend on the seed, unless the scenario selects a part of them at
          random. A mean may not exist if the backlog grows in all runs of a configuration, but there are too few runs
          to be sure (tables.py).
Source    ours: docs/guide/studies.md
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mobilenet.lab.studies.compare import INFINITE, judged_row
from mobilenet.lab.studies.effects import BEFORE_DELAYS, Effect, by_metric
from mobilenet.lab.studies.level_names import LevelNames
from mobilenet.lab.studies.precedence import (
    DELIVERED,
    LOSS_MARGIN,
    NOT_READABLE,
    UNPAIRED,
    USES_RUN,
    Share,
    as_shares,
    judgement,
    opening,
    shares_in_words,
)
from mobilenet.lab.studies.statistics import Interval
from mobilenet.lab.studies.table_files import PROBABLY, UNSTABLE, Rows
from mobilenet.metrics.registry import OF_HOSTS, SIGNED, Vocabulary
from mobilenet.quoting import format_number, pluralize
from mobilenet.scenario import AnyScenario, Scenario

Row = Mapping[str, Any]  # a row of comparison.json, as returned by Finding.row()
TIMES = 2.0  # A ratio of at least this value is reported as a factor, and a smaller ratio in percent.
WHY_NOT = {
    **UNPAIRED,
    NOT_READABLE: "runs that would show the deliveries in common cannot be read",
    "no data": "fewer than two pairs of runs have deliveries in common",
}
SAME_MOVEMENT = (
    "all of which follow the same recorded movement: broadcasts, losses and faults differ, but positions do not"
)
ADVICE = (
    "all replications follow the same recorded movement, so intervals do not hold for other movements. The keys"
    " random_start_s, random_hosts and random_share of hosts.mobility select a different part of the recording for"
    " each replication"
)

ENDS = {
    PROBABLY: "; more replications or longer runs are needed to settle this",
    UNSTABLE: "; no means are reported for unstable configurations",
}


def sentence(
    row: Row, comparison: Row, names: LevelNames, words: Vocabulary = OF_HOSTS, with_opening: bool = True
) -> str:
    """Return a sentence such as `tcp_flooding: 0.181 s, 55 % lower than for mobile_causal (0.405 s); 95 % interval 52
    to 58 % lower: better`. With `with_opening`, the sentence begins with the delivered shares.
    """
    factor, metric, verdict = comparison["factor"], row["metric"], row["verdict"]
    level, base = names.in_words(factor, row["level"]), names.in_words(factor, comparison["baseline"])
    shares = as_shares(row.get("shares", ()))
    begin = f"{level}: {opening(shares, base) if with_opening else ''}"
    if verdict == "unstable":
        return f"{begin}cannot be compared with {base}, because an unstable level has no mean"
    if verdict == INFINITE:
        own, other = _infinite(row, words.unit_of(metric))
        return f"{begin}{own}, and {other} for {base}; not judged, because not every value is finite"
    if row.get("mean") is None:
        return f"{begin}cannot be compared with {base}, because fewer than two pairs of runs have a value"
    common, unit = row.get("common_deliveries"), words.unit_of(metric)
    if common is not None and row.get("common_mean") is None:
        own, other = _with_unit(row, unit)
        return (
            f"{begin}{own}, and {other} for {base}, each over its own messages; not judged, because {WHY_NOT[verdict]}"
        )
    if common is not None:
        begin += f"over the {pluralize(common, 'delivery')} that both made: "
        row = judged_row(row)
    own, other = _with_unit(row, unit)
    sure = f"{comparison['confidence'] * 100:g} % interval"
    if row["difference_low"] == row["difference_high"] == 0:
        return f"{begin}{own}, the same as for {base} in every {'run' if row.get('unpaired') == USES_RUN else 'pair'}"
    if row.get("ratio") is not None and (row["ratio"] - 1) * row["difference"] >= 0:
        interval = _interval(row["ratio_low"], row["ratio_high"])
        typical = _typical(row)
        change = f"{_change(row['ratio'])} for {base} ({other}){typical}; {sure} {interval}"
    else:
        side = "higher" if row["difference"] > 0 else "lower"
        change = (
            f"{format_number(abs(row['difference']))} {side} than for {base} ({other}); {sure} {_of_difference(row)}"
        )
    runs = f"{pluralize(row['pairs'], 'run')} of each, not paired (Welch's test)"
    change += f", {runs if row.get('unpaired') == USES_RUN else pluralize(row['pairs'], 'pair')}"
    return f"{begin}{own}, {change}: {_verdict(row, comparison, words.better(metric), shares, (level, base))}"


def pairing(unpaired: Iterable[str]) -> str:
    """Return a sentence for a caption that states how the runs of two levels are compared. `unpaired` contains, for
    each finding, the reason why its runs are not paired, or an empty string.
    """
    apart = {why == USES_RUN for why in unpaired}
    if apart == {True}:
        return "of samples that are not paired (Welch's test)"
    some = ", except where processes depend on the run (Welch's test)" if True in apart else ""
    return f"paired over the same worlds{some}"


def _infinite(row: Row, unit: str) -> tuple[str, str]:
    """Return two strings, one for the level and one for the baseline. Each states in how many runs the metric is
    infinite. If the mean is finite, it comes first.
    """
    words = []
    for mean, runs in (("mean", "infinite_runs"), ("baseline_mean", "baseline_infinite_runs")):
        count = f"infinite in {row[runs]} of {pluralize(row['pairs'], 'run')}"
        finite = f"{format_number(row[mean])} {unit}" if row[mean] is not None else ""
        words.append(f"{finite} ({count})" if finite else count)
    return words[0], words[1]


def _typical(row: Row) -> str:
    """Return an explanation of how the ratio was averaged, if the ratio of the means suggests a different change.
    Otherwise, return an empty string.
    """
    is_other = row["baseline_mean"] and _change(row["mean"] / row["baseline_mean"]) != _change(row["ratio"])
    by = "geometric means" if row.get("unpaired") == USES_RUN else "the geometric mean of the ratios"
    return f" by {by}" if is_other else ""


def _with_unit(row: Row, unit: str) -> tuple[str, str]:
    """Return the means of the level and of the baseline as strings with their unit."""
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
    """Return both ends of an interval in the same form: as factors if at least one end is given as a factor, and
    otherwise as percentages.
    """
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
    if verdict == "different" and row.get("unpaired"):
        verdict += f", but not judged, because {UNPAIRED[row['unpaired']]}"
    elif verdict == "different" and row["metric"] not in SIGNED and direction:
        verdict = judgement(row["metric"], row["difference"], direction, shares, names)[0]
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


def effect_name(effect: Effect, names: LevelNames) -> str:
    """Return the name of an effect, such as `loss 0.05` or `loss 0.05 with TCP`."""
    return " with ".join(names.in_words(factor, level) for factor, level in effect.levels)


def with_sign(value: float) -> str:
    return f"{'-' if value < 0 else '+'}{format_number(abs(value))}"


def effect_in_numbers(effect: Effect) -> tuple[str, str, str]:
    """Return the effect and both ends of its interval as strings. The size of an effect has no sign."""
    i = effect.interval
    if effect.is_size:
        return format_number(i.mean), format_number(max(0.0, i.low)), format_number(i.high)
    return with_sign(i.mean), with_sign(i.low), with_sign(i.high)


def change_in_numbers(change: Interval) -> tuple[str, str]:
    """Return a change and its interval as strings with signs."""
    return with_sign(change.mean), f"{with_sign(change.low)} to {with_sign(change.high)}"


def changes_in_numbers(effect: Effect, changed: Sequence[str]) -> list[str]:
    """Return one table cell for each of these metrics, with its change and interval."""
    known = [effect.changes.get(metric) for metric in changed]
    return [cell for change in known for cell in (change_in_numbers(change) if change is not None else ("–", "–"))]


def changed_before(effects: Sequence[Effect]) -> list[str]:
    """Return the metrics of BEFORE_DELAYS that these effects change."""
    return [metric for metric in BEFORE_DELAYS if any(metric in e.changes and e.changes[metric].mean for e in effects)]


def conclusions(
    all_effects: Sequence[Effect], names: LevelNames, confidence: float, words: Vocabulary
) -> dict[str, str]:
    """Return a conclusion for each metric. If the metric has a better direction, and if factors change what is
    delivered or broadcast, the conclusion begins with these changes.
    """
    sentences = {}
    for metric, own in by_metric(all_effects).items():
        begin = _delivery_first(own, names, confidence) if words.better(metric) else ""
        sentences[metric] = begin + effects_conclusion(own, names, confidence, words)
    return sentences


def _delivery_first(effects: Sequence[Effect], names: LevelNames, confidence: float) -> str:
    """Describe how the factors change the delivery ratio and the number of refused broadcasts."""
    parts = []
    for metric, words in BEFORE_DELAYS.items():
        changes: list[str] = []
        for effect in _largest_changes(effects, metric):
            mean, ends = change_in_numbers(effect.changes[metric])
            is_certain = _is_certain(effect.changes[metric])
            if changes:
                verb = "" if is_certain else "perhaps "
            else:
                verb = f"{'changes' if is_certain else 'may change'} the {words} "
            changes.append(f"{effect_name(effect, names)} {verb}by {mean} ({confidence * 100:g} % interval {ends})")
        parts += [", ".join(changes)] if changes else []
    if not parts:
        return ""
    return (
        f"{'; '.join(parts)}, so the next sentence compares different messages and does not judge which setting is"
        " better. "
    )


def _largest_changes(effects: Sequence[Effect], metric: str) -> list[Effect]:
    """Return the largest effect of each factor that changes the metric or may lose deliveries, and the largest effect
    of all. Effects that are certain come first.
    """
    largest: dict[tuple[str, ...], Effect] = {}
    changes = [(one, one.changes[metric]) for one in effects if metric in one.changes and one.changes[metric].mean]
    for effect, change in sorted(changes, key=lambda one: (_is_certain(one[1]), abs(one[1].mean)), reverse=True):
        may_lose = metric == DELIVERED and max(-change.low, change.high) > LOSS_MARGIN
        if (_is_certain(change) or may_lose) and (len(effect.levels) == 1 or effect is effects[0]):
            largest.setdefault(tuple(factor for factor, _ in effect.levels), effect)
    return list(largest.values())


def _is_certain(change: Interval) -> bool:
    return change.low > 0 or change.high < 0


def effects_conclusion(effects: Sequence[Effect], names: LevelNames, confidence: float, words: Vocabulary) -> str:
    """Return the conclusion about one metric. It begins with the largest effect, as in `The largest effect on delay
    (s): ...`.
    """
    first, alpha = effects[0], 1 - confidence
    sure = [effect for effect in effects if effect.p_adjusted < alpha]
    differ = "differs" if len(sure) == 1 else "differ"
    counts = f"{len(sure)} of the {pluralize(len(effects), 'effect')} {differ} from 0 (adjusted p < {alpha:.2g})"
    if not sure:
        counts = f"none of the {pluralize(len(effects), 'effect')} differs from 0 (adjusted p < {alpha:.2g})"
    metric, (mean, low, high) = words.axis_name(first.metric), effect_in_numbers(first)
    change = f"{mean}; {confidence * 100:g} % interval {low} to {high}"
    if first.is_size and first.signed is not None:
        change = (
            f"size {mean}, {confidence * 100:g} % interval {low} to {high}; with its sign {with_sign(first.signed)}"
        )
        counts += "; p, not the interval of a size, which is never below 0, shows whether there is an effect"
    return f"The largest effect on {metric}: {effect_name(first, names)} ({change}); {counts}."


def has_one_movement(scenario: AnyScenario) -> bool:
    """Return whether hosts move in the same way in all replications."""
    if not isinstance(scenario, Scenario):
        return False
    mobility = scenario.hosts.mobility
    return mobility.model == "tracks" and not mobility.are_worlds_of_their_own


def doubts(summary: Rows, names: LevelNames, labels: Sequence[str] = (PROBABLY,), most: int = 5) -> list[str]:
    """Return a warning for each configuration with one of these labels. `summary` contains the rows of tables/summary.
    If there are more than `most` such configurations, return only their number for each label.
    """
    rows = [row for row in summary if row["label"] in labels and row["metric"] == "backlog_slope"]
    if len(rows) > most:
        counts, every = Counter(row["label"] for row in rows), {row["configuration"] for row in summary}
        return [
            f"{label}: {counts[label]} of {pluralize(len(every), 'configuration')}{ENDS[label]}"
            for label in labels
            if counts[label]
        ]
    return [f"{row['label']}: {_where(row, names)}: {_growth(row)}{ENDS[row['label']]}" for row in rows]


def deliveries(summary: Rows, names: LevelNames, broadcast: Mapping[int, float]) -> list[str]:
    """Return a line about what the configurations delivered and broadcast, if this is noteworthy. `broadcast` contains
    the share of planned broadcasts that each configuration made.
    """
    delivered = {
        _where(row, names): row["mean"] for row in summary if row["metric"] == DELIVERED and row["mean"] is not None
    }
    accepted = {
        _where(row, names): broadcast[number]
        for row in summary
        if (number := row["configuration"]) in broadcast and row["metric"] == "broadcasts_offered" and row["mean"]
    }
    lines = shares_in_words(delivered, accepted)
    return ["; ".join([*lines, "delays are those of delivered messages"])] if lines else []


def _where(row: Mapping[str, Any], names: LevelNames) -> str:
    columns = list(row)
    factors = columns[columns.index("configuration") + 1 : columns.index("metric")]
    return ", ".join(names.in_words(factor, row[factor]) for factor in factors) or "unchanged"


def _growth(row: Mapping[str, Any]) -> str:
    every = "on average over" if row["label"] == UNSTABLE else "and grew in all"
    percent, runs = f"{row['mean'] * 100:.0f} %", pluralize(row["n"], "run")
    return f"the backlog grew by {percent} of its mean over the second half of the window, {every} {runs}"

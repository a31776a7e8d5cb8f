"""Describe the radios and the verdicts in words and tables, for the terminal and in Markdown.

Model     An effect is reported as a ratio if it has one on all radios, and otherwise as a difference. `?` marks an
          effect that is not significant.
Source    ours: docs/guide/robust.md
"""

from __future__ import annotations

from collections import Counter

from mobilenet.lab.studies.precedence import opening
from mobilenet.lab.studies.robust.radios import Radio
from mobilenet.lab.studies.robust.robust import Plan
from mobilenet.lab.studies.robust.verdicts import Claim, Effect, EffectInterval, effect_in_figures, pair_of, ratios_of
from mobilenet.lab.studies.study import Result
from mobilenet.metrics.registry import OF_HOSTS
from mobilenet.network.radio_models import model_of
from mobilenet.quoting import pluralize

RADIO_HEAD = (
    "radio", "what it is", "MAC", "power, dBm", "reach, m", "half detected at, m", "broadcast, Mb/s", "unicast, Mb/s",
)  # fmt: skip
WORDS = {"survives": "survive", "flips": "flip", "inconclusive": "inconclusive", "no": "without a claim"}


def radio_row(radio: Radio) -> tuple[str, ...]:
    w, model = radio.wireless, model_of(radio.wireless)
    power = f"{w.tx_dbm:.2f}" if w.model == "sinr" else "–"
    reaches = (f"{metres:.0f}" for metres in (model.cell_m, model.half_heard_m))
    return (radio.name, radio.what, w.mac, power, *reaches, *(f"{rate:g}" for rate in radio.rates_mbps))


def mac_sentence(plan: Plan) -> str | None:
    """Return a sentence that names the radios whose MAC differs from the scenario's, or None if there are no such
    radios. Radios whose reception depends on the received power need the rates of 802.11.
    """
    changed = [radio.name for radio in plan.radios if radio.wireless.mac != plan.mac]
    if not changed:
        return None
    return (
        f"`mac: {plan.mac}` does not support the rates of 802.11, so `mac: dcf` is used with {', '.join(changed)}, and"
        " the MAC differs as well"
    )


def name_of(claim: Claim, plan: Plan) -> str:
    """Describe the level and the baseline in words, with the levels of the other factors."""
    names = plan.names
    versus = " against ".join(pair_of(claim, plan.factor, names))
    where = ", ".join(names.in_words(factor, level) for factor, level in claim.others.items())
    return f"{versus} ({where})" if where else versus


def cells(claim: Claim, as_ratio: bool, intervals: bool) -> list[str]:
    """Return the table cells of a claim, one for each radio."""
    return [_cell(effect, effect_in_figures(effect, as_ratio), as_ratio, intervals) for effect in claim.effects]


def _cell(effect: Effect, estimate: EffectInterval | None, as_ratio: bool, intervals: bool) -> str:
    if estimate is None:
        return effect.lack
    text = f"× {estimate.value:.3g}" if as_ratio else f"{estimate.value:+.3g}"
    text += f" ({estimate.low:.3g} to {estimate.high:.3g})" if intervals else ""
    return text if effect.direction else f"{text} ?"


def deliveries(claims: list[Claim], plan: Plan) -> list[str]:
    """Return a line for each comparison and radio in which the levels delivered different shares. The line also states
    which level is behind.
    """
    lines: dict[str, None] = {}
    for claim in claims:
        baseline = plan.names.name(plan.factor, claim.baseline)
        for effect in claim.effects:
            if shares := opening(effect.shares, baseline):
                lines[f"{name_of(claim, plan)} under {effect.radio}: {shares.removesuffix('; ')}"] = None
    return list(lines)


def totals(claims: list[Claim]) -> str:
    """Return how many claims have each verdict."""
    counts = Counter(c.verdict.partition(" ")[0] for c in claims)
    one = {"survives": "survives", "flips": "flips"}
    many = [
        f"{counts[word]} {one.get(word, plural) if counts[word] == 1 else plural}"
        for word, plural in WORDS.items()
        if counts[word]
    ]
    neither = sum(bool(c.objections(("", ""))) for c in claims)
    aside = f"; in {neither} of them, neither level is called better on at least one radio" if neither else ""
    return f"{pluralize(len(claims), 'comparison')}: {', '.join(many)}{aside}"


def without_mean(results: list[Result]) -> list[str]:
    """Return the configurations whose backlog grows until the end, for each radio."""
    return [f"unstable: {result.store.path.name}: {c.label}" for result in results for c in result.unstable]


def markdown(plan: Plan, claims: list[Claim], unstable: list[str]) -> str:
    """Return both tables with an explanation, in Markdown."""
    first, as_ratios = plan.radios[0].name, ratios_of(claims)
    sure = f"{plan.study.confidence * 100:g} %"
    head = ("quantity", "comparison", *(radio.name for radio in plan.radios), "verdict")
    lines = [
        (
            OF_HOSTS.meaning(c.metric),
            name_of(c, plan),
            *cells(c, c.metric in as_ratios, True),
            c.verdict_in_full(pair_of(c, plan.factor, plan.names)),
        )
        for c in claims
    ]
    delivered = "\n".join(f"- {line}" for line in deliveries(claims, plan))
    mac = mac_sentence(plan)
    parts = [
        "# Would the result be the same on another radio?",
        f"{totals(claims)}. A claim is a significant effect on {first}. It survives if it is significant in the same"
        " direction on all radios. It flips if it is significant in the opposite direction.",
        *([f"What was delivered:\n\n{delivered}"] if delivered else []),
        _table(head, lines),
        f"Ratios (×, geometric means over the pairs) or differences from the baseline with {sure} t intervals, paired"
        f" over the same worlds (at least {plan.study.replications.min}). Where two levels delivered different shares,"
        " delays are those of the deliveries that both made. A question mark means that an effect is not significant."
        " P-values are adjusted by Holm's method over the whole table.",
        *(["Unstable: the backlog at stations and hosts keeps growing, so the mean is undefined:"] if unstable else []),
        *(["\n".join(f"- {line.removeprefix('unstable: ')}" for line in unstable)] if unstable else []),
        _table(RADIO_HEAD, [radio_row(radio) for radio in plan.radios]),
        "Reach: the distance up to which preambles are detected if only path loss is considered. Half detected at: the"
        " distance at which half of the preambles are detected, with fading.",
        *([f"{mac}."] if mac else []),
    ]
    return "\n\n".join(parts) + "\n"


def _table(head: tuple[str, ...], lines: list[tuple[str, ...]]) -> str:
    rule = tuple("---" for _ in head)
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in (head, rule, *lines))

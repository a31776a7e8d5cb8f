"""Decide whether the result of a comparison on the first radio is confirmed on the other radios.

Model     An effect compares a level with the baseline in one metric, paired by replication within each radio. The p
          values of all metrics, levels and radios are adjusted as one family (Holm). A significant effect on the first
          radio is a claim. Its verdict is one of
              survives        significant on all radios, and in the same direction
              flips           significant in the other direction on some radios; `flips_under` names them
              inconclusive    not significant on some radios, or no mean exists there; `inconclusive_under` names them
              no claim        no significant effect on the first radio
          A significant effect in the better direction does not make a setting better if the setting is, or may be,
          behind in what it delivered or broadcast (lab/studies/precedence.py), or if the runs are not paired.
          `objections` contains the reason for each such radio.
Units     Effects have the unit of their metric; ratios are dimensionless.
Source    ours: docs/guide/robust.md
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from mobilenet.lab.studies.compare import COMPARED, Finding, compared_row
from mobilenet.lab.studies.level_names import LevelNames
from mobilenet.lab.studies.precedence import (
    ACCEPTED,
    DELIVERED,
    OFFERED,
    UNPAIRED,
    Objection,
    Share,
    judgement,
    share_columns,
)
from mobilenet.lab.studies.statistics import Comparison, holm
from mobilenet.metrics.registry import OF_HOSTS, SIGNED
from mobilenet.quoting import percentage


@dataclass(slots=True)
class Effect:
    """The effect on one radio. `direction` is 1 or -1 for a significant effect, and otherwise 0. `lack` states why a
    result is missing.
    """

    radio: str
    result: Comparison | None
    lack: str = ""
    p_adjusted: float | None = None
    direction: int = 0
    shares: tuple[Share, ...] = ()
    unpaired: str = ""


@dataclass(slots=True)
class Claim:
    """A comparison of a level with the baseline in one metric on all radios. It claims that the effect on the first
    radio also occurs on the other radios.
    """

    others: dict[str, Any]  # levels of the other factors
    level: Any
    baseline: Any
    metric: str
    effects: list[Effect] = field(default_factory=list)

    @property
    def is_one(self) -> bool:
        return self.effects[0].direction != 0

    @property
    def flips_under(self) -> list[str]:
        return [e.radio for e in self.effects if self.is_one and e.direction == -self.effects[0].direction]

    @property
    def inconclusive_under(self) -> list[str]:
        return [e.radio for e in self.effects if self.is_one and e.direction == 0]

    def objections(self, names: tuple[str, str]) -> dict[str, Objection]:
        """Map each radio on which the favoured setting cannot be called better to the reason. `names` contains the
        names of the level and the baseline.
        """
        way = OF_HOSTS.better(self.metric) if self.metric not in SIGNED else ""
        reasons = {
            e.radio: Objection(UNPAIRED[e.unpaired], False)
            if e.unpaired
            else judgement(self.metric, e.direction, way, e.shares, names)[1]
            for e in self.effects
            if way and self.is_one and e.direction
        }
        return {radio: why for radio, why in reasons.items() if why is not None}

    @property
    def verdict(self) -> str:
        """The verdict in words."""
        if not self.is_one:
            return "no claim"
        parts = (("flips", self.flips_under), ("inconclusive", self.inconclusive_under))
        return "; ".join(f"{word} under {', '.join(names)}" for word, names in parts if names) or "survives"

    def verdict_in_full(self, names: tuple[str, str]) -> str:
        """Return the verdict. If the favoured setting cannot be called better on every radio, name the exceptions and
        the reasons. `names` contains the names of the level and the baseline.
        """
        radios: dict[str, list[str]] = {}
        for radio, reason in self.objections(names).items():
            radios.setdefault(reason.why, []).append(radio)
        asides = (f"neither is called better under {', '.join(own)}, because {why}" for why, own in radios.items())
        return "; ".join([self.verdict, *asides])

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows of a table, one for each radio."""
        return [self._row(effect) for effect in self.effects]

    def _row(self, effect: Effect) -> dict[str, Any]:
        names = (*COMPARED[:3], *COMPARED[6:], *COMPARED[3:6])
        objections = self.objections(("the level", "the baseline"))
        return compared_row(self.others, self.level, self.baseline, self.metric) | {
            "radio": effect.radio,
            **{name: getattr(effect.result, name, None) for name in names},
            "p_adjusted": effect.p_adjusted,
            **share_columns(effect.shares),
            "direction": effect.lack or {1: "more", -1: "less", 0: "not significant"}[effect.direction],
            "verdict": self.verdict,
            "not_better_under": ", ".join(objections),
            "because": objections[effect.radio].why if effect.radio in objections else None,
        }


def claims(findings: dict[str, list[Finding]], confidence: float) -> list[Claim]:
    """Judge all claims. `findings` contains the findings of each radio in the same order; the findings of the first
    radio are the claims.
    """
    all_claims: list[Claim] = []
    for own in zip(*findings.values(), strict=True):
        first = own[0]
        effects = [
            Effect(
                radio, finding.judged, finding.verdict if finding.judged is None else "", shares=finding.shares,
                unpaired=finding.unpaired,
            )
            for radio, finding in zip(findings, own, strict=True)
        ]  # fmt: skip
        all_claims.append(Claim(first.others, first.level, first.baseline, first.metric, effects))
    family = [(effect, effect.result) for claim in all_claims for effect in claim.effects if effect.result is not None]
    for (effect, result), p in zip(family, holm([result.p for _, result in family]), strict=True):
        effect.p_adjusted = p
        if p < 1 - confidence:
            effect.direction = 1 if result.difference > 0 else -1
    return all_claims


def pair_of(claim: Claim, factor: str, names: LevelNames) -> tuple[str, str]:
    """Return the names of the level and the baseline."""
    return names.name(factor, claim.level), names.name(factor, claim.baseline)


def shares_of_levels(claims: list[Claim], factor: str, names: LevelNames) -> list[str]:
    """Return what each level delivered and broadcast, as the smallest and the largest share over the radios and the
    other factors.
    """
    lines = []
    for share, words in ((DELIVERED, "delivered of what was owed to members"), (ACCEPTED, OFFERED)):
        values: dict[str, list[float]] = {}
        for claim in claims:
            level, baseline = pair_of(claim, factor, names)
            for one in (one for effect in claim.effects for one in effect.shares if one.name == share):
                values.setdefault(baseline, []).append(one.baseline)
                values.setdefault(level, []).append(one.own)
        if min(map(min, values.values()), default=1.0) < 1:
            lines.append(f"{words}: {', '.join(f'{name} {_range(own)}' for name, own in values.items())}")
    return lines


def _range(shares: list[float]) -> str:
    ends = percentage(min(shares)), percentage(max(shares))
    return " to ".join(dict.fromkeys(ends))


class EffectInterval(NamedTuple):
    """An effect with the ends of its interval. `nothing` is the value that means no change of the metric."""

    value: float
    low: float
    high: float
    nothing: float


def ratios_of(all_claims: list[Claim]) -> set[str]:
    """Return the metrics whose effects are ratios on every radio."""
    without = {c.metric for c in all_claims for e in c.effects if e.result is not None and e.result.ratio is None}
    return {c.metric for c in all_claims} - without


def effect_in_figures(effect: Effect, as_ratio: bool) -> EffectInterval | None:
    r = effect.result
    if r is None:
        return None
    if as_ratio:
        assert r.ratio is not None and r.ratio_low is not None and r.ratio_high is not None
        return EffectInterval(r.ratio, r.ratio_low, r.ratio_high, 1.0)
    return EffectInterval(r.difference, r.difference_low, r.difference_high, 0.0)

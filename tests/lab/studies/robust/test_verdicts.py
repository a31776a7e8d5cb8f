"""Tests of the verdicts over several radios and of their figure, from invented values."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from mobilenet.viz.robust import draw

from mobilenet.lab.studies.compare import Finding
from mobilenet.lab.studies.configurations import Configuration
from mobilenet.lab.studies.declaration import Study
from mobilenet.lab.studies.level_names import LevelNames
from mobilenet.lab.studies.robust.verdicts import Claim, claims, ratios_of
from mobilenet.lab.studies.robust.words import cells, totals, without_mean
from mobilenet.lab.studies.statistics import compare_means
from mobilenet.lab.studies.store import Store
from mobilenet.lab.studies.study import Result

NOISE = np.array([0.01, -0.02, 0.015, 0.0, -0.005, 0.01])
BASE = np.full(6, 5.0) + NOISE[::-1]


def finding(effect: float | None, metric: str = "gaps", spread: float = 1.0) -> Finding:
    """Return a finding on a level that differs from the baseline by `effect`. If `effect` is None, the level does not
    have a mean.
    """
    made = Finding({}, "new", "old", metric, "unstable")
    if effect is not None:
        made.verdict, made.result = "different", compare_means(BASE + effect + spread * NOISE, BASE)
    return made


def verdict(*effects: float | None, spread: float = 1.0) -> Claim:
    findings = {f"r{n}": [finding(effect, spread=spread if n else 1.0)] for n, effect in enumerate(effects)}
    return claims(findings, 0.95)[0]


@pytest.mark.long
@pytest.mark.parametrize(
    ("effects", "expected"),
    [
        ((1, 2, 0.5), "survives"),
        ((-1, -2, -0.5), "survives"),
        ((1, 1, -1), "flips under r2"),
        ((-1, 1, 0), "flips under r1; inconclusive under r2"),
        ((1, 0, 1), "inconclusive under r1"),
        ((1, None, 1), "inconclusive under r1"),
        ((0, 1, -1), "no claim"),
        ((None, 1, 1), "no claim"),
    ],
)
def test_verdicts_on_robustness_follow_from_the_effects(effects: tuple[float | None, ...], expected: str) -> None:
    assert verdict(*effects).verdict == expected


def test_an_insignificant_sign_change_does_not_flip_a_claim() -> None:
    """A claim flips only if the opposite effect is significant."""
    assert verdict(1, -0.1, spread=30).verdict == "inconclusive under r1"


@pytest.mark.long
def test_robust_adjusts_significance_over_the_complete_table() -> None:
    """A result can be significant on its own, but not after adjustment for many comparisons."""
    weak = finding(0.02)
    assert weak.result is not None and 0.004 < weak.result.p < 0.05
    assert claims({"disk": [weak], "other": [finding(1)]}, 0.95)[0].is_one
    many = [weak, *(finding(0.0, spread=20 + n) for n in range(12))]
    alone = claims({"disk": many, "other": many}, 0.95)
    assert not alone[0].is_one
    p = alone[0].effects[0].p_adjusted
    assert p is not None and p > 0.05 > weak.result.p


def test_ratios_are_shown_only_if_every_radio_has_them() -> None:
    lacking = finding(1, "gaps")
    lacking.result = compare_means(np.zeros(6) + NOISE, BASE)
    all_claims = claims(
        {"disk": [finding(1), finding(1, "collision_ratio")], "other": [lacking, finding(1, "collision_ratio")]}, 0.95
    )
    assert ratios_of(all_claims) == {"collision_ratio"}
    assert cells(all_claims[0], as_ratio=False, intervals=False) == ["+1", "-5"]
    assert cells(all_claims[1], as_ratio=True, intervals=True)[0].startswith("× 1.2 (1.")
    assert totals(all_claims) == "2 comparisons: 1 survives, 1 flips"


def test_robust_lists_unstable_configurations() -> None:
    configuration = Configuration(1, {"protocol.name": "new", "workload.interval_s": 2}, (), "new, interval_s 2")
    calm = Configuration(0, {"protocol.name": "old", "workload.interval_s": 2}, ())
    store = Store(Path("out/fading"), Study(scenario="x.yaml"), [calm, configuration])
    sentences = without_mean([Result(store, 4, [], [], [configuration]), Result(store, 4, [], [], [])])
    assert sentences == ["unstable: fading: new, interval_s 2"]


def test_the_robust_figure_shows_every_verdict(tmp_path: Path) -> None:
    all_claims = claims(
        {
            "disk": [finding(1), finding(-1, "delivery_delay_mean_s")],
            "fading": [finding(-1), finding(None, "delivery_delay_mean_s")],
            "shadowing": [finding(0), finding(-1, "delivery_delay_mean_s")],
        },
        0.95,
    )
    for name in ("a.svg", "b.svg", "a.png"):
        draw("protocol.name", LevelNames({}), 0.95, all_claims, tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    text = (tmp_path / "a.svg").read_text()
    assert all(
        f"<!-- {comment} -->" in text
        for comment in ("flips under fading; inconclusive", "fading: unstable", "shadowing", "new")
    )
    assert (tmp_path / "a.png").stat().st_size > 10_000

"""Tests of main effects and interactions on a model whose effects are known."""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from mobilenet.viz.report.study import study_page

from mobilenet.lab.studies.configurations import Configuration
from mobilenet.lab.studies.declaration import Study
from mobilenet.lab.studies.effects import effects, study_effects, write_effects
from mobilenet.lab.studies.frames import StudyFrames
from mobilenet.lab.studies.level_names import LevelNames
from mobilenet.lab.studies.sentences import effect_name, effects_conclusion
from mobilenet.metrics.registry import OF_PROCESSES
from tests.conftest import SCENARIOS
from tests.lab.studies.directories import of_runs
from tests.lab.studies.test_moved_studies import make

A, B, C = "wireless.loss", "hosts.count", "protocol.window"
LEVELS = {A: [0, 0.1], B: [10, 20, 30], C: [4, 8]}


def plan() -> list[Configuration]:
    combinations = itertools.product(*LEVELS.values())
    return [Configuration(n, dict(zip(LEVELS, levels, strict=True)), ()) for n, levels in enumerate(combinations)]


def all_levels() -> pd.DataFrame:
    return pd.DataFrame([one.levels for one in plan()])


def synthetic_values(noise: float) -> pd.Series[float]:
    """Return values y = 5 + 2 [A] + 1 [B=20] - 3 [B=30] + 4 [A][B=30] + an effect of the world, which cancels in
    pairs.
    """
    chance = random.Random(7)
    worlds = {replication: chance.gauss(0, 10) for replication in range(1, 9)}
    values = {}
    for c in plan():
        a, b20, b30 = c.levels[A] == 0.1, c.levels[B] == 20, c.levels[B] == 30
        mean = 5 + 2 * a + b20 - 3 * b30 + 4 * a * b30
        values[c.number, "m"] = {r: mean + world + chance.gauss(0, noise) for r, world in worlds.items()}
    return of_runs(values)["m"]


def test_effects_match_a_known_model_in_descending_order() -> None:
    all_effects = effects(all_levels(), synthetic_values(1e-6), "m", 0.95)
    by = {effect.levels: effect.interval.mean for effect in all_effects}
    assert len(all_effects) == 4 + 2 + 1 + 2
    expected = {
        ((A, 0.1),): 2 + 4 / 3,  # average over the three levels of B
        ((B, 20),): 1,
        ((B, 30),): -3 + 4 / 2,
        ((C, 8),): 0,
        ((A, 0.1), (B, 30)): 4 / 2,
        ((A, 0.1), (B, 20)): 0,
    }
    for levels, value in expected.items():
        assert by[levels] == pytest.approx(value, abs=1e-4), levels
    sizes = [abs(effect.interval.mean) for effect in all_effects]
    assert sizes == sorted(sizes, reverse=True)


def test_only_real_effects_are_significant() -> None:
    effect_of = {effect.levels: effect for effect in effects(all_levels(), synthetic_values(0.2), "m", 0.95)}
    assert effect_of[(A, 0.1),].p_adjusted < 0.001 and effect_of[(A, 0.1), (B, 30)].p_adjusted < 0.001
    assert effect_of[(C, 8),].p_adjusted > 0.05
    assert effect_of[(A, 0.1),].row()["factor_1"] == A


def test_effects_require_all_runs_and_at_least_two_factors() -> None:
    values = synthetic_values(0.2)
    values[3, 2] = math.nan
    assert effects(all_levels(), values, "m", 0.95) == []
    assert effects(all_levels()[[A]].drop_duplicates(), synthetic_values(0.2), "m", 0.95) == []
    assert effects(pd.DataFrame(), values, "m", 0.95) == []


def test_the_conclusion_states_the_largest_effect() -> None:
    names = LevelNames({})
    all_effects = effects(all_levels(), synthetic_values(0.2), "latency", 0.95)
    sure = sum(effect.p_adjusted < 0.05 for effect in all_effects)
    line = effects_conclusion(all_effects, names, 0.95, OF_PROCESSES)
    assert (
        effect_name(all_effects[0], names) in line and f"{sure} of the {len(all_effects)} effects differ from 0" in line
    )
    none = [replace(effect, p_adjusted=0.5) for effect in all_effects]
    assert "none of the 9 effects differs from 0" in effects_conclusion(none, names, 0.95, OF_PROCESSES)


def test_a_factorial_report_states_the_setting_that_matters(tmp_path: Path) -> None:
    file = tmp_path / "study.yaml"
    file.write_text(
        f"scenario: {SCENARIOS}/first.yaml\nset: {{duration_s: 6, drain_s: 6}}\nreplications: {{min: 2}}\n"
        "factors: {wireless.loss: [0, {label: lossy, value: 0.2}], workload.interval_s: [1, 3]}\n"
    )
    store = make(Study.load(file), tmp_path / "out")
    page = study_page(store.path)
    assert "Which setting matters most?" in page and "lossy with interval_s 3" in page
    assert not (store.path / "effects.csv").exists()  # A report does not write any other files.
    write_effects(store.path, study_effects(store.path, list(store.study.factors), ["delivery_delay_mean_s"], 0.95))
    assert len((store.path / "effects.csv").read_text().splitlines()) == 4
    assert set(StudyFrames(store.path).effects.metric) >= {"delivery_delay_mean_s", "messages_sent_per_delivery"}

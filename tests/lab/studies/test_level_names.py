"""Tests of the names of levels. A level without a label gets a name of a few words."""

from __future__ import annotations

from typing import Any

import pytest

from mobilenet.lab.studies.declaration import Study
from mobilenet.lab.studies.level_names import LevelNames, short_level
from mobilenet.parameters import ScenarioError
from mobilenet.scenario.yaml_writer import to_yaml

FIRST = "scenarios/first.yaml"


def study(levels: list[Any], **more: Any) -> Study:
    from pathlib import Path

    return Study.of({"scenario": str(Path(FIRST).resolve()), "factors": {"wireless.loss": levels}, **more}, Path())


@pytest.mark.parametrize(
    ("level", "short"),
    [
        ("0.0", "0"),
        (0.05, "0.05"),
        ("{name: tcp_flooding}", "tcp_flooding"),
        ("{'wireless.loss': 0.05}", "loss 0.05"),
        ("{wireless.loss: 0.05}", "loss 0.05"),
        ("{}", "unchanged"),
        ("x" * 50, "x" * 39 + "…"),
    ],
)
def test_levels_are_abbreviated_in_names(level: Any, short: str) -> None:
    assert short_level(level) == short


def test_a_label_replaces_the_level_and_its_factor() -> None:
    levels = [{"label": "quiet", "value": 0}, {"label": "loud", "value": 0.3}, 0.1]
    names = LevelNames({"wireless.loss": levels, "protocol": [{"label": "ours", "name": "mobile_causal"}]})
    assert [names.name("wireless.loss", level) for level in (0, "0.0", 0.3, 0.1)] == ["quiet", "quiet", "loud", "0.1"]
    assert [names.in_words("wireless.loss", level) for level in (0, 0.1)] == ["quiet", "loss 0.1"]
    assert names.in_words("protocol", {"name": "mobile_causal"}) == "ours"
    assert names.in_words("protocol", "{name: tcp_flooding}") == "tcp_flooding"


def test_level_labels_are_stored_separately_from_the_levels() -> None:
    one = study([{"label": "quiet", "value": 0}, 0.3], compare={"factor": "wireless.loss", "baseline": "quiet",
                "metrics": ["delivery_delay_mean_s"]})  # fmt: skip
    assert one.levels("wireless.loss") == (0, 0.3) and one.labels("wireless.loss") == ("quiet", None)
    assert one.compare is not None and one.compare.baseline == 0
    assert "label: quiet" in to_yaml(one.model_dump(by_alias=True))


@pytest.mark.parametrize(
    ("levels", "what"),
    [
        ([{"label": "a", "value": 0}, {"label": "a", "value": 1}], "given to two levels"),
        ([{"label": "", "value": 0}], "expected text"),
        ([{"label": 3, "value": 0}], "expected text"),
        ([{"label": "x" * 41, "value": 0}], "at most 40 characters"),
    ],
)
def test_labels_without_a_level_are_rejected(levels: list[Any], what: str) -> None:
    with pytest.raises(ScenarioError, match=what):
        study(levels)

"""Tests of the metrics for each cause's share of the delay, and of the bars that show these shares."""

from __future__ import annotations

import gc
from pathlib import Path

import numpy as np
import pytest
from mobilenet.viz.figures import run_figures, study_figures
from mobilenet.viz.figures.stretches import level_bars
from mobilenet.viz.study_tables import study_tables
from mobilenet.viz.style import Look

import mobilenet
from mobilenet.lab.studies import StudyError
from mobilenet.lab.studies.declaration import Study
from mobilenet.lab.studies.measure import measure
from mobilenet.lab.studies.study import require_metric
from mobilenet.metrics.delay_shares import DELAY_SHARES, PARTS, name_of, part_of
from mobilenet.metrics.registry import OF_HOSTS
from mobilenet.why.cuts import NEVER
from mobilenet.why.kinds import CELL, HOST
from mobilenet.why.shares import counted_deliveries, shares
from mobilenet.why.stories import recorded_stories
from mobilenet.why.stretches import Stretch
from tests.cli.command import FIRST
from tests.lab.studies.test_moved_studies import make

SVG = Look((".svg",))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("shares") / "run"
    return mobilenet.run(FIRST, out=out, overrides=["record.causes=true"]).path


def test_delay_shares_of_a_run_agree_with_its_deliveries(run: Path) -> None:
    share_of = {name: value for name, value in measure(run, "terminating").metrics.items() if name in DELAY_SHARES}
    assert share_of.keys() == DELAY_SHARES.keys()
    assert sum(share_of[name_of(part)] for part in PARTS) == pytest.approx(1, abs=1e-12)
    stories = recorded_stories(run)
    manifest = mobilenet.Run(run).manifest
    window = (round(manifest[key] * 1e9) for key in ("warmup_s", "duration_s"))
    expected = shares(stories, counted_deliveries(stories, *window))
    assert {part: share_of[name_of(part)] for part in expected.by_part} == {
        part: expected.share(part) for part in expected.by_part
    }


def test_why_releases_data_that_it_no_longer_needs(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the arrays of columns, the stories of the last handler of each node, and a limited number of paths are
    kept.
    """
    monkeypatch.setattr("mobilenet.why.stories.MOST_WAYS", 20)
    stories = recorded_stories(run)
    columns = [getattr(stories.record, name) for name in dir(stories.record) if not name.startswith("__")]
    arrays = [one for one in columns if isinstance(one, (memoryview, np.ndarray))]
    rows = len(stories.record.cause)
    assert 0 < sum(one.nbytes for one in arrays) <= 60 * rows
    assert not [one for one in columns if isinstance(one, list) and len(one) >= rows]
    deliveries = counted_deliveries(stories, 0, NEVER)
    walks = [stories.story(one) for one in deliveries]
    last_legs = len({id(stretch) for story in walks for stretch in story.stretches() if stretch.leg in (CELL, HOST)})
    del walks
    kept = [one for one in gc.get_objects() if type(one) is Stretch and one.leg in (CELL, HOST)]
    assert 0 < len(kept) < last_legs / 2


def test_a_run_without_recorded_causes_has_no_delay_shares(tmp_path: Path) -> None:
    path = mobilenet.run(FIRST, out=tmp_path / "run", overrides=["duration_s=10", "warmup_s=0"]).path
    assert not DELAY_SHARES.keys() & measure(path, "terminating").metrics.keys()


@pytest.mark.parametrize("part", PARTS, ids=name_of)
def test_each_delay_share_has_a_name_and_a_description(part: tuple[str, str]) -> None:
    name = name_of(part)
    assert part_of(name) == part and "share of the delay" in OF_HOSTS.meaning(name)
    assert OF_HOSTS.axis_name(name).startswith("delay:")


def test_comparing_delay_shares_requires_recorded_causes(tmp_path: Path) -> None:
    file = tmp_path / "study.yaml"
    file.write_text(f"scenario: {FIRST}\nreplications: {{min: 2}}\n")
    with pytest.raises(StudyError, match="needs the causes of each run"):
        require_metric(Study.load(file), "delay_share_retry_cell")
    require_metric(Study.load(file, ["record.causes=true"]), "delay_share_retry_cell")


@pytest.mark.lab
def test_delay_shares_are_drawn_as_bars_for_runs_and_studies(run: Path, tmp_path: Path) -> None:
    assert "delay_parts" in [figure.path.stem for figure in run_figures(run, tmp_path / "run", SVG)]
    file = tmp_path / "study.yaml"
    file.write_text(
        f"scenario: {FIRST}\nset: {{record.causes: true, duration_s: 15, warmup_s: 0}}\nreplications: {{min: 2}}\n"
        "factors: {wireless.loss: [0.0, 0.3]}\n"
    )
    store = make(Study.load(file), tmp_path / "study")
    assert "delay_parts" in [figure.path.stem for figure in study_figures(store.path, tmp_path / "figures", SVG)]
    first, second = level_bars(study_tables(store.path))
    assert (first.label, second.label) == ("loss 0", "loss 0.3")
    assert sum(second.parts.values()) == pytest.approx(1, abs=1e-9)
    assert second.parts["retry", "cell"] > first.parts["retry", "cell"]

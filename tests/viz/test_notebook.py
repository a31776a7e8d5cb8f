"""Tests of runs and studies in a notebook: they have a custom display, leave the settings of matplotlib unchanged, and
escape names.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from matplotlib.figure import Figure
from mobilenet.viz.style import COLOURS

import mobilenet
from mobilenet.lab.studies import StudyError
from mobilenet.lab.studies.configurations import plan_runs
from mobilenet.lab.studies.declaration import Study
from mobilenet.lab.studies.store import create
from mobilenet.lab.studies.table_files import read_table, write_table
from mobilenet.lab.studies.tables import write_tables
from mobilenet.lab.studies.task import perform_runs
from mobilenet.quoting import percentage
from mobilenet.record.reader import RunError
from tests.conftest import SCENARIOS
from tests.tools import copy_run

LABEL = "<b>no</b> loss & more"
STUDY: dict[str, Any] = {
    "scenario": str(SCENARIOS / "first.yaml"),
    "set": {"duration_s": 8},
    "factors": {"hosts.count": [2, 4], "wireless.loss": [{"value": 0, "label": LABEL}, 0.2]},
    "replications": {"min": 2},
}


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a finished study that was made without Spark."""
    out = tmp_path_factory.mktemp("notebook") / "study <i>"
    declared = Study.of(STUDY, Path())
    store = create(declared, out)
    targets = [2] * len(store.configurations)
    runs = plan_runs(declared, targets)
    perform_runs(out, declared.kind, runs)
    store.write_runs(runs, {run.id for run in runs})
    write_tables(store, targets)
    return out


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> mobilenet.Run:
    out = tmp_path_factory.mktemp("notebook") / "a <b> & c"
    return mobilenet.run(SCENARIOS / "first.yaml", out=out, overrides={"duration_s": 20})


def title(figure: Figure) -> str:
    return figure.axes[0].get_title(loc="left")


def test_plotting_a_run_leaves_global_matplotlib_state_unchanged(run: mobilenet.Run) -> None:
    from matplotlib import pyplot

    before = matplotlib.get_backend(), dict(matplotlib.rcParams), pyplot.get_fignums()
    first, again, other = run.plot(), run.plot("delays"), run.plot("field")
    assert (matplotlib.get_backend(), dict(matplotlib.rcParams), pyplot.get_fignums()) == before
    assert isinstance(first, Figure) and title(first) == title(again) == "Delivery delay"
    assert title(other) == "Paths of hosts"
    assert first._repr_png_() == again._repr_png_() != other._repr_png_()  # type: ignore[attr-defined]
    assert first._repr_png_().startswith(b"\x89PNG")  # type: ignore[attr-defined]
    first.axes[0].set_title("mine")  # The figure can still be changed and drawn again.
    assert first._repr_png_() != again._repr_png_()  # type: ignore[attr-defined]


def test_study_plots_show_the_means_from_the_tables(study: Path) -> None:
    study_frames = mobilenet.StudyFrames(study)
    figure = study_frames.plot("delivery_delay_mean_s")
    axes = figure.axes[0]
    means = study_frames.summary.query("metric == 'delivery_delay_mean_s'")
    lines = [line for line in axes.get_lines() if len(line.get_xdata()) == 2 and line.get_color() == COLOURS[0]]
    expected = means[means["wireless.loss"].astype(float) == 0].sort_values("hosts.count")["mean"].astype(float)
    assert any(list(line.get_ydata()) == pytest.approx(list(expected)) for line in lines)
    assert axes.get_xlabel() == "hosts.count" and "mean delay" in axes.get_ylabel()
    assert len(study_frames.plot("delivery_delay_mean_s", "collision_ratio").axes) == 2
    by_loss = study_frames.plot("delivery_delay_mean_s", x="loss").axes[0]
    assert by_loss.get_xlabel() == "wireless.loss"


def test_a_study_gives_its_findings_and_tables_for_papers(study: Path) -> None:
    study_frames = mobilenet.StudyFrames(study)
    lines = study_frames.sentences()
    assert lines and all("mean delay (s)" in line or "deliver" in line for line in lines)
    assert any(line.startswith("Broadcast of what was offered: ") for line in lines)
    assert (
        study_frames.to_latex("delivery_delay_mean_s").count(r"\\") >= 3
        and "mean delay (s)" in study_frames.to_markdown()
    )
    narrow = study_frames.plot(kind="delays", width_in=3.5)
    assert "change of mean delay (s)" in [axes.get_xlabel() for axes in study_frames.plot(kind="effects").axes]
    with pytest.raises(StudyError, match="no comparison, since the study has no `compare`"):
        study_frames.plot(kind="comparison")
    assert narrow.get_figwidth() == 3.5 and narrow.axes[0].get_ylabel() == "share of deliveries"


def test_notebook_plots_reject_unknown_figures(run: mobilenet.Run, study: Path, tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"^figure 'delay': not available for this run; expected one of delays, "):
        run.plot("delay")
    study_frames = mobilenet.StudyFrames(study)
    with pytest.raises(StudyError, match=r"^unknown metric 'delivery_delay' \(did you mean '"):
        study_frames.plot("delivery_delay")
    with pytest.raises(StudyError, match=r"^x range: expected a factor of the study: hosts\.count, wireless\.loss$"):
        study_frames.plot(x="range")
    create(Study.of(STUDY, Path()), tmp_path / "begun")
    begun = mobilenet.StudyFrames(tmp_path / "begun")
    assert "begun</b>: " in begun._repr_html_() and "not finished" in begun._repr_html_()
    with pytest.raises(StudyError, match=r"summary\.parquet"):
        begun.plot()


def test_the_notebook_view_of_a_run_shows_verdict_and_metrics(run: mobilenet.Run) -> None:
    html = run._repr_html_()
    assert html.startswith(f"<b>{str(run.path).replace('a <b> & c', 'a &lt;b&gt; &amp; c')}</b>: valid<table>")
    assert html.count("<tr>") < 20 < len(run.metrics) and "delivery_delay_mean_s" in html
    assert f"{len(run.metrics) - html.count('<tr>')} more metrics in <code>run.metrics</code>" in html


def test_a_study_shows_its_means_with_intervals_and_labels(study: Path) -> None:
    study_frames = mobilenet.StudyFrames(study)
    html = study_frames._repr_html_()
    assert "study &lt;i&gt;</b>: 8 of 8 runs<table>" in html and "<i>" not in html
    assert html.count("&lt;b&gt;no&lt;/b&gt; loss &amp; more</td>") == 2 and LABEL not in html
    assert html.count("<tr>") == 5 and "mean delay (s)" in html and " ± " in html
    assert "Means over n = 2 replications" in html and repr(study_frames).startswith("<StudyFrames ")


def test_runs_returned_by_the_package_can_draw_figures(run: mobilenet.Run) -> None:
    assert type(run) is mobilenet.Run and type(mobilenet.load(run.path)) is mobilenet.Run
    assert mobilenet.run.__doc__ and "overrides" in mobilenet.run.__doc__


def test_unstable_settings_are_listed_below_sentences_and_tables(study: Path, tmp_path: Path) -> None:
    copy = copy_run(study, tmp_path / "study", "runs")
    summary = read_table(copy, "tables/summary").to_pandas()
    summary.loc[summary["configuration"] == 0, "label"] = "probably unstable"
    write_table(copy, "tables/summary", summary)
    study_frames = mobilenet.StudyFrames(copy)
    sentence = f"Probably unstable: count 2, {LABEL}: the backlog grew by "
    assert study_frames.sentences()[-1].startswith(sentence)
    assert sentence in study_frames.to_markdown() and sentence.replace("&", r"\&") in study_frames.to_latex()


def test_tables_and_captions_state_how_many_runs_are_missing(study: Path, tmp_path: Path) -> None:
    copy = copy_run(study, tmp_path / "study", "runs")
    planned = pq.read_table(copy / "runs.parquet")
    pq.write_table(pa.concat_tables([planned, planned]), copy / "runs.parquet")
    frames = mobilenet.StudyFrames(copy)
    sentence = "Unfinished: these numbers cover 8 of 16 runs."
    assert sentence in frames.sentences() and sentence in frames.to_latex() and sentence in frames.to_markdown()


def test_a_valid_run_states_the_share_of_lost_deliveries(tmp_path: Path) -> None:
    gossip = SCENARIOS / "own_protocol" / "gossip.yaml"
    changes = {"duration_s": 6, "wireless.loss": 0.6}
    run = mobilenet.run(gossip, out=tmp_path / "run", overrides=changes, allow_code=True)
    ratio = run.metrics["delivery_ratio"]
    assert ratio is not None and ratio < 1
    assert f"{run.verdict}; delivered {percentage(ratio)} of what was owed" in repr(run)
    axes = run.plot("delays").axes[0]
    assert axes.get_ylabel() == "share of what was owed"
    assert max(axes.lines[0].get_ydata()) == pytest.approx(ratio)

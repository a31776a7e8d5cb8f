"""Tests that figures are readable: labels do not overlap, captions describe the measurement, and a figure without data
contains a sentence.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from mobilenet.viz.figures import run_figures
from mobilenet.viz.style import Look

import mobilenet
from mobilenet.viz import style
from tests.tools import copy_run, editing, invoke
from tests.viz.overlap import legends_on_curves, overlapping

ROOT = Path(__file__).parents[2]
Checked = Callable[[Path], list[Any]]


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Checked:
    """Return a function that draws the figures of a run and checks each figure before it is saved."""

    def look(figure: Any, target: Path) -> None:
        assert overlapping(figure) == [], target
        assert legends_on_curves(figure) == [], target

    monkeypatch.setattr(style, "save", look)

    def draw(run: Path) -> list[Any]:
        both = [run_figures(run, tmp_path / str(captions), Look((".svg",), captions)) for captions in (True, False)]
        return both[0]

    return draw


@pytest.mark.long
def test_figures_of_a_run_of_hosts_have_captions_and_no_overlaps(run: Path, checked: Checked) -> None:
    notes = {figure.path.stem: figure.note for figure in checked(run)}
    assert all(note.startswith("n = 1 run. ") for note in notes.values())
    for name in ("station_buffers", "host_buffers", "delays_over_time", "radio"):
        assert "the warm-up until 2 s, which is excluded from the numbers" in notes[name]
        assert "a node is down" in notes[name]
    assert "from 2 to 25 s, whenever they arrived" in notes["delays"]
    assert "with a radius of" in notes["field"]
    assert "of the whole run" in notes["handoffs"] and "began from 2 to 25 s" in notes["handoffs"]


@pytest.mark.parametrize("name", ["causal", "causal_reliable", "bundling"])
def test_figures_of_a_run_of_processes_have_no_overlaps(name: str, checked: Checked, tmp_path: Path) -> None:
    done = mobilenet.run(
        ROOT / "scenarios" / "vcube" / f"{name}.yaml", out=tmp_path / "run", overrides=["processes=16"]
    )
    notes = {figure.path.stem: figure.note for figure in checked(done.path)}
    pending = done.samples[done.samples.quantity == "pending"]
    if len(pending):
        assert ("Nothing waited" in notes["pending"]) == (pending.value.max() == 0)


@pytest.mark.long
def test_figures_show_names_with_dollars_as_text(run: Path, checked: Checked, tmp_path: Path) -> None:
    copy = copy_run(run, tmp_path / "a $run$ of _ours_")
    with editing(copy / "manifest.json") as manifest:
        manifest["station_names"] = {"s0": "$\\frac", "s1": "Mast\n1"}
    assert len(checked(copy)) == 9


@pytest.mark.long
def test_the_field_figure_leaves_out_invalid_positions(run: Path, tmp_path: Path) -> None:
    """Figures that do not use positions are drawn as usual. The figure of the field omits invalid positions and has a
    note about it.
    """
    copy = copy_run(run, tmp_path / "run")
    places = pq.read_table(copy / "positions.parquet")
    x_m = places["x_m"].to_numpy().copy()
    x_m[40:60] = float("nan")
    pq.write_table(
        places.set_column(places.column_names.index("x_m"), "x_m", pa.array(x_m, from_pandas=False)),
        copy / "positions.parquet",
    )
    field = next(
        figure for figure in run_figures(copy, tmp_path / "figures", Look((".svg",))) if figure.path.stem == "field"
    )
    assert "recorded positions are invalid and are left out" in field.note
    for command in ("map", "report"):
        result = invoke(command, copy)
        assert result.exit_code == 2 and "outside the plane" in result.stderr


@pytest.mark.long
def test_figures_handle_hosts_that_only_recover(run: Path, checked: Checked, tmp_path: Path) -> None:
    """The record does not confirm any change of cell, and the figure has a note about it."""
    copy = copy_run(run, tmp_path / "run")
    events = pq.read_table(copy / "events.parquet")
    at = events.column_names.index("detail")
    details = [text.replace('"cell"', '"recovery"') if text else text for text in events["detail"].to_pylist()]
    pq.write_table(
        events.set_column(at, events.schema.field(at), pa.array(details, pa.string())), copy / "events.parquet"
    )
    notes = {figure.path.stem: figure.note for figure in checked(copy)}
    assert "No handoff was confirmed." in notes["handoffs"]


@pytest.mark.long
def test_figures_for_a_paper_have_the_requested_format(run: Path, tmp_path: Path) -> None:
    """The figures are PDF files of a given width. A separate file contains their titles and captions."""
    words = ["figures", str(run), "-o", str(tmp_path / "out"), "--format", "pdf,png", "--width", "3.5", "--plain"]
    done = invoke(*words)
    assert done.exit_code == 0, done.output
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"delays.pdf", "delays.png", "captions.txt"} <= names and not any(name.endswith(".svg") for name in names)
    width_px = int.from_bytes((tmp_path / "out" / "delays.png").read_bytes()[16:20], "big")
    assert width_px == 3.5 * 300
    assert "delays: " in (tmp_path / "out" / "captions.txt").read_text()
    refused = invoke("figures", run, "--format", "gif")
    assert refused.exit_code == 2 and "'gif' is not one of svg, png or pdf" in refused.output


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("own_protocol/ring", "Messages waiting for earlier ones"),
        ("vcube/causal", "Messages waiting for their causal past"),
    ],
)
def test_figures_mention_causal_order_only_if_it_is_promised(
    name: str, title: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("matplotlib.figure.Figure.savefig", lambda self, file, **options: Path(file).touch())
    mobilenet.run(
        ROOT / "scenarios" / f"{name}.yaml", overrides=["processes=16"], out=tmp_path / "run", allow_code=True
    )
    drawn = run_figures(tmp_path / "run", tmp_path / "figures", Look((".svg",)))
    assert [figure.title for figure in drawn if figure.path.stem == "pending"] == [title]

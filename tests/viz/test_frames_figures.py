"""Tests of the figures of frames for both radio models. The tests recount pairs one by one, and check that each reason
for a loss has a description.
"""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from mobilenet.viz.figures import frames as drawn_frames
from mobilenet.viz.figures import run_figures
from mobilenet.viz.figures.frames import _by_distance
from mobilenet.viz.figures.outcomes import REASONS
from mobilenet.viz.map.data import document
from mobilenet.viz.map.record import read_frames
from mobilenet.viz.style import Look

import mobilenet
from mobilenet.network.radio.frame import SINR_OUTCOMES
from mobilenet.viz import style
from mobilenet.why.words import OUTCOMES
from tests.tools import copy_run
from tests.viz.overlap import legends_on_curves, overlapping
from tests.viz.synthetic import unpack_column

SCENARIO = """
seed: 4
duration_s: 12
stations: {layout: {shape: points, points_m: [[0, 0], [150, 0]]}}
hosts: {count: 7, mobility: {model: random_waypoint, speed_mps: 9, area: {box_m: [-60, -60, 210, 60]}}}
faults: {schedule: paper, station: s0, first_at_s: 3, every_s: 20, first_duration_s: 4, duration_step_s: 0}
protocol: {name: mobile_causal}
workload: {interval_s: 0.7}
record: {frames: true}
"""
RADIOS = {
    "unit_disk": "wireless: {loss: 0.05}\n",
    "sinr": "wireless: {model: sinr, mode: g, broadcast_rate_mbps: 24, fading: {model: nakagami}}\n",
}


@pytest.fixture(scope="module", params=list(RADIOS))
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp(str(request.param))
    (folder / "s.yaml").write_text(SCENARIO + RADIOS[str(request.param)])
    return mobilenet.run(folder / "s.yaml", out=folder / "run").path


def places(run: Path) -> dict[str, list[tuple[int, float, float]]]:
    positions = pd.read_parquet(run / "positions.parquet").sort_values("time_ns")
    positions_of: dict[str, list[tuple[int, float, float]]] = {}
    for row in positions.itertuples():
        positions_of.setdefault(row.node, []).append((row.time_ns, row.x_m, row.y_m))
    positions_of["s0"], positions_of["s1"] = [(0, 0.0, 0.0)], [(0, 150.0, 0.0)]
    return positions_of


def place(track: list[tuple[int, float, float]], time_ns: int) -> tuple[float, float]:
    """Return the position of a node at a time. The track has positions one second apart, beginning at time 0."""
    if len(track) == 1:
        return track[0][1:]
    i = min(time_ns // 10**9, len(track) - 1)
    (a, ax, ay), (_, bx, by) = track[i], track[min(i + 1, len(track) - 1)]
    share = (time_ns - a) / 1e9
    return ax + share * (bx - ax), ay + share * (by - ay)


def test_distances_in_frame_figures_match_a_brute_force_count(run: Path) -> None:
    tracks, table = places(run), pd.read_parquet(run / "frames.parquet")
    pairs: dict[str, Counter[int]] = {"s": Counter(), "h": Counter()}
    received: dict[str, Counter[int]] = {"s": Counter(), "h": Counter()}

    def step(a: str, b: str, time_ns: int) -> int:
        return int(math.dist(place(tracks[a], time_ns), place(tracks[b], time_ns)) / 10)

    for start, sender in dict.fromkeys(zip(table.start_ns, table.sender, strict=True)):
        pairs[sender[0]].update(step(sender, node, start) for node in tracks if node != sender)
    for row in table[table.fate == "received"].itertuples():
        received[row.sender[0]][step(row.sender, row.receiver, row.start_ns)] += 1
    frames = read_frames(run)
    assert frames is not None
    ours = _by_distance(frames, pd.read_parquet(run / "positions.parquet"), [[0.0, 0.0], [150.0, 0.0]])
    assert ours[2] == 1
    for counted, expected in ((ours[0], pairs), (ours[1], received)):
        for kind in "sh":
            assert {i: n for i, n in enumerate(counted[kind].tolist()) if n} == dict(expected[kind])
            assert sum(expected[kind].values()) > 300


def test_sampling_frames_does_not_change_the_shares(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frames = read_frames(run)
    assert frames is not None
    positions, stations = pd.read_parquet(run / "positions.parquet"), [[0.0, 0.0], [150.0, 0.0]]
    pairs, received, _ = _by_distance(frames, positions, stations)
    monkeypatch.setattr(drawn_frames, "PAIRS", sum(row.sum() for row in pairs.values()) // 3)
    fewer, fewer_received, every = _by_distance(frames, positions, stations)
    assert every in (3, 4)
    for kind in "sh":
        assert fewer[kind].sum() == pytest.approx(pairs[kind].sum() / every, rel=0.1)
        share = received[kind].sum() / pairs[kind].sum()
        assert fewer_received[kind].sum() / fewer[kind].sum() == pytest.approx(share, abs=0.05)


@pytest.fixture
def bars(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[float]]:
    """Collect the widths of the bars in the losses figure by label. Figures are not saved."""
    widths_of: dict[str, list[float]] = {}

    def look(figure: Any, target: Path) -> None:
        assert overlapping(figure) == [] and legends_on_curves(figure) == [], target
        if target.stem == "fates":
            for group in figure.axes[0].containers:
                widths_of[group.get_label()] = [bar.get_width() for bar in group]

    monkeypatch.setattr(style, "save", look)
    return widths_of


def test_loss_bars_show_the_shares_in_the_frame_table(run: Path, tmp_path: Path, bars: dict[str, list[float]]) -> None:
    table = pd.read_parquet(run / "frames.parquet")
    notes = {drawn.path.stem: drawn.note for drawn in run_figures(run, tmp_path, Look((".svg",)))}
    words = {REASONS[fate][0] for fate in table.fate.unique() if fate != "received"}
    assert set(bars) == words and len(words) >= 3
    for fate in set(table.fate) - {"received"}:
        for kind, width in zip("sh", bars[REASONS[fate][0]], strict=True):
            own = table[table.sender.str.startswith(kind)]
            assert width == pytest.approx(100 * (own.fate == fate).mean())
    is_sinr = "links.parquet" in {path.name for path in run.iterdir()}
    assert ("strong enough to be detected" in notes["fates"]) is is_sinr
    assert ("strong enough to be detected" in notes["radio"]) is is_sinr
    assert ("half of the positions" in notes["field"]) is is_sinr and "A pair is" in notes["reception"]


def test_a_run_without_recorded_frames_shows_its_losses(
    run: Path, tmp_path: Path, bars: dict[str, list[float]]
) -> None:
    """The bars of all receptions still equal the shares in the table of frames, which is missing from this run."""
    table = pd.read_parquet(run / "frames.parquet")
    is_sinr = (run / "links.parquet").exists()
    copy = copy_run(run, tmp_path / "run", "frames.*", "links.*")
    notes = {drawn.path.stem: drawn.note for drawn in run_figures(copy, tmp_path / "figures", Look((".svg",)))}
    assert "reception" not in notes and set(bars) == {REASONS[fate][0] for fate in set(table.fate) - {"received"}}
    for fate in set(table.fate) - {"received"}:
        everyone, addressed = bars[REASONS[fate][0]]
        assert everyone == pytest.approx(100 * (table.fate == fate).mean())
        assert addressed == pytest.approx(100 * (table[table.addressed].fate == fate).mean())
    assert f"all {len(table):,}, of which {(table.fate != 'received').sum():,} lost" in notes["fates"]
    assert "With record.frames=true also: losses by kind of sender, receptions over distance" in notes["fates"]
    assert ("on the map, the power and SINR" in notes["fates"]) is is_sinr


def test_the_map_and_the_metrics_count_the_same_losses(run: Path) -> None:
    fates = pd.read_parquet(run / "frames.parquet").fate
    losses = document(run)["places"]["losses"]
    shares, counts = unpack_column(losses["mean"]), unpack_column(losses["count"]).astype(int)
    lost = fates.isin(["collision", "never_attempted", "preamble_missed"]).sum()
    assert round(float((shares * counts).sum())) == lost > 0 and counts.sum() == len(fates)


def test_every_frame_fate_has_a_description() -> None:
    # The word "collision" covers three of the fates in the metrics.
    assert not any("collision" in words for words, _ in REASONS.values())
    assert set(SINR_OUTCOMES) - {"received"} == set(REASONS) <= set(OUTCOMES)

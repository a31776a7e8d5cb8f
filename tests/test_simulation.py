"""Tests that the simulator applies the settings of the scenario, and that nodes do nothing while they are down."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import mobilenet
from mobilenet.scenario import Scenario
from mobilenet.simulation.mobile import Simulation

SCENARIOS = Path(__file__).parent.parent / "scenarios"
CRASHES = """
seed: 4
duration_s: 30
stations: {layout: {shape: hexagon, rings: 0}}
hosts: {count: 8, mobility: {model: random_waypoint, speed_mps: 5}}
faults:
  schedule: explicit
  outages: [{host: h2, at_s: 8, duration_s: 6}, {host: h5, at_s: 9.5, duration_s: 30}]
protocol: {name: mobile_causal}
workload: {interval_s: 1}
record: {frames: true, messages: true, positions_interval_s: 0.5}
"""


@pytest.fixture(scope="module")
def crashed(tmp_path_factory: pytest.TempPathFactory) -> mobilenet.Run:
    return mobilenet.run(Scenario.from_text(CRASHES), out=tmp_path_factory.mktemp("runs") / "crashes")


def outage(run: mobilenet.Run, node: str) -> tuple[int, int]:
    own = run.events[run.events.node == node]
    begin, end = (own[own.event == event].time_ns for event in ("crash", "recover"))
    assert len(begin) == len(end) == 1
    return int(begin.iloc[0]), int(end.iloc[0])


@pytest.mark.parametrize(("node", "begin_s", "end_s"), [("h2", 8, 14), ("h5", 9.5, 30)])
def test_a_crashed_host_neither_sends_nor_processes_anything(
    crashed: mobilenet.Run, node: str, begin_s: float, end_s: float
) -> None:
    begin, end = outage(crashed, node)
    assert (begin, end) == (round(begin_s * 1e9), round(end_s * 1e9))
    events = crashed.events
    inside = events[(events.node == node) & (events.time_ns > begin) & (events.time_ns < end)]
    assert set(inside.event) <= {"refused", "out_of_coverage", "in_coverage"}
    frames = crashed.frames
    assert not ((frames.sender == node) & (frames.start_ns > begin) & (frames.start_ns < end)).any()
    heard = frames[(frames.receiver == node) & (frames.start_ns > begin) & (frames.end_ns < end)]
    assert len(heard) > 50 and set(heard.fate) == {"receiver_down"}


def test_a_crashed_host_stands_still_until_it_recovers(crashed: mobilenet.Run) -> None:
    begin, end = outage(crashed, "h2")
    own = crashed.positions[crashed.positions.node == "h2"]
    down = own[(own.time_ns >= begin) & (own.time_ns <= end)]
    assert len(down) >= 12 and down.x_m.nunique() == down.y_m.nunique() == 1
    steps = np.hypot(np.diff(own.x_m), np.diff(own.y_m)) / np.diff(own.time_ns / 1e9)
    assert steps.max() <= 5.001
    walking = steps[(own.time_ns.to_numpy()[1:] <= begin) | (own.time_ns.to_numpy()[:-1] >= end)]
    assert np.median(walking) == pytest.approx(5, abs=0.01)


def test_a_run_with_crashes_is_valid_and_complete(crashed: mobilenet.Run) -> None:
    assert crashed.verdict == "valid"
    assert crashed.manifest["quiescent"] is True
    assert crashed.metrics["broadcasts_undelivered"] == 0


def test_frame_table_and_radio_counters_agree(crashed: mobilenet.Run) -> None:
    frames, radio = crashed.frames, crashed.counters["radio"]
    fates = Counter(frames.fate)
    assert fates.pop("received") == radio["received"]
    assert fates == {name: count for name, count in radio["lost"].items() if count}
    assert len(frames.drop_duplicates(["start_ns", "sender"])) <= radio["frames"]
    messages = crashed.messages
    assert set(messages.medium) == {"radio"}  # With a single station, no message is wired.
    received = messages[messages.fate == "received"]
    assert (received.receive_ns > received.send_ns).all()
    assert messages[messages.fate != "received"].receive_ns.isna().all()


def test_a_configured_loss_is_applied(tmp_path: Path) -> None:
    run = mobilenet.run(
        Scenario.from_text(CRASHES, ["wireless.loss=0.25", "record.frames=false"]), out=tmp_path / "lossy"
    )
    radio = run.counters["radio"]
    share = radio["lost"]["random"] / (radio["lost"]["random"] + radio["received"])
    assert share == pytest.approx(0.25, abs=0.02)
    assert run.verdict == "valid"


def test_hosts_with_tracks_join_and_leave_during_the_run(tmp_path: Path) -> None:
    run = mobilenet.run(
        SCENARIOS / "streets.yaml", out=tmp_path / "streets", overrides=["duration_s=60", "hosts.mobility.max_hosts=60"]
    )
    events = run.events
    left = events[events.event == "leave"].groupby("node").time_ns.last()
    assert len(left) > 10 and run.verdict == "valid"
    last_seen = run.positions.groupby("node").time_ns.max()
    first_seen = run.positions.groupby("node").time_ns.min()
    assert (first_seen > 0).any()
    for node, time in left.items():
        assert last_seen[node] <= time + 10_000_000_000  # The host left soon after its request.
    assert set(run.manifest["host_names"]) >= set(left.index)


def test_hosts_out_of_coverage_return_at_the_end(tmp_path: Path) -> None:
    run = mobilenet.run(SCENARIOS / "holes.yaml", out=tmp_path / "holes", overrides=["duration_s=60"])
    events = run.events
    assert (events.event == "out_of_coverage").any()
    last = events[events.event.isin(["out_of_coverage", "in_coverage"])].groupby("node").event.last()
    assert set(last) == {"in_coverage"}
    assert run.verdict == "valid" and run.manifest["quiescent"] is True


def test_liveness_is_unknown_if_there_is_no_time_to_drain(tmp_path: Path) -> None:
    run = mobilenet.run(
        SCENARIOS / "first.yaml",
        out=tmp_path / "cut",
        overrides=["drain_s=0", "duration_s=10", "workload.interval_s=0.2"],
    )
    assert run.manifest["quiescent"] is False
    assert run.verdicts["delivery"].answer == run.verdicts["drained"].answer == "unknown"
    assert run.verdict == "unknown"


def test_metrics_cover_only_the_measurement_window(tmp_path: Path) -> None:
    whole = mobilenet.run(SCENARIOS / "first.yaml", out=tmp_path / "whole")
    half = mobilenet.run(SCENARIOS / "first.yaml", out=tmp_path / "half", overrides=["warmup_s=15"])
    assert half.manifest["fingerprint"] == whole.manifest["fingerprint"]
    events = half.events
    inside = events[(events.time_ns >= 15e9) & (events.time_ns < 30e9)]
    sent = events[events.event == "broadcast"].set_index("message").time_ns
    delivered = events[events.event == "deliver"]
    delays = (delivered.time_ns - delivered.message.map(sent))[delivered.message.map(sent).between(15e9, 30e9 - 1)]
    assert half.metrics["deliveries"] == (inside.event == "deliver").sum()
    assert half.metrics["broadcasts"] == (inside.event == "broadcast").sum()
    assert half.metrics["delivery_delay_mean_s"] == pytest.approx(delays.mean() / 1e9, rel=1e-12)
    assert half.metrics["delivery_delay_p95_s"] == pytest.approx(np.percentile(delays, 95) / 1e9, rel=1e-12)


def test_time_weighted_buffers_agree_with_pandas(tmp_path: Path) -> None:
    run = mobilenet.run(
        SCENARIOS / "first.yaml", out=tmp_path / "run", overrides=["workload.interval_s=0.3", "warmup_s=5"]
    )
    samples = run.samples
    own = samples[(samples.quantity == "sbuffer") & samples.node.str.startswith("s")]
    means = []
    for _, group in own.groupby("node"):
        grid = np.arange(5e9, 30e9, 1e6)  # steps of a millisecond
        index = np.searchsorted(group.time_ns, grid, side="right") - 1
        means.append(np.where(index >= 0, group.value.to_numpy()[index], 0).mean())
    assert run.metrics["station_sbuffer_mean"] == pytest.approx(np.mean(means), rel=0.01)


def test_a_crashed_host_has_an_empty_receive_buffer() -> None:
    """A host crashes while it holds messages back. While the host is down, its RBuffer is empty and its SBuffer does
    not change.
    """
    scenario = Scenario.load(
        SCENARIOS / "static_heavy.yaml",
        [
            "duration_s=20",
            "faults={schedule: random, rate_per_host_per_min: 6, mean_duration_s: 2}",
            "record.positions_interval_s=null",
        ],
    )
    recording = Simulation(scenario).run().recording
    events, samples = recording.events, recording.samples.lists
    crashes = [(t, n) for t, n, e in zip(events.time_ns, events.node, events.event, strict=True) if e == "crash"]
    sizes: dict[tuple[str, str], list[tuple[int, float]]] = {}
    for time, node, quantity, value in zip(
        *(samples[name] for name in ("time_ns", "node", "quantity", "value")), strict=True
    ):
        sizes.setdefault((node, quantity), []).append((time, value))

    def size(node: str, quantity: str, until: int) -> float:
        return next((value for time, value in reversed(sizes.get((node, quantity), [])) if time <= until), 0.0)

    assert len(crashes) > 50
    assert any(size(node, "rbuffer", time - 1) > 0 for time, node in crashes)
    assert any(size(node, "sbuffer", time) > 0 for time, node in crashes)
    for time, node in crashes:
        assert size(node, "rbuffer", time) == 0
        assert size(node, "sbuffer", time) == size(node, "sbuffer", time - 1)

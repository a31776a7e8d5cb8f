"""Tests of runs that still have work in progress at their deadline. The verdict is unknown if progress or losses
explain the delay, and violated otherwise.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mobilenet import api
from mobilenet.protocols.mobile_causal.host import Host
from mobilenet.protocols.mobile_causal.station import Station
from mobilenet.scenario import Scenario
from mobilenet.scenario.plans.quiescence import rest
from mobilenet.simulation.mobile import Simulation
from tests.cli.command import mobilenet
from tests.conftest import SCENARIOS

from .traces import verdicts

ONE_CELL = ("hosts.count=150", "stations.layout={shape: points, points_m: [[0, 0]]}", "wireless.broadcast_rate_mbps=1")
IDLE = ("duration_s=70", "warmup_s=0", "drain_s=600", "workload={arrivals: explicit, messages: [{host: h0, at_s: 60}]}")
LOSSY = {"addressed_pairs_collision": 300.0, "addressed_pairs_received": 700.0}
STOPPED = "h0 join\nh1 join\nh0 broadcast h0:0\nh0 deliver h0:0\n"  # The drain lasts from 500 s to 1,000 s.


def static(*changes: str) -> Scenario:
    return Scenario.load(SCENARIOS / "static.yaml", changes)


@pytest.mark.parametrize(
    ("lines", "options", "because"),
    [
        ("751 h1 deliver h0:0", {}, "still making progress: h1: deliver h0:0 at 751 s"),
        ("751 h1 handoff_start", {}, "still making progress"),
        ("", {"buffers": (("h1", 3.0), ("h1", 2.0))}, "still making progress: the sbuffer of h1 shrank at 1000 s"),
        ("", {"longest_wait_s": 100.0}, "nodes wait up to 100 s before they try again"),
        ("", {"longest_wait_s": None}, "the record does not show how long nodes wait"),
        ("", {"wired": {"in_flight": 2}}, "2 messages on the wires may still change this"),
        ("", {"wired": {"lost": 1}}, "links that were cut or impaired lost 1 message"),
        ("", {"wired": {"suspicions": 1}}, "stations suspected others"),
        ("", {"grown": {"radio_airtime_ns": 200e9}}, "the radio was busy for 80 % of that time"),
        ("", {"grown": LOSSY}, "300 receptions of 1,000 were lost in that time"),
    ],
)
def test_progress_or_losses_explain_a_run_that_is_not_at_rest(
    lines: str, options: dict[str, Any], because: str
) -> None:
    verdict_of = verdicts(STOPPED + lines, **({"quiescent": False, "longest_wait_s": 2.0} | options))
    assert verdict_of["delivery"].answer == verdict_of["drained"].answer == "unknown"
    assert because in verdict_of["drained"].explanation


@pytest.mark.parametrize("lines", ["", "749 h1 handoff_start", "999 h1 refused", "998 h1 gap"])
def test_an_unexplained_missing_delivery_is_a_violation(lines: str) -> None:
    """Some receptions were lost, but too few to explain why 125 attempts failed."""
    grown = {"addressed_pairs_collision": 90.0, "addressed_pairs_received": 1000.0, "radio_airtime_ns": 100e9}
    verdict_of = verdicts(STOPPED + lines, quiescent=False, longest_wait_s=2.0, grown=grown)
    assert verdict_of["delivery"].answer == verdict_of["drained"].answer == "violated"
    assert "(no progress in the last 250 s)" in verdict_of["drained"].explanation


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        (("protocol={name: beacon}",), "this protocol may still act later"),
        (("hosts.attachment.error_m=10",), "hosts misjudge their position"),
        (("wireless={model: sinr}",), "the loss rate between two positions has no bound"),
        (("protocol.name=tcp_flooding", "stations.backbone.delay_ms=600"), "longer than handoff_wait_s"),
        (
            ("protocol.name=tcp_flooding", "protocol.tcp.max_retransmissions=0"),
            "connections may be closed unnecessarily",
        ),
        (("protocol.name=tcp_flooding", "protocol.tcp.connect_timeout_s=0.0001"), "is not set up"),
        (("protocol.name=tcp_flooding", "wireless={mac: acking}"), "the MAC tries each frame 1 times at most"),
        (("protocol.name=tcp_flooding", "protocol.silence_s=0.01"), "hosts that wait for the answer to a probe"),
        (("protocol.resend_jitter_low=0.95", "protocol.resend_jitter_high=1.1"), "may collide repeatedly"),
        (("protocol.silent_after_s=1",), "count as silent before a copy"),
        (("protocol.cookie_lifetime_s=0.3",), "its cookie may have expired each time"),
    ],
)
def test_rest_is_not_expected_of_every_protocol(changes: tuple[str, ...], why: str) -> None:
    promise = rest(static(*changes))
    assert promise.longest_wait_s is None and promise.because is not None and why in promise.because


def test_the_drain_deadline_follows_from_duration_and_waits() -> None:
    def drain_s(*changes: str) -> float:
        return static("drain_s=null", *changes).longest_drain_s

    assert drain_s("duration_s=20", "warmup_s=0") == 120
    assert drain_s("duration_s=400") == pytest.approx(400 + 20 * 2 * 1.3)
    assert drain_s("duration_s=400", "protocol.heartbeat_s=100") == pytest.approx(400 + 20 * 100 * 1.3)
    assert drain_s("duration_s=400", "protocol={name: tcp_flooding}", "hosts.count=10") == 400 + 20 * (75 + 10 * 0.005)
    # The drain is extended by at most an hour.
    assert drain_s("duration_s=400", "protocol.resend_share=1e-6") == 400 + 3600
    assert static("drain_s=7").longest_drain_s == 7


def test_perpetual_collisions_are_not_blamed_on_the_protocol(tmp_path: Path) -> None:
    """Two hidden hosts with equal intervals collide forever in a network that is otherwise idle."""
    broken = static(*ONE_CELL, *IDLE, "seed=9541", "protocol.resend_jitter_low=1", "protocol.resend_jitter_high=1")
    run = api.run(broken, out=tmp_path / "run")
    assert run.verdict == "unknown"
    reason = run.verdicts["drained"].explanation
    assert "not at rest 600 s after the active part" in reason and "frames that collide" in reason
    assert " h" in reason or " s0" in reason


@pytest.mark.parametrize(("seed", "rate_mbps"), [(9541, 1), (9542, 2)])
def test_an_idle_network_hears_all_hosts_and_comes_to_rest(seed: int, rate_mbps: int) -> None:
    """For ten minutes, hosts send only heartbeats. Stations hear every host, and do not give up on any of them."""
    idle = static(
        *ONE_CELL, f"wireless.broadcast_rate_mbps={rate_mbps}", "duration_s=600", "warmup_s=0",
        "workload={arrivals: none}",
        "protocol.expiry_s=30", f"seed={seed}", "record.positions_interval_s=null",
    )  # fmt: skip
    simulation = Simulation(idle)
    outcome = simulation.run()
    events = outcome.recording.events.event
    assert outcome.quiescent and "gap" not in events and "expire" not in events
    assert events.count("join") == 150
    heard = simulation.stations[0]._last_frame_ns
    assert len(heard) == 150 and min(heard.values()) > 540 * 10**9  # every host was heard in the last minute


def test_a_run_that_is_not_at_rest_states_what_it_is_waiting_for(tmp_path: Path) -> None:
    def call(*words: str) -> Any:
        return mobilenet(*words, place=tmp_path)

    scenario = SCENARIOS / "paper" / "tcp_heavy.yaml"
    done = call("run", str(scenario), "--set", "duration_s=20", "--set", "drain_s=1", "--out", "run")
    assert done.returncode == 4 and "verdict: unknown" in done.stdout
    reason = next(line for line in done.stdout.splitlines() if line.startswith("drained unknown: "))
    assert "still holds" in reason and "still making progress: " in reason and "more" in reason
    for command in ("verify", "show"):
        again = call(command, "run")
        # The reason is printed on a separate line, and not in a column of the table.
        assert reason in again.stdout.splitlines()
        begin = again.stdout.index("property ")
        assert "drained       unknown\n" in again.stdout[begin:]
    assert call("verify", "run").returncode == 4


@pytest.mark.parametrize(
    ("party", "method"),
    [(Host, "_on_ack_c"), (Host, "_on_init_ack"), (Host, "_fifo_deliver"), (Host, "_send_control"),
     (Station, "_on_ack_h"), (Station, "_on_ack_timer")],
)  # fmt: skip
@pytest.mark.parametrize("loss", [0, 0.1])
def test_a_protocol_that_stops_making_progress_is_detected(
    party: type, method: str, loss: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hosts walk between three cells while frames collide. In each case a host or a station omits one action of the
    protocol.
    """
    monkeypatch.setattr(party, method, lambda *words: None)
    changes = [f"wireless.loss={loss}", "duration_s=12", "drain_s=300"]
    run = api.run(SCENARIOS / "first.yaml", out=tmp_path / "run", overrides=changes)
    assert run.verdicts["drained"].answer == "violated", run.verdicts["drained"].explanation


STUCK = {
    "unsettled": "    def settled(self):\n        return False\n\n",
    "full": "    BUFFERS = ('waiting',)\n\n    def buffer_sizes(self):\n        return (1,)\n\n",
}


@pytest.mark.parametrize(("declared_s", "answer"), [("", "violated"), ("60", "unknown"), ("0.5", "violated")])
@pytest.mark.parametrize("defect", STUCK)
def test_a_plug_in_that_never_comes_to_rest_is_a_violation(
    defect: str, declared_s: str, answer: str, tmp_path: Path
) -> None:
    folder = SCENARIOS / "own_protocol"
    source = (folder / "gossip.py").read_text(encoding="utf-8")
    source = source.replace("class Host(BaseHost):\n", f"class Host(BaseHost):\n{STUCK[defect]}")
    if declared_s:
        source += f"    tries_again_within_s = {declared_s}\n"
    (tmp_path / "gossip.py").write_text(source, encoding="utf-8")
    (tmp_path / "gossip.yaml").write_text((folder / "gossip.yaml").read_text(encoding="utf-8"), encoding="utf-8")
    changes = ["duration_s=6", "drain_s=100"]
    run = api.run(tmp_path / "gossip.yaml", out=tmp_path / "run", overrides=changes, allow_code=True)
    assert run.verdicts["drained"].answer == answer, run.verdicts["drained"].explanation

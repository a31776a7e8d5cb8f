"""Tests that mobilenet's implementation of docs/models/causes.md agrees with the slow implementation in oracle.py."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import mobilenet
from mobilenet.simulation.parties import RealTime
from mobilenet.why.stories import recorded_stories
from tests.cli.command import mobilenet as command
from tests.conftest import SCENARIOS
from tests.lab.programs.realtime.own import PORTS
from tests.why.oracle import join, stretches

RUNS: dict[str, tuple[str, ...]] = {  # scenario -> overrides
    "first.yaml": (),
    "first.yaml with losses": ("wireless.loss=0.2",),
    "dynamic.yaml": ("duration_s=6.5", "warmup_s=0"),
    "tcp_dynamic.yaml": ("duration_s=4", "warmup_s=0"),
    "by_hand.yaml": (),
    "cut_and_off.yaml": (),
    "vcube/causal.yaml": (),
    "own_protocol/gossip.yaml": ("duration_s=10",),
    "programs/flood.yaml": (),
    "paper/tcp_static.yaml": ("duration_s=6", "warmup_s=0"),  # One queue contains several copies of a message.
    "first.yaml repeated": (
        "wireless={loss: 0.3, groupcast: unsolicited_retry, group_retries: 2}",
        "protocol.repair=selective",
        "duration_s=40",
    ),
    "town.yaml": ("duration_s=10", "warmup_s=0"),  # Stations are in range of each other.
    "vcube/dynamic_on_vcube.yaml": ("duration_s=5", "warmup_s=0"),
    "first.yaml impaired": (
        "wireless.loss=0.1",
        "interventions=[{at_s: 3, do: impair, host: h2, delay_s: 0.5, loss: 0.2}, {at_s: 5, do: crash, host: h2},"
        " {at_s: 7, do: recover, host: h2}, {at_s: 4, do: cut, link: [s0, s1]}, {at_s: 8, do: mend, link: [s0, s1]},"
        " {at_s: 5, do: impair_link, link: [s1, s2], delay_s: 0.3}, {at_s: 12, do: impair, host: h2, delay_s: 0.1},"
        " {at_s: 13, do: radio_off, station: s2}, {at_s: 16, do: radio_on, station: s2}]",
    ),
    "tcp_static.yaml impaired": (
        "duration_s=9",
        "warmup_s=0",
        "interventions=[{at_s: 3, do: impair, host: h2, delay_s: 0.5, loss: 0.3},"
        " {at_s: 5, do: radio_off, station: s2}, {at_s: 7, do: radio_on, station: s2},"
        " {at_s: 4, do: cut, link: [s0, s1], loses: true},"
        " {at_s: 8, do: mend, link: [s0, s1]}, {at_s: 5, do: impair_link, link: [s0, s2], delay_s: 0.3, loss: 0.2}]",
    ),
    "vcube/dynamic_on_vcube.yaml suspecting": (
        "duration_s=6",
        "warmup_s=0",
        "stations.backbone={kind: vcube_reliable, test_interval_s: 0.3, timeout_s: 0.05}",
        "wireless.loss=0.1",
        "interventions=[{at_s: 2, do: cut, link: [s0, s1]}, {at_s: 5, do: mend, link: [s0, s1]}]",
    ),
    "vcube/dynamic_on_vcube.yaml bundling": (  # Stations send a message by radio, and put it on the wires much later.
        "duration_s=5",
        "warmup_s=0",
        "stations.backbone={kind: vcube_best_effort, max_delay_ms: 400}",
        "wireless.loss=0.1",
    ),
    "vcube/causal_reliable.yaml": (),
    "vcube/reliable.yaml": ("processes=24", "faults=[{process: p8, at: 1}]", "workload={messages: 1}"),
}
Shares = dict[tuple[str, str], int]  # (kind, leg) -> nanoseconds, summed over all deliveries


def add(shares: Shares, story: list[tuple[int, int, str, str]]) -> None:
    for begin, end, kind, leg in story:
        shares[kind, leg] = shares.get((kind, leg), 0) + end - begin


LONG = ("tcp_dynamic.yaml", "dynamic.yaml", "tcp_static.yaml impaired", "vcube/dynamic_on_vcube.yaml suspecting")


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.long) if n in LONG else n for n in RUNS])
def test_independent_delay_accounts_agree_to_the_nanosecond(name: str, tmp_path: Path) -> None:
    scenario = SCENARIOS / name.partition(" ")[0]
    overrides = ["record.causes=true", *RUNS[name]]
    assert_agree(mobilenet.run(scenario, out=tmp_path / "run", overrides=overrides, allow_code=True).path)


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="all of 127.0.0.0/8 is local on Linux alone")
def test_independent_delay_accounts_of_udp_agree(tmp_path: Path) -> None:
    """The run is in real time. All of its delay is explained, and the mean delay equals the metric."""
    port = next(PORTS)
    overrides = ["record.causes=true", "duration_s=6", "wireless.loss=0.2", f"protocol.port={port}"]
    overrides.append(f"protocol.own_port={port + 1}")
    udp = SCENARIOS / "programs/udp.yaml"
    run = mobilenet.run(udp, out=tmp_path / "run", overrides=overrides, allow_code=True, real_time=RealTime())
    shares = assert_agree(run.path)
    assert not any(kind == "not_explained" for kind, _ in shares) and ("mac_retry", "uplink") in shares
    totals = json.loads(command("why", run.path, "--json", place=tmp_path).stdout)["all"]
    assert totals["delay_ns"] / totals["deliveries"] / 1e9 == pytest.approx(run.metrics["datagram_delay_mean_s"])


def assert_agree(run: Path) -> Shares:
    """Check that the parts of each delay have no gaps, add up to the delay, and agree in both implementations. Return
    the shares, which must agree as well.
    """
    ours = recorded_stories(run)
    second = stretches(run)
    delays = {
        (one.message, one.node): (ours.record.broadcasts[one.message].time_ns, one.time_ns)
        for one in ours.record.deliveries
    }
    assert second.keys() == delays.keys() and len(delays) > 400
    shares_of_ours: Shares = {}
    shares_of_second: Shares = {}
    for (message, node), (sent_ns, delivered_ns) in delays.items():
        story = join((s.begin_ns, s.end_ns, s.kind, s.leg) for s in ours.of(message, node))
        assert story == second[message, node], (message, node)
        edges = [sent_ns, *(end for _, end, _, _ in story)]
        assert [begin for begin, _, _, _ in story] == edges[:-1] and edges[-1] == delivered_ns, (message, node)
        add(shares_of_ours, story)
        add(shares_of_second, second[message, node])
    assert shares_of_ours == shares_of_second and len(shares_of_ours) >= 3
    return shares_of_ours

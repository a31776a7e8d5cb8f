"""Tests of the plans that are made before a run begins: faults, churn and workload."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import expon, ks_1samp, uniform

from mobilenet.engine.clock import SECOND
from mobilenet.world.churn import ChurnParameters, ListedChange, changes
from mobilenet.world.faults import ExplicitFaults, Fault, Outage, PaperFaults, RandomFaults, outages
from mobilenet.world.workload import ListedMessage, WorkloadParameters, broadcast_times


def test_the_fault_schedule_of_the_paper_is_reproduced() -> None:
    """A fault begins every 30 s, starting at 15 s. The faults last 3 s, 4 s and so on, and the fault that begins at 195
    s ends at 204 s.
    """
    all_outages = outages(PaperFaults(), 1, 70, 400 * SECOND)
    assert [outage.at_ns // SECOND for outage in all_outages] == list(range(15, 400, 30))
    assert [outage.lasts_ns // SECOND for outage in all_outages] == list(range(3, 16))
    assert all(outage.host is None and outage.station == 3 and 0 <= outage.draw < 1 for outage in all_outages)
    assert len({outage.draw for outage in all_outages}) == len(all_outages)
    assert all_outages[6][:2] == (195 * SECOND, 9 * SECOND)


def test_explicit_faults_are_sorted_by_time() -> None:
    listed = ExplicitFaults(
        outages=(
            Fault(host="h3", at_s=20, duration_s=1),
            Fault(host="h0", at_s=5, duration_s=2),
            Fault(host="h1", at_s=90, duration_s=1),
        )
    )
    assert outages(listed, 1, 9, 50 * SECOND) == [
        Outage(5 * SECOND, 2 * SECOND, 0, None, 0.0),
        Outage(20 * SECOND, SECOND, 3, None, 0.0),
    ]
    assert outages(None, 1, 9, 50 * SECOND) == []


@settings(max_examples=30)
@given(
    seed=st.integers(0, 10**6), rate=st.sampled_from([0.5, 10.0, 600.0]), mean_s=st.sampled_from([0.001, 2.0, 500.0])
)
def test_random_faults_of_a_host_do_not_overlap(seed: int, rate: float, mean_s: float) -> None:
    all_outages = outages(RandomFaults(rate_per_host_per_min=rate, mean_duration_s=mean_s), seed, 4, 60 * SECOND)
    assert all_outages == sorted(all_outages, key=lambda outage: outage.at_ns)
    for host in range(4):
        own = [outage for outage in all_outages if outage.host == host]
        assert all(a.at_ns + a.lasts_ns < b.at_ns for a, b in pairwise(own))
        assert all(outage.at_ns < 60 * SECOND and outage.lasts_ns > 0 for outage in own)


def test_random_faults_occur_at_the_configured_rate() -> None:
    all_outages = outages(RandomFaults(rate_per_host_per_min=6, mean_duration_s=5), 1, 200, 600 * SECOND)
    # Hosts are up for 10 s and down for 5 s on average.
    assert len(all_outages) == pytest.approx(200 * 600 / 15, rel=0.05)
    assert ks_1samp([outage.lasts_ns / SECOND for outage in all_outages], expon(scale=5).cdf).pvalue > 0.001


@settings(max_examples=30)
@given(
    seed=st.integers(0, 10**6), rate=st.sampled_from([0.0, 1.0, 600.0]), away_s=st.sampled_from([0.001, 10.0]),
    fraction=st.sampled_from([0.0, 0.5, 1.0]),
)  # fmt: skip
def test_joins_and_leaves_alternate(seed: int, rate: float, away_s: float, fraction: float) -> None:
    parameters = ChurnParameters(
        leave_rate_per_host_per_min=rate,
        mean_away_s=away_s,
        initial_fraction=fraction,
        changes=(ListedChange(host="h1", at_s=2, kind="join"), ListedChange(host="h1", at_s=4, kind="leave")),
    )
    plan = changes(parameters, seed, 5, 30 * SECOND)
    assert plan.changes == sorted(plan.changes)
    for host in range(5):
        member = host not in plan.absent_at_start
        own = [change for change in plan.changes if change.host == host]
        for change in own:
            assert (change.kind == "leave") == member and 0 < change.at_ns < 30 * SECOND
            member = not member
        assert all(a.at_ns < b.at_ns for a, b in pairwise(own))
    assert [change[::2] for change in plan.changes if change.host == 1] == [(2 * SECOND, "join"), (4 * SECOND, "leave")]


def test_a_host_that_never_joins_counts_as_absent() -> None:
    plan = changes(ChurnParameters(initial_fraction=0, mean_away_s=1e6), 1, 50, SECOND)
    assert plan.absent_at_start == frozenset(range(50)) and plan.changes == []
    late = ChurnParameters(changes=(ListedChange(host="h0", at_s=5, kind="join"),))
    assert changes(late, 1, 2, SECOND).absent_at_start == {0}
    assert changes(None, 1, 2, SECOND).absent_at_start == frozenset()


def test_churn_matches_its_configured_rates() -> None:
    plan = changes(
        ChurnParameters(initial_fraction=0.8, leave_rate_per_host_per_min=2, mean_away_s=30), 1, 2000, 300 * SECOND
    )
    assert len(plan.absent_at_start) == pytest.approx(400, abs=70)
    # On average, hosts are members for 30 s, and then are not members for 30 s.
    assert len(plan.changes) == pytest.approx(2000 * 300 / 30, rel=0.05)


def times(
    parameters: WorkloadParameters, host: int = 0, seed: int = 1, start_s: int = 0, stop_s: int = 1000
) -> list[int]:
    return list(broadcast_times(parameters, seed, host, start_s * SECOND, stop_s * SECOND))


def test_intervals_between_random_broadcasts_are_exponential() -> None:
    times_of_hosts = [times(WorkloadParameters(interval_s=2.0), host) for host in range(20)]
    gaps = np.concatenate([np.diff(own) for own in times_of_hosts]) / SECOND
    assert ks_1samp(gaps, expon(scale=2).cdf).pvalue > 0.001
    assert len({own[0] for own in times_of_hosts}) == 20
    assert all(a < b < 1000 * SECOND for own in times_of_hosts for a, b in pairwise(own))


def test_periodic_broadcasts_keep_their_interval() -> None:
    parameters = WorkloadParameters(arrivals="periodic", interval_s=2.0)
    times_of_hosts = [times(parameters, host, start_s=10, stop_s=30) for host in range(300)]
    assert all(len(own) == 10 and set(np.diff(own)) == {2 * SECOND} for own in times_of_hosts)
    assert ks_1samp([own[0] / SECOND for own in times_of_hosts], uniform(10, 2).cdf).pvalue > 0.001


def test_workloads_accept_explicit_broadcasts_or_none() -> None:
    listed = (ListedMessage(host="h1", at_s=7), ListedMessage(host="h0", at_s=3), ListedMessage(host="h1", at_s=2))
    parameters = WorkloadParameters(arrivals="explicit", messages=listed)
    assert times(parameters, 1) == [2 * SECOND, 7 * SECOND]
    assert times(parameters, 1, start_s=3) == [7 * SECOND]
    assert times(parameters, 1, stop_s=7) == [2 * SECOND]
    assert times(WorkloadParameters(arrivals="none")) == []


def test_workload_and_fault_plans_depend_only_on_seed_and_host() -> None:
    parameters = WorkloadParameters(interval_s=2.0)
    assert times(parameters, 3) == times(parameters, 3) != times(parameters, 4)
    assert times(parameters, 3) != times(parameters, 3, seed=2)
    assert times(parameters, 3, stop_s=100) == [at for at in times(parameters, 3) if at < 100 * SECOND]
    few, many = (outages(RandomFaults(rate_per_host_per_min=5, mean_duration_s=1), 1, n, 60 * SECOND) for n in (3, 6))
    assert few == [outage for outage in many if outage.host is not None and outage.host < 3]

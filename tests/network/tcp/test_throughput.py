"""Tests of the throughput over a lossy wired link against the formulas of Mathis and of Padhye (PFTK); see bulk.py.

As in both papers, the formulas use the loss, the round trip and the timeout that were measured during the transfer. For
independent losses, theory gives a constant of 1.31 instead of 1.22 (0.93 instead of 0.87), a factor of 1.07 if losses
are rare. If losses are frequent, it matters that only whole segments are sent: a window of 6.5 segments allows 6. Two
effects of the round trip limit the ratios from below, and neither formula includes them. A timeout of one round trip
costs almost no time in PFTK. An acknowledgement that is delayed for longer than a round trip makes the odd segment at
the end of a window wait for the next window.
"""

from __future__ import annotations

import pytest

from .bulk import mathis, pftk, transfer


def test_the_mathis_and_pftk_formulas_give_known_values() -> None:
    """PFTK for 2 %, 0.1 s and 0.2 s: 0.1 sqrt(0.04/3) = 0.011547; 0.2 * 3 sqrt(0.0075) * 0.02 * 1.0128 = 0.0010525."""
    assert mathis(0.01, has_delayed_acks=False) == pytest.approx(12.2)
    assert mathis(0.01, has_delayed_acks=True) == pytest.approx(8.7)
    assert pftk(0.02, False, 0.1, 0.2) == pytest.approx(1 / (0.0115470 + 0.0010525), rel=1e-4)


LOSSES = [pytest.param(0.001, 200_000, marks=pytest.mark.long), (0.003, 100_000), (0.01, 100_000), (0.02, 60_000)]


@pytest.mark.parametrize(("loss", "segments"), LOSSES)
@pytest.mark.parametrize(("rtt_s", "delayed_ack_s"), [(0.05, 0.0), (1.0, 0.2)])
def test_tcp_throughput_agrees_with_the_formulas(
    loss: float, segments: int, rtt_s: float, delayed_ack_s: float
) -> None:
    outcome = transfer(loss, segments, seed=1, rtt_s=rtt_s, delayed_ack_s=delayed_ack_s)
    delayed = delayed_ack_s > 0
    assert outcome.recoveries + outcome.timeouts > 100  # enough events for a meaningful average
    assert 0.85 < outcome.against_mathis(delayed) < 1.15
    assert outcome.against_pftk(delayed) > 1


def test_an_ack_delay_longer_than_the_rtt_lowers_throughput() -> None:
    """The expected throughput is 0.84 times Mathis's formula and 0.92 times PFTK (means over eight seeds)."""
    outcome = transfer(0.02, 60_000, seed=1, rtt_s=0.1, delayed_ack_s=0.2)
    assert (
        0.80 < outcome.against_mathis(has_delayed_acks=True) < 0.88
        and 0.88 < outcome.against_pftk(has_delayed_acks=True) < 0.96
    )


def test_reno_is_slower_than_newreno_with_clustered_losses() -> None:
    newreno = transfer(0.02, 40_000, seed=1, rtt_s=0.1, delayed_ack_s=0.0)
    reno = transfer(0.02, 40_000, seed=1, rtt_s=0.1, delayed_ack_s=0.0, recovery="reno")
    none = transfer(0.02, 40_000, seed=1, rtt_s=0.1, delayed_ack_s=0.0, recovery="none")
    assert none.segments_per_s < reno.segments_per_s < newreno.segments_per_s
    assert none.timeouts > reno.timeouts > newreno.timeouts

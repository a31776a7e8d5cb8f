"""Tests of the bounds of a mean, which take into account outcomes that have not occurred in any run."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mobilenet.engine.random_streams import generator
from mobilenet.lab.studies.statistics import ENOUGH, Error, assumption, look, lower, skewed_bounds, unseen, upper

ERROR = Error(1e-3, 1e-3)
runs = st.integers(3, 500)
values = st.lists(st.floats(0, 1), min_size=3, max_size=60).map(lambda numbers: np.array(numbers))


@given(runs, st.integers(0, ENOUGH))
def test_the_unseen_share_shrinks_with_more_runs(n: int, k: int) -> None:
    now, later, less = (
        unseen(*pair, ERROR) for pair in ((n, min(k, n)), (n + 20, min(k, n)), (n, max(0, min(k, n) - 1)))
    )
    assert later <= now <= 1
    if now and less and k < ENOUGH:
        assert less <= now


@given(runs, st.integers(0, ENOUGH))
def test_the_unseen_share_agrees_with_clopper_pearson(n: int, k: int) -> None:
    """With this share, the probability of k or fewer occurrences is half the error."""
    q = unseen(n, min(k, n), ERROR)
    if 0 < q < 1:
        seen = math.fsum(math.comb(n, j) * q**j * (1 - q) ** (n - j) for j in range(k % ENOUGH + 1))
        assert seen == pytest.approx(ERROR.at_look / 2, rel=1e-6)


@given(values, st.floats(0, 1), st.floats(1, 100))
@example(np.array([0.0, 0.0, 5e-128]), 0.0, 1.0)  # The third power of the smallest value underflows.
def test_unseen_outcomes_only_widen_bounds_symmetrically(sample: np.ndarray, share: float, end: float) -> None:
    plain, wide = (upper(sample, end, part, ERROR) for part in (0.0, share))
    assert plain == skewed_bounds(sample, ERROR.at_look).high
    if share:
        assert min(plain, end) <= wide + 1e-9 <= end + 2e-9 and wide >= np.mean(sample) - 1e-9
    assert lower(-sample, -end, share, ERROR) == -upper(sample, end, share, ERROR)


def test_an_unbounded_metric_needs_enough_runs_for_a_bound() -> None:
    sample = np.linspace(0.4, 0.5, 40)
    assert upper(sample, math.inf, unseen(40, 0, ERROR), ERROR) == math.inf
    assert unseen(148, 0, ERROR) > 0 and unseen(149, 0, ERROR) == 0  # 0.95**149 < 1e-3 / 2
    assert not unseen(28, 0, ERROR._replace(rare=0.3))
    assert unseen(40, ENOUGH, ERROR) == unseen(40, 0, ERROR)
    assert assumption(0.05) == "outcomes in under 5 % of the runs could have been missed"


@pytest.mark.parametrize("share", [0.05, 0.06, 0.1, 0.2, 0.4])
def test_bounds_cover_the_mean_at_every_look(share: float) -> None:
    """Each value is 1 with probability `share`, and 0 otherwise. At every look, the bounds must include the mean, which
    is `share`.
    """
    error, wrong, count = 0.2, 0, 400
    for row in generator(1, "rare outcomes", str(share)).random((count, look(9))) < share:
        ends = []
        for number in range(10):
            own = row[: look(number)].astype(np.float64)
            at = Error(error / 20, error / 2)
            ends.append(upper(own, 1.0, unseen(len(own), int(np.sum(own)), at), at))
        wrong += min(ends) < share
    assert wrong <= count * error + 3 * math.sqrt(count * error * (1 - error))

"""Two equal configurations are rarely found to differ, even if each new run is examined (validation/statistics.py)."""

from __future__ import annotations

from validation.statistics import alarms_of_looks


def test_repeated_looks_at_equal_configurations() -> None:
    alarms, claimed = alarms_of_looks(30)
    assert claimed <= 0.05 < alarms  # a p value is for one look

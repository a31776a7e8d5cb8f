"""The declaration of a metric, which stands once, next to the code that computes it.

Model     a metric has words, and a unit unless it is a plain count or share. `value` computes it from what its group
          has gathered. `of` is the trait of the runs that have it. The registry, the known names of studies, the tables
          of the documents and the labels of figures follow from these declarations (registry.py)
Units     as declared
Source    ours: docs/verdicts-and-metrics.md
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from math import copysign
from typing import Any, Generic, NamedTuple, Never, TypeVar

import numpy as np

Row = dict[str, float | int | None]
T = TypeVar("T", contravariant=True)


class OfDelays(NamedTuple):
    """A statistic of delays in seconds, shape (deliveries,). `at_sender`: whether the sender's own deliveries count."""

    statistic: Callable[[Any], float | None]
    at_sender: bool = True


class Metric(NamedTuple, Generic[T]):
    name: str
    words: str
    value: Callable[[T], float | int | None] | None = None  # None: a function of its group computes several at once
    unit: str = ""
    of: str = ""  # a trait, such as handoffs; empty: every run of its kind has this metric
    signed: bool = False  # all others cannot be below 0
    symbol: str = ""  # a short name for axes and tables; empty: the words
    better: str = ""  # "lower" or "higher", if one of them is better in every study
    of_delays: OfDelays | None = None  # how to compute it from any set of delays


Declared = Metric[Never]  # whatever it is computed from


def only(trait: str, *metrics: Metric[T]) -> tuple[Metric[T], ...]:
    """Return these metrics for runs with this trait, unless one of them names another."""
    return tuple(metric if metric.of else metric._replace(of=trait) for metric in metrics)


def values(metrics: Iterable[Metric[T]], gathered: T, traits: Collection[str] = ()) -> Row:
    """Compute the metrics that a run with these traits has."""
    return {m.name: m.value(gathered) for m in metrics if m.value is not None and (not m.of or m.of in traits)}


def as_whole(value: Any) -> Any:
    """Return a whole number for a float with a whole value, such as a size, but not for -0.0, to keep its sign."""
    is_whole = isinstance(value, float) and value.is_integer() and not (value == 0 and copysign(1, value) < 0)
    return int(value) if is_whole else value


def ratio(a: float | None, b: float | None) -> float | None:
    return a / b if a is not None and b else None


def mean(values: Any) -> float | None:
    return float(np.mean(values)) if len(values) else None


def percentile(share: int, values: Any) -> float | None:
    """Return the percentile `share` (0 to 100), or None without values."""
    return float(np.percentile(values, share)) if len(values) else None

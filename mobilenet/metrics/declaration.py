"""The declaration of a metric. Each metric is declared next to the code that computes it.

Model     a metric has a description, and a unit unless it is a plain count or share. `value` computes it from the data
          that its group has gathered. `of` is the trait of the runs that have the metric. The registry, the metrics
          that studies accept, the tables of the documents and the labels of figures are derived from these declarations
          (registry.py)
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
    """A statistic of delays in seconds, shape (deliveries,). `at_sender`: whether the sender's own deliveries are
    included.
    """

    statistic: Callable[[Any], float | None]
    at_sender: bool = True


class Metric(NamedTuple, Generic[T]):
    name: str
    words: str
    # None if a function of the group computes several metrics at once
    value: Callable[[T], float | int | None] | None = None
    unit: str = ""
    # the trait of the runs that have this metric, such as handoffs; if empty, all runs of the kind have it
    of: str = ""
    signed: bool = False  # whether values below 0 are possible
    symbol: str = ""  # a short name for axes and tables; if empty, the description is used
    better: str = ""  # "lower" or "higher" if this direction is better in every study, otherwise empty
    of_delays: OfDelays | None = None  # how to compute the metric from any set of delays, if that is possible


Declared = Metric[Never]  # a metric, regardless of the data from which it is computed


def only(trait: str, *metrics: Metric[T]) -> tuple[Metric[T], ...]:
    """Restrict these metrics to runs with this trait. Metrics that declare another trait keep it."""
    return tuple(metric if metric.of else metric._replace(of=trait) for metric in metrics)


def values(metrics: Iterable[Metric[T]], gathered: T, traits: Collection[str] = ()) -> Row:
    """Compute the metrics that a run with these traits has."""
    return {m.name: m.value(gathered) for m in metrics if m.value is not None and (not m.of or m.of in traits)}


def as_whole(value: Any) -> Any:
    """Return a float with a whole value, such as a size, as an int. -0.0 remains a float, to keep its sign."""
    is_whole = isinstance(value, float) and value.is_integer() and not (value == 0 and copysign(1, value) < 0)
    return int(value) if is_whole else value


def ratio(a: float | None, b: float | None) -> float | None:
    return a / b if a is not None and b else None


def mean(values: Any) -> float | None:
    return float(np.mean(values)) if len(values) else None


def percentile(share: int, values: Any) -> float | None:
    """Return the percentile `share` (0 to 100), or None if there are no values."""
    return float(np.percentile(values, share)) if len(values) else None

"""Custom metrics: functions over the rows of a run, in a plug-in's file.

Example   from mobilenet.metrics import Record, metric

          @metric("share of deliveries within a second")
          def deliveries_within_1_s(run: Record) -> float | None:
              delays = [d.delay_s for d in run.deliveries()]
              return sum(delay < 1 for delay in delays) / len(delays) if delays else None
Model     a scenario names a metric as `metrics: [slo.py:deliveries_within_1_s]`, and the metric has the name of the
          function. It appears wherever built-in metrics do: in `mobilenet show`, studies and reports. It reads rows and
          is therefore slower than built-in metrics, which read columns, but is easier to write
Units     seconds and integer nanoseconds, as the suffixes of names state
Errors    ValueError for a function that is not a metric, or that has the name of a built-in one. A metric that raises
          an error, or does not return a number, has no value, and the run reports the reason
Source    ours: docs/guide/plug-ins.md
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from numbers import Integral, Real
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mobilenet.engine.clock import SECOND
from mobilenet.metrics.declaration import Row
from mobilenet.metrics.deliveries import Deliveries
from mobilenet.metrics.registry import OF_HOSTS, OF_PROCESSES
from mobilenet.record.schema import Event
from mobilenet.record.table import Columns, Table


class SampleRow(NamedTuple):
    """One row of samples.parquet: from this time on, the quantity has this value at this node (or in the network)."""

    time_ns: int
    node: str
    quantity: str
    value: float


class Delivery(NamedTuple):
    """The delivery of a message that was broadcast within the window. The delivery itself may be after the window."""

    message: str
    node: str
    broadcast_ns: int
    delivered_ns: int

    @property
    def delay_s(self) -> float:
        return (self.delivered_ns - self.broadcast_ns) / SECOND


class Record:
    """The record of a run. `begin_ns` and `end_ns` delimit the window that metrics measure."""

    def __init__(self, events: Columns, samples: Columns, counters: dict[str, Any], manifest: dict[str, Any]) -> None:
        self._events, self._samples = events, samples
        # Metrics get copies, so that they cannot change the originals.
        self.counters, self.manifest = deepcopy(counters), deepcopy(manifest)
        self.begin_ns, self.end_ns = (round(manifest[key] * SECOND) for key in ("warmup_s", "duration_s"))

    def events(self) -> Iterator[Event]:
        """Yield all events of the run, in order of occurrence."""
        return map(Event._make, zip(*(self._events[name] for name in Event._fields), strict=True))

    def samples(self) -> Iterator[SampleRow]:
        return map(SampleRow._make, zip(*(self._samples[name] for name in SampleRow._fields), strict=True))

    def deliveries(self) -> Iterator[Delivery]:
        """Yield the deliveries of the messages that were broadcast within the window, in order of occurrence."""
        events = Table.of(self._events)
        all_ = Deliveries(events)
        sent_ns = all_.sent_ns
        places = np.flatnonzero((self.begin_ns <= sent_ns) & (sent_ns < self.end_ns))
        message, node = events.column("message").words, events.column("node").words
        columns = (column[places].tolist() for column in (all_.message, all_.node, sent_ns, all_.time_ns))
        for of, at, sent_ns, time_ns in zip(*columns, strict=True):
            yield Delivery(message[of], node[at], sent_ns, time_ns)


Function = Callable[[Record], float | int | None]


def metric(words: str, unit: str = "") -> Callable[[Function], Function]:
    """Declare the metric that a function computes. `unit`: s, bytes, messages and so on; empty for counts and
    shares.
    """

    def mark(function: Function) -> Function:
        function.words, function.unit = words, unit  # type: ignore[attr-defined]
        return function

    return mark


# Names of columns that have another meaning in the tables of studies.
COLUMNS_OF_STUDIES = (
    "run",
    "seed",
    "verdict",
    "configuration",
    "replication",
    "replicate",
    "steady",
    "warmup_cut_s",
)


class OwnMetric(NamedTuple):
    name: str
    words: str
    unit: str
    function: Function
    path: Path  # the path of the plug-in's file


def own_metric(function: Any, reference: str, folder: Path = Path(".")) -> OwnMetric:
    """Return the metric that `reference` names. `folder` contains its file. Raise ValueError if it is not a metric."""
    name = reference.rpartition(":")[2]
    words, unit = getattr(function, "words", None), getattr(function, "unit", "")
    if not callable(function) or not isinstance(words, str) or not isinstance(unit, str):
        raise ValueError(f"{reference} is not a metric; expected a function decorated with @metric(words, unit)")
    if name in OF_HOSTS.declared or name in OF_PROCESSES.declared or name in COLUMNS_OF_STUDIES:
        raise ValueError(f"{reference}: there is already a metric {name}; expected another name")
    return OwnMetric(name, words, unit, function, folder / reference.rpartition(":")[0])


def measure(own: Iterable[OwnMetric], record: Record) -> tuple[Row, dict[str, BaseException]]:
    """Return the values of custom metrics (None for each metric that failed), and the errors."""
    row: Row = {}
    failed: dict[str, BaseException] = {}
    for metric in own:
        try:
            row[metric.name] = _value(metric.function(record))
        except (MemoryError, KeyboardInterrupt):
            raise
        except BaseException as error:
            row[metric.name] = None
            failed[metric.name] = error
    return row, failed


def _value(value: Any) -> float | int | None:
    """Return the value of a metric, which may be a numpy number, as a plain number or None."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
        raise ValueError(f"returned {' '.join(repr(value).split())[:80]}, expected a finite number or None")
    return int(value) if isinstance(value, Integral) else float(value)

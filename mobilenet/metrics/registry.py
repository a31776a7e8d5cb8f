"""All metrics by name, each with a description for users.

Model     groups of metrics are declared where they are computed, and collected here. A buffer of a plug-in is described
          by the name of its quantity. Any other metric that is not listed, such as one of an older version, is
          described by its name, with spaces. Custom metrics (custom.py) have their own description and unit
Units     s, bytes, t.u. as declared
Source    ours: docs/verdicts-and-metrics.md
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from typing import Any

from mobilenet.metrics.buffers import BUFFER_SIZES, LENGTHS_OF_LISTS, sizes
from mobilenet.metrics.connections import CONNECTIONS
from mobilenet.metrics.datagrams import DATAGRAMS
from mobilenet.metrics.declaration import Declared, Metric, OfDelays
from mobilenet.metrics.delay_shares import DELAY_SHARES
from mobilenet.metrics.mobile import HANDOFFS, MESSAGES, QUEUES
from mobilenet.metrics.network import NETWORK
from mobilenet.metrics.processes import OF_PROCESSES as WITHOUT_HOSTS
from mobilenet.quoting import cut

# metrics that studies compute from the records of several runs (lab/studies/measure.py)
OF_STUDIES: tuple[Declared, ...] = (
    Metric(
        "delivery_delay_survival_p50_s",
        "median delay, including messages that are still waiting",
        unit="s",
        symbol="median delay, waiting incl.",
        better="lower",
    ),
    Metric(
        "delivery_delay_survival_p95_s",
        "95th percentile of the delay, including messages that are still waiting",
        unit="s",
        symbol="95th percentile of the delay, waiting incl.",
        better="lower",
    ),
    Metric(
        "delivery_delay_survival_p99_s",
        "99th percentile of the delay, including messages that are still waiting",
        unit="s",
        symbol="99th percentile of the delay, waiting incl.",
        better="lower",
    ),
    Metric(
        "backlog_slope",
        "relative growth of the backlog over the second half of the window",
        signed=True,
        symbol="backlog growth",
        better="lower",
    ),
)
# A metric whose name begins with this has no value if the run never delivered this share of messages.
NEVER = "delivery_delay_survival_"
SURVIVAL = tuple(metric.name for metric in OF_STUDIES if metric.name.startswith(NEVER))
# only these units are shown, because the name of a count implies its unit
PHYSICAL = ("s", "1/s", "bytes", "bytes/s", "t.u.")
LONGEST_SYMBOL = 30  # the maximum length of a metric's name on an axis if it has no symbol
# the maximum lengths of the description and the unit of a custom metric
LONGEST_WORDS, LONGEST_UNIT = 200, 40


class Vocabulary:
    """The metrics of one kind of run, with their descriptions. `first`: the metrics that reports show first;
    `are_known`: the metrics of every protocol.
    """

    def __init__(self, time_unit: str, are_known: bool, first: tuple[str, ...], *groups: tuple[Declared, ...]) -> None:
        declared = {metric.name: metric for group in groups for metric in group}
        self.time_unit, self.are_known, self.first = time_unit, are_known, first
        self.declared = {name: declared[name] for name in (*first, *declared)}

    def main(self, measured: Collection[str], own: Collection[str] = ()) -> list[str]:
        """Return the most important metrics, in order. Custom metrics (`own`), and metrics of datagrams and
        connections, are included if the run has them.
        """
        of_programs = [metric.name for group in (DATAGRAMS, CONNECTIONS) for metric in group]
        return [name for name in dict.fromkeys((*self.first, *of_programs, *own)) if name in measured]

    def meaning(self, metric: str, own: Mapping[str, Any] | None = None) -> str:
        """Describe a metric in words, with its unit. `own`: name -> (description, unit) of custom metrics, from the
        manifest.
        """
        if own and metric in own:
            words, unit = (" ".join(str(text).split()) for text in own[metric])
            words, unit = cut(words, LONGEST_WORDS), cut(unit, LONGEST_UNIT)
        else:
            words, unit = self._entry(metric).words, self._entry(metric).unit
        return f"{words} ({unit})" if unit else words

    def axis_name(self, metric: str) -> str:
        """Return a short name for axes and tables, with the unit if it is a physical one."""
        entry, unit = self._entry(metric), self.unit_of(metric)
        name = entry.symbol or cut(entry.words, LONGEST_SYMBOL)
        return f"{name} ({unit})" if unit else name

    def unit_of(self, metric: str) -> str:
        """Return the metric's unit if it is a physical one, otherwise an empty string."""
        unit = self._entry(metric).unit
        return unit if unit in PHYSICAL else ""

    def better(self, metric: str) -> str:
        """Return which direction is better: "lower", "higher", or "" if that depends on the question."""
        return self._entry(metric).better

    def of_delays(self, metric: str) -> OfDelays | None:
        """Return how the metric is computed from the delays of deliveries, or None."""
        return self._entry(metric).of_delays

    def find(self, metric: str) -> Declared | None:
        """Return the metric's declaration, or None for an unknown metric."""
        known = self.declared.get(metric) or DELAY_SHARES.get(metric)
        if known is None and (buffer := re.fullmatch(r"(host|station)_(.+)_(mean|max)", metric)):
            who, quantity, kind = buffer.groups()
            known = sizes(f"{who}_{quantity}", f"messages in the buffer {quantity} of a {who}")[kind == "max"]
        return known

    def _entry(self, metric: str) -> Declared:
        """Return the metric's declaration, or one derived from its name."""
        stem, _, last = metric.rpartition("_")
        words = (stem if last == "s" else metric).replace("_", " ")
        return self.find(metric) or Metric(metric, words, unit={"s": self.time_unit, "bytes": last}.get(last, ""))


OF_HOSTS = Vocabulary(
    "s", True,
    (
        "broadcasts", "deliveries", "delivery_ratio", "broadcasts_undelivered", "delivery_delay_mean_s",
        "delivery_delay_p95_s", "messages_sent_per_delivery", "collision_loss_ratio", "station_sbuffer_mean",
        "host_rbuffer_mean", "handoffs", "handoff_duration_mean_s", "handoff_interruption_mean_s", "crashes", "gaps",
    ),
    MESSAGES, NETWORK, QUEUES, BUFFER_SIZES, HANDOFFS, DATAGRAMS, CONNECTIONS, OF_STUDIES, LENGTHS_OF_LISTS,
)  # fmt: skip
OF_PROCESSES = Vocabulary(
    "t.u.", False,
    (
        "broadcasts", "deliveries", "delivery_ratio", "latency", "delivery_latency_mean", "messages",
        "messages_per_process_mean", "packets_aggregated_share", "reception_latency_mean", "pending_max",
        "detector_messages", "crashes", "suspicions", "suspicions_taken_back",
    ),
    WITHOUT_HOSTS,
)  # fmt: skip
VOCABULARIES = {"hosts": OF_HOSTS, "processes": OF_PROCESSES}  # for each kind of scenario or run
SIGNED = tuple(name for name, metric in OF_HOSTS.declared.items() if metric.signed)


def is_infinite(metric: str, run: Mapping[str, float]) -> bool:
    """Return whether a run never reaches this percentile of delays, because too many messages were not delivered.
    `run`: the metrics of the run.
    """
    return metric in SURVIVAL and metric not in run and run.get("broadcasts_undelivered", 0) > 0


def limits(metric: str) -> tuple[float, float]:
    """Return the limits of the metric's values. They are infinite unless declared."""
    known = OF_HOSTS.find(metric) or OF_PROCESSES.find(metric)
    if known is None or known.signed:
        return -math.inf, math.inf
    return 0.0, 1.0 if known.words.startswith("share of ") else math.inf

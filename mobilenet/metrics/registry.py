"""All metrics by name: what each means, in words for people.

Model     the groups of metrics are declared where they are computed, and collected here. A buffer of a plug-in is
          called by its quantity; another metric that is not listed (e.g. of an older version) by its name, with spaces.
          A user's own metrics (own.py) bring words and unit with them
Units     s, bytes, t.u. as declared
Source    ours: docs/verdicts-and-metrics.md
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from mobilenet.metrics.buffers import BUFFER_SIZES, LENGTHS_OF_LISTS, sizes
from mobilenet.metrics.connections import CONNECTIONS
from mobilenet.metrics.datagrams import DATAGRAMS
from mobilenet.metrics.declaration import Declared, Metric, OfDelays
from mobilenet.metrics.delay_shares import DELAY_SHARES
from mobilenet.metrics.mobile import HANDOFFS, MESSAGES, QUEUES
from mobilenet.metrics.network import NETWORK
from mobilenet.metrics.processes import OF_PROCESSES
from mobilenet.quoting import cut

OF_STUDIES: tuple[Declared, ...] = (  # studies compute them from several runs' records (lab/studies/measure.py)
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
        symbol="95 % delay, waiting incl.",
        better="lower",
    ),
    Metric(
        "delivery_delay_survival_p99_s",
        "99th percentile of the delay, including messages that are still waiting",
        unit="s",
        symbol="99 % delay, waiting incl.",
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
NEVER = "delivery_delay_survival_"  # a run without a value of these never delivered that share
SURVIVAL = tuple(metric.name for metric in OF_STUDIES if metric.name.startswith(NEVER))
FIRST = (  # in reports
    "broadcasts", "deliveries", "delivery_ratio", "broadcasts_undelivered", "delivery_delay_mean_s",
    "delivery_delay_p95_s", "messages_sent_per_delivery", "collision_loss_ratio", "station_sbuffer_mean",
    "host_rbuffer_mean", "handoffs", "handoff_duration_mean_s", "handoff_interruption_mean_s", "crashes", "gaps",
)  # fmt: skip
FIRST_OF_PROCESSES = (
    "broadcasts", "deliveries", "delivery_ratio", "latency", "delivery_latency_mean", "messages",
    "messages_per_process_mean", "packets_aggregated_share", "reception_latency_mean", "pending_max",
    "detector_messages", "crashes", "suspicions", "suspicions_taken_back",
)  # fmt: skip


def _by_name(first: tuple[str, ...], *groups: tuple[Declared, ...]) -> dict[str, Declared]:
    declared = {metric.name: metric for group in groups for metric in group}
    return {name: declared[name] for name in (*first, *declared)}


MOBILE = _by_name(
    FIRST, MESSAGES, NETWORK, QUEUES, BUFFER_SIZES, HANDOFFS, DATAGRAMS, CONNECTIONS, OF_STUDIES, LENGTHS_OF_LISTS
)  # fmt: skip
PROCESSES = _by_name(FIRST_OF_PROCESSES, OF_PROCESSES)
SIGNED = tuple(name for name, metric in MOBILE.items() if metric.signed)

PHYSICAL = ("s", "1/s", "bytes", "bytes/s", "t.u.")  # a unit of counts follows from the name
LONGEST_SYMBOL = 30  # of what has no symbol
LONGEST_WORDS, LONGEST_UNIT = 200, 40  # of a user's metric, which may have any


def meaning(metric: str, of_processes: bool = False, own: Mapping[str, Any] | None = None) -> str:
    """Describe a metric in words, with its unit; `own`: name -> (words, unit) of a user's metrics, as the manifest has
    them.
    """
    words, unit = _words_and_unit(metric, of_processes, own or {})
    return f"{words} ({unit})" if unit else words


def axis_name(metric: str, of_processes: bool = False) -> str:
    """A short name for axes and tables, with the unit if it is a physical one."""
    words, unit = _words_and_unit(metric, of_processes, {})
    known = _find(metric, of_processes)
    name = known.symbol if known is not None and known.symbol else cut(words, LONGEST_SYMBOL)
    return f"{name} ({unit})" if unit in PHYSICAL else name


def unit_of(metric: str, of_processes: bool = False) -> str:
    """Its unit, if it is a physical one."""
    unit = _words_and_unit(metric, of_processes, {})[1]
    return unit if unit in PHYSICAL else ""


def better(metric: str, of_processes: bool = False) -> str:
    """Which direction is better: "lower", "higher", or "" where that depends on what is asked."""
    known = _find(metric, of_processes)
    return known.better if known is not None else ""


def is_infinite(metric: str, run: Mapping[str, float]) -> bool:
    """Whether a run never reaches this percentile of delays, because too many messages are undelivered. `run`: its
    metrics.
    """
    return metric in SURVIVAL and metric not in run and run.get("broadcasts_undelivered", 0) > 0


def of_delays(metric: str, of_processes: bool = False) -> OfDelays | None:
    """How it follows from the delays of deliveries; None for any other metric."""
    known = _find(metric, of_processes)
    return None if known is None else known.of_delays


def limits(metric: str) -> tuple[float, float]:
    """Between which numbers each of its values is certain to be; infinite where nothing is declared."""
    known = _find(metric, False) or _find(metric, True)
    if known is None or known.signed:
        return -math.inf, math.inf
    return 0.0, 1.0 if known.words.startswith("share of ") else math.inf


def _find(metric: str, of_processes: bool) -> Declared | None:
    known = (PROCESSES if of_processes else MOBILE).get(metric) or DELAY_SHARES.get(metric)
    if known is None and not of_processes and (buffer := re.fullmatch(r"(host|station)_(.+)_(mean|max)", metric)):
        who, quantity, kind = buffer.groups()
        known = sizes(f"{who}_{quantity}", f"messages in the buffer {quantity} of a {who}")[kind == "max"]
    return known


def _words_and_unit(metric: str, of_processes: bool, own: Mapping[str, Any]) -> tuple[str, str]:
    if metric in own:
        words, unit = own[metric]
        return cut(" ".join(str(words).split()), LONGEST_WORDS), cut(" ".join(str(unit).split()), LONGEST_UNIT)
    known = _find(metric, of_processes)
    if known is not None:
        return known.words, known.unit
    stem, _, last = metric.rpartition("_")
    unit = {"s": "t.u." if of_processes else "s", "bytes": "bytes"}.get(last, "")
    return (stem if last == "s" else metric).replace("_", " "), unit

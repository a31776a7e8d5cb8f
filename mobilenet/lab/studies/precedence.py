"""Decide which of two settings may be called better. The delivery ratio takes precedence over delays.

Model     A setting that loses the slow messages has short delays. Therefore two settings are first compared by shares,
          over pairs of their runs. Each share relates what happened to what should have happened:
              delivery_ratio        deliveries made, out of those owed according to the setting's own memberships
              broadcast_ratio       messages broadcast (not refused), out of those that applications wanted to broadcast
              handoff_return_ratio  handoffs after which the host delivered again; for metrics of handoffs
              confirmed_ratio       handoffs that were not superseded by a later one; for metrics of handoffs
              valid_ratio           runs that ended with the verdict valid
          A setting is behind if the interval of the difference lies below 0. A setting is called better only if it is
          not behind in any share, and if each interval excludes a loss of more than LOSS_MARGIN. For a metric that
          itself counts deliveries (OF_DELIVERY), the broadcast ratio is ignored. Wherever one of the two settings did
          not make all deliveries, delays are compared over the deliveries that both settings made.
          In paired worlds, hosts plan their broadcasts for the same times, whatever the protocol does. So two
          deliveries are the same if they have the same sender, receiver and planned time of the broadcast. The number
          of a message is not compared, because it shifts after a refused broadcast. Two runs are paired if, for each
          host, the planned times of one run are the first planned times of the other run, because a host that leaves
          later plans more broadcasts. Only the first delivery of a message to a host counts.
Shapes    Columns of deliveries have the shape (deliveries,).
Units     Shares are between 0 and 1, and in percent in sentences. Times are integer nanoseconds, delays are in seconds.
Errors    StudyError for damaged tables, NotPaired for runs of different worlds, RunError for unreadable runs.
Source    ours: docs/guide/studies.md, with the source of the rule
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from mobilenet.engine.clock import SECOND
from mobilenet.lab.studies.configurations import PlannedRun
from mobilenet.lab.studies.statistics import t_interval
from mobilenet.lab.studies.table_files import by_run, values_of_runs
from mobilenet.metrics.declaration import OfDelays, mean
from mobilenet.metrics.deliveries import Deliveries
from mobilenet.quoting import format_number, percentage
from mobilenet.record.kinds import run_kind
from mobilenet.record.reader import RunError, read_coded, read_json

if TYPE_CHECKING:
    import pandas as pd

DELIVERED, ACCEPTED, VALID = "delivery_ratio", "broadcast_ratio", "valid_ratio"
OF_HANDOFFS = RETURNED, CONFIRMED = "handoff_return_ratio", "confirmed_ratio"
OF_DELIVERY = (DELIVERED, "broadcasts_undelivered", RETURNED)
OWED = "deliveries_owed"
CUT = "warmup_cut_s"
COUNTED = ("broadcasts", "broadcasts_offered", "handoffs", "handoffs_superseded")
NOT_READABLE = "runs not readable"  # verdict on a delay if the runs with the deliveries cannot be read
OFFERED = "broadcast of what was offered"
MOST_NAMED = 4  # maximum number of settings that a sentence lists
LOSS_MARGIN = 0.01  # A setting may be called better only if the intervals exclude a greater loss in each share.
SHARES = {  # Maps each share to its text in sentences, and to its name in objections.
    DELIVERED: ("delivered {} of what it owed to members", "the delivery ratio"),
    ACCEPTED: ("broadcast {} of what its applications offered", "the share of broadcasts"),
    RETURNED: ("delivered again after {} of its handoffs", "the share of handoffs with a delivery afterwards"),
    CONFIRMED: ("confirmed {} of its handoffs before the next one began", "the share of confirmed handoffs"),
    VALID: ("has a valid run in {} of the pairs", "the share of valid runs"),
}
KEPT_RUNS = 64  # maximum number of cached runs; consecutive pairs often have the same baseline
# verdicts that state why two settings are not paired
OTHER_BROADCASTS, USES_RUN = "not paired", "processes use the run"
UNPAIRED = {
    OTHER_BROADCASTS: "their hosts planned different broadcasts",
    USES_RUN: "custom processes depend on the run (uses_run)",
}  # These texts explain the same verdicts in sentences.


class PlannedDeliveries(NamedTuple):
    """The deliveries of messages that were broadcast in the measurement period of a run, and all times at which hosts
    planned a broadcast.
    """

    # maps each host to the planned times of its broadcasts, whether made or refused
    planned: Mapping[str, NDArray[np.int64]]
    nodes: tuple[str, ...]  # names of the nodes, in the order of their codes
    sender: NDArray[np.int64]  # codes of the sending nodes
    receiver: NDArray[np.int64]
    sent_ns: NDArray[np.int64]
    delay_ns: NDArray[np.int64]


class CommonDeliveries(NamedTuple):
    """The delays of the same deliveries in two runs."""

    delays_s: NDArray[np.float64]
    other_delays_s: NDArray[np.float64]
    is_own: NDArray[np.bool_]  # whether the sender itself made the delivery

    def count(self, metric: OfDelays) -> int:
        """Return the number of deliveries that the metric covers."""
        return int(np.count_nonzero(~self.is_own | metric.at_sender))

    def compare(self, metric: OfDelays) -> tuple[float, float] | None:
        """Return the metric of both runs, or None if it covers no deliveries."""
        counts = ~self.is_own | metric.at_sender
        own, other = metric.statistic(self.delays_s[counts]), metric.statistic(self.other_delays_s[counts])
        return None if own is None or other is None else (own, other)


class NotPaired(Exception):
    """Raised if two runs do not share the same random world. The text of the exception is a key of UNPAIRED."""


class CommonDelays(NamedTuple):
    """The values of a metric, computed from the deliveries that both settings made."""

    values: Mapping[int, tuple[float, float]]  # maps each replication to the values of the setting and of the baseline
    deliveries: int  # total number of deliveries in all pairs
    lack: str = ""  # the reason why there are no values


class Share(NamedTuple):
    """A share of a setting and of the baseline. Both are means over pairs of runs; the interval describes own -
    baseline.
    """

    name: str
    own: float
    baseline: float
    low: float
    high: float

    @property
    def differs(self) -> bool:
        """Whether the share differs in any pair."""
        return not self.low == self.high == 0


class Objection(NamedTuple):
    """The reason why a setting must not be called better."""

    why: str
    is_settled: bool  # False if there are too few data to be certain that a share is lower


class Delivered:
    """Provides the deliveries of the configurations of a study. They are read from the tables and, if single deliveries
    must be matched, from the runs.
    """

    def __init__(self, values: Mapping[str, pd.DataFrame], runs: Path, observing: Collection[int] = ()) -> None:
        """Create the object from tables. `values` contains the known quantities of SHARES, OWED and CUT, each with the
        shape replication x configuration. `observing` contains the configurations with custom processes that depend on
        the run.
        """
        self._values, self._runs, self._observing = values, runs, observing

    @classmethod
    def of_study(cls, path: Path, observing: Collection[int] = ()) -> Self:
        """Read the deliveries from the tables of a study. Raise StudyError if the tables are damaged."""
        values = values_of_runs(path, (*SHARES, OWED, CUT, *COUNTED))
        made, offered, handoffs, superseded = (values[name] for name in COUNTED)
        values[ACCEPTED] = made.fillna(0) / offered.where(offered > 0)
        begun = handoffs + superseded.fillna(0)
        values[CONFIRMED] = handoffs / begun.where(begun > 0)
        planned, done = by_run(path, "runs"), by_run(path, "tables/runs")
        values = values.reindex(values.index.union(planned.index[planned["state"] == "failed"]))
        values[VALID] = (done["verdict"] == "valid").astype(float).reindex(values.index, fill_value=0.0)
        return cls({name: values[name].unstack(0) for name in values}, path / "runs", observing)

    def _of(self, name: str, *configurations: int) -> pd.DataFrame:
        import pandas as pd

        return self._values.get(name, pd.DataFrame(dtype=float)).reindex(columns=configurations)

    def means(self, share: str) -> dict[int, float]:
        """Return the mean of a share for each configuration, over the runs that have the share."""
        return dict(self._values[share].mean().dropna())

    def shares(self, own: int, baseline: int, confidence: float) -> tuple[Share, ...]:
        """Compare all shares of two configurations over pairs of runs. Omit a share that fewer than two pairs have."""
        compared = []
        for name in SHARES:
            x, y = self._of(name, own, baseline).dropna().to_numpy().T
            if len(x) >= 2:
                interval = t_interval(x - y, confidence)
                compared.append(Share(name, float(x.mean()), float(y.mean()), interval.low, interval.high))
        return tuple(compared)

    def delays(self, own: int, baseline: int, metrics: Mapping[str, OfDelays]) -> tuple[dict[str, CommonDelays], str]:
        """Compute the metrics over the deliveries that both settings made. The mapping is empty if the delays can be
        compared directly, because both settings delivered everything that they owed. The text is the reason why values
        are missing: one of UNPAIRED, NOT_READABLE, or an empty string.
        """
        is_complete = self.is_complete(own, baseline)

        lack = USES_RUN if self.uses_run(own, baseline) else ""
        owed = self._of(OWED, own, baseline).dropna()
        if not lack and is_complete and (owed[own] == owed[baseline]).all():
            return {}, ""
        cuts = self._of(CUT, own, baseline).reindex(owed.index).max(axis=1).fillna(0.0)
        values: dict[str, dict[int, tuple[float, float]]] = {name: {} for name in metrics}
        deliveries = dict.fromkeys(metrics, 0)
        for replication, cut_s in cuts.items() if not lack else ():
            run, other = (self._runs / PlannedRun(number, replication, 0).id for number in (own, baseline))
            try:
                common = common_deliveries(run, other, cut_s)
            except (RunError, NotPaired) as error:
                lack = str(error) if isinstance(error, NotPaired) else NOT_READABLE
                break
            for name, metric in metrics.items():
                if (both := common.compare(metric)) is not None:
                    values[name][replication] = both
                    deliveries[name] += common.count(metric)
        if lack:
            return {} if is_complete else dict.fromkeys(metrics, CommonDelays({}, 0, lack)), lack
        return {name: CommonDelays(values[name], deliveries[name]) for name in metrics}, ""

    def uses_run(self, own: int, baseline: int) -> bool:
        """Return whether one of the two configurations has custom processes that depend on the run. The runs of such a
        configuration are not paired with other runs.
        """
        return own in self._observing or baseline in self._observing

    def is_complete(self, own: int, baseline: int) -> bool:
        """Return whether both configurations delivered everything that they owed."""
        known = self._of(DELIVERED, own, baseline)
        return bool((known.eq(1) | known.isna()).all(axis=None))


def common_deliveries(run: Path, other: Path, from_s: float = 0.0) -> CommonDeliveries:
    """Match the deliveries of two run directories. `from_s` is the beginning of the measurement period, if it is later
    than the scenario states. Raise NotPaired if the runs cannot be compared, or RunError if one cannot be read.
    """
    a, b = (
        _planned_deliveries(one.absolute(), read_json(one, "manifest.json").get("fingerprint")) for one in (run, other)
    )
    shared = ((a.planned[host], b.planned[host]) for host in a.planned.keys() & b.planned.keys())
    if not all(np.array_equal(x[: len(y)], y[: len(x)]) for x, y in shared):
        raise NotPaired(OTHER_BROADCASTS)
    codes = {name: code for code, name in enumerate(dict.fromkeys((*a.nodes, *b.nodes)))}
    times = np.unique(np.concatenate((a.sent_ns, b.sent_ns)))
    _, here, there = np.intersect1d(_keys(a, codes, times), _keys(b, codes, times), return_indices=True)
    later = a.sent_ns[here] >= round(from_s * SECOND)
    here, there = here[later], there[later]
    return CommonDeliveries(a.delay_ns[here] / SECOND, b.delay_ns[there] / SECOND, a.sender[here] == a.receiver[here])


def _keys(run: PlannedDeliveries, codes: Mapping[str, int], times: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a number for each delivery, computed from planned time, sender and receiver. The same delivery gets the
    same number in both runs.
    """
    joint = np.array([codes[name] for name in run.nodes], dtype=np.int64)
    planned: NDArray[np.int64] = np.searchsorted(times, run.sent_ns).astype(np.int64)
    return (planned * len(codes) + joint[run.sender]) * len(codes) + joint[run.receiver]


@lru_cache(maxsize=KEPT_RUNS)
def _planned_deliveries(run: Path, fingerprint: str | None) -> PlannedDeliveries:
    """Read the deliveries of a run. `fingerprint` ensures that the cache does not return an earlier run of the same
    name.
    """
    manifest, events = read_json(run, "manifest.json"), read_coded(run, "events")
    begin_ns, end_ns = run_kind(manifest).window_ns(manifest)
    times, event, node = events.numbers("time_ns"), events.column("event"), events.column("node")
    wishes = event.rows("broadcast", "refused")
    planned = {
        name: times[own]
        for code, name in enumerate(node.words)
        if len(own := wishes[node.codes[wishes] == code])
    }  # fmt: skip
    deliveries = Deliveries(events)
    senders = np.full(deliveries.messages, -1, dtype=np.int64)
    senders[deliveries.broadcast_message] = node.codes[deliveries.broadcasts]
    inside = deliveries.was_broadcast & (begin_ns <= deliveries.sent_ns) & (deliveries.sent_ns < end_ns)
    columns = (senders[deliveries.message], deliveries.node, deliveries.sent_ns, deliveries.delay_ns)
    sender, receiver, sent_ns, delay_ns = (column[inside].astype(np.int64) for column in columns)
    return PlannedDeliveries(planned, tuple(node.words), sender, receiver, sent_ns, delay_ns)


def shares_for(metric: str, shares: Iterable[Share]) -> list[Share]:
    """Return the shares that matter when settings are compared by this metric."""
    return [
        one for one in shares if one.name != metric and (one.name not in OF_HANDOFFS or metric.startswith("handoff"))
    ]


def opening(shares: Sequence[Share], baseline: str) -> str:
    """Return the beginning of a sentence about a setting. It states the shares that differ, any share of deliveries or
    valid runs below 1, and the setting that is behind.
    """
    lacking = [one for one in shares if one.name in (DELIVERED, VALID) and min(one.own, one.baseline) < 1]
    return "".join(f"{_share_in_words(one, baseline)}; " for one in shares if one.differs or one in lacking)


def _share_in_words(one: Share, baseline: str) -> str:
    what = SHARES[one.name][0].format(percentage(one.own))
    if not one.differs:
        return f"{what}, the same as {baseline} in every pair"
    ends = " to ".join(f"{max(-100.0, min(100.0, 100 * end)):+.3g}" for end in (one.low, one.high))
    standing = (
        "behind" if one.high < 0 else f"{baseline} is behind" if one.low > 0 else "which is behind is not settled"
    )
    return f"{what} ({baseline}: {percentage(one.baseline)}; difference {ends} percentage points; {standing})"


def objection(shares: Iterable[Share], of_baseline: bool, names: tuple[str, str]) -> Objection | None:
    """Return the reason why a setting must not be called better, or None if there is no such reason. `names` contains
    the names of the setting and the baseline.
    """
    own = names[1] if of_baseline else names[0]
    behind, unsettled = [], []
    for one in shares:
        if one.name == VALID and (one.baseline if of_baseline else one.own) == 0:
            return Objection(f"{own} has no valid run", True)
        low, high = (-one.high, -one.low) if of_baseline else (one.low, one.high)
        if high < 0:
            behind.append(SHARES[one.name][1])
        elif low < -LOSS_MARGIN:
            unsettled.append(SHARES[one.name][1])
    if behind:
        return Objection(f"{own} is behind in {' and '.join(behind)}", True)
    if unsettled:
        margin = f"{format_number(100 * LOSS_MARGIN)} percentage point"
        what = f"{own} is behind in {' or '.join(unsettled)} by more than {margin}"
        return Objection(f"it is not settled whether {what}", False)
    return None


def judgement(
    metric: str, difference: float, direction: str, shares: Sequence[Share], names: tuple[str, str]
) -> tuple[str, Objection | None]:
    """Return `better` or `worse`. If the favoured setting must not be called better, return a text that says so, and
    the objection. `direction` is the better direction, lower or higher. `names` contains the names of the setting and
    the baseline.
    """
    is_favoured = (difference < 0) == (direction == "lower")
    word, of_baseline = ("better", False) if is_favoured else ("worse", True)
    grounds = [one for one in shares if metric not in OF_DELIVERY or one.name != ACCEPTED]
    if (why := objection(grounds, of_baseline, names)) is not None:
        return f"{'lower' if difference < 0 else 'higher'}, but not called {word}, because {why.why}", why
    aside = objection([one for one in shares if one not in grounds], of_baseline, names)
    return (f"{word}, although {aside.why}" if aside is not None and aside.is_settled else word), None


def share_columns(shares: Iterable[Share]) -> dict[str, float]:
    """Return the table columns for these shares: the values of the setting and of the baseline, and the interval of the
    difference.
    """
    columns: dict[str, float] = {}
    for one in shares:
        ends = {f"{one.name}_difference_low": one.low, f"{one.name}_difference_high": one.high}
        columns |= {one.name: one.own, f"baseline_{one.name}": one.baseline} | ends
    return columns


def as_shares(rows: Any) -> list[Share]:
    """Read the shares from comparison.json. Raise TypeError or ValueError if they are malformed."""
    return [Share(str(row["name"]), *(float(row[key]) for key in Share._fields[1:])) for row in rows]


def shares_in_words(delivered: Mapping[str, float], accepted: Mapping[str, float]) -> list[str]:
    """Return the delivery and broadcast ratios of several settings in words, if they are noteworthy. They are
    noteworthy if not everything owed to members was delivered, or if the broadcast ratios differ by more than
    LOSS_MARGIN.
    """
    lines = []
    if delivered and min(delivered.values()) < 1:
        lines.append(f"delivered of what was owed to members: {_each(delivered)}")
    if accepted and max(accepted.values()) - min(accepted.values()) > LOSS_MARGIN:
        lines.append(f"{OFFERED}: {_each(accepted)}")
    return lines


def _each(shares: Mapping[str, float]) -> str:
    """Return the share of each setting in words. If there are many settings, return only the range."""
    if len(shares) > MOST_NAMED:
        return f"{percentage(min(shares.values()))} to {percentage(max(shares.values()))}"
    return ", ".join(f"{name} {percentage(share)}" for name, share in shares.items())


def mean_shares(rows: Sequence[Mapping[str, float]]) -> tuple[float | None, float | None]:
    """Return the mean delivery ratio and the mean broadcast ratio of runs, computed from their metrics. A ratio that
    was not measured is None.
    """
    delivered = [row[DELIVERED] for row in rows if DELIVERED in row]
    accepted = [row.get("broadcasts", 0.0) / offered for row in rows if (offered := row.get("broadcasts_offered", 0.0))]
    return mean(delivered), mean(accepted)

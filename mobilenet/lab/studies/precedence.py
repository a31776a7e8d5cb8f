"""The delivery ratio comes first: which of two settings may be called better?

Model     a setting that loses what is slow has short delays. So two settings are first compared by shares, pair by pair
          of their runs; all of them count what ought to have happened:
              delivery_ratio        of the deliveries that it owed, by its own memberships
              broadcast_ratio       of the messages that its applications wanted to broadcast, those not refused
              handoff_return_ratio  of handoffs, those after which the host delivered again; for metrics of handoffs
              confirmed_ratio       of handoffs, those that no later one superseded; for metrics of handoffs
              valid_ratio           of its runs, those that ended and whose verdict is valid
          A setting is behind if the interval of the difference lies below 0. It is called better only if it is not
          behind in any share, and if each interval excludes a loss of more than LOSS_MARGIN. A metric that itself
          counts deliveries (OF_DELIVERY) is judged as it is, whatever was broadcast. Delays are compared over the
          deliveries that both made wherever one of the two did not make all.
          In paired worlds, hosts plan their broadcasts for the same times, whatever the protocol does. So two
          deliveries are the same if they have the same sender, receiver and planned time of the broadcast. The number
          of a message shifts after a refused broadcast, and is not compared. Two runs are paired if, for each host, the
          planned times of one run are the first of the other, because a host that leaves later plans more. The first
          delivery of a message to a host counts
Shapes    of deliveries: columns (deliveries,)
Units     shares from 0 to 1; percent in words; integer nanoseconds; delays in seconds
Errors    StudyError for damaged tables; NotPaired; RunError for a run that cannot be read
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
NOT_READABLE = "runs not readable"  # a verdict on a delay
OFFERED = "broadcast of what was offered"
MOST_NAMED = 4  # settings in a sentence
LOSS_MARGIN = 0.01  # of a share: the most that a setting may lose and still be called better
SHARES = {  # in words: of a setting, and in which share it is behind
    DELIVERED: ("delivered {} of what it owed to members", "the delivery ratio"),
    ACCEPTED: ("broadcast {} of what its applications offered", "the share of broadcasts"),
    RETURNED: ("delivered again after {} of its handoffs", "the share of handoffs with a delivery afterwards"),
    CONFIRMED: ("confirmed {} of its handoffs before the next one began", "the share of confirmed handoffs"),
    VALID: ("has a valid run in {} of the pairs", "the share of valid runs"),
}
KEPT_RUNS = 64  # the baseline of a pair is often that of the next
OTHER_BROADCASTS, USES_RUN = "not paired", "processes use the run"  # why two settings are not paired, as verdicts
UNPAIRED = {
    OTHER_BROADCASTS: "their hosts planned different broadcasts",
    USES_RUN: "custom processes depend on the run (uses_run)",
}  # in words


class PlannedDeliveries(NamedTuple):
    """The deliveries of messages broadcast in a run's measurement period, and all times at which hosts planned one."""

    planned: Mapping[str, NDArray[np.int64]]  # host -> times of its broadcasts, made or refused
    nodes: tuple[str, ...]  # by code
    sender: NDArray[np.int64]  # codes
    receiver: NDArray[np.int64]
    sent_ns: NDArray[np.int64]
    delay_ns: NDArray[np.int64]


class CommonDeliveries(NamedTuple):
    """The delays of the same deliveries in two runs."""

    delays_s: NDArray[np.float64]
    other_delays_s: NDArray[np.float64]
    is_own: NDArray[np.bool_]  # the delivery is at the sender

    def count(self, metric: OfDelays) -> int:
        """Return the number of deliveries in the metric."""
        return int(np.count_nonzero(~self.is_own | metric.at_sender))

    def compare(self, metric: OfDelays) -> tuple[float, float] | None:
        """Return the metric of either run, or None without deliveries."""
        counts = ~self.is_own | metric.at_sender
        own, other = metric.statistic(self.delays_s[counts]), metric.statistic(self.other_delays_s[counts])
        return None if own is None or other is None else (own, other)


class NotPaired(Exception):
    """Two runs are not of one world. The text is a key of UNPAIRED."""


class CommonDelays(NamedTuple):
    """A metric over the deliveries that both settings made."""

    values: Mapping[int, tuple[float, float]]  # replication -> own, baseline
    deliveries: int  # number in all pairs
    lack: str = ""  # why there are none


class Share(NamedTuple):
    """A share of two settings: the means over pairs of runs, and the interval of their difference, own - baseline."""

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
    is_settled: bool  # False: its shares have not been shown to be lower, nor to be as good


class Delivered:
    """The deliveries of a study's configurations, from its tables and, if delays must be matched, its runs."""

    def __init__(self, values: Mapping[str, pd.DataFrame], runs: Path, observing: Collection[int] = ()) -> None:
        """Set up the deliveries. `values`: SHARES, OWED and CUT, if they are known, each replication x configuration;
        `observing`: the configurations with custom processes that depend on the run.
        """
        self._values, self._runs, self._observing = values, runs, observing

    @classmethod
    def of_study(cls, path: Path, observing: Collection[int] = ()) -> Self:
        """Read the tables of a study. Raise StudyError if they are damaged."""
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
        """Return the values of these configurations, by replication."""
        import pandas as pd

        return self._values.get(name, pd.DataFrame(dtype=float)).reindex(columns=configurations)

    def means(self, share: str) -> dict[int, float]:
        """Return the mean of a share over the runs of each configuration that has it."""
        return dict(self._values[share].mean().dropna())

    def shares(self, own: int, baseline: int, confidence: float) -> tuple[Share, ...]:
        """Compare two configurations, pair by pair. A share that fewer than two pairs have is omitted."""
        compared = []
        for name in SHARES:
            x, y = self._of(name, own, baseline).dropna().to_numpy().T
            if len(x) >= 2:
                interval = t_interval(x - y, confidence)
                compared.append(Share(name, float(x.mean()), float(y.mean()), interval.low, interval.high))
        return tuple(compared)

    def delays(self, own: int, baseline: int, metrics: Mapping[str, OfDelays]) -> tuple[dict[str, CommonDelays], str]:
        """Compute metrics over the deliveries that both settings made; empty if no delivery has to be omitted, because
        both delivered all that they owed. Also return why there are none: one of UNPAIRED, NOT_READABLE, or empty.
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
        """Return whether custom processes of one of the two depend on the run, so that no runs are paired."""
        return own in self._observing or baseline in self._observing

    def is_complete(self, own: int, baseline: int) -> bool:
        """Return whether both delivered all that they owed."""
        known = self._of(DELIVERED, own, baseline)
        return bool((known.eq(1) | known.isna()).all(axis=None))


def common_deliveries(run: Path, other: Path, from_s: float = 0.0) -> CommonDeliveries:
    """Match the deliveries of two run directories. `from_s`: when the measurement period begins, if it is later than
    the scenario states. Raise NotPaired, or RunError for a run that cannot be read.
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
    """Return a number for each delivery by planned time, sender and receiver, the same way in both runs."""
    joint = np.array([codes[name] for name in run.nodes], dtype=np.int64)
    planned: NDArray[np.int64] = np.searchsorted(times, run.sent_ns).astype(np.int64)
    return (planned * len(codes) + joint[run.sender]) * len(codes) + joint[run.receiver]


@lru_cache(maxsize=KEPT_RUNS)
def _planned_deliveries(run: Path, fingerprint: str | None) -> PlannedDeliveries:
    """Read a run. `fingerprint`: to detect another run that has taken its name."""
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
    """Return the shares on which a comparison by this metric depends."""
    return [
        one for one in shares if one.name != metric and (one.name not in OF_HANDOFFS or metric.startswith("handoff"))
    ]


def opening(shares: Sequence[Share], baseline: str) -> str:
    """Return the opening of a sentence about a setting: the shares that differ, or that no setting should lack, and
    which setting is behind.
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
    """Return why a setting must not be called better, or None if it may be. `names`: of setting and baseline."""
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
    """Return `better` or `worse`, or that the favoured setting is not called better, and why. `direction`: which one is
    better, lower or higher; `names`: of the setting and the baseline.
    """
    is_favoured = (difference < 0) == (direction == "lower")
    word, of_baseline = ("better", False) if is_favoured else ("worse", True)
    grounds = [one for one in shares if metric not in OF_DELIVERY or one.name != ACCEPTED]
    if (why := objection(grounds, of_baseline, names)) is not None:
        return f"{'lower' if difference < 0 else 'higher'}, but not called {word}, because {why.why}", why
    aside = objection([one for one in shares if one not in grounds], of_baseline, names)
    return (f"{word}, although {aside.why}" if aside is not None and aside.is_settled else word), None


def share_columns(shares: Iterable[Share]) -> dict[str, float]:
    """Return the columns of tables: each share of a setting and of the baseline, and the interval of the difference."""
    columns: dict[str, float] = {}
    for one in shares:
        ends = {f"{one.name}_difference_low": one.low, f"{one.name}_difference_high": one.high}
        columns |= {one.name: one.own, f"baseline_{one.name}": one.baseline} | ends
    return columns


def as_shares(rows: Any) -> list[Share]:
    """Read the shares in comparison.json. Raise TypeError or ValueError if they are malformed."""
    return [Share(str(row["name"]), *(float(row[key]) for key in Share._fields[1:])) for row in rows]


def shares_in_words(delivered: Mapping[str, float], accepted: Mapping[str, float]) -> list[str]:
    """Return what several settings delivered and broadcast, by name, if it is noteworthy: not all that they owed to
    members, or shares of the offered broadcasts that differ by more than LOSS_MARGIN.
    """
    lines = []
    if delivered and min(delivered.values()) < 1:
        lines.append(f"delivered of what was owed to members: {_each(delivered)}")
    if accepted and max(accepted.values()) - min(accepted.values()) > LOSS_MARGIN:
        lines.append(f"{OFFERED}: {_each(accepted)}")
    return lines


def _each(shares: Mapping[str, float]) -> str:
    """Return each share or, if there are many, the range."""
    if len(shares) > MOST_NAMED:
        return f"{percentage(min(shares.values()))} to {percentage(max(shares.values()))}"
    return ", ".join(f"{name} {percentage(share)}" for name, share in shares.items())


def mean_shares(rows: Sequence[Mapping[str, float]]) -> tuple[float | None, float | None]:
    """Return the mean delivery ratio of runs by their metrics, and the mean share of the offered broadcasts that they
    made; None if it was not measured.
    """
    delivered = [row[DELIVERED] for row in rows if DELIVERED in row]
    accepted = [row.get("broadcasts", 0.0) / offered for row in rows if (offered := row.get("broadcasts_offered", 0.0))]
    return mean(delivered), mean(accepted)

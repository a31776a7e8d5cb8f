"""The delivery ratio comes first: which of two settings may be called better.

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
          deliveries that both made (common_deliveries.py) wherever one of the two did not make all
Units     shares from 0 to 1; percent in words
Errors    StudyError for damaged tables
Source    ours: docs/guide/studies.md, with the source of the rule
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from mobilenet.lab.studies.common_deliveries import USES_RUN, NotPaired, common_deliveries
from mobilenet.lab.studies.configurations import PlannedRun
from mobilenet.lab.studies.statistics import t_interval
from mobilenet.lab.studies.table_files import by_run, values_of_runs
from mobilenet.metrics.declaration import OfDelays, mean
from mobilenet.quoting import format_number, percentage
from mobilenet.record.reader import RunError

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
LOSS_MARGIN = 0.01  # of a share: what a setting may lose and still be called better
SHARES = {  # in words: of a setting, and what it is behind in
    DELIVERED: ("delivered {} of what it owed to members", "the delivery ratio"),
    ACCEPTED: ("broadcast {} of what its applications offered", "the share of broadcasts"),
    RETURNED: ("delivered again after {} of its handoffs", "the share of handoffs with a delivery afterwards"),
    CONFIRMED: ("confirmed {} of its handoffs before the next one began", "the share of confirmed handoffs"),
    VALID: ("has a valid run in {} of the pairs", "the share of valid runs"),
}


class CommonDelays(NamedTuple):
    """A metric over the deliveries that both settings made."""

    values: Mapping[int, tuple[float, float]]  # replication -> own, baseline
    deliveries: int  # in all pairs
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
        """Whether it differs in any pair."""
        return not self.low == self.high == 0

    @property
    def is_worth_a_word(self) -> bool:
        """Whether it differs, or both settings lack something that no setting should lack."""
        return self.differs or (self.name in (DELIVERED, VALID) and min(self.own, self.baseline) < 1)


class Objection(NamedTuple):
    """Why a setting must not be called better."""

    why: str
    is_settled: bool  # False: its shares have not been shown to be lower, nor not to be


class Delivered:
    """What the configurations of a study delivered; from its tables and, where delays have to be matched, its runs."""

    def __init__(self, values: Mapping[str, pd.DataFrame], runs: Path, observing: Collection[int] = ()) -> None:
        """`values`: SHARES, OWED and CUT, as far as they are known, each replication x configuration; `observing`: the
        configurations with custom processes that depend on the run.
        """
        self._values, self._runs, self._observing = values, runs, observing

    @classmethod
    def of_study(cls, path: Path, observing: Collection[int] = ()) -> Self:
        """Read the tables of a study. Raises StudyError."""
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
        """Compare two configurations, pair by pair; a share that fewer than two pairs have is left out."""
        compared = []
        for name in SHARES:
            x, y = self._of(name, own, baseline).dropna().to_numpy().T
            if len(x) >= 2:
                interval = t_interval(x - y, confidence)
                compared.append(Share(name, float(x.mean()), float(y.mean()), interval.low, interval.high))
        return tuple(compared)

    def delays(self, own: int, baseline: int, metrics: Mapping[str, OfDelays]) -> tuple[dict[str, CommonDelays], str]:
        """Compute metrics over the deliveries that both settings made; empty where no delivery has to be left out,
        because both delivered all that they owed. Also return why there are none: one of UNPAIRED, NOT_READABLE, or
        empty.
        """
        is_complete = self.is_complete(own, baseline)

        def none(lack: str) -> tuple[dict[str, CommonDelays], str]:
            return {} if is_complete else dict.fromkeys(metrics, CommonDelays({}, 0, lack)), lack

        if self.uses_run(own, baseline):
            return none(USES_RUN)
        owed = self._of(OWED, own, baseline).dropna()
        if is_complete and (owed[own] == owed[baseline]).all():
            return {}, ""
        cuts = self._of(CUT, own, baseline).reindex(owed.index).max(axis=1).fillna(0.0)
        values: dict[str, dict[int, tuple[float, float]]] = {name: {} for name in metrics}
        deliveries = dict.fromkeys(metrics, 0)
        for replication, cut_s in cuts.items():
            run, other = (self._runs / PlannedRun(number, replication, 0).id for number in (own, baseline))
            try:
                common = common_deliveries(run, other, cut_s)
            except (RunError, NotPaired) as error:
                return none(str(error) if isinstance(error, NotPaired) else NOT_READABLE)
            for name, metric in metrics.items():
                if (both := common.compare(metric)) is not None:
                    values[name][replication] = both
                    deliveries[name] += common.count(metric)
        return {name: CommonDelays(values[name], deliveries[name]) for name in metrics}, ""

    def uses_run(self, own: int, baseline: int) -> bool:
        """Whether custom processes of one of the two depend on the run, so that no runs are paired."""
        return own in self._observing or baseline in self._observing

    def is_complete(self, own: int, baseline: int) -> bool:
        """Whether both delivered all that they owed."""
        known = self._of(DELIVERED, own, baseline)
        return bool((known.eq(1) | known.isna()).all(axis=None))


def shares_for(metric: str, shares: Iterable[Share]) -> list[Share]:
    """Return those that a comparison by this metric depends on."""
    return [
        one for one in shares if one.name != metric and (one.name not in OF_HANDOFFS or metric.startswith("handoff"))
    ]


def opening(shares: Iterable[Share], baseline: str) -> str:
    """Return what a sentence about a setting opens with: the shares that differ, and which setting is behind."""
    return "".join(f"{_share_in_words(one, baseline)}; " for one in shares if one.is_worth_a_word)


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
    """Return why a setting must not be called better; None: it may be. `names`: of the setting and the baseline."""
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
    """Read what comparison.json holds of them. Raises TypeError, ValueError."""
    return [Share(str(row["name"]), *(float(row[key]) for key in Share._fields[1:])) for row in rows]


def shares_in_words(delivered: Mapping[str, float], accepted: Mapping[str, float]) -> list[str]:
    """State what several settings delivered and broadcast, by their names, where that is worth a word: not all that
    they owed to members, or shares of what was offered that differ by more than LOSS_MARGIN.
    """
    lines = []
    if delivered and min(delivered.values()) < 1:
        lines.append(f"delivered of what was owed to members: {_each(delivered)}")
    if accepted and max(accepted.values()) - min(accepted.values()) > LOSS_MARGIN:
        lines.append(f"{OFFERED}: {_each(accepted)}")
    return lines


def _each(shares: Mapping[str, float]) -> str:
    """Each one, or of many the range."""
    if len(shares) > MOST_NAMED:
        return f"{percentage(min(shares.values()))} to {percentage(max(shares.values()))}"
    return ", ".join(f"{name} {percentage(share)}" for name, share in shares.items())


def mean_shares(rows: Sequence[Mapping[str, float]]) -> tuple[float | None, float | None]:
    """Return the mean delivery ratio of runs by their metrics, and the mean share of what was offered that they
    broadcast; None where it was not measured.
    """
    delivered = [row[DELIVERED] for row in rows if DELIVERED in row]
    accepted = [row.get("broadcasts", 0.0) / offered for row in rows if (offered := row.get("broadcasts_offered", 0.0))]
    return mean(delivered), mean(accepted)

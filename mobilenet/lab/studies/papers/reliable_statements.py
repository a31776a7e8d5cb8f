"""Check the statements of the reliable broadcast paper, sentence by sentence.

Model     A statement is a row of data/papers/jeanneau2017_reliable.csv with the sizes that it refers to. The function
          with the same name in this module returns comparisons of results of one size. The statement holds at a size if
          all these comparisons hold; without comparisons, it does not apply to this size. A size is checked only if it
          was run, and if the sizes with which it is compared were run as well. For "much", "slightly" or "considerably"
          without a number, only the direction is checked.
Exact     "the same" and "no effect" have no tolerance. "similar" means a difference of at most a tenth, which this
          project chose.
Units     Time units and messages.
Source    Jeanneau et al. (JBCS 2017), "Discussion on the performance" and "Experimental evaluation"; ours:
          docs/protocols/vcube.md
"""

from __future__ import annotations

import csv
import operator
from collections.abc import Callable
from functools import cache
from itertools import chain
from typing import Any, NamedTuple

from mobilenet.lab.package_files import PAPERS
from mobilenet.lab.studies.papers.jobs import SCENARIOS, SIZES
from mobilenet.lab.studies.papers.reliable_counts import Counts

PRINTED = PAPERS / "jeanneau2017_reliable.csv"
FREE, T0, T1, SOURCE, RANDOM = (
    "fault-free",
    "crash of p(n/2) at t0",
    "crash of p(n/2) at t1",
    "crash of the source",
    "random crashes",
)
OTHERS = {at: tuple(f"crash of {who} at {at[-2:]}" for who in ("p1", "p(n-1)")) for at in (T0, T1)}
BEFORE = "p(n/2) suspected before"
ALONE = "p(n/2) wrongly suspected only by p0"
ALL_MISTAKEN = "p(n/2) wrongly suspected by all"
EVERYBODY = "p0 wrongly suspects all others"
NOTICED = "crash of the source, without a broadcast"
V, A, D = "VCube-RB", "All-RB", "DPath-RB"
SEND = 0.1  # time to send one message in the scenario
SIMILAR = 0.1
SIGNS: dict[str, tuple[Callable[[float, float], bool], str]] = {
    "<": (operator.lt, "below "), ">": (operator.gt, "above "), "≤": (operator.le, "at most "),
    "≥": (operator.ge, "at least "),
    "=": (operator.eq, ""), "≠": (operator.ne, "other than "),
}  # fmt: skip
Claim = tuple[float, str, float]
Check = Callable[["Runs", int], list[Claim]]


class Runs(NamedTuple):
    """The results that statements compare. Access to a run that was not made raises KeyError."""

    table: dict[tuple[str, str, int], dict[str, Any]]  # keys have the form (experiment, protocol, n)
    counted: dict[tuple[str, str, int], Counts]

    def latency(self, experiment: str, protocol: str, n: int) -> float:
        return float(self.table[experiment, protocol, n]["latency"])

    def growth(self, protocol: str, n: int) -> float:
        """Return how much the latency grows from n / 2 to n processes."""
        return round(self.latency(FREE, protocol, n) - self.latency(FREE, protocol, n // 2), 6)

    def messages(self, experiment: str, protocol: str, n: int, kind: str = "messages") -> float:
        return float(self.table[experiment, protocol, n][kind])

    def counts(self, experiment: str, protocol: str, n: int) -> Counts:
        return self.counted[experiment, protocol, n]


def statements(run_sizes: list[int], runs: Runs) -> dict[str, tuple[str, str]]:
    """Return each statement with the verdict over all its sizes, and the reason."""
    answers = {}
    with PRINTED.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            spoken = [n for n in SIZES if int(row["smallest"] or 0) <= n <= int(row["largest"] or n)]
            answers[row["id"]] = judge_statement(CHECKS[row["id"]], runs, spoken, run_sizes)
    return answers


def judge_statement(check: Check, runs: Runs, spoken: list[int], run_sizes: list[int]) -> tuple[str, str]:
    """Return the verdict (hold, hold in part, fail, not checked), and the sizes that it applies to."""
    holding, failing, unchecked = [], [], []
    for n in spoken:
        try:
            claims = check(runs, n) if n in run_sizes else None
        except KeyError:
            claims = None
        if claims is None:
            unchecked.append(str(n))
        elif claims:
            wrong = dict.fromkeys(_wrong(*claim) for claim in claims if not SIGNS[claim[1]][0](claim[0], claim[2]))
            if wrong:
                failing.append(f"{n} ({'; '.join(wrong)})")
            else:
                holding.append(str(n))
    parts = []
    if failing:
        parts.append(f"fails for n = {', '.join(failing)}")
    if holding:
        parts.append("holds" if not failing and not unchecked else f"holds for n = {', '.join(holding)}")
    if unchecked:
        parts.append(f"not checked for n = {', '.join(unchecked)}")
    verdict = ("hold in part" if holding else "fail") if failing else "hold" if holding else "not checked"
    return verdict, "; ".join(parts) or "not checked: it names no size"


def _wrong(left: float, sign: str, right: float) -> str:
    return f"{round(left, 2):.10g}, expected {SIGNS[sign][1]}{round(right, 2):.10g}"


@cache
def interval() -> float:
    """Return the time between two rounds of the detector in the scenario."""
    from mobilenet.scenario import ProcessScenario

    detector = ProcessScenario.load(SCENARIOS / "reliable.yaml").detector
    assert detector is not None
    return detector.interval


def first(counts: Counts) -> float:
    return min(at for at in counts.suspected if at is not None)


def by_source(counts: Counts) -> float:
    at = counts.suspected[0]
    assert at is not None
    return at


def log(n: int) -> int:
    return (n - 1).bit_length()


def compare(left: tuple[str, str], sign: str, right: tuple[str, str], quantity: str = "latency") -> Check:
    """Return a check that compares a quantity of two experiments."""
    return lambda r, n: [(r.table[(*left, n)][quantity], sign, r.table[(*right, n)][quantity])]


def value(experiment: str, protocol: str, quantity: str, sign: str, expected: Callable[[int], float]) -> Check:
    return lambda r, n: [(r.messages(experiment, protocol, n, quantity), sign, expected(n))]


def every(*checks: Check) -> Check:
    return lambda r, n: list(chain.from_iterable(check(r, n) for check in checks))


def by_counts(experiment: str, protocol: str, claims: Callable[[Counts, int], list[Claim]]) -> Check:
    return lambda r, n: claims(r.counts(experiment, protocol, n), n)


def same(left: tuple[str, str], right: tuple[str, str], *quantities: str) -> Check:
    return every(*(compare(left, "=", right, quantity) for quantity in quantities))


def exactly(values: list[int], expected: int) -> list[Claim]:
    """Claim that each of these values equals the expected value."""
    return [(min(values), "=", expected), (max(values), "=", expected)]


def inside(c: Counts, n: int, times: int) -> list[Claim]:
    """Claim that each correct process in the cluster of p(n/2), as p0 sees it, receives this number of TREE
    messages.
    """
    return exactly(c.received["tree"][n // 2 + 1 :], times)


def outside(c: Counts, n: int) -> list[Claim]:
    return exactly(c.received["tree"][1 : n // 2], 1)


def next_one(c: Counts, n: int) -> list[Claim]:
    return [(c.source_trees.count(n // 2 + 1), "=", 1)]


def at_detection(experiment: str) -> Check:
    """Return a check that the latency equals the time of detection. It makes no claim if the broadcast completes
    earlier.
    """

    def check(r: Runs, n: int) -> list[Claim]:
        latency, at = r.latency(experiment, A, n), by_source(r.counts(experiment, A, n))
        return [(latency, "=", at)] if latency >= at else []

    return check


def same_detection(r: Runs, n: int) -> list[Claim]:
    pairs = [zip(r.counts(t, V, n).suspected, r.counts(t, A, n).suspected, strict=True) for t in (T0, T1)]
    return [(sum(a != b for a, b in pair), "=", 0) for pair in pairs]


def again(r: Runs, n: int, protocol: str) -> float:
    """Return the number of TREE messages beyond the first one to each process."""
    return r.messages(SOURCE, protocol, n, "trees") - (n - 1)


def similar(r: Runs, n: int) -> list[Claim]:
    differences = [r.latency(SOURCE, D, n) / r.latency(t, D, n) - 1 for t in (T0, T1)]
    return [(round(abs(part), 6), "≤", SIMILAR) for part in differences]


def best(experiment: str, quantity: str) -> Check:
    return every(*(compare((experiment, D), "<", (experiment, p), quantity) for p in (V, A)))


CHECKS: dict[str, Check] = {
    # Statements of the discussion on the performance:
    "goal": by_counts(FREE, V, lambda c, n: [(max(map(sum, zip(*c.sent.values(), strict=True))), "≤", log(n))]),
    "best_per_cluster": by_counts(FREE, V, lambda c, n: [(c.most_per_cluster, "≤", 1)]),
    "best_trees": value(FREE, V, "trees", "=", lambda n: n - 1),
    "best_once": by_counts(FREE, V, lambda c, n: [(max(c.received["tree"]), "≤", 1)]),
    "best_per_process": by_counts(FREE, V, lambda c, n: [(max(c.sent["tree"]), "≤", log(n))]),
    "suspected_before_tree": value(BEFORE, V, "trees", "=", lambda n: n - 2),
    "suspected_before_delv": value(BEFORE, V, "delvs", "=", lambda n: 1),
    "suspected_alone_tree": value(ALONE, V, "trees", "=", lambda n: n - 2),
    "suspected_alone_delv": value(ALONE, V, "delvs", "=", lambda n: 1),
    "suspected_per_process": every(*(by_counts(e, V, lambda c, n: [(max(c.sent["tree"]), "≤", log(n)),
    (max(c.sent["delv"]), "≤", 1)]) for e in (BEFORE, ALONE))),
    "tree_reaches_all": every(*(by_counts(e, V, lambda c, n: [(min(c.received["tree"][1:]), "≥", 1)]) for e in (FREE,
    ALONE))),
    "everybody_delv": value(EVERYBODY, V, "delvs", "=", lambda n: n - 1),
    "everybody_one_to_all": by_counts(EVERYBODY, V, lambda c, n: [(c.sent["delv"][0], "=", n - 1), (sum(map(sum,
    c.sent.values())), "=", n - 1)]),
    "resend_costs_most": compare((SOURCE, V), ">", (T1, V), "messages"),
    "false_as_true": same((ALL_MISTAKEN, V), (BEFORE, V), "trees", "delvs", "acks"),
    # Statements about approaches and parameters:
    "dpath_no_acks": every(*(value(e, D, "acks", "=", lambda n: 0) for e in (FREE, T0, T1, SOURCE, RANDOM))),
    "dpath_delivers": value(RANDOM, D, "not valid", "=", lambda n: 0),
    "all_waits_no_longer": every(*(value(t, A, "complete", "=", lambda n: 1) for t in (T0, T1))),
    "same_detection": same_detection,
    # Statements about runs without faulty processes:
    "all_below_vcube": compare((FREE, A), "<", (FREE, V)),
    "all_below_dpath": compare((FREE, A), "<", (FREE, D)),
    "all_above_vcube": compare((FREE, A), ">", (FREE, V)),
    "all_above_dpath": compare((FREE, A), ">", (FREE, D)),
    "all_grows_faster_vcube": lambda r, n: [(r.growth(A, n), ">", r.growth(V, n))],
    "all_grows_faster_dpath": lambda r, n: [(r.growth(A, n), ">", r.growth(D, n))],
    "all_grows_by_copies": lambda r, n: [(r.growth(A, n), "=", round(SEND * (n - n // 2), 6))],
    "source_sends_few": by_counts(FREE, V, lambda c, n: [(c.sent["tree"][0], "=", log(n)), (len(set(c.source_trees)),
    "=", log(n))]),
    "neighbours_forward": by_counts(FREE, V, lambda c, n: [(sum(c.sent["tree"][1:]), "=", n - 1 - log(n))]),
    "all_one_sender": by_counts(FREE, A, lambda c, n: [(c.sent["tree"][0], "=", n - 1), (max(c.sent["tree"][1:]), "=",
    0)]),
    "dpath_below_vcube": compare((FREE, D), "<", (FREE, V)),
    "vcube_scales": lambda r, n: [(r.growth(V, n), "≤", r.growth(V, n // 2))],
    "messages_same": compare((FREE, V), "=", (FREE, A), "messages"),
    "messages_trees": every(*(value(FREE, p, "messages", "=", lambda n: 2 * (n - 1)) for p in (V, A))),
    "messages_kinds": every(*(value(FREE, p, kind, "=", lambda n: n - 1) for p in (V, A) for kind in ("trees",
    "acks"))),
    "dpath_more": every(*(compare((FREE, D), ">", (FREE, p), "messages") for p in (V, A))),
    "dpath_copies": by_counts(FREE, D, lambda c, n: exactly(c.received["copy"][1:], log(n))),
    # Statements about one faulty node in the subtree:
    "any_process_all": every(*(same((t, A), (o, A), "latency", "messages") for t in (T0, T1) for o in OTHERS[t])),
    "any_process_dpath": every(*(same((t, D), (o, D), "latency", "messages") for t in (T0, T1) for o in OTHERS[t])),
    "no_extra_at_t0": every(*(compare((T0, p), "≤", (FREE, p), "messages") for p in (V, A, D))),
    "next_at_t0": by_counts(T0, V, next_one),
    "once_at_t0": by_counts(T0, V, lambda c, n: inside(c, n, 1)),
    "forwards_before_t1": by_counts(T1, V, lambda c, n: [(c.sent["tree"][n // 2], "=", log(n) - 1)]),
    "next_at_t1": by_counts(T1, V, next_one),
    "twice_at_t1": by_counts(T1, V, lambda c, n: inside(c, n, 2)),
    "delivered_once_at_t1": every(value(T1, V, "deliveries", "=", lambda n: n),
    value(T1, V, "not valid", "=", lambda n: 0)),
    "second_round_at_t1": by_counts(T1, V, lambda c, n: [(first(c), "≥", interval()), (by_source(c), "<",
    2 * interval())]),
    "completed_at_t1": value(T1, V, "complete", "=", lambda n: 1),
    "higher_vcube_t0": compare((T0, V), ">", (FREE, V)),
    "higher_vcube_t1": compare((T1, V), ">", (FREE, V)),
    "higher_all_t0": compare((T0, A), ">", (FREE, A)),
    "higher_all_t1": compare((T1, A), ">", (FREE, A)),
    "all_at_detection_t0": at_detection(T0),
    "all_at_detection_t1": at_detection(T1),
    "suspected_get_it": every(value(BEFORE, A, "trees", "=", lambda n: n - 1),
    value(BEFORE, V, "delvs", "≥", lambda n: 1)),
    "in_the_cluster": every(*(by_counts(t, V, outside) for t in (T0, T1))),
    "more_at_t1": compare((T1, V), ">", (FREE, V), "messages"),
    "more_than_all_at_t1": compare((T1, V), ">", (T1, A), "messages"),
    "vcube_higher_small_t0": compare((T0, V), ">", (T0, A)),
    "vcube_higher_small_t1": compare((T1, V), ">", (T1, A)),
    "all_higher_big_t0": compare((T0, A), ">", (T0, V)),
    "all_higher_big_t1": compare((T1, A), ">", (T1, V)),
    "all_second_round": lambda r, n: [(r.latency(T1, A, n), "≥", interval())],
    "all_higher_than_t0": compare((T1, A), ">", (T0, A)),
    "all_higher_than_vcube": compare((T1, A), ">", (T1, V)),
    "dpath_unaffected_t0": compare((T0, D), "=", (FREE, D)),
    "dpath_unaffected_t1": compare((T1, D), "=", (FREE, D)),
    "dpath_fewer": compare((T0, D), "<", (FREE, D), "messages"),
    # Statements about the failure of the source:
    "source_has_sent": every(*(value(SOURCE, p, "never_left", "=", lambda n: 0) for p in (V, A))),
    "source_all_receive": every(*(value(SOURCE, p, "deliveries", "=", lambda n: n) for p in (V, A))),
    "source_noticed": by_counts(SOURCE, V, lambda c, n: [(sum(at is not None for at in c.suspected), "=", n - 1)]),
    "source_restarts_vcube": by_counts(SOURCE, V, lambda c, n: [(min(c.sent["tree"][1:]), "≥", 1)]),
    "source_restarts_all": value(SOURCE, A, "trees", "=", lambda n: (n - 1) * n),
    "source_first_round_vcube": by_counts(SOURCE, V, lambda c, n: [(first(c), "<", interval())]),
    "source_first_round_all": by_counts(NOTICED, A, lambda c, n: [(first(c), "<", interval())]),
    "source_dpath_once": compare((SOURCE, D), "≤", (FREE, D), "messages"),
    "source_latency": compare((SOURCE, V), "<", (SOURCE, A)),
    "source_messages": compare((SOURCE, V), "<", (SOURCE, A), "messages"),
    "imbalance_vcube": lambda r, n: [(r.messages(SOURCE, V, n, "trees"), "≠", r.messages(SOURCE, V, n, "acks"))],
    "imbalance_all": lambda r, n: [(r.messages(SOURCE, A, n, "trees"), "≠", r.messages(SOURCE, A, n, "acks"))],
    "no_ack_to_faulty": by_counts(SOURCE, V, lambda c, n: [(c.received["ack"][0], "=", 0)]),
    "ack_cancelled": by_counts(SOURCE, V, lambda c, n: [(c.acks_to_suspected, "=", 0)]),
    "sent_again_fewer": lambda r, n: [(again(r, n, V), "<", again(r, n, A))],
    "source_dpath_latency": similar,
    "source_dpath_messages": every(compare((SOURCE, D), "≥", (T0, D), "messages"),
    compare((SOURCE, D), "≤", (T1, D), "messages")),
    "dpath_best_latency_t0": best(T0, "latency"),
    "dpath_best_latency_t1": best(T1, "latency"),
    "dpath_best_latency_source": best(SOURCE, "latency"),
    "dpath_best_messages_t0": best(T0, "messages"),
    "dpath_best_messages_t1": best(T1, "messages"),
    "dpath_best_messages_source": best(SOURCE, "messages"),
    # Statements about random faulty nodes:
    "random_time_fits": every(*(value(FREE, p, "latency", "≤", log) for p in (V, A, D))),
    "random_latency": compare((RANDOM, V), "<", (RANDOM, A)),
    "random_messages_all": compare((RANDOM, V), "<", (RANDOM, A), "messages"),
    "random_messages_dpath": compare((RANDOM, V), "<", (RANDOM, D), "messages"),
}  # fmt: skip

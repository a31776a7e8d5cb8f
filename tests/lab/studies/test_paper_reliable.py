"""Tests of the statements of the reliable broadcast paper. Each check must pass on some invented results and fail on
others. Some tests use a real run.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mobilenet.lab import workers
from mobilenet.lab.studies.papers import reliable
from mobilenet.lab.studies.papers.jobs import Finding, perform, results_of
from mobilenet.lab.studies.papers.reliable_counts import KINDS, Counts, count
from mobilenet.lab.studies.papers.reliable_statements import (
    ALL_MISTAKEN,
    ALONE,
    BEFORE,
    CHECKS,
    EVERYBODY,
    FREE,
    NOTICED,
    OTHERS,
    PRINTED,
    RANDOM,
    SOURCE,
    T0,
    T1,
    A,
    D,
    Runs,
    V,
    judge_statement,
)
from mobilenet.protocols.vcube.all_to_all import AllToAllBroadcast
from mobilenet.protocols.vcube.disjoint_paths import DisjointPathsBroadcast

N = 8
ONES, NOBODY = [0, *[1] * 7], [0] * 8
TREES = [3, 0, 1, 0, 2, 0, 1, 0]  # number of trees that each process sends in a run without faults


def row(
    latency: float, messages: float, trees: float = 0, delvs: float = 0, acks: float = 0, **more: float
) -> dict[str, Any]:
    metrics = {
        "latency": latency,
        "messages": messages,
        "trees": trees,
        "delvs": delvs,
        "acks": acks,
        "deliveries": N,
        "complete": 1,
    }
    return {**metrics, "never_left": 0, "not valid": 0, **more}


def counts(
    sent: dict[str, list[int]],
    received: dict[str, list[int]],
    source_trees: tuple[int, ...] = (4, 2, 1),
    acks: int = 0,
    at: float | None = None,
) -> Counts:
    filled = [{kind: list(given.get(kind, NOBODY)) for kind in KINDS} for given in (sent, received)]
    return Counts(filled[0], filled[1], list(source_trees), 1, acks, [at] * N)


def as_printed() -> Runs:
    """Return results of eight processes for which nearly all statements of the paper are true."""
    table = {
        (FREE, V): row(2.9, 14, 7, acks=7), (FREE, A): row(2.0, 14, 7, acks=7), (FREE, D): row(2.5, 21),
        (T0, V): row(12, 14, 7, 1, 6), (T0, A): row(6.3, 13, 7, acks=6), (T0, D): row(2.5, 10),
        (T1, V): row(45, 20, 10, 1, 9), (T1, A): row(35, 14, 7, acks=7), (T1, D): row(2.5, 12),
        (SOURCE, V): row(70, 80, 40, 8, 32), (SOURCE, A): row(71, 105, 56, acks=49), (SOURCE, D): row(2.6, 11),
        (RANDOM, V): row(28, 12), (RANDOM, A): row(29, 13), (RANDOM, D): row(3, 13),
        (BEFORE, V): row(6, 13, 6, 1, 6), (BEFORE, A): row(2, 13, 7, acks=6), (ALL_MISTAKEN, V): row(6, 13, 6, 1, 6),
        (ALONE, V): row(6, 13, 6, 1, 6), (EVERYBODY, V): row(0, 7, 0, 7),
    }  # fmt: skip
    for at in (T0, T1):
        table |= {(other, protocol): dict(table[at, protocol]) for other in OTHERS[at] for protocol in (A, D)}
    sizes = {(*key, N): entry for key, entry in table.items()}
    for n, v, a, d in ((2, 2.2, 1.4, 2.3), (4, 2.6, 1.6, 2.4)):
        sizes |= {(FREE, V, n): row(v, 0), (FREE, A, n): row(a, 0), (FREE, D, n): row(d, 0)}
    free = counts({"tree": TREES, "ack": ONES}, {"tree": ONES})
    twice = counts({"tree": [4, 0, 1, 0, 2, 2, 1, 0]}, {"tree": [0, 1, 1, 1, 1, 2, 2, 2]}, (4, 2, 1, 5), at=35)
    restart = counts({"tree": [3, *[5] * 7]}, {"tree": ONES}, at=4)
    restart.suspected[0] = None
    counted = {
        (FREE, V): free, (FREE, A): counts({"tree": [7, *[0] * 7]}, {"tree": ONES}),
        (FREE, D): counts({}, {"copy": [0, *[3] * 7]}),
        (T0, V): counts({"tree": TREES}, {"tree": ONES}, (4, 2, 1, 5), at=6.3), (T0, A): counts({}, {}, at=6.3),
        (T1, V): twice, (T1, A): counts({}, {}, at=35), (SOURCE, V): restart, (NOTICED, A): counts({}, {}, at=4),
        (BEFORE, V): counts({"tree": TREES, "delv": [1, *[0] * 7]}, {"tree": ONES}),
        (ALONE, V): counts({"tree": TREES, "delv": [1, *[0] * 7]}, {"tree": ONES}),
        (EVERYBODY, V): counts({"delv": [7, *[0] * 7]}, {"delv": ONES}),
    }  # fmt: skip
    return Runs(sizes, {(*key, N): entry for key, entry in counted.items()})


Change = Callable[[Runs], None]


def now(experiment: str, protocol: str, n: int = N, **values: float) -> Change:
    """Return a change that replaces values in the table."""
    return lambda runs: runs.table[experiment, protocol, n].update(
        {name.replace("_valid", " valid"): value for name, value in values.items()}
    )


def another(way: str, experiment: str, protocol: str, kind: str, process: int, number: int) -> Change:
    """Return a change that sets how many messages of a kind a process has sent (`way` is "sent") or received."""
    return lambda runs: getattr(runs.counted[experiment, protocol, N], way)[kind].__setitem__(process, number)


sends, gets = partial(another, "sent"), partial(another, "received")


def counts_as(experiment: str, protocol: str, **values: Any) -> Change:
    def change(runs: Runs) -> None:
        runs.counted[experiment, protocol, N] = runs.counted[experiment, protocol, N]._replace(**values)

    return change


LATE: dict[str, Any] = {"suspected": [None, *[31.0] * 7]}
FALSE_BY: dict[str, Change] = {
    "goal": sends(FREE, V, "ack", 0, 1),
    "best_per_cluster": counts_as(FREE, V, most_per_cluster=2),
    "best_trees": now(FREE, V, trees=8),
    "best_once": gets(FREE, V, "tree", 3, 2),
    "best_per_process": sends(FREE, V, "tree", 4, 4),
    "suspected_before_tree": now(BEFORE, V, trees=7),
    "suspected_before_delv": now(BEFORE, V, delvs=2),
    "suspected_alone_tree": now(ALONE, V, trees=7),
    "suspected_alone_delv": now(ALONE, V, delvs=2),
    "suspected_per_process": sends(ALONE, V, "delv", 5, 2),
    "tree_reaches_all": gets(ALONE, V, "tree", 4, 0),
    "everybody_delv": now(EVERYBODY, V, delvs=6),
    "everybody_one_to_all": sends(EVERYBODY, V, "ack", 3, 1),
    "resend_costs_most": now(SOURCE, V, messages=20),
    "false_as_true": now(ALL_MISTAKEN, V, acks=7),
    "dpath_no_acks": now(RANDOM, D, acks=1),
    "dpath_delivers": now(RANDOM, D, not_valid=1),
    "all_waits_no_longer": now(T1, A, complete=0),
    "same_detection": counts_as(T1, A, suspected=[35.0] * 7 + [36.0]),
    "all_below_vcube": now(FREE, A, latency=2.9),
    "all_below_dpath": now(FREE, A, latency=2.5),
    "all_grows_faster_vcube": now(FREE, V, latency=3.0),
    "all_grows_faster_dpath": now(FREE, D, latency=2.8),
    "all_grows_by_copies": now(FREE, A, latency=2.1),
    "source_sends_few": counts_as(FREE, V, source_trees=[4, 2, 2]),
    "neighbours_forward": sends(FREE, V, "tree", 6, 0),
    "all_one_sender": sends(FREE, A, "tree", 5, 1),
    "dpath_below_vcube": now(FREE, D, latency=2.9),
    "vcube_scales": now(FREE, V, latency=3.1),
    "messages_same": now(FREE, A, messages=13),
    "messages_trees": now(FREE, A, messages=13),
    "messages_kinds": now(FREE, V, acks=6),
    "dpath_more": now(FREE, D, messages=14),
    "dpath_copies": gets(FREE, D, "copy", 6, 2),
    "any_process_all": now(OTHERS[T0][0], A, latency=4),
    "any_process_dpath": now(OTHERS[T1][1], D, messages=11),
    "no_extra_at_t0": now(T0, V, messages=15),
    "next_at_t0": counts_as(T0, V, source_trees=[4, 2, 1]),
    "once_at_t0": gets(T0, V, "tree", 7, 2),
    "forwards_before_t1": sends(T1, V, "tree", 4, 1),
    "next_at_t1": counts_as(T1, V, source_trees=[4, 2, 1, 5, 5]),
    "twice_at_t1": gets(T1, V, "tree", 6, 1),
    "delivered_once_at_t1": now(T1, V, deliveries=9),
    "second_round_at_t1": counts_as(T1, V, suspected=[35.0] * 7 + [6.0]),
    "completed_at_t1": now(T1, V, complete=0),
    "higher_vcube_t0": now(T0, V, latency=2.9),
    "higher_vcube_t1": now(T1, V, latency=2.9),
    "higher_all_t0": now(T0, A, latency=2.0),
    "higher_all_t1": now(T1, A, latency=2.0),
    "all_at_detection_t0": now(T0, A, latency=6.4),
    "all_at_detection_t1": now(T1, A, latency=35.1),
    "suspected_get_it": now(BEFORE, A, trees=6),
    "in_the_cluster": gets(T1, V, "tree", 2, 2),
    "more_at_t1": now(T1, V, messages=14),
    "more_than_all_at_t1": now(T1, V, messages=14),
    "vcube_higher_small_t0": now(T0, V, latency=6.3),
    "vcube_higher_small_t1": now(T1, V, latency=35),
    "all_second_round": now(T1, A, latency=29),
    "all_higher_than_t0": now(T1, A, latency=6.3),
    "dpath_unaffected_t0": now(T0, D, latency=2.4999),
    "dpath_unaffected_t1": now(T1, D, latency=2.4999),
    "dpath_fewer": now(T0, D, messages=21),
    "source_has_sent": now(SOURCE, A, never_left=1),
    "source_all_receive": now(SOURCE, V, deliveries=7),
    "source_noticed": counts_as(SOURCE, V, suspected=[None, None, *[4.0] * 6]),
    "source_restarts_vcube": sends(SOURCE, V, "tree", 7, 0),
    "source_restarts_all": now(SOURCE, A, trees=55),
    "source_first_round_vcube": counts_as(SOURCE, V, **LATE),
    "source_first_round_all": counts_as(NOTICED, A, **LATE),
    "source_dpath_once": now(SOURCE, D, messages=22),
    "source_latency": now(SOURCE, V, latency=71),
    "source_messages": now(SOURCE, V, messages=105),
    "imbalance_vcube": now(SOURCE, V, acks=40),
    "imbalance_all": now(SOURCE, A, acks=56),
    "no_ack_to_faulty": gets(SOURCE, V, "ack", 0, 1),
    "ack_cancelled": counts_as(SOURCE, V, acks_to_suspected=1),
    "sent_again_fewer": now(SOURCE, V, trees=56),
    "source_dpath_latency": now(SOURCE, D, latency=2.8),
    "source_dpath_messages": now(SOURCE, D, messages=13),
    "dpath_best_latency_t0": now(T0, D, latency=6.3),
    "dpath_best_latency_t1": now(T1, D, latency=35),
    "dpath_best_latency_source": now(SOURCE, D, latency=70),
    "dpath_best_messages_t0": now(T0, D, messages=13),
    "dpath_best_messages_t1": now(T1, D, messages=14),
    "dpath_best_messages_source": now(SOURCE, D, messages=80),
    "random_time_fits": now(FREE, V, latency=3.1),
    "random_latency": now(RANDOM, V, latency=29),
    "random_messages_all": now(RANDOM, V, messages=13),
    "random_messages_dpath": now(RANDOM, V, messages=13),
}
# Each change makes a statement about other sizes true. Without the change, the statement is false.
TRUE_BY: dict[str, Change] = {
    "all_above_vcube": now(FREE, A, latency=3.0),
    "all_above_dpath": now(FREE, A, latency=2.6),
    "all_higher_big_t0": now(T0, A, latency=12.1),
    "all_higher_big_t1": now(T1, A, latency=45.1),
    "all_higher_than_vcube": now(T1, A, latency=45.1),
}


def verdict(name: str, runs: Runs) -> str:
    return judge_statement(CHECKS[name], runs, [N], [N])[0]


@pytest.mark.parametrize("name", [*FALSE_BY, *TRUE_BY])
def test_statements_on_reliable_broadcast_depend_on_the_results(name: str) -> None:
    before, after = as_printed(), as_printed()
    (FALSE_BY | TRUE_BY)[name](after)
    assert (verdict(name, before), verdict(name, after)) == (("hold", "fail") if name in FALSE_BY else ("fail", "hold"))


def test_each_published_statement_has_a_tested_check() -> None:
    with PRINTED.open(newline="", encoding="utf-8") as file:
        printed = list(csv.DictReader(file))
    assert [row["id"] for row in printed] == list(CHECKS)
    assert len({row["statement"] for row in printed}) == len(printed) and all(row["place"] for row in printed)
    assert FALSE_BY.keys() | TRUE_BY.keys() == CHECKS.keys()


@pytest.mark.parametrize(
    ("name", "change", "finding"),
    [
        ("dpath_unaffected_t0", now(T0, D, latency=2.4), ("fail", "fails for n = 8 (2.4, expected 2.5)")),
        ("all_at_detection_t1", now(T1, A, latency=2.0), ("not checked", "not checked: it names no size")),
    ],
)
def test_changed_results_change_the_judgement_of_a_statement(
    name: str, change: Change, finding: tuple[str, str]
) -> None:
    runs = as_printed()
    change(runs)
    assert judge_statement(CHECKS[name], runs, [N], [N]) == finding


def test_statements_on_sizes_that_were_not_run_are_not_checked() -> None:
    latency = {8: 1, 16: 3, 32: 1}
    runs = Runs({(e, V, n): row(at if e == T0 else 2, 0) for n, at in latency.items() for e in (T0, FREE)}, {})
    check = CHECKS["higher_vcube_t0"]
    assert judge_statement(check, runs, [64, 128], [8, 16, 32]) == ("not checked", "not checked for n = 64, 128")
    assert judge_statement(check, runs, [16], [8, 16, 32]) == ("hold", "holds")
    assert judge_statement(check, runs, [16, 64], [8, 16]) == ("hold", "holds for n = 16; not checked for n = 64")
    answer = "fails for n = 8 (1, expected above 2), 32 (1, expected above 2); holds for n = 16; not checked for n = 64"
    assert judge_statement(check, runs, [8, 16, 32, 64], [8, 16, 32]) == ("hold in part", answer)
    # There are no results for 8 processes with which these could be compared.
    alone = Runs({(FREE, A, 16): row(3.5, 30)}, {})
    assert judge_statement(CHECKS["all_grows_by_copies"], alone, [16], [16]) == (
        "not checked",
        "not checked for n = 16",
    )


def test_the_claim_on_large_systems_is_judged_per_crash_instant() -> None:
    """The test uses the values of figures 4a and 4b. A statement that holds at t0 may fail at t1."""
    table = {(e, p, 256): row(at, 0) for e, p, at in ((T0, V, 24.3), (T0, A, 27.5), (T1, V, 57.2), (T1, A, 39.7))}
    judgements = {
        name: judge_statement(CHECKS[name], Runs(table, {}), [256], [256])
        for name in ("all_higher_big_t0", "all_higher_big_t1")
    }
    assert judgements == {
        "all_higher_big_t0": ("hold", "holds"),
        "all_higher_big_t1": ("fail", "fails for n = 256 (39.7, expected above 57.2)"),
    }


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Finding]]:
    file = tmp_path_factory.mktemp("reliable") / "reliable.jsonl"
    return file, reliable.judge(file, 8, 2, lambda _: None)


@pytest.mark.long
def test_real_runs_of_the_reliable_paper_give_expected_verdicts(run: tuple[Path, dict[str, Finding]]) -> None:
    _, verdicts = run
    assert verdicts["all_higher_big_t1"] == Finding("not checked", "not checked for n = 256, 512, 1024")
    assert verdicts["all_second_round"][0] == "not checked"
    assert verdicts["imbalance_vcube"][1].startswith("fails for n = 8 (40, expected other than 40)")
    assert verdicts["dpath_unaffected_t0"][1].startswith("fails for n = 8 (4.5, expected 4.6)")
    assert verdicts["everybody_delv"][1].startswith("holds for n = 8; not checked for n = 16")


def test_recounting_the_reliable_paper_matches_the_metrics(
    run: tuple[Path, dict[str, Finding]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "ProcessPoolExecutor", lambda *_: pytest.fail("a run"))
    jobs = list(reliable._jobs([8]))
    results = results_of(perform, jobs, 1, lambda _: None, run[0])
    assert all(one["answer"] == "valid" for group in results.values() for one in group)
    free = reliable._row(FREE, results[FREE, 8, V])
    assert (free["latency"], free["trees"], free["acks"]) == (6.5, 7, 7)
    counted = [job for job in jobs if (job.key[0], job.key[2]) in reliable.COUNTED]
    counts = results_of(count, counted, 1, lambda _: None, run[0])
    assert len(counts) == len(reliable.COUNTED)
    for key, (one,) in counts.items():
        row = reliable._row(key[0], results[key])
        for kind, name in (("tree", "trees"), ("delv", "delvs"), ("ack", "acks")):
            assert sum(one["sent"][kind]) == sum(one["received"][kind]) == row[name]


def test_judging_the_reliable_paper_again_starts_no_runs(
    run: tuple[Path, dict[str, Finding]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "ProcessPoolExecutor", lambda *_: pytest.fail("a run"))
    assert reliable.judge(run[0], 8, 2, lambda _: None) == run[1]


@pytest.mark.parametrize("protocol", [AllToAllBroadcast, DisjointPathsBroadcast])
def test_the_length_of_a_message_is_its_body_plus_its_overhead(protocol: Any) -> None:
    sizes: list[int] = []
    port = SimpleNamespace(
        me=0,
        send=lambda to, message: sizes.append(message.size_bytes),
        deliver=lambda *_: None,
        complete=lambda _: None,
    )
    # If the body of a message is an int, the message has the declared size of the payload.
    for body in (None, 7, SimpleNamespace(size_bytes=40)):
        protocol(port, 4, tree_bytes=3).broadcast(body)
    copies = len(sizes) // 3
    assert sizes == [3] * copies + [3] * copies + [43] * copies

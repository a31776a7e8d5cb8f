"""The experiments of the reliable broadcast paper, and whether what it says of its figures holds.

Model     p0 broadcasts once, with VCube-RB, All-RB and DPath-RB: without faults; p_(n/2) crashes at 0 and at log2 n; p0 crashes
          when its last copy has left; p_(n/2) crashes at 0 and p0 broadcasts at 20, when all suspect it (VCube-RB); log2(n)-1 random crashes at whole times in [0, log2 n], p0 spared, 32 replications. The
          figures' values are not in the text, so every sentence on them is checked instead
Units     time units; messages
Errors    ScenarioError
Source    Jeanneau et al. (JBCS 2017), "Experimental evaluation"; data/papers/jeanneau2017_reliable.csv; ours: DESIGN.md §16
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from mobilenet.reproduce.jobs import ROOT, Job, Result, markdown, perform_all, prepare, sizes
from mobilenet.study.store import write_rows, write_text

PRINTED = ROOT / "data" / "papers" / "jeanneau2017_reliable.csv"
PROTOCOLS = {"VCube-RB": "reliable", "All-RB": "all_to_all", "DPath-RB": "disjoint_paths"}
REPLICATIONS = 32
LATER = 20  # when everybody suspects who crashed at 0
Z = 1.96  # "standard normal z-table"
SEND = 0.1  # of the scenario; only to let the source crash between its last copy and the first answer
HEAD = ("experiment", "n", "protocol", "latency", "messages", "trees", "delvs", "acks", "deliveries", "latency_half_width", "messages_half_width", "runs", "not valid")
At = Callable[[str, str, int], dict[str, float]]


def reproduce(
    out: Path, max_n: int, processes: int | None, workers: int | None, say: Callable[[str], None]
) -> tuple[list[dict[str, Any]], list[dict[str, str]]]:
    """Run everything, check what the paper says; writes OUT/reliable.csv, statements.csv and reliable.md."""
    wanted = sizes(max_n, processes)
    jobs = list(_jobs(wanted))
    prepare(out, jobs)
    results = perform_all(jobs, workers, say, out / "reliable.results.jsonl")
    rows = [_row(key, found) for key, found in results.items()]
    table = {(row["experiment"], row["protocol"], row["n"]): row for row in rows}
    statements = list(_statements(wanted, table))
    write_rows(out, "reliable", rows)
    write_rows(out, "statements", statements)
    text = markdown(HEAD, [[row[name] for name in HEAD] for row in rows])
    text += "\n" + markdown(("statement", "answer", "where"), [list(s.values()) for s in statements])
    write_text(out / "reliable.md", text)
    return rows, statements


def _jobs(wanted: list[int]) -> Iterator[Job]:
    for n in wanted:
        d = (n - 1).bit_length()
        copies = {"VCube-RB": d, "All-RB": n - 1, "DPath-RB": d}
        suspected = f"faults=[{{process: p{n // 2}, at: 0}}]"
        vcube = (f"processes={n}", "protocol={name: reliable}", suspected, f"workload.instants={{kind: at, time: {LATER}}}")
        yield Job((BEFORE, n, "VCube-RB"), "reliable.yaml", vcube)
        for name, protocol in PROTOCOLS.items():
            base = (f"processes={n}", f"protocol={{name: {protocol}}}")
            for experiment, at in (("t0", 0), ("t1", d)):
                fault = f"faults=[{{process: p{n // 2}, at: {at}}}]"
                yield Job((f"crash of p(n/2) at {experiment}", n, name), "reliable.yaml", (*base, fault))
            yield Job(("fault-free", n, name), "reliable.yaml", (*base, "faults=[]"))
            source = f"faults=[{{process: p0, at: {copies[name] * SEND + SEND / 2:.2f}}}]"
            yield Job(("crash of the source", n, name), "reliable.yaml", (*base, source))
            for seed in range(1, REPLICATIONS + 1):
                drawn = f"random_faults={{count: {d - 1}, latest: {d}, spared: [p0]}}"
                yield Job(("random crashes", n, name), "reliable.yaml", (*base, "faults=[]", drawn, f"seed={seed}"))


def _row(key: tuple[Any, ...], found: list[Result]) -> dict[str, Any]:
    def mean(quantity: str) -> float:
        return float(np.mean([r.metrics.get(quantity, 0) for r in found]))

    row: dict[str, Any] = {"experiment": key[0], "n": key[1], "protocol": key[2]}
    begun = LATER if key[0] == BEFORE else 0
    row |= {"latency": round(mean("latency") - begun, 2), "messages": round(mean("messages"), 1), "trees": round(mean("messages_tree"), 1)}
    row |= {"delvs": round(mean("messages_delv"), 1), "acks": round(mean("messages_ack"), 1)}
    row |= {"deliveries": round(mean("deliveries"), 1), "runs": len(found), "not valid": sum(r.answer != "valid" for r in found)}
    for quantity in ("latency", "messages"):
        values = np.array([r.metrics[quantity] for r in found], dtype=np.float64)
        row[f"{quantity}_half_width"] = round(Z * float(values.std(ddof=1)) / len(values) ** 0.5, 2) if len(values) > 1 else None
    return row


def _statements(wanted: list[int], table: dict[tuple[str, str, int], dict[str, Any]]) -> Iterator[dict[str, str]]:
    """Each sentence that is checked, for all sizes that it speaks of and that were run."""
    with PRINTED.open(newline="", encoding="utf-8") as file:
        texts = {row["id"]: row for row in csv.DictReader(file)}
    for name, holds, speaks_of in CHECKS:
        ns = [n for n in wanted if speaks_of(n)]
        failing = [n for n in ns if not holds(lambda experiment, protocol, n: table[experiment, protocol, n], n)]
        is_all = ns == [n for n in sizes(1024, None) if speaks_of(n)]
        holds_for = "holds" if is_all else f"holds for n = {', '.join(map(str, ns))}"
        answer = "not asked" if not ns else holds_for if not failing else f"fails for n = {', '.join(map(str, failing))}"
        yield {"statement": texts[name]["statement"], "answer": answer, "place": texts[name]["place"]}


FREE, T0, T1, SOURCE, RANDOM = "fault-free", "crash of p(n/2) at t0", "crash of p(n/2) at t1", "crash of the source", "random crashes"
BEFORE = "p(n/2) suspected before"
Check = tuple[str, Callable[[Any, int], bool], Callable[[int], bool]]


def _every(n: int) -> bool:
    return True


CHECKS: list[Check] = [
    ("messages_trees", lambda at, n: all(at(FREE, p, n)["messages"] == 2 * (n - 1) for p in ("VCube-RB", "All-RB")), _every),
    ("messages_paths", lambda at, n: at(FREE, "DPath-RB", n)["messages"] == (n.bit_length() - 1) * (n - 1), _every),
    ("all_below_vcube", lambda at, n: at(FREE, "All-RB", n)["latency"] < at(FREE, "VCube-RB", n)["latency"], lambda n: n <= 128),
    ("all_below_dpath", lambda at, n: at(FREE, "All-RB", n)["latency"] < at(FREE, "DPath-RB", n)["latency"], lambda n: n <= 64),
    ("all_above_dpath", lambda at, n: at(FREE, "All-RB", n)["latency"] > at(FREE, "DPath-RB", n)["latency"], lambda n: n > 64),
    ("all_far_above", lambda at, n: at(FREE, "All-RB", n)["latency"] > 1.5 * at(FREE, "VCube-RB", n)["latency"], lambda n: n > 128),
    ("dpath_below_vcube", lambda at, n: at(FREE, "DPath-RB", n)["latency"] < at(FREE, "VCube-RB", n)["latency"], _every),
    ("higher_with_crash", lambda at, n: at(T0, "VCube-RB", n)["latency"] > at(FREE, "VCube-RB", n)["latency"], _every),
    ("vcube_higher_small", lambda at, n: at(T0, "VCube-RB", n)["latency"] > at(T0, "All-RB", n)["latency"], lambda n: n <= 128),
    ("all_higher_big", lambda at, n: at(T0, "VCube-RB", n)["latency"] < at(T0, "All-RB", n)["latency"], lambda n: n > 128),
    ("no_extra_at_t0", lambda at, n: at(T0, "VCube-RB", n)["messages"] <= at(FREE, "VCube-RB", n)["messages"], _every),
    ("second_round_at_t1", lambda at, n: at(T1, "VCube-RB", n)["latency"] > 30, _every),
    ("more_at_t1", lambda at, n: at(T1, "VCube-RB", n)["messages"] > at(FREE, "VCube-RB", n)["messages"], _every),
    ("all_at_128", lambda at, n: at(T1, "All-RB", n)["latency"] > 30, lambda n: n == 128),
    ("dpath_unaffected", lambda at, n: all(abs(at(t, "DPath-RB", n)["latency"] - at(FREE, "DPath-RB", n)["latency"]) < 0.05 for t in (T0, T1)), _every),
    ("source_latency", lambda at, n: at(SOURCE, "VCube-RB", n)["latency"] < at(SOURCE, "All-RB", n)["latency"], lambda n: n > 128),
    ("source_messages", lambda at, n: at(SOURCE, "VCube-RB", n)["messages"] < at(SOURCE, "All-RB", n)["messages"], _every),
    ("random_scales", lambda at, n: at(RANDOM, "VCube-RB", n)["latency"] < at(RANDOM, "All-RB", n)["latency"], lambda n: n > 256),
    ("random_messages_all", lambda at, n: at(RANDOM, "VCube-RB", n)["messages"] < at(RANDOM, "All-RB", n)["messages"], _every),
    ("random_messages_dpath", lambda at, n: at(RANDOM, "VCube-RB", n)["messages"] < at(RANDOM, "DPath-RB", n)["messages"], _every),
    ("dpath_fewer", lambda at, n: at(T0, "DPath-RB", n)["messages"] < at(FREE, "DPath-RB", n)["messages"], _every),
    ("source_dpath_latency", lambda at, n: all(abs(at(SOURCE, "DPath-RB", n)["latency"] / at(t, "DPath-RB", n)["latency"] - 1) <= 0.1 for t in (T0, T1)), _every),
    ("source_dpath_messages", lambda at, n: at(T0, "DPath-RB", n)["messages"] <= at(SOURCE, "DPath-RB", n)["messages"] <= at(T1, "DPath-RB", n)["messages"], _every),
    ("suspected_before_tree", lambda at, n: at(BEFORE, "VCube-RB", n)["trees"] == n - 2, _every),
    ("suspected_before_delv", lambda at, n: at(BEFORE, "VCube-RB", n)["delvs"] == 1, _every),
]  # fmt: skip

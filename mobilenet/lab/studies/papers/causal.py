"""The tables of the paper on causal broadcast with aggregation, and what its text prints, with ours.

Model     full simulations of scenarios/vcube/causal.yaml, each mode on the same broadcasts and link delays;
          replications of which the number falls with the size (a run at N = 1024 is a million packets), means with t
          intervals. Without aggregation the number of packets is exact. When processes broadcast: uniform in [0, 500]
          t.u., as in the scenario; no literal reading of the paper's "Poisson, lambda = 1000" gives its numbers
          (docs/protocols/vcube.md)
Units     time units; packets; per cent
Errors    ScenarioError
Source    Rodrigues, Duarte, Arantes, causal aggregation broadcast on VCube, section 5;
          data/papers/rodrigues_causal.csv; ours: docs/protocols/vcube.md
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from mobilenet.lab.shipped import PAPERS
from mobilenet.lab.studies.papers.agreement import document, percent, verdict_against
from mobilenet.lab.studies.papers.causal_distributions import (
    COMPANY,
    DEPENDENCIES,
    PENDING,
    company,
    dependencies,
    pending,
    spread,
    stated_values,
)
from mobilenet.lab.studies.papers.jobs import (
    Job,
    Result,
    in_markdown,
    perform_all,
    prepare,
    say_what_is_not_valid,
    sizes,
    stamping_of_jobs,
)
from mobilenet.lab.studies.rows import write_rows
from mobilenet.lab.studies.statistics import t_interval
from mobilenet.lab.workers import nothing
from mobilenet.record.whole import write_whole

PRINTED = PAPERS / "rodrigues_causal.csv"
HEAD = ("table", "size", "quantity", "printed", "ours", "difference", "percent", "verdict", "runs", "model", "note")
PLAIN, AGGREGATED, SINGLE, SHORT = "plain", "aggregated", "single tree", "short messages"
MODES = {
    PLAIN: ("protocol.aggregate=false",),
    AGGREGATED: (),
    SINGLE: ("protocol.trees=single",),
    SHORT: ("protocol.message_bytes=5",),
}
DEPENDING = 256  # processes in the figure of dependencies, or the next smaller number
SMALLEST = 8
BYTES = (0, 100, 200, 300, 400)
Runs = dict[tuple[str, int], list[Result]]
Printed = dict[tuple[str, str, str], dict[str, str]]


def replications(n: int) -> int:
    """About a million packets for each size and mode, at least two runs and at most the paper's 30."""
    return max(2, min(30, 1_200_000 // (n * (n - 1))))


def reproduce(
    out: Path,
    max_n: int,
    processes: int | None,
    workers: int | None,
    say: Callable[[str], None],
    look: Callable[[], None] = nothing,
) -> list[dict[str, Any]]:
    """Run everything, hold it against print, write OUT/causal.csv, .parquet and .md, and the figures' counts to
    OUT/causal_distributions.csv. `look` is called every second, and may raise to stop.
    """
    run_sizes = sizes(max_n, processes)
    jobs = list(_jobs(run_sizes))
    with stamping_of_jobs("causal", jobs, max_n, processes):
        prepare(out, jobs, "causal.results.jsonl")
        results = perform_all(jobs, workers, say, out / "causal.results.jsonl", look)
        say_what_is_not_valid(results, say)
        rows = list(_rows(results, run_sizes))
        write_rows(out, "causal", rows)
        write_rows(out, "causal_distributions", list(_spread(results, run_sizes)))
        write_whole(out / "causal.md", in_markdown(document("Rodrigues, Duarte, Arantes, section 5", HEAD, rows)))
    return rows


def _jobs(run_sizes: list[int]) -> Iterator[Job]:
    """The long ones first, so that no core waits for the last."""
    for n in sorted(run_sizes, reverse=True):
        for mode, changes in MODES.items():
            if mode == SHORT and n < max(run_sizes):
                continue
            is_watched = mode != PLAIN or n == max(run_sizes)
            buffers = "record.buffers=true" if n == max(run_sizes) else "record.buffers=false"
            for seed in range(1, replications(n) + 1):
                beside = MODES[PLAIN] if mode == AGGREGATED else None
                yield Job(
                    (mode, n), "causal.yaml", (*changes, f"processes={n}", f"seed={seed}", buffers), is_watched, beside
                )


def _rows(results: Runs, run_sizes: list[int]) -> Iterator[dict[str, Any]]:
    printed = _printed_values()
    for n in run_sizes:
        aggregated = results[AGGREGATED, n]
        plain, packets = _of(results[PLAIN, n], "packets"), _of(aggregated, "packets")
        for quantity, values in (
            ("packets_plain", plain),
            ("packets", packets),
            ("reduction_percent", 100 * (1 - packets / plain)),
            ("aggregated_percent", 100 * _of(aggregated, "packets_aggregated_share")),
        ):
            yield _row(printed, "1", n, quantity, values)
    for n in run_sizes:
        alone = np.array([_share_by_messages(result, 1) for result in results[AGGREGATED, n]])
        for count in (1, 2, 3, 4, 5, 0):
            of_all = np.array([_share_by_messages(result, count) for result in results[AGGREGATED, n]])
            yield _row(printed, "2", n, f"packets_of_{count or 'more'}_percent", of_all)
            if count != 1 and max(alone) < 100:
                yield _row(printed, "2", n, f"aggregated_of_{count or 'more'}_percent", 100 * of_all / (100 - alone))
    for n in run_sizes:
        for prefix, mode in (("plain_", PLAIN), ("", AGGREGATED)):
            for low in BYTES:
                name = (
                    f"below_{BYTES[1]}" if not low else f"above_{low}" if low == BYTES[-1] else f"{low}_to_{low + 100}"
                )
                shares = [_share_by_bytes(result, low) for result in results[mode, n]]
                yield _row(printed, "3", n, f"{prefix}{name}_bytes_percent", np.array(shares))
    for n, figure, quantity, values in _statements(results, run_sizes):
        yield _row(printed, figure, n, quantity, values)
    yield from _text(results, run_sizes, printed)


def _size_for_dependencies(run_sizes: list[int]) -> int:
    return max((n for n in run_sizes if n <= DEPENDING), default=min(run_sizes))


def _statements(results: Runs, run_sizes: list[int]) -> Iterator[tuple[int, str, str, Any]]:
    """The text's statements on Figures 6, 9 and 10."""
    n, depending = max(run_sizes), _size_for_dependencies(run_sizes)
    for figure, quantity, values in stated_values(results[AGGREGATED, depending], dependencies, DEPENDENCIES):
        yield depending, figure, quantity, values
    for mode, suffix in ((PLAIN, "_plain"), (AGGREGATED, "")):
        for figure, quantity, values in stated_values(results[mode, n], pending, PENDING, suffix):
            yield n, figure, quantity, values
    for mode, bytes_ in ((AGGREGATED, 50), (SHORT, 5)):
        for figure, quantity, values in stated_values(results[mode, n], company, COMPANY[bytes_]):
            yield n, figure, quantity, values


def _spread(results: Runs, run_sizes: list[int]) -> Iterator[dict[str, Any]]:
    n, depending = max(run_sizes), _size_for_dependencies(run_sizes)
    yield from spread(results[AGGREGATED, depending], dependencies, "6", depending, AGGREGATED)
    for mode in (PLAIN, AGGREGATED):
        yield from spread(results[mode, n], pending, "9", n, mode)
    for mode in (AGGREGATED, SHORT):
        yield from spread(results[mode, n], company, "10", n, mode)


def _text(results: Runs, run_sizes: list[int], printed: Printed) -> Iterator[dict[str, Any]]:
    """The text's statements on latencies, the single tree and packets of two."""
    for n in run_sizes:
        reception, delivery = (
            {mode: _of(results[mode, n], f"{kind}_latency_mean") for mode in (PLAIN, AGGREGATED)}
            for kind in ("reception", "delivery")
        )
        held = {mode: delivery[mode] - reception[mode] for mode in reception}
        higher = 100 * (reception[AGGREGATED] / reception[PLAIN] - 1)
        for quantity, values in (
            ("reception_latency_plain", reception[PLAIN]),
            ("reception_latency", reception[AGGREGATED]),
            ("delivery_latency_plain", delivery[PLAIN]),
            ("delivery_latency", delivery[AGGREGATED]),
            ("reception_higher_percent", higher),
            ("reception_lower_percent", -higher),
            ("delivery_faster_percent", 100 * (1 - delivery[AGGREGATED] / delivery[PLAIN])),
            ("held_shorter_percent", 100 * (1 - held[AGGREGATED].mean() / held[PLAIN].mean())),
        ):
            if quantity != "reception_lower_percent" or ("text", str(n), quantity) in printed:
                yield _row(printed, "text", n, quantity, values)
        yield from _single_tree(results, n, printed)
        yield from _pairs(results[AGGREGATED, n], n, printed)
    others = [n for n in run_sizes if n > SMALLEST]
    is_all = run_sizes == sizes(1024, None)  # which the mean in print is over
    if SMALLEST in run_sizes and others:
        for suffix, mode in (("_plain", PLAIN), ("", AGGREGATED)):
            grown = [
                _of(results[mode, n], "reception_latency_mean").mean()
                / _of(results[mode, SMALLEST], "reception_latency_mean").mean()
                for n in others
            ]
            yield _row(printed if is_all else {}, "text", "all", f"reception_growth{suffix}", np.mean(grown))
            yield _row(printed, "text", others[-1], f"reception_largest_growth{suffix}", np.array(grown[-1]))


def _single_tree(results: Runs, n: int, printed: Printed) -> Iterator[dict[str, Any]]:
    """Figure 11, and the text's statements on it."""
    for name, count in (("aggregated", _aggregated_messages), ("delayed", _delayed_messages)):
        many, one = (
            np.array([count(result) for result in results[mode, n]], dtype=np.float64) for mode in (AGGREGATED, SINGLE)
        )
        yield _row(printed, "11", n, f"{name}_messages", many)
        yield _row(printed, "11", n, f"{name}_messages_single_tree", one)
        if many.any() and n > SMALLEST:  # too few to decide at the smallest, and none aggregated there in print
            yield _row(printed, "text", n, f"single_tree_fewer_{name}_percent", 100 * (1 - one.mean() / many.mean()))


def _pairs(results: list[Result], n: int, printed: Printed) -> Iterator[dict[str, Any]]:
    """Figure 8, and the text's statements on it: messages in packets of two, and the same ones without aggregation."""
    pairs = np.array([result.watched["pairs"] for result in results if result.watched and "pairs" in result.watched])
    if not len(pairs):
        return
    received, delivered, received_plain, delivered_plain = pairs.T
    for quantity, values in (
        ("reception_latency", received), ("delivery_latency", delivered),
        ("reception_latency_plain", received_plain), ("delivery_latency_plain", delivered_plain),
    ):  # fmt: skip
        yield _row(printed, "8", n, f"{quantity}_of_pairs", values)
    held, held_plain = delivered - received, delivered_plain - received_plain
    yield _row(
        printed, "text", n, "pairs_reception_higher_percent", 100 * (received.mean() / received_plain.mean() - 1)
    )
    if held_plain.any():
        yield _row(printed, "text", n, "pairs_held_shorter_percent", 100 * (1 - held.mean() / held_plain.mean()))


def _delayed_messages(result: Result) -> int:
    assert result.watched is not None
    count: int = result.watched["delayed"]
    return count


def _of(results: list[Result], metric: str) -> Any:
    return np.array([result.metrics[metric] for result in results], dtype=np.float64)


def _aggregated_messages(result: Result) -> int:
    """Messages that travelled in company."""
    sizes = result.counters["messages"]["packets_by_messages"]
    return sum(int(size) * count for size, count in sizes.items() if int(size) > 1)


def _share_by_messages(result: Result, count: int) -> float:
    """Per cent of all packets; 0: of those with more than five messages."""
    return _share(result, "packets_by_messages", lambda size: size == count if count else size > 5)


def _share_by_bytes(result: Result, low: int) -> float:
    return _share(result, "packets_by_bytes_from", lambda size: size == low if low < BYTES[-1] else size >= low)


def _share(result: Result, counter: str, is_chosen: Callable[[int], bool]) -> float:
    packets = result.counters["messages"][counter]
    return float(100 * sum(n for size, n in packets.items() if is_chosen(int(size))) / sum(packets.values()))


def _printed_values() -> Printed:
    with PRINTED.open(newline="", encoding="utf-8") as file:
        return {(row["table"], row["size"], row["quantity"]): row for row in csv.DictReader(file)}


def _row(printed: Printed, table: str, size: int | str, quantity: str, values: Any) -> dict[str, Any]:
    values = np.atleast_1d(values)
    mean = float(values.mean())
    exact = len(set(values.tolist())) == 1
    paper = printed.get((table, str(size), quantity)) or printed.get((table, "all", quantity))
    ours = f"{mean:.0f}" if mean.is_integer() else f"{mean:.6g}"
    half = None if exact or len(values) < 2 else t_interval(values).half_width
    if half is not None:
        ours += f" ± {half:.2g}"
    model = (
        "the same in all runs"
        if exact and len(values) > 1
        else "ratio of means, or ratio in a single run"
        if len(values) < 2
        else "mean, 95 % interval"
    )
    difference = round(mean - float(paper["printed"]), 2) if paper else None
    return {
        "table": table, "size": size, "quantity": quantity, "printed": paper["printed"] if paper else "",
        "ours": ours, "difference": difference, "percent": percent(difference, paper),
        "verdict": verdict_against(mean, half, paper),
        "runs": len(values) if len(values) > 1 else None,
        "model": model, "note": paper["note"] if paper else "",
    }  # fmt: skip

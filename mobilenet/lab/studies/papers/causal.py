"""Check the numbers in the paper on causal broadcast with aggregation against runs of this emulator.

Model     The runs are full simulations of scenarios/vcube/causal.yaml. Each mode has the same broadcasts and link
          delays. There are fewer replications at larger sizes, because a run at N = 1024 has a million packets. Results
          are means with t intervals. Without aggregation, the number of packets is exact. Broadcasts are uniform in [0,
          500] t.u.; no literal reading of the paper's "Poisson, lambda = 1000" gives its numbers
          (docs/protocols/vcube.md).
Agree     A number agrees with the paper if it is within a printed bound, or differs by at most half a unit of the last
          printed digit plus the half-width of its interval. A number that the paper states for all sizes must agree at
          each of them.
Units     Time units, packets and per cent.
Errors    ScenarioError if the scenario is invalid.
Source    Rodrigues, Duarte, Arantes, causal aggregation broadcast on VCube, section 5;
          data/papers/rodrigues_causal.csv; ours: docs/protocols/vcube.md
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from mobilenet.lab.package_files import PAPERS
from mobilenet.lab.studies.papers.jobs import SIZES, Ends, Finding, Job, Result, results_of
from mobilenet.lab.studies.papers.watch import observe
from mobilenet.lab.studies.statistics import Bounds, t_interval
from mobilenet.lab.workers import nothing

PRINTED = PAPERS / "rodrigues_causal.csv"
PLAIN, AGGREGATED, SINGLE, SHORT = "plain", "aggregated", "single tree", "short messages"
MODES = {
    PLAIN: ("protocol.aggregate=false",),
    AGGREGATED: (),
    SINGLE: ("protocol.trees=single",),
    SHORT: ("protocol.message_bytes=5",),  # Runs with these settings are made only at the largest size.
}
SMALLEST, LARGEST = SIZES[0], SIZES[-1]
ANY = float("inf")
BETWEEN = tuple((f"{low}_to_{low + 100}", low, low) for low in (100, 200, 300))
BY_BYTES = (("below_100", 0, 0), *BETWEEN, ("above_400", 400, ANY))
BY_MESSAGES = (*((str(count), count, count) for count in range(1, 6)), ("more", 6, ANY))
# Columns: figure, quantity, mode, what is counted, smallest value, largest value, whether the result is in per cent.
OF_PROCESSES = (
    ("6", "messages_of_0_dependencies_percent", AGGREGATED, "dependencies", 0, 0, True),
    ("6", "messages_of_1_to_4_dependencies_percent", AGGREGATED, "dependencies", 1, 4, True),
    ("6", "messages_of_5_to_9_dependencies_percent", AGGREGATED, "dependencies", 5, 9, True),
    ("6", "messages_of_13_and_more_dependencies_percent", AGGREGATED, "dependencies", 13, ANY, True),
    ("9", "processes_holding_at_most_50", AGGREGATED, "pending", 0, 50, False),
    ("9", "processes_holding_at_most_50_plain", PLAIN, "pending", 0, 50, False),
    ("9", "processes_holding_above_250", AGGREGATED, "pending", 251, ANY, False),
    ("9", "processes_holding_above_250_plain", PLAIN, "pending", 251, ANY, False),
    ("10", "processes_sending_7_to_11_percent", AGGREGATED, "company", 7, 11, True),
    ("10", "processes_sending_8_to_12_percent_5_bytes", SHORT, "company", 8, 12, True),
)
Runs = dict[str, list[Result]]  # the runs of one size, by mode
Values = Any  # float64 with shape (runs,), or (1,) for a ratio of means


def printed_numbers() -> dict[str, dict[str, str]]:
    """Read the numbers of the paper. Return a mapping from TABLE/SIZE/QUANTITY to a row."""
    with PRINTED.open(newline="", encoding="utf-8") as file:
        return {f"{row['table']}/{row['size']}/{row['quantity']}": row for row in csv.DictReader(file)}


def replications(n: int) -> int:
    """Return the number of runs for each mode at a size. It is at most 30, as in the paper, and at least 2. Otherwise,
    all runs together have about a million packets.
    """
    return max(2, min(30, 1_200_000 // (n * (n - 1))))


def judge(
    file: Path, largest: int, workers: int | None, say: Callable[[str], None], look: Callable[[], None] = nothing
) -> dict[str, Finding]:
    """Make the runs that are not stored in `file`, up to `largest` processes, and judge each number of the paper."""
    sizes = [n for n in SIZES if n <= largest]
    results = results_of(observe, list(_jobs(sizes)), workers, say, file, look)
    ours: dict[str, list[Values]] = {}
    for n in sizes:
        for table, quantity, values in _numbers(n, {mode: results[mode, n] for mode in MODES if (mode, n) in results}):
            for size in (n, "all"):
                ours.setdefault(f"{table}/{size}/{quantity}", []).append(np.atleast_1d(values))
    for suffix, mode in (("_plain", PLAIN), ("", AGGREGATED)):
        means = [_of(results[mode, n], "reception_latency_mean").mean() for n in sizes]
        growths = np.array(means[1:]) / means[0]
        if len(sizes) > 1:
            ours[f"text/{sizes[-1]}/reception_largest_growth{suffix}"] = [growths[-1:]]
        if largest == LARGEST:
            ours[f"text/all/reception_growth{suffix}"] = [growths.mean(keepdims=True)]
    return {name: _answer(ours[name], row) for name, row in printed_numbers().items() if name in ours}


def _jobs(sizes: list[int]) -> Iterator[Job]:
    """Yield the jobs. Long jobs come first, so that no core works alone at the end."""
    for n in reversed(sizes):
        for mode, changes in MODES.items():
            for seed in range(1, replications(n) + 1) if mode != SHORT or n == LARGEST else ():
                all_changes = (*changes, f"processes={n}", f"seed={seed}", "record.buffers=true")
                yield Job((mode, n), "causal.yaml", all_changes, MODES[PLAIN] if mode == AGGREGATED else None)


def _answer(ours: list[Values], printed: dict[str, str]) -> Finding:
    """Return the finding for a printed number, for one size or for all sizes together."""
    agrees = all(agree(values, printed["printed"], printed["note"]) for values in ours)
    why, bounds = f"published {printed['printed']}: {'agrees' if agrees else 'differs'}", None
    if len(ours) > 1:
        why = f"{', '.join(map(_in_words, ours))}, {why}"
    else:
        mean, half = float(ours[0].mean()), _half_width(ours[0])
        bounds = Bounds(mean, mean - half, mean + half)
    return Finding("hold" if agrees else "fail", why, bounds, _ends(printed["printed"], printed["note"]))


def _half_width(values: Values) -> float:
    return t_interval(values).half_width if len(np.unique(values)) > 1 else 0.0


def _in_words(values: Values) -> str:
    half = _half_width(values)
    return f"{values.mean():.6g}" + (f" ± {half:.2g}" if half else "")


def agree(values: Values, printed: str, note: str) -> bool:
    """Return whether the values of the runs agree with a printed number. `note` begins with "at most" or "at least" if
    the printed number is a bound.
    """
    mean, slack = float(values.mean()), _half_width(values) + 1e-9
    low, high = _ends(printed, note)
    return (low is None or low - slack <= mean) and (high is None or mean <= high + slack)


def _ends(printed: str, note: str) -> Ends:
    number, half_unit = float(printed), 0.5 * 10 ** -len(printed.partition(".")[2])
    low, high = number - half_unit, number + half_unit
    return None if note.startswith("at most") else low, None if note.startswith("at least") else high


def _numbers(n: int, runs: Runs) -> Iterator[tuple[str, str, Values]]:
    """Yield each quantity with its table or figure and its values. There is one value for each run, or one for all
    runs.
    """
    plain, aggregated = runs[PLAIN], runs[AGGREGATED]
    packets_plain, packets = _of(plain, "packets"), _of(aggregated, "packets")
    yield "1", "packets_plain", packets_plain
    yield "1", "packets", packets
    yield "1", "reduction_percent", 100 * (1 - packets / packets_plain)
    yield "1", "aggregated_percent", 100 * _of(aggregated, "packets_aggregated_share")
    single_percent = _share(aggregated, "packets_by_messages", 1, 1)
    for name, low, high in BY_MESSAGES:
        share = _share(aggregated, "packets_by_messages", low, high)
        yield "2", f"packets_of_{name}_percent", share
        if max(single_percent) < 100:
            yield "2", f"aggregated_of_{name}_percent", 100 * share / (100 - single_percent)
    for prefix, results in (("plain_", plain), ("", aggregated)):
        for name, low, high in BY_BYTES:
            yield "3", f"{prefix}{name}_bytes_percent", _share(results, "packets_by_bytes_from", low, high)
    for figure, quantity, mode, what, low, high, is_percent in OF_PROCESSES:
        if mode in runs:
            counts = [sum(low <= value <= high for value in result[what]) for result in runs[mode]]
            whole = 100 / len(runs[mode][0][what]) if is_percent else 1
            yield figure, quantity, np.array(counts, dtype=np.float64) * whole
    for figure, quantity, what in (("6", "most_dependencies", "dependencies"), ("10", "most_in_a_packet", "company")):
        yield figure, quantity, np.array([max(result[what]) for result in aggregated], dtype=np.float64)
    yield from _latencies(plain, aggregated)
    for quantity, count in (("aggregated", _messages_in_company), ("delayed", lambda result: result["delayed"])):
        many, one = (np.array([count(result) for result in runs[mode]]) for mode in (AGGREGATED, SINGLE))
        # At the smallest size, the paper reports no aggregated packets, and there are too few of them to decide.
        if many.any() and n > SMALLEST:
            yield "text", f"single_tree_fewer_{quantity}_percent", 100 * (1 - one.mean() / many.mean())


def _latencies(plain: list[Result], aggregated: list[Result]) -> Iterator[tuple[str, str, Values]]:
    """Yield the quantities from the text of the paper. Some of them compare messages in packets of two with the same
    messages without aggregation.
    """
    came_plain, came = (_of(results, "reception_latency_mean") for results in (plain, aggregated))
    done_plain, done = (_of(results, "delivery_latency_mean") for results in (plain, aggregated))
    yield "text", "reception_higher_percent", 100 * (came / came_plain - 1)
    yield "text", "reception_lower_percent", 100 * (1 - came / came_plain)
    yield "text", "delivery_faster_percent", 100 * (1 - done / done_plain)
    yield "text", "held_shorter_percent", 100 * (1 - (done - came).mean() / (done_plain - came_plain).mean())
    pairs = [result["pairs"] for result in aggregated if "pairs" in result]
    if pairs:
        came, done, came_plain, done_plain = np.mean(pairs, axis=0)
        yield "text", "pairs_reception_higher_percent", 100 * (came / came_plain - 1)
        if done_plain > came_plain:
            yield "text", "pairs_held_shorter_percent", 100 * (1 - (done - came) / (done_plain - came_plain))


def _of(results: list[Result], metric: str) -> Values:
    return np.array([result["metrics"][metric] for result in results], dtype=np.float64)


def _messages_in_company(result: Result) -> int:
    sizes = result["counters"]["messages"]["packets_by_messages"]
    return sum(int(size) * count for size, count in sizes.items() if int(size) > 1)


def _share(results: list[Result], counter: str, low: int, high: float) -> Values:
    """Return the percentage of all packets that have these sizes."""
    all_packets = [result["counters"]["messages"][counter] for result in results]
    shares = [sum(n for size, n in of.items() if low <= int(size) <= high) / sum(of.values()) for of in all_packets]
    return 100 * np.array(shares)

"""Run TCP flooding with settings that the paper leaves open, compare it with the printed figures, and run it with
moving hosts.

    python -m validation.variants [--seeds 5] [--seconds 100]       static.yaml, a row for each variant
    python -m validation.variants --moving [--seeds 20]             dynamic.yaml, a row for each seed

Model     static: 100 s of static.yaml, without the first 10 s. The paper prints a delay of 2 s, 1.58 messages sent per
          delivery and 5 % of receptions with collisions. For the mobile protocol it prints 0.20 s, 0.40 and 10 %
Prints    Markdown: the means of the runs with their standard deviation
Source    Wilhelm, Arantes, Sens (2020), Figure 6; docs/models/tcp.md
"""

from __future__ import annotations

import argparse
import multiprocessing
from collections.abc import Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from mobilenet.scenario import Scenario
from mobilenet.verify.judge import overall
from tests.protocols.tcp_flooding.verdicts import measure

SCENARIOS = Path(__file__).parents[1] / "scenarios"
FLOODING = "protocol.name=tcp_flooding"
PROMPT = ("protocol.tcp.delayed_ack_s=0",)
EAGER = ("protocol.tcp.nagle=false",)
INET = (
    *PROMPT,
    "protocol.tcp.recovery=reno",
    "protocol.tcp.window_bytes=7504",
    "protocol.tcp.initial_window_segments=1",
    "protocol.tcp.limited_transmit=false",
    "protocol.tcp.rto_initial_s=3",
    "protocol.tcp.rto_max_s=240",
)
BARE = ("wireless.unicast_rate_mbps=1", "wireless.retry_limit=1")
VARIANTS: dict[str, tuple[str, ...]] = {
    "default": (),
    "unicast 54 Mb/s": ("wireless.unicast_rate_mbps=54",),
    "unicast 11 Mb/s": ("wireless.unicast_rate_mbps=11",),
    "unicast 2 Mb/s": ("wireless.unicast_rate_mbps=2",),
    "unicast 1 Mb/s": ("wireless.unicast_rate_mbps=1",),
    "MAC: 1 attempt": ("wireless.retry_limit=1",),
    "MAC: 4 attempts": ("wireless.retry_limit=4",),
    "unicast 2 Mb/s, MAC: 1 attempt": ("wireless.unicast_rate_mbps=2", "wireless.retry_limit=1"),
    "unicast 1 Mb/s, MAC: 1 attempt": ("wireless.unicast_rate_mbps=1", "wireless.retry_limit=1"),
    "spacing 0": ("protocol.spacing_ms=0",),
    "spacing per queue": ("protocol.spacing=per_queue",),
    "spacing 20 ms per queue": ("protocol.spacing=per_queue", "protocol.spacing_ms=20"),
    "timeout floor 1 s": ("protocol.tcp.rto_min_s=1",),
    "no delayed ACK": PROMPT,
    "no Nagle": EAGER,
    "neither": (*PROMPT, *EAGER),
    "wire without both": ("protocol.wired_tcp={nagle: false, delayed_ack_s: 0}",),
    "neither anywhere, no aggregation": (*PROMPT, *EAGER, "protocol.tcp.aggregation=false"),
    "timeouts only": ("protocol.tcp.recovery=none",),
    "10 messages in flight": ("protocol.tcp.messages_in_flight=10",),
    "1 message in flight": ("protocol.tcp.messages_in_flight=1",),
    "echo": ("protocol.echo=true",),
    "802.11b, 11 Mb/s": ("wireless.mode=b",),
    "INET's TCP, timeout from 0.2 s": INET,
    "INET's TCP, timeout from 1 s": (*INET, "protocol.tcp.rto_min_s=1"),
    "INET's TCP, 1 Mb/s, 1 attempt": (
        *INET,
        "protocol.tcp.rto_min_s=1",
        "wireless.unicast_rate_mbps=1",
        "wireless.retry_limit=1",
    ),
    "INET's TCP, 2 Mb/s, 1 attempt": (
        *INET,
        "protocol.tcp.rto_min_s=1",
        "wireless.unicast_rate_mbps=2",
        "wireless.retry_limit=1",
    ),
    "1 Mb/s, 1 attempt, timeout floor 1 s": (*BARE, "protocol.tcp.rto_min_s=1"),
    "1 Mb/s, 1 attempt, timeouts only": (*BARE, "protocol.tcp.recovery=none"),
    "1 Mb/s, 1 attempt, no delayed ACK": (*BARE, *PROMPT),
    "1 Mb/s, 1 attempt, no Nagle": (*BARE, *EAGER),
    "1 Mb/s, 1 attempt, spacing per queue": (*BARE, "protocol.spacing=per_queue"),
    "1 Mb/s, 2 attempts": ("wireless.unicast_rate_mbps=1", "wireless.retry_limit=2"),
    "interference to 240 m": ("wireless.interference_range_m=240",),
    "interference to 240 m, 2 Mb/s": ("wireless.interference_range_m=240", "wireless.unicast_rate_mbps=2"),
    "interference to 240 m, 1 Mb/s": ("wireless.interference_range_m=240", "wireless.unicast_rate_mbps=1"),
}
COLUMNS = {
    "delay, s": "delivery_delay_mean_s",
    "p95, s": "delivery_delay_p95_s",
    "messages per delivery": "messages_sent_per_delivery",
    "collisions": "collision_loss_ratio",
    "station SBuffer": "station_sbuffer_mean",
    "host RBuffer": "host_rbuffer_mean",
    "undelivered": "broadcasts_undelivered",
}
Row = tuple[str, dict[str, Any]]


def static(job: tuple[int, float, tuple[str, ...]]) -> Row:
    seed, seconds, overrides = job
    scenario = Scenario.load(SCENARIOS / "static.yaml", [f"seed={seed}", f"duration_s={seconds}", *overrides])
    verdicts, metrics, _ = measure(scenario)
    return overall(verdicts), metrics


def moving(job: tuple[int, float, tuple[str, ...]]) -> Row:
    seed, seconds, overrides = job
    scenario = Scenario.load(SCENARIOS / "dynamic.yaml", [f"seed={seed}", f"duration_s={seconds}", *overrides])
    verdicts, metrics, _ = measure(scenario)
    return overall(verdicts), metrics


def figure(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    if not known:
        return "–"
    return f"{mean(known):.3g}" + (f" ± {stdev(known):.2g}" if len(known) > 1 else "")


def print_row(*cells: object) -> None:
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def print_static(pool: Any, seeds: int, seconds: float) -> None:
    print_row("variant", "verdicts", *COLUMNS)
    print_row(*["---"] * (2 + len(COLUMNS)))
    print_row("*paper*", "", "2", "", "1.58", "0.05", "", "< 5", "")
    variants = {"*mobile_causal*": ()} | {name: (FLOODING, *overrides) for name, overrides in VARIANTS.items()}
    for name, overrides in variants.items():
        rows: list[Row] = pool.map(static, [(seed, seconds, overrides) for seed in range(1, seeds + 1)], chunksize=1)
        answers = [answer for answer, _ in rows]
        verdicts = ", ".join(f"{answers.count(answer)} {answer}" for answer in sorted(set(answers)))
        print_row(name, verdicts, *(figure([metrics[key] for _, metrics in rows]) for key in COLUMNS.values()))


def print_moving(pool: Any, seeds: int, seconds: float) -> None:
    columns = (
        "handoffs",
        "handoff_duration_mean_s",
        "handoff_interruption_mean_s",
        "gaps",
        "deliveries_missed_by_gaps",
        "deliveries",
        "delivery_delay_mean_s",
        "messages_sent_per_delivery",
    )
    print_row("seed", "verdict", *(name.replace("_", " ") for name in columns))
    print_row(*["---"] * (2 + len(columns)))
    jobs = [(seed, seconds, (FLOODING,)) for seed in range(1, seeds + 1)]
    all_metrics: list[dict[str, Any]] = []
    for (seed, *_), (answer, metrics) in zip(jobs, pool.imap(moving, jobs), strict=True):
        all_metrics.append(metrics)
        print_row(seed, answer, *(figure([metrics[name]]) for name in columns))
    print_row("mean", "", *(figure([metrics[name] for metrics in all_metrics]) for name in columns))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--seconds", type=float, default=100.0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--moving", action="store_true")
    arguments = parser.parse_args()
    with multiprocessing.get_context("spawn").Pool(arguments.workers) as pool:
        if arguments.moving:
            print_moving(pool, arguments.seeds or 20, arguments.seconds)
        else:
            print_static(pool, arguments.seeds or 5, arguments.seconds)


if __name__ == "__main__":
    main()

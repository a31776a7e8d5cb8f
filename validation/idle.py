"""Check that idle networks, in which hosts send only heartbeats, come to rest and that every host is heard.

python -m validation.idle [SEEDS [REPAIR]]

The networks have 60 to 150 hosts in one cell and in seven cells, at 1 and 2 Mb/s. They run for ten minutes with one
message at the end, and stations give up on a host after 20 s of silence. Each run must come to rest without a gap and
without giving up on a host. In the past, runs with hidden hosts whose heartbeats were synchronised failed both
conditions.
"""

from __future__ import annotations

import itertools
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

from mobilenet.scenario import Scenario
from mobilenet.simulation.mobile import Simulation

SCENARIO = Path(__file__).parents[1] / "scenarios" / "static.yaml"
FIRST_SEED = 9500
CELLS = {1: "{shape: points, points_m: [[0, 0]]}", 7: "{shape: hexagon, rings: 1, spacing_m: 200}"}


class Case(NamedTuple):
    hosts: int
    cells: int
    rate_mbps: int


CASES = [Case(*values) for values in itertools.product((60, 90, 120, 150), CELLS, (1, 2))]


def troubles(case: Case, repair: str, seed: int) -> list[str]:
    """Return what is wrong with one run."""
    changes = [
        f"seed={seed}", f"hosts.count={case.hosts}", f"stations.layout={CELLS[case.cells]}",
        f"wireless.broadcast_rate_mbps={case.rate_mbps}",
        "duration_s=600", "warmup_s=0", "drain_s=60",
        "workload={arrivals: explicit, messages: [{host: h0, at_s: 590}]}", "protocol.expiry_s=20",
        f"protocol.repair={repair}", "record.positions_interval_s=null",
    ]  # fmt: skip
    outcome = Simulation(Scenario.load(SCENARIO, changes)).run()
    events = Counter(outcome.recording.tables()["events"]["event"])
    problems = [f"{events[kind]} {kind}" for kind in ("gap", "expire") if events[kind]]
    problems += [] if outcome.quiescent else ["not at rest"]
    problems += [] if events["join"] == case.hosts else [f"{events['join']} joined"]
    problems += [] if events["deliver"] == case.hosts else [f"{events['deliver']} delivered"]
    return problems


def main(seeds: int = 20, repair: str = "none") -> int:
    bad = 0
    with ProcessPoolExecutor() as pool:
        for case in CASES:
            all_troubles = list(pool.map(partial(troubles, case, repair), range(FIRST_SEED, FIRST_SEED + seeds)))
            wrong = {FIRST_SEED + k: what for k, what in enumerate(all_troubles) if what}
            bad += len(wrong)
            print(
                f"{case.hosts} hosts, {case.cells} cells, {case.rate_mbps} Mb/s: {seeds - len(wrong)} of {seeds} fine"
                f" {wrong or ''}",
                flush=True,
            )
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:2]), *sys.argv[2:3]))

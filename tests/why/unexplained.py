"""Print how much of the delay is `not_explained` in hostile runs: the distribution over runs, and each run above 1 %.

    python -m tests.why.unexplained 235            # the first 235 seeds in whose runs a message is delivered
    python -m tests.why.unexplained 235 --first 57000

Model     the scenarios are those of the campaign over all keys (tests/lab/campaign/scenarios.py), with every kind of
          backbone, random loss and interventions. A run counts if a message is delivered after a delay
Source    ours: docs/models/causes.md
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from mobilenet.api import simulate
from mobilenet.parameters import ScenarioError
from mobilenet.scenario import Scenario
from mobilenet.why.kinds import UNEXPLAINED
from mobilenet.why.stories import Stories, stories
from tests.lab.campaign.scenarios import NotDrawn, draw_scenario

FIRST_SEED = 57_000
MOST_EVENTS = 30_000
MOST_DELIVERIES = 400
LIMIT = 0.01  # maximum unexplained fraction of the delay
STEPS = (0.0, 0.001, LIMIT, 0.05, 1.0)


class HostileRun(NamedTuple):
    """A run in a hostile scenario. `share` is the unexplained share of the delay of all deliveries."""

    seed: int
    kind: str  # protocol and kind of backbone
    share: float


def hostile_run(seed: int, folder: Path) -> HostileRun | None:
    """Run the scenario of a seed. Return None if the seed gives no scenario, the scenario is too large, or no message
    is delayed.
    """
    try:
        scenario = draw_scenario(seed, folder, MOST_EVENTS, is_hostile=True)
        scenario = scenario.with_changes([f"limits.max_events={20 * MOST_EVENTS}", "record.causes=true"])
        recording = simulate(scenario, None, True).recording
    except (NotDrawn, ScenarioError):
        return None
    assert recording.causes is not None
    run_stories = stories(recording.tables()["causes"], recording.tables()["events"], scenario)
    sums = sum_kinds(run_stories)
    if not sums.total():
        return None
    kind = scenario.protocol.name
    if isinstance(scenario, Scenario):
        kind += f" over {scenario.stations.backbone.kind}"
    return HostileRun(seed, kind, sums[UNEXPLAINED] / sums.total())


def sum_kinds(run_stories: Stories) -> Counter[str]:
    """Return the time of each kind, summed over the deliveries. If there are many deliveries, sum over an equally
    spaced sample.
    """
    sums: Counter[str] = Counter()
    deliveries = run_stories.record.deliveries
    for one in deliveries[:: 1 + len(deliveries) // MOST_DELIVERIES]:
        if one.message in run_stories.record.broadcasts:
            for stretch in run_stories.of(one.message, one.node):
                sums[stretch.kind] += stretch.length_ns
    return sums


def hostile_runs(first: int = FIRST_SEED) -> Iterator[HostileRun]:
    seed = first
    while True:
        with tempfile.TemporaryDirectory(prefix="mobilenet-hostile-") as folder:
            run = hostile_run(seed, Path(folder))
        seed += 1
        if run is not None:
            yield run


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.why.unexplained", description=__doc__.splitlines()[0])
    parser.add_argument("runs", type=int, nargs="?", default=235, help="number of runs [235]")
    parser.add_argument("--first", type=int, default=FIRST_SEED, help=f"first seed [{FIRST_SEED}]")
    options = parser.parse_args(words)
    runs = []
    for _, run in zip(range(options.runs), hostile_runs(options.first), strict=False):
        runs.append(run)
        if run.share > LIMIT:
            print(f"seed {run.seed}: {run.share:.1%} not explained ({run.kind})", flush=True)
    shares = sorted(run.share for run in runs)
    print(f"seeds {runs[0].seed} to {runs[-1].seed}: {len(runs)} runs; {sum(not share for share in shares)} with 0 %")
    for low, high in pairwise(STEPS):
        print(f"above {low:.1%}, at most {high:.1%}: {sum(low < share <= high for share in shares)}")
    print("kinds: " + ", ".join(f"{kind} {count}" for kind, count in Counter(run.kind for run in runs).most_common()))
    above = sum(share > LIMIT for share in shares)
    print(f"{len(runs) - above} of {len(runs)} at most {LIMIT:.0%}; largest {shares[-1]:.1%}")
    return 0 if above <= 0.02 * len(runs) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

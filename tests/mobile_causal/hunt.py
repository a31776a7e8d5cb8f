"""Thousands of schedules on the unchanged protocol; prints the seed of whatever breaks it.

Run       python -m tests.mobile_causal.hunt [--first N] [--count N] [--flavour NAME]
Source    ours: DESIGN.md §3
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter

from mobilenet.swarm.schedule import FLAVOURS, draw, run

from .oracle import judge


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=3000)
    parser.add_argument("--flavour", choices=sorted(FLAVOURS))
    a = parser.parse_args()
    bad, events, begin = 0, Counter[str](), time.perf_counter()
    for seed in range(a.first, a.first + a.count):
        schedule = draw(seed, a.flavour)
        try:
            outcome = run(schedule)
            wrong = judge(outcome.log) + outcome.left_over
            events.update(outcome.log.event)
        except AssertionError as error:
            wrong = [f"self-check: {error!r}"]
        if wrong:
            bad += 1
            again = f"python -m tests.mobile_causal.hunt --first {seed} --count 1"
            again += f" --flavour {a.flavour}" if a.flavour else ""
            print(f"seed {seed} ({schedule.flavour}): {wrong[0]}\n    {again}", flush=True)
    rate = a.count / (time.perf_counter() - begin)
    print(f"{bad} of {a.count} schedules violated; {rate:.0f} schedules/s; {dict(sorted(events.items()))}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

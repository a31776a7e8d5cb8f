"""Run and judge random scenarios that use all keys, to check that the verifier does not call a correct run violated.

    python -m tests.lab.campaign --seeds 0:3000 --out campaign --workers 2

Errors    The exit code is 1 if a run was violated or a command failed.
Source    ours: docs/validation/trust.md
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

from .runs import OUTCOMES, campaign, results


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.lab.campaign", description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", default="0:50", help="from:to, the last one not included [0:50]")
    parser.add_argument("--out", type=Path, required=True, help="folder of results.jsonl and of runs to look at")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    first, last = map(int, options.seeds.split(":"))
    for result in campaign(range(first, last), options.out, options.workers):
        if result["outcome"] in ("violated", "failed"):
            print(f"seed {result['seed']}: {result['outcome']}: {result['why']}", file=sys.stderr)
    wanted = [result for result in results(options.out) if first <= result["seed"] < last]
    counts = Counter(result["outcome"] for result in wanted)
    print(", ".join(f"{name} {counts[name]}" for name in OUTCOMES if counts[name]))
    judged = counts["valid"] + counts["unknown"] + counts["violated"]
    share, cpu_s = counts["unknown"] / max(1, judged), sum(result["cpu_s"] for result in wanted)
    print(f"{judged} judged, {share:.2%} unknown, {cpu_s:.0f} CPU s")
    return 1 if counts["violated"] or counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())

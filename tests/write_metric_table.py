"""The tables of metrics in docs/verdicts-and-metrics.md, from the registry.

    python -m tests.write_metric_table

Model     what stands between two markers of the page is replaced; tests/test_docs.py compares
Source    mobilenet/metrics/registry.py
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from mobilenet.metrics.declaration import Declared
from mobilenet.metrics.registry import MOBILE, PROCESSES

PAGE = Path(__file__).parents[1] / "docs" / "verdicts-and-metrics.md"
TABLES = {"mobile": MOBILE, "processes": PROCESSES}


def table(metrics: dict[str, Declared]) -> str:
    rows = [f"| `{metric.name}` | {metric.words} | {metric.unit or '–'} |" for metric in metrics.values()]
    return "\n".join(["| metric | what it is | unit |", "|---|---|---|", *rows])


def with_tables(page: str) -> str:
    """The page with its tables as they should be."""
    for name, metrics in TABLES.items():
        begin, end = f"<!-- metrics: {name} -->", f"<!-- end of metrics: {name} -->"
        pattern = f"{re.escape(begin)}.*?{re.escape(end)}"
        if len(re.findall(pattern, page, re.DOTALL)) != 1:
            raise ValueError(f"{PAGE}: expected {begin} and {end} once")
        before, _, rest = page.partition(begin)
        page = f"{before}{begin}\n\n{table(metrics)}\n\n{end}{rest.partition(end)[2]}"
    return page


def main() -> int:
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    print(f"Next: git diff {PAGE.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

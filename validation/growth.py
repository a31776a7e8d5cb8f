"""Draw how the cost of a run grows with the number of hosts, from the table in docs/performance.md.

    python -m validation.growth

Units     CPU seconds, microseconds
Errors    ValueError if the page does not contain the table
Source    docs/performance.md, measured by mobilenet/lab/bench/growth.py
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mobilenet.viz.style import COLOURS, log_axis, page, save

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "performance.md"
PICTURE = ROOT / "docs" / "pictures" / "growth.svg"
HOSTS, SIMULATING_S, JUDGING_S, EACH_US = 0, 1, 3, 6  # columns of the table


def read_families(text: str) -> dict[str, list[list[float]]]:
    """Return the rows of the table with hosts, by their kind of movement. An empty cell becomes nan."""
    families: dict[str, list[list[float]]] = {}
    family = None
    for line in text.partition("## How the cost grows")[2].splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("|") or len(cells) != 7:
            continue
        if begins := re.fullmatch(r"\d+ hosts, (\w+), 30 s", cells[0]):
            family = families.setdefault(begins[1], [])
        elif not re.fullmatch(r"[\d ]+", cells[0]):
            family = None
        if family is not None:
            family.append([_number(cell) for cell in cells])
    if len(families) != 2:
        raise ValueError(f"{PAGE}: no table of static and dynamic hosts")
    return families


def _number(cell: str) -> float:
    digits = re.match(r"[\d ]+(\.\d+)?", cell)
    return float(digits[0].replace(" ", "")) if digits else float("nan")


def draw(families: dict[str, list[list[float]]], target: Path) -> None:
    with page(9.5, 3.8, 1, 2) as (figure, axes):
        for colour, (kind, rows) in zip(COLOURS, families.items(), strict=False):
            hosts = [row[HOSTS] for row in rows]
            for column, style, words in ((SIMULATING_S, "-", "simulating"), (JUDGING_S, ":", "judging and writing")):
                label = f"{kind}: {words}"
                axes[0].plot(hosts, [row[column] for row in rows], style, color=colour, marker="o", label=label)
            axes[1].plot(hosts, [row[EACH_US] for row in rows], "-", color=colour, marker="o", label=kind)
        _in_proportion(axes[0], families)
        axes[0].set_ylabel("CPU time (s)")
        axes[0].set_yscale("log")
        log_axis(axes[0].yaxis, 0.1, 200)
        axes[1].set_ylabel("µs for each delivery, hop or reception")
        axes[1].set_ylim(bottom=0)
        for each in axes:
            each.set_xlabel("hosts")
            each.set_xscale("log")
            log_axis(each.xaxis, 70, 2800)
            each.legend(frameon=False)
        save(figure, target)


def _in_proportion(axes: Any, families: dict[str, list[list[float]]]) -> None:
    """Draw the line along which the cost is proportional to the number of hosts."""
    least, most = families["static"][0], families["static"][-1]
    ends = [least[SIMULATING_S], least[SIMULATING_S] * most[HOSTS] / least[HOSTS]]
    axes.plot([least[HOSTS], most[HOSTS]], ends, "--", color="0.6", label="in proportion to hosts")


def main() -> None:
    draw(read_families(PAGE.read_text(encoding="utf-8")), PICTURE)
    print(f"{PICTURE.relative_to(ROOT)}. Next: look at it")


if __name__ == "__main__":
    main()

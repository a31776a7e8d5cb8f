"""Print the tables of docs/validation/fading.md, which divide the delays on five radios into parts, and draw its
figure.

    mobilenet robust scenarios/studies/fading.yaml --out fading
    python -m validation.fading fading

Model     means are over all runs of a configuration, including those that were not at rest at their end
Units     seconds, shares of the delay
Source    ours: docs/models/causes.md
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
from mobilenet.viz.figures.stretches import Bar, draw_bars
from mobilenet.viz.style import caption, entitle, page, save

from mobilenet.metrics.delay_shares import HELD, PARTS, name_of
from mobilenet.why import kinds

RADIOS = ("disk", "capture", "log_distance", "fading", "shadowing")
NAMES = {"mobile_causal": "mobile broadcast", "tcp_flooding": "flooding over TCP"}
PICTURE = Path(__file__).parents[1] / "docs" / "pictures" / "fading_delays.png"
WIRES = tuple((kind, kinds.BACKBONE) for kind in (kinds.WIRE_QUEUE, kinds.WIRE_TRANSMISSION, kinds.WIRE_PROPAGATION))
LOSSES = tuple(
    (kind, leg) for kind in (kinds.LOST, kinds.RETRY, kinds.MAC_RETRY, kinds.RETRANSMISSION) for leg in kinds.LEGS
)
COLUMNS: dict[str, dict[str, tuple[kinds.Part, ...]]] = {  # protocol -> column -> the parts of the delay that it sums
    "mobile_causal": {
        "retry, cell": ((kinds.RETRY, kinds.CELL),),
        "retry, uplink": ((kinds.RETRY, kinds.UPLINK),),
        "wires": WIRES,
        "timer, cell": ((kinds.TIMER_WAIT, kinds.CELL),),
    },
    "tcp_flooding": {
        "Nagle, cell": ((kinds.NAGLE, kinds.CELL),),
        "Nagle, backbone": ((kinds.NAGLE, kinds.BACKBONE),),
        "timer, cell": ((kinds.TIMER_WAIT, kinds.CELL),),
        "wires": WIRES,
        "queue, cell": ((kinds.QUEUE, kinds.CELL),),
        "losses": LOSSES,
    },
}


def configurations(out: Path) -> Iterator[tuple[str, str, float, pd.Series]]:
    """Yield radio, protocol, interval, and the mean of each metric over the runs, for each configuration."""
    for radio in RADIOS:
        planned = pd.read_csv(out / radio / "runs.csv").set_index("run")
        runs = pq.read_table(out / radio / "tables" / "runs.parquet").to_pandas()
        metrics: dict[int, list[dict[str, float]]] = defaultdict(list)
        for run, row in zip(runs["run"], runs.to_dict("records"), strict=True):
            metrics[int(planned.loc[run, "configuration"])].append(row)
        for number, rows in sorted(metrics.items()):
            of = planned[planned["configuration"] == number].iloc[0]
            means = pd.DataFrame(rows).mean(numeric_only=True)
            yield radio, str(of["protocol.name"]), float(of["workload.interval_s"]), means


def percent(share: float) -> str:
    return "< 0.1 %" if share < 0.001 else f"{100 * share:.2g} %"


def print_table(rows: list[tuple[str, float, pd.Series]], columns: dict[str, Any], with_held: bool) -> None:
    head = ["radio", "interval, s", "mean delay, s", *columns, *(["behind others"] if with_held else []), "rest"]
    print("| " + " | ".join(head) + " |\n" + "|---" * len(head) + "|")
    for radio, interval_s, means in rows:
        shares = [sum(means[name_of(part)] for part in parts) for parts in columns.values()]
        held = [percent(means[HELD])] if with_held else []
        cells = [
            radio, f"{interval_s:g}", f"{means['delivery_delay_mean_s']:.3g}", *map(percent, shares), *held,
            percent(1 - sum(shares)),
        ]  # fmt: skip
        print("| " + " | ".join(cells) + " |")


def main(out: Path) -> None:
    settings = list(configurations(out))
    for protocol, columns in COLUMNS.items():
        rows = [
            (radio, s, means) for s in (12.5, 2.8) for radio, name, at, means in settings if (name, at) == (protocol, s)
        ]
        print(f"\n{NAMES[protocol]}\n")
        print_table(rows, columns, protocol == "mobile_causal")
    bars = [
        Bar(f"{NAMES[protocol]},\n{radio}", {part: means[name_of(part)] for part in PARTS if means[name_of(part)]},
            f"{means['delivery_delay_mean_s']:.3g} s")
        for protocol in NAMES
        for radio, name, at, means in settings
        if (name, at) == (protocol, 12.5) and radio in ("disk", "fading")
    ]  # fmt: skip
    with page(8, 4.6) as (figure, axes):
        draw_bars(axes, bars)
        entitle(figure, "Parts of the delay")
        caption(
            figure,
            "static.yaml, 100 s, a broadcast every 12.5 s and host. Means of the shares over n = 3 runs; on the right,"
            " the mean delay.",
        )
        save(figure, PICTURE)
    print(f"\ndrawn: {PICTURE}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

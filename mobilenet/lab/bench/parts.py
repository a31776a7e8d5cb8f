"""The list of the simulator's benchmarks, one for each of its parts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mobilenet.lab.bench import broadcasts, delays, growth, live, programs, radios, simulator, start, whole_runs
from mobilenet.lab.bench.row import Column

Part = tuple[str, tuple[Column, ...], Iterator[Any]]  # end of the file name, columns, rows


def parts_of_the_simulator(repeat: int) -> list[Part]:
    """Return the benchmarks that need neither Spark nor real software."""
    parts = {
        "": simulator, "_broadcasts": broadcasts, "_radios": radios, "_programs": programs, "_whole_runs": whole_runs,
        "_delays": delays, "_start": start, "_live": live, "_growth": growth,
    }  # fmt: skip
    return [(suffix, module.COLUMNS, module.measure(repeat)) for suffix, module in parts.items()]

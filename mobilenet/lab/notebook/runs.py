"""Runs that draw themselves: what mobilenet.run and mobilenet.load return.

Model     what a run is, api.py knows; here is only what needs the pictures, which lie above it. A figure belongs to the
          caller: pyplot does not keep it
Errors    as for the commands; RunError for a figure that a run does not have
Source    ours: docs/api.md
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

from mobilenet import api


class Run(api.Run):
    """A run directory, opened for reading. Tables are pandas frames, read when first asked for."""

    def plot(self, name: str | None = None) -> Any:
        """Return one of the figures of `mobilenet figures` as a matplotlib figure: `delays`, `station_buffers`,
        `radio`, `handoffs`, `field`, ...; by default the delays. RunError if the run does not have it.
        """
        from mobilenet.viz.figures import run_figure

        return run_figure(self.path, name)


@functools.wraps(api.run)
def run(*arguments: Any, **named: Any) -> Run:
    return Run(api.run(*arguments, **named).path)


def load(path: str | Path) -> Run:
    """Open a run directory."""
    return Run(path)

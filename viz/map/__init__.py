"""Draw an animated map of a run as one HTML file that needs no network.

Model     run directory → one JSON document of columns (data.py) → a page (page.py) whose scripts (web/) draw it
Errors    RunError for a directory that is not a run of hosts and stations, RecordError for a file that cannot be
          written
Source    ours: docs/guide/maps.md
"""

from __future__ import annotations

from pathlib import Path

from mobilenet.lab.replay.rerun import needs_code
from mobilenet.record.provenance import stamping_of
from mobilenet.record.reader import read_manifest
from mobilenet.record.stamp import in_page, normal_command

from ..files import whole_file
from .data import document, require_origin
from .messages import DELIVERIES
from .page import page


def draw(run: Path, out: Path, tiles: bool = False, deliveries: int = DELIVERIES, frames_in: Path | None = None) -> int:
    """Write the map of a run. Return its size in bytes. An existing file is replaced when the new one is complete.
    `frames_in` is the folder of frames.parquet, if the run directory does not contain this file.
    """
    read_manifest(run)
    losses = frames_in is not None
    options = {"tiles": tiles, "losses": losses, "allow_code": losses and needs_code(run, "frames")}
    with whole_file(out, (".html", ".htm")) as partial:
        data = document(run, deliveries, frames_in)
        if tiles:
            require_origin(run, data["origin"])
        with stamping_of(run, normal_command("map", "RUN", **options)):
            content = in_page(page(data, tiles)).encode("utf-8")
        partial.write_bytes(content)
    return len(content)

"""Where hosts are served, and what a model of reception has to know of the scenario for that.

Units     metres
Source    ours: docs/models/world.md
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from mobilenet.world.attachment import Attachment
from mobilenet.world.coverage import Coverage
from mobilenet.world.tracks.projection import Anchor


class Place(NamedTuple):
    """Where a scenario lies: what files are named relative to, where (0, 0) is on Earth, and the seed."""

    folder: Path
    anchor: Anchor | None
    seed: int


@dataclass(frozen=True)
class Service:
    """Where hosts are served, and by which station."""

    coverage: Coverage
    attachment: Attachment

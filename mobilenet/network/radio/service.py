"""Where are hosts served, and what does a model of reception need from the scenario for that?

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
    """The place of a scenario: the folder that files are relative to, where (0, 0) is on Earth, and the seed."""

    folder: Path
    anchor: Anchor | None
    seed: int


@dataclass(frozen=True)
class Service:
    """The area in which hosts are served, and the station that serves each."""

    coverage: Coverage
    attachment: Attachment

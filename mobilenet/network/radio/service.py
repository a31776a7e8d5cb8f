"""Describe where hosts are served, and what a model of reception needs to know to decide this.

Units     Distances are in metres.
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
    """The context of a scenario: the folder to which file names are relative, the position of (0, 0) on Earth, and the
    seed.
    """

    folder: Path
    anchor: Anchor | None
    seed: int


@dataclass(frozen=True)
class Service:
    """The area in which hosts are served, and the rule that assigns a station to each host."""

    coverage: Coverage
    attachment: Attachment

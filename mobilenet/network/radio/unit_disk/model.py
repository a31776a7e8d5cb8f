"""The interface of the unit disk, and the base class of all models based on distance.

Units     Distances are in metres.
Source    ours: docs/models/radio.md
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mobilenet.network.radio.keys import DistanceKeys
from mobilenet.network.radio.model import RadioModel
from mobilenet.network.radio.service import Place, Service
from mobilenet.network.radio.unit_disk.keys import UnitDiskKeys
from mobilenet.world.attachment import Attachment, AttachmentParameters
from mobilenet.world.coverage import Coverage

if TYPE_CHECKING:
    from mobilenet.engine.kernel import Kernel
    from mobilenet.network.radio.medium import Medium, Observer
    from mobilenet.network.radio.neighbours import Neighbours


class ByDistance(RadioModel):
    """Base class of models in which frames reach the nodes within one distance, and interfere and are sensed within
    other distances.
    """

    wireless: DistanceKeys

    @property
    def range_m(self) -> float:
        """The longest distance at which a frame may be received."""
        return self.keys.farthest_m(self.wireless)

    @property
    def interference_m(self) -> float:
        """The distance within which a frame interferes with others."""
        return self.wireless.interference_range_m or self.range_m

    @property
    def detection_m(self) -> float | None:
        """The distance within which a frame is sensed, or None if nodes send without sensing the medium."""
        return None if self.wireless.mac == "acking" else self.wireless.detection_range_m or self.range_m

    @property
    def reach_m(self) -> float:
        return max(self.interference_m, self.detection_m or 0.0)

    @property
    def full_duplex(self) -> bool:
        """Whether a node can receive while it sends."""
        return self.wireless.mac == "acking" and self.wireless.full_duplex

    @property
    def surely_heard(self) -> bool:
        """Whether a frame interferes only with receivers that can also receive or sense it."""
        reaches_m = max(self.range_m, self.detection_m or 0.0)
        return self.is_certain and self.wireless.mac == "dcf" and self.interference_m <= reaches_m

    def attachment_words(self, rule: AttachmentParameters) -> str:
        return f"the nearest station, with a hysteresis of {rule.nearer_m:g} m"

    def words(self, place: Place) -> Iterator[str]:
        disk = f"{self.name}, interference up to {self.interference_m:g} m"
        yield disk if self.detection_m is None else f"{disk}, carrier sense up to {self.detection_m:g} m"

    @property
    def name(self) -> str:
        """The name of the model and its range."""
        return f"unit disk of {self.range_m:g} m"

    def service(self, sites: NDArray[np.float64], rule: AttachmentParameters, place: Place) -> Service:
        attachment = Attachment(sites, self.cell_m, rule.nearer_m, rule.error_m, place.seed)
        return Service(Coverage(sites, self.cell_m), attachment)


class Model(ByDistance):
    """The model in which all nodes within range receive every frame that does not overlap with another one."""

    wireless: UnitDiskKeys
    keys, is_certain = UnitDiskKeys, True
    range_key = "wireless.range_m"

    @property
    def cell_m(self) -> float:
        return self.wireless.range_m

    def medium(
        self, kernel: Kernel, neighbours: Neighbours, service: Service, seed: int, observer: Observer | None,
        listens: bool,
    ) -> Medium:  # fmt: skip
        from mobilenet.network.radio.unit_disk.medium import UnitDisk  # imported here because only runs need it

        wireless = self.wireless
        return UnitDisk(
            kernel,
            neighbours,
            self.range_m,
            self.interference_m,
            self.detection_m,
            wireless.loss,
            wireless.capture_db,
            observer,
            listens,
            self.full_duplex,
        )

"""The interface of the radio model with a table of distances and probabilities.

Units     Distances are in metres.
Source    ours: docs/models/distance-table.md
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from mobilenet.network.radio.distance_table.keys import DistanceTableKeys
from mobilenet.network.radio.service import Place, Service
from mobilenet.network.radio.unit_disk.model import ByDistance

if TYPE_CHECKING:
    from mobilenet.engine.kernel import Kernel
    from mobilenet.network.radio.medium import Medium, Observer
    from mobilenet.network.radio.neighbours import Neighbours

HALF = 0.5


class Model(ByDistance):
    """A model in which the distance determines the probability that a frame is received."""

    wireless: DistanceTableKeys
    keys, is_certain = DistanceTableKeys, False
    range_key = "wireless.reception"

    @property
    def table(self) -> list[tuple[float, float]]:
        """The pairs (distance in metres, probability of reception), sorted by distance."""
        return list(self.wireless.reception or ())

    @property
    def cell_m(self) -> float:
        """The longest distance at which at least half of the frames are received, or the first distance in the table if
        there is no such distance.
        """
        cell_m = self.table[0][0]
        for (near_m, near), (far_m, far) in zip(self.table, self.table[1:], strict=False):
            if far >= HALF:
                cell_m = far_m
            elif near >= HALF:
                cell_m = near_m + (near - HALF) / (near - far) * (far_m - near_m)
        return cell_m

    def words(self, place: Place) -> Iterator[str]:
        yield from super().words(place)
        yield f"cells of {self.cell_m:.4g} m"

    @property
    def name(self) -> str:
        return f"reception by a table up to {self.range_m:g} m"

    def medium(
        self, kernel: Kernel, neighbours: Neighbours, service: Service, seed: int, observer: Observer | None,
        listens: bool,
    ) -> Medium:  # fmt: skip
        # Imported here because only runs need it.
        from mobilenet.network.radio.distance_table.medium import DistanceTable

        wireless = self.wireless
        return DistanceTable(
            kernel, neighbours, self.table, self.interference_m, self.detection_m, seed, wireless.loss,
            wireless.capture_db, observer, listens, self.full_duplex,
        )  # fmt: skip

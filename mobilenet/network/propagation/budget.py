"""Compute the total loss of a link between two points.

Model     The path loss uses the exact distance. Shadowing and walls use both points rounded to half metres. In the umi
          model, walls only decide whether there is a line of sight. If a scenario with umi has no walls, a random
          field, similar to the shadowing, is compared with 3GPP's probability of a line of sight. Nothing is received
          beyond `reach_m`.
Units     Distances are in metres. Losses are integers in hundredths of a dB (cdb). A negative loss is a gain.
Shapes    Arrays of points are float64 (n, 2).
Same bits The loss is symmetric, and does not depend on the order or grouping of calls. The cache (CachedPath) does not
          affect results.
Source    3GPP TR 38.901 (2017), 7.4.2; ours: docs/models/propagation.md
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from mobilenet.network.propagation.parameters import PathLossParameters, ShadowingParameters
from mobilenet.network.propagation.path_loss import SURE, loss_table, sight_table
from mobilenet.network.propagation.shadowing import CLIP, ONE, ShadowField
from mobilenet.network.propagation.walls import Walls

if TYPE_CHECKING:
    from mypy_extensions import i64

UNREACHABLE: Final = 1_000_000
REACH_M: Final = 3000.0
STEP_CM: Final = 50
KEPT: Final = 1 << 14
EVEN: Final = SURE // 2


class CachedPath:
    """The path between two points: its loss, and a number below `SURE` that decides whether there is a line of
    sight.
    """

    __slots__ = ("ax", "ay", "bx", "by", "chance", "cost", "walls_due")

    def __init__(self) -> None:
        self.ax: i64 = 1 << 60  # This impossible coordinate marks the entry as empty.
        self.ay: i64 = 0
        self.bx: i64 = 0
        self.by: i64 = 0
        self.cost: i64 = 0
        self.chance: i64 = 0
        self.walls_due = False  # True if the loss of the walls must still be added to `cost`


class LinkBudget:
    """Computes the losses of all links of one scenario. `plain` is a table of losses by whole centimetres, or None if
    the loss depends on more than the distance.
    """

    def __init__(
        self,
        path_loss: PathLossParameters,
        shadowing: ShadowingParameters | None = None,
        walls: Walls | None = None,
        seed: int = 0,
        reach_m: float = REACH_M,
    ) -> None:
        umi: bool = path_loss.model == "umi"
        spread = ShadowingParameters() if shadowing is None else shadowing
        self.reach_m = reach_m
        self._walls = walls
        self._sigma: i64 = 0 if shadowing is None else round(100 * spread.sigma_db)
        self._shadows = ShadowField(seed, "shadows", spread.decorrelation_m) if self._sigma else None
        self._sights = ShadowField(seed, "line of sight", spread.decorrelation_m) if umi and walls is None else None
        self._priced = walls is not None and not umi
        # The index is twice the number of stations among both ends, plus 1 with a line of sight.
        self._tables: list[list[int]] = []
        for stations in range(3):
            for line_of_sight in (False, True):
                self._tables.append(loss_table(path_loss, reach_m, stations if umi else 1, line_of_sight or not umi))
        # The probability of a line of sight, as a multiple of 1 / SURE, for each distance in whole centimetres. A path
        # has a line of sight if its `chance` is lower.
        self._in_sight: list[int] | None = sight_table(reach_m) if self._sights is not None else None
        # This import takes a tenth of a second, and runs with the unit disk do not need it.
        from scipy.special import ndtr

        self._chances: list[int] = np.rint(SURE * ndtr(np.arange(-CLIP, CLIP + 1) / ONE)).astype(np.int64).tolist()
        self._cache = [CachedPath() for _ in range(KEPT)]
        is_plain = not umi and walls is None and self._shadows is None
        self.plain: list[int] | None = self._tables[0] if is_plain else None

    def loss_cdb(self, ax: float, ay: float, a_is_station: bool, bx: float, by: float, b_is_station: bool) -> int:
        """Return the loss of one link in hundredths of a dB."""
        return self.loss_up_to_cdb(ax, ay, a_is_station, bx, by, b_is_station, UNREACHABLE)

    def loss_up_to_cdb(
        self, ax: float, ay: float, a_is_station: bool, bx: float, by: float, b_is_station: bool, most_cdb: i64
    ) -> int:
        """Return the exact loss if it is at most `most_cdb`, and otherwise any value above `most_cdb`. Walls take most
        of the time, so they are only examined if the other losses are at most `most_cdb`.
        """
        dx = ax - bx
        dy = ay - by
        d = math.sqrt(dx * dx + dy * dy)
        if not d <= self.reach_m:
            return UNREACHABLE
        place = int(d * 100.0 + 0.5)
        if self.plain is not None:
            return self.plain[place]
        entry = self._between(
            math.floor(ax * 2.0 + 0.5), math.floor(ay * 2.0 + 0.5),
            math.floor(bx * 2.0 + 0.5), math.floor(by * 2.0 + 0.5),
        )  # fmt: skip
        limit: i64 = EVEN if self._in_sight is None else self._in_sight[place]
        which = (2 if a_is_station else 0) + (2 if b_is_station else 0) + (1 if entry.chance < limit else 0)
        loss: i64 = self._tables[which][place] + entry.cost
        if entry.walls_due and loss <= most_cdb:
            self._cut(entry)
            loss = self._tables[which][place] + entry.cost
        return loss

    def _between(self, ax: i64, ay: i64, bx: i64, by: i64) -> CachedPath:
        if ax > bx or (ax == bx and ay > by):
            ax, ay, bx, by = bx, by, ax, ay
        slot: i64 = ((ax * 40503 + ay * 30011 + bx * 24571 + by * 12289) >> 3) & (KEPT - 1)
        entry = self._cache[slot]
        if entry.ax == ax and entry.ay == ay and entry.bx == bx and entry.by == by:
            return entry
        cost: i64 = 0
        chance: i64 = 0
        walls = self._walls
        if walls is not None and not self._priced:
            cuts: i64 = walls.cut(ax * STEP_CM, ay * STEP_CM, bx * STEP_CM, by * STEP_CM)[0]
            chance = SURE if cuts > 0 else 0
        if self._shadows is not None:
            shadow: i64 = self._shadows.between(ax, ay, bx, by)
            cost += (shadow * self._sigma + 2048) >> 12  # The product is divided by ONE and rounded.
        if self._sights is not None:
            chance = self._chances[self._sights.between(ax, ay, bx, by) + CLIP]
        entry.ax = ax
        entry.ay = ay
        entry.bx = bx
        entry.by = by
        entry.cost = cost
        entry.chance = chance
        entry.walls_due = self._priced
        return entry

    def _cut(self, entry: CachedPath) -> None:
        """Add the loss of the walls to the cached path."""
        entry.walls_due = False
        walls = self._walls
        if walls is not None:
            entry.cost += walls.loss_cdb(entry.ax * STEP_CM, entry.ay * STEP_CM, entry.bx * STEP_CM, entry.by * STEP_CM)

"""The interface of the radio model with SINR.

Units     Distances are in metres, powers in dBm, and ratios in dB.
Source    ours: docs/models/sinr.md
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mobilenet.network.propagation.obstacles import read_buildings
from mobilenet.network.propagation.parameters import ObstaclesParameters, PathLossParameters
from mobilenet.network.radio.model import Fault, RadioModel
from mobilenet.network.radio.service import Place, Service
from mobilenet.network.radio.sinr.keys import SinrKeys
from mobilenet.network.radio.sinr.links import (
    cell_m,
    fading_of,
    half_heard_m,
    host_reach_m,
    rate_reach_m,
    reach_m,
    reception_of,
    serving_reach_m,
    station_tx_dbm,
)
from mobilenet.network.radio.sinr.reach_faults import too_far, too_near
from mobilenet.network.radio.sinr.service import PowerService, ground_m, power_service
from mobilenet.parameters import ScenarioError
from mobilenet.quoting import pluralize
from mobilenet.world.attachment import AttachmentParameters

if TYPE_CHECKING:
    from mobilenet.engine.kernel import Kernel
    from mobilenet.network.radio.medium import Medium, Observer
    from mobilenet.network.radio.neighbours import Neighbours

NARROW_M = 10.0
# A rate has to reach this fraction of the cell's radius. It is below 1 because losses are in whole hundredths of a dB.
REACHES = 0.999


class Model(RadioModel):
    """A model in which power, noise and interference determine whether a frame is received."""

    wireless: SinrKeys
    keys, is_certain = SinrKeys, False

    @property
    def cell_m(self) -> float:
        return cell_m(self.wireless)

    @property
    def ground_m(self) -> float:
        return ground_m(self.wireless)

    @property
    def serving_reach_m(self) -> float:
        return serving_reach_m(self.wireless)

    @property
    def half_heard_m(self) -> float:
        return half_heard_m(self.wireless)

    @property
    def reach_m(self) -> float:
        return reach_m(self.wireless)

    @property
    def range_key(self) -> str:
        return "wireless.tx_dbm" if self.wireless.station_tx_dbm is None else "wireless.station_tx_dbm"

    def attachment_words(self, rule: AttachmentParameters) -> str:
        return f"the best-received station, with a hysteresis of {rule.hysteresis_db:g} dB"

    def words(self, place: Place) -> Iterator[str]:
        wireless = self.wireless
        powers = f"{wireless.tx_dbm:g} dBm"
        if station_tx_dbm(wireless) != wireless.tx_dbm:
            powers = f"hosts {powers}, stations {station_tx_dbm(wireless):g} dBm"
        yield f"{_path_loss(wireless.path_loss)}, {powers}"
        fading, shadowing = wireless.fading, wireless.shadowing
        if fading is not None:
            yield f"Nakagami fading (m = {fading.m_near:g} below {fading.near_m:g} m, {fading.m_far:g} beyond)"
        if shadowing is not None:
            yield f"log-normal shadowing ({shadowing.sigma_db:g} dB, {shadowing.decorrelation_m:g} m)"
        if wireless.obstacles is not None:
            yield _obstacles(wireless.obstacles, wireless.path_loss.model == "umi", place)
        yield (
            f"noise figure {wireless.noise_figure_db:g} dB, preamble at {wireless.preamble_rssi_dbm:g} dBm and"
            f" {wireless.preamble_sinr_db:g} dB, ED {wireless.ed_threshold_dbm:g} dBm"
        )

    def faults(self, place: Place) -> Iterator[Fault]:
        if self.wireless.obstacles is not None:
            try:
                read_buildings(place.folder / self.wireless.obstacles.file, place.anchor)
            except ScenarioError as error:
                yield "wireless.obstacles.file", str(error)
        if fault := too_far(self.wireless):
            yield fault

    @property
    def is_narrow(self) -> bool:
        return too_near(self.wireless, NARROW_M) is not None

    def warnings(self, payload_bytes: int, sends_unicast: bool) -> Iterator[str]:
        wireless = self.wireless
        cell, host = cell_m(wireless), host_reach_m(wireless)
        if near := too_near(wireless, NARROW_M):
            yield ": ".join(near)
            return
        if host < 0.9 * cell:
            yield (
                f"wireless.tx_dbm: hosts are received up to {host:.0f} m away, but stations up to {cell:.0f} m away; at"
                " the edge of a cell, a host therefore hears its station but is not heard"
            )
        rates = {"broadcast_rate_mbps": wireless.broadcast_rate_mbps}
        if sends_unicast:
            rates["unicast_rate_mbps"] = wireless.unicast_mbps
        for key, rate_mbps in rates.items():
            reach = rate_reach_m(wireless, rate_mbps, payload_bytes)
            if reach < REACHES * cell:
                yield (
                    f"wireless.{key}: {rate_mbps:g} Mb/s reaches {reach:.0f} m, but hosts attach to stations up to"
                    f" {cell:.0f} m away, so frames from farther away are detected but lost; choose a lower rate"
                )

    def service(self, sites: NDArray[np.float64], rule: AttachmentParameters, place: Place) -> PowerService:
        return power_service(self.wireless, sites, rule, place)

    def medium(
        self, kernel: Kernel, neighbours: Neighbours, service: Service, seed: int, observer: Observer | None,
        listens: bool,
    ) -> Medium:  # fmt: skip
        from mobilenet.network.radio.sinr.medium import Sinr  # imported here because only runs need it

        assert isinstance(service, PowerService)
        rules, fading, loss = reception_of(self.wireless), fading_of(self.wireless), self.wireless.loss
        return Sinr(kernel, neighbours, rules, service.budget, fading, seed, loss, observer, listens)


def _path_loss(loss: PathLossParameters) -> str:
    if loss.model == "log_distance":
        return f"log-distance path loss (n = {loss.exponent:g}, {loss.reference_loss_db:g} dB at 1 m)"
    if loss.model == "three_slope":
        exponents, breaks = (", ".join(f"{value:g}" for value in values) for values in (loss.exponents, loss.breaks_m))
        return (
            f"three-slope path loss (n = {exponents} from {breaks} m on, {loss.reference_loss_db:g} dB at"
            f" {loss.breaks_m[0]:g} m)"
        )
    if loss.model == "free_space":
        return f"free-space path loss ({loss.frequency_ghz:g} GHz)"
    return (
        f"3GPP TR 38.901 UMi street canyon ({loss.frequency_ghz:g} GHz, stations at {loss.station_height_m:g} m,"
        f" hosts at {loss.host_height_m:g} m)"
    )


def _obstacles(obstacles: ObstaclesParameters, decide_sight: bool, place: Place) -> str:
    try:
        count = len(read_buildings(place.folder / obstacles.file, place.anchor))
        what = pluralize(count, "building")
    except (ScenarioError, OSError):
        what = f"buildings of {Path(obstacles.file).name}"
    if decide_sight:  # With umi, walls have no other effect.
        return f"{what} (which determine the line of sight)"
    return f"{what} ({obstacles.per_wall_db:g} dB for each wall, {obstacles.per_metre_db:g} dB/m)"

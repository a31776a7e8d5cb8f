"""A simple medium with reception by SINR. Path loss is log-distance with exponent 3. A signal sent at 20.4 dBm is
received at -82 dBm at a distance of 119.77 m.
"""

from __future__ import annotations

from math import log10
from typing import Any

from mobilenet.engine.kernel import Kernel
from mobilenet.network.propagation.budget import LinkBudget
from mobilenet.network.propagation.walls import Walls
from mobilenet.network.radio.frame import Frame
from mobilenet.network.radio.keys import FARTHEST_M
from mobilenet.network.radio.neighbours import Neighbours
from mobilenet.network.radio.phy import MODES
from mobilenet.network.radio.sinr.links import fading_of, reach_m, reception_of
from mobilenet.network.radio.sinr.medium import Sinr
from mobilenet.network.radio.transceiver import Transceiver
from mobilenet.network.wireless import WirelessParameters
from tests.network.radio.air import Air, Node, Reception

NOISE_MW = 10 ** (-93.965 / 10)  # 20 MHz, 290 K, noise figure 7 dB


class SinrAir(Air):
    """A medium with 802.11 mode g at 6 Mb/s."""

    def __init__(self, walls: Walls | None = None, seed: int = 1, **wireless: Any) -> None:
        super().__init__("g", 6)
        values = {"model": "sinr", "mode": "g", "broadcast_rate_mbps": 6, **wireless}
        parameters = WirelessParameters.model_validate(values)
        self.kernel = Kernel()
        self.mode = MODES["g"]
        # (frame, receiver) -> the changes of its interference
        self.changes: dict[tuple[str, str], list[tuple[int, int]]] = {}
        budget = LinkBudget(parameters.path_loss, parameters.shadowing, walls, seed, FARTHEST_M)
        self.sinr = Sinr(
            self.kernel, Neighbours(reach_m(parameters), 0.0, 100_000_000), reception_of(parameters), budget,
            fading_of(parameters), seed, parameters.loss, self._observe,
        )  # fmt: skip
        self.medium: Any = self.sinr

    def _transceiver(self, x_m: float, y_m: float) -> Transceiver:
        transceiver = super()._transceiver(x_m, y_m)
        self.sinr.add(transceiver)
        return transceiver

    def _observe(self, frame: Frame) -> None:
        name = frame.message.name if frame.kind == 0 else f"ack of {frame.message.message.name}"
        self.starts.append((frame.start_ns / 1000, name))
        self.frames[name] = frame
        for receiver, outcome in zip(frame.receivers, frame.outcomes, strict=True):
            self.log.append(Reception(name, frame.start_ns / 1000, receiver.name, self.sinr.outcomes[outcome]))

    def power_dbm(self, name: str, node: Node) -> float:
        frame = self.frames[name]
        return frame.powers_cdbm[frame.receivers.index(node.transceiver)] / 100

    def sinr_db(self, name: str, node: Node) -> float:
        frame = self.frames[name]
        return frame.sinrs_cdb[frame.receivers.index(node.transceiver)] / 100


def received_dbm(distance_m: float) -> float:
    return 20.4 - 40.05 - 30 * log10(distance_m)


def milliwatts(dbm: float) -> float:
    return 10 ** (dbm / 10)


def sinr_air(*places_m: float, **wireless: object) -> list[Any]:
    """Return a medium and one node for each of these coordinates. The nodes do not draw back-offs."""
    air = SinrAir(**wireless)
    return [air, *(air.node(x_m) for x_m in places_m)]

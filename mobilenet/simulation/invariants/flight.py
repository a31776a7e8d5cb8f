"""A snapshot of a frame after its transmission. The MAC may change the frame object and send it again."""

from __future__ import annotations

from mobilenet.network.radio.frame import DATA, Frame
from mobilenet.network.radio.transceiver import Transceiver

Times = tuple[int, int]  # arrival of the first and the last bit, in nanoseconds


class Flight:
    """A transmission that is over.

    `arrivals` contains the times of arrival at its receivers. `near` contains the squared distances of all nodes whose
    positions at the time of sending are still known, or is None if they were not computed. `excused` contains receivers
    whose loss has an explanation. The other fields are used only if power decides about reception.
    """

    def __init__(self, frame: Frame, near: dict[Transceiver, float] | None, over_ns: int) -> None:
        self.frame = frame
        self.sender = frame.sender
        self.is_data = frame.kind == DATA
        self.rate_mbps = frame.rate_mbps
        self.serial = frame.serial
        self.start_ns = frame.start_ns
        self.end_ns = end_ns = frame.start_ns + frame.duration_ns
        self.over_ns = over_ns
        self.delays_ns = dict(zip(frame.receivers, frame.delays_ns, strict=True))
        self.outcomes = dict(zip(frame.receivers, frame.outcomes, strict=True))
        self.arrivals = {node: (frame.start_ns + delay, end_ns + delay) for node, delay in self.delays_ns.items()}
        self.near = near
        self.excused: set[Transceiver] = set()
        self.place = frame.x_m, frame.y_m
        self.places = {node: node.position(frame.start_ns) for node in near or {}}
        self.sinrs_cdb = dict(zip(frame.receivers, frame.sinrs_cdb, strict=False))
        self.others: list[Flight] = []  # flights that may overlap this one

    def __str__(self) -> str:
        return f"frame {self.serial} of {self.sender.name}"

"""Check the radio's keys together: nodes that would hear none, or be heard too far.

Model     distances on average: path loss only. A rate's reach is where half of the frames with a broadcast's payload
          survive the noise
Units     metres, Mb/s
Source    ours: docs/models/sinr.md
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from mobilenet.network.propagation.obstacles import read_buildings
from mobilenet.network.radio.links import cell_m, host_reach_m, rate_reach_m
from mobilenet.network.radio.parameters import WirelessParameters
from mobilenet.parameters import ScenarioError
from mobilenet.scenario.radio_fault import too_far, too_near
from mobilenet.world.attachment import AttachmentParameters
from mobilenet.world.tracks.projection import Origin

STRANGE_HYSTERESIS = {"unit_disk": "hysteresis_db", "sinr": "hysteresis_m"}
NARROW_M = 10.0
REACHES = 0.999  # of a cell: so far a rate has to go; reaches are whole hundredths of a dB


def objections(
    wireless: WirelessParameters, attachment: AttachmentParameters, folder: Path, origin: Origin | None
) -> Iterator[tuple[str, str]]:
    """(dotted path, what is wrong there). `folder`, `origin`: of the scenario, for its file of obstacles."""
    if wireless.obstacles is not None:
        try:
            read_buildings(folder / wireless.obstacles.file, origin)
        except ScenarioError as error:
            yield "wireless.obstacles.file", str(error)
    strange = STRANGE_HYSTERESIS[wireless.model]
    if strange in attachment.model_fields_set and getattr(attachment, strange) is not None:
        other = next(key for key in STRANGE_HYSTERESIS.values() if key != strange)
        yield (
            f"hosts.attachment.{strange}",
            f"has no effect with wireless.model: {wireless.model}; set {other}, and leave this key out or set it to"
            " null",
        )
    if wireless.model == "sinr" and (fault := too_far(wireless)):
        yield fault


def warnings(wireless: WirelessParameters, payload_bytes: int, sends_unicast: bool) -> Iterator[str]:
    """What can run, and is probably not meant."""
    if wireless.groupcast != "none" and payload_bytes == 0:
        yield (
            "wireless.groupcast: has no effect with workload.payload_bytes: 0, because the MAC repeats only frames with"
            " payload"
        )
    if wireless.model != "sinr":
        return
    cell, host = cell_m(wireless), host_reach_m(wireless)
    if near := too_near(wireless, NARROW_M):
        yield ": ".join(near)
        return
    if host < 0.9 * cell:
        yield (
            f"wireless.tx_dbm: hosts are received up to {host:.0f} m away, but stations up to {cell:.0f} m away; at the"
            " edge of a cell, a host therefore hears its station but is not heard"
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

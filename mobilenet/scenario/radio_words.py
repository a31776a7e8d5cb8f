"""Which radio was used, in one line that a paper can take over.

Model     of a study: that of its first configuration, and which keys are not the same in all
Errors    none: buildings that cannot be counted are called by their file
Source    ours: docs/guide/pictures.md
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mobilenet.network.propagation.obstacles import read_buildings
from mobilenet.network.propagation.parameters import ObstaclesParameters, PathLossParameters
from mobilenet.network.radio.links import station_tx_dbm
from mobilenet.network.radio.parameters import WirelessParameters
from mobilenet.parameters import ScenarioError
from mobilenet.quoting import pluralize
from mobilenet.scenario.mobile import Scenario
from mobilenet.scenario.run_source import read_source
from mobilenet.world.tracks.projection import Origin

STANDARDS = {"b": "802.11b", "g_mixed": "802.11g mixed with b", "g_erp": "802.11g", "g": "802.11g", "a": "802.11a"}


MOST_LEVELS = 6


def radio_of_run(folder: Path) -> str | None:
    """The radio of a run directory; None for one without a radio, or whose scenario cannot be read."""
    try:
        scenario = read_source(folder / "scenario.yaml")
    except ScenarioError:
        return None
    if not isinstance(scenario, Scenario):
        return None
    return radio_words(scenario.wireless, scenario.folder, scenario.origin)


def radio_of_study(directory: Path) -> str | None:
    """The radios of a study's directory, as far as its configurations can be read; None if none of them has a radio."""
    radios: list[dict[str, Any]] = []
    words = ""
    for file in sorted(directory.glob("configurations/*/scenario.yaml")):
        try:
            scenario = read_source(file)
        except ScenarioError:
            continue
        if isinstance(scenario, Scenario):
            words = words or radio_words(scenario.wireless, scenario.folder, scenario.origin)
            radios.append(scenario.wireless.model_dump())
    varying = list(_differing_keys("wireless", radios))
    if not varying:
        return words or None
    return (
        f"{words}; this is the radio of the first configuration, and {', '.join(varying)}"
        f" var{'y' if varying[1:] else 'ies'}"
    )


def _differing_keys(path: str, groups: list[dict[str, Any]]) -> Iterator[str]:
    """The keys that all have and that differ, with their values if they are few and simple."""
    for key in groups[0] if groups else ():
        values = [group[key] for group in groups if key in group]
        different = [value for i, value in enumerate(values) if value not in values[:i]]
        if len(values) < len(groups) or len(different) == 1:
            continue
        if all(isinstance(value, dict) for value in different):
            yield from _differing_keys(f"{path}.{key}", values)
        elif len(different) > MOST_LEVELS or any(isinstance(value, (dict, tuple, list)) for value in different):
            yield f"{path}.{key}"
        else:
            texts = (f"{v:g}" if isinstance(v, float) else "none" if v is None else str(v) for v in different)
            yield f"{path}.{key} ({', '.join(texts)})"


def radio_words(wireless: WirelessParameters, folder: Path, origin: Origin | None = None) -> str:
    """`folder`, `origin`: of the scenario, for its file of obstacles."""
    return "; ".join([_mac(wireless), *_reception(wireless, folder, origin), *_both(wireless)])


def _mac(wireless: WirelessParameters) -> str:
    if wireless.mac == "acking":
        duplex = "full" if wireless.full_duplex else "half"
        return f"INET's AckingMac (no carrier sense), {wireless.bitrate_mbps:g} Mb/s, {duplex} duplex"
    eifs = "" if wireless.eifs else ", no EIFS"
    return (
        f"IEEE {STANDARDS[wireless.mode]}, {wireless.broadcast_rate_mbps:g} Mb/s broadcast,"
        f" {wireless.unicast_mbps:g} Mb/s unicast{eifs}"
    )


def _reception(wireless: WirelessParameters, folder: Path, origin: Origin | None) -> Iterator[str]:
    if wireless.model == "unit_disk":
        disk = f"unit disk of {wireless.range_m:g} m, interference up to {wireless.interference_m:g} m"
        yield disk if wireless.detection_m is None else f"{disk}, carrier sense up to {wireless.detection_m:g} m"
        return
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
        yield _obstacles(wireless.obstacles, wireless.path_loss.model == "umi", folder, origin)
    yield (
        f"noise figure {wireless.noise_figure_db:g} dB, preamble at {wireless.preamble_rssi_dbm:g} dBm and"
        f" {wireless.preamble_sinr_db:g} dB, ED {wireless.ed_threshold_dbm:g} dBm"
    )


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


def _obstacles(obstacles: ObstaclesParameters, decide_sight: bool, folder: Path, origin: Origin | None) -> str:
    try:
        count = len(read_buildings(folder / obstacles.file, origin))
        what = pluralize(count, "building")
    except (ScenarioError, OSError):
        what = f"buildings of {Path(obstacles.file).name}"
    if decide_sight:  # with umi walls cost nothing else
        return f"{what} (which determine the line of sight)"
    return f"{what} ({obstacles.per_wall_db:g} dB for each wall, {obstacles.per_metre_db:g} dB/m)"


def _both(wireless: WirelessParameters) -> Iterator[str]:
    if wireless.capture_db is not None:
        yield f"capture at {wireless.capture_db:g} dB"
    if wireless.loss:
        yield f"{100 * wireless.loss:g} % lost at random"

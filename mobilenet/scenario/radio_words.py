"""Describe the radio of a run in one line that can be quoted in a paper.

Model     For a study, the line describes the radio of the first configuration, and lists the keys that differ between
          configurations
Errors    If the buildings of a file cannot be counted, the line names the file instead
Source    ours: docs/guide/pictures.md
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mobilenet.network.radio.keys import RadioKeys
from mobilenet.network.radio.service import Place
from mobilenet.network.radio.sinr.service import PowerService, power_service
from mobilenet.network.radio_models import model_of
from mobilenet.network.wireless import MODELS, WirelessParameters
from mobilenet.parameters import ScenarioError
from mobilenet.scenario.mobile import Scenario
from mobilenet.scenario.run_source import read_source
from mobilenet.world.tracks.projection import Anchor

STANDARDS = {"b": "802.11b", "g_mixed": "802.11g mixed with b", "g_erp": "802.11g", "g": "802.11g", "a": "802.11a"}
Radio = RadioKeys  # readers of runs import it under this name


MOST_LEVELS = 6


def radio_of_run(folder: Path) -> str | None:
    """Return a description of a run's radio, or None if it has no radio or its scenario cannot be read."""
    try:
        scenario = read_source(folder / "scenario.yaml")
    except ScenarioError:
        return None
    if scenario.wireless is None:
        return None
    return radio_words(scenario.wireless, scenario.folder, scenario.anchor)


def radio_of_study(directory: Path) -> str | None:
    """Return a description of a study's radios, based on all configurations that can be read. Return None if it has no
    radio.
    """
    radios: list[dict[str, Any]] = []
    words = ""
    for file in sorted(directory.glob("configurations/*/scenario.yaml")):
        try:
            scenario = read_source(file)
        except ScenarioError:
            continue
        if scenario.wireless is not None:
            words = words or radio_words(scenario.wireless, scenario.folder, scenario.anchor)
            radios.append(scenario.wireless.model_dump())
    varying = list(_differing_keys("wireless", radios))
    if not varying:
        return words or None
    return (
        f"{words}; this is the radio of the first configuration, and {', '.join(varying)}"
        f" var{'y' if varying[1:] else 'ies'}"
    )


def _differing_keys(path: str, groups: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the keys that all groups have and whose values differ, with these values if they are few and simple."""
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


def radio_keys(name: object) -> type[RadioKeys]:
    """Return the declaration of this radio model, or the declaration of the unit disk if the name is unknown."""
    return MODELS.get(str(name), MODELS["unit_disk"])


def power_of(scenario: Scenario, sites: NDArray[np.float64]) -> PowerService:
    """Return an object that computes the power received from stations at `sites`, float64 (m, 2), at any position. Use
    it for radio models in which reception depends on power.
    """
    place = Place(scenario.folder, scenario.anchor, scenario.seed)
    return power_service(scenario.wireless, sites, scenario.hosts.attachment, place)


def radio_words(wireless: WirelessParameters, folder: Path, anchor: Anchor | None = None) -> str:
    """Return a description of the radio. The scenario's `folder` and `anchor` locate its file of obstacles."""
    place = Place(folder, anchor, 0)
    return "; ".join([_mac(wireless), *model_of(wireless).words(place), *_both(wireless)])


def _mac(wireless: WirelessParameters) -> str:
    if wireless.mac == "acking":
        duplex = "full" if wireless.full_duplex else "half"
        return f"INET's AckingMac (no carrier sense), {wireless.bitrate_mbps:g} Mb/s, {duplex} duplex"
    eifs = "" if wireless.eifs else ", no EIFS"
    return (
        f"IEEE {STANDARDS[wireless.mode]}, {wireless.broadcast_rate_mbps:g} Mb/s broadcast,"
        f" {wireless.unicast_mbps:g} Mb/s unicast{eifs}"
    )


def _both(wireless: WirelessParameters) -> Iterator[str]:
    if wireless.capture_db is not None:
        yield f"capture at {wireless.capture_db:g} dB"
    if wireless.loss:
        yield f"{100 * wireless.loss:g} % lost at random"

"""Derive the radios on which a comparison is repeated from the scenario's radio.

Model     The first radio is that of the scenario: `disk`, or `own` if its reception depends on power. The other radios
          keep its mode, queue, attempts and random loss. Their transmit power is set so that, with path loss only,
          preambles are detected exactly up to the range of the disk. Broadcasts keep their rate if it reaches that far.
          Otherwise, and always for unicast frames, the highest rate that reaches that far is used.
Units     metres, Mb/s, dBm, dB
Errors    ScenarioError with one line, for an unknown radio, for missing obstacles, or for a range that needs more than
          40 dBm.
Source    Nakagami, shadowing and path loss with the defaults of mobilenet/network/propagation/parameters.py; ours:
          docs/guide/robust.md
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from mobilenet.network.propagation.parameters import PathLossParameters
from mobilenet.network.propagation.path_loss import loss_table
from mobilenet.network.radio.keys import BANDS, FARTHEST_M
from mobilenet.network.radio.phy import MODES
from mobilenet.network.radio.sinr.links import rate_reach_m
from mobilenet.network.radio.sinr.model import REACHES
from mobilenet.network.radio.sinr.reception import hundredths
from mobilenet.network.radio_models import model_of
from mobilenet.network.wireless import HYSTERESES, MODELS, WirelessParameters
from mobilenet.parameters import ScenarioError
from mobilenet.quoting import unknown
from mobilenet.scenario import Scenario

OWN = "own"
CAPTURE_DB = 10.0
EXPONENT = 3.0
SHADOWING = {"sigma_db": 7.0, "decorrelation_m": 13.0}
FADING = {"model": "nakagami"}
MOST_DBM = 40.0
ATTACHMENT = "hosts.attachment"
# keys of `wireless` that have the same meaning for all radios
OF_ANY_RADIO = ("loss", "queue_frames", "groupcast", "group_retries")
RECEIVER = ("noise_figure_db", "preamble_rssi_dbm", "preamble_sinr_db", "ed_threshold_dbm")
RADIOS = {
    "disk": "unit disk",
    "capture": f"unit disk; of two frames, the one that is {CAPTURE_DB:g} dB stronger survives",
    "log_distance": f"power-based reception; path loss exponent {EXPONENT:g}",
    "fading": "log_distance with Nakagami fading",
    "shadowing": "log_distance with shadowing ({sigma_db:g} dB, {decorrelation_m:g} m)".format(**SHADOWING),
    "obstacles": "log_distance with walls",
}


class Radio(NamedTuple):
    """A radio on which the comparison is repeated. `changes` maps scenario keys to values, and is empty for the
    scenario's own radio.
    """

    name: str
    what: str
    wireless: WirelessParameters
    changes: dict[str, Any]

    @property
    def rates_mbps(self) -> tuple[float, float]:
        """The rates of broadcast frames and of unicast frames."""
        w = self.wireless
        return (w.bitrate_mbps, w.bitrate_mbps) if w.mac == "acking" else (w.broadcast_rate_mbps, w.unicast_mbps)


def radios(scenario: Scenario, chosen: list[str] | None, obstacles: str | None) -> list[Radio]:
    """Return the radio of the scenario, followed by the chosen radios, by default all of them. Omit a radio that is
    identical to an earlier one.

    `obstacles` is a file, given as a path that the scenario could contain.
    """
    own = "disk" if scenario.wireless.model == "unit_disk" else OWN
    walls: dict[str, Any] | None = None
    if scenario.wireless.obstacles is not None:
        walls = scenario.wireless.obstacles.model_dump(exclude_unset=True)
    if obstacles is not None:
        walls = {**(walls or {}), "file": obstacles}
    names = [name for name in RADIOS if name != "obstacles" or walls] if chosen is None else chosen
    for name in names:
        _require_known(name, own)
    if "obstacles" in names and walls is None:
        raise ScenarioError(
            "radio obstacles: the scenario does not name a file of obstacles; specify one with --obstacles FILE"
        )
    all_radios = [Radio(own, RADIOS.get(own, "the scenario's own radio"), scenario.wireless, {})]
    for name in RADIOS:
        if name in names and name != own:
            other = _disk(scenario, name) if name in ("disk", "capture") else _by_power(scenario, name, walls)
            if all(other.wireless.model_dump() != known.wireless.model_dump() for known in all_radios):
                all_radios.append(other)
    if len(all_radios) < 2:
        raise ScenarioError(
            f"radios: only {own}, so there is nothing to compare; expected at least one more of {', '.join(RADIOS)}"
        )
    return all_radios


def _require_known(name: str, own: str) -> None:
    known = [*dict.fromkeys([own, *RADIOS])]
    if name not in known:
        raise ScenarioError(unknown("radio", name, known))


def _disk(scenario: Scenario, name: str) -> Radio:
    """Return a disk that replaces a radio whose reception depends on the received power. The range of the disk is the
    median reach of this radio.
    """
    own = scenario.wireless
    more: dict[str, Any] = {"capture_db": CAPTURE_DB} if name == "capture" else {}
    if own.model == "unit_disk":
        values, changes = own.model_dump() | more, {f"wireless.{key}": value for key, value in more.items()}
    else:
        values = {key: value for key, value in _shared_values(own).items() if key not in RECEIVER}
        values |= {"range_m": model_of(own).cell_m, "unicast_rate_mbps": own.unicast_rate_mbps} | more
        changes = _exchange(scenario, values)
    return Radio(name, RADIOS[name], WirelessParameters.model_validate(values), changes)


def _by_power(scenario: Scenario, name: str, walls: dict[str, Any] | None) -> Radio:
    own = scenario.wireless
    values = _shared_values(own) | {"model": "sinr"}
    if own.capture_db is not None:
        values["capture_db"] = own.capture_db
    if name == "obstacles":
        values["obstacles"] = walls
    elif name != "log_distance":
        values[name] = {"fading": FADING, "shadowing": SHADOWING}[name]
    range_m = model_of(own).cell_m
    values["path_loss"] = path_loss = _path_loss(range_m, own.mode)
    parameters = PathLossParameters.model_validate(path_loss)
    loss_cdb = loss_table(parameters, FARTHEST_M)[int(100 * range_m + 0.5)]
    least_dbm = values.get("preamble_rssi_dbm", own.preamble_rssi_dbm)
    values["tx_dbm"] = (loss_cdb + hundredths(least_dbm)) / 100
    if values["tx_dbm"] > MOST_DBM:
        raise ScenarioError(
            f"radio {name}: a reach of {range_m:g} m needs {values['tx_dbm']:.1f} dBm, expected at most {MOST_DBM:g};"
            " leave this radio out of --radios, or reduce wireless.range_m"
        )
    values |= _rates(WirelessParameters.model_validate(values), own, scenario.workload.payload_bytes)
    changes = _exchange(scenario, values)
    return Radio(name, RADIOS[name], WirelessParameters.model_validate(values), changes)


def _path_loss(range_m: float, mode: str) -> dict[str, Any]:
    """Return a path loss whose reach equals the range of the disk to the centimetre, because hosts then move in the
    same area. The reference loss is shifted by less than 0.01 dB, because the rounded loss must change just beyond
    `range_m`.
    """
    usual = BANDS.get(mode, {}).get("reference_loss_db", PathLossParameters.model_fields["reference_loss_db"].default)
    behind = usual + 10 * EXPONENT * math.log10(max(1.0, range_m) + 0.005)
    step = math.floor(100 * behind) + 0.5
    return {"model": "log_distance", "exponent": EXPONENT, "reference_loss_db": round(usual + step / 100 - behind, 8)}


def _shared_values(own: WirelessParameters) -> dict[str, Any]:
    """Return the keys that every radio with the 802.11 MAC takes from the scenario, including those of the receiver."""
    keys = (*OF_ANY_RADIO, "mode", "eifs", "retry_limit", *RECEIVER)
    parameters = {key: getattr(own, key) for key in keys if key in own.model_fields_set}
    return parameters | {"broadcast_rate_mbps": own.broadcast_rate_mbps}


def _rates(wireless: WirelessParameters, own: WirelessParameters, payload_bytes: int) -> dict[str, float]:
    rates = MODES[wireless.mode].rates_mbps
    far = REACHES * model_of(wireless).cell_m
    reaching = [rate for rate in rates if rate_reach_m(wireless, rate, payload_bytes) >= far] or [min(rates)]
    own_rate = own.broadcast_rate_mbps
    return {
        "broadcast_rate_mbps": own_rate if own_rate in reaching else max(reaching),
        "unicast_rate_mbps": max(reaching),
    }


def _exchange(scenario: Scenario, wireless: dict[str, Any]) -> dict[str, Any]:
    """Return the changes in an order that keeps the scenario valid after each change. No radio may temporarily have the
    hysteresis of the other model.
    """
    rule, model = scenario.hosts.attachment, wireless.get("model", "unit_disk")
    settings = rule.model_dump(exclude_unset=True)
    neutral = {key: value for key, value in settings.items() if key not in HYSTERESES}
    if neutral == settings:
        return {"wireless": wireless}
    read = MODELS[model].hysteresis
    own = {read: settings[read]} if read in settings else {}
    return {ATTACHMENT: neutral, "wireless": wireless} | {f"{ATTACHMENT}.{key}": value for key, value in own.items()}

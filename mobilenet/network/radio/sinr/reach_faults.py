"""Find the key that makes a radio reach too far, or not far enough.

Model     The reach is the distance at which a preamble is detected with path loss only. Keys are reset to their
          defaults, one at a time: the power, the keys of the preamble, the parameters of the path loss, and the model
          of path loss. The first reset that fixes the reach (below 3 km, or no longer narrow) reveals the key at fault.
          If no reset does, it is the key with the largest effect on the link. The model ends at 3 km, so a longer reach
          comes from the formula, up to FARTHEST_QUOTED_M. If the reach is too short, a value is recommended only if
          this change alone lets preambles reach USUAL_M.
Units     Distances are in metres, powers in dBm, and losses in dB.
Source    ours: docs/models/sinr.md
"""

from __future__ import annotations

from collections.abc import Iterator
from math import floor, log10
from typing import NamedTuple

from mobilenet.network.propagation.parameters import ONLY, PathLossParameters
from mobilenet.network.propagation.path_loss import mean_loss_db
from mobilenet.network.radio.keys import FARTHEST_M
from mobilenet.network.radio.sinr.keys import SinrKeys
from mobilenet.network.radio.sinr.links import (
    between_stations_m,
    cell_m,
    detected_cdbm,
    host_reach_m,
    station_tx_dbm,
    tx_dbm_to_reach,
)

FARTHEST_QUOTED_M = 1_000_000
USUAL_M = 100.0
WHOLE = "path_loss"
PREAMBLE_KEYS = ("preamble_rssi_dbm", "preamble_sinr_db", "noise_figure_db")
NUMBERS = ("path_loss.exponent", "path_loss.reference_loss_db")


class _Sender(NamedTuple):
    """A node whose reach is wrong. `stations` is the number of stations among both ends of the link."""

    key: str
    tx_dbm: float
    stations: int


def too_far(wireless: SinrKeys) -> tuple[str, str] | None:
    """Return the dotted path of the key that causes a radio to be heard beyond 3 km, and a message with valid values.
    Return None if the reach is valid.
    """
    senders = []
    if host_reach_m(wireless) >= FARTHEST_M:
        senders.append(_Sender("tx_dbm", wireless.tx_dbm, 1))
    stations_m = {1: cell_m(wireless), 2: between_stations_m(wireless)}
    farthest = max(stations_m, key=lambda stations: stations_m[stations])
    if stations_m[farthest] >= FARTHEST_M:
        key = "tx_dbm" if wireless.station_tx_dbm is None else "station_tx_dbm"
        senders.append(_Sender(key, station_tx_dbm(wireless), farthest))
    if not senders:
        return None
    sender = max(senders, key=lambda one: (one.tx_dbm, one.stations))
    threshold_dbm = detected_cdbm(wireless) / 100
    loss_db = mean_loss_db(wireless.path_loss, FARTHEST_M, sender.stations)
    excess_db = sender.tx_dbm - threshold_dbm - loss_db
    path = _at_fault(dict(_shares_db(wireless, sender, FARTHEST_M)), excess_db)
    reach = _far(wireless, sender, threshold_dbm)
    return f"wireless.{path}", (
        f"preambles are detected {reach} away, but nothing is computed beyond {FARTHEST_M / 1000:g} km:"
        f" {_right(wireless, path, sender, threshold_dbm, loss_db, excess_db)}"
    )


def _at_fault(shares_db: dict[str, float], needed_db: float) -> str:
    """Return the key at fault. `shares_db` contains, for each key, how many dB its default would correct."""
    enough = [path for path, share_db in shares_db.items() if share_db > needed_db]
    kind = _kind(enough[0]) if enough else ""
    return max((each for each in enough or shares_db if _kind(each) == kind or not kind), key=shares_db.__getitem__)


def _kind(path: str) -> str:
    """Return the kind of a key. Keys are compared only with keys of the same kind."""
    if path in PREAMBLE_KEYS:
        return "preamble"
    return "path-loss parameters" if "." in path else path


def too_near(wireless: SinrKeys, narrow_m: float) -> tuple[str, str] | None:
    """Return the dotted path of the key that causes a radio to reach hardly any node, and a message about its effect.
    Return None if the reach is sufficient.
    """
    cell, host = cell_m(wireless), host_reach_m(wireless)
    if min(cell, host) >= narrow_m:
        return None
    if cell == host:
        key, whose, reach = "tx_dbm", "hosts and stations are", cell
    elif host < cell:
        key, whose, reach = "tx_dbm", "hosts are", host
    else:
        key, whose, reach = "station_tx_dbm", "stations are", cell
    sender = _Sender(key, wireless.tx_dbm if key == "tx_dbm" else station_tx_dbm(wireless), 1)
    shares_db = {path: -share_db for path, share_db in _shares_db(wireless, sender, narrow_m)}
    path = _at_fault(shares_db, tx_dbm_to_reach(wireless, narrow_m) - sender.tx_dbm)
    lacking_db = tx_dbm_to_reach(wireless, USUAL_M) - sender.tx_dbm
    if enough := _enough(wireless, path, sender, lacking_db):
        advice = f"you need {enough}"
    else:
        worse = sorted((each for each, share_db in shares_db.items() if share_db > 0), key=shares_db.__getitem__)
        advice = (
            f"{lacking_db:.1f} dB are missing, more than this key can provide; use values closer to the defaults for"
            f" {', '.join(reversed(worse))}"
        )
    return f"wireless.{path}", (
        f"{_setting(wireless, path, sender)} {whose} received only up to {reach:.1f} m, so hardly any nodes hear"
        f" each other; for {USUAL_M:g} m, {advice}"
    )


def _setting(wireless: SinrKeys, path: str, sender: _Sender) -> str:
    """Return a description of the value of the key at fault, or of its effect."""
    if path == sender.key:
        return f"at {sender.tx_dbm:g} dBm"
    if path in PREAMBLE_KEYS:
        threshold = f"preambles are detected at {detected_cdbm(wireless) / 100:g} dBm or more, and"
        return threshold if path == "preamble_rssi_dbm" else f"with {getattr(wireless, path):g} dB, {threshold}"
    if path in NUMBERS:
        return f"with {_value(wireless, path):g}{_unit(path)},"
    return (
        f"{wireless.path_loss.model} loses {mean_loss_db(wireless.path_loss, USUAL_M):.1f} dB over {USUAL_M:g} m, and"
    )


def _enough(wireless: SinrKeys, path: str, sender: _Sender, lacking_db: float) -> str:
    """Return the value that this key would need if the other keys stay the same, or an empty string if no valid value
    is sufficient.
    """
    if path not in (sender.key, *PREAMBLE_KEYS, *NUMBERS):
        least_db = _below(mean_loss_db(wireless.path_loss, USUAL_M) - lacking_db)
        return f"a loss of {least_db:g} dB or less there" if least_db >= 0 else ""
    current_value, more = _value(wireless, path), "" if path == sender.key else " or less"
    if path == sender.key:
        value = -_below(-current_value - lacking_db)
    elif path == "path_loss.exponent":
        value = _below(current_value - lacking_db / (10 * log10(USUAL_M)), 100)  # The exponent applies from 1 m on.
    else:
        value = _below(current_value - lacking_db)
    whole, _, name = path.partition(".")
    owner = PathLossParameters if name else SinrKeys
    limits = owner.model_fields[name or whole].metadata
    least, most = (next(getattr(limit, end) for limit in limits if hasattr(limit, end)) for end in ("ge", "le"))
    again = wireless.model_copy(
        update={whole: wireless.path_loss.model_copy(update={name: value}) if name else value}
    )  # fmt: skip
    tx_dbm = value if path == sender.key else sender.tx_dbm
    does = least <= value <= most and tx_dbm_to_reach(again, USUAL_M) <= tx_dbm
    return f"{value:g}{_unit(path)}{more}" if does else ""


def _unit(path: str) -> str:
    return " dBm" if path.endswith("_dbm") else " dB" if path.endswith("_db") else ""


def _value(wireless: SinrKeys, path: str) -> float:
    _, _, name = path.partition(".")
    return float(getattr(wireless.path_loss, name) if name else getattr(wireless, path))


def _shares_db(wireless: SinrKeys, sender: _Sender, distance_m: float) -> Iterator[tuple[str, float]]:
    """Yield the path of each key, and how many dB its value gains on a link of this length, compared with its
    default.
    """
    usual = SinrKeys()
    threshold_dbm = detected_cdbm(wireless) / 100
    loss_db = mean_loss_db(wireless.path_loss, distance_m, sender.stations)
    yield sender.key, sender.tx_dbm - usual.tx_dbm
    for key in PREAMBLE_KEYS:
        again = wireless.model_copy(update={key: getattr(usual, key)})
        yield key, detected_cdbm(again) / 100 - threshold_dbm
    path_loss = wireless.path_loss
    for key in ONLY[path_loss.model]:
        default = PathLossParameters.model_fields[key].default
        again_loss = path_loss.model_copy(update={key: default})
        yield f"{WHOLE}.{key}", mean_loss_db(again_loss, distance_m, sender.stations) - loss_db
    is_usual = path_loss.model == usual.path_loss.model
    yield WHOLE, 0.0 if is_usual else mean_loss_db(usual.path_loss, distance_m) - loss_db


def _far(wireless: SinrKeys, sender: _Sender, threshold_dbm: float) -> str:
    """Return the reach as a string for messages."""

    def is_heard(distance_m: float) -> bool:
        return mean_loss_db(wireless.path_loss, distance_m, sender.stations) <= sender.tx_dbm - threshold_dbm

    near, far = float(FARTHEST_M), float(FARTHEST_QUOTED_M)
    if is_heard(far):
        return f"more than {far / 1000:g} km"
    while far - near > 1:
        middle = (near + far) / 2
        near, far = (middle, far) if is_heard(middle) else (near, middle)
    return f"up to {near / 1000:.1f} km"


def _right(
    wireless: SinrKeys, path: str, sender: _Sender, threshold_dbm: float, loss_db: float, excess_db: float
) -> str:
    """Return a message with the valid values and the current value of the key at fault."""
    power = f"{_below(sender.tx_dbm - excess_db):g} dBm or less"
    if path == sender.key:
        return f"expected {power}, got {sender.tx_dbm:g}"
    if path in PREAMBLE_KEYS:
        current_value, needed = getattr(wireless, path), f"{-_below(-(threshold_dbm + excess_db)):g} dBm or more"
        if path == "preamble_rssi_dbm":
            return f"expected {needed}, got {current_value:g}"
        return (
            f"with {current_value:g} dB, they are detected at {threshold_dbm:g} dBm or more; expected"
            f" preamble_rssi_dbm: {needed}"
        )
    path_loss, also = wireless.path_loss, f"; or {sender.key}: {power}"
    if path == "path_loss.exponent":
        # The exponent applies from 1 m on.
        least = -_below(-(path_loss.exponent + excess_db / (10 * log10(FARTHEST_M))), 100)
        return f"expected {least:g} or more, got {path_loss.exponent:g}{also}"
    if path == "path_loss.reference_loss_db":
        least = -_below(-(path_loss.reference_loss_db + excess_db))
        return f"expected {least:g} dB or more, got {path_loss.reference_loss_db:g}{also}"
    return (
        f"{path_loss.model} loses {loss_db:.1f} dB over {FARTHEST_M / 1000:g} km; expected more than"
        f" {loss_db + excess_db:.1f} dB{also}"
    )


def _below(value: float, parts: int = 10) -> float:
    """Return the greatest multiple of 1/parts (by default, a tenth) that is certainly less than the value. The margin
    allows for rounding, because the reach comes from a table in hundredths of a dB.
    """
    return floor((value - 0.011 * 10 / parts) * parts) / parts

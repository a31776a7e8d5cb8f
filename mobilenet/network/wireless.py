"""Parameters of the radio of all nodes.

Model     MODELS contains the keys of each model of reception. Some keys belong to only one kind of MAC (ONLY), or to
          only some models. Other MACs and models reject them.
Units     Distances are in metres, rates in Mb/s, powers in dBm, ratios in dB, sizes in frames or bits, and times in
          milliseconds.
Errors    pydantic.ValidationError for a rate that the mode does not have, for an interference or detection range below
          the communication range, and for a key of another MAC or model.
Source    IEEE 802.11-2016 for modes and rates; INET 4.2's AckingMac and unit disk radio for the defaults of acking,
          except its bit rate, which is inferred (docs/validation/paper.md); ours: docs/models/radio.md
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from mobilenet.network.propagation.parameters import ONLY as MEANINGFUL
from mobilenet.network.radio.distance_table.keys import DistanceTableKeys
from mobilenet.network.radio.keys import BANDS, RadioKeys
from mobilenet.network.radio.phy import MODES
from mobilenet.network.radio.sinr.keys import SinrKeys
from mobilenet.network.radio.unit_disk.keys import UnitDiskKeys

ONLY = {
    "dcf": (
        "detection_range_m",
        "mode",
        "broadcast_rate_mbps",
        "unicast_rate_mbps",
        "eifs",
        "retry_limit",
        "groupcast",
    ),
    "acking": ("bitrate_mbps", "phy_header_bits", "mac_header_bytes", "link_ack_timeout_ms", "full_duplex"),
}
MODELS: dict[str, type[RadioKeys]] = {
    "unit_disk": UnitDiskKeys,
    "sinr": SinrKeys,
    "distance_table": DistanceTableKeys,
}
"""The models of reception. The folder of that name in radio/ has the rest: see radio/model.py."""
OF_MODEL = {name: tuple(key for key in keys.model_fields if key not in RadioKeys.model_fields)
            for name, keys in MODELS.items()}  # fmt: skip
HYSTERESES = tuple(dict.fromkeys(keys.hysteresis for keys in MODELS.values()))


class WirelessParameters(DistanceTableKeys, SinrKeys, UnitDiskKeys):
    model: Literal["unit_disk", "sinr", "distance_table"] = Field(
        default="unit_disk",
        description="whether reception depends on range and collisions, on SINR, or on a measured table",
    )

    @model_validator(mode="after")
    def _of_this_model(self) -> WirelessParameters:
        own = MODELS[self.model]
        for name in self._of_other_models():
            if name in self.model_fields_set:
                others = " or ".join(model for model, names in OF_MODEL.items() if name in names)
                instead = f"; {own.instead[name]}" if name in own.instead else f", or set model: {others}"
                raise ValueError(f"{name}: has no effect with model: {self.model}; leave it out{instead}")
        if self.mac not in own.macs:
            raise ValueError(
                f"mac: acking does not use the rates of 802.11, which {self.model} needs for bit errors; use mac: dcf"
            )
        if missing := [name for name in own.required if getattr(self, name) is None]:
            raise ValueError(f"{missing[0]}: missing; model: {self.model} needs it")
        return self

    def _of_other_models(self) -> list[str]:
        own = OF_MODEL[self.model]
        return [name for names in OF_MODEL.values() for name in names if name not in own]

    @model_validator(mode="after")
    def _of_this_band(self) -> WirelessParameters:
        """Fill in the parameters of the path loss that depend on the carrier frequency of the mode and are not set."""
        explicit_keys, meaningful = self.path_loss.model_fields_set, MEANINGFUL[self.path_loss.model]
        usual = BANDS.get(self.mode, {}).items()
        missing = {key: value for key, value in usual if key in meaningful and key not in explicit_keys}
        if missing:
            in_band = self.path_loss.model_copy()
            in_band.__dict__.update(missing)  # This does not mark the values as set by the user.
            self.__dict__["path_loss"] = in_band
        return self

    @model_validator(mode="after")
    def _of_this_mac(self) -> WirelessParameters:
        for name in self._foreign():
            if name in self.model_fields_set:
                if name == "group_retries" and self.mac == "dcf":
                    raise ValueError(
                        "group_retries: has no effect with groupcast: none; leave it out, or set groupcast:"
                        " unsolicited_retry"
                    )
                raise ValueError(f"{name}: has no effect with mac: {self.mac}; leave it out")
        return self

    def _foreign(self) -> list[str]:
        """Return the keys that belong to other MACs and models."""
        others = [names for mac, names in ONLY.items() if mac != self.mac]
        others += [tuple(self._of_other_models())]
        others += [("group_retries",)] if self.groupcast == "none" else []
        return [name for names in others for name in names]

    @model_serializer(mode="wrap")
    def _meaningful(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        foreign = self._foreign()
        return {name: value for name, value in handler(self).items() if name not in foreign}

    @model_validator(mode="after")
    def _possible(self) -> WirelessParameters:
        least_m, farthest = self.farthest_m(), MODELS[self.model].farthest
        for name in ("interference_range_m", "detection_range_m"):
            value = getattr(self, name)
            if value is not None and value < least_m:
                raise ValueError(f"{name}: should be at least {farthest} ({least_m:g}), got {value:g}")
        rates = MODES[self.mode].rates_mbps
        for name in ("broadcast_rate_mbps", "unicast_rate_mbps"):
            value = getattr(self, name)
            if value is not None and value not in rates:
                offered = ", ".join(f"{rate:g}" for rate in rates)
                raise ValueError(f"{name}: mode {self.mode} has no rate of {value:g} Mb/s, only {offered}")
        return self

    def farthest_m(self) -> float:
        return MODELS[self.model].farthest_m(self)

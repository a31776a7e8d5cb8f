"""Causal broadcast for mobile hosts: Wilhelm, Arantes, Sens (2020), repaired."""

from .host import Host
from .parameters import MobileCausalParameters
from .selective_host import SelectiveHost
from .selective_station import SelectiveStation
from .stable_storage import Stable, Status
from .station import Station

__all__ = [
    "Host", "MobileCausalParameters", "SelectiveHost", "SelectiveStation", "Stable", "Station", "Status",
]  # fmt: skip

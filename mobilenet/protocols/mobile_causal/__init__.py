"""Causal broadcast for mobile hosts: Wilhelm, Arantes, Sens (2020), repaired."""

from .host import Host
from .parameters import MobileCausalParameters
from .stable import Stable, Status
from .station import Station

__all__ = ["Host", "MobileCausalParameters", "Stable", "Station", "Status"]

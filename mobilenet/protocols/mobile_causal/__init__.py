"""Causal broadcast for mobile hosts: Wilhelm, Arantes, Sens (2020), repaired."""

from .host import Host, Stable, Status
from .parameters import MobileCausalParameters
from .station import Station

__all__ = ["Host", "MobileCausalParameters", "Stable", "Station", "Status"]

"""Flooding over TCP connections: the baseline of Wilhelm, Arantes, Sens (2020), with moving hosts added."""

from .host import Host
from .parameters import TcpFloodingParameters
from .stable_storage import Stable, Status
from .station import Station

__all__ = ["Host", "Stable", "Station", "Status", "TcpFloodingParameters"]

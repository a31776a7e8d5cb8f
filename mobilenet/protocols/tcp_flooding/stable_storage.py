"""The state of a host that survives a crash.

Model     each handler writes atomically. Delivered messages are not recorded here: the Welcome of a new link lists all
          that the station has received, which includes all that the host has (see station.py, "by gap")
Source    ours: docs/protocols/tcp-flooding.md
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum


class Status(Enum):
    OUT = "out"
    JOIN = "join"
    MEMBER = "member"
    LEAVING = "leaving"


@dataclass(slots=True)
class Stable:
    status: Status = Status.OUT
    ses: int = 0  # the session of the last requested link: never reset
    seq: int = 0  # the number of this host's next message: never reset
    # number -> body of each message of this host that may not have reached a station
    unsent: dict[int, int] = field(default_factory=dict)
    # The stations to ask about this host's past: the one of the last safe link, and before it the previous one if that
    # may know more.
    via: tuple[int, ...] = ()

"""The values that a host remembers through a crash.

Model     what a handler writes here is written atomically. Not here is what was delivered: a link begins with Welcome,
          which lists all that the station has received, and this contains all that the host has (see station.py, "by
          gap")
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
    ses: int = 0  # of the last link that was asked for: never reset
    seq: int = 0  # number of the next own message: never reset
    unsent: dict[int, int] = field(default_factory=dict)  # own number -> body: not known to be with a station
    via: tuple[int, ...] = ()  # the station of the last safe link, behind the one before while that still knows more

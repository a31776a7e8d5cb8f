"""The state of a host that survives a crash.

Model     each handler writes atomically. The delivered messages are not stored, because a link begins with Welcome. It
          lists all that the station has received, which includes all that the host has (see station.py, "by gap")
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
    seq: int = 0  # the number of the next own message: never reset
    # number of an own message -> body, if no station is known to have the message
    unsent: dict[int, int] = field(default_factory=dict)
    # the station of the last safe link, after the previous one as long as that one knows more
    via: tuple[int, ...] = ()

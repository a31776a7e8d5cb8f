"""The state of a host that survives a crash.

Model     each statement, or group of statements, writes atomically. (lc, nxt) are always written together, and nxt with
          each delivery (F8)
Source    Wilhelm, Arantes, Sens (2020), section IV.E; which values and when: docs/protocols/mobile-causal.md
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from .messages import NO_SESSION


class Status(Enum):
    OUT = "out"
    JOIN = "join"
    MEMBER = "member"
    LEAVING = "leaving"


@dataclass(slots=True)
class Stable:
    status: Status = Status.OUT
    ses: int = 0  # Ses: never reset (F12a)
    lc: int = NO_SESSION  # Ses_LC: the last session whose init_ACK arrived
    nxt: int = 0  # seq_C: number of the next message to deliver in session lc; always written together with lc
    seq_h: int = 0  # the number of this host's next message: never reset (F12a)
    sbuf: dict[int, int] = field(default_factory=dict)  # SBuffer: number -> body of this host's messages, oldest first
    gap_on_join: bool = False  # this join repairs a lost context, and the application gets Gap() instead of Joined()

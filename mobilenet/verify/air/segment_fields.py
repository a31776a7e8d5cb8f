"""Read a TCP segment from the record.

Checks    it has all fields of a segment and no other, each of its type; the messages that end in it are in order, and
          end behind its first byte and not behind its last
Units     bytes
Errors    none
Source    ours: docs/run-directory.md
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from mobilenet.rundir.schema import MOST_LISTED

PORTS = ("source", "target")
NUMBERS = ("flags", "seq", "ack", "length", "payload_bytes", "window", "mss")
MOST = 1 << 40  # no number is higher ...
LAST_PORT = 1 << 62  # ... than this; ports are nanoseconds
HEADER_BYTES = 20
MSS_OPTION_BYTES = 4  # more in a SYN
SYN, ACK, RST = 1, 2, 4
SYN_ACK = SYN | ACK
Ends = list[tuple[int, str]]  # one past the last byte of a message, and what it is


def numbers_and_ends(detail: dict[str, Any]) -> tuple[list[int], Ends] | None:
    """Ports and numbers, and the messages that end in the segment; None: no segment has this."""
    fields = [detail.get(name) for name in (*PORTS, *NUMBERS)]
    numbers = [number for number in fields if type(number) is int and 0 <= number < LAST_PORT]
    if len(detail) != len(fields) + 1 or len(numbers) != len(fields) or max(numbers[len(PORTS) :]) >= MOST:
        return None
    messages = detail.get("messages")
    if not isinstance(messages, list) or len(messages) > MOST_LISTED:
        return None
    if not all(isinstance(each, list) and len(each) == 2 for each in messages):
        return None
    if not all(type(end) is int and isinstance(name, str) for end, name in messages):
        return None
    seq, length = detail["seq"], detail["length"]
    marks = [seq, *(end for end, _ in messages)]
    if any(end <= before for before, end in pairwise(marks)) or marks[-1] > seq + length:
        return None
    return numbers, [(end, name) for end, name in messages]

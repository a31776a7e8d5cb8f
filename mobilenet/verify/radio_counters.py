"""Distinguish the counters of the radio that count frames from those that count the MAC's acknowledgements (ACKs).

Model     counters.json contains the same counters for ACKs, in `acks`, as for frames. In records of older versions,
          `acks` is missing, and every counter of frames includes ACKs
Units     frames
Errors    KeyError and TypeError where a counter is missing or not a number
Source    ours: docs/run-directory.md
"""

from __future__ import annotations

from typing import Any


def acks_among_frames(radio: dict[str, Any]) -> int:
    """Return how many of the frames that `radio` counts are ACKs, which is 0 except in records of older versions."""
    return 0 if "acks" in radio else int(radio["mac_acks"])


def pair_counters(radio: dict[str, Any]) -> list[tuple[str, int, dict[str, Any]]]:
    """Return the counters of pairs, each with its key and the number of frames in its pairs."""
    of_acks = [("radio.acks", radio["mac_acks"], radio["acks"])] if "acks" in radio else []
    return [("radio", radio["frames"], radio), *of_acks]

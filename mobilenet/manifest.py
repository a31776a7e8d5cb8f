"""What a run says of itself: manifest.json.

Model     the manifest states what the run promises, and the verifier holds it to that: which broadcast, gaps after how
          long, how soon a reachable host is heard, and whether it is bound to be at rest some time after its
          active part
Units     seconds, as the names say
Source    ours: DESIGN.md §6, §8
"""

from __future__ import annotations

from math import ceil, log
from typing import Any

from mobilenet import __version__
from mobilenet.record import FORMAT_VERSION, Recording

UNHEARD_IS_RARER_THAN = 1e-6
LOST_ANYHOW = 0.1  # of all frames: collisions and noise of any kind


def promises(
    protocol: Any, loss: float, late_s: float = 0.0, rest_within_s: float | None = None, duplicating_air: bool = False
) -> dict[str, Any]:
    """Of a protocol with these parameters on air with this loss."""
    return {
        "broadcast": getattr(protocol, "promises", None),
        "gap_after_s": getattr(protocol, "expiry_s", None),
        "heard_every_s": heard_every_s(getattr(protocol, "heartbeat_s", 0.0), loss) + late_s,
        "rest_within_s": rest_within_s,
        "duplicating_air": duplicating_air,
    }


def heard_every_s(heartbeat_s: float, loss: float) -> float:
    """How long a reachable host may remain unheard, or without the answer to what was heard, but for one time in a million."""
    arrives_both_ways = ((1 - loss) * (1 - LOST_ANYHOW)) ** 2
    if arrives_both_ways == 0:
        return 1e9
    return heartbeat_s * ceil(log(UNHEARD_IS_RARER_THAN) / log(1 - arrives_both_ways))


def manifest(
    recording: Recording, seed: int, simulated_ns: int, duration_s: float, drain_s: float, quiescent: bool,
    promised: dict[str, Any], wall_s: float, command: str, **more: Any,
) -> dict[str, Any]:  # fmt: skip
    """The whole document; `more` is what only some readers need."""
    return {
        "format_version": FORMAT_VERSION,
        "mobilenet_version": __version__,
        "seed": seed,
        "replication": 0,
        "fingerprint": recording.events.fingerprint(),
        "simulated_s": simulated_ns / 1e9,
        "wall_s": round(wall_s, 3),
        "command": command,
        "duration_s": duration_s,
        "drain_s": drain_s,
        "quiescent": quiescent,
        "promises": promised,
        **more,
    }

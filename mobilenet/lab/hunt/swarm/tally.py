"""Count the fate of every packet of the adversary, in the form of a radio's counters.

Model     Each packet that leaves a queue is a frame, and each attempt to deliver it to a receiver is a pair. A pair
          may be duplicated, so that for each kind of pair
              pairs_in_range + duplicated = received + lost + in_flight
          Collisions, MAC ACKs and headers do not exist here, so only the bytes of the messages are counted
Units     packets, bytes
Source    ours: docs/architecture.md, docs/verdicts-and-metrics.md
"""

from __future__ import annotations

from typing import Any

from mobilenet.network.radio.frame import OUTCOMES
from mobilenet.record.recorder import Samples

NO_KIND = [0, 0, 0]  # numbers of packets, bytes and payload bytes


class Pairs:
    def __init__(self) -> None:
        self.in_range = 0
        self.duplicated = 0
        self.in_flight = 0
        self.outcomes = dict.fromkeys(OUTCOMES, 0)

    def counters(self) -> dict[str, Any]:
        lost = {outcome: count for outcome, count in self.outcomes.items() if outcome != "received"}
        return {
            "pairs_in_range": self.in_range, "duplicated": self.duplicated, "received": self.outcomes["received"],
            "lost": lost,
            "in_flight": self.in_flight,
        }  # fmt: skip


class Tally:
    def __init__(self) -> None:
        self.all = Pairs()
        self.addressed = Pairs()
        self.queue_drops = 0
        self.wired_delivered = 0
        self.wired_in_flight = 0
        self._kinds: dict[str, dict[str, list[int]]] = {"host": {}, "station": {}, "wired": {}}

    # --- radio

    def count_message(self, from_station: bool, message: Any, dropped: bool) -> None:
        if dropped:
            self.queue_drops += 1
        else:
            self._count("station" if from_station else "host", message)

    def pair(self, addressed: bool) -> None:
        self.all.in_range += 1
        self.addressed.in_range += addressed

    def count_duplicate(self, addressed: bool) -> None:
        self.all.duplicated += 1
        self.addressed.duplicated += addressed

    def under_way(self, addressed: bool, change: int) -> None:
        self.all.in_flight += change
        self.addressed.in_flight += change * addressed

    def outcome(self, outcome: str, addressed: bool) -> None:
        self.all.outcomes[outcome] += 1
        self.addressed.outcomes[outcome] += addressed

    # --- wire

    def count_wired_message(self, message: Any) -> None:
        self._count("wired", message)
        self.wired_in_flight += 1

    def count_wired_arrival(self) -> None:
        self.wired_in_flight -= 1
        self.wired_delivered += 1

    # --- both

    def _count(self, side: str, message: Any) -> None:
        kind = self._kinds[side].setdefault(type(message).__name__, list(NO_KIND))
        kind[0] += 1
        kind[1] += message.size_bytes
        kind[2] += message.payload_bytes

    def _sum(self, column: int, *sides: str) -> int:
        return sum(kind[column] for side in sides for kind in self._kinds[side].values())

    def counters(self) -> dict[str, Any]:
        """Return the counters in the form of a run on the radio."""
        kinds = {
            side: {
                name: {"count": n, "bytes": size, "control_bytes": size - load}
                for name, (n, size, load) in kinds.items()
            }
            for side, kinds in self._kinds.items()
        }
        return {
            "radio": {
                "frames": self._sum(0, "host", "station"),
                "bytes": self._sum(1, "host", "station"),
                **self.all.counters(),
                "addressed": self.addressed.counters(),
                "mac_acks": 0,
                "mac_retries": 0,
                "queue_drops": self.queue_drops,
            },
            "wired": {
                "sent": self._sum(0, "wired"),
                "delivered": self.wired_delivered,
                "bytes": self._sum(1, "wired"),
                "in_flight": self.wired_in_flight,
            },
            "by_message_type": kinds,
        }

    def sample(self, now_ns: int, samples: Samples) -> None:
        """Sample the counters of the network, as a simulation run does."""
        radio_bytes, payload = self._sum(1, "host", "station"), self._sum(2, "host", "station")
        samples.add(now_ns, "network", "radio_frames", self._sum(0, "host", "station"))
        samples.add(now_ns, "network", "radio_bytes", radio_bytes)
        samples.add(now_ns, "network", "radio_control_bytes", radio_bytes - payload)
        for pairs, prefix in ((self.all, "pairs_"), (self.addressed, "addressed_pairs_")):
            for outcome, count in pairs.outcomes.items():
                samples.add(now_ns, "network", prefix + outcome, count)
        samples.add(now_ns, "network", "wired_messages", self._sum(0, "wired"))
        samples.add(now_ns, "network", "wired_bytes", self._sum(1, "wired"))

"""Mutants of the causal layer, for tests only: without it, or with half of it."""

from __future__ import annotations

from mobilenet.protocols.vcube.causal_layer import Arrival, CausalLayer, StampedSends


class Unordered(CausalLayer):
    """Hands up every message as it arrives."""

    def _admit(self, arrival: Arrival) -> None:
        self._ready.append(arrival)


class FifoOnly(CausalLayer):
    """Delivers broadcasts in the order of their source, and directed sends after the broadcasts of their own sender."""

    def _admit(self, arrival: Arrival) -> None:
        own = tuple(due if station == arrival.source else 0 for station, due in enumerate(arrival.after))
        super()._admit(arrival._replace(after=own))


class OtherChannel(CausalLayer):
    """Delivers broadcasts causally, but directed sends bypass them."""

    def _admit(self, arrival: Arrival) -> None:
        if arrival.is_broadcast:
            super()._admit(arrival)
        else:
            self._ready.append(arrival)


class OtherChannelBesideCausal(StampedSends):
    """Lets directed sends bypass the causal broadcast."""

    def _admit(self, arrival: Arrival) -> None:
        self._ready.append(arrival)


class StampedWhenSent(CausalLayer):
    """Ticks the clock only when the broadcast below has no queue, so directed sends overtake the messages waiting
    there.
    """

    def send(self, to: int, message: object) -> None:
        mine = self.clock[self.me]
        queue = len(getattr(self.beneath, "_queue", ()))
        self.clock[self.me] = mine - queue
        super().send(to, message)
        self.clock[self.me] = mine

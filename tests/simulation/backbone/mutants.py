"""Faulty versions of the causal layer, for tests. Some remove the layer, and others keep only a part of it."""

from __future__ import annotations

from mobilenet.protocols.vcube.causal_layer import Arrival, CausalLayer, StampedSends


class Unordered(CausalLayer):
    """Delivers every message as soon as it arrives."""

    def _admit(self, arrival: Arrival) -> None:
        self._ready.append(arrival)


class FifoOnly(CausalLayer):
    """Delivers the broadcasts of each source in order, and delivers directed sends after earlier broadcasts of the same
    sender.
    """

    def _admit(self, arrival: Arrival) -> None:
        own = tuple(due if station == arrival.source else 0 for station, due in enumerate(arrival.after))
        super()._admit(arrival._replace(after=own))


class OtherChannel(CausalLayer):
    """Delivers broadcasts in causal order, but directed sends bypass them."""

    def _admit(self, arrival: Arrival) -> None:
        if arrival.is_broadcast:
            super()._admit(arrival)
        else:
            self._ready.append(arrival)


class OtherChannelBesideCausal(StampedSends):
    """Lets directed sends bypass a broadcast protocol that already guarantees causal order."""

    def _admit(self, arrival: Arrival) -> None:
        self._ready.append(arrival)


class StampedWhenSent(CausalLayer):
    """Ticks the clock only when the queue of the broadcast below is empty. Directed sends therefore overtake the
    messages in this queue.
    """

    def send(self, to: int, message: object) -> None:
        mine = self.clock[self.me]
        queue = len(getattr(self.beneath, "_queue", ()))
        self.clock[self.me] = mine - queue
        super().send(to, message)
        self.clock[self.me] = mine

"""What happens without the causal layer, or with half of it; for tests alone, no scenario can ask for these."""

from __future__ import annotations

from mobilenet.protocols.vcube.causal_layer import Arrival, CausalLayer, StampedSends


class Unordered(CausalLayer):
    """Everything is handed up as it comes."""

    def _admit(self, arrival: Arrival) -> None:
        self._ready.append(arrival)


class FifoOnly(CausalLayer):
    """Broadcasts in the order of their source; directed sends after the broadcasts of their own sender."""

    def _admit(self, arrival: Arrival) -> None:
        own = tuple(due if station == arrival.source else 0 for station, due in enumerate(arrival.after))
        super()._admit(arrival._replace(after=own))


class OtherChannel(CausalLayer):
    """Causal broadcasts, but directed sends go beside them."""

    def _admit(self, arrival: Arrival) -> None:
        if arrival.is_broadcast:
            super()._admit(arrival)
        else:
            self._ready.append(arrival)


class OtherChannelBesideCausal(StampedSends):
    """The same above the causal broadcast."""

    def _admit(self, arrival: Arrival) -> None:
        self._ready.append(arrival)


class StampedWhenSent(CausalLayer):
    """A clock that ticks only when the broadcast beneath has no queue: directed sends overtake what waits there."""

    def send(self, to: int, message: object) -> None:
        mine = self.clock[self.me]
        queue = len(getattr(self.beneath, "_queue", ()))
        self.clock[self.me] = mine - queue
        super().send(to, message)
        self.clock[self.me] = mine

"""The backbone as a state: a tree of FIFO links, each with the messages in transit on it.

Model     A broadcast floods the tree: a station forwards it before it handles it. A message for one station uses the
          same links. If the sender of x had sent or delivered a message before x, every station therefore delivers it
          before x, as mobilenet/protocols/port.py promises. Any link may be the next one to deliver its first message.
Shapes    A state holds, for each directed link in the order of `Wires.links`, a tuple of (source, to or None, message)
Source    ours
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from mobilenet.network.wired.network import TreeRoutes

from .local import Numbering

Item = tuple[int, int | None, int]
Queues = tuple[tuple[Item, ...], ...]


class Head(NamedTuple):
    """A message that may arrive next at a station."""

    link: int
    at: int
    source: int
    message: int
    handled: bool  # True if the station handles the message, and False if it only forwards it.
    left: int  # the state of the wires after the message has arrived and been forwarded


class Wires:
    """All states of the wires of a tree. `parents[i]` is the neighbour of station i+1 towards station 0."""

    def __init__(self, parents: Sequence[int]) -> None:
        self._routes = TreeRoutes.of_parents(parents)
        self.links = self._routes.links
        self._index = {link: i for i, link in enumerate(self.links)}
        self._states = Numbering()
        self._heads: list[tuple[Head, ...] | None] = []
        self._put: dict[tuple[int, int, tuple[tuple[int | None, int], ...]], int] = {}
        self.empty = self.number(((),) * len(self.links))

    def __len__(self) -> int:
        return len(self._states)

    def queues(self, state: int) -> Queues:
        queues: Queues = self._states.items[state]
        return queues

    def put(self, state: int, at: int, sent: tuple[tuple[int | None, int], ...]) -> int:
        """Return the state of the wires after a station has sent messages."""
        key = (state, at, sent)
        new_state = self._put.get(key)
        if new_state is None:
            queues = [list(queue) for queue in self.queues(state)]
            for to, message in sent:
                self._spread(queues, at, None, (at, to, message))
            new_state = self._put[key] = self.number(tuple(map(tuple, queues)))
        return new_state

    def heads(self, state: int) -> tuple[Head, ...]:
        """Return the messages that may arrive next, one for each link that is not empty."""
        heads = self._heads[state]
        if heads is None:
            queues = self.queues(state)
            heads = self._heads[state] = tuple(self._head(queues, i) for i, queue in enumerate(queues) if queue)
        return heads

    def _head(self, queues: Queues, link: int) -> Head:
        before, at = self.links[link]
        source, to, message = item = queues[link][0]
        left = [list(queue) for queue in queues]
        del left[link][0]
        self._spread(left, at, before, item)
        return Head(link, at, source, message, to in (None, at), self.number(tuple(map(tuple, left))))

    def _spread(self, queues: list[list[Item]], at: int, before: int | None, item: Item) -> None:
        for neighbour in self._routes.onward(at, before, item[1]):
            queues[self._index[at, neighbour]].append(item)

    def number(self, queues: Queues) -> int:
        number = self._states.number(queues, queues)
        if number == len(self._heads):
            self._heads.append(None)
        return number

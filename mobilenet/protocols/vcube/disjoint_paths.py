"""DPath-RB: reliable broadcast over d trees with disjoint paths, without acknowledgements and without a detector.

Source      Fragopoulou, Akl: Edge-disjoint spanning trees on the star network (1996), for the hypercube as compared
            with in Jeanneau, Rodrigues, Arantes, Duarte (JBCS 2017); for hypercubes the trees are the rotated binomial
            trees of Johnsson, Ho: Optimum broadcasting and personalized communication in hypercubes (1989)
Trees       in tree t the path from root 0 to x flips bit t, then sets the other bits of x in the order t+1, t+2, ...,
            cyclically, and flips t back at the end if x has it clear. Other roots by xor. The d paths to a process
            share no process
Order       the root sends in trees 0..d-1; within tree t a process serves its child on link b in descending (b-t) mod d
Assumes     reliable links in any order, crash-stop, n a power of two
Promises    what a correct source broadcasts reaches all, if fewer than d processes crash; each once, in any order
Not         promised, though claimed: agreement when the source crashes: n = 8, the source 0 crashes with only its copy
          for
            1 sent, and 5 is down: 1 delivers, those below 5 in tree 0 do not. Nor with a correct source and d crashes:
            n = 16, 0, 1, 2 and 12 are down from the start, and they cut all paths between some two of the others
"""

from __future__ import annotations

from functools import cache
from typing import Any, ClassVar, NamedTuple

from .port import MessageId, ProcessPort, size_of
from .topology import dimension


@cache
def tree_children(x: int, t: int, d: int) -> tuple[int, ...]:
    """Return the children of x (seen from root 0) in tree t, in the order in which they are served."""
    top = 1 << t
    if x == 0:
        return (top,)
    if not x & top:
        return ()  # the way back was the last step
    steps = [(b - t) % d for b in range(d) if x & (1 << b)]
    children = [x | (1 << (t + step) % d) for step in range(d - 1, max(steps), -1)]
    return (*children, *((x ^ top,) if x != top else ()))


class Copy(NamedTuple):
    """A copy of a message on its way in one of the trees."""

    id: MessageId
    body: Any
    tree: int
    size_bytes: int


class DisjointPathsBroadcast:
    BUFFERS: ClassVar[tuple[str, ...]] = ("pending",)

    def __init__(self, port: ProcessPort, n: int, tree_bytes: int = 1) -> None:
        if n & (n - 1):
            raise ValueError(f"a hypercube has 2, 4, 8, ... processes, got {n}")
        self._port = port
        self._i = port.me
        self._d = dimension(n)
        self._tree_bytes = tree_bytes
        self._count = 0
        self._seen: set[MessageId] = set()

    def buffer_sizes(self) -> tuple[int, ...]:
        return (0,)  # nothing ever waits

    def broadcast(self, body: Any) -> MessageId:
        message = MessageId(self._i, self._count)
        self._count += 1
        self._seen.add(message)
        self._port.deliver(message, body)
        for tree in range(self._d):
            self._port.send(self._i ^ (1 << tree), Copy(message, body, tree, self._tree_bytes + size_of(body)))
        return message

    def on_receive(self, sender: int, message: Any) -> None:
        source = message.id.source
        if message.id not in self._seen:
            self._seen.add(message.id)
            self._port.deliver(message.id, message.body)
        for child in tree_children(self._i ^ source, message.tree, self._d):
            self._port.send(source ^ child, message)

    def on_crash(self, process: int) -> None:
        """Ignore it: this broadcast needs no detector."""

    def on_up(self, process: int) -> None:
        """Ignore it: this broadcast needs no detector."""

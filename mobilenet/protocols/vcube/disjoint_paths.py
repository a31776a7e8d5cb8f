"""DPath-RB: reliable broadcast over d trees with disjoint paths, without acknowledgements or a failure detector.

Source      Fragopoulou, Akl: Edge-disjoint spanning trees on the star network (1996), for the hypercube as compared
            with in Jeanneau, Rodrigues, Arantes, Duarte (JBCS 2017); for hypercubes the trees are the rotated binomial
            trees of Johnsson, Ho: Optimum broadcasting and personalized communication in hypercubes (1989)
Trees       in tree t the path from root 0 to x flips bit t, then sets the other bits of x in the order t+1, t+2, ...,
            cyclically, and finally flips t back if this bit of x is clear. Trees of other roots follow by xor. The d
            paths to a process have no other process in common
Order       the root sends in trees 0..d-1; within tree t a process serves its child on link b in descending (b-t) mod d
Assumes     reliable links in any order, crash-stop, n a power of two
Promises    if fewer than d processes crash, each message of a correct source reaches all processes, once, in any order
Not         promised, though claimed: agreement if the source crashes. With n = 8, the source 0 crashes when it has sent
            only its copy for 1, and 5 is down: 1 delivers, those below 5 in tree 0 do not. The broadcast also fails
            with a correct source and d crashes: with n = 16, 0, 1, 2 and 12 are down from the start, and cut all paths
            between some pairs of other processes
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
        return ()  # the last step was to flip bit t back
    steps = [(b - t) % d for b in range(d) if x & (1 << b)]
    children = [x | (1 << (t + step) % d) for step in range(d - 1, max(steps), -1)]
    return (*children, *((x ^ top,) if x != top else ()))


class Copy(NamedTuple):
    """A copy of a message that travels in one of the trees."""

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
        return (0,)  # this protocol never lets a message wait

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
        """Do nothing: this broadcast needs no detector."""

    def on_up(self, process: int) -> None:
        """Do nothing: this broadcast needs no detector."""

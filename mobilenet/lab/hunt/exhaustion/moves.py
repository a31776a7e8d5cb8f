"""List the events that may happen at one node, given its state and the frames sent to it.

Model     space.py explains the events. This module lists arrivals of frames, timers, and the events of a host, but not
          messages over the wire. Frames that have no effect on the node are left out.
Shapes    Sets of frames are bit masks. A frame consists of a receiver and an input of this receiver. Frames are
          numbered over all nodes
Errors    An exception of a handler is part of the move
Source    ours
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from .case import Case
from .local import Facts, Local, Messages, Numbering, StepEffects

FREE, REPEAT, MOVE, CRASH, LEAVE, JOIN, BROADCAST = range(7)


class Move(NamedTuple):
    """A possible event at one node, with its cost and its effects."""

    node: int
    input_number: int
    cost: int
    becomes: int
    sends: int  # bit mask of the frames that the move sends
    uses: int  # bit of the counted frame that takes effect in this move, or 0
    wired: tuple[tuple[int | None, int], ...]
    story: tuple[tuple[Any, ...], ...]
    error: str | None


class Moves:
    """The moves of all nodes of a case. Hosts are numbered first, and then stations."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.hosts = len(case.cells)
        self.messages = Messages()
        self.nodes = [self._local(case.build_host, h, h) for h in range(self.hosts)]
        self.nodes += [self._local(case.build_station, s, self.hosts + s) for s in range(case.stations)]
        self.count = len(self.nodes)
        self.frames = Numbering()  # bit -> (receiver, input)
        self.masks = [0] * self.count  # The bit mask of the frames sent to each node.
        self._received: dict[tuple[int, str, int, int], int] = {}
        self._known: list[dict[tuple[int, int, int], tuple[tuple[Move, ...], int]]] = [{} for _ in self.nodes]
        self._wired: list[dict[tuple[int, int, int], Move]] = [{} for _ in self.nodes]

    def _local(self, build: Any, number: int, place: int) -> Local:
        return Local(place, lambda clock: build(number, clock), self.messages, self.case)

    def number_of(self, node: int) -> int:
        """Return the number by which the protocol identifies a node."""
        return node if node < self.hosts else node - self.hosts

    def input_for(self, node: int, kind: str, sender: int, message: int) -> int:
        """Return the number of the input ('receive' or 'wired', sender, message)."""
        key = (node, kind, sender, message)
        input_number = self._received.get(key)
        if input_number is None:
            input_number = self._received[key] = self.nodes[node].input((kind, sender, self.messages.items[message]))
        return input_number

    def sending(self, node: int, local: int, frames: int, used: int) -> list[Move]:
        """Return the moves whose only effect is to send frames."""
        mask = self.masks[node]
        return [move for move in self.find(node, local, frames & mask, used & mask) if _only_sends(move, local)]

    def moves_of(self, node: int, local: int, air: int, used: int) -> tuple[tuple[Move, ...], int]:
        """Return the moves of a node that do more than send frames, and the frames that its other moves send."""
        mask = self.masks[node]
        key = (local, air & mask, used & mask)
        entry = self._known[node].get(key)
        if entry is None:
            moves: list[Move] = []
            sends = 0
            for move in self.find(node, *key):
                if _only_sends(move, local):
                    sends |= move.sends
                else:
                    moves.append(move)
            entry = self._known[node][key] = (tuple(moves), sends)
        return entry

    def find(self, node: int, local: int, frames: int, used: int) -> Iterator[Move]:
        facts = self.nodes[node].facts[local]
        while frames:
            bit = frames & -frames
            frames ^= bit
            input_number = self.frames.items[bit.bit_length() - 1][1]
            move = self._move(node, local, input_number, FREE)
            if move.becomes == local and not (move.sends or move.wired or move.story or move.error):
                continue
            if self._is_counted(node, input_number) and (move.becomes != local or move.wired):
                move = move._replace(cost=REPEAT if bit & used else FREE, uses=bit)
            yield move
        for timer in facts.armed:
            yield self._plain(node, local, ("timer", timer), FREE)
        if node < self.hosts:
            yield from self._of_host(node, local, facts)

    def _of_host(self, node: int, local: int, facts: Facts) -> Iterator[Move]:
        case = self.case
        if case.moves and node in case.movers:
            for station in range(case.stations):
                if station != facts.cell:
                    yield self._plain(node, local, ("cell", station), MOVE)
        if not facts.up:
            yield self._plain(node, local, ("recover",), FREE)
            return
        if case.crashes:
            yield self._plain(node, local, ("crash",), CRASH)
        if case.leaves and not facts.out:
            yield self._plain(node, local, ("leave",), LEAVE)
        if case.joins and facts.out:
            yield self._plain(node, local, ("join",), JOIN)
        if case.messages[node]:
            move = self._plain(node, local, ("broadcast", 1), BROADCAST)
            if move.story:  # A refused broadcast has no events.
                yield move

    def _is_counted(self, node: int, input_number: int) -> bool:
        return type(self.nodes[node].input_at(input_number)[2]).__name__ in self.case.counted

    def _plain(self, node: int, local: int, node_input: tuple[Any, ...], cost: int) -> Move:
        return self._move(node, local, self.nodes[node].input(node_input), cost)

    def _move(self, node: int, local: int, input_number: int, cost: int) -> Move:
        becomes, effects = self.nodes[node].step(local, input_number)
        return Move(
            node,
            input_number,
            cost,
            becomes,
            self._sends(node, effects),
            0,
            effects.wired,
            self.story(node, input_number, effects),
            effects.error,
        )

    def story(self, node: int, input_number: int, effects: StepEffects) -> tuple[tuple[Any, ...], ...]:
        """Return the events of a step that must be judged."""
        if effects.answer is not None and self.nodes[node].input_at(input_number)[0] == "broadcast":
            return (("broadcast", effects.answer), *effects.upcalls)
        return effects.upcalls

    def receivers(self, node: int, to: int | None) -> range:
        """Return the nodes that may hear a frame: the addressee, or else all stations (for a frame of a host) or all
        hosts (for a frame of a station).
        """
        first, last = (self.hosts, self.count) if node < self.hosts else (0, self.hosts)
        return range(first, last) if to is None else range(first + to, first + to + 1)

    def _sends(self, node: int, effects: StepEffects) -> int:
        frames = 0
        for to, message in effects.radio:
            for receiver in self.receivers(node, to):
                frames |= self.frame(receiver, self.input_for(receiver, "receive", self.number_of(node), message))
        return frames

    def frame(self, receiver: int, input_number: int) -> int:
        """Return the bit that stands for a frame."""
        frame = (receiver, input_number)
        bit = 1 << self.frames.number(frame, frame)
        self.masks[receiver] |= bit
        return bit

    def wire_move(self, node: int, local: int, source: int, message: int) -> Move:
        """Return the move in which a message from another station arrives."""
        key = (local, source, message)
        move = self._wired[node].get(key)
        if move is None:
            input_number = self.input_for(node, "wired", source, message)
            move = self._wired[node][key] = self._move(node, local, input_number, FREE)
        return move

    def join(self, node: int, local: int) -> Move:
        """Return the move in which a host asks to join."""
        return self._plain(node, local, ("join",), FREE)


def _only_sends(move: Move, before: int) -> bool:
    return move.becomes == before and move.cost == FREE and not (move.wired or move.story or move.error)

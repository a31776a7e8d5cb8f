"""Use the symmetry of two hosts with the same role to explore only one state of each mirror-image pair.

Model     The image of a state is the one that would have been reached if everything had happened to the other host. It
          is computed by mirroring inputs: a state of a node is reached by inputs, whose images lead the counterpart of
          the node (the other host, or the same station) to the image of the state. The image of a message is the
          message that the mirrored step at its origin sends at the same position. So it does not matter where a
          protocol stores the numbers of hosts. Mirroring maps executions to executions, so a check fails after a state
          if and only if one fails after its image.
Assumes   The protocol treats hosts alike, whatever their numbers. Both hosts begin in the same cell, are not members,
          have the same bounds, and either both move or neither does
Errors    ValueError for a case whose two hosts have different roles
Source    Ip, Dill, Better verification through symmetry (1996); ours
"""

from __future__ import annotations

from typing import Any

from mobilenet.protocols.port import MessageId

from .case import Case
from .judge import History
from .space import Space, State


def is_symmetric(case: Case) -> bool:
    """Return whether the case has exactly two hosts, which have the same role from the beginning."""
    alike = len(case.cells) == 2 and len(set(case.cells)) == len(set(case.messages)) == 1
    return alike and not case.joined and (case.moves == 0 or set(case.movers) == {0, 1})


class Mirror:
    def __init__(self, space: Space) -> None:
        if not is_symmetric(space.case):
            raise ValueError(f"{space.case.name}: its hosts do not have the same role")
        self._space = space
        self._moves = space.moves
        self._locals: list[dict[int, int]] = [{0: 0} for _ in space.nodes]
        self._inputs: list[dict[int, int]] = [{} for _ in space.nodes]
        self._messages: dict[int, int] = {}
        self._frames: dict[int, int] = {0: 0}
        self._bits: dict[int, int] = {}
        # known mirror images of the wires, the histories and the budgets
        self._others: list[dict[int, int]] = [{}, {}, {}]

    def choose(self, state: State) -> State:
        """Return the representative of a state, which is the same for the state and its mirror image."""
        return min(state, self.image(state))

    def image(self, state: State) -> State:
        count = self._space.count
        nodes = [self._local(node, state[node]) for node in range(count)]
        nodes[0], nodes[1] = nodes[1], nodes[0]
        wires, history, budget = (self._other(i, state[count + i]) for i in range(3))
        return (*nodes, wires, history, budget, self._mask(state[-2]), self._mask(state[-1]))

    def _counterpart(self, node: int) -> int:
        return 1 - node if node < 2 else node

    def _local(self, node: int, state: int) -> int:
        """Return the number of the mirror image of a state. The number belongs to the node's counterpart."""
        known = self._locals[node]
        way = []
        while state not in known:
            before = self._space.nodes[node].before(state)
            assert before is not None
            way.append((state, before))
            state = before[0]
        other = self._space.nodes[self._counterpart(node)]
        for after, (earlier, input_number) in reversed(way):
            known[after] = other.step(known[earlier], self._input(node, input_number))[0]
            state = after
        return known[state]

    def _input(self, node: int, input_number: int) -> int:
        image = self._inputs[node].get(input_number)
        if image is None:
            what = self._space.nodes[node].input_at(input_number)
            image = self._inputs[node][input_number] = self._mirror_input(node, what)
        return image

    def _mirror_input(self, node: int, what: tuple[Any, ...]) -> int:
        other = self._counterpart(node)
        if what[0] not in ("receive", "wired"):
            return self._space.nodes[other].input(what)
        kind, sender, message = what
        from_host = kind == "receive" and node >= 2
        image = self._message(self._moves.messages.find(message))
        return self._moves.input_for(other, kind, self._counterpart(sender) if from_host else sender, image)

    def _message(self, message: int) -> int:
        image = self._messages.get(message)
        if image is None:
            node, state, input_number, way, place = self._moves.messages.origins[message]
            step = self._space.nodes[self._counterpart(node)].step(
                self._local(node, state), self._input(node, input_number)
            )
            image = self._messages[message] = getattr(step[1], way)[place][1]
        return image

    def _mask(self, frames: int) -> int:
        image = self._frames.get(frames)
        if image is None:
            image, left = 0, frames
            while left:
                bit = left & -left
                left ^= bit
                if bit not in self._bits:
                    self._bits[bit] = self._bit(bit)
                image |= self._bits[bit]
            self._frames[frames] = image
        return image

    def _bit(self, bit: int) -> int:
        receiver, input_number = self._moves.frames.items[bit.bit_length() - 1]
        return self._moves.frame(self._counterpart(receiver), self._input(receiver, input_number))

    def _other(self, which: int, number: int) -> int:
        known = self._others[which]
        if number not in known:
            known[number] = (self._wires, self._history, self._budget)[which](number)
        return known[number]

    def _wires(self, wires: int) -> int:
        queues = self._space.wires.queues(wires)
        return self._space.wires.number(
            tuple(tuple((source, to, self._message(m)) for source, to, m in queue) for queue in queues)
        )

    def _history(self, number: int) -> int:
        history = self._space.history(number)
        messages = tuple(MessageId(1 - message.host, message.seq) for message in history.messages)
        return self._space.number_history(History(messages, history.pasts, history.hosts[::-1]))

    def _budget(self, number: int) -> int:
        budget = self._space.budget(number)
        return self._space.number_budget((*budget[:-2], budget[-1], budget[-2]))

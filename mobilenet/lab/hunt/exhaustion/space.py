"""The states of a whole network, and the events that may happen in each state.

Model     Radio: the radio is the set of all frames ever sent. A frame may arrive at its receiver any number of times,
          in any order, or never. A frame that a station sends to its cell may arrive at any host, wherever the host is
          by then. Losses, copies, delays and overhearing are therefore unbounded, and a frame need not be sent twice.
          Frames of the types in `case.counted` are an exception: for each of them, a station opens a request with a new
          number, so the search would never end. Each of them may change its receiver's state, or make it send on the
          wire, once. Such effects may be repeated `case.repeats` times in total. With one host, three repeats include
          every execution in which the timer that repeats such frames fires twice and one frame is copied. With two
          hosts, this needs five repeats. Wire: see wires.py. Timers: each armed timer may fire at any time, any number
          of times. Hosts: they move, crash, leave, join again and broadcast within the bounds of the case; a host that
          is down may recover at any time.
Reduction Frames that can be sent without any other change (a heartbeat, the answer to a repeated request) are sent at
          once, until this does not add any more frames. No behaviour is lost
Shapes    A state is a tuple of numbers: the state of each host and of each station, the wires, the history and the
          budget, and then two bit masks: all frames ever sent, and the counted frames that have already taken effect
Errors    Violation, from the step that fails a safety check
Source    ours; the radio as a growing set: Lamport, Specifying systems (2002)
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from .case import Case
from .judge import History, Violation, begin, history_after
from .local import NOTHING, Facts, Numbering
from .moves import BROADCAST, FREE, Move, Moves
from .wires import Wires

State = tuple[int, ...]


class Step(NamedTuple):
    """A move, and the link over which its message arrived. Node -1 stands for a message that only passes through a
    station.
    """

    move: Move
    link: int | None


class Space:
    def __init__(self, case: Case) -> None:
        self.case = case
        self.moves = Moves(case)
        self.nodes = self.moves.nodes
        self.hosts, self.count = self.moves.hosts, self.moves.count
        self.wires = Wires(case.parents)
        self._budgets = Numbering()
        self._spent: dict[tuple[int, int, int], int | None] = {}
        self._histories = Numbering()
        self._next_histories: dict[tuple[int, int, Any], int | Violation] = {}
        self._covers: dict[tuple[int, int], bool] = {}

    # --- numbers

    def facts(self, state: State, node: int) -> Facts:
        return self.nodes[node].facts[state[node]]

    def history(self, number: int) -> History:
        history: History = self._histories.items[number]
        return history

    def first(self) -> State:
        """Return the state in which all nodes have just been created and no host is a member."""
        case = self.case
        budget = (case.repeats, case.moves, case.crashes, case.leaves, case.joins, *case.messages)
        return self.silent((0,) * self.count, self.number_budget(budget), self.number_history(begin(self.hosts)))

    def silent(self, nodes: tuple[int, ...], budget: int, history: int) -> State:
        """Return the state in which the nodes have the given states, and no message is in transit."""
        state = (*nodes, self.wires.empty, history, budget, 0, 0)
        for node in range(self.count):
            state = self._normal(list(state), node, 0)
        return state

    def joining_state(self) -> State:
        """Return the state in which every host has asked to join. The frames of these requests are in transit."""
        state = self.first()
        for host in range(self.hosts):
            state = self._apply(state, self.moves.join(host, state[host]), self.wires.empty, state[-3])
        return state

    def number_history(self, history: History) -> int:
        return self._histories.number(history, history)

    def budget(self, number: int) -> tuple[int, ...]:
        """Return the remaining repeats, moves, crashes, leaves and joins, and the remaining messages of each host."""
        budget: tuple[int, ...] = self._budgets.items[number]
        return budget

    def number_budget(self, budget: tuple[int, ...]) -> int:
        return self._budgets.number(budget, budget)

    def covers(self, more: int, less: int) -> bool:
        """Return whether the first budget allows everything that the second one allows."""
        is_covering = self._covers.get((more, less))
        if is_covering is None:
            items = self._budgets.items
            is_covering = self._covers[more, less] = all(a >= b for a, b in zip(items[more], items[less], strict=True))
        return is_covering

    # --- whole states

    def successors(self, state: State) -> Iterator[tuple[Step, State]]:
        """Yield every possible next state. Raise Violation if a check fails."""
        count, budget, air, used = self.count, state[-3], state[-2], state[-1]
        moves_of = self.moves.moves_of
        for node in range(count):
            for move in moves_of(node, state[node], air, used)[0]:
                left = budget if move.cost == FREE else self._spend(budget, move.cost, node)
                if left is not None:
                    yield Step(move, None), self._apply(state, move, state[count], left)
        for head in self.wires.heads(state[count]):
            if head.handled:
                node = self.hosts + head.at
                move = self.moves.wire_move(node, state[node], head.source, head.message)
                yield Step(move, head.link), self._apply(state, move, head.left, budget, head.link)
            else:
                yield Step(PASSING, head.link), (*state[:count], head.left, *state[count + 1 :])

    def successors_until_broken(self, state: State) -> Iterator[tuple[Step, State]]:
        """Yield the successors of a state, up to the first violation."""
        with suppress(Broken):
            yield from self.successors(state)

    def is_idle(self, state: State) -> bool:
        """Return whether the wire is empty and all hosts are up."""
        return state[self.count] == self.wires.empty and all(self.facts(state, host).up for host in range(self.hosts))

    def _apply(self, state: State, move: Move, wires: int, budget: int, link: int | None = None) -> State:
        if move.error is not None:
            raise Broken(Violation("assertion", f"{self.nodes[move.node].name}: {move.error}"), Step(move, link))
        count, node = self.count, move.node
        after = list(state)
        after[node] = move.becomes
        after[count] = self.wires.put(wires, node - self.hosts, move.wired) if move.wired else wires
        if move.story:
            try:
                after[count + 1] = self.next_history(state[count + 1], node, move.story)
            except Violation as violation:
                raise Broken(violation, Step(move, link)) from None
        after[-3] = budget
        after[-2] = state[-2] | move.sends
        if move.uses:
            after[-1] |= move.uses
        if node >= self.hosts and self.case.single_owner:
            self._check_owner(after, Step(move, link))
        return self._normal(after, node, move.sends & ~state[-2])

    def _normal(self, after: list[int], moved: int, new: int) -> State:
        """Return the state after a node has changed and new frames were sent. Also add all frames that can be sent
        without any other change.
        """
        air, used, masks, moves_of = after[-2], after[-1], self.moves.masks, self.moves.moves_of
        air |= moves_of(moved, after[moved], air, used)[1]
        new |= air & ~after[-2]
        while new:
            before = air
            for node in range(self.count):
                if new & masks[node]:
                    air |= moves_of(node, after[node], air, used)[1]
            new = air & ~before
        after[-2] = air
        return tuple(after)

    def _check_owner(self, state: list[int], step: Step) -> None:
        seen = 0
        for node in range(self.hosts, self.count):
            serves = self.nodes[node].facts[state[node]].serves
            if seen & serves:
                host = (seen & serves).bit_length() - 1
                raise Broken(Violation("token", f"two stations serve h{host}"), step)
            seen |= serves

    def next_history(self, history: int, host: int, story: tuple[tuple[Any, ...], ...]) -> int:
        """Return the number of the history after the events of a host. Raise Violation if a check fails."""
        known = self._next_histories.get((history, host, story))
        if known is None:
            try:
                known = self.number_history(history_after(self.history(history), host, story))
            except Violation as violation:
                known = violation
            self._next_histories[history, host, story] = known
        if isinstance(known, Violation):
            raise known
        return known

    def _spend(self, budget: int, cost: int, node: int) -> int | None:
        key = (budget, cost, node)
        if key not in self._spent:
            left = list(self._budgets.items[budget])
            left[cost - 1 if cost != BROADCAST else BROADCAST - 1 + node] -= 1
            self._spent[key] = None if min(left) < 0 else self.number_budget(tuple(left))
        return self._spent[key]


class Broken(Exception):
    """Raised for a violation, with the step that causes it."""

    def __init__(self, violation: Violation, step: Step) -> None:
        super().__init__(violation.explanation)
        self.violation = violation
        self.step = step


PASSING = Move(-1, -1, FREE, -1, 0, 0, NOTHING.wired, NOTHING.upcalls, None)

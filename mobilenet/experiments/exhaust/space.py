"""The states of a whole network, and what may happen in each.

Model     radio: what a node sent may arrive at its receiver at any time after, any number of times, in any order, or never;
          a station's frame for its cell at any host, wherever that is by now. So losses, copies, delays and overhearing have
          no bound, and what was sent once need not be sent again: the radio is the set of all frames ever sent. Only
          frames of the types in `case.counted`, which make stations number requests, would then have no end. Each of
          them changes its receiver's state, or makes it send on the wire, once; and `case.repeats` times in all an old
          one does so again. With r = 3 this includes every execution in which each retransmission timer fires at most
          twice (one node's timer repeats such frames) and one frame is copied.
          wires: see wires.py. Timers: each armed one may fire at any time, any number of times.
          hosts: move, crash, leave and broadcast within the case's bounds; one that is down recovers at any time
Shapes    state: a tuple of numbers: each host, each station (with the frames sent to it), wires, what is left of the bounds,
          history
Errors    Violation, from the step that breaks a safety check
Source    ours; the radio as a growing set: Lamport, Specifying systems (2002), section on message passing
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from ...controlled.node import Input
from .case import Case
from .judge import History, Violation, begin, told
from .local import NOTHING, Done, Facts, Local, Numbered
from .wires import Wires

State = tuple[int, ...]
FREE, REPEAT, MOVE, CRASH, LEAVE, BROADCAST = range(6)


class Move(NamedTuple):
    """Something that may happen to a node, and what becomes of the node with its frames."""

    node: int
    given: int
    cost: int
    becomes: int
    done: Done
    sends: tuple[tuple[int, int], ...]  # (receiver, frames)
    story: tuple[tuple[Any, ...], ...]


class Space:
    def __init__(self, case: Case) -> None:
        self.case = case
        self.hosts = len(case.cells)
        self.messages = Numbered()
        hosts = [Local(lambda clock, h=h: case.build_host(h, clock), self.messages, case.parameters, self.hosts) for h in range(self.hosts)]  # type: ignore[misc]
        stations = [Local(lambda clock, s=s: case.build_station(s, clock), self.messages, case.parameters, self.hosts) for s in range(case.stations)]  # type: ignore[misc]
        self.nodes = hosts + stations
        self.count = len(self.nodes)
        self.wires = Wires(case.parents)
        self._pairs = [Numbered() for _ in self.nodes]  # (state, frames, counted frames that have had their effect)
        self._moves: list[list[tuple[Move, ...] | None]] = [[] for _ in self.nodes]
        self._wired: list[dict[tuple[int, int], Move]] = [{} for _ in self.nodes]
        self._more: list[dict[tuple[int, int], int]] = [{} for _ in self.nodes]
        self._frames = Numbered()  # bit -> (receiver, input)
        self._sends_only: list[list[tuple[tuple[int, int], ...]]] = [[] for _ in self.nodes]
        self._budgets = Numbered()
        self._spent: dict[tuple[int, int, int], int | None] = {}
        self._histories = Numbered()
        self._told: dict[tuple[int, int, Any], int | Violation] = {}

    # --- numbers

    def pair(self, node: int, state: int, frames: int, used: int) -> int:
        """A node's state with the frames sent to it, and those counted ones of them that have had their effect."""
        key = (state, frames, used)
        number = self._pairs[node].number(key, key)
        if number == len(self._moves[node]):
            self._moves[node].append(None)
            self._sends_only[node].append(())
        return number

    def inside(self, node: int, pair: int) -> tuple[int, int, int]:
        found: tuple[int, int, int] = self._pairs[node].items[pair]
        return found

    def facts(self, node: int, pair: int) -> Facts:
        return self.nodes[node].facts[self.inside(node, pair)[0]]

    def history(self, state: State) -> History:
        found: History = self._histories.items[state[-1]]
        return found

    def budget(self, state: State) -> tuple[int, ...]:
        found: tuple[int, ...] = self._budgets.items[state[-2]]
        return found

    def silent(self, states: tuple[int, ...], budget: tuple[int, ...], history: History) -> State:
        """Nodes in these states, and nothing under way."""
        pairs = [self.pair(i, state, 0, 0) for i, state in enumerate(states)]
        return self.normal([*pairs, self.wires.empty, self._budgets.number(budget, budget), self._histories.number(history, history)])

    def first(self) -> State:
        """All nodes as they were built; nobody is a member."""
        case = self.case
        budget = (case.repeats, case.moves, case.crashes, case.leaves, *case.messages, *(0,) * (self.hosts - len(case.messages)))
        return self.silent((0,) * self.count, budget, begin(self.hosts))

    # --- what may happen

    def moves(self, node: int, pair: int) -> tuple[Move, ...]:
        """At one node: frames that it reacts to, timers, and what may happen to a host; without those that only send."""
        found = self._moves[node][pair]
        if found is None:
            state = self.inside(node, pair)[0]
            moves: list[Move] = []
            sends: dict[int, int] = {}
            for move in self._find(node, pair):
                same = self.inside(node, move.becomes)[0] == state
                if same and move.cost == FREE and not (move.done.wired or move.story or move.done.error):
                    for receiver, frames in move.sends:
                        sends[receiver] = sends.get(receiver, 0) | frames
                else:
                    moves.append(move)
            self._sends_only[node][pair] = tuple(sends.items())
            found = self._moves[node][pair] = tuple(moves)
        return found

    def _find(self, node: int, pair: int) -> Iterator[Move]:
        state, frames, used = self.inside(node, pair)
        local = self.nodes[node]
        facts = local.facts[state]
        left = frames
        while left:
            bit = left & -left
            left ^= bit
            frame = self._frames.items[bit.bit_length() - 1][1]
            after, done = local.step(state, frame)
            if after == state and done == NOTHING._replace(answer=done.answer):
                continue
            cost, now_used = FREE, used
            if self._is_counted(local.given(frame)) and (after != state or done.wired):
                cost = REPEAT if bit & used else FREE
                now_used = used | bit
            yield self._move(node, frame, cost, self.pair(node, after, frames, now_used), done)
        for timer in facts.armed:
            yield self._plain(node, pair, ("timer", timer), FREE)
        if node >= self.hosts:
            return
        for station in range(self.case.stations):
            if station != facts.cell and self.case.moves:
                yield self._plain(node, pair, ("cell", station), MOVE)
        if not facts.up:
            yield self._plain(node, pair, ("recover",), FREE)
            return
        if self.case.crashes:
            yield self._plain(node, pair, ("crash",), CRASH)
        if self.case.leaves:
            yield self._plain(node, pair, ("leave",), LEAVE)
        if any(self.case.messages) and (move := self._plain(node, pair, ("broadcast", 1), BROADCAST)).story:
            yield move

    def _is_counted(self, given: Input) -> bool:
        return type(given[2]).__name__ in self.case.counted

    def _plain(self, node: int, pair: int, given: Input, cost: int) -> Move:
        state, frames, used = self.inside(node, pair)
        local = self.nodes[node]
        number = local.input(given)
        after, done = local.step(state, number)
        return self._move(node, number, cost, self.pair(node, after, frames, used), done)

    def wired(self, node: int, pair: int, source: int, message: int) -> Move:
        """A message from another station."""
        state, frames, used = self.inside(node, pair)
        local = self.nodes[node]
        number = local.input(("wired", source, self.messages.items[message]))
        found = self._wired[node].get((pair, number))
        if found is None:
            after, done = local.step(state, number)
            found = self._wired[node][pair, number] = self._move(node, number, FREE, self.pair(node, after, frames, used), done)
        return found

    def _move(self, node: int, given: int, cost: int, becomes: int, done: Done) -> Move:
        is_host = node < self.hosts
        sends: dict[int, int] = {}
        for to, message in done.radio:
            first, last = (self.hosts, self.count) if is_host else (0, self.hosts)
            receivers = range(first, last) if to is None else [to + first]
            for receiver in receivers:
                frame = self.nodes[receiver].input(("receive", self.nodes_own_number(node), self.messages.items[message]))
                bit = 1 << self._frames.number((receiver, frame), (receiver, frame))
                sends[receiver] = sends.get(receiver, 0) | bit
        story: tuple[tuple[Any, ...], ...] = done.told
        if self.nodes[node].given(given)[0] == "broadcast" and done.answer is not None:
            story = (("broadcast", done.answer), *story)
        return Move(node, given, cost, becomes, done, tuple(sends.items()), story)

    def nodes_own_number(self, node: int) -> int:
        return node if node < self.hosts else node - self.hosts

    # --- whole states

    def successors(self, state: State) -> Iterator[tuple[Move, State]]:
        """Whatever may happen next. Raises Violation where a check is broken."""
        count = self.count
        budget = state[-2]
        for node in range(count):
            for move in self._moves[node][state[node]] or self.moves(node, state[node]):
                left = budget if move.cost == FREE else self._spend(budget, move.cost, node)
                if left is not None:
                    yield move, self.apply(state, move, state[count], left)
        for head in self.wires.heads(state[count]):
            if head.handled:
                node = self.hosts + head.at
                move = self.wired(node, state[node], head.source, head.message)
                yield move, self.apply(state, move, head.left, budget)
            else:
                yield PASSING, (*state[:count], head.left, *state[count + 1 :])

    def apply(self, state: State, move: Move, wires: int, budget: int) -> State:
        count, node, history = self.count, move.node, state[-1]
        after = list(state)
        after[node] = move.becomes
        for receiver, frames in move.sends:
            known = self._more[receiver].get((after[receiver], frames))
            after[receiver] = self._add(receiver, after[receiver], frames) if known is None else known
        done = move.done
        if done.wired:
            wires = self.wires.put(wires, node - self.hosts, done.wired)
        if done.error is not None:
            raise Violation("assertion", f"{self.nodes[node].name}: {done.error}")
        if move.story:
            after[-1] = self._tell(history, node, move.story)
        after[count] = wires
        after[-2] = budget
        if node >= self.hosts and self.case.single_owner:
            self._check_owner(after)
        return self.normal(after)

    def normal(self, after: list[int]) -> State:
        """With all that may be sent without any other change."""
        changed = True
        while changed:
            changed = False
            for node in range(self.count):
                pair = after[node]
                if self._moves[node][pair] is None:
                    self.moves(node, pair)
                for receiver, frames in self._sends_only[node][pair]:
                    before = after[receiver]
                    known = self._more[receiver].get((before, frames))
                    known = self._add(receiver, before, frames) if known is None else known
                    if known != before:
                        after[receiver] = known
                        changed = True
        return tuple(after)

    def _add(self, receiver: int, pair: int, frames: int) -> int:
        state, before, used = self.inside(receiver, pair)
        after = self.pair(receiver, state, before | frames, used)
        self._more[receiver][pair, frames] = after
        return after

    def _check_owner(self, state: list[int]) -> None:
        seen = 0
        for node in range(self.hosts, self.count):
            serves = self.facts(node, state[node]).serves
            if seen & serves:
                host = (seen & serves).bit_length() - 1
                raise Violation("token", f"two stations serve h{host}")
            seen |= serves

    def _tell(self, history: int, host: int, story: tuple[tuple[Any, ...], ...]) -> int:
        known = self._told.get((history, host, story))
        if known is None:
            try:
                after = told(self._histories.items[history], host, story)
                known = self._histories.number(after, after)
            except Violation as violation:
                known = violation
            self._told[history, host, story] = known
        if isinstance(known, Violation):
            raise known
        return known

    def _spend(self, budget: int, cost: int, node: int) -> int | None:
        key = (budget, cost, node)
        if key not in self._spent:
            left = list(self._budgets.items[budget])
            which = cost - 1 if cost != BROADCAST else BROADCAST - 1 + node
            left[which] -= 1
            self._spent[key] = None if left[which] < 0 else self._budgets.number(tuple(left), tuple(left))
        return self._spent[key]


PASSING = Move(-1, -1, FREE, -1, NOTHING, (), ())

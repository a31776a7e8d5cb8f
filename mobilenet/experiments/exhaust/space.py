"""The states of a whole network, and what may happen in each.

Model     radio: what a node sent may arrive at its receiver at any time after, any number of times, in any order, or never;
          a station's frame for its cell at any host, wherever that is by now. So losses, copies, delays and overhearing
          have no bound, and what was sent once need not be sent again: the radio is the set of all frames ever sent.
          Only frames of the types in `case.counted`, for which a station opens a request with a number of its own, would
          then have no end. Each of them changes its receiver's state, or makes it send on the wire, once; and
          `case.repeats` times in all an old one does so again. Three repeats include every execution in which the timer
          that repeats such frames fires twice and one frame is copied
          wire: see wires.py. Timers: each armed one may fire at any time, any number of times
          hosts: move, crash, leave, join again and broadcast within the case's bounds; one that is down recovers at any time
Reduction frames that can be sent without anything else changing (a heartbeat, the answer to a repeated request) are sent
          at once, as often as that adds one. Nothing is lost: what may happen after is what might happen before, and more
Shapes    state: numbers of each host's and each station's state, wires, history, budget; then two bit masks over frames:
          those ever sent, and those counted ones that have had their effect
Errors    Violation, from the step that breaks a safety check
Source    ours; the radio as a growing set: Lamport, Specifying systems (2002)
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from .case import Case
from .judge import History, Violation, begin, told
from .local import Done, Facts, Local, Numbered
from .wires import Wires

State = tuple[int, ...]
FREE, REPEAT, MOVE, CRASH, LEAVE, JOIN, BROADCAST = range(7)


class Move(NamedTuple):
    """Something that may happen at one node. All but the link is known from the node's state."""

    node: int
    given: int
    cost: int
    becomes: int
    sends: int  # frames
    uses: int  # the counted frame that has its effect here
    wired: tuple[tuple[int | None, int], ...]
    story: tuple[tuple[Any, ...], ...]
    error: str | None


class Step(NamedTuple):
    """A move, and the link over which it came; a move of node -1 only passes a station on its way."""

    move: Move
    link: int | None


class Space:
    def __init__(self, case: Case) -> None:
        self.case = case
        self.hosts = len(case.cells)
        self.messages = Numbered()
        self.nodes = [self._local(case.build_host, h) for h in range(self.hosts)]
        self.nodes += [self._local(case.build_station, s) for s in range(case.stations)]
        self.count = len(self.nodes)
        self.wires = Wires(case.parents)
        self.frames = Numbered()  # bit -> (receiver, input)
        self.masks = [0] * self.count  # the frames for each node
        self._received: dict[tuple[int, str, int, int], int] = {}
        self._moves: list[dict[tuple[int, int, int], tuple[tuple[Move, ...], int]]] = [{} for _ in self.nodes]
        self._wired: list[dict[tuple[int, int, int], Move]] = [{} for _ in self.nodes]
        self._budgets = Numbered()
        self._spent: dict[tuple[int, int, int], int | None] = {}
        self._histories = Numbered()
        self._told: dict[tuple[int, int, Any], int | Violation] = {}
        self._covers: dict[tuple[int, int], bool] = {}

    def _local(self, build: Any, number: int) -> Local:
        return Local(lambda clock: build(number, clock), self.messages, self.case)

    # --- numbers

    def facts(self, state: State, node: int) -> Facts:
        return self.nodes[node].facts[state[node]]

    def history(self, number: int) -> History:
        found: History = self._histories.items[number]
        return found

    def number_of(self, node: int) -> int:
        """As the protocol knows it."""
        return node if node < self.hosts else node - self.hosts

    def first(self) -> State:
        """All nodes as they were built; nobody is a member."""
        case = self.case
        budget = (case.repeats, case.moves, case.crashes, case.leaves, case.joins, *case.messages)
        return self.silent((0,) * self.count, self._budgets.number(budget, budget), self._number(begin(self.hosts)))

    def silent(self, nodes: tuple[int, ...], budget: int, history: int) -> State:
        """Nodes in these states, and nothing under way."""
        state = (*nodes, self.wires.empty, history, budget, 0, 0)
        for node in range(self.count):
            state = self._normal(list(state), node, 0)
        return state

    def asked_to_join(self) -> State:
        """Every host has asked to join; what that sends is under way."""
        state = self.first()
        for host in range(self.hosts):
            state = self._apply(state, self._plain(host, state[host], ("join",), FREE), self.wires.empty, state[-3])
        return state

    def _number(self, history: History) -> int:
        return self._histories.number(history, history)

    def covers(self, more: int, less: int) -> bool:
        """Whether a budget allows whatever another one does."""
        found = self._covers.get((more, less))
        if found is None:
            items = self._budgets.items
            found = self._covers[more, less] = all(a >= b for a, b in zip(items[more], items[less], strict=True))
        return found

    def received(self, node: int, kind: str, sender: int, message: int) -> int:
        """The number of an input: ('receive' or 'wired', sender, message)."""
        key = (node, kind, sender, message)
        found = self._received.get(key)
        if found is None:
            found = self._received[key] = self.nodes[node].input((kind, sender, self.messages.items[message]))
        return found

    # --- what may happen at one node

    def moves(self, state: State, node: int) -> tuple[Move, ...]:
        """Frames that it reacts to, timers, and what may happen to a host; but for those that only send."""
        return self._known(node, state[node], state[-2], state[-1])[0]

    def sending(self, state: State, node: int) -> list[Move]:
        """Those that only send."""
        frames = state[-2] & self.masks[node]
        return [
            move for move in self._find(node, state[node], frames, state[-1]) if self._only_sends(move, state[node])
        ]

    def _known(self, node: int, local: int, air: int, used: int) -> tuple[tuple[Move, ...], int]:
        """Moves, and what all those send that only send."""
        mask = self.masks[node]
        key = (local, air & mask, used & mask)
        found = self._moves[node].get(key)
        if found is None:
            moves: list[Move] = []
            sends = 0
            for move in self._find(node, *key):
                if self._only_sends(move, local):
                    sends |= move.sends
                else:
                    moves.append(move)
            found = self._moves[node][key] = (tuple(moves), sends)
        return found

    @staticmethod
    def _only_sends(move: Move, before: int) -> bool:
        return move.becomes == before and move.cost == FREE and not (move.wired or move.story or move.error)

    def _find(self, node: int, local: int, frames: int, used: int) -> Iterator[Move]:
        facts = self.nodes[node].facts[local]
        while frames:
            bit = frames & -frames
            frames ^= bit
            given = self.frames.items[bit.bit_length() - 1][1]
            move = self._move(node, local, given, FREE)
            if move.becomes == local and not (move.sends or move.wired or move.story or move.error):
                continue
            if self._is_counted(node, given) and (move.becomes != local or move.wired):
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
            if move.story:  # else it was refused
                yield move

    def _is_counted(self, node: int, given: int) -> bool:
        return type(self.nodes[node].given(given)[2]).__name__ in self.case.counted

    def _plain(self, node: int, local: int, given: tuple[Any, ...], cost: int) -> Move:
        return self._move(node, local, self.nodes[node].input(given), cost)

    def _move(self, node: int, local: int, given: int, cost: int) -> Move:
        becomes, done = self.nodes[node].step(local, given)
        return Move(
            node,
            given,
            cost,
            becomes,
            self._sends(node, done),
            0,
            done.wired,
            self.story(node, given, done),
            done.error,
        )

    def story(self, node: int, given: int, done: Done) -> tuple[tuple[Any, ...], ...]:
        """What is judged of a step."""
        if done.answer is not None and self.nodes[node].given(given)[0] == "broadcast":
            return (("broadcast", done.answer), *done.told)
        return done.told

    def receivers(self, node: int, to: int | None) -> range:
        """Who may hear a frame of a node: at the other side of the radio, the one addressed or everybody."""
        first, last = (self.hosts, self.count) if node < self.hosts else (0, self.hosts)
        return range(first, last) if to is None else range(first + to, first + to + 1)

    def _sends(self, node: int, done: Done) -> int:
        frames = 0
        for to, message in done.radio:
            for receiver in self.receivers(node, to):
                frame = (receiver, self.received(receiver, "receive", self.number_of(node), message))
                bit = 1 << self.frames.number(frame, frame)
                self.masks[receiver] |= bit
                frames |= bit
        return frames

    # --- whole states

    def successors(self, state: State) -> Iterator[tuple[Step, State]]:
        """Whatever may happen next. Raises Violation where a check is broken."""
        count, budget, air, used = self.count, state[-3], state[-2], state[-1]
        for node in range(count):
            for move in self._known(node, state[node], air, used)[0]:
                left = budget if move.cost == FREE else self._spend(budget, move.cost, node)
                if left is not None:
                    yield Step(move, None), self._apply(state, move, state[count], left)
        for head in self.wires.heads(state[count]):
            if head.handled:
                move = self.wired(state, self.hosts + head.at, head.source, head.message)
                yield Step(move, head.link), self._apply(state, move, head.left, budget, head.link)
            else:
                yield Step(PASSING, head.link), (*state[:count], head.left, *state[count + 1 :])

    def successors_until_broken(self, state: State) -> Iterator[tuple[Step, State]]:
        """The same, without what comes after a violation."""
        with suppress(Broken):
            yield from self.successors(state)

    def wired(self, state: State, node: int, source: int, message: int) -> Move:
        """A message from another station arrives."""
        key = (state[node], source, message)
        found = self._wired[node].get(key)
        if found is None:
            given = self.received(node, "wired", source, message)
            found = self._wired[node][key] = self._move(node, state[node], given, FREE)
        return found

    def is_idle(self, state: State) -> bool:
        """Nothing is on the wire, and all hosts are up."""
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
                after[count + 1] = self.tell(state[count + 1], node, move.story)
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
        """With all frames sent that may be sent without any other change, now that a node has changed and frames are new."""
        air, used, masks = after[-2], after[-1], self.masks
        air |= self._known(moved, after[moved], air, used)[1]
        new |= air & ~after[-2]
        while new:
            before = air
            for node in range(self.count):
                if new & masks[node]:
                    air |= self._known(node, after[node], air, used)[1]
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

    def tell(self, history: int, host: int, story: tuple[tuple[Any, ...], ...]) -> int:
        """The number of the history after what a host did. Raises Violation."""
        known = self._told.get((history, host, story))
        if known is None:
            try:
                known = self._number(told(self.history(history), host, story))
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
            left[cost - 1 if cost != BROADCAST else BROADCAST - 1 + node] -= 1
            self._spent[key] = None if min(left) < 0 else self._budgets.number(tuple(left), tuple(left))
        return self._spent[key]


class Broken(Exception):
    """A violation, and the step that does it."""

    def __init__(self, violation: Violation, step: Step) -> None:
        super().__init__(violation.explanation)
        self.violation = violation
        self.step = step


PASSING = Move(-1, -1, FREE, -1, 0, 0, (), (), None)

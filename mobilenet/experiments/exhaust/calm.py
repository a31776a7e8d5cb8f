"""What becomes of a state when nothing bad happens any more.

Model     every frame under way is lost first, hosts that are down recover, and those in no cell get one. Then wired
          messages and frames arrive at once, in order, and when nothing is under way each armed timer fires in turn, round
          after round, until all rests: every buffer is empty, every node has settled, each member is served by the
          station of its cell (by no other one, where there is a single owner), and has delivered all it is entitled to.
          Then every member broadcasts once more, and all must come to rest again
Errors    Violation 'delivery' when that takes more than ROUNDS; a safety check's, from any step of it
Source    ours
"""

from __future__ import annotations

from collections import deque

from ...controlled.node import Input
from .judge import History, Violation, name, owed, told
from .local import Done
from .space import Space, State
from .wires import Wires

ROUNDS = 40


class Calm:
    """Runs states of a space to rest, and remembers which do."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self._good: set[tuple[int, ...]] = set()
        self.judged = 0

    def __len__(self) -> int:
        return len(self._good)

    def judge(self, state: State) -> None:
        """Raise Violation if it never rests."""
        space = self._space
        nodes = tuple([space.inside(i, state[i])[0] for i in range(space.count)])
        key = (*nodes, state[space.count], state[-1])
        if key in self._good:
            return
        self.judged += 1
        run = _Run(space, list(nodes), state[space.count], space.history(state))
        passed = run.to_rest(self._good, key)
        self._good.update(passed)

    def join_all(self) -> State:
        """All hosts members, nothing under way, and the history begins anew."""
        space = self._space
        first = space.first()
        run = _Run(space, [0] * space.count, space.wires.empty, space.history(first))
        for host in range(space.hosts):
            run.give(host, ("join",))
        run.settle()
        return space.silent(tuple(run.nodes), space.budget(first), run.history)


class _Run:
    def __init__(self, space: Space, nodes: list[int], wires: int, history: History) -> None:
        self.nodes = nodes
        self.history = history
        self._space = space
        self._wires: Wires = space.wires
        self._wires_state = wires
        self._air: deque[tuple[int, int, int]] = deque()  # (sender, receiver, message)

    def to_rest(self, good: set[tuple[int, ...]], start: tuple[int, ...]) -> list[tuple[int, ...]]:
        """The states on the way whose rest this is, each without frames under way."""
        passed = [start]
        space = self._space
        for host in range(space.hosts):
            if not space.nodes[host].facts[self.nodes[host]].up:
                self.give(host, ("recover",))
            if space.nodes[host].facts[self.nodes[host]].cell is None:
                self.give(host, ("cell", 0))
        if self.settle(good, passed):
            return passed
        for host in range(space.hosts):
            self.give(host, ("broadcast", 1))
        self.settle()
        return passed

    def settle(self, good: set[tuple[int, ...]] | None = None, passed: list[tuple[int, ...]] | None = None) -> bool:
        """Until all rests; True: what is left of the way is known to be good."""
        space = self._space
        for _ in range(ROUNDS):
            self._flush()
            if good is not None and passed is not None:
                key = (*self.nodes, self._wires_state, space._histories.number(self.history, self.history))
                if key in good:
                    return True
                passed.append(key)
            if not self._why_not():
                return False
            for node, local in enumerate(space.nodes):
                for timer in local.facts[self.nodes[node]].armed:
                    if timer in local.facts[self.nodes[node]].armed:
                        self.give(node, ("timer", timer))
                        self._flush()
        raise Violation("delivery", "without any fault from here on, it never comes to rest: " + self._why_not())

    def give(self, node: int, given: Input) -> None:
        local = self._space.nodes[node]
        self.nodes[node], done = local.step(self.nodes[node], local.input(given))
        self._take(node, given, done)

    def _take(self, node: int, given: Input, done: Done) -> None:
        space = self._space
        if done.error is not None:
            raise Violation("assertion", f"{space.nodes[node].name}: {done.error}")
        is_host = node < space.hosts
        for to, message in done.radio:
            if is_host:
                receivers = [to + space.hosts] if to is not None else []
            else:
                receivers = list(range(space.hosts)) if to is None else [to]
            self._air.extend((node, receiver, message) for receiver in receivers)
        if done.wired:
            self._wires_state = self._wires.put(self._wires_state, node - space.hosts, done.wired)
        story = done.told
        if given[0] == "broadcast" and done.answer is not None:
            story = (("broadcast", done.answer), *story)
        if story:
            self.history = told(self.history, node, story)

    def _flush(self) -> None:
        """Whatever is under way arrives, and what that causes."""
        space = self._space
        while self._air or self._wires_state != self._wires.empty:
            if self._air:
                sender, receiver, message = self._air.popleft()
                host, station = (sender, receiver) if sender < space.hosts else (receiver, sender)
                if space.nodes[host].facts[self.nodes[host]].cell == station - space.hosts:
                    self.give(receiver, ("receive", space.nodes_own_number(sender), space.messages.items[message]))
                continue
            head = self._wires.heads(self._wires_state)[0]
            self._wires_state = head.left
            if head.handled:
                self.give(space.hosts + head.at, ("wired", head.source, space.messages.items[head.message]))

    def _why_not(self) -> str:
        """Why it does not rest; empty: it does."""
        space = self._space
        for host in range(space.hosts):
            facts = space.nodes[host].facts[self.nodes[host]]
            if missing := owed(self.history, host):
                return f"h{host} has not delivered {', '.join(map(name, missing))}"
            if not facts.settled or facts.buffered:
                return f"h{host} " + ("has messages in its buffers" if facts.settled else "waits for an answer")
            if facts.out == self.history.hosts[host].member:
                return f"h{host} is {'no member any more' if facts.out else 'not out'}, and its application was not told"
        for station in range(space.case.stations):
            facts = space.nodes[space.hosts + station].facts[self.nodes[space.hosts + station]]
            if not facts.settled or facts.buffered:
                return f"s{station} " + ("has messages in its buffers" if facts.settled else "waits for an answer")
            if space.case.single_owner:
                wanted = sum(
                    1 << h for h, s in enumerate(self.history.hosts)
                    if s.member and space.nodes[h].facts[self.nodes[h]].cell == station
                )  # fmt: skip
                if facts.serves != wanted:
                    return f"s{station} serves other hosts than the members in its cell"
        return ""

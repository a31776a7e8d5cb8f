"""Continue from a state without further faults, and check that the network comes to rest.

Model     First, every frame in transit is lost, hosts that are down recover, and hosts outside every cell move into
          one. Then messages and frames arrive at once and in order. When nothing is in transit, each armed timer fires
          in turn, until the network is at rest: every buffer is empty, every node has settled, and each member has
          delivered all messages to which it is entitled and is served by the station of its cell (and by no other
          station, in a case with a single owner). Finally, every member broadcasts once more, and the network must come
          to rest again.
Errors    Violation 'delivery' if the network needs more than ROUNDS; any step may raise the Violation of a safety
          check
Source    ours
"""

from __future__ import annotations

from collections import deque

from mobilenet.lab.hunt.controlled.node import Input

from .judge import Violation, missing_deliveries, name
from .space import Space, State

ROUNDS = 40


class Completion:
    """Continues from states of a space until the network is at rest, and remembers the states for which this succeeded.
    Frames and budgets do not matter, because the completion starts without them.
    """

    def __init__(self, space: Space) -> None:
        self._space = space
        self._good: set[State] = set()
        self.prefix: list[tuple[int, Input]] = []  # the inputs that `join_all` applied
        self.last: list[tuple[int, Input]] = []  # the inputs that were applied to the state judged last

    def judge(self, state: State) -> None:
        """Raise Violation if the network never comes to rest from this state, in which no budget and no frames
        remain.
        """
        if state not in self._good:
            run = Run(self._space, state)
            self.last = run.inputs
            self._good.update(run.to_rest(self._good))

    def join_all(self) -> State:
        """Return a state in which all hosts are members and nothing is in transit. Each host has delivered a message of
        every host, so the numbers of later messages do not begin at 0.
        """
        space = self._space
        first = space.first()
        run = Run(space, first[:-3])
        for host in range(space.hosts):
            run.give(host, ("join",))
        run.settle()
        for host in range(space.hosts):
            run.give(host, ("broadcast", 1))
        run.settle()
        self.prefix = run.inputs
        return space.silent(tuple(run.nodes), first[-3], run.history)


class Run:
    def __init__(self, space: Space, state: State) -> None:
        *self.nodes, self._wired, self.history = state
        self.inputs: list[tuple[int, Input]] = []
        self._space = space
        self._wires = space.wires
        self._air: deque[tuple[int, int, int]] = deque()  # (sender, receiver, message)

    @property
    def state(self) -> State:
        return (*self.nodes, self._wired, self.history)

    def to_rest(self, good: set[State]) -> list[State]:
        """Return the states through which the network passed until it was at rest. It also comes to rest from each of
        them if all frames in the air are lost.
        """
        space, passed = self._space, [self.state]
        for host in range(space.hosts):
            facts = space.nodes[host].facts[self.nodes[host]]
            if not facts.up:
                self.give(host, ("recover",))
            if facts.cell is None:
                self.give(host, ("cell", 0))
        if self.settle(good, passed):
            return passed
        for host in range(space.hosts):
            self.give(host, ("broadcast", 1))
        self.settle()
        return passed

    def settle(self, good: set[State] | None = None, passed: list[State] | None = None) -> bool:
        """Run until the network is at rest. Return True early if it reaches a state in `good`."""
        nodes = self._space.nodes
        for _ in range(ROUNDS):
            self._flush()
            if good is not None and passed is not None:
                if self.state in good:
                    return True
                passed.append(self.state)
            if not self.why_not():
                return False
            for node, local in enumerate(nodes):
                for timer in local.facts[self.nodes[node]].armed:
                    if timer in local.facts[self.nodes[node]].armed:
                        self.give(node, ("timer", timer))
                        self._flush()
        raise Violation("delivery", "it does not come to rest even without further faults: " + self.why_not())

    def give(self, node: int, node_input: Input) -> None:
        self._step(node, self._space.nodes[node].input(node_input))

    def _step(self, node: int, input_number: int) -> None:
        space = self._space
        self.inputs.append((node, space.nodes[node].input_at(input_number)))
        self.nodes[node], effects = space.nodes[node].step(self.nodes[node], input_number)
        if effects.error is not None:
            raise Violation("assertion", f"{space.nodes[node].name}: {effects.error}")
        for to, message in effects.radio:
            self._air.extend((node, receiver, message) for receiver in space.moves.receivers(node, to))
        if effects.wired:
            self._wired = self._wires.put(self._wired, node - space.hosts, effects.wired)
        if story := space.moves.story(node, input_number, effects):
            self.history = space.next_history(self.history, node, story)

    def _flush(self) -> None:
        space = self._space
        while self._air or self._wired != self._wires.empty:
            if self._air:
                sender, receiver, message = self._air.popleft()
                host, station = min(sender, receiver), max(sender, receiver)
                if space.nodes[host].facts[self.nodes[host]].cell == station - space.hosts:
                    self._step(
                        receiver, space.moves.input_for(receiver, "receive", space.moves.number_of(sender), message)
                    )
                continue
            head = self._wires.heads(self._wired)[0]
            self._wired = head.left
            if head.handled:
                at = space.hosts + head.at
                self._step(at, space.moves.input_for(at, "wired", head.source, head.message))

    def why_not(self) -> str:
        """Return the reason why the state is not at rest, or an empty string if it is."""
        space = self._space
        history = space.history(self.history)
        for host in range(space.hosts):
            facts = space.nodes[host].facts[self.nodes[host]]
            if missing := missing_deliveries(history, host):
                return f"h{host} has not delivered {', '.join(map(name, missing))}"
            if not facts.settled or facts.buffered:
                return f"h{host} " + ("has messages in its buffers" if facts.settled else "waits for an answer")
            if facts.out == history.hosts[host].member:
                return (
                    f"h{host} is {'no longer a member' if facts.out else 'not out'}, but its application was not"
                    " notified"
                )
        for station in range(space.case.stations):
            facts = space.nodes[space.hosts + station].facts[self.nodes[space.hosts + station]]
            if not facts.settled or facts.buffered:
                return f"s{station} " + ("has messages in its buffers" if facts.settled else "waits for an answer")
            if space.case.single_owner and facts.serves != self._members_in(station):
                return f"s{station} does not serve exactly the members in its cell"
        return ""

    def _members_in(self, station: int) -> int:
        """Return a bit mask of the members in the cell of a station: bit h stands for host h."""
        space, standings = self._space, self._space.history(self.history).hosts
        cells = [space.nodes[h].facts[self.nodes[h]].cell for h in range(space.hosts)]
        return sum(1 << h for h, cell in enumerate(cells) if cell == station and standings[h].member)

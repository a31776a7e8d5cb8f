"""The way to a violation, as lines to read and as steps to repeat.

Model     the search sends at once whatever can be sent without any other change (space.py). Of all that, a trace shows what
          a later step needs: the frames are followed from the beginning, each with the move that first sent it. Repeating
          is done on the controllable network with the protocol's own code: there a frame can be delivered only if
          it was sent, a wired message only if it is the first of its link, and a timer fired only if it is armed
Errors    ValueError if a trace cannot be repeated: then explorer and network do not agree
Source    ours
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...controlled.network import Network
from ...controlled.node import Input
from ...protocols.port import MessageId
from .case import Case
from .encoding import encode
from .judge import History, Violation, begin, told
from .local import TOLD
from .search import Search
from .space import Move, State, Step


class Line(NamedTuple):
    node: str
    given: Input
    link: tuple[int, int] | None  # for what came over the wire
    again: bool  # a frame that this node was given before


class Trace(NamedTuple):
    prefix: tuple[tuple[str, Input], ...]  # until all are members
    lines: tuple[Line, ...]


def trace_of(search: Search) -> Trace:
    """Of the violation that a search, breadth first, has found."""
    result = search.result
    if result is None or result.violation is None:
        raise ValueError("this search has found no violation")
    return _Tracer(search).trace(result.path)


class _Tracer:
    def __init__(self, search: Search) -> None:
        self._space = search.space
        self._prefix = search.calm.prefix
        self._state = search.first
        self._sent: dict[int, tuple[int, Move]] = {}  # frame -> the place on the path where it is sent first, and the move
        self._wanted: list[list[Move]] = []  # for each place: moves that only send, and are needed

    def trace(self, path: tuple[Step, ...]) -> Trace:
        asked = [] if self._prefix else [(f"h{h}", ("join",)) for h in range(self._space.hosts)]
        for place, step in enumerate(path):
            self._wanted.append([])
            self._follow(place)
            self._need(step.move)
            self._note(step.move.sends, place, None)
            self._state = self._after(step)
        lines: list[Line] = [Line(name, given, None, False) for name, given in asked]
        given_before: set[tuple[int, int]] = set()
        for moves, step in zip(self._wanted, path, strict=True):
            for move in moves:
                lines.append(self._line(Step(move, None), given_before))
            lines.append(self._line(step, given_before))
        names = self._space.nodes
        return Trace(tuple((names[node].name, given) for node, given in self._prefix), tuple(lines))

    def _follow(self, place: int) -> None:
        """Note what can be sent here without any other change."""
        space, state = self._space, self._state
        changed = True
        while changed:
            changed = False
            for node in range(space.count):
                for move in space.sending(state, node):
                    given = space.nodes[node].given(move.given)
                    if given[0] != "receive" or self._bit(node, move.given) in self._sent:
                        changed |= self._note(move.sends, place, move)

    def _note(self, frames: int, place: int, move: Move | None) -> bool:
        new = False
        while frames:
            bit = frames & -frames
            frames ^= bit
            if bit not in self._sent:
                self._sent[bit] = (place, move) if move is not None else (-1, NO_MOVE)
                new = True
        return new

    def _need(self, move: Move) -> None:
        """What it receives must have been sent."""
        if move.node < 0 or self._space.nodes[move.node].given(move.given)[0] != "receive":
            return
        place, sender = self._sent.get(self._bit(move.node, move.given), (-1, NO_MOVE))
        if place >= 0 and sender not in self._wanted[place]:
            self._need(sender)
            self._wanted[place].append(sender)

    def _bit(self, node: int, given: int) -> int:
        frame = (node, given)
        return 1 << self._space.frames.number(frame, frame)

    def _after(self, step: Step) -> State:
        for other, state in self._space.successors_until_broken(self._state):
            if other == step:
                return state
        return self._state  # the step that breaks a check, the last one

    def _line(self, step: Step, before: set[tuple[int, int]]) -> Line:
        link = None if step.link is None else self._space.wires.links[step.link]
        if step.move.node < 0:
            assert link is not None
            return Line(f"s{link[1]}", ("pass",), link, False)
        local = self._space.nodes[step.move.node]
        key = (step.move.node, step.move.given)
        again = key in before
        before.add(key)
        return Line(local.name, local.given(step.move.given), link, again)


NO_MOVE = Move(-1, -1, 0, -1, 0, 0, (), (), None)


def words(line: Line) -> str:
    """'s1 receives AckH(host=0, ses=1, nxt=1) of h0 (again)'"""
    name, given = line.node, line.given
    kind = given[0]
    copy = " (again)" if line.again else ""
    if kind == "receive":
        other = ("s" if name[0] == "h" else "h") + str(given[1])
        return f"{name} receives {_short(given[2])} of {other}{copy}"
    if kind == "wired":
        return f"{name} receives {_short(given[2])} of s{given[1]} over the wire"
    if kind == "pass":
        assert line.link is not None
        return f"{name} passes on what came from s{line.link[0]} over the wire"
    what = {
        "timer": "'s timer {} fires", "cell": " enters the cell of s{}", "broadcast": " broadcasts", "crash": " crashes",
        "recover": " recovers", "join": " asks to join", "leave": " asks to leave",
    }[kind]  # fmt: skip
    return name + what.format(*given[1:])


def _short(message: Any) -> str:
    text = repr(message)
    for host in range(8):
        for seq in range(8):
            text = text.replace(repr(MessageId(host, seq)), f"h{host}:{seq}")
    return text


def lines_of(network: Network, trace: Trace, violation: Violation) -> list[str]:
    """The trace repeated, with what hosts told after each line."""
    lines: list[str] = []
    for line, events in repeat(network, trace):
        said = "".join(f"; {event.node} {_said(event.name, event.arguments)}" for event in events)
        lines.append(f"{len(lines) + 1:3}  {words(line)}{said}")
    return [*lines, f"     {violation.check}: {violation.explanation}"]


def _said(name: str, arguments: tuple[Any, ...]) -> str:
    if name in ("deliver", "broadcast"):
        return f"{name}s h{arguments[0].host}:{arguments[0].seq}"
    return {"joined": "is a member", "left": "is no member any more", "gap": "has a gap"}.get(name, name)


def network_of(case: Case) -> Network:
    """The network of a case, to be driven by hand."""
    return Network(case.roles, case.parameters, case.cells, case.parents)


def repeat(network: Network, trace: Trace) -> Any:
    """Each line with the events that came of it."""
    step_ns = 10_000_000
    for name, given in trace.prefix:
        network.clock.now += step_ns
        network.give(name, given)
    network.air.clear()
    for queue in network.links.values():
        queue.clear()
    for line in trace.lines:
        network.clock.now += step_ns
        before = len(network.events)
        _do(network, line)
        yield line, [event for event in network.events[before:] if event.name in (*TOLD, "broadcast")]


def _do(network: Network, line: Line) -> None:
    given = line.given
    if line.link is not None:
        network.cross(*line.link)
    elif given[0] == "receive":
        sender = ("s" if line.node[0] == "h" else "h") + str(given[1])
        wanted = encode(given[2])
        packets = [p for p in network.packets(sender=sender, receiver=line.node) if encode(p.message) == wanted]
        if not packets:
            raise ValueError(f"{words(line)}: it was never sent")
        network.deliver(packets[0], keep=True)
    else:
        network.give(line.node, given)


def judged_again(network: Network, hosts: int) -> History:
    """The history that a network has recorded, judged from the beginning. Raises Violation."""
    history = begin(hosts)
    for event in network.events:
        if event.name in (*TOLD, "broadcast"):
            history = told(history, int(event.node[1:]), [(event.name, *event.arguments)])
    return history

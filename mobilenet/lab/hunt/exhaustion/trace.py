"""Show the steps that lead to a violation, as readable text and as inputs that can be repeated.

Model     The search immediately sends every frame that can be sent without any other change (space.py). Of these
          frames, a trace shows only the ones that a later step needs. To find them, the trace follows each frame with
          the move that first sent it. A trace is repeated on the controlled network, where only frames that were sent
          can be delivered, only the first message of a link can arrive, and only armed timers can fire.
Errors    ValueError if a trace cannot be repeated, because the explorer and the controlled network disagree
Source    ours
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from mobilenet.lab.hunt.controlled.network import Event, Network
from mobilenet.lab.hunt.controlled.node import Input
from mobilenet.protocols.port import MessageId

from .case import Case
from .encoding import encode
from .judge import Violation, begin, history_after, name
from .local import JUDGED_UPCALLS
from .moves import Move
from .search import Search
from .space import State, Step


class Line(NamedTuple):
    node: str
    node_input: Input
    link: tuple[int, int] | None  # the link of a message that arrived over the wire
    again: bool = False  # True if the node had already received this frame.
    completing: bool = False  # True if this step is part of the completion without faults.


class Trace(NamedTuple):
    prefix: tuple[tuple[str, Input], ...]  # the steps until all hosts are members
    lines: tuple[Line, ...]
    violation: Violation


def trace_of(search: Search) -> Trace:
    """Return the trace of the violation that a breadth-first search has found."""
    result = search.result
    if result is None or result.violation is None:
        raise ValueError("this search has found no violation")
    nodes = search.space.nodes
    lines = _Tracer(search).lines(result.path)
    after = [Line(nodes[node].name, node_input, None, completing=True) for node, node_input in result.after]
    prefix = [(nodes[node].name, node_input) for node, node_input in search.completion.prefix]
    return Trace(tuple(prefix), (*lines, *after), result.violation)


class _Tracer:
    def __init__(self, search: Search) -> None:
        self._space = search.space
        self._prefix = search.completion.prefix
        self._state = search.first
        self._sent: dict[
            int, tuple[int, Move]
        ] = {}  # frame -> the position in the path at which it is first sent, and the move that sends it
        # for each position in the path, the moves that send frames for later steps
        self._needed_moves: list[list[Move]] = []

    def lines(self, path: tuple[Step, ...]) -> list[Line]:
        joiners = [] if self._prefix else list(range(self._space.hosts))
        for host in joiners:
            self._note(self._space.moves.join(host, 0).sends, -1, None)
        for place, step in enumerate(path):
            self._needed_moves.append([])
            self._follow(place)
            self._need(step.move)
            self._note(step.move.sends, place, None)
            self._state = self._after(step)
        lines: list[Line] = [Line(f"h{host}", ("join",), None) for host in joiners]
        given_before: set[tuple[int, int]] = set()
        for moves, step in zip(self._needed_moves, path, strict=True):
            for move in moves:
                lines.append(self._line(Step(move, None), given_before))
            lines.append(self._line(step, given_before))
        return lines

    def _follow(self, place: int) -> None:
        """Record the frames that can be sent in this state without any other change."""
        space, state = self._space, self._state
        changed = True
        while changed:
            changed = False
            for node in range(space.count):
                for move in space.moves.sending(node, state[node], state[-2], state[-1]):
                    node_input = space.nodes[node].input_at(move.input_number)
                    if node_input[0] != "receive" or self._bit(node, move.input_number) in self._sent:
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
        """If this move receives a frame, ensure that the trace contains the move that sent it."""
        if move.node < 0 or self._space.nodes[move.node].input_at(move.input_number)[0] != "receive":
            return
        place, sender = self._sent.get(self._bit(move.node, move.input_number), (-1, NO_MOVE))
        if place >= 0 and sender not in self._needed_moves[place]:
            self._need(sender)
            self._needed_moves[place].append(sender)

    def _bit(self, node: int, input_number: int) -> int:
        frame = (node, input_number)
        return 1 << self._space.moves.frames.number(frame, frame)

    def _after(self, step: Step) -> State:
        for other, state in self._space.successors_until_broken(self._state):
            if other == step:
                return state
        return self._state  # The last step fails a check, so it has no successor.

    def _line(self, step: Step, before: set[tuple[int, int]]) -> Line:
        link = None if step.link is None else self._space.wires.links[step.link]
        if step.move.node < 0:
            assert link is not None
            return Line(f"s{link[1]}", ("pass",), link, False)
        local = self._space.nodes[step.move.node]
        key = (step.move.node, step.move.input_number)
        again = key in before
        before.add(key)
        return Line(local.name, local.input_at(step.move.input_number), link, again)


NO_MOVE = Move(-1, -1, 0, -1, 0, 0, (), (), None)


def words(line: Line) -> str:
    """Return the line as text, such as `s1 receives AckH(host=0, ses=1, nxt=1) of h0 (again)`."""
    node, node_input = line.node, line.node_input
    kind = node_input[0]
    copy = " (again)" if line.again else ""
    if kind == "receive":
        other = ("s" if node[0] == "h" else "h") + str(node_input[1])
        return f"{node} receives {_short(node_input[2])} of {other}{copy}"
    if kind == "wired":
        return f"{node} receives {_short(node_input[2])} from s{node_input[1]} over the wire"
    if kind == "pass":
        assert line.link is not None
        return f"{node} passes on what it received from s{line.link[0]} over the wire"
    what = {
        "timer": "'s timer {} fires", "cell": " enters the cell of s{}", "broadcast": " broadcasts",
        "crash": " crashes",
        "recover": " recovers", "join": " asks to join", "leave": " asks to leave",
    }[kind]  # fmt: skip
    return node + what.format(*node_input[1:])


def _short(message: Any) -> str:
    text = repr(message)
    for host in range(8):
        for seq in range(8):
            text = text.replace(repr(MessageId(host, seq)), f"h{host}:{seq}")
    return text


def lines_of(case: Case, trace: Trace) -> list[str]:
    """Repeat a trace, and return its lines, each followed by the upcalls that it caused."""
    lines: list[str] = []
    for line, judged_events in repeat(case, trace):
        upcalls = "".join(
            f"; {event.node} {_event_in_words(event)}"
            for event in judged_events
            if event.name != "broadcast" or line.completing
        )
        if not line.completing:
            lines.append(f"{len(lines) + 1:3}  {words(line)}{upcalls}")
        elif upcalls:  # After the faults have ended, only steps that cause upcalls are shown.
            lines.append(f"{len(lines) + 1:3}  without faults: {words(line)}{upcalls}")
    return [*lines, f"     {trace.violation.check}: {trace.violation.explanation}"]


def _event_in_words(event: Event) -> str:
    if event.name in ("deliver", "broadcast"):
        return f"{event.name}s {name(event.arguments[0])}"
    return {"joined": "is a member", "left": "is no longer a member", "gap": "has a gap"}.get(event.name, event.name)


def repeat(case: Case, trace: Trace) -> Iterator[tuple[Line, list[Event]]]:
    """Repeat each line on a controlled network, and yield the line with the events that it caused."""
    network = Network(case.roles, case.parameters, case.cells, case.parents)
    for node, node_input in trace.prefix:
        network.clock.now += case.step_ns
        network.give(node, node_input)
    network.air.clear()
    for queue in network.links.values():
        queue.clear()
    for line in trace.lines:
        network.clock.now += case.step_ns
        before = len(network.events)
        _do(network, case, line)
        yield line, [event for event in network.events[before:] if event.name in (*JUDGED_UPCALLS, "broadcast")]


def _do(network: Network, case: Case, line: Line) -> None:
    node_input = line.node_input
    if line.link is not None:
        network.cross(*line.link)
    elif node_input[0] == "receive" and not line.completing:
        sender = ("s" if line.node[0] == "h" else "h") + str(node_input[1])
        encoding = encode(node_input[2], None, case.forget)
        packets = network.packets(sender=sender, receiver=line.node)
        packets = [packet for packet in packets if encode(packet.message, None, case.forget) == encoding]
        if not packets:
            raise ValueError(f"{words(line)}: it was never sent")
        network.deliver(packets[0], keep=True)
    else:
        network.give(line.node, node_input)


def judge_again(case: Case, trace: Trace) -> None:
    """Judge the trace on a controlled network. Raise Violation if a check fails."""
    history = begin(len(case.cells))
    members = [(host, [("joined", 0, 0)]) for host in range(len(case.cells)) if trace.prefix]
    for host, events in members:
        history = history_after(history, host, events)
    for _, judged_events in repeat(case, trace):
        for event in judged_events:
            history = history_after(history, int(event.node[1:]), [(event.name, *event.arguments)])

"""The states of one node, and the effect of each input in each state, computed once and stored.

Model     An event of the network changes one node. Therefore the states and the inputs of each node are numbered, and a
          table (state, input) -> (state, effects) is filled on demand. The code of the protocol runs only for missing
          entries: a new node receives the inputs that led to the state, and then the new input.
Time      Each node has a separate clock, which advances by `step_ns` before each input. This is more than every timeout
          of the protocol except the long ones (silence, cookies, expiry), which must be longer than a whole execution.
          So everything that was waiting for a certain time may happen at the next input, and all clock readings that a
          node holds lie in the past. Comparing them with the current time always gives the same result, so the encoding
          leaves them out. Timers fire when the explorer decides
Errors    An exception of a handler becomes an effect (`error`), which the caller treats as a violation
Source    ours
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from mobilenet.lab.hunt.controlled.node import Input, Node
from mobilenet.lab.hunt.controlled.port import Clock, Transmission

from .case import Case
from .encoding import EPOCH, encode

JUDGED_UPCALLS = ("joined", "left", "gap", "deliver", "expired")


class Numbering:
    """Assigns numbers to items, which are distinguished by their keys."""

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}
        self.items: list[Any] = []

    def number(self, key: Any, item: Any) -> int:
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.items)
            self.items.append(item)
        return number

    def __len__(self) -> int:
        return len(self.items)


class Messages(Numbering):
    """All messages that were ever sent, each with its origin: (node, state, input, 'radio' or 'wired', position)."""

    def __init__(self) -> None:
        super().__init__()
        self.origins: list[tuple[int, int, int, str, int]] = []
        # id(message) -> number of the message. Inputs contain the numbered objects themselves.
        self._places: dict[int, int] = {}

    def enter(self, key: Any, message: Any, origin: tuple[int, int, int, str, int]) -> int:
        number = self.number(key, message)
        if number == len(self.origins):
            self.origins.append(origin)
            self._places[id(message)] = number
        return number

    def find(self, message: Any) -> int:
        """Return the number of a message. The message must be the numbered object itself, because equal messages may
        have different numbers.
        """
        return self._places[id(message)]


class StepEffects(NamedTuple):
    """The effects of one step. Messages are given by their numbers."""

    radio: tuple[tuple[int | None, int], ...]  # pairs (receiver or None, message)
    wired: tuple[tuple[int | None, int], ...]
    upcalls: tuple[tuple[Any, ...], ...]  # upcalls that are judged
    answer: Any
    error: str | None


NOTHING = StepEffects((), (), (), None, None)


class Facts(NamedTuple):
    """Holds what the public methods of the protocol reveal about a state."""

    up: bool
    cell: int | None
    armed: tuple[int, ...]
    settled: bool
    out: bool  # for a host: True if it is not a member and has sent all its messages
    buffered: int  # number of messages in all buffers of the node
    serves: int  # for a station: a bit mask, in which bit h is set if it serves host h


class Local:
    """One node of a case. State 0 is its initial state."""

    def __init__(self, place: int, build: Callable[[Clock], Node], messages: Messages, case: Case) -> None:
        """Set up the node. `place` is its index among all nodes of the case."""
        self._place = place
        self._build = build
        self._messages = messages
        self._case = case
        self._states = Numbering()  # state -> (previous state, input)
        self._inputs = Numbering()
        self._table: dict[tuple[int, int], tuple[int, StepEffects]] = {}
        self.facts: list[Facts] = []
        self.runs = 0  # how often the code of the protocol was run
        node = build(Clock(EPOCH))
        self.name = node.name
        self._enter(node, None)

    def __len__(self) -> int:
        return len(self._states)

    def input(self, node_input: Input) -> int:
        """Return the number of an input. Equal inputs have the same number."""
        return self._inputs.number(encode(node_input, None, self._case.forget), node_input)

    def input_at(self, number: int) -> Input:
        node_input: Input = self._inputs.items[number]
        return node_input

    def step(self, state: int, input_number: int) -> tuple[int, StepEffects]:
        """Return the state after an input, and the effects of the step."""
        known = self._table.get((state, input_number))
        if known is None:
            known = self._table[state, input_number] = self._run(state, input_number)
        return known

    def history(self, state: int) -> list[Input]:
        """Return the inputs that lead to a state."""
        inputs = []
        while (before := self._states.items[state]) is not None:
            state = before[0]
            inputs.append(self.input_at(before[1]))
        return inputs[::-1]

    def restore(self, state: int) -> Node:
        clock = Clock(EPOCH)
        node = self._build(clock)
        for node_input in self.history(state):
            clock.now += self._case.step_ns
            node.step(node_input)
        return node

    def _run(self, state: int, input_number: int) -> tuple[int, StepEffects]:
        self.runs += 1
        node = self.restore(state)
        node.clock.now += self._case.step_ns
        try:
            effects = node.step(self.input_at(input_number))
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            what = f"{type(error).__name__} in {Path(place.filename).name}:{place.lineno} {error}".rstrip()
            return state, NOTHING._replace(error=what)
        step_effects = StepEffects(
            self._sends(effects.radio, (self._place, state, input_number, "radio")),
            self._sends(effects.wired, (self._place, state, input_number, "wired")),
            tuple((name, *arguments) for name, arguments in effects.upcalls if name in JUDGED_UPCALLS),
            effects.answer,
            None,
        )
        return self._enter(node, (state, input_number)), step_effects

    def _sends(self, sent: list[Transmission], origin: tuple[int, int, int, str]) -> tuple[tuple[int | None, int], ...]:
        enter, forget = self._messages.enter, self._case.forget
        return tuple((to, enter(encode(m, None, forget), m, (*origin, place))) for place, (to, m) in enumerate(sent))

    def before(self, state: int) -> tuple[int, int] | None:
        """Return the state and the input from which a state was first reached, or None for the initial state."""
        predecessor: tuple[int, int] | None = self._states.items[state]
        return predecessor

    def key(self, node: Node) -> Any:
        """Return the key by which the node's states are distinguished."""
        timers = [(timer.number, timer.running) for timer in node.port.timers]
        return encode((node.protocol, node.stable, node.cell, timers), self._case.parameters, self._case.forget)

    def _enter(self, node: Node, before: tuple[int, int] | None) -> int:
        number = self._states.number(self.key(node), before)
        if number == len(self.facts):
            self.facts.append(self._look(node))
        return number

    def _look(self, node: Node) -> Facts:
        protocol = node.protocol
        armed = tuple(timer.number for timer in node.running_timers)
        if protocol is None:
            return Facts(False, node.cell, armed, False, False, 0, 0)
        buffered = sum(protocol.buffer_sizes())
        if node.is_host:
            return Facts(True, node.cell, armed, bool(protocol.settled()), bool(protocol.is_out()), buffered, 0)
        serves = sum(1 << host for host in range(len(self._case.cells)) if protocol.serves(host))
        return Facts(True, None, armed, bool(protocol.settled()), False, buffered, serves)

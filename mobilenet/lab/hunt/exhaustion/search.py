"""Search every state that can be reached, once.

Model     depth first; or breadth first, where the first violation found has a shortest trace, in moves. States with the
          same nodes, wires and history differ in the frames sent and in what is left of the bounds. One is left out
          where another one has all its frames, none more that had its effect, and no smaller budget: whatever may
          happen in the first may happen in the other, with the same outcome (the relation is a simulation), so nothing
          that can be violated is missed. Whether a state comes to rest without faults depends on nodes, wires and
          history only. It is judged in states in which all hosts are up and nothing is on the wire: every other state
          leads to one of these, which is explored as well, by recoveries and wired messages, which nothing can prevent.
          Depth first, of a state and its mirror image (symmetry.py) one is enough
Units     seconds, GiB
Errors    none: a violation is a result
Source    Finkel, Schnoebelen, Well-structured transition systems everywhere! (2001), for the ordering; ours
"""

from __future__ import annotations

import resource
import sys
import time
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from mobilenet.lab.hunt.controlled.node import Input

from .case import Case
from .completion import Completion
from .judge import Violation
from .space import Broken, Space, State, Step
from .symmetry import Mirror, is_symmetric

LOOK_EVERY = 2000  # states between two checks of the clock


class KeptState:
    """A state that no other state covers."""

    __slots__ = ("before", "budget", "covered", "depth", "frames", "state", "step", "used")

    def __init__(self, state: State, depth: int, before: KeptState | None, step: Step | None) -> None:
        self.state = state
        self.budget, self.frames, self.used = state[-3:]
        self.depth = depth
        self.before = before
        self.step = step
        self.covered = False


class Progress(NamedTuple):
    states: int
    transitions: int
    depth: int
    waiting: int
    seconds: float
    gib: float


class Result(NamedTuple):
    case: Case
    outcome: str  # 'exhausted', 'violated', or 'stopped'
    states: int  # nodes, wires and history
    covering: int  # these with frames and budgets, as far as none covers another
    expanded: int
    transitions: int
    depth: int
    seconds: float
    gib: float  # peak of the process
    violation: Violation | None = None
    path: tuple[Step, ...] = ()  # to the violation, if the search was breadth first ...
    after: tuple[tuple[int, Input], ...] = ()  # ... and the inputs from there on, without faults


class Search:
    def __init__(self, case: Case, space: Space | None = None) -> None:
        self.case = case
        self.space = space or Space(case)
        self.completion = Completion(self.space)
        self.result: Result | None = None
        self.first: State = ()
        self.mirror = Mirror(self.space) if is_symmetric(case) else None
        self._entries: dict[State, list[KeptState]] = {}
        self._waiting: deque[KeptState] = deque()
        self._transitions = self._expanded = self._depth = 0

    def run(self, seconds: float = 900, gib: float = 16, breadth: bool = False) -> Iterator[Progress]:
        """Search until all states are seen, a check is broken, or a limit is reached. `result` is set at the end."""
        started = time.perf_counter()
        outcome = "exhausted"
        violation: Violation | None = None
        path: tuple[Step, ...] = ()
        after: tuple[tuple[int, Input], ...] = ()
        take = self._waiting.popleft if breadth else self._waiting.pop
        entry: KeptState | None = None
        try:
            self.first = self.completion.join_all() if self.case.joined else self._begin()
            self._enter(self.first, None, None, breadth)
            while self._waiting:
                entry = take()
                if entry.covered:
                    continue
                self._expand(entry, breadth)
                if self._expanded % LOOK_EVERY == 0:
                    progress = self._progress(time.perf_counter() - started)
                    if progress.seconds > seconds or progress.gib > gib:
                        outcome = "stopped"
                        break
                    yield progress
        except Broken as broken:
            outcome, violation = "violated", broken.violation
            path = (*trail(entry), broken.step) if breadth else ()
        except NotCalm as broken:
            outcome, violation = "violated", broken.violation
            path, after = (trail(broken.entry) if breadth else ()), tuple(self.completion.last)
        except Violation as error:  # before the search began
            outcome, violation = "violated", error
        last = self._progress(time.perf_counter() - started)
        covering = sum(map(len, self._entries.values()))
        self.result = Result(self.case, outcome, last.states, covering, self._expanded, last.transitions, last.depth,
                             last.seconds, last.gib, violation, path, after)  # fmt: skip
        yield last

    def _begin(self) -> State:
        """Return the first state: every host asks to join."""
        return self.space.joining_state()

    def _expand(self, entry: KeptState, breadth: bool) -> None:
        self._expanded += 1
        for step, state in self.space.successors(entry.state):
            self._transitions += 1
            self._enter(state, entry, step, breadth)

    def _enter(self, state: State, before: KeptState | None, step: Step | None, breadth: bool) -> None:
        if (
            self.mirror is not None and not breadth
        ):  # a trace follows one host, and is the same for a state and its mirror image
            state = self.mirror.choose(state)
        key, budget, frames, used = state[:-3], state[-3], state[-2], state[-1]
        known = self._entries.get(key)
        depth = 0 if before is None else before.depth + 1
        if known is None:
            entry = KeptState(state, depth, before if breadth else None, step if breadth else None)
            self._entries[key] = [entry]
            if self.space.is_idle(key):
                try:
                    self.completion.judge(key)
                except Violation as violation:
                    raise NotCalm(violation, entry) from None
        else:
            covers = self.space.covers
            for other in known:
                if not frames & ~other.frames and not other.used & ~used and covers(other.budget, budget):
                    return
            for other in known:
                other.covered = not other.frames & ~frames and not used & ~other.used and covers(budget, other.budget)
            entry = KeptState(state, depth, before if breadth else None, step if breadth else None)
            self._entries[key] = [*(other for other in known if not other.covered), entry]
        self._depth = max(self._depth, depth)
        self._waiting.append(entry)

    def _progress(self, seconds: float) -> Progress:
        return Progress(len(self._entries), self._transitions, self._depth, len(self._waiting), seconds, peak_gib())


class NotCalm(Exception):
    """The state does not come to rest."""

    def __init__(self, violation: Violation, entry: KeptState) -> None:
        super().__init__(violation.explanation)
        self.violation = violation
        self.entry = entry


def trail(entry: KeptState | None) -> tuple[Step, ...]:
    """Return the steps that lead to a state."""
    steps: list[Step] = []
    while entry is not None and entry.step is not None:
        steps.append(entry.step)
        entry = entry.before
    return tuple(reversed(steps))


def peak_gib() -> float:
    """Return the most memory that this process has used."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**30 if sys.platform == "darwin" else 2**20)

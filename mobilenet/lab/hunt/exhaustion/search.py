"""Search every reachable state once.

Model     The search runs depth first, or breadth first for a trace with the fewest moves to the first violation. States
          with the same nodes, wires and history may differ in the frames sent and in the remaining budget. A state is
          left out if another one has all of its frames, no additional frame that has already taken effect, and no
          smaller budget. Whatever may happen in the first state may then happen in the other one with the same outcome
          (the relation is a simulation), so no violation is missed. Whether a state comes to rest without faults
          depends only on nodes, wires and history. This is judged in states in which all hosts are up and the wire is
          empty. Recoveries and wired messages, which cannot be prevented, lead from every other state to such a state,
          which is explored as well. A depth-first search explores only one state of each mirror-image pair
          (symmetry.py).
Units     seconds, GiB
Errors    A violation is a result, not an error
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

LOOK_EVERY = 2000  # number of states to expand between two checks of the limits


class KeptState:
    """A state that the search will explore, unless a later state covers it."""

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
    states: int  # number of distinct combinations of nodes, wires and history
    covering: int  # number of states, including frames and budgets, that remain after covered states are removed
    expanded: int
    transitions: int
    depth: int
    seconds: float
    gib: float  # peak memory of the process
    violation: Violation | None = None
    path: tuple[Step, ...] = ()  # the steps to the violation, if the search was breadth first
    # the inputs without faults that follow `path`, if the state does not come to rest
    after: tuple[tuple[int, Input], ...] = ()


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
        """Search until all states are explored, a check fails, or a limit is reached. Set `result` at the end."""
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
        except Violation as error:  # The violation occurred before the search started.
            outcome, violation = "violated", error
        last = self._progress(time.perf_counter() - started)
        covering = sum(map(len, self._entries.values()))
        self.result = Result(self.case, outcome, last.states, covering, self._expanded, last.transitions, last.depth,
                             last.seconds, last.gib, violation, path, after)  # fmt: skip
        yield last

    def _begin(self) -> State:
        """Return the first state, in which every host has asked to join."""
        return self.space.joining_state()

    def _expand(self, entry: KeptState, breadth: bool) -> None:
        self._expanded += 1
        for step, state in self.space.successors(entry.state):
            self._transitions += 1
            self._enter(state, entry, step, breadth)

    def _enter(self, state: State, before: KeptState | None, step: Step | None, breadth: bool) -> None:
        if (
            self.mirror is not None and not breadth
        ):  # In a trace, hosts must keep their identity, so a breadth-first search does not use mirror images.
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
    """Raised if the network does not come to rest from a state."""

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
    """Return the peak memory of this process."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**30 if sys.platform == "darwin" else 2**20)

"""Reduce a scenario that violates a property to one that is small enough to read.

Model     The random broadcasts and crashes of the run are written as lists. Then the lists, the duration, the hosts and
          the stations are reduced as long as the property is still violated. A candidate is run and judged like any
          scenario, without knowledge of its protocol. The search begins with the broadcasts and hosts that the
          explanation names, and then cuts the lists by delta debugging. Each removal changes the random draws of the
          remaining parts, so a candidate may be played with several seeds.
Units     seconds
Errors    RunError for a run without a violation, or if the violation does not occur again
Source    Zeller, Hildebrandt: Simplifying and Isolating Failure-Inducing Input (2002), algorithm ddmin; the choice of
          parts to reduce is ours: docs/guide/programs.md
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from mobilenet.api import Run, run
from mobilenet.engine.scratch import scratch_folder
from mobilenet.lab.hunt.swarm.reductions import KINDS, Changes
from mobilenet.parameters import ScenarioError
from mobilenet.protocols.names import REAL_TIME
from mobilenet.record.reader import RunError
from mobilenet.scenario import AnyScenario, load_scenario
from mobilenet.scenario.yaml_writer import inline
from mobilenet.simulation.plugin_code import require_allowed

T = TypeVar("T")
OnTrial = Callable[[str], None]
SEEDS = 4  # number of seeds with which a candidate is played


class Shrinking:
    """A search for a smaller scenario. `scenario` is the smallest one so far."""

    def __init__(
        self,
        directory: Path,
        allow_code: bool = False,
        most: float = math.inf,
        minutes: float = math.inf,
        on_trial: OnTrial = print,
    ) -> None:
        """Prepare the search. `most` limits the number of trials, and `minutes` the wall time. `on_trial` receives a
        description of the smallest scenario after each trial.
        """
        self._allow_code = allow_code
        self._most = most
        self._ends_s = math.inf
        self._on_trial = on_trial
        self.trials = 0
        opened = Run(directory)
        violated = [name for name, verdict in opened.verdicts.items() if verdict.answer == "violated"]
        if not violated:
            raise RunError(f"{directory}: no property is violated; expected a run whose verdict is violated")
        self.violated = violated[0]
        self.explanation = opened.verdicts[self.violated].explanation
        try:
            self.scenario: AnyScenario = load_scenario(directory / "scenario.yaml")
        except ScenarioError:
            raise RunError(
                f"{directory}: this is a schedule for the swarm's network without a radio, and such schedules cannot be"
                " shrunk; expected a run of a scenario, or a swarm run with an odd seed"
            ) from None
        if self.scenario.protocol.name in REAL_TIME:
            raise RunError(f"{directory}: a run in real time, which cannot be repeated; expected a run in virtual time")
        require_allowed(self.scenario, allow_code)
        self.events = opened.events
        self._kind = KINDS[type(self.scenario)](self)
        if not self.attempt({}, 1):
            raise RunError(f"{directory}: does not violate {self.violated} again; run it with --twice to see why")
        self._ends_s = time.monotonic() + 60 * minutes

    # --- the search

    def run(self) -> None:
        """Shrink the scenario until nothing more can be removed, or until the trials or the time are used up."""
        self._kind.run()

    @property
    def is_over(self) -> bool:
        """Whether the trials or the time are used up."""
        return self.trials >= self._most or time.monotonic() > self._ends_s

    def cut_list(self, key: str, items: Sequence[T]) -> None:
        """Shorten the list that is the value of a key, as long as the property is still violated."""

        def still(subset: Sequence[T]) -> bool:
            return not self.is_over and self.attempt({key: subset})

        ddmin(items, still)

    def attempt(self, changes: Changes, seeds: int = SEEDS, first: int = 0) -> bool:
        """Return whether a scenario with these changes still violates the property with one of several seeds. If so,
        the search continues with this scenario. `first` is the number of seeds already tried.
        """
        seed = self.scenario.seed
        return any(self._trial({**changes, "seed": seed + more}) for more in range(first, first + seeds))

    def _trial(self, changes: Changes) -> bool:
        if self.is_over:
            return False
        self.trials += 1
        try:
            candidate = self.scenario.with_changes([f"{key}={inline(_plain(value))}" for key, value in changes.items()])
            with scratch_folder("shrink") as folder:
                verdicts = run(candidate, out=folder / "run", allow_code=self._allow_code).verdicts
        except ScenarioError:
            return False  # The candidate is not a valid scenario, or its protocol cannot run in it.
        is_violated = self.violated in verdicts and verdicts[self.violated].answer == "violated"
        if is_violated:
            self.scenario = self._kind.without_the_late(candidate)
        self._on_trial(self.summary())
        return is_violated

    # --- what was found

    @property
    def to_look_at(self) -> Sequence[str]:
        """The changes that are needed to draw the run. They do not affect the events of the run."""
        changes: Sequence[str] = self._kind.to_look_at
        return changes

    def around(self, small: Run) -> str:
        """Return the options with which `mobilenet spacetime` shows the violation, or an empty string if it cannot be
        drawn.
        """
        return str(self._kind.around(small.verdicts[self.violated].explanation, small.events))

    def summary(self) -> str:
        """Return a description of the size of the scenario."""
        return str(self._kind.summary(self.scenario))


def ddmin(items: Sequence[T], fails: Callable[[Sequence[T]], bool]) -> list[T]:
    """Return a shorter list for which `fails` still returns True. No single item can be removed from it, unless `fails`
    gives up early.
    """
    current, parts = list(items), 2
    while current:
        size = -(-len(current) // parts)
        rests = [current[:i] + current[i + size :] for i in range(0, len(current), size)]
        smaller = next((rest for rest in rests if fails(rest)), None)
        if smaller is not None:
            current, parts = smaller, max(2, parts - 1)
        elif size == 1:
            break
        else:
            parts = min(len(current), 2 * parts)
    return current


def _plain(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value.model_dump() if hasattr(value, "model_dump") else value

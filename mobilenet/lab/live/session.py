"""Control a run manually: play it to any time, intervene at any time, and rewind it.

    live = mobilenet.live("scenarios/first.yaml", seed=3)
    live.play(12.5)
    live.do("crash", host="h3")
    live.step("handoff")
    live.rewind(8)
    live.save("runs/mine")

Model     A session contains one running simulation. An intervention takes effect at the current time of the run,
          after all other events of that nanosecond, and is added to the scenario. Therefore the scenario describes
          the whole session, and running it produces exactly the same record. To rewind, the session runs the scenario
          again from the beginning, with the interventions up to that time. If a safety property is violated, the run
          stops at the event that shows the violation
Units     seconds in the interface; integer nanoseconds in names with _ns
Errors    ScenarioError with one line if a request cannot be carried out; the run stays at its current time
Source    ours: docs/guide/live.md
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from mobilenet.by_kind import with_declared
from mobilenet.engine.clock import SECOND, Progress, ns
from mobilenet.engine.event_queue import Runaway
from mobilenet.engine.gc_pause import no_collections
from mobilenet.lab.live.branch import (
    Branch,
    check_request,
    instant_ns,
    require_same,
    seconds,
    untouched_ns,
    with_list,
)
from mobilenet.lab.live.commands import STEPS, is_step
from mobilenet.lab.live.packets import temporary_folder
from mobilenet.lab.live.preconditions import require_effect
from mobilenet.parameters import ScenarioError
from mobilenet.record.table import Table
from mobilenet.scenario import AnyScenario, Scenario
from mobilenet.scenario.interventions_check import strangers
from mobilenet.scenario.plans.by_kind import plans_of
from mobilenet.scenario.real_time import RealTimePrograms
from mobilenet.simulation.mobile import Simulation
from mobilenet.simulation.outcome import Outcome
from mobilenet.simulation.parties import RealTime
from mobilenet.simulation.plugin_code import attributing_errors
from mobilenet.simulation.plugin_failure import moment
from mobilenet.verify.online import FirstViolation, SafetyJudge
from mobilenet.world.interventions import AnyIntervention, added_hosts, in_order

if TYPE_CHECKING:
    from mobilenet.lab.notebook.runs import Run

PIECE_NS = SECOND // 4  # simulated time between two checks for violations, and between two points of the curves


class LiveSession:
    """A run under manual control, with its branches."""

    def __init__(self, scenario: AnyScenario, allow_code: bool = False, name: str = "live") -> None:
        """Start a session at 0 s. `allow_code` permits the code and the programs of the scenario to run; `name` is used
        in the names of stored runs.
        """
        if not isinstance(scenario, Scenario):
            raise ScenarioError(
                "only runs with hosts and stations can be run live; expected a scenario with `stations:` and `hosts:`"
            )
        self.is_real_time = isinstance(scenario.protocol, RealTimePrograms)
        self.name = name
        self._allow_code = allow_code
        scenario = cast("Scenario", with_declared(scenario, allow_code))
        self._scenario_interventions = scenario.interventions
        self.folder = temporary_folder(self, scenario)  # folder for captures and outputs
        self.branches = [Branch(0, scenario)]
        self.branch = self.branches[0]
        self.violation: FirstViolation | None = None  # stopped the run or, in real time, occurred first
        self.on_the_way: Progress = lambda at_s, to_s: None  # called for each piece of the run while it rewinds
        self.on_begin: Callable[[Simulation], None] = lambda simulation: None  # called for each new simulation
        self.on_piece: Callable[[], None] = lambda: None  # called after each piece of the run
        self._begin(scenario)

    def _begin(self, scenario: Scenario) -> None:
        with attributing_errors(scenario):
            real_time = RealTime() if self.is_real_time else None
            self.simulation = Simulation(scenario, self._allow_code, self.folder, real_time)
            self._stages = self.simulation.stages()
            self._stage_ns = next(self._stages)
        self._outcome: Outcome | None = None
        self.error = ""  # the error of a program or a plug-in that ended the run
        self.first_hosts = len(self.simulation.hosts)  # number of hosts before any intervention adds one
        promises = plans_of(scenario).declared_manifest(scenario)["promises"]
        events = self.simulation.recording.events
        self._judge = SafetyJudge(events.columns, promises, self._senders(scenario))
        self.violation = None
        gc.collect()
        self.on_begin(self.simulation)

    def _senders(self, scenario: Scenario) -> list[str]:
        """Return the names of all hosts that may broadcast."""
        return [f"h{number}" for number in range(self.first_hosts + len(added_hosts(scenario.interventions)))]

    # --- its state

    @property
    def now_ns(self) -> int:
        return self.simulation.kernel.now

    @property
    def now_s(self) -> float:
        return seconds(self.now_ns)

    @property
    def scenario(self) -> Scenario:
        """The scenario of this branch, including all manual interventions."""
        return self.branch.scenario

    @property
    def is_over(self) -> bool:
        """Whether the run has ended, because it reached quiescence or drain_s has passed."""
        return self._outcome is not None

    @property
    def outcome(self) -> Outcome | None:
        """The outcome of the run, or None if the run has not ended yet."""
        return self._outcome

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the events so far or, once the run has ended, of the whole run."""
        return Table.of(self.simulation.recording.events.columns()).fingerprint()

    # --- going on

    def play(self, until_s: float | None = None) -> None:
        """Play to this time, or to the end if no time is given. In virtual time, stop at a violation."""
        self.play_ns(2**62 if until_s is None else instant_ns("play", until_s))

    def play_ns(self, until_ns: int) -> None:
        """Play to this time, in nanoseconds."""
        self.require_sound()
        self.forget_violation()
        while (self.is_real_time or self.violation is None) and self.now_ns < until_ns and not self.is_over:
            self._advance(min(until_ns, _piece_end_ns(self.now_ns)))
            self._look()
            self.on_piece()
        self._note_reached()

    def step(self, what: str = "event") -> None:
        """Play to the next event of a kind: any event of the record, a frame, the beginning or end of a handoff, a
        delivery, or a violation of a property that has not been reported yet.
        """
        while not self.step_for(what, 3600.0):
            pass

    def step_for(self, what: str, most_s: float) -> bool:
        """Play like `step`, but for a limited wall time. Return False if the event has not happened yet."""
        if what not in STEPS:
            raise ScenarioError(f"step: got {what!r}, expected one of {', '.join(STEPS)}")
        self.require_virtual_time("step")
        self.require_sound()
        until_s = time.monotonic() + most_s
        self.violation = None
        if what == "violation":
            while self.violation is None and not self.is_over and time.monotonic() < until_s:
                self.play_ns(_piece_end_ns(self.now_ns))
            return self.violation is not None or self.is_over
        events, medium = self.simulation.recording.events, self.simulation.medium
        rows, frames, piece_ns = len(events), medium.frames, _piece_end_ns(self.now_ns)
        is_there = False
        while not self.is_over and not is_there and time.monotonic() < until_s:
            self.step_once()
            if self.now_ns >= piece_ns:
                piece_ns = _piece_end_ns(self.now_ns)
                self.on_piece()
            if what == "frame":
                is_there = medium.frames > frames
            elif len(events) > rows:
                is_there = any(is_step(what, event) for event in events.event[rows:])
                rows = len(events)
        self._look()
        self._note_reached()
        return is_there or self.is_over or self.violation is not None

    def _advance(self, until_ns: int) -> None:
        """Play the simulation to this time, in stages."""
        with self._attributing(), no_collections():
            while self.now_ns < until_ns and self._outcome is None:
                if self.now_ns >= self._stage_ns and not self._next_stage():
                    return
                self.simulation.play(min(until_ns, self._stage_ns))

    def step_once(self) -> None:
        """Process one entry of the event calendar, which may leave the record unchanged."""
        with self._attributing():
            if not self.simulation.step() and self.now_ns >= self._stage_ns:
                self._next_stage()

    def _next_stage(self) -> bool:
        stage_ns = next(self._stages, None)
        if stage_ns is None:
            self.simulation.close()
            self._outcome = self.simulation.outcome()
            return False
        self._stage_ns = stage_ns
        return True

    def _look(self) -> None:
        """Check whether a property is violated. If so, stop at the event that shows the violation."""
        violation = self._judge.look()
        if violation is None:
            return
        events = self.simulation.recording.events
        if self.is_real_time:
            self.violation = self.violation or violation  # in real time, only the first violation is stored
            return
        if len(events) > violation.row + 1 or self.now_ns > events.time_ns[violation.row]:
            self._again_to_row(violation)
        self.violation = violation

    def _again_to_row(self, violation: FirstViolation) -> None:
        """Replay the run from the beginning up to the violating event, because the run has passed this event."""
        time_ns = self.simulation.recording.events.time_ns[violation.row]
        checks = {violation.check, *self._judge.reported_checks}
        self.close()
        self._begin(self.branch.scenario)
        self._judge.reported_checks |= checks
        self._play_again(time_ns - 1)
        while len(self.simulation.recording.events) <= violation.row:
            self.step_once()
        self._judge.look()

    # --- by hand

    def do(self, what: str, /, **how: Any) -> dict[str, Any]:
        """Intervene now, as described in docs/models/world.md, but without a time: `do("drag", host="h3", to_m=[40,
        0])`. Return the intervention in the form of a scenario. If there already is an intervention at this time, the
        new one follows a nanosecond later.
        """
        self.require_sound()
        at_ns = untouched_ns(self._interventions_until(), self.now_ns)
        scenario, place = self._with(check_request({"do": what, **how}), at_ns)
        require_effect(self.simulation, self.now_ns, what, how.get("host"))
        if self.now_ns < self.branch.reached_ns:  # the branch already extends beyond this time
            self._fork(self.now_ns)
        self._advance(at_ns)
        self.forget_violation()
        self.branch = replace(self.branch, scenario=scenario)
        one = scenario.interventions[place]
        with self._attributing():
            self.simulation.intervene(scenario, one)
        self._judge.admit(self._senders(scenario))
        self._look()
        self._note_reached()
        return dict(one.model_dump())

    def check(self, what: Mapping[str, Any], at_s: float) -> None:
        """Raise ScenarioError if the intervention is impossible at the earlier time `at_s`."""
        self.require_virtual_time("do")
        back_ns = instant_ns("check", at_s)
        self._with(check_request(what), untouched_ns(self._interventions_until(back_ns), back_ns), is_back=True)

    def _with(self, what: dict[str, Any], at_ns: int, is_back: bool = False) -> tuple[Scenario, int]:
        """Return the scenario with the intervention, and the index of the intervention in the list. With `is_back`,
        leave out later interventions.
        """
        if at_ns >= self.simulation.duration_ns:
            instead = "start the run again with" if self.is_real_time else "go back, or set"
            end = f"the active part, which ended at {self.scenario.duration_s:g} s; {instead} a longer duration_s"
            raise ScenarioError(f"no intervention is possible after {end}")
        known = self._interventions_until(at_ns if is_back else None)
        place = sum(ns(one.at_s) <= at_ns for one in known)
        scenario = with_list(self.scenario, [*known[:place], what | {"at_s": seconds(at_ns)}, *known[place:]])
        place = [ns(one.at_s) for one in scenario.interventions].index(at_ns)
        # With tracks, only the running simulation knows the number of hosts.
        if (stranger := strangers(scenario, self.first_hosts)) is not None:
            raise ScenarioError(stranger[1])
        return scenario, place

    def _interventions_until(self, to_ns: int | None = None) -> list[AnyIntervention]:
        """Return the interventions of the scenario and the manual ones, either all of them or only up to `to_ns`."""
        return self.branch.interventions_until(self._scenario_interventions, to_ns)

    def manual_interventions(self, branch: Branch) -> list[AnyIntervention]:
        """Return the interventions of a branch that were made by hand."""
        return [one for one in branch.interventions if one not in self._scenario_interventions]

    # --- back again

    def rewind(self, to_s: float) -> None:
        """Go back to an earlier time. Later interventions remain in the previous branch."""
        self.require_virtual_time("rewind")
        to_ns, now_s = instant_ns("rewind", to_s), self.now_s
        if to_ns > self.now_ns:
            raise ScenarioError(f"rewind: got {to_s:g} s, expected a time between 0 and the current time, {now_s:g} s")
        scenario = with_list(self.scenario, self._interventions_until(to_ns))
        if scenario.interventions != tuple(in_order(self.branch.interventions)):
            self._note_reached()
            self._fork(to_ns, scenario)
        elif to_ns == self.now_ns:
            return
        self._replay(to_ns)

    def switch(self, number: int) -> None:
        """Switch to another branch, at the time that it had reached."""
        self.require_virtual_time("switch")
        self.reached_s(number)
        self._note_reached()
        self.branch = self.branches[number]
        self._replay(self.branch.reached_ns)

    def reached_s(self, number: int) -> float:
        """Return the time that a branch has reached."""
        if not isinstance(number, int) or not 0 <= number < len(self.branches):
            there = f"0 to {len(self.branches) - 1}"
            raise ScenarioError(f"switch: branch {number} does not exist, expected one of {there}")
        return seconds(self.branches[number].reached_ns)

    def _fork(self, from_ns: int = 0, scenario: Scenario | None = None) -> None:
        self.branch = Branch(len(self.branches), scenario or self.scenario, self.branch.number, from_ns, from_ns)
        self.branches.append(self.branch)

    def _replay(self, to_ns: int) -> None:
        self.close()
        self._begin(self.branch.scenario)
        self._play_again(to_ns)
        self._note_reached()

    def _play_again(self, to_ns: int) -> None:
        while self.now_ns < to_ns and not self.is_over:
            self._advance(min(to_ns, _piece_end_ns(self.now_ns)))
            self._judge.look()  # do not report an already reported violation again
            self.on_piece()
            self.on_the_way(self.now_s, seconds(to_ns))

    def _note_reached(self) -> None:
        reached_ns = max(self.branch.reached_ns, self.now_ns)
        self.branch = replace(self.branch, reached_ns=reached_ns)
        self.branches[self.branch.number] = self.branch

    # --- kept

    def save(self, out: str | Path | None = None, replace_it: bool = False) -> Run:
        """Run the scenario of this branch from beginning to end, as `mobilenet run` does, and store the run. Raise
        ScenarioError if its events differ from this session, which would be a bug in mobilenet.
        """
        from mobilenet.lab.notebook import runs

        self.require_virtual_time("save")
        run = runs.run(self.scenario, out=out, allow_code=self._allow_code, replace=replace_it)
        require_same(self.simulation.recording.events.columns(), run.path)
        return run

    def close(self) -> None:
        """End the programs that belong to the run."""
        self.simulation.close()

    @contextmanager
    def _attributing(self) -> Iterator[None]:
        parts = self.simulation
        try:
            with attributing_errors(
                self.scenario, lambda error, files: moment(error, parts.kernel.now, parts.nodes, files)
            ):
                yield
        except Runaway as error:
            self.error = f"limits.max_events: {error}"
            raise ScenarioError(self.error) from None
        except ScenarioError as error:
            self.error = str(error).splitlines()[0]
            raise

    def forget_violation(self) -> None:
        """Let the run continue after a violation. In real time, keep showing the violation."""
        if not self.is_real_time:
            self.violation = None

    def require_virtual_time(self, command: str) -> None:
        """Raise ScenarioError if the run is in real time, in which this command is not possible."""
        if self.is_real_time:
            raise ScenarioError(f"{command}: a run in real time can only continue; use its map to play it back")

    def require_sound(self) -> None:
        """Raise ScenarioError if a program or a plug-in has failed since the last rewind."""
        if self.error:
            end = f"go back to a time before {self.now_s:.9g} s"
            raise ScenarioError(f"the run ended with an error: {self.error}; {end}")


def _piece_end_ns(now_ns: int) -> int:
    """Return the end of the current piece. Pieces end at the same times, regardless of how a run is played."""
    return (now_ns // PIECE_NS + 1) * PIECE_NS

"""Run background jobs: save a branch, measure the effect of an intervention, or explain a delivery.

Model     Each job is a mobilenet command in a separate process, while the session continues. A branch is stored by
          `mobilenet run` with its scenario, from the beginning to the end; its events must begin with the session's
          events. The effect of an intervention is a study of two configurations, the branch with and without it, in
          the same worlds, up to the end of the observed time. The reason for a late delivery is found by repeating
          the session up to now and recording its causes
Units     seconds
Errors    the text of a failed job states the reason in one line
Source    ours: docs/guide/live.md
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from mobilenet.api import RUNS, Run, write_scenario
from mobilenet.engine import safe_path
from mobilenet.engine.clock import SECOND
from mobilenet.engine.scratch import scratch_folder
from mobilenet.lab.live.branch import plain, with_list
from mobilenet.lab.live.effect import CONFIDENCE, EFFECTS, differences, effect_in_words, in_words
from mobilenet.parameters import ScenarioError
from mobilenet.parameters import number as host_number
from mobilenet.quoting import cut, first_line, quote
from mobilenet.record.reader import RunError, read_coded, read_manifest
from mobilenet.record.table import Table
from mobilenet.record.writer import is_being_written
from mobilenet.scenario import Scenario
from mobilenet.scenario.yaml_writer import to_yaml
from mobilenet.world.interventions import Add, AnyIntervention, OnHost, added_hosts
from mobilenet.world.track_mobility import Tracks

AFTER_S = 20.0  # The effect of an intervention is measured for this time after it.
MOST_AT_A_TIME = 4
ENDING_S = 10.0  # A command that was asked to stop may take this long.
# The niceness of a job is higher than that of the session by this number. The session has priority, especially while
# it rewinds, but jobs must also finish on a busy machine.
BEHIND = 5
JUDGED = (0, 1, 4)  # exit codes of a command that completed its run


@dataclass
class Job:
    """A background job. `state` is running, done or failed; `text` describes its progress to users."""

    number: int
    kind: str  # save, effect or why
    about: str
    state: str = "running"
    text: str = ""
    result: dict[str, Any] = field(default_factory=dict)
    question: object = None  # the request that the job answers
    is_cancelled: bool = False

    def report(self) -> dict[str, Any]:
        return {key: getattr(self, key) for key in ("number", "kind", "about", "state", "text", "result")}


class Delivery(NamedTuple):
    message: str
    host: str
    delay_ns: int


class Jobs:
    """The jobs of a session. `on_change` is called, from any thread, when the state of a job changes."""

    def __init__(self, on_change: Callable[[], None], allow_code: bool, name: str) -> None:
        self.jobs: list[Job] = []
        self._on_change = on_change
        self._allow_code = allow_code
        self._name = name
        self._processes: dict[int, subprocess.Popen[str]] = {}
        self._threads: list[threading.Thread] = []
        self._is_closing = False
        self.saved: list[tuple[AnyIntervention, ...]] = []  # interventions of the stored branches
        self._taken: set[Path] = set()  # directories that jobs have reserved but not yet created

    def save(self, scenario: Scenario, out: Path | None, prefix: tuple[int, str]) -> Job:
        """Store a branch as a run. `prefix` contains the number of events in the session and their fingerprint."""
        if out is not None and (out.exists() or out in self._taken):
            raise ScenarioError(f"save: {out} already exists; expected another name")
        target = self._free(out if out is not None else RUNS / f"{self._name}-live-s{scenario.seed}")
        job = self._new("save", f"{quote(target)}")
        self._start(job, lambda folder: self._save(job, folder, scenario, target, prefix), target)
        return job

    def keep(self, interventions: tuple[AnyIntervention, ...], where: str) -> Job:
        """Record that a run was stored immediately, without a job."""
        job = self._new("save", where)
        self.saved.append(interventions)
        self._end(job, "done", f"kept in {where}")
        return job

    def effect(self, scenario: Scenario, hosts: int, number: int, worlds: int) -> Job:
        """Measure the effect of the intervention with this number in the scenario. `hosts` is the initial number of
        hosts.
        """
        one = scenario.interventions[number]
        end_s = min(scenario.duration_s, one.at_s + AFTER_S)
        interventions = [other for other in scenario.interventions if other.at_s < end_s]
        if isinstance(one, Add) and (later := host_with_other_number(interventions, one, hosts)):
            raise ScenarioError(
                f"effect: {later} was added by this intervention or later, and a later intervention acts on {later},"
                " so this intervention cannot be left out"
            )
        about, question = in_words(one), (one, interventions, worlds)
        if any(job.state == "running" and job.question == question for job in self.jobs):
            raise ScenarioError(f"effect: the effect of the {about} is already being estimated")
        job = self._new("effect", about)
        job.question = question
        out = self._free(RUNS / f"{self._name}-effect-s{scenario.seed}")
        self._start(job, lambda folder: self._effect(job, folder, out, scenario, one, interventions, worlds), out)
        return job

    def why(self, scenario: Scenario, delivery: Delivery, now_s: float) -> Job:
        """Explain a delivery that happened before the current time."""
        about = f"{delivery.message} at {delivery.host}"
        if any(job.kind == "why" and job.state == "running" and job.about == about for job in self.jobs):
            raise ScenarioError(f"why: {about} is already being explained")
        job = self._new("why", about)
        self._start(job, lambda folder: self._why(job, folder, scenario, delivery, now_s), None)
        return job

    def cancel(self, number: int) -> None:
        """End a job that is in progress."""
        job = next((job for job in self.jobs if (job.number, job.state) == (number, "running")), None)
        if job is None:
            raise ScenarioError(f"cancel: job {number} is not in progress")
        job.is_cancelled = True
        if (process := self._processes.get(number)) is not None:
            process.terminate()

    def close(self) -> None:
        """End all jobs that are still running."""
        self._is_closing = True
        processes = list(self._processes.values())
        for process in processes:
            process.terminate()
        end_s = time.monotonic() + ENDING_S
        for process in processes:
            try:
                process.wait(max(0.1, end_s - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
        for thread in self._threads:  # wait for these threads, because they remove incomplete results
            thread.join(ENDING_S)

    # --- what jobs do, each in its own thread

    def _save(self, job: Job, folder: Path, scenario: Scenario, target: Path, prefix: tuple[int, str]) -> None:
        write_scenario(folder, scenario)
        if not self._command(job, "run", str(folder / "scenario.yaml"), "--out", str(target), fine=JUDGED):
            return
        rows, print_of_session = prefix
        events = read_coded(target, "events")
        columns = {name: list(events[name][:rows]) for name in events}
        if Table.of(columns).fingerprint() != print_of_session:
            self._end(job, "failed", f"{quote(target)} has different events from the live run; please report this")
            return
        run = Run(target)
        verdict = run.verdict
        reasons = {name: one.explanation for name, one in run.verdicts.items() if one.answer == verdict}
        why = next((f" ({name}: {reason})" for name, reason in reasons.items() if reason), "")
        own = str(read_manifest(target)["fingerprint"])
        again = f"mobilenet run {quote(target / 'scenario.yaml')}{' --allow-code' if any(scenario.code()) else ''}"
        self.saved.append(scenario.interventions)
        job.result = {"directory": str(target), "verdict": verdict, "fingerprint": own, "command": again}
        text = f"saved in {quote(target)}: {verdict}{why}, fingerprint {own[:12]}; to repeat it: {again}"
        self._end(job, "done", text)

    def _effect(
        self, job: Job, folder: Path, out: Path, scenario: Scenario, one: AnyIntervention,
        interventions: list[AnyIntervention], worlds: int,
    ) -> None:  # fmt: skip
        """Measure the effect of an intervention. If possible, end the runs at the end of the observed time."""
        end_s = min(scenario.duration_s, one.at_s + AFTER_S)
        if self._is_closing:
            return
        shorter = scenario.with_changes([_ending(scenario, end_s), "interventions=[]", f"warmup_s={one.at_s!r}"])
        # Without `one`, some of these interventions may have no effect.
        without = [each for each in interventions if each is not one]
        both = (with_list(shorter, some).interventions for some in (without, interventions))
        levels = [[plain(other) for other in each] for each in both]
        (folder / "world").mkdir()
        write_scenario(folder / "world", shorter)
        study = {
            "scenario": "world/scenario.yaml", "factors": {"interventions": levels},
            "replications": {"min": worlds},
            "compare": {"factor": "interventions", "baseline": levels[0], "metrics": list(EFFECTS)},
        }  # fmt: skip
        (folder / "study.yaml").write_text(to_yaml(study), encoding="utf-8")
        if not self._command(job, "study", str(folder / "study.yaml"), "--out", str(out), fine=JUDGED):
            return
        findings = differences(out, one, end_s)
        job.result = {"directory": str(out), "differences": findings, "confidence": CONFIDENCE}
        more = f"To include later deliveries: mobilenet compare {quote(out)}"
        self._end(job, "done", f"{effect_in_words(one, end_s - one.at_s, findings)} {more}")

    def _why(self, job: Job, folder: Path, scenario: Scenario, delivery: Delivery, now_s: float) -> None:
        """Explain a delivery by repeating the run. If possible, end the repeated run at the current time."""
        changes = [_ending(scenario, now_s), "warmup_s=0", "interventions=[]", "record.causes=true"]
        before = [plain(one) for one in scenario.interventions if one.at_s < now_s]
        write_scenario(folder, with_list(scenario.with_changes(changes), before))
        again, answer = folder / "again", folder / "why.json"
        if not self._command(job, "run", str(folder / "scenario.yaml"), "--out", str(again), fine=JUDGED):
            return
        options = ("--message", delivery.message, "--at", delivery.host, "--json")
        if not self._command(job, "why", str(again), *options, fine=(0,), output=answer):
            return
        story = json.loads(answer.read_text(encoding="utf-8"))
        if story["delay_ns"] != delivery.delay_ns:
            self._end(
                job,
                "failed",
                "the repeated run delivered the message at a different time than the live run; please report this",
            )
            return
        stretches = [
            [one["from_ns"] / 1e6, one["length_ns"] / 1e6, one["kind"], one["sentence"], one["held_by"] is not None]
            for one in story["stretches"]
        ]
        job.result = {"delay_ns": story["delay_ns"], "stretches": stretches}
        longest = max(stretches, key=lambda one: one[1], default=None)
        most = "" if longest is None else f"; the longest part, {longest[1] / 1000:.3g} s: {longest[3]}"
        self._end(job, "done", f"{job.about}: {delivery.delay_ns / SECOND:.4g} s after its broadcast{most}")

    def _command(self, job: Job, *arguments: str, fine: tuple[int, ...], output: Path | None = None) -> bool:
        """Run a mobilenet command, and return whether it succeeded. On failure, put the reason into the job's text.
        `output` is a file for the command's output.
        """
        if self._is_closing or job.is_cancelled:
            return False
        allow = ["--allow-code"] if self._allow_code else []
        with open(os.devnull if output is None else output, "w", encoding="utf-8") as printed:
            process = subprocess.Popen(
                safe_path.python("-m", "mobilenet", *arguments, *allow),
                stdin=subprocess.DEVNULL, stdout=printed, stderr=subprocess.PIPE, text=True, errors="replace",
                process_group=0, env={**os.environ, "NO_COLOR": "1"},
            )  # fmt: skip
        os.setpriority(os.PRIO_PGRP, process.pid, os.getpriority(os.PRIO_PROCESS, 0) + BEHIND)
        self._processes[job.number] = process
        if self._is_closing or job.is_cancelled:  # the job may have been cancelled before its process was registered
            process.terminate()
        last = ""
        with process:
            for line in process.stderr or ():
                if line.strip():
                    last = cut(line.strip(), 200)
                    self._say(job, last)
        code = process.returncode
        del self._processes[job.number]
        if code not in fine:
            self._end(job, "failed", "cancelled" if job.is_cancelled else last or f"it ended with {code}")
        return code in fine

    # --- what jobs share

    def _free(self, path: Path) -> Path:
        """Return a path that neither exists nor is reserved by another job."""
        candidate, number = path, 2
        while candidate.exists() or is_being_written(candidate) or candidate in self._taken:
            candidate, number = path.with_name(f"{path.name}-{number}"), number + 1
        self._taken.add(candidate)
        return candidate

    def _new(self, kind: str, about: str) -> Job:
        if sum(job.state == "running" for job in self.jobs) >= MOST_AT_A_TIME:
            raise ScenarioError(f"{MOST_AT_A_TIME} jobs are in progress; wait until one of them ends")
        job = Job(len(self.jobs), kind, about)
        self.jobs.append(job)
        return job

    def _start(self, job: Job, work: Callable[[Path], None], out: Path | None) -> None:
        """Start a job. `out` is the directory that it creates, if any. An incomplete study is removed."""

        def run() -> None:
            try:
                with scratch_folder("live") as folder:
                    work(folder)
            except (OSError, RunError, ScenarioError, ValueError, KeyError) as error:
                self._end(job, "failed", first_line(error))
            finally:
                if job.state == "running":
                    self._end(job, "failed", "cancelled" if job.is_cancelled else "stopped")
                if out is not None:
                    if job.kind == "effect" and job.state != "done":
                        shutil.rmtree(out, ignore_errors=True)
                    self._taken.discard(out)

        self._threads.append(threading.Thread(target=run, daemon=True))
        self._threads[-1].start()

    def _say(self, job: Job, text: str) -> None:
        job.text = text
        if not self._is_closing:
            self._on_change()

    def _end(self, job: Job, state: str, text: str) -> None:
        job.state = state
        self._say(job, text)


def host_with_other_number(interventions: list[AnyIntervention], addition: Add, hosts: int) -> str | None:
    """Return the first host in the interventions that, without `addition`, would not exist or would have another
    number. `hosts` is the initial number of hosts.
    """
    first = hosts + next(i for i, one in enumerate(added_hosts(interventions)) if one is addition)
    touched = (one.host for one in interventions if isinstance(one, OnHost))
    return next((host for host in touched if host_number(host) >= first), None)


def _ending(scenario: Scenario, end_s: float) -> str:
    """Return the setting that ends a run at this time. Runs with tracks keep their duration, because it determines
    their hosts.
    """
    can_end = not isinstance(scenario.hosts.mobility, Tracks)
    return f"duration_s={min(scenario.duration_s, end_s) if can_end else scenario.duration_s!r}"

"""Judge a run of processes on an abstract network: all verdicts.

Checks    record        the record can be what it claims to be: as for other runs, and only p0..p(n-1) do something; and
                        they do what the scenario plans: see events.py, completions.py, buffers.py
          creation      what is delivered was broadcast before, by the process that its id names, once
          duplication   no process delivers a message twice
          membership    no process does anything after it has crashed
          order         fifo: of each source in the order of its broadcasts; causal: nothing before what its source had
                        delivered or broadcast before; where the run promises it
          validity      a correct process delivers what it broadcasts
          agreement     every correct process delivers what a correct process broadcast, and (where the run promises
                        it) everything that some correct process delivers; unknown where more processes crash than the
                        protocol declares it survives
          completion    a source that learns that its broadcast is complete learns it once, and only when all
                        correct processes have delivered it; where the detector is perfect. At rest a correct
                        source has learned it of all its broadcasts, if its protocol reports completion
          conservation  every message is accounted for: see counters.py
          drained       at rest all buffers of correct processes are empty; and the run comes to rest. Where messages
                        may be held for ever: all correct processes hold equally many, and not more than there are
                        messages of crashed processes that no correct process delivers and whose past holds another
                        one that no correct process delivers
          Where a program reported that it acts on its own clock, what is missing at rest (validity, agreement,
          drained) is unknown
Model     events are judged one by one (properties.py), unless they plainly pass (screened.py)
Source    Hadzilacos, Toueg (1994), for the properties; ours: docs/verdicts-and-metrics.md, docs/protocols/vcube.md
"""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from mobilenet.clock import SECOND
from mobilenet.expected.expectations import ProcessPlan
from mobilenet.quoting import pluralize, there_are
from mobilenet.rundir.table import Columns, Table
from mobilenet.verify.basis.evidence import Evidence
from mobilenet.verify.basis.sampled import last_of
from mobilenet.verify.basis.verdict import NOT_QUIESCENT, NOTHING_DELIVERED, VALID, Verdict, early_end, early_verdicts
from mobilenet.verify.basis.waiting import first_few, reported_unrest
from mobilenet.verify.basis.wellformed import events_problem, rows_problem
from mobilenet.verify.processes.buffers import process_buffers_problem
from mobilenet.verify.processes.completions import completions_problem, missing_completion
from mobilenet.verify.processes.counters import counters_problem
from mobilenet.verify.processes.events import process_events_problem
from mobilenet.verify.processes.properties import ProcessJudge
from mobilenet.verify.processes.receptions import last_reception_problem
from mobilenet.verify.processes.screened import judge_events

SAFETY = ("creation", "duplication", "membership", "order", "completion")
CHECKS = ("record", *SAFETY, "validity", "agreement", "conservation", "drained")


def verify_processes(run: Evidence) -> dict[str, Verdict]:
    """A verdict for each of CHECKS; without a plan only the record is judged."""
    events, samples, positions, manifest, plan = (
        run.events,
        run.samples,
        run.positions,
        run.manifest,
        run.plan,
    )
    error = early_end(manifest)
    damage = (
        events_problem(events, manifest)
        or rows_problem(events, samples, positions, run.counters)
        or _processes_problem(events, manifest)
        or (f"positions: {len(positions['node'])} rows, but processes have no positions" if positions["node"] else None)
        or (None if error is not None else _samples_problem(events, samples, manifest))
    )
    if damage is not None:
        unreadable = Verdict("unknown", "the record is damaged")
        return dict.fromkeys(CHECKS, unreadable) | {"record": Verdict("violated", damage)}
    judge = judge_events(events, manifest)
    if error is not None:
        violations = {check: what for check, what in judge.violations.items() if check != "completion"}
        return early_verdicts(error, manifest, CHECKS, violations, None)
    idle, quiescent = not judge.has_delivered, manifest["quiescent"]
    contradiction = None if plan is None else _record_problem(events, samples, manifest, plan)
    if plan is not None and (untold := missing_completion(events, manifest, plan)) is not None:
        judge.violations.setdefault("completion", untold)
    verdicts = {"record": VALID if contradiction is None else Verdict("violated", contradiction)}
    for check in SAFETY:
        what = judge.violations.get(check)
        verdicts[check] = Verdict("violated", what) if what else NOTHING_DELIVERED if idle else VALID
    for check, problem in (("validity", judge.validity_problem()), ("agreement", judge.agreement_problem())):
        if not quiescent:
            verdicts[check] = NOT_QUIESCENT
        elif problem:
            verdicts[check] = _excuse(Verdict("violated", problem), manifest, _lost_messages(run))
        else:
            verdicts[check] = NOTHING_DELIVERED if idle else VALID
    below = manifest["promises"]["below_crashes"]
    if below is not None and manifest["crashes"] >= below:
        verdicts["agreement"] = Verdict(
            "unknown", f"{pluralize(manifest['crashes'], 'crash')}: nothing is promised for {below} or more"
        )
    lost = counters_problem(run.counters, events, manifest, plan)
    if plan is not None and lost is None:
        lost = last_reception_problem(run.counters["messages"], events, samples, manifest, plan)
    verdicts["conservation"] = Verdict("violated", lost) if lost else VALID
    if plan is not None and lost is None and contradiction is None:
        unlike = _end_problem(events, run.counters, manifest, plan)
        verdicts["record"] = VALID if unlike is None else Verdict("violated", unlike)
    verdicts["drained"] = _excuse(_drained_verdict(samples, judge, manifest), manifest, _lost_messages(run))
    return verdicts


def _record_problem(events: Table, samples: Table, manifest: dict[str, Any], plan: ProcessPlan) -> str | None:
    return (
        _own_clock_problem(events, manifest)
        or process_events_problem(events, manifest, plan)
        or completions_problem(events, manifest, plan)
        or process_buffers_problem(events, samples, plan, round(manifest["simulated_s"] * SECOND))
    )


def _own_clock_problem(events: Table, manifest: dict[str, Any]) -> str | None:
    """Programs are asked for their own clock at rest, where a process that is up lacks what one of them has."""
    if not manifest.get("own_clock"):
        return None
    kinds = events.column("event")
    down = {*events.pick("node", kinds.rows("crash"))}
    has: dict[str, set[str]] = {f"p{i}": set() for i in range(manifest["processes"]) if f"p{i}" not in down}
    delivered, rows = kinds.rows("deliver"), kinds.rows("deliver", "broadcast")
    for node, message in zip(events.pick("node", delivered), events.pick("message", delivered), strict=True):
        if node in has:
            has[node].add(message)
    due = {
        message
        for node, message in zip(events.pick("node", rows), events.pick("message", rows), strict=True)
        if node in has
    }
    if manifest["quiescent"] and not all(due <= there for there in has.values()):
        return None
    return "manifest: own_clock is present, although no delivery is missing at rest"


def _end_problem(events: Table, counters: dict[str, Any], manifest: dict[str, Any], plan: ProcessPlan) -> str | None:
    """A run is looked at once per time unit, and ends when it is at rest; else at the end of its duration."""
    end_ns, last_ns = (round(manifest[name] * 1e9) for name in ("simulated_s", "duration_s"))
    if not manifest["quiescent"]:
        return (
            None
            if end_ns == last_ns
            else f"manifest: not at rest, but the run ended at {end_ns / 1e9:g} t.u., expected {last_ns / 1e9:g} t.u."
        )
    messages = counters["messages"]
    if plan.broadcasting is None or messages["never_left"] or messages["receiver_down"]:
        return None
    suspicions = events.pick("time_ns", events.column("event").rows("suspect", "trust"))
    arrived_ns = messages["last_reception_ns"] + plan.hand_over_ns if messages["received"] else 0
    rest_ns = max((1, plan.last_ns, arrived_ns, *suspicions))
    due_ns = min(last_ns, -(-rest_ns // SECOND) * SECOND)
    if end_ns == due_ns:
        return None
    return f"manifest: {end_ns / 1e9:g} t.u. simulated, but the run was at rest at {due_ns / 1e9:g} t.u."


def _lost_messages(run: Evidence) -> int:
    """How many messages the network has lost."""
    messages = run.counters.get("messages")
    lost = messages.get("lost", 0) if isinstance(messages, dict) and run.plan is not None and run.plan.loses else 0
    return lost if type(lost) is int else 0


def _excuse(verdict: Verdict, manifest: dict[str, Any], lost: int) -> Verdict:
    """What is missing at rest is unknown where the network has lost messages, and where a program acts by its own
    clock: it might still have come.
    """
    if verdict.answer == "violated" and lost > 0:
        why = f"the network lost {pluralize(lost, 'message')}, so what would have arrived without losses is unknown"
        return Verdict("unknown", f"{verdict.explanation}; but {why}")
    clocked = manifest.get("own_clock")
    if verdict.answer != "violated" or not clocked:
        return verdict
    why = (
        f"{clocked[0]}'s program acts on its own clock, so this cannot be judged in virtual time: what it would have"
        " sent later is unknown"
    )
    return Verdict("unknown", f"{verdict.explanation}; but {why}")


def _processes_problem(events: Columns, manifest: dict[str, Any]) -> str | None:
    table = Table.of(events)
    known = {f"p{i}" for i in range(manifest["processes"])}
    strangers = np.flatnonzero(~table.column("node").among(known))
    first = int(strangers[0]) if len(strangers) else table.rows
    completions = table.column("event").rows("complete")
    for row in completions[completions < first].tolist():
        message, detail = events["message"][row], events["detail"][row]
        at_ns = json.loads(detail or "{}").get("at_ns")
        if message is None or type(at_ns) is not int or not 0 <= at_ns <= events["time_ns"][row]:
            has = f"message {message!r} and detail {detail!r}"
            return f"events: event {row} (complete) has {has}, expected a message, and an at_ns up to the event's time"
    if first < table.rows:
        node = events["node"][first]
        there = there_are(manifest["processes"], "process", "p")
        return f"events: event {first} has node {node!r}, but {there}"
    crashed = len(table.column("event").rows("crash"))
    if crashed > manifest["crashes"] or manifest["quiescent"] and crashed != manifest["crashes"]:
        return f"events: {pluralize(crashed, 'crash')}, but the scenario has {manifest['crashes']}"
    return None


def _samples_problem(events: Columns, samples: Columns, manifest: dict[str, Any]) -> str | None:
    end_ns = round(manifest["simulated_s"] * 1e9)
    problem, last = last_of(samples, end_ns, _examine_samples)
    if problem is not None:
        return problem
    table = Table.of(events)
    crashed = set(table.pick("node", table.column("event").rows("crash")))
    named = manifest.get("buffers")  # a plug-in's, which may have none
    quantities = sorted({quantity for _, quantity in last}) or ["a buffer"] if named is None else sorted(named)
    for i in range(manifest["processes"]):
        for quantity in quantities:
            if f"p{i}" not in crashed and last.get((f"p{i}", quantity)) != end_ns:
                return f"samples: no sample of {quantity} at p{i} at the end of the run"
    return None


def _examine_samples(samples: Columns, end_ns: int) -> tuple[str | None, dict[tuple[str, str], int]]:
    """Row by row: the first sample that cannot be; and until there, when each quantity was last sampled."""
    last: dict[tuple[str, str], int] = {}
    for row, (time, node, quantity, value) in enumerate(
        zip(samples["time_ns"], samples["node"], samples["quantity"], samples["value"], strict=True)
    ):
        if value is None or not math.isfinite(value) or value < 0:
            return f"samples: row {row} has value {value!r}, expected a number ≥ 0", last
        if time is None or not last.get((node, quantity), 0) <= time <= end_ns:
            text = f"samples: row {row} ({quantity} at {node}) has time {time}, out of order or outside the run"
            return text, last
        last[node, quantity] = time
    return None, last


def _drained_verdict(samples: Columns, judge: ProcessJudge, manifest: dict[str, Any]) -> Verdict:
    last: dict[tuple[str, str], float] = {}
    for node, quantity, value in zip(samples["node"], samples["quantity"], samples["value"], strict=True):
        if node not in judge.crashed:
            last[node, quantity] = value
    may_hold = manifest["promises"].get("may_hold")
    left = [
        f"{node} still holds {value:g} in {quantity}"
        for (node, quantity), value in last.items()
        if value and quantity != may_hold
    ]
    held: dict[float, str] = {}
    for (node, quantity), value in last.items():
        if quantity == may_hold:
            held.setdefault(value, node)
    if manifest["quiescent"]:
        if not left and held:
            left = _held_problems(held, judge.permanent_losses())
        return Verdict("violated", f"{left[0]} at rest") if left else VALID
    within_s = manifest["promises"]["rest_within_s"]
    if within_s is None or manifest["simulated_s"] < within_s:
        return Verdict("unknown", f"not at rest at the end: {first_few(left or reported_unrest(manifest))}")
    first = left[0] if left else "messages were still in transit"
    return Verdict("violated", f"not at rest after {within_s:g} t.u.: {first}")


def _held_problems(held: dict[float, str], most: int) -> list[str]:
    """What correct processes hold for ever: as many messages everywhere, none that could be delivered."""
    problems = [
        f"{node} holds {pluralize(int(value), 'message')}, {most} of which wait for messages that no"
        " correct process has"
        for value, node in held.items()
        if value > most
    ]
    if len(held) > 1:
        (some, one), (others, other), *_ = held.items()
        problems.append(f"{one} holds {pluralize(int(some), 'message')}, but {other} holds {others:g}")
    return problems

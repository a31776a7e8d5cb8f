"""The properties and checks of runs of plain processes.

Source    Hadzilacos, Toueg (1994), for the properties; ours: docs/verdicts-and-metrics.md, docs/protocols/vcube.md
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from mobilenet.quoting import pluralize
from mobilenet.verify import program_lines
from mobilenet.verify.carriers import CARRIED
from mobilenet.verify.check import Check
from mobilenet.verify.evidence import Evidence
from mobilenet.verify.verdict import NOT_QUIESCENT, NOTHING_DELIVERED, Verdict
from mobilenet.verify.waits import first_few, reported_unrest

PROPERTIES = (
    "record", "creation", "duplication", "membership", "order", "completion", "validity", "agreement", "drained",
)  # fmt: skip


def properties_of(_: dict[str, Any]) -> tuple[str, ...]:
    """Return the properties of a run of processes."""
    return PROPERTIES


def _of_broadcasts(name: str) -> Callable[[Evidence], Verdict | str | None]:
    """Return a function that returns the broadcast judge's finding about this property."""

    def answer(run: Evidence) -> Verdict | str | None:
        judge = run.among_processes
        return judge.violations.get(name) or (None if judge.has_delivered else NOTHING_DELIVERED)

    return answer


def _completion(run: Evidence) -> Verdict | str | None:
    problem = run.among_processes.violations.get("completion") if run.ended_by_error is None else None
    return problem or (None if run.among_processes.has_delivered else NOTHING_DELIVERED)


def _missing_completion(run: Evidence) -> str | None:
    """Return a broadcast of a correct source that is not complete although the run is at rest, or None."""
    if run.plan is None or not run.plan.completes or not run.quiescent:
        return None
    events, event = run.events, run.events.column("event")
    complete, sent = set(events.pick("message", event.rows("complete"))), event.rows("broadcast")
    for node, message in zip(events.pick("node", sent), events.pick("message", sent), strict=True):
        if node not in run.among_processes.crashed and message not in complete:
            return f"{node} broadcasts {message}, but never learns that it is complete"
    return None


def _validity(run: Evidence) -> Verdict | str | None:
    return _at_rest(run, run.among_processes.validity_problem)


def _agreement(run: Evidence) -> Verdict | str | None:
    below, crashes = run.promises["below_crashes"], run.manifest["crashes"]
    if below is not None and crashes >= below:
        return Verdict("unknown", f"{pluralize(crashes, 'crash')}: nothing is promised for {below} or more")
    return _at_rest(run, run.among_processes.agreement_problem)


def _at_rest(run: Evidence, problem: Callable[[], str | None]) -> Verdict | str | None:
    if not run.quiescent:
        return NOT_QUIESCENT
    what = problem()
    if what is not None:
        return _excuse(run, what)
    return None if run.among_processes.has_delivered else NOTHING_DELIVERED


def _excuse(run: Evidence, problem: str) -> Verdict | str:
    """Return an unknown verdict for a missing delivery if the network lost messages, or if a program uses its own
    clock, because the message might still have arrived.
    """
    lost = run.counters["messages"].get("lost", 0)
    clocked = run.manifest.get("own_clock")
    if lost:
        why = f"the network lost {pluralize(lost, 'message')}, so what would have arrived without losses is unknown"
    elif clocked:
        why = (
            f"{clocked[0]}'s program acts on its own clock, so this cannot be judged in virtual time: what it would"
            " have sent later is unknown"
        )
    else:
        return problem
    return Verdict("unknown", f"{problem}; but {why}")


def _rest(run: Evidence) -> Verdict | str | None:
    """Explain why the run is not at rest, or what is left in buffers at rest. If messages may be held for ever, see
    `_held_problems` and `permanent_losses` for what correct processes may hold.
    """
    judge, may_hold, within_s = run.among_processes, run.promises.get("may_hold"), run.promises["rest_within_s"]
    last = {key: size for key, size in run.last_sizes.items() if key[0] not in judge.crashed}
    left = [
        f"{node} still holds {size:g} in {name}" for (node, name), size in last.items() if size and name != may_hold
    ]
    if run.quiescent:
        held: dict[float, str] = {}
        for (node, name), size in last.items():
            if name == may_hold:
                held.setdefault(size, node)
        left += _held_problems(held, judge.permanent_losses()) if held else ()
        problem = next(iter(left), None)
        return None if problem is None else _excuse(run, f"{problem} at rest")
    if within_s is None or run.manifest["simulated_s"] < within_s:
        return Verdict("unknown", f"not at rest at the end: {first_few(reported_unrest(run.manifest) or left)}")
    first = left[0] if left else "messages were still in transit"
    return _excuse(run, f"not at rest after {within_s:g} t.u.: {first}")


def _held_problems(held: dict[float, str], most: int) -> Iterator[str]:
    """Yield what is wrong with the messages that correct processes hold for ever. All processes must hold the same
    number of messages, and none of these may be deliverable.
    """
    for size, node in held.items():
        if size > most:
            yield (
                f"{node} holds {pluralize(int(size), 'message')}, {most} of which wait for messages that no correct"
                " process has"
            )
    if len(held) > 1:
        (some, one), (others, other), *_ = held.items()
        yield f"{one} holds {pluralize(int(some), 'message')}, but {other} holds {others:g}"


CHECKS = (
    program_lines.CHECK,
    Check(
        "creation", "Each delivered message was broadcast before, once, by the process that its id names.",
        _of_broadcasts("creation"),
    ),
    Check("creation", *CARRIED, waits=True),
    Check("duplication", "No process delivers a message twice.", _of_broadcasts("duplication")),
    Check("membership", "No process does anything after it has crashed.", _of_broadcasts("membership")),
    Check("order", "Deliveries are in FIFO or causal order, as promised.", _of_broadcasts("order")),
    Check(
        "completion",
        "A source learns once that its broadcast is complete; if the detector is perfect, only when all correct"
        " processes have it.",
        _completion,
    ),
    Check(
        "completion",
        "At rest a correct source has learned that each of its broadcasts is complete, if the protocol reports that.",
        _missing_completion, waits=True,
    ),
    Check("validity", "A correct process delivers its own broadcasts.", _validity, waits=True),
    Check(
        "agreement",
        "Every correct process delivers the broadcasts of correct processes and, where promised, everything that any"
        " correct process delivers. Unknown if more processes crash than the protocol survives, or if the network has"
        " lost messages.",
        _agreement, waits=True,
    ),
    Check(
        "drained", "At rest the buffers of correct processes are empty.", _rest, tables=("events", "samples"),
        waits=True,
    ),
)  # fmt: skip

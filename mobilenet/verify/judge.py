"""Judge one run directory: all verdicts.

Checks    record        the record can be what it claims to be (basis/wellformed.py), or else nothing else is judged. It
                        contradicts neither itself nor the scenario (record/judge.py, lines/judge.py, air/judge.py)
          creation .. delivery: broadcasts/judge.py; fifo_order: broadcasts/fifo.py. Membership includes that hosts do
                        what they are asked to, and what their protocol declares (asked.py, conduct.py there). Creation
                        is unknown where the network cannot have carried what a program delivers (carried.py there)
          conservation  every frame and every pair (frame, receiver in range) is accounted for (record/conservation.py),
                        and every datagram that a program received was sent (record/datagrams.py)
          drained       after quiescence every buffer is empty, a plug-in's as well, and no member is in a handoff
          all of a run of processes: processes/judge.py
Model     what only holds after quiescence is unknown in a run that ended before. A run that promises to be at rest
          within some time after its active part (expected/rest.py; an adversary's, which then lets everything through)
          and is not, violates `drained`, and its deliveries are judged. What is unknown has a reason
Errors    RunError when the directory cannot be read at all
Source    ours: docs/verdicts-and-metrics.md
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from mobilenet.expected.expectations import Expectations, ProcessPlan
from mobilenet.packets.passed import Captures
from mobilenet.rundir.kinds import PROCESSES, run_kind
from mobilenet.rundir.pcap import read_captures
from mobilenet.rundir.reader import RunError, read_coded, read_json, read_manifest, require_files, require_tables
from mobilenet.rundir.schema import BUFFERS, buffers_of
from mobilenet.rundir.table import Columns, Table
from mobilenet.verify.air.judge import TABLES as ON_AIR
from mobilenet.verify.air.judge import air_problem
from mobilenet.verify.basis.evidence import Evidence
from mobilenet.verify.basis.forms import number_problem, require_readable
from mobilenet.verify.basis.sessions import unfinished_handoffs
from mobilenet.verify.basis.verdict import (
    NOT_QUIESCENT,
    NOTHING_DELIVERED,
    VALID,
    Answer,
    Verdict,
    early_end,
    early_verdicts,
)
from mobilenet.verify.basis.waiting import nonempty_buffers, waiting
from mobilenet.verify.basis.wellformed import events_problem, record_problem, require_manifest, rows_problem
from mobilenet.verify.broadcasts.asked import asked_problem
from mobilenet.verify.broadcasts.carried import uncarried_problem
from mobilenet.verify.broadcasts.conduct import conduct_problem
from mobilenet.verify.broadcasts.excused import excuse_problem
from mobilenet.verify.broadcasts.fifo import fifo_problem
from mobilenet.verify.broadcasts.judge import SAFETY, BroadcastJudge
from mobilenet.verify.broadcasts.reach import Reach
from mobilenet.verify.broadcasts.screened import judge_events
from mobilenet.verify.broadcasts.silent import silent_problem
from mobilenet.verify.declared import require_scenario
from mobilenet.verify.ended_early import record_so_far_problem, sums_so_far_problem
from mobilenet.verify.lines.judge import lines_problem
from mobilenet.verify.packets.judge import packets_problem
from mobilenet.verify.processes.judge import verify_processes
from mobilenet.verify.record.conservation import conservation_problem
from mobilenet.verify.record.datagrams import datagram_problem
from mobilenet.verify.record.judge import record_contradiction
from mobilenet.verify.record.needed import needed_problem

__all__ = ["CHECKS", "Answer", "Verdict", "overall", "verify", "verify_run"]

BEST_EFFORT = ("creation", "duplication", "membership")
ORDER = {"causal": ("causal_order",), "fifo": ("fifo_order",), "best_effort": ()}
SAYS_NOTHING = " does not promise to come to rest"  # as manifests have it
OWN_KINDS = {"own": "a plug-in", "program": "a program", "datagrams": "a program", "ip": "a program"}
TABLES = ("events", "samples", "positions")
CHECKS = ("record", *SAFETY, "delivery", "conservation", "drained")


def overall(verdicts: dict[str, Verdict]) -> Answer:
    """Violated if anything is; unknown if the rest is not all known."""
    answers = {verdict.answer for verdict in verdicts.values()}
    return "violated" if "violated" in answers else "unknown" if "unknown" in answers else "valid"


def verify_run(directory: Path, tables: dict[str, Table] | None = None) -> dict[str, Verdict]:
    """Judge a run directory. Raises RunError when it is not a whole run directory. `tables` is given what was read, for
    later use.
    """
    manifest = read_manifest(directory)
    require_manifest(manifest)
    expected = require_scenario(directory, manifest)
    counters = read_json(directory, "counters.json")
    if (untold := number_problem("counters", counters)) is not None:
        raise RunError(f"{directory / 'counters.json'}: {untold}")
    require_tables(directory, counters)
    tables = {} if tables is None else tables
    tables |= {name: read_coded(directory, name) for name in TABLES}
    require_files(directory, manifest)
    counted = counters["rows"] if isinstance(counters.get("rows"), dict) else {}
    tables |= {name: read_coded(directory, name) for name in (*ON_AIR, "lines") if name in counted}
    require_readable(directory, tables)
    captures = read_captures(directory)
    if manifest.get("protocol") == "ip" and captures is None:
        captures = {}
    events, samples, positions = (tables[name] for name in TABLES)
    return verify(events, samples, positions, counters, manifest, expected, tables, captures)


def verify(
    events: Columns,
    samples: Columns,
    positions: Columns,
    counters: dict[str, Any],
    manifest: dict[str, Any],
    expected: Expectations | ProcessPlan | None = None,
    tables: Mapping[str, Columns] | None = None,
    captures: Captures | None = None,
) -> dict[str, Verdict]:
    """Judge the columns of a run: a verdict for each of CHECKS, those on broadcast only where the run promises one.

    `expected`: what follows from its scenario; without it only the record is judged. `tables`: frames, links,
    messages and lines, where they are recorded; None: they are not checked. So it is with `captures`, the packets of
    real software.
    """
    require_manifest(manifest)
    plan, expected = (expected, None) if isinstance(expected, ProcessPlan) else (None, expected)
    others = None if tables is None else {name: Table.of(columns) for name, columns in tables.items()}
    columns = (Table.of(events), Table.of(samples), Table.of(positions))
    run = Evidence(*columns, counters, manifest, expected, plan, others, captures)
    if run_kind(manifest) is PROCESSES:
        verdicts = verify_processes(run)
        problem = _lines_problem(run)
        if verdicts["record"].answer == "valid" and problem is not None:
            verdicts["record"] = Verdict("violated", problem)
        return _apply_doubt(verdicts, run)
    if (error := early_end(manifest)) is not None:
        return _verdicts_on_early_end(error, run)
    if (damage := record_problem(run)) is not None:
        unreadable = Verdict("unknown", "the record is damaged")
        return dict.fromkeys(CHECKS, unreadable) | {"record": Verdict("violated", damage)}
    return _apply_doubt(_verdicts(run), run)


def _apply_doubt(verdicts: dict[str, Verdict], run: Evidence) -> dict[str, Verdict]:
    """Make `creation` unknown where programs deliver what this network cannot have carried."""
    if (
        verdicts["record"] == VALID
        and verdicts.get("creation") == VALID
        and (why := uncarried_problem(run)) is not None
    ):
        verdicts["creation"] = Verdict("unknown", why)
    return verdicts


def _verdicts(run: Evidence) -> dict[str, Verdict]:
    """The verdicts on a whole run of hosts."""
    events, counters, promises, quiescent = run.events, run.counters, run.promises, run.quiescent
    restless = not quiescent and _had_time_to_rest(run.manifest)
    contradiction = record_contradiction(run) or _lines_problem(run)
    lost = (
        conservation_problem(counters, run.samples, quiescent, promises["duplicating_air"], run.expected)
        or datagram_problem(events, counters, run.expected)
        or (None if run.captures is None else packets_problem(events, run.captures, run.manifest))
        or needed_problem(events, run.samples, counters, quiescent, run.expected)
    )
    on_air = air_problem(run) if contradiction is None and lost is None else None
    check, what = on_air or (None, None)
    if check == "conservation":
        lost = what
    elif check not in judged_checks(promises):
        contradiction = contradiction or what
    elif check == "record":
        contradiction = what
    verdicts = {"record": VALID if contradiction is None else Verdict("violated", contradiction)}
    if promises["broadcast"] is not None:
        judge = _judge_of_broadcasts(run, restless)
        if check == "gaps" and what is not None:
            judge.violations.setdefault("gaps", what)
        of_broadcasts = _broadcast_verdicts(judge, quiescent or restless)
        if promises["broadcast"] == "fifo":
            of_broadcasts["fifo_order"] = _fifo_order(events, promises, judge.deliveries == 0)
        verdicts |= {check: of_broadcasts[check] for check in judged_checks(promises) if check in of_broadcasts}
    of_programs = run.manifest.get("real_time") is not None and promises["broadcast"] is None
    idle = of_programs and "datagram" not in Table.of(events).column("event").words
    sound = Verdict("unknown", "no program sent a datagram") if idle else VALID
    verdicts["conservation"] = sound if lost is None else Verdict("violated", lost)
    verdicts["drained"] = _drained_verdict(run, restless)
    return verdicts


def _judge_of_broadcasts(run: Evidence, restless: bool) -> BroadcastJudge:
    """The judge of the broadcasts of a run, done, and the excuses for what is missing."""
    events, expected, conduct = run.events, run.expected, run.conduct
    judge = _judge(run, is_over=run.quiescent or restless)
    if misconduct := asked_problem(events, expected, run.quiescent) or conduct_problem(events, conduct):
        judge.violations.setdefault("membership", misconduct)
    in_the_air_ns = None if expected is None or expected.hosts is None else expected.in_the_air_ns
    for problem in (
        excuse_problem(events, conduct),
        silent_problem(events, conduct, run.promises["gap_after_s"], run.end_ns, in_the_air_ns),
    ):
        if problem is not None:
            judge.violations.setdefault("gaps", problem)
    return judge


def _drained_verdict(run: Evidence, restless: bool) -> Verdict:
    """Whether the run came to rest, and nothing was left then; `restless`: it should have been at rest."""
    events, manifest, promises = run.events, run.manifest, run.promises
    sizes = _last_sizes(run.samples, manifest)
    if not manifest["quiescent"]:
        after_s = manifest["simulated_s"] - manifest["duration_s"]
        what = f"not at rest {after_s:g} s after the active part: {waiting(events, sizes, manifest)}"
        if restless:
            return Verdict("violated", f"{what} (promised within {promises['rest_within_s']:.4g} s)")
        return Verdict("unknown", f"{what} ({_why_not_promised(promises)})")
    if left := nonempty_buffers(sizes):
        return Verdict("violated", f"{left[0]} after quiescence")
    if unfinished := unfinished_handoffs(events):
        return Verdict("violated", f"{unfinished[0]} is in a handoff after quiescence")
    if promises["broadcast"] is not None and (unknown := _unsampled_node(events, sizes, buffers_of(manifest))):
        return Verdict("unknown", f"the buffers of {unknown} were never sampled")
    return VALID


def _verdicts_on_early_end(error: str, run: Evidence) -> dict[str, Verdict]:
    events, manifest, promises = run.events, run.manifest, run.promises
    judged = judged_checks(promises)
    damage = events_problem(events, manifest) or rows_problem(events, run.samples, run.positions, run.counters)
    violations: dict[str, str] = {}
    if damage is None:
        problem, sums = record_so_far_problem(run), sums_so_far_problem(error, run)
        if problem is not None:
            violations["record"] = problem
        elif sums is not None:
            violations[sums[0] if sums[0] in judged else "record"] = sums[1]
    if damage is None and promises["broadcast"] is not None:
        judge = _judge(run, is_over=False)
        if misconduct := asked_problem(events, run.expected) or conduct_problem(events, run.conduct):
            judge.violations.setdefault("membership", misconduct)
        violations |= judge.violations
        if promises["broadcast"] == "fifo" and (problem := fifo_problem(events, delivers_to_all(promises))) is not None:
            violations["fifo_order"] = problem
    return early_verdicts(error, manifest, judged, violations, damage)


def _lines_problem(run: Evidence) -> str | None:
    if run.tables is None or "lines" not in run.tables:
        return None
    return lines_problem(
        run.tables["lines"], run.events, run.samples, run.counters, run.manifest, run.expected or run.plan
    )


def _judge(run: Evidence, is_over: bool) -> BroadcastJudge:
    """The judge of what is promised, done; `is_over`: nothing is in transit any more, so what is owed is due."""
    promises, expected = run.promises, run.expected
    checks = {check for check in judged_checks(promises) if check in SAFETY or check == "delivery" and is_over}
    reach = None if expected is None or expected.hosts is None else Reach(run.positions, expected)
    gap_after_s, heard_every_s = promises["gap_after_s"], promises["heard_every_s"]
    return judge_events(run.events, gap_after_s, heard_every_s, run.conduct, frozenset(checks), reach)


def judged_checks(promises: dict[str, Any]) -> tuple[str, ...]:
    """What is asked of a run that promises this, in the order of CHECKS."""
    broadcast = promises["broadcast"]
    if broadcast is None:
        return ("record", "conservation", "drained")
    order = ORDER.get(broadcast, ORDER["causal"])
    owed = ("gaps", "delivery") if delivers_to_all(promises) else ()
    return ("record", *BEST_EFFORT, *order, *owed, "conservation", "drained")


def delivers_to_all(promises: dict[str, Any]) -> bool:
    """Whether every member is owed every message."""
    return bool(promises.get("delivers_to_all", promises["broadcast"] not in ("fifo", "best_effort")))


def _fifo_order(events: Columns, promises: dict[str, Any], is_idle: bool) -> Verdict:
    if (problem := fifo_problem(events, delivers_to_all(promises))) is not None:
        return Verdict("violated", problem)
    return NOTHING_DELIVERED if is_idle else VALID


def _had_time_to_rest(manifest: dict[str, Any]) -> bool:
    within_s = manifest["promises"]["rest_within_s"]
    return within_s is not None and manifest["simulated_s"] - manifest["duration_s"] >= within_s


def _why_not_promised(promises: dict[str, Any]) -> str:
    if promises["rest_within_s"] is not None:
        return f"promised only after {promises['rest_within_s']:.4g} s; a longer drain_s would settle this"
    because = promises.get("no_rest_because") or "the record gives no reason"
    if because.endswith(SAYS_NOTHING):
        whose = OWN_KINDS.get(because.removesuffix(SAYS_NOTHING), "this protocol")
        return f"no violation, since {whose} has no deadline for coming to rest; a longer drain_s may settle this"
    return f"not promised: {because}"


def _broadcast_verdicts(judge: BroadcastJudge, is_over: bool) -> dict[str, Verdict]:
    idle = judge.deliveries == 0
    verdicts = {}
    for check in SAFETY:
        if check in judge.violations:
            verdicts[check] = Verdict("violated", judge.violations[check])
        else:
            verdicts[check] = NOTHING_DELIVERED if idle and check != "gaps" else VALID
    owed = next(judge.missing_deliveries(), None)
    if not is_over:
        verdicts["delivery"] = NOT_QUIESCENT
    elif owed is not None:
        verdicts["delivery"] = Verdict("violated", owed)
    else:
        verdicts["delivery"] = NOTHING_DELIVERED if idle else VALID
    return verdicts


def _last_sizes(samples: Columns, manifest: dict[str, Any]) -> dict[tuple[str, str], float]:
    """How much each buffer held at the end, by node and buffer, in their order."""
    buffers = {kind: {*BUFFERS, *names} for kind, names in buffers_of(manifest).items()}
    table = Table.of(samples)
    node, quantity = table.column("node"), table.column("quantity")
    rows = quantity.rows(*BUFFERS, *(name for names in buffers.values() for name in names))
    last = np.full((len(node.words), len(quantity.words)), -1)
    last[node.codes[rows], quantity.codes[rows]] = rows  # of several rows the last one stays
    rows = last[last >= 0]
    columns = (table.pick(name, rows) for name in ("node", "quantity", "value"))
    sizes = {
        (node, name): value
        for node, name, value in zip(*columns, strict=True)
        if name in buffers.get(node[:1], BUFFERS)
    }
    return dict(sorted(sizes.items()))


def _unsampled_node(
    events: Columns, sizes: dict[tuple[str, str], float], buffers: dict[str, tuple[str, ...]]
) -> str | None:
    """A host that joined, or the station that answered it, of which no buffer is known, though it has some."""
    sampled = {node for node, _ in sizes}
    table = Table.of(events)
    joins = table.column("event").rows("join")
    for names in zip(table.pick("node", joins), table.pick("station", joins), strict=True):
        for name in names:
            if name is not None and name not in sampled and buffers.get(name[:1], BUFFERS):
                return str(name)
    return None

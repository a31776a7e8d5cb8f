"""Check the sizes of buffers of processes, as far as they follow from events.

Checks    samples are of processes; the buffers are those that the protocol has, all of them, and their sizes are whole
          numbers, and no sample repeats the size before it
          a buffer with an entry for each message never holds more than were broadcast so far
          where the protocol reports completion and changes are sampled, a source has an entry for each of its
          broadcasts that is not complete yet, and none any more from the completion on; without crashes and
          suspicions other processes have entries while they wait for acknowledgements: see kept.py
Model     of the broadcasts over VCube; plug-ins and programs have their own buffers
Units     integer nanoseconds; messages
Source    ours: docs/protocols/vcube.md, docs/verdicts-and-metrics.md
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain

import numpy as np

from mobilenet.expected.expectations import Broadcasting, ProcessPlan
from mobilenet.quoting import pluralize, there_are
from mobilenet.rundir.table import Table, by_code
from mobilenet.verify.basis.repeated import repeated_problem
from mobilenet.verify.processes.kept import kept_problems

WAITS = "unacknowledged"


def process_buffers_problem(events: Table, samples: Table, plan: ProcessPlan, end_ns: int) -> str | None:
    """Return the first size that cannot be."""
    broadcasting = plan.broadcasting
    problems = _node_problems(samples, plan)
    if broadcasting is not None:
        problems = chain(problems, _size_problems(events, samples, broadcasting))
    if broadcasting is not None and broadcasting.completes and plan.samples_changes:
        problems = chain(problems, _waiting_problems(events, samples), _left_problems(events, samples, broadcasting))
        if broadcasting.parents_of is not None and not len(events.column("event").rows("suspect", "crash")):
            problems = chain(problems, kept_problems(events, samples, plan.hop_ns, broadcasting.parents_of, end_ns))
    if (problem := next(problems, None)) is not None:
        return f"samples: {problem}"
    return None if broadcasting is None else repeated_problem(samples, broadcasting.buffers, end_ns)


def _node_problems(samples: Table, plan: ProcessPlan) -> Iterator[str]:
    for row in np.flatnonzero(~samples.column("node").among(plan.broadcasts_ns)).tolist():
        yield f"row {row} is about {samples['node'][row]}, but {there_are(len(plan.broadcasts_ns), 'process', 'p')}"


def _size_problems(events: Table, samples: Table, broadcasting: Broadcasting) -> Iterator[str]:
    quantity, values, times = samples.column("quantity"), samples.numbers("value"), samples.numbers("time_ns")
    strangers = np.flatnonzero(~quantity.among(broadcasting.buffers))
    if len(strangers):
        row = int(strangers[0])
        who, what = samples["node"][row], samples["quantity"][row]
        yield f"row {row} is about {what} of {who}, but {broadcasting.name} has only {', '.join(broadcasting.buffers)}"
    lacking = [name for name in broadcasting.buffers if name not in quantity.words]
    if lacking and samples.rows:
        yield f"no sample of {lacking[0]}"
    parts = np.flatnonzero(values != np.floor(values))
    if len(parts):
        row = int(parts[0])
        who, what = samples["node"][row], samples["quantity"][row]
        yield f"row {row} gives {values[row]:g} for {what} of {who}, expected a whole number"
    sent_ns = events.numbers("time_ns")[events.column("event").rows("broadcast")]
    sent = np.searchsorted(sent_ns, times, side="right")
    for row in np.flatnonzero((values > sent) & quantity.among(broadcasting.per_message)).tolist():
        yield (
            f"at {times[row] / 1e9:g} t.u. (row {row}): {samples['node'][row]} holds {values[row]:g} in"
            f" {samples['quantity'][row]}, but only {pluralize(int(sent[row]), 'message')} had been broadcast"
        )


def _waiting_problems(events: Table, samples: Table) -> Iterator[str]:
    """After all that happens at an instant, the last sample up to it counts."""
    node, values, times = samples.column("node"), samples.numbers("value"), samples.numbers("time_ns")
    of_waiting = samples.column("quantity").among((WAITS,))
    rows = events.column("event").rows("broadcast", "complete")
    happened: dict[str, list[tuple[int, int]]] = {}
    columns = (events.pick(name, rows) for name in ("time_ns", "node", "event"))
    for now_ns, name, event in zip(*columns, strict=True):
        happened.setdefault(name, []).append((now_ns, 1 if event == "broadcast" else -1))
    order = by_code(node.codes)  # the samples of each process, in their order
    order = order[of_waiting[order]]
    begins = np.searchsorted(node.codes[order], np.arange(len(node.words) + 1))
    places = {name: order[begins[code] : begins[code + 1]] for code, name in enumerate(node.words)}
    for name, changes in happened.items():
        own = places.get(name, order[:0])
        changed_ns = np.array([now_ns for now_ns, _ in changes])
        due = np.cumsum([step for _, step in changes])
        place = np.searchsorted(times[own], changed_ns, side="right") - 1
        has = np.where(place >= 0, values[own][place], 0.0) if len(own) else np.zeros(len(due))
        is_last = np.append(changed_ns[1:] != changed_ns[:-1], True)
        for i in np.flatnonzero(is_last & (has < due)).tolist():
            yield (
                f"at {changed_ns[i] / 1e9:g} t.u.: {name} holds {has[i]:g} in {WAITS}, but {due[i]} of its broadcasts"
                " are incomplete"
            )


def _left_problems(events: Table, samples: Table, broadcasting: Broadcasting) -> Iterator[str]:
    """A completion takes the broadcast's entry away, which shows where nothing else happens at that instant.

    Where a process suspects the source, others may have begun its broadcast again, so that an entry stays; and a bundle
    may bring another message, which is delivered unless a process is suspected.
    """
    event, node, times = events.column("event"), events.column("node"), events.numbers("time_ns")
    suspicions = events.pick("detail", event.rows("suspect"))
    if suspicions and "bundle" in broadcasting.kinds:
        return
    suspected = {json.loads(detail)["process"] for detail in suspicions}
    rows, others = event.rows("complete"), event.rows("broadcast", "deliver", "suspect", "trust")
    is_known = node.map([name not in suspected for name in node.words], nothing=False)
    number = {name: place for place, name in enumerate(node.words)}
    waits = samples.column("quantity").rows(WAITS)
    sampled = samples.column("node")
    holders = sampled.map([number.get(name, -1) for name in sampled.words], nothing=-1)[waits]
    changed = samples.numbers("time_ns")[waits] * len(number) + holders
    happened = times * len(number) + node.codes
    rows = rows[is_known[node.codes[rows]] & ~np.isin(happened[rows], happened[others])]
    for row in rows[~np.isin(happened[rows], changed)].tolist():
        yield (
            f"at {times[row] / 1e9:g} t.u., {events['node'][row]} learns that {events['message'][row]} is complete, but"
            f" the number of {WAITS} messages at {events['node'][row]} does not change"
        )

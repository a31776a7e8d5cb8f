"""Whether buffers of hosts are empty when they have to be.

Checks    a host leaves when its sbuffer is empty: what it broadcast was acknowledged
          and at such a moment: when it is asked to, each time again, when its sbuffer has emptied, or when a session of
          it is confirmed
          the rbuffer of a host is lost with its crash, and stays empty while the host is down
Model     only for protocols that keep messages in this way (Conduct). Of several sizes in one nanosecond the last one
          counts
Units     integer nanoseconds; messages
Source    ours: docs/protocols/mobile-causal.md (F13c), docs/verdicts-and-metrics.md
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mobilenet.clock import SECOND
from mobilenet.expected.expectations import Expectations
from mobilenet.quoting import pluralize
from mobilenet.rundir.table import Columns, Table
from mobilenet.verify.air.sizes import NO_SIZES, sizes_of


def emptied_problem(events: Columns, samples: Columns, expected: Expectations | None) -> str | None:
    """The first buffer that holds something when it cannot."""
    if expected is None or expected.conduct is None or not expected.conduct.keeps_until_acknowledged:
        return None
    table, sizes = Table.of(events), Table.of(samples)
    problems = _leave_problems(table, sizes), _moment_problems(table, sizes, expected), _crash_problems(table, sizes)
    return next((problem for each in problems for problem in each), None)


def _leave_problems(events: Table, samples: Table) -> Iterator[str]:
    turns = _turns(events, "leave")
    sizes = sizes_of(samples, "sbuffer")
    for node, turned in turns.items():
        own = sizes.get(node, NO_SIZES)
        at_ns = np.array([now_ns for now_ns, _ in turned])
        has = np.append(own.values, 0.0)[np.searchsorted(own.times, at_ns, "right") - 1]
        for i in np.flatnonzero(has > 0).tolist():
            holds = f"holds {pluralize(int(has[i]), 'message')} when it leaves at {_s(at_ns[i])}"
            yield f"samples: the sbuffer of {node} {holds}"


def _moment_problems(events: Table, samples: Table, expected: Expectations) -> Iterator[str]:
    """Yield leaves at a moment at which nothing makes their hosts leave."""
    assert expected.conduct is not None
    if not (expected.conduct.only_connected and expected.asked_again_ns and expected.hosts):
        return
    wishes = {f"h{number}": [at_ns for at_ns, _ in plan.requests] for number, plan in enumerate(expected.hosts)}
    confirmed = {(node, now_ns) for node, own in _turns(events, "join", "handoff_end").items() for now_ns, _ in own}
    sizes = sizes_of(samples, "sbuffer")
    for node, turned in _turns(events, "leave").items():
        own = sizes.get(node, NO_SIZES)
        fallen = set(own.times[np.diff(own.values, prepend=0.0) < 0].tolist())
        for now_ns, _ in turned:
            is_asked = any(
                at_ns <= now_ns and (now_ns - at_ns) % expected.asked_again_ns == 0 for at_ns in wishes.get(node, ())
            )
            if not (is_asked or now_ns in fallen or (node, now_ns) in confirmed):
                when = f"events: {node} leaves at {_s(now_ns)}"
                yield f"{when} without being asked to, although its sbuffer has not been emptied"


def _crash_problems(events: Table, samples: Table) -> Iterator[str]:
    turns = _turns(events, "crash", "recover")
    sizes = sizes_of(samples, "rbuffer")
    for node, turned in turns.items():
        own = sizes.get(node, NO_SIZES)
        at_ns = np.array([now_ns for now_ns, _ in turned])
        is_down = np.array([False, *(event == "crash" for _, event in turned)])
        down_ns = at_ns[is_down[1:] & (np.append(at_ns[1:], 2**62) > at_ns)]
        last = np.searchsorted(own.times, down_ns, "right") - 1
        inside = np.flatnonzero(is_down[np.searchsorted(at_ns, own.times, "left")])
        inside = inside[is_down[np.searchsorted(at_ns, own.times[inside], "right")]]
        for i in [*last[last >= 0].tolist(), *inside.tolist()]:
            if (held := own.values[i]) > 0:
                yield (
                    f"samples: the rbuffer of {node} holds {pluralize(int(held), 'message')} at {_s(own.times[i])},"
                    f" while {node} is down"
                )


def _turns(events: Table, *kinds: str) -> dict[str, list[tuple[int, str]]]:
    """Host -> when what happened, in order."""
    turns: dict[str, list[tuple[int, str]]] = {}
    rows = events.column("event").rows(*kinds)
    for node, now_ns, event in zip(*(events.pick(name, rows) for name in ("node", "time_ns", "event")), strict=True):
        turns.setdefault(node, []).append((now_ns, event))
    return turns


def _s(time_ns: int) -> str:
    return f"{time_ns / SECOND:.6f} s"

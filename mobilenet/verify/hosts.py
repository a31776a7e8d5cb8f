"""The properties and checks of runs of hosts and stations.

Source    Hadzilacos, Toueg, A modular approach to fault-tolerant broadcasts (1994), for the properties; ours:
          docs/verdicts-and-metrics.md
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mobilenet.quoting import pluralize
from mobilenet.record.schema import BUFFERS, buffers_of
from mobilenet.verify import program_lines
from mobilenet.verify.broadcasts.fifo import fifo_problem
from mobilenet.verify.broadcasts.requests import obedience
from mobilenet.verify.broadcasts.sessions import unfinished_handoffs
from mobilenet.verify.carriers import CARRIED
from mobilenet.verify.check import Check
from mobilenet.verify.conservation import conservation_problem
from mobilenet.verify.datagrams import datagram_problem
from mobilenet.verify.deadline import deadline
from mobilenet.verify.evidence import Evidence
from mobilenet.verify.packets.judge import packets_problem
from mobilenet.verify.verdict import NOT_QUIESCENT, NOTHING_DELIVERED, Verdict
from mobilenet.verify.waits import first_few, nonempty_buffers, waiting

ORDER = {"causal": ("causal_order",), "fifo": ("fifo_order",), "best_effort": ()}


def properties_of(promises: dict[str, Any]) -> tuple[str, ...]:
    """Return the properties of a run with these promises."""
    broadcast = promises["broadcast"]
    if broadcast is None:
        return ("record", "conservation")
    order = ORDER.get(broadcast, ORDER["causal"])
    owed = ("gaps", "delivery") if delivers_to_all(promises) else ()
    return ("record", "creation", "duplication", "membership", *order, *owed, "conservation", "drained")


def delivers_to_all(promises: dict[str, Any]) -> bool:
    """Return whether every member must deliver every message."""
    return bool(promises.get("delivers_to_all", promises["broadcast"] not in ("fifo", "best_effort")))


def _of_broadcasts(name: str) -> Callable[[Evidence], Verdict | str | None]:
    """Return a function that returns the broadcast judge's finding about this property."""

    def answer(run: Evidence) -> Verdict | str | None:
        judge = run.broadcasts
        return judge.violations.get(name) or (NOTHING_DELIVERED if not judge.deliveries and name != "gaps" else None)

    return answer


def _fifo_order(run: Evidence) -> Verdict | str | None:
    problem = fifo_problem(run.events, delivers_to_all(run.promises))
    return problem or (None if run.broadcasts.deliveries else NOTHING_DELIVERED)


def _delivery(run: Evidence) -> Verdict | str | None:
    if not run.quiescent and not deadline(run).is_violated:
        return NOT_QUIESCENT
    owed = next(run.broadcasts.missing_deliveries(), None)
    return _unless_cut(run, owed) or (None if run.broadcasts.deliveries else NOTHING_DELIVERED)


def _unless_cut(run: Evidence, problem: str | None) -> Verdict | str | None:
    """Return an unknown verdict if messages that were lost through a user's intervention may explain the problem,
    because the protocol never repairs such losses.
    """
    cuts, lost = (() if run.of_hosts is None else run.of_hosts.lossy_cuts), run.counters["wired"].get("lost", 0)
    if problem is None or not cuts or not lost:
        return problem
    links = first_few([f"{cut.station}-{cut.other} from {cut.since_ns / 1e9:g} s" for cut in cuts])
    why = f"links cut by hand ({links}) lost {pluralize(lost, 'message')}, which {cuts[0].protocol} does not repair"
    return Verdict("unknown", f"{why}; this may be why {problem}")


def _obedience(run: Evidence) -> Verdict | str | None:
    """Describe what hosts did without a request, or failed to do when requested. For a custom protocol, the record does
    not show why a host failed to do something.
    """
    unasked, ignored = obedience(run.events, run.of_hosts, run.quiescent)
    if ignored is None or run.of_hosts is None or run.of_hosts.protocol is not None:
        return unasked or ignored
    return Verdict("unknown", f"{ignored}; its protocol may refuse, or losses may prevent it")


def _packets(run: Evidence) -> str | None:
    return packets_problem(run.events, run.captures or {}, run.manifest)


def _accounting(run: Evidence) -> Verdict | str | None:
    problem = conservation_problem(run)
    is_idle = run.promises["broadcast"] is None and "datagram" not in run.events.column("event").words
    return problem or (Verdict("unknown", "no program sent a datagram") if is_idle else None)


def _rest(run: Evidence) -> Verdict | str | None:
    """Explain why the run did not come to rest, or what was left at the end."""
    events, manifest, promises, sizes = run.events, run.manifest, run.promises, run.last_sizes
    if not run.quiescent:
        after_s, answer = manifest["simulated_s"] - manifest["duration_s"], deadline(run)
        what = f"not at rest {after_s:g} s after the active part: {waiting(events, sizes, manifest)}"
        return Verdict("violated" if answer.is_violated else "unknown", f"{what} ({answer.because})")
    if left := nonempty_buffers(sizes):
        return _unless_cut(run, f"{left[0]} after quiescence")
    if unfinished := unfinished_handoffs(events):
        return _unless_cut(run, f"{unfinished[0]} is in a handoff after quiescence")
    if promises["broadcast"] is not None and (unknown := _unsampled_node(run)):
        return Verdict("unknown", f"the buffers of {unknown} were never sampled")
    return None


def _unsampled_node(run: Evidence) -> str | None:
    """Return a host that joined, or the station that answered it, if none of its buffers was ever sampled."""
    sampled, buffers = {node for node, _ in run.last_sizes}, buffers_of(run.manifest)
    joins = run.events.column("event").rows("join")
    for names in zip(run.events.pick("node", joins), run.events.pick("station", joins), strict=True):
        for name in names:
            if name is not None and name not in sampled and buffers.get(name[:1], BUFFERS):
                return str(name)
    return None


def _is_in_real_time(run: Evidence) -> bool:
    """Return whether the run was in real time."""
    return run.manifest.get("real_time") is not None


def _has_packets(run: Evidence) -> bool:
    """Return whether hosts ran real software."""
    return run.captures is not None or run.manifest["protocol"] == "ip"


JUDGED = ("events", "positions")  # the tables that the broadcast judge reads
CHECKS = (
    program_lines.CHECK,
    Check(
        "creation", "Each delivered message was broadcast before, once, by the host that its id names.",
        _of_broadcasts("creation"), tables=JUDGED,
    ),
    Check("creation", *CARRIED, waits=True),
    Check(
        "duplication", "No host delivers a message twice, over all its memberships.", _of_broadcasts("duplication"),
        tables=JUDGED,
    ),
    Check(
        "membership", "Only members broadcast, deliver and have gaps, and no host acts while it is down.",
        _of_broadcasts("membership"), tables=JUDGED,
    ),
    Check(
        "membership", "Hosts join and leave when they are asked to, and only then. If a host of a custom protocol"
        " stays up and in coverage, and does not, the answer is unknown. With a built-in protocol, a member that was"
        " asked to leave broadcasts nothing more, and no other member refuses to broadcast.",
        _obedience,
    ),
    Check(
        "causal_order",
        "No message is delivered before its causal past, as far as the host is entitled to it, nor after a message that"
        " it precedes.",
        _of_broadcasts("causal_order"), tables=JUDGED,
    ),
    Check(
        "fifo_order", "No host delivers a message of a sender after a later one of that sender.", _fifo_order,
        tables=JUDGED,
    ),
    Check(
        "gaps",
        "A gap occurs only where the run allows it, and only for a host that its station gave up on after a silence of"
        " `gap_after_s`, measured by the network.",
        _of_broadcasts("gaps"), tables=JUDGED,
    ),
    Check(
        "delivery", "At the end every member has delivered everything that it is entitled to. Unknown if a link that"
        " was cut by hand has lost messages.",
        _delivery,
        tables=(*JUDGED, "samples"), waits=True,
    ),
    Check(
        "conservation", "Each datagram that a program received was sent to it, and is received once.",
        lambda run: datagram_problem(run.events, run.counters, run.of_hosts), _is_in_real_time, waits=True,
    ),
    Check(
        "conservation", "Packets of real software arrive unchanged, and are those that the kernel counted.", _packets,
        _has_packets, waits=True,
    ),
    Check(
        "conservation",
        "Each frame, and each [pair](#metrics) of a frame and a node within its reach, is accounted for: received, or"
        " lost for one reason.",
        _accounting, _is_in_real_time, ("events", "samples"), waits=True,
    ),
    Check(
        "drained",
        "At rest every measured buffer is empty, including those of a plug-in (`BUFFERS`), and no member is in a"
        " handoff, unless a link that was cut by hand has lost messages. A run that is not at rest at its"
        " [deadline](#rest) still makes progress, or is excused.",
        _rest, tables=(*JUDGED, "samples"), waits=True,
    ),
)  # fmt: skip

"""The named cases: which networks of the mobile causal broadcast are explored?

Model     see space.py; at least one loss and one copy in an execution, and each retransmission timer twice. All
          waits are a millisecond or ten minutes: they have no clock between them, so the T extension, which is about
          time, is not explored
Source    ours
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace
from typing import Any

from mobilenet.protocols import mobile_causal
from mobilenet.protocols.declaration import declare
from mobilenet.protocols.mobile_causal import MobileCausalParameters
from mobilenet.protocols.mobile_causal.declaration import MobileCausal

from .case import Case

SHORT_S, LONG_S = 0.001, 600.0

PARAMETERS = MobileCausalParameters(
    resend_first_s=SHORT_S,
    resend_full_s=SHORT_S,
    ack_min_s=SHORT_S,
    ack_max_s=SHORT_S,
    heartbeat_s=SHORT_S,
    control_interval_s=SHORT_S,
    forwarding_jitter_s=0.0,
    silent_after_s=LONG_S,
    cookie_lifetime_s=LONG_S,
)
SELECTIVE = PARAMETERS.model_copy(
    update={
        "repair": "selective", "report_s": SHORT_S, "most_reports": 2, "cell_copies": 1, "few_hosts": 1,
        "repair_rest_s": 0.0, "doubt_s": 0.0, "retry_s": SHORT_S,
    }
)  # fmt: skip
ROLES = MobileCausal
COUNTED = ("Join", "Init", "Leave")  # for each of the first two a station opens a request


def mobile_case(name: str, cells: tuple[int, ...], messages: tuple[int, ...], **others: Any) -> Case:
    """Return a case of the mobile causal broadcast."""
    repeats = others.pop("repeats", 2 * len(cells) + 1)  # the timer of each host fires twice, and there is a copy
    parameters = others.pop("parameters", PARAMETERS)
    return Case(
        name,
        ROLES,
        parameters,
        cells,
        messages,
        counted=COUNTED,
        repeats=repeats,
        forget=forget,
        single_owner=True,
        **others,
    )


def forget(value: Any) -> Container[str]:
    """Return the attributes of the protocol's objects that no longer matter between two inputs.

    SelectiveStream and contexts: when a copy was sent, because in these cases a copy may follow another one at once.
    Resender: how often copies were given up decides only when the next one follows; its heap holds a due time for each
    message that waits, which its dictionary of states has as well, and entries that are passed over; rounds and rests
    are over by the next input (local.py). AppSh: its M_d is informative, no host reads it. A station's context: an
    owner has no request of its own any more, and what a handover has left there is set before it is read again. Names
    that no longer exist are not missed: then there are only more states.
    """
    kind = type(value).__name__
    if kind in ("Resender", "PromptResender"):
        return ("_heap", "_left", "_batch_began", "_rest_until", "_round_end", "_times")
    if kind == "SelectiveStream":
        return ("_sent_ns",)
    if kind == "AppSh":
        return ("delivered",)
    if kind == "Context":
        return ("copied", *DONE_WITH.get(value.state.name, ()))
    return ()


DONE_WITH = {
    "OWN": ("answers", "bound", "grq", "peer", "pin", "rq", "undelivered"),
    "REL": ("answers", "pin", "rq", "undelivered"),
    "FETCH": ("answers",),
}

TWO, THREE = (0,), (0, 0)  # stations: a wire; a star around s0

CASES = {
    case.name: case
    for case in (
        mobile_case("two_messages_one_crash", (0,), (2,), parents=TWO, crashes=1),
        mobile_case("two_messages_two_moves", (0,), (2,), parents=TWO, moves=2),
        mobile_case("three_stations", (0,), (1,), parents=THREE, moves=2),
        mobile_case("two_hosts", (0, 0), (1, 1), parents=TWO, joined=False),
        mobile_case("mover_and_talker", (0, 1), (0, 2), parents=TWO, moves=1),
        mobile_case("leave_two_moves", (0,), (0,), parents=THREE, leaves=1, moves=2),
        mobile_case("leave_and_join", (0,), (1,), parents=TWO, leaves=1, joins=1),
        mobile_case("one_move", (0,), (1,), parents=TWO, moves=1),
        mobile_case("join", (0,), (1,), parents=TWO, joined=False),
        mobile_case("repair_two_hosts", (0, 0), (1, 1), parents=TWO, joined=False, parameters=SELECTIVE),
        mobile_case("repair_one_crash", (0,), (2,), parents=TWO, crashes=1, parameters=SELECTIVE),
        mobile_case("repair_three_stations", (0,), (1,), parents=THREE, moves=2, parameters=SELECTIVE),
        mobile_case("repair_leave_and_join", (0,), (1,), parents=TWO, leaves=1, joins=1, parameters=SELECTIVE),
        mobile_case("repair_one_move", (0,), (1,), parents=TWO, moves=1, parameters=SELECTIVE),
        mobile_case("repair_join", (0,), (1,), parents=TWO, joined=False, parameters=SELECTIVE),
    )
}


def with_protocol(case: Case, host: Any, station: Any) -> Case:
    """Return the case with other classes for hosts and stations."""
    return replace(case, roles=declare(host, station, mobile_causal.Stable))

"""The named cases that are explored: small networks of the mobile causal broadcast.

Model     space.py explains the bounds. An execution may contain at least one loss and one copy, and each retransmission
          timer may fire twice. Every timeout is either a millisecond, which is shorter than a step of the clock, or ten
          minutes, which is longer than an execution. The T extension depends on time and is not explored.
Source    ours
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any

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
# Messages such as Join open a new request each time, so the search limits their effects.
COUNTED = ("Join", "Init", "Leave")


def mobile_case(name: str, cells: tuple[int, ...], messages: tuple[int, ...], **others: Any) -> Case:
    """Return a case of the mobile causal broadcast."""
    repeats = others.pop("repeats", 2 * len(cells) + 1)  # This covers two timeouts per host and one copied frame.
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
    """Return the names of the attributes that no longer matter between two inputs.

    SelectiveStream and Context: the time at which a copy was sent, because these cases allow the next copy immediately.
    Resender: the number of abandoned copies, which is evaluated only when the next copy is sent; the heap, because the
    dictionary of states also contains the due times; and rounds and pauses, which are over by the next input
    (local.py). AppSh: M_d, which hosts do not read. Context of a station: the request of an owner, and the fields that
    a handover leaves behind, which are set before they are read again. If an attribute in this list no longer exists,
    the search is still correct, but explores more states.
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

TWO, THREE = (0,), (0, 0)  # Trees of stations: two stations with one link, and a star of three stations around s0.

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

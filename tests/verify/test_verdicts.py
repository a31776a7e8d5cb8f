"""Tests of the verifier, with one handwritten trace for each of its possible answers."""

from __future__ import annotations

from typing import Any

import pytest

from .traces import answers, verdicts

BOTH = "h0 join\nh1 join\n"
SENT = BOTH + "h0 broadcast h0:0\nh0 deliver h0:0\nh0 broadcast h0:1\nh0 deliver h0:1\n"


@pytest.mark.parametrize(
    "lines",
    [
        SENT + "h1 deliver h0:0\nh1 deliver h0:1",
        SENT + "h1 leave",
        SENT + "h1 deliver h0:0\nh1 leave",
        # A host that joins again does not have to receive earlier broadcasts.
        SENT + "h1 deliver h0:0\nh1 leave\nh1 join",
        SENT + "h1 deliver h0:0\nh1 leave\nh1 join\nh1 deliver h0:1",  # Earlier broadcasts may still arrive.
        # A host that joins late does not have to receive earlier messages.
        SENT + "h2 join\nh1 deliver h0:0\nh1 deliver h0:1\nh2 deliver h0:1",
        SENT + "h1 crash\nh1 recover\nh1 deliver h0:0\nh1 deliver h0:1",
        BOTH
        + "h0 broadcast h0:0\nh1 broadcast h1:0\nh0 deliver h1:0\nh0 deliver h0:0\nh1 deliver h0:0\nh1 deliver h1:0",
    ],
)
def test_traces_that_keep_every_promise_are_valid(lines: str) -> None:
    assert answers(lines) == {}


@pytest.mark.parametrize(
    ("check", "lines"),
    [
        ("creation", BOTH + "h0 deliver h1:0"),
        ("creation", BOTH + "h0 broadcast h0:0\nh0 deliver h0:0\nh1 deliver h0:0\nh0 broadcast h0:0"),
        ("creation", BOTH + "h0 broadcast h0:1"),
        ("creation", BOTH + "h1 broadcast h0:0"),
        ("duplication", SENT + "h1 deliver h0:0\nh1 deliver h0:1\nh1 deliver h0:0"),
        ("duplication", SENT + "h1 deliver h0:0\nh1 deliver h0:1\nh1 leave\nh1 join\nh1 deliver h0:1"),
        ("membership", SENT + "h1 deliver h0:0\nh1 deliver h0:1\nh2 deliver h0:0"),
        ("membership", SENT + "h1 deliver h0:0\nh1 crash\nh1 deliver h0:1"),
        ("membership", SENT + "h1 leave\nh1 leave"),
        ("membership", SENT + "h1 leave\nh1 broadcast h1:0\nh0 deliver h1:0"),
        ("membership", SENT + "h1 leave\nh1 crash\nh1 join"),
        ("causal_order", SENT + "h1 deliver h0:1\nh1 deliver h0:0"),
        ("causal_order", SENT + "h1 deliver h0:1\nh1 leave"),
        # h2 delivers the earlier message after the later one.
        ("causal_order", SENT + "h2 join\nh2 deliver h0:1\nh2 deliver h0:0\nh1 deliver h0:0\nh1 deliver h0:1"),
        (
            "causal_order",
            SENT + "h1 deliver h0:0\nh1 broadcast h1:0\nh2 join\nh2 deliver h1:0\nh2 deliver h0:0\nh1 leave",
        ),
        (
            "causal_order",
            BOTH + "h2 join\nh0 broadcast h0:0\nh1 deliver h0:0\nh1 broadcast h1:0\nh2 deliver h1:0\nh2 deliver h0:0",
        ),
        (
            "causal_order",
            BOTH + "h0 broadcast h0:0\nh1 deliver h0:0\nh1 broadcast h1:0\nh0 deliver h1:0\nh0 deliver h0:0",
        ),
        ("gaps", SENT + "h1 gap"),
        ("delivery", SENT + "h1 deliver h0:0"),
        ("delivery", BOTH + "h0 broadcast h0:0\nh1 deliver h0:0"),  # A host must also deliver its own message.
    ],
)
def test_each_violation_is_reported_with_its_property(check: str, lines: str) -> None:
    verdict_of = verdicts(lines)
    assert verdict_of[check].answer == "violated"
    assert 1 <= len(verdict_of[check].explanation.splitlines()) < 10


def test_an_explanation_states_which_message_overtook_which() -> None:
    lines = "h0 join\nh1 join\nh0 broadcast h0:0\nh0 broadcast h0:1\nh1 handoff_start\nh1 handoff_end\nh1 deliver h0:1"
    assert (
        verdicts(lines)["causal_order"].explanation == "h0:1 overtook h0:0 at h1:\n"
        "  h0:0 was broadcast at 0.003000 s (event 2)\n"
        "  h0:1 was broadcast at 0.004000 s (event 3), causally after it\n"
        "  h1 delivered h0:1 at 0.007000 s (event 6), but had not delivered h0:0\n"
        "  handoff of session None ended at 0.006000 s (event 5)"
    )


@pytest.mark.parametrize(
    ("lines", "options", "expected"),
    [
        (BOTH, {}, dict.fromkeys(("creation", "duplication", "membership", "causal_order", "delivery"), "unknown")),
        (SENT, {"quiescent": False}, {"delivery": "unknown", "drained": "unknown"}),
        (SENT, {"quiescent": False, "rest_within_s": 1000.0}, {"delivery": "unknown", "drained": "unknown"}),
        (SENT, {"quiescent": False, "rest_within_s": 60.0}, {"delivery": "violated", "drained": "violated"}),
        (SENT, {"quiescent": False, "longest_wait_s": 5.0}, {"delivery": "violated", "drained": "violated"}),
        (SENT + "h1 leave", {"buffers": (("h0", 0.0), ("h1", 2.0))}, {"drained": "violated"}),
        (SENT + "h1 leave", {"buffers": ()}, {"drained": "unknown"}),
        ("h0 broadcast h0:0", {"broadcast": None}, {}),
    ],
)
def test_missing_deliveries_are_violations_only_at_rest(
    lines: str, options: dict[str, Any], expected: dict[str, str]
) -> None:
    assert answers(lines, **options) == expected


# --- gaps: T = 10 s, and a reachable host is heard every second

HERE = "h0 in_coverage\nh1 in_coverage\nh0 join\nh1 join\n"
LATER = "50 h0 broadcast h0:0\n"


def gaps(lines: str) -> str:
    answer_of = answers(HERE + LATER + "h0 deliver h0:0\n" + lines, gap_after_s=10.0)
    return answer_of.get("gaps", "valid")


@pytest.mark.parametrize(
    "lines",
    [
        "60 h1 out_of_coverage\n70 s0 expire h1 10\nh1 gap",
        # The host may have been silent for the second before it left coverage.
        "60 h1 out_of_coverage\n69.1 s0 expire h1 10\nh1 gap",
        "60 h1 crash\n70 s0 expire h1 10.5\nh1 recover\nh1 gap",
        "60 h1 handoff_start\n70 s0 expire h1 10\nh1 handoff_end\nh1 gap",
        # The host is in coverage for too short a time to be heard.
        "60 h1 out_of_coverage\n65 h1 in_coverage\n65.5 h1 crash\n70 s0 expire h1 10.9\nh1 recover\nh1 gap",
        # The gap is reported a second time.
        "60 h1 crash\n70 s0 expire h1 10\nh1 recover\nh1 gap\n70.1 h1 handoff_start\n70.2 h1 handoff_end\nh1 gap",
        # The last station of the host gives up on it, and the host returns at another one.
        (
            "51 h1 handoff_start\n51.1 h1 handoff_end s1\n60 h1 crash\n70 s1 expire h1 10\nh1 recover\nh1"
            " handoff_start\nh1 handoff_end s0\nh1 gap"
        ),
        # The station gives up on the host while the host asks to join.
        "51 h1 leave\n61 s0 expire h1 10\n62 h1 join s0\nh1 gap",
    ],
)
def test_a_host_given_up_as_silent_is_allowed_a_gap(lines: str) -> None:
    assert gaps(lines) == "valid"


@pytest.mark.parametrize(
    "lines",
    [
        "60 h1 gap",
        "60 h1 out_of_coverage\n70 h1 gap",  # No station has given up on the host.
        "60 h1 out_of_coverage\n70 s0 expire h1 9.999\nh1 gap",
        "60 h1 out_of_coverage\n70 s0 expire h1 9.999",  # The record does not contain the gap.
        "60 h1 out_of_coverage\n68.9 s0 expire h1 10\nh1 gap",
        # The host was heard between seconds 65 and 67.
        "60 h1 out_of_coverage\n65 h1 in_coverage\n67 h1 out_of_coverage\n75 s0 expire h1 15\nh1 gap",
        # The host was heard again before the gap.
        "60 h1 out_of_coverage\n70 s0 expire h1 10\n90 h1 in_coverage\n92 h1 gap",
        # The host has been heard since the first gap.
        "60 h1 crash\n70 s0 expire h1 10\nh1 recover\nh1 gap\n75 h1 handoff_start\n75.1 h1 handoff_end\nh1 gap",
        # The host has been heard since the station gave up on it.
        "60 h1 crash\n70 s0 expire h1 10\n80 h1 recover\n82 h1 crash\n95 h1 recover\nh1 gap",
        "60 h1 leave\n61 h1 join\nh1 gap",
        # The station that gave up on the host was not the station of the host.
        "51 h1 handoff_start\n51.1 h1 handoff_end s1\n60 h1 crash\n70 s0 expire h1 19\nh1 recover\nh1 gap",
    ],
)
def test_a_gap_requires_a_silent_host_that_was_given_up(lines: str) -> None:
    assert gaps(lines) == "violated"


def test_giving_up_a_host_without_a_gap_is_a_violation() -> None:
    assert answers(SENT + "h1 leave\n60 s0 expire h1 50") == {"gaps": "violated"}


def test_messages_that_were_given_up_need_not_be_delivered() -> None:
    gap = "50 s0 expire h1 49\n50 h1 gap\n50 h1 handoff_start because_of join\nh1 handoff_end\n"
    lines = (
        HERE + "h1 out_of_coverage\nh1 broadcast h1:0\n" + gap + "h1 broadcast h1:1\nh0 deliver h1:1\nh1 deliver h1:1"
    )
    assert answers(lines, gap_after_s=10.0) == {}
    assert answers(lines.replace(gap, "")) == {"causal_order": "violated", "delivery": "violated"}
    assert answers(lines.replace(gap, gap.replace("h1", "h0")), gap_after_s=10.0)["delivery"] == "violated"
    # The host has kept its messages.
    assert answers(lines.replace("because_of join", "because_of cell"), gap_after_s=10.0)["delivery"] == "violated"


def test_a_message_delivered_by_one_host_is_due_at_all_hosts() -> None:
    lines = HERE + "h2 join\nh1 out_of_coverage\nh1 broadcast h1:0\n50 s0 expire h1 49\nh1 gap\nh0 deliver h1:0"
    verdict_of = verdicts(lines, gap_after_s=10.0)
    assert verdict_of["delivery"].answer == "violated" and "h2" in verdict_of["delivery"].explanation


# --- handoffs and sessions fit together


@pytest.mark.parametrize("lines", ["h1 handoff_start\nh1 handoff_start\nh1 handoff_end", "h1 handoff_start\nh1 leave"])
def test_handoffs_can_be_superseded_or_interrupted_by_a_leave(lines: str) -> None:
    assert answers(SENT + "h1 deliver h0:0\nh1 deliver h0:1\n" + lines) == {}


def test_a_handoff_in_progress_at_rest_is_a_violation() -> None:
    lines = SENT + "h1 deliver h0:0\nh1 deliver h0:1\nh1 handoff_start"
    assert answers(lines) == {"drained": "violated"}
    assert answers(lines, quiescent=False) == {"delivery": "unknown", "drained": "unknown"}

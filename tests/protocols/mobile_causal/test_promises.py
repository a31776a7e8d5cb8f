"""Tests of what the mobile causal broadcast still promises to a host after a station has given up on it."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from mobilenet.engine.clock import SECOND
from mobilenet.protocols.mobile_causal.declaration import MobileCausal
from mobilenet.protocols.mobile_causal.promises import CHECKS
from mobilenet.scenario.plans.expectations import Expectations, KnownProtocol
from mobilenet.verify import Evidence

FORGETTING = next(check for check in CHECKS if "stub_lifetime_s" in check.asks)
AFTER_S, LIFETIME_S = 8.0, 4.0


def answer_on(
    gap_s: float, silent_s: float | None, lifetime_s: float | None = LIFETIME_S, cause: str = "join"
) -> object:
    """Return the verdict on a gap of h0. At 20 s, the station gives up on h0 after this silence. Then h0 joins again
    and has a gap.
    """
    rows = [] if silent_s is None else [(20.0, "s0", "expire", {"host": "h0", "silent_s": silent_s})]
    rows += [(gap_s, "h0", "gap", {}), (gap_s, "h0", "handoff_start", {"cause": cause})]
    times, nodes, events, details = zip(*rows, strict=True)
    columns = {
        "time_ns": [round(at_s * SECOND) for at_s in times],
        "node": list(nodes),
        "event": list(events),
        "detail": [json.dumps(detail) for detail in details],
    }
    known = KnownProtocol(str(MobileCausal.checks), SimpleNamespace(stub_lifetime_s=lifetime_s))
    manifest = {"promises": {"gap_after_s": AFTER_S}}
    run = Evidence.of_columns({"events": columns}, {}, manifest, Expectations(0, known))
    assert FORGETTING.applies(run)
    return FORGETTING.answer(run)


@pytest.mark.parametrize(
    ("gap_s", "silent_s", "lifetime_s", "complaint"),
    [
        (24.0, 8.0, LIFETIME_S, None),
        (23.9, 8.0, LIFETIME_S, "it could not be forgotten before 24.000000 s"),
        (23.0, 9.0, LIFETIME_S, None),
        (99.0, 9.0, None, "stations never forget a host"),
        (99.0, None, LIFETIME_S, "no station gave up on it"),
    ],
)
def test_a_host_is_not_forgotten_before_its_lifetime_ends(
    gap_s: float, silent_s: float | None, lifetime_s: float | None, complaint: str | None
) -> None:
    answer = answer_on(gap_s, silent_s, lifetime_s)
    assert answer is None if complaint is None else str(answer).endswith(complaint)


def test_a_gap_is_allowed_for_a_host_that_a_station_knows() -> None:
    assert answer_on(21.0, 8.0, cause="cell") is None

"""Tests of metrics on traces that are small enough to compute the values by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import mobilenet
from mobilenet.engine.clock import SECOND
from mobilenet.metrics import metrics
from mobilenet.metrics.buffers import time_weighted_mean
from mobilenet.record.recorder import EventLog, Samples
from mobilenet.record.schema import COLUMNS
from mobilenet.scenario import Scenario
from mobilenet.scenario.plans import hosts
from mobilenet.scenario.protocol_catalogue import CATALOGUE
from tests.conftest import SCENARIOS

NO_COUNTERS = {"radio": {"queue_drops": 0}}


def row_of(
    script: list[str | tuple[float, str, str, dict[str, Any]]],
    samples: list[tuple[float, str, str, float]] | None = None,
    warmup_s: float = 0.0,
    duration_s: float = 100.0,
    **manifest: Any,
) -> dict[str, float | int | None]:
    """Return the metrics of these events and samples. An event is a line such as `2.5 h0 deliver h1:0`, with optional
    details.
    """
    log = EventLog()
    for line in script:
        if isinstance(line, str):
            second, node, event, *message = line.split()
            log.add(round(float(second) * SECOND), node, event, *message)
        else:
            time_s, node, event, more = line
            log.add(round(time_s * SECOND), node, event, **more)
    columns = Samples()
    for time_s, node, quantity, value in samples or []:
        columns.add(round(time_s * SECOND), node, quantity, value)
    events = log.columns()
    return metrics(events, columns.lists, NO_COUNTERS, {"warmup_s": warmup_s, "duration_s": duration_s, **manifest})


def test_delays_and_counts_of_a_small_trace_are_correct() -> None:
    row = row_of(
        [
            "0 h0 join",
            "0 h1 join",
            "1 h0 broadcast h0:0",
            "5 h0 deliver h0:0",
            "20 h0 broadcast h0:1",
            "21 h0 deliver h0:1",
            "23 h1 deliver h0:0",
            "24 h1 deliver h0:1",
            (30, "h1", "refused", {"detail": {"cause": "down"}}),
            "31 h1 broadcast h1:0",
        ],
        warmup_s=10,
    )
    assert (row["broadcasts"], row["broadcasts_refused"], row["broadcasts_offered"]) == (2, 1, 3)
    assert row["deliveries"] == 3  # A delivery counts if it is in the window, even if the broadcast is not.
    assert row["delivery_delay_mean_s"] == 2.5  # delay of h0:1 at h0 and at h1
    assert row["delivery_delay_others_mean_s"] == 4.0  # delay of h0:1 at h1 only
    assert row["broadcasts_undelivered"] == 2  # h1:0 was not delivered at either member.


def test_a_host_that_joins_later_does_not_miss_older_messages() -> None:
    row = row_of(
        [
            "0 h0 join",
            "1 h0 broadcast h0:0",
            "2 h1 join",
            "3 h0 deliver h0:0",
        ]
    )
    assert row["broadcasts_undelivered"] == 0


def test_superseded_handoffs_are_counted_separately() -> None:
    row = row_of(
        [
            "0 h0 join",
            "8 h0 deliver h1:0",
            "9 h0 deliver h1:1",
            (10, "h0", "handoff_start", {"session": 2, "detail": {"cause": "cell"}}),
            (10.1, "h0", "handoff_start", {"session": 3, "detail": {"cause": "cell"}}),
            (10.5, "h0", "handoff_end", {"session": 3, "detail": {"recovered": 4, "skipped": 0}}),
            "11 h0 deliver h1:2",
            "12 h0 deliver h1:3",
            (20, "h0", "handoff_start", {"session": 4, "detail": {"cause": "recovery"}}),
            (21, "h0", "handoff_end", {"session": 4, "detail": {"recovered": 0, "skipped": 0}}),
            (22, "h0", "handoff_start", {"session": 5, "detail": {"cause": "cell"}}),
        ]
    )
    assert (row["handoffs"], row["handoffs_superseded"], row["recoveries"]) == (1, 1, 1)
    assert row["handoff_duration_mean_s"] == pytest.approx(0.4)
    assert row["handoff_interruption_mean_s"] == 2.0  # from second 9 to second 11
    assert row["handoff_interruption_excess_mean_s"] == pytest.approx(2.0 - 4 / 3)
    assert (row["handoffs_with_recovered"], row["handoff_recovered_mean"], row["handoffs_with_skipped"]) == (1, 4, 0)


def test_a_leave_ends_a_handoff() -> None:
    def start(time_s: float, session: int) -> tuple[float, str, str, dict[str, Any]]:
        return (time_s, "h0", "handoff_start", {"session": session, "detail": {"cause": "cell"}})

    row = row_of(
        [
            "0 h0 join",
            start(10, 2),
            "11 h0 leave",
            "20 h0 join",
            start(30, 5),
            start(30.2, 6),
        ]
    )
    assert row["handoffs_superseded"] == 1


@pytest.mark.parametrize("end", ["crash", "leave"])
def test_crashes_and_leaves_are_not_handoff_interruptions(end: str) -> None:
    def handoff(time_s: float, session: int) -> list[tuple[float, str, str, dict[str, Any]]]:
        detail = {"recovered": 0, "skipped": 0}
        return [(time_s, "h0", "handoff_start", {"session": session, "detail": {"cause": "cell"}}),
                (time_s + 0.1, "h0", "handoff_end", {"session": session, "detail": detail})]  # fmt: skip

    row = row_of([
        "0 h0 join", "10 h0 deliver h1:0", "12 h0 deliver h1:1", *handoff(13, 2), "14 h0 deliver h1:2", *handoff(15, 3),
        f"16 h0 {end}", "40 h0 deliver h1:3", "42 h0 deliver h1:4",
    ])  # fmt: skip
    assert row["handoffs"] == 2
    # The interruption lasts from second 12 to second 14. The time from 14 to 40 s does not count.
    assert row["handoff_interruption_mean_s"] == 2.0
    # Consecutive deliveries are 2 s apart, also after second 40.
    assert row["handoff_interruption_excess_mean_s"] == pytest.approx(0.0)


def test_buffer_means_are_weighted_by_time() -> None:
    row = row_of(
        ["0 h0 join", "50 h1 join", "90 h1 leave"],
        [(0, "s0", "sbuffer", 4), (25, "s0", "sbuffer", 0), (0, "s1", "sbuffer", 0), (60, "h1", "rbuffer", 2)],
    )
    assert row["station_sbuffer_mean"] == 0.5  # The mean of two stations is (1 + 0) / 2.
    assert row["station_sbuffer_max"] == 4
    assert row["host_rbuffer_mean"] == pytest.approx(30 * 2 / (100 + 40))  # Hosts count while they are members.


def test_radio_metrics_cover_only_the_measurement_window() -> None:
    totals = [("radio_frames", 10), ("pairs_received", 80), ("pairs_collision", 10), ("pairs_never_attempted", 10)]
    later = [("radio_frames", 30), ("pairs_received", 250), ("pairs_collision", 20), ("pairs_never_attempted", 30)]
    samples = [(10.0, "network", name, float(value)) for name, value in totals]
    samples += [(100.0, "network", name, float(value)) for name, value in later]
    row = row_of(["0 h0 join"], samples, warmup_s=10)
    assert row["frames"] == 20
    assert row["collision_loss_ratio"] == row["collision_ratio"] == pytest.approx(30 / 200)
    assert row["messages_sent_per_delivery"] is None
    assert json.dumps(row, allow_nan=False)


def test_collision_shares_and_message_counts_are_correct() -> None:
    totals = {
        "radio_frames": 40, "radio_mac_retries": 4, "radio_payload_bytes": 5000, "radio_acknowledgements": 10,
        "pairs_received": 80, "pairs_collision": 10, "pairs_never_attempted": 10,
        "addressed_pairs_received": 50, "addressed_pairs_collision": 5, "addressed_pairs_never_attempted": 20,
        "addressed_pairs_half_duplex": 5,
    }  # fmt: skip
    samples = [
        (moment, "network", name, value * factor)
        for moment, factor in ((0.0, 0.0), (100.0, 1.0))
        for name, value in totals.items()
    ]
    events = [
        "0 h0 join",
        "1 h0 broadcast h0:0",
        *(f"{2 + k} h0 deliver h0:0" for k in range(4)),
    ]
    row = row_of(events, samples, payload_bytes=100)
    assert row["collision_loss_ratio"] == pytest.approx(20 / 100)
    assert row["collision_loss_ratio_addressed"] == pytest.approx(25 / 80)
    assert row["collision_loss_ratio_addressed_begun"] == pytest.approx(5 / 55)
    assert row["messages_sent_per_delivery"] == pytest.approx(36 / 4)
    assert row["copies_and_acks_per_delivery"] == pytest.approx((50 + 10) / 4)
    # Older records do not contain the size of messages.
    assert row_of(events, samples)["copies_and_acks_per_delivery"] is None


def test_only_deprecated_metrics_include_acks() -> None:
    """In a record of an older version, all counters include ACKs, so both kinds of metrics have the same values."""
    apart = {
        "radio_frames": 10, "radio_bytes": 1000, "radio_payload_bytes": 600, "radio_control_bytes": 400,
        "radio_mac_acks": 5, "radio_mac_ack_bytes": 70,
        "pairs_received": 30, "pairs_collision": 10, "ack_pairs_received": 9, "ack_pairs_collision": 1,
        "addressed_pairs_received": 8, "addressed_ack_pairs_received": 5,
    }  # fmt: skip
    together = {
        "radio_frames": 10, "radio_bytes": 1070, "radio_payload_bytes": 600, "radio_control_bytes": 400,
        "pairs_received": 39, "pairs_collision": 11, "addressed_pairs_received": 13,
    }  # fmt: skip
    rows = []
    for totals in (apart, together):
        samples = [
            (moment, "network", name, value * factor)
            for moment, factor in ((0.0, 0.0), (100.0, 1.0))
            for name, value in totals.items()
        ]
        rows.append(row_of(["0 h0 join"], samples))
    shares = ("collision_loss_ratio", "collision_loss_ratio_addressed")
    of_frames = ("nodes_within_reach_per_frame", *shares, "frame_bytes")
    of_both = ("potential_receivers_per_frame", "collision_ratio", "collision_ratio_addressed", "radio_bytes")
    assert [rows[0][name] for name in of_frames] == [4, 10 / 40, 0, 1000]
    assert [rows[1][name] for name in of_frames] == [None] * 4
    assert [rows[0][name] for name in of_both] == [rows[1][name] for name in of_both] == [5, 11 / 50, 0, 1070]


def test_the_time_weighted_mean_of_a_step_function_is_correct() -> None:
    assert time_weighted_mean([], [], 0, 10) == 0
    assert time_weighted_mean([0, 5], [1.0, 3.0], 0, 10) == 2
    assert time_weighted_mean([2, 20], [4.0, 9.0], 4, 8) == 4
    assert time_weighted_mean([4], [1.0], 0, 4) == 0


def test_metrics_that_do_not_apply_to_a_protocol_are_absent() -> None:
    """A quantity that the protocol does not have is absent and not 0. A quantity that the protocol has but did not need
    is 0. For a plug-in, the record decides which quantities the protocol has.
    """
    nothing = {"protocol": "own", "warmup_s": 0, "duration_s": 1, "radio": {}}
    events: dict[str, list[Any]] = {name: [] for name in COLUMNS["events"]}
    samples: dict[str, list[Any]] = {name: [] for name in ("time_ns", "node", "quantity", "value")}
    traits = {"mobile_causal": ["handoffs", "recovered", "skipped", "lists"], "tcp_flooding": ["handoffs"], "own": []}
    metrics_of = {
        name: metrics(events, samples, {"radio": {"queue_drops": 0}}, {**nothing, "measures": declared})
        for name, declared in traits.items()
    }
    of_handoffs = {
        name for name in metrics_of["mobile_causal"] if name.startswith(("handoff", "recover", "m_d", "skip"))
    }
    assert len(of_handoffs) == 27 and metrics_of["mobile_causal"]["handoffs"] == 0
    assert {name for name in metrics_of["tcp_flooding"] if name in of_handoffs} == {
        "handoffs", "handoff_return_ratio", "handoffs_superseded",
        "recoveries", "handoff_duration_mean_s", "handoff_duration_max_s",
        "handoff_interruption_mean_s", "handoff_interruption_excess_mean_s",
        *(f"handoff_interruption_{name}_s" for name in ("p50", "p95", "max")),
    }  # fmt: skip
    assert not of_handoffs & metrics_of["own"].keys()


def test_built_in_protocols_declare_what_their_metrics_need() -> None:
    declared = {
        declaration.name: hosts.measures(
            Scenario.load(SCENARIOS / "first.yaml", [f"protocol={{name: {declaration.name}}}"])
        )
        for declaration in CATALOGUE
    }
    assert declared == {
        "mobile_causal": ["handoffs", "recovered", "skipped", "lists"],
        "tcp_flooding": ["handoffs"],
        "beacon": [],
    }


@pytest.mark.parametrize(
    ("name", "has"),
    [("vcube/reliable", {"detector_messages", "suspicions", "broadcasts_complete"}), ("vcube/causal", set()),
     ("own_protocol/ring", set()), ("vcube/bundling", {"detector_messages", "suspicions", "broadcasts_complete"})],
)  # fmt: skip
def test_processes_without_a_detector_have_no_detector_metrics(name: str, has: set[str], tmp_path: Path) -> None:
    few = ["processes=16"] if name.endswith(("causal", "bundling")) else []
    run = mobilenet.run(SCENARIOS / f"{name}.yaml", overrides=few, out=tmp_path / "run", allow_code=True)
    mentioned = {"detector_messages", "suspicions", "suspicions_taken_back", "broadcasts_complete"}
    assert run.metrics.keys() & mentioned == has | ({"suspicions_taken_back"} if has else set())

"""Tests of the counts behind figures about single processes and messages. The expected values are computed by hand or
by separate code.
"""

from __future__ import annotations

import pytest

from mobilenet.engine.clock import SECOND
from mobilenet.lab.studies.papers.jobs import Job, perform
from mobilenet.lab.studies.papers.watch import dependencies, latencies, observe, pending, wait_count
from mobilenet.protocols.vcube.port import MessageId


def test_dependencies_count_sources_delivered_since_a_broadcast() -> None:
    script = [
        ("p0", "broadcast", "p0:0"),
        ("p0", "deliver", "p0:0"),
        ("p1", "deliver", "p0:0"),
        ("p1", "broadcast", "p1:0"),
        ("p1", "deliver", "p1:0"),
        ("p2", "deliver", "p0:0"),
        ("p2", "deliver", "p1:0"),
        ("p2", "broadcast", "p2:0"),
        ("p2", "deliver", "p2:0"),
        ("p0", "broadcast", "p0:1"),
        ("p2", "deliver", "p0:1"),
        ("p2", "broadcast", "p2:1"),
    ]
    node, event, message = map(list, zip(*script, strict=True))
    assert dependencies({"node": node, "event": event, "message": message}) == [0, 1, 2, 0, 1]


def test_pending_is_the_maximum_per_process() -> None:
    samples = {
        "node": ["p0", "p2", "p0", "p2"],
        "quantity": ["pending", "pending", "pending", "other"],
        "value": [1.0, 3.0, 0.0, 9.0],
    }
    assert pending(samples, 3) == [1, 0, 3]


@pytest.mark.parametrize("seed", range(3))
def test_watching_a_run_does_not_change_it(seed: int) -> None:
    changes = ("processes=32", f"seed={seed}", "workload.messages=2", "record.buffers=true")
    job = Job((), "causal.yaml", changes)
    plain, watched = perform(job), observe(job)
    assert plain == {name: watched[name] for name in plain}
    sizes = {int(size) for size in watched["counters"]["messages"]["packets_by_messages"]}
    assert max(watched["company"]) == max(sizes)
    assert max(watched["pending"]) == watched["metrics"]["pending_max"]
    assert len(watched["dependencies"]) == watched["metrics"]["broadcasts"]


@pytest.mark.parametrize("seed", range(3))
def test_dependencies_match_the_clock_entries_in_the_packets(seed: int) -> None:
    """Without aggregation, a packet contains one message. The size of the packet shows how many entries its clock has,
    because each entry takes 4 bytes, including the sender's own entry.
    """
    result = observe(Job((), "causal.yaml", ("processes=16", f"seed={seed}", "protocol.aggregate=false")))
    header, body, entry = 20, 50, 4
    sent = sum((header + body + entry * (1 + count)) * 15 for count in result["dependencies"])
    assert sent == result["metrics"]["message_bytes"]


def test_held_messages_and_latencies_match_a_hand_count() -> None:
    one, two = MessageId(0, 0), MessageId(1, 0)
    handed_up = {(0, one): 0, (1, two): SECOND, (1, one): 4 * SECOND, (2, one): 4 * SECOND, (2, two): 4 * SECOND}
    # The last entry is a message that returns to its source.
    came = {(1, one): 3 * SECOND, (2, one): 4 * SECOND, (2, two): 2 * SECOND, (0, one): SECOND}
    assert wait_count(came, handed_up) == 2
    assert latencies([(2, one), (2, two)], came, handed_up) == [2.5, 3.5]


@pytest.mark.parametrize("mode", ["per_source", "single"])
def test_held_messages_explain_the_latency_difference(mode: str) -> None:
    changes = ("processes=32", "workload.messages=2", "record.buffers=true", f"protocol.trees={mode}")
    result = observe(Job((), "causal.yaml", changes))
    held = result["metrics"]["delivery_latency_mean"] - result["metrics"]["reception_latency_mean"]
    assert (held > 1e-9) is (result["delayed"] > 0) and held > -1e-9


def test_aggregation_does_not_change_deliveries_on_fixed_links() -> None:
    changes = ("processes=32", "workload.messages=3", "network.fixed_delays=true", "network.queue=0")
    result = observe(Job((), "causal.yaml", changes, ("protocol.aggregate=false",)))
    received, delivered, received_plain, delivered_plain = result["pairs"]
    assert received_plain < received <= delivered == pytest.approx(delivered_plain, rel=1e-12)

"""What the figures on single processes and messages count, by hand and beside other counts of the same runs."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from mobilenet.viz.figures.papers import FIGURES, paper_figures

from mobilenet.engine.clock import SECOND
from mobilenet.lab.studies.papers import bundling, causal
from mobilenet.lab.studies.papers.jobs import Job, perform
from mobilenet.lab.studies.papers.watch import dependencies, latencies, pending, wait_count
from mobilenet.protocols.vcube.port import MessageId


def test_dependencies_are_sources_delivered_since_the_last_broadcast() -> None:
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
    assert dependencies({"node": node, "event": event, "message": message}) == {0: 2, 1: 2, 2: 1}


def test_pending_is_the_most_of_each_process() -> None:
    samples = {
        "node": ["p0", "p2", "p0", "p2"],
        "quantity": ["pending", "pending", "pending", "other"],
        "value": [1.0, 3.0, 0.0, 9.0],
    }
    assert pending(samples, 3) == [1, 0, 3]


@pytest.mark.parametrize("seed", range(3))
def test_a_watched_run_is_the_same_run(seed: int) -> None:
    changes = ("processes=32", f"seed={seed}", "workload.messages=2", "record.buffers=true")
    plain, watched = (perform(Job((), "causal.yaml", changes, is_watched)) for is_watched in (False, True))
    assert plain.watched is None and watched.watched is not None
    assert (plain.metrics, plain.counters, plain.answer) == (watched.metrics, watched.counters, watched.answer)
    sizes = {int(size) for size in watched.counters["messages"]["packets_by_messages"]}
    assert max(watched.watched["company"]) == max(sizes)
    assert max(watched.watched["pending"]) == watched.metrics["pending_max"]
    assert sum(number for _, number in watched.watched["dependencies"]) == watched.metrics["broadcasts"]


@pytest.mark.parametrize("seed", range(3))
def test_dependencies_are_the_entries_that_were_sent(seed: int) -> None:
    """Without aggregation a packet is a message, and its bytes tell the entries of its clock: 4 each, its own
    included.
    """
    result = perform(Job((), "causal.yaml", ("processes=16", f"seed={seed}", "protocol.aggregate=false"), True))
    header, body, entry = 20, 50, 4
    dependencies: Any = result.watched["dependencies"]  # type: ignore[index]
    sent = sum(number * (header + body + entry * (1 + count)) * 15 for count, number in dependencies)
    assert sent == result.metrics["message_bytes"]


def test_delayed_and_latencies_by_hand() -> None:
    one, two = MessageId(0, 0), MessageId(1, 0)
    handed_up = {(0, one): 0, (1, two): SECOND, (1, one): 4 * SECOND, (2, one): 4 * SECOND, (2, two): 4 * SECOND}
    # the last comes back to its source
    came = {(1, one): 3 * SECOND, (2, one): 4 * SECOND, (2, two): 2 * SECOND, (0, one): SECOND}
    assert wait_count(came, handed_up) == 2
    assert latencies([(2, one), (2, two)], came, handed_up) == [2.5, 3.5]


@pytest.mark.parametrize("mode", ["per_source", "single"])
def test_what_is_delayed_makes_the_difference_of_the_means(mode: str) -> None:
    changes = ("processes=32", "workload.messages=2", "record.buffers=true", f"protocol.trees={mode}")
    result = perform(Job((), "causal.yaml", changes, True))
    assert result.watched is not None
    held = result.metrics["delivery_latency_mean"] - result.metrics["reception_latency_mean"]
    assert (held > 1e-9) is (result.watched["delayed"] > 0) and held > -1e-9


def test_pairs_with_fixed_delays_are_delivered_at_the_same_instants() -> None:
    changes = ("processes=32", "workload.messages=3", "network.fixed_delays=true", "network.queue=0")
    result = perform(Job((), "causal.yaml", changes, True, ("protocol.aggregate=false",)))
    assert result.watched is not None
    received, delivered, received_plain, delivered_plain = result.watched["pairs"]
    assert received_plain < received <= delivered == pytest.approx(delivered_plain, rel=1e-12)


@pytest.mark.long
def test_packets_of_p0_are_all_that_it_sent(tmp_path: Path) -> None:
    bundling.reproduce(tmp_path, 8, 8, 1, lambda _: None)
    packets = pd.read_csv(tmp_path / "bundling_packets.csv")
    table = pd.read_csv(tmp_path / "bundling.csv")
    for name, rows in packets.groupby("configuration"):
        whole = table[
            (table.configuration == name) & (table.scenario == "fault-free") & (table.quantity == "messages")
        ].ours.astype(float)
        assert len(rows) == whole.item() / 8  # every process is as good as another
        # of each broadcast p0 hands on or acknowledges, in all as often as all others
        assert rows.messages.sum() == 2 * 7
    assert {path.stem for path in paper_figures("bundling", tmp_path)} == {
        f"bundling_{name}" for name in FIGURES["bundling"]
    }


@pytest.mark.long
def test_a_number_of_processes_alone_that_is_larger_than_the_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(causal, "DEPENDING", 8)
    rows = causal.reproduce(tmp_path, 16, 16, 1, lambda _: None)
    assert {row["size"] for row in rows if row["table"] == "6"} == {16}


@pytest.mark.long
def test_counts_of_the_causal_figures(tmp_path: Path) -> None:
    rows = causal.reproduce(tmp_path, 16, 16, 1, lambda _: None)
    spread = pd.read_csv(tmp_path / "causal_distributions.csv")
    for _, own in spread.groupby(["figure", "mode"]):
        assert own["count"].sum() == pytest.approx(16)
    assert Counter(spread.figure) == {
        6: (spread.figure == 6).sum(),
        9: (spread.figure == 9).sum(),
        10: (spread.figure == 10).sum(),
    }
    none = spread[(spread.figure == 6) & (spread.value == 0)]["count"].item()
    (percentage,) = (row["ours"] for row in rows if row["quantity"] == "messages_of_0_dependencies_percent")
    assert float(percentage.split()[0]) == pytest.approx(100 * none / 16, rel=1e-4)
    assert {path.stem for path in paper_figures("causal", tmp_path)} == {f"causal_{name}" for name in FIGURES["causal"]}

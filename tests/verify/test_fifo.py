"""Tests that FIFO order and delivery to all are judged if and only if a protocol promises them."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

import mobilenet
from mobilenet.lab.hunt.swarm import campaign
from mobilenet.parameters import ScenarioError
from mobilenet.verify import verify_run
from mobilenet.verify.broadcasts.fifo import fifo_problem
from tests.conftest import SCENARIOS

FOLDER = SCENARIOS / "own_protocol"
SMALL = ("duration_s=20", "hosts.count=8")


def record(*rows: str) -> dict[str, list[Any]]:
    """Return a record of events, one second apart, from lines such as `h1 broadcast h1:0`."""
    parts = [(*row.split(), None)[:3] for row in rows]
    return {
        "time_ns": [10**9 * row for row in range(len(rows))],
        "node": [part[0] for part in parts],
        "event": [part[1] for part in parts],
        "message": [part[2] for part in parts],
    }


BEGIN = ("h1 join", "h2 join", "h1 broadcast h1:0", "h1 broadcast h1:1", "h1 broadcast h1:2")


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_the_fifo_check_finds_overtaking_of_one_sender(order: tuple[int, ...]) -> None:
    problem = fifo_problem(record(*BEGIN, *(f"h2 deliver h1:{number}" for number in order)), True)
    assert (problem is None) == (order == (0, 1, 2))
    relaxed = fifo_problem(record(*BEGIN, *(f"h2 deliver h1:{number}" for number in order)), False)
    assert (relaxed is None) == (order == (0, 1, 2))


@pytest.mark.parametrize("some", [(0, 2), (1, 2), (2,), (1,)])
def test_a_fifo_gap_is_a_violation_only_if_every_message_is_due(some: tuple[int, ...]) -> None:
    events = record(*BEGIN, *(f"h2 deliver h1:{number}" for number in some))
    assert fifo_problem(events, False) is None
    missing = next(number for number in range(3) if number not in some)
    assert f"overtook h1:{missing} at h2" in str(fifo_problem(events, True))


def test_late_joiners_do_not_need_older_messages_in_fifo_order() -> None:
    late = (*BEGIN, "h3 join", "h1 broadcast h1:3", "h3 deliver h1:3")
    assert fifo_problem(record(*late), True) is None
    assert "h1:3 overtook h1:1 at h3" in str(fifo_problem(record(*late, "h3 deliver h1:1"), True))


def test_fifo_order_allows_overtaking_between_senders() -> None:
    events = record(
        "h1 join", "h2 join", "h1 broadcast h1:0", "h2 broadcast h2:0", "h1 deliver h2:0", "h1 deliver h1:0"
    )
    assert fifo_problem(events, True) is None


def with_promise(folder: Path, declared: str, source: str = "") -> Path:
    """Copy the gossip plug-in and change what it declares."""
    text = source or (FOLDER / "gossip.py").read_text(encoding="utf-8")
    (folder / "gossip.py").write_text(text.replace('promises = "best_effort"', declared), encoding="utf-8")
    scenario = folder / "gossip.yaml"
    text = (FOLDER / "gossip.yaml").read_text(encoding="utf-8").replace("promises: best_effort, ", "")
    scenario.write_text(text, encoding="utf-8")
    return scenario


BASE = ["record", "creation", "duplication", "membership"]
END = ["drained"]


@pytest.mark.parametrize(
    ("declared", "judged"),
    [
        ('promises = "best_effort"', []),
        ('promises = "fifo"', ["fifo_order"]),
        ('promises = "causal"', ["causal_order", "gaps", "delivery"]),
        ('promises, delivers_to_all = "best_effort", True', ["gaps", "delivery"]),
        ('promises, delivers_to_all = "fifo", True', ["fifo_order", "gaps", "delivery"]),
        ('promises, delivers_to_all = "causal", False', ["causal_order"]),
    ],
)
def test_only_the_promised_properties_are_judged(declared: str, judged: list[str], tmp_path: Path) -> None:
    run = mobilenet.run(with_promise(tmp_path, declared), out=tmp_path / "run", overrides=SMALL, allow_code=True)
    assert list(run.verdicts) == [*BASE, *judged, *END]
    assert verify_run(run.path) == run.verdicts


def test_malformed_promises_of_a_class_are_rejected(tmp_path: Path) -> None:
    for declared, complaint in (
        ('promises = "total"', "promises is 'total', expected causal, fifo or best_effort"),
        ("delivers_to_all = 'yes'", "delivers_to_all is 'yes', expected True, False or None"),
    ):
        with pytest.raises(ScenarioError, match=complaint):
            mobilenet.run(with_promise(tmp_path, declared), out=tmp_path / "run", allow_code=True)


def test_the_swarm_finds_a_protocol_that_breaks_fifo(tmp_path: Path) -> None:
    """With random waits, messages of the gossip plug-in can overtake each other."""
    with_promise(tmp_path, 'promises = "fifo"')
    protocol = f"{tmp_path / 'gossip.py'}:Gossip"
    answers = set()
    for seed in range(1, 6):
        directory = tmp_path / str(seed)
        directory.mkdir()
        campaign.record(seed, directory, protocol=protocol, whole=True)
        answers.add(verify_run(directory)["fifo_order"].answer)
    assert "violated" in answers

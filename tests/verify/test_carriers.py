"""Tests that the verifier catches dishonest plug-ins. Some plug-ins invent handoffs. In others, nodes share data
without sending messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import mobilenet
from mobilenet.record.table import Table
from mobilenet.verify.carriers import _by_hops, _Hops
from tests.conftest import SCENARIOS

FOLDER = SCENARIOS / "own_protocol"
HONEST = "        self.on_receive(self.port.me, rumour)\n"
# The other hosts deliver the message a second later without having received any frame.
CHEATS = f"""{HONEST}        for other in HOSTS:
            other.later(1.0, lambda host=other: host.on_receive(0, rumour))
"""
RECORDS = ("", "record.frames=true", "record.messages=true", "record.messages=false")
GLOBAL = "HOSTS = []\n\n\nclass Host(BaseHost):\n    def __init__(self, *parts):\n        super().__init__(*parts)\n"
GLOBAL += "        HOSTS.append(self)\n\n"


def play(folder: Path, name: str, source: str, *changes: str) -> mobilenet.Run:
    """Run a shipped scenario with modified source code of its plug-in."""
    (folder / f"{name}.py").write_text(source, encoding="utf-8")
    (folder / f"{name}.yaml").write_text((FOLDER / f"{name}.yaml").read_text(encoding="utf-8"), encoding="utf-8")
    return mobilenet.run(folder / f"{name}.yaml", out=folder / "run", overrides=changes, allow_code=True)


def with_change(name: str, old: str, new: str) -> str:
    source = (FOLDER / f"{name}.py").read_text(encoding="utf-8")
    assert old in source
    return source.replace(old, new)


@pytest.mark.parametrize("cheats", [False, True])
@pytest.mark.parametrize("record", RECORDS)
def test_delivering_a_message_that_never_arrived_is_a_violation(record: str, cheats: bool, tmp_path: Path) -> None:
    source = with_change("gossip", HONEST, CHEATS if cheats else HONEST)
    if cheats:
        source = source.replace("class Host(BaseHost):\n", GLOBAL)
    changes = ["duration_s=6", f"wireless.loss={1.0 if cheats else 0.3}", *([record] if record else [])]
    run = play(tmp_path, "gossip", source, *changes)
    verdict = run.verdicts["creation"]
    assert (verdict.answer == "violated") == cheats, verdict
    assert not cheats or "received" in verdict.explanation


@pytest.mark.parametrize("record", RECORDS[:3])
def test_a_handoff_without_any_message_is_a_violation(record: str, tmp_path: Path) -> None:
    handoff = """class Host(BaseHost):
    def on_cell(self, cell):
        super().on_cell(cell)
        if cell is not None and self.stable.member:
            self.stable.session += 1
            self.port.session_opened(self.stable.session, cell, "cell")
            self.port.session_confirmed(self.stable.session, cell, {"recovered": 5})

"""
    source = with_change("gossip", "class Host(BaseHost):\n", handoff)
    changes = ["hosts.mobility.speed_mps=15", "duration_s=10", *([record] if record else [])]
    verdict = play(tmp_path, "gossip", source, *changes).verdicts["creation"]
    assert verdict.answer == "violated" and "ends a handoff" in verdict.explanation


def test_a_gap_in_a_session_that_never_began_is_a_violation(tmp_path: Path) -> None:
    source = with_change("gossip", HONEST, f"{HONEST}        self.port.gap(5, 0)\n")
    verdict = play(tmp_path, "gossip", source, "duration_s=6").verdicts["creation"]
    assert verdict.answer == "violated" and "in session 5, which it never began" in verdict.explanation


DEAF = {
    "join": ("", "h0 never joins, although it is asked at 3.000000 s to join"),
    "leave": ("    def is_out(self):\n        return True\n\n", "h0 joins (event 2) and does not leave again"),
}


@pytest.mark.parametrize("wish", DEAF)
@pytest.mark.parametrize("is_covered", [True, False])
def test_a_host_that_ignores_a_join_or_leave_fails_verification(wish: str, is_covered: bool, tmp_path: Path) -> None:
    method, words = DEAF[wish]
    deaf = f"    def {wish}(self):\n        if self.port.me:\n            super().{wish}()\n\n"
    source = with_change("gossip", "class Host(BaseHost):\n", f"class Host(BaseHost):\n{deaf}{method}")
    area = [0, 0, 50, 50] if is_covered else [500, 500, 510, 510]
    changes = [
        "duration_s=6",
        "hosts.count=2",
        "workload.interval_s=1",
        f"hosts.mobility={{model: static, area: {{box_m: {area}}}}}",
        f"churn={{changes: [{{host: h0, at_s: 3, kind: {wish}}}]}}",
    ]
    verdict = play(tmp_path, "gossip", source, *changes).verdicts["membership"]
    assert verdict.answer == "unknown" and (words in verdict.explanation) == is_covered, verdict


SLOW = {
    "join": """    wants = False

    def join(self):
        self.wants = True
        self.later(1.0, self.become)

    def become(self):
        if self.wants:
            super().join()

    def leave(self):
        self.wants = False
        return super().leave()

""",
    "leave": """    busy = False

    def leave(self):
        self.busy = super().leave()
        self.later(1.0, self.rest)

    def rest(self):
        self.busy = False

    def is_out(self):
        return not self.busy and super().is_out()

""",
}


@pytest.mark.parametrize("slow", SLOW)
def test_a_host_receives_a_join_or_leave_during_another_one(slow: str, tmp_path: Path) -> None:
    source = with_change("gossip", "class Host(BaseHost):\n", f"class Host(BaseHost):\n{SLOW[slow]}")
    wishes = ("join", "leave") if slow == "join" else ("leave", "join")
    changes = [f"{{host: h0, at_s: {3 + 0.5 * i}, kind: {wish}}}" for i, wish in enumerate(wishes)]
    churn = f"churn={{changes: [{', '.join(changes)}]}}"
    run = play(tmp_path, "gossip", source, "duration_s=6", "workload.interval_s=1", churn)
    assert run.verdicts["membership"].answer == "valid", run.verdicts
    own = run.events[(run.events.node == "h0") & run.events.event.isin(["join", "leave"])]
    assert list(own.event) == ([] if slow == "join" else ["join", "leave", "join"])


@pytest.mark.parametrize(
    ("record", "words"),
    [
        ((), "had received no message that was sent after"),
        (("record.causes=false",), "the shortest hop takes 1100000000 ns"),
    ],
)
def test_delivering_a_message_before_it_arrives_is_a_violation(
    record: Sequence[str], words: str, tmp_path: Path
) -> None:
    """The broadcasting process calls the other processes directly, and they deliver the message at once. They ignore
    messages in transit.
    """
    ends = """        self.port.send(self.next, Hop(message))
        for other in RINGS if message.source == self.port.me else ():
            if other is not self:
                other.hand_on(message)
"""
    source = with_change("ring", "        self.port.send(self.next, Hop(message))\n", ends)
    source = source.replace("        self.port = port\n", "        self.port = port\n        RINGS.append(self)\n")
    source = source.replace("if hop.id.source != self.port.me:", "if False:")
    source = source.replace("class Ring:\n", "RINGS: list = []\n\n\nclass Ring:\n")
    verdict = play(tmp_path, "ring", source, *record).verdicts["creation"]
    assert verdict.answer == "violated" and words in verdict.explanation


@pytest.mark.parametrize("is_linked", [True, False])
def test_a_message_can_cross_several_hops_in_one_nanosecond(is_linked: bool) -> None:
    """h0 broadcasts a message, s0 and s1 forward it within the same nanosecond, and h1 delivers it. The rows may be in
    any order.
    """
    events = {
        "time_ns": [5, 5], "event": ["broadcast", "deliver"], "node": ["h0", "h1"], "message": ["h0:0", "h0:0"],
    }  # fmt: skip
    hops = [("s1", "h1"), ("s0", "s1" if is_linked else "s2"), ("h0", "s0")]
    at_ns = np.full(len(hops), 5)
    run = SimpleNamespace(events=Table.of(events), tables={"messages": None})
    problem = _by_hops(run, _Hops(at_ns, at_ns, *map(list, zip(*hops, strict=True))))  # type: ignore[arg-type]
    assert (problem is None) == is_linked

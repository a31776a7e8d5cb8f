"""Tests that errors in a plug-in's class are reported before the run begins, in one line with file and line number."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import mobilenet
from mobilenet.parameters import ScenarioError
from tests.conftest import SCENARIOS

FOLDER = SCENARIOS / "own_protocol"


def edit(folder: Path, name: str, old: str, new: str) -> Path:
    """Copy a shipped example and replace a part of its class."""
    source = (FOLDER / f"{name}.py").read_text(encoding="utf-8")
    assert old in source
    (folder / f"{name}.py").write_text(source.replace(old, new), encoding="utf-8")
    scenario = folder / f"{name}.yaml"
    scenario.write_text((FOLDER / f"{name}.yaml").read_text(encoding="utf-8"), encoding="utf-8")
    return scenario


def refusal(scenario: Path, *changes: str) -> str:
    with pytest.raises(ScenarioError) as caught:
        mobilenet.run(scenario, out=scenario.with_name("run"), overrides=changes, allow_code=True)
    assert not scenario.with_name("run").exists() and "\n" not in str(caught.value)
    return str(caught.value)


BUFFERS = 'BUFFERS = ("pending",)'
SILENT = "type('Silent', (), {'__repr__': lambda value: 1 / 0})()"
SIZES = "    def buffer_sizes(self) -> tuple[int, ...]:\n        return (len(self.pending),)\n"


@pytest.mark.parametrize(
    ("old", "new"),
    [(BUFFERS, "BUFFERS = ()"), (f"    {BUFFERS}\n", "")],
)
@pytest.mark.parametrize("keeps_sizes", [True, False])
def test_a_broadcast_without_buffers_is_valid(old: str, new: str, keeps_sizes: bool, tmp_path: Path) -> None:
    scenario = edit(tmp_path, "ring", old, new)
    source = (tmp_path / "ring.py").read_text(encoding="utf-8")
    assert SIZES in source
    (tmp_path / "ring.py").write_text(
        source.replace(SIZES, SIZES.replace("(len(self.pending),)", "()") if keeps_sizes else "")
    )
    run = mobilenet.run(scenario, out=tmp_path / "run", allow_code=True)
    assert run.verdict == "valid" and run.metrics["deliveries"] == 16 * 16 * 3
    assert run.manifest["buffers"] == []


def test_a_scenario_lists_only_buffers_that_its_class_declares(tmp_path: Path) -> None:
    scenario = edit(tmp_path, "ring", BUFFERS, "BUFFERS = ()")
    assert "protocol.buffers: ring.py:Ring has the buffers []" in refusal(scenario, "protocol.buffers=[pending]")


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        (
            BUFFERS,
            'BUFFERS = "pending"',
            r"BUFFERS is 'pending', expected a tuple of names, such as \(\"pending\",\), or",
        ),
        (BUFFERS, "BUFFERS = (3,)", r"BUFFERS is \(3,\), expected a tuple of names"),
        (BUFFERS, f"BUFFERS = {SILENT}", r"BUFFERS is a value of the class Silent whose repr\(\) fails, expected"),
        (BUFFERS, 'BUFFERS = ("a", "a")', "BUFFERS is .*, expected different names"),
        (SIZES, "", r"Ring has BUFFERS, but no buffer_sizes\(\)"),
        ("def on_receive(", "def on_recieve(", r"Ring has no on_receive\(sender, message\)"),
        ("def on_crash(", "def on_krash(", r"Ring has no on_crash\(process\)"),
        ("def on_up(", "def on_upp(", r"Ring has no on_up\(process\)"),
        ("def on_up(self, process: int)", "def on_up(self)", r"Ring.on_up takes \(\), but is called with \(process\)"),
        ("def broadcast(self, body: object)", "def broadcast(self)", r"Ring.broadcast takes \(\), but .*\(body\)"),
        (", settings: object)", f", *, one={SILENT})", r"Ring takes \(.*, n: int, one\), but"),
        (", settings: object)", ")", r"Ring takes \(port: .*, n: int\), but is called with \(port, n, settings\)"),
        (BUFFERS, BUFFERS + '\n    needs = ("connections",)', "needs is for protocols with hosts and stations"),
        (
            BUFFERS,
            BUFFERS + '\n    promises = "fifo"',
            "promises is for .*; a broadcast among processes declares `order` and `delivers`",
        ),
    ],
)
def test_an_unusable_broadcast_class_is_rejected(old: str, new: str, complaint: str, tmp_path: Path) -> None:
    assert re.match(rf"protocol.class: {tmp_path}/ring.py:\d+: {complaint}", refusal(edit(tmp_path, "ring", old, new)))


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        (
            "self.port.send(self.next, Hop",
            "self.port.send(99, Hop",
            "send: process 99 does not exist; there are 16",
        ),
        ("self.port.send(self.next, Hop", "self.port.send('p1', Hop", "send: process 'p1' does not exist"),
        ("self.port.deliver(message", "self.port.deliver(7", "deliver: the message is 7, expected a MessageId"),
    ],
)
def test_values_passed_on_by_a_broadcast_are_validated(old: str, new: str, complaint: str, tmp_path: Path) -> None:
    scenario = edit(tmp_path, "ring", old, new)
    with pytest.raises(ScenarioError, match=rf"ring.py:\d+: ValueError: {complaint}"):
        mobilenet.run(scenario, out=tmp_path / "run", allow_code=True)


HOST = "class Host(BaseHost):"


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        (HOST, HOST + "\n    BUFFERS = 'a'", "BUFFERS is 'a', expected a tuple of names"),
        (HOST, HOST + "\n    BUFFERS = ('a',)", r"Host has BUFFERS, but no buffer_sizes\(\)"),
        (HOST, HOST + "\n    STABLE_BUFFERS = ('a',)", "STABLE_BUFFERS names 'a', which is not in BUFFERS"),
        (HOST, HOST + "\n    join = None", r"Host has no join\(\)"),
        (HOST, "class Host:", r"Host takes \(\), but is called with \(port, stable, settings, stations\)"),
        ("def spread(", "def spred(", r"Host has no spread\(message, body\)"),
        ("def on_receive(self, sender", "def on_recieve(self, sender", r"Host has no on_receive\(sender, message\)"),
        ("def on_wired(", "def on_wire(", r"Station has no on_wired\(source, message\)"),
        ('    promises = "best_effort"', "    promises = 'best_effort'\n    buffers = 'a'", "buffers is 'a', expected"),
    ],
)
def test_unusable_host_and_station_classes_are_rejected(old: str, new: str, complaint: str, tmp_path: Path) -> None:
    assert re.match(
        rf"protocol.class: {tmp_path}/gossip.py:\d+: {complaint}", refusal(edit(tmp_path, "gossip", old, new))
    )

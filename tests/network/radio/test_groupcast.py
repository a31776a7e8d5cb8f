"""Tests of groupcast with unsolicited retries. They use traces computed by hand, exact probabilities, and a faulty MAC
that passes duplicates up.

The radio is 802.11b at 1 Mb/s, as in test_mac.py: a slot is 20 us and DIFS 50 us. 100 bytes of payload last 1504 us.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import mobilenet
from mobilenet.engine.random_streams import Stream
from mobilenet.network.radio.framing import Framing
from mobilenet.network.wireless import WirelessParameters
from mobilenet.parameters import ScenarioError
from mobilenet.record.reader import read_json
from mobilenet.verify import verify_run
from mobilenet.verify.judge import overall
from tests.conftest import ROOT, SCENARIOS

from .air import Air, Node

FRAME, DIFS, SLOT = 1504.0, 50, 20
HOP = 0.334  # 100 m
GROUPCAST = "wireless.groupcast=unsolicited_retry"


def station(air: Air, x_m: float, *slots: int, group_retries: int) -> Node:
    node = air.node(x_m, *slots, group_retries=group_retries)
    node.transceiver.is_station = True
    return node


def test_each_copy_waits_for_difs_and_a_new_back_off() -> None:
    air = Air()
    a, b = station(air, 0, 0, 3, 5, group_retries=2), air.node(100)
    a.send_at_us(1000, "A")
    air.run_us(9000)
    second = 1000 + FRAME + DIFS + 3 * SLOT
    third = second + FRAME + DIFS + 5 * SLOT
    assert [start for start, _ in air.starts] == [1000, second, third]
    assert a.sent == [(pytest.approx(third + FRAME + HOP), "A")]  # The copies are reported only once.
    assert [name for _, name in b.received] == ["A"] and b.received[0][0] < second
    assert air.outcomes("A") == {"n1": "received"} and len(air.log) == 3
    assert air.medium.group_retries == 2 and air.medium.retries == 0


def test_all_copies_of_a_frame_leave_before_the_next_one() -> None:
    air = Air()
    a, b, c = station(air, 0, 0, 4, 0, 4, group_retries=1), air.node(50), air.node(100, 1)
    a.send_at_us(0, "A")
    a.send_at_us(0, "B")
    c.send_at_us(100, "C")
    air.run_us(20_000)
    assert [name for _, name in air.starts] == ["A", "C", "A", "B", "B"]
    assert [name for _, name in b.received] == ["A", "C", "B"]


@pytest.mark.parametrize("what", ["a host's frame", "no data", "a unicast frame", "none"])
def test_only_group_frames_sent_by_stations_are_repeated(what: str) -> None:
    air = Air()
    a = station(air, 0, group_retries=0 if what == "none" else 3)
    a.transceiver.is_station = what != "a host's frame"
    b = air.node(100)
    a.send("A", 0 if what == "no data" else 100, to=b if what == "a unicast frame" else None)
    air.run_us(20_000)
    assert [name for _, name in air.starts] == ["A"] and air.medium.group_retries == 0


def test_a_unicast_frame_can_be_sent_between_two_group_frames() -> None:
    air = Air()
    a, b = station(air, 0, group_retries=1), air.node(100)
    a.send_at_us(0, "A")
    a.unicast_at_ns(0, "U", b)
    a.send_at_us(0, "B")
    air.run_us(20_000)
    assert [name for _, name in b.received] == ["A", "U", "B"]


def test_a_recovered_host_accepts_a_copy_as_a_new_frame() -> None:
    air = Air()
    a, b = station(air, 0, group_retries=1), air.node(100)
    a.send_at_us(0, "A")
    air.at_us(FRAME + 10, b.mac.reset)
    air.run_us(20_000)
    assert [name for _, name in b.received] == ["A", "A"]  # In a run, a crash also clears the state of the host.


@pytest.mark.parametrize("retries", [0, 1, 3])
def test_repeated_group_frames_are_lost_independently(retries: int) -> None:
    """Of the n frames, a receiver should receive a fraction of 1 - loss ** (1 + retries), and count each one once. The
    tolerance is 5 sigma.
    """
    loss, frames = 0.5, 2000
    air = Air(loss=loss)
    a, b = station(air, 0, group_retries=retries), air.node(100)
    b.transceiver.loss_draws = Stream(7, "loss", "n1")
    for i in range(frames):
        a.send_at_us(i * 20_000, f"A{i}")
    air.run_us(frames * 20_000)
    share = 1 - loss ** (1 + retries)
    assert abs(len(b.received) - frames * share) < 5 * math.sqrt(frames * share * (1 - share)) + 1e-9
    assert len({name for _, name in b.received}) == len(b.received)
    assert len(air.starts) == frames * (1 + retries)


def test_group_frames_with_retries_are_qos_frames() -> None:
    plain, repeated = (Framing(WirelessParameters(groupcast=value)) for value in ("none", "unsolicited_retry"))
    for way in ("datagram", "segment", "acknowledged_datagram"):
        assert getattr(repeated, way)(100)[0] == getattr(plain, way)(100)[0] + 2


@pytest.mark.parametrize(
    "override", ["wireless.group_retries=2", "wireless={mac: acking, groupcast: unsolicited_retry}"]
)
def test_groupcast_keys_without_effect_are_rejected(override: str) -> None:
    with pytest.raises(ScenarioError, match="has no effect with"):
        mobilenet.run(SCENARIOS / "first.yaml", overrides=[override])


@pytest.mark.parametrize("repair", ["none", "selective"])
@pytest.mark.parametrize("radio", ["{loss: 0.3, groupcast: unsolicited_retry, group_retries: 2}", "sinr"])
def test_counters_include_repetitions_of_group_frames(repair: str, radio: str, tmp_path: Path) -> None:
    fading = "{model: sinr, fading: {model: nakagami}, groupcast: unsolicited_retry, group_retries: 2}"
    records = ["record.messages=true", "record.frames=true"]
    wireless = f"wireless={fading if radio == 'sinr' else radio}"
    mobilenet.run(
        SCENARIOS / "first.yaml", out=tmp_path / "run",
        overrides=[wireless, f"protocol.repair={repair}", *records],
    )  # fmt: skip
    assert overall(verify_run(tmp_path / "run")) == "valid"
    counters = read_json(tmp_path / "run", "counters.json")
    copies, of_one = counters["by_message_type"]["station"]["AppSh"]["count"], 3
    assert counters["radio"]["mac_group_retries"] == copies * (of_one - 1) // of_one


WITHOUT_FILTER = """
import sys, mobilenet
from mobilenet.network.radio.dcf import Dcf
Dcf.is_new = lambda self, frame: True
mobilenet.run(sys.argv[1], out=sys.argv[2], overrides=sys.argv[3:], allow_code=True)
"""


@pytest.mark.parametrize("is_broken", [False, True])
def test_a_mac_that_delivers_duplicates_is_detected(is_broken: bool, tmp_path: Path) -> None:
    """The mutant passes each copy up to the programs. A message is then received more often than it was sent."""
    script = WITHOUT_FILTER if is_broken else WITHOUT_FILTER.replace("Dcf.is_new", "unused")
    subprocess.run(
        [sys.executable, "-c", script, SCENARIOS / "programs" / "flood.yaml", tmp_path / "run", GROUPCAST,
         "record.messages=true", "record.programs=true", "duration_s=10", "wireless.loss=0.2"],
        env=os.environ | {"MOBILENET_COMPILED": "0"}, cwd=ROOT, check=True,
    )  # fmt: skip
    lines = mobilenet.load(tmp_path / "run").lines
    sent, received = Counter[str](), Counter[tuple[str, str]]()
    for node, is_output, line in zip(lines.node, lines.said, map(json.loads, lines.line), strict=True):
        message = json.dumps(line.get("message"))
        if is_output and line["do"] in ("send", "broadcast"):
            sent[message] += 1
        elif not is_output and line["ev"] == "receive":
            received[node, message] += 1
    assert any(count > sent[message] for (_, message), count in received.items()) == is_broken

"""Tests that hostile programs hardly affect other hosts, and that the verifier detects faults of the emulator.

Source    ours: docs/guide/real-software.md, SECURITY.md
"""

from __future__ import annotations

import os
import re
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mobilenet.lab.programs.realtime import tunnels
from mobilenet.lab.programs.realtime.applications import Applications, SentDatagram
from mobilenet.lab.programs.realtime.tunnels import Tunnels
from mobilenet.protocols.packet_relay import Packet
from mobilenet.verify import verify_run
from tests.lab.programs.namespaces.own import USUAL, WAITS, cells, output_of, play, scenario, skip_without, standing

pytestmark = USUAL
FLOOD = """
import socket, time
stream = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
end = time.monotonic() + 4
while time.monotonic() < end:
    for to in ("10.77.0.2", "10.77.0.200", "239.1.1.1"):
        try: stream.sendto(b"x" * 1400, (to, 9))
        except OSError: pass
"""
BOMB = "bomb() { bomb | bomb & }; bomb 2>/dev/null; sleep 4; true"
SIGNALS = "for n in 1 2 3; do kill -9 -1 2>/dev/null; kill -9 1; sleep 1; done; true"
HOSTS = {f"h{number}": (0 if number < 2 else 300, 5 + number) for number in range(6)}  # The hosts are in two cells.


def test_misbehaving_programs_do_not_disturb_other_cells(tmp_path: Path) -> None:
    """h0 floods its own cell and broadcasts to all cells, while h4 and h5 attack the machine."""
    skip_without("ping")
    (tmp_path / "flood.py").write_text(FLOOD)
    commands = {
        "h0": [sys.executable, "flood.py"],
        "h1": WAITS,
        "h2": "sleep 0.5; ping -c 15 -i 0.2 h3; true",
        "h3": WAITS,
        "h4": BOMB,
        "h5": SIGNALS,
    }
    hosts = standing(tmp_path, **HOSTS)
    done = play(scenario(tmp_path, commands, duration_s=6.0, stations=cells(0, 300), hosts=hosts))
    assert output_of(done, "h2").count("bytes from h3") >= 14
    assert done.verdict == "valid"


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (lambda take, name, packet: take(name, packet._replace(data=packet.data[:-1] + b"!")), "with byte"),
        (lambda take, name, packet: take("h2" if name == "h1" else name, packet), "h2"),
        (lambda take, name, one: (take(name, one), take(name, one._replace(number=one.number + 1000))), "h0:10"),
        (lambda take, name, packet: (take(name, packet), take(name, packet)), "received before"),
    ],
)
def test_an_emulator_that_corrupts_packets_is_detected(
    fault: Callable[[Any, str, Packet], object], expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The faulty emulator changes a byte in each packet, sends packets to another host, or repeats packets, either
    unchanged or with another number.
    """
    skip_without("ping")
    sound = Applications.hand_over
    monkeypatch.setattr(
        Applications, "hand_over", lambda self, name, packet: fault(lambda *what: sound(self, *what), name, packet)
    )
    commands = {"h0": "ping -c 3 -i 0.2 -W 1 h1; true", "h1": WAITS, "h2": WAITS}
    done = play(scenario(tmp_path, commands, count=3), "h0")
    verdict = verify_run(done.path)["conservation"]
    assert verdict.answer == "violated" and re.search(expected, verdict.explanation)


def _entering(change: Callable[[list[SentDatagram]], list[SentDatagram]]) -> Callable[[pytest.MonkeyPatch], None]:
    """Return a fault that changes the packets that the emulator reads from a device."""

    def plant(patch: pytest.MonkeyPatch) -> None:
        sound = Tunnels._packets_of
        patch.setattr(Tunnels, "_packets_of", lambda self, name, device: change(list(sound(self, name, device))))

    return plant


def _writing(write: Callable[[int, bytes], int]) -> Callable[[pytest.MonkeyPatch], None]:
    """Return a fault that changes the packets that the emulator writes to a device, after they were captured."""

    def plant(patch: pytest.MonkeyPatch) -> None:
        changed = types.SimpleNamespace(**{name: getattr(os, name) for name in dir(os)} | {"write": write})
        patch.setattr(tunnels, "os", changed)

    return plant


def _damage(data: bytes) -> bytes:
    return data[:-1] + bytes([data[-1] ^ 1])


@pytest.mark.parametrize(
    ("plant", "expected"),
    [
        (_entering(lambda came: came * 2), "left h[01] through its device"),
        (_entering(lambda came: came[:-1]), "left h0 through its device"),
        (_entering(lambda came: [one._replace(data=_damage(one.data)) for one in came]), "a wrong ICMP checksum"),
        (_writing(lambda device, data: os.write(device, _damage(data))), "discarded .* with wrong checksums"),
        (_writing(lambda device, data: os.write(device, data) and os.write(device, data)), "entered h[01] through"),
    ],
)
def test_an_emulator_fault_inside_the_device_is_detected(
    plant: Callable[[pytest.MonkeyPatch], None], expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The captures at both ends agree, so only the counters and checksums of the kernel can show the fault."""
    skip_without("ping")
    plant(monkeypatch)
    done = play(scenario(tmp_path, {"h0": "ping -c 3 -i 0.2 -W 1 h1; true", "h1": WAITS}), "h0")
    verdict = verify_run(done.path)["conservation"]
    assert verdict.answer == "violated" and re.search(expected, verdict.explanation)

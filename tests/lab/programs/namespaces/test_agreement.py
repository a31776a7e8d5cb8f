"""Tests that the values measured by programs agree with the record.

Source    ours: docs/guide/real-software.md
"""

from __future__ import annotations

import json
import re
import struct
from pathlib import Path

import pytest

from mobilenet.api import Run
from mobilenet.record.pcap import packets_in
from tests.lab.programs.namespaces.own import USUAL, cells, output_of, play, scenario, skip_without, standing

pytestmark = USUAL
ICMP, UDP = 1, 17
REQUEST, REPLY = 8, 0


def _apart(folder: Path) -> dict[str, object]:
    """Place one host in each cell."""
    return {"stations": cells(0, 300, delay_ms=40), "hosts": standing(folder, h0=(5, 5), h1=(305, 5))}


def test_ping_reports_the_recorded_round_trip_times(tmp_path: Path) -> None:
    skip_without("ping")
    commands = {"h0": "sleep 0.5; ping -c 20 -i 0.2 h1; true", "h1": ["sleep", "60"]}
    done = play(scenario(tmp_path, commands, wireless={"loss": 0.2}, **_apart(tmp_path)), "h0")
    measured = {
        int(number): float(ms)
        for number, ms in re.findall(r"icmp_seq=(\d+) ttl=\d+ time=([\d.]+) ms", output_of(done, "h0"))
    }
    recorded = _round_trips_ms(done)
    assert recorded.keys() == measured.keys()
    assert len(measured) >= 15
    # The machine can only add to a time that ping measures. When busy, it adds milliseconds to most packets, but some
    # packets are still as fast as on a quiet machine. ping rounds to a tenth of a millisecond.
    added_ms = [measured[number] - recorded[number] for number in measured]
    assert -0.05 <= min(added_ms) < 0.5


def _round_trips_ms(done: Run) -> dict[int, float]:
    """Return the time from request to reply for each sequence number in the capture of h0."""
    sent_ns: dict[int, int] = {}
    round_trips_ms: dict[int, float] = {}
    for time_ns, packet in packets_in(done.path / "packets" / "h0.pcap"):
        if packet[9] == ICMP:
            kind, _, _, _, number = struct.unpack(">BBHHH", packet[20:28])
            if kind == REQUEST:
                sent_ns[number] = time_ns
            elif kind == REPLY:
                round_trips_ms[number] = (time_ns - sent_ns[number]) / 1e6
    return round_trips_ms


def test_iperf3_reports_the_recorded_losses_and_throughput(tmp_path: Path) -> None:
    """Frames are lost at random, and the hosts send more than the radio can carry."""
    skip_without("iperf3")
    commands = {"h0": ["iperf3", "-s"], "h1": "sleep 0.5; iperf3 -c h0 -u -b 9M -t 3 -J"}
    path = scenario(tmp_path, commands, duration_s=6.0, wireless={"loss": 0.3}, **_apart(tmp_path))
    done = play(path)
    seen = json.loads(output_of(done, "h1"))["end"]
    sent, received = (_numbers(done, node, "10.77.0.2") for node in ("h1", "h0"))
    assert len(received) < 0.95 * len(sent)
    lost = 1 - len(received) / max(received)  # iperf3 does not count losses after the last packet that arrived.
    assert seen["sum"]["lost_packets"] / seen["sum"]["packets"] == pytest.approx(lost, abs=0.01)
    assert seen["streams"][0]["udp"]["bytes"] == pytest.approx(sum(sent.values()), rel=0.01)


def _numbers(done: Run, node: str, source: str) -> dict[int, int]:
    """Map the number of each iperf3 packet from this source to the size of its payload."""
    address = bytes(map(int, source.split(".")))
    packets = (packet for _, packet in packets_in(done.path / "packets" / f"{node}.pcap"))
    data = (packet[28:] for packet in packets if packet[9] == UDP and packet[12:16] == address)
    # Shorter packets belong to the setup of the test.
    return {int.from_bytes(each[8:12]): len(each) for each in data if len(each) > 100}

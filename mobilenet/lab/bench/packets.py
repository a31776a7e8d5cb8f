"""Measure real software: the throughput of iperf3, the latency of ping, and the lateness of packets.

Model     All hosts are in one cell and hear each other. udp, tcp: iperf3 runs from one host to another for SECONDS.
          The throughput limit of the MAC follows from the frames: each packet is two frames at 24 Mb/s with their
          acknowledgements. The host and the station count down their backoff at the same time, so there is one mean
          backoff for each packet. The acknowledgements of TCP are additional packets, so its target is lower. ping:
          the median round trip is compared with the time of four frames, three of them with backoff. crowd: each of
          70 hosts sends five packets a second to randomly drawn hosts.
Units     Mb/s of UDP or TCP payload, milliseconds, and packets that enter the network per CPU second of the emulator.
Errors    ProgramError if namespaces are not allowed on this machine.
Source    docs/guide/real-software.md; docs/performance.md
"""

from __future__ import annotations

import json
import shutil
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from mobilenet.engine.scratch import scratch_folder
from mobilenet.lab.bench.row import Column, Head
from mobilenet.network.radio.framing import Framing
from mobilenet.network.radio.phy import ACK_BYTES, MODES
from mobilenet.protocols.packet_relay import AROUND_BYTES

if TYPE_CHECKING:
    from mobilenet.scenario import Scenario

SECONDS = 6
HOSTS = 70
PACKETS_PER_S = 5
PACKET_BYTES = 1500
LEAST_SHARE = {"udp": 0.9, "tcp": 0.7}  # minimum fraction of the throughput that the MAC allows
MOST_LATE_MS = 10.0  # limit for the 99th percentile
MOST_APART_MS = 1.0  # maximum difference between the median round trips of ping and of the model
SENDER = """import random, socket, sys, time
me, hosts, rate, seconds = map(int, sys.argv[1:])
stream, own = random.Random(me), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
own.bind(("", 9))
end = time.monotonic() + seconds
while time.monotonic() < end:
    time.sleep(stream.expovariate(rate))
    own.sendto(b"x" * 100, (f"10.77.0.{stream.randrange(hosts) + 1}", 9))
time.sleep(3)
"""
COMMANDS: dict[str, dict[str, list[str]]] = {
    "udp": {"h0": ["iperf3", "-s"], "h1": ["sh", "-c", f"sleep 1; iperf3 -c h0 -u -b 20M -t {SECONDS} -J"]},
    "tcp": {"h0": ["iperf3", "-s"], "h1": ["sh", "-c", f"sleep 1; iperf3 -c h0 -t {SECONDS} -J"]},
    "ping": {"h0": ["sleep", "60"], "h1": ["ping", "-i", "0.2", "-c", "25", "h0"]},
}

COLUMNS = (
    Column("case", "real software"),
    Column("mbps", "Mb/s", ".3g"),
    Column("share", "of the MAC's", ".3f"),
    Column("rtt_ms", "RTT ms", ".3g"),
    Column("model_rtt_ms", "of the model", ".3g"),
    Column("packets_per_cpu_s", "packets per CPU s", ",g"),
    Column("lateness_p50_ms", "late ms, p50", "g"),
    Column("lateness_p99_ms", "p99", "g"),
    Column("target", "target"),
    Column("passed", ""),
)


@dataclass(frozen=True, slots=True)
class Row(Head):
    """The measurements of one case. A value that does not apply to the case is None."""

    mbps: float | None
    share: float | None
    rtt_ms: float | None
    model_rtt_ms: float | None
    packets_per_cpu_s: float
    lateness_p50_ms: float
    lateness_p99_ms: float
    target: str
    passed: bool


class PacketRun(NamedTuple):
    """Contains the scenario of a run, the output of h1, the packets that entered the network per CPU second, and their
    lateness.
    """

    scenario: Scenario
    printed: str
    packets_per_cpu_s: float
    late_ms: dict[str, float]


def why_not() -> str | None:
    """Return why real software cannot run on this machine, or None if it can."""
    from mobilenet.parameters import ScenarioError

    try:
        _play({}, 1, 0.1)
    except ScenarioError as error:
        return str(error)
    return None


def measure() -> Iterator[Row]:
    """Measure each case whose programs are installed here, and yield a row for it."""
    for case, commands in COMMANDS.items():
        if shutil.which("ping" if case == "ping" else "iperf3") is not None:
            yield _row(case, _play(commands, len(commands)))
    words = [sys.executable, "sender.py", "{me}", str(HOSTS), str(PACKETS_PER_S), str(SECONDS)]
    yield _row("crowd", _play({f"h{number}": words for number in range(HOSTS)}, HOSTS))


def _row(case: str, run: PacketRun) -> Row:
    late = run.late_ms["p50"], run.late_ms["p99"]
    rate = round(run.packets_per_cpu_s)
    if case == "ping":
        rtts = [float(line.rsplit("time=")[1].split()[0]) for line in run.printed.splitlines() if "time=" in line]
        rtt, model = statistics.median(rtts), model_rtt_ms(run.scenario)
        passed, target = abs(rtt - model) <= MOST_APART_MS, f"the model's ± {MOST_APART_MS:g} ms"
        return Row.now(case, None, None, round(rtt, 3), round(model, 3), rate, *late, target, passed)
    if case == "crowd":
        passed, target = late[1] <= MOST_LATE_MS, f"p99 <= {MOST_LATE_MS:g} ms"
        return Row.now(case, None, None, None, None, rate, *late, target, passed)
    end = json.loads(run.printed)["end"]
    mbps = end["sum_received" if case == "tcp" else "sum"]["bits_per_second"] / 1e6
    if case == "udp":
        mbps *= 1 - end["sum"]["lost_percent"] / 100
    share = mbps / mac_allows_mbps(run.scenario)
    passed, target = share >= LEAST_SHARE[case], f">= {LEAST_SHARE[case]:g} of the MAC's"
    return Row.now(case, round(mbps, 2), round(share, 3), None, None, rate, *late, target, passed)


def mac_allows_mbps(scenario: Scenario) -> float:
    """Return the maximum UDP throughput between two hosts of a cell under this MAC, with packets of PACKET_BYTES."""
    mode = MODES[scenario.wireless.mode]
    cycle_ns = 2 * _exchange_ns(scenario, PACKET_BYTES) + mode.cw_min * mode.slot_ns / 2
    return 8000 * (PACKET_BYTES - AROUND_BYTES) / cycle_ns


def model_rtt_ms(scenario: Scenario) -> float:
    """Return the mean round trip of ping's 84 bytes in an idle cell. It consists of four frames. The first is sent at
    once. Each later frame becomes ready while an acknowledgement is due, and is therefore sent after a backoff. The
    last acknowledgement does not delay the answer.
    """
    mode = MODES[scenario.wireless.mode]
    last_ack_ns = mode.sifs_ns + _ack_ns(scenario)
    backoff_ns = mode.cw_min * mode.slot_ns / 2
    return (4 * _exchange_ns(scenario, 84) - last_ack_ns + 3 * backoff_ns) / 1e6


def _exchange_ns(scenario: Scenario, packet_bytes: int) -> int:
    """Return the duration of a DIFS, a frame, a SIFS and an acknowledgement."""
    mode = MODES[scenario.wireless.mode]
    frame_ns = Framing(scenario.wireless).acknowledged_datagram(packet_bytes - AROUND_BYTES)[1]
    return mode.difs_ns + frame_ns + mode.sifs_ns + _ack_ns(scenario)


def _ack_ns(scenario: Scenario) -> int:
    mode = MODES[scenario.wireless.mode]
    return mode.airtime_ns(ACK_BYTES, mode.ack_rate_mbps(scenario.wireless.unicast_mbps))


def _play(commands: dict[str, list[str]], hosts: int, duration_s: float = SECONDS + 3) -> PacketRun:
    from mobilenet.api import run
    from mobilenet.scenario import Scenario
    from mobilenet.simulation.parties import RealTime

    values: dict[str, Any] = {
        "duration_s": duration_s,
        "drain_s": 1,
        "stations": {"layout": {"shape": "points", "points_m": [[0, 0]]}, "backbone": {"kind": "tree"}},
        "hosts": {"count": hosts, "mobility": {"model": "static"}},
        "wireless": {"unicast_rate_mbps": 24, "detection_range_m": 250},
        "workload": {"arrivals": "none"},
        "protocol": {"name": "ip", "commands": commands},
    }
    with scratch_folder("bench") as folder:
        folder.parent.chmod(0o755)
        (folder / "sender.py").write_text(SENDER, encoding="ascii")
        (folder / "scenario.yaml").write_text(json.dumps(values), encoding="ascii")
        scenario = Scenario.load(folder / "scenario.yaml")
        begun_s = time.process_time()
        result = run(scenario, out=folder / "run", allow_code=True, real_time=RealTime())
        cpu_s = time.process_time() - begun_s
        packets = result.metrics["datagrams"]
        assert isinstance(packets, (int, float))
        printed = folder / "run" / "h1.stdout.txt"
        text = printed.read_text(encoding="utf-8") if printed.is_file() else ""
        return PacketRun(scenario, text, packets / cpu_s, result.manifest["real_time"]["lateness_ms"])

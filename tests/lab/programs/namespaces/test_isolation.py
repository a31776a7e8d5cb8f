"""Tests that a hostile program cannot affect the packets of other hosts, the machine, or the emulator.

Source    ours: docs/guide/real-software.md, SECURITY.md
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mobilenet.api import run
from mobilenet.parameters import ScenarioError
from mobilenet.simulation.parties import RealTime
from mobilenet.simulation.plugin_code import PluginError
from mobilenet.verify import verify_run
from tests.lab.programs.namespaces.own import WAITS, output_of, play, scenario, skip_without

pytestmark = [pytest.mark.programs, pytest.mark.long]
SPOOFER = """
import socket, struct, time
time.sleep(0.3)
def packet(source, to, payload=b"hello"):
    udp = struct.pack(">HHHH", 9, 9, 8 + len(payload), 0) + payload
    head = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 1, 0, 64, 17, 0, *map(socket.inet_aton, (source, to)))
    return head + udp
raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0x0800)
raw.bind(("mob0", 0x0800))
for source, to in (("10.77.0.3", "10.77.0.2"), ("10.77.0.1", "192.0.2.1"), ("10.77.0.1", "10.77.0.2")):
    raw.send(packet(source, to))
raw.send(b"\\x45\\x00")
raw.send(b"\\x60" + bytes(50))
"""


def test_packets_with_forged_addresses_are_dropped(tmp_path: Path) -> None:
    """A program that is root in its namespaces sends packets from another address, packets to the outside, and bytes
    that are not a packet.
    """
    skip_without()
    (tmp_path / "spoof.py").write_text(SPOOFER)
    commands = {"h0": [sys.executable, "spoof.py"], "h1": WAITS, "h2": WAITS}
    done = play(scenario(tmp_path, commands, count=3, protocol={"root": True}), "h0")
    real_time = done.manifest["real_time"]
    assert real_time["packets_spoofed"] == {"h0": 1}
    assert real_time["packets_misaddressed"] == {"h0": 1}
    assert real_time["packets_malformed"]["h0"] >= 1
    assert done.metrics["datagrams"] - done.metrics["datagrams_received"] <= 1  # type: ignore[operator]
    assert done.verdict == "valid"


OTHER_BYTES = """
import socket, struct, time
time.sleep(0.3)
def checksum(data):
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF
ends = socket.inet_aton("10.77.0.1"), socket.inet_aton("10.77.0.2")
raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_TCP)
for number, flags, payload in ((1, 2, b""), (2, 16, b"ab"), (2, 16, b"cd"), (4, 16, b"ef")):
    tcp = struct.pack(">HHIIBBHHH", 5, 6, number, 999, 5 << 4, flags, 1000, 0, 0) + payload
    own = checksum(b"".join(ends) + struct.pack(">HH", 6, len(tcp)) + tcp)
    raw.sendto(tcp[:16] + struct.pack(">H", own) + tcp[18:], ("10.77.0.2", 0))
"""


def test_bytes_that_break_tcp_are_not_blamed_on_the_emulator(tmp_path: Path) -> None:
    skip_without()
    (tmp_path / "raw.py").write_text(OTHER_BYTES)
    commands = {"h0": [sys.executable, "raw.py"], "h1": WAITS}
    done = play(scenario(tmp_path, commands, protocol={"root": True}), "h0")
    assert done.metrics["datagrams"] >= 4 and done.verdict == "valid"  # type: ignore[operator]


def test_root_inside_a_host_cannot_see_hidden_files(tmp_path: Path) -> None:
    skip_without()
    secret = Path.home() / f".mobilenet-test-{os.getpid()}"
    secret.write_text("secret")
    try:
        line = f"id -u; umount -l {Path.home()} /home /root /tmp; cat {secret}; nsenter -t 1 -m cat {secret}; true"
        done = play(scenario(tmp_path, {"h0": line}, protocol={"root": True}), "h0")
    finally:
        secret.unlink()
    assert output_of(done, "h0") == "0\n"


def test_programs_cannot_see_outside_processes_or_user_files(tmp_path: Path) -> None:
    skip_without("ping")
    secret = Path.home() / f".mobilenet-test-{os.getpid()}"
    secret.write_text("secret")
    try:
        line = f"kill -9 1 {os.getpid()}; cat {secret} /proc/1/environ; ls /proc | grep -c '^[0-9]'; ls /run /tmp; true"
        done = play(scenario(tmp_path, {"h0": line, "h1": "ping -c 3 -i 0.3 h0; true"}), "h0", "h1")
    finally:
        secret.unlink()
    # The program can see only process 1 and its own processes.
    assert int(output_of(done, "h0").split()[0]) <= 5
    assert output_of(done, "h1").count("bytes from h0") >= 2  # The machine of h1 answers, whatever its program does.


def test_packets_of_programs_stay_in_the_emulated_network(tmp_path: Path) -> None:
    skip_without("ip")
    other = Path(f"/tmp/.mobilenet-socket-{os.getpid()}")
    with subprocess.Popen(
        [sys.executable, "-c", f"import socket; s = socket.socket(socket.AF_UNIX); s.bind({str(other)!r}); input()"],
        stdin=subprocess.PIPE,
    ):
        try:
            code = (
                "import socket\n"
                f"for place in ({str(other)!r}, '\\0mobilenet'):\n"
                "    try: socket.socket(socket.AF_UNIX).connect(place); print('reached')\n"
                "    except OSError: print('refused')\n"
                "try: socket.create_connection(('192.0.2.1', 80), timeout=1); print('reached')\n"
                "except OSError: print('refused')\n"
            )
            (tmp_path / "reach.py").write_text(code)
            done = play(scenario(tmp_path, {"h0": [sys.executable, "reach.py"]}), "h0")
        finally:
            other.unlink(missing_ok=True)
    assert output_of(done, "h0").split() == ["refused"] * 3


@pytest.mark.parametrize(
    ("command", "limits", "expected"),
    [
        ([sys.executable, "-c", "x = bytearray(400 << 20)"], {"memory_mb": 64}, "ended with exit code 1"),
        ("for n in 1 2 3; do python3 -c 'x = b\"1\" * (30 << 20); import time; time.sleep(9)' & done; wait",
         {"memory_mb": 64}, "exceeds protocol.limits.memory_mb"),
        ("for n in 1 2 3 4 5 6 7 8; do sleep 9 & done; wait", {"processes": 4}, "ended with exit code 2"),
    ],
)  # fmt: skip
def test_resource_limits_on_programs_are_enforced(
    command: object, limits: dict[str, int], expected: str, tmp_path: Path
) -> None:
    skip_without()
    with pytest.raises(PluginError, match=expected):
        play(scenario(tmp_path, {"h0": command}, protocol={"limits": limits}))


def test_a_missing_folder_of_a_program_is_reported(tmp_path: Path) -> None:
    skip_without()
    with pytest.raises(ScenarioError, match=r"protocol.folders: /nowhere is not a folder on this machine"):
        play(scenario(tmp_path, {}, protocol={"folders": ["/nowhere"]}))


def test_shared_memory_of_a_program_is_counted_once(tmp_path: Path) -> None:
    skip_without()
    children = "for i in range(6): os.fork() or (time.sleep(1), os.write(1, b'%d\\n' % len(shared)), os._exit(0))"
    lines = f"import os, time\nshared = bytearray(30 << 20)\n{children}\ntime.sleep(1.5)"
    path = scenario(tmp_path, {"h0": [sys.executable, "-c", lines]}, protocol={"limits": {"memory_mb": 100}})
    done = play(path, "h0")
    assert output_of(done, "h0").split() == [str(30 << 20)] * 6


def test_excessive_program_output_is_truncated(tmp_path: Path) -> None:
    skip_without("ping")
    commands = {"h0": "yes | head -c 100000000; true", "h1": "ping -c 12 -i 0.3 h0; true"}
    done = play(scenario(tmp_path, commands, duration_s=5.0, protocol={"limits": {"output_mb": 1}}))
    assert (done.path / "h0.stdout.txt").stat().st_size == 1 << 20
    assert done.manifest["real_time"]["outputs_cut"] == ["h0"]
    assert output_of(done, "h1").count("bytes from h0") >= 2


def test_ending_a_run_early_from_a_program_is_not_a_violation(tmp_path: Path) -> None:
    """When a program fails, its last packets may have left the device of the host but not yet entered the network."""
    skip_without("ping")
    with pytest.raises(PluginError, match="ended with exit code 3"):
        play(scenario(tmp_path, {"h0": "sleep 0.3; ping -c 5 -i 0.01 h1 & sleep 0.33; exit 3", "h1": WAITS}))
    verdicts = verify_run(tmp_path / "run")
    assert "violated" not in {verdict.answer for verdict in verdicts.values()}


def test_opening_a_shell_requires_a_node_with_a_program(tmp_path: Path) -> None:
    skip_without()
    path = scenario(tmp_path, {"h0": WAITS})
    with pytest.raises(ScenarioError, match="--shell s0: expected a host, or a station with a program"):
        run(path, out=tmp_path / "run", allow_code=True, real_time=RealTime(shell=("s0", -1)))

"""Tests that programs of Debian run on the emulated network, without changes and as an ordinary user.

Source    ours: docs/guide/real-software.md
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
from pathlib import Path

import pytest

from mobilenet.api import Run
from mobilenet.record.pcap import packets_in
from tests.lab.programs.namespaces.own import USUAL, output_of, play, scenario, skip_without, standing, until_success

pytestmark = USUAL
ANSWER = b"real software\n" * 2000


def test_ping_and_a_web_server_run_unmodified(tmp_path: Path) -> None:
    skip_without("ping", "curl")
    (tmp_path / "page").write_bytes(ANSWER)
    commands = {
        "h0": "id -u; ping -c 5 -i 0.3 h1",
        "h1": ["sleep", "60"],
        "h2": f"{until_success('curl -s http://s0/page')} | sha256sum",
        "s0": ["python3", "-m", "http.server", "80"],
    }
    done = play(scenario(tmp_path, commands, count=3, duration_s=8.0))
    ping = output_of(done, "h0")
    assert ping.split()[0] != "0"
    assert "5 packets transmitted" in ping
    assert hashlib.sha256(ANSWER).hexdigest() in output_of(done, "h2")
    assert done.verdict == "valid"
    # The first ping may be lost, because the position of the receiver is not known yet.
    assert ping.count("bytes from h1") >= 4


def test_common_debian_servers_run_unmodified(tmp_path: Path) -> None:
    """MQTT behind a station, Redis, DNS, and TCP and UDP at full speed run at the same time."""
    skip_without("mosquitto", "mosquitto_pub", "mosquitto_sub", "redis-server", "redis-cli", "dnsmasq", "dig", "iperf3")
    (tmp_path / "broker.conf").write_text("listener 1883\nallow_anonymous true\n")
    dns = "--no-resolv --no-hosts --conf-file=/dev/null --pid-file= --address=/host.example/192.0.2.7"
    commands = {
        "s0": ["mosquitto", "-c", "broker.conf"],
        "h0": until_success("mosquitto_sub -h s0 -t news -q 1 -C 3"),
        "h1": "sleep 3; for n in 1 2 3; do mosquitto_pub -h s0 -t news -q 1 -m item$n; done",
        "h2": ["redis-server", "--save", "", "--protected-mode", "no"],
        "h3": f"{until_success('redis-cli -h h2 set key value')}; redis-cli -h h2 get key",
        "h4": f"PATH=$PATH:/usr/sbin exec dnsmasq -k {dns}",
        "h5": "sleep 1; dig +short +tries=3 +time=1 @h4 host.example",
        "h6": ["iperf3", "-s"],
        "h7": "sleep 2; iperf3 -c h6 -t 2 -J; sleep 0.2; iperf3 -c h6 -u -b 2M -t 2 -J",
    }
    done = play(scenario(tmp_path, commands, count=8, duration_s=8.0))
    assert output_of(done, "h0").split() == ["item1", "item2", "item3"]
    assert output_of(done, "h3").split() == ["OK", "value"]
    assert "192.0.2.7" in output_of(done, "h5")
    tcp, udp = (json.loads(text) for text in re.split(r"(?<=^})\n", output_of(done, "h7"), maxsplit=1, flags=re.M))
    assert tcp["end"]["sum_received"]["bits_per_second"] > 1e6
    assert udp["end"]["sum"]["lost_percent"] < 50
    assert done.verdict == "valid"


@pytest.mark.parametrize(("reach", "others"), [("cell", 1), ("all", 2)])
def test_multicast_and_broadcast_have_the_configured_scope(reach: str, others: int, tmp_path: Path) -> None:
    """h1 is in the cell of the sender, and h2 is in another cell. The sender asks each of them several times, because
    frames are not acknowledged.
    """
    skip_without("socat")
    listen = (
        "timeout 3 socat -u UDP4-RECV:5555,ip-add-membership=239.1.1.1:mob0 - & "
        "timeout 3 socat -u UDP4-RECV:5556,broadcast - & wait; true"
    )
    ask = (
        "sleep 1; for n in 1 2 3; do echo many | socat -u - UDP4-DATAGRAM:239.1.1.1:5555; "
        "echo every | socat -u - UDP4-DATAGRAM:10.77.255.255:5556,broadcast; done"
    )
    hosts = standing(tmp_path, h0=(5, 5), h1=(10, 5), h2=(205, 5))
    layout = {"shape": "points", "points_m": [[0, 0], [200, 0]]}
    commands = {"h0": ask, "h1": listen, "h2": listen}
    path = scenario(
        tmp_path, commands, duration_s=6.0, protocol={"broadcast": reach}, stations={"layout": layout}, hosts=hosts
    )
    done = play(path)
    heard = [name for name in ("h1", "h2") if "many" in output_of(done, name) and "every" in output_of(done, name)]
    assert heard == ["h1", "h2"][:others]
    assert done.verdict == "valid"


def test_a_download_survives_handoffs_a_crash_and_a_cut_wire(tmp_path: Path) -> None:
    skip_without("curl")
    content = bytes(range(256)) * 4000
    (tmp_path / "file").write_bytes(content)
    rows = [f"{t},walker,{10 * t},5" for t in range(0, 43, 2)] + [f"{t},idle,235,5" for t in range(0, 43, 2)]
    (tmp_path / "tracks.csv").write_text("\n".join(["t,id,x,y", *rows]) + "\n")
    fetch = "while ! curl -s --max-time 30 http://s0/file > /tmp/got; do sleep 0.2; done; sha256sum /tmp/got"
    slack = "cat /proc/self/timerslack_ns; sleep 60"
    path = scenario(
        tmp_path,
        {"s0": ["python3", "-m", "http.server", "80"], "h0": f"{fetch}; {fetch}; {fetch}", "h1": slack},
        duration_s=24.0,
        stations={"layout": {"shape": "points", "points_m": [[0, 0], [120, 0], [240, 0]]}},
        hosts={"mobility": {"model": "tracks", "file": "tracks.csv"}},
        protocol={"forward": True},
        faults={"schedule": "explicit", "outages": [{"host": "h1", "at_s": 4, "duration_s": 3}]},
        interventions=[
            {"at_s": 6, "do": "cut", "link": ["s0", "s1"]},
            {"at_s": 7, "do": "mend", "link": ["s0", "s1"]},
        ],
    )
    done = play(path)
    assert output_of(done, "h0").count(hashlib.sha256(content).hexdigest()) >= 1
    assert done.metrics["handoffs"] >= 1  # type: ignore[operator]
    assert done.metrics["crashes"] == 1
    assert done.verdict == "valid"
    usual = Path("/proc/self/timerslack_ns").read_text()
    # Only the emulator sleeps for a shorter time than usual. The programs sleep as long as usual.
    assert output_of(done, "h1") == 2 * usual


def test_capture_files_contain_the_packets_that_were_sent(tmp_path: Path) -> None:
    """tshark reads the captures, which must contain a packet for each event in the record."""
    skip_without("ping", "tshark")
    done = play(scenario(tmp_path, {"h0": ["ping", "-c", "4", "-i", "0.3", "h1"]}), "h0")
    capture = done.path / "packets" / "h0.pcap"
    read = subprocess.run(["tshark", "-r", str(capture)], capture_output=True, text=True, check=True).stdout
    assert "Echo (ping) request" in read and "Echo (ping) reply" in read
    assert len(list(packets_in(capture))) == len(read.splitlines()) == _events_of(done, "h0")


def _events_of(done: Run, node: str) -> int:
    events = done.events
    return int(((events["node"] == node) & events["event"].str.startswith("datagram")).sum())


def test_servers_stopped_after_the_active_part_are_listed(tmp_path: Path) -> None:
    skip_without("ping")
    ignores = "trap '' TERM; while true; do ping -c 1 -W 1 h0 > /dev/null; sleep 0.1; done"
    commands = {"h0": "exec sleep 60", "h1": ignores, "h2": "true"}
    path = scenario(tmp_path, commands, count=3, duration_s=2.0, drain_s=6)
    done = play(path)
    assert done.manifest["real_time"]["programs_stopped"] == {"h0": "SIGTERM", "h1": "SIGKILL"}
    assert done.verdict == "valid", done.verdicts

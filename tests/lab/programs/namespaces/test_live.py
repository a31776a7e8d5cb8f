"""Tests of real software in a live run: packets are shown as arrows, connections appear on cards, and packets are
captured.

Source    ours: docs/guide/live.md
"""

from __future__ import annotations

import subprocess
import urllib.error
import urllib.request
from pathlib import Path

import pytest

import mobilenet
from mobilenet.record.packets.connections import connections_of
from mobilenet.record.packets.device import Device
from mobilenet.record.packets.labels import label_of, only_acknowledges
from mobilenet.record.packets.packet_order import packets_of
from mobilenet.record.pcap import read_captures
from mobilenet.record.reader import read_events
from tests.browser import Page, chromium, is_required
from tests.lab.live.conftest import Server
from tests.lab.live.test_window import APP, LIVE, Window
from tests.lab.programs.namespaces.own import USUAL, play, scenario, skip_without, until_success

pytestmark = USUAL
PAGE = b"real software\n" * 9000
GET = "while sleep 0.2; do curl -s http://s0/page | wc -c; done"
COMMANDS = {"s0": ["python3", "-m", "http.server", "80"], "h0": GET, "h1": "ping -i 0.3 h0 > /dev/null"}


def status_of(url: str) -> int:
    try:
        with urllib.request.urlopen(url) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def shark(capture: Path, *fields: str) -> set[str]:
    words = [word for field in fields for word in ("-e", field)]
    process = subprocess.run(
        ["tshark", "-r", capture, "-T", "fields", *words], capture_output=True, text=True, check=True
    )
    return set(process.stdout.splitlines())


@pytest.mark.browser
@pytest.mark.skipif(chromium() is None and not is_required(), reason="no browser")
def test_the_live_page_shows_packets_and_connections(tmp_path: Path) -> None:
    skip_without("curl", "ping", "tshark")
    (tmp_path / "page").write_bytes(PAGE)
    served = Server(tmp_path, str(scenario(tmp_path, COMMANDS, duration_s=90)), "--allow-code")
    card = "document.querySelector('.mn-right-side').textContent"
    try:
        with Page(1400, 860) as page:
            window = Window(page, served)
            window.value(f"{LIVE}.ask({{command: 'play'}})")
            page.evaluate(f"{APP}.select({{kind: 'host', id: 0}})")
            page.until(f"{LIVE}.card?.packets?.latest.some(one => one.protocol === 'TCP' && one.state === 'closed')")
            page.until(f"{card}.includes('↔ s0:80') && {card}.includes('ICMP ↔ h1')")
            latest = window.value(f"{LIVE}.card.packets.latest.find(one => one.state === 'closed')")
            assert latest["received_bytes"] > len(PAGE) and latest["peer"] == "s0" and latest["peer_port"] == 80
            page.until(f"{LIVE}.arrows.some(one => / → 80$/.test(one.label) && one.kind === 'packet')")
            labels = set(window.value(f"{LIVE}.arrows.map(one => one.label)"))
            assert "ICMP echo request" in labels and any(label and label.endswith("SYN") for label in labels)
            page.evaluate("document.querySelector('[aria-label^=\"Additional loss\"]').value = 100")
            window.button("Impair")
            page.until(f"{LIVE}.interventions.length === 1")
            assert window.interventions()[0]["do"] == "impair" and window.interventions()[0]["loss"] == 1
            before = window.value(f"{LIVE}.card.packets.arrived")
            page.until(f"{LIVE}.card.packets.sent - {LIVE}.card.packets.arrived > 1")
            assert window.value(f"{LIVE}.card.packets.arrived") <= before + 20
            link = window.value("document.querySelector('a.mn-action').href")
            assert status_of(link.replace("/h0.", "/h7.")) == status_of(link.replace("/h0.", "/..%2Fh0.")) == 404
            assert status_of(link.partition("?")[0]) == 403
            urllib.request.urlretrieve(link, tmp_path / "h0.pcap")
            assert {"10.77.0.1\t80", "10.77.128.1\t"} & shark(tmp_path / "h0.pcap", "ip.src", "tcp.dstport")
            assert page.complaints == []
        code, out, _ = served.end()
        assert code == 0 and "marked as ended early" in out
    finally:
        served.process.kill()
    (kept,) = (tmp_path / "runs").iterdir()
    exported = subprocess.run(["mobilenet", "export", kept, "--pcap", "--node", "h0", "--out", tmp_path / "again.pcap"])
    assert exported.returncode == 0
    assert (tmp_path / "again.pcap").read_bytes().startswith((tmp_path / "h0.pcap").read_bytes())
    assert (kept / "h0.stdout.txt").read_text().split()[0] == str(len(PAGE))
    assert mobilenet.load(kept).verdicts["conservation"].answer != "violated"


def test_a_device_tracks_the_same_connections_as_the_capture(tmp_path: Path) -> None:
    skip_without("curl", "ping")
    (tmp_path / "page").write_bytes(PAGE)
    commands = {**COMMANDS, "h0": until_success("curl -s http://s0/page"), "h1": "ping -c 4 -i 0.3 h0"}
    done = play(scenario(tmp_path, commands, duration_s=8.0, wireless={"loss": 0.3}))
    captures = read_captures(done.path)
    assert captures is not None and done.verdict == "valid"
    device = Device("s0", captures["s0"][0].packet[16:20])
    for one in captures["s0"]:
        device.add(one.packet, one.at_ns)
    # The server may have refused earlier connections.
    flow = next(flow for flow in device.flows.values() if flow.key.protocol == 6 and flow.bytes[0])
    connection = next(each for each in connections_of(packets_of(read_events(done.path), captures)) if each.opened)
    (sending,) = (one for one in connection.sendings if one.node == "s0")
    assert flow.sending is not None and flow.key.port == 80
    assert flow.sending.sent_bytes == sending.sent_bytes and flow.sending.round_trips == sending.round_trips
    assert flow.bytes[0] == sending.acknowledged > len(PAGE) and flow.state in ("closing", "closed", "reset")
    assert flow.rates(flow.last_ns + 10**10) == (0, 0)
    labels = {label_of(one.packet) for one in captures["h0"]}
    assert {"ICMP echo request", "ICMP echo reply"} <= labels
    assert any(label.startswith("TCP 80 → ") for label in labels)
    assert any(only_acknowledges(one.packet) for one in captures["h0"])

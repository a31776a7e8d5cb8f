"""Provide the packets of real software in a live run: the card of a node, its capture, and the folder of captures.

Model     A live run has no directory before it is saved, so captures and standard outputs are written to a temporary
          folder. Only the captures of displayed nodes are read, each from where the last read ended. A unicast packet
          that has not arrived is either lost or still in transit
Units     integer nanoseconds, bytes
Source    ours: docs/guide/live.md
"""

from __future__ import annotations

import shutil
import weakref
from collections import Counter
from contextlib import ExitStack
from ipaddress import IPv4Address
from pathlib import Path
from socket import inet_aton
from typing import Any

from mobilenet.engine.clock import SECOND
from mobilenet.engine.scratch import scratch_folder
from mobilenet.protocols.packet_relay import GROUPS
from mobilenet.record.packets.device import Device, Flow, protocol_of
from mobilenet.record.pcap import CAPTURES, FILE_HEADER, RECORD
from mobilenet.scenario import Scenario
from mobilenet.scenario.ip import Ip
from mobilenet.simulation.mobile import Simulation

MOST_FLOWS = 12  # maximum number of connections on a card


def temporary_folder(owner: object, scenario: Scenario) -> Path | None:
    """Return a folder for the captures and outputs of a run of real software, or None for other runs. The folder is
    deleted with its owner.
    """
    if not isinstance(scenario.protocol, Ip):
        return None
    block = ExitStack()
    folder = block.enter_context(scratch_folder("live"))
    folder.parent.chmod(0o755)  # programs must be able to enter this folder
    weakref.finalize(owner, block.close)
    return folder


def keep_packets(folder: Path | None, run: Path) -> None:
    """Copy captures and outputs into the directory of a run."""
    if folder is not None:
        shutil.copytree(folder / CAPTURES, run / CAPTURES)
        for file in folder.glob("*.std*.txt"):
            shutil.copyfile(file, run / file.name)


class PacketCards:
    """The connections of one run, as cards show them."""

    def __init__(self, simulation: Simulation, folder: Path) -> None:
        self._simulation = simulation
        self._protocol: Ip = simulation.scenario.protocol
        self._folder = folder / CAPTURES
        self._devices: dict[str, Device] = {}
        self._places: dict[str, int] = {}  # capture -> position up to which it was read
        self._row = 0
        self._sent: Counter[str] = Counter()  # sender -> number of packets that it sent to single nodes
        self._arrived: Counter[str] = Counter()
        self._for_groups: set[str] = set()  # names of packets that were sent to groups of nodes

    def capture(self, node: str) -> bytes | None:
        """Return the capture of a node so far, or None if it does not exist."""
        path = self._path(node)
        return None if path is None else path.read_bytes()

    def card(self, node: str) -> dict[str, Any] | None:
        """Return the packet part of a node's card, or None if the node has no device."""
        path = self._path(node)
        if path is None:
            return None
        device = self._devices.get(node)
        if device is None:
            address = inet_aton(self._protocol.address_of(node))
            device = self._devices[node] = Device(node, address)
            self._places[node] = len(FILE_HEADER)
        self._read(path, device)
        self._count()
        flows = list(device.flows.values())
        return {
            "address": self._protocol.address_of(node),
            "sent": self._sent[node], "arrived": self._arrived[node],
            "received": sum(flow.packets[1] for flow in flows),
            "connections": len(flows),
            "latest": [self._words(flow) for flow in flows[: -MOST_FLOWS - 1 : -1]],
        }  # fmt: skip

    def _path(self, node: str) -> Path | None:
        """Return the path of a capture. The name must match an existing capture, so a request cannot reach other
        files.
        """
        return next((path for path in self._folder.glob("*.pcap") if path.stem == node), None)

    def _read(self, path: Path, device: Device) -> None:
        with path.open("rb") as file:
            file.seek(self._places[device.node])
            data = file.read()
        place = 0
        while place + RECORD.size <= len(data):
            seconds, nanoseconds, length, _ = RECORD.unpack_from(data, place)
            if place + RECORD.size + length > len(data):
                break
            place += RECORD.size
            device.add(data[place : place + length], seconds * SECOND + nanoseconds)
            place += length
        self._places[device.node] += place

    def _count(self) -> None:
        log = self._simulation.recording.events
        details = log.columns()["detail"]
        for row in range(self._row, len(log)):
            event, name = log.event[row], log.message[row] or ""
            if event == "datagram":
                if any(f'"{group}"' in (details[row] or "") for group in GROUPS):
                    self._for_groups.add(name)
                else:
                    self._sent[log.node[row]] += 1
            elif event == "datagram_received" and name not in self._for_groups:
                self._arrived[name.partition(":")[0]] += 1
        self._row = len(log)

    def _words(self, flow: Flow) -> dict[str, Any]:
        now_ns = self._simulation.kernel.now
        address = str(IPv4Address(flow.key.peer))
        out, back = flow.rates(now_ns)
        card: dict[str, Any] = {
            "protocol": protocol_of(flow), "port": flow.key.port,
            "peer": self._protocol.node_at(flow.key.peer) or address, "peer_port": flow.key.peer_port,
            "state": flow.state, "sent_packets": flow.packets[0], "received_packets": flow.packets[1],
            "sent_bytes": flow.bytes[0], "received_bytes": flow.bytes[1],
            "sent_per_s": round(out), "received_per_s": round(back),
            "received_again_bytes": flow.received_again_bytes, "quiet_s": (now_ns - flow.last_ns) / SECOND,
        }  # fmt: skip
        if (sending := flow.sending) is not None:
            waits = sending.waits_since_ns
            card |= {
                "sent_again_bytes": sending.sent_again_bytes, "sent_in_all_bytes": sending.sent_bytes,
                "round_trip_s": sending.round_trips[-1].took_ns / SECOND if sending.round_trips else None,
                "waits_s": None if waits is None else (now_ns - waits) / SECOND,
                "longest_stall_s": sending.longest_stall.took_ns / SECOND,
            }  # fmt: skip
        return card

"""Carry IP packets between the programs of machines and their nodes, each through a tun device.

Model     The data of a program leaves the device of its machine as complete IP packets. A packet is dropped and counted
          if it is malformed, if its source is not the address of its node, or if its destination is not an address of
          a node. A packet for a group is broadcast or multicast. Packets are captured in both directions
Units     bytes
Errors    ProgramError: a system without namespaces, or a program that fails
Source    RFC 791, RFC 919, RFC 1112; ours: docs/guide/real-software.md
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from ipaddress import IPv4Network
from pathlib import Path
from socket import inet_aton
from typing import Any

from mobilenet.lab.programs.children import Child
from mobilenet.lab.programs.namespaces.kernel_counts import kernel_counts
from mobilenet.lab.programs.namespaces.machines import Machine, Machines
from mobilenet.lab.programs.realtime.applications import Applications, SentDatagram, WithProgram
from mobilenet.lab.programs.realtime.pace import Pace
from mobilenet.parameters import ScenarioError
from mobilenet.protocols.packet_relay import Packet, PacketHost, PacketMemory, PacketStation
from mobilenet.protocols.port import UnicastHostPort, UnicastStationPort, WiredPort
from mobilenet.quoting import quote
from mobilenet.record.pcap import CAPTURES, Capture
from mobilenet.scenario.ip import Ip

HEADER_BYTES = 20
AT_ONCE = 16  # maximum number of packets to read from a device before the network continues
MASK = "255.255.0.0"
FOR_OTHERS = stat.S_IROTH | stat.S_IXOTH
OVERFLOW_ID = 65_534  # An unprivileged user. If the emulator runs as root, programs run as this user.
MACHINES = "machines.json"  # The file exists only during a run.
# the keys of an order that are needed to enter a machine
TO_ENTER = ("folder", "become", "processes", "memory_mb", "output_mb")


class Tunnels:
    """The devices of one run. `nodes` holds the names of all hosts, and of the stations that have a program. `now`
    returns the emulated time. `run` is the directory of the run, or None. `shell` is a pair: the node whose program is
    a shell, and the descriptor of its pseudo-terminal.
    """

    def __init__(
        self,
        protocol: Ip,
        nodes: list[str],
        machines: Machines,
        run: Path | None,
        folder: Path,
        now: Callable[[], int],
        shell: tuple[str, int] | None,
    ) -> None:
        self._protocol = protocol
        self._machines = machines
        self._folder = folder
        self._now = now
        self._run = run
        self._captures = None if run is None else run / CAPTURES
        self._captured: dict[str, Capture] = {}
        self._addresses = {name: inet_aton(protocol.address_of(name)) for name in nodes}
        self._names = {address: name for name, address in self._addresses.items()}
        lines = [f"{protocol.address_of(name)} {name}\n" for name in nodes]
        self._hosts_file = "".join(["127.0.0.1 localhost\n", *lines])
        self._group = protocol.broadcast
        self._groups = (b"\xff\xff\xff\xff", IPv4Network(protocol.network).broadcast_address.packed)
        self._devices: dict[int, str] = {}
        self._controls: dict[int, Machine] = {}
        self._failed: list[tuple[str, str]] = []
        self._pace: Pace | None = None
        # node -> PID of the first process of its machine, for machines that can be entered
        self._noted: dict[str, int] = {}
        self.dropped: dict[str, Counter[str]] = {}  # reason -> node -> number of packets
        # node -> sum of the counters over all its lives; None: not known
        self._by_kernel: dict[str, Counter[str] | None] = {}
        self._is_closed = False
        if shell is not None and shell[0] not in self._addresses:
            raise ScenarioError(f"--shell {shell[0]}: expected a host, or a station with a program")
        self._terminals = {} if shell is None else dict([shell])
        self._shell_of = None if shell is None else shell[0]

    # --- lives

    def open(self, pace: Pace) -> None:
        if sys.platform != "linux":
            raise ScenarioError("protocol.name: ip: needs namespaces, which exist only on Linux")
        if os.getuid() == 0 and self._folder.stat().st_mode & FOR_OTHERS != FOR_OTHERS:
            raise ScenarioError(
                f"{quote(self._folder)}: mobilenet runs as root, so programs run as an unprivileged user, who cannot"
                " read this folder; use a folder that all users can read, or run mobilenet as an ordinary user"
            )
        for folder in self._protocol.folders:
            if not os.path.isdir(folder):
                raise ScenarioError(f"protocol.folders: {quote(Path(folder))} is not a folder on this machine")
        self._pace = pace
        if self._captures is not None:
            self._captures.mkdir()

    def wait_until_ready(self) -> None:
        """Wait until the devices exist, before the clock starts. Programs may start at different times."""
        self._machines.wait_until_ready()
        for control in list(self._controls):
            self._hear(control)
        self._note_machines()

    def fill_in(self, word: str, host: int) -> str:
        name = f"h{host}"
        return word.replace("{me}", str(host + self._protocol.first_number)).replace(
            "{address}", self._protocol.address_of(name)
        )

    def start(self, name: str) -> Child | None:
        assert self._pace is not None
        if name in self._terminals:
            terminal = self._terminals.pop(name)
            machine = self._machines.start(self._order(name, shell_command()), terminal)
            os.close(terminal)  # Close this copy. Otherwise the terminal would stay open when the shell ends.
        else:
            machine = self._machines.start(self._order(name, self._words(name)))
        self._controls[machine.control] = machine
        self._pace.listen(machine.control)
        if self._captures is not None and name not in self._captured:
            self._captured[name] = Capture(self._captures / f"{name}.pcap")
        return machine.child

    def _words(self, name: str) -> list[str] | None:
        """Return the command of a node with its placeholders replaced, or None."""
        command = self._protocol.command_of(name)
        if command is None:
            return None
        words = [self.fill_in(word, int(name[1:])) if name[0] == "h" else word for word in command]
        own = self._folder / words[0]
        return [str(own.absolute()) if own.is_file() else words[0], *words[1:]]

    def _order(self, name: str, words: list[str] | None) -> dict[str, Any]:
        protocol, limits = self._protocol, self._protocol.limits
        executable = None if words is None else shutil.which(words[0])
        of_program = [] if executable is None else [str(Path(executable).resolve().parent)]
        return {
            "name": name, "address": protocol.address_of(name), "mask": MASK, "mtu": protocol.mtu_bytes,
            "hosts": self._hosts_file, "command": words, "folder": str(self._folder),
            "shown": [sys.prefix, sys.base_prefix, *of_program, *protocol.folders], "home": str(Path.home()),
            **users_for(os.getuid(), protocol.root), **limits.model_dump(),
        }  # fmt: skip

    def stop(self, name: str, child: Child | None) -> None:
        assert self._pace is not None
        machine = self._machines.running[name]
        self._take_counts(machine)
        self._pace.forget(machine.control)
        del self._controls[machine.control]
        if machine.device is not None and self._devices.pop(machine.device, None) is not None:
            self._pace.forget(machine.device)
        self._machines.stop(name)
        self._note_machines()

    def signal(self, name: str, number: int) -> bool:
        machine = self._machines.running[name]
        if machine.is_running:
            machine.signal(number)
        return machine.is_running

    def _take_counts(self, machine: Machine) -> None:
        """Read the kernel's counters of a node before its life ends, unless its programs are root and could change
        them.
        """
        if machine.device is None or self._protocol.root:
            return
        before = self._by_kernel.get(machine.name, Counter())
        counts = None if machine.pid is None else kernel_counts(machine.pid)
        self._by_kernel[machine.name] = None if before is None or counts is None else before + Counter(counts)

    def close(self) -> None:
        for machine in self._machines.running.values():
            self._take_counts(machine)
        self._is_closed = True
        for capture in self._captured.values():
            capture.close()
        if self._run is not None:
            (self._run / MACHINES).unlink(missing_ok=True)
        self._machines.close()

    # --- packets

    def take(self, ready: Sequence[Any]) -> Iterator[SentDatagram]:
        for source in ready:
            if (name := self._devices.get(source)) is not None:
                yield from self._packets_of(name, source)
            elif source in self._controls:
                self._hear(source)
                self._note_machines()

    def _packets_of(self, name: str, device: int) -> Iterator[SentDatagram]:
        own = self._addresses[name]
        for _ in range(AT_ONCE):
            try:
                data = os.read(device, 65_536)
            except OSError:  # All packets have been read.
                return
            if len(data) < HEADER_BYTES or data[0] >> 4 != 4:
                self._drop("malformed", name)
            elif data[12:16] != own:
                self._drop("spoofed", name)
            elif (to := self._addressee(data[16:20])) is None:
                self._drop("misaddressed", name)
            else:
                yield SentDatagram(name, to, data)

    def _addressee(self, address: bytes) -> str | None:
        name = self._names.get(address)
        if name is not None:
            return name
        return self._group if address in self._groups or address[0] >> 4 == 0xE else None

    def _drop(self, reason: str, name: str) -> None:
        self.dropped.setdefault(reason, Counter())[name] += 1

    def hand_over(self, name: str, datagram: Packet) -> bool:
        machine = self._machines.running.get(name)
        if machine is None or machine.device is None:
            return False
        try:
            os.write(machine.device, datagram.data)
        except OSError:
            return False
        self._capture(name, datagram.data)
        return True

    def note_entry(self, one: SentDatagram) -> None:
        self._capture(one.source, one.data)

    def _capture(self, name: str, packet: bytes) -> None:
        captured = self._captured.get(name)
        if captured is not None:
            captured.add(self._now(), packet)

    # --- answers of machines

    def _hear(self, control: int) -> None:
        assert self._pace is not None
        machine = self._controls[control]
        for answer in machine.answers():
            self._machines.require_allowed(machine, answer)
            how = self._machines.failure(machine, answer, self._protocol.limits)
            if how is not None and not ("ended" in answer and machine.name == self._shell_of):
                self._failed.append((machine.name, how))
        if machine.is_gone:
            self._pace.forget(control)
            raise self._machines.error_of(machine)
        if machine.device is not None and machine.device not in self._devices:
            self._devices[machine.device] = machine.name
            self._pace.listen(machine.device)

    def _note_machines(self) -> None:
        """Write the file in which `mobilenet serve --join` finds the machines. It is written only if the machines have
        changed.
        """
        pids = {name: machine.pid for name, machine in self._machines.running.items() if machine.pid is not None}
        if self._run is None or pids == self._noted:
            return
        self._noted = pids
        orders = {name: self._machines.running[name].order for name in pids}
        there = {
            name: {"pid": pid, "order": {key: orders[name][key] for key in TO_ENTER}} for name, pid in pids.items()
        }
        fresh = self._run / f".{MACHINES}"
        fresh.write_text(json.dumps(there))
        fresh.rename(self._run / MACHINES)

    def failures(self) -> list[tuple[str, str]]:
        failures, self._failed = self._failed, []
        return failures

    def document(self) -> dict[str, Any]:
        facts: dict[str, Any] = {
            f"packets_{reason}": {name: counts[name] for name in sorted(counts)}
            for reason, counts in sorted(self.dropped.items())
        }
        if self._is_closed and not self._protocol.root:
            names = sorted(self._by_kernel)
            facts["devices"] = {name: None if (own := self._by_kernel[name]) is None else dict(own) for name in names}
        return facts


def shell_command() -> list[str]:
    return ["bash", "--norc"] if shutil.which("bash") else ["sh", "-i"]


def users_for(user: int, is_root: bool) -> dict[str, Any]:
    """Return the pairs of users inside and outside the namespaces of a node, and the user that runs its programs.

    An ordinary user has the same ID inside, or is root there. If root sets up a node, its programs run as an
    unprivileged user outside, so they do not have the permissions of root.
    """
    if user:
        inside = 0 if is_root else user
        return {"users": [[inside, user]], "become": None, "group": inside}
    if is_root:
        return {"users": [[0, OVERFLOW_ID]], "become": 0, "group": 0}
    return {"users": [[0, 0], [OVERFLOW_ID, OVERFLOW_ID]], "become": OVERFLOW_ID, "group": OVERFLOW_ID}


class LivePacketHost(WithProgram, PacketHost):
    """A host with a machine attached."""

    def __init__(self, applications: Applications, port: UnicastHostPort, memory: PacketMemory, protocol: Ip) -> None:
        super().__init__(port, memory, applications.hand_over, protocol.forward)
        self.applications = applications


class LivePacketStation(PacketStation):
    """A station. It has a machine if the scenario gives it a command."""

    def __init__(self, applications: Applications, port: UnicastStationPort, wired: WiredPort, protocol: Ip) -> None:
        super().__init__(port, wired, applications.hand_over, protocol.forward)
        if protocol.command_of(self.name) is not None:
            applications.expect(self)

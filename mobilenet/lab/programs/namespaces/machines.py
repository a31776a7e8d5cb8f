"""Start machines, which are nodes with their namespaces, as children of the run's supervisor.

Model     init_process.py is started for each life of a node, with a socket as its standard input. A machine is ready
          when it has passed its device to the emulator. This takes a moment, during which the emulation continues
Units     seconds of wall time
Errors    ProgramError: the system does not allow namespaces, or a machine is not ready in time
Source    ours: docs/guide/real-software.md
"""

from __future__ import annotations

import json
import os
import pkgutil
import select
import socket
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from mobilenet.lab.programs.children import Child, Children
from mobilenet.simulation.parties import ProgramError

READY_S = 30.0  # Time limit for starting all machines. One machine needs about 0.05 s.
LONGEST_ANSWER = 65_536


class Machine:
    """One life of a node. `device` is the descriptor of its device mob0, or None until the device exists."""

    def __init__(self, order: dict[str, Any], child: Child) -> None:
        self.name: str = order["name"]
        self.order = order
        self.child = child
        self.pid: int | None = None  # PID of the first process, as seen outside the namespaces
        self.device: int | None = None
        self.is_gone = False  # whether its first process has ended
        self.is_running = order["command"] is not None  # whether its program is running

    @property
    def control(self) -> int:
        """The descriptor of the emulator's end of the machine's socket."""
        return self.child.to

    def signal(self, number: int) -> None:
        """Send a signal to all processes of the machine except the first process."""
        with socket.socket(fileno=os.dup(self.control)) as control, suppress(OSError):
            control.send(str(number).encode())

    def answers(self) -> Iterator[dict[str, Any]]:
        """Yield the answers that the machine has sent since the last call."""
        with socket.socket(fileno=os.dup(self.control)) as control:
            while True:
                try:
                    data, descriptors, _, _ = socket.recv_fds(control, LONGEST_ANSWER, 1)
                except OSError:
                    return
                if not data:
                    self.is_gone = True
                    return
                answer = json.loads(data)
                self.pid = answer.get("pid", self.pid)
                self.is_running = self.is_running and "ended" not in answer
                if descriptors:
                    self.device = descriptors[0]
                    os.set_blocking(self.device, False)
                yield answer


class Machines:
    """All machines of one run."""

    def __init__(self, children: Children) -> None:
        self._children = children
        self.running: dict[str, Machine] = {}

    def start(self, order: dict[str, Any], terminal: int | None = None) -> Machine:
        """Start a machine. `order` is sent to init_process.py, and `terminal` is a pseudo-terminal for the program."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with ours, theirs:
            to = os.dup(ours.fileno())
            child = self._children.spawn(order["name"], _command(), (os.dup(theirs.fileno()), to))
            descriptors = [] if terminal is None else [terminal]
            socket.send_fds(ours, [json.dumps(order).encode()], descriptors)
        machine = self.running[order["name"]] = Machine(order, child)
        return machine

    def stop(self, name: str) -> None:
        """End the life of a machine, including all programs that run in it."""
        machine = self.running.pop(name)
        if machine.device is not None:
            os.close(machine.device)
        self._children.kill(machine.child)

    def wait_until_ready(self) -> None:
        """Wait until all machines have their devices."""
        deadline = time.monotonic() + READY_S
        waiting = {machine.control: machine for machine in self.running.values() if machine.device is None}
        sockets = select.poll()
        for control in waiting:
            sockets.register(control, select.POLLIN)
        while waiting:
            events = sockets.poll(max(0.0, deadline - time.monotonic()) * 1000)
            if not events:
                late = next(iter(waiting.values())).name
                raise ProgramError(f"{late}: its namespaces were not ready within {READY_S:g} s", is_input=False)
            for control, _ in events:
                machine = waiting[control]
                for answer in machine.answers():
                    self.require_allowed(machine, answer)
                if machine.device is not None or machine.is_gone:
                    del waiting[control]
                    sockets.unregister(control)
                if machine.device is None and machine.is_gone:
                    raise self.error_of(machine)

    def error_of(self, machine: Machine) -> ProgramError:
        """Return the error for a machine whose first process has ended unexpectedly."""
        return ProgramError(f"{machine.name}: its namespaces ended: {self._children.last_words(machine.child)}")

    @staticmethod
    def require_allowed(machine: Machine, answer: dict[str, Any]) -> None:
        if "error" in answer:
            raise ProgramError(f"protocol.name: ip: {machine.name}: {answer['error']}")

    def failure(self, machine: Machine, answer: dict[str, Any], limits: Any) -> str | None:
        """Describe the failure that this answer reports. Return None if it does not report a failure."""
        if (key := answer.get("over")) is not None:
            return f"exceeds protocol.limits.{key}, which is {getattr(limits, key)}; all its processes were killed"
        code = answer.get("ended")
        return self._children.how_it_failed(machine.child, code) if code else None

    def close(self) -> None:
        for machine in self.running.values():
            if machine.device is not None:
                os.close(machine.device)
        self.running.clear()
        self._children.close()


def entering(pid: int, order: dict[str, Any]) -> Sequence[str]:
    """Return the command that runs `order["command"]` in the machine whose first process is `pid`."""
    return [*_command(), str(pid), json.dumps(order)]


def _command() -> Sequence[str]:
    """Return the command by which Python runs init_process.py, either from a file or from an archive."""
    path = Path(__file__).with_name("init_process.py")
    if path.is_file():
        return [sys.executable, "-I", "-S", str(path)]
    source = pkgutil.get_data(__package__, path.name)
    assert source is not None
    return [sys.executable, "-I", "-S", "-c", source.decode()]

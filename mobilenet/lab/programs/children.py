"""Start and end the programs of one run. A supervisor is their parent, and two pipes lead to each of them.

Model     The supervisor (supervisor.py) is the parent of all programs. It is started with the first program, kills
          single programs on request, and ends the others as soon as the emulator's end of the socket is closed. A
          program may have stopped the supervisor with a signal. Therefore, if the supervisor does not answer a request,
          the emulator sends it one signal to continue
Units     seconds of wall time
Errors    ProgramError: a command that cannot be started
Source    ours: docs/guide/programs.md
"""

from __future__ import annotations

import json
import os
import pkgutil
import select
import signal
import socket
import subprocess
import sys
import time
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from mobilenet.quoting import cut, spell_out
from mobilenet.scenario.programs import why_not_started
from mobilenet.simulation.parties import ProgramError

DYING_S = 1.0  # A program that has closed its output is given this much time to report its exit code.
GOING_S = 0.5  # Programs are given this much time to end by themselves when the run is over.
SILENT_S = 1.0  # The supervisor may be silent for this long before it is sent a signal to continue.
ANSWERS_S = 10.0  # The supervisor is given this much time to answer after the signal.
ENDS_S = 20.0  # The supervisor is given this much time to end all programs and then itself.
LONGEST_LAST_LINE = 1000  # maximum number of bytes in a line that a program writes when the run is over
LONGEST_TAIL = 300  # maximum number of characters of standard error in an error message
LAST_WORDS = "; the end of its standard error: "


class Child(NamedTuple):
    """A running program: its process, and the emulator's ends of its standard input and output."""

    pid: int
    to: int
    back: int


class Children:
    """All programs of a run. Their standard error is stored in the folder `errors_into`, or discarded if that is
    None.
    """

    def __init__(self, folder: Path, errors_into: Path | None = None) -> None:
        self._folder = folder
        self._errors_into = errors_into
        self._control: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._finalizer: weakref.finalize[[subprocess.Popen[bytes], socket.socket], Children] | None = None
        self._there: dict[int, Child] = {}

    def spawn(self, node: str, command: Sequence[str], input_ends: tuple[int, int] | None = None) -> Child:
        """Start the program of a node in the folder of the scenario. The first word of the command may be a file in
        that folder. `input_ends` contains two descriptors that replace a pipe: the standard input of the program, and
        the other end for the emulator.
        """
        own = self._folder / command[0]
        # Links are not resolved, because a virtual environment of Python depends on them.
        first = str(own.absolute()) if own.is_file() else command[0]
        input_end, to = input_ends or os.pipe()
        back, output_end = os.pipe()
        try:
            cwd = str(self._folder.resolve())
            request = {"do": "spawn", "node": node, "command": [first, *command[1:]], "cwd": cwd}
            answer = self._ask(request, [input_end, output_end])
        except BaseException:
            os.close(to)
            os.close(back)
            raise
        finally:
            os.close(input_end)
            os.close(output_end)
        if "error" in answer:
            os.close(to)
            os.close(back)
            raise ProgramError(
                f"protocol.command: {spell_out(cut(command[0], 200))}: cannot be started: {answer['error']};"
                f" {why_not_started(Path(first))}"
            )
        os.set_blocking(to, False)
        child = self._there[answer["pid"]] = Child(answer["pid"], to, back)
        return child

    def how_it_ended(self, child: Child) -> str:
        """Describe how a program ended, and quote the end of its standard error."""
        return self._how(self._status(child))

    def failure(self, child: Child) -> str | None:
        """Describe how a program failed. Return None if it ended with exit code 0, or if it only closed its output."""
        answer = self._status(child)
        return self._how(answer) if answer["code"] else None

    def how_it_failed(self, child: Child, code: int) -> str:
        """Describe the failure of a program whose exit code another process has reported."""
        return self._how({**self._status(child, 0.0), "code": code})

    def last_words(self, child: Child) -> str:
        """Return the last part of the program's standard error."""
        return spell_out(str(self._status(child)["tail"])[-LONGEST_TAIL:].strip() or "(empty)")

    def reap(self) -> list[Child]:
        """Return the programs that have ended by now, without waiting."""
        return [self._there[pid] for pid in self._ask({"do": "ended"})["pids"] if pid in self._there]

    def _status(self, child: Child, within_s: float = DYING_S) -> dict[str, Any]:
        return self._ask({"do": "status", "pid": child.pid, "within_s": within_s})

    @staticmethod
    def _how(answer: dict[str, Any]) -> str:
        code, tail = answer["code"], " | ".join(line.strip() for line in answer["tail"].splitlines() if line.strip())
        how = "closed its standard output" if code is None else f"ended with exit code {code}"
        if code is not None and code < 0:
            how = f"was killed by signal {-code}"
        suffix = f"{LAST_WORDS}{spell_out(tail[-LONGEST_TAIL:])}" if tail else ""
        return how + suffix

    def kill(self, child: Child) -> None:
        """Kill the program and its process group immediately."""
        self._close_pipes(child)
        self._ask({"do": "kill", "pid": child.pid})

    def close(self, listens_s: float = 0.0, is_heard: Callable[[bytes], bool] = lambda line: False) -> list[Child]:
        """End all programs. First close their inputs, and wait a moment for the running programs to end by themselves.
        Then wait up to `listens_s` longer for a line for which `is_heard` is true. Return the programs that wrote such
        a line.
        """
        if self._control is None:
            return []
        there = list(self._there.values())
        if self._process is not None and self._process.poll() is not None:
            self._kill_groups()  # Only a program can have killed the supervisor.
        for child in there:
            os.close(child.to)
        try:
            return self._wait_for_end(there, listens_s, is_heard)
        finally:
            for child in there:
                os.close(child.back)
            self._there.clear()
            self._control = None
            if self._finalizer is not None:
                self._finalizer()

    @staticmethod
    def _wait_for_end(there: Sequence[Child], listens_s: float, is_heard: Callable[[bytes], bool]) -> list[Child]:
        """Wait until all outputs are closed or the time is over. Return the programs that wrote a line for which
        `is_heard` is true.
        """
        outputs = select.poll()
        for child in there:
            outputs.register(child.back, select.POLLIN)
        waiting = {child.back: child for child in there}
        unfinished = dict.fromkeys(waiting, b"")  # the incomplete line of each program
        speakers: dict[int, Child] = {}
        deadline = time.monotonic() + listens_s + GOING_S
        while waiting and (left_s := deadline - time.monotonic()) > 0:
            for descriptor, _ in outputs.poll(left_s * 1000):
                data = os.read(descriptor, 65_536)
                if not data:
                    outputs.unregister(descriptor)
                    del waiting[descriptor]
                *lines, rest = (unfinished[descriptor] + data).split(b"\n")
                unfinished[descriptor] = rest[:LONGEST_LAST_LINE]
                if descriptor not in speakers and any(map(is_heard, lines)):
                    speakers[descriptor] = waiting[descriptor]
                    deadline = min(deadline, time.monotonic() + GOING_S)
        return list(speakers.values())

    def _close_pipes(self, child: Child) -> None:
        if self._there.pop(child.pid, None) is not None:
            os.close(child.to)
            os.close(child.back)

    def _ask(self, request: dict[str, Any], descriptors: Sequence[int] = ()) -> dict[str, Any]:
        control = self._control or self._start()
        control.settimeout(SILENT_S + request.get("within_s", 0.0))
        try:
            return self._request(control, request, descriptors)
        except OSError:  # The supervisor has ended or was stopped.
            self._kill_groups()
            error = "the process that supervises the programs was killed or stopped from outside"
            raise ProgramError(error, is_input=False) from None

    def _kill_groups(self) -> None:
        """Kill the process groups of the supervisor and of the programs, without asking the supervisor."""
        if self._process is not None:
            self._process.kill()
        for pid in self._there:
            with suppress(OSError):
                os.killpg(pid, signal.SIGKILL)

    def _request(self, control: socket.socket, request: dict[str, Any], descriptors: Sequence[int]) -> dict[str, Any]:
        data = json.dumps(request).encode() + b"\n"
        sent = socket.send_fds(control, [data], descriptors) if descriptors else 0
        control.sendall(data[sent:])
        answer = b""
        is_woken = False
        while not answer.endswith(b"\n"):
            try:
                part = control.recv(65_536)
            except TimeoutError:
                if is_woken or self._process is None:
                    raise
                is_woken = True
                self._process.send_signal(signal.SIGCONT)
                control.settimeout(ANSWERS_S)
                continue
            if not part:
                raise ConnectionResetError
            answer += part
        reply: dict[str, Any] = json.loads(answer)
        return reply

    def _start(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        with theirs:
            number = theirs.fileno()
            command = [sys.executable, "-I", "-S", *_supervisor(), str(number), str(self._errors_into or "")]
            process = subprocess.Popen(
                command, pass_fds=(number,), start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
            )
        self._control, self._process = ours, process
        # This ends the programs even if `close` is never called.
        self._finalizer = weakref.finalize(self, _end, process, ours)
        return ours


def _supervisor() -> list[str]:
    """Return the command by which Python runs the supervisor. On a worker of a cluster, mobilenet is imported from an
    archive, and the command contains the source of the supervisor.
    """
    path = Path(__file__).with_name("supervisor.py")
    if path.is_file():
        return [str(path)]
    source = pkgutil.get_data(__package__, path.name)
    assert source is not None
    return ["-c", source.decode()]


def _end(process: subprocess.Popen[bytes], control: socket.socket) -> None:
    """Close the socket of the supervisor, which then ends all programs and itself. First send a request, because the
    supervisor would otherwise assume that the emulator was killed.
    """
    with suppress(OSError):
        control.sendall(b'{"do": "end"}\n')
    control.close()
    with suppress(OSError):
        process.send_signal(signal.SIGCONT)  # A program may have stopped the supervisor.
    try:
        process.wait(ENDS_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()

"""Start all programs of a run as their parent, and store their standard error. If the emulator ends, end the programs.

Model     The supervisor is a separate process. It receives each command as one line of JSON over one socket, and
          answers it. On Linux it adopts the processes that its programs leave behind, so that none escapes by a second
          fork or by a new session; on other systems it ends the process group of each program. The socket also closes
          if the emulator is killed. When it closes, everything ends, and the unfinished record of a killed emulator is
          removed
Asked     spawn (with two descriptors: the program's standard input and output), status, ended, kill, end
Units     bytes, seconds
Source    ours: docs/guide/programs.md. It uses only the standard library
"""

from __future__ import annotations

import contextlib
import ctypes
import glob
import json
import os
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import time
from typing import Any

Line = dict[str, Any]  # a line of JSON

PR_SET_CHILD_SUBREAPER = 36
KEPT_BYTES = 65_536  # maximum number of bytes of a node's standard error to store, over all its lives
TAIL_BYTES = 2_000
CHUNK_BYTES = 65_536
# Maximum number of chunks to read from one program before other programs are read, because a program may write as fast
# as it is read.
CHUNKS_AT_ONCE = 16
ENDING_S = 10.0  # time for killed processes to disappear


class Program:
    """One life of one node."""

    def __init__(self, child: subprocess.Popen[bytes], errors: int, node: str) -> None:
        self.child = child
        self.errors = errors  # descriptor from which the standard error is read; -1: closed
        self.node = node
        self.tail = b""


class Supervisor:
    def __init__(self, control: socket.socket, folder: str) -> None:
        self.control = control
        self.folder = folder  # the folder for standard error; if it is empty, standard error is not stored
        self.is_asked_to_end = False
        self.bytes_by_node: dict[str, int] = {}  # node -> number of bytes written
        self.programs: dict[int, Program] = {}  # PID -> program
        self.selector = selectors.DefaultSelector()
        self.selector.register(control, selectors.EVENT_READ)

    def serve(self) -> None:
        """Serve requests until the other end of the socket is closed."""
        while True:
            for key, _ in self.selector.select():
                if key.fileobj is not self.control:
                    self.take_errors(key.data)
                elif not self.answer():
                    return

    def answer(self) -> bool:
        try:
            data, descriptors, _, _ = socket.recv_fds(self.control, CHUNK_BYTES, 2)
            while data and not data.endswith(b"\n"):
                more = self.control.recv(CHUNK_BYTES)
                data = data + more if more else b""
        except OSError:
            return False
        if not data:
            return False
        try:
            request = json.loads(data)
            reply = getattr(self, "do_" + request["do"])(request, descriptors)
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
        try:
            self.control.sendall(json.dumps(reply).encode() + b"\n")
        except OSError:
            return False
        return True

    def do_spawn(self, request: Line, descriptors: list[int]) -> Line:
        reading, writing = os.pipe()
        try:
            child = subprocess.Popen(
                request["command"], stdin=descriptors[0], stdout=descriptors[1], stderr=writing, cwd=request["cwd"],
                start_new_session=True,
            )  # fmt: skip
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            os.close(reading)
            return {"error": getattr(error, "strerror", None) or str(error)}
        finally:
            os.close(writing)
        os.set_blocking(reading, False)
        program = self.programs[child.pid] = Program(child, reading, request["node"])
        self.selector.register(reading, selectors.EVENT_READ, program)
        return {"pid": child.pid}

    def do_status(self, request: Line, descriptors: list[int]) -> Line:
        """Return how a program ended, if it ends within the requested time."""
        program = self.programs[request["pid"]]
        code = exit_code(program.child, request["within_s"])
        self.take_errors(program)
        return {"code": code, "tail": program.tail.decode("utf-8", "replace")}

    def do_end(self, request: Line, descriptors: list[int]) -> Line:
        self.is_asked_to_end = True
        return {}

    def do_ended(self, request: Line, descriptors: list[int]) -> Line:
        """Return the programs that have ended by now, even if other processes keep their outputs open."""
        return {"pids": [pid for pid, program in self.programs.items() if exit_code(program.child) is not None]}

    def do_kill(self, request: Line, descriptors: list[int]) -> Line:
        program = self.programs.pop(request["pid"])
        end_group(program.child.pid)
        program.child.wait()
        self.take_errors(program)
        self.close_errors(program)
        return {}

    def take_errors(self, program: Program) -> None:
        """Read the standard error of a program. The first bytes are stored in a file, the last bytes are kept in
        memory, and all bytes in between are discarded.
        """
        for _ in range(CHUNKS_AT_ONCE):
            if program.errors < 0:
                return
            try:
                data = os.read(program.errors, CHUNK_BYTES)
            except BlockingIOError:
                return
            except OSError:
                data = b""
            if not data:
                self.close_errors(program)
                return
            program.tail = (program.tail + data)[-TAIL_BYTES:]
            self.keep(program.node, data)
            if len(data) < CHUNK_BYTES:
                return

    def keep(self, node: str, data: bytes) -> None:
        before = self.bytes_by_node.get(node, 0)
        if not self.folder or before >= KEPT_BYTES:
            return
        part = data[: KEPT_BYTES - before]
        self.bytes_by_node[node] = before + len(part)
        try:
            with open(os.path.join(self.folder, node + ".stderr.txt"), "ab") as file:
                file.write(part)
        except OSError:
            self.folder = ""

    def close_errors(self, program: Program) -> None:
        if program.errors >= 0:
            self.selector.unregister(program.errors)
            os.close(program.errors)
            program.errors = -1

    def end_all(self) -> None:
        """Kill and reap processes until this process has no descendants left."""
        for pid in self.programs:
            end_group(pid)
        deadline = time.monotonic() + ENDING_S
        while time.monotonic() < deadline:
            for pid in children():
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            try:
                if os.waitpid(-1, os.WNOHANG)[0] == 0:
                    time.sleep(0.002)
            except ChildProcessError:
                return


def exit_code(child: subprocess.Popen[bytes], within_s: float = 0.0) -> int | None:
    """Return the exit code of a program that ends within this time, or None if it still runs. A code is negative if a
    signal ended the program. Until do_kill ends the process group, no other process can get the same PID.
    """
    deadline = time.monotonic() + within_s
    while True:
        if hasattr(os, "waitid"):
            status = os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if status is not None:
                return status.si_status if status.si_code == os.CLD_EXITED else -status.si_status
        elif child.poll() is not None:  # This call would release the PID immediately.
            return child.returncode
        if time.monotonic() >= deadline:
            return None
        time.sleep(0.002)


def end_group(pid: int) -> None:
    with contextlib.suppress(OSError):
        os.killpg(pid, signal.SIGKILL)


def children() -> list[int]:
    """Return the children of this process, including adopted children. The list is empty if the system does not provide
    this information.
    """
    try:
        with open(f"/proc/self/task/{os.getpid()}/children") as file:
            return [int(pid) for pid in file.read().split()]
    except OSError:
        return []


def remove_abandoned(folder: str, emulator: int) -> None:
    """Remove the folder of an emulator that was killed, unless it contains a record. The socket may close before the
    emulator has ended.
    """
    name = os.path.basename(folder)
    deadline = time.monotonic() + ENDING_S
    while os.getppid() == emulator:
        if time.monotonic() > deadline:
            return
        time.sleep(0.002)
    is_partial = name.endswith(f".partial-{emulator}") and not glob.glob(f"{glob.escape(folder)}/*.arrows")
    if is_partial or name.startswith("mobilenet-live-"):
        shutil.rmtree(folder, ignore_errors=True)


def main() -> None:
    emulator = os.getppid()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: None)  # SIG_IGN would be inherited by the programs.
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    supervisor = Supervisor(socket.socket(fileno=int(sys.argv[1])), sys.argv[2])
    try:
        supervisor.serve()
    finally:
        supervisor.end_all()
    if not supervisor.is_asked_to_end:
        remove_abandoned(sys.argv[2], emulator)


if __name__ == "__main__":
    main()

"""Fixtures that start `mobilenet live` in a separate process, and clients that are connected to it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

import pytest
from websockets.sync.client import connect

from tests.conftest import FIRST, SCENARIOS

PATIENCE_S = 180.0


class Server:
    """Runs `mobilenet live` in a process, as a user would start it."""

    def __init__(self, folder: Path, *arguments: str, env: dict[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            [Path(sys.executable).with_name("mobilenet"), "live", *arguments, "--no-browser"],
            cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self.process.stdout is not None
        self.process.stdout.readline()
        self.url = self.process.stdout.readline().strip()

    @property
    def token(self) -> str:
        return self.url.partition("token=")[2]

    @property
    def port(self) -> int:
        port = urlsplit(self.url).port
        assert port is not None
        return port

    def end(self, number: int = signal.SIGINT) -> tuple[int, str, str]:
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, out, err


class Talk:
    """A client that communicates with a live server through one socket."""

    def __init__(self, server: Server, **headers: Any) -> None:
        address = f"ws://127.0.0.1:{server.port}/socket?token={server.token}"
        self._connection = connect(address, max_size=None, **headers)
        self.states: list[dict[str, Any]] = []
        self._serial = 0

    def __enter__(self) -> Talk:
        self.socket = self._connection.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.__exit__(kind, error, trace)

    def receive(self) -> dict[str, Any]:
        message = dict(json.loads(self.socket.recv(timeout=PATIENCE_S)))
        if message["type"] != "reply":
            self.states.append(message)
        return message

    def ask(self, command: str, **how: Any) -> dict[str, Any]:
        self._serial += 1
        self.socket.send(json.dumps({"command": command, "id": self._serial, **how}))
        while True:
            message = self.receive()
            if message["type"] == "reply" and message["id"] == self._serial:
                return message

    def send(self, command: str, **how: Any) -> None:
        """Send a command whose reply is not needed."""
        self.socket.send(json.dumps({"command": command, "id": 0, **how}))

    def since(self, generation: int = 0) -> dict[str, Any]:
        """Request all states from the beginning of the run."""
        return self.ask("since", generation=generation, row=0)

    def play_to(self, time_s: float, speed: float | str = "max") -> dict[str, Any]:
        """Play up to a time, and return the state at which the run pauses."""
        self.ask("play", speed=speed, until_s=time_s)
        return self.until_at(time_s)

    def until_at(self, time_s: float) -> dict[str, Any]:
        return self.until_state(lambda one: not one["is_playing"] and one["time_ns"] >= time_s * 10**9)

    def play_out(self) -> dict[str, Any]:
        self.ask("play", speed="max")
        return self.until_state(lambda one: one["is_over"])

    def job(self) -> dict[str, Any]:
        """Wait until the first job has finished, and return it."""
        over = ("done", "failed")
        state = self.until_state(lambda one: one.get("jobs", [{}])[0].get("state") in over)
        return dict(state["jobs"][0])

    def do(self, what: str, **how: Any) -> dict[str, Any]:
        return self.ask("do", what={"do": what, **how})

    def state(self) -> dict[str, Any]:
        """Wait for the next state from the server, and return it."""
        while True:
            message = self.receive()
            if message["type"] == "state":
                return message

    def until_state(self, holds: Any) -> dict[str, Any]:
        while not holds(state := self.state()):
            pass
        return state


@contextmanager
def serving(folder: Path, *arguments: str) -> Iterator[Server]:
    """Run a server until the end of the block."""
    server = Server(folder, *arguments)
    try:
        yield server
    finally:
        server.process.kill()
        server.process.communicate()


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Server]:
    with serving(tmp_path, str(FIRST)) as server:
        yield server


@pytest.fixture
def violating(tmp_path: Path) -> Iterator[Server]:
    """Start a live run of a program with a planted bug, which violates FIFO order."""
    bug = "protocol.command=[python3, flood.py, --bug]"
    with serving(tmp_path, str(SCENARIOS / "programs" / "flood.yaml"), "--allow-code", "--set", bug) as server:
        yield server


@pytest.fixture
def talk(served: Server) -> Iterator[Talk]:
    """Return a client that follows the run from its beginning."""
    with Talk(served) as talk:
        talk.since()
        yield talk


@pytest.fixture(scope="module")
def served_to_all(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("live"), str(FIRST)) as server:
        yield server

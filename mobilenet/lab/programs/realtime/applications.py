"""The programs of a run in real time: what they send enters their nodes, and the lines that they write become events.

Model     a host's program lives from the moment the host joins, and again from each recovery on; a crash kills it, with
          all that it has started. A station's program lives as long as the run. Programs that the user has started are
          cut off from the network for as long as their host is not there. First their datagrams are taken from the
          network between us, then all lines are read, and only then do the datagrams enter the emulated network: the
          lines that a program wrote before it sent have arrived by then, so a broadcast is recorded before any host can
          deliver it. Numbers of messages are the program's own, in any order; in the record each host's count from 0
Units     bytes
Errors    ProgramError: a program that fails
Source    ours: docs/guide/real-time.md
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from mobilenet.engine.clock import ns
from mobilenet.engine.kernel import Kernel, Process
from mobilenet.lab.programs.children import Child
from mobilenet.lab.programs.realtime.lines import CHUNK_BYTES, Expressions, Log, ProgramLine
from mobilenet.lab.programs.realtime.pace import Pace
from mobilenet.protocols.port import MessageId
from mobilenet.simulation.parties import Parties, ProgramError, RealTime

CHUNKS_AT_ONCE = 256  # of one program's lines, before the network goes on, since it may write as fast as it is read
LOOKED_AFTER_S = 0.1  # between two checks whether programs have failed
QUIET_NS = 1_000_000_000  # without packets and lines for this time, programs are at rest
UNKNOWN = 10**12  # numbers of messages from here on were delivered, but never broadcast
Note = Callable[..., None]  # EventLog.add


class ProgramSettings(NamedTuple):
    """The declarations of a scenario about its programs."""

    logs: str | None
    lines: Expressions
    folder: Path  # the folder in which programs start, and logs are
    is_new: bool = False  # the folder is that of the new run, and is renamed when the run is over
    most_output_bytes: int | None = None  # of a node's standard output, over all its lives; None: unlimited
    outputs: Path | None = None  # the folder where standard outputs are kept


class SentDatagram(NamedTuple):
    """A datagram that a program has sent, and the node that it is for."""

    source: str
    to: str
    data: bytes


class Exchange(Protocol):
    """The connection between programs and their nodes. Names are those of nodes, such as h3."""

    def open(self, pace: Pace) -> None:
        """Begin, and let `pace` listen to what can be read. Raise ScenarioError if that is impossible."""

    def wait_until_ready(self) -> None:
        """Wait until all programs that have been started are connected."""

    def start(self, name: str) -> Child | None:
        """Begin a life of this node. Return its program, if we have started it."""

    def stop(self, name: str, child: Child | None) -> None:
        """End the program with its life."""

    def signal(self, name: str, number: int) -> bool:
        """Send a signal to the program of a node. Return whether it still runs."""

    def take(self, ready: Sequence[Any]) -> Iterable[SentDatagram]:
        """Return the datagrams that programs have sent. `ready`: the sources that can be read."""

    def note_entry(self, one: SentDatagram) -> None:
        """Note that a datagram has entered the emulated network now."""

    def hand_over(self, name: str, datagram: Any) -> bool:
        """Give a packet to the program of a node, and return whether it could take it."""

    def failures(self) -> Iterable[tuple[str, str]]:
        """Return the nodes whose programs have failed since the last call, with the reasons."""

    def fill_in(self, word: str, host: int) -> str:
        """Return a word of the scenario with its placeholders filled in for a host."""

    def close(self) -> None:
        """End all programs, because the run is over."""

    def document(self) -> dict[str, Any]:
        """Return what the manifest records of the programs."""


class Applications(Parties):
    """The applications of one run. `note` adds an event; `now` returns the emulated time."""

    def __init__(
        self, settings: ProgramSettings, exchange: Exchange, note: Note, now: Callable[[], int], options: RealTime
    ) -> None:
        self._settings = settings
        self._exchange = exchange
        self._note = note
        self._now = now
        self.pace = Pace(self._take, options._replace(begins=self._begins))
        self._asked_begins = options.begins
        self._nodes: dict[str, Any] = {}  # nodes whose programs may talk: LiveHost and its kind
        self._stations: list[Any] = []  # stations with a program, before the run begins
        self._running: dict[str, Child] = {}
        self._speaks: dict[Any, str] = {}  # a program's standard output, while it is open -> its node
        self._look_s = 0.0  # time of the next check for ended programs
        self._logs: dict[str, Log] = {}
        self._numbers: dict[tuple[int, int], int] = {}  # (host, its program's number of a message) -> number
        self._counts: dict[int, int] = {}
        self._stirred_ns = 0  # when something last came in
        self._written: dict[str, int] = {}  # node -> bytes of its standard output
        self.undeliverable = 0
        self._stopped: dict[str, str] = {}  # node -> the last signal that its program got
        self.will_stop = False  # whether programs that still run are to be stopped
        self._to_stop: list[str] = []  # nodes whose programs are

    # --- lives

    def open(self) -> None:
        """Begin the run. Raise ScenarioError if that is impossible."""
        self._exchange.open(self.pace)
        for station in self._stations:
            self.begin(station)

    def _begins(self) -> None:
        """Prepare for the start of the clock."""
        self._exchange.wait_until_ready()
        self._asked_begins()

    def expect(self, station: Any) -> None:
        """Start the station's program with the run."""
        self._stations.append(station)

    def begin(self, node: Any) -> None:
        """Let the node's program talk from now on, and start it if that is our task."""
        name = node.name
        self._nodes[name] = node
        child = self._exchange.start(name)
        if child is not None:
            self._running[name] = child
            os.set_blocking(child.back, False)
            self.pace.listen(child.back)
            self._speaks[child.back] = name
        if self._settings.logs is None or name[0] == "s":
            self._logs[name] = Log(None)
        elif name not in self._logs:
            self._logs[name] = Log(self._settings.folder / self._exchange.fill_in(self._settings.logs, node.port.me))

    def end_life(self, name: str) -> None:
        if self._nodes.pop(name, None) is None:
            return
        child = self._running.pop(name, None)
        if child is not None and self._speaks.pop(child.back, None) is not None:
            self.pace.forget(child.back)
        self._exchange.stop(name, child)

    def end(self, now_ns: int, is_owed: bool = False) -> None:
        self._exchange.close()
        self.pace.close()

    def stopping(self, kernel: Kernel, protocol: Any) -> Process:
        """End the programs that still run. Those that promise something are only ended on request."""
        after_s = 0.0 if protocol.stop.after_s is None and protocol.promises is None else protocol.stop.after_s
        if after_s is not None:
            self.will_stop = True
            yield kernel.timeout(ns(after_s))
            self.stop_programs(signal.SIGTERM)
            yield kernel.timeout(ns(protocol.stop.grace_s))
            self.stop_programs(signal.SIGKILL)

    def stop_programs(self, number: signal.Signals) -> None:
        """Send a signal to all programs that still run. Whatever exit code follows is not a failure."""
        for name in self._running:
            if self._exchange.signal(name, number):
                self._stopped[name] = number.name
                self._stirred_ns = self._now()  # it may write last words

    def is_quiet(self) -> bool:
        """Return whether nothing was sent or written for a while, and no program remains to be stopped."""
        self._to_stop = [name for name in self._running if self.will_stop and self._exchange.signal(name, 0)]
        return not self.not_at_rest()

    def _log_name(self, path: Path | None) -> str:
        return str(path) if path is None or not self._settings.is_new else str(path.relative_to(self._settings.folder))

    def facts(self) -> dict[str, Any]:
        most = self._settings.most_output_bytes
        missing = sorted(self._log_name(log.path) for log in self._logs.values() if log.is_missing)
        document = {
            "lateness_ms": self.pace.lateness_ms(),
            "datagrams_not_taken": self.undeliverable,
            "logs_that_never_were": missing,
            "programs_stopped": dict(sorted(self._stopped.items())),
            "outputs_cut": sorted(n for n, count in self._written.items() if count > (most or count)),
        } | self._exchange.document()
        return {"real_time": document}

    def not_at_rest(self) -> list[str]:
        running = [f"the program of {name} still runs" for name in self._to_stop]
        if self._now() - self._stirred_ns >= QUIET_NS:
            return running
        return [f"programs sent or reported something within the last {QUIET_NS / 1e9:g} s", *running]

    # --- what comes in

    def _take(self) -> None:
        came = list(self._exchange.take(self.pace.ready()))
        self._read_lines()  # everything written before they were sent is there now
        self._see_who_failed()
        for one in came:
            node = self._nodes.get(one.source)
            if node is None:
                continue
            self._stirred_ns = self._now()
            number = node.send(one.to, one.data)
            detail = {"to": one.to, "bytes": len(one.data)}
            self._note(self._now(), one.source, "datagram", f"{one.source}:{number}", None, None, detail)
            self._exchange.note_entry(one)

    def hand_over(self, name: str, datagram: Any) -> None:
        """Give a packet that has come to a node to its program."""
        if name not in self._nodes:  # a station without a program
            return
        self._stirred_ns = self._now()
        if self._exchange.hand_over(name, datagram):
            sender = datagram.source if isinstance(datagram.source, str) else f"h{datagram.source}"
            self._note(self._now(), name, "datagram_received", f"{sender}:{datagram.number}")
        else:
            self.undeliverable += 1

    def _read_lines(self) -> None:
        for source in self.pace.ready():
            if (name := self._speaks.get(source)) is not None:
                self._read_output(name, source)
        if self._settings.logs is not None:
            for name in self._nodes:
                self._read_log(name)

    def _read_output(self, name: str, source: int) -> None:
        for _ in range(CHUNKS_AT_ONCE):
            try:
                data = os.read(source, CHUNK_BYTES)
            except BlockingIOError:
                return
            if data == b"":
                self.pace.forget(source)
                del self._speaks[source]
                return
            data = data[: self._room(name, len(data))]
            if self._settings.outputs is not None and data:
                with (self._settings.outputs / f"{name}.stdout.txt").open("ab") as file:
                    file.write(data)
            if self._settings.logs is None:
                self._hear(name, self._logs[name].lines(data))
            if len(data) < CHUNK_BYTES:
                return

    def _room(self, name: str, count: int) -> int | None:
        """Return how many of these bytes of its standard output count, or None for all. The rest is lost."""
        most = self._settings.most_output_bytes
        before = self._written.get(name, 0)
        self._written[name] = before + count
        return None if most is None else max(0, most - before)

    def _read_log(self, name: str) -> None:
        log = self._logs[name]
        for _ in range(CHUNKS_AT_ONCE):
            if log.path is None:
                return
            data = log.more()
            self._hear(name, log.lines(data))
            if len(data) < CHUNK_BYTES:
                return

    def _see_who_failed(self) -> None:
        """Report programs that have failed. A program need not live as long as its host, but must not fail. Its output
        is not a sign of life: it may close it, and its children may keep it open.
        """
        now_s = time.monotonic()
        if now_s < self._look_s:
            return
        self._look_s = now_s + LOOKED_AFTER_S
        for name, how in self._exchange.failures():
            if name in self._nodes and name not in self._stopped:
                raise ProgramError(f"{name}: its program {how}")

    def _hear(self, name: str, lines: list[bytes]) -> None:
        if not lines or self._settings.lines.are_none or name[0] == "s":
            return
        self._stirred_ns = self._now()
        events: list[ProgramLine] = []
        me = int(name[1:])
        try:
            self._settings.lines.find(me, lines, events, self._logs[name].path)
        finally:
            for sender, number in events:
                self._note_line(me, sender, number)

    def _note_line(self, me: int, sender: int | None, program_number: int) -> None:
        if sender is not None:
            number = self._numbers.get((sender, program_number), UNKNOWN + program_number)
            self._nodes[f"h{me}"].port.deliver(MessageId(sender, number), None)
            return
        number = self._counts[me] = self._counts.get(me, -1) + 1
        self._numbers[me, program_number] = number  # a new life may begin at 0 again
        self._note(self._now(), f"h{me}", "broadcast", f"h{me}:{number}")


class WithProgram:
    """A host with a program that lives while the host is a member of the run. It extends a relay's host."""

    name: str
    port: Any
    memory: Any
    applications: Applications

    def join(self) -> None:
        was = self.memory.member
        super().join()  # type: ignore[misc]
        if self.memory.member and not was:
            self.applications.begin(self)

    def leave(self) -> bool:
        self.applications.end_life(self.name)
        return bool(super().leave())  # type: ignore[misc]

    def on_recover(self) -> None:
        if self.memory.member:
            self.applications.begin(self)

    def on_end(self) -> None:
        self.applications.end_life(self.name)

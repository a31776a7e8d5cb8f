"""Connect programs to a real-time run through their datagrams and their lines of output.

Model     The program of a host starts when the host joins or recovers. A crash kills the program with everything that
          it has started. The program of a station runs as long as the run. Programs that the user has started are
          disconnected from the network while their host is absent. In each step, the emulator first takes the
          datagrams from the sockets, then reads all lines, and only then lets the datagrams enter the emulated
          network. By then, all lines that a program wrote before it sent a datagram have arrived, so a broadcast is
          recorded before any host can deliver it. Programs may number their messages in any way; in the record, the
          messages of each host are counted from 0
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

# Maximum number of chunks to read from one program before the network continues, because a program may write as fast as
# it is read.
CHUNKS_AT_ONCE = 256
LOOKED_AFTER_S = 0.1  # time between two checks for programs that have failed
QUIET_NS = 1_000_000_000  # Programs are considered quiet if no packets or lines have arrived for this long.
UNKNOWN = 10**12  # Numbers from here on mark messages that were delivered without a recorded broadcast.
Note = Callable[..., None]  # a function such as EventLog.add


class ProgramSettings(NamedTuple):
    """The settings that a scenario declares for its programs."""

    logs: str | None
    lines: Expressions
    folder: Path  # The folder in which programs start, and which contains their logs.
    is_new: bool = False  # The folder belongs to the new run, and will be renamed when the run is over.
    most_output_bytes: int | None = None  # limit for the standard output of a node, over all its lives; None: no limit
    outputs: Path | None = None  # folder in which standard outputs are stored, or None


class SentDatagram(NamedTuple):
    """A datagram that a program has sent, with its source and destination nodes."""

    source: str
    to: str
    data: bytes


class Exchange(Protocol):
    """The connection between programs and their nodes. Nodes are identified by their names, such as h3."""

    def open(self, pace: Pace) -> None:
        """Open the connection, and let `pace` listen to its sources. Raise ScenarioError if that is impossible."""

    def wait_until_ready(self) -> None:
        """Wait until all programs that have been started are connected."""

    def start(self, name: str) -> Child | None:
        """Start a life of this node. Return its program if the emulator has started it, and None otherwise."""

    def stop(self, name: str, child: Child | None) -> None:
        """End a life of this node, and its program."""

    def signal(self, name: str, number: int) -> bool:
        """Send a signal to the program of a node. Return whether it still runs."""

    def take(self, ready: Sequence[Any]) -> Iterable[SentDatagram]:
        """Return the datagrams that programs have sent. `ready` contains the sources that can be read."""

    def note_entry(self, one: SentDatagram) -> None:
        """Record that a datagram enters the emulated network now."""

    def hand_over(self, name: str, datagram: Any) -> bool:
        """Pass a packet to the program of a node. Return whether the program could take it."""

    def failures(self) -> Iterable[tuple[str, str]]:
        """Return the nodes whose programs have failed since the last call, each with the reason."""

    def fill_in(self, word: str, host: int) -> str:
        """Return a word of the scenario with its placeholders replaced for a host."""

    def close(self) -> None:
        """End all programs, because the run is over."""

    def document(self) -> dict[str, Any]:
        """Return the entries of the manifest about the programs."""


class Applications(Parties):
    """The applications of one run. `note` adds an event, and `now` returns the emulated time."""

    def __init__(
        self, settings: ProgramSettings, exchange: Exchange, note: Note, now: Callable[[], int], options: RealTime
    ) -> None:
        self._settings = settings
        self._exchange = exchange
        self._note = note
        self._now = now
        self.pace = Pace(self._take, options._replace(begins=self._begins))
        self._asked_begins = options.begins
        self._nodes: dict[str, Any] = {}  # the nodes whose programs may communicate, as objects such as LiveHost
        self._stations: list[Any] = []  # stations with a program, which start with the run
        self._running: dict[str, Child] = {}
        self._speaks: dict[Any, str] = {}  # open standard output of a program -> name of the node
        self._look_s = 0.0  # time of the next check for ended programs
        self._logs: dict[str, Log] = {}
        # (host, number that its program gave to a message) -> number in the record
        self._numbers: dict[tuple[int, int], int] = {}
        self._counts: dict[int, int] = {}
        self._stirred_ns = 0  # time of the last packet or line
        self._written: dict[str, int] = {}  # node -> bytes of its standard output
        self.undeliverable = 0
        self._stopped: dict[str, str] = {}  # node -> the last signal that was sent to its program
        self.will_stop = False  # whether programs that are still running will be stopped
        self._to_stop: list[str] = []  # nodes whose programs are still running and will be stopped

    # --- lives

    def open(self) -> None:
        """Start the run. Raise ScenarioError if that is impossible."""
        self._exchange.open(self.pace)
        for station in self._stations:
            self.begin(station)

    def _begins(self) -> None:
        """Wait until the programs are ready, immediately before the clock starts."""
        self._exchange.wait_until_ready()
        self._asked_begins()

    def expect(self, station: Any) -> None:
        """Register a station. Its program starts with the run."""
        self._stations.append(station)

    def begin(self, node: Any) -> None:
        """Let the program of the node communicate from now on. Start the program, unless the user does that."""
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
        """Stop the programs that are still running. Programs that declare promises are stopped only if the scenario
        requests it.
        """
        after_s = 0.0 if protocol.stop.after_s is None and protocol.promises is None else protocol.stop.after_s
        if after_s is not None:
            self.will_stop = True
            yield kernel.timeout(ns(after_s))
            self.stop_programs(signal.SIGTERM)
            yield kernel.timeout(ns(protocol.stop.grace_s))
            self.stop_programs(signal.SIGKILL)

    def stop_programs(self, number: signal.Signals) -> None:
        """Send a signal to all programs that are still running. Their later exit codes do not count as failures."""
        for name in self._running:
            if self._exchange.signal(name, number):
                self._stopped[name] = number.name
                self._stirred_ns = self._now()  # The program may still write a few lines.

    def is_quiet(self) -> bool:
        """Return whether no input has arrived for a while and no program remains to be stopped."""
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
        self._read_lines()  # All lines that were written before these datagrams were sent have arrived by now.
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
        """Pass a packet that has arrived at a node to the program of the node."""
        if name not in self._nodes:  # The node is a station without a program.
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
        """Return how many of these bytes of standard output may be kept, or None if there is no limit."""
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
        """Report programs that have failed. A program may end before its host does, but must not fail. The state of the
        output does not show this: a program may close its output and continue, and its children may keep it open.
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
        self._numbers[me, program_number] = number  # A new life of the program may begin at 0 again.
        self._note(self._now(), f"h{me}", "broadcast", f"h{me}:{number}")


class WithProgram:
    """A host whose program runs while the host is a member. It extends the host of a relay."""

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

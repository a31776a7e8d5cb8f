"""Connect a process to its experiment, which records the events of the process.

Model     A process has a port for its protocol and, on the detector's lane, a port for its detector. Events are
          recorded when they happen, and buffer sizes when they change.
Units     integer nanoseconds
Errors    AssertionError for a protocol that does not count its broadcasts from 0
Source    ours: docs/protocols/vcube.md
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from mobilenet.engine.kernel import Kernel
from mobilenet.engine.random_streams import Stream
from mobilenet.protocols.vcube.port import MessageId
from mobilenet.record.recorder import Recording
from mobilenet.scenario.processes import ProcessScenario
from mobilenet.simulation.nodes import whole


class Surroundings(Protocol):
    """The part of an experiment that its processes use."""

    recording: Recording
    names: dict[MessageId, str]
    kernel: Kernel
    scenario: ProcessScenario
    samples_changes: bool

    @property
    def measured_ns(self) -> int: ...
    def sender(self, i: int) -> Callable[[int, Any], None]: ...
    def timer(self, i: int, action: Callable[[], None]) -> Any: ...
    def may_suspect(self, by: int, process: int) -> None: ...
    def begin(self, message: MessageId) -> None: ...


class Process:
    """The port of one process, which records the events of the process."""

    def __init__(self, experiment: Surroundings, me: int) -> None:
        self._experiment = experiment
        self._events = experiment.recording.events
        self._samples = experiment.recording.samples
        self._samples_changes = experiment.samples_changes
        self._names = experiment.names
        self._calendar = experiment.kernel.calendar
        self.me = me
        self.name = f"p{me}"
        self.up = True
        self.send: Callable[[int, Any], None] = experiment.sender(me)
        self.protocol: Any = None
        self._sampled: tuple[int, ...] = ()
        self.broadcasts = 0
        self.delivered = 0
        self._random: Stream | None = None  # created on first use, because most protocols draw no random numbers

    @property
    def now(self) -> int:
        return self._calendar.now

    def timer(self, action: Callable[[], None]) -> Any:
        return self._experiment.timer(self.me, action)

    def between(self, low: int, high: int) -> int:
        if self._random is None:
            self._random = Stream(self._experiment.scenario.seed, "protocol", self.name)
        return low + self._random.below(high - low + 1)

    def deliver(self, message: Any, body: Any) -> None:
        """Deliver a message to the application. This is on the hot path."""
        try:
            text = self._names[message]
        except (KeyError, TypeError):
            # the process did not broadcast this message, which the verdict will report
            text = _name_of("deliver", message)
        self.delivered += 1
        self._events.add(self._calendar.now, self.name, "deliver", text)

    def complete(self, message: Any) -> None:
        try:
            text = self._names[message]
        except (KeyError, TypeError):
            text = _name_of("complete", message)  # the message is unknown, as in deliver()
        self._add("complete", text, {"at_ns": self._experiment.measured_ns})

    def _add(self, event: str, message: str | None, detail: dict[str, Any] | None = None) -> None:
        self._events.add(self._calendar.now, self.name, event, message, detail=detail)

    # --- the detector's port is made of these

    def suspect(self, process: int) -> None:
        self._experiment.may_suspect(self.me, process)
        self._add("suspect", None, {"process": f"p{process}"})
        self.protocol.on_crash(process)
        self.sample()

    def trust(self, process: int) -> None:
        self._add("trust", None, {"process": f"p{process}"})
        self.protocol.on_up(process)
        self.sample()

    # --- what the experiment does

    def broadcast(self) -> None:
        if not self.up:
            return
        message = MessageId(self.me, self.broadcasts)
        self.broadcasts += 1
        self._experiment.begin(message)
        self._add("broadcast", self._names[message])
        if self.protocol.broadcast(None) != message:
            raise AssertionError(f"{self.name} does not count its broadcasts from 0: {message}")
        self.sample()

    def crash(self) -> None:
        self.up = False
        if (on_end := getattr(self.protocol, "on_end", None)) is not None:
            on_end()
        self._add("crash", None)

    def on_receive(self, sender: int, message: Any) -> None:
        self.protocol.on_receive(sender, message)
        self.sample()

    def sample(self, is_end: bool = False) -> None:
        """Record the sizes of buffers that have changed."""
        if not (is_end or self._samples_changes):
            return
        sizes = self.protocol.buffer_sizes()
        if sizes == self._sampled and not is_end:
            return
        before = self._sampled or (None,) * len(sizes)
        for quantity, old, new in zip(self.protocol.BUFFERS, before, sizes, strict=True):
            if is_end or old != new:
                self._samples.add(self._calendar.now, self.name, quantity, float(whole("buffer_sizes: one", new)))
        self._sampled = sizes


def _name_of(call: str, message: Any) -> str:
    """Return the id in the notation of the record, such as p3:14. This also works for an id that a program has made
    up.
    """
    if not isinstance(message, MessageId) or type(message.source) is not int or type(message.ts) is not int:
        raise ValueError(f"{call}: the message is {message!r}, expected a MessageId of two whole numbers")
    return f"p{message.source}:{message.ts}"


class ProcessDetectorPort:
    """The port of a process on the detector's lane."""

    def __init__(self, process: Process, send: Callable[[int, Any], None]) -> None:
        self.me = process.me
        self.timer = process.timer
        self.suspect = process.suspect
        self.trust = process.trust
        self.send = send

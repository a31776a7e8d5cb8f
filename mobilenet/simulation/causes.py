"""The log of causes, which records why each message was sent.

Model     A handler runs when the MAC has received, sent or given up on a frame, when a timer fires, or when a message
          arrives over a wire. Each handler is a row of the log, and so is everything that it sends: the `cause` of a
          message is the row of its handler. Rows are only appended, so their numbers identify them. External events
          (a new cell, a crash, a broadcast of the application) have no row, and their consequences have the cause -1.
          Without the log, nodes and links call their usual functions, so there is no overhead.
Units     integer nanoseconds, bytes
Source    ours: docs/models/causes.md
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from mobilenet.engine.kernel import Kernel
from mobilenet.network.radio.frame import ACK, RECEIVED, SINR_OUTCOMES, Frame
from mobilenet.network.wired.network import RECEIVED as ARRIVES
from mobilenet.record.recorder import Recording
from mobilenet.simulation.message_fields import carried_messages

NONE = -1  # stands for a missing row
OUTCOMES = tuple("" if outcome == RECEIVED else f":{name}" for outcome, name in enumerate(SINR_OUTCOMES))


class CauseLog:
    """Logs what caused each frame and each message of one run."""

    def __init__(self, kernel: Kernel, recording: Recording) -> None:
        assert recording.causes is not None
        self._calendar = kernel.calendar
        self._table = recording.causes
        self._events = recording.events
        self._handler = NONE  # row of the current or the last handler
        self._handler_ns = NONE
        # messages in transit between processes
        self._travelling: dict[tuple[int, int, int], deque[tuple[int, Any, str]]] = {}
        self._down: set[int] = set()  # numbers of crashed processes
        self.window = ""  # the window that held back TCP's next segment
        self._queues: dict[str, deque[tuple[Frame, int, str]]] = {}  # sender -> its frames that may still be sent
        self._is_queueing = False  # True while a frame is handed to the MAC, whose queue may be full.

    def cause(self) -> int:
        """Return the row of the running handler, or NONE. A handler takes no simulated time."""
        return self._handler if self._handler_ns == self._calendar.now else NONE

    def _begin(self) -> None:
        self._handler, self._handler_ns = len(self._table), self._calendar.now

    def end(self) -> None:
        """Record the end of the running handler."""
        self._handler = NONE

    # --- the radio

    def queueing(self, node: str, enqueue: Callable[[Frame], bool]) -> Callable[[Frame], bool]:
        """Return a function that logs each frame and then passes it to `enqueue`, a function of this node's MAC."""
        queue = self._queues.setdefault(node, deque())

        def note_and_enqueue(frame: Frame) -> bool:
            message, to = frame.message, frame.to
            messages = " ".join(carried_messages(message))
            queue.append((frame, len(self._table), messages))
            self._table.add(
                self._calendar.now, node, "queued", self.cause(), type(message).__name__, "" if to is None else to.name,
                messages, NONE, NONE, NONE, self.window, len(self._events), "",
            )  # fmt: skip
            self.window = ""
            self._is_queueing = True
            is_queued = enqueue(frame)
            self._is_queueing = False
            return is_queued

        return note_and_enqueue

    def note_drop(self, node: str, message: Any) -> None:
        """Record that this node's MAC gives up on the frame with this message, unless its queue was only full."""
        if self._is_queueing:
            return
        row = next((row for frame, row, _ in self._queues[node] if frame.message is message), NONE)
        self._begin()
        self._table.add(
            self._calendar.now, node, "given_up", row, type(message).__name__, "", "", NONE, NONE, NONE, "",
            len(self._events), "",
        )  # fmt: skip

    def on_sent(self, frame: Frame) -> None:
        """Record that all receivers have processed the frame: their handlers run next, and then the sender's
        handler.
        """
        is_ack = frame.kind == ACK
        to = frame.to
        row, messages = self._queue_entry(frame.message if is_ack else frame)
        if is_ack:
            step, kind, messages = "acknowledged", "mac_ack", ""
        else:
            step, kind = "sent", type(frame.message).__name__
        receptions = " ".join(
            [node.name + OUTCOMES[outcome] for node, outcome in zip(frame.receivers, frame.outcomes, strict=True)]
        )
        self._begin()
        self._table.add(
            self._calendar.now, frame.sender.name, step, row, kind, "" if to is None else to.name, messages,
            frame.start_ns, frame.start_ns + frame.duration_ns, NONE, "", len(self._events), receptions,
        )  # fmt: skip

    def _queue_entry(self, frame: Frame) -> tuple[int, str]:
        """Return the row in which the frame was queued, and its messages. Frames leave the queue in order, so the
        entries before this one are removed.
        """
        queue = self._queues[frame.sender.name]
        for position, (waiting, row, messages) in enumerate(queue):
            if waiting is frame:
                for _ in range(position):
                    queue.popleft()
                return row, messages
        return NONE, ""

    # --- timers

    def timer(self, node: str, fire: Callable[[], None], action: Callable[[], None] | None = None) -> NotedTimer:
        """Return a timer that logs when it fires and what started it. The timer is named after `action`, or after
        `fire` if there is no `action`.
        """
        return NotedTimer(self, node, fire, fire if action is None else action)

    def note_timer(self, node: str, name: str, since_ns: int, cause: int) -> None:
        self._begin()
        self._table.add(
            self._calendar.now, node, "timer", cause, name, "", "", since_ns, NONE, NONE, "", len(self._events), "",
        )  # fmt: skip

    @property
    def now(self) -> int:
        return self._calendar.now

    # --- wires

    def wire(self, a: int, b: int, message: Any, size_bytes: int) -> Callable[[str], None]:
        """Record that a message is put on the link from a to b. Return a function that must be called with the fate of
        the message.
        """
        row, kind, messages = len(self._table), type(message).__name__, " ".join(carried_messages(message))
        self._table.add(
            self._calendar.now, f"s{a}", "wire", self.cause(), kind, f"s{b}", messages, NONE, NONE, size_bytes,
            self.window, len(self._events), "",
        )  # fmt: skip
        self.window = ""

        def note(fate: str) -> None:
            if fate == ARRIVES:
                self._begin()
                self._table.add(
                    self._calendar.now, f"s{b}", "arrived", row, kind, f"s{b}", messages, NONE, NONE, NONE, "",
                    len(self._events), "",
                )  # fmt: skip

        return note

    # --- between processes

    def sending(self, i: int, send: Callable[[int, Any], None]) -> Callable[[int, Any], None]:
        """Return a version of the send function of process i that logs each message."""

        def note_and_send(to: int, message: Any) -> None:
            row, size = len(self._table), message.size_bytes
            messages = " ".join([f"p{name[1:]}" for name in carried_messages(message)])
            self._table.add(
                self._calendar.now, f"p{i}", "wire", self.cause(), type(message).__name__, f"p{to}", messages, NONE,
                NONE, size, "", len(self._events), "",
            )  # fmt: skip
            if to not in self._down:
                self._travelling.setdefault((i, to, id(message)), deque()).append((row, message, messages))
            send(to, message)

        return note_and_send

    def note_loss(self, i: int, to: int, message: Any) -> None:
        """Record that the network loses the last message that process i has sent."""
        if copies := self._travelling.get((i, to, id(message))):
            copies.pop()
            if not copies:
                del self._travelling[i, to, id(message)]

    def note_crash(self, i: int) -> None:
        """Record the crash of process i. The process receives no further messages."""
        self._down.add(i)
        for key in [key for key in self._travelling if key[1] == i]:
            del self._travelling[key]

    def receiving(self, i: int, receive: Callable[[int, Any], None]) -> Callable[[int, Any], None]:
        """Return a version of the receive function of process i that logs each message."""

        def note_and_receive(sender: int, message: Any) -> None:
            copies = self._travelling.get((sender, i, id(message)))
            row, _, messages = copies.popleft() if copies else (NONE, None, "")
            if not copies:
                self._travelling.pop((sender, i, id(message)), None)
            self._begin()
            self._table.add(
                self._calendar.now, f"p{i}", "arrived", row, type(message).__name__, f"p{i}", messages, NONE, NONE,
                NONE, "", len(self._events), "",
            )  # fmt: skip
            receive(sender, message)
            self._handler = NONE

        return note_and_receive


class NotedTimer:
    """A timer of a node that logs its starts and its actions. It wraps a timer of the kernel."""

    __slots__ = ("_action", "_cause", "_log", "_name", "_named", "_node", "_since_ns", "_timer")

    def __init__(self, log: CauseLog, node: str, action: Callable[[], None], named: Callable[[], None]) -> None:
        self._log = log
        self._node = node
        self._action = action
        self._named = named
        self._name = "" if isinstance(getattr(type(named), "timer_name", None), property) else name_of(named)
        self._since_ns, self._cause = 0, NONE
        self._timer: Any = None

    def over(self, timer: Any) -> NotedTimer:
        """Set the kernel's timer, which calls `fire`, and return this object."""
        self._timer = timer
        return self

    @property
    def name(self) -> str:
        """The name of the timer. A timer of a program changes its name when the program uses it again."""
        return self._name or name_of(self._named)

    @property
    def running(self) -> bool:
        return bool(self._timer.running)

    def start(self, delay_ns: Any) -> None:
        self._since_ns, self._cause = self._log.now, self._log.cause()
        self._timer.start(delay_ns)

    def stop(self) -> None:
        self._timer.stop()

    def fire(self) -> None:
        self._log.note_timer(self._node, self._name or name_of(self._named), self._since_ns, self._cause)
        self._action()
        self._log.end()


def name_of(action: Callable[[], None]) -> str:
    """Return the name of a timer: the `timer_name` of its action if there is one, or else the name of the action."""
    name = getattr(action, "timer_name", None) or getattr(action, "__name__", "timer")
    return str(name).removeprefix("_").removeprefix("on_").replace("<lambda>", "timer")

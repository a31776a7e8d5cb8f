"""The base class of nodes that are programs: send events, and carry out the actions in the answers.

Model     The emulator sends an event and reads the whole answer. Then the actions take effect in their order, at the
          time of the event. Events that an action causes immediately (such as a frame that does not fit into the
          queue) are reported after all actions of the answer
Units     integer nanoseconds, bytes
Errors    ProgramError, one line: the node, the time, the line and what was expected
Source    ours: docs/guide/programs.md
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Literal

from mobilenet.lab.programs.conversation import Conversation, short_line
from mobilenet.lab.programs.message import Says, encode, message_class, text_of
from mobilenet.lab.programs.run_programs import Cast
from mobilenet.quoting import there_are
from mobilenet.record.actions import MOST_FRAME_BYTES, Role, require
from mobilenet.simulation.parties import ProgramError

MOST_AT_ONCE = 100_000  # Maximum number of events of one node at the same time. Networks cause far fewer.


class NamedTimer:
    """A timer to which a program has given a name."""

    __slots__ = ("_party", "name", "timer")

    def __init__(self, party: Party, name: str) -> None:
        self._party = party
        self.name = name
        self.timer = party.port.timer(self)

    @property
    def timer_name(self) -> str:
        """The name of the timer in explanations of delays. It changes when the timer is reused."""
        return self.name

    def __call__(self) -> None:
        self._party.expire(self)


class Party:
    """One life of a node whose protocol is a program."""

    role: ClassVar[Role]

    def __init__(self, cast: Cast, port: Any) -> None:
        self.port = port
        self._cast = cast
        self._name = f"{self.role[0]}{port.me}"
        self._talk: Conversation | None = None
        self._life = 0
        self._timers: dict[str, NamedTimer] = {}
        # Timers that have ended. They are reused, because a port stores every timer that it has created.
        self._over: list[NamedTimer] = []
        self._sizes: dict[str, int] = {}
        self._full: tuple[int, ...] = ()
        self._settled = True
        self.card: dict[str, bool | int | float | str] | None = None  # the state that the program asked to show
        self._moment, self._at_once = -1, 0  # time of the last event, and the number of events at this time
        self._to_tell: deque[str] = deque()  # events that occurred while the actions of an answer were carried out
        self._acting = False
        self._does: dict[str, Callable[[dict[str, Any]], None]] = {
            "send": self._send,
            "broadcast": self._broadcast,
            "timer": self._start_timer,
            "cancel": self._cancel,
            "buffer": self._buffer,
            "settled": self._settle,
            "show": self._show,
            "log": self._log,
        }

    # --- what the network asks

    @property
    def BUFFERS(self) -> tuple[str, ...]:
        return self._cast.buffers.get(self.role, ())

    def buffer_sizes(self) -> tuple[int, ...]:
        return self._full

    def settled(self) -> bool:
        return self._settled

    def on_sent(self, message: Says) -> None:
        if message.tag is not None:
            self.tell("sent", f',"tag":{message.tag}')

    def on_dropped(self, message: Says) -> None:
        if message.tag is not None:
            self.tell("dropped", f',"tag":{message.tag}')

    def on_receive(self, sender: int, message: Says) -> None:
        self.tell("receive", f',"from":{sender},"message":{message.text}')

    def on_end(self) -> None:
        """End this life of the node."""
        self._cast.end_life(self._name)

    # --- events

    def begin(self, stable: str = "null") -> None:
        """Start the program, and send it the start event."""
        cast = self._cast
        self._talk, self._life = cast.start(self.role, self.port.me)
        try:
            self.tell("start", "," + cast.introduction(self.role, self.port.me, stable))
        except ProgramError as error:
            raise ProgramError(f"{error}{cast.why_not_begun()}", error.is_input) from None
        if self.role not in cast.buffers:
            cast.buffers[self.role] = tuple(self._sizes)
        self._note_sizes()

    def timers(self) -> Iterator[tuple[str, Any]]:
        """Yield the timers of this life, each with the name that the program has given it."""
        yield from ((name, named.timer) for name, named in self._timers.items())

    def expire(self, timer: NamedTimer) -> None:
        del self._timers[timer.name]
        self._over.append(timer)
        self.tell("timer", f',"name":{encode(timer.name)}')

    def tell(self, event: str, members: str = "") -> None:
        """Send an event with the current time. `members` contains additional members of the JSON object, each preceded
        by a comma.
        """
        line = f'{{"ev":"{event}","t":{self.port.now}{members}}}'
        if self._acting:
            self._to_tell.append(line)
            return
        self._tell(line)
        while self._to_tell:
            self._tell(self._to_tell.popleft())

    def _tell(self, line: str) -> None:
        assert self._talk is not None
        if self.port.now != self._moment:
            self._moment, self._at_once = self.port.now, 0
        self._at_once += 1
        if self._at_once > MOST_AT_ONCE:
            raise ProgramError(
                f"{self._name}: more than {MOST_AT_ONCE:,} events at the same moment, so time does not advance; the"
                f" last: {short_line(line)}; expected pauses between actions, for example timers above 0 ns"
            )
        note = self._cast.note
        if note is not None:
            note(self.port.now, self._name, self._life, False, line)
        actions, lines = self._talk.ask(line)
        if note is not None:
            for reply in lines:
                note(self.port.now, self._name, self._life, True, reply)
        if actions:
            self._act(actions, lines, line)

    def _act(self, actions: list[dict[str, Any]], lines: list[str], event: str) -> None:
        does, role = self._does, self.role
        number = 0
        self._acting = True
        try:
            for action in actions:
                require(action, role)
                does[action["do"]](action)
                number += 1
        except ProgramError:
            raise
        except (ValueError, TypeError, RecursionError) as error:
            assert self._talk is not None
            self._talk.refuse(number + 1, len(lines), lines[number], str(error), event)
        finally:
            self._acting = False

    def require_there(self, kind: Literal["host", "station"], number: int) -> int:
        """Return the number of a host or station. Raise ValueError if the network does not have this node."""
        count = self._cast.setting.counts[f"{kind}s"]
        if number >= count:
            raise ValueError(f"{kind} {number} does not exist; {there_are(count, kind)}")
        return number

    # --- actions of all roles

    def _send(self, action: dict[str, Any]) -> None:
        self.port.send(action["to"], self._frame(action))

    def _broadcast(self, action: dict[str, Any]) -> None:
        self.port.broadcast(self._frame(action))

    def _frame(self, action: dict[str, Any]) -> Says:
        """Return the frame that an action sends. Raise ValueError if its specified or computed size exceeds the maximum
        size of a datagram.
        """
        message = says(action, self._cast.kinds)
        if message.size_bytes > MOST_FRAME_BYTES:
            raise ValueError(
                f"its message and payload_bytes add up to {message.size_bytes} bytes, but a frame carries at most"
                f" {MOST_FRAME_BYTES}; expected a smaller message, or `bytes` with its size"
            )
        return message

    def _start_timer(self, action: dict[str, Any]) -> None:
        name = action["name"]
        timer = self._timers.get(name)
        if timer is None:
            timer = self._timers[name] = self._over.pop() if self._over else NamedTimer(self, name)
            timer.name = name
        after_ns = action.get("after_ns")
        timer.timer.start(self.port.between(*action["between_ns"]) if after_ns is None else after_ns)

    def _cancel(self, action: dict[str, Any]) -> None:
        timer = self._timers.pop(action["name"], None)
        if timer is not None:
            timer.timer.stop()
            self._over.append(timer)

    def _buffer(self, action: dict[str, Any]) -> None:
        name, known = action["name"], self._cast.buffers.get(self.role)
        if known is not None and name not in known:
            raise ValueError(
                f"buffer {name!r} was not declared in the first answer of a {self.role} to `start`; declared:"
                f" {', '.join(known) or 'none'}"
            )
        self._sizes[name] = action["size"]
        if known is not None:
            self._note_sizes()

    def _note_sizes(self) -> None:
        self._full = tuple([self._sizes.get(name, 0) for name in self.BUFFERS])

    def _settle(self, action: dict[str, Any]) -> None:
        self._settled = action["value"]

    def _show(self, action: dict[str, Any]) -> None:
        self.card = action["state"]

    def _log(self, action: dict[str, Any]) -> None:
        """Record the line if the scenario asks for a record of lines."""


def says(action: dict[str, Any], kinds: dict[str, type[Says]]) -> Says:
    """Return the message that an action sends."""
    value, tag = action["message"], action.get("tag")
    tag_text = None if tag is None else text_of("tag", tag)
    return message_class(value, kinds)(value, action.get("bytes"), action.get("payload_bytes", 0), tag_text)

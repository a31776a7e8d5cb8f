"""A host whose protocol is a program. It implements HostProtocol of protocols/port.py, hook by hook.

Model     The emulator names messages and continues their numbers after a crash. A number is used only if the program
          does not refuse the broadcast. The value that the program asked to store is passed to its next life
Units     integer nanoseconds, bytes
Source    ours: docs/guide/programs.md
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mobilenet.lab.programs.message import text_of
from mobilenet.lab.programs.party import Party
from mobilenet.lab.programs.run_programs import Cast
from mobilenet.protocols.port import MessageId


@dataclass(slots=True)
class Memory:
    """The values of a host that survive a crash."""

    stored: str = "null"  # the value that the program asked to store, as JSON
    seq: int = 0  # number of the host's next message
    member: bool = False


class ProgramHost(Party):
    role = "host"

    def __init__(self, cast: Cast, port: Any, memory: Memory) -> None:
        super().__init__(cast, port)
        self._memory = memory
        # whether the host is out of the group, as reported by the program; None before its first report
        self._out: bool | None = None
        self._refused = False
        self._does |= {
            "deliver": self._deliver,
            "joined": self._on_join,
            "gap": lambda action: port.gap(action["session"], self._station(action)),
            "left": self._on_leave,
            "refuse": self._refuse,
            "session_opened": self._on_session,
            "session_confirmed": self._on_confirmation,
            "out": self._say_out,
            "store": self._store,
        }
        self.begin(memory.stored)

    # --- what the network calls

    def join(self) -> None:
        self.tell("join")

    def leave(self) -> bool:
        self._refused = False
        self.tell("leave")
        return not self._refused

    def co_broadcast(self, body: int) -> MessageId | None:
        message = MessageId(self.port.me, self._memory.seq)
        self._refused = False
        self.tell("broadcast", f',"id":[{message.host},{message.seq}],"payload_bytes":{body}')
        if self._refused:
            return None
        self._memory.seq += 1
        return message

    def on_cell(self, station: int | None) -> None:
        self.tell("cell", f',"station":{"null" if station is None else station}')

    def on_recover(self) -> None:
        self.tell("recover")

    def is_out(self) -> bool:
        return not self._memory.member if self._out is None else self._out

    # --- its actions

    def _deliver(self, action: dict[str, Any]) -> None:
        self.port.deliver(MessageId(*action["id"]), None)

    def _on_join(self, action: dict[str, Any]) -> None:
        self.port.joined(action["session"], self._station(action))
        self._memory.member = True

    def _on_leave(self, action: dict[str, Any]) -> None:
        self.port.left(action["session"])
        self._memory.member = False

    def _refuse(self, action: dict[str, Any]) -> None:
        self._refused = True

    def _on_session(self, action: dict[str, Any]) -> None:
        station = None if action["station"] is None else self._station(action)
        self.port.session_opened(action["session"], station, action["cause"])

    def _on_confirmation(self, action: dict[str, Any]) -> None:
        self.port.session_confirmed(action["session"], self._station(action), action.get("detail", {}))

    def _station(self, action: dict[str, Any]) -> int:
        return self.require_there("station", action["station"])

    def _say_out(self, action: dict[str, Any]) -> None:
        self._out = action["value"]

    def _store(self, action: dict[str, Any]) -> None:
        self._memory.stored = text_of("stable", action["stable"])

"""A process whose protocol is a program. It implements BroadcastProtocol of protocols/vcube/port.py, hook by hook.

Model     The emulator names the broadcasts. A program cannot refuse a broadcast, because a process that is up can
          always broadcast
Units     integer nanoseconds, bytes
Source    ours: docs/guide/programs.md
"""

from __future__ import annotations

from typing import Any

from mobilenet.lab.programs.party import Party
from mobilenet.lab.programs.run_programs import Cast
from mobilenet.protocols.vcube.port import DrawingProcessPort, MessageId


class ProgramProcess(Party):
    role = "process"

    def __init__(self, cast: Cast, port: DrawingProcessPort, n: int) -> None:
        super().__init__(cast, port)
        self._n = n
        self._broadcasts = 0
        self._does |= {
            "deliver": lambda action: port.deliver(MessageId(*action["id"]), None),
            "complete": lambda action: port.complete(MessageId(*action["id"])),
        }
        port.timer(self.begin).start(0)  # The timer starts the program later, because the network is not complete yet.

    def broadcast(self, body: Any) -> MessageId:
        message = MessageId(self.port.me, self._broadcasts)
        self._broadcasts += 1
        self.tell("broadcast", f',"id":[{message.source},{message.ts}],"payload_bytes":{body or 0}')
        return message

    def on_crash(self, process: int) -> None:
        self.tell("suspect", f',"process":{process}')

    def on_up(self, process: int) -> None:
        self.tell("trust", f',"process":{process}')

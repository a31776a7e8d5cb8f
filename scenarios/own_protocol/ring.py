"""Ring: each process hands a message on to the next one, until it comes back to its source. Nobody may crash."""

from dataclasses import dataclass

from mobilenet.protocols.base import BaseMessage
from mobilenet.protocols.vcube.port import MessageId, ProcessPort


@dataclass(frozen=True)
class Hop(BaseMessage):
    id: MessageId


class Ring:
    BUFFERS = ("pending",)
    order, delivers, tolerates_crashes = "fifo", "correct_source", False

    def __init__(self, port: ProcessPort, n: int, settings: object) -> None:
        self.port = port
        self.next = (port.me + 1) % n
        self.count = 0

    def buffer_sizes(self) -> tuple[int, ...]:
        return (0,)  # nothing ever waits

    def broadcast(self, body: object) -> MessageId:
        message = MessageId(self.port.me, self.count)
        self.count += 1
        self.port.deliver(message, body)
        self.port.send(self.next, Hop(message))
        return message

    def on_receive(self, sender: int, hop: Hop) -> None:
        if hop.id.source != self.port.me:
            self.port.deliver(hop.id, None)
            self.port.send(self.next, hop)

    def on_crash(self, process: int) -> None: ...
    def on_up(self, process: int) -> None: ...

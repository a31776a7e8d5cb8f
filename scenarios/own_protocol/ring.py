"""Ring: each process passes a message on to the next one, until the message returns to its source. Links may reorder
messages, so a message that overtakes its predecessor waits for it. No process may crash.
"""

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
        self.delivered = [0] * n  # messages delivered from each source
        self.pending: set[MessageId] = set()

    def buffer_sizes(self) -> tuple[int, ...]:
        return (len(self.pending),)

    def broadcast(self, body: object) -> MessageId:
        message = MessageId(self.port.me, self.delivered[self.port.me])
        self.hand_on(message)
        return message

    def on_receive(self, sender: int, hop: Hop) -> None:
        if hop.id.source != self.port.me:
            self.pending.add(hop.id)
            while (first := MessageId(hop.id.source, self.delivered[hop.id.source])) in self.pending:
                self.pending.remove(first)
                self.hand_on(first)

    def hand_on(self, message: MessageId) -> None:
        self.delivered[message.source] += 1
        self.port.deliver(message, None)
        self.port.send(self.next, Hop(message))

    def on_crash(self, process: int) -> None: ...
    def on_up(self, process: int) -> None: ...

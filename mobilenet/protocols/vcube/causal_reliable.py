"""Causal broadcast that survives crashes: the causal layer above VCube-RB, whose detector may be wrong.

Source      ours; left as future work by Rodrigues, Duarte, Arantes: "Causal Aggregation Broadcast" on VCube. The layer
            is that of causal_layer.py (CBCAST), and the broadcast below is reliable.py, both unchanged
Names       below: VCube-RB. A message is received when VCube-RB delivers it, held while something of its past is
            missing, and delivered when the layer hands it up
Assumes     as VCube-RB: reliable links in any order, crash-stop, a detector that finds every crash. Any n
Promises    all correct processes deliver the same messages, including those of correct sources. Each is delivered once,
            after all that its source had broadcast or delivered before it
Why         correct processes receive the same set of messages (agreement of VCube-RB), each with the same stamp. Each
            process therefore delivers the same largest subset that is closed under dependence. A correct source only
            depends on messages that it delivered, which all correct processes receive, so that its own messages are
            delivered everywhere
Own         messages are delivered and stamped at the call, although l.7 of VCube-RB may delay their sending. If the
            source crashes during this delay, it is the only one to have delivered them. Agreement concerns correct
            processes
Held        a message that depends on one which no correct process receives is held forever, by all correct processes.
            Example: n = 4, no false suspicion, 2 is down. 0 sends m1 to 2 and to 1 and crashes before 0.3; 1 delivers
            m1, broadcasts m2, which depends on m1, at 1.35, and crashes at 1.5 with only its copy to 3 sent. 3 has m2,
            and m1 no longer exists. No correct process ever depends on m2, so that nothing else waits for it.
            Such a message is kept, because a process cannot know that its past is lost: m1 may still be on its way from
            a process that is slow or wrongly suspected. `held` therefore need not drain; the verifier computes what may
            remain in it
Not told    complete(): acknowledgements come from VCube-RB, while other processes may still hold the message
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from ..port import Timer
from .causal_layer import CausalLayer
from .port import MessageId, ProcessPort
from .reliable import ReliableBroadcast


class CausalReliableBroadcast:
    BUFFERS: ClassVar[tuple[str, ...]] = ("unacknowledged", "pending", "held")

    def __init__(self, port: ProcessPort, n: int, tree_bytes: int = 1, ack_bytes: int = 1) -> None:
        self._port = port
        self._count = 0
        above = _Above(self, port)
        self._layer = CausalLayer(above, n, lambda beneath: ReliableBroadcast(beneath, n, tree_bytes, ack_bytes))

    def buffer_sizes(self) -> tuple[int, ...]:
        return (*self._layer.beneath.buffer_sizes(), self._layer.held)

    def broadcast(self, body: Any) -> MessageId:
        message = MessageId(self._port.me, self._count)
        self._count += 1
        self._port.deliver(message, body)
        self._layer.broadcast(body)
        return message

    def receive(self, source: int, body: Any) -> None:
        """Take the next message of a source from the layer."""
        self._port.deliver(MessageId(source, self._layer.clock[source] - 1), body)

    def on_receive(self, sender: int, message: Any) -> None:
        self._layer.on_receive(sender, message)

    def on_crash(self, process: int) -> None:
        self._layer.on_crash(process)

    def on_up(self, process: int) -> None:
        self._layer.on_up(process)


class _Above:
    """The port through which the causal layer sends messages and hands them up."""

    def __init__(self, served: CausalReliableBroadcast, port: ProcessPort) -> None:
        self.me = port.me
        self.send = port.send
        self.receive: Callable[[int, Any], None] = served.receive
        self._port = port

    @property
    def now(self) -> int:
        return self._port.now

    def timer(self, action: Callable[[], None]) -> Timer:
        return self._port.timer(action)

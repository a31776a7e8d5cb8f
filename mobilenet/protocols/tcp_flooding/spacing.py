"""A station's links to its hosts, and the pauses between the copies that it sends them.

Model     with `per_message`, the copy for the i-th host is sent i steps after the message arrived. With `per_queue`,
          each copy is sent one step after the previous copy of any message. A message never overtakes another one on
          the same link
Units     integer nanoseconds
Source    Wilhelm, Arantes, Sens (2020), section V.A; `per_queue` is ours: docs/protocols/tcp-flooding.md
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any

from ..port import Channel, Port, timer_name
from .messages import App, Procedure
from .parameters import TcpFloodingParameters


@dataclass(slots=True, eq=False)
class HostLink:
    """A station's end of its link to a host: an element of Q."""

    channel: Channel
    host: int
    ses: int
    via: tuple[int, ...]
    safe: bool = False
    ping: Procedure | None = None  # the procedure whose Return is awaited (R9)
    close: Procedure | None = None  # the procedure whose Closed messages are awaited (R10)
    closing: set[int] = field(default_factory=set)  # the stations whose Closed is still awaited
    buffer: list[App] | None = None  # B: messages delivered since Ping, to be sent when the link is safe
    waiting: int = 0  # how many messages wait for their turn
    due_ns: int = 0  # when the last waiting message is sent
    dropped: bool = False

    @property
    def messages(self) -> int:
        """The number of messages that are queued, buffered, or sent and not acknowledged: SBuffer."""
        return self.waiting + self.channel.backlog + (0 if self.buffer is None else len(self.buffer))


class Spacing:
    """The queue of messages that wait for their turn at one station."""

    def __init__(self, port: Port, parameters: TcpFloodingParameters) -> None:
        self._port = port
        self._step_ns = round(parameters.spacing_ms * 1_000_000)
        self._one_queue = parameters.spacing == "per_queue"
        self._free_ns = 0  # per queue: the earliest time of the next copy
        self._agenda: list[tuple[int, int, HostLink, Any]] = []  # a heap of (time, order, link, message)
        self._order = 0
        self._timer = port.timer(self._on_timer)

    def copies(self, links: Iterable[HostLink], message: App) -> None:
        """Send a copy over each link, with a pause of one step between the copies."""
        now = self._port.now
        due_ns = max(now, self._free_ns) if self._one_queue else now
        for link in links:
            self._say_at(due_ns, link, message)
            due_ns += self._step_ns  # V.A ("5ms delay between every point-to-point sending")
        if self._one_queue:
            self._free_ns = due_ns

    def say(self, link: HostLink, message: Any) -> None:
        """Send a message as soon as everything that waits for this link has been sent."""
        self._say_at(self._port.now, link, message)

    def _say_at(self, due_ns: int, link: HostLink, message: Any) -> None:
        due_ns = max(due_ns, link.due_ns)
        if due_ns <= self._port.now and not link.waiting:
            link.channel.say(message)
            return
        link.due_ns = due_ns
        link.waiting += 1
        self._order += 1
        heappush(self._agenda, (due_ns, self._order, link, message))
        if self._agenda[0][1] == self._order:
            self._timer.start(due_ns - self._port.now)

    @timer_name("spacing")
    def _on_timer(self) -> None:
        agenda, now = self._agenda, self._port.now
        while agenda and agenda[0][0] <= now:
            _, _, link, message = heappop(agenda)
            if not link.dropped:
                link.waiting -= 1
                link.channel.say(message)
        if agenda:
            self._timer.start(agenda[0][0] - now)

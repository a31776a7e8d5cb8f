"""Delay the frames of an impaired host on their way to the MAC.

Model     A frame is delayed by the value in effect when the host sends it. A frame never enters the MAC's queue
          before an earlier frame. A crash empties the line.
Units     integer nanoseconds
Source    ours: docs/models/world.md, "By hand"
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from mobilenet.engine.event_queue import Calendar
from mobilenet.network.radio.frame import Frame


class DelayLine:
    """A delay line in front of one MAC. `enqueue` is the function that queues a frame there."""

    def __init__(self, calendar: Calendar, enqueue: Callable[[Frame], bool]) -> None:
        self.delay_ns = 0
        self._calendar = calendar
        self._enqueue = enqueue
        self._waiting: deque[Frame] = deque()
        self._last_ns = 0  # when the last frame will leave the line
        self._life = 0

    def enqueue(self, frame: Frame) -> bool:
        """Queue the frame as the MAC does. A delayed frame counts as accepted."""
        now = self._calendar.now
        if not self.delay_ns and not self._waiting:
            return self._enqueue(frame)
        self._last_ns = max(self._last_ns, now + self.delay_ns)
        self._waiting.append(frame)
        life = self._life

        def leave() -> None:
            if life == self._life:
                self._enqueue(self._waiting.popleft())

        self._calendar.at(self._last_ns, leave)
        return True

    def clear(self) -> None:
        """Discard the waiting frames, because the host crashed."""
        self._waiting.clear()
        self._last_ns = 0
        self._life += 1

"""Timers that are restarted far more often than they expire.

Model     Postponing the deadline is only an assignment. The old queue entry stays in the queue. When it is due, it is
          queued again for the new deadline.
Units     Times are integer nanoseconds.
Errors    ValueError for a deadline in the past, when the entry is queued.
Source    ours: docs/architecture/time-and-chance.md
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mobilenet.engine.event_queue import Action, Calendar
    from mobilenet.engine.kernel import Kernel


class Deadline:
    """An action at a deadline, which is usually postponed many times before the action runs. If the deadline is
    stopped, the action does not run.
    """

    __slots__ = ("_calendar", "_queued_ns", "deadline_ns")

    def __init__(self, kernel: Kernel) -> None:
        self._calendar: Calendar = kernel.calendar
        self._queued_ns = -1  # the time at which the current queue entry is due, or -1 if there is no entry
        self.deadline_ns = -1  # -1 if the deadline is stopped

    @property
    def running(self) -> bool:
        return self.deadline_ns >= 0

    def start(self, delay_ns: int) -> None:
        self.start_at(self._calendar.now + delay_ns)

    def start_at(self, time_ns: int) -> None:
        self.deadline_ns = time_ns
        if self._queued_ns < 0 or time_ns < self._queued_ns:
            self._calendar.at(time_ns, self)
            self._queued_ns = time_ns

    def stop(self) -> None:
        self.deadline_ns = -1

    def expire(self) -> None:
        """Call the action, because the deadline has been reached."""
        raise NotImplementedError

    def __call__(self) -> None:
        """Handle a queue entry that is due. The Deadline object itself is the entry, which saves an object for each
        entry.
        """
        now = self._calendar.now
        if now != self._queued_ns:
            return  # this entry is obsolete, because an earlier deadline has replaced it
        self._queued_ns = -1
        deadline = self.deadline_ns
        if deadline < 0:
            return
        if deadline > now:
            self._calendar.at(deadline, self)
            self._queued_ns = deadline
            return
        self.deadline_ns = -1
        self.expire()


class Timer(Deadline):
    """Calls `action` when the deadline is reached."""

    __slots__ = ("_action",)

    def __init__(self, kernel: Kernel, action: Action) -> None:
        super().__init__(kernel)
        self._action = action

    @property
    def action(self) -> Action:
        return self._action

    def expire(self) -> None:
        self._action()

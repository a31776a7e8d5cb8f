"""Make emulated time follow the wall clock, and measure how late it is.

Model     Emulated time 0 is the start of the run. The emulation sleeps until its next event is due or input arrives.
          Then it handles all events that are due, and input takes effect at the current time. The lateness of such a
          batch is the time between the moment at which its first event was due and the end of the batch
Units     nanoseconds of the monotonic clock
Errors    FellBehind: the emulation is later than allowed; ProgramError: the run was asked to end
Source    Linux: prctl(2), PR_SET_TIMERSLACK; ours: docs/guide/real-time.md
"""

from __future__ import annotations

import ctypes
import select
import selectors
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from mobilenet.simulation.parties import ProgramError, RealTime

MILLISECOND = 1_000_000
LONGEST_SLEEP_NS = 50 * MILLISECOND  # time between two checks of files
RECENT = 500  # number of batches that count as recent
PR_SET_TIMERSLACK = 29
DEFAULT_SLACK = 0  # makes Linux use the default slack of the thread


class FellBehind(ProgramError):
    """Raised if the emulation is later than allowed."""


class Pace:
    """Makes emulated time follow the wall clock. The function `take` is called when input may have arrived."""

    def __init__(self, take: Callable[[], None], options: RealTime) -> None:
        self._options = options
        self._take = take
        self._selector = selectors.DefaultSelector()
        self._prctl = ctypes.PyDLL(None).prctl if sys.platform == "linux" else None
        self._begun_ns: int | None = None
        self._due_ns: int | None = None  # time at which the first event of the current batch was due
        self._late_ns: list[int] = []

    def listen(self, source: Any) -> None:
        """Let a socket or descriptor wake the emulation when data can be read from it."""
        self._selector.register(source, selectors.EVENT_READ)

    def forget(self, source: Any) -> None:
        self._selector.unregister(source)

    def ready(self) -> list[Any]:
        """Return the sources that can be read now."""
        return [key.fileobj for key, _ in self._selector.select(0)]

    def close(self) -> None:
        self._selector.close()

    def wait(self, now_ns: int, next_ns: int | None, until_ns: int) -> int:
        """Sleep until the next event is due or input arrives. Return the time, at most `until_ns`, up to which the
        emulation may continue.
        """
        if self._begun_ns is None:  # The events at the beginning, including the starts of programs, are not measured.
            return now_ns
        if by := self._options.stopped():
            raise ProgramError(f"stopped by {by} at {now_ns / 1e9:.3f} s", is_input=False)
        target_ns = until_ns if next_ns is None else min(next_ns, until_ns)
        left_ns = min(target_ns - self._elapsed_ns(), LONGEST_SLEEP_NS)
        self._set_slack(1)
        try:
            # The selector itself can only wait for a whole number of milliseconds.
            select.select([self._selector], [], [], max(0, left_ns) / 1e9)
        finally:
            self._set_slack(DEFAULT_SLACK)
        reached_ns = max(now_ns, min(self._elapsed_ns(), until_ns))
        self._due_ns = next_ns if next_ns is not None and next_ns <= reached_ns else None
        return reached_ns

    def finish_step(self) -> None:
        """Finish a step once all due events are handled: record the lateness, and take the input."""
        if self._begun_ns is None:
            self._options.begins()
            self._begun_ns = time.monotonic_ns()
        if self._due_ns is not None:
            late_ns = self._elapsed_ns() - self._due_ns
            self._late_ns.append(late_ns)
            if self._options.hard_limit_ms is not None and late_ns > self._options.hard_limit_ms * MILLISECOND:
                late = f"{late_ns / MILLISECOND:.1f} ms late, more than --hard-limit-ms {self._options.hard_limit_ms:g}"
                raise FellBehind(
                    f"at {self._due_ns / 1e9:.3f} s of emulated time, the emulation is {late}; use fewer hosts, less"
                    " load, or a faster machine",
                    is_input=False,
                )
        self._take()

    def lateness_ms(self) -> dict[str, float]:
        """Return p50, p99 and the maximum over all batches so far, or an empty dictionary before the first batch."""
        if not self._late_ns:
            return {}
        p50, p99, most = (float(late_ns) / MILLISECOND for late_ns in np.percentile(self._late_ns, (50, 99, 100)))
        return {"p50": round(p50, 3), "p99": round(p99, 3), "max": round(most, 3)}

    def recent_lateness_ms(self) -> float:
        """Return the greatest lateness of recent batches, or 0 before the first batch."""
        return max(self._late_ns[-RECENT:], default=0) / MILLISECOND

    def _set_slack(self, slack_ns: int) -> None:
        """Set the time by which Linux may prolong a sleep. Programs would inherit the setting, so it is changed only
        while the emulator sleeps.
        """
        if self._prctl is not None:
            self._prctl(PR_SET_TIMERSLACK, slack_ns)

    def _elapsed_ns(self) -> int:
        assert self._begun_ns is not None
        return time.monotonic_ns() - self._begun_ns

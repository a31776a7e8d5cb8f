"""Measure the speed of the machine with a bare event queue that alternates with the benchmark.

Model     The queue is a heap of 10 000 tuples (time, priority, number, None), as in simpy. An event removes the first
          tuple and inserts one with a later time. Other users may slow the machine down for seconds at a time.
          Therefore the queue runs for long turns before and after the benchmark, and for short turns in between,
          about every quarter of a second. The result is the mean, as for the benchmark (the best of three would be
          about 3 % higher). Each turn starts with untimed events, which bring the queue into the cache. The machine for
          which the targets were set processed 0.35 M such events, or 0.17 M simpy events, per CPU second; with this
          queue, the ratio is the same here.
Units     CPU seconds
Source    ours: docs/performance.md
"""

from __future__ import annotations

import time
from heapq import heapify, heappop, heappush

REFERENCE_EVENTS_PER_S = 350_000
ENTRIES = 10_000
LONG_TURN = 200_000  # The number of timed events in a long turn. One untimed event per queue entry precedes them.
SHORT_TURN = 20_000
EVERY_S = 0.25


class Baseline:
    """Times the work between `begin` and `end`, excluding the turns of the queue. Call `look` during the work."""

    def __init__(self) -> None:
        delays = [1 + 7919 * n % ENTRIES for n in range(ENTRIES)]  # a permutation of the numbers from 1 to ENTRIES
        self._delays = delays
        self._queue = [(delay, 1, n, None) for n, delay in enumerate(delays)]
        heapify(self._queue)
        self._events = 0
        self._own_s = 0.0
        self._since = 0.0
        self.cpu_s = 0.0

    @property
    def events_per_s(self) -> float:
        return self._events / self._own_s

    def begin(self) -> None:
        self._turn(LONG_TURN)
        self._since = time.process_time()

    def look(self, *progress: object) -> None:
        """Run the queue for a short turn if one is due. Can be passed as the progress callback of a run."""
        if time.process_time() - self._since >= EVERY_S:
            self._stop()
            self._turn(SHORT_TURN)
            self._since = time.process_time()

    def end(self) -> None:
        self._stop()
        self._turn(LONG_TURN)

    def _stop(self) -> None:
        self.cpu_s += time.process_time() - self._since

    def _turn(self, events: int) -> None:
        self._play(ENTRIES)
        began = time.process_time()
        self._play(events)
        self._own_s += time.process_time() - began
        self._events += events

    def _play(self, events: int) -> None:
        queue, delays = self._queue, self._delays
        for n in range(events):
            now = heappop(queue)[0]
            heappush(queue, (now + delays[n % ENTRIES], 1, n, None))

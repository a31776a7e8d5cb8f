"""The speed of the host machine: a bare event queue, measured in turns with the benchmark.

Model     a heap of 10 000 tuples (time, priority, number, nothing), as simpy's are; an event takes the first one out
          and puts one in at a later time. Other users of a machine slow it down for seconds at a time, so the queue
          gets long turns before and after and short ones between, each at the first check after a quarter of a second.
          The mean counts, as it does for the benchmark (the best of three is some 3 % more). Each turn begins with
          events that are not timed: they bring the queue into the cache. The machine that the targets were set on made
          0.35 M such events a CPU second and 0.17 M simpy events; with 10 000 entries the two are in the same ratio
          here
Units     CPU seconds
Source    ours: docs/performance.md
"""

from __future__ import annotations

import time
from heapq import heapify, heappop, heappush

REFERENCE_EVENTS_PER_S = 350_000
ENTRIES = 10_000
LONG_TURN = 200_000  # events that are timed; before them, as many as there are entries are not
SHORT_TURN = 20_000
EVERY_S = 0.25


class Baseline:
    """The timer of what happens from `begin` to `end`, without its own turns. `look` must be called in between."""

    def __init__(self) -> None:
        delays = [1 + 7919 * n % ENTRIES for n in range(ENTRIES)]  # all of 1..ENTRIES, in a mixed order
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
        """Take a turn if one is due. It can be used as the progress of a run."""
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

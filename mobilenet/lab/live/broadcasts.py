"""Determine when each message of a growing record was broadcast.

Units     integer nanoseconds
Source    ours: docs/guide/live.md
"""

from __future__ import annotations

from collections.abc import Iterable

from mobilenet.record.recorder import EventLog


class Broadcasts:
    """Finds the broadcasts in a record. Each request first reads the rows added since the previous one."""

    def __init__(self) -> None:
        self._sent_ns: dict[str, int] = {}
        self._sent_row: dict[str, int] = {}
        self._known = 0  # number of rows read so far

    def delays_ns(self, log: EventLog, rows: Iterable[int]) -> list[int]:
        """Return the delays of the deliveries in these rows. Skip deliveries whose broadcast is not in the record."""
        self._read(log)
        deliveries = ((log.message[row] or "", log.time_ns[row]) for row in rows)
        return [at_ns - self._sent_ns[message] for message, at_ns in deliveries if message in self._sent_ns]

    def sent_ns(self, log: EventLog) -> dict[str, int]:
        """Return the broadcast times of all messages."""
        self._read(log)
        return self._sent_ns

    def row_of(self, log: EventLog, message: str) -> int:
        """Return the row of a message's broadcast, or 0 if the record does not contain it."""
        self._read(log)
        return self._sent_row.get(message, 0)

    def _read(self, log: EventLog) -> None:
        new = slice(self._known, len(log))
        rows = zip(log.event[new], log.message[new], log.time_ns[new], strict=True)
        for row, (event, message, at_ns) in enumerate(rows, self._known):
            if event == "broadcast" and message:
                self._sent_ns[message], self._sent_row[message] = at_ns, row
        self._known = len(log)

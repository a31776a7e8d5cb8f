"""Find out for how long a host was silent, which decides whether it may have a gap.

Model     a station that gives up on a host records an `expire`. The network adds how long the station had received
          nothing from the host. This silence must be at least T, and the host must have been with this station: any
          confirmation elsewhere (`join`, `handoff_end`) must be older than the last frame that the station received. A
          gap may follow such an event as long as the host was not certainly heard since. Gaps may repeat, because a
          station that announces a gap cannot know whether the announcement arrived. A host is reachable while all of
          these conditions hold: it is a member, up and in coverage; it is not in a handoff; the radio of its station is
          on; and its positions show that it stays within reach of that station (reach.py). The positions matter because
          a host may walk out of reach, without any event, between two updates of the attachment. A host that was
          reachable for `heard_every_s` without interruption was certainly heard in that time and received an answer,
          because the run promises this even if single frames are lost. The last moment at which it was certainly heard
          is therefore `heard_every_s` before the end of the last such interval, or the time when it last left. T = 0 is
          the promise of a protocol over connections, which can be lost at any time. Any gap is then allowed, and
          stations need not record anything
Units     integer nanoseconds
Source    ours: docs/verdicts-and-metrics.md, docs/validation/trust.md
"""

from __future__ import annotations

from typing import Literal

from mobilenet.engine.clock import SECOND
from mobilenet.verify.broadcasts.reach import Reach

Aspect = Literal["up", "covered", "connected", "answered"]
MARGIN_NS = 1000  # tolerance, because silences are recorded as decimal fractions


class Silence:
    """Decides from a host's silence whether it may have a gap. Problems are returned as sentences."""

    __slots__ = (
        "_after_ns",
        "_aspects",
        "_confirmed_ns",
        "_given_up_ns",
        "_given_up_since_ns",
        "_heard_every_ns",
        "_host",
        "_left_ns",
        "_reach",
        "_since",
        "_spans",
        "confirmed_by",
    )

    def __init__(self, host: str, after_ns: int | None, heard_every_ns: int, reach: Reach | None) -> None:
        """Prepare the state of a host. `after_ns`: T, or None if gaps are not allowed. `reach`: None means that a host
        in coverage is always within reach.
        """
        self._host = host
        self._after_ns = after_ns
        self._heard_every_ns = heard_every_ns
        self._reach = reach
        self._aspects: dict[Aspect, bool] = {
            "up": True,
            "covered": False,
            "connected": False,
            "answered": True,
        }
        self._since: int | None = None  # start of the current period in which events show the host as reachable
        # (start, end, station) of earlier intervals that were long enough
        self._spans: list[tuple[int, int, str | None]] = []
        self._left_ns = 0
        self.confirmed_by: str | None = None  # the last station that confirmed a session of the host ...
        self._confirmed_ns = 0  # ... and the time of this confirmation
        self._given_up_ns: int | None = None
        self._given_up_since_ns = 0  # the start of the silence after which a station gave up on the host

    # --- what is seen of the host

    def set(self, aspect: Aspect, value: bool, now_ns: int) -> None:
        self._aspects[aspect] = value
        if not all(self._aspects.values()):
            self._end_span(now_ns)
        elif self._since is None:
            self._since = now_ns

    def on_confirmation(self, station: str | None, now_ns: int) -> None:
        if station != self.confirmed_by:
            self._end_span(now_ns)
        self.set("connected", True, now_ns)
        self.confirmed_by, self._confirmed_ns = station, now_ns

    def on_leave(self, now_ns: int) -> None:
        """Record the leave, after which stations do not hear from the host."""
        self.set("connected", False, now_ns)
        self._spans.clear()
        self._left_ns = now_ns

    def _end_span(self, now_ns: int) -> None:
        if self._since is not None and now_ns - self._since >= self._heard_every_ns:
            self._spans.append((self._since, now_ns, self.confirmed_by))
        self._since = None

    def last_heard_ns(self, now_ns: int) -> int:
        """Return the last moment at which the host was certainly heard."""
        under_way = [] if self._since is None else [(self._since, now_ns, self.confirmed_by)]
        for since_ns, until_ns, station in reversed([*self._spans, *under_way]):
            end_ns = self._reached_until(since_ns, until_ns, station)
            if end_ns is not None:
                return max(self._left_ns, end_ns - self._heard_every_ns)
        return self._left_ns

    def _reached_until(self, since_ns: int, until_ns: int, station: str | None) -> int | None:
        """Return the end of the latest interval within these times that was long enough and within reach."""
        if self._reach is None:
            return until_ns if until_ns - since_ns >= self._heard_every_ns else None
        if station is None:
            return None
        return self._reach.latest(self._host, station, since_ns, until_ns, self._heard_every_ns)

    # --- what must not be

    def expire(self, station: str, silent_ns: int, now_ns: int) -> str | None:
        """Return why a station may not give up on the host after this silence, or None."""
        if self._after_ns is None:
            return "but this run promises that no host has a gap"
        if silent_ns < self._after_ns:
            return f"after {silent_ns / SECOND:.3f} s of silence; gaps are allowed after {self._after_ns / SECOND:g} s"
        if self.confirmed_by not in (None, station) and now_ns - silent_ns < self._confirmed_ns:
            return f"although it has been with {self.confirmed_by} since {self._confirmed_ns / SECOND:.6f} s"
        self._given_up_ns, self._given_up_since_ns = now_ns, now_ns - silent_ns
        return None

    def gap(self, now_ns: int) -> str | None:
        """Return why the host may not have a gap now, or None."""
        if self._after_ns is None:
            return "but this run promises that no host has a gap"
        if self._after_ns == 0:
            return None
        heard_ns = self.last_heard_ns(now_ns)
        if now_ns - heard_ns < self._after_ns:
            return (
                f"although it was silent for at most {(now_ns - heard_ns) / SECOND:.3f} s; "
                f"gaps are allowed after {self._after_ns / SECOND:g} s"
            )
        if self._given_up_ns is None or self._given_up_ns < heard_ns:
            return "although no station gave up on it after the time at which it was certainly heard"
        return None

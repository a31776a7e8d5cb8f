"""When a host was surely heard: what a gap is measured by.

Model     a host is reachable while it is a member, up, in coverage, and no handoff of it is under way. One that was
          reachable for `heard_every_s` without a break was heard in that time, whatever the air did to single frames;
          the run promises that. So the last moment at which it was surely heard is `heard_every_s` before the last end
          of such a stretch, or when it last left. A gap is justified if that is `gap_after_s` ago or longer. Gaps may
          repeat until the host was heard again: who announces one cannot know that it arrived; and a host that was
          silent after it asked to join may have a gap as soon as it has joined
Units     integer nanoseconds
Source    ours: DESIGN.md §8
"""

from __future__ import annotations

from typing import Literal

Aspect = Literal["up", "covered", "connected"]


class Reachability:
    __slots__ = ("_aspects", "_heard_every_ns", "_heard_ns", "_since")

    def __init__(self, heard_every_ns: int) -> None:
        self._heard_every_ns = heard_every_ns
        self._aspects: dict[Aspect, bool] = {"up": True, "covered": False, "connected": False}
        self._since: int | None = None  # reachable since then
        self._heard_ns = 0

    def set(self, aspect: Aspect, value: bool, now_ns: int) -> None:
        self._heard_ns = self.heard_ns(now_ns)
        self._aspects[aspect] = value
        if not all(self._aspects.values()):
            self._since = None
        elif self._since is None:
            self._since = now_ns

    def left(self, now_ns: int) -> None:
        """What stations know of it after that, they heard after that."""
        self.set("connected", False, now_ns)
        self._heard_ns = now_ns

    def heard_ns(self, now_ns: int) -> int:
        """The last moment at which it was surely heard."""
        if self._since is not None and now_ns - self._since >= self._heard_every_ns:
            return max(self._heard_ns, now_ns - self._heard_every_ns)
        return self._heard_ns

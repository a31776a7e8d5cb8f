"""Cookies, which prove that a join is not an old copy.

Source      ours: docs/protocols/mobile-causal.md, F11
Names       cookie -> the number that chal carries and the next join brings back
Assumes     soft state: a station may forget a cookie at any time, because the host repeats its join
Deviations  F11  the paper answers every join (A2:31-36). An old copy of a join that arrives after the leave then
                 creates a structure that is never removed. Here a station creates nothing before the host has answered
                 a challenge. An older join never replaces the cookie of a newer one, because an old copy could
                 otherwise keep the newer join out
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from mobilenet.engine.clock import ns

from ..port import Port
from .messages import Chal, Join
from .parameters import MobileCausalParameters


class Cookie(NamedTuple):
    ses: int
    k: int
    issued_ns: int


class Numbers:
    """A counter 1, 2, 3, ... for a station's requests and cookies."""

    __slots__ = ("_last",)

    def __init__(self) -> None:
        self._last = 0

    def __iter__(self) -> Numbers:
        return self

    def __next__(self) -> int:
        self._last += 1
        return self._last


class Cookies:
    def __init__(
        self, port: Port, send: Callable[[int, Any], None], parameters: MobileCausalParameters, numbers: Iterator[int]
    ) -> None:
        self._port = port
        self._send = send
        self._lifetime_ns = ns(parameters.cookie_lifetime_s)
        self._numbers = numbers
        self._held: dict[int, Cookie] = {}  # host -> the cookie that was sent to it

    def admits(self, m: Join) -> bool:
        """Consume the cookie and return True, or answer the join with a cookie and return False."""
        held = self._held.get(m.host)
        now = self._port.now
        if held is not None and now - held.issued_ns > self._lifetime_ns:
            held = None
        if held is None or held.ses < m.ses:
            held = self._held[m.host] = Cookie(m.ses, next(self._numbers), now)
        elif held.ses == m.ses and held.k == m.cookie:
            del self._held[m.host]
            return True
        if held.ses == m.ses:
            self._send(m.host, Chal(m.host, m.ses, held.k))
        return False

    def forget(self, host: int, below_ses: int) -> None:
        held = self._held.get(host)
        if held is not None and held.ses < below_ses:
            del self._held[host]

"""`repair: selective`: no drawn schedule breaks it, and each broken rule is caught.

Invariant  what a station believes a host to have, that host has, or has delivered
Source     the rules and the invariant: docs/protocols/repair.md
"""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from mobilenet.protocols import mobile_causal
from mobilenet.protocols.names import SELECTIVE
from mobilenet.swarm.campaign import judge_seed, record_adversary
from mobilenet.swarm.schedule import draw
from mobilenet.verify import verify_run
from tests.protocols.edits import broken

from .broken_repairs import REPAIRS
from .mutants import PACKAGE, SHARED

LIMIT = 300


@cache
def load(name: str) -> ModuleType:
    return broken(PACKAGE, name, REPAIRS[name][3], SHARED)


class Untrue(Exception):
    """A station believes a host to have what it has not."""


def checked(protocol: Any) -> tuple[Any, Any]:
    """The classes of a protocol, which look at the invariant whenever a station has received a report."""
    hosts: dict[int, Any] = {}  # the present lives

    class CheckedHost(protocol.SelectiveHost):  # type: ignore[misc]
        def __init__(self, port: Any, *arguments: Any) -> None:
            super().__init__(port, *arguments)
            hosts[port.me] = self

    class CheckedStation(protocol.SelectiveStation):  # type: ignore[misc]
        def _on_have(self, m: Any) -> None:
            super()._on_have(m)
            c, host = self.ctx.get(m.host), hosts[m.host]
            if c is None or c.ses != host.stable.ses or not host._connected:
                return
            there = host._rbuf.stream.keys() | host._rbuf.recovery.keys()
            if wrong := [n for n in c.have if n >= host.stable.nxt and n not in there]:
                raise Untrue(f"s{self._port.me} believes h{m.host} to have {wrong}")

    return CheckedHost, CheckedStation


def caught(name: str, limit: int = LIMIT) -> tuple[int, str] | None:
    """The first schedule that the verifier rejects, with the property, or that breaks the invariant."""
    host, station = checked(load(name))
    for seed in range(limit):
        with tempfile.TemporaryDirectory(prefix="mobilenet-mutant-") as folder:
            schedule = draw(seed, REPAIRS[name][2], repairs=True)
            try:
                record_adversary(schedule, Path(folder), host, station, check=False)
            except (AssertionError, KeyError, ValueError, IndexError):
                continue
            except Untrue as error:
                return seed, str(error)
            violated = (prop for prop, verdict in verify_run(Path(folder)).items() if verdict.answer == "violated")
            if (found := next(violated, None)) is not None:
                return seed, found
    return None


@pytest.mark.parametrize("name", REPAIRS)
def test_a_broken_rule_is_caught(name: str) -> None:
    assert caught(name) is not None


@pytest.mark.parametrize("seed", range(1, 41))
def test_no_schedule_breaks_it(seed: int) -> None:
    """On the hostile network for even seeds, on the radio for odd ones."""
    result = judge_seed(seed, protocol=SELECTIVE)
    assert result.answer == "valid", result.explanation


@pytest.mark.parametrize("seed", range(60))
def test_stations_believe_nothing_that_is_not_so(seed: int, tmp_path: Path) -> None:
    record_adversary(draw(seed, repairs=True), tmp_path, *checked(mobile_causal))

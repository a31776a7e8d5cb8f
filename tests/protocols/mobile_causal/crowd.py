"""Scenes that test windows, backlog and silence. They have one station, a host that answers, and a host that does not
answer.

Model     Each function plays one scene, and returns a description of the fault that it finds, or None.
Source    F14 in docs/protocols/mobile-causal.md
"""

from __future__ import annotations

from mobilenet.protocols.mobile_causal import Station
from mobilenet.protocols.mobile_causal.messages import AppHs, AppSh

from .bench import Bench

MESSAGES = 200


def _one_is_deaf(station_class: type[Station]) -> Bench:
    b = Bench(1, [0, 0], station_class=station_class)
    b.everybody_joins()
    b.deaf.add("h1")
    for _ in range(MESSAGES):
        b.broadcast("h0")
        b.run(0.04)
    return b


def deaf_host_blocks_nobody(station_class: type[Station] = Station) -> str | None:
    b = _one_is_deaf(station_class)
    b.run(2)
    count = len(b.lives["h0"].delivered)
    return None if count == MESSAGES else f"h0 has {count} of {MESSAGES} messages while h1 is deaf"


def nothing_is_resent_to_the_silent(station_class: type[Station] = Station) -> str | None:
    b = _one_is_deaf(station_class)
    b.run(8)
    before = len(b.lives["s0"].frames)
    b.run(3)
    resent = sum(type(m) is AppSh for _, m in b.lives["s0"].frames[before:])
    if resent:
        return f"{resent} frames for a host that is silent"
    b.deaf.clear()
    b.run(6)
    if not b.is_empty():
        return f"not drained after it is heard again: {b.buffers()}"
    return None


def radio_is_not_flooded(station_class: type[Station] = Station) -> str | None:
    b = Bench(1, [0, 0], station_class=station_class)
    b.everybody_joins()
    b.run(2)
    b.radio_works = False  # The radio accepts copies but never finishes sending them.
    stream = b.stations["s0"]._stream
    for _ in range(MESSAGES):
        b.broadcast("h0")
        b.pass_on(AppHs)
        b.lose()
    b.radio_works = True
    for _, message in [f for f in b.lives["s0"].frames if type(f[1]) is AppSh]:
        b.stations["s0"].on_sent(message)
    b.radio_works = False
    before = len(b.lives["s0"].frames)
    b.wait(0.3)
    first_batch = [m for _, m in b.lives["s0"].frames[before:] if type(m) is AppSh]
    for message in first_batch:
        b.stations["s0"].on_sent(message)
    before = len(b.lives["s0"].frames)
    b.wait(1.7)  # After this time, all other copies are due again.
    queued = sum(type(m) is AppSh for _, m in b.lives["s0"].frames[before:])
    limit = b.parameters.mac_backlog
    assert len(stream.sbuf) == MESSAGES
    return None if queued == limit else f"{queued} copies wait in the radio, the limit is {limit}"

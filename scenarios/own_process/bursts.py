"""Broadcasts in bursts: a source is on and off for random times, and broadcasts at regular intervals while on."""

from collections.abc import Iterator, Mapping
from typing import Any

import simpy

from mobilenet.engine.random_streams import Stream
from mobilenet.simulation.process_handles import Host


def bursts(env: simpy.Environment, host: Host, draws: Stream, settings: Mapping[str, Any]) -> Iterator[simpy.Event]:
    """Wait, then broadcast until the burst is over."""
    while True:
        yield env.timeout(draws.exponential(settings["off_s"]))
        ends_s = env.now + draws.exponential(settings["on_s"])
        while env.now < ends_s:
            host.broadcast()
            yield env.timeout(settings["interval_s"])

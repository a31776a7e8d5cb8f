"""Carts that share a charging point: one cart charges while the others wait there."""

from collections.abc import Iterator, Mapping
from typing import Any

import simpy

from mobilenet.engine.random_streams import Stream
from mobilenet.simulation.process_handles import Host, World

Events = Iterator[simpy.Event]


def charging(env: simpy.Environment, world: World, draws: Stream, settings: Mapping[str, Any]) -> Events:
    """One process of the world, which begins one for each host: so all share the point."""
    point = simpy.Resource(env, capacity=1)
    yield env.all_of([env.process(cart(env, host, point, draws, settings)) for host in world.hosts])


def cart(env: simpy.Environment, host: Host, point: Any, draws: Stream, settings: Mapping[str, Any]) -> Events:
    while True:
        yield host.go_to(draws.uniform(-80, 80), draws.uniform(-80, 80), settings["speed_mps"])
        yield host.go_to(0, 0, settings["speed_mps"])
        with point.request() as turn:
            yield turn
            yield env.timeout(settings["charge_s"])

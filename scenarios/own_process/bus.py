"""A bus that drives from stop to stop and waits at each stop."""

from collections.abc import Iterator, Mapping
from typing import Any

import simpy

from mobilenet.simulation.process_handles import Host


def bus(env: simpy.Environment, host: Host, settings: Mapping[str, Any]) -> Iterator[simpy.Event]:
    """Take turns with driving and waiting, for as long as the run lasts."""
    while True:
        for x_m, y_m in settings["stops_m"]:
            yield host.go_to(x_m, y_m, settings["speed_mps"])
            yield env.timeout(settings["wait_s"])

"""A host crashes when its buffer is full and recovers some time later."""

from collections.abc import Iterator, Mapping
from typing import Any

import simpy

from mobilenet.simulation.process_handles import Host, Run


def overload(env: simpy.Environment, host: Host, run: Run, settings: Mapping[str, Any]) -> Iterator[simpy.Event]:
    """Look at the buffer ten times a second. What the process sees depends on the run: `uses_run: true`."""
    while True:
        yield env.timeout(0.1)
        if run.buffer(host, settings["buffer"]) >= settings["full"]:
            host.crash()
            yield env.timeout(settings["down_s"])
            host.recover()

"""Create the page of a live run, with all events so far.

Model     The record so far is written to a temporary run directory, from which the page is drawn
Source    ours: docs/guide/live.md
"""

from __future__ import annotations

from typing import Any

from mobilenet.api import manifest_of, write_scenario
from mobilenet.engine.scratch import scratch_folder
from mobilenet.lab.live.desk import Desk
from mobilenet.record.writer import write_manifest, write_recording
from mobilenet.scenario import Scenario
from mobilenet.scenario.interventions_check import bears_losses
from mobilenet.scenario.ip import Ip
from mobilenet.viz.map.live import live_page


def page_of(desk: Desk, token: str) -> str:
    """Return the page. Must be called in the thread of the player, so that the run does not change at the same time."""
    session = desk.session
    simulation, scenario = session.simulation, session.scenario
    recording = simulation.recording
    with scratch_folder("live") as folder:
        write_scenario(folder, scenario)
        write_recording(folder, recording)
        facts = manifest_of(scenario, simulation.outcome_now(), 0.0, "")
        end_s = max(scenario.duration_s, session.now_s)
        write_manifest(folder, facts | {"simulated_s": end_s})
        hosts = len(simulation.hosts)
        page: str = live_page(
            folder,
            hosts,
            {
                "generation": desk.stream.generation, "row": len(recording.events), "now_ns": session.now_ns,
                "token": token, "name": session.name, "is_real_time": session.is_real_time,
                "curves": desk.stream.curve_points(), "buffers": desk.stream.buffers(),
                "sample": len(recording.samples),
                "duration_s": scenario.duration_s, "loss": scenario.wireless.loss,
                "interval_s": scenario.workload.interval_s, "wires_may_lose": bears_losses(scenario),
                **_of_packets(scenario),
            },
        )  # fmt: skip
    return page


def _of_packets(scenario: Scenario) -> dict[str, Any]:
    """Return which nodes have captures, and whether nodes can deliver messages."""
    protocol = scenario.protocol
    if not isinstance(protocol, Ip):
        return {"has_packets": False, "has_deliveries": True}
    stations = [name for name in protocol.commands if name[0] == "s" and protocol.command_of(name)]
    return {"has_packets": True, "station_programs": stations, "has_deliveries": protocol.lines is not None}

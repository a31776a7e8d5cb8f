"""Count messages by sender and receiver, and record when crashes are noticed, for the reliable broadcast paper.

Model     The run is repeated with an observer, which sees each message that is handed to the network and changes
          nothing. Copies that never left are counted, as in `messages_KIND` of the metrics.
Units     Messages and time units.
Errors    ScenarioError if the scenario is invalid.
Source    ours: docs/protocols/vcube.md
"""

from __future__ import annotations

from typing import Any, NamedTuple

from mobilenet.engine.clock import SECOND
from mobilenet.lab.studies.papers.jobs import Job, Result, scenario_of

KINDS = ("tree", "delv", "ack", "copy")


class Counts(NamedTuple):
    sent: dict[str, list[int]]  # maps each kind to the number of messages that each process sent
    # Maps each kind to the number of messages handed to the network for each process, even if it had crashed.
    received: dict[str, list[int]]
    source_trees: list[int]  # processes to which p0 sent TREE messages, in order
    most_per_cluster: int  # largest number of TREE messages that one process sent to one of its clusters
    acks_to_suspected: int  # number of ACKs that processes sent to receivers which they suspected
    suspected: list[float | None]  # time at which each process first suspected another process


def count(job: Job) -> Result:
    """Simulate one run in memory, count its messages, and return Counts as a dictionary."""
    from mobilenet.simulation.processes.experiment import Experiment

    scenario = scenario_of(job)
    n = scenario.processes
    sent, received = ({kind: [0] * n for kind in KINDS} for _ in range(2))
    source_trees: list[int] = []
    clusters: dict[tuple[int, int], int] = {}
    acks = 0

    def on_send(time_ns: int, sender: int, to: int, message: Any) -> None:
        nonlocal acks
        kind = type(message).__name__.lower()
        sent[kind][sender] += 1
        received[kind][to] += 1
        if kind == "tree":
            link = sender, (sender ^ to).bit_length()
            clusters[link] = clusters.get(link, 0) + 1
            if sender == 0:
                source_trees.append(to)
        elif kind == "ack":
            acks += experiment.detectors[sender].is_suspected(to)

    experiment = Experiment(scenario, on_send=on_send)
    events = experiment.run().recording.tables()["events"]
    suspected: list[float | None] = [None] * n
    for time_ns, node, event in zip(events["time_ns"], events["node"], events["event"], strict=True):
        i = int(node[1:])
        if event == "suspect" and suspected[i] is None:
            suspected[i] = time_ns / SECOND
    counts = Counts(sent, received, source_trees, max(clusters.values(), default=0), acks, suspected)
    return counts._asdict()

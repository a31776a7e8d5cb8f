"""Count messages by sender and receiver, and note when crashes are noticed, for sentences of the reliable broadcast
paper on single processes.

Model     a run of a job once more, with an eye on each message that is handed to the network; nothing else differs.
          Copies that never left count, as in `messages_KIND` of the metrics
Units     messages; time units
Errors    ScenarioError
Source    ours: docs/protocols/vcube.md
"""

from __future__ import annotations

from typing import Any, NamedTuple

from mobilenet.engine.clock import SECOND
from mobilenet.lab.studies.papers.jobs import Job, Result, scenario_of

KINDS = ("tree", "delv", "ack", "copy")


class Counts(NamedTuple):
    sent: dict[str, list[int]]  # kind -> of each process
    received: dict[str, list[int]]  # kind -> handed to the network for each process, dead or alive
    source_trees: list[int]  # the receivers of p0's TREEs, in order
    most_per_cluster: int  # TREEs of one process to one of its clusters
    acks_to_suspected: int  # by processes that suspected the receiver at that moment
    suspected: list[float | None]  # when each process suspected another one for the first time


def count(job: Job) -> Result:
    """Count the messages of one run in memory, and return Counts as a dictionary."""
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

"""Measure quantities of single processes and messages that figures of the causal paper show but metrics do not.

Model     dependencies: for each message, the number of sources from which its source has delivered something since its
          own last broadcast. This is the number of entries in its compressed vector clock besides the entry of the
          source. It is computed from the events only.
          pending: for each process, the largest number of messages that it held back at once. It is computed from the
          samples.
          company: for each process, the largest number of messages that it put into one packet.
          delayed: the number of messages that were delivered later than they arrived, over all processes. It is
          computed from events and arrivals.
          pairs: the mean latencies of messages that arrived in a packet of two, and of the same messages at the same
          processes in a run with the same broadcasts but without aggregation.
Units     Nanoseconds; mean latencies are in time units.
Source    Figures 6 and 8 to 11 of Rodrigues, Duarte and Arantes on causal aggregation; ours: docs/protocols/vcube.md
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from mobilenet.engine.clock import SECOND
from mobilenet.lab.studies.papers.jobs import Job, Result, run, scenario_of
from mobilenet.protocols.vcube.port import MessageId

if TYPE_CHECKING:
    from mobilenet.record.table import Columns
    from mobilenet.scenario import ProcessScenario

Instants = dict[tuple[int, MessageId], int]  # maps (process, message) to a time in nanoseconds


def observe(job: Job) -> Result:
    """Simulate a run on the packet network, and return the observations."""
    scenario = scenario_of(job)
    result, events, samples, watch = _run_watched(scenario)
    result |= watch.observations(events, samples)
    if job.beside is not None and (of := watch.of_two()):
        _, other_events, _, other = _run_watched(scenario.with_changes(job.beside))
        result["pairs"] = latencies(of, watch.received, delivery_times(events))
        result["pairs"] += latencies(of, other.received, delivery_times(other_events))
    return result


def _run_watched(scenario: ProcessScenario) -> tuple[Result, Columns, Columns, Watch]:
    watch = Watch(scenario.processes)
    return *run(scenario, watch.on_send, watch.on_receive), watch


class Watch:
    """Observes the packets that are sent, without influencing the run."""

    def __init__(self, n: int) -> None:
        self._company = [0] * n
        self._arrivals: list[tuple[int, int, Any]] = []  # tuples (time_ns, receiver, packet)

    def on_send(self, time_ns: int, sender: int, to: int, packet: Any) -> None:
        self._company[sender] = max(self._company[sender], len(packet.messages))

    def on_receive(self, time_ns: int, sender: int, to: int, packet: Any) -> None:
        self._arrivals.append((time_ns, to, packet))

    @cached_property
    def received(self) -> Instants:
        """The arrival time of each message at each process."""
        return {(to, m.id): time_ns for time_ns, to, packet in self._arrivals for m in packet.messages}

    def of_two(self) -> list[tuple[int, MessageId]]:
        """Return the receiver and the id of each message that arrived in a packet of two, in order of arrival."""
        return [(to, m.id) for _, to, packet in self._arrivals if len(packet.messages) == 2 for m in packet.messages]

    def observations(self, events: Mapping[str, Any], samples: Mapping[str, Any]) -> dict[str, Any]:
        """Return the observations in a form that JSON can represent."""
        return {
            "dependencies": dependencies(events),
            "pending": pending(samples, len(self._company)),
            "company": self._company,
            "delayed": wait_count(self.received, delivery_times(events)),
        }


def dependencies(events: Mapping[str, Any]) -> list[int]:
    """Return the number of dependencies of each message, in the order of the broadcasts."""
    # maps a process to the sources of the messages that it has delivered since its last broadcast
    since: dict[str, set[str]] = {}
    numbers = []
    for node, event, message in zip(events["node"], events["event"], events["message"], strict=True):
        if event == "deliver":
            source = message.partition(":")[0]
            if source != node:
                since.setdefault(node, set()).add(source)
        elif event == "broadcast":
            numbers.append(len(since.pop(node, ())))
    return numbers


def delivery_times(events: Mapping[str, Any]) -> Instants:
    """Return when each message was delivered at each process, including its source."""
    rows = zip(events["time_ns"], events["node"], events["event"], events["message"], strict=True)
    return {(int(node[1:]), _id(message)): time_ns for time_ns, node, event, message in rows if event == "deliver"}


def _id(message: str) -> MessageId:
    source, _, ts = message.partition(":")
    return MessageId(int(source[1:]), int(ts))


def wait_count(received: Instants, delivered: Instants) -> int:
    """Return how many messages had to wait at a process before their delivery."""
    return sum(
        delivered[place] > came_ns
        for place, came_ns in received.items()
        if place[1].source != place[0] and place in delivered
    )


def latencies(of: list[tuple[int, MessageId]], received: Instants, delivered: Instants) -> list[float]:
    """Return the mean times from broadcast to reception and from broadcast to delivery, in time units. `of` contains
    pairs of a receiver and a message. A source delivers its own messages immediately.
    """
    begun = [delivered[m.source, m] for _, m in of]
    came, handed_up = sum(received[place] for place in of), sum(delivered[place] for place in of)
    return [(came - sum(begun)) / len(of) / SECOND, (handed_up - sum(begun)) / len(of) / SECOND]


def pending(samples: Mapping[str, Any], n: int) -> list[int]:
    """Return the largest number of pending messages at each process."""
    most = [0] * n
    for node, quantity, value in zip(samples["node"], samples["quantity"], samples["value"], strict=True):
        if quantity == "pending":
            i = int(node[1:])
            most[i] = max(most[i], int(value))
    return most

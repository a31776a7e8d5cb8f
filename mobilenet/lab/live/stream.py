"""The messages of a live run to its listeners: the current state as columns, and the events since the last message.

Model     Each listener receives the events that it does not have yet. All events except deliveries are always sent. If
          there are many deliveries, only the deliveries of the watched node are sent. If there are many delays, their
          mean is computed from a regular sample
Units     integer nanoseconds, centimetres
Shapes    columns: lists of the same length; hosts and stations are represented by their numbers, and -1 means that
          there is none
Source    ours: docs/guide/live-messages.md
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from mobilenet.lab.live.broadcasts import Broadcasts
from mobilenet.lab.live.buffer_bins import filled_bins
from mobilenet.lab.live.cards import card
from mobilenet.lab.live.curves import Curves, Point
from mobilenet.lab.live.packets import PacketCards
from mobilenet.lab.live.recent_messages import BEGIN, Arrow, FollowedHosts, Mark
from mobilenet.lab.live.session import LiveSession
from mobilenet.simulation.mobile import Simulation

MOST_DELIVERIES = 1_000  # If there are more new deliveries, a state contains only those of the watched node.
MOST_ROWS = 200_000  # maximum number of events in one state; later states contain the remaining events
DELAYS = 200  # approximate number of delays that are read for one state
NOBODY = -(2**31)  # both coordinates of an absent host


class Place(NamedTuple):
    """The part of the record that a listener has received, and the node that it watches."""

    generation: int
    row: int
    watched: str | None = None
    arrow: Mark = BEGIN
    point_ns: int = -1  # time of the last curve point that was sent
    touched: tuple[int, int] = (-1, -1)  # (branch number, number of its interventions)
    sample: int = 0  # the first sample that the listener has not received
    # Bin widths of the buffer curves of stations and hosts, or None if the listener does not draw them.
    bins_s: tuple[float, float] | None = None


class Listener:
    """A listener. `place` is None until the listener has reported which events it has. `pause_s` is the minimum time
    between two states, unless a command was carried out.
    """

    def __init__(self) -> None:
        self.place: Place | None = None
        self.pause_s = 0.0
        self.last_sent_s = -math.inf  # wall time at which the last state was sent
        self.is_owed = False  # whether the listener was not ready for a state that is due


class Stream:
    """The stream of one session. `generation` changes whenever the run rewinds, and messages of earlier generations
    become invalid.
    """

    def __init__(self, session: LiveSession) -> None:
        self.session = session
        self.generation = 0
        self._followed = FollowedHosts(session.simulation)
        self._begin(session.simulation)
        session.on_begin = self._begin
        session.on_piece = lambda: self.curves.go_on()

    def begin_anew(self) -> None:
        """Start a new generation after a rewind. Its arrows of the watched hosts are complete from 0 s on."""
        self.generation += 1
        for arrows in self._followed.arrows.values():
            arrows.from_ns = 0

    def _begin(self, simulation: Simulation) -> None:
        """Prepare for a new simulation, in which the same hosts are followed."""
        self._followed = self._followed.again_in(simulation)
        self._broadcasts = Broadcasts()
        self.curves = Curves(simulation, self._broadcasts)
        folder = self.session.folder
        self.packets = None if folder is None else PacketCards(simulation, folder)

    def curve_points(self, after_ns: int = -1) -> dict[str, list[Any]]:
        """Return the points of the curves after this time, as columns."""
        return _columns(Point._fields, self.curves.since(after_ns))

    def attend(self, watched: Iterable[str | None]) -> None:
        """Follow all watched hosts, so that their arrows are stored."""
        hosts = {node for node in watched if node is not None and node.startswith("h")}
        if not hosts <= self._followed.arrows.keys():
            self._followed.attend(sorted(hosts))

    def has_more(self, place: Place) -> bool:
        """Return whether the record contains events that a listener with this `place` has not received."""
        return place.generation == self.generation and place.row < len(self.session.simulation.recording.events)

    def state(self, place: Place) -> tuple[dict[str, Any], Place]:
        """Return a message with the current state and all events that a listener with this `place` has not received.
        Also return the listener's place after this message.
        """
        session = self.session
        simulation = session.simulation
        if place.generation != self.generation:
            return {"type": "again", "generation": self.generation}, place
        news, row = self._news(place)
        arrows = self._followed.arrows.get(place.watched or "")
        state: dict[str, Any] = {
            "type": "state", "generation": self.generation, "time_ns": session.now_ns, "is_over": session.is_over,
            "row": place.row, "hosts": self._hosts(), "buffers": self.buffers(), "totals": self._totals(),
            **news,
        }  # fmt: skip
        touched = session.branch.number, len(session.branch.interventions)
        if place.touched != touched:
            state["branch"] = touched[0]
            state["interventions"] = [one.model_dump() for one in session.branch.interventions]
        if place.touched != touched or len(session.branches) > 1:
            state["branches"] = [
                {"parent": one.parent, "from_ns": one.from_ns, "reached_ns": one.reached_ns,
                 "interventions": len(one.interventions)}
                for one in session.branches
            ]  # fmt: skip
        if session.violation is not None:
            log, row_of_it = simulation.recording.events, session.violation.row
            where = {"node": log.node[row_of_it], "message": log.message[row_of_it]}
            state["violation"] = session.violation._asdict() | where
        if place.watched is not None:
            state["card"] = card(simulation, place.watched)
            packets = None if self.packets is None else self.packets.card(place.watched)
            if packets is not None and state["card"] is not None:
                state["card"]["packets"] = packets
        if arrows is not None:
            state["arrows"] = _columns(Arrow._fields, arrows.since(place.arrow))
            state["arrows_from_ns"] = arrows.from_ns
        points = self.curve_points(place.point_ns)
        if points["time_ns"]:
            state["curves"] = points
        point_ns = max([place.point_ns, *points["time_ns"]])
        mark = place.arrow if arrows is None else max(place.arrow, arrows.last)
        sample = place.sample
        if place.bins_s is not None:
            names = {kind: set(sizes) for kind, sizes in state["buffers"].items()}
            samples = simulation.recording.samples.lists
            state["buffer_bins"], sample = filled_bins(samples, sample, place.bins_s, names)
        return state, place._replace(row=row, arrow=mark, point_ns=point_ns, touched=touched, sample=sample)

    def _hosts(self) -> dict[str, list[int]]:
        movement = self.session.simulation.movement
        places_cm = np.where(movement.present[:, None], np.rint(movement.positions() * 100), NOBODY).astype(np.int64)
        return {"x_cm": places_cm[:, 0].tolist(), "y_cm": places_cm[:, 1].tolist()}

    def buffers(self) -> dict[str, dict[str, list[int]]]:
        """Return the current sizes of all buffers: kind -> buffer -> one number per node."""
        simulation = self.session.simulation
        sizes_by_kind = {}
        for kind, nodes in (("stations", simulation.stations), ("hosts", simulation.hosts)):
            names = next((node.buffer_names for node in nodes if node.buffer_names), ())
            sizes = [node.buffers or (0,) * len(names) for node in nodes]
            sizes_by_kind[kind] = {name: [own[i] for own in sizes] for i, name in enumerate(names)}
        return sizes_by_kind

    def _totals(self) -> dict[str, int]:
        medium = self.session.simulation.medium
        pairs = dict(zip(medium.outcomes, medium.pairs, strict=True))
        return {"frames": medium.frames, **{f"pairs_{name}": count for name, count in pairs.items()}}

    def _news(self, place: Place) -> tuple[dict[str, Any], int]:
        """Return the events that the listener has not received, as columns, and the number of the next row."""
        log = self.session.simulation.recording.events
        first = place.row
        end = min(len(log), first + MOST_ROWS)
        events = log.event[first:end]
        others = [first + i for i, event in enumerate(events) if event != "deliver"]
        columns = log.columns()
        time_ns, node, message = columns["time_ns"], columns["node"], columns["message"]
        sent = [row for row in others if log.event[row] == "broadcast"]
        rare = [row for row in others if log.event[row] != "broadcast"]
        delivered = [first + i for i, event in enumerate(events) if event == "deliver"]
        delays_ns = self._broadcasts.delays_ns(log, delivered[:: max(1, len(delivered) // DELAYS)])
        rows = delivered
        if len(delivered) > MOST_DELIVERIES:
            rows = [row for row in delivered if node[row] == place.watched]
        return {
            "events": _events(columns, rare),
            "broadcasts": {
                "time_ns": [time_ns[row] for row in sent], "message": [message[row] for row in sent],
            },
            "deliveries": {
                "count": len(delivered), "is_whole": rows is delivered,
                "delay_mean_s": sum(delays_ns) / len(delays_ns) / 1e9 if delays_ns else None,
                "time_ns": [time_ns[row] for row in rows], "host": [int(node[row][1:]) for row in rows],
                "message": [message[row] for row in rows],
            },
        }, end  # fmt: skip

    def deliveries_at(self, node: str, end: int) -> dict[str, Any]:
        """Return the messages that a node delivered in the first `end` rows, with their times."""
        log = self.session.simulation.recording.events
        rows = [row for row in _rows_of(log.node, node, end) if log.event[row] == "deliver"]
        return {"time_ns": [log.time_ns[row] for row in rows], "message": [log.message[row] for row in rows]}

    def who_has(self, message: str) -> dict[str, Any]:
        """Return the hosts that have delivered a message, with the times of delivery."""
        log = self.session.simulation.recording.events
        deliveries: dict[str, list[int]] = {"host": [], "time_ns": []}
        hosts = len(self.session.simulation.hosts)
        for row in _rows_of(log.message, message, len(log), self._broadcasts.row_of(log, message)):
            if log.event[row] == "deliver":
                deliveries["host"].append(int(log.node[row][1:]))
                deliveries["time_ns"].append(log.time_ns[row])
                if len(deliveries["host"]) == hosts:
                    break
        return {"message": message, "broadcast_ns": self._broadcasts.sent_ns(log).get(message), **deliveries}


def _rows_of(column: list[Any], value: Any, end: int, begin: int = 0) -> Iterator[int]:
    """Yield the indices of a value in a column. The `index` method is used because it is fast, and records are long."""
    try:
        while True:
            yield (begin := column.index(value, begin, end) + 1) - 1
    except ValueError:
        return


def _events(columns: Mapping[str, list[Any]], rows: list[int]) -> dict[str, list[Any]]:
    """Return these events as columns. Assign a station's event about a host to the host."""
    event_columns: dict[str, list[Any]] = {
        name: [] for name in ("time_ns", "event", "host", "station", "session", "message", "detail")
    }
    for row in rows:
        node, detail = columns["node"][row], columns["detail"][row]
        content: dict[str, Any] = json.loads(detail or "{}")
        station = columns["station"][row]
        if node.startswith("s"):  # an event of a station, which may concern a host
            station, node = node, content.get("host", "h-1")
        values = (
            columns["time_ns"][row], columns["event"][row], int(node[1:]), -1 if station is None else int(station[1:]),
            -1 if (session := columns["session"][row]) is None else session, columns["message"][row], content or None,
        )  # fmt: skip
        for column, value in zip(event_columns.values(), values, strict=True):
            column.append(value)
    return event_columns


def _columns(names: tuple[str, ...], rows: list[Any]) -> dict[str, list[Any]]:
    return {name: [row[i] for row in rows] for i, name in enumerate(names)}

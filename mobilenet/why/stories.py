"""Explain a delivery as a story: contiguous stretches from the broadcast to the delivery.

Model     the story is traced backwards: from the delivery to the reception that brought the message, then to the node
          that sent it, then to the reception there, and so on to the broadcast. At each node, the time between the
          arrival of the message and its departure is divided by the earlier frames that carried it, and by what the
          node waited for in between
Kinds     docs/models/causes.md defines each by the events that begin and end it
Units     integer nanoseconds
Source    ours: docs/models/causes.md
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from pathlib import Path
from typing import NamedTuple

from mobilenet.protocols.names import REAL_TIME
from mobilenet.record.reader import read_coded, require_unchanged
from mobilenet.record.table import Table
from mobilenet.scenario import AnyScenario, load_scenario
from mobilenet.why.activity import Activity
from mobilenet.why.connections import Connections
from mobilenet.why.cuts import Cuts
from mobilenet.why.delay_lines import DelayLines
from mobilenet.why.hops import Hops
from mobilenet.why.kinds import (
    BACKBONE,
    CELL,
    DOWN,
    ELSEWHERE,
    HANDSHAKE,
    HEAD_OF_LINE,
    HOST,
    ORDER,
    PARTITION,
    PROGRAM,
    RETRANSMISSION,
    RETRY,
    TIMER_WAIT,
    UNEXPLAINED,
)
from mobilenet.why.processes import SEPARATED, Processes
from mobilenet.why.record import LEAVES, NONE, RECEIVED, TIMER, Delivery, Record
from mobilenet.why.states import States
from mobilenet.why.stretches import Story, Stretch, behind, clip, cut, fill, leg_at
from mobilenet.why.wires import departures

MOST_WAYS = 30_000  # the maximum number of cached paths of messages
OWN_CODE = ("own", "program")  # protocols whose nodes run code of the user


class Errand(NamedTuple):
    """A transmission that a node still has to make: the message, the leg and the target node."""

    message: str
    leg: str
    target: str


class Stories:
    """The explanations of all deliveries in one run. `protocol`: the name of the protocol. Programs and plug-ins can be
    explained in less detail.
    """

    def __init__(
        self,
        record: Record,
        states: States,
        hops: Hops,
        connections: Connections,
        processes: Processes,
        protocol: str,
    ) -> None:
        self.record = record
        self.states = states
        self.hops = hops
        self._activity = Activity(record)
        self._connections = connections
        self._processes = processes
        self.protocol, self._has_own_code = protocol, protocol in OWN_CODE
        # node -> stories of the deliveries in the handler that was last requested there
        self._last: dict[str, dict[str, Story]] = {}
        self._last_handler: dict[str, int] = {}
        # (row, message, node, receiver) -> path. The receiver is "" if the path is the same for all receivers. The node
        # is "" as well if it is also the same for all hosts that received the frame.
        self._ways: dict[tuple[int, str, str, str], Story] = {}
        self._is_personal = False  # whether the path that is being traced depends on the receiver, or on its last host

    def of(self, message: str, node: str) -> list[Stretch]:
        """Return the stretches of the last delivery of a message at a node. Raise KeyError if there is no such delivery
        in the record.
        """
        return self.story(self.record.delivery(node, message)).stretches()

    def story(self, one: Delivery) -> Story:
        """Return the story of a delivery. The lengths of its stretches add up to the delay. Calls in the order of the
        record are fast, because the results for each node's last handler and some paths are cached.
        """
        node, message, number = one.node, one.message, one.number
        if self._last_handler.get(node) != one.handler or one.handler == NONE:
            self._last[node], self._last_handler[node] = {}, one.handler
        known = self._last[node]
        if message not in known:
            if len(self._ways) > MOST_WAYS:
                self._ways.clear()
            # Each delivery may be held back by an earlier one. A chain of a thousand would be too deep for recursion.
            chain = [one]
            while (number := self.record.delivery_before[number]) != NONE:
                if self.record.delivered[number] in known:
                    break
                chain.append(self.record.deliveries[number])
            for one in reversed(chain):
                known[one.message] = self._tell(one, known)
        return known[message]

    # --- one delivery

    def _tell(self, one: Delivery, known: dict[str, Story]) -> Story:
        record = self.record
        sent = record.broadcasts.get(one.message)
        if sent is None or sent.time_ns >= one.time_ns:
            return Story(None, [])
        arrival = self._arrival_at_receiver(one)
        if arrival == NONE:
            held = self._wait(Errand(one.message, HOST, one.node), one.node, sent.time_ns, one.time_ns, one.handler)
            held = [s if s.held_by else s._replace(leg=leg_at(s.place, one.node)) for s in held]
            if one.node != sent.node:  # the record does not show that the node had the message before
                held = [s._replace(kind=UNEXPLAINED) if s.kind == PROGRAM and not s.held_by else s for s in held]
            return Story(None, self.states.explain(held, sent.node, one.node))
        way = self._way(arrival, one.message, one.node, one.node)
        arrived_ns = record.time_ns[arrival]
        if arrived_ns < one.time_ns:
            way = Story(way, self._hold(one, arrived_ns, arrival, known))
        elif arrived_ns > one.time_ns:
            way = Story(None, clip(way.stretches(), sent.time_ns, one.time_ns))
        hosts = (one.node, sent.node, *way.relays)
        if one.node[0] == "h" and self.states.are_without(hosts, sent.time_ns, one.time_ns):
            return way
        return Story(None, self.states.explain(way.stretches(), sent.node, one.node))

    def _arrival_at_receiver(self, one: Delivery) -> int:
        record, time_ns = self.record, self.record.time_ns.__getitem__
        if record.brings(one.handler, one.message, one.node):
            return one.handler
        rows = record.brought(one.message, one.node)
        until = bisect_right(rows, one.time_ns, key=time_ns)
        since = bisect_left(rows, self.states.session_began_ns(one.node, one.time_ns), 0, until, key=time_ns)
        of_cell = (row for row in rows[since:until] if record.node[row] == one.station)
        return next(of_cell, rows[since] if since < until else rows[until - 1] if until else NONE)

    def _hold(self, one: Delivery, from_ns: int, arrival: int, known: dict[str, Story]) -> list[Stretch]:
        """Return the stretches in which the host has received the message and not delivered it yet."""
        record, to_ns = self.record, one.time_ns
        if record.kind[arrival].startswith("Tcp"):
            hold = Stretch(from_ns, to_ns, HEAD_OF_LINE, HOST, one.node, one.handler)
            return self._connections.of(hold, one.node)
        blocker = self._blocker(one, known)
        if blocker is not None:
            story = behind(clip(known[blocker].since(from_ns), from_ns, to_ns), blocker)
            return fill(story, from_ns, to_ns, Stretch(0, 0, UNEXPLAINED, HOST, one.node, held_by=blocker))
        return self._wait(Errand(one.message, HOST, one.node), one.node, from_ns, to_ns, one.handler)

    def _blocker(self, one: Delivery, known: dict[str, Story]) -> str | None:
        """Return the last message that was delivered in the same handler and on which this one causally depends. If
        there is none, return the last message delivered there.
        """
        sent = self.record.broadcasts[one.message]
        last = None
        for message in reversed(known):
            if NONE < self.record.known_at(sent.node, message) < sent.event:
                return message
            last = last or message
        return last

    # --- the way to a node

    def _way(self, row: int, message: str, node: str, receiver: str) -> Story:
        """Return the story from the broadcast to this row, in which the message reached the node. `receiver`: the
        final receiver of the message.
        """
        key = (row, message, "" if self.hops.leg(row) == CELL else node, "")
        way = self._ways.get(key)
        if way is None:
            way = self._ways.get((row, message, node, receiver))
            self._is_personal |= way is not None
        if way is None:
            was_personal, self._is_personal = self._is_personal, False
            way = self._new_way(row, message, node, receiver)
            self._ways[(row, message, node, receiver) if self._is_personal else key] = way
            self._is_personal |= was_personal
        return way

    def _new_way(self, row: int, message: str, node: str, receiver: str) -> Story:
        out: list[Stretch] = []  # in reverse order
        record, before = self.record, None
        sender, departed = self.hops.departure(row, out, self.hops.leg(row), node), record.cause[row]
        if departed != NONE:
            leg = self.hops.leg(departed)
            self._is_personal |= leg == CELL and len(record.sent_rows(departed)) > 1
            before = self._dwell(out, Errand(message, leg, node), sender, departed, receiver)
        return Story(before, clip(reversed(out), record.broadcasts[message].time_ns, record.time_ns[row]))

    def _dwell(self, out: list[Stretch], errand: Errand, sender: str, departed: int, receiver: str) -> Story | None:
        """Add what happened at a node between the arrival of the message and its departure in this row. Return the path
        of the message to the node.
        """
        record, message = self.record, errand.message
        handler, departed_ns = record.cause[departed], record.time_ns[departed]
        sent = record.broadcasts[message]
        if sent.node == sender:
            came, came_ns = NONE, sent.time_ns
        elif record.brings(handler, message, sender):
            return self._way(handler, message, sender, receiver)
        else:
            came = self._first_arrival(sender, message, departed_ns)
            came_ns = record.time_ns[came] if came != NONE else sent.time_ns
        radioed = [] if errand.leg != BACKBONE else record.queued_rows(sender, message)
        radioed = [row for row in radioed if row < departed and record.time_ns[row] >= came_ns]
        self._is_personal |= bool(radioed)
        if receiver[0] == "h" and any(self._is_for(row, receiver) for row in radioed):
            # A station that relays the message had already sent it by radio, and waited for this receiver.
            errand = Errand(message, CELL, receiver)
        self._attempts(out, errand, sender, departed, came_ns)
        return None if came == NONE else self._way(came, message, sender, receiver)

    def _is_for(self, row: int, host: str) -> bool:
        """Return whether a frame of a station is for this host, or for all hosts while the station serves this host."""
        record = self.record
        if record.to[row] not in ("", host):
            return False
        queued_ns, left_ns = record.time_ns[row], record.left_ns(row)
        return not self.states.is_elsewhere(
            host, record.node[row], queued_ns, queued_ns if left_ns == NONE else left_ns
        )

    def _first_arrival(self, node: str, message: str, until_ns: int) -> int:
        record = self.record
        brought = record.brought(message, node)
        return brought[0] if brought and record.time_ns[brought[0]] <= until_ns else NONE

    def _attempts(self, out: list[Stretch], errand: Errand, sender: str, departed: int, came_ns: int) -> None:
        """Add the attempts to send, backwards from the departure: what the sender waited for, and its earlier
        frames.
        """
        record = self.record
        message, leg, node = errand
        cursor_ns, handler, window = record.time_ns[departed], record.cause[departed], record.window[departed]
        # frames are sent to hosts, and not over wires
        queued = () if leg == BACKBONE else record.queued_rows(sender, message)
        earlier = [row for row in queued if row < departed and record.time_ns[row] >= came_ns]
        if leg == CELL and earlier:  # a host sends to the station that serves it
            self._is_personal = True
            earlier = [row for row in earlier if self._is_for(row, node)]
        for row in reversed(earlier):
            rows = record.sent_rows(row)
            # the queue may have contained two copies
            left_ns = min(record.time_ns[rows[-1] if rows else row], cursor_ns)
            outcome = record.outcome(row, record.to[row] or node)
            out.extend(reversed(self._wait(errand, sender, left_ns, cursor_ns, handler, outcome, window)))
            if rows:
                tried: list[Stretch] = []
                self.hops.on_air(row, rows[-1], tried, leg, record.to[row] or node)
                out.extend(cut(stretch, came_ns, left_ns) for stretch in tried)
            cursor_ns, handler, window = record.time_ns[row], record.cause[row], record.window[row]
        for row, reason in reversed(self._processes.losses(sender, node, message)):
            if came_ns <= record.time_ns[row] and row < departed:
                out.extend(reversed(self._wait(errand, sender, record.time_ns[row], cursor_ns, handler, reason)))
                cursor_ns, handler = record.time_ns[row], record.cause[row]
        out.extend(reversed(self._wait(errand, sender, came_ns, cursor_ns, handler, "", window)))

    # --- waiting

    def _wait(
        self, errand: Errand, node: str, begin_ns: int, end_ns: int, row: int, outcome: str = "", window: str = ""
    ) -> list[Stretch]:
        """Return why the node did not act on the message between these times, by tracing back what ended the wait."""
        record, holder = self.record, node
        message, leg, _ = errand
        out: list[Stretch] = []
        while end_ns > begin_ns:
            if row == NONE and window:  # the segment was filled by the application's next message
                out.append(Stretch(begin_ns, end_ns, window, leg, holder, NONE, window))
                break
            if row == NONE:
                rest = self._world(errand, holder, begin_ns, end_ns, outcome)
                if node != holder:  # an external event made another node act, which may have been down before that
                    rest = [part for stretch in rest for part in self.states.parts(stretch, node)]
                out.extend(reversed(rest))
                break
            step, at, reason = record.step[row], record.node[row], record.kind[row]
            crash = self._processes.crash_behind(row)
            if crash is not None and crash.time_ns < end_ns:
                since_ns = max(begin_ns, crash.time_ns)
                out.append(Stretch(since_ns, end_ns, DOWN, leg, crash.process, row))
                end_ns = since_ns
                continue
            if step == TIMER:
                blank = Stretch(begin_ns, end_ns, TIMER_WAIT, leg, at, row, outcome)
                out.append(self._until_timer(blank, at == holder, window))
                end_ns, row = out[-1].begin_ns, record.cause[row]
                continue
            queued = record.cause[row]
            if queued == NONE:
                out.append(Stretch(begin_ns, end_ns, UNEXPLAINED, leg, holder, row, outcome))
                break
            is_own = step in LEAVES and record.node[queued] == node
            if not is_own and reason.startswith("Tcp"):
                kind = HANDSHAKE if reason == "TcpSyn" else window or HEAD_OF_LINE
                rule = Stretch(begin_ns, end_ns, kind, leg, holder, row, window)
                out.extend(reversed(self._connections.of(rule, node)))
                break
            if not is_own and node == holder and record.messages[row] and message not in record.messages[row]:
                other = next((m for m in record.messages[row] if m in record.broadcasts), None)
                if other is not None:
                    blank = Stretch(begin_ns, end_ns, ORDER, leg, holder, row, held_by=other)
                    self._is_personal |= leg == CELL
                    out.extend(reversed(self._behind_another(blank, errand.target)))
                    break
            part: list[Stretch] = []
            if is_own:
                self.hops.in_queue(queued, row, end_ns, part, leg)
            else:
                self.hops.departure(row, part, leg, node)
            out.extend(stretch for one in part if (stretch := cut(one, begin_ns, end_ns)).length_ns > 0)
            end_ns, node = max(begin_ns, min(end_ns, record.time_ns[queued])), record.node[queued]
            row = record.cause[queued]
        out.reverse()
        return [stretch for stretch in out if stretch.length_ns > 0]

    def _until_timer(self, blank: Stretch, is_own: bool, window: str) -> Stretch:
        """Return the stretch in which a node waited for a timer. It may be the whole wait."""
        row, outcome = blank.row, blank.reason
        kind = self._connections.timer_kind(row, outcome not in ("", RECEIVED))
        kind = PARTITION if kind == RETRY and outcome == SEPARATED else kind
        if kind in (RETRY, PARTITION):  # for these kinds, the timer may belong to any node
            return blank._replace(kind=kind)
        if is_own and (kind != TIMER_WAIT or self.record.cause[row] == NONE):
            return blank._replace(kind=kind, reason=window if kind == RETRANSMISSION and window else outcome)
        since_ns = min(blank.end_ns, max(blank.begin_ns, self.record.start_ns[row]))
        return Stretch(since_ns, blank.end_ns, kind, blank.leg, blank.place, row, outcome if is_own else "")

    def _behind_another(self, blank: Stretch, target: str) -> list[Stretch]:
        """Return the path of the message that a node waited for, up to this node. Gaps are filled with `blank`."""
        node, other = blank.place, blank.held_by
        receiver = node if target[0] == "s" else target
        way = self._way(blank.row, other, node, receiver).stretches()
        way = self.states.explain(way, self.record.broadcasts[other].node, receiver)
        story = behind(clip(way, blank.begin_ns, blank.end_ns), other)
        return fill(story, blank.begin_ns, blank.end_ns, blank)

    def _world(self, errand: Errand, holder: str, begin_ns: int, end_ns: int, outcome: str) -> list[Stretch]:
        """Explain a wait that ended because the host changed its cell, recovered or joined."""
        _, leg, target = errand
        if outcome not in ("", RECEIVED):
            kind = PARTITION if outcome == SEPARATED else RETRY
            return [Stretch(begin_ns, end_ns, kind, leg, holder, NONE, outcome)]
        if outcome and not self._has_own_code:  # the message was received, but the answer has not arrived
            return [Stretch(begin_ns, end_ns, TIMER_WAIT, leg, holder, NONE, outcome)]
        self._is_personal |= leg == CELL
        rest = Stretch(begin_ns, end_ns, PROGRAM if self._has_own_code else UNEXPLAINED, leg, holder, NONE, outcome)
        away = [
            rest._replace(begin_ns=a, end_ns=b, kind=ELSEWHERE, reason=station)
            for a, b, station in (self.states.stations(target, begin_ns, end_ns) if leg == CELL else ())
            if station != holder
        ]
        parts = fill(away, begin_ns, end_ns, rest)
        return parts if self._has_own_code else self._activity.explain(parts)


def stories(causes: Table, events: Table, scenario: AnyScenario) -> Stories:
    """Return an object that explains all deliveries of a recording."""
    name = scenario.protocol.name
    record = Record(causes, events, name in REAL_TIME)
    cuts = Cuts(events)
    hops = Hops(record, departures(record, cuts, scenario), DelayLines(record, scenario))
    connections, processes = Connections(record, cuts, hops), Processes(record, scenario)
    return Stories(record, States(events), hops, connections, processes, name)


def recorded_stories(directory: Path) -> Stories:
    """Return an object that explains all deliveries of a run that recorded its causes. Raise RunError if a file was
    changed after the run.
    """
    for name in ("scenario.yaml", "causes.parquet", "events.parquet"):
        require_unchanged(directory, name)
    return stories(
        read_coded(directory, "causes"), read_coded(directory, "events"), load_scenario(directory / "scenario.yaml")
    )

"""Check which nodes receive each frame, and the outcome at each of them.

Model     When a frame is over, it is compared with every earlier frame that overlaps it. Distances are those at the
          time when the frame was sent. A node is left out if it was not present at this time, or has changed its
          movement since. With more than 200 nodes, only some of the frames are checked by distance.
Units     integer nanoseconds, metres
Source    ours: docs/validation/trust.md
"""

from __future__ import annotations

from collections import Counter, deque
from math import ceil, inf, sqrt

from mobilenet.network.radio.frame import (
    COLLISION,
    HALF_DUPLEX,
    NEVER_ATTEMPTED,
    RANDOM,
    RECEIVED,
    SINR_OUTCOMES,
    Frame,
)
from mobilenet.network.radio.medium import SPEED_OF_LIGHT_M_PER_NS
from mobilenet.network.radio.phy import MODES
from mobilenet.network.radio.transceiver import Transceiver
from mobilenet.network.radio.unit_disk.model import ByDistance
from mobilenet.network.radio_models import model_of
from mobilenet.record.recorder import Recording
from mobilenet.simulation.invariants.fault import Faults
from mobilenet.simulation.invariants.flight import Flight, Times
from mobilenet.simulation.invariants.power import Power
from mobilenet.simulation.mobile import Simulation
from mobilenet.simulation.nodes import Node
from mobilenet.simulation.observer import Observer

MOST_NODES = 200  # up to this number of nodes, distances are computed for every frame
PAIRS = ("pairs", "addressed_pairs", "ack_pairs", "addressed_ack_pairs")  # the medium's counters of pairs
LATE_NS = 8  # Tolerance for ACKs that arrive late. The range limit of 3 km bounds this delay (docs/models/radio.md).


class Air(Observer):
    """Checks the frames on the medium of a run."""

    def __init__(self, simulation: Simulation, faults: Faults) -> None:
        self._simulation, self._faults = simulation, faults
        self._medium = simulation.medium
        wireless = self._wireless = simulation.scenario.wireless
        model = model_of(wireless)
        disk = model if isinstance(model, ByDistance) else None
        self._is_disk, self._is_dcf = disk is not None, wireless.mac == "dcf"
        self._power = None if self._is_disk else Power(simulation, faults)
        self._range_m = self._interference_m = 0.0
        self._detection_m = -inf
        if disk is not None:
            self._range_m, self._interference_m = disk.range_m, max(disk.interference_m, disk.range_m)
            if disk.detection_m is not None:
                self._detection_m = max(disk.detection_m, disk.range_m)
        mode = self._mode = MODES[wireless.mode]
        self._sifs_ns, self._difs_ns = mode.sifs_ns, mode.difs_ns if self._is_dcf else 0
        # A frame is over when its last receiver has received it. It may still disturb more distant nodes for this long.
        self._travels_ns = ceil(self._interference_m / SPEED_OF_LIGHT_M_PER_NS)
        # When frames of a sender follow each other without a gap, the medium forgets the end of a frame that is still
        # travelling.
        self._after_ns = max(self._difs_ns, self._travels_ns)
        self._unseen_ns = 0 if self._is_dcf else ceil(self._range_m / SPEED_OF_LIGHT_M_PER_NS)
        self._is_full_duplex = not self._is_dcf and wireless.full_duplex
        self._is_changed_by_hand = bool(simulation.scenario.interventions)
        self._nodes: dict[Transceiver, Node] = {}
        self._recent: deque[Flight] = deque()  # recent flights, in the order in which they ended
        # the last frame that a node has to acknowledge, and its time of arrival
        self._acknowledged: dict[Transceiver, tuple[Frame, int]] = {}
        self._tallies: dict[str, Counter[int]] = {name: Counter() for name in PAIRS}
        self._airtime_ns = self._frames = self._bytes = 0
        # (receiver, sender) -> number of the last frame handed up, and the receiver's protocol object
        self._numbers: dict[tuple[Transceiver, Transceiver], tuple[int, object]] = {}
        self._due: set[Transceiver] = set()  # nodes that have not yet handed up the last frame
        self._last: Frame | None = None
        self._add_nodes()
        simulation.listen(self.on_frame, None)

    def _note(self, flight: Flight, node: Transceiver, what: str) -> None:
        self._faults.note(flight.start_ns, node.name, f"{flight} {what}")

    # --- what is handed up

    def _add_nodes(self) -> None:
        for node in self._simulation.nodes:
            if node.transceiver not in self._nodes:
                self._nodes[node.transceiver] = node
                self._watch(node)

    def _watch(self, node: Node) -> None:
        transceiver, hand_up = node.transceiver, node.transceiver.hand_up

        def look_and_hand_up(frame: Frame) -> None:
            key, now_ns = (transceiver, frame.sender), self._simulation.kernel.now
            if frame is not self._last or transceiver not in self._due:
                self._faults.note(now_ns, node.name, f"handed up frame {frame.serial}, which it did not receive")
            if frame.number > 0:
                number, life = self._numbers.get(key, (0, None))
                if number == frame.number and life is node.protocol:
                    self._faults.note(now_ns, node.name, f"handed up frame {frame.serial}, a repetition")
                self._numbers[key] = frame.number, node.protocol
            self._due.discard(transceiver)
            hand_up(frame)

        transceiver.hand_up = look_and_hand_up

    def _require_all_handed_up(self) -> None:
        """Require that all nodes in `_due` have handed up the last frame, unless the MAC has dropped it as a
        repetition.
        """
        frame = self._last
        for node in self._due:
            if frame is not None and self._numbers.get((node, frame.sender), (-1, None))[0] != frame.number:
                what = f"received frame {frame.serial} of {frame.sender.name}, and did not hand it up"
                self._faults.note(frame.start_ns, node.name, what)

    # --- a frame is over

    def on_frame(self, frame: Frame) -> None:
        if len(self._nodes) < len(self._simulation.stations) + len(self._simulation.hosts):
            self._add_nodes()
        self._require_all_handed_up()
        now_ns = self._simulation.kernel.now
        flight = Flight(frame, self._distances2(frame), now_ns)
        listens = flight.is_data and (self._medium._listens or frame.acknowledged)
        self._last, self._due = frame, {
            node
            for node, outcome in flight.outcomes.items()
            if listens and outcome == RECEIVED and (frame.to is None or frame.to is node)
        }  # fmt: skip
        self._count(flight)
        self._check_alone(flight)
        for other in reversed(self._recent):
            if other.over_ns + self._after_ns <= flight.start_ns:
                break
            self._check_pair(flight, other)
            self._check_pair(other, flight)
        self._recent.append(flight)
        in_air = min((other.start_ns for other in self._medium._in_air.values()), default=now_ns)
        while self._recent and self._recent[0].over_ns + self._after_ns <= in_air:
            self._check_losses(self._recent.popleft())

    def _distances2(self, frame: Frame) -> dict[Transceiver, float] | None:
        sender, start_ns = frame.sender, frame.start_ns
        may_be_off = self._is_changed_by_hand and not frame.receivers
        if sender.since_ns >= start_ns or may_be_off or frame.serial % (1 + len(self._nodes) // MOST_NODES):
            return None
        x_m, y_m = sender.position(start_ns)
        near = {}
        for node in self._nodes:
            if node is not sender and node.bin is not None and node.since_ns < start_ns:
                node_x_m, node_y_m = node.position(start_ns)
                dx, dy = node_x_m - x_m, node_y_m - y_m
                near[node] = dx * dx + dy * dy
        return near

    def _count(self, flight: Flight) -> None:
        sender, to, name = flight.sender, flight.frame.to, "pairs" if flight.is_data else "ack_pairs"
        self._tallies[name].update(flight.outcomes.values())
        self._tallies[f"addressed_{name}"].update(
            outcome
            for node, outcome in flight.outcomes.items()
            if node is to or (to is None and (not sender.is_station or node.serving is sender))
        )
        if flight.is_data:
            self._frames += 1
            self._bytes += flight.frame.psdu_bytes
        self._airtime_ns += flight.end_ns - flight.start_ns

    def _check_alone(self, flight: Flight) -> None:
        if self._power is not None:
            self._power.check_arrivals(flight)
        range2 = self._range_m * self._range_m
        for node, d2 in (flight.near or {}).items():
            if self._is_disk and (d2 <= range2) != (node in flight.arrivals):
                self._note(flight, node, f"is sent {sqrt(d2):.9g} m away, and the range is {self._range_m:g} m")
            delay_ns, straight_ns = flight.delays_ns.get(node), sqrt(d2) / SPEED_OF_LIGHT_M_PER_NS
            is_late = delay_ns is not None and delay_ns > straight_ns + 1 and self._is_dcf
            if delay_ns is not None and (delay_ns < straight_ns - 1 or is_late):
                self._note(flight, node, f"takes {delay_ns} ns over {sqrt(d2):.9g} m")
        for node, outcome in flight.outcomes.items():
            is_down = self._nodes[node].protocol is None and node.since_ns < flight.arrivals[node][0]
            if outcome == RECEIVED and is_down:
                self._note(flight, node, "is received although the node was down")
            if outcome == RANDOM and self._wireless.loss == 0 and not self._is_changed_by_hand:
                self._note(flight, node, "is lost at random, and nothing is")
            if self._is_dcf and node.contending:
                self._check_wait(node, flight.over_ns)
        self._check_acknowledgement(flight)

    def _check_wait(self, node: Transceiver, now_ns: int) -> None:
        """Check that the node's back-off does not exceed its contention window."""
        mode = self._mode
        window = mode.cw_max if self._medium.retries else mode.cw_min
        most_ns = (mode.eifs_ns if self._wireless.eifs else mode.difs_ns) + window * mode.slot_ns
        waits_ns = node.mac.deadline_ns - max(now_ns, node.busy_until)
        if waits_ns > most_ns:
            self._faults.note(now_ns, node.name, f"waits {waits_ns} ns to send, longer than its window")

    def _check_acknowledgement(self, flight: Flight) -> None:
        frame = flight.frame
        if flight.is_data:
            if frame.acknowledged and frame.to is not None and flight.outcomes.get(frame.to) == RECEIVED:
                self._acknowledged[frame.to] = frame, flight.arrivals[frame.to][1]
            return
        about, arrived_ns = self._acknowledged.get(flight.sender, (None, 0))
        if frame.message is not about or not 0 <= flight.start_ns - arrived_ns - self._sifs_ns <= LATE_NS:
            self._note(flight, flight.sender, "acknowledges nothing that arrived SIFS ago")

    # --- two of them

    def _check_pair(self, flight: Flight, other: Flight) -> None:
        """Check what `other` does to the receivers of `flight`, and to its sender."""
        self._check_sender(flight, other)
        for node, (first_ns, last_ns) in flight.arrivals.items():
            outcome = flight.outcomes[node]
            if node is other.sender:
                if first_ns < other.end_ns and other.start_ns < last_ns and not self._is_full_duplex:
                    flight.excused.add(node)
                    together_ns = min(last_ns, other.end_ns) - max(first_ns, other.start_ns)
                    if outcome == RECEIVED and together_ns > self._unseen_ns:
                        self._note(flight, node, "is received while the node sends")
                continue
            times = other.arrivals.get(node) or self._times_of(other, node, self._interference_m)
            if times is None or times[0] >= last_ns or times[1] <= first_ns:
                if self._is_disk and other.near is not None and node in other.near:
                    continue
                gone_ns, other_gone_ns = (one.over_ns + self._travels_ns for one in (flight, other))
                if flight.start_ns < other_gone_ns and other.start_ns < gone_ns:
                    # The distance of the node is not known, so the other frame may have reached it.
                    flight.excused.add(node)
                continue
            flight.excused.add(node)
            if min(last_ns, times[1]) - max(first_ns, times[0]) <= self._unseen_ns:
                continue
            if outcome == RECEIVED and other.outcomes.get(node) == RECEIVED:
                self._note(flight, node, f"is received, and so is {other}, which overlaps it")
            elif outcome == RECEIVED and self._is_disk and self._wireless.capture_db is None:
                self._note(flight, node, f"is received although {other} overlaps it")
        if self._power is not None:
            flight.others.append(other)

    def _times_of(self, other: Flight, node: Transceiver, within_m: float) -> Times | None:
        """Return when a frame arrives at a node. Return None if the node is farther away than `within_m`, or if its
        distance is not known.
        """
        d2 = (other.near or {}).get(node)
        if not self._is_disk or d2 is None or d2 > within_m * within_m or within_m < 0:
            return None
        delay_ns = int(sqrt(d2) / SPEED_OF_LIGHT_M_PER_NS + 0.5)
        return other.start_ns + delay_ns, other.end_ns + delay_ns

    def _check_sender(self, flight: Flight, other: Flight) -> None:
        """Check that a node sends one frame at a time, and that a MAC with carrier sense sends only after a silence of
        DIFS.
        """
        sender, start_ns = flight.sender, flight.start_ns
        waits_ns = self._difs_ns if flight.is_data else 0
        if other.sender is sender:
            times: Times | None = (other.start_ns - 1, other.end_ns)
        elif not waits_ns:
            times = None
        elif self._is_disk:
            times = self._times_of(other, sender, self._detection_m)
        else:
            times = other.arrivals[sender] if other.outcomes.get(sender) == RECEIVED else None
        if times is not None and times[0] < start_ns < times[1] + waits_ns:
            self._note(flight, sender, f"is sent {start_ns - times[1]} ns after {other}, before DIFS is over")

    def _check_losses(self, flight: Flight) -> None:
        """Check that each loss with the outcome collision, never_attempted or half_duplex is explained by another
        transmission. All overlapping frames have been compared by now.
        """
        for node, outcome in flight.outcomes.items():
            if outcome in (COLLISION, NEVER_ATTEMPTED, HALF_DUPLEX) and node not in flight.excused:
                self._note(flight, node, f"is lost ({SINR_OUTCOMES[outcome]}), and nothing overlaps it")
        if self._power is not None:
            self._power.check_sinrs(flight)

    # --- now and then

    def on_slice(self, now_ns: int) -> None:
        medium = self._medium
        for name, tally in self._tallies.items():
            counts = [tally[outcome] for outcome in range(len(medium.outcomes))]
            if counts != getattr(medium, name):
                self._faults.note(now_ns, "network", f"{name} are {getattr(medium, name)}, and frames had {counts}")
        if medium.airtime_ns != self._airtime_ns:
            self._faults.note(now_ns, "network", f"the airtime is {medium.airtime_ns} ns, and not that of the frames")
        self._faults.require_none()

    def on_end(self, now_ns: int) -> None:
        self.on_slice(now_ns)

    def check_record(self, recording: Recording, end_ns: int) -> None:
        """Check the counters and the last samples of the record when the run is over."""
        pairs, radio = self._tallies["pairs"], recording.counters["radio"]
        received, every = pairs[RECEIVED], pairs.total()
        counts = {"frames": self._frames, "bytes": self._bytes, "received": received, "pairs_in_range": every}
        totals = {"radio_frames": self._frames, "radio_bytes": self._bytes, "radio_airtime_ns": self._airtime_ns}
        table = recording.tables()["samples"]
        # the dictionary keeps the last sample of each quantity
        samples = dict(zip(table["quantity"], table["value"], strict=True))
        for name, count in (counts | totals | {"pairs_received": received}).items():
            noted = radio[name] if name in counts else samples[name]
            if noted != count:
                self._faults.note(end_ns, "network", f"{name} is recorded as {noted:.15g}, expected {count}")

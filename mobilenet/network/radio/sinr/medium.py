"""Reception that depends on power, noise and interference.

Model     A frame arrives with the sender's power minus the loss of the link, times the fading of this frame at this
          node. Its receivers are the nodes that would detect its preamble on a silent medium: it arrives with at least
          `preamble_rssi_cdbm`, and with `preamble_sinr_cdb` above the noise. Preamble: when a frame reaches an idle
          node, the node waits for 4 us and then examines the strongest frame that has arrived. If its SINR is at least
          `preamble_sinr_cdb`, the node receives this frame to its end. All other frames are noise, even for nodes that
          begin to listen later. Survival: the probabilities of all pieces between changes of the interference are
          multiplied. The PHY header has its own rate. There is one draw per frame and receiver. A lost frame is a
          `collision` if it would have survived the noise alone with the same draw, and otherwise `bit_errors`. Carrier
          sense: the medium is busy from the detection of a frame until its end, and while the sum of all powers is at
          least `energy_cdbm`. This sum does not include powers more than 20 dB below that threshold. Interference from
          beyond 3 km, or from where path loss leaves less than a hundredth of the noise, is ignored. Interference is
          computed only when a receiver needs it: at the preamble and at the end.
Rounding  The choice after 4 us is made once for all receivers, 4 us after the first bit was sent. A frame that is sent
          up to one propagation delay later may still reach a node within the 4 us of that node. There, it counts as
          interference and not as a rival.
Units     Times are integer nanoseconds, distances are in metres, and powers are in hundredths of a dBm or zeptowatts
          (decibels.py).
Source    the default PHY of ns-3 3.44 (threshold preamble detection, interference in chunks), read and measured; error
          models: bit_errors.py; ours: docs/models/sinr.md
"""

from __future__ import annotations

from math import sqrt
from typing import Final

from mobilenet.engine.kernel import Kernel
from mobilenet.engine.keyed_draws import KeyedDraws
from mobilenet.network.propagation.budget import LinkBudget
from mobilenet.network.propagation.fading import Fading
from mobilenet.network.radio.frame import (
    BIT_ERRORS,
    COLLISION,
    HALF_DUPLEX,
    NEVER_ATTEMPTED,
    PREAMBLE_MISSED,
    RECEIVED,
    RECEIVER_DOWN,
    SINR_OUTCOMES,
    Frame,
)
from mobilenet.network.radio.medium import SPEED_OF_LIGHT_M_PER_NS, End, Medium, Observer
from mobilenet.network.radio.neighbours import Neighbours
from mobilenet.network.radio.sinr.decibels import HIGHEST_CDBM, cdbm_of, times
from mobilenet.network.radio.sinr.interference import Interference
from mobilenet.network.radio.sinr.reception import Reception
from mobilenet.network.radio.sinr.survival import CHANCE
from mobilenet.network.radio.transceiver import NEVER, Transceiver

PREAMBLE_NS: Final = 4_000
NOWHERE_M: Final = 1e12


class ReceiverState:
    """The state of a node that is waiting for the preamble of a frame or receiving the frame."""

    __slots__ = (
        "first_frame",
        "locked_cdbm",
        "node",
        "rival",
        "rival_cdbm",
        "rivals_until",
        "strong",
        "strong_until",
        "strongest_cdbm",
        "tx",
    )  # fmt: skip

    def __init__(self, node: Transceiver, tx_cdbm: int) -> None:
        self.node = node
        self.tx = tx_cdbm
        # Serial of the frame with which the wait of 4 us for a preamble began, or 0 if the node is not waiting.
        self.first_frame = 0
        self.rival = 0  # serial of the strongest frame that has arrived since that frame
        self.rival_cdbm = 0
        self.rivals_until = NEVER
        self.locked_cdbm = 0
        # The latest series of overlapping frames near the energy threshold: their number, the highest power, and the
        # time at which the last one ends.
        self.strong = 0
        self.strongest_cdbm = 0
        self.strong_until = NEVER


class Sinr(Medium):
    """The medium of a run in which power determines reception."""

    def __init__(
        self,
        kernel: Kernel,
        neighbours: Neighbours,
        reception: Reception,
        budget: LinkBudget,
        fading: Fading | None,
        seed: int,
        loss: float = 0.0,
        observer: Observer | None = None,
        listens: bool = True,
    ) -> None:
        super().__init__(kernel, neighbours, SINR_OUTCOMES, loss, observer, listens)
        self._rules = reception
        self._budget = budget
        self._plain = budget.plain
        self._fading = fading
        self._around = Interference(reception, budget, fading, seed)
        self._reception_draws = KeyedDraws(seed, "reception")
        self._energy_cdbm = reception.energy_cdbm
        self._strong_cdbm = reception.strong_cdbm
        self._floor_cdbm = reception.floor_cdbm - (0 if fading is None else fading.most_cdb)
        self._reach2 = reception.reach_m * reception.reach_m
        self._states: list[ReceiverState] = []

    def add(self, transceiver: Transceiver) -> None:
        assert transceiver.index == len(self._states)
        self._states.append(ReceiverState(transceiver, self._rules.tx_cdbm(transceiver.is_station)))

    # --- a frame starts

    def start(self, frame: Frame, before: Frame | None = None) -> None:
        now = self._calendar.now
        sender = frame.sender
        if frame.retries:
            self._around.keep_earlier(frame)
        frame.start_ns = now
        end = now + frame.duration_ns
        self._abort_reception(sender, now, end)
        x = sender.x_m + sender.vx * (now - sender.since_ns)
        y = sender.y_m + sender.vy * (now - sender.since_ns)
        frame.x_m = x
        frame.y_m = y
        self._started = serial = self._started + 1
        frame.serial = serial
        states = self._states
        plain, fading, budget, reach2 = self._plain, self._fading, self._budget, self._reach2
        gains = self._around.gains
        tx, floor, strong = states[sender.index].tx, self._floor_cdbm, self._strong_cdbm
        detected = self._rules.detected_cdbm(frame.rate_mbps)
        receivers: list[Transceiver] = []
        outcomes: list[int] = []
        delays: list[int] = []
        powers: list[int] = []
        latest = 0
        candidates = self.neighbours.candidates(sender, now)
        if not sender.up:  # The radio of this station is off, so its frame does not reach any node.
            frame.x_m = NOWHERE_M
            candidates = ()
        for node in candidates:
            elapsed = now - node.since_ns
            node_x = node.x_m + node.vx * elapsed
            node_y = node.y_m + node.vy * elapsed
            dx = node_x - x
            dy = node_y - y
            d2 = dx * dx + dy * dy
            if d2 > reach2:
                continue
            distance_m = sqrt(d2)
            if plain is not None:
                power = tx - plain[int(distance_m * 100 + 0.5)]
            else:
                power = tx - budget.loss_up_to_cdb(x, y, sender.is_station, node_x, node_y, node.is_station, tx - floor)
            if power < floor:
                continue
            if fading is not None:
                power += fading.gain_cdb(gains.draw(serial, node.index), distance_m)
            delay = int(distance_m / SPEED_OF_LIGHT_M_PER_NS + 0.5)
            first = now + delay
            if power >= strong:
                self._add_energy(node, states[node.index], frame, first, end + delay, power)
            if power < detected:
                continue
            if delay > latest:
                latest = delay
            receivers.append(node)
            delays.append(delay)
            powers.append(power)
            outcomes.append(self._arrive(node, serial, first, power))
        frame.receivers = receivers
        frame.outcomes = outcomes
        frame.delays_ns = delays
        frame.powers_cdbm = powers
        self._in_air[serial] = frame
        self._around.frames.append(frame)
        self._calendar.at(now + PREAMBLE_NS, _Preamble(self, frame))
        self._calendar.at(end + latest, End(self, frame))

    def _arrive(self, node: Transceiver, serial: int, first: int, power: int) -> int:
        """Return the preliminary outcome of a frame with a detectable preamble when it reaches a node."""
        if not node.up:
            return RECEIVER_DOWN
        if node.transmit_until > first:
            return HALF_DUPLEX
        state = self._states[node.index]
        if state.first_frame and first >= state.rivals_until:
            self._choose(state)
        if state.first_frame:
            if first + PREAMBLE_NS < state.rivals_until:  # This frame was sent later, but from a shorter distance.
                state.rivals_until = first + PREAMBLE_NS
            if power <= state.rival_cdbm:
                return NEVER_ATTEMPTED
            self._give_up(state, NEVER_ATTEMPTED)
        else:
            if node.lock_until > first:
                capture = self._rules.capture_cdb
                if capture is None or power < state.locked_cdbm + capture:
                    return NEVER_ATTEMPTED
                self._lose(node, COLLISION)
                node.lock_until = NEVER
            state.first_frame = serial
            state.rivals_until = first + PREAMBLE_NS
        state.rival = serial
        state.rival_cdbm = power
        return RECEIVED  # A later frame or event may change this outcome.

    def choose(self, frame: Frame) -> None:
        """Let the nodes that wait for the preamble of this frame choose the frame that they receive. This is called
        when 4 us of the frame have been sent.
        """
        states = self._states
        serial = frame.serial
        air = self._around.frames
        is_alone = air[0] is frame and air[-1] is frame
        heard_cdbm = self._rules.noise_cdbm_of(frame.rate_mbps) + self._rules.preamble_sinr_cdb
        outcomes, delays, powers = frame.outcomes, frame.delays_ns, frame.powers_cdbm
        end = frame.start_ns + frame.duration_ns
        for i, node in enumerate(frame.receivers):
            state = states[node.index]
            if state.first_frame != serial:
                continue
            if not is_alone:
                self._choose(state)
                continue
            state.first_frame = 0
            if powers[i] < heard_cdbm:
                outcomes[i] = PREAMBLE_MISSED
            else:
                self._lock(state, serial, end + delays[i])

    def _choose(self, state: ReceiverState) -> None:
        """Choose the frame to lock on, because the preamble is over. The node receives the strongest frame or continues
        to listen.
        """
        frame = self._in_air[state.rival]
        state.first_frame = 0
        i = frame.receivers.index(state.node)
        around = self._around.power(frame, state.node, state.rivals_until)
        noise_cdbm = self._rules.noise_cdbm_of(frame.rate_mbps)
        if around:
            noise_cdbm = cdbm_of(self._rules.noise_of(frame.rate_mbps) + around)
        if state.rival_cdbm - noise_cdbm < self._rules.preamble_sinr_cdb:
            frame.outcomes[i] = PREAMBLE_MISSED
        else:
            self._lock(state, frame.serial, frame.start_ns + frame.duration_ns + frame.delays_ns[i])

    def _lock(self, state: ReceiverState, serial: int, last: int) -> None:
        """Lock the node onto a frame. From now on, it receives this frame."""
        node = state.node
        node.lock_until = last
        node.lock_frame = serial
        state.locked_cdbm = state.rival_cdbm
        self._sense(node, state.rivals_until, last)

    def _give_up(self, state: ReceiverState, outcome: int) -> None:
        """Stop waiting for the preamble, and set the outcome of the strongest frame."""
        frame = self._in_air[state.rival]
        frame.outcomes[frame.receivers.index(state.node)] = outcome

    def drop_out(self, node: Transceiver) -> None:
        node.up = False
        state = self._states[node.index]
        if state.first_frame:
            self._give_up(state, RECEIVER_DOWN)
            state.first_frame = 0
        if node.lock_until > self._calendar.now:
            self._lose(node, RECEIVER_DOWN)
        self._let_go(node)

    def _abort_reception(self, sender: Transceiver, now: int, end: int) -> None:
        state = self._states[sender.index]
        if state.first_frame:
            self._give_up(state, HALF_DUPLEX)
            state.first_frame = 0
        super()._abort_reception(sender, now, end)

    # --- energy

    def _add_energy(
        self, node: Transceiver, state: ReceiverState, frame: Frame, first: int, last: int, power: int
    ) -> None:
        """Add the energy of a strong frame that arrives. The node senses it while the sum of all energy reaches the
        threshold.
        """
        if power >= self._energy_cdbm:
            self._sense(node, first, last)
        if state.strong_until <= first:
            state.strong = 1
            state.strongest_cdbm = power
            state.strong_until = last
            return
        state.strong += 1
        if power > state.strongest_cdbm:
            state.strongest_cdbm = power
        if last > state.strong_until:
            state.strong_until = last
        if power < self._energy_cdbm and state.strongest_cdbm + times(state.strong) >= self._energy_cdbm:
            until = self._around.above_threshold(node, frame, first, last, power)
            if until > first:
                self._sense(node, first, until)

    def _sense(self, node: Transceiver, first: int, last: int) -> None:
        node.sense(first, last)
        if node.contending:
            node.mac.defer(first)

    # --- at the end

    def _decide(self, frame: Frame) -> None:
        """Draw whether all bits are right at each node that received the whole frame."""
        others = self._around.overlapping_frames(frame)
        outcomes, powers = frame.outcomes, frame.powers_cdbm
        clear_cdbm = self._rules.clear_cdbm(frame.rate_mbps)
        if self._observer is not None:
            frame.sinrs_cdb = [NEVER] * len(powers)
            clear_cdbm = HIGHEST_CDBM  # Every receiver is examined, because the observer needs the SINR.
        for i, power in enumerate(powers):
            if outcomes[i] == RECEIVED and (others or power < clear_cdbm):
                self._draw(frame, i, power, others)
        self._forget()

    def _draw(self, frame: Frame, i: int, power: int, others: list[Frame]) -> None:
        node = frame.receivers[i]
        first = frame.start_ns + frame.delays_ns[i]
        changes = self._around.changes(frame, node, first, others)
        rules, rate_mbps = self._rules, frame.rate_mbps
        notes = self._observer is not None
        if not changes and power >= rules.clear_cdbm(rate_mbps) and not notes:
            return
        alone = rules.chance(rate_mbps, power, first, frame.duration_ns, [])
        chance = rules.chance(rate_mbps, power, first, frame.duration_ns, changes) if changes else alone
        if notes:
            frame.sinrs_cdb[i] = rules.lowest_cdb
        if chance < CHANCE:
            draw = self._reception_draws.draw(frame.serial, node.index)
            if draw >= chance:
                frame.outcomes[i] = COLLISION if draw < alone else BIT_ERRORS

    def _forget(self) -> None:
        """Forget the frames that ended before the oldest frame in the air began."""
        oldest = self._calendar.now
        for frame in self._in_air.values():
            oldest = frame.start_ns
            break
        self._around.forget(oldest)


class _Preamble:
    """The calendar entry for the moment at which receivers choose a frame."""

    __slots__ = ("_frame", "_medium")

    def __init__(self, medium: Sinr, frame: Frame) -> None:
        self._medium = medium
        self._frame = frame

    def __call__(self) -> None:
        self._medium.choose(self._frame)

"""Check the power with which frames arrive by recomputing it for each link.

Model     For one frame in five, the power is computed at every node whose position is known. Without shadowing and
          obstacles, the path loss comes from its formula instead of the tables of the hot path. For frames that are
          received completely, the SINR must lie between two values: one with all other frames, and one with only the
          strongest frame that certainly overlaps.
Units     hundredths of a dBm, integer nanoseconds, metres
Source    ours: docs/models/sinr.md
"""

from __future__ import annotations

from math import dist, log10

from mobilenet.engine.keyed_draws import KeyedDraws
from mobilenet.network.propagation.path_loss import mean_loss_db
from mobilenet.network.radio.sinr.interference import FARTHEST_NS
from mobilenet.network.radio.sinr.links import budget_of, fading_of, reach_m, reception_of
from mobilenet.network.radio.transceiver import NEVER, Transceiver
from mobilenet.simulation.invariants.fault import Faults
from mobilenet.simulation.invariants.flight import Flight
from mobilenet.simulation.mobile import Simulation

ONE_OF = 5
ROUNDING_CDB = 2
SUMS_CDB = 5  # tolerance for sums that are rounded to hundredths
HEAD_NS, TAIL_NS = 200_000, 10_000  # longer than any preamble, and longer than any signal extension

Place = tuple[float, float]


class Power:
    """Checks the received powers and the SINRs of one run."""

    def __init__(self, simulation: Simulation, faults: Faults) -> None:
        scenario, self._simulation, self._faults = simulation.scenario, simulation, faults
        wireless = self._wireless = scenario.wireless
        self._rules = reception_of(wireless)
        self._reach_m = reach_m(wireless)
        self._budget = budget_of(wireless, scenario.seed, scenario.folder, scenario.origin)
        self._fading = fading_of(wireless)
        self._gains = KeyedDraws(scenario.seed, "fading")
        is_formula = wireless.shadowing is None and wireless.obstacles is None
        # The formulas of umi also depend on the line of sight.
        self._has_formula = is_formula and wireless.path_loss.model != "umi"

    def _arrives_cdbm(self, flight: Flight, node: Transceiver, place: Place) -> float:
        wireless, sender, distance_m = self._wireless, flight.sender, dist(flight.place, place)
        if self._has_formula:
            rounded_m = int(100 * distance_m + 0.5) / 100
            loss_cdb = 100 * mean_loss_db(wireless.path_loss, rounded_m, sender.is_station + node.is_station)
        else:
            loss_cdb = self._budget.loss_cdb(*flight.place, sender.is_station, *place, node.is_station)
        gain_cdb = 0
        if self._fading is not None:
            gain_cdb = self._fading.gain_cdb(self._gains.draw(flight.serial, node.index), distance_m)
        return self._rules.tx_cdbm(sender.is_station) - loss_cdb + gain_cdb

    def check_arrivals(self, flight: Flight) -> None:
        """Check the arrivals of a frame that is over."""
        if flight.serial % ONE_OF:
            return
        powers_cdbm = dict(zip(flight.frame.receivers, flight.frame.powers_cdbm, strict=True))
        detected_cdbm = self._rules.detected_cdbm(flight.rate_mbps)
        for node, place in flight.places.items():
            power_cdbm = self._arrives_cdbm(flight, node, place)
            is_strong = power_cdbm >= detected_cdbm + ROUNDING_CDB and dist(flight.place, place) < self._reach_m
            noted_cdbm = powers_cdbm.get(node)
            if noted_cdbm is None and is_strong:
                self._note(flight, node, f"arrives with {power_cdbm / 100:.2f} dBm, and is not noticed")
            elif noted_cdbm is not None and abs(noted_cdbm - power_cdbm) > ROUNDING_CDB:
                self._note(flight, node, f"has {noted_cdbm / 100:.2f} dBm, expected {power_cdbm / 100:.2f}")

    def check_sinrs(self, flight: Flight) -> None:
        """Check the SINRs of a frame once all frames that overlapped it are over as well."""
        for node, sinr_cdb in flight.sinrs_cdb.items():
            if sinr_cdb != NEVER and node in flight.places and not flight.serial % ONE_OF:
                self._check_sinr(flight, node, sinr_cdb)
        flight.others.clear()

    def _check_sinr(self, flight: Flight, node: Transceiver, sinr_cdb: int) -> None:
        place, (first_ns, last_ns) = flight.places[node], flight.arrivals[node]
        every_mw = strongest_mw = 0.0
        for other in flight.others:
            if other.sender is node or dist(other.place, place) > self._rules.cutoff_m:
                continue
            mw = 10 ** (self._arrives_cdbm(other, node, place) / 1000)
            every_mw += mw
            surely_from_ns = max(other.start_ns + FARTHEST_NS, first_ns + HEAD_NS)
            if surely_from_ns < min(other.end_ns, last_ns - TAIL_NS):
                strongest_mw = max(strongest_mw, mw)
        power_cdbm, noise_cdbm = self._arrives_cdbm(flight, node, place), self._rules.noise_cdbm_of(flight.rate_mbps)
        least_cdb, most_cdb = (power_cdbm - _sum_cdbm(noise_cdbm, mw) for mw in (every_mw, strongest_mw))
        if not least_cdb - SUMS_CDB <= sinr_cdb <= most_cdb + SUMS_CDB:
            what = f"expected {least_cdb / 100:.2f} to {most_cdb / 100:.2f}"
            self._note(flight, node, f"has an SINR of {sinr_cdb / 100:.2f} dB, {what}")

    def _note(self, flight: Flight, node: Transceiver, what: str) -> None:
        self._faults.note(flight.start_ns, node.name, f"{flight} {what}")


def _sum_cdbm(noise_cdbm: int, mw: float) -> float:
    """Return the sum, in hundredths of a dBm, of the noise (also in hundredths of a dBm) and a power in mW."""
    return 1000 * log10(10 ** (noise_cdbm / 1000) + mw)

"""Whether the rows of `links` are those of `frames`, and as strong as they can be.

Checks    row for row the same pairs
          no frame arrives stronger than the best luck allows at that distance, nor weaker than its preamble is detected,
          nor, without fading and walls, weaker than the worst luck allows
          an SINR where the frame was received to its end, and only there, unless it was lost to a stronger one; no
          larger than the power above the noise
          `bit_errors` only where noise can break a frame
Units     dBm, dB; metres
Shapes    over rows
Errors    none
Source    ours: docs/models/sinr.md
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mobilenet.network.radio.decibels import HIGHEST_CDBM
from mobilenet.network.radio.frame import BIT_ERRORS, COLLISION, RANDOM, RECEIVED
from mobilenet.network.radio.framing import Framing
from mobilenet.network.radio.links import reception_of
from mobilenet.network.radio.phy import MODES
from mobilenet.rundir.table import Table
from mobilenet.scenario.expectations import Air
from mobilenet.verify.air.nodes import Nodes, first, row_in_words
from mobilenet.verify.air.pairs import Pairs
from mobilenet.verify.air.range import Bounds, Reaches
from mobilenet.verify.air.reach import Reach

ROUNDING_DB = 1e-6  # powers are whole hundredths


def links_problem(
    links: Table, pairs: Pairs, nodes: Nodes, air: Air, reaches: Reaches, bounds_m: Bounds
) -> str | None:
    """The first row that cannot be; `bounds_m`: the least and the most distance of each row."""
    problem = _pairs_problem(links, pairs, nodes)
    if problem is not None or not links.rows:
        return problem
    rules, framing = reception_of(air.wireless), Framing(air.wireless)
    rates = {framing.broadcast_mbps, framing.unicast_mbps}
    rates |= {MODES[air.wireless.mode].ack_rate_mbps(rate) for rate in rates}
    problems = (
        _power_problems(links, pairs, nodes, reaches, bounds_m, min(map(rules.detected_cdbm, rates)) / 100),
        _sinr_problems(
            links, pairs, air, min(map(rules.noise_cdbm_of, rates)) / 100, max(map(rules.clear_cdbm, rates)) / 100
        ),
    )
    return next((problem for each in problems for problem in each), None)


def _pairs_problem(links: Table, pairs: Pairs, nodes: Nodes) -> str | None:
    if links.rows != len(pairs.start_ns):
        return f"links: {links.rows} rows, frames has {len(pairs.start_ns)}"
    same = links.numbers("start_ns") == pairs.start_ns
    same &= nodes.indices(links.coded("sender")) == pairs.sender
    same &= nodes.indices(links.coded("receiver")) == pairs.receiver
    if (row := first(~same)) is not None:
        return f"{row_in_words('links', links, row)}: expected the pair of the same row of frames, {pairs.words(row)}"
    return None


def _power_problems(
    links: Table, pairs: Pairs, nodes: Nodes, reaches: Reaches, bounds_m: Bounds, detected_dbm: float
) -> Iterator[str]:
    power = links.numbers("power_dbm")
    from_station, to_station = pairs.sender < nodes.stations, pairs.receiver < nodes.stations
    most, least = np.full(len(power), np.inf), np.full(len(power), -np.inf)
    for (a, b), reach in reaches.items():
        assert isinstance(reach, Reach)
        rows = (from_station == a) & (to_station == b)
        most[rows] = reach.most_cdbm(np.maximum(bounds_m[0][rows], 0)) / 100
        least[rows] = reach.least_cdbm(bounds_m[1][rows]) / 100
    words, told = lambda row: row_in_words("links", links, row), links["power_dbm"]
    if (row := first(~(power <= most + ROUNDING_DB))) is not None:
        yield (
            f"{words(row)}: {told[row]:g} dBm, expected at most {most[row]:.2f} dBm at a distance of at least"
            f" {bounds_m[0][row]:.1f} m"
        )
    if (row := first(power < detected_dbm - ROUNDING_DB)) is not None:
        yield f"{words(row)}: {told[row]:g} dBm, expected at least {detected_dbm:.2f} dBm, since its preamble is detected"
    if (row := first(power < least - ROUNDING_DB)) is not None:
        yield (
            f"{words(row)}: {told[row]:g} dBm, expected at least {least[row]:.2f} dBm at a distance of at most"
            f" {bounds_m[1][row]:.1f} m"
        )


def _sinr_problems(links: Table, pairs: Pairs, air: Air, noise_dbm: float, clear_dbm: float) -> Iterator[str]:
    power, sinr = links.numbers("power_dbm"), links.numbers("sinr_db")
    words = lambda row: row_in_words("links", links, row)  # noqa: E731
    fate, missing = pairs.fate, np.isnan(sinr)
    to_its_end = np.isin(fate, (RECEIVED, RANDOM, BIT_ERRORS))
    to_its_end |= (fate == COLLISION) & (air.wireless.capture_db is None)
    beyond = power >= HIGHEST_CDBM / 100  # so strong that nobody looks
    if (row := first(to_its_end & missing & ~beyond)) is not None:
        yield f"{words(row)}: no SINR, and the frame was received to its end ({pairs.table['fate'][row]})"
    if (row := first(~missing & ~to_its_end & (fate != COLLISION))) is not None:
        yield f"{words(row)}: an SINR, and the frame was not received to its end ({pairs.table['fate'][row]})"
    if (row := first(sinr > power - noise_dbm + ROUNDING_DB)) is not None:
        yield (
            f"{words(row)}: an SINR of {sinr[row]:g} dB, expected at most {power[row] - noise_dbm:.2f} dB above the noise"
        )
    if (row := first((fate == BIT_ERRORS) & (power >= clear_dbm - ROUNDING_DB))) is not None:
        yield f"{words(row)}: bit errors at {power[row]:g} dBm, and from {clear_dbm:.2f} dBm on noise breaks nothing"

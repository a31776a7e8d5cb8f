"""Whether the rows of `links` are those of `frames`, and as strong as they can be.

Checks    row for row the same pairs
          no frame arrives stronger than the best luck allows at that distance, nor too weak for its preamble to be
          detected, nor, without fading and walls, weaker than the worst luck allows
          without fading the power between two nodes that stand still is always the same, and the same in both
          directions, except for what stations send more
          an SINR where the frame was received to its end, and only there, unless it was lost to a stronger one; no
          larger than the power above the noise; no smaller, if no other frame could have been in the air
          `bit_errors` only where noise can break a frame
Units     dBm, dB; metres
Shapes    over rows
Errors    none
Source    ours: docs/models/sinr.md
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mobilenet.expected.expectations import STRENGTH_STEP_M, Air, Expectations
from mobilenet.rundir.table import Table
from mobilenet.verify.air.nodes import Nodes, first, row_in_words
from mobilenet.verify.air.outcomes import BIT_ERRORS, COLLISION, RANDOM, RECEIVED
from mobilenet.verify.air.pairs import Pairs
from mobilenet.verify.air.possible_outcomes import Unseen, alone_in_the_air
from mobilenet.verify.air.range import Bounds

ROUNDING_DB = 1e-6  # powers are whole hundredths
UNLOOKED_DBM = 60.0  # so strong that no SINR is worked out


def links_problem(
    links: Table, pairs: Pairs, nodes: Nodes, expected: Expectations, bounds_m: Bounds, unseen: Unseen
) -> str | None:
    """Return the first impossible row; `bounds_m`: the least and the greatest distance of each row."""
    air = expected.air
    assert air is not None
    problem = _pairs_problem(links, pairs, nodes)
    if problem is not None or not links.rows:
        return problem
    problems = (
        _power_problems(links, pairs, nodes, air, bounds_m),
        () if air.fades else _steady_problems(links, pairs, nodes, expected, air),
        _sinr_problems(links, pairs, air, unseen),
    )
    return next((problem for each in problems for problem in each), None)


def _pairs_problem(links: Table, pairs: Pairs, nodes: Nodes) -> str | None:
    if links.rows != len(pairs.start_ns):
        return f"links has {links.rows} rows, but frames has {len(pairs.start_ns)}"
    same = links.numbers("start_ns") == pairs.start_ns
    same &= nodes.indices(links.column("sender")) == pairs.sender
    same &= nodes.indices(links.column("receiver")) == pairs.receiver
    if (row := first(~same)) is not None:
        return f"{_words(links, row)}: expected the pair in the same row of frames, {pairs.words(row)}"
    return None


def _power_problems(links: Table, pairs: Pairs, nodes: Nodes, air: Air, bounds_m: Bounds) -> Iterator[str]:
    power = links.numbers("power_dbm")
    from_station, to_station = pairs.sender < nodes.stations, pairs.receiver < nodes.stations
    most, least = np.full(len(power), np.inf), np.full(len(power), -np.inf)
    for (a, b), strength in air.strengths.items():
        rows = np.flatnonzero((from_station == a) & (to_station == b))
        table = np.array(strength.most_dbm)
        nearest = np.maximum(bounds_m[0][rows], 0) // STRENGTH_STEP_M
        most[rows] = table[np.minimum(nearest, len(table) - 1).astype(np.int64)]
        if len(strength.least_dbm):
            table = np.array([*strength.least_dbm, -np.inf])
            farthest = np.ceil(np.minimum(bounds_m[1][rows] / STRENGTH_STEP_M, len(table))) + 1
            least[rows] = table[np.minimum(farthest, len(table) - 1).astype(np.int64)]
    powers_dbm = links["power_dbm"]
    if (row := first(np.abs(power * 100 - np.round(power * 100)) > 1e-6)) is not None:
        yield f"{_words(links, row)}: {powers_dbm[row]!r} dBm, expected a multiple of 0.01 dBm"
    if (row := first(~(power <= most + ROUNDING_DB))) is not None:
        yield (
            f"{_words(links, row)}: {powers_dbm[row]:g} dBm, expected at most {most[row]:.2f} dBm at"
            " a distance of at least"
            f" {bounds_m[0][row]:.1f} m"
        )
    if (row := first(power < air.detected_dbm - ROUNDING_DB)) is not None:
        expected = f"expected at least {air.detected_dbm:.2f} dBm, at which a preamble is detected"
        yield f"{_words(links, row)}: {powers_dbm[row]:g} dBm, {expected}"
    if (row := first(power < least - ROUNDING_DB)) is not None:
        yield (
            f"{_words(links, row)}: {powers_dbm[row]:g} dBm, expected at least {least[row]:.2f} dBm"
            " at a distance of at most"
            f" {bounds_m[1][row]:.1f} m"
        )


def _steady_problems(links: Table, pairs: Pairs, nodes: Nodes, expected: Expectations, air: Air) -> Iterator[str]:
    """Check nodes that stand still: without fading they hear each other at constant power."""
    stays = _stays(pairs, nodes, expected)
    rows = np.flatnonzero((stays[0] >= 0) & (stays[1] >= 0))
    more_dbm = np.where(pairs.sender[rows] < nodes.stations, air.station_more_dbm, 0.0)
    power = links.numbers("power_dbm")[rows]
    one, other = np.minimum(*stays[:, rows]), np.maximum(*stays[:, rows])
    _, heads, which = np.unique(one * (stays.max(initial=0) + 1) + other, return_index=True, return_inverse=True)
    due = (power - more_dbm)[heads][which] + more_dbm
    if (at := first(np.abs(power - due) > ROUNDING_DB)) is not None:
        row, same = int(rows[at]), int(heads[which[at]])
        but = f"row {rows[same]} has {power[same]:g} dBm between the same two nodes, which do not move"
        yield f"{_words(links, row)}: {power[at]:g} dBm, expected {due[at]:.2f} dBm, since {but}"


def _stays(pairs: Pairs, nodes: Nodes, expected: Expectations) -> np.ndarray:
    """Number the places at which senders and receivers stand still, int64 (2, rows); -1: not known.

    A host that does not walk is moved only by drags, and perhaps once the active part is over.
    """
    assert expected.hosts is not None
    ends = np.array([pairs.sender, pairs.receiver])
    place_numbers = np.where(ends < nodes.stations, ends, -1)
    places = nodes.stations
    for host, plan in enumerate(expected.hosts):
        if plan.speed_mps:
            continue
        moves_ns = np.array([*(at_ns for at_ns, *_ in plan.drags), expected.end_ns])
        its = ends == nodes.stations + host
        since, until = (np.searchsorted(moves_ns, pairs.start_ns, side) for side in ("left", "right"))
        place_numbers = np.where(its & (since == until), places + since, place_numbers)
        places += len(moves_ns) + 1
    return place_numbers


def _sinr_problems(links: Table, pairs: Pairs, air: Air, unseen: Unseen) -> Iterator[str]:
    power, sinr = links.numbers("power_dbm"), links.numbers("sinr_db")
    outcome, missing = pairs.outcome, np.isnan(sinr)
    to_its_end = np.isin(outcome, (RECEIVED, RANDOM, BIT_ERRORS))
    to_its_end |= (outcome == COLLISION) & (not air.captures)
    beyond = power >= UNLOOKED_DBM
    if (row := first(to_its_end & missing & ~beyond)) is not None:
        yield f"{_words(links, row)}: no SINR, but the frame was received in full ({pairs.table['fate'][row]})"
    if (row := first(~missing & ~to_its_end & (outcome != COLLISION))) is not None:
        yield f"{_words(links, row)}: an SINR, but the frame was not received in full ({pairs.table['fate'][row]})"
    if (row := first(sinr > power - air.noise_dbm + ROUNDING_DB)) is not None:
        expected = f"expected at most {power[row] - air.noise_dbm:.2f} dB, its power above the noise"
        yield f"{_words(links, row)}: an SINR of {sinr[row]:g} dB, {expected}"
    weak = sinr < np.minimum(power, UNLOOKED_DBM) - air.most_noise_dbm - ROUNDING_DB
    for row in np.flatnonzero(weak & alone_in_the_air(pairs)[pairs.frame]).tolist():
        if not unseen.may_disturb(pairs, row):
            expected = f"expected {power[row] - air.most_noise_dbm:.2f} dB, since no other frame is in the air"
            yield f"{_words(links, row)}: an SINR of {sinr[row]:g} dB, {expected}"
    if (row := first((outcome == BIT_ERRORS) & (power >= air.clear_dbm - ROUNDING_DB))) is not None:
        but = f"noise does not corrupt frames received at {air.clear_dbm:.2f} dBm or more"
        yield f"{_words(links, row)}: bit errors at {power[row]:g} dBm, but {but}"


def _words(links: Table, row: int) -> str:
    return row_in_words("links", links, row)

"""Check that the SINR in each row of `links` is what the other rows of that receiver leave of its power.

Checks    at a stationary receiver no SINR is above what the strongest frame leaves that surely arrives
          meanwhile, and none below what all frames together leave that may
          a frame that interference broke (`collision`) has an SINR below that of silence, at which bits go wrong
Model     interference is checked from the end of a frame's preamble on, with the receiver where it is when the frame
          begins; `power_dbm` is that of when the other frame begins, so a receiver that moves has other powers. A frame
          without a row at the receiver is too weak there for its preamble to be detected. Where one may be in the air
          that has no row anywhere, no least SINR is known. Where the MAC repeats frames nothing is asked of sums
Units     dBm, dB, milliwatts; integer nanoseconds
Shapes    over rows
Errors    none
Source    ours: docs/models/sinr.md
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mobilenet.expected.expectations import Air, Expectations
from mobilenet.rundir.table import Table
from mobilenet.verify.air.nodes import Nodes, first, row_in_words
from mobilenet.verify.air.outcomes import COLLISION
from mobilenet.verify.air.pairs import Pairs
from mobilenet.verify.air.possible_outcomes import Unseen

ROUNDING_DB = 0.03  # powers and sums of them are whole hundredths


def interference_problem(
    links: Table, pairs: Pairs, nodes: Nodes, unseen: Unseen, expected: Expectations
) -> str | None:
    """The first SINR that other frames contradict."""
    air, radio, hosts = expected.air, expected.radio, expected.hosts
    assert air is not None and hosts is not None
    if not links.rows:
        return None
    stands = np.array([True] * nodes.stations + [host.speed_mps == 0 and not host.drags for host in hosts])
    has_sums = air.all_interfere and radio is not None and not radio.acknowledges
    problems = (
        _broken_problems(links, pairs, air),
        _sum_problems(links, pairs, nodes, air, unseen, stands) if has_sums else (),
    )
    return next((problem for each in problems for problem in each), None)


def _broken_problems(links: Table, pairs: Pairs, air: Air) -> Iterator[str]:
    sinr = links.numbers("sinr_db")
    silent_db = links.numbers("power_dbm") - np.where(_is_noisy(pairs, air), air.most_noise_dbm, air.noise_dbm)
    clear_db = air.clear_dbm - air.noise_dbm
    most = np.minimum(silent_db - 0.005, clear_db + 0.005)
    if (row := first((pairs.outcome == COLLISION) & (sinr >= most))) is not None:
        what = f"expected less than {min(silent_db[row], clear_db):.2f} dB, since interference corrupted the frame"
        yield f"{row_in_words('links', links, row)}: an SINR of {sinr[row]:g} dB, {what}"


def _is_noisy(pairs: Pairs, air: Air) -> np.ndarray:
    """Whether a frame surely is of the kind with the wider band, by the time that it lasts."""
    sizes, which = np.unique(pairs.size_bytes, return_inverse=True)
    fits = np.zeros((2, len(which)), bool)
    for airtime in (air.broadcast, air.unicast):
        lasts_ns = np.array([airtime.of(size) for size in sizes.tolist()], np.int64)[which]
        fits[int(airtime.header_bits > 0)] |= pairs.end_ns - pairs.start_ns == lasts_ns
    is_noisy: np.ndarray = fits[0] & ~fits[1] & ~pairs.is_ack
    return is_noisy


def _sum_problems(
    links: Table, pairs: Pairs, nodes: Nodes, air: Air, unseen: Unseen, stands: np.ndarray
) -> Iterator[str]:
    power, sinr = links.numbers("power_dbm"), links.numbers("sinr_db")
    frames = np.sort(pairs.start_ns[pairs.first]), np.sort(pairs.end_ns[pairs.first])
    undetected_mw = _mw(air.detected_dbm + air.most_noise_dbm - air.noise_dbm)
    for node in np.flatnonzero(stands[: nodes.count]).tolist():
        rows = np.flatnonzero(pairs.receiver == node)
        rows = rows[np.argsort(pairs.start_ns[rows], kind="stable")]
        strongest_mw, all_mw, count = _others(pairs, air, rows, _mw(power[rows]))
        most_db = power[rows] - _dbm(_mw(air.noise_dbm) + strongest_mw) + ROUNDING_DB
        if (at := first((strongest_mw > 0) & (sinr[rows] > most_db))) is not None:
            what = f"expected at most {most_db[at]:.2f} dB, since another frame arrives there"
            yield f"{row_in_words('links', links, int(rows[at]))}: an SINR of {sinr[rows[at]]:g} dB, {what}"
        in_the_air = np.searchsorted(frames[0], pairs.end_ns[rows] + pairs.around_ns, "right")
        in_the_air -= np.searchsorted(frames[1], pairs.start_ns[rows] - pairs.around_ns)
        all_mw += np.maximum(in_the_air - 1 - count, 0) * undetected_mw
        least_db = power[rows] - _dbm(_mw(air.most_noise_dbm) + all_mw) - ROUNDING_DB
        for at in np.flatnonzero(sinr[rows] < least_db).tolist():
            row = int(rows[at])
            if not unseen.may_disturb(pairs, row):
                what = f"expected at least {least_db[at]:.2f} dB, given all frames in the air"
                yield f"{row_in_words('links', links, row)}: an SINR of {sinr[row]:g} dB, {what}"


def _others(
    pairs: Pairs, air: Air, rows: np.ndarray, power_mw: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For the rows of one receiver, by start: the strongest other frame that surely disturbs each, the power of all
    that may, and how many there are.
    """
    start_ns, end_ns, delay_ns = pairs.start_ns[rows], pairs.end_ns[rows], pairs.delay_ns
    since_ns, until_ns = start_ns + delay_ns + air.sync_ns, end_ns - air.tail_ns
    strongest, every, count = np.zeros(len(rows)), np.zeros(len(rows)), np.zeros(len(rows), np.int64)
    latest_ns = np.maximum.accumulate(end_ns) + delay_ns
    for step in range(1, len(rows)):
        if (latest_ns[:-step] < start_ns[step:]).all():
            break
        earlier, later = slice(None, -step), slice(step, None)
        for own, other in ((earlier, later), (later, earlier)):
            may = (start_ns[other] <= end_ns[own] + delay_ns) & (end_ns[other] + delay_ns >= start_ns[own])
            begins_ns = np.maximum(start_ns[other] + delay_ns, since_ns[own])
            surely = begins_ns < np.minimum(end_ns[other], until_ns[own])
            strongest[own] = np.maximum(strongest[own], np.where(surely, power_mw[other], 0.0))
            every[own] += np.where(may, power_mw[other], 0.0)
            count[own] += may
    return strongest, every, count


def _mw(dbm: np.ndarray | float) -> np.ndarray:
    return np.power(10.0, np.minimum(dbm, 300.0) / 10)


def _dbm(mw: np.ndarray) -> np.ndarray:
    dbm: np.ndarray = 10 * np.log10(mw)
    return dbm

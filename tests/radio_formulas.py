"""Compare parts of the radio model with published formulas. These parts have not been compared with ns-3.

Model     The formulas are implemented again here. They give path losses at individual distances, the standard deviation
          and correlation of shadowing over SEEDS worlds, and the share of frames received at 48 and 54 Mb/s. Those
          frames use 64-QAM and the convolutional code of 802.11 (union bound).
Units     dB, metres, and fractions of frames
Source    ns-3's ThreeLogDistancePropagationLossModel (defaults); 3GPP TR 38.901, table 7.4.1-1; Friis (1946);
          Gudmundson (1991); NIST's error model of ns-3, whose weights are in the specification of the radio
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from math import erfc, exp, log10, pi, sqrt
from typing import Any, NamedTuple

import numpy as np

from mobilenet.network.propagation.parameters import PathLossParameters
from mobilenet.network.propagation.path_loss import loss_table
from mobilenet.network.propagation.shadowing import GRID_M, ONE, ShadowField
from mobilenet.network.radio.sinr.bit_errors import costs
from mobilenet.network.radio.sinr.survival import CHANCE, chance_of, cost_of
from tests.network.propagation.shadows import between_many

SEEDS = 400
LINKS = 60
LONG_M, SHORT_M, D_M = 200.0, 5.0, 13.0
SIGMA_DB = 7.0
TWO_THIRDS = (3, 70, 285, 1276, 6160, 27128, 117019, 498860, 2103891, 8784123)
THREE_QUARTERS = (42, 201, 1492, 10469, 62935, 379644, 2253373, 13073811, 75152755, 428005675)


class Row(NamedTuple):
    part: str
    setting: str
    ours: float
    formula: float
    tolerance: float


@cache
def formulas() -> tuple[Row, ...]:
    return (*_path_losses(), *_shadowing(), *_frames())


def _path_losses() -> Iterator[Row]:
    for d in (100, 300, 700):
        formula = 40.05 + 19 * log10(min(d, 200)) + 38 * log10(max(d, 200) / 200)
        yield _loss("three_slope", f"{d} m", formula, d, model="three_slope")
    wave_m = 299_792_458.0 / 2.4e9
    yield _loss("free_space", "2.4 GHz, 100 m", 20 * log10(4 * pi * 100 / wave_m), 100, model="free_space")
    for d in (50, 150):
        space_m = sqrt(d * d + 8.5**2)  # The antennas are 10 m and 1.5 m high.
        break_m = 4 * 9 * 0.5 * 2.4e9 / 3e8  # Both antenna heights are reduced by 1 m.
        beyond = 40 * log10(space_m) - 9.5 * log10(break_m**2 + 8.5**2)
        sight = 32.4 + 20 * log10(2.4) + (21 * log10(space_m) if d <= break_m else beyond)
        none = max(sight, 22.4 + 35.3 * log10(space_m) + 21.3 * log10(2.4))
        yield _loss("umi, line of sight", f"2.4 GHz, {d} m", sight, d, model="umi")
        yield _loss("umi, none", f"2.4 GHz, {d} m", none, d, line_of_sight=False, model="umi")


def _loss(part: str, setting: str, formula_db: float, d: int, line_of_sight: bool = True, **keys: Any) -> Row:
    table = loss_table(PathLossParameters(**keys), 1000, 1, line_of_sight)
    return Row(f"{part}, dB", setting, table[100 * d] / 100, formula_db, 0.006)


def _shadowing() -> Iterator[Row]:
    """Compare links of two lengths with the formulas, and correlate each link with the same link after one end has
    moved by the decorrelation distance.
    """
    random = np.random.default_rng(1)
    for length_m, formula in ((LONG_M, exp(-1)), (SHORT_M, 0.47)):
        a = np.round(random.uniform(-500, 500, (LINKS, 2)) / GRID_M).astype(np.int64)
        b, moved = _around(a, length_m, random), _around(a, D_M, random)
        before, after = [], []
        for seed in range(SEEDS):
            field = ShadowField(seed, "shadows", D_M)
            before.append(between_many(field, a, b) / ONE)
            after.append(between_many(field, moved, b) / ONE)
        one, other = np.concatenate(before), np.concatenate(after)
        ends = f"ends {length_m:g} m apart"
        yield Row("shadowing, standard deviation, dB", f"7 dB, {ends}", SIGMA_DB * float(one.std()), SIGMA_DB, 0.21)
        correlation = float(np.corrcoef(one, other)[0, 1])
        which = "exp(−1)" if length_m == LONG_M else "ours, see Propagation"
        yield Row(f"shadowing, correlation ({which})", f"an end moves by {D_M:g} m, {ends}", correlation, formula, 0.03)


def _around(centre: Any, metres: float, random: np.random.Generator) -> Any:
    turns = random.random(len(centre)) * 2 * np.pi
    return centre + np.round(metres / GRID_M * np.stack([np.cos(turns), np.sin(turns)], axis=1)).astype(np.int64)


def _frames() -> Iterator[Row]:
    for rate, snr_db, first, weights, share in (
        (48, 21, 6, TWO_THIRDS, 0.25), (48, 22, 6, TWO_THIRDS, 0.25),
        (54, 22, 5, THREE_QUARTERS, 1 / 6), (54, 23, 5, THREE_QUARTERS, 1 / 6),
    ):  # fmt: skip
        snr = 10 ** (snr_db / 10)
        wrong = 7 / (8 * 3) * erfc(sqrt(snr / 42))  # bit error ratio of 64-QAM
        d = sqrt(4 * wrong * (1 - wrong))
        broken = min(1.0, share * sum(weight * d ** (first + i) for i, weight in enumerate(weights)))
        ours = chance_of(cost_of(costs(rate), 100 * snr_db, 8 * 1000 * 2000)) / CHANCE
        yield Row(f"{rate} Mb/s, share of frames", f"2000 bytes, {snr_db} dB", ours, (1 - broken) ** 16000, 0.005)

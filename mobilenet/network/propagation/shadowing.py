"""Shadowing by obstacles that the scenario does not contain: a fixed value for each pair of points.

Model     The shadowing is a sum of WAVES waves over the four coordinates of the two points. It is normally distributed
          with variance 1. If one end moves by s, the correlation with the former value is exp(-s / decorrelation_m). If
          both ends move, the correlation is the product for both ends. Wave vectors are drawn from the spectrum of this
          correlation. The draws are stratified: each of WAVES equally likely parts of the spectrum supplies the length
          of one vector, and every four consecutive vectors have evenly spread directions. With a single seed, the
          correlation is therefore close to its average over all seeds. The sum f is made symmetric: g(a, b) = (f(a, b)
          + f(b, a)) / sqrt(2 (1 + rho)), where rho = exp(-2 |a - b| / decorrelation_m) is the correlation between f(a,
          b) and f(b, a). For each wave, both directions add up to one product, cos(v (a + b) + phi) cos(w (a - b)),
          where v and w are half the sum and half the difference of the vectors at both ends. If the ends are only about
          decorrelation_m apart, a move changes both f(a, b) and f(b, a), and the correlation is higher than stated.
Units     Points are in whole half metres. ONE is a standard deviation, and values are clipped at CLIP. Angles are in
          units of 2^-30 turns.
Same bits All arithmetic uses integers. The wave vectors are computed from random draws with + - * / and square roots
          only.
Source    Gudmundson: Correlation Model for Shadow Fading in Mobile Radio Systems (1991); Wang, Tameh, Nix: Joint
          Shadowing Process in Urban Peer-to-Peer Radio Channels (2008); the stratified draws are ours
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from mobilenet.engine.random_streams import generator

if TYPE_CHECKING:
    from mypy_extensions import i64

GRID_M: Final = 0.5
WAVES: Final = 32
ONE: Final = 4096
CLIP: Final = 14336  # 3.5 standard deviations
TURN: Final = 1 << 30
STEPS: Final = 64  # number of steps for each decorrelation_m in the table of distances
# The step at 6 * decorrelation_m. At greater distances, both directions are practically uncorrelated.
LAST: Final = 384
SHIFT: Final = 37
ROUND: Final = 1 << 36
PI: Final = 3.141592653589793
SQRT_HALF: Final = 0.7071067811865476


class Wave:
    """One wave of the sum: half the sum (v) and half the difference (w) of its vectors at both ends, and its phase."""

    __slots__ = ("phase", "vx", "vy", "wx", "wy")

    def __init__(self, vx: i64, vy: i64, wx: i64, wy: i64, phase: i64) -> None:
        self.vx: i64 = vx
        self.vy: i64 = vy
        self.wx: i64 = wx
        self.wy: i64 = wy
        self.phase: i64 = phase


class ShadowField:
    """A random field of shadowing with a given decorrelation distance."""

    def __init__(self, seed: int, purpose: str, decorrelation_m: float) -> None:
        self._waves = _waves(seed, purpose, decorrelation_m)
        self._scale = GRID_M / decorrelation_m * STEPS
        # Factors that normalize the sum over the waves. Each wave contributes at most 2^28 to this sum.
        self._norms = [
            round(2.0**22 / math.sqrt(WAVES * (1 + math.exp(-2 * step / STEPS)))) for step in range(LAST + 1)
        ]

    def between(self, ax: i64, ay: i64, bx: i64, by: i64) -> int:
        """Return the shadowing between two points, in units of 1/ONE of a standard deviation."""
        sx: i64 = ax + bx
        sy: i64 = ay + by
        dx: i64 = ax - bx
        dy: i64 = ay - by
        total: i64 = 0
        v: i64
        w: i64
        sign: i64
        square: i64
        # The loop computes 2^14 times each cosine, with an error of at most 4, as sin(pi/2 z) for z from -1 to 1, by a
        # polynomial that was fitted by least squares. It contains this code twice, to avoid the cost of calls.
        for wave in self._waves:
            v = ((wave.vx * sx + wave.vy * sy + wave.phase) & 0x3FFFFFFF) - 0x20000000
            w = ((wave.wx * dx + wave.wy * dy) & 0x3FFFFFFF) - 0x20000000
            sign = v >> 63
            v = (((v ^ sign) - sign) >> 14) - 16384  # Taking the absolute value makes the cosine exactly even.
            square = (v * v) >> 14
            v = (v * (25730 - ((square * (10530 - ((square * 1187) >> 14))) >> 14))) >> 14
            sign = w >> 63
            w = (((w ^ sign) - sign) >> 14) - 16384
            square = (w * w) >> 14
            w = (w * (25730 - ((square * (10530 - ((square * 1187) >> 14))) >> 14))) >> 14
            total += v * w
        x = float(dx)
        y = float(dy)
        step = int(math.sqrt(x * x + y * y) * self._scale + 0.5)
        norm: i64 = self._norms[step] if step < LAST else self._norms[LAST]
        value: i64 = (total * norm + ROUND) >> SHIFT
        if value > CLIP:
            return CLIP
        if value < -CLIP:
            return -CLIP
        return value


def _waves(seed: int, purpose: str, decorrelation_m: float) -> list[Wave]:
    draw = generator(seed, "shadowing", purpose)
    ends = []
    for _ in range(2):
        vectors = _vectors(draw, decorrelation_m)
        ends.append([vectors[i] for i in np.argsort(draw.random(WAVES), kind="stable").tolist()])
    phases = [int(u * TURN) for u in draw.random(WAVES).tolist()]
    waves = []
    for (ax, ay), (bx, by), phase in zip(ends[0], ends[1], phases, strict=True):
        v = [round((a + b) / 2 * TURN) % TURN for a, b in ((ax, bx), (ay, by))]
        w = [round((a - b) / 2 * TURN) % TURN for a, b in ((ax, bx), (ay, by))]
        waves.append(Wave(v[0], v[1], w[0], w[1], phase))
    return waves


def _vectors(draw: np.random.Generator, decorrelation_m: float) -> list[tuple[float, float]]:
    """Return wave vectors in order of increasing length. Their unit is turns for each step of the grid."""
    vectors = []
    for part, u in enumerate(draw.random(WAVES).tolist()):
        if part % 4 == 0:
            x, y = _direction(draw)
        longer = (WAVES - part - u) / WAVES  # fraction of the spectrum
        turns = math.sqrt(1 / (longer * longer) - 1) / decorrelation_m * GRID_M / (2 * PI)
        vectors.append((turns * x, turns * y))
        x, y = (x - y) * SQRT_HALF, (x + y) * SQRT_HALF  # rotate the direction by an eighth of a turn
    return vectors


def _direction(draw: np.random.Generator) -> tuple[float, float]:
    while True:
        x, y = (2 * draw.random(2) - 1).tolist()
        r = math.sqrt(x * x + y * y)
        if 0 < r <= 1:
            return x / r, y / r

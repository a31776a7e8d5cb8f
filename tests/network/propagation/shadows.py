"""Compute shadowing between many pairs of points at once, independently of the code that simulations use."""

from __future__ import annotations

import numpy as np

from mobilenet.network.propagation.shadowing import CLIP, LAST, ROUND, SHIFT, ShadowField


def between_many(field: ShadowField, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the shadowing between the points in a and b, int64 of shape (n, 2), in whole half metres. If one of the
    arrays has a single row, it is paired with every row of the other array.
    """
    sx, sy = (a + b).T
    dx, dy = (a - b).T
    total = np.zeros(len(sx), dtype=np.int64)
    for wave in field._waves:
        total += _cosines(wave.vx * sx + wave.vy * sy + wave.phase) * _cosines(wave.wx * dx + wave.wy * dy)
    steps = (np.sqrt(dx.astype(np.float64) ** 2 + dy.astype(np.float64) ** 2) * field._scale + 0.5).astype(np.int64)
    norms = np.array(field._norms, dtype=np.int64)[np.minimum(steps, LAST)]
    return np.clip((total * norms + ROUND) >> SHIFT, -CLIP, CLIP)


def _cosines(angles: np.ndarray) -> np.ndarray:
    z = (abs((angles & 0x3FFFFFFF) - 0x20000000) >> 14) - 16384
    square = (z * z) >> 14
    return (z * (25730 - ((square * (10530 - ((square * 1187) >> 14))) >> 14))) >> 14

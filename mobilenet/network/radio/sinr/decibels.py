"""Powers as integers: hundredths of a dBm for multiplication, and zeptowatts for addition.

Model     Both operations are exact additions of integers. Tables of integers convert between the units, so every
          machine makes the same decisions.
Units     Hundredths of a dBm (`_cdbm`), and zeptowatts (10**-21 W; the noise in 20 MHz is about 400 000 of them).
Source    ours: docs/models/sinr.md
"""

from __future__ import annotations

from math import log10
from typing import Final

LOWEST_CDBM: Final = -19_000
HIGHEST_CDBM: Final = 6_000
_MANTISSA: Final = 4096
_POWERS = [round(10 ** (18 + cdbm / 1000)) for cdbm in range(LOWEST_CDBM, HIGHEST_CDBM + 1)]
# Logarithms are in units of 0.00001 dB. The sum of rounding errors then stays below a hundredth of a dB.
_LOG_MANTISSA = [round(1_000_000 * log10(m / _MANTISSA)) for m in range(_MANTISSA, 2 * _MANTISSA + 1)]
_LOG_TWO = [round(1_000_000 * i * log10(2)) for i in range(256)]
_ZERO: Final = 18_000_000  # a milliwatt is 10**18 zeptowatts


_TIMES = [0, *(round(1000 * log10(count)) for count in range(1, 257))]


def times(count: int) -> int:
    """Return the ratio of the sum of `count` equal powers to one of these powers, in hundredths of a dB."""
    return _TIMES[count] if count <= 256 else 10_000


def zeptowatts(cdbm: int) -> int:
    """Return the power in zeptowatts, or 0 below LOWEST_CDBM, where the power is less than one zeptowatt."""
    return _POWERS[min(cdbm, HIGHEST_CDBM) - LOWEST_CDBM] if cdbm >= LOWEST_CDBM else 0


def cdbm_of(power: int) -> int:
    """Return a positive power in hundredths of a dBm, with an error of at most one."""
    shifts = 0
    mantissa = power
    while mantissa >= 2 * _MANTISSA * 256:
        mantissa >>= 8
        shifts += 8
    while mantissa >= 2 * _MANTISSA:
        mantissa >>= 1
        shifts += 1
    while mantissa < _MANTISSA:
        mantissa <<= 1
        shifts -= 1
    return (_LOG_MANTISSA[mantissa - _MANTISSA] + _log_two(shifts) - _ZERO + 500) // 1000


def _log_two(shifts: int) -> int:
    """Return the logarithm of 2**(12 + shifts). `shifts` is at least -12."""
    return _LOG_TWO[12 + shifts]

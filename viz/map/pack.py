"""Pack arrays for a page: columns of small numbers as base64, and JSON that cannot end its HTML element.

Shapes    a packed column is {"type": "i16", "data": base64 of its little-endian bytes};
          `Mobilenet.decode` in data.js is its inverse
Source    ours: docs/guide/maps.md
"""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np

TYPES = {"u8": "<u1", "i16": "<i2", "u16": "<u2", "i32": "<i4", "u32": "<u4", "f32": "<f4", "f64": "<f8"}


def pack_column(values: Any, kind: str) -> dict[str, str]:
    """Return a packed column of numbers, which must fit the type `kind`."""
    column = np.asarray(values)
    if kind[0] != "f" and len(column):
        limits = np.iinfo(TYPES[kind])
        assert limits.min <= column.min() and column.max() <= limits.max, (
            f"{column.min()}..{column.max()} does not fit {kind}"
        )
    return {"type": kind, "data": base64.b64encode(column.astype(TYPES[kind]).tobytes()).decode("ascii")}


def narrow(values: Any) -> dict[str, str]:
    """Return a packed column of whole numbers, in the narrowest type that holds all of them."""
    column = np.asarray(values)
    low, high = (int(column.min()), int(column.max())) if len(column) else (0, 0)
    kind = next(k for k in ("u8", "u16", "i16", "u32", "i32", "f64") if k == "f64" or _holds(k, low, high))
    return pack_column(column, kind)


def _holds(kind: str, low: int, high: int) -> bool:
    limits = np.iinfo(TYPES[kind])
    return bool(limits.min <= low and high <= limits.max)


def for_script(value: Any) -> str:
    """Return JSON in ASCII without < > &, which is safe anywhere in a page, even with U+2028 and lone surrogates."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")

"""Which broadcasts a recorded message carries: the one that the record names, or those that a program's message names.

Model     of a program's message the record has its value. A pair of whole numbers in it is a broadcast if there was one
          of that name before it was sent
Shapes    a tuple of names, h1:0, for each row of messages.parquet
Source    ours: docs/guide/programs.md
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pandas as pd

SAYS = '{"says":'


def carried(messages: pd.DataFrame, events: pd.DataFrame) -> pd.Series:
    """The broadcasts that each message carries."""
    sent = events[events.event == "broadcast"]
    since = dict(
        zip(reversed(sent.message.tolist()), reversed(sent.time_ns.tolist()), strict=True)
    )  # the first of each
    found = [
        (message,) if isinstance(message, str) else _named(detail, since, int(send_ns))
        for message, detail, send_ns in zip(messages.message, messages.detail, messages.send_ns, strict=True)
    ]
    return pd.Series(found, index=messages.index, dtype=object)


def _named(detail: Any, since: dict[str, int], send_ns: int) -> tuple[str, ...]:
    if not isinstance(detail, str) or not detail.startswith(SAYS):
        return ()
    try:
        value = json.loads(detail)["says"]
    except (ValueError, RecursionError):
        return ()
    names = dict.fromkeys(name for name in _pairs(value) if since.get(name, send_ns + 1) <= send_ns)
    return tuple(names)


def _pairs(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        value = list(value.values())
    elif isinstance(value, list) and len(value) == 2 and all(type(one) is int for one in value):
        yield f"h{value[0]}:{value[1]}"
        return
    if isinstance(value, list):
        for one in value:
            yield from _pairs(one)

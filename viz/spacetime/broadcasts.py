"""Determine which broadcasts a recorded message carries, from the record or from the contents of a program's message.

Model     A pair of whole numbers in a program's message is the name of a broadcast, if a broadcast with this name was
          made before the message was sent
Shapes    Each row of messages.parquet has a tuple of names such as h1:0
Source    ours: docs/guide/programs.md
"""

from __future__ import annotations

import json
from typing import Any

import pandas as pd

from mobilenet.record.schema import names_in

SAYS = '{"says":'


def broadcasts_carried(messages: pd.DataFrame, events: pd.DataFrame) -> pd.Series:
    """Return the broadcasts that each message carries."""
    sent = events[events.event == "broadcast"]
    since: dict[str, int] = sent.groupby("message").time_ns.min().to_dict()
    broadcasts = [
        (message,) if isinstance(message, str) else _broadcast_names(detail, since, int(send_ns))
        for message, detail, send_ns in zip(messages.message, messages.detail, messages.send_ns, strict=True)
    ]
    return pd.Series(broadcasts, index=messages.index, dtype=object)


def _broadcast_names(detail: Any, since: dict[str, int], send_ns: int) -> tuple[str, ...]:
    if not isinstance(detail, str) or not detail.startswith(SAYS):
        return ()
    try:
        names = names_in(json.loads(detail)["says"])
    except (ValueError, RecursionError):
        return ()
    return tuple(dict.fromkeys(name for name in names if since.get(name, send_ns + 1) <= send_ns))

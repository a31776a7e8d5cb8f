"""Check that every event is well formed, once for each different word: see verify/basis/wellformed.py.

Model     rows hold codes of words, so a word is checked once, and of rows only who does what
Source    ours: docs/verdicts-and-metrics.md
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from mobilenet.rundir.table import Table


class Rules(NamedTuple):
    """What an event, and each of its words, has to be."""

    events: Mapping[str, str]  # each kind, and the kinds of nodes that it happens at
    with_message: tuple[str, ...]
    is_node: Callable[[str], Any]
    is_message: Callable[[str], Any]
    is_station: Callable[[str], Any]
    is_detail: Callable[[str], Any]
    says_who_was_silent: Callable[[str | None], bool]


def are_well_formed(events: Table, end_ns: float, rules: Rules) -> bool:
    """Whether nothing is wrong with any of the events; `end_ns`: when the last one may be."""
    try:
        times = events.numbers("time_ns")
        columns = {name: events.column(name) for name in ("event", "node", "message", "station", "session", "detail")}
        return (
            _in_order(times, end_ns)
            and all(word in rules.events for word in columns["event"].words)
            and all(rules.is_node(word) for word in columns["node"].words)
            and all(rules.is_message(word) for word in columns["message"].words)
            and all(rules.is_station(word) for word in columns["station"].words)
            and all(word >= 0 for word in columns["session"].words)
            and all(rules.is_detail(word) for word in columns["detail"].words)
            and _happen_where_they_may(events, rules)
            and not (columns["event"].among(rules.with_message) & (columns["message"].codes < 0)).any()
            and all(
                rules.says_who_was_silent(detail)
                for detail in set(events.pick("detail", columns["event"].rows("expire")))
            )
        )
    except (TypeError, ValueError, OverflowError):  # not even columns of their types
        return False


def _in_order(times: np.ndarray, end_ns: float) -> bool:
    if not len(times):
        return True
    return bool((times[1:] >= times[:-1]).all()) and times[0] >= 0 and int(times[-1]) <= end_ns


def _happen_where_they_may(events: Table, rules: Rules) -> bool:
    """Every event at a node of the right kind, and none without."""
    event, node = events.column("event"), events.column("node")
    if (event.codes < 0).any() or (node.codes < 0).any():
        return False
    kinds = sorted({word[0] for word in node.words})
    pairs = event.codes * len(kinds) + node.map([kinds.index(word[0]) for word in node.words], nothing=0)
    return all(
        kinds[pair % len(kinds)] in rules.events[event.words[pair // len(kinds)]]
        for pair in np.flatnonzero(np.bincount(pairs)).tolist()
    )

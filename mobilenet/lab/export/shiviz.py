"""Export the messages and events of a run as a log for ShiViz, which shows when each node knew of each event.

Model     Every node has a vector clock. An event is a send (a single event, whatever the number of receivers), a
          receipt, or an event of the record. Each event advances the clock of its node, and a receipt first merges
          the clock of its send. If only a time slice is exported, the receipt of a message that was sent before the
          slice does not merge a clock. Lost frames have no receipts
Form      first line: the regular expression for parsing the log; second line: empty (one execution); then two lines
          per event: `host {"host": 1, ...}`, and a text that describes the event. The text contains the time
Errors    ScenarioError if a slice has more than MOST_EVENTS
Source    ShiViz, github.com/DistributedClocks/shiviz; vector clocks: Fidge 1988, Mattern 1989
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from mobilenet.parameters import ScenarioError
from mobilenet.quoting import spell_out
from mobilenet.record.writer import RecordError

if TYPE_CHECKING:
    import pandas as pd

HEADER = r"(?<host>\S*) (?<clock>{.*})\n(?<event>.*)"
MOST_EVENTS = 200_000
# Simultaneous events at a node are sorted by these numbers: first receipts, then events, then the sends that they may
# have caused.
RECEIPT, EVENT, SEND = 0, 1, 2
SAME = ["send_ns", "sender", "medium", "kind", "host", "session", "message", "detail"]


class Happening(NamedTuple):
    time_ns: int
    order: int
    number: int  # number of the message or of the event's row
    node: str
    text: str


def write_shiviz(
    messages: pd.DataFrame, events: pd.DataFrame, target: Path, from_s: float = 0.0, to_s: float | None = None
) -> int:
    """Write the events of a time slice with their vector clocks, and return their number."""
    count = 0
    try:
        with target.open("w", encoding="utf-8") as file:
            file.write(HEADER + "\n\n")
            for node, clock, text in with_clocks(happenings(messages, events, from_s, to_s)):
                file.write(f"{spell_out(node)} {json.dumps(clock)}\n{spell_out(text)}\n")
                count += 1
    except OSError as error:
        raise RecordError(f"{target}: could not be written completely: {error.strerror}") from error
    return count


def happenings(
    messages: pd.DataFrame, events: pd.DataFrame, from_s: float = 0.0, to_s: float | None = None
) -> list[Happening]:
    begin, end = round(from_s * 1e9), (1 << 62) if to_s is None else round(to_s * 1e9)
    entries: list[Happening] = []
    sends = messages.groupby(SAME, dropna=False, sort=False)
    messages = messages.assign(number=sends.ngroup())
    inside = messages[(messages.send_ns >= begin) & (messages.send_ns <= end)]
    to = inside.groupby("number", sort=False).receiver.agg(lambda names: _list_text(list(dict.fromkeys(names))))
    for row in inside.drop_duplicates("number").itertuples():
        entries.append(
            Happening(
                int(row.send_ns),
                SEND,
                int(row.number),
                row.sender,
                f"{_s(row.send_ns)} sends {_what(row)} to {to[row.number]} ({row.medium})",
            )
        )
    receipts = messages[(messages.fate == "received") & (messages.receive_ns >= begin) & (messages.receive_ns <= end)]
    for row in receipts.itertuples():
        entries.append(
            Happening(
                int(row.receive_ns),
                RECEIPT,
                int(row.number),
                row.receiver,
                f"{_s(row.receive_ns)} receives {_what(row)} from {row.sender}",
            )
        )
    for row in events[(events.time_ns >= begin) & (events.time_ns <= end)].itertuples():
        words = [
            _s(row.time_ns),
            row.event,
            *(str(value) for value in (row.message, row.station, row.detail) if isinstance(value, str)),
        ]
        entries.append(Happening(int(row.time_ns), EVENT, int(row.Index), row.node, " ".join(words)))
    if len(entries) > MOST_EVENTS:
        raise ScenarioError(
            f"{len(entries)} events from {from_s:g} s on, expected at most {MOST_EVENTS}, since a browser cannot draw"
            " more; select a slice with --from-s and --to-s"
        )
    return sorted(entries, key=lambda happening: happening[:4])


def with_clocks(happened: list[Happening]) -> Iterator[tuple[str, dict[str, int], str]]:
    """Yield (node, clock of the node after the event, description of the event)."""
    clocks: dict[str, dict[str, int]] = {}
    sent: dict[int, dict[str, int]] = {}
    for _, order, number, node, text in happened:
        clock = clocks.setdefault(node, {})
        if order == RECEIPT:
            for other, count in sent.get(number, {}).items():
                clock[other] = max(clock.get(other, 0), count)
        clock[node] = clock.get(node, 0) + 1
        if order == SEND:
            sent[number] = dict(clock)
        yield node, dict(clock), " ".join(text.split())


def _what(row: object) -> str:
    message, session = getattr(row, "message", None), getattr(row, "session", None)
    words = [getattr(row, "kind", "")]
    if isinstance(message, str):
        words.append(message)
    if session is not None and session == session:
        words.append(f"session {int(session)} of {getattr(row, 'host', None)}")
    return " ".join(words)


def _list_text(names: list[str]) -> str:
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")


def _s(time_ns: float) -> str:
    return f"{time_ns / 1e9:.6f} s"

"""Find what the tables of messages and causes contain about the message in each transmission.

Model     A transmission is found by its start and sender, which both tables contain. The table of causes names all
          application messages in a frame, and the window that held back a segment of TCP. The table of messages
          contains the fields of a message, and the host, session and application message that it concerns
Errors    RunError for a damaged table
Source    ours: docs/run-directory.md
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mobilenet.lab.export.radio_frames import addresses, firsts
from mobilenet.record.reader import RunError, read_parts
from mobilenet.record.table import NOTHING, Table

NUMBERS = ("seq", "ack", "window")  # numeric fields of a message
SUBJECT = ("host", "session", "message")
OF_MESSAGES = ("send_ns", "sender", "medium", *SUBJECT, "detail")
OF_CAUSES = ("node", "step", "cause", "messages", "window", "start_ns")


class Known(NamedTuple):
    """One property of the message in every transmission. `codes` contains, for each transmission, the code of a value
    in `words`, or NOTHING if the property is unknown.
    """

    words: dict[Any, int]
    codes: np.ndarray

    def note(self, rows: np.ndarray, words: list[Any], codes: np.ndarray) -> None:
        """Store the values for some transmissions. `codes` contains indices into `words`."""
        own = [NOTHING if word in (None, "") else self.words.setdefault(word, len(self.words)) for word in words]
        self.codes[rows] = np.array([*own, NOTHING])[codes]


def known_of(run: Path, rows: np.ndarray) -> dict[str, Known]:
    """Return what the run recorded about the messages in these transmissions, by property."""
    place = _Places(rows)
    known: dict[str, Known] = {}
    if (run / "messages.parquet").is_file():
        known |= _of_messages(run, place)
    if (run / "causes.parquet").is_file():
        known |= _of_causes(run, place)
    return known


class _Places:
    """An index of transmissions by their start and sender."""

    def __init__(self, rows: np.ndarray) -> None:
        self.count = len(rows)
        self._starts, ranks = np.unique(rows["start_ns"], return_inverse=True)
        keys = ranks << 32 | rows["sender"].astype(np.int64)
        self._order = np.argsort(keys)
        self._keys = keys[self._order]

    def new(self) -> Known:
        return Known({}, np.full(self.count, NOTHING, np.int32))

    def find(self, start_ns: np.ndarray, sender: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the indices of the pairs (start, sender) that identify a transmission, and the rows of these
        transmissions.
        """
        ranks = np.searchsorted(self._starts, start_ns)
        keys = ranks.astype(np.int64) << 32 | sender.astype(np.int64)
        places = np.searchsorted(self._keys, keys)
        is_ours = np.append(self._starts, -1)[ranks] == start_ns
        is_ours &= np.append(self._keys, -1)[places] == keys
        return np.flatnonzero(is_ours), self._order[places[is_ours]]


def _of_messages(run: Path, place: _Places) -> dict[str, Known]:
    known = {name: place.new() for name in (*SUBJECT, *NUMBERS)}
    for part in read_parts(run, "messages", OF_MESSAGES):
        table = Table(part)
        is_radio = np.flatnonzero(table.column("medium").among(["radio"]))
        sent = table.numbers("send_ns")[is_radio], addresses(table, "sender", run / "messages.parquet")[is_radio]
        begins = firsts(*sent)
        ours, rows = place.find(*(each[begins] for each in sent))
        few = Table(part.take(is_radio[begins[ours]]))
        for name in SUBJECT:
            known[name].note(rows, few.column(name).words, few.column(name).codes)
        details = few.column("detail")
        fields = [_fields(text, run) for text in details.words]
        for name in NUMBERS:
            known[name].note(rows, [each.get(name) for each in fields], details.codes)
    return known


def _fields(text: str, run: Path) -> Mapping[str, int]:
    try:
        fields = json.loads(text)
        return {name: fields[name] for name in NUMBERS if type(fields.get(name)) is int}
    except (ValueError, AttributeError):
        raise RunError(f"{run / 'messages.parquet'}: detail has {text[:40]!r}, expected a JSON object") from None


def _of_causes(run: Path, place: _Places) -> dict[str, Known]:
    known = {"message": place.new(), "held_back_by": place.new()}
    windows: dict[Any, int] = {"": 0}
    # For each row of causes, the window that held the segment back. It is collected over all parts of the table,
    # because a frame may be queued in an earlier part than it is sent in.
    of_rows: list[np.ndarray] = []
    sent: list[tuple[np.ndarray, np.ndarray]] = []
    for part in read_parts(run, "causes", OF_CAUSES):
        table = Table(part)
        column = table.column("window")
        of_rows.append(column.map([windows.setdefault(word, len(windows)) for word in column.words], 0))
        is_sent = np.flatnonzero(table.column("step").among(["sent"]))
        ours, rows = place.find(
            table.numbers("start_ns")[is_sent], addresses(table, "node", run / "causes.parquet")[is_sent]
        )
        messages = table.column("messages")
        known["message"].note(rows, messages.words, messages.codes[is_sent[ours]])
        sent.append((rows, table.numbers("cause")[is_sent[ours]]))
    if sent:
        rows, causes = (np.concatenate(each) for each in zip(*sent, strict=True))
        known["held_back_by"].note(rows[causes >= 0], [*windows], np.concatenate(of_rows)[causes[causes >= 0]])
    return known

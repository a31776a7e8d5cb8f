"""Strict readers of OMNeT++'s result files and eventlogs, which accept only what its Simulation Manual describes.

They follow the appendices "Result File Formats" and "Eventlog File Format" (OMNeT++ 6.1) and share no code with the
writer of mobilenet.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

ESCAPED = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|(.))")
TOKEN = re.compile(r'"((?:[^"\\]|\\.)*)"(?=\s|$)|((?:[^\s"\\]|\\.)(?:[^\s\\]|\\.)*)')
LONGEST_LINE = 128 * 1024  # size of opp_scavetool's buffer in bytes


class Malformed(Exception):
    """Raised for a line that does not follow the grammar of the format."""


def tokens(line: str) -> list[str]:
    """Split a line at whitespace. A token in double quotes or with backslashes may contain any character."""
    words, place = [], 0
    while place < len(line):
        if line[place].isspace():
            place += 1
            continue
        match = TOKEN.match(line, place)
        if match is None:
            raise Malformed(line)
        text = match[1] if match[1] is not None else match[2]
        words.append(ESCAPE.sub(lambda m: chr(int(m[1], 16)) if m[1] else ESCAPED.get(m[2], m[2]), text))
        place = match.end()
    return words


@dataclass
class Item:
    """Represents a scalar, a statistic or a vector."""

    kind: str
    module: str
    name: str
    value: float | None = None
    columns: str = ""
    attributes: dict[str, str] = field(default_factory=dict)
    fields: dict[str, float] = field(default_factory=dict)
    rows: list[tuple[Decimal, float]] = field(default_factory=list)
    offsets: list[tuple[int, int]] = field(default_factory=list)  # start and end offset of each row in the file


@dataclass
class Results:
    """Holds the contents of a result file with one run."""

    run: str = ""
    attributes: dict[str, str] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    configuration: dict[str, str] = field(default_factory=dict)
    items: list[Item] = field(default_factory=list)
    vectors: dict[int, Item] = field(default_factory=dict)

    def of(self, kind: str) -> dict[tuple[str, str], Item]:
        """Return the items of one kind by module and name. Each pair of module and name must be unique."""
        chosen = [item for item in self.items if item.kind == kind]
        named = {(item.module, item.name): item for item in chosen}
        if len(named) != len(chosen):
            raise Malformed(f"two of {kind} have one name")
        return named

    def with_key(self, module: str, key: str) -> Item:
        (item,) = (i for i in self.items if i.module == module and i.attributes.get("key") == key)
        return item


def read_results(path: Path) -> Results:
    results, begin, is_first = Results(), 0, True
    for data in path.read_bytes().splitlines(keepends=True):
        if not data.endswith(b"\n") or len(data) >= LONGEST_LINE:
            raise Malformed(f"{path}: a line without an end, or too long: {data[:80]!r}")
        words = tokens(data.decode("utf-8"))
        if words and not words[0].startswith("#"):
            if is_first != (words == ["version", "3"]):
                raise Malformed(f"{path}: {data!r}")
            if not is_first:
                _take(results, words, (begin, begin + len(data)))
            is_first = False
        begin += len(data)
    return results


def _take(results: Results, words: list[str], place: tuple[int, int]) -> None:
    kind, *rest = words
    last = results.items[-1] if results.items else None
    match kind, rest:
        case "run", [name] if not results.run:
            results.run = name
        case _ if not results.run:
            raise Malformed(f"before any run: {words}")
        case "attr", [name, value]:
            _put(results.attributes if last is None else last.attributes, name, value)
        case "itervar", [name, value] if last is None:
            _put(results.variables, name, value)
        case "config", [name, value] if last is None:
            _put(results.configuration, name, value)
        case "scalar", [module, name, value]:
            results.items.append(Item("scalar", module, name, float(value)))
        case "statistic", [module, name]:
            results.items.append(Item("statistic", module, name))
        case "field", [name, value] if last is not None and last.kind == "statistic":
            if name not in ("count", "mean", "stddev", "sum", "sqrsum", "min", "max") or name in last.fields:
                raise Malformed(f"field {name}")
            last.fields[name] = float(value)
        case "vector", [number, module, name, columns] if int(number) not in results.vectors:
            results.items.append(Item("vector", module, name, columns=columns))
            results.vectors[int(number)] = results.items[-1]
        case number, values if number.isdigit() and len(values) == len(results.vectors[int(number)].columns):
            vector = results.vectors[int(number)]
            columns = dict(zip(vector.columns, values, strict=True))
            time = Decimal(columns["T"])
            if vector.rows and vector.rows[-1][0] > time:
                raise Malformed(f"{vector.name}: time goes back to {time}")
            vector.rows.append((time, float(columns["V"])))
            vector.offsets.append(place)
        case _:
            raise Malformed(f"{words}")


def _put(values: dict[str, str], name: str, value: str) -> None:
    if name in values:
        raise Malformed(f"{name} is there twice")
    values[name] = value


@dataclass
class Block:
    vector: int
    offset: int
    length: int
    times: tuple[Decimal, Decimal]
    count: int
    statistics: tuple[float, ...]  # min, max, sum, sum of squares


def read_index(path: Path) -> tuple[tuple[int, int], Results, list[Block]]:
    """Read a .vci file and return the size and date of its vector file, its declarations, and its blocks."""
    first, second, *lines = path.read_text(encoding="utf-8").splitlines()
    kind, size, date = tokens(first)
    if kind != "file" or second != "version 3":
        raise Malformed(f"{path}: {first}")
    results, blocks = Results(), []
    for line in lines:
        words = tokens(line)
        if words and words[0].isdigit():
            number, offset, length, begin, end, count, *statistics = words
            if results.vectors[int(number)].columns != "TV" or len(statistics) != 4:
                raise Malformed(line)
            times = Decimal(begin), Decimal(end)
            blocks.append(
                Block(int(number), int(offset), int(length), times, int(count), tuple(map(float, statistics)))
            )
        elif words:
            _take(results, words, (0, 0))
    return (int(size), int(date)), results, blocks


# --- eventlogs

INTEGER, TIME, TEXT, TRUTH = r"-?\d+", r"\d+(\.\d+)?", r"(?s).*", r"[01]"
MESSAGE = dict.fromkeys(["id", "tid", "eid", "etid", "k", "p", "l", "m", "sm", "sg", "am", "ag", "pe"], INTEGER) | {
    "l": r"\d+", "c": TEXT, "n": TEXT, "er": TRUTH, "st": TIME, "at": TIME, "d": TEXT,
}  # fmt: skip
ENTRIES = {  # entries that the tests use -> their attributes and types
    "SB": {"ov": INTEGER, "ev": INTEGER, "rid": TEXT},
    "E": {"#": INTEGER, "t": TIME, "m": INTEGER, "ce": INTEGER, "msg": INTEGER, "f": TEXT},
    "MC": {"id": INTEGER, "c": TEXT, "t": TEXT, "pid": INTEGER, "n": TEXT, "cm": TRUTH},
    "BS": MESSAGE | {"sd": TIME, "up": TRUTH, "tx": INTEGER},
    "SD": {"sm": INTEGER, "dm": INTEGER, "dg": INTEGER, "pd": TIME, "td": TIME, "rd": TIME},
    "ES": MESSAGE | {"i": TRUTH},
    "DM": MESSAGE,
}
NEEDED = {"E": "# t m ce msg", "BS": "id tid eid etid c n pe", "SD": "sm dm dg", "MC": "id c t n", "SB": "ov ev rid"}


@dataclass
class LoggedEvent:
    number: int
    time: Decimal
    module: int
    cause: int
    message: int
    entries: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)

    def of(self, kind: str) -> list[dict[str, str]]:
        return [values for entry, values in self.entries if entry == kind]


def read_eventlog(path: Path) -> list[LoggedEvent]:
    """Read the events of a log. Each event must end with an empty line, and numbers and times must never decrease."""
    begin, *blocks = path.read_text(encoding="utf-8").removesuffix("\n\n").split("\n\n")
    if _entry(begin)[0] != "SB":
        raise Malformed(begin)
    events: list[LoggedEvent] = []
    for block in blocks:
        first, *lines = block.split("\n")
        kind, values = _entry(first)
        if kind != "E":
            raise Malformed(first)
        event = LoggedEvent(*(int(values["#"]), Decimal(values["t"])), *(int(values[n]) for n in ("m", "ce", "msg")))
        if events and (event.number <= events[-1].number or event.time < events[-1].time):
            raise Malformed(f"goes back: {first}")
        if not (event.cause < event.number and (event.cause == -1) == (event.message == -1)):
            raise Malformed(f"without a cause before it: {first}")
        for line in lines:
            if line.startswith("- "):
                event.texts.append(line[2:])
            else:
                event.entries.append(_entry(line))
        events.append(event)
    return events


def _entry(line: str) -> tuple[str, dict[str, str]]:
    kind, *words = tokens(line)
    values = dict(zip(words[::2], words[1::2], strict=True))
    if kind not in ENTRIES or len(values) * 2 != len(words) or not {*NEEDED.get(kind, "").split()} <= values.keys():
        raise Malformed(line)
    for name, value in values.items():
        if name not in ENTRIES[kind] or not re.fullmatch(ENTRIES[kind][name], value):
            raise Malformed(line)
    return kind, values

"""Names of nodes, metrics, counters and samples in OMNeT++ files, and the format of their lines.

Model     Names follow INET: a module (`Net.host[12].wlan[0].radio`), a quantity in camel case and, after a colon, the
          recorded statistic (`packetDropIncorrectlyReceived:count`). mobilenet's stations are called access points
          there, because a station in IEEE 802.11 is a host in mobilenet. The attribute `title` describes a metric in
          words, and `key` is its name in the files of mobilenet
Units     as in mobilenet's files, but with OMNeT++'s symbols, such as B for bytes
Source    OMNeT++ 6.1, Simulation Manual, appendix "Result File Formats"; names of INET 4.5
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from mobilenet.engine.clock import SECOND
from mobilenet.metrics.buffers import LISTS
from mobilenet.metrics.declaration import as_whole
from mobilenet.metrics.network import INCORRECT
from mobilenet.metrics.registry import VOCABULARIES
from mobilenet.record.kinds import count_hosts
from mobilenet.scenario.yaml_writer import inline

NETWORK = "Net"
MEDIUM, BACKBONE = f"{NETWORK}.radioMedium", f"{NETWORK}.backbone"
APPLICATION, PROTOCOL, RADIO = "app[0]", "protocol", "wlan[0].radio"  # module names of the parts of a node
KINDS = {"h": "host", "s": "accessPoint", "p": "process"}
STATISTIC = re.compile(r"(.+)_(mean|max|p\d+)")
SECTIONS = {"radio": MEDIUM, "wired": BACKBONE}  # section of counters.json -> module name
COUNTERS = {
    "received": "packetReceived",
    "queue_drops": "packetDropQueueOverflow",
    "mac_given_up": "packetDropRetryLimitReached",
}
EVENTS = {"broadcast": "packetSent", "deliver": "packetReceived"}
UNITS = {"bytes": "B", "bytes/s": "B/s"}
ENDINGS = {"_ns": "ns", "_bytes": "B"}  # suffix of a quantity's name -> its unit
# The maximum number of characters of a list on one line, because readers limit the length of a line.
LONGEST_ENTRY = 1000
ESCAPES = {chr(code): f"\\x{code:02X}" for code in (*range(32), 127)} | {
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    '"': '\\"',
    "\\": "\\\\",
}


class Named(NamedTuple):
    """The module and the name of a result, and the attributes that follow its name in the file."""

    module: str
    name: str
    attributes: dict[str, str]


def quote(text: str) -> str:
    """Return a token of a line, quoted if it is empty or contains spaces, quotes or control characters."""
    if text and not any(c.isspace() or c in '"\\' or not c.isprintable() for c in text):
        return text
    return f'"{"".join(ESCAPES.get(c, c) for c in text)}"'


def line(*words: object) -> str:
    """Join these tokens into a line."""
    return " ".join(quote(str(word)) for word in words) + "\n"


def attributes(values: Mapping[str, str]) -> str:
    """Return the lines for all attributes with a non-empty value."""
    return "".join(line("attr", name, value) for name, value in values.items() if value)


def number(value: float | None) -> str:
    """Return the shortest text that is read as the same number."""
    return "nan" if value is None else str(as_whole(value))


def seconds(time_ns: int) -> str:
    """Return a time in seconds, exact to the nanosecond."""
    return f"{time_ns // SECOND}.{time_ns % SECOND:09d}"


def camel_case(words: str) -> str:
    first, *rest = [part for part in re.split(r"[^A-Za-z0-9]+", words) if part] or ["unnamed"]
    return first[:1].lower() + first[1:] + "".join(part[:1].upper() + part[1:] for part in rest)


def index_of(node: str) -> tuple[str, int]:
    """Return a sort key for nodes: by kind, and then by number."""
    return node[:1], int(node[1:]) if node[1:].isdecimal() else -1


def local_name(node: str) -> str:
    """Return the name of a node within the network, such as `host[12]`."""
    kind, index = index_of(node)
    return f"{KINDS[kind]}[{index}]" if kind in KINDS and index >= 0 else camel_case(node)


def module_of(node: str, part: str = "") -> str:
    """Return the name of the module of a node, or of a part of the node."""
    return f"{NETWORK}.{local_name(node)}" + (f".{part}" if part else "")


def nodes_of(manifest: Mapping[str, Any]) -> list[str]:
    """Return the names of all nodes of a run."""
    counts = {"h": count_hosts(manifest), "s": manifest["stations"], "p": manifest.get("processes", 0)}
    return [f"{kind}{index}" for kind, count in counts.items() for index in range(count)]


def of_metrics(metrics: Iterable[str], kind: str, own: Mapping[str, Any]) -> Iterator[tuple[str, Named]]:
    """Yield each metric with its name in OMNeT++. `kind` is the kind of the run, and `own` maps each custom metric to
    its description and unit.
    """
    vocabulary, taken = VOCABULARIES[kind], set()
    for metric in metrics:
        if metric in own:
            words, unit = own[metric]
        elif (declared := vocabulary.find(metric)) is not None:
            words, unit = declared.words, declared.unit
        else:
            words, unit = vocabulary.meaning(metric), vocabulary.unit_of(metric)
        stem = metric.removesuffix("_s") if unit in ("s", vocabulary.time_unit) else metric
        match = STATISTIC.fullmatch(stem)
        name = f"{camel_case(match[1])}:{match[2]}" if match else camel_case(stem)
        name = metric if name in taken else name
        taken.add(name)
        yield metric, Named(NETWORK, name, {"title": words, "unit": UNITS.get(unit, unit), "key": metric})


def of_counters(section: str, counters: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[Named, int]]:
    """Yield the name and the value of each number in a section of counters.json."""
    module = SECTIONS.get(section, f"{NETWORK}.{camel_case(section)}")
    for key, value in counters.items():
        inside = (*path, key)
        if isinstance(value, dict):
            yield from of_counters(section, value, inside)
            if key == "lost":
                yield _incorrect(module, value, "".join(f"{part}_" for part in path))
        elif isinstance(value, int):
            yield Named(module, _counter(inside), {"unit": unit_of(key), "key": ".".join((section, *inside))}), value


def _counter(path: tuple[str, ...]) -> str:
    *around, key = path
    if around and around[-1] == "lost":
        return camel_case("_".join([*around[:-1], outcome_name(key)])) + ":count"
    words = [*around, COUNTERS.get(key, key)] if key != "count" else around
    return camel_case("_".join(words)) + (":sum" if unit_of(key) else ":count")


def _incorrect(module: str, lost: Mapping[str, int], before: str) -> tuple[Named, int]:
    """Return the number of frames that arrived incorrectly for any reason. INET counts all of them under one name."""
    name = camel_case(f"{before}packetDropIncorrectlyReceived") + ":count"
    return Named(module, name, {"title": " + ".join(INCORRECT)}), sum(lost.get(outcome, 0) for outcome in INCORRECT)


def of_receptions(node: str, outcomes: Mapping[str, int]) -> Iterator[tuple[Named, int]]:
    """Yield a name and a count for each outcome of the frames that reached a node."""
    module = module_of(node, RADIO)
    for outcome, count in outcomes.items():
        yield Named(module, outcome_name(outcome) + ":count", {"key": outcome}), count
    yield _incorrect(module, outcomes, "")


def outcome_name(outcome: str) -> str:
    return "packetReceived" if outcome == "received" else camel_case(f"packetDrop_{outcome}")


def of_events(node: str, event: str) -> Named:
    """Return the name for the count of one kind of event at a node."""
    in_application = event in EVENTS
    name = EVENTS.get(event, camel_case(event)) + ":count"
    return Named(module_of(node, APPLICATION if in_application else ""), name, {"key": event})


def of_samples(node: str, quantity: str) -> Named:
    """Return the name of a quantity over time. The lengths of lists are samples; other quantities keep their value
    until the next change.
    """
    if node == "network":
        module = BACKBONE if quantity.startswith("wired_") else MEDIUM
    else:
        module = module_of(node, PROTOCOL)
    is_step = quantity not in LISTS and quantity != "segment_messages"
    values = {"unit": unit_of(quantity), "interpolationmode": "sample-hold" if is_step else "none", "key": quantity}
    return Named(module, camel_case(quantity) + ":vector", values)


def unit_of(quantity: str) -> str:
    return next((unit for ending, unit in ENDINGS.items() if f"_{quantity}".endswith(ending)), "")


def configuration(values: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, str]]:
    """Yield each key of a scenario with its value. A long list becomes several entries."""
    for key, value in values.items():
        where = f"{path}.{key}" if path else str(key)
        if isinstance(value, dict) and value:
            yield from configuration(value, where)
        elif isinstance(value, (list, tuple)) and len(inline(value)) > LONGEST_ENTRY:
            yield from configuration({f"{place}": item for place, item in enumerate(value)}, where)
        else:
            yield where, value if isinstance(value, str) else inline(value)

"""Show the internal state of a node: buffers, running timers, the fields of its protocol, and its contexts at stations.

Model     A card shows the fields of the protocol object under their names in the code. Numbers, text and Booleans are
          shown directly, and lists and tables by their size. For a program, the card shows the state that the program
          reports. Cards are only displayed; verification and metrics do not use them
Units     seconds until a timer expires
Source    ours: docs/guide/live.md
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any

from mobilenet.engine.clock import SECOND
from mobilenet.engine.timer import Timer
from mobilenet.lab.live.field_words import words_of
from mobilenet.lab.programs.party import Party
from mobilenet.quoting import cut
from mobilenet.simulation.causes import NotedTimer, name_of
from mobilenet.simulation.mobile import Simulation
from mobilenet.simulation.nodes import Node

LONGEST = 60  # maximum number of characters of a value
MOST = 40  # maximum number of fields on a card


def card(simulation: Simulation, name: str) -> dict[str, Any] | None:
    """Return the card of a host or a station, or None for an unknown name. If inspecting the object of a plug-in raises
    an exception, the card shows the exception instead.
    """
    node = next((node for node in simulation.nodes if node.name == name), None)
    if node is None:
        return None
    facts: dict[str, Any] = {"node": name, "is_up": node.protocol is not None, "buffers": {}, "timers": [], "keeps": []}
    try:
        facts["buffers"] = dict(zip(node.buffer_names, node.buffers, strict=True))
        if node.protocol is not None:
            own = node.protocol.card if isinstance(node.protocol, Party) else None
            facts["timers"] = list(_timers(node))
            facts["keeps"] = list(_fields(node.protocol)) if own is None else list(_of_program(own))
            if words := words_of(node.protocol):
                facts["words"] = words
        if name.startswith("h"):
            facts["contexts"] = _contexts(simulation, node.me)
    except Exception as error:
        facts["keeps"] = [["cannot be read", cut(f"{type(error).__name__}: {error}", LONGEST)]]
    return facts


def _of_program(state: Mapping[str, Any]) -> Iterator[list[str]]:
    """Yield the state that a program reports, under the program's own names."""
    for name, value in list(state.items())[:MOST]:
        yield [cut(name, LONGEST), _value_text(value) or ""]


def _timers(node: Node) -> Iterator[list[Any]]:
    """Yield the name of each running timer, and the number of seconds until it fires."""
    own = node.protocol.timers() if isinstance(node.protocol, Party) else _values(node.protocol)
    fields = {id(value): name for name, value in own if isinstance(value, (Timer, NotedTimer))}
    for timer in node.timers:
        if timer.running:
            # If causes are recorded, the action is a method of a wrapper.
            noted = getattr(timer.action, "__self__", None)
            port, name = (noted, noted.name) if isinstance(noted, NotedTimer) else (timer, name_of(timer.action))
            words = cut(fields.get(id(port), name).strip("_").replace("_", " "), LONGEST)
            yield [words if "timer" in words else f"{words} timer", (timer.deadline_ns - node.now) / SECOND]


def _contexts(simulation: Simulation, host: int) -> list[dict[str, Any]]:
    """Return the context that each station stores for a host, if the protocol defines contexts."""
    contexts = []
    for station in simulation.stations:
        context_of = getattr(station.protocol, "context_of", None)
        context = None if context_of is None else context_of(host)
        if context is not None:
            contexts.append({"station": station.name, "keeps": list(_fields(context)), "words": words_of(context)})
    return contexts


def _fields(thing: Any) -> Iterator[list[str]]:
    count = 0
    for name, value in _values(thing):
        words = _value_text(value)
        if name.endswith("_ns") and isinstance(value, int):
            name, words = name.removesuffix("_ns"), f"{value / SECOND:.3f} s"
        if words is not None and count < MOST:
            count += 1
            yield [name.strip("_").replace("_", " "), words]
        elif words is None and dataclasses.is_dataclass(value) and count < MOST:
            for inner, text in _fields(value):
                count += 1
                yield [inner, text]


def _values(thing: Any) -> Iterator[tuple[str, Any]]:
    if dataclasses.is_dataclass(thing):
        yield from ((field.name, getattr(thing, field.name)) for field in dataclasses.fields(thing))
        return
    slots = [name for kind in type(thing).__mro__ for name in getattr(kind, "__slots__", ())]
    yield from ((name, getattr(thing, name)) for name in slots if hasattr(thing, name))
    yield from getattr(thing, "__dict__", {}).items()


def _value_text(value: Any) -> str | None:
    """Return the value as text, or None if it should not be shown."""
    if value is None:
        return "none"
    if isinstance(value, Enum):
        return cut(str(value.value), LONGEST)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (int, str)) or hasattr(value, "_fields"):
        return cut(str(value), LONGEST)
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, (list, tuple, set, frozenset, Mapping)) and not _is_of_calls(value):
        return f"{len(value)} in it" if value else "empty"
    return None


def _is_of_calls(value: Any) -> bool:
    """Return whether a value is a table of handlers. Cards do not show such tables."""
    return isinstance(value, Mapping) and bool(value) and all(callable(one) for one in value.values())

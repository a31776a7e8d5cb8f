"""Check before a run that a plug-in's class has everything that its scenario needs.

Model     The network calls the hooks of a class by name, with positional arguments. Each hook must accept that many
          arguments, and the attributes of the class must have the expected types. The behaviour of hooks is not
          checked.
Errors    ScenarioError, one line: the file and line of the class or hook, what is wrong, and what is expected
Source    ours: docs/guide/plug-ins.md
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, NoReturn

from mobilenet.parameters import ScenarioError
from mobilenet.protocols.base import BaseHost, BaseStation
from mobilenet.protocols.declaration import Declaration
from mobilenet.protocols.port import ASSOCIATION
from mobilenet.simulation.plugin_code import repr_of, text_of

Hooks = Mapping[str, tuple[str, ...]]  # name -> the arguments with which it is called

PARTIES: Hooks = {
    "host": ("port", "stable", "settings", "stations"),
    "station": ("port", "wired", "settings", "stations"),
}
OF_BOTH: Hooks = {"settled": (), "buffer_sizes": ()}
ON_THE_RADIO: Hooks = {"on_receive": ("sender", "message"), "on_sent": ("message",), "on_dropped": ("message",)}
OF_HOSTS: Hooks = {
    "co_broadcast": ("body",),
    "join": (),
    "leave": (),
    "is_out": (),
    "on_cell": ("station",),
    "on_recover": (),
}
OF_STATIONS: Hooks = {"serves": ("host",)}
OF_STATIONS_IF_THERE: Hooks = dict.fromkeys(ASSOCIATION, ("host",))
ON_WIRES: Hooks = {"on_wired": ("source", "message")}
OF_PROCESSES: Hooks = {
    "broadcast": ("body",),
    "on_receive": ("sender", "message"),
    "on_crash": ("process",),
    "on_up": ("process",),
}
HOOKS = frozenset({*OF_BOTH, *ON_THE_RADIO, *OF_HOSTS, *OF_STATIONS, *OF_STATIONS_IF_THERE, *ON_WIRES, *OF_PROCESSES})
TO_BE_WRITTEN = {  # a derived class must write these, because the base classes raise NotImplementedError
    "spread": (BaseHost.spread,),
    "on_receive": (BaseHost.on_receive, BaseStation.on_receive),
    "on_wired": (BaseStation.on_wired,),
}
NOT_OF_PROCESSES = {
    "needs": "processes have no connections",
    "promises": "a broadcast among processes declares `order` and `delivers`",
    "buffers": "a broadcast among processes names them in BUFFERS",
}


def require_protocol(declaration: type[Declaration], reference: str) -> None:
    """Raise ScenarioError unless the network can call the declared host and station."""
    talks = "connections" not in declaration.needs
    _require_names(declaration, declaration.buffers, "buffers", reference)
    for role, hooks in (("host", OF_HOSTS), ("station", OF_STATIONS)):
        party: Any = getattr(declaration, role)
        _require_takes(party, PARTIES[role], str(getattr(party, "__name__", role)), reference)
        if not isinstance(party, type):
            continue  # a function that creates a host or station
        needed = {**OF_BOTH, **hooks}
        if talks:
            needed |= ON_THE_RADIO if role == "host" else {**ON_THE_RADIO, **ON_WIRES}
            if not declaration.listens:
                del needed["on_receive"]
        if issubclass(party, BaseHost) and party.co_broadcast is BaseHost.co_broadcast:
            needed["spread"] = ("message", "body")
        if role == "station":
            needed |= {
                hook: taken for hook, taken in OF_STATIONS_IF_THERE.items() if getattr(party, hook, None) is not None
            }
        _require_hooks(party, needed, reference)
        _require_buffers(party, reference)
    measured = {name for party in (declaration.host, declaration.station) for name in getattr(party, "BUFFERS", ())}
    if declaration.buffers and set(declaration.buffers) != measured:
        _refuse(
            declaration,
            reference,
            f"buffers is {repr_of(declaration.buffers)}, but its host and station name {tuple(sorted(measured))!r} in"
            " BUFFERS; expected the same names, or no attribute `buffers`",
        )


def require_broadcast(plugin: Any, reference: str) -> None:
    """Raise ScenarioError unless this is a class of processes that broadcast."""
    if not isinstance(plugin, type) or not callable(getattr(plugin, "broadcast", None)):
        raise ScenarioError(
            f"protocol.class: {reference} is not a broadcast among processes; expected a class with the method"
            " broadcast(body)"
        )
    for name, why in NOT_OF_PROCESSES.items():
        if getattr(plugin, name, None):
            _refuse(plugin, reference, f"{name} is for protocols with hosts and stations; {why}")
    _require_takes(plugin, ("port", "n", "settings"), plugin.__name__, reference)
    _require_hooks(plugin, OF_PROCESSES, reference)
    _require_buffers(plugin, reference)


def _require_hooks(party: type, hooks: Hooks, reference: str) -> None:
    for name, arguments in hooks.items():
        hook = getattr(party, name, None)
        if not callable(hook) or hook in TO_BE_WRITTEN.get(name, ()):
            _refuse(party, reference, f"{party.__name__} has no {name}({', '.join(arguments)})")
        if inspect.isfunction(inspect.getattr_static(party, name)):
            _require_takes(hook, ("self", *arguments), f"{party.__name__}.{name}", reference, hides=1)


def _require_takes(function: Any, arguments: tuple[str, ...], name: str, reference: str, hides: int = 0) -> None:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return  # a built-in function, whose signature is unknown
    try:
        signature.bind(*arguments)
    except TypeError:
        begins = inspect.getattr_static(function, "__init__", None) if isinstance(function, type) else None
        place = begins if inspect.isfunction(begins) else function
        taken = ", ".join([text_of(one) or one.name for one in signature.parameters.values()][hides:])
        expected = ", ".join(arguments[hides:])
        _refuse(place, reference, f"{name} takes ({taken}), but is called with ({expected})")


def _require_buffers(party: Any, reference: str) -> None:
    names = getattr(party, "BUFFERS", ())
    _require_names(party, names, "BUFFERS", reference)
    stable_names = getattr(party, "STABLE_BUFFERS", ())
    _require_names(party, stable_names, "STABLE_BUFFERS", reference)
    if strangers := [name for name in stable_names if name not in names]:
        _refuse(party, reference, f"STABLE_BUFFERS names {strangers[0]!r}, which is not in BUFFERS")
    sizes = getattr(party, "buffer_sizes", None)
    if names and (not callable(sizes) or sizes in (BaseHost.buffer_sizes, BaseStation.buffer_sizes)):
        _refuse(party, reference, f"{party.__name__} has BUFFERS, but no buffer_sizes() that returns how full they are")
    if inspect.isfunction(sizes):
        _require_takes(sizes, ("self",), f"{party.__name__}.buffer_sizes", reference, hides=1)


def _require_names(place: Any, names: Any, called: str, reference: str) -> None:
    if not isinstance(names, tuple) or not all(isinstance(name, str) and name for name in names):
        example = f'("{names}",)' if isinstance(names, str) and names else '("pending",)'
        _refuse(place, reference, f"{called} is {repr_of(names)}, expected a tuple of names, such as {example}, or ()")
    if len(set(names)) < len(names):
        _refuse(place, reference, f"{called} is {repr_of(names)}, expected different names")


def _refuse(place: Any, reference: str, what: str) -> NoReturn:
    one_line = " ".join(what.splitlines())  # the name of a class may contain line breaks
    raise ScenarioError(f"protocol.class: {_where(place) or reference}: {one_line}")


def _where(place: Any) -> str | None:
    """Return the file and line of a class or function, or None if they are unknown."""
    try:
        file, line = inspect.getsourcefile(place), inspect.getsourcelines(place)[1]
    except (OSError, TypeError, IndexError, SyntaxError):
        return None
    return None if file is None else f"{file}:{line}"

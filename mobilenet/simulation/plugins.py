"""Protocols that do not come with mobilenet: a class in a file beside the scenario, or one that a package offers.

Model     `class: gossip.py:Gossip` is the class Gossip in gossip.py, in the scenario's folder; `class: gossip` is
          what an installed package offers under that name in the group `mobilenet.protocols`. The class holds the
          roles as attributes: host, station, and if need be stable and settings (see protocols/base.py). Code of
          others is run only where somebody said so: whoever starts a run from the outside asks `require_allowed` first
Errors    ScenarioError, one line: code that nobody allowed, cannot be read, is no protocol, or fails in the middle of
          a run
Source    ours: DESIGN.md §20
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import re
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import Any

from pydantic import ValidationError

from mobilenet.parameters import Parameters, ScenarioError
from mobilenet.protocols.base import BaseStable
from mobilenet.protocols.catalogue import Roles, roles_of
from mobilenet.scenario import AnyScenario, OwnProtocol, Scenario
from mobilenet.scenario.error_messages import problems
from mobilenet.scenario.yaml_reader import Node

GROUP = "mobilenet.protocols"


def uses_code(scenario: AnyScenario) -> bool:
    return isinstance(scenario.protocol, OwnProtocol)


def require_allowed(scenario: AnyScenario, allow_code: bool) -> None:
    """Raise ScenarioError for a scenario with code of its own, unless that is allowed."""
    if isinstance(scenario.protocol, OwnProtocol) and not allow_code:
        raise ScenarioError(
            f"protocol.class: runs Python code, {scenario.protocol.reference}, with all that you may do on this"
            " machine; if you trust it, say --allow-code (allow_code=True in Python)"
        )


def roles_for(scenario: Scenario) -> tuple[Roles, Any]:
    """The parties of a scenario's protocol, and their parameters."""
    protocol = scenario.protocol
    if not isinstance(protocol, OwnProtocol):
        return roles_of(protocol), protocol
    found = _class_of(protocol, scenario.folder)
    host, station = getattr(found, "host", None), getattr(found, "station", None)
    if not callable(host) or not callable(station):
        raise ScenarioError(
            f"protocol.class: {protocol.reference} is no protocol: expected a class with the attributes host and"
            " station"
        )
    settings = getattr(found, "settings", None)
    if settings is None:
        settings = _NoSettings
    if not (isinstance(settings, type) and issubclass(settings, Parameters)):
        raise ScenarioError(
            f"protocol.class: {protocol.reference}: settings is no class derived from mobilenet.parameters.Parameters"
        )
    if not callable(getattr(found, "stable", BaseStable)):
        raise ScenarioError(
            f"protocol.class: {protocol.reference}: stable is no class; expected one such as"
            " mobilenet.protocols.base.BaseStable"
        )
    try:
        parameters = settings.model_validate(protocol.settings)
    except ValidationError as error:
        raise ScenarioError("\n".join(problems(error, _nodes(protocol.settings), settings))) from None
    return Roles(host, station, getattr(found, "stable", BaseStable)), parameters


class _NoSettings(Parameters):
    pass


def _nodes(value: Any) -> Node:
    """As if they came from a file."""
    inside = {key: _nodes(item) for key, item in value.items()} if isinstance(value, dict) else value
    inside = [_nodes(item) for item in value] if isinstance(value, (list, tuple)) else inside
    return Node(inside, "protocol.settings")


def _class_of(protocol: OwnProtocol, folder: Path) -> Any:
    if protocol.file is None:
        offers = importlib.metadata.entry_points(group=GROUP)
        if protocol.reference not in offers.names:
            there = ", ".join(sorted(offers.names)) or "none"
            raise ScenarioError(
                f"protocol.class: no installed package offers {protocol.reference!r} in {GROUP} (there are: {there}); "
                "a class in a file is named like gossip.py:Gossip"
            )
        with _explained(protocol.reference):
            return offers[protocol.reference].load()
    name = protocol.reference.rpartition(":")[2]
    module = _module(folder / protocol.file)
    if not hasattr(module, name):
        raise ScenarioError(f"protocol.class: {protocol.file} has no {name}")
    return getattr(module, name)


def _module(path: Path) -> ModuleType:
    """The file's code, run anew: two simulations share nothing."""
    name = _module_name(path)
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ScenarioError(f"protocol.class: {path.name} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    with _explained(path.name):
        spec.loader.exec_module(module)
    return module


def _module_name(path: Path) -> str:
    return "mobilenet_own_" + sha256(str(path.resolve()).encode()).hexdigest()[:12]


@contextmanager
def _explained(name: str) -> Iterator[None]:
    """What goes wrong while code is read."""
    try:
        yield
    except (Exception, SystemExit, GeneratorExit) as error:
        if os.environ.get("MOBILENET_DEBUG"):
            raise
        place = getattr(error, "lineno", None) or traceback.extract_tb(error.__traceback__)[-1].lineno
        raise ScenarioError(f"{name}:{place}: {type(error).__name__}: {error.args[0] if error.args else ''}") from None


@contextmanager
def blaming(scenario: AnyScenario) -> Iterator[None]:
    """What goes wrong in a protocol's own file while it runs is told with file and line, and is no fault of the
    emulator.
    """
    try:
        yield
    except ScenarioError:
        raise
    except (Exception, SystemExit, GeneratorExit) as error:
        protocol = scenario.protocol
        if not isinstance(protocol, OwnProtocol) or protocol.file is None or os.environ.get("MOBILENET_DEBUG"):
            raise
        place = _raised_in(error, Path(protocol.file).name) or _not_callable_so(
            error, _module_name(scenario.folder / protocol.file)
        )
        what = " ".join(str(error).split())[:200]
        if place is None:
            last = traceback.extract_tb(error.__traceback__)[-1]
            where = (
                f"in {Path(last.filename).name}:{last.lineno}, with what the protocol said or handed over;"
                " MOBILENET_DEBUG=1 shows more"
            )
            raise ScenarioError(f"{protocol.file}: {type(error).__name__}: {what} ({where})") from None
        raise ScenarioError(
            f"{protocol.file}:{place[0]}: {type(error).__name__}: {what} (in {place[1]}; MOBILENET_DEBUG=1 shows more)"
        ) from None


def _raised_in(error: BaseException, file: str) -> tuple[int, str] | None:
    """Line and function of a file where an error came up last."""
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename).name == file]
    return (own[-1].lineno or 0, own[-1].name) if own else None


def _not_callable_so(error: BaseException, module: str) -> tuple[int, str] | None:
    """The function of a module that was called with arguments that it does not take: the call is ours, the signature
    is not.
    """
    named = re.match(r"([\w.]+)\(\) (takes|missing|got)", str(error)) if isinstance(error, TypeError) else None
    found: Any = sys.modules.get(module)
    for name in named[1].split(".") if named else ():
        found = getattr(found, name, None)
    code = getattr(found, "__code__", None)
    return (code.co_firstlineno, code.co_name) if named and code is not None else None

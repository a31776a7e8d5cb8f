"""Code that does not come with mobilenet: when it may run, how it is read, and whose error it was.

Model     a scenario names it as `file.py:Name`, beside the scenario, or by the name under which an installed package
          offers it. It runs only where somebody said so: whoever starts a run from the outside asks `require_allowed`
          first. A file is read anew for each run, so that two runs share nothing
Errors    ScenarioError, one line: code that nobody allowed, that cannot be read, or that fails in the middle of a run
Source    ours: docs/guide/plug-ins.md
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

from mobilenet.parameters import ScenarioError
from mobilenet.scenario import AnyScenario

GROUP = "mobilenet.protocols"


def require_allowed(scenario: AnyScenario, allow_code: bool) -> None:
    """Raise ScenarioError for a scenario with code of its own, unless that is allowed."""
    for key, reference, _ in scenario.code():
        if not allow_code:
            raise ScenarioError(
                f"{key}: runs Python code, {reference}, with all that you may do on this"
                " machine; if you trust it, say --allow-code (allow_code=True in Python)"
            )


def named(key: str, reference: str, folder: Path) -> Any:
    """What `reference` names; `key` is what the scenario calls it."""
    file, colon, name = reference.rpartition(":")
    if not colon:
        return _offered(key, reference)
    module = _module(folder / file)
    if not hasattr(module, name):
        raise ScenarioError(f"{key}: {file} has no {name}")
    return getattr(module, name)


def _offered(key: str, reference: str) -> Any:
    offers = importlib.metadata.entry_points(group=GROUP)
    if reference not in offers.names:
        there = ", ".join(sorted(offers.names)) or "none"
        raise ScenarioError(
            f"{key}: no installed package offers {reference!r} in {GROUP} (there are: {there}); "
            "a class in a file is named like gossip.py:Gossip"
        )
    with _explained(reference):
        return offers[reference].load()


def _module(path: Path) -> ModuleType:
    """The file's code, run anew: two simulations share nothing."""
    name = _module_name(path)
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ScenarioError(f"{path.name} is no Python file")
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
def attributing_errors(scenario: AnyScenario) -> Iterator[None]:
    """What goes wrong in a plug-in's file while it runs is reported with file and line, and is no fault of the
    emulator.
    """
    try:
        yield
    except ScenarioError:
        raise
    except (Exception, SystemExit, GeneratorExit) as error:
        files = [file for _, _, file in scenario.code() if file is not None]
        if not files or os.environ.get("MOBILENET_DEBUG"):
            raise
        what = " ".join(str(error).split())[:200]
        for file in files:
            place = _raised_in(error, Path(file).name) or _not_callable_so(error, _module_name(scenario.folder / file))
            if place is not None:
                where = f"in {place[1]}; MOBILENET_DEBUG=1 shows more"
                raise ScenarioError(f"{file}:{place[0]}: {type(error).__name__}: {what} ({where})") from None
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = (
            f"in {Path(last.filename).name}:{last.lineno}, with what the plug-in said or handed over;"
            " MOBILENET_DEBUG=1 shows more"
        )
        raise ScenarioError(f"{files[0]}: {type(error).__name__}: {what} ({where})") from None


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

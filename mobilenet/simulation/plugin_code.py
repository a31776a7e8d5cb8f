"""Load code that does not come with mobilenet, if it is allowed to run, and attribute errors to it.

Model     A scenario names code as `file.py:Name` in its own folder, or by the name under which an installed package
          offers it. A caller that starts a run from outside must first call `require_allowed`. Each run reads and
          executes a file once, so that two runs do not share state.
Errors    ScenarioError with one line, for code that is not allowed, cannot be read, or fails during a run
Source    ours: docs/guide/plug-ins.md
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from hashlib import sha256
from importlib.abc import SourceLoader
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from mobilenet.engine.event_queue import Runaway
from mobilenet.parameters import ScenarioError
from mobilenet.quoting import cut
from mobilenet.scenario import AnyScenario
from mobilenet.simulation.parties import ProgramError

GROUP = "mobilenet.protocols"


def require_allowed(scenario: AnyScenario, allow_code: bool) -> None:
    """Raise ScenarioError if a scenario contains code that is not allowed to run."""
    for key, reference, _ in scenario.code():
        _require(allow_code, key, reference)


def _require(allow_code: bool, key: str, reference: str) -> None:
    if not allow_code:
        what = "a program" if key == "protocol.command" else "Python code"
        raise ScenarioError(
            f"{key}: runs {what}, {cut(reference, 200)}, with your full permissions; if"
            " you trust it, pass --allow-code (allow_code=True in Python)"
        )


def load_named(key: str, reference: str, folder: Path, allow_code: bool) -> Any:
    """Return the object that `reference` names. `key` is the scenario key that contains this reference. No other
    function reads and runs external code.
    """
    _require(allow_code, key, reference)
    file, colon, name = reference.rpartition(":")
    if not colon:
        return _load_offered(key, reference)
    module = _module(folder / file)
    if not hasattr(module, name):
        raise ScenarioError(f"{key}: {file} has no {name}")
    return getattr(module, name)


def _load_offered(key: str, reference: str) -> Any:
    offers = importlib.metadata.entry_points(group=GROUP)
    if reference not in offers.names:
        there = ", ".join(sorted(offers.names)) or "none"
        raise ScenarioError(
            f"{key}: no installed package offers {reference!r} in {GROUP} (available: {there}); "
            "name a class in a file in the form FILE.py:CLASS"
        )
    with _explain(reference):
        return offers[reference].load()


class _Reading(NamedTuple):
    """The source of a file of code, and the module that was created from it."""

    source: bytes
    module: ModuleType


_readings: ContextVar[dict[Path, _Reading] | None] = ContextVar("readings", default=None)


@contextmanager
def reading_once() -> Iterator[None]:
    """Read and run each file of code only once within the block. Different blocks do not share modules."""
    if _readings.get() is not None:
        yield
        return
    token = _readings.set({})
    try:
        yield
    finally:
        _readings.reset(token)


def source_that_ran(path: Path) -> bytes | None:
    """Return the source of a file that was read within `reading_once`, or None if it was not read."""
    reading = (_readings.get() or {}).get(path.resolve())
    return None if reading is None else reading.source


def _module(path: Path) -> ModuleType:
    """Return the module of a file. Its current source is always compiled, so a stale compiled version never runs."""
    readings = _readings.get()
    if readings is not None and path.resolve() in readings:
        return readings[path.resolve()].module
    name = _module_name(path)
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or not isinstance(spec.loader, SourceLoader):
        raise ScenarioError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look up their module here
    try:
        source = path.read_bytes()
    except OSError as error:
        raise ScenarioError(f"{path}: cannot be read: {error.strerror}") from None
    with _explain(str(path)):
        exec(spec.loader.source_to_code(source, str(path)), module.__dict__)
    if readings is not None:
        readings[path.resolve()] = _Reading(source, module)
    return module


def _module_name(path: Path) -> str:
    return "mobilenet_own_" + sha256(str(path.resolve()).encode()).hexdigest()[:12]


@contextmanager
def _explain(name: str) -> Iterator[None]:
    """Turn an error that occurs while code is read into a ScenarioError."""
    try:
        yield
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        if os.environ.get("MOBILENET_DEBUG"):
            raise
        place = getattr(error, "lineno", None) or traceback.extract_tb(error.__traceback__)[-1].lineno
        what = text_of(error.msg if isinstance(error, SyntaxError) else error)
        raise ScenarioError(f"{name}:{place}: {class_of(error)}: {what}") from error


class EarlyEnd(ScenarioError):
    """An error that ended a run. `outcome` is what was recorded before the error, if anything, and `directory` is the
    folder with this record.
    """

    outcome: Any = None
    directory: Path | None = None

    def __init__(self, message: str, is_input: bool = True) -> None:
        """Store the message. `is_input` has the same meaning as in ScenarioError."""
        super().__init__(message)
        self.is_input = is_input


class PluginError(EarlyEnd):
    """An error that occurred in a plug-in while it ran. The original error is its `__cause__`."""


@contextmanager
def attributing_errors(
    scenario: AnyScenario, moment: Callable[[BaseException, list[Path]], str] = lambda error, files: ""
) -> Iterator[None]:
    """Attribute errors in a plug-in to its file and line, instead of reporting them as errors of the emulator. `moment`
    returns a string that states when and where in the run an error occurred.
    """
    try:
        yield
    except ProgramError as error:
        raise PluginError(f"{error} ({when})" if (when := moment(error, [])) else str(error), error.is_input) from error
    except ScenarioError as error:
        is_process = str(error).startswith("own_processes.")
        paths = [scenario.folder / file for _, _, file in scenario.code() if file is not None and not is_process]
        if not str(error).startswith(("hosts.mobility.", "own_processes.")) or not (when := moment(error, paths)):
            raise
        raise PluginError(f"{error} ({when})") from error
    except (KeyboardInterrupt, Runaway):
        raise
    except BaseException as error:
        files = [file for _, _, file in scenario.code() if file is not None]
        if not files or os.environ.get("MOBILENET_DEBUG"):
            raise
        what = text_of(error)
        when = moment(error, [scenario.folder / file for file in files])
        when = f", {when}" if when else ""
        for file in files:
            place = _place_of_raise(error, scenario.folder / file) or _not_callable_so(
                error, _module_name(scenario.folder / file)
            )
            if place is not None:
                where = f"in {place[1]}{when}; MOBILENET_DEBUG=1 shows more"
                raise PluginError(
                    f"{scenario.folder / file}:{place[0]}: {class_of(error)}: {what} ({where})"
                ) from error
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = (
            f"in {Path(last.filename).name}:{last.lineno}{when}, with a value that the plug-in passed;"
            " MOBILENET_DEBUG=1 shows more"
        )
        raise PluginError(f"{scenario.folder / files[0]}: {class_of(error)}: {what} ({where})") from error


def text_of(value: object, write: Callable[[Any], str] = str) -> str:
    """Return the message of a plug-in's error on one line, or the text of a plug-in's value that `write` returns. If
    this fails, return an empty string.
    """
    try:
        return " ".join(write(value).split())[:200]
    except KeyboardInterrupt:
        raise
    except BaseException:
        return ""


def repr_of(value: object) -> str:
    """Return the `repr` of a plug-in's value, or only its class if that fails."""
    return text_of(value, repr) or f"a value of the class {class_of(value)} whose repr() fails"


def class_of(value: object) -> str:
    """Return the class name of a plug-in's value or error on one line. The name may be any text."""
    return text_of(type(value), lambda kind: kind.__name__)


def place_of(error: BaseException, path: Path, function: Any = None) -> str:
    """Return file, line and message of an error in a plug-in's file, or in the result of one of its functions."""
    position = _place_of_raise(error, path)
    line = position[0] if position else getattr(getattr(function, "__code__", None), "co_firstlineno", None)
    what = text_of(error)
    return f"{path.name}{'' if line is None else f':{line}'}: {class_of(error)}: {what}".rstrip(": ")


def _place_of_raise(error: BaseException, path: Path) -> tuple[int, str] | None:
    """Return the line and the function in this file where an error was last raised."""
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    if own:
        return own[-1].lineno or 0, own[-1].name
    return None if error.__cause__ is None else _place_of_raise(error.__cause__, path)


def _not_callable_so(error: BaseException, module: str) -> tuple[int, str] | None:
    """Return the function of a module that was called with unsuitable arguments. Such an error is raised at the call in
    mobilenet, although its cause is the signature in the plug-in.
    """
    named = re.match(r"([\w.]+)\(\) (takes|missing|got)", str(error)) if isinstance(error, TypeError) else None
    target: Any = sys.modules.get(module)
    for name in named[1].split(".") if named else ():
        target = getattr(target, name, None)
    code = getattr(target, "__code__", None)
    return (code.co_firstlineno, code.co_name) if named and code is not None else None

"""Tests that external events on hosts are simpy processes, and that the documentation page on time lists all of
them.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from types import ModuleType

from mobilenet.lab.programs.realtime import applications
from mobilenet.simulation import infrastructure, interventions, lifecycle, mobile, own_processes
from tests.conftest import ROOT

PAGE = ROOT / "docs" / "architecture" / "time-and-chance.md"
MODULES = (lifecycle, interventions, infrastructure, mobile, applications, own_processes)


def processes(module: ModuleType) -> Iterator[str]:
    """Yield the names of a module's functions that return a process."""
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(node, ast.FunctionDef) and node.returns is not None and ast.unparse(node.returns) == "Process":
            yield node.name


def test_the_process_page_lists_each_simulation_process() -> None:
    section = PAGE.read_text().split("## Processes")[1].split("\n\n")[1]
    listed = set(re.findall(r"^\| [^|]+\| `(?:\w+\.)?(\w+)`", section, re.MULTILINE))
    assert listed == {name for module in MODULES for name in processes(module)}


def test_modules_of_simpy_processes_schedule_no_plain_calls() -> None:
    for module in MODULES:
        assert not re.findall(r"kernel\.(?:at|after|calendar\.put)\b", inspect.getsource(module)), module

"""Tests that docs/guide/port.md lists every call of the port with its docstring, and no other calls."""

from __future__ import annotations

import ast

from mobilenet.lab.hunt.controlled.node import midpoint
from mobilenet.lab.hunt.controlled.port import Clock, ControlledHostPort, ControlledPort, Effects
from mobilenet.protocols.port import ASSOCIATION
from mobilenet.simulation.hosts import HostNode
from mobilenet.simulation.nodes import StationNode
from mobilenet.simulation.plugin_classes import (
    OF_BOTH,
    OF_HOSTS,
    OF_STATIONS,
    OF_STATIONS_IF_THERE,
    ON_THE_RADIO,
    ON_WIRES,
)
from tests.write_port_page import CLASSES, NOT_FOR_PLUG_INS, PAGE, classes_in, rows, with_tables

TEXT = PAGE.read_text(encoding="utf-8")


def calls(name: str) -> dict[str, tuple[str, ...]]:
    """Return the public methods of a class with their arguments."""
    methods = [node for node in CLASSES[name].body if isinstance(node, ast.FunctionDef)]
    return {node.name: tuple(a.arg for a in node.args.args[1:]) for node in methods}


def test_the_port_page_matches_the_docstrings() -> None:
    assert with_tables(TEXT) == TEXT, "python -m tests.write_port_page"


def test_the_port_page_shows_every_class() -> None:
    assert sorted(classes_in(TEXT)) == sorted(set(CLASSES) - NOT_FOR_PLUG_INS)


def test_every_call_on_the_port_page_has_a_description() -> None:
    descriptions = [(name, what, words) for name in classes_in(TEXT) for what, words in rows(name)]
    assert [(name, what) for name, what, words in descriptions if not words.endswith(".")] == []


def test_the_port_page_check_notices_a_missing_call() -> None:
    """The tables are restored if a row of the page is changed or missing."""
    row = next(line for line in TEXT.splitlines() if line.startswith("| `on_associated("))
    assert with_tables(TEXT.replace(row, row + " More.")) == TEXT
    assert with_tables(TEXT.replace(row + "\n", "")) == TEXT


def test_the_network_calls_the_hooks_on_the_port_page() -> None:
    """The required and the optional hooks of a plug-in's class are compared, with their arguments."""
    of_hosts = {**OF_BOTH, **ON_THE_RADIO, **OF_HOSTS, "on_end": ()}
    of_stations = {**OF_BOTH, **ON_THE_RADIO, **OF_STATIONS, **ON_WIRES, **OF_STATIONS_IF_THERE}
    assert calls("HostProtocol") == of_hosts
    parameters_of = calls("StationProtocol")
    assert {
        name: ("sender", "message") if name == "on_receive" else takes for name, takes in parameters_of.items()
    } == (of_stations)
    assert tuple(OF_STATIONS_IF_THERE) == ASSOCIATION


def test_every_port_implements_the_calls_on_the_port_page() -> None:
    """The test checks the port of a run, and the port of tests and swarms."""
    parts = (0, Clock(), midpoint, Effects())
    for name in calls("Port") | calls("HostPort"):
        assert hasattr(HostNode, name) and hasattr(ControlledHostPort(*parts), name), name
    for name in calls("Port") | calls("StationPort"):
        assert hasattr(StationNode, name) and hasattr(ControlledPort(*parts), name), name

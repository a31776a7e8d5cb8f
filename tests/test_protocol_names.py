"""Tests that only protocols, the catalogues and the key of backbones name a protocol. All other code uses
declarations.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import get_args

import pytest

from mobilenet.network.wired.parameters import BackboneParameters
from mobilenet.protocols import names
from mobilenet.protocols.vcube.parameters import PARAMETERS
from mobilenet.scenario.processes import ProcessScenario
from mobilenet.scenario.protocol_catalogue import CATALOGUE, DEFAULT
from tests.conftest import ROOT

BACKBONES = {kind.value for kind in names.Backbone}
NAMES = {declaration.name for declaration in CATALOGUE} | PARAMETERS.keys() | BACKBONES - {"tree"}
# These words are also names of promises, papers or frames.
ALSO_ORDERS = {"best_effort", "reliable", "causal", "beacon"}
EXCEPTED = {
    "mobilenet/protocols": "protocols",
    "mobilenet/network/wired/parameters.py": "declares the kinds of backbones",
    "mobilenet/lab/studies/papers": "repeats experiments with the protocols that the papers name",
}


def protocols_in(source: str) -> Iterator[str]:
    """Yield the protocols whose names occur in a string of the code. An ambiguous word counts only if it is compared
    with a name or a kind.

    Docstrings do not count.
    """
    tree = ast.parse(source)
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            yield from (NAMES - ALSO_ORDERS) & {*re.findall(r"\w+", node.value)}
        elif isinstance(node, (ast.Compare, ast.Match)):
            asked = ast.unparse(node.left if isinstance(node, ast.Compare) else node.subject)
            if re.search(r"(name|kind|protocol)$", asked):
                words = {part.value for part in ast.walk(node) if isinstance(part, ast.Constant)}
                yield from (word for word in ALSO_ORDERS if word in words)


def test_only_declaring_modules_mention_a_protocol_by_name() -> None:
    names_in = {
        path.relative_to(ROOT).as_posix(): sorted({*protocols_in(path.read_text(encoding="utf-8"))})
        for top in ("mobilenet", "viz")
        for path in (ROOT / top).rglob("*.py")
    }
    assert {place: some for place, some in names_in.items() if some and not place.startswith(tuple(EXCEPTED))} == {}
    assert [place for place in EXCEPTED if not any(some for at, some in names_in.items() if at.startswith(place))] == []


@pytest.mark.parametrize(
    "source",
    [
        'x = protocol.name == "mobile_causal"',
        'KNOWN = ("tcp_flooding",)',
        'f"only mobile_causal has {n} stations"',
        'if protocol == "causal": pass',
        'if p.kind in ("best_effort", "x"): pass',
        'match group.name:\n    case "reliable": pass',
    ],
)
def test_a_protocol_name_in_the_source_is_found(source: str) -> None:
    assert [*protocols_in(source)]


def test_docstrings_and_promises_can_contain_protocol_names() -> None:
    assert [*protocols_in('"""Of mobile_causal."""\nx = order == "causal"')] == []


def test_error_messages_offer_the_declared_protocol_names() -> None:
    assert names.DEFAULT == DEFAULT
    causal = tuple(declaration.name for declaration in CATALOGUE if declaration.promises == "causal")
    assert causal == names.ON_THE_RADIO
    assert tuple(PARAMETERS) == names.AMONG_PROCESSES
    for name, parameters in PARAMETERS.items():
        values = {"processes": 4, "protocol": {"name": name}, "detector": None}
        network = {"network": {"kind": "packet"}} if not parameters.tolerates_crashes else {}
        assert isinstance(ProcessScenario.model_validate(values | network).protocol, parameters)
    assert {*get_args(BackboneParameters.model_fields["kind"].annotation)} == BACKBONES

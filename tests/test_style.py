"""Limits on the length of lines, functions, signatures and modules."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from statistics import median

from tests.conftest import ROOT, SCENARIOS

CODE = [
    path
    for folder in ("mobilenet", "viz", "tests", "scenarios")
    for kind in ("*.py", "*.js", "*.css", "*.c")
    for path in sorted((ROOT / folder).rglob(kind))
] + [ROOT / "make.py", ROOT / "setup.py"]
DOCUMENTS = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "data/README.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
SETTINGS = [*sorted((SCENARIOS).rglob("*.yaml")), *ROOT.glob("*.toml"), *ROOT.glob("*.yml")]


def too_long(path: Path, most: int) -> list[str]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return [f"{path.relative_to(ROOT)}:{n}" for n, line in enumerate(lines, 1) if len(line) > most]


def test_no_line_of_code_is_longer_than_120_columns() -> None:
    assert [place for path in (*CODE, *SETTINGS) for place in too_long(path, 120)] == []


def test_each_item_of_a_list_begins_on_its_own_line() -> None:
    """A document that was wrapped again must not join items: `the first. - The second`."""
    joined = re.compile(r"[.:;)?!]\s+(?:- (?:\*|[A-Z\[`])|[2-9]\. \*)")
    assert [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in DOCUMENTS
        for line in path.read_text(encoding="utf-8").splitlines()
        if (match := joined.search(line)) and not line.startswith("|")
    ] == []


def test_no_line_of_a_document_is_longer_than_100_columns() -> None:
    """Tables, links, pictures and code blocks excepted."""
    found = []
    for path in DOCUMENTS:
        in_code = False
        for n, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            in_code ^= line.startswith("```")
            excepted = in_code or line.startswith(("|", "    ", "![", "```")) or re.search(r"\]\(|https?://", line)
            if len(line) > 100 and not excepted:
                found.append(f"{path.relative_to(ROOT)}:{n}")
    assert found == []


def test_modules_are_short() -> None:
    lengths = {
        path: len(path.read_text(encoding="utf-8").splitlines()) for path in sorted((ROOT / "mobilenet").rglob("*.py"))
    }
    assert median(lengths.values()) <= 120
    web = {
        path: len(path.read_text(encoding="utf-8").splitlines()) for path in (ROOT / "viz" / "map" / "web").iterdir()
    }
    assert [f"{path.relative_to(ROOT)}: {n}" for path, n in {**lengths, **web}.items() if n > 400] == []


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 150


LONG_FUNCTIONS = {  # with the reason
    "mobilenet/network/radio/unit_disk.py:start": "the loop over a frame's receivers; a call costs more than its body",
    "mobilenet/network/radio/sinr.py:start": "the loop over a frame's receivers; a call costs more than its body",
}
LONG_SIGNATURES = {
    "mobilenet/api.py:run": "keywords of the public API",
    "mobilenet/notebook/capacity.py:capacity": "keywords of the public API",
    "mobilenet/notebook/sensitivity.py:sensitivity": "keywords of the public API",
    "mobilenet/protocols/mobile_causal/handover.py:__init__": "the parts of a station before it",
    "mobilenet/cli/capacity.py:capacity": "options of a command",
    "mobilenet/cli/claims.py:claims": "options of a command",
    "mobilenet/cli/sensitivity.py:sensitivity": "options of a command",
    "mobilenet/cli/export.py:export": "options of a command",
    "mobilenet/cli/pictures.py:figures": "options of a command",
    "mobilenet/cli/robust.py:robust": "options of a command",
    "mobilenet/cli/serve.py:serve": "options of a command",
    "mobilenet/cli/study.py:study": "options of a command",
    "mobilenet/cli/swarm.py:swarm": "options of a command",
    "mobilenet/cli/tracks.py:inspect_tracks": "options of a command",
    "mobilenet/cli/why.py:why": "options of a command",
    "mobilenet/rundir/recorder.py:add": "compiled, once for each row; one argument for each column",
    "mobilenet/network/radio/frame.py:__init__": "compiled, once for each frame; an options object would be one more",
    "mobilenet/network/radio/reception.py:__init__": "quantities of a radio, each by its name in the scenario",
    "mobilenet/network/radio/sinr.py:__init__": "compiled; each argument is one part of the medium",
    "mobilenet/network/radio/unit_disk.py:__init__": "compiled; each argument is one key of the scenario",
    "mobilenet/protocols/vcube/causal.py:__init__": "parameters of the paper, each by its name in the scenario",
    "mobilenet/protocols/vcube/causal_printed.py:__init__": "parameters of the paper, each by its name in the scenario",
}


@cache
def functions() -> list[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    return [
        (f"{path.relative_to(ROOT)}:{node.name}", node)
        for folder in ("mobilenet", "viz")
        for path in sorted((ROOT / folder).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]


def parameters(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    names = [arg.arg for arg in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
    return len(names) - (names[:1] in (["self"], ["cls"]))


def test_functions_are_short_or_have_a_reason() -> None:
    long = {name for name, node in functions() if (node.end_lineno or 0) - node.lineno >= 60}
    assert long == set(LONG_FUNCTIONS)


def test_signatures_are_short_or_have_a_reason() -> None:
    assert {name for name, node in functions() if parameters(node) > 8} == set(LONG_SIGNATURES)


PARTICIPLE = re.compile(
    r"_?([a-z]+(?<!e)ed|found|told|shown|made|kept|said|begun|drawn|given|known|written|sent|heard)"
)
PARTICIPLES_LEFT = 138


def test_functions_are_not_named_by_a_participle_alone() -> None:
    """A ratchet: a name says what the function does or returns."""
    named = [name for name, node in functions() if not is_a_fact(node) and PARTICIPLE.fullmatch(name.partition(":")[2])]
    assert len(named) <= PARTICIPLES_LEFT, "name each by a verb or a noun"
    assert len(named) == PARTICIPLES_LEFT, f"fewer than before: write PARTICIPLES_LEFT = {len(named)}"


def is_a_fact(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """A property, a truth, or a handler of an event."""
    return bool(node.decorator_list) or (node.returns is not None and ast.unparse(node.returns) in ("bool", "None"))

"""Tests that limit the length of lines, functions, signatures and modules, and that forbid vague names."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from statistics import median

import pytest

from tests.conftest import ROOT, SCENARIOS

pytestmark = pytest.mark.text


def inside_vendor(path: Path) -> bool:
    return ROOT / "viz" / "vendor" in path.parents and path.suffix != ".py"


CODE = [
    path
    for folder in ("mobilenet", "viz", "tests", "scenarios")
    for kind in ("*.py", "*.js", "*.css", "*.c")
    for path in sorted((ROOT / folder).rglob(kind))
    if not inside_vendor(path)
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


def test_each_list_item_in_a_document_starts_a_new_line() -> None:
    """Rewrapping a document must not join two items, as in `the first. - The second`."""
    joined = re.compile(r"[.:;)?!]\s+(?:- (?:\*|[A-Z\[`])|[2-9]\. \*)")
    assert [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in DOCUMENTS
        for line in path.read_text(encoding="utf-8").splitlines()
        if (match := joined.search(line)) and not line.startswith("|")
    ] == []


def test_no_line_of_a_document_is_longer_than_100_columns() -> None:
    """Tables, links, pictures and code blocks are exempt."""
    long_lines = []
    for path in DOCUMENTS:
        in_code = False
        for n, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            in_code ^= line.startswith("```")
            excepted = in_code or line.startswith(("|", "    ", "![", "```")) or re.search(r"\]\(|https?://", line)
            if len(line) > 100 and not excepted:
                long_lines.append(f"{path.relative_to(ROOT)}:{n}")
    assert long_lines == []


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


LONG_FUNCTIONS = {  # function -> why it may be long
    "mobilenet/network/radio/unit_disk/medium.py:start": "the loop over a frame's receivers: a call costs more",
    "mobilenet/network/radio/sinr/medium.py:start": "the loop over a frame's receivers: a call costs more",
}
LONG_SIGNATURES = {
    "mobilenet/api.py:run": "keywords of the public API",
    "mobilenet/lab/notebook/capacity.py:capacity": "keywords of the public API",
    "mobilenet/lab/notebook/claims.py:claims": "keywords of the public API",
    "mobilenet/lab/notebook/sensitivity.py:sensitivity": "keywords of the public API",
    "mobilenet/protocols/mobile_causal/handover.py:__init__": "the parts of a station before it",
    "mobilenet/cli/capacity.py:capacity": "options of a command",
    "mobilenet/cli/claims.py:claims": "options of a command",
    "mobilenet/cli/sensitivity.py:sensitivity": "options of a command",
    "mobilenet/cli/export.py:export": "options of a command",
    "mobilenet/cli/pictures.py:figures": "options of a command",
    "mobilenet/cli/robust.py:robust": "options of a command",
    "mobilenet/cli/run.py:run": "options of a command",
    "mobilenet/cli/serve.py:serve": "options of a command",
    "mobilenet/cli/study.py:study": "options of a command",
    "mobilenet/cli/swarm.py:swarm": "options of a command",
    "mobilenet/cli/tracks.py:inspect_tracks": "options of a command",
    "mobilenet/cli/why.py:why": "options of a command",
    "mobilenet/record/recorder.py:add": "compiled, once for each row; one argument for each column",
    "mobilenet/network/radio/frame.py:__init__": "compiled, once for each frame; an options object would be one more",
    "mobilenet/network/radio/sinr/reception.py:__init__": "quantities of a radio, each by its name in the scenario",
    "mobilenet/network/radio/sinr/medium.py:__init__": "compiled; each argument is one part of the medium",
    "mobilenet/network/radio/distance_table/medium.py:__init__": "compiled; each argument is one key of the scenario",
    "mobilenet/network/radio/unit_disk/medium.py:__init__": "compiled; each argument is one key of the scenario",
    "mobilenet/protocols/vcube/causal.py:__init__": "parameters of the paper, each by its name in the scenario",
    "mobilenet/protocols/vcube/causal_printed.py:__init__": "parameters of the paper, each by its name in the scenario",
}


@cache
def functions() -> list[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    return [
        (f"{path}:{node.name}", node)
        for path, tree in sources("mobilenet", "viz")
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]


def parameters(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    names = [arg.arg for arg in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
    return len(names) - (names[:1] in (["self"], ["cls"]))


def test_functions_are_short_or_listed_as_exceptions() -> None:
    long = {name for name, node in functions() if (node.end_lineno or 0) - node.lineno >= 60}
    assert long == set(LONG_FUNCTIONS)


def test_signatures_are_short_or_have_a_reason() -> None:
    assert {name for name, node in functions() if parameters(node) > 8} == set(LONG_SIGNATURES)


PARTICIPLE = re.compile(
    r"_?([a-z]+(?<!e)ed|found|told|shown|made|kept|said|begun|drawn|given|known|written|sent|heard|held|left|lost|met"
    r"|taken|torn|built|chosen|caught|broken|hidden|grown|understood|ran|done|seen|gone|forgotten|fallen|stood)"
)
# A protocol of a user calls or defines these names: docs/guide/port.md.
OF_THE_PORT = {"expired", "joined", "left", "settled"}
VAGUE = {"found", "told", "shown", "said", "kind_of"}
EVERYWHERE = ("data", "mobilenet", "viz", "tests", "validation", "scenarios", "docs", "make.py", "setup.py")
A_COLUMN = "mobilenet/lab/replay/transcript.py:said"  # a column of the table `lines`: docs/run-directory.md


def test_function_names_are_not_participles() -> None:
    """A participle such as `found` names neither what a function does nor what it returns."""
    participles = [
        f"{path}:{node.name}"
        for path, tree in sources(*EVERYWHERE)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not is_a_value(node)
        if PARTICIPLE.fullmatch(node.name) and node.name not in OF_THE_PORT
    ]
    assert participles == []


def test_javascript_function_names_are_not_participles() -> None:
    defined = re.compile(r"\b([a-z]+) = (?:async )?(?:\([^)]*\)|\w+) =>|\bfunction ([a-z]+)\(")
    files = [path for path in CODE if path.suffix == ".js"]
    names = {f"{path.name}:{a or b}" for path in files for a, b in defined.findall(path.read_text(encoding="utf-8"))}
    assert len(names) > 200
    assert sorted(name for name in names if PARTICIPLE.fullmatch(name.partition(":")[2])) == []


def is_a_value(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Return whether the function is a property or a fixture, which is read like a value and not called."""
    decorators = " ".join(map(ast.unparse, node.decorator_list))
    return any(word in decorators for word in ("property", "fixture"))


def test_names_in_the_code_are_not_vague() -> None:
    vague = {
        f"{path}:{name}"
        for path, tree in sources(*EVERYWHERE)
        for node in ast.walk(tree)
        for name in bound_names(node)
        if name.strip("_").lower() in VAGUE
    }
    assert vague == {A_COLUMN}


def test_names_of_tests_have_at_most_60_characters() -> None:
    names = {node.name for _, tree in sources("tests") for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    assert sorted(name for name in names if name.startswith("test_") and len(name) > 60) == []


def test_docstrings_have_more_than_three_words() -> None:
    """A docstring of three words repeats the name and adds nothing."""
    documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    short = [
        f"{path}: {text}"
        for path, tree in sources(*EVERYWHERE)
        for node in ast.walk(tree)
        if isinstance(node, documented) and (text := ast.get_docstring(node)) and len(text.split()) <= 3
    ]
    assert short == []


def bound_names(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
        return [node.id if isinstance(node, ast.Name) else node.attr]
    if isinstance(node, ast.arg):
        return [node.arg]
    if isinstance(node, ast.alias):
        return [node.asname or ""]
    has_name = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.ExceptHandler | ast.MatchAs
    return [node.name or ""] if isinstance(node, has_name) else []


def sources(*places: str) -> Iterator[tuple[str, ast.Module]]:
    """Yield the source files in these folders, and the files that are listed directly."""
    for place in places:
        for path in sorted((ROOT / place).rglob("*.py")) or [ROOT / place]:
            yield str(path.relative_to(ROOT)), parsed_file(path)


@cache
def parsed_file(path: Path) -> ast.Module:
    return ast.parse(path.read_bytes())

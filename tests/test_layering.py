"""Tests of the import rules: packages form layers, and a module imports only from its own package and from lower
layers.

docs/architecture/core.md and lab.md describe the layers. At the end, violations are planted to show that the tests find
them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.conftest import ROOT

pytestmark = pytest.mark.text

# The layers from bottom to top. Packages in the same layer do not import each other.
FLOORS = (
    ("parameters", "quoting"),
    ("engine", "world.tracks"),
    ("protocols",),
    ("world", "network.propagation"),
    ("network.radio", "network.wired", "network.tcp"),
    ("network.wireless",),
    ("network.radio_models",),
    ("scenario",),
    ("scenario.plans",),
    ("record",),
    ("why",),
    ("simulation", "verify", "metrics"),
    ("promises",),
    ("judgement", "by_kind"),
    ("api", "forecast"),
    ("lab.programs",),
    ("lab.programs.namespaces",),
    ("lab.programs.realtime",),
    ("lab.package_files", "lab.workers", "lab.hunt.controlled", "lab.export"),
    ("lab.studies", "lab.hunt.swarm", "lab.hunt.exhaustion", "lab.replay"),
    ("lab.studies.papers",),
    ("lab.studies.claims",),
    ("viz",),
    ("lab.notebook", "lab.artefact"),
    ("lab.live",),
    ("lab.bench",),
    ("cli",),
    ("__main__",),
)
FLOOR = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
# These packages do not belong to a layer, because they do not import any modules.
NAMELESS = ("mobilenet", "mobilenet.network", "mobilenet.lab", "mobilenet.lab.hunt")
NOT_OF_THE_PRODUCT = ("tests", "validation", "scenarios")
# The modules in MAY_IMPORT_BY_NAME may import a module by a name in a variable, or read sys.modules. They load lazy
# exports of the package root, compiled modules, plug-ins, docstrings of modules that declare keys, the module of the
# called command, and the checks that the declaration of a protocol names.
BY_NAME = ("import_module", "__import__", "resolve_name", "run_module", "run_path", "modules")
MAY_IMPORT_BY_NAME = {
    f"mobilenet{module}"
    for module in (
        "",
        ".cli.key_reference",
        ".cli.main",
        ".engine.build_native",
        ".engine.native",
        ".network.radio_models",
        ".scenario.plans.by_kind",
        ".simulation.parties",
        ".simulation.plugin_code",
        ".verify.judge",
    )
}

# Modules that may import each other, but only under TYPE_CHECKING. A node, its frames, its MAC and the medium work
# together closely, and they are compiled: a call is direct only if the compiler knows the class of the callee by name.
CIRCLES = [[f"mobilenet.network.radio.{name}" for name in ("frame", "mac", "medium", "neighbours", "transceiver")]]

# Each of these libraries may be imported only by the packages listed here.
HOMES = {
    "simpy": ("mobilenet.engine.kernel",),
    "pyspark": ("mobilenet.lab.studies", "mobilenet.lab.notebook"),
    "py4j": ("mobilenet.lab.studies",),
    "folium": ("viz",),
    "branca": ("viz",),
    "matplotlib": ("viz",),
    "ruamel": ("mobilenet.scenario",),
    "shapely": ("mobilenet.world", "mobilenet.network.propagation", "mobilenet.network.wired.tree"),
    "typer": ("mobilenet.cli",),
    "websockets": ("mobilenet.lab.live",),
    "rich": ("mobilenet.cli",),
}
NETWORKS = ("mobilenet.network.radio", "mobilenet.network.wired", "mobilenet.network.tcp")
OF_PROTOCOLS = (
    "__future__", "abc", "bisect", "collections", "dataclasses", "enum", "functools", "heapq", "itertools", "math",
    "operator", "types", "typing",
)  # fmt: skip


def inside(module: str, *packages: str) -> bool:
    return any(module == package or module.startswith(package + ".") for package in packages)


def is_promises(module: str) -> bool:
    """Return whether this module checks the promises of one protocol. Such a module lies in the package of its
    protocol.
    """
    return inside(module, "mobilenet.protocols") and module.endswith(".promises")


class Tree:
    """Holds the modules below some folders of `root`, and the dotted names that each of them imports."""

    def __init__(self, root: Path, *folders: str) -> None:
        self.modules: dict[str, Path] = {}
        for path in sorted(path for folder in folders for path in (root / folder).rglob("*.py")):
            parts = path.relative_to(root).with_suffix("").parts
            self.modules[".".join(parts[:-1] if path.name == "__init__.py" else parts)] = path
        self.trees = {module: ast.parse(path.read_bytes()) for module, path in self.modules.items()}
        self.imports = {module: self._imports(module, ast.walk(tree)) for module, tree in self.trees.items()}
        self.at_once = {module: self._imports(module, head(tree)) for module, tree in self.trees.items()}

    def package(self, module: str) -> str:
        return module if self.modules[module].name == "__init__.py" else module.rpartition(".")[0]

    def _imports(self, module: str, nodes: Iterable[ast.AST]) -> set[str]:
        modules: set[str] = set()
        for node in nodes:
            if isinstance(node, ast.Import):
                modules |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                above = self.package(module).split(".")[: 1 - node.level or None] if node.level else []
                base = ".".join([*above, *filter(None, [node.module])])
                names = {f"{base}.{alias.name}" for alias in node.names}
                modules |= names & self.modules.keys() or {base}
                if base == "mobilenet":  # An export of the package root does not show which module defines the name.
                    modules |= names - {"mobilenet.__version__"}
        return modules

    def importers(self, *packages: str) -> Iterator[tuple[str, str]]:
        for module, imported in self.imports.items():
            yield from ((module, name) for name in sorted(imported) if inside(name, *packages))

    def reach(self, module: str, *closed: str) -> set[str]:
        """Return all modules of this project that importing `module` loads. The imports of `closed` packages are not
        followed.
        """
        return reach(self.imports, module, *closed)

    def circles_of_packages(self) -> list[list[str]]:
        """Return groups of folders that import each other. A module in the root of the package counts as a folder."""
        stand_alone = {name for name in self.modules if name.count(".") < 2 or is_promises(name)}
        folder = {name: name if name in stand_alone else self.package(name) for name in self.modules}
        graph: dict[str, set[str]] = {name: set() for name in folder.values()}
        for module, imported in self.imports.items():
            if module != "mobilenet":  # Other modules define the exports of the package root.
                graph[folder[module]] |= {folder[name] for name in imported & folder.keys()} - {folder[module]}
        return rings(graph)


def head(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield the statements that run on import, without the bodies of functions and without code for type checkers."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            waiting += node.orelse
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            waiting += ast.iter_child_nodes(node)


def reach(graph: dict[str, set[str]], module: str, *closed: str) -> set[str]:
    seen: set[str] = set()
    waiting = [module]
    while waiting:
        new = {name for name in graph[waiting.pop()] if name in graph} - seen
        seen |= new
        waiting += [name for name in new if not inside(name, *closed)]
    return seen


def rings(graph: dict[str, set[str]]) -> list[list[str]]:
    """Return the groups of names that are reachable from each other in the graph."""
    behind = {name: reach(graph, name) for name in graph}
    groups = {tuple(sorted({a, *(b for b in behind[a] if a in behind[b])})) for a in behind if a in behind[a]}
    return sorted(map(list, groups))


def room_of(module: str) -> str | None:
    """Return the layer of one of the modules of this project, or None if the module belongs to no layer."""
    name = "promises" if is_promises(module) else module.removeprefix("mobilenet.")
    parts = name.split(".")
    return next((room for depth in (3, 2, 1) if (room := ".".join(parts[:depth])) in FLOOR), None)


def looks_up(tree: Tree) -> Iterator[tuple[str, str]]:
    """Yield imports from a higher layer, or from another package in the same layer."""
    for module, imported in tree.imports.items():
        own = room_of(module)
        for name in sorted(imported):
            if inside(name, *NOT_OF_THE_PRODUCT):
                yield module, name
            if not inside(name, "mobilenet", "viz") or name == "mobilenet" or name in NAMELESS:
                continue
            other = room_of(name)
            if own is None:
                if module != "mobilenet":
                    yield module, name
            elif other is None or (own != other and FLOOR[other] >= FLOOR[own]):
                yield module, name


def round_and_round(tree: Tree) -> Iterator[tuple[str, str]]:
    """Yield modules that import each other, and folders whose modules do. Imports inside functions and imports for type
    checkers count, too.
    """
    yield from ((ring[0], " ".join(ring)) for ring in rings(tree.imports) if ring not in CIRCLES)
    yield from ((ring[0], " ".join(ring)) for ring in tree.circles_of_packages())


def by_other_ways(tree: Tree) -> Iterator[tuple[str, str]]:
    """Yield imports that bypass plain import statements: `import *`, exports of the package root,
    and module names that variables hold.
    """
    for module, parsed in tree.trees.items():
        for node in ast.walk(parsed):
            if isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
                yield module, "*"
            elif isinstance(node, ast.Import) and any(alias.name == "mobilenet" for alias in node.names):
                yield module, "mobilenet"
            elif isinstance(node, ast.Attribute | ast.Name | ast.alias) and module not in MAY_IMPORT_BY_NAME:
                name = {ast.Attribute: "attr", ast.Name: "id", ast.alias: "name"}[type(node)]
                if getattr(node, name) in BY_NAME:
                    yield module, getattr(node, name)


def away_from_home(tree: Tree) -> Iterator[tuple[str, str]]:
    for library, homes in HOMES.items():
        yield from (pair for pair in tree.importers(library) if not inside(pair[0], *homes))


def not_for_protocols(tree: Tree) -> Iterator[tuple[str, str]]:
    """Yield imports that are forbidden in protocols. A protocol may import only other protocols, a small part of the
    standard library and, in its parameters, pydantic and the declaration of quantities.
    """
    for module, imported in tree.imports.items():
        if inside(module, "mobilenet.protocols") and not is_promises(module):
            for name in sorted(imported):
                top = name.partition(".")[0]
                declares = module.endswith("parameters") and (top == "pydantic" or name == "mobilenet.parameters")
                ours = inside(name, "mobilenet.protocols")
                if not (ours or declares or top in OF_PROTOCOLS or name == "mobilenet.engine.clock"):
                    yield module, name


def not_for_promises(tree: Tree) -> Iterator[tuple[str, str]]:
    """Yield imports that are forbidden in the checks of a protocol's promises. These checks may read the record as the
    verifier does, and may import only the parameters of their protocol.
    """
    ours = ("mobilenet.verify", "mobilenet.record.table", "mobilenet.engine.clock")
    for module in filter(is_promises, tree.modules):
        for name in sorted(tree.imports[module]):
            is_allowed = inside(name, *ours) or name == f"{module.rpartition('.')[0]}.parameters"
            if inside(name, "mobilenet") and not is_allowed:
                yield module, name


def not_for_readers(tree: Tree) -> Iterator[tuple[str, str]]:
    """Yield imports that are forbidden in modules that read runs. A reader may not import the simulator; judges and
    metrics may not import protocols either.
    """
    closed = ("mobilenet.api", "mobilenet.scenario", "mobilenet.simulation.plugin_code")
    for module in tree.modules:
        judges = inside(module, "mobilenet.verify", "mobilenet.metrics", "mobilenet.record.reader")
        if judges or inside(module, "mobilenet.lab.export", "viz", "mobilenet.record.writer"):
            forbidden = ("mobilenet.simulation", *NETWORKS, "mobilenet.engine.kernel")
            also = ("mobilenet.protocols", "mobilenet.api", "mobilenet.record.manifest") if judges else ()
            for name in sorted(tree.reach(module, *closed)):
                if inside(name, *forbidden, *also) and name != "mobilenet.simulation.plugin_code":
                    yield module, name


RULES = [looks_up, round_and_round, by_other_ways, away_from_home, not_for_protocols, not_for_promises, not_for_readers]


@cache
def ours() -> Tree:
    return Tree(ROOT, "mobilenet", "viz")


def test_the_layering_check_examines_every_layer() -> None:
    assert "simpy" in ours().imports["mobilenet.engine.kernel"]
    assert "mobilenet.protocols.port" in ours().imports["mobilenet.protocols.mobile_causal.handover"]
    assert {room_of(module) for module in ours().modules} == {*FLOOR, None}


def test_every_module_belongs_to_a_layer() -> None:
    assert [module for module in ours().modules if room_of(module) is None and module not in NAMELESS] == []


@pytest.mark.parametrize("rule", RULES)
def test_no_module_breaks_a_layering_rule(rule: object) -> None:
    assert callable(rule)
    assert list(rule(ours())) == []


def test_the_verifier_mentions_no_protocol_message() -> None:
    messages = {
        node.name
        for module, parsed in ours().trees.items()
        if inside(module, "mobilenet.protocols")
        for node in ast.walk(parsed)
        if isinstance(node, ast.ClassDef) and any("message" in ast.unparse(one) for one in node.decorator_list)
    }
    assert "AckC" in messages
    names = {
        (module, node.value)
        for module, parsed in ours().trees.items()
        if inside(module, "mobilenet.verify", "mobilenet.scenario.plans")
        for node in ast.walk(parsed)
        if isinstance(node, ast.Constant) and node.value in messages
    }
    assert names == set()


def test_allowed_import_cycles_exist_and_only_involve_types() -> None:
    assert [ring for ring in CIRCLES if ring not in rings(ours().imports)] == []
    assert rings(ours().at_once) == []


def test_protocols_interact_with_the_network_only_through_ports() -> None:
    """The network can run any protocol. Only the catalogues name the built-in protocols."""
    for module, imported in ours().imports.items():
        if inside(
            module, "mobilenet.simulation.nodes", "mobilenet.simulation.connections", "mobilenet.simulation.mobile"
        ):
            protocols = {name for name in imported if inside(name, "mobilenet.protocols")}
            assert protocols <= {"mobilenet.protocols.port", "mobilenet.scenario.protocol_catalogue"}, module


def test_only_one_verifier_module_reads_the_scenario() -> None:
    """The verifier derives the promises of a run from the declarations in scenario.yaml. The rest of the verifier does
    not import scenarios.
    """
    pairs = set(ours().importers("mobilenet.scenario"))
    knowing = {module for module, name in pairs if name != "mobilenet.scenario.plans.expectations"}
    assert {module for module in knowing if inside(module, "mobilenet.verify")} == {"mobilenet.verify.declarations"}
    values = ours().imports["mobilenet.scenario.plans.expectations"]
    # This module may import only from these three modules.
    assert values <= {"__future__", "collections.abc", "typing"}


def test_metrics_do_not_import_scenarios() -> None:
    for module in ours().modules:
        if inside(
            module,
            "mobilenet.metrics",
            "mobilenet.record.reader",
            "mobilenet.record.writer",
            "mobilenet.record.recorder",
        ):
            assert not [name for name in ours().reach(module) if inside(name, "mobilenet.scenario")], module


def test_every_module_has_a_docstring() -> None:
    for module, tree in ours().trees.items():
        assert ast.get_docstring(tree), f"{module} has no docstring"


def test_no_module_uses_a_global_random_generator() -> None:
    for module, imported in ours().imports.items():
        assert "random" not in imported and "numpy.random" not in imported, module
        text = ours().modules[module].read_text(encoding="utf-8")
        assert "np.random.seed" not in text and "default_rng" not in text, module


# --- the rules themselves


IN_EVERY_FORM = (
    "from mobilenet.simulation.mobile import Simulation",
    "from mobilenet.simulation import mobile as m",
    "import mobilenet.simulation.mobile as m",
    "from ..simulation import mobile",
    "from ..simulation.mobile import Simulation",
    "from .. import simulation",
    "from mobilenet import simulation",
    "from mobilenet.simulation.mobile import *",
    "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from mobilenet.simulation.mobile import Simulation",
    "def f():\n    from ..simulation.mobile import Simulation\n    return Simulation",
    "class C:\n    def f(self):\n        import mobilenet.simulation.mobile",
    "try:\n    from mobilenet.simulation import mobile\nexcept ImportError:\n    pass",
)
BY_OTHER_WAYS = (
    "from mobilenet.world import *",
    "from .. import *",
    "import mobilenet\ns = mobilenet.Simulation",
    "import mobilenet as m\n\ndef f():\n    return m.simulation.mobile.Simulation",
    "import importlib\nm = importlib.import_module('mobilenet.simulation.mobile')",
    "from importlib import import_module as load\nm = load('mobilenet.simulation.mobile')",
    "m = __import__('mobilenet.simulation.mobile')",
    "import sys\nm = sys.modules['mobilenet.simulation.mobile']",
    "from sys import modules\nm = modules['mobilenet.simulation.mobile']",
    "import pkgutil\ns = pkgutil.resolve_name('mobilenet.simulation.mobile:Simulation')",
    "import runpy\nrunpy.run_module('mobilenet.simulation.mobile')",
    "import runpy\nrunpy.run_path('mobilenet/simulation/mobile.py')",
)


def plant(folder: Path, at: str, source: str) -> Tree:
    for name in ("mobilenet", "mobilenet.engine", "mobilenet.simulation", "mobilenet.simulation.mobile",
        "mobilenet.network", "mobilenet.network.radio", "mobilenet.verify",
                 "mobilenet.protocols", "mobilenet.world", "mobilenet.network.radio.medium", at):  # fmt: skip
        path = folder.joinpath(*name.split("."))
        is_package = name.count(".") < 2 and name != at
        path = path / "__init__.py" if is_package else path.with_suffix(".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source + "\n" if name == at else "")
    return Tree(folder, "mobilenet")


@pytest.mark.parametrize("source", IN_EVERY_FORM)
def test_forbidden_imports_are_found_in_every_syntactic_form(source: str, tmp_path: Path) -> None:
    imports = list(looks_up(plant(tmp_path, "mobilenet.engine.clock", source)))
    assert {module for module, _ in imports} == {"mobilenet.engine.clock"}
    assert all(inside(name, "mobilenet.simulation") for _, name in imports)


@pytest.mark.parametrize("source", BY_OTHER_WAYS)
def test_unusual_forms_of_import_are_reported(source: str, tmp_path: Path) -> None:
    imports = by_other_ways(plant(tmp_path, "mobilenet.engine.clock", source))
    assert {module for module, _ in imports} == {"mobilenet.engine.clock"}


def test_allowed_imports_are_not_reported(tmp_path: Path) -> None:
    source = "from . import clock\nfrom mobilenet.world import x\nfrom ..engine import clock"
    assert list(looks_up(plant(tmp_path, "mobilenet.simulation.a", source))) == []


@pytest.mark.parametrize(
    ("rule", "at", "source"),
    [
        # Both packages are in the same layer.
        (looks_up, "mobilenet.world.walk", "from ..network.radio.medium import Medium"),
        (looks_up, "mobilenet.loose", "from mobilenet.engine import clock"),  # This module belongs to no layer.
        (looks_up, "mobilenet.verify.judge", "from mobilenet.viz.map import data"),
        (looks_up, "mobilenet.verify.judge", "import mobilenet.viz.map"),
        (looks_up, "mobilenet.verify.judge", "from tests.conftest import x"),
        (looks_up, "mobilenet.verify.judge", "def f():\n    import scenarios.tutorial"),
        (away_from_home, "mobilenet.engine.clock", "def f():\n    from pyspark import SparkContext"),
        (away_from_home, "mobilenet.world.walk", "import simpy.events as e"),
        (not_for_protocols, "mobilenet.protocols.own", "from time import monotonic"),
        (not_for_protocols, "mobilenet.protocols.own", "import subprocess"),
        (not_for_protocols, "mobilenet.protocols.own", "from _random import Random"),
        (not_for_protocols, "mobilenet.protocols.own", "from ..engine import clock"),
        (not_for_protocols, "mobilenet.protocols.own", "import numpy as np"),
        (not_for_promises, "mobilenet.protocols.own.promises", "from .host import Host"),
        (not_for_promises, "mobilenet.protocols.own.promises", "from mobilenet.simulation import mobile"),
        (not_for_readers, "mobilenet.verify.judge", "from ..simulation import mobile"),
        (not_for_readers, "mobilenet.verify.judge", "def f():\n    import mobilenet.protocols"),
    ],
)  # fmt: skip
def test_each_layering_rule_detects_a_violation(rule: object, at: str, source: str, tmp_path: Path) -> None:
    assert callable(rule)
    assert [module for module, _ in rule(plant(tmp_path, at, source))] == [at]


@pytest.mark.parametrize(
    "back", ["from mobilenet.engine import clock", "from .clock import Clock", "from . import clock"]
)
@pytest.mark.parametrize("late", ["", "def f():\n    ", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    "])
def test_an_import_cycle_within_a_package_is_found(back: str, late: str, tmp_path: Path) -> None:
    """Imports inside functions and for type checkers can close a cycle, too. Another function reports the cycles that
    exist during import.
    """
    plant(tmp_path, "mobilenet.engine.clock", "from mobilenet.engine import hand")
    (tmp_path / "mobilenet" / "engine" / "hand.py").write_text(f"{late}{back}\n")
    tree = Tree(tmp_path, "mobilenet")
    assert list(round_and_round(tree)) == [("mobilenet.engine.clock", "mobilenet.engine.clock mobilenet.engine.hand")]
    assert bool(rings(tree.at_once)) == (not late)


def test_an_import_cycle_of_folders_is_found(tmp_path: Path) -> None:
    plant(tmp_path, "mobilenet.network.radio.framing", "from mobilenet.network import wires")
    (tmp_path / "mobilenet" / "network" / "wires.py").write_text("")
    (tmp_path / "mobilenet" / "network" / "all.py").write_text("from .radio import medium\n")
    circles = list(round_and_round(Tree(tmp_path, "mobilenet")))
    assert circles == [("mobilenet.network", "mobilenet.network mobilenet.network.radio")]

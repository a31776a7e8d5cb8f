"""Who may import whom. Rooms lie above each other, and a module imports from its own room and from lower ones.

The order below is the one of docs/architecture.md. What it forbids is tried out with planted violations at the end.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.imports import Tree, inside

ROOT = Path(__file__).parents[1]

# From the ground up. Rooms of one line lie side by side: none of them imports another.
FLOORS = (
    ("clock", "parameters", "quoting", "safe_path", "shipped"),
    ("engine", "tracks", "protocols"),
    ("propagation",),
    ("world", "network.radio", "network.wired", "network.tcp"),
    ("scenario",),
    ("expected",),
    ("rundir",),
    ("controlled", "programs"),
    ("realtime",),
    ("simulation", "verify", "metrics", "export"),
    ("judgement",),
    ("api", "workers"),
    ("studies", "swarm", "replay", "exhaustion"),
    ("papers",),
    ("viz",),
    ("interactive",),
    ("bench",),
    ("cli",),
    ("__main__",),
)
FLOOR = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
NAMELESS = ("mobilenet", "mobilenet.network")  # they say what is in them, and import nothing
NOT_OF_THE_PRODUCT = ("tests", "validation", "scenarios")
LISTS = ("mobilenet.engine.native",)  # names the modules that are compiled
# names of the root; of compiled modules; the docstring of a module that declares keys
BY_A_NAME_OF_THE_MOMENT = {"mobilenet": 1, "mobilenet.engine.native": 1, "mobilenet.cli.key_reference": 1}

# Modules that may name each other, below TYPE_CHECKING alone. A node, its frames, its MAC and the medium are one
# machine, and compiled: a call goes straight through only where the class of the other is known by name.
CIRCLES = [[f"mobilenet.network.radio.{name}" for name in ("frame", "mac", "medium", "neighbours", "transceiver")]]

# A library has one home.
HOMES = {
    "simpy": ("mobilenet.engine.kernel",),
    "pyspark": ("mobilenet.studies",),
    "py4j": ("mobilenet.studies",),
    "folium": ("viz",),
    "branca": ("viz",),
    "matplotlib": ("viz",),
    "ruamel": ("mobilenet.scenario",),
    "shapely": ("mobilenet.world", "mobilenet.propagation"),
    "typer": ("mobilenet.cli",),
    "websockets": ("mobilenet.interactive",),
    "rich": ("mobilenet.cli",),
}
OF_PROTOCOLS = (
    "__future__", "abc", "bisect", "collections", "dataclasses", "enum", "functools", "heapq", "itertools", "math",
    "operator", "types", "typing",
)  # fmt: skip


def room_of(module: str) -> str | None:
    """The room of one of our modules; None for what belongs to none."""
    name = module.removeprefix("mobilenet.")
    parts = name.split(".")
    return next((room for room in (".".join(parts[:2]), parts[0]) if room in FLOOR), None)


def looks_up(tree: Tree) -> Iterator[tuple[str, str]]:
    """Imports from a room that lies higher, or beside."""
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
    """Modules, or folders of them, that import each other, in whatever room; inside functions and for types, too."""
    yield from ((ring[0], " ".join(ring)) for ring in tree.circles(at_once=False) if ring not in CIRCLES)
    yield from ((ring[0], " ".join(ring)) for ring in tree.circles_of_packages())


def by_a_star(tree: Tree) -> Iterator[tuple[str, str]]:
    """`import *` of ours says nowhere what it brings in."""
    yield from ((module, "*") for module in tree.stars)


def away_from_home(tree: Tree) -> Iterator[tuple[str, str]]:
    for library, homes in HOMES.items():
        yield from (pair for pair in tree.importers(library) if not inside(pair[0], *homes))


def not_for_protocols(tree: Tree) -> Iterator[tuple[str, str]]:
    """Protocols use a little of the standard library and each other; their parameters pydantic and the declaration of
    quantities.
    """
    for module, imported in tree.imports.items():
        if inside(module, "mobilenet.protocols"):
            for name in sorted(imported):
                top = name.partition(".")[0]
                declares = module.endswith("parameters") and (top == "pydantic" or name == "mobilenet.parameters")
                ours = inside(name, "mobilenet.protocols")
                if not (ours or declares or top in OF_PROTOCOLS or name == "mobilenet.clock"):
                    yield module, name


def not_for_readers(tree: Tree) -> Iterator[tuple[str, str]]:
    """What reads a run does not know what wrote it; what judges or counts knows no protocol either."""
    closed = ("mobilenet.api", "mobilenet.scenario", "mobilenet.expected", "mobilenet.simulation.plugin_code")
    for module in tree.modules:
        judges = inside(module, "mobilenet.verify", "mobilenet.metrics", "mobilenet.rundir.reader")
        if judges or inside(module, "mobilenet.export", "viz", "mobilenet.rundir.writer"):
            forbidden = ("mobilenet.simulation", "mobilenet.network", "mobilenet.engine.kernel")
            also = ("mobilenet.protocols", "mobilenet.api", "mobilenet.rundir.manifest") if judges else ()
            for name in sorted(tree.reached(module, *closed)):
                if inside(name, *forbidden, *also) and name != "mobilenet.simulation.plugin_code":
                    yield module, name


RULES = [looks_up, round_and_round, by_a_star, away_from_home, not_for_protocols, not_for_readers]
OURS = Tree(ROOT, "mobilenet", "viz", lists=LISTS)


def test_the_source_was_found() -> None:
    assert "simpy" in OURS.imports["mobilenet.engine.kernel"]
    assert "mobilenet.protocols.port" in OURS.imports["mobilenet.protocols.mobile_causal.handover"]
    assert {room_of(module) for module in OURS.modules} == {*FLOOR, None}


def test_every_module_is_in_a_room() -> None:
    assert [module for module in OURS.modules if room_of(module) is None and module not in NAMELESS] == []


@pytest.mark.parametrize("rule", RULES)
def test_nobody_breaks(rule: object) -> None:
    assert callable(rule)
    assert list(rule(OURS)) == []


def test_a_circle_that_is_allowed_is_there_and_closes_for_types_alone() -> None:
    assert [ring for ring in CIRCLES if ring not in OURS.circles(at_once=False)] == []
    assert OURS.circles(at_once=True) == []


def test_nobody_imports_what_only_a_variable_names() -> None:
    """But for the root, which hands names on, and the finder of compiled modules."""
    assert {module: count for module, count in OURS.unknown.items() if count} == BY_A_NAME_OF_THE_MOMENT


def test_protocols_meet_the_network_through_ports_alone() -> None:
    """The network runs whatever it is given; built-in protocols are named by the catalogues, and by nobody else."""
    for module, imported in OURS.imports.items():
        if inside(
            module, "mobilenet.simulation.nodes", "mobilenet.simulation.connections", "mobilenet.simulation.mobile"
        ):
            protocols = {name for name in imported if inside(name, "mobilenet.protocols")}
            assert protocols <= {"mobilenet.protocols.port", "mobilenet.scenario.protocol_catalogue"}, module


def test_the_verifier_reads_the_scenario_in_one_place() -> None:
    """It derives the promises of a run from scenario.yaml, by its declarations; nothing else of it knows scenarios."""
    pairs = {*OURS.importers("mobilenet.scenario"), *OURS.importers("mobilenet.expected")}
    knowing = {module for module, name in pairs if name != "mobilenet.expected.expectations"}
    assert {module for module in knowing if inside(module, "mobilenet.verify")} == {"mobilenet.verify.declared"}
    values = OURS.imports["mobilenet.expected.expectations"]
    assert values <= {"__future__", "collections.abc", "typing"}  # plain ones


def test_metrics_know_no_scenario() -> None:
    for module in OURS.modules:
        if inside(
            module,
            "mobilenet.metrics",
            "mobilenet.rundir.reader",
            "mobilenet.rundir.writer",
            "mobilenet.rundir.recorder",
        ):
            assert not [name for name in OURS.reached(module) if inside(name, "mobilenet.scenario")], module


def test_modules_introduce_themselves() -> None:
    for module, path in OURS.modules.items():
        assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))), f"{module} has no docstring"


def test_nothing_draws_from_a_global_generator() -> None:
    for module, imported in OURS.imports.items():
        assert "random" not in imported and "numpy.random" not in imported, module
        text = OURS.modules[module].read_text(encoding="utf-8")
        assert "np.random.seed" not in text and "default_rng" not in text, module


# --- the rules themselves


IN_EVERY_FORM = (
    "from mobilenet.simulation.mobile import Simulation",
    "from mobilenet.simulation import mobile",
    "from mobilenet.simulation import mobile as m",
    "import mobilenet.simulation.mobile",
    "import mobilenet.simulation.mobile as m",
    "from ..simulation import mobile",
    "from ..simulation.mobile import Simulation",
    "from .. import simulation",
    "from mobilenet import simulation",
    "from mobilenet.simulation.mobile import *",
    "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from mobilenet.simulation.mobile import Simulation",
    "def f():\n    from ..simulation.mobile import Simulation\n    return Simulation",
    "class C:\n    def f(self):\n        import mobilenet.simulation.mobile",
    "import importlib\nm = importlib.import_module('mobilenet.simulation.mobile')",
    "try:\n    from mobilenet.simulation import mobile\nexcept ImportError:\n    pass",
    "import importlib\nm = importlib.import_module('.mobile', package='mobilenet.simulation')",
    "import importlib\nm = importlib.import_module('.mobile', 'mobilenet.simulation')",
    "import importlib\nm = importlib.import_module('..simulation.mobile', package=__package__)",
    "import importlib\nm = importlib.import_module(name='mobilenet.simulation.mobile')",
    "import importlib as il\nm = il.import_module('mobilenet.simulation.mobile')",
    "from importlib import import_module as load\nm = load('mobilenet.simulation.mobile')",
    "import importlib\nload = importlib.import_module\nm = load('mobilenet.simulation.mobile')",
    "m = __import__('mobilenet.simulation.mobile')",
    "import mobilenet\n\ndef f():\n    return mobilenet.simulation.mobile.Simulation",
    "import mobilenet as m\n\ndef f():\n    return m.simulation.mobile.Simulation",
    "def f(s: 'mobilenet.simulation.mobile.Simulation'): ...",
    "def f() -> 'list[mobilenet.simulation.mobile.Simulation]': ...",
    "x: \"'mobilenet.simulation.mobile.Simulation' | None\" = None".replace("'", ""),
    "from mobilenet import Simulation",
    "from .. import Simulation",
    "import mobilenet\ns = mobilenet.Simulation",
    "import mobilenet\n\ndef f(s: mobilenet.Simulation): ...",
    # over a name that is bound to a package
    "from mobilenet import network\nx = network.radio.medium.Medium",
    "import mobilenet.network as n\nx = n.radio.medium.Medium",
    "from mobilenet import network as n\n\ndef f(m: n.radio.medium.Medium): ...",
    "from .. import network\nradio = network.radio\nx = radio.medium",
    "import mobilenet.network.radio\nx = mobilenet.network.radio.medium",
    "import mobilenet\nm = mobilenet\ns = m.Simulation",
    "import mobilenet\na, m = 1, mobilenet\ns = m.Simulation",
    "import mobilenet\nm: object = mobilenet\ns = m.Simulation",
    "import mobilenet\nif (m := mobilenet):\n    s = m.Simulation",
    "import mobilenet\n\ndef f(m=mobilenet):\n    return m.Simulation",
    "import mobilenet\n\nclass C:\n    m = mobilenet\n    s = m.simulation.mobile",
    "import mobilenet\n\ndef f(self):\n    self.m = mobilenet\n    return self.m.Simulation",
    # by a name in quotes
    "import mobilenet\ns = getattr(mobilenet, 'Simulation')",
    "import mobilenet\ns = getattr(mobilenet.simulation, 'mobile')",
    "import mobilenet\ns = getattr(getattr(mobilenet, 'simulation'), 'mobile')",
    "import sys\nm = sys.modules['mobilenet.simulation.mobile']",
    "import sys\ns = sys.modules['mobilenet'].Simulation",
    "import sys\nm = sys.modules.get('mobilenet.simulation.mobile')",
    "import importlib\ns = importlib.import_module('mobilenet').Simulation",
    "import pkgutil\ns = pkgutil.resolve_name('mobilenet.simulation.mobile:Simulation')",
    "import pkgutil\ns = pkgutil.resolve_name('mobilenet.simulation.mobile.Simulation')",
    "import pkgutil\ns = pkgutil.resolve_name('mobilenet:Simulation')",
    "import runpy\nrunpy.run_module('mobilenet.simulation.mobile')",
    "import runpy\nrunpy.run_module(mod_name='mobilenet.simulation.mobile')",
    "import runpy\nrunpy.run_path('mobilenet/simulation/mobile.py')",
    "NAME = 'mobilenet.simulation.mobile'",
    # in a type that only checkers read
    "from typing import cast\nx = cast('mobilenet.simulation.mobile.Simulation', None)",
    "from typing import TypeVar\nT = TypeVar('T', bound='mobilenet.simulation.mobile.Simulation')",
    "from typing import Union\nX = Union['mobilenet.simulation.mobile.Simulation', None]",
    "X = 'list[mobilenet.simulation.mobile.Simulation] | None'",
    "from mobilenet import network\nfrom typing import cast\nx = cast('network.radio.medium.Medium', None)",
    "x = None  # type: mobilenet.simulation.mobile.Simulation",
    "def f(x):\n    # type: (mobilenet.simulation.mobile.Simulation) -> None\n    pass",
    "def f(\n    x,  # type: mobilenet.simulation.mobile.Simulation\n):\n    pass",
    "from mobilenet import network\nx = []  # type: list[network.radio.medium.Medium]",
)


def planted(folder: Path, at: str, source: str) -> Tree:
    """A small package with one module that says `source`."""
    for name in ("mobilenet", "mobilenet.engine", "mobilenet.simulation", "mobilenet.simulation.mobile",
        "mobilenet.network", "mobilenet.network.radio", "mobilenet.verify",
                 "mobilenet.protocols", "mobilenet.world", "mobilenet.network.radio.medium", at):  # fmt: skip
        path = folder.joinpath(*name.split("."))
        is_package = name.count(".") < 2 and name != at
        path = path / "__init__.py" if is_package else path.with_suffix(".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        handed_on = '_HOMES = {"Simulation": ("mobilenet.simulation.mobile", "Simulation")}\n'
        path.write_text(source + "\n" if name == at else handed_on if name == "mobilenet" else "")
    return Tree(folder, "mobilenet")


@pytest.mark.parametrize("source", IN_EVERY_FORM)
def test_a_planted_import_is_seen_in_every_form(source: str, tmp_path: Path) -> None:
    found = list(looks_up(planted(tmp_path, "mobilenet.engine.clock", source)))
    assert {module for module, _ in found} == {"mobilenet.engine.clock"}
    assert all(inside(name, "mobilenet.simulation", "mobilenet.network") for _, name in found)


def test_what_is_allowed_is_not_reported(tmp_path: Path) -> None:
    source = "import mobilenet\nfrom . import clock\nfrom mobilenet.world import x\nfrom ..engine import clock"
    assert list(looks_up(planted(tmp_path, "mobilenet.simulation.a", source))) == []


@pytest.mark.parametrize(
    ("rule", "at", "source"),
    [
        (looks_up, "mobilenet.world.walk", "from ..network.radio.medium import Medium"),  # beside
        (looks_up, "mobilenet.loose", "from mobilenet.engine import clock"),  # in no room
        (looks_up, "mobilenet.verify.judge", "from mobilenet.viz.map import data"),
        (by_a_star, "mobilenet.verify.judge", "from mobilenet import *"),
        (by_a_star, "mobilenet.verify.judge", "from .. import *"),
        (by_a_star, "mobilenet.verify.judge", "from mobilenet.world import *"),
        (looks_up, "mobilenet.verify.judge", "import mobilenet.viz.map"),
        (looks_up, "mobilenet.verify.judge", "from tests.imports import Tree"),
        (looks_up, "mobilenet.verify.judge", "def f():\n    import scenarios.tutorial"),
        (away_from_home, "mobilenet.engine.clock", "def f():\n    from pyspark.sql import SparkSession"),
        (away_from_home, "mobilenet.world.walk", "import simpy.events as e"),
        (not_for_protocols, "mobilenet.protocols.own", "from time import monotonic"),
        (not_for_protocols, "mobilenet.protocols.own", "import subprocess"),
        (not_for_protocols, "mobilenet.protocols.own", "from _random import Random"),
        (not_for_protocols, "mobilenet.protocols.own", "from ..engine import clock"),
        (not_for_protocols, "mobilenet.protocols.own", "import numpy as np"),
        (not_for_readers, "mobilenet.verify.judge", "from ..simulation import mobile"),
        (not_for_readers, "mobilenet.verify.judge", "def f():\n    import mobilenet.protocols"),
    ],
)  # fmt: skip
def test_each_rule_sees_a_planted_violation(rule: object, at: str, source: str, tmp_path: Path) -> None:
    assert callable(rule)
    assert [module for module, _ in rule(planted(tmp_path, at, source))] == [at]


@pytest.mark.parametrize(
    "back", ["from mobilenet.engine import clock", "from .clock import Clock", "from . import clock"]
)
@pytest.mark.parametrize("late", ["", "def f():\n    ", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    "])
def test_a_circle_within_a_room_is_seen(back: str, late: str, tmp_path: Path) -> None:
    """However late it closes; while modules are imported, or not, is told apart."""
    planted(tmp_path, "mobilenet.engine.clock", "from mobilenet.engine import hand")
    (tmp_path / "mobilenet" / "engine" / "hand.py").write_text(f"{late}{back}\n")
    tree = Tree(tmp_path, "mobilenet")
    assert list(round_and_round(tree)) == [("mobilenet.engine.clock", "mobilenet.engine.clock mobilenet.engine.hand")]
    assert bool(tree.circles(at_once=True)) == (not late)


def test_a_circle_of_folders_is_seen(tmp_path: Path) -> None:
    planted(tmp_path, "mobilenet.network.radio.links", "from mobilenet.network import wires")
    (tmp_path / "mobilenet" / "network" / "wires.py").write_text("")
    (tmp_path / "mobilenet" / "network" / "all.py").write_text("from .radio import medium\n")
    found = list(round_and_round(Tree(tmp_path, "mobilenet")))
    assert found == [("mobilenet.network", "mobilenet.network mobilenet.network.radio")]


@pytest.mark.parametrize(
    "source",
    [
        "from importlib import import_module as load\n\ndef f(name):\n    return load(name)",
        "import sys\n\ndef f(name):\n    return sys.modules[name]",
        "import pkgutil\n\ndef f(name):\n    return pkgutil.resolve_name(name)",
        "import runpy\n\ndef f(name):\n    runpy.run_module(name)",
        "import mobilenet\n\ndef f(name):\n    return getattr(mobilenet, name)",
        "import mobilenet\ns = vars(mobilenet)",
        "import mobilenet\ns = mobilenet.__dict__",
    ],
)
def test_a_name_that_only_a_variable_holds_is_counted(source: str, tmp_path: Path) -> None:
    assert planted(tmp_path, "mobilenet.engine.clock", source).unknown["mobilenet.engine.clock"] == 1

"""Who may import whom, read from the source: kernel <- network <- simulation <- runs <- command line.

Protocols stand alone; what reads a run directory does not know what wrote it.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = [folder for folder in ("mobilenet", "viz") if (ROOT / folder).is_dir()]
STANDARD = sys.stdlib_module_names
SIMULATOR = {
    f"mobilenet.{name}" for name in ("calendar", "kernel", "movement", "nodes", "channels", "backbone", "transport", "simulation", "radio", "wired", "world", "runs", "bench", "bench_broadcasts", "yardstick", "cli", "commands", "console", "processes")
}  # fmt: skip


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(path: Path) -> set[str]:
    """All modules that a file names, whether at its head, in a function, or for type checking only."""
    here = path.relative_to(ROOT).with_suffix("").parts
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = ".".join([*here[: -node.level], *filter(None, [node.module])]) if node.level else str(node.module)
            found |= {f"{base}.{alias.name}" if f"{base}.{alias.name}" in MODULES else base for alias in node.names}
    return found


PATHS = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
MODULES = {module_of(path): path for path in PATHS}
IMPORTS = {module: imports_of(path) for module, path in MODULES.items()}


def inside(module: str, *rooms: str) -> bool:
    return any(module == room or module.startswith(room + ".") for room in rooms)


def importers(*rooms: str) -> Iterator[tuple[str, str]]:
    for module, imported in IMPORTS.items():
        for name in sorted(imported):
            if inside(name, *rooms):
                yield module, name


def test_the_source_was_found() -> None:
    assert "mobilenet.engine.kernel" in MODULES and "simpy" in IMPORTS["mobilenet.engine.kernel"]
    assert "mobilenet.protocols.port" in IMPORTS["mobilenet.protocols.mobile_causal.handover"]


@pytest.mark.parametrize(
    ("library", "rooms"),
    [
        ("simpy", ["mobilenet.engine.kernel"]),
        ("pyspark", ["mobilenet.experiments.study"]),
        ("py4j", ["mobilenet.experiments.study"]),
        ("folium", ["viz"]),
        ("branca", ["viz"]),
        ("matplotlib", ["viz"]),
        ("ruamel", ["mobilenet.scenario"]),
        ("shapely", ["mobilenet.world"]),
        ("typer", ["mobilenet.cli.main", "mobilenet.cli", "mobilenet.cli.console"]),
        ("rich", ["mobilenet.cli.main", "mobilenet.cli", "mobilenet.cli.console"]),
    ],
)
def test_a_library_stays_in_its_room(library: str, rooms: list[str]) -> None:
    assert [pair for pair in importers(library) if not inside(pair[0], *rooms)] == []


def test_protocols_stand_alone() -> None:
    """The standard library and each other; in their parameters also pydantic. No clock, no dice, no log of their own."""
    for module, imported in IMPORTS.items():
        if not inside(module, "mobilenet.protocols"):
            continue
        for name in imported:
            top = name.partition(".")[0]
            if inside(name, "mobilenet.protocols", "__future__"):
                continue
            if module.endswith("parameters"):
                assert top in STANDARD or top == "pydantic" or name == "mobilenet.parameters", (module, name)
            else:
                assert top in STANDARD, (module, name)
            assert top not in ("random", "secrets", "time", "datetime", "logging", "threading", "os", "socket"), (module, name)


def test_protocols_are_known_by_the_catalogue_alone() -> None:
    """The network runs whatever it is given."""
    network = ("mobilenet.engine.event_queue", "mobilenet.engine.kernel", "mobilenet.network.radio", "mobilenet.network.wired", "mobilenet.world", "mobilenet.simulation.movement")
    for module, imported in IMPORTS.items():
        if inside(module, *network):
            assert not [name for name in imported if inside(name, "mobilenet.protocols")], module
        if inside(module, "mobilenet.simulation.nodes", "mobilenet.simulation.connections", "mobilenet.simulation.mobile"):
            protocols = {name for name in imported if inside(name, "mobilenet.protocols")}
            assert protocols <= {"mobilenet.protocols.port", "mobilenet.protocols.catalogue"}, module


@pytest.mark.parametrize(
    ("lower", "upper"),
    [
        (["mobilenet.engine.kernel", "mobilenet.engine.random_streams", "mobilenet.parameters"], ["mobilenet.network.radio", "mobilenet.network.wired", "mobilenet.world"]),
        (["mobilenet.engine.kernel", "mobilenet.network.radio", "mobilenet.network.wired", "mobilenet.world"], ["mobilenet.simulation.movement", "mobilenet.simulation.nodes"]),
        (["mobilenet.network.radio", "mobilenet.world"], ["mobilenet.network.wired"]),
        (["mobilenet.network.wired", "mobilenet.world"], ["mobilenet.network.radio"]),
        (["mobilenet.simulation.movement", "mobilenet.simulation.nodes", "mobilenet.network.radio", "mobilenet.network.wired", "mobilenet.world", "mobilenet.engine.kernel"],
         ["mobilenet.simulation.mobile", "mobilenet.scenario"]),
        (["mobilenet.simulation.mobile", "mobilenet.rundir.writer", "mobilenet.scenario"], ["mobilenet.api"]),
        (["mobilenet.api", "mobilenet.verify", "mobilenet.metrics.mobile", "mobilenet.rundir.reader", "mobilenet.experiments.study", "mobilenet.experiments.fuzz"],
         ["mobilenet.cli.main", "mobilenet.cli", "mobilenet.cli.console", "mobilenet.experiments.bench.simulator", "mobilenet.experiments.bench.broadcasts"]),
        (["mobilenet"], ["viz"]),
    ],
)  # fmt: skip
def test_nobody_looks_up(lower: list[str], upper: list[str]) -> None:
    looks = [
        (module, name)
        for module, name in importers(*upper)
        if inside(module, *lower) and not inside(module, *upper, "mobilenet.cli.main", "mobilenet.cli", "mobilenet.cli.console")
        and not only_for_types(module, name)
    ]  # fmt: skip
    assert looks == []


def only_for_types(module: str, name: str) -> bool:
    """Whether it is imported below `if TYPE_CHECKING:` and nowhere else."""
    path = MODULES[module]
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            node.body = [ast.Pass()]
    left = {n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    return name not in left


def test_what_reads_a_run_does_not_know_what_wrote_it() -> None:
    readers = ("mobilenet.verify", "mobilenet.metrics.mobile", "mobilenet.rundir.reader", "mobilenet.rundir.writer", "viz")
    for module in IMPORTS:
        if inside(module, *readers):
            seen = reached(module)
            assert not [name for name in seen if inside(name, *SIMULATOR) and name != "mobilenet.api"], module
            if not inside(module, "viz"):
                assert not [name for name in seen if inside(name, "mobilenet.protocols", "mobilenet.api", "mobilenet.rundir.manifest")], module
            if not inside(module, "viz", "mobilenet.verify"):
                assert not [name for name in seen if inside(name, "mobilenet.scenario")], module


def test_the_verifier_reads_the_scenario_in_one_place() -> None:
    """It derives the promises of a run from scenario.yaml, by its declarations; nothing else of it knows scenarios."""
    assert {pair for pair in importers("mobilenet.scenario") if inside(pair[0], "mobilenet.verify")} == {
        ("mobilenet.verify.declared", "mobilenet.scenario.plans"),
        ("mobilenet.verify.declared", "mobilenet.scenario.promises"),
        ("mobilenet.verify.declared", "mobilenet.scenario.run_source"),
    }
    running = ("mobilenet.simulation.mobile", "mobilenet.simulation.nodes", "mobilenet.simulation.movement", "mobilenet.simulation.counters", "mobilenet.api", "mobilenet.experiments.fuzz")
    for module, imported in IMPORTS.items():
        if inside(module, "mobilenet.scenario"):
            assert not [name for name in imported if inside(name, *running, "mobilenet.network.radio.mac", "mobilenet.network.radio.medium")], module


def reached(module: str) -> set[str]:
    """All of our modules that importing this one brings in.

    Not followed are runs.py, which reads, too, and the scenario, which declares what each part of the simulator can be told.
    """
    seen: set[str] = set()
    waiting = [module]
    while waiting:
        for name in IMPORTS[waiting.pop()]:
            if name in MODULES and name not in seen and name != "mobilenet":
                seen.add(name)
                if name != "mobilenet.api" and not inside(name, "mobilenet.scenario"):
                    waiting.append(name)
    return seen


def test_modules_introduce_themselves_and_are_short() -> None:
    for module, path in MODULES.items():
        text = path.read_text(encoding="utf-8")
        if text.strip():
            assert ast.get_docstring(ast.parse(text)), f"{module} has no docstring"


def test_nothing_draws_from_a_global_generator() -> None:
    for module, imported in IMPORTS.items():
        assert "random" not in imported and "numpy.random" not in imported, module
        text = MODULES[module].read_text(encoding="utf-8")
        assert "np.random.seed" not in text and "default_rng" not in text, module

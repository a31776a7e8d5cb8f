"""What each module of a source tree imports, in whatever form it says so.

Model     absolute, relative, `from package import module`, `import a.b as c`; at the head, inside functions, below
          `if TYPE_CHECKING:`; over the root, as `from package import name` or `package.name`, where the root hands
          names of its modules on; in annotations, quoted or not; and by name through importlib with a constant,
          whatever importlib is called there. A star import counts as its package. What is imported while the module
          itself is (`at_once`) is known apart, as only that can run in a circle
Source    ours: docs/architecture.md, "Rooms"
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

BY_NAME = ("import_module", "__import__")
HANDED_ON = "_HOMES"  # of the root: name -> (module, attribute)


class Tree:
    """The modules below some folders of `root`, and what each of them imports (dotted names, ours and foreign)."""

    def __init__(self, root: Path, *folders: str) -> None:
        paths = [path for folder in folders for path in sorted((root / folder).rglob("*.py"))]
        self.modules = {name_of(path.relative_to(root)): path for path in paths}
        parsed = {module: ast.parse(path.read_text(encoding="utf-8")) for module, path in self.modules.items()}
        self._roots = {folder for folder in folders if folder in parsed}
        self._handed_on = {root: handed_on(parsed[root]) for root in self._roots}
        self.imports = {module: set(self._imports(module, tree)) for module, tree in parsed.items()}
        self.at_once = {module: set(self._said(module, head(tree))) for module, tree in parsed.items()}
        self.unknown = {module: self._unknown(module, tree) for module, tree in parsed.items()}

    def _imports(self, module: str, tree: ast.Module) -> Iterator[str]:
        nodes = list(ast.walk(tree))
        yield from self._said(module, nodes)
        callers = by_name(tree)
        for node in nodes:
            if isinstance(node, ast.Call) and (name := self._imported_by_name(module, node, callers)):
                yield name
        yield from self._over_the_root(nodes, tree)

    def _said(self, module: str, nodes: list[ast.AST]) -> Iterator[str]:
        """By import statements."""
        package = self._package(module)
        for node in nodes:
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                base = absolute("." * node.level + (node.module or ""), package)
                for alias in node.names:
                    yield self._resolved(base, alias.name)

    def _package(self, module: str) -> str:
        return module if self.modules[module].name == "__init__.py" else module.rpartition(".")[0]

    def _resolved(self, base: str, name: str) -> str:
        full = f"{base}.{name}"
        return full if full in self.modules else self._handed_on.get(base, {}).get(name, base)

    # --- by name

    def _imported_by_name(self, module: str, call: ast.Call, callers: set[str]) -> str | None:
        """The module of import_module("a.b"), where it is said outright."""
        if called(call.func) not in callers:
            return None
        said = {keyword.arg: keyword.value for keyword in call.keywords}
        name = call.args[0] if call.args else said.get("name")
        package = call.args[1] if len(call.args) > 1 else said.get("package")
        if not isinstance(name, ast.Constant) or not isinstance(name.value, str):
            return None
        known = isinstance(package, ast.Constant) and isinstance(package.value, str)
        return absolute(name.value, str(package.value) if known else self._package(module))  # type: ignore[union-attr]

    def _unknown(self, module: str, tree: ast.Module) -> int:
        """How many imports are by a name that is not said outright."""
        callers = by_name(tree)
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and called(node.func) in callers]
        return sum(self._imported_by_name(module, call, callers) is None for call in calls)

    # --- over the root

    def _over_the_root(self, nodes: list[ast.AST], tree: ast.Module) -> Iterator[str]:
        """Chains like `package.module.name`, and such in quoted annotations."""
        called_root = {root: root for root in self._roots}
        for node in nodes:
            if isinstance(node, ast.Import):
                called_root |= {alias.asname or "": alias.name for alias in node.names if alias.name in self._roots}
        for node in [*nodes, *quoted(nodes)]:
            chain = dotted(node)
            first, _, rest = chain.partition(".")
            if rest and first in called_root:
                yield self._longest(called_root[first], rest.split("."))

    def _longest(self, root: str, names: list[str]) -> str:
        for length in range(len(names), 0, -1):
            full = ".".join([root, *names[:length]])
            if full in self.modules:
                return full
        return self._resolved(root, names[0])

    # --- questions

    def importers(self, *packages: str) -> Iterator[tuple[str, str]]:
        """(module, what it imports) for everything inside these packages."""
        for module, imported in self.imports.items():
            yield from ((module, name) for name in sorted(imported) if inside(name, *packages))

    def reached(self, module: str, *closed: str) -> set[str]:
        """All of our modules that importing this one brings in; what lies behind `closed` packages is not looked at."""
        return reached(self.imports, module, *closed)

    def circles(self, at_once: bool) -> list[list[str]]:
        """Modules that import each other, round and round; `at_once`: while they are imported themselves."""
        graph = self.at_once if at_once else self.imports
        behind = {module: reached(graph, module) for module in self.modules}
        rings = {tuple(sorted({a, *(b for b in behind[a] if a in behind[b])})) for a in behind if a in behind[a]}
        return sorted(map(list, rings))


def reached(graph: dict[str, set[str]], module: str, *closed: str) -> set[str]:
    seen: set[str] = set()
    waiting = [module]
    while waiting:
        for name in graph[waiting.pop()]:
            if name in graph and name not in seen:
                seen.add(name)
                if not inside(name, *closed):
                    waiting.append(name)
    return seen


def head(tree: ast.Module) -> list[ast.AST]:
    """What runs while a module is imported: neither functions nor what only type checkers see."""
    found: list[ast.AST] = []
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        found.append(node)
        if isinstance(node, ast.If) and dotted(node.test).endswith("TYPE_CHECKING"):
            waiting += node.orelse
        elif not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            waiting += ast.iter_child_nodes(node)
    return found


def by_name(tree: ast.Module) -> set[str]:
    """What import_module is called in a module."""
    found = set(BY_NAME)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            found |= {alias.asname for alias in node.names if alias.name in BY_NAME and alias.asname}
        elif isinstance(node, ast.Assign) and called(node.value) in BY_NAME:
            found |= {called(target) for target in node.targets}
    return found


def called(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def dotted(node: ast.AST) -> str:
    """`a.b.c`; nothing for what is no such chain."""
    if isinstance(node, ast.Attribute):
        before = dotted(node.value)
        return f"{before}.{node.attr}" if before else ""
    return node.id if isinstance(node, ast.Name) else ""


def quoted(nodes: list[ast.AST]) -> Iterator[ast.AST]:
    """What stands in quotes where a type is expected."""
    for node in nodes:
        places = (getattr(node, "annotation", None), getattr(node, "returns", None))
        for part in (part for place in places if place is not None for part in ast.walk(place)):
            if isinstance(part, ast.Constant) and isinstance(part.value, str):
                try:
                    yield from ast.walk(ast.parse(part.value, mode="eval"))
                except SyntaxError:
                    continue


def handed_on(tree: ast.Module) -> dict[str, str]:
    """name -> module, of what a root imports when it is first asked for."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and called(node.targets[0]) == HANDED_ON:
            return {name: module for name, (module, _) in ast.literal_eval(node.value).items()}
    return {}


def absolute(name: str, package: str) -> str:
    """`..a` seen from a package."""
    stripped = name.lstrip(".")
    level = len(name) - len(stripped)
    parts = package.split(".")
    return ".".join([*parts[: len(parts) - level + 1], *filter(None, [stripped])]) if level else name


def name_of(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def inside(module: str, *packages: str) -> bool:
    return any(module == package or module.startswith(package + ".") for package in packages)

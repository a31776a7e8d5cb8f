"""What each module of a source tree imports, in whatever form it says so.

Model     absolute, relative, `from package import module`, `import a.b as c`; at the head, inside functions, below
          `if TYPE_CHECKING:`. Whatever name is bound to one of our packages, by an import or an assignment, is
          followed: `package.module.name`, `getattr(package, "module")`, and over the root the names that it hands on.
          So are strings and comments that name types, and strings that are the dotted name or the path of a module,
          as importlib, `sys.modules`, pkgutil and runpy take them. What is imported while the module itself is
          (`at_once`) is known apart, as only that can fail in a circle
Refused   `import *` of ours (`stars`), and what only a variable names (`unknown`)
Source    ours: docs/architecture.md, "Rooms"
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

BY_NAME = ("import_module", "__import__", "resolve_name", "run_module", "_import_module")
HANDED_ON = "_HOMES"  # of the root: name -> (module, attribute)
LONGEST_TYPE = 300  # characters, in quotes


class Tree:
    """The modules below some folders of `root`, and what each of them imports (dotted names, ours and foreign).

    `lists`: modules whose strings are names for other purposes than importing.
    """

    def __init__(self, root: Path, *folders: str, lists: tuple[str, ...] = ()) -> None:
        paths = [path for folder in folders for path in sorted((root / folder).rglob("*.py"))]
        self.modules = {name_of(path.relative_to(root)): path for path in paths}
        self._by_path = {path.relative_to(root).as_posix(): name for name, path in self.modules.items()}
        parsed = {
            module: ast.parse(path.read_text(encoding="utf-8"), type_comments=True)
            for module, path in self.modules.items()
        }
        self._roots = {folder for folder in folders if folder in parsed}
        self._handed_on = {root: handed_on(parsed[root]) for root in self._roots}
        readers = {module: _Module(self, module, tree) for module, tree in parsed.items()}
        self.imports = {
            module: {*reader.said(reader.nodes), *reader.meant(reader.nodes)} for module, reader in readers.items()
        }
        for module, reader in readers.items():
            if module not in {*self._roots, *lists}:
                self.imports[module] |= set(reader.in_strings()) - {module}
        heads = {module: head(tree) for module, tree in parsed.items()}
        self.at_once = {module: {*reader.said(heads[module]), *reader.meant(heads[module])}
                        for module, reader in readers.items()}  # fmt: skip
        self.unknown = {module: reader.unknown() for module, reader in readers.items()}
        self.stars = [module for module, reader in readers.items() if reader.has_stars()]

    def package(self, module: str) -> str:
        return module if self.modules[module].name == "__init__.py" else module.rpartition(".")[0]

    def resolved(self, base: str, name: str) -> str:
        full = f"{base}.{name}"
        return full if full in self.modules else self._handed_on.get(base, {}).get(name, base)

    def longest(self, name: str) -> str | None:
        """The module that a dotted name lies in; what the root hands on lies where it comes from."""
        parts = name.split(".")
        for length in range(len(parts), 0, -1):
            full = ".".join(parts[:length])
            if full in self.modules:
                return self.resolved(full, parts[length]) if length < len(parts) else full
        return None

    def named(self, text: str) -> str | None:
        """The module that a string names: a.b, a.b.C, a.b:C, a/b.py. The root alone is a word like others."""
        name, _, attribute = text.partition(":")
        if name in self._by_path:
            return self._by_path[name]
        parts = [*name.split("."), *filter(None, attribute.split("."))]
        if len(parts) < 2 or not all(part.isidentifier() for part in parts) or parts[0] not in self._roots:
            return None
        found = self.longest(".".join(parts))
        return None if found in self._roots else found

    def is_root(self, name: str | None) -> bool:
        return name in self._roots

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
        return rings(self.at_once if at_once else self.imports)

    def circles_of_packages(self) -> list[list[str]]:
        """The same of folders; modules of the root stand for themselves, and the root hands on what others are."""

        def folder(name: str) -> str:
            return name if name.count(".") < 2 else self.package(name)

        graph: dict[str, set[str]] = {folder(module): set() for module in self.modules}
        for module, imported in self.imports.items():
            if module not in self._roots:
                ours = {folder(name) for name in imported if name in self.modules}
                graph[folder(module)] |= ours - {folder(module)}
        return rings(graph)


class _Module:
    """One module that is read."""

    def __init__(self, tree: Tree, name: str, parsed: ast.Module) -> None:
        self.tree = tree
        self.name = name
        self.parsed = parsed
        self.nodes = list(ast.walk(parsed))
        self.nodes += [inside for node in self.nodes for inside in commented(node)]
        self.callers = by_name(parsed)
        self.package = tree.package(name)
        self.bound = {root: root for root in tree._roots}
        self._bind()

    def said(self, nodes: Iterable[ast.AST]) -> Iterator[str]:
        """By import statements."""
        for node in nodes:
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                base = absolute("." * node.level + (node.module or ""), self.package)
                for alias in node.names:
                    yield self.tree.resolved(base, alias.name)

    def has_stars(self) -> bool:
        stars = [node for node in self.nodes if isinstance(node, ast.ImportFrom) and node.names[0].name == "*"]
        return any(
            absolute("." * star.level + (star.module or ""), self.package) in self.tree.modules for star in stars
        )

    # --- what names are bound to

    def _bind(self) -> None:
        for node in self.nodes:
            if isinstance(node, ast.Import):
                for alias in node.names:
                    name = alias.name if alias.asname else alias.name.partition(".")[0]
                    if name in self.tree.modules:
                        self.bound[alias.asname or name] = name
            elif isinstance(node, ast.ImportFrom):
                base = absolute("." * node.level + (node.module or ""), self.package)
                for alias in node.names:
                    if f"{base}.{alias.name}" in self.tree.modules:
                        self.bound[alias.asname or alias.name] = f"{base}.{alias.name}"
        before = -1
        while before != len(self.bound):  # until nothing new is bound: a = package; b = a.module
            before = len(self.bound)
            for node in self.nodes:
                for target, value in assigned(node):
                    name = self.module_of(value)
                    if name is not None and dotted(target):
                        self.bound.setdefault(dotted(target), name)

    def module_of(self, node: ast.AST) -> str | None:
        """The one of our modules that an expression is."""
        if dotted(node) in self.bound:
            return self.bound[dotted(node)]
        if isinstance(node, ast.Attribute):
            return self._inside(node.value, node.attr)
        if isinstance(node, ast.Call) and called(node.func) == "getattr" and len(node.args) > 1:
            name = constant(node.args[1])
            return None if name is None else self._inside(node.args[0], name)
        if isinstance(node, ast.Call) and called(node.func) in self.callers:
            name = self._imported_by_name(node)
            return name if name in self.tree.modules else None
        if isinstance(node, ast.Subscript):  # sys.modules["a.b"]
            name = constant(node.slice)
            return name if name in self.tree.modules and called(node.value) == "modules" else None
        return None

    def _inside(self, value: ast.AST, name: str) -> str | None:
        base = self.module_of(value)
        full = f"{base}.{name}"
        return full if base is not None and full in self.tree.modules else None

    # --- what expressions mean

    def meant(self, nodes: Iterable[ast.AST]) -> Iterator[str]:
        """By chains like `package.module.name`, and by calls that take a name."""
        for node in nodes:
            base, name = None, None
            if isinstance(node, ast.Attribute):
                base, name = self.module_of(node.value), node.attr
            elif isinstance(node, ast.Call) and called(node.func) == "getattr" and len(node.args) > 1:
                base, name = self.module_of(node.args[0]), constant(node.args[1])
            if base is not None and name is not None:
                found = self.tree.resolved(base, name)
                if not self.tree.is_root(found):
                    yield found
            if isinstance(node, ast.Call) and called(node.func) in self.callers:
                found_by_name = self._imported_by_name(node)
                if found_by_name is not None:
                    yield found_by_name
            elif isinstance(node, ast.Subscript) and (module := self.module_of(node)) is not None:
                yield module

    def in_strings(self) -> Iterator[str]:
        """By strings: the name or the path of a module, or a type in quotes."""
        documents = {id(node.value) for node in self.nodes if isinstance(node, ast.Expr)}
        for node in self.nodes:
            text = constant(node)
            if text is None or id(node) in documents or len(text) > LONGEST_TYPE:
                continue
            if (name := self.tree.named(text)) is not None:
                yield name
            elif "." in text:
                yield from self.meant(parsed(text, "eval"))

    def _imported_by_name(self, call: ast.Call) -> str | None:
        """The module of import_module("a.b"), where it is said outright."""
        said = {keyword.arg: keyword.value for keyword in call.keywords}
        name = constant(call.args[0] if call.args else said.get("name") or said.get("mod_name"))
        package = constant(call.args[1] if len(call.args) > 1 else said.get("package"))
        if name is None:
            return None
        full = absolute(name.partition(":")[0], package or self.package)
        return self.tree.named(full) or full

    def unknown(self) -> int:
        """How many imports are by a name that is not said outright; the root itself, handed to somebody, is one."""
        calls = [node for node in self.nodes if isinstance(node, ast.Call) and called(node.func) in self.callers]
        count = sum(self._imported_by_name(call) is None for call in calls)
        known = {id(node.value) for node in self.nodes if isinstance(node, ast.Attribute) and node.attr != "__dict__"}
        known |= {id(value) for node in self.nodes for target, value in assigned(node) if dotted(target)}
        known |= {
            id(node.args[0])
            for node in self.nodes
            if isinstance(node, ast.Call) and called(node.func) == "getattr" and constant(node.args[1]) is not None
        }
        for node in self.nodes:
            is_read = isinstance(getattr(node, "ctx", None), ast.Load)
            if isinstance(node, ast.Subscript):
                is_modules = dotted(node.value) in ("sys.modules", "modules")
                count += is_modules and is_read and constant(node.slice) is None
            elif isinstance(node, (ast.Name, ast.Attribute)) and is_read and id(node) not in known:
                count += self.tree.is_root(self.module_of(node))
        return count


def rings(graph: dict[str, set[str]]) -> list[list[str]]:
    behind = {name: reached(graph, name) for name in graph}
    found = {tuple(sorted({a, *(b for b in behind[a] if a in behind[b])})) for a in behind if a in behind[a]}
    return sorted(map(list, found))


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


def constant(node: ast.AST | None) -> str | None:
    """The string that an expression is."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def assigned(node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """(target, value): of assignments, walruses, and defaults of parameters."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                yield from zip(target.elts, node.value.elts, strict=False)
            else:
                yield target, node.value
    elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)) and node.value is not None:
        yield node.target, node.value
    elif isinstance(node, ast.arguments):
        places = [*node.posonlyargs, *node.args]
        pairs = [*zip(places[len(places) - len(node.defaults) :], node.defaults, strict=True)]
        pairs += [(place, value) for place, value in zip(node.kwonlyargs, node.kw_defaults, strict=True) if value]
        yield from ((ast.Name(place.arg), value) for place, value in pairs)


def parsed(text: str, mode: str) -> list[ast.AST]:
    """What stands in quotes or in a comment, if it is an expression, and what stands in quotes within."""
    try:
        nodes = list(ast.walk(ast.parse(text.strip(), mode=mode)))
    except (SyntaxError, ValueError):
        return []
    return [*nodes, *(inner for node in nodes if (inside := constant(node)) for inner in parsed(inside, "eval"))]


def commented(node: ast.AST) -> list[ast.AST]:
    """The types of a `# type:` comment."""
    comment = getattr(node, "type_comment", None)
    is_function = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    return parsed(comment, "func_type" if is_function else "eval") if comment else []


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

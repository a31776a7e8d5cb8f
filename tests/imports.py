"""What each module of a source tree imports, in whatever form it says so.

Model     absolute, relative, `from package import module`, `import a.b as c`; at the head, inside functions, below
          `if TYPE_CHECKING:`, and by name through importlib with a constant. A star import counts as its package
Source    ours: docs/architecture.md, "Rooms"
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path


class Tree:
    """The modules below some folders of `root`, and what each of them imports (dotted names, ours and foreign)."""

    def __init__(self, root: Path, *folders: str) -> None:
        paths = [path for folder in folders for path in sorted((root / folder).rglob("*.py"))]
        self.modules = {name_of(path.relative_to(root)): path for path in paths}
        self.imports = {module: set(self._imports(module, path)) for module, path in self.modules.items()}

    def _imports(self, module: str, path: Path) -> Iterator[str]:
        package = module if path.name == "__init__.py" else module.rpartition(".")[0]
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                base = self._base(package, node)
                for alias in node.names:
                    full = f"{base}.{alias.name}"
                    yield full if full in self.modules else base
            elif isinstance(node, ast.Call) and (name := self._imported_by_name(node)):
                yield name

    @staticmethod
    def _base(package: str, node: ast.ImportFrom) -> str:
        if not node.level:
            return str(node.module)
        parts = package.split(".")
        return ".".join([*parts[: len(parts) - node.level + 1], *filter(None, [node.module])])

    @staticmethod
    def _imported_by_name(call: ast.Call) -> str | None:
        """The module of import_module("a.b") or __import__("a.b"), where it is said outright."""
        function = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        if function not in ("import_module", "__import__") or not call.args:
            return None
        first = call.args[0]
        return first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else None

    def importers(self, *packages: str) -> Iterator[tuple[str, str]]:
        """(module, what it imports) for everything inside these packages."""
        for module, imported in self.imports.items():
            yield from ((module, name) for name in sorted(imported) if inside(name, *packages))

    def reached(self, module: str, *closed: str) -> set[str]:
        """All of our modules that importing this one brings in; what lies behind `closed` packages is not looked at."""
        seen: set[str] = set()
        waiting = [module]
        while waiting:
            for name in self.imports[waiting.pop()]:
                if name in self.modules and name not in seen:
                    seen.add(name)
                    if not inside(name, *closed):
                        waiting.append(name)
        return seen


def name_of(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def inside(module: str, *packages: str) -> bool:
    return any(module == package or module.startswith(package + ".") for package in packages)

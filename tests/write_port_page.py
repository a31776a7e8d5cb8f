"""Write the tables of calls in docs/guide/port.md from the docstrings of mobilenet/protocols/port.py.

    python -m tests.write_port_page

Model     The text between two markers of the page is replaced by the description of a class and by a table with a row
          for each of its attributes and calls. tests/protocols/test_port_page.py compares the page with the code.
Source    mobilenet/protocols/port.py
"""

from __future__ import annotations

import ast
import re
import sys
import textwrap
from pathlib import Path

from mobilenet.protocols import port
from tests.tools import between_marks

PAGE = Path(__file__).parents[1] / "docs" / "guide" / "port.md"
SOURCE = Path(port.__file__).read_text(encoding="utf-8")
CLASSES = {node.name: node for node in ast.parse(SOURCE).body if isinstance(node, ast.ClassDef)}
NOT_FOR_PLUG_INS = {"UnicastPort", "UnicastHostPort", "UnicastStationPort"}


def sentence(node: ast.ClassDef | ast.FunctionDef) -> str:
    """Return the docstring as one line, with links relative to the page."""
    text = " ".join((ast.get_docstring(node) or "").split())
    return re.sub(r"docs/([\w/-]+\.md(?:#[\w-]+)?)", r"[\1](../\1)", text)


def call(node: ast.FunctionDef) -> str:
    given = [a.arg + (f": {ast.unparse(a.annotation)}" if a.annotation else "") for a in node.args.args[1:]]
    result = ast.unparse(node.returns) if node.returns else "None"
    arrow = "" if result == "None" else f" -> {result}"
    is_property = any(ast.unparse(one) == "property" for one in node.decorator_list)
    taken = "" if is_property else f"({', '.join(given)})"
    text = f"{node.name}{taken}{arrow}"
    return text.replace(" | ", " or ").replace("Any", "object")


def attribute(node: ast.AnnAssign) -> tuple[str, str]:
    """Return the name and type of an attribute, and the comment at the end of its line."""
    kind = re.sub(r"ClassVar\[(.*)\]", r"\1", ast.unparse(node.annotation))
    comment = SOURCE.splitlines()[node.lineno - 1].partition("  # ")[2]
    return f"{ast.unparse(node.target)}: {kind}", comment


def rows(name: str) -> list[tuple[str, str]]:
    table_rows = []
    for node in CLASSES[name].body:
        if isinstance(node, ast.FunctionDef):
            table_rows.append((call(node), sentence(node)))
        elif isinstance(node, ast.AnnAssign):
            table_rows.append(attribute(node))
    return table_rows


def table(name: str) -> str:
    lines = [f"| `{what}` | {words} |" for what, words in rows(name)]
    words = textwrap.wrap(sentence(CLASSES[name]), 100, break_long_words=False, break_on_hyphens=False)
    return "\n".join([*words, "", "| call | what it does |", "|---|---|", *lines])


def classes_in(page: str) -> list[str]:
    return re.findall(r"<!-- port: (\w+) -->", page)


def with_tables(page: str) -> str:
    for name in classes_in(page):
        page = between_marks(page, f"<!-- port: {name} -->", f"<!-- end of port: {name} -->", table(name))
    return page


def main() -> int:
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    print(f"Next: git diff {PAGE.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

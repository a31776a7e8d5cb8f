"""Run axe-core in a page and report the accessibility rules that the page violates.

Source    https://github.com/dequelabs/axe-core
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.resources import files

from tests.browser import Page

SCRIPT = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
SERIOUS = ("serious", "critical")
LESSER = ("heading-order", "region", "landmark-unique", "page-has-heading-one", "empty-table-header")


def obstacles(page: Page, lesser: Sequence[str] = LESSER) -> list[str]:
    """Return the serious rules that the page violates, each with its location, and the minor rules that `lesser` names.

    Collapsed details are opened first, because axe-core skips them. Each table is cut to ten rows, because checking
    hundreds of rows takes long.
    """
    page.evaluate("document.querySelectorAll('details').forEach((details) => { details.open = true; })")
    page.evaluate("document.querySelectorAll('tbody tr:nth-child(n + 11)').forEach((row) => row.remove())")
    page.evaluate(f"{{ {SCRIPT} }}; typeof axe")
    wanted = f"({{impact, id}}) => {json.dumps(SERIOUS)}.includes(impact) || {json.dumps(lesser)}.includes(id)"
    where = "({id, nodes}) => nodes.map(({target}) => `${id}: ${target}`)"
    script = f"axe.run({{iframes: false}}).then((all) => all.violations.filter({wanted}).flatMap({where}))"
    return list(page.evaluate(script))

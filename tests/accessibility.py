"""Violations of accessibility rules that axe-core finds in a page.

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
    """Return the rules that the page breaks, and where: serious ones, and with `lesser` the minor ones too.

    Collapsed details are opened first, since axe-core skips them; each table is cut to ten rows, since hundreds take
    long.
    """
    page.evaluate("document.querySelectorAll('details').forEach((details) => { details.open = true; })")
    page.evaluate("document.querySelectorAll('tbody tr:nth-child(n + 11)').forEach((row) => row.remove())")
    page.evaluate(f"{{ {SCRIPT} }}; typeof axe")
    wanted = f"({{impact, id}}) => {json.dumps(SERIOUS)}.includes(impact) || {json.dumps(lesser)}.includes(id)"
    where = "({id, nodes}) => nodes.map(({target}) => `${id}: ${target}`)"
    script = f"axe.run({{iframes: false}}).then((all) => all.violations.filter({wanted}).flatMap({where}))"
    return list(page.evaluate(script))

"""What axe-core finds in a page.

Source    https://github.com/dequelabs/axe-core
"""

from __future__ import annotations

import json
from importlib.resources import files

from tests.browser import Page

SCRIPT = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
SERIOUS = ("serious", "critical")
LESSER = ("heading-order", "region", "landmark-unique", "page-has-heading-one", "empty-table-header")


def obstacles(page: Page) -> list[str]:
    """The rules that the page breaks, and where: serious ones, and the lesser ones above."""
    page.evaluate(f"{{ {SCRIPT} }}; typeof axe")
    wanted = f"({{impact, id}}) => {json.dumps(SERIOUS)}.includes(impact) || {json.dumps(LESSER)}.includes(id)"
    where = "({id, nodes}) => nodes.map(({target}) => `${id}: ${target}`)"
    script = f"axe.run({{iframes: false}}).then((all) => all.violations.filter({wanted}).flatMap({where}))"
    return list(page.evaluate(script))

"""Write the table of views in docs/guide/query.md from the declarations of the views.

    python -m tests.write_views_page

Model     The table replaces the text between two markers of the page. tests/lab/studies/query/test_query.py compares
          the page with the code.
Source    mobilenet/lab/studies/query/views.py
"""

from __future__ import annotations

from pathlib import Path

from mobilenet.lab.studies.query.places import FACTS
from mobilenet.lab.studies.query.views import RUNS, VIEWS
from tests.tools import between_marks
from tests.write_verdict_tables import table

PAGE = Path(__file__).parents[1] / "docs" / "guide" / "query.md"


def with_views(page: str) -> str:
    rows = [(f"`{RUNS}`", "each run, with its metrics", ", ".join(f"`{name}` {kind}" for name, kind in FACTS.items()))]
    for view in VIEWS.values():
        columns = [
            f"`{column.name}` {column.kind}" + (f" ({column.description})" if column.description else "")
            for column in view.columns
        ]
        needs = f"; with `{view.needs}`" if view.needs else ""
        rows.append((f"`{view.name}`", view.description + needs, ", ".join(columns)))
    return between_marks(page, "<!-- views -->", "<!-- end of views -->", table("view | a row for | columns", rows))


if __name__ == "__main__":
    PAGE.write_text(with_views(PAGE.read_text(encoding="utf-8")), encoding="utf-8")

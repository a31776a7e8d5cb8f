"""Write the tables of checks and metrics in docs/verdicts-and-metrics.md from the declarations in the code.

    python -m tests.write_verdict_tables

Model     The tables replace the text between two markers of the page. tests/test_docs.py compares the page with the
          code. The column "decided in" lists the modules of the functions and judges that the answer of a check calls.
Source    mobilenet/verify/hosts.py, mobilenet/verify/processes.py, mobilenet/protocols/*/promises.py,
          mobilenet/metrics/registry.py
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, get_type_hints

from mobilenet.metrics.declaration import Declared
from mobilenet.metrics.registry import OF_HOSTS, OF_PROCESSES
from mobilenet.scenario.protocol_catalogue import CATALOGUE
from mobilenet.verify import hosts, processes
from mobilenet.verify.among_processes.properties import ProcessJudge
from mobilenet.verify.broadcasts.judge import BroadcastJudge
from mobilenet.verify.check import Check, always
from mobilenet.verify.evidence import Evidence
from tests.tools import between_marks

JUDGES = (BroadcastJudge, ProcessJudge)  # evidence.py imports these classes only for type checkers.
PAGE = Path(__file__).parents[1] / "docs" / "verdicts-and-metrics.md"
OF_PROTOCOLS = {one.name: import_module(one.checks).CHECKS for one in CATALOGUE if isinstance(one.checks, str)}


def table(head: str, rows: Iterable[tuple[str, ...]]) -> str:
    return "\n".join([f"| {head} |", "|---" * (head.count("|") + 1) + "|", *(f"| {' | '.join(row)} |" for row in rows)])


def metrics(declared: dict[str, Declared]) -> str:
    rows = [(f"`{metric.name}`", metric.words, metric.unit or "–") for metric in declared.values()]
    return table("metric | what it is | unit", rows)


def checks(declared: Iterable[Check]) -> Iterator[tuple[str, ...]]:
    for check in declared:
        condition = (check.applies.__doc__ or "").removeprefix("Return whether ").rstrip(".")
        only_if = "–" if check.applies is always else condition
        modules = [f"`{name.removeprefix('mobilenet.').replace('.', '/')}.py`" for name in decided_in(check.answer)]
        tables = [f"`{name}`" for name in check.tables]
        yield f"`{check.property}`", check.asks, only_if, ", ".join(tables), ", ".join(modules)


def _result(judge: cached_property[Any]) -> Any:
    return get_type_hints(judge.func, localns={one.__name__: one for one in JUDGES})["return"]


def decided_in(answer: Any) -> list[str]:
    """Return the module of an answer and the modules of the functions that the answer calls."""
    names = (name for name in answer.__code__.co_names if name not in ("events", "promises"))
    things = [answer.__globals__.get(name, getattr(Evidence, name, None)) for name in names]
    things = [_result(one) if isinstance(one, cached_property) else one for one in things]
    modules = {getattr(one, "__module__", None) for one in things if callable(one)}
    judging = {name for name in modules if name and re.match(r"mobilenet\.(verify|protocols)\.", name)}
    # A lambda only calls other functions, so its module does not count.
    own = set() if "<" in answer.__qualname__ else {answer.__module__}
    return sorted(judging - {"mobilenet.verify.verdict"} | own)


HEAD = "property | what must hold | only if | tables | decided in"
TABLES = {
    "checks: hosts": table(HEAD, checks(hosts.CHECKS)),
    "checks: processes": table(HEAD, checks(processes.CHECKS)),
    "checks: protocols": table(
        f"protocol | {HEAD}", ((f"`{name}`", *row) for name, own in OF_PROTOCOLS.items() for row in checks(own))
    ),
    "metrics: mobile": metrics(OF_HOSTS.declared),
    "metrics: processes": metrics(OF_PROCESSES.declared),
}


def with_tables(page: str) -> str:
    for name, rows in TABLES.items():
        page = between_marks(page, f"<!-- {name} -->", f"<!-- end of {name} -->", rows)
    return page


def main() -> int:
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    print(f"Next: git diff {PAGE.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

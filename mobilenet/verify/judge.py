"""Judge one run: a verdict for each property.

Errors    RunError for a directory that is not a complete run
Source    ours: docs/verdicts-and-metrics.md
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from mobilenet.quoting import cut
from mobilenet.record.reader import RunError
from mobilenet.record.soundness import fault
from mobilenet.verify.check import Check, judge
from mobilenet.verify.evidence import Evidence
from mobilenet.verify.verdict import Answer, Verdict

__all__ = ["Answer", "Evidence", "Verdict", "overall", "verify", "verify_run"]


def overall(verdicts: dict[str, Verdict]) -> Answer:
    """Return violated if any verdict is violated, otherwise unknown if any is unknown, otherwise valid."""
    answers = {verdict.answer for verdict in verdicts.values()}
    return "violated" if "violated" in answers else "unknown" if "unknown" in answers else "valid"


NEEDS_CODE = Verdict("unknown", "this promise is judged by code of the plug-in, which runs only with --allow-code")


def read_run(directory: Path) -> Evidence:
    """Read the parts of a run directory that the checks of its kind need."""
    run = Evidence.of_directory(directory)
    with judging(directory):
        return run.read_tables(directory, {table for check in checks_of(run) for table in check.tables})


def verify_run(directory: Path, own: Iterable[Check] = ()) -> dict[str, Verdict]:
    """Judge a run directory. `own`: the checks of promises in the run's plug-in."""
    run = read_run(directory)
    with judging(directory):
        return verify(run, own)


@contextmanager
def judging(directory: Path) -> Iterator[None]:
    """Raise RunError for a record that no run can have written, for example because it was edited."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        what = cut(f"{type(error).__name__}: {error}", 200)
        general = f"{directory}: its record is none that mobilenet writes ({what}); repeat the run"
        raise RunError(fault(directory) or general) from error


def verify(run: Evidence, own: Iterable[Check] = ()) -> dict[str, Verdict]:
    """Judge the record of a run. `own`: the checks of promises in the run's plug-in."""
    checks = (*checks_of(run), *own)
    asked = {check.property for check in checks if check.applies(run)} | {"record"}
    general = [name for name in _kind(run).properties_of(run.promises) if name in asked]
    run.checks = frozenset(general)
    theirs = dict.fromkeys(dict(run.manifest.get("own_checks", {})), NEEDS_CODE)
    verdicts = judge(run, checks, (*general, *(name for name in theirs if name in asked)))
    return verdicts | {name: verdict for name, verdict in theirs.items() if name not in verdicts}


def known_properties() -> frozenset[str]:
    """Return the properties of all kinds of runs."""
    from mobilenet.verify import hosts, processes

    return frozenset(check.property for check in (*hosts.CHECKS, *processes.CHECKS))


def checks_of(run: Evidence) -> tuple[Check, ...]:
    """Return the checks for all runs of this kind and for the promises of the run's protocol."""
    known = None if run.of_hosts is None else run.of_hosts.protocol
    own: tuple[Check, ...] = () if known is None else import_module(known.checks).CHECKS
    return (*_kind(run).CHECKS, *own)


def _kind(run: Evidence) -> Any:
    """Return the module with the checks of this kind of run. Only this module is loaded."""
    return import_module(f"mobilenet.verify.{run.kind.name}")

"""Explore cases one after the other, each in a separate process so that its memory can be measured.

Model     The search runs depth first. If it finds a violation, a breadth-first search gives a shortest trace.
Units     seconds, GiB
Errors    RuntimeError if a process ends without a report. A violation does not raise an error, but is reported
Source    ours
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from multiprocessing.connection import Connection
from typing import NamedTuple

from mobilenet.lab.workers import spawning
from mobilenet.quoting import pluralize

from .case import Case
from .search import Progress, Result, Search
from .trace import lines_of, trace_of

LONGEST = 40  # maximum number of trace lines to print


class CaseProgress(NamedTuple):
    case: Case
    progress: Progress


class Report(NamedTuple):
    case: Case
    result: Result
    trace: tuple[str, ...]  # The steps that lead to the violation.


def explore(cases: Iterable[Case], seconds: float = 900, gib: float = 16) -> Iterator[CaseProgress | Report]:
    """Yield the progress of each case while it is explored, and then its report."""
    context = spawning()
    for case in cases:
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(target=_explore, args=(theirs, case, seconds, gib))
        process.start()
        theirs.close()
        try:
            yield from _follow(ours, case)
        finally:
            process.terminate()
            process.join()


def _follow(pipe: Connection, case: Case) -> Iterator[CaseProgress | Report]:
    while True:
        try:
            message = pipe.recv()
        except EOFError:
            raise RuntimeError(f"the search of {case.name} ended without a result") from None
        if isinstance(message, Report):
            yield message
            return
        yield CaseProgress(case, message)


def _explore(pipe: Connection, case: Case, seconds: float, gib: float) -> None:
    search = Search(case)
    for progress in search.run(seconds, gib):
        pipe.send(progress)
    assert search.result is not None
    result = search.result._replace(path=(), after=())
    trace = () if result.violation is None else shortest(case, search, seconds, gib)
    pipe.send(Report(case, result, trace))
    pipe.close()


def shortest(case: Case, first_search: Search, seconds: float, gib: float) -> tuple[str, ...]:
    """Return the lines of a shortest trace, or an empty tuple if the search does not find the violation in time."""
    search = Search(case, first_search.space)
    for _ in search.run(seconds, gib, breadth=True):
        pass
    if search.result is None or search.result.violation is None:
        return ()
    lines = lines_of(case, trace_of(search))
    return tuple(
        lines if len(lines) <= LONGEST else [*lines[: LONGEST - 1], f"     ... and {len(lines) - LONGEST + 1} more"]
    )


def bounds(case: Case) -> str:
    """Describe the limits of a case in words."""
    count = [pluralize(case.stations, "station"), pluralize(len(case.cells), "host")]
    may = [f"up to {pluralize(sum(case.messages), 'message')}"] if any(case.messages) else []
    for number, what in ((case.moves, "move"), (case.crashes, "crash"), (case.leaves, "leave"), (case.joins, "join")):
        may += [pluralize(number, what)] if number else []
    begin = "all are members and have delivered one message from each host" if case.joined else "all have asked to join"
    return (
        f"{' and '.join(count)}, {', '.join(may) or 'nothing happens to them'}; initially, {begin}; any number of "
        f"losses, copies and late frames, timers in any order, any number of times; {_counted_frames(case)}"
    )


def _counted_frames(case: Case) -> str:
    if not case.counted:
        return "no frame is counted"
    return f"each {' or '.join(case.counted)} takes effect once, and late copies {case.repeats} more times in total"

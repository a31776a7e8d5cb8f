"""Show which mutants of the mobile causal broadcast the explorer finds, and how many schedules the swarm needs to find
them.

    python -m tests.lab.hunt.exhaustion.mutants [name ...] [--seconds 20] [--swarm 0] [--traces]

Model     Each mutant undoes the repair of one rule (tests/protocols/mobile_causal/mutants.py). The explorer searches
          one case after another breadth first, without the assertions of the protocol itself, until a check fails.
          Mutants of the T extension (F15) and of windows (F14) are left out, because they depend on time and load, and
          states do not contain clocks.
Prints    Markdown: the case in which the mutant is found, the check that fails, and the number of steps of the shortest
          trace. With --swarm N, it also prints how many random schedules the swarm needs, up to N.
Source    ours
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from mobilenet.lab.hunt.exhaustion.case import Case
from mobilenet.lab.hunt.exhaustion.cases import CASES, THREE, TWO, mobile_case
from mobilenet.lab.hunt.exhaustion.search import Search
from mobilenet.lab.hunt.exhaustion.trace import lines_of, trace_of
from mobilenet.protocols import mobile_causal
from mobilenet.protocols.declaration import declare
from tests.protocols.mobile_causal.mutants import MUTANTS, hunt, load

OUT_OF_SCOPE = ("F14", "F15")
TRIED = (
    CASES["one_move"],
    CASES["two_messages_one_crash"],
    CASES["leave_and_join"],
    mobile_case("join_and_leave", (0,), (0,), parents=TWO, joined=False, leaves=1),
    mobile_case("mover_and_talker_1", (0, 1), (0, 1), parents=TWO, moves=1),
    mobile_case("leave_move_join", (0,), (1,), parents=TWO, leaves=1, joins=1, moves=1),
    CASES["leave_two_moves"],
    mobile_case("one_message_two_moves", (0,), (1,), parents=TWO, moves=2),
    mobile_case("three_moves", (0,), (0,), parents=THREE, moves=3),
    mobile_case("both_talk", (0, 1), (1, 1), parents=TWO, moves=1, crashes=1),
    CASES["two_messages_two_moves"],
)


def classes_of(name: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return factories for the hosts and stations of a mutant. They turn off the assertions of the protocol itself."""
    protocol = load(name)

    def host(port: Any, stable: Any, parameters: Any, stations: int) -> Any:
        return protocol.Host(port, stable, parameters, stations, False)

    def station(port: Any, wired: Any, parameters: Any, stations: int) -> Any:
        return protocol.Station(port, wired, parameters, stations, False)

    return host, station


def with_protocol(case: Case, host: Any, station: Any) -> Case:
    """Return the case with these classes for hosts and stations instead of the built-in ones."""
    return replace(case, roles=declare(host, station, mobile_causal.Stable))


class FoundViolation(NamedTuple):
    name: str
    case: Case | None  # The case in which a violation was found, or None.
    check: str
    lines: tuple[str, ...]
    unfinished: tuple[str, ...]  # cases whose search was not complete after the given time


def explore(name: str, seconds: float, cases: Sequence[Case] = TRIED) -> FoundViolation:
    unfinished: list[str] = []
    for case in cases:
        changed = with_protocol(case, *classes_of(name))
        search = Search(changed)
        for _ in search.run(seconds, breadth=True):
            pass
        result = search.result
        assert result is not None
        if result.violation is not None:
            lines = tuple(lines_of(changed, trace_of(search)))
            return FoundViolation(name, case, result.violation.check, lines, tuple(unfinished))
        if result.outcome == "stopped":
            unfinished.append(case.name)
    return FoundViolation(name, None, "", (), tuple(unfinished))


def row(result: FoundViolation, swarm: str) -> str:
    rule = MUTANTS[result.name].rule
    if result.case is None:
        what = "not found" + (f"; not exhausted: {', '.join(result.unfinished)}" if result.unfinished else "")
        cells = [what, "", ""]
    else:
        cells = [result.case.name, result.check, str(len(result.lines) - 1)]
    return f"| `{result.name}` | {rule} | {' | '.join(cells)} | {swarm} |"


def swarm_needs(name: str, limit: int) -> str:
    """Return how many schedules a swarm needs to find the mutant, as text."""
    if not limit:
        return ""
    kill = hunt(name, limit)
    return f"{kill.schedules:,}" if kill.check else f"more than {limit:,}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--seconds", type=float, default=20, help="for each mutant and case")
    parser.add_argument("--swarm", type=int, default=0, help="schedules at most; 0: do not run it")
    parser.add_argument("--traces", action="store_true")
    arguments = parser.parse_args()
    names = arguments.names or [name for name, m in MUTANTS.items() if m.rule not in OUT_OF_SCOPE]
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    ).stdout.strip()
    print(f"`python -m {__spec__.name} {' '.join(sys.argv[1:])}`, commit {commit}, {time.strftime('%Y-%m-%d')}\n")
    print("| mutant | rule | found in | check | steps | schedules of the swarm |")
    print("|---|---|---|---|---|---|")
    count = 0
    for name in names:
        result = explore(name, arguments.seconds)
        count += result.case is not None
        print(row(result, swarm_needs(name, arguments.swarm)), flush=True)
        if arguments.traces:
            print("\n".join(result.lines))
    print(f"\n{count} of {len(names)} found; {len(MUTANTS) - len(names)} of {len(MUTANTS)} not tried.")
    return 0


if __name__ == "__main__":
    sys.exit(main())

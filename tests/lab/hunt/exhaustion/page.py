"""Write the page docs/validation/exhaustion.md from the output of two commands.

    mobilenet exhaust > cases.txt
    python -m tests.lab.hunt.exhaustion.mutants --swarm 4000 > mutants.txt
    python -m tests.lab.hunt.exhaustion.page cases.txt mutants.txt > docs/validation/exhaustion.md

Source    ours
"""

from __future__ import annotations

import platform
import re
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

WIDTH = 100
CASE = re.compile(
    r"^(\w+): (.+); initially, all (?:are|have) (members|asked to join).* (\d+) more times in total\n"
    r"  (.+) states \(.*\), (.+) transitions, depth (\d+), .* GiB\n  (.+)$",
    re.MULTILINE,
)
CASE_HEAD = "case | of | initially, all | late copies | states | transitions | depth"

HEAD = """# Proof by exhaustion

    mobilenet exhaust > cases.txt
    python -m tests.lab.hunt.exhaustion.mutants --swarm 4000 > mutants.txt
    python -m tests.lab.hunt.exhaustion.page cases.txt mutants.txt > docs/validation/exhaustion.md

This page is for readers who ask whether random schedules miss something. It lists small cases in
which every order of events was tried, and the mutants that this search finds. The commands above
generate the page (cases: commit {commit}, {date}, Python {python}, one core of a shared
machine).

## What is explored

Every order of events within the bounds is tried with the shipped classes of hosts and stations on
the controllable network (`mobilenet/lab/hunt/controlled`). A state consists of the states of all
nodes, the wires, the frames sent so far, what is left of the bounds, and the history that the judge
needs.

- Radio: a frame may arrive at any later time, any number of times, in any order, or never, even at
  a host that has left the cell. So losses and copies are unbounded.
- Timers: each armed timer may fire at any time and any number of times.
- Frames that make a station open a request (Join, Init and Leave): each takes effect once, when it
  is new; late copies take effect three more times in total with one host, and five with two. This
  includes every execution in which each retransmission timer fires at most twice and one frame is
  copied.
- Wires: a tree of FIFO links; any link may be the next to deliver its first message.
- Hosts crash, move, leave, join and broadcast at any moment, as often as the case allows. A host
  that is down recovers at any time.

The search checks each step. No message may be created or duplicated, order must be causal, and
only members may deliver. No host may have a gap, no two stations may serve one host, and no
assertion of the protocol may fail. The search also checks that each state comes to rest without
further faults. All buffers must then be empty, and every member must have delivered all messages
that it is entitled to, and one more message from each member.

The search does not explore clocks (expiry after T, silence, lifetimes of cookies), the windows of
retransmission, or a radio that holds a frame back in its queue: a frame counts as sent at the end
of its step, and the forwarding jitter is 0. A case that begins with members has delivered one
message from each host, and has nothing in transit.

The search omits redundant states of two kinds. A state is redundant if another state has the same
nodes, wires and history, and contains all of its frames and remaining bounds. A state is also
redundant if it is the mirror image of another one, in which two hosts with the same role are
exchanged. States do not differ by values that the protocol sets before it reads them again. Tests
compare the search with searches without these reductions.

"Exhausted" means within these bounds, not in larger networks. A case that stops after 15 minutes or
at 16 GiB (`--minutes`, `--gib`) is not exhausted, and the command ends with exit code 4.

## Results

The cases with `repair: selective`, whose names begin with `repair_`, are reported in [Repairing
lost frames](../protocols/repair.md#what-was-checked).
"""

MUTANTS = """
## Mutants

Each mutant reverts one repaired rule (`tests/protocols/mobile_causal/mutants.py`). It is explored
breadth first, case by case, with the protocol's own assertions off. The last column gives the
schedules that the swarm needs from seed 0 on, with the flavour that suits the mutant. The mutants
of rules F14 and F15 concern load and time, and are not tried. Each trace was repeated on the
controllable network. A case is limited to 20 seconds, so larger cases are not exhausted. Cases that
are not among the results above are used only for mutants.
"""


def page(cases: list[str], mutants: list[str]) -> Iterator[str]:
    command = ["git", "log", "-1", "--format=%h", "--", "mobilenet"]  # finds the last commit that changed the package
    commit = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    head = HEAD.format(commit=commit, date=time.strftime("%Y-%m-%d"), python=platform.python_version())
    for paragraph in head.split("\n\n"):
        yield from _wrap(paragraph)
        yield ""
    yield from _case_table("\n".join(line for line in cases if "waiting" not in line))
    for paragraph in MUTANTS.split("\n\n"):
        yield ""
        yield from _wrap(paragraph.strip())
    yield ""
    yield from mutants


def _case_table(cases: str) -> Iterator[str]:
    """Yield the lines of the tables on the paper's protocol. Cases with the same result share a table."""
    matches = list(CASE.finditer(cases))
    if len(matches) != len(re.findall(r"^\w+: .*; initially, ", cases, re.MULTILINE)):
        raise SystemExit("cases.txt: a case has another form than the pattern CASE")
    explored = [match.groups() for match in matches if not match[1].startswith("repair_")]
    for result in dict.fromkeys(row[-1] for row in explored):
        yield f"Result of each case: {result.replace(': ', ', ')}."
        yield ""
        yield f"| {CASE_HEAD} |"
        yield "|---" * (CASE_HEAD.count("|") + 1) + "|"
        yield from (f"| {' | '.join(row[:-1])} |" for row in explored if row[-1] == result)


def _wrap(paragraph: str) -> list[str]:
    if paragraph.startswith("#"):
        return [paragraph.strip()]
    if paragraph.startswith("    "):
        return paragraph.split("\n")
    if paragraph.startswith("- "):
        items = [" ".join(item.split()) for item in paragraph[2:].split("\n- ")]
        return [
            line for item in items for line in textwrap.wrap(item, WIDTH, initial_indent="- ", subsequent_indent="  ")
        ]
    return textwrap.wrap(paragraph, WIDTH)


def main() -> int:
    cases, mutants = (Path(name).read_text(encoding="utf-8").splitlines() for name in sys.argv[1:3])
    print("\n".join(page(cases, mutants)))
    return 0


if __name__ == "__main__":
    sys.exit(main())

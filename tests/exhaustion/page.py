"""The page docs/validation/exhaustion.md, from what two commands have printed.

    mobilenet exhaust > cases.txt
    python -m tests.exhaustion.mutants --swarm 4000 > mutants.txt
    python -m tests.exhaustion.page cases.txt mutants.txt > docs/validation/exhaustion.md

Source    ours
"""

from __future__ import annotations

import platform
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

WIDTH = 100

HEAD = """# Proof by exhaustion

    mobilenet exhaust > cases.txt
    python -m tests.exhaustion.mutants --swarm 4000 > mutants.txt
    python -m tests.exhaustion.page cases.txt mutants.txt > docs/validation/exhaustion.md

This page is written by these commands. The cases: commit {commit}, {date}, Python {python} on one
core of a machine shared with other work.

## What is explored

The shipped classes of hosts and stations run on the controllable network
(`mobilenet/controlled`), and every order of events within the bounds is tried. A state holds the
states of all nodes, the wires, the frames sent so far, what is left of the bounds, and the
history that the judge needs. Clocks are left out.

- Radio: a frame that was sent may arrive at any time after, any number of times, in any order, or
  never, also at a host that has left the cell. So losses and copies have no bound, which includes
  at least one loss and one copy.
- Timers: each armed timer may fire at any time and any number of times.
- Frames that make a station open a request (Join, Init; and Leave): each has its effect once, when
  it is new; late copies of them have it three times more in all for one host, five for two.
  This includes every execution in which each retransmission timer fires at most twice and one frame
  is copied.
- Wires: a tree of FIFO links; any link may be next to hand over its first message.
- Hosts crash, move, leave, join and broadcast at any moment, as often as the case says. A host
  that is down recovers at any time.

Checked at each step: no creation, no duplication, causal order, only members deliver, no gap, no
two stations that serve one host, no failed assertion of the protocol. Checked for each state: if
nothing bad happens any more, all comes to rest with empty buffers, every member has delivered all
that it is entitled to, and one more message of each member is delivered as well.

Not explored: clocks (expiry after T, silence, lifetimes of cookies), the windows of
retransmission, and any radio that holds a frame back in its queue: a frame counts as sent at the
end of the step that sends it, and the forwarding jitter is 0. A case that begins with members
begins with nothing in transit.

Left out of the states, because it cannot lead to anything that the others do not: a state that
has no frame and no budget that another one with the same nodes, wires and history lacks; the
mirror image of a state, where two hosts have the same part to play; and values that the protocol
sets before it reads them again (`forget` in `mobilenet/exhaustion/cases.py`). Tests
compare with a search without the first two, and with one without the last. Stations are not
interchangeable here.

"Exhausted" means within these bounds, and says nothing of larger networks. A case also stops after
15 minutes or 16 GiB (`--minutes`, `--gib`); then it is not exhausted, and the command ends with
exit code 4.

## Results
"""

MUTANTS = """
## Mutants

Each mutant takes one repaired rule back (`tests/protocols/mobile_causal/mutants.py`), and is
explored breadth first, case after case, with the protocol's own assertions off. States and
seconds count all cases tried until it is found. The last column tells how many drawn schedules
the swarm needs from seed 0 on, with the flavour that suits the mutant, and in what time. The
mutants of rules F14 and F15 are about load and time, and are not tried. Each trace was repeated
on the controllable network. Here a case has at most the seconds of the command below, so larger ones
are not exhausted; cases that are not among the results above are for mutants alone.
"""


def page(cases: list[str], mutants: list[str]) -> Iterator[str]:
    command = ["git", "log", "-1", "--format=%h", "--", "mobilenet"]  # what was run; tests and documents apart
    commit = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    head = HEAD.format(commit=commit, date=time.strftime("%Y-%m-%d"), python=platform.python_version())
    for paragraph in head.split("\n\n"):
        yield from _wrapped(paragraph)
        yield ""
    for line in cases:
        if not line.startswith("  ") or "waiting" not in line:
            yield from textwrap.wrap(line, WIDTH - 8, initial_indent="    ", subsequent_indent="      ") or [""]
    for paragraph in MUTANTS.split("\n\n"):
        yield ""
        yield from _wrapped(paragraph.strip())
    yield ""
    yield from mutants


def _wrapped(paragraph: str) -> list[str]:
    if paragraph.startswith("#"):
        return [paragraph.strip()]
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

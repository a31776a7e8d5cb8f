"""Mutants of the mobile causal broadcast: each of them undoes one repaired rule, and must be caught.

Model     a mutant is an edit of a few lines in a fresh copy of the protocol's modules (tests/protocols/edits.py). It
          runs on the adversary's network with the self-checks off. The lines that it replaces carry the label of the
          rule (test_labels.py). An edit that no longer applies is an error and does not count as a survivor. Each run
          is recorded, and the verifier judges only the run directory. A run that raises leaves no directory and does
          not count. Mutants that lose no message and only load the radio are caught by scenes instead. With --radio
          the same edits are tried on the medium. Their scenes are drawn as in `mobilenet swarm`, and are not adapted
          to a rule
Run       python -m tests.protocols.mobile_causal.mutants [name ...] [--limit N] [--workers N] [--radio dcf|sinr]
          prints for each mutant the number of schedules, the seed that caught it, and the property that was violated
Source    the rules by label: docs/protocols/mobile-causal.md, Deviations
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from mobilenet.lab.hunt.swarm import scenes
from mobilenet.lab.hunt.swarm.campaign import record_adversary, record_radio
from mobilenet.lab.hunt.swarm.schedule import Schedule, draw
from mobilenet.protocols.mobile_causal import Station
from mobilenet.protocols.mobile_causal.declaration import MobileCausal
from mobilenet.verify import Verdict, verify_run
from tests.protocols.edits import Edit, mutate

from .broken_rules import RULES
from .crowd import deaf_host_blocks_nobody, nothing_is_resent_to_the_silent, radio_is_not_flooded

PACKAGE = "mobilenet.protocols.mobile_causal"
SHARED = ("messages", "parameters", "stable_storage")  # the network and the schedules use these modules
LIMIT = 6000
SCENES: dict[str, Callable[[type[Station]], str | None]] = {
    "send_window": deaf_host_blocks_nobody,
    "resend_to_silent": nothing_is_resent_to_the_silent,
    "no_backlog": radio_is_not_flooded,
}


class Mutant(NamedTuple):
    rule: str  # label of the repaired rule that the mutant undoes
    what: str
    edits: tuple[Edit, ...]
    flavour: str | None  # the kind of schedules on which the mutant is tried
    scene: Callable[[type[Station]], str | None] | None  # a scene that is used instead of drawn schedules


MUTANTS = {
    name: Mutant(rule, what, edits, flavour, SCENES.get(name)) for name, (rule, what, flavour, edits) in RULES.items()
}


@cache
def load(name: str) -> ModuleType:
    """Load a copy of the protocol in which this rule is undone."""
    return mutate(PACKAGE, name, MUTANTS[name].edits, SHARED)


class Kill(NamedTuple):
    name: str
    schedules: int  # number of schedules until the mutant was caught, or the limit
    seed: int | None  # the seed that caught the mutant
    flavour: str
    check: str | None  # the first violated property, or None if the mutant survives
    explanation: str


def verdicts_on(schedule: Schedule, name: str) -> dict[str, Verdict]:
    """Return the verdicts on a run of this schedule, or an empty dictionary if the run raises an exception."""
    protocol = load(name)
    with tempfile.TemporaryDirectory(prefix="mobilenet-mutant-") as folder:
        try:
            record_adversary(schedule, Path(folder), protocol.Host, protocol.Station, check=False)
        except (AssertionError, KeyError, ValueError, IndexError):
            return {}
        return verify_run(Path(folder))


def verdicts_on_radio(seed: int, name: str, radio: scenes.Radio) -> dict[str, Verdict]:
    """Return the verdicts on a scene that is played on the radio."""
    protocol = load(name)
    original = MobileCausal.host, MobileCausal.station
    with tempfile.TemporaryDirectory(prefix="mobilenet-mutant-") as folder:
        try:
            MobileCausal.host, MobileCausal.station = protocol.Host, protocol.Station
            record_radio(seed, Path(folder), radio=radio)
        except (AssertionError, KeyError, ValueError, IndexError):
            return {}
        finally:
            MobileCausal.host, MobileCausal.station = original
        return verify_run(Path(folder))


def hunt(name: str, limit: int = LIMIT, radio: scenes.Radio | None = None, first: int = 0) -> Kill:
    """Run schedules from seed `first` until the mutant is caught. With `radio`, play scenes on the medium instead."""
    m = MUTANTS[name]
    if radio is not None:
        for seed in range(limit):
            for check, verdict in verdicts_on_radio(seed, name, radio).items():
                if verdict.answer == "violated":
                    return Kill(name, seed + 1, seed, radio, check, verdict.explanation)
        return Kill(name, limit, None, radio, None, "")
    if m.scene is not None:
        problem = m.scene(load(name).Station)
        return Kill(name, 1, None, "scene", "load" if problem else None, problem or "")
    for seed in range(first, first + limit):
        schedule = draw(seed, m.flavour)
        for check, verdict in verdicts_on(schedule, name).items():
            if verdict.answer == "violated":
                return Kill(name, seed - first + 1, seed, schedule.flavour, check, verdict.explanation)
    return Kill(name, limit, None, m.flavour or "", None, "")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(MUTANTS))
    parser.add_argument("--limit", type=int, default=LIMIT)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--radio", choices=("dcf", "sinr"), help="scenes on the medium instead of schedules")
    arguments = parser.parse_args()
    look = partial(hunt, limit=arguments.limit, radio=arguments.radio)
    killed_by: Counter[str] = Counter()
    print(f"{'mutant':20} {'rule':5} {'schedules':>9} {'seed':>5}  {'flavour':12} {'property':13} explanation")
    with ProcessPoolExecutor(arguments.workers) as pool:
        for kill in pool.map(look, arguments.names):
            seed = "" if kill.seed is None else kill.seed
            first_line = kill.explanation.partition("\n")[0][:90]
            print(
                f"{kill.name:20} {MUTANTS[kill.name].rule:5} {kill.schedules:9} {seed:5}  {kill.flavour:12} "
                f"{kill.check or 'SURVIVES':13} {first_line}",
                flush=True,
            )
            if kill.check is not None:
                killed_by[kill.check] += 1
    alive = len(arguments.names) - killed_by.total()
    print(f"{killed_by.total()} of {len(arguments.names)} killed: {dict(killed_by.most_common())}")
    return 1 if alive else 0


if __name__ == "__main__":
    sys.exit(main())

"""Write the table of mutants in docs/validation/trust.md from the lists of mutants and the tests that kill them.

    python -m tests.write_mutant_table

Model     A test kills the mutants that are its parameters. Each mutant is listed once, with the first test that kills
          it. A mutant that no test kills is an error. The table replaces the text between two markers of the page.
Source    ours
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tests.lab.hunt.exhaustion import test_cases as exhausted_cases
from tests.lab.programs import test_planted_bugs
from tests.network.radio import test_groupcast
from tests.network.tcp import test_mutants as of_tcp
from tests.protocols.mobile_causal import test_repairs, test_swarm
from tests.protocols.mobile_causal.broken_repairs import REPAIRS
from tests.protocols.mobile_causal.mutants import MUTANTS as OF_MOBILE_CAUSAL
from tests.protocols.tcp_flooding import test_clauses, test_scenarios
from tests.protocols.tcp_flooding.mutants import MUTANTS as OF_TCP_FLOODING
from tests.protocols.vcube import test_causal, test_crashes
from tests.protocols.vcube import test_mutants as of_vcube
from tests.protocols.vcube.mutants import MUTANTS as OF_VCUBE
from tests.simulation import test_invariants
from tests.simulation.backbone import test_causal_layer
from tests.simulation.simulator_mutants import MUTANTS as OF_SIMULATOR
from tests.tools import between_marks
from tests.verify import test_gaps

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "validation" / "trust.md"
BEGIN, END = "<!-- mutants -->", "<!-- end of mutants -->"

Test = Callable[..., None]


class Mutants(NamedTuple):
    """A list of mutants. `kills` contains each test with the mutants that it kills; several tests may kill the same
    mutant.
    """

    of: str
    names: Collection[str]
    kills: list[tuple[Test, Collection[str]]]


def name_of(value: Any) -> str:
    """Return the name of a parameter. A tuple is named after its first class, or otherwise after its first element."""
    if isinstance(value, tuple):
        return name_of(next((one for one in value if isinstance(one, type)), value[0]))
    return value if isinstance(value, str) else value.__name__


def parameters(test: Any) -> list[Any]:
    marks = [mark for mark in test.pytestmark if mark.name == "parametrize"]
    return list(marks[0].args[1])


def names_of(test: Test) -> list[str]:
    return [name_of(value) for value in parameters(test)]


def of_scenes() -> Iterator[tuple[Test, Collection[str]]]:
    """Yield the tests of single mutants of VCube, each with its mutants."""
    for scene in dict.fromkeys(mutant.scene for mutant in OF_VCUBE.values() if mutant.scene is not None):
        yield getattr(test_crashes, scene), [name for name, mutant in OF_VCUBE.items() if mutant.scene == scene]


def every_list() -> list[Mutants]:
    of_connections = [
        f"{owner.__name__}.{function}" if mutant.__name__ == "<lambda>" else mutant.__name__
        for owner, function, mutant, _ in of_tcp.MUTANTS
    ]
    early = [name_of(kind) for kind in test_gaps.EARLY]
    layers = [f"{kind.removeprefix('vcube_')}: {name_of(layer)}" for kind, layer in test_causal_layer.MUTANTS]
    bugs = [f"{language}: {check}" for language, (check, _) in test_planted_bugs.BAD.items()]
    both = ["HighestInsteadOfPrefix", "SendsTwice"]  # mutants of the causal broadcast, defined in the test itself
    lasts = [name for name in names_of(test_causal.test_a_broken_vcube_causal_broadcast_is_detected) if name in both]
    return [
        Mutants(
            "[mobile causal broadcast](../protocols/mobile-causal.md#deviations)",
            OF_MOBILE_CAUSAL,
            [
                (
                    test_swarm.test_mobile_protocol_mutants_are_killed_by_the_swarm,
                    names_of(test_swarm.test_mobile_protocol_mutants_are_killed_by_the_swarm),
                ),
                (test_swarm.test_exhaustive_search_kills_a_mutant_that_swarms_miss, [test_swarm.LATE]),
                (
                    exhausted_cases.test_exhaustive_search_finds_each_mutant,
                    names_of(exhausted_cases.test_exhaustive_search_finds_each_mutant),
                ),
            ],
        ),
        Mutants(
            "[its repairs](../protocols/repair.md#what-was-checked)",
            REPAIRS,
            [
                (
                    test_repairs.test_breaking_a_selective_repair_rule_is_detected,
                    names_of(test_repairs.test_breaking_a_selective_repair_rule_is_detected),
                )
            ],
        ),
        Mutants(
            "its stations, which give hosts up early",
            early,
            [(test_gaps.test_giving_up_hosts_too_early_is_detected, early)],
        ),
        Mutants(
            "[flooding over TCP](tcp-flooding.md)",
            OF_TCP_FLOODING,
            [
                (test, names_of(test))
                for test in (
                    test_scenarios.test_tcp_flooding_mutants_are_killed_by_random_scenarios,
                    test_clauses.test_each_hand_picked_tcp_flooding_mutant_fails_its_scene,
                    test_scenarios.test_tcp_flooding_mutants_are_killed_by_their_listed_seeds,
                )
            ],
        ),
        Mutants(
            "[VCube](vcube.md#errors-in-the-printed-algorithms-as-mutants)",
            [*OF_VCUBE, *both],
            [
                (of_vcube.test_vcube_mutants_are_killed_by_the_swarm, of_vcube.QUICK),
                *of_scenes(),
                (of_vcube.test_vcube_mutants_are_killed_by_their_listed_seeds, of_vcube.LATE),
                (test_causal.test_a_broken_vcube_causal_broadcast_is_detected, lasts),
            ],
        ),
        Mutants(
            "[VCube between stations](../models/backbone.md)",
            layers,
            [(test_causal_layer.test_each_part_of_the_causal_layer_is_needed, layers)],
        ),
        Mutants(
            "[TCP](../models/tcp.md)",
            of_connections,
            [(of_tcp.test_tcp_mutants_are_detected_by_the_tests, of_connections)],
        ),
        Mutants(
            "the MAC",
            ["Dcf.is_new"],
            [(test_groupcast.test_a_mac_that_delivers_duplicates_is_detected, ["Dcf.is_new"])],
        ),
        Mutants(
            "[sample programs](../guide/programs.md)",
            bugs,
            [(test_planted_bugs.test_the_verifier_finds_the_sample_bug_in_each_language, bugs)],
        ),
        Mutants(
            "[the simulator](#the-simulator-itself)",
            OF_SIMULATOR,
            [
                (
                    test_invariants.test_check_simulator_detects_each_simulator_mutant,
                    names_of(test_invariants.test_check_simulator_detects_each_simulator_mutant),
                )
            ],
        ),
    ]


def rows(mutants: Mutants) -> Iterator[str]:
    alive, title = dict.fromkeys(mutants.names), mutants.of
    for test, names in mutants.kills:
        dead = [name for name in dict.fromkeys(names) if name in alive]
        for name in dead:
            del alive[name]
        if dead:
            where = f"`{test.__name__}` in `{test.__module__.replace('.', '/')}.py`"
            yield f"| {title} | {len(dead)} | {where} | {', '.join(f'`{name}`' for name in dead)} |"
            title = ""
    if alive:
        raise ValueError(f"{mutants.of}: no test kills {', '.join(alive)}")


def table() -> str:
    lines = [row for mutants in every_list() for row in rows(mutants)]
    return "\n".join(["| mutants of | number | are killed by | names |", "|---|---|---|---|", *lines])


def with_table(page: str) -> str:
    return between_marks(page, BEGIN, END, table())


def main() -> int:
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    print(f"Next: git diff {PAGE.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Tests that treating symmetric hosts alike halves the number of states and does not change the verdict."""

from __future__ import annotations

import pytest

from mobilenet.lab.hunt.exhaustion.case import Case
from mobilenet.lab.hunt.exhaustion.cases import TWO, mobile_case
from mobilenet.lab.hunt.exhaustion.search import Search
from mobilenet.lab.hunt.exhaustion.symmetry import Mirror, is_symmetric

from .toys import DeliversCopies, Host, Repeats, Station, toy

JOINING = mobile_case("joining", (0, 0), (0, 0), parents=TWO, joined=False)
CRASHING = mobile_case("crashing", (0, 0), (0, 0), joined=False, crashes=1)
REPEATING = toy(Host, Repeats, messages=(1, 0), joined=False)


def explore(case: Case, mirrored: bool) -> Search:
    search = Search(case)
    list(search.run(breadth=not mirrored))
    return search


@pytest.mark.parametrize("case", [JOINING, CRASHING])
def test_mirrored_and_plain_search_reach_equivalent_states(case: Case) -> None:
    plain, mirrored = explore(case, mirrored=False), explore(case, mirrored=True)
    assert plain.result is not None and mirrored.result is not None
    assert plain.result.outcome == mirrored.result.outcome == "exhausted"
    mirror = Mirror(plain.space)
    images = {state: mirror.image((*state, plain.first[-3], 0, 0))[:-3] for state in plain._entries}
    assert set(images) == set(images.values())  # The image of a reachable state is itself reachable.
    assert all(images[image] == state for state, image in images.items())
    assert mirrored.result.states == len({min(pair) for pair in images.items()}) < plain.result.states


@pytest.mark.parametrize("station", [Station, Repeats])
@pytest.mark.parametrize("host", [Host, DeliversCopies])
def test_search_with_mirroring_still_finds_a_broken_protocol(host: type, station: type) -> None:
    case = toy(host, station, messages=(1, 1), joined=False)
    outcomes = []
    for mirrored in (False, True):
        result = explore(case, mirrored).result
        assert result is not None
        outcomes.append(result.outcome)
    assert outcomes == ["violated", "violated"]


def test_only_interchangeable_hosts_are_treated_as_symmetric() -> None:
    assert is_symmetric(JOINING)
    for case in (
        mobile_case("", (0, 1), (1, 1), parents=TWO, joined=False),  # The hosts are in different cells.
        mobile_case("", (0, 0), (1, 0), joined=False),  # Only one host broadcasts.
        mobile_case("", (0, 0), (1, 1)),  # Both hosts are members, but one of them joined earlier.
        mobile_case("", (0, 0), (1, 1), parents=TWO, joined=False, moves=1),  # Only one host moves.
        REPEATING,
    ):
        assert not is_symmetric(case)
    with pytest.raises(ValueError, match="same role"):
        Mirror(Search(REPEATING).space)

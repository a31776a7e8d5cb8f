"""Tests that the explorer reaches the same states as a plain search without reductions, and that each of its steps is a
step of the protocol.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mobilenet.lab.hunt.controlled.port import Clock
from mobilenet.lab.hunt.exhaustion.case import Case
from mobilenet.lab.hunt.exhaustion.cases import CASES, TWO, mobile_case
from mobilenet.lab.hunt.exhaustion.encoding import EPOCH, encode, nothing
from mobilenet.lab.hunt.exhaustion.moves import FREE, Move
from mobilenet.lab.hunt.exhaustion.search import Search
from mobilenet.lab.hunt.exhaustion.space import Broken, Space, State

from .toys import Host, Repeats, toy


def plainly(case: Case, first: State, space: Space) -> set[State]:
    """Return the nodes, wires and histories of all states. Unlike the explorer, this search expands each send, receipt
    and timer separately, and also states that another state covers.
    """
    seen, waiting = {first}, [first]
    while waiting:
        state = waiting.pop()
        for after in _plain_successors(space, state):
            if after not in seen:
                seen.add(after)
                waiting.append(after)
    return {state[:-3] for state in seen}


def _plain_successors(space: Space, state: State) -> list[State]:
    successors = []
    for node in range(space.count):
        mask = space.moves.masks[node]
        for move in space.moves.find(node, state[node], state[-2] & mask, state[-1] & mask):
            budget = state[-3] if move.cost == FREE else space._spend(state[-3], move.cost, node)
            if budget is not None:
                successors.append(_plain(space, state, move, state[space.count], budget))
    for head in space.wires.heads(state[space.count]):
        move = space.moves.wire_move(space.hosts + head.at, state[space.hosts + head.at], head.source, head.message)
        successors.append(_plain(space, state, move, head.left, state[-3]))
    return successors


def _plain(space: Space, state: State, move: Move, wires: int, budget: int) -> State:
    assert move.error is None
    after = list(state)
    after[move.node] = move.becomes
    after[space.count] = space.wires.put(wires, move.node - space.hosts, move.wired) if move.wired else wires
    after[space.count + 1] = space.next_history(state[space.count + 1], move.node, move.story)
    after[-3:] = [budget, state[-2] | move.sends, state[-1] | move.uses]
    return tuple(after)


SMALL = [
    toy(messages=(2,), crashes=1),
    toy(Host, Repeats, messages=(1, 0)),
    mobile_case("", (0,), (1,), parents=TWO, repeats=1),
    mobile_case("", (0,), (0,), parents=TWO, moves=2, repeats=1),
    mobile_case("", (0,), (0,), parents=TWO, moves=1, crashes=1, repeats=0),
    mobile_case("", (0,), (0,), parents=TWO, joined=False),
]


@pytest.mark.parametrize("case", SMALL)
def test_plain_and_optimized_search_reach_the_same_states(case: Case) -> None:
    search = Search(case)
    list(search.run())
    assert search.result is not None and search.result.outcome == "exhausted"
    budget_and_frames_at_first = (search.first[-3], 0, 0)
    first = search.first if not case.joined else (*search.first[:-3], *budget_and_frames_at_first)
    assert plainly(case, first, search.space) == set(search._entries)


def test_discarding_irrelevant_state_does_not_change_the_verdict() -> None:
    """Without this reduction, the search visits more states but reaches the same verdict."""
    case = mobile_case("", (0,), (1,), parents=TWO, moves=1, repeats=1)
    results = []
    for forget in (case.forget, nothing):
        search = Search(replace(case, forget=forget))
        list(search.run())
        assert search.result is not None
        results.append(search.result)
    assert [result.outcome for result in results] == ["exhausted", "exhausted"]
    assert results[0].states < results[1].states
    assert results[0].depth <= results[1].depth


@settings(max_examples=60)
@given(
    st.sampled_from(["two_messages_two_moves", "two_hosts", "mover_and_talker"]),
    st.lists(st.integers(0, 99), max_size=60),
)
def test_a_cached_step_matches_the_behaviour_of_the_protocol(name: str, choices: list[int]) -> None:
    """The test follows a path of cached steps. It also gives the same inputs to nodes that run without interruption,
    and both must reach the same states.
    """
    case = CASES[name]
    search = Search(case)
    space = search.space
    state = search.completion.join_all()
    nodes = [case.build_host(h, Clock(EPOCH)) for h in range(space.hosts)]
    nodes += [case.build_station(s, Clock(EPOCH)) for s in range(case.stations)]
    for number, given_before in search.completion.prefix:
        nodes[number].clock.now += case.step_ns
        nodes[number].step(given_before)
    for choice in choices:
        try:
            possible = [(step.move, after) for step, after in space.successors(state)]
        except Broken as broken:
            raise AssertionError(broken.violation) from None
        for node in range(space.count):
            possible += [(move, state) for move in space.moves.sending(node, state[node], state[-2], state[-1])]
        if not possible:
            break
        move, after = possible[choice % len(possible)]
        live, local = nodes[move.node], space.nodes[move.node]
        live.clock.now += case.step_ns
        effects = live.step(local.input_at(move.input_number))
        _, done = local.step(state[move.node], move.input_number)
        sent = [[(to, space.moves.messages.items[m]) for to, m in way] for way in (done.radio, done.wired)]
        assert encode([list(map(tuple, effects.radio)), list(map(tuple, effects.wired))], None, case.forget) == encode(
            sent, None, case.forget
        )
        assert (effects.answer, len(effects.radio)) == (done.answer, len(done.radio))
        state = after
        assert local.key(live) == local.key(local.restore(state[move.node]))

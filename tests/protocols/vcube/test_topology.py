"""Tests of the formulas of the topology for all small dimensions."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mobilenet.protocols.vcube.topology import (
    c,
    children,
    cluster,
    dimension,
    first_fault_free,
    neighbours,
)


def parent_without_faults(i: int, root: int) -> int:
    """Return the parent of i in the tree of `root`, if no process is faulty and n is a power of two.

    The parent differs from i only in the lowest bit in which i and `root` differ.
    """
    differing = i ^ root
    return i ^ (differing & -differing)


@pytest.mark.parametrize("d", range(1, 8))
def test_clusters_of_a_process_partition_all_other_processes(d: int) -> None:
    for i in range(2**d):
        clusters = [c(i, s) for s in range(1, d + 1)]
        assert sorted(itertools.chain(*clusters)) == [j for j in range(2**d) if j != i]
        for s, members in enumerate(clusters, 1):
            assert len(members) == 2 ** (s - 1) and all(cluster(i, j) == s == cluster(j, i) for j in members)


def test_clusters_of_eight_processes_match_the_printed_table() -> None:
    """Every paper on VCube prints the table of c(i,s)."""
    assert [c(0, s) for s in (1, 2, 3)] == [(1,), (2, 3), (4, 5, 6, 7)]
    assert [c(1, s) for s in (1, 2, 3)] == [(0,), (3, 2), (5, 4, 7, 6)]
    assert [c(6, s) for s in (1, 2, 3)] == [(7,), (4, 5), (2, 3, 0, 1)]


@pytest.mark.parametrize("n", [2, 3, 5, 8, 13, 16, 19, 32])
def test_the_tree_of_each_root_reaches_each_process_once(n: int) -> None:
    everybody = set(range(n))
    for root in range(n):
        reached = {root}
        waiting: list[tuple[int, int | None]] = [(root, None)]
        while waiting:
            i, parent = waiting.pop()
            for j in children(i, parent, dimension(n), everybody):
                assert j not in reached
                reached.add(j)
                waiting.append((j, i))
        assert reached == everybody


@given(st.integers(1, 6), st.data())
def test_each_fault_free_parent_is_one_step_nearer_the_root(d: int, data: st.DataObject) -> None:
    root = data.draw(st.integers(0, 2**d - 1))
    i = data.draw(st.integers(0, 2**d - 1).filter(lambda x: x != root))
    parent = parent_without_faults(i, root)
    grandparent = None if parent == root else parent_without_faults(parent, root)
    assert i in children(parent, grandparent, d, range(2**d))


@given(st.integers(2, 40), st.data())
def test_the_first_fault_free_process_skips_faulty_ones(n: int, data: st.DataObject) -> None:
    believed = data.draw(st.sets(st.integers(0, n - 1), min_size=1))
    i = data.draw(st.sampled_from(sorted(believed)))
    for s in range(1, dimension(n) + 1):
        j = first_fault_free(i, s, believed)
        correct = [k for k in c(i, s) if k in believed]
        assert j == (correct[0] if correct else None)
    assert set(neighbours(i, dimension(n), believed)) <= believed


def test_process_numbers_beyond_the_last_count_as_faulty() -> None:
    """For n = 19, the child of 3 in cluster 5 is 18, because 19 does not exist."""
    assert neighbours(3, 5, range(19))[-1] == 18

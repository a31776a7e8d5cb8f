"""The virtual hypercube: clusters and forwarding, as pure functions of process numbers.

Model     processes 0..n-1; d = dimension(n) clusters each. If n is not a power of two, the numbers from n on count as
          faulty from the start. `believed` is the set of processes believed correct
Source    Duarte, Bona, Ruoso: VCube: a provably scalable distributed diagnosis algorithm (2014); as used by Rodrigues,
          Arantes, Duarte: An autonomic implementation of reliable broadcast based on dynamic spanning trees (2014).
          One error in print: "1 < s <= h" in Algorithm 1 of the causal broadcast with aggregation must be "1 <= s <=
          h"; otherwise half of the processes are never reached (n = 2)
"""

from __future__ import annotations

from collections.abc import Container
from functools import cache, lru_cache


def dimension(n: int) -> int:
    """Return log2 n, rounded up."""
    return (n - 1).bit_length()


@cache
def c(i: int, s: int) -> tuple[int, ...]:
    """Return cluster s of i, in order of preference: c(i,s) = j, c(j,1), ..., c(j,s-1), where j = i xor 2^(s-1)."""
    j = i ^ (1 << (s - 1))
    return (j, *(member for k in range(1, s) for member in c(j, k)))


@cache
def everybody(n: int) -> frozenset[int]:
    """Return the set of all processes, which every process believes correct at first. Equal calls return one object."""
    return frozenset(range(n))


@lru_cache(maxsize=256)
def without(believed: frozenset[int], j: int) -> frozenset[int]:
    """Return `believed` without j. Equal results share one object: otherwise, a thousand processes would hold a
    thousand sets of 64 KB.
    """
    return believed - {j}


def cluster(i: int, j: int) -> int:
    """Return the number of the cluster of i that contains j: the s with j in c(i,s)."""
    return (i ^ j).bit_length()


def first_fault_free(i: int, s: int, believed: Container[int]) -> int | None:
    """Return the first process of c(i,s) that is believed correct, or None: FF_neighbor."""
    return next((j for j in c(i, s) if j in believed), None)


def neighbours(i: int, h: int, believed: Container[int]) -> list[int]:
    """Return the first fault-free process of each cluster 1..h: neighborhood_i(h)."""
    candidates = (first_fault_free(i, s, believed) for s in range(1, h + 1))
    return [j for j in candidates if j is not None]


def children(i: int, parent: int | None, d: int, believed: Container[int]) -> list[int]:
    """Return the processes to which i forwards a message from `parent`. If i is the source (`parent` is None), these
    are in all d clusters.
    """
    return neighbours(i, d if parent is None else cluster(i, parent) - 1, believed)

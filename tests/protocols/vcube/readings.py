"""Misreadings of Algorithm 2 of the causal paper, as edits of its printed form, and broken versions of the fast
implementation.

Source      mobilenet/protocols/vcube/causal_printed.py, whose reading is the right one; l.N is line N of Algorithm 2
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from mobilenet.protocols import vcube
from mobilenet.protocols.vcube.causal import CausalBroadcast, Message
from mobilenet.protocols.vcube.topology import dimension, neighbours
from tests.protocols.edits import Edit, mutate

MODULE = "causal_printed"
SHARED = sorted({path.stem for path in Path(str(vcube.__file__)).parent.glob("*.py")} - {MODULE, "__init__"})

READINGS: dict[str, tuple[str, str, str]] = {  # name -> (lines, correct text, misread text)
    "whole_packet_first": (
        "l.14-21",
        """
        for m in packet.messages:
            self.pending.append(m)
            self._note_received(m)
        """,
        """
        for m in packet.messages:
            self.pending.append(m)
            self._note_received(m)
        for m in packet.messages:
        """,
    ),
    "last_message_only": (
        "l.14-21",
        "agg = self._check_agg(k, m)",
        "agg = self._check_agg(k, m) if m is packet.messages[-1] else ()",
    ),
    "highest_number": (
        "l.16-17",
        """
        while any(other.vc[other.source] == self.vector_max[other.source] + 1 for other in self.pending):
            self.vector_max[m.source] += 1
        """,
        "self.vector_max[m.source] = max(self.vector_max[m.source], m.vc[m.source])",
    ),
    "without_first_condition": (
        "l.26, first",
        "precedes = other.vc[m.source] >= m.vc[m.source]",
        "precedes = True",
    ),
    "without_children": (
        "l.26, second",
        "other.vc[x] > self.vector_max[x] and k in self._children_in_tree_of[x]",
        "other.vc[x] > self.vector_max[x]",
    ),
    "sender_too": (
        "l.30, k != s",
        "return follows and all(m.vc[k] <= clock[k] for k in range(self._n) if k != m.source)",
        "return follows and all(m.vc[k] <= clock[k] for k in range(self._n))",
    ),
}


@cache
def load(name: str) -> Any:
    _, old, new = READINGS[name]
    copy = mutate("mobilenet.protocols.vcube", name, [Edit(MODULE, old, new)], SHARED)
    return __import__(f"{copy.__name__}.{MODULE}", fromlist=[MODULE]).PrintedCausalBroadcast


class Misread:
    """Creates processes that run a misread version of the algorithm. With a single tree, it creates the fast version,
    because the printed form has one tree per source.
    """

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __call__(
        self,
        port: Any,
        n: int,
        aggregate: bool = True,
        release: str = "packet",
        trees: str = "per_source",
        *sizes: int,
        **named: int,
    ) -> Any:
        kind = CausalBroadcast if trees == "single" else load(self.__name__)
        return kind(port, n, True, release, trees, *sizes, **named)


class HalfTheClusters(CausalBroadcast):
    """Uses only the clusters 1 < s <= h, as printed in Alg. 1."""

    def _neighbours(self, h: int) -> list[int]:
        return [k for k in super()._neighbours(h) if (k ^ self._i) > 1]


class BitsForAnyNumber(CausalBroadcast):
    """Uses the rules for powers of two with any n. If a child does not exist, its descendants get no parent."""

    def _neighbours(self, h: int) -> list[int]:
        return super()._neighbours(h) if self._single else neighbours(self._i, h, range(1 << dimension(self._n)))


class WithoutTheDeliveryTest(CausalBroadcast):
    """Delivers every message that has arrived (l.30)."""

    def _deliver_when_ready(self, m: Message) -> None:
        self._deliver(m)


MUTANTS: dict[str, tuple[str, Any]] = {
    "half_the_clusters": ("Alg. 1 l.3", HalfTheClusters),
    "bits_for_any_number": ("n no 2^d", BitsForAnyNumber),
    **{name: (lines, Misread(name)) for name, (lines, _, _) in READINGS.items()},
    "without_delivery_test": ("l.30", WithoutTheDeliveryTest),
}

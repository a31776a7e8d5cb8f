"""The failure detector of VCube: each process tests a few others in rounds, and learns which ones they suspect.

Source    Duarte, Bona, Ruoso: VCube: a provably scalable distributed diagnosis algorithm (2014); section 3.1 of the
          bundling paper and "VCube topology and failure detection" of the reliable one, which define the intervals and
          timeouts
Names     timestamps -> stamps: process -> how often its state changed, as far as this process knows. An odd stamp means
          suspected, and an absent one is 0
Round     in ascending order of clusters, i tests each j for which i is the first non-suspected process of c(j,s), and j
          answers with its stamps. All tests are sent at once. The answers are collected one after the other, so that
          the timeout of a process begins when its turn comes. The next round begins exactly `interval_ns` after the
          last answer or timeout, without a random part, because tests do not collide on wires
Merging   the higher stamp wins. A process never adopts a suspicion of itself
Modes     perfect      a suspicion is permanent, which is right if the timeout exceeds the duration of any test
          unreliable   an answer withdraws a suspicion, even a late one or one from a later round. False suspicions come
                       from timeouts that are too short, or from `suspect`
          In both modes suspected processes are still tested, so that rounds with crashed processes last longer (as in
          Table 5 of the bundling paper)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

from ..port import Timer, timer_name
from .port import Overhead
from .topology import dimension, first_fault_free

Stamps = Mapping[int, int]
HEADER_BYTES = 20
ENTRY_BYTES = 4


class _Round(NamedTuple):
    round: int


class Test(_Round, Overhead):
    __slots__ = ()

    @property
    def size_bytes(self) -> int:
        return HEADER_BYTES


class _Answer(NamedTuple):
    round: int
    stamps: Stamps  # shared by several answers, and never changed


class Answer(_Answer, Overhead):
    __slots__ = ()

    @property
    def size_bytes(self) -> int:
        return HEADER_BYTES + ENTRY_BYTES * len(self.stamps)


class DetectorPort(Protocol):
    me: int

    def timer(self, action: Callable[[], None]) -> Timer: ...
    def send(self, to: int, message: Any) -> None:
        """Send a message of the detector, separately from the broadcasts."""

    def suspect(self, process: int) -> None:
        """Report crash(j) to the users of the detector."""

    def trust(self, process: int) -> None:
        """Withdraw a suspicion: the event up(j)."""


class Detector:
    def __init__(self, port: DetectorPort, n: int, interval_ns: int, timeout_ns: int, unreliable: bool = False) -> None:
        self._port = port
        self._i = port.me
        self._n = n
        self._d = dimension(n)
        self._interval_ns = interval_ns
        self._timeout_ns = timeout_ns
        self._unreliable = unreliable
        self._correct = set(range(n))
        self._missing = range(n, 1 << self._d)  # the numbers from n on, which belong to no process
        self._stamps: dict[int, int] = {}
        self._round = 0
        self._turns: list[int] = []  # the processes whose answers are still to be collected, in order
        self._answers: dict[int, Stamps] = {}
        self._timer = port.timer(self._on_timeout)
        self._pause = port.timer(self.start_round)

    def is_suspected(self, j: int) -> bool:
        return j not in self._correct

    def stop(self) -> None:
        """Start no more rounds. The process still answers the tests of others."""
        self._turns = []
        self._timer.stop()
        self._pause.stop()

    # --- as a tester

    @timer_name("next round")
    def start_round(self) -> None:
        self._round += 1
        self._answers.clear()
        self._turns = self._processes_to_test()
        for j in self._turns:
            self._port.send(j, Test(self._round))
        self._collect()

    def _processes_to_test(self) -> list[int]:
        """Return each j for which i is the first non-suspected process of c(j,s), with s ascending.

        Without suspicions, this is only i xor 2^(s-1). Otherwise, suspected processes or numbers without a process may
        precede i in c(j,s). It is therefore sufficient to examine their partners.
        """
        processes: list[int] = []
        i, correct = self._i, self._correct
        absent = [*self._missing, *(j for j, stamp in self._stamps.items() if stamp % 2)]
        for s in range(1, self._d + 1):
            link = 1 << (s - 1)
            partners = [x ^ link for x in absent if 0 < (x ^ i) < link]
            inside = [j for j in (i ^ link, *partners) if j < self._n]
            processes += sorted((j for j in inside if first_fault_free(j, s, correct) == i), key=lambda j: j ^ i)
        return processes

    def _collect(self) -> None:
        while self._turns:
            j = self._turns[0]
            if j not in self._answers:
                self._timer.start(self._timeout_ns)
                return
            del self._turns[0]
            self._take(j, self._answers.pop(j))
        self._pause.start(self._interval_ns)

    @timer_name("answer timeout")
    def _on_timeout(self) -> None:
        self.suspect(self._turns.pop(0))
        self._collect()

    def _take(self, j: int, stamps: Stamps) -> None:
        """Process an answer of j: j is alive, and its stamps are merged."""
        self._hear(j)
        own = self._stamps
        if stamps is own:
            return
        for k, stamp in stamps.items():
            if stamp > own.get(k, 0):
                self._change(k, stamp)

    def _hear(self, j: int) -> None:
        stamp = self._stamps.get(j, 0)
        if stamp % 2 and self._unreliable:
            self._change(j, stamp + 1)

    def suspect(self, j: int) -> None:
        """Suspect j after a timeout or, in the unreliable mode, because of a planned mistake."""
        stamp = self._stamps.get(j, 0)
        if stamp % 2 == 0:
            self._change(j, stamp + 1)

    def _change(self, j: int, stamp: int) -> None:
        self._stamps = {**self._stamps, j: stamp}  # a new mapping, because answers share the old one
        if j == self._i:
            return
        is_suspected = stamp % 2 == 1
        if is_suspected and j in self._correct:
            self._correct.discard(j)
            self._port.suspect(j)
        elif not is_suspected and j not in self._correct:
            self._correct.add(j)
            self._port.trust(j)

    # --- messages

    def on_receive(self, sender: int, message: Any) -> None:
        if type(message) is Test:
            self._port.send(sender, Answer(message.round, self._stamps))
        elif message.round == self._round and sender in self._turns:
            self._answers[sender] = message.stamps
            if self._turns[0] == sender:
                self._timer.stop()
                self._collect()
        else:
            self._hear(sender)

"""Run stations that broadcast and send at random over links that may reorder messages, and check causal order.

Requirement: let b be a broadcast and x any message. If b was sent or delivered at the sender of x before x was sent,
then b is delivered at the destination of x before x. Every message arrives exactly once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

from mobilenet.engine.clock import MILLISECOND, SECOND
from mobilenet.engine.kernel import Kernel
from mobilenet.engine.random_streams import Stream
from mobilenet.engine.timer import Timer
from mobilenet.protocols.vcube.backbone import Layer, new_layer


class Note(NamedTuple):
    number: int
    to: int | None  # None means a broadcast.
    payload_bytes: int
    size_bytes: int = 100

    def list_sizes(self) -> tuple[tuple[str, int], ...]:
        return ()


class World:
    def __init__(
        self,
        kind: str,
        n: int,
        seed: int,
        layer: Layer | None = None,
        wait_ns: int = 20 * MILLISECOND,
        answers: float = 0.2,
    ) -> None:
        self.kernel = Kernel()
        self.n = n
        self.stream = Stream(seed, "stations")
        self.answers = answers
        self.suspects = kind == "vcube_reliable"
        self.sent: list[Note] = []
        self.has: list[set[Note]] = [set() for _ in range(n)]  # broadcasts that were sent or delivered here
        self.before: dict[Note, frozenset[Note]] = {}
        self.got: Counter[tuple[int, Note]] = Counter()
        self.wrong: list[str] = []
        self.bytes: list[tuple[str, int]] = []
        self.layers = [new_layer(kind, Port(self, i), n, wait_ns, 400, layer) for i in range(n)]

    def play(self, messages: int) -> None:
        for _ in range(messages):
            self.kernel.at(self.stream.below(SECOND), lambda: self.say(self.stream.below(self.n)))
        if self.suspects:
            for _ in range(self.n):
                i, j = self.stream.below(self.n), self.stream.below(self.n)
                if i != j:
                    at = self.stream.below(SECOND)
                    self.kernel.at(at, lambda i=i, j=j: self.layers[i].on_crash(j))  # type: ignore[misc]
                    self.kernel.at(at + self.stream.below(SECOND), lambda i=i, j=j: self.layers[i].on_up(j))
        self.kernel.run_until(10**4 * SECOND)

    def say(self, i: int) -> None:
        to = self.stream.below(2 * self.n)
        note = Note(len(self.sent), to if to < self.n and to != i else None, 50 * self.stream.below(2))
        self.sent.append(note)
        self.before[note] = frozenset(self.has[i])
        if note.to is None:
            self.has[i].add(note)
            self.layers[i].broadcast(note)
        else:
            self.layers[i].send(note.to, note)

    def receive(self, at: int, note: Note) -> None:
        missing = self.before[note] - self.has[at]
        if missing:
            self.wrong.append(f"{at} gets {note.number} before {min(missing).number}")
        self.got[at, note] += 1
        if note.to is None:
            self.has[at].add(note)
        # Stations answer immediately, during the upcall.
        if self.stream.random() < self.answers and len(self.sent) < 300:
            self.say(at)

    def problems(self) -> list[str]:
        problems = list(self.wrong)
        for note in self.sent:
            expected = [note.to] if note.to is not None else range(self.n)
            counts = [self.got[at, note] for at in expected if at is not None]
            if note.to is None:
                if sorted(counts) != [0] + [1] * (self.n - 1):  # every station except the source
                    problems.append(f"{note.number} was delivered {counts} times")
            elif counts != [1]:
                problems.append(f"{note.number} arrived {counts} times")
        if not all(layer.is_idle for layer in self.layers):
            problems.append("somebody still waits")
        return problems


class Port:
    def __init__(self, world: World, me: int) -> None:
        self._world = world
        self.me = me

    @property
    def now(self) -> int:
        return self._world.kernel.now

    def timer(self, action: Callable[[], None]) -> Timer:
        return Timer(self._world.kernel, action)

    def send(self, to: int, message: Any) -> None:
        world = self._world
        world.bytes.append((type(message).__name__, message.size_bytes))
        delay = 1 + world.stream.below(100 * MILLISECOND)
        world.kernel.after(delay, lambda: world.layers[to].on_receive(self.me, message))

    def receive(self, source: int, message: Note) -> None:
        self._world.receive(self.me, message)

"""Mutants of the broadcasts over VCube. Each mutant contains a fault of the printed algorithms or a misreading of them.

Model     Mutants are subclasses of the protocols with a few lines each. They play the swarm's schedules of their
          protocol, one seed after the other, until a run is violated or raises an exception. Mutants that only reorder
          or delay messages do not break a promise. A pinned scene detects such mutants instead.
Run       python -m tests.protocols.vcube.mutants [name ...] [--limit N]
          prints for each mutant its fault, the number of schedules until the verifier noticed it, the seed that caught
          it, and the property that was violated
Source    the rules by line: headers of the protocols; ours: docs/protocols/vcube.md
"""

from __future__ import annotations

import argparse
import sys
from typing import Any, NamedTuple

import pytest

from mobilenet.lab.hunt.swarm.broadcasts import draw
from mobilenet.protocols.vcube import causal_reliable, parameters
from mobilenet.protocols.vcube.all_to_all import AllToAllBroadcast
from mobilenet.protocols.vcube.best_effort import BOTTOM, Ack, BestEffortBroadcast, Tree
from mobilenet.protocols.vcube.causal_layer import Arrival, CausalLayer
from mobilenet.protocols.vcube.disjoint_paths import DisjointPathsBroadcast
from mobilenet.protocols.vcube.port import MessageId
from mobilenet.protocols.vcube.reliable import NOBODY, Delv, Message, ReliableBroadcast
from mobilenet.protocols.vcube.topology import c, children, cluster, first_fault_free

from . import readings
from .play import PlayedRun

LIMIT = 3000

# --- best effort


class SubtreeOfTheSource(BestEffortBroadcast):
    """Forwards messages as printed in line 33 of the paper."""

    def _forward(self, m: Tree, j: int) -> None:
        source = m.id.source
        self._new_rows[j] = tuple(
            (j, k) for k in children(self._i, None if self._i == source else source, self._d, self.correct)[::-1]
        )
        super()._forward(m, j)


class OneRowOnly(BestEffortBroadcast):
    """Handles an ACK as printed in line 67 of the paper."""

    def _on_ack(self, j: int, m: Tree) -> None:
        rows = self.ack_set.get(m, ())
        for row in rows:
            if row[1] == j:
                self._keep(m, [other for other in rows if other != row])
                self._check_acks(m, row[0])
                return


class BottomIsTrue(BestEffortBroadcast):
    """Accepts messages as printed in lines 12 and 13 of the paper."""

    def _handle(self, m: Tree, j: int) -> None:
        source, ts = m.id
        if self.rcv_base[source] == BOTTOM and ts in self.rcv_win.get(source, ()):
            self._port.deliver(m.id, m.body)
        super()._handle(m, j)


class DroppedTooEarly(BestEffortBroadcast):
    """Drops entries that still have to be sent (l.53 as printed; l.84)."""

    def __init__(self, *parts: Any, **more: Any) -> None:
        super().__init__(*parts, **more)
        self.dropped: set[Tree] = set()

    def _check_acks(self, m: Tree, k: int) -> None:
        if all(parent != k for parent, _ in self.ack_set.get(m, ())):
            self.dropped.add(m)
        super()._check_acks(m, k)

    def _handle(self, m: Tree, j: int) -> None:
        self.dropped.discard(m)
        super()._handle(m, j)

    def _check_bundle(self, c: Tree | Ack, k: int) -> None:
        if c not in self.dropped:
            super()._check_bundle(c, k)


class NobodyOwes(BestEffortBroadcast):
    """Adds a row even for a cluster without a fault-free process (l.33)."""

    def _forward(self, m: Tree, j: int) -> None:
        super()._forward(m, j)
        for s in range(1, self._d + 1 if j == self._i else cluster(self._i, j)):
            if first_fault_free(self._i, s, self.correct) is None:
                self.ack_set[m] = (*self.ack_set.get(m, ()), (j, -s))


class OnlyNewOnes(BestEffortBroadcast):
    """Neither forwards nor acknowledges a message that was delivered before (l.16-17 within the if)."""

    def _handle(self, m: Tree, j: int) -> None:
        source, ts = m.id
        if ts > self.rcv_base[source] and ts not in self.rcv_win.get(source, ()):
            super()._handle(m, j)


class Overtakes(BestEffortBroadcast):
    """Sends an oversized message ahead of the messages in the queue (l.37-38 as printed)."""

    def _check_bundle(self, c: Tree | Ack, k: int) -> None:
        if c.size_bytes >= self._max_payload_bytes:
            self._port.send(k, c)
        else:
            super()._check_bundle(c, k)


class RowsTheOtherWay(BestEffortBroadcast):
    """Handles the rows in the reverse order of their arrival (l.77)."""

    def on_crash(self, process: int) -> None:
        self.ack_set = dict(reversed(self.ack_set.items()))
        super().on_crash(process)


# --- VCube-RB


class HistoryByMessage(ReliableBroadcast):
    """Uses only m as the key of the history."""

    def _broadcast_tree(self, j: int, m: Message, h: int) -> None:
        start = max((h for (_, known), h in self.history.items() if known == m.id), default=0)
        self.history[j, m.id] = max(start, self.history.get((j, m.id), 0))
        super()._broadcast_tree(j, m, h)


class RowWithheld(ReliableBroadcast):
    """Adds a row only if it also sends the TREE."""

    def _broadcast_cluster(self, j: int, m: Message, s: int) -> None:
        first = next((k for k in c(self._i, s) if k in self.correct), None)
        if not any(first in owing for owing in self.ack_set.get(m.id, {}).values()):
            super()._broadcast_cluster(j, m, s)


class NoAckToSuspects(ReliableBroadcast):
    """Sends no ACK to a suspected parent, as in the evaluation section."""

    def _check_acks(self, j: int, message: MessageId) -> None:
        if j == NOBODY or j in self.correct:
            super()._check_acks(j, message)


class NoGuard(ReliableBroadcast):
    """Lacks the guard against an empty last[source] (l.43, 61)."""

    def on_crash(self, process: int) -> None:
        self.last.setdefault(process, Message(MessageId(process, 0), None))
        super().on_crash(process)


class OutOfOrder(ReliableBroadcast):
    """Delivers messages as they arrive (l.37)."""

    def _handle_message(self, m: Message) -> None:
        source, ts = m.id
        if ts > (self.last[source].id.ts + 1 if source in self.last else 0):
            self.last[source] = m
            self._port.deliver(m.id, m.body)
        else:
            super()._handle_message(m)


class NoDelv(ReliableBroadcast):
    """Sends no DELV to suspected processes (l.31)."""

    def __init__(self, *options: Any) -> None:
        super().__init__(*options)
        send = self._port.send
        self._port = _Port(self._port, lambda to, message: None if type(message) is Delv else send(to, message))


class _Port:
    """A port with a replaced send function."""

    def __init__(self, port: Any, send: Any) -> None:
        self.me, self.deliver, self.complete, self.send = port.me, port.deliver, port.complete, send


class DoesNotWait(ReliableBroadcast):
    """Starts the next broadcast without waiting for the acknowledgements of the current broadcast. Only the last
    broadcast is restarted (l.7).
    """

    def broadcast(self, body: Any) -> MessageId:
        self._incomplete = None
        return super().broadcast(body)


class NoRestart(ReliableBroadcast):
    """Does not restart a message that arrives after its source has been suspected (l.42-43)."""

    def _handle_message(self, m: Message) -> None:
        believed, self.correct = self.correct, self.correct | {m.id.source}
        super()._handle_message(m)
        self.correct = believed


class NoRestartAtAll(ReliableBroadcast):
    """Does not restart the last message of a suspected source (l.60-61)."""

    def on_crash(self, process: int) -> None:
        last = self.last.pop(process, None)
        super().on_crash(process)
        if last is not None:
            self.last[process] = last


# --- All-RB and DPath-RB


class NoRestartOnArrival(AllToAllBroadcast):
    def on_receive(self, sender: int, message: Any) -> None:
        restart, self._restart = self._restart, lambda source: None  # type: ignore[method-assign]
        super().on_receive(sender, message)
        self._restart = restart  # type: ignore[method-assign]


class OnlyTheFirstCopy(DisjointPathsBroadcast):
    def on_receive(self, sender: int, message: Any) -> None:
        if message.id not in self._seen:
            super().on_receive(sender, message)


class NotToSuspects(AllToAllBroadcast):
    """Sends no messages to suspected processes."""

    def _to_all(self, m: Message) -> None:
        send = self._port.send
        everybody, self._port = (
            self._port,
            _Port(self._port, lambda to, tree: send(to, tree) if to in self.correct else None),
        )
        super()._to_all(m)
        self._port = everybody


# --- the causal layer over VCube-RB


class HandsUpWhenSuspected(CausalLayer):
    """Stops waiting for a process once it is suspected."""

    def on_crash(self, process: int) -> None:
        super().on_crash(process)
        for key in [key for key in self._waiting if key[0] == process]:
            self._ready.extend(self._waiting.pop(key))
        self._hand_up()


class DropsWhenSuspected(CausalLayer):
    """Drops the messages that wait for a message of a suspected process."""

    def on_crash(self, process: int) -> None:
        super().on_crash(process)
        for key in [key for key in self._waiting if key[0] == process]:
            del self._waiting[key]


class ByOwnEntries(CausalLayer):
    """Keeps only FIFO order: the timestamps ignore earlier deliveries from other processes."""

    def _admit(self, arrival: Arrival) -> None:
        super()._admit(
            arrival._replace(after=tuple(due if s == arrival.source else 0 for s, due in enumerate(arrival.after)))
        )


class Mutant(NamedTuple):
    hole: str  # entry for the fault in the header of the protocol
    protocol: str
    where: Any  # module that builds the protocol
    of: str  # name of the class that is replaced
    kind: type
    # The test that detects a mutant that breaks no promise, or that the swarm would find only after very many
    # schedules.
    scene: str | None = None


def _of(protocol: str, of: str, **kinds: tuple[str, type] | tuple[str, type, str]) -> dict[str, Mutant]:
    where = causal_reliable if protocol == "causal_reliable" else parameters
    return {name: Mutant(hole, protocol, where, of, kind, *scene) for name, (hole, kind, *scene) in kinds.items()}


MUTANTS: dict[str, Mutant] = {
    **_of(
        "best_effort",
        "BestEffortBroadcast",
        subtree_of_source=("l.33", SubtreeOfTheSource),
        nobody_owes=("l.33, 76", NobodyOwes),
        bottom_is_true=("l.12-13", BottomIsTrue),
        only_new_ones=("l.16-17", OnlyNewOnes),
        overtakes=("l.37-38", Overtakes, "test_an_oversized_message_is_sent_after_the_waiting_ones"),
        dropped_too_early=("l.53", DroppedTooEarly, "test_dropping_messages_too_early_breaks_agreement"),
        one_row_only=("l.67", OneRowOnly, "test_waiting_for_the_acknowledgements_of_only_one_row_fails"),
        rows_the_other_way=("l.77", RowsTheOtherWay, "test_bundled_rows_are_handled_in_their_order_of_arrival"),
    ),
    **_of(
        "reliable",
        "ReliableBroadcast",
        history_by_message=("history", HistoryByMessage, "test_reliable_broadcast_survives_a_chain_of_four_crashes"),
        row_withheld=("l.27-28", RowWithheld, "test_reliable_broadcast_survives_a_chain_of_four_crashes"),
        no_ack_to_suspects=("l.34", NoAckToSuspects),
        no_guard=("l.43, 61", NoGuard),
        out_of_order=("l.37", OutOfOrder),
        no_delv=("l.31", NoDelv),
        does_not_wait=("l.7", DoesNotWait),
        no_restart_on_arrival=("l.42-43", NoRestart),
        no_restart_on_crash=("l.60-61", NoRestartAtAll),
    ),
    **_of(
        "all_to_all",
        "AllToAllBroadcast",
        all_no_restart_on_arrival=("TREE", NoRestartOnArrival),
        not_to_suspects=("broadcast", NotToSuspects),
    ),
    **_of("disjoint_paths", "DisjointPathsBroadcast", only_the_first_copy=("every copy goes on", OnlyTheFirstCopy)),
    **_of("causal", "CausalBroadcast", **readings.MUTANTS),
    **_of(
        "causal_reliable",
        "CausalLayer",
        hands_up_when_suspected=("Held", HandsUpWhenSuspected),
        drops_when_suspected=("Held", DropsWhenSuspected),
        by_own_entries=("stamps", ByOwnEntries),
    ),
}


class Kill(NamedTuple):
    schedules: int
    seed: int | None  # the seed that caught the mutant, or None if it survives
    check: str
    explanation: str


def hunt(name: str, limit: int = LIMIT, first: int = 0) -> Kill:
    """Run schedules until the mutant is caught."""
    m = MUTANTS[name]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(m.where, m.of, m.kind)
        for seed in range(first, first + limit):
            try:
                violated = PlayedRun(draw(seed, m.protocol)).violated
            except (AssertionError, KeyError, ValueError, IndexError, TypeError) as error:
                return Kill(seed - first + 1, seed, "raises", f"{type(error).__name__}: {error}")
            if violated:
                check, explanation = next(iter(violated.items()))
                return Kill(seed - first + 1, seed, check, explanation)
    return Kill(limit, None, "SURVIVES", f"but {m.scene}" if m.scene else "")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(MUTANTS))
    parser.add_argument("--limit", type=int, default=LIMIT)
    arguments = parser.parse_args()
    alive = 0
    print(f"{'mutant':26} {'protocol':16} {'hole':14} {'schedules':>9} {'seed':>5} {'violated':12} explanation")
    for name in arguments.names:
        m, kill = MUTANTS[name], hunt(name, arguments.limit)
        alive += kill.seed is None and m.scene is None
        seed = "" if kill.seed is None else kill.seed
        print(
            f"{name:26} {m.protocol:16} {m.hole:14} {kill.schedules:9} {seed:5} {kill.check:12}"
            f" {kill.explanation[:90]}",
            flush=True,
        )
    return 1 if alive else 0


if __name__ == "__main__":
    sys.exit(main())

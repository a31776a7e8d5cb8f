"""Judge a broadcast among processes, one event after the other.

Checks    creation, duplication, membership, order, completion, validity, agreement: see processes.py
Model     a set of messages is stored as the bits of an integer. Two sets, such as the pasts of two messages, are
          therefore compared in one operation
Source    Hadzilacos, Toueg (1994), for the properties; ours: docs/verdicts-and-metrics.md, docs/protocols/vcube.md
"""

from __future__ import annotations

from typing import Any

from mobilenet.record.table import Columns


class ProcessJudge:
    def __init__(self, events: Columns, manifest: dict[str, Any]) -> None:
        self._events = events
        self._promises = manifest["promises"]
        self._order = self._promises["broadcast"]
        self._bits: dict[str, int] = {}  # message -> its bit in sets
        self._names: list[str] = []
        self._past: list[int] = []  # for each message, the set of messages that precede it causally
        self._own: dict[str, int] = {}  # process -> number of broadcasts that it has made
        self._has: dict[str, int] = {f"p{i}": 0 for i in range(manifest["processes"])}
        self._next: dict[tuple[str, str], int] = {}  # (process, source) -> the number of the next message to deliver
        self._completed: list[tuple[str, int, dict[str, int]]] = []
        self._notified_messages: set[str] = set()
        self.crashed: dict[str, int] = {}
        self.violations: dict[str, str] = {}
        self.has_delivered = False

    def judge(self) -> None:
        columns = (self._events[name] for name in ("time_ns", "node", "event", "message"))
        for row, (time, node, event, message) in enumerate(zip(*columns, strict=True)):
            when = f"at {time / 1e9:g} t.u. (event {row})"
            if node in self.crashed:
                self._note_violation("membership", f"{when}: the event {event} occurs at {node} after its crash")
            if event == "deliver":
                self._deliver(node, message, when)
            elif event == "broadcast":
                self._broadcast(node, message, when)
            elif event == "crash":
                self.crashed[node] = row
            elif event == "complete":
                self._complete(node, message, when)
        self._judge_completions()

    def _note_violation(self, check: str, what: str) -> None:
        self.violations.setdefault(check, what)

    def _broadcast(self, node: str, message: str, when: str) -> None:
        if message in self._bits or message.partition(":")[0] != node:
            self._note_violation(
                "creation",
                f"{when}: {node} broadcasts {message}, which belongs to another process or was broadcast before",
            )
            return
        self._bits[message] = len(self._names)
        self._names.append(message)
        self._past.append(self._has[node] | self._own.get(node, 0))
        self._own[node] = self._own.get(node, 0) | 1 << self._bits[message]

    def _deliver(self, node: str, message: str, when: str) -> None:
        self.has_delivered = True
        place = self._bits.get(message)
        if place is None:
            self._note_violation("creation", f"{when}: {node} delivers {message}, which no process has broadcast")
            return
        bit = 1 << place
        if self._has[node] & bit:
            self._note_violation("duplication", f"{when}: {node} delivers {message} again")
            return
        if self._order == "causal" and self._past[place] & ~self._has[node]:
            early = self._past[place] & ~self._has[node]
            name = self._names[(early & -early).bit_length() - 1]
            self._note_violation("order", f"{when}: {node} delivers {message} before {name}, which precedes it")
        elif self._order == "fifo":
            source, _, number = message.partition(":")
            due = self._next.get((node, source), 0)
            if int(number) != due:
                self._note_violation(
                    "order", f"{when}: {node} delivers {message}, but the next message of {source} is {source}:{due}"
                )
            self._next[node, source] = int(number) + 1
        self._has[node] |= bit

    def _complete(self, node: str, message: str, when: str) -> None:
        place = self._bits.get(message)
        if place is None or message in self._notified_messages or message.partition(":")[0] != node:
            why = "although it was notified before or is not the source"
            if place is None:
                why = "but no process has broadcast this message"
            self._note_violation("completion", f"{when}: {node} is notified that {message} is complete, {why}")
            return
        self._notified_messages.add(message)
        if self._promises["completes_when_delivered"]:
            lacking = {
                name: place for name, has in self._has.items() if not has >> place & 1 and name not in self.crashed
            }
            if lacking:
                self._completed.append((message, place, lacking))

    def _judge_completions(self) -> None:
        """Record a violation for each correct process that lacked a message when its source reported completion."""
        for message, _, lacking in self._completed:
            for name in lacking:
                if name not in self.crashed:
                    self._note_violation("completion", f"{message} was complete before {name} had delivered it")

    def _correct(self) -> list[str]:
        return [name for name in self._has if name not in self.crashed]

    def validity_problem(self) -> str | None:
        for message, place in self._bits.items():
            source = message.partition(":")[0]
            if source not in self.crashed and not self._has[source] >> place & 1:
                return f"{source} broadcast {message}, but never delivered it"
        return None

    def permanent_losses(self) -> int:
        """Count the messages that no correct process delivers and that depend on another such message."""
        somewhere = 0
        for name in self._correct():
            somewhere |= self._has[name]
        return sum(bool(past & ~somewhere) and not somewhere >> place & 1 for place, past in enumerate(self._past))

    def agreement_problem(self) -> str | None:
        agrees = self._promises["agreement"]
        correct = self._correct()
        everywhere = -1
        somewhere = 0
        for name in correct:
            everywhere &= self._has[name]
            somewhere |= self._has[name]
        for message, place in self._bits.items():
            source = message.partition(":")[0]
            if everywhere >> place & 1 or not (source not in self.crashed or agrees and somewhere >> place & 1):
                continue
            lacks = next(name for name in correct if not self._has[name] >> place & 1)
            why = f"{source} is correct" if source not in self.crashed else "other correct processes did"
            return f"{lacks} never delivers {message}, although {why}"
        return None

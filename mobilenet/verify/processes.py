"""All verdicts on a run of processes on an abstract network.

Checks    record        the record can be what it claims to be: as for other runs, and only p0..p(n-1) do something
          creation      what is delivered was broadcast before, by the process that its id names, once
          duplication   nobody delivers a message twice
          membership    nobody does anything after it has crashed
          order         fifo: of each source in the order of its broadcasts; causal: nothing before what its source had
                        delivered or broadcast before; where the run promises it
          validity      a correct process delivers what it broadcasts
          agreement     every correct process delivers what a correct process broadcast, and (where the run promises
                        it) whatever some correct process delivers; unknown where more processes crash than the
                        protocol says it survives
          completion    a source that is told that its broadcast is complete is told so once, and only when all
                        correct processes have delivered it; where the detector is perfect
          conservation  every message is accounted for
          drained       at rest all buffers of correct processes are empty; and the run comes to rest. Where messages
                        may be held for ever: all correct processes hold equally many, and not more than there are
                        messages of crashed processes that no correct process delivers and whose past holds another
                        one that no correct process delivers
Model     what a process has delivered is a set of messages, an integer, so all of the past is one operation
Source    Hadzilacos, Toueg (1994), for the properties; ours: docs/verdicts-and-metrics.md, docs/protocols/vcube.md
"""

from __future__ import annotations

import json
import math
from typing import Any

from mobilenet.verify.verdict import NOT_QUIESCENT, NOTHING_DELIVERED, VALID, Verdict
from mobilenet.verify.wellformed import events_problem, rows_problem

SAFETY = ("creation", "duplication", "membership", "order", "completion")
CHECKS = ("record", *SAFETY, "validity", "agreement", "conservation", "drained")
Columns = dict[str, list[Any]]


def verify_processes(
    events: Columns, samples: Columns, positions: Columns, counters: dict[str, Any], manifest: dict[str, Any]
) -> dict[str, Verdict]:
    """A verdict for each of CHECKS."""
    damage = (
        events_problem(events, manifest)
        or rows_problem(events, samples, positions, counters)
        or _processes_problem(events, manifest)
        or _samples_problem(events, samples, manifest)
    )
    if damage is not None:
        unreadable = Verdict("unknown", "the record is damaged")
        return dict.fromkeys(CHECKS, unreadable) | {"record": Verdict("violated", damage)}
    judge = ProcessJudge(events, manifest)
    judge.judge()
    idle, quiescent = not judge.has_delivered, manifest["quiescent"]
    verdicts = {"record": VALID}
    for check in SAFETY:
        found = judge.violations.get(check)
        verdicts[check] = Verdict("violated", found) if found else NOTHING_DELIVERED if idle else VALID
    for check, problem in (("validity", judge.validity_problem()), ("agreement", judge.agreement_problem())):
        if not quiescent:
            verdicts[check] = NOT_QUIESCENT
        elif problem:
            verdicts[check] = Verdict("violated", problem)
        else:
            verdicts[check] = NOTHING_DELIVERED if idle else VALID
    below = manifest["promises"]["below_crashes"]
    if below is not None and manifest["crashes"] >= below:
        verdicts["agreement"] = Verdict(
            "unknown", f"{manifest['crashes']} crashes: nothing is promised from {below} on"
        )
    lost = _conservation_problem(counters, quiescent)
    verdicts["conservation"] = Verdict("violated", lost) if lost else VALID
    verdicts["drained"] = _drained(samples, judge, manifest)
    return verdicts


class ProcessJudge:
    def __init__(self, events: Columns, manifest: dict[str, Any]) -> None:
        self._rows = zip(events["time_ns"], events["node"], events["event"], events["message"], strict=True)
        self._promises = manifest["promises"]
        self._order = self._promises["broadcast"]
        self._bits: dict[str, int] = {}  # message -> its place in sets
        self._names: list[str] = []
        self._past: list[int] = []  # of each message, what precedes it causally
        self._own: dict[str, int] = {}  # what each has broadcast
        self._has: dict[str, int] = {f"p{i}": 0 for i in range(manifest["processes"])}
        self._next: dict[tuple[str, str], int] = {}  # (process, source) -> the number due
        self._completed: list[tuple[str, int, dict[str, int]]] = []
        self._told: set[str] = set()
        self.crashed: dict[str, int] = {}
        self.violations: dict[str, str] = {}
        self.has_delivered = False

    def judge(self) -> None:
        for row, (time, node, event, message) in enumerate(self._rows):
            when = f"at {time / 1e9:g} (event {row})"
            if node in self.crashed:
                self._violated("membership", f"{when}: {node} has a {event} after its crash")
            if event == "deliver":
                self._deliver(node, message, when)
            elif event == "broadcast":
                self._broadcast(node, message, when)
            elif event == "crash":
                self.crashed[node] = row
            elif event == "complete":
                self._complete(node, message, when)
        self._judge_completions()

    def _violated(self, check: str, what: str) -> None:
        self.violations.setdefault(check, what)

    def _broadcast(self, node: str, message: str, when: str) -> None:
        if message in self._bits or message.partition(":")[0] != node:
            self._violated("creation", f"{when}: {node} broadcasts {message}, which is another's or exists already")
            return
        self._bits[message] = len(self._names)
        self._names.append(message)
        self._past.append(self._has[node] | self._own.get(node, 0))
        self._own[node] = self._own.get(node, 0) | 1 << self._bits[message]

    def _deliver(self, node: str, message: str, when: str) -> None:
        self.has_delivered = True
        place = self._bits.get(message)
        if place is None:
            self._violated("creation", f"{when}: {node} delivers {message}, which nobody has broadcast")
            return
        bit = 1 << place
        if self._has[node] & bit:
            self._violated("duplication", f"{when}: {node} delivers {message} again")
            return
        if self._order == "causal" and self._past[place] & ~self._has[node]:
            early = self._past[place] & ~self._has[node]
            name = self._names[(early & -early).bit_length() - 1]
            self._violated("order", f"{when}: {node} delivers {message} before {name}, which precedes it")
        elif self._order == "fifo":
            source, _, number = message.partition(":")
            due = self._next.get((node, source), 0)
            if int(number) != due:
                self._violated("order", f"{when}: {node} delivers {message}, due is {source}:{due}")
            self._next[node, source] = int(number) + 1
        self._has[node] |= bit

    def _complete(self, node: str, message: str, when: str) -> None:
        place = self._bits.get(message)
        if place is None or message in self._told or message.partition(":")[0] != node:
            self._violated("completion", f"{when}: {node} is told of {message}, for the second time or not its own")
            return
        self._told.add(message)
        if self._promises["completes_when_delivered"]:
            lacking = {
                name: place for name, has in self._has.items() if not has >> place & 1 and name not in self.crashed
            }
            if lacking:
                self._completed.append((message, place, lacking))

    def _judge_completions(self) -> None:
        """Who lacked a message when it was complete, and lives to the end."""
        for message, _, lacking in self._completed:
            for name in lacking:
                if name not in self.crashed:
                    self._violated("completion", f"{message} was complete before {name} had delivered it")

    def _correct(self) -> list[str]:
        return [name for name in self._has if name not in self.crashed]

    def validity_problem(self) -> str | None:
        for message, place in self._bits.items():
            source = message.partition(":")[0]
            if source not in self.crashed and not self._has[source] >> place & 1:
                return f"{source} broadcast {message}, and never delivered it"
        return None

    def lost_for_ever(self) -> int:
        """Of how many messages no correct process delivers, something of the past is delivered by no correct process
        either.
        """
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


def _processes_problem(events: Columns, manifest: dict[str, Any]) -> str | None:
    known = {f"p{i}" for i in range(manifest["processes"])}
    for row, (node, event, message, detail, time) in enumerate(
        zip(events["node"], events["event"], events["message"], events["detail"], events["time_ns"], strict=True)
    ):
        if node not in known:
            return f"events: event {row} has node {node!r}, there are p0 to p{manifest['processes'] - 1}"
        if event == "complete":
            at_ns = json.loads(detail or "{}").get("at_ns")
            if message is None or not isinstance(at_ns, int) or not 0 <= at_ns <= time:
                return f"events: event {row} (complete) has message {message!r} and detail {detail!r}"
    crashed = events["event"].count("crash")
    if crashed > manifest["crashes"] or manifest["quiescent"] and crashed != manifest["crashes"]:
        return f"events: {crashed} crashes, the scenario has {manifest['crashes']}"
    return None


def _samples_problem(events: Columns, samples: Columns, manifest: dict[str, Any]) -> str | None:
    end_ns = round(manifest["simulated_s"] * 1e9)
    last: dict[tuple[str, str], int] = {}
    for row, (time, node, quantity, value) in enumerate(
        zip(samples["time_ns"], samples["node"], samples["quantity"], samples["value"], strict=True)
    ):
        if value is None or not math.isfinite(value) or value < 0:
            return f"samples: row {row} has value {value!r}"
        if time is None or not last.get((node, quantity), 0) <= time <= end_ns:
            return f"samples: row {row} ({quantity} at {node}) has time {time}, not in its order or outside of the run"
        last[node, quantity] = time
    crashed = {node for node, event in zip(events["node"], events["event"], strict=True) if event == "crash"}
    quantities = {quantity for _, quantity in last}
    for i in range(manifest["processes"]):
        for quantity in sorted(quantities) or ["a buffer"]:
            if f"p{i}" not in crashed and last.get((f"p{i}", quantity)) != end_ns:
                return f"samples: there is none of {quantity} at p{i} at the end of the run"
    return None


def _conservation_problem(counters: dict[str, Any], quiescent: bool) -> str | None:
    try:
        for name in ("messages", "detector"):
            lane = counters[name]
            if lane is None:
                continue
            if lane["sent"] != lane["received"] + lane["receiver_down"] + lane["in_flight"]:
                return (
                    f"{name}: {lane['sent']} sent, but {lane['received']} received, {lane['receiver_down']} at"
                    f" processes that were down, {lane['in_flight']} in flight"
                )
            kinds = lane.get("by_kind")
            if kinds is not None and sum(kinds.values()) != lane["sent"] + lane["never_left"]:
                return (
                    f"{name}: {lane['sent']} sent and {lane['never_left']} that never left, but {sum(kinds.values())}"
                    " by kind"
                )
        if quiescent and counters["messages"]["in_flight"]:
            return f"messages: quiescent, but {counters['messages']['in_flight']} in flight"
    except (KeyError, TypeError, AttributeError) as error:
        return f"counters.json lacks or garbles {error}"
    return None


def _drained(samples: Columns, judge: ProcessJudge, manifest: dict[str, Any]) -> Verdict:
    last: dict[tuple[str, str], float] = {}
    for node, quantity, value in zip(samples["node"], samples["quantity"], samples["value"], strict=True):
        if node not in judge.crashed:
            last[node, quantity] = value
    may_hold = manifest["promises"].get("may_hold")
    left = [
        f"{node} still holds {value:g} in {quantity}"
        for (node, quantity), value in last.items()
        if value and quantity != may_hold
    ]
    held: dict[float, str] = {}
    for (node, quantity), value in last.items():
        if quantity == may_hold:
            held.setdefault(value, node)
    if manifest["quiescent"]:
        if not left and held:
            left = _held_problems(held, judge.lost_for_ever())
        return Verdict("violated", f"{left[0]} at rest") if left else VALID
    within_s = manifest["promises"]["rest_within_s"]
    if within_s is None or manifest["simulated_s"] < within_s:
        return NOT_QUIESCENT
    return Verdict("violated", f"not at rest after {within_s:g}: {left[0] if left else 'something was on its way'}")


def _held_problems(held: dict[float, str], most: int) -> list[str]:
    """What correct processes hold for ever: as many messages everywhere, none that could be delivered."""
    found = [
        f"{node} holds {value:g} messages, {most} wait for what no correct process has"
        for value, node in held.items()
        if value > most
    ]
    if len(held) > 1:
        (some, one), (others, other), *_ = held.items()
        found.append(f"{one} holds {some:g} messages and {other} {others:g}")
    return found

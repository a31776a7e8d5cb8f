"""Reduce scenarios of each kind, in small steps.

Units     seconds
Source    ours: docs/guide/programs.md
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import pandas as pd

from mobilenet.quoting import pluralize
from mobilenet.scenario import ProcessScenario, Scenario

Changes = dict[str, Any]  # dotted key -> new value
NAME = r"\b[hp]\d+:\d+\b"  # name of a broadcast, such as h0:3
MOST_DRAWN, ROOM_S = 4, 0.05  # maximum number of broadcasts in a diagram, and margin around a time in seconds
SAFE_DRAIN_S = 5.0  # A violation of a delivery property shows within this time.
SEEDS_OF_THE_NAMED = 40  # A run with only the named broadcasts is short, so many seeds can be tried.
# Removing a host changes the movement of all other hosts, so several seeds may be needed to reproduce the violation.
SEEDS_OF_FEW_HOSTS = 8
SEEDS_AT_LAST = (16, 40)  # numbers of additional seeds that are tried at the end, if the limit on trials allows it


class Search(Protocol):
    """The interface of a search that the reductions use."""

    scenario: Any  # the smallest scenario so far
    events: pd.DataFrame  # events of the run that violates the property
    explanation: str

    @property
    def is_over(self) -> bool: ...

    def attempt(self, changes: Changes, seeds: int = ..., first: int = ...) -> bool: ...

    def cut_list(self, key: str, items: Sequence[Any]) -> None: ...


class OfHosts:
    """Reductions of a scenario of hosts and stations."""

    to_look_at = ("record.messages=true", "record.positions_interval_s=default")

    def __init__(self, search: Search) -> None:
        self._search = search

    def run(self) -> None:
        self._write_down()
        while not self._search.is_over:
            before = None
            while before != (before := self._size()) and not self._search.is_over:
                self._round()
            if not self._at_last():
                return

    def _write_down(self) -> None:
        """Replace the random workload and the random faults by explicit lists of what happened in the run."""
        scenario = self._search.scenario
        if scenario.longest_drain_s > SAFE_DRAIN_S:
            self._search.attempt({"drain_s": SAFE_DRAIN_S})
        events = self._search.events
        offers = events[events["event"].isin(["broadcast", "refused"])]
        messages = [
            {"host": host, "at_s": at / 1e9} for host, at in zip(offers["node"], offers["time_ns"], strict=True)
        ]
        payload_bytes = scenario.workload.payload_bytes
        self._search.attempt(
            {"workload": {"arrivals": "explicit", "payload_bytes": payload_bytes, "messages": messages}}
        )
        self._those_named(payload_bytes)
        for key, value in (("churn", None), ("faults", None), ("wireless.loss", 0.0)):
            # The search tries these changes last, because the violation may become rare without churn, faults or
            # losses.
            self._search.attempt({key: value})
        if self._search.scenario.faults is not None:
            self._search.attempt({"faults": {"schedule": "explicit", "outages": self._outages()}})

    def _those_named(self, payload_bytes: int) -> None:
        """Keep only the broadcasts that the explanation names. If this fails, keep all broadcasts of their senders."""
        events = self._search.events[self._search.events["event"] == "broadcast"]
        named = events[events["message"].isin(re.findall(NAME, self._search.explanation))]
        if named.empty:
            return
        until_s = min(self._search.scenario.duration_s, float(named["time_ns"].max()) / 1e9 + SAFE_DRAIN_S)
        for few in (named, events[events["node"].isin(named["node"])]):
            messages = [{"host": host, "at_s": at / 1e9} for host, at in zip(few["node"], few["time_ns"], strict=True)]
            workload = {"arrivals": "explicit", "payload_bytes": payload_bytes, "messages": messages}
            if self._search.attempt({"workload": workload, "duration_s": until_s, "warmup_s": 0.0}, SEEDS_OF_THE_NAMED):
                return

    def _outages(self) -> list[dict[str, Any]]:
        outages, down, events = [], {}, self._search.events
        for node, event, at in zip(events["node"], events["event"], events["time_ns"], strict=True):
            if event == "crash":
                down[node] = at
            elif event == "recover" and node in down:
                begun = down.pop(node)
                outages.append({"host": node, "at_s": begun / 1e9, "duration_s": (at - begun) / 1e9})
        return sorted(outages, key=lambda outage: outage["at_s"])

    def _round(self) -> None:
        search = self._search
        self._earlier(SEEDS_OF_FEW_HOSTS, 0)
        self._shortest()
        self._those_who_act([1], SEEDS_OF_FEW_HOSTS, 0)
        search.cut_list("workload.messages", search.scenario.workload.messages)
        if search.scenario.faults is not None and search.scenario.faults.schedule == "explicit":
            search.cut_list("faults.outages", search.scenario.faults.outages)
        if search.scenario.interventions:
            search.cut_list("interventions", search.scenario.interventions)
        if search.scenario.churn is not None and search.scenario.churn.changes:
            search.cut_list("churn.changes", search.scenario.churn.changes)
        fewer(self._search, "hosts.count", self._search.scenario.hosts.count, 1, self._without_strangers)
        self._one_by_one()
        layout = self._search.scenario.stations.layout
        if getattr(layout, "points_m", None) is not None:
            self._search.cut_list("stations.layout.points_m", layout.points_m)

    def _earlier(self, seeds: int, first: int) -> bool:
        """If the first broadcast is late, try to move all broadcasts to an earlier time."""
        scenario = self._search.scenario
        messages = scenario.workload.messages
        first_s = min((message.at_s for message in messages), default=0.0)
        if first_s <= 2:
            return False
        by_s = first_s - 1
        earlier_messages = [{"host": message.host, "at_s": round(message.at_s - by_s, 9)} for message in messages]
        shorter = {"duration_s": round(scenario.duration_s - by_s, 3), "warmup_s": 0.0}
        return self._search.attempt({"workload.messages": earlier_messages, **shorter}, seeds, first)

    def _shortest(self) -> None:
        """Find the shortest duration, with a precision of a tenth of a second."""
        low, high = 0.0, self._search.scenario.duration_s
        while high - low > 0.1 and not self._search.is_over:
            middle = round((low + high) / 2, 3)
            if middle in (low, high) or not self._search.attempt({"duration_s": middle, "warmup_s": 0.0}):
                low = middle
            else:
                high = middle

    def _at_last(self) -> bool:
        """Try to begin earlier or to remove hosts, with an increasing number of seeds. Return whether this
        succeeded.
        """
        first = SEEDS_OF_FEW_HOSTS
        for seeds in SEEDS_AT_LAST:
            if self._earlier(seeds, first):
                return True
            if self._those_who_act(range(1, self._search.scenario.hosts.count or 0), seeds, first):
                return True
            first += seeds
        return False

    def _those_who_act(self, others: Sequence[int], seeds: int, first: int) -> bool:
        """Try to keep only the hosts named in the lists, and a few other hosts. `others` contains the counts of other
        hosts to try. Return whether this succeeded.
        """
        scenario = self._search.scenario
        count, named = scenario.hosts.count or 0, sorted(self._names())
        strangers = [host for host in range(count) if host not in named]
        for more in others:
            hosts = sorted([*named, *strangers[:more]])
            if more < len(strangers) and hosts and not self._search.is_over:
                moved = {host: number for number, host in enumerate(hosts)}
                if self._search.attempt({"hosts.count": len(hosts), **self._with_hosts(moved)}, seeds, first):
                    return True
        return False

    def _names(self) -> set[int]:
        scenario = self._search.scenario
        churn, faults = getattr(scenario.churn, "changes", ()), getattr(scenario.faults, "outages", ())
        lists = (getattr(scenario.workload, "messages", ()), faults, churn, scenario.interventions)
        hosts = (getattr(one, "host", None) for listed in lists for one in listed or ())
        return {int(host[1:]) for host in hosts if host is not None}

    def _one_by_one(self) -> None:
        """Try to remove each host except the last one. The hosts after a removed one get new numbers."""
        host = 0
        while host < (self._search.scenario.hosts.count or 0) - 1 and not self._search.is_over:
            count = (self._search.scenario.hosts.count or 0) - 1
            moved = {old: old - (old > host) for old in range(count + 1) if old != host}
            if not self._search.attempt({"hosts.count": count, **self._with_hosts(moved)}):
                host += 1

    def _without_strangers(self, hosts: int) -> Changes:
        """Return the lists without entries for hosts that have been removed."""
        return self._with_hosts({host: host for host in range(hosts)})

    def _with_hosts(self, moved: Mapping[int, int]) -> Changes:
        """Return only the list entries for the hosts in `moved`, with their new numbers."""
        scenario = self._search.scenario
        changes: Changes = {}
        lists = {
            "workload.messages": scenario.workload.messages,
            "faults.outages": getattr(scenario.faults, "outages", None),
            "churn.changes": getattr(scenario.churn, "changes", None),
            "interventions": scenario.interventions,  # Some interventions do not name a host.
        }
        for key, listed in lists.items():
            if listed:
                there = [one for one in listed if not hasattr(one, "host") or int(one.host[1:]) in moved]
                changes[key] = [
                    one.model_copy(update={"host": f"h{moved[int(one.host[1:])]}"}) if hasattr(one, "host") else one
                    for one in there
                ]
        return changes

    def _size(self) -> tuple[float, ...]:
        scenario = self._search.scenario
        lists = (scenario.workload.messages, getattr(scenario.faults, "outages", ()), scenario.interventions)
        layout = getattr(scenario.stations.layout, "points_m", ())
        return (scenario.duration_s, scenario.hosts.count or 0, len(layout), *map(len, lists))

    @staticmethod
    def around(explanation: str, events: pd.DataFrame) -> str:
        """Return the options with which `mobilenet spacetime` shows the violation, or an empty string if it cannot be
        drawn. The options select the broadcasts named in the explanation, with all their deliveries. If none of these
        messages was broadcast, the options select the times given in the explanation.
        """
        at = re.search(r" at (h\d+)", explanation) or re.search(r"\b(h\d+)\b(?!:)", explanation)
        times_s = [float(time_s) for time_s in re.findall(r" at (\d+\.\d+) s", explanation)]
        names, sent = re.findall(NAME, explanation), events[events["event"] == "broadcast"]["message"]
        named = [name for name in sent if name in names][:MOST_DRAWN]
        if at is None or not (named or times_s):
            return ""
        if named:
            return f"--around message:{','.join(named)} --host {at[1]}"
        middle_s, half_s = (min(times_s) + max(times_s)) / 2, (max(times_s) - min(times_s)) / 2
        return f"--around {middle_s:.6f} --host {at[1]} --margin-s {half_s + ROOM_S:.3f}"

    @staticmethod
    def summary(scenario: Scenario) -> str:
        workload: Any = scenario.workload
        listed = workload.arrivals == "explicit"
        broadcasts = f", {pluralize(len(workload.messages), 'broadcast')}" if listed else ""
        outages = getattr(scenario.faults, "outages", None)
        crashes = "" if outages is None else f", {pluralize(len(outages), 'crash')}"
        hosts = "" if scenario.hosts.count is None else f"{pluralize(scenario.hosts.count, 'host')}, "
        return f"{hosts}{pluralize(scenario.station_count, 'station')}, {scenario.duration_s:g} s{broadcasts}{crashes}"

    @staticmethod
    def without_the_late(scenario: Scenario) -> Scenario:
        """Return the scenario without the broadcasts and outages that are planned after its end."""
        groups: dict[str, Any] = {}
        for name, key in (("workload", "messages"), ("faults", "outages")):
            group = getattr(scenario, name)
            listed = getattr(group, key, ())
            early_entries = tuple(one for one in listed if one.at_s < scenario.duration_s)
            if len(early_entries) < len(listed):
                groups[name] = group.model_copy(update={key: early_entries})
        return scenario.model_copy(update=groups) if groups else scenario


class OfProcesses:
    """Reductions of a scenario of processes."""

    to_look_at = ()

    def __init__(self, search: Search) -> None:
        self._search = search

    def run(self) -> None:
        search = self._search
        search.attempt({"random_faults": None})
        search.cut_list("faults", search.scenario.faults)
        fewer(search, "workload.messages", search.scenario.workload.messages, 1)
        fewer(search, "processes", search.scenario.processes, 2)

    @staticmethod
    def around(explanation: str, events: pd.DataFrame) -> str:
        """Return an empty string, because space-time diagrams show hosts and stations."""
        return ""

    @staticmethod
    def summary(scenario: ProcessScenario) -> str:
        broadcasts = scenario.workload.messages * (scenario.workload.sources or scenario.processes)
        counts = ((scenario.processes, "process"), (broadcasts, "broadcast"), (scenario.crashes, "crash"))
        return ", ".join(pluralize(number, what) for number, what in counts)

    @staticmethod
    def without_the_late(scenario: ProcessScenario) -> ProcessScenario:
        """Return the scenario unchanged, because all its events are planned before its end."""
        return scenario


def fewer(
    search: Search, key: str, count: int | None, least: int, also: Callable[[int], Changes] = lambda few: {}
) -> None:
    """Find the smallest value of the key at which the property is still violated, by halving and then by single steps.
    `also` returns further changes that a value requires.
    """
    while count is not None and count > least and not search.is_over:
        few = max(least, count // 2)
        if not search.attempt({key: few, **also(few)}):
            few = count - 1
            if not search.attempt({key: few, **also(few)}):
                return
        count = few


KINDS: dict[type, Any] = {Scenario: OfHosts, ProcessScenario: OfProcesses}

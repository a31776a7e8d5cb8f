"""A smaller scenario that violates the same property: something that a person can look at.

Model     what happened at random in the run is written down as lists (who broadcasts when, who crashes when), and then
          the lists, the time, the hosts and the stations are made smaller as long as the property is still violated.
          A candidate is run and judged like any scenario; nothing is known of its protocol. What the explanation names
          is tried first, then the lists are cut as delta debugging does it. Whatever is taken away changes what is
          drawn for the rest, so a candidate may be played with a few other seeds
Units     seconds, as the names say
Errors    RunError: a run that violates nothing, or that does not violate it again
Source    Zeller, Hildebrandt: Simplifying and Isolating Failure-Inducing Input (2002), algorithm ddmin; which parts
          are made smaller is ours: docs/guide/programs.md
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from mobilenet.api import Run, run
from mobilenet.parameters import ScenarioError
from mobilenet.quoting import counted
from mobilenet.rundir.reader import RunError
from mobilenet.scenario import AnyScenario, ProcessScenario, Scenario, load_scenario
from mobilenet.scenario.yaml_writer import inline
from mobilenet.simulation.plugin_code import require_allowed

T = TypeVar("T")
Changes = dict[str, Any]  # dotted key -> value
OnTrial = Callable[[str], None]
SAFE_DRAIN_S = 5.0  # whatever is violated by deliveries shows by then
SEEDS = 4  # that a candidate is played with
SEEDS_OF_THE_NAMED = 40  # one of so few broadcasts takes no time


class Shrinking:
    """The search, step by step. `scenario` is the smallest one so far."""

    def __init__(self, directory: Path, allow_code: bool = False, most: int = 200, on_trial: OnTrial = print) -> None:
        """`most`: trials; `on_trial` is told what was found after each."""
        self._allow_code = allow_code
        self._most = most
        self._on_trial = on_trial
        self.trials = 0
        opened = Run(directory)
        violated = [name for name, verdict in opened.verdicts.items() if verdict.answer == "violated"]
        if not violated:
            raise RunError(f"{directory}: violates nothing; expected a run whose verdict is violated")
        self.violated = violated[0]
        self._explanation = opened.verdicts[self.violated].explanation
        try:
            self.scenario: AnyScenario = load_scenario(directory / "scenario.yaml")
        except ScenarioError:
            raise RunError(
                f"{directory}: a schedule of the swarm's network without physics, which cannot be made smaller;"
                " expected a run of a scenario, or one of an odd seed of the swarm"
            ) from None
        if self.scenario.protocol.name == "datagrams":
            raise RunError(
                f"{directory}: a run in real time, which is never the same again; expected one in virtual time"
            )
        require_allowed(self.scenario, allow_code)
        if not self._still({}):
            raise RunError(f"{directory}: does not violate {self.violated} again; run it with --twice to see why")
        self._events = opened.events

    # --- the search

    def run(self) -> None:
        """Make it smaller until nothing can be taken away any more, or the trials are used up."""
        if isinstance(self.scenario, ProcessScenario):
            self._processes()
        else:
            self._write_down()
            before = None
            while before != (before := self._size()) and self.trials < self._most:
                self._hosts_and_stations()

    def _write_down(self) -> None:
        """What was drawn, as lists."""
        scenario = self.scenario
        assert isinstance(scenario, Scenario)
        if scenario.drain_s > SAFE_DRAIN_S:
            self._try({"drain_s": SAFE_DRAIN_S})
        events = self._events
        offers = events[events["event"].isin(["broadcast", "refused"])]
        told = [{"host": host, "at_s": at / 1e9} for host, at in zip(offers["node"], offers["time_ns"], strict=True)]
        payload_bytes = scenario.workload.payload_bytes
        self._try({"workload": {"arrivals": "explicit", "payload_bytes": payload_bytes, "messages": told}})
        self._those_named(payload_bytes)
        for key, value in (("churn", None), ("faults", None), ("wireless.loss", 0.0)):
            self._try({key: value})  # last: where they make the mistake likely, it would become rare
        if self.scenario.faults is not None:  # type: ignore[union-attr]
            self._try({"faults": {"schedule": "explicit", "outages": self._outages()}})

    def _those_named(self, payload_bytes: int) -> None:
        """The broadcasts that the explanation names; then all of those who made them."""
        events = self._events[self._events["event"] == "broadcast"]
        named = events[events["message"].isin(re.findall(r"\b[hp]\d+:\d+\b", self._explanation))]
        if named.empty:
            return
        until_s = min(self.scenario.duration_s, float(named["time_ns"].max()) / 1e9 + SAFE_DRAIN_S)
        for few in (named, events[events["node"].isin(named["node"])]):
            told = [{"host": host, "at_s": at / 1e9} for host, at in zip(few["node"], few["time_ns"], strict=True)]
            workload = {"arrivals": "explicit", "payload_bytes": payload_bytes, "messages": told}
            if self._still({"workload": workload, "duration_s": until_s, "warmup_s": 0.0}, SEEDS_OF_THE_NAMED):
                return

    def _outages(self) -> list[dict[str, Any]]:
        found, down = [], {}
        for node, event, at in zip(self._events["node"], self._events["event"], self._events["time_ns"], strict=True):
            if event == "crash":
                down[node] = at
            elif event == "recover" and node in down:
                begun = down.pop(node)
                found.append({"host": node, "at_s": begun / 1e9, "duration_s": (at - begun) / 1e9})
        return sorted(found, key=lambda outage: outage["at_s"])

    def _hosts_and_stations(self) -> None:
        scenario: Any = self.scenario
        self._earlier()
        self._shortest()
        self._cut_list("workload.messages", scenario.workload.messages)
        if scenario.faults is not None and scenario.faults.schedule == "explicit":
            self._cut_list("faults.outages", scenario.faults.outages)
        if scenario.interventions:
            self._cut_list("interventions", scenario.interventions)
        if scenario.churn is not None and scenario.churn.changes:
            self._cut_list("churn.changes", scenario.churn.changes)
        self._fewer("hosts.count", self.scenario.hosts.count, 1)  # type: ignore[union-attr]
        layout: Any = self.scenario.stations.layout  # type: ignore[union-attr]
        if getattr(layout, "points_m", None) is not None:
            self._cut_list("stations.layout.points_m", layout.points_m)

    def _processes(self) -> None:
        scenario = self.scenario
        assert isinstance(scenario, ProcessScenario)
        self._try({"random_faults": None})
        self._cut_list("faults", scenario.faults)
        self._fewer("workload.messages", scenario.workload.messages, 1)
        self._fewer("processes", scenario.processes, 2)

    # --- steps

    def _earlier(self) -> None:
        """Nothing happens for long before the first broadcast."""
        scenario: Any = self.scenario
        messages = scenario.workload.messages
        first_s = min((message.at_s for message in messages), default=0.0)
        if first_s > 2:
            by_s = first_s - 1
            told = [{"host": message.host, "at_s": round(message.at_s - by_s, 9)} for message in messages]
            shorter = {"duration_s": round(scenario.duration_s - by_s, 3), "warmup_s": 0.0}
            self._try({"workload.messages": told, **shorter})

    def _shortest(self) -> None:
        """The least time, to a tenth of a second."""
        low, high = 0.0, self.scenario.duration_s
        while high - low > 0.1 and self.trials < self._most:
            middle = round((low + high) / 2, 3)
            if middle in (low, high) or not self._try({"duration_s": middle, "warmup_s": 0.0}):
                low = middle
            else:
                high = middle

    def _fewer(self, key: str, count: int | None, least: int) -> None:
        """The least number, by halves and then one by one."""
        while count is not None and count > least and self.trials < self._most:
            smaller = max(least, count // 2)
            if not self._try(self._without_strangers({key: smaller}, smaller)):
                smaller = count - 1
                if not self._try(self._without_strangers({key: smaller}, smaller)):
                    return
            count = smaller

    def _without_strangers(self, changes: Changes, hosts: int) -> Changes:
        """With fewer hosts, lists name only those that are left."""
        scenario: Any = self.scenario
        if "hosts.count" not in changes:
            return changes
        lists = {
            "workload.messages": scenario.workload.messages,
            "faults.outages": getattr(scenario.faults, "outages", None),
            "churn.changes": getattr(scenario.churn, "changes", None),
            "interventions": scenario.interventions,  # of which some name no host
        }
        for key, listed in lists.items():
            if listed:
                changes[key] = [one for one in listed if int(getattr(one, "host", "h0")[1:]) < hosts]
        return changes

    def _cut_list(self, key: str, items: Sequence[T]) -> None:
        def still(kept: Sequence[T]) -> bool:
            return self.trials < self._most and self._try({key: kept})

        ddmin(items, still)

    def _try(self, changes: Changes) -> bool:
        """Whether it is still violated with these values, perhaps with another seed; if so, they stay."""
        return self._still(changes, SEEDS)

    def _still(self, changes: Changes, seeds: int = 1) -> bool:
        return any(self._trial({**changes, "seed": self.scenario.seed + more}) for more in range(seeds))

    def _trial(self, changes: Changes) -> bool:
        if self.trials >= self._most:
            return False
        self.trials += 1
        try:
            candidate = self.scenario.changed([f"{key}={inline(_plain(value))}" for key, value in changes.items()])
            with tempfile.TemporaryDirectory(prefix="mobilenet-shrink-") as folder:
                verdicts = run(candidate, out=Path(folder) / "run", allow_code=self._allow_code).verdicts
        except ScenarioError:
            return False  # no scenario, or one that its protocol does not survive
        found = self.violated in verdicts and verdicts[self.violated].answer == "violated"
        if found:
            self.scenario = _without_the_late(candidate)
        self._on_trial(self.summary())
        return found

    # --- what was found

    @property
    def to_look_at(self) -> list[str]:
        """Changes that alter nothing that happens, and let it be drawn."""
        return [] if isinstance(self.scenario, ProcessScenario) else ["record.messages=true"]

    def around(self, small: Run) -> str:
        """Where to look, as options of `mobilenet spacetime`; empty: it cannot be drawn."""
        explanation = small.verdicts[self.violated].explanation
        at = re.search(r" at (h\d+)", explanation) or re.search(r"\b(h\d+)\b", explanation)
        times_s = [float(time_s) for time_s in re.findall(r" at (\d+\.\d+) s", explanation)]
        if at is None or not times_s or isinstance(self.scenario, ProcessScenario):
            return ""
        middle_s, half_s = (min(times_s) + max(times_s)) / 2, (max(times_s) - min(times_s)) / 2
        return f"--around {middle_s:.6f} --host {at[1]} --margin-s {half_s:.3f}"

    def _size(self) -> tuple[float, ...]:
        scenario: Any = self.scenario
        lists = (scenario.workload.messages, getattr(scenario.faults, "outages", ()), scenario.interventions)
        layout = getattr(scenario.stations.layout, "points_m", ())
        return (scenario.duration_s, scenario.hosts.count or 0, len(layout), *map(len, lists))

    def summary(self) -> str:
        """How small it is, for people."""
        scenario: Any = self.scenario
        if isinstance(scenario, ProcessScenario):
            broadcasts = scenario.workload.messages * (scenario.workload.sources or scenario.processes)
            told = ((scenario.processes, "process"), (broadcasts, "broadcast"), (scenario.crashes, "crash"))
            return ", ".join(counted(number, what) for number, what in told)
        listed = scenario.workload.arrivals == "explicit"
        said = f", {counted(len(scenario.workload.messages), 'broadcast')}" if listed else ""
        crashes = f", {counted(len(scenario.faults.outages), 'crash')}" if hasattr(scenario.faults, "outages") else ""
        hosts = "" if scenario.hosts.count is None else f"{counted(scenario.hosts.count, 'host')}, "
        return f"{hosts}{counted(scenario.station_count, 'station')}, {scenario.duration_s:g} s{said}{crashes}"


def _without_the_late(scenario: AnyScenario) -> AnyScenario:
    """Without broadcasts and outages after its end, which never happen."""
    if isinstance(scenario, ProcessScenario):
        return scenario
    groups: dict[str, Any] = {}
    for name, key in (("workload", "messages"), ("faults", "outages")):
        group = getattr(scenario, name)
        listed = getattr(group, key, ())
        kept = tuple(one for one in listed if one.at_s < scenario.duration_s)
        if len(kept) < len(listed):
            groups[name] = group.model_copy(update={key: kept})
    return scenario.model_copy(update=groups) if groups else scenario


def ddmin(items: Sequence[T], fails: Callable[[Sequence[T]], bool]) -> list[T]:
    """A shorter list for which `fails` still holds, and which it does not for any one item less, unless `fails` gives
    up before.
    """
    kept, parts = list(items), 2
    while kept:
        size = -(-len(kept) // parts)
        rests = [kept[:i] + kept[i + size :] for i in range(0, len(kept), size)]
        smaller = next((rest for rest in rests if fails(rest)), None)
        if smaller is not None:
            kept, parts = smaller, max(2, parts - 1)
        elif size == 1:
            break
        else:
            parts = min(len(kept), 2 * parts)
    return kept


def _plain(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value.model_dump() if hasattr(value, "model_dump") else value

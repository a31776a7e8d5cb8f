"""Tests that recompute every metric of a run, slowly, from the rows of the run and the definition of the metric.

The tests use only the results of mobilenet.metrics, not its code. Sums are over whole numbers of nanoseconds, and each
question reads all rows again. Pairs are counted in the table of frames, whereas mobilenet.metrics reads running totals.
The tests read complete runs from disk. They also use damaged records and generated traces, with rows that a real run
never has, such as two broadcasts of the same message.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any, Self

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mobilenet import api
from mobilenet.engine.clock import SECOND
from mobilenet.metrics import metrics
from mobilenet.metrics.declaration import Row
from mobilenet.metrics.fold import EventFold
from mobilenet.record.table import Table
from mobilenet.scenario import ProcessScenario, Scenario
from tests.conftest import SCENARIOS
from tests.verify.damage import SCENARIO
from tests.verify.test_against_brute_force import KINDS, columns
from tests.verify.test_screening import PROCESSES, Record, damage, record_of

RUNS = {
    "faults": ("faults.yaml", ["duration_s=40", "faults.every_s=5", "faults.first_at_s=11", "hosts.count=40"]),
    "crashes": ("faults.yaml", ["duration_s=40", "hosts.count=10", "faults.station=s0", "faults.first_at_s=1",
    "faults.every_s=0.7",
                                "faults.first_duration_s=5", "hosts.mobility.speed_mps=20", "seed=9440"]),
    "churn": ("churn.yaml", ["duration_s=50"]),
    "holes": ("holes.yaml", ["duration_s=40"]),
    "expiry": ("holes.yaml", ["duration_s=60", "protocol.expiry_s=4", "seed=3"]),
    "streets": ("streets.yaml", ["duration_s=22", "warmup_s=5"]),
    "tcp": ("tcp_dynamic.yaml", ["duration_s=30", "hosts.count=30",
    "faults={schedule: random, rate_per_host_per_min: 1, mean_duration_s: 2}"]),
    "acking": ("paper/tcp_static.yaml", ["duration_s=18"]),
    "sinr": ("dynamic.yaml", ["duration_s=25", "hosts.count=30", "hosts.attachment={hysteresis_db: 3}",
    "wireless={model: sinr, mode: g, broadcast_rate_mbps: 6, shadowing: {sigma_db: 6}, fading: {model: nakagami}}"]),
    "plug-in": ("own_protocol/gossip.yaml", ["duration_s=20"]),
}  # fmt: skip
LISTS = {"md": "m_d", "skip": "skip", "undelivered": "handoff_undelivered_list", "wanted": "handoff_wanted_list",
         "bodies": "handoff_recovered_list", "new_ids": "handoff_received_list"}  # fmt: skip


PROCESS_RUNS = {
    "bundling": ("vcube/bundling.yaml", ["processes=16"]),
    "reliable": ("vcube/reliable.yaml", []),
    "a source that crashes when all is complete": (
        "vcube/reliable.yaml",
        ["processes=8", "faults=[{process: p0, at: 900}]"],
    ),
    "causal": ("vcube/causal.yaml", ["processes=16"]),
    "causal and reliable": ("vcube/causal_reliable.yaml", []),
    "plug-in": ("own_protocol/ring.yaml", []),
}
COMPLETING = ("best_effort", "reliable", "all_to_all")
Rows = list[SimpleNamespace]


def rows_of(columns: dict[str, list[Any]]) -> Rows:
    return [SimpleNamespace(**dict(zip(columns, row, strict=True))) for row in zip(*columns.values(), strict=True)]


class Slow:
    """Holds the rows of a run, and reads all of them again to answer each question."""

    def __init__(
        self,
        events: Rows,
        samples: Rows,
        counters: dict[str, Any],
        manifest: dict[str, Any],
        frames: pd.DataFrame | None = None,
    ) -> None:
        self.events, self.samples, self.counters, self.manifest = events, samples, counters, manifest
        self.begin, self.end = (round(manifest[key] * SECOND) for key in ("warmup_s", "duration_s"))
        self.frames = frames

    @classmethod
    def read(cls, run: Path) -> Self:
        counters, manifest = (json.loads((run / f"{name}.json").read_text()) for name in ("counters", "manifest"))
        frames = pd.read_parquet(run / "frames.parquet") if (run / "frames.parquet").exists() else None
        events, samples = (pd.read_parquet(run / f"{name}.parquet").to_dict("list") for name in ("events", "samples"))
        return cls(rows_of(events), rows_of(samples), counters, manifest, frames)

    def inside(self, time_ns: int) -> bool:
        return self.begin <= time_ns < self.end

    def of(self, kind: str, node: str | None = None) -> Rows:
        return [e for e in self.events if e.event == kind and (node is None or e.node == node)]

    @property
    def nodes(self) -> list[str]:
        return sorted({e.node for e in self.events})

    def count(self, kind: str) -> int:
        return sum(self.inside(e.time_ns) for e in self.of(kind))

    # --- deliveries

    def sent_at(self) -> dict[str, int]:
        """Return the time of the last broadcast of each message."""
        return {e.message: e.time_ns for e in self.of("broadcast")}

    def deliveries(self) -> Iterator[tuple[SimpleNamespace, SimpleNamespace | None]]:
        """Yield each delivery together with the last broadcast of the message before that delivery."""
        sent: dict[str, SimpleNamespace] = {}
        for e in self.events:
            if e.event == "broadcast":
                sent[e.message] = e
            elif e.event == "deliver":
                yield e, sent.get(e.message)

    def delays_s(self, at_others: bool = False) -> list[Fraction]:
        return [
            Fraction(e.time_ns - sent.time_ns, SECOND)
            for e, sent in self.deliveries()
            if sent and self.inside(sent.time_ns) and not (at_others and sent.node == e.node)
        ]

    def entitlements(self, host: str, first: int, last: int) -> list[tuple[str, str, int]]:
        """Return the messages that were broadcast between two rows and that the host never delivers."""
        has, sent = {e.message for e in self.of("deliver", host)}, self.sent_at()
        rows = self.events[first:last]
        return [(host, e.message, sent[e.message]) for e in rows if e.event == "broadcast" and e.message not in has]

    def obligations(self) -> list[tuple[str, str]]:
        """Return pairs of a host and a message that was broadcast in the window. The host is a member when the message
        is broadcast, and never leaves afterwards.
        """
        pairs, sent = [], self.sent_at()
        for host in self.nodes:
            member = False
            rest: list[str] = []
            for event in self.events:
                if event.node == host and event.event in ("join", "leave"):
                    member, rest = event.event == "join", []
                elif event.event == "broadcast" and member and self.inside(sent[event.message]):
                    rest.append(event.message)
            pairs += [(host, message) for message in rest]
        return pairs

    def reach(self) -> Fraction | None:
        pairs, has = self.obligations(), {(e.node, e.message) for e in self.of("deliver")}
        return Fraction(len({*pairs} & has), len(pairs)) if pairs else None

    def missing_deliveries(self) -> list[tuple[str, str, int]]:
        entries = []
        for host in self.nodes:
            turns = [
                (row, e.event)
                for row, e in enumerate(self.events)
                if e.node == host and e.event in ("join", "leave", "gap")
            ]
            if turns and turns[-1][1] != "leave":
                entries += self.entitlements(host, turns[-1][0], len(self.events))
        return entries

    def missed_by_gaps(self) -> int:
        total = 0
        for host in self.nodes:
            turns = [(row, e) for row, e in enumerate(self.events) if e.node == host and e.event in ("join", "gap")]
            for (before, _), (row, e) in pairwise(turns):
                if e.event == "gap" and self.inside(e.time_ns):
                    total += len(self.entitlements(host, before, row))
        return total

    # --- buffers

    def spans(self, node: str) -> list[tuple[int, int]]:
        """Return the intervals of the window in which a host is a member."""
        intervals, since = [], None
        for e in (e for e in self.events if e.node == node and e.event in ("join", "leave")):
            if e.event == "join":
                since = e.time_ns
            elif since is not None:
                intervals.append((since, e.time_ns))
                since = None
        if since is not None:
            intervals.append((since, max(since, self.end)))
        return [(max(a, self.begin), min(b, self.end)) for a, b in intervals if max(a, self.begin) < min(b, self.end)]

    def buffer(self, kind: str, quantity: str) -> tuple[float | None, float]:
        steps: dict[str, list[tuple[int, float]]] = {}
        for s in self.samples:
            if s.quantity == quantity and s.node.startswith(kind) and s.node != "network":
                steps.setdefault(s.node, []).append((s.time_ns, s.value))
        area, time, most = Fraction(0), 0, 0.0
        for node in sorted(steps if kind == "s" else self.nodes):
            for a, b in [(self.begin, self.end)] if kind == "s" else self.spans(node):
                level = next((v for t, v in reversed(steps.get(node, [])) if t <= a), 0.0)
                moments = [(a, level), *((t, v) for t, v in steps.get(node, []) if a < t < b), (b, 0.0)]
                for (t, v), (u, _) in pairwise(moments):
                    area += Fraction(v) * (u - t)
                most = max([most, *(v for _, v in moments[:-1])])
                time += b - a
        return (float(area / time) if time else None), most

    # --- handoffs

    def handoffs(self) -> dict[str, Any]:
        done, superseded, recoveries, interruptions, excess = [], 0, 0, [], []
        returned: list[bool] = []
        waiting = {host for host, _, _ in self.missing_deliveries()}
        for host in self.nodes:
            own = [e for e in self.events if e.node == host]
            open_one: SimpleNamespace | None = None
            for e in own:
                if e.event == "handoff_start":
                    superseded += open_one is not None and self.inside(open_one.time_ns)
                    open_one = e
                elif e.event == "leave":
                    open_one = None
                elif e.event == "handoff_end" and open_one is not None and open_one.session == e.session:
                    if self.inside(open_one.time_ns):
                        if json.loads(open_one.detail or "{}").get("cause") == "cell":
                            done.append((host, open_one.time_ns, e.time_ns, json.loads(e.detail or "{}")))
                        else:
                            recoveries += 1
                    open_one = None
            times = [e.time_ns for e in own if e.event == "deliver"]
            begun = [started for name, started, *_ in done if name == host]
            if open_one is not None and self.inside(open_one.time_ns):
                begun += [open_one.time_ns] * (json.loads(open_one.detail or "{}").get("cause") == "cell")
            returned += [host not in waiting or any(t > started for t in times) for started in begun]
            ends = [e.time_ns for e in own if e.event in ("crash", "leave")]
            quiet = [(a, b) for a, b in pairwise(times) if not any(a <= t <= b for t in ends)]
            usual = Fraction(sum(b - a for a, b in quiet), len(quiet)) if quiet else Fraction(0)
            for _, started, ended, _ in (one for one in done if one[0] == host):
                before, after = [t for t in times if t < started], [t for t in times if t >= ended]
                if before and after and not any(before[-1] <= t <= after[0] for t in ends):
                    interruptions.append(Fraction(after[0] - before[-1], SECOND))
                    excess.append(interruptions[-1] - usual / SECOND)
        lasted = [Fraction(b - a, SECOND) for _, a, b, _ in done]
        recovered, skipped = ([detail.get(name, 0) for *_, detail in done] for name in ("recovered", "skipped"))
        return {
            "handoff_return_ratio": mean(list(map(Fraction, returned))),
            "handoffs": len(done), "handoffs_superseded": superseded, "recoveries": recoveries,
            "handoff_duration_mean_s": mean(lasted), "handoff_duration_max_s": float(max(lasted)) if lasted else None,
            "handoff_interruption_mean_s": mean(interruptions), "handoff_interruption_excess_mean_s": mean(excess),
            **{f"handoff_interruption_{name}_s": percentile(sorted(interruptions), share)
               for name, share in (("p50", 50), ("p95", 95), ("max", 100))},
            "handoffs_with_recovered": sum(map(bool, recovered)), "handoffs_with_skipped": sum(map(bool, skipped)),
            "handoff_recovered_mean": mean(recovered), "handoff_skipped_mean": mean(skipped),
        }  # fmt: skip

    # --- radio

    def total(self, quantity: str) -> float:
        """Return by how much a running total increases from the beginning to the end of the window."""
        at = {s.time_ns: s.value for s in self.samples if s.node == "network" and s.quantity == quantity}
        return at.get(self.end, 0.0) - at.get(self.begin, 0.0)

    def pairs(self, of: pd.DataFrame, *fates: str) -> int:
        """Count the pairs of a frame and a node in range, for frames that ended in the window. With `fates`, count only
        pairs with one of these fates.
        """
        ended = of[(of["end_ns"] >= self.begin) & (of["end_ns"] < self.end)]
        return int(ended["fate"].isin(fates).sum()) if fates else len(ended)

    def radio(self, frames_table: pd.DataFrame, deliveries: int, broadcasts: int) -> dict[str, Any]:
        frames, window_s = self.total("radio_frames"), Fraction(self.end - self.begin, SECOND)
        payload = self.manifest["payload_bytes"]
        copies = self.total("radio_payload_bytes") / payload + self.total("radio_acknowledgements") if payload else None
        of_frames, with_acks = frames_table[frames_table["kind"] != "mac_ack"], frames_table
        size_bytes = self.total("radio_bytes")
        both_bytes = size_bytes + self.total("radio_mac_ack_bytes")
        return {
            "frames": frames, "frames_per_s": frames / float(window_s),
            "messages_sent_per_delivery": ratio(frames - self.total("radio_mac_retries"), deliveries),
            "copies_and_acks_per_delivery": ratio(copies, deliveries),
            "airtime_per_delivery_s": ratio(self.total("radio_airtime_ns") / SECOND, deliveries),
            "nodes_within_reach_per_frame": ratio(self.pairs(of_frames), frames),
            "receivers_in_range_per_frame": ratio(self.pairs(with_acks), frames),
            "potential_receivers_per_frame": ratio(self.pairs(with_acks), frames),
            **self.losses(of_frames, "collision_loss_ratio", "noise_loss_ratio"),
            **self.losses(with_acks, "collision_ratio", "bit_error_ratio"),
            "frame_bytes": size_bytes, "frame_bytes_per_s": size_bytes / float(window_s),
            "radio_bytes": both_bytes, "radio_bytes_per_s": both_bytes / float(window_s),
            "control_bytes_per_broadcast": ratio(self.total("radio_control_bytes"), broadcasts),
            "wired_messages": self.total("wired_messages"), "wired_bytes": self.total("wired_bytes"),
            "mac_queue_drops": self.counters["radio"]["queue_drops"],
        }  # fmt: skip

    def losses(self, of: pd.DataFrame, collisions: str, noise: str) -> dict[str, Any]:
        to_it, to_others = of[of["addressed"]], ("collision", "never_attempted", "preamble_missed")
        begun = self.pairs(to_it, "received", "collision", "random", "bit_errors")
        is_by_power = "bit_errors" in self.counters["radio"]["lost"]
        return {
            collisions: ratio(self.pairs(of, *to_others), self.pairs(of)),
            f"{collisions}_addressed": ratio(self.pairs(to_it, *to_others), self.pairs(to_it)),
            f"{collisions}_addressed_begun": ratio(self.pairs(to_it, "collision"), begun),
            **({noise: ratio(self.pairs(of, "bit_errors"), self.pairs(of))} if is_by_power else {}),
        }

    def all(self) -> dict[str, Any]:
        delays = sorted(self.delays_s())
        refused, deliveries = (self.count(kind) for kind in ("refused", "deliver"))
        broadcasts = sum(map(self.inside, self.sent_at().values()))
        all_metrics: dict[str, Any] = {
            "window_s": (self.end - self.begin) / SECOND, "broadcasts": broadcasts, "broadcasts_refused": refused,
            "broadcasts_offered": broadcasts + refused, "broadcasts_undelivered": len(self.missing_deliveries()),
            "deliveries_owed": len(self.obligations()), "delivery_ratio": self.reach(),
            "deliveries": deliveries,
            "delivery_delay_mean_s": mean(delays), "delivery_delay_others_mean_s": mean(self.delays_s(at_others=True)),
            "delivery_delay_max_s": float(delays[-1]) if delays else None,
            "gaps": self.count("gap"), "crashes": self.count("crash"),
            "deliveries_missed_by_gaps": self.missed_by_gaps(),
        }  # fmt: skip
        for share in (50, 95, 99):
            all_metrics[f"delivery_delay_p{share}_s"] = percentile(delays, share)
        for kind, who in (("s", "station"), ("h", "host")):
            quantities = self.manifest["buffers"]
            for quantity in quantities[f"{who}s"] if isinstance(quantities, dict) else quantities:
                all_metrics[f"{who}_{quantity}_mean"], all_metrics[f"{who}_{quantity}_max"] = self.buffer(
                    kind, quantity
                )
        for quantity, name in LISTS.items():
            lengths = [s.value for s in self.samples if s.quantity == quantity and self.inside(s.time_ns)]
            all_metrics[f"{name}_mean"], all_metrics[f"{name}_max"] = mean(lengths), max(lengths, default=None)
        all_metrics |= self.handoffs()
        if self.frames is not None:
            all_metrics |= self.radio(self.frames, deliveries, broadcasts)
        return {name: value for name, value in all_metrics.items() if self.has(name)}

    def has(self, name: str) -> bool:
        """Return whether the protocol has this quantity. The plug-in in these tests, for example, lacks handoffs."""
        if self.manifest["protocol"] == "mobile_causal":
            return True
        lists = tuple(f"{own}_m" for own in LISTS.values())
        if self.manifest["protocol"] == "tcp_flooding":
            return not name.startswith(lists) and "recovered" not in name and "skipped" not in name
        return not name.startswith(("handoff", "recoveries", *lists))


def mean(values: list[Any]) -> float | None:
    return float(sum(map(Fraction, values)) / len(values)) if values else None


def ratio(a: float | None, b: float) -> float | None:
    return a / b if a is not None and b else None


def percentile(ordered: list[Fraction], share: int) -> float | None:
    """Return a percentile, interpolated linearly between the two nearest ranks."""
    if not ordered:
        return None
    place = Fraction(share * (len(ordered) - 1), 100)
    below = place.numerator // place.denominator
    above = min(below + 1, len(ordered) - 1)
    return float(ordered[below] + (place - below) * (ordered[above] - ordered[below]))


class SlowProcesses(Slow):
    """Answers the same questions for runs of processes, where 1 t.u. is 1 s."""

    def all(self) -> dict[str, Any]:
        n, messages, detector = self.manifest["processes"], self.counters["messages"], self.counters["detector"]
        crashed, sent = {e.node for e in self.of("crash")}, {*self.sent_at()}
        completions = [(e.node, json.loads(e.detail)["at_ns"]) for e in self.of("complete")]
        has = {(e.node, e.message) for e in self.of("deliver")}
        done = sum(node not in crashed and message in sent for node, message in has)
        owed = len(sent) * (n - len(crashed))
        delays = [
            Fraction(e.time_ns - before.time_ns if before else 0, SECOND)
            for e, before in self.deliveries()
            if e.message.partition(":")[0] != e.node
        ]
        last_ns = max(
            (at_ns for node, at_ns in completions if node not in crashed), default=messages["last_reception_ns"]
        )
        all_metrics: dict[str, Any] = {
            "deliveries_owed": owed, "delivery_ratio": ratio(done, owed), "latency": last_ns / SECOND,
            "messages": messages["sent"], "messages_per_process_mean": messages["sent"] / n,
            "message_bytes": messages["bytes"], "broadcasts": len(sent), "deliveries": len(self.of("deliver")),
            "delivery_delay_mean_s": mean(delays), "delivery_latency_mean": mean(delays),
            "delivery_latency_max": float(max(0, *delays)) if delays else None, "crashes": len(crashed),
        }  # fmt: skip
        suspicions = len(self.of("suspect"))
        if detector and (detector["sent"] or suspicions):
            all_metrics |= {"detector_messages": detector["sent"], "suspicions": suspicions}
            all_metrics["suspicions_taken_back"] = len(self.of("trust"))
        if completions or self.manifest["protocol"] in COMPLETING:
            all_metrics["broadcasts_complete"] = len(completions)
        if (packets := messages.get("packets_by_messages")) is not None:
            waited, receptions = Fraction(messages["receptions_waited_ns"], SECOND), messages["receptions"]
            all_metrics |= {
                "packets": messages["sent"],
                "packets_aggregated_share": ratio(sum(packets[k] for k in packets if k != "1"), messages["sent"]),
                "reception_latency_mean": float(waited / receptions) if receptions else None,
            }
        all_metrics |= {f"messages_{kind}": count for kind, count in messages.get("by_kind", {}).items()}
        for quantity in {s.quantity for s in self.samples}:
            own = [s for s in self.samples if s.quantity == quantity]
            most = [max(0.0, *(s.value for s in own if s.node == node)) for node in {s.node for s in own}]
            all_metrics[f"{quantity}_max"], all_metrics[f"{quantity}_max_mean"] = max(most), mean(most)
        return all_metrics


def agree(slow: dict[str, Any], product: Row) -> None:
    for metric, value in slow.items():
        expected = None if value is None else pytest.approx(value, rel=1e-9, abs=1e-12)
        assert product[metric] == expected, metric


@pytest.mark.parametrize("name", RUNS)
def test_metrics_follow_their_documented_definitions(name: str, tmp_path: Path) -> None:
    file, changes = RUNS[name]
    scenario = Scenario.load(SCENARIOS / file, [*changes, "record.frames=true", "record.positions_interval_s=null"])
    run = api.run(scenario, out=tmp_path / "run", allow_code=True)
    slow = Slow.read(run.path).all()
    assert slow.keys() == run.metrics.keys()
    agree(slow, run.metrics)
    assert run.metrics["deliveries"]
    if name == "streets":
        assert run.metrics["handoffs"] and run.metrics["m_d_max"]


@pytest.mark.parametrize("name", PROCESS_RUNS)
def test_metrics_of_processes_follow_their_definitions(name: str, tmp_path: Path) -> None:
    file, changes = PROCESS_RUNS[name]
    run = api.run(SCENARIOS / file, out=tmp_path / "run", overrides=changes, allow_code=True)
    slow = SlowProcesses.read(run.path).all()
    assert slow.keys() == run.metrics.keys()
    agree(slow, run.metrics)
    assert run.metrics["deliveries"]


def is_measurable(record: Record) -> bool:
    """Return whether the metrics of a record can be computed. The test exempts records that the verifier rejects, for
    example because their times are not in order.
    """
    tables, counters, facts = record
    events, samples = tables["events"], tables["samples"]
    if any(table["time_ns"] != sorted(table["time_ns"]) for table in (events, samples)):
        return False
    kind = SlowProcesses if "processes" in facts else Slow
    try:
        slow = kind(rows_of(events), rows_of(samples), counters, facts).all()
    except (AttributeError, KeyError, OverflowError, TypeError):
        return False
    product = metrics(events, samples, counters, facts)
    assert metrics(Table.of(events), Table.of(samples), counters, facts) == product
    agree(slow, product)
    return True


@pytest.mark.parametrize("name", ["hosts", *PROCESSES])
def test_metrics_of_damaged_records_follow_their_definitions(name: str) -> None:
    record = record_of(Scenario.from_text(SCENARIO) if name == "hosts" else ProcessScenario.from_text(PROCESSES[name]))
    assert is_measurable(record)
    measured = 0
    for seed in range(200):
        tables, counters, facts = damage(Random(seed), record)
        warmup_s = 0.0 if "processes" in facts else Random(seed).uniform(0, facts["duration_s"])
        measured += is_measurable((tables, counters, {**facts, "warmup_s": warmup_s}))
    assert measured > 120


@settings(max_examples=300)
@given(st.sampled_from(sorted(KINDS)), st.integers(0, 2**63), st.booleans(), st.integers(0, 40), st.integers(0, 80))
def test_metrics_of_random_traces_follow_their_definitions(
    kind: str, seed: int, gaps: bool, begin: int, lasts: int
) -> None:
    events: dict[str, list[Any]] = columns(KINDS[kind](Random(seed), gaps), gaps)
    samples: dict[str, list[Any]] = {name: [] for name in ("time_ns", "node", "quantity", "value")}
    counters, end = {"radio": {"queue_drops": 0}}, begin + lasts
    facts = {"protocol": "mobile_causal", "measures": ["handoffs", "recovered", "skipped", "lists"], "buffers": []}
    facts |= {"warmup_s": begin / SECOND, "duration_s": end / SECOND}
    slow = Slow(rows_of(events), [], counters, facts)
    agree(slow.all(), metrics(events, samples, counters, facts))
    fold = EventFold(events, begin, end)
    assert sorted(map(tuple, fold.missing_deliveries())) == sorted(slow.missing_deliveries())
    spans = {node: slow.spans(node) for node in slow.nodes}
    members = {node: [(max(a, begin), min(b, end)) for a, b in some] for node, some in fold.memberships().items()}
    assert {node: some for node, some in spans.items() if some} == {
        node: inside for node, some in members.items() if (inside := [(a, b) for a, b in some if a < b])
    }

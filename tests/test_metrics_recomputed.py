"""Every metric of a run computed a second time, slowly, from its tables as they lie on disk, by the words of the
definitions alone.

Nothing of mobilenet.metrics is used but its result: sums are over whole numbers of nanoseconds, each question
is asked of all rows anew. Pairs come from the table of frames, where the product reads running totals.
"""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from mobilenet import api
from mobilenet.clock import SECOND
from mobilenet.scenario import Scenario

SCENARIOS = Path(__file__).parents[1] / "scenarios"
RUNS = {
    "faults": ("faults.yaml", ["duration_s=40", "faults.every_s=5", "faults.first_at_s=11", "hosts.count=40"]),
    "crashes": ("faults.yaml", ["duration_s=40", "hosts.count=10", "faults.station=s0", "faults.first_at_s=1",
    "faults.every_s=0.7",
                                "faults.first_duration_s=5", "hosts.mobility.speed_mps=20", "seed=9440"]),
    "churn": ("churn.yaml", ["duration_s=50"]),
    "holes": ("holes.yaml", ["duration_s=40"]),
    "expiry": ("holes.yaml", ["duration_s=60", "protocol.expiry_s=4", "seed=3"]),
    "streets": ("streets.yaml", ["duration_s=30"]),
    "tcp": ("tcp_dynamic.yaml", ["duration_s=30", "hosts.count=30",
    "faults={schedule: random, rate_per_host_per_min: 1, mean_duration_s: 2}"]),
    "acking": ("paper/tcp_static.yaml", ["duration_s=25"]),
    "sinr": ("dynamic.yaml", ["duration_s=25", "hosts.count=30", "hosts.attachment={hysteresis_db: 3}",
    "wireless={model: sinr, mode: g, broadcast_rate_mbps: 6, shadowing: {sigma_db: 6}, fading: {model: nakagami}}"]),
    "plug-in": ("own_protocol/gossip.yaml", ["duration_s=20"]),
}  # fmt: skip
LISTS = {"md": "m_d", "skip": "skip", "undelivered": "handoff_undelivered_list", "wanted": "handoff_wanted_list",
         "bodies": "handoff_recovered_list", "new_ids": "handoff_received_list"}  # fmt: skip


class Slow:
    """The tables of a run, and questions to them."""

    def __init__(self, run: Path) -> None:
        self.manifest = json.loads((run / "manifest.json").read_text())
        self.begin, self.end = (round(self.manifest[key] * SECOND) for key in ("warmup_s", "duration_s"))
        self.events = [row._asdict() for row in pd.read_parquet(run / "events.parquet").itertuples()]
        self.samples = [row._asdict() for row in pd.read_parquet(run / "samples.parquet").itertuples()]
        self.frames = pd.read_parquet(run / "frames.parquet")
        self.counters = json.loads((run / "counters.json").read_text())

    def inside(self, time_ns: int) -> bool:
        return self.begin <= time_ns < self.end

    def of(self, kind: str, node: str | None = None) -> list[dict[str, Any]]:
        return [e for e in self.events if e["event"] == kind and (node is None or e["node"] == node)]

    @property
    def hosts(self) -> list[str]:
        return sorted({e["node"] for e in self.events if e["node"].startswith("h")})

    def count(self, kind: str) -> int:
        return sum(self.inside(e["time_ns"]) for e in self.of(kind))

    # --- deliveries

    def sent_at(self) -> dict[str, int]:
        return {e["message"]: e["time_ns"] for e in self.of("broadcast")}

    def delays_s(self) -> list[Fraction]:
        sent = self.sent_at()
        return [Fraction(e["time_ns"] - sent[e["message"]], SECOND) for e in self.of("deliver")
                if e["message"] in sent and self.inside(sent[e["message"]])]  # fmt: skip

    def delays_at_others_s(self) -> list[Fraction]:
        sent = self.sent_at()
        return [Fraction(e["time_ns"] - sent[e["message"]], SECOND) for e in self.of("deliver")
                if e["message"] in sent and self.inside(sent[e["message"]])
                and e["message"].rpartition(":")[0] != e["node"]]  # fmt: skip

    def owed(self, host: str, first: int, last: int) -> int:
        """Messages broadcast between two rows that the host never delivers."""
        has = {e["message"] for e in self.of("deliver", host)}
        return sum(e["event"] == "broadcast" and e["message"] not in has for e in self.events[first:last])

    def obliged(self) -> list[tuple[str, str]]:
        """(host, message of the window) for hosts that are members when it is broadcast, and never leave after that."""
        found = []
        for host in self.hosts:
            member = False
            rest: list[str] = []
            for event in self.events:
                if event["node"] == host and event["event"] in ("join", "leave"):
                    member, rest = event["event"] == "join", []
                elif event["event"] == "broadcast" and member and self.inside(event["time_ns"]):
                    rest.append(event["message"])
            found += [(host, message) for message in rest]
        return found

    def reached(self) -> Fraction | None:
        pairs, has = self.obliged(), {(e["node"], e["message"]) for e in self.of("deliver")}
        return Fraction(sum(pair in has for pair in pairs), len(pairs)) if pairs else None

    def undelivered(self) -> int:
        total = 0
        for host in self.hosts:
            turns = [
                (row, e["event"])
                for row, e in enumerate(self.events)
                if e["node"] == host and e["event"] in ("join", "leave", "gap")
            ]
            if turns and turns[-1][1] != "leave":
                total += self.owed(host, turns[-1][0], len(self.events))
        return total

    def missed_by_gaps(self) -> int:
        total = 0
        for host in self.hosts:
            turns = [
                (row, e) for row, e in enumerate(self.events) if e["node"] == host and e["event"] in ("join", "gap")
            ]
            for (before, _), (row, e) in pairwise(turns):
                if e["event"] == "gap" and self.inside(e["time_ns"]):
                    total += self.owed(host, before, row)
        return total

    # --- buffers

    def spans(self, node: str) -> list[tuple[int, int]]:
        """When a node counts, within the window: a station always, a host while it is a member."""
        if node.startswith("s"):
            return [(self.begin, self.end)]
        found, since = [], None
        for e in (e for e in self.events if e["node"] == node and e["event"] in ("join", "leave")):
            if e["event"] == "join":
                since = e["time_ns"]
            elif since is not None:
                found.append((since, e["time_ns"]))
                since = None
        if since is not None:
            found.append((since, max(since, self.end)))
        return [(max(a, self.begin), min(b, self.end)) for a, b in found if max(a, self.begin) < min(b, self.end)]

    def buffer(self, kind: str, quantity: str) -> tuple[float | None, float]:
        """Mean over time, and the most."""
        steps: dict[str, list[tuple[int, float]]] = {}
        for s in self.samples:
            if s["quantity"] == quantity and s["node"].startswith(kind) and s["node"] != "network":
                steps.setdefault(s["node"], []).append((s["time_ns"], s["value"]))
        area, time, most = Fraction(0), 0, 0.0
        for node in sorted(steps if kind == "s" else self.hosts):
            for a, b in self.spans(node):
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
        for host in self.hosts:
            own = [e for e in self.events if e["node"] == host]
            open_one: dict[str, Any] | None = None
            for e in own:
                if e["event"] == "handoff_start":
                    superseded += open_one is not None and self.inside(open_one["time_ns"])
                    open_one = e
                elif e["event"] == "leave":
                    open_one = None
                elif e["event"] == "handoff_end" and open_one is not None and open_one["session"] == e["session"]:
                    if self.inside(open_one["time_ns"]):
                        if json.loads(open_one["detail"])["cause"] == "cell":
                            done.append((host, open_one["time_ns"], e["time_ns"], json.loads(e["detail"] or "{}")))
                        else:
                            recoveries += 1
                    open_one = None
            times = [e["time_ns"] for e in own if e["event"] == "deliver"]
            ends = [e["time_ns"] for e in own if e["event"] in ("crash", "leave")]
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
            "handoffs": len(done), "handoffs_superseded": superseded, "recoveries": recoveries,
            "handoff_duration_mean_s": mean(lasted), "handoff_duration_max_s": float(max(lasted)) if lasted else None,
            "handoff_interruption_mean_s": mean(interruptions), "handoff_interruption_excess_mean_s": mean(excess),
            "handoffs_with_recovered": sum(map(bool, recovered)), "handoffs_with_skipped": sum(map(bool, skipped)),
            "handoff_recovered_mean": mean(recovered), "handoff_skipped_mean": mean(skipped),
        }  # fmt: skip

    # --- radio

    def total(self, quantity: str) -> float:
        """Between the ends of the window."""
        at = {s["time_ns"]: s["value"] for s in self.samples if s["node"] == "network" and s["quantity"] == quantity}
        return at.get(self.end, 0.0) - at.get(self.begin, 0.0)

    def pairs(self, of: pd.DataFrame, *fates: str) -> int:
        """Frames and nodes in range, of frames that ended in the window."""
        ended = of[(of["end_ns"] >= self.begin) & (of["end_ns"] < self.end)]
        return int(ended["fate"].isin(fates).sum()) if fates else len(ended)

    def radio(self, deliveries: int, broadcasts: int) -> dict[str, Any]:
        to_it = self.frames[self.frames["addressed"]]
        frames, window_s = self.total("radio_frames"), Fraction(self.end - self.begin, SECOND)
        payload = self.manifest["payload_bytes"]
        copies = self.total("radio_payload_bytes") / payload + self.total("radio_acknowledgements") if payload else None
        begun = self.pairs(to_it, "received", "collision", "random", "bit_errors")
        to_others = ("collision", "never_attempted", "preamble_missed")
        return {
            "frames": frames, "frames_per_s": frames / float(window_s),
            "messages_sent_per_delivery": ratio(frames - self.total("radio_mac_retries"), deliveries),
            "copies_and_acks_per_delivery": ratio(copies, deliveries),
            "receivers_in_range_per_frame": ratio(self.pairs(self.frames), frames),
            "potential_receivers_per_frame": ratio(self.pairs(self.frames), frames),
            "collision_ratio": ratio(self.pairs(self.frames, *to_others), self.pairs(self.frames)),
            "collision_ratio_addressed": ratio(self.pairs(to_it, *to_others), self.pairs(to_it)),
            "collision_ratio_addressed_begun": ratio(self.pairs(to_it, "collision"), begun),
            **({"bit_error_ratio": ratio(self.pairs(self.frames, "bit_errors"), self.pairs(self.frames))}
            if "bit_errors" in self.counters["radio"]["lost"] else {}),
            "radio_bytes": self.total("radio_bytes"),
            "radio_bytes_per_s": self.total("radio_bytes") / float(window_s),
            "control_bytes_per_broadcast": ratio(self.total("radio_control_bytes"), broadcasts),
            "wired_messages": self.total("wired_messages"), "wired_bytes": self.total("wired_bytes"),
            "mac_queue_drops": self.counters["radio"]["queue_drops"],
        }  # fmt: skip

    def all(self) -> dict[str, Any]:
        delays = sorted(self.delays_s())
        broadcasts, refused, deliveries = (self.count(kind) for kind in ("broadcast", "refused", "deliver"))
        found: dict[str, Any] = {
            "window_s": (self.end - self.begin) / SECOND, "broadcasts": broadcasts, "broadcasts_refused": refused,
            "broadcasts_offered": broadcasts + refused, "broadcasts_undelivered": self.undelivered(),
            "deliveries_owed": len(self.obliged()), "delivery_ratio": self.reached(),
            "deliveries": deliveries,
            "delivery_delay_mean_s": mean(delays), "delivery_delay_others_mean_s": mean(self.delays_at_others_s()),
            "delivery_delay_max_s": float(delays[-1]) if delays else None,
            "gaps": self.count("gap"), "crashes": self.count("crash"),
            "deliveries_missed_by_gaps": self.missed_by_gaps(),
        }  # fmt: skip
        for share in (50, 95, 99):
            found[f"delivery_delay_p{share}_s"] = percentile(delays, share)
        for kind, who in (("s", "station"), ("h", "host")):
            told = self.manifest["buffers"]
            for quantity in told[f"{who}s"] if isinstance(told, dict) else told:
                found[f"{who}_{quantity}_mean"], found[f"{who}_{quantity}_max"] = self.buffer(kind, quantity)
        for quantity, name in LISTS.items():
            lengths = [s["value"] for s in self.samples if s["quantity"] == quantity and self.inside(s["time_ns"])]
            found[f"{name}_mean"], found[f"{name}_max"] = mean(lengths), max(lengths, default=None)
        found |= self.handoffs() | self.radio(deliveries, broadcasts)
        return {name: value for name, value in found.items() if self.has(name)}

    def has(self, name: str) -> bool:
        """Whether the protocol has what is measured there: of the plug-in here nothing of handoffs."""
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
    """Between the two nearest ranks, linearly."""
    if not ordered:
        return None
    place = Fraction(share * (len(ordered) - 1), 100)
    below = place.numerator // place.denominator
    above = min(below + 1, len(ordered) - 1)
    return float(ordered[below] + (place - below) * (ordered[above] - ordered[below]))


@pytest.mark.parametrize("name", RUNS)
def test_metrics_are_what_their_definitions_say(name: str, tmp_path: Path) -> None:
    file, changes = RUNS[name]
    scenario = Scenario.load(SCENARIOS / file, [*changes, "record.frames=true", "record.positions_interval_s=null"])
    run = api.run(scenario, out=tmp_path / "run", allow_code=True)
    slow, product = Slow(run.path).all(), run.metrics
    assert slow.keys() == product.keys()
    for metric, value in product.items():
        expected = None if slow[metric] is None else pytest.approx(slow[metric], rel=1e-9, abs=1e-12)
        assert value == expected, metric
    assert product["deliveries"]

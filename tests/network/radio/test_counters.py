"""Tests of every radio counter and of the metrics derived from the counters. The expected values come from separate
code.

Model     Receivers are counted in the table of frames. A tap between a node and its MAC observes what the table does
          not contain: attempts that no node could hear, and how the MAC finishes each frame. The tap sees an attempt
          when the attempt is over.
Source    docs/run-directory.md, the table of counters
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from mobilenet.api import manifest_of
from mobilenet.engine.clock import SECOND
from mobilenet.engine.random_streams import Stream
from mobilenet.metrics import metrics
from mobilenet.network.radio.frame import ACK, SINR_OUTCOMES, Frame
from mobilenet.scenario import Scenario
from mobilenet.simulation.mobile import Simulation

TO_OTHERS = ("collision", "never_attempted", "preamble_missed")
ONLY_BY_POWER = {"noise_loss_ratio", "bit_error_ratio"}
BEGUN = ("received", "collision", "random", "bit_errors")
PROTOCOLS: dict[str, dict[str, Any]] = {
    "broadcasts": {"name": "mobile_causal"},
    "repairs": {"name": "mobile_causal", "repair": "selective"},
    "tcp": {"name": "tcp_flooding"},
}


class Client:
    """A proxy between a MAC and the client of a frame."""

    def __init__(self, tap: Tap, client: Any) -> None:
        self._tap, self._client = tap, client

    def on_sent(self, message: Any) -> None:
        self._tap.unfinished -= 1
        if self._client is not None:
            self._client.on_sent(message)

    def on_dropped(self, message: Any) -> None:
        self._tap.dropped += 1
        self._tap.unfinished -= 1
        if self._client is not None:
            self._client.on_dropped(message)


class Tap:
    """Records the calls between the MACs of a simulation and their nodes."""

    def __init__(self, simulation: Simulation) -> None:
        self.refused = 0  # frames that a full queue refused
        self.dropped = 0  # refused frames, and frames that were not acknowledged
        self.unfinished = 0  # frames that a MAC had not finished when its node crashed or the run ended
        self.attempts: list[Attempt] = []
        for node in simulation.nodes:
            node._enqueue = self._watch(node._enqueue)
        simulation.listen(lambda frame: self.attempts.append(Attempt(frame, simulation.kernel.now)), None)

    def _watch(self, enqueue: Callable[[Frame], bool]) -> Callable[[Frame], bool]:
        def enqueue_and_note(frame: Frame) -> bool:
            frame.client = Client(self, frame.client)
            self.unfinished += 1
            is_queued = enqueue(frame)
            self.refused += not is_queued
            return is_queued

        return enqueue_and_note


class Attempt:
    """An attempt to send a frame, recorded after the frame has ended at all receivers."""

    def __init__(self, frame: Frame, over_ns: int) -> None:
        self.frame, self.over_ns = frame, over_ns
        self.key = (frame.start_ns, frame.sender.name)
        self.kind = "mac_ack" if frame.kind == ACK else type(frame.message).__name__
        self.is_ack = frame.kind == ACK
        self.size_bytes, self.lasts_ns = frame.psdu_bytes, frame.duration_ns
        self.is_heard = bool(frame.receivers)
        self.is_acknowledged, self.is_for_all = frame.acknowledged, frame.to is None


def draw(seed: int) -> Scenario:
    """Draw a small world in which frames collide, are retried, are abandoned, are dropped, or are sent when no node is
    in range.
    """
    s = Stream(seed, "counters")
    is_power, protocol = seed % 2 == 0, [*PROTOCOLS][seed // 2 % 3]
    wireless: dict[str, Any] = {"loss": s.one_of(0, 0.1, 0.4), "queue_frames": s.one_of(100, 3)}
    if is_power:
        wireless |= {"model": "sinr", "tx_dbm": s.one_of(0, 10), "fading": s.one_of(None, {})}
    else:
        wireless |= {"range_m": s.one_of(60, 90), "capture_db": s.one_of(None, 6)}
    if not is_power and s.random() < 0.2:
        wireless["mac"] = "acking"
    elif s.random() < 0.3:
        wireless |= {"groupcast": "unsolicited_retry", "group_retries": 1 + s.below(2)}
    hosts = s.one_of(2, 5, 8)
    outages = [{"host": "h0", "at_s": 2, "duration_s": s.one_of(0.01, 2)}] if s.random() < 0.4 else []
    values = {
        "seed": seed, "duration_s": 6, "drain_s": 60, "warmup_s": s.one_of(0, 1.25),
        "stations": {"layout": {"shape": "points", "points_m": [[0, 0], [130, 0]]}},
        "wireless": wireless,
        "hosts": {"count": hosts, "mobility": {
            "model": "random_waypoint", "speed_mps": [5, 20], "area": {"box_m": [-80, -60, 210, s.one_of(60, 200)]},
        }},
        "protocol": PROTOCOLS[protocol], "workload": {"interval_s": s.one_of(0.1, 0.5)},
        "record": {"frames": True},
        **({"faults": {"schedule": "explicit", "outages": outages}} if outages else {}),
    }  # fmt: skip
    return Scenario.from_text(json.dumps(values))


class Recount:
    """Recomputes the counters of a run from the rows of its record and from the tap."""

    def __init__(self, simulation: Simulation, tap: Tap) -> None:
        self.attempts: list[Attempt] = tap.attempts
        over_ns = {attempt.key: attempt.over_ns for attempt in self.attempts}
        frames = simulation.recording.tables()["frames"]
        names = ("start_ns", "end_ns", "sender", "receiver", "kind", "psdu_bytes", "addressed", "fate")
        rows = zip(*(frames[name] for name in names), strict=True)
        self.rows = [
            (over_ns[start_ns, sender], (start_ns, sender), kind, size, bool(addressed), fate)
            for start_ns, _, sender, _, kind, size, addressed, fate in rows
        ]

    def pairs(self, acks: bool, addressed: bool = False, by_ns: int | None = None) -> Counter[str]:
        return Counter(
            fate
            for over_ns, _, kind, _, to_it, fate in self.rows
            if (kind == "mac_ack") == acks and (to_it or not addressed) and (by_ns is None or over_ns <= by_ns)
        )

    def sizes(self, acks: bool, by_ns: int | None = None) -> list[int]:
        """Return the size of each frame. The size comes from the table of frames if the frame has rows there, and
        otherwise from the tap.
        """
        heard = {
            key: size
            for over_ns, key, kind, size, *_ in self.rows
            if (kind == "mac_ack") == acks and (by_ns is None or over_ns <= by_ns)
        }
        unheard = [
            one.size_bytes
            for one in self.attempts
            if not one.is_heard and one.is_ack == acks and (by_ns is None or one.over_ns <= by_ns)
        ]
        return [*heard.values(), *unheard]

    def airtime_ns(self, by_ns: int) -> int:
        return sum(one.lasts_ns for one in self.attempts if one.over_ns <= by_ns)

    def repetitions(self, acknowledged: bool) -> int:
        """Return how many attempts repeated an earlier attempt to send the same frame."""
        number = Counter(
            one.frame
            for one in self.attempts
            if not one.is_ack and (one.is_acknowledged if acknowledged else one.is_for_all)
        )
        return sum(number.values()) - len(number)


def counters_of(recount: Recount, acks: bool, outcomes: tuple[str, ...]) -> dict[str, Any]:
    def of(pairs: Counter[str]) -> dict[str, Any]:
        lost = {outcome: pairs[outcome] for outcome in outcomes if outcome != "received"}
        return {"pairs_in_range": pairs.total(), "received": pairs["received"], "lost": lost}

    sizes = recount.sizes(acks)
    counters = {"bytes": sum(sizes), **of(recount.pairs(acks)), "addressed": of(recount.pairs(acks, addressed=True))}
    return counters if acks else {"frames": len(sizes), **counters}


def metrics_of(recount: Recount, begin_ns: int, end_ns: int) -> dict[str, float | None]:
    """Return the metrics of frames, and the deprecated metrics, which also count ACKs."""

    def share(kinds: tuple[bool, ...], addressed: bool, some: tuple[str, ...], every: tuple[str, ...]) -> float | None:
        counts: Counter[str] = Counter()
        for acks in kinds:
            counts += recount.pairs(acks, addressed, end_ns)
        for acks in kinds:
            counts -= recount.pairs(acks, addressed, begin_ns)
        total = sum(counts[outcome] for outcome in every)
        return sum(counts[outcome] for outcome in some) / total if total else None

    def between(count: Callable[[int], float]) -> float:
        return count(end_ns) - count(begin_ns)

    frames = between(lambda by_ns: len(recount.sizes(False, by_ns)))
    window_s = (end_ns - begin_ns) / SECOND
    values: dict[str, float | None] = {"frames": frames, "frames_per_s": frames / window_s}
    names = (
        ("collision_loss_ratio", "noise_loss_ratio", "nodes_within_reach_per_frame", "frame_bytes"),
        ("collision_ratio", "bit_error_ratio", "potential_receivers_per_frame", "radio_bytes"),
    )
    for (collisions, noise, reach, size), kinds in zip(names, ((False,), (False, True)), strict=True):
        every = SINR_OUTCOMES
        pairs = between(lambda by_ns, kinds=kinds: sum(recount.pairs(acks, False, by_ns).total() for acks in kinds))
        size_bytes = between(lambda by_ns, kinds=kinds: sum(sum(recount.sizes(acks, by_ns)) for acks in kinds))
        values |= {
            collisions: share(kinds, False, TO_OTHERS, every),
            f"{collisions}_addressed": share(kinds, True, TO_OTHERS, every),
            f"{collisions}_addressed_begun": share(kinds, True, ("collision",), BEGUN),
            noise: share(kinds, False, ("bit_errors",), every),
            reach: pairs / frames if frames else None,
            size: size_bytes,
            f"{size}_per_s": size_bytes / window_s,
        }
    values["receivers_in_range_per_frame"] = values["potential_receivers_per_frame"]
    return values


SEEDS = [*range(12), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(12, 100))]


@pytest.mark.parametrize("seed", SEEDS)
def test_radio_counters_follow_their_documented_definitions(seed: int) -> None:
    scenario = draw(seed)
    simulation = Simulation(scenario)
    tap = Tap(simulation)
    outcome = simulation.run()
    recording, recount = outcome.recording, Recount(simulation, tap)
    radio = recording.counters["radio"]
    outcomes = simulation.medium.outcomes
    for name, count in counters_of(recount, False, outcomes).items():
        assert radio[name] == count, name
    acks = [one for one in recount.attempts if one.is_ack]
    assert radio["mac_acks"] == len(acks)
    assert radio.get("acks") == (counters_of(recount, True, outcomes) if acks else None)
    assert radio["queue_drops"] == tap.refused
    assert radio.get("mac_given_up", 0) == tap.dropped - tap.refused
    # A retry that was planned when the run ended may not have been sent.
    assert 0 <= radio["mac_retries"] - recount.repetitions(acknowledged=True) <= tap.unfinished
    assert 0 <= radio.get("mac_group_retries", 0) - recount.repetitions(acknowledged=False) <= tap.unfinished

    manifest = manifest_of(scenario, outcome, 0.0, "")
    begin_ns, end_ns = (round(manifest[key] * SECOND) for key in ("warmup_s", "duration_s"))
    tables = recording.tables()
    row = metrics(tables["events"], tables["samples"], recording.document(), manifest)
    for name, value in metrics_of(recount, begin_ns, end_ns).items():
        if name in row or name not in ONLY_BY_POWER:
            assert row[name] == pytest.approx(value), name
    assert (row.keys() >= ONLY_BY_POWER) == (scenario.wireless.model == "sinr")
    airtime_ns = recount.airtime_ns(end_ns) - recount.airtime_ns(begin_ns)
    assert row["deliveries"] == 0 or row["airtime_per_delivery_s"] == pytest.approx(
        airtime_ns / SECOND / row["deliveries"]
    )
    assert row["mac_queue_drops"] == tap.refused


def test_random_scenarios_exercise_every_radio_counter() -> None:
    """The drawn scenarios cover radios with and without ACKs, retries, copies, and frames that are abandoned, dropped,
    or heard by no node.
    """
    seen: Counter[str] = Counter()
    for seed in range(12):
        simulation = Simulation(draw(seed))
        tap = Tap(simulation)
        radio = simulation.run().recording.counters["radio"]
        model = "sinr" if "preamble_missed" in radio["lost"] else "unit_disk"
        seen[f"{model} {'with' if radio['mac_acks'] else 'without'} ACKs"] += 1
        seen.update(name for name in ("mac_retries", "mac_group_retries", "mac_given_up") if radio.get(name))
        seen.update(outcome for outcome, count in radio["lost"].items() if count)
        seen["queue_drops"] += bool(tap.refused)
        seen["not heard"] += any(not one.is_heard for one in tap.attempts)
        seen["ACK not heard"] += any(not one.is_heard and one.is_ack for one in tap.attempts)
    assert min(seen.values()) >= 1 and seen.keys() >= {
        "sinr with ACKs", "sinr without ACKs", "unit_disk with ACKs", "unit_disk without ACKs", "mac_retries",
        "mac_group_retries", "mac_given_up", "queue_drops", "not heard", "ACK not heard", *SINR_OUTCOMES[1:],
    }  # fmt: skip


def test_a_frame_is_heard_by_at_most_all_other_nodes() -> None:
    """With two hosts and a station, at most two nodes hear a frame, even though each frame is acknowledged."""
    values = {
        "seed": 1, "duration_s": 20,
        "stations": {"layout": {"shape": "points", "points_m": [[0, 0]]}},
        "hosts": {"count": 2, "mobility": {"model": "static", "area": {"box_m": [-10, -10, 10, 10]}}},
        "protocol": {"name": "tcp_flooding"}, "workload": {"interval_s": 1},
    }  # fmt: skip
    scenario = Scenario.from_text(json.dumps(values))
    outcome = Simulation(scenario).run()
    recording, manifest = outcome.recording, manifest_of(scenario, outcome, 0.0, "")
    tables = recording.tables()
    row = metrics(tables["events"], tables["samples"], recording.document(), manifest)
    assert row["nodes_within_reach_per_frame"] == 2
    assert row["potential_receivers_per_frame"] == pytest.approx(4, abs=0.1)

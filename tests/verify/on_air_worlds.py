"""Small scenarios whose frames and messages are recorded: one of each kind of world, and as many drawn ones as wanted.

Source    ours: docs/models/radio.md, docs/models/sinr.md
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import mobilenet
from mobilenet.engine.random_streams import Stream
from mobilenet.scenario import Scenario
from mobilenet.verify import Verdict

TWO_CELLS = {"shape": "points", "points_m": [[0, 0], [130, 0]]}


def draw(seed: int) -> dict[str, Any]:
    """One of very many scenarios."""
    s = Stream(seed, "world on air")
    is_sinr = s.random() < 0.45
    is_acking = not is_sinr and s.random() < 0.35
    protocol = s.one_of("mobile_causal", "mobile_causal", "mobile_causal", "tcp_flooding", "beacon")
    wireless: dict[str, Any] = {"loss": s.one_of(0, 0, 0.05, 0.2)}
    if s.random() < 0.4:
        wireless["capture_db"] = s.one_of(0, 3, 10)
    if is_sinr:
        wireless |= {
            "model": "sinr",
            "tx_dbm": s.one_of(0, 5, 12),
            "path_loss": s.one_of({"model": "log_distance"}, {"model": "three_slope"}, {"model": "umi"}),
            "shadowing": s.one_of(None, {"sigma_db": 4}, {"sigma_db": 8, "decorrelation_m": 20}),
            "fading": s.one_of(None, {}, {"m_near": 1, "m_far": 1}),
        }
        if s.random() < 0.3:
            wireless["station_tx_dbm"] = 18
        if s.random() < 0.3:
            wireless["preamble_rssi_dbm"] = s.one_of(-92, -75)
    else:
        wireless["range_m"] = s.one_of(60, 80, 120)
        if s.random() < 0.4:
            wireless["interference_range_m"] = wireless["range_m"] * s.one_of(1, 1.5, 2.2)
        if not is_acking and s.random() < 0.3:
            wireless["detection_range_m"] = wireless["range_m"] * 2
    if is_acking:
        wireless |= {"mac": "acking", "bitrate_mbps": s.one_of(0.05, 1, 12), "full_duplex": s.random() < 0.5}
    else:
        wireless |= {"mode": s.one_of("b", "g_mixed", "g_erp"), "queue_frames": s.one_of(100, 5)}
        if s.random() < 0.2:
            wireless |= {"mode": "a", "broadcast_rate_mbps": 6}
    hosts = s.one_of(2, 5, 9)
    duration_s = s.one_of(5, 8, 10.5)
    interventions: list[dict[str, Any]] = []

    def by_hand(**one: Any) -> None:
        interventions.append({"at_s": round(s.uniform(0.2, duration_s - 0.5), s.one_of(0, 3)) or 0.5, **one})

    for _ in range(s.below(3)):
        by_hand(do="drag", host=f"h{s.below(hosts)}", to_m=[s.uniform(-60, 190), s.uniform(-60, 60)])
    if s.random() < 0.3:
        by_hand(do="add", to_m=[s.uniform(0, 130), 10])
    if s.random() < 0.3:
        by_hand(do="crash", host="h1")
    if s.random() < 0.3:
        by_hand(do="radio_off", station="s0")
        if s.random() < 0.5:
            interventions.append(
                {"at_s": min(duration_s - 0.1, interventions[-1]["at_s"] + 1), "do": "radio_on", "station": "s0"}
            )
    if s.random() < 0.3:
        by_hand(do="loss", loss=s.one_of(0, 0.3, 1))
    if s.random() < 0.3:
        by_hand(do="cut", link=["s0", "s1"], loses=s.random() < 0.5)
    scenario: dict[str, Any] = {
        "seed": seed,
        "duration_s": duration_s,
        "drain_s": s.one_of(0, 1, 10),
        "warmup_s": s.one_of(0, 1.25),
        "stations": {"layout": s.one_of(TWO_CELLS, {"shape": "points", "points_m": [[0, 0], [130, 0], [60, 110]]})},
        "wireless": wireless,
        "hosts": {"count": hosts, "mobility": {"model": "random_waypoint", "speed_mps": [2, s.one_of(5, 15, 40)]}},
        "protocol": {"name": protocol},
        "workload": {"interval_s": s.one_of(0.2, 1, 3)},
        "record": {
            "frames": s.random() < 0.85,
            "messages": s.random() < 0.7,
            "positions_interval_s": s.one_of(0.25, 1, 1, 3, None),
        },
        "interventions": interventions,
    }
    if s.random() < 0.3:
        scenario["hosts"]["attachment"] = {"error_m": 5}
    if protocol == "mobile_causal":
        scenario["protocol"] |= {"expiry_s": s.one_of(1, 3, 5), "heartbeat_s": 0.3}
        if s.random() < 0.3:
            scenario["stations"]["backbone"] = {"kind": s.one_of("vcube_best_effort", "vcube_reliable", "vcube_causal")}
    if s.random() < 0.4:
        scenario["faults"] = {
            "schedule": "explicit",
            "outages": [{"host": "h0", "at_s": 1 + s.below(3), "duration_s": s.one_of(0.001, 0.5, 2)}],
        }
    if s.random() < 0.4:
        away = [{"host": "h1", "at_s": 2, "kind": "leave"}, {"host": "h1", "at_s": 4, "kind": "join"}]
        scenario["churn"] = {"changes": away}
    if protocol == "mobile_causal" and s.random() < 0.4:
        scenario["protocol"]["repair"] = "selective"
    return scenario


MOVING = {
    "seed": 3,
    "duration_s": 12,
    "drain_s": 10,
    "stations": {"layout": TWO_CELLS},
    "wireless": {"range_m": 80, "loss": 0.05},
    "hosts": {"count": 5, "mobility": {"model": "random_waypoint", "speed_mps": [8, 12]}},
    "faults": {
        "schedule": "explicit",
        "outages": [{"host": "h1", "at_s": 6, "duration_s": 2}, {"host": "h2", "at_s": 4, "duration_s": 3}],
    },
    "protocol": {"name": "mobile_causal", "expiry_s": 1.5, "heartbeat_s": 0.3},
    "workload": {"interval_s": 0.3},
    "record": {"frames": True, "messages": True},
}
POWER = {"model": "sinr", "tx_dbm": 8}
WORLDS: dict[str, dict[str, Any]] = {
    "disk": MOVING,
    "no_loss": MOVING | {"wireless": {"range_m": 80}},
    "power": MOVING | {"wireless": POWER},
    "town": MOVING | {"wireless": POWER | {"shadowing": {"sigma_db": 6}, "fading": {}, "loss": 0.1}},
    "crowd": MOVING
    | {"duration_s": 5, "wireless": POWER, "workload": {"interval_s": 0.15}, "faults": None}
    | {"hosts": {"count": 14, "mobility": {"model": "random_waypoint", "speed_mps": [8, 12]}}},
    "standing": MOVING
    | {"duration_s": 4, "wireless": POWER | {"station_tx_dbm": 11, "shadowing": {"sigma_db": 6}}, "faults": None}
    | {
        "hosts": {"count": 6, "mobility": {"model": "static"}},
        "interventions": [{"at_s": 2, "do": "drag", "host": "h3", "to_m": [100, 5]}],
    },
    "full_duplex": MOVING | {"wireless": {"mac": "acking", "bitrate_mbps": 0.5, "range_m": 80}},
    "tcp": MOVING | {"protocol": {"name": "tcp_flooding"}},
    "cut": MOVING
    | {
        "interventions": [
            {"at_s": 2, "do": "cut", "link": ["s0", "s1"], "loses": True},
            {"at_s": 3, "do": "mend", "link": ["s0", "s1"]},
            {"at_s": 5, "do": "drag", "host": "h3", "to_m": [100, 5]},
            {"at_s": 7, "do": "radio_off", "station": "s1"},
            {"at_s": 8, "do": "radio_on", "station": "s1"},
        ]
    },
    "frames_alone": MOVING | {"protocol": {"name": "mobile_causal"}, "faults": None, "record": {"frames": True}},
    "only_messages": MOVING | {"record": {"messages": True}},
}


def as_text(scenario: dict[str, Any]) -> str:
    """As it would stand in a file: JSON is YAML."""
    return json.dumps(scenario)


OF_THE_RECORD = ("record", "conservation", "gaps")


def accusations(verdicts: dict[str, Verdict]) -> dict[str, str]:
    """What is violated of the properties that frames and messages are held to."""
    judged = [name for name in OF_THE_RECORD if name in verdicts]
    return {name: verdicts[name].explanation for name in judged if verdicts[name].answer == "violated"}


def record(scenario: dict[str, Any], path: Path) -> None:
    mobilenet.run(Scenario.from_text(as_text(scenario)), out=path)

"""Regression tests for correct runs that were once judged violated, because the verifier used a bound that the scenario
does not guarantee.

Source    ours: docs/verdicts-and-metrics.md
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import mobilenet
from mobilenet.scenario import Scenario
from mobilenet.scenario.plans.stays import Stay, stay_of
from mobilenet.simulation import lifecycle
from tests.conftest import ROOT

WALL = {"type": "Polygon", "coordinates": [[[100, -80], [104, -80], [104, 80], [100, 80], [100, -80]]]}
BEHIND_A_WALL = """
seed: 1
duration_s: 6
stations: {layout: {shape: points, points_m: [[0, 0], [300, 0]]}}
wireless: {model: sinr, obstacles: {file: walls.geojson}}
hosts: {count: 2, mobility: {model: static}}
protocol: {name: mobile_causal}
workload: {interval_s: 1}
interventions: [{at_s: 2, do: drag, host: h0, to_m: [140, 0]}]
"""
BETWEEN_POSITIONS = BEHIND_A_WALL.replace("duration_s: 6", "duration_s: 5.5")
SMALL_WINDOW = """
seed: 1
duration_s: 60
drain_s: 300
stations: {layout: {shape: points, points_m: [[0, 0]]}}
hosts: {count: 6, mobility: {model: static}}
faults: {schedule: explicit, outages: [{host: h0, at_s: 5, duration_s: 50}]}
protocol: {name: mobile_causal, window: 2}
workload: {interval_s: 0.5}
"""
SELDOM_LOOKED_AT = """
seed: 1
duration_s: 60
stations: {layout: {shape: points, points_m: [[0, 0], [150, 0]]}}
wireless: {range_m: 80}
hosts:
  count: 6
  mobility: {model: random_waypoint, speed_mps: [8, 12]}
  attachment: {tick_ms: 5000}
protocol: {name: mobile_causal, expiry_s: 1.2, heartbeat_s: 0.3}
workload: {interval_s: 1}
"""
VERY_SELDOM = SELDOM_LOOKED_AT.replace("5000", "60000").replace("expiry_s: 1.2", "expiry_s: 6")
LONG_FRAMES = """
seed: 2
duration_s: 10
stations: {layout: {shape: points, points_m: [[0, 0], [150, 0]]}}
wireless: {mac: acking, bitrate_mbps: 0.05}
hosts: {count: 2, mobility: {model: static}}
protocol: {name: mobile_causal}
workload: {interval_s: 3, payload_bytes: 1400}
interventions: [{at_s: 3, do: radio_off, station: s0}, {at_s: 3.5, do: radio_on, station: s0}]
"""
APPEARS_WITH_A_FRAME = """
seed: 607077
duration_s: 12
stations: {layout: {shape: points, points_m: [[0, 0]]}}
wireless: {mac: acking}
hosts: {mobility: {model: tracks, file: tracks.csv}}
protocol: {name: mobile_causal}
workload: {interval_s: 0.5}
record: {frames: true}
"""
ENDS_BEFORE_IT_JOINS = """
seed: 1
duration_s: 12
stations: {layout: {shape: points, points_m: [[0, 0]]}}
hosts: {mobility: {model: tracks, file: short.csv, leave_before_end_s: 4}}
protocol: {name: mobile_causal}
workload: {interval_s: 1}
"""
OVER_VCUBE = """
seed: 1
duration_s: 60
stations:
  layout: {shape: points, points_m: [[0, 0], [130, 0]]}
  backbone: {kind: vcube_reliable}
wireless: {range_m: 80, queue_frames: 2}
hosts: {count: 8, mobility: {model: random_waypoint, speed_mps: [15, 20]}}
protocol: {name: mobile_causal}
workload: {interval_s: 2}
record: {programs: true}
"""
BROUGHT_BACK = """
seed: 1
duration_s: 7.1
stations: {layout: {shape: points, points_m: [[194, 187], [232, 252], [36, 153]]}}
wireless: {range_m: 40}
hosts: {count: 8, mobility: {model: random_waypoint, speed_mps: 5, area: {box_m: [-30, -30, 284, 284]}}}
protocol: {name: tcp_flooding}
workload: {interval_s: 3}
record: {positions_interval_s: 20}
"""
BROUGHT_TO_RECEPTION = """
seed: 1
duration_s: 4
stations: {layout: {shape: points, points_m: [[0, 0], [100, 0], [40, 70]]}}
wireless: {model: sinr, path_loss: {model: log_distance, exponent: 5}, tx_dbm: 0}
hosts: {count: 12, mobility: {model: random_waypoint, speed_mps: 60, area: {box_m: [-40, -40, 140, 110]}}}
protocol: {name: tcp_flooding}
workload: {interval_s: 0.3}
record: {positions_interval_s: 3}
"""
TIME_OUT_TOGETHER = """
seed: 252059
duration_s: 4.798
drain_s: 300
stations: {layout: {shape: grid, columns: 3, rows: 2, spacing_m: 31.56}, backbone: {delay_ms: 0}}
wireless: {loss: 0.1, mode: a, broadcast_rate_mbps: 54, retry_limit: 1, range_m: 46.62}
hosts:
  count: 5
  mobility: {model: gauss_markov, speed_mps: 2.28, alpha: 0, step_s: 10}
  attachment: {tick_ms: 20, hysteresis_m: 1}
faults: {schedule: random, rate_per_host_per_min: 0.558, mean_duration_s: 8.744}
workload: {arrivals: exponential, payload_bytes: 1400, interval_s: 0.8433}
protocol:
  name: tcp_flooding
  silence_s: 39.46
  tcp: {recovery: reno, delayed_ack_s: 0, limited_transmit: false}
"""
HEARD_OUT_OF_COVERAGE = """
seed: 1
duration_s: 30
stations: {layout: {shape: points, points_m: [[0, 0], [300, 0]]}}
wireless: {model: sinr, fading: {m_near: 1, m_far: 1}}
hosts: {count: 8, mobility: {model: random_waypoint, speed_mps: 25, area: {box_m: [-24, -24, 324, 24]}}}
protocol: {name: tcp_flooding}
workload: {interval_s: 3}
"""
LONG_WAITS = """
seed: 1
duration_s: 20
drain_s: 3000
stations:
  layout: {shape: points, points_m: [[0, 0], [200, 0]]}
  backbone: {kind: vcube_best_effort, max_delay_ms: 60000}
hosts: {count: 6, mobility: {model: random_waypoint, speed_mps: 8}}
protocol: {name: mobile_causal}
workload: {interval_s: 3}
"""
LONG_MESSAGES = """
seed: 1
processes: 2
network: {kind: wired}
detector: {timeout: 1}
protocol: {name: best_effort, tree_bytes: 1000000, ack_bytes: 273144}
workload: {messages: 3, instants: {kind: at, time: 4}}
"""
DRAGGED_AT_ONCE = """
seed: 1
duration_s: 20
stations: {layout: {shape: points, points_m: [[0, 0], [200, 0]]}}
hosts: {count: 4, mobility: {model: random_waypoint, speed_mps: 5}}
protocol: {command: [python3, flood.py], promises: fifo}
workload: {interval_s: 2}
record: {programs: true}
interventions: [{at_s: 0, do: drag, host: h0, to_m: [0, 1]}, {at_s: 0, do: drag, host: h1, to_m: [200, 1]}]
"""
COPIES_AT_A_BORDER = """
seed: 7
duration_s: 5
drain_s: 600
stations: {layout: {shape: points, points_m: [[0, 0]]}}
wireless:
  model: sinr
  mode: g_mixed
  broadcast_rate_mbps: 2
  groupcast: unsolicited_retry
  group_retries: 7
  shadowing: {sigma_db: 7, decorrelation_m: 13}
hosts: {count: 3, mobility: {model: gauss_markov, speed_mps: 162, alpha: 0.75, step_s: 1}}
protocol: {name: mobile_causal, repair: selective}
workload: {interval_s: 0.5}
record: {messages: true}
"""
ACKNOWLEDGEMENTS_LOST = """
seed: 1
duration_s: 30
stations: {layout: {shape: points, points_m: [[0, 0]]}}
wireless: {loss: 0.4}
hosts: {count: 6, mobility: {model: static}}
protocol: {name: mobile_causal, repair: selective, expiry_s: 8}
workload: {interval_s: 1}
record: {frames: true}
interventions:
  - {at_s: 10, do: impair, host: h0, loss: 1}
  - {at_s: 10, do: impair, host: h1, loss: 1}
  - {at_s: 10, do: impair, host: h2, loss: 1}
"""
ACKNOWLEDGEMENTS_LOST_AT_A_BORDER = """
seed: 1
duration_s: 20
stations: {layout: {shape: points, points_m: [[0, 0]]}}
wireless: {loss: 0.45, range_m: 60}
hosts: {count: 8, mobility: {model: random_waypoint, speed_mps: [20, 30], area: {box_m: [40, -30, 80, 30]}}}
protocol: {name: mobile_causal, repair: selective}
workload: {interval_s: 0.5}
record: {messages: true}
"""
HOSTS_WITH_FULL_QUEUES = """
seed: 104
duration_s: 25
drain_s: 1
stations: {layout: {shape: points, points_m: [[0, 0], [130, 0]]}}
wireless: {loss: 0.5, range_m: 60, mac: acking, bitrate_mbps: 1, full_duplex: false}
hosts: {count: 9, mobility: {model: random_waypoint, speed_mps: [2, 40]}, attachment: {tick_ms: 20}}
protocol: {name: mobile_causal, repair: selective, expiry_s: 0.7, heartbeat_s: 0.1}
workload: {interval_s: 0.2}
"""
COPIES_AFTER_OTHER_FRAMES = """
seed: 1092
duration_s: 8
drain_s: 1
stations: {layout: {shape: points, points_m: [[0, 0], [130, 0]]}}
wireless:
  model: sinr
  mode: g_mixed
  loss: 0.3
  capture_db: 10
  tx_dbm: 0
  station_tx_dbm: 18
  path_loss: {model: umi}
  shadowing: {sigma_db: 4}
  fading: {m_near: 1, m_far: 1}
hosts: {count: 9, mobility: {model: random_waypoint, speed_mps: [2, 15]}, attachment: {tick_ms: 20}}
protocol: {name: mobile_causal, repair: selective, expiry_s: 4, heartbeat_s: 0.3}
workload: {interval_s: 3}
record: {messages: true}
faults: {schedule: explicit, outages: [{host: h0, at_s: 3, duration_s: 2}]}
churn: {changes: [{host: h1, at_s: 2, kind: leave}, {host: h1, at_s: 4, kind: join}]}
interventions:
  - {at_s: 0.697, do: drag, host: h1, to_m: [144.78442718705557, 2.3095335357398596]}
  - {at_s: 1.0, do: crash, host: h1}
  - {at_s: 3.339, do: impair, host: h0, loss: 1}
  - {at_s: 4.388, do: impair, host: h0, loss: 0}
  - {at_s: 1.028, do: impair, host: h1, loss: 0.3}
  - {at_s: 0.711, do: impair, host: h2, loss: 0.7}
  - {at_s: 3.801, do: impair, host: h3, loss: 0.7}
  - {at_s: 3.41, do: impair, host: h4, loss: 1}
"""
IN_BOTH_LANES = """
seed: 50
duration_s: 12
drain_s: 60
stations: {layout: {shape: points, points_m: [[0, 0], [100, 0], [200, 0]]}}
wireless: {loss: 0.6}
hosts: {count: 12, mobility: {model: random_waypoint, speed_mps: 15}, attachment: {tick_ms: 1500}}
protocol: {name: mobile_causal, control_interval_s: 2}
workload: {interval_s: 5}
"""
PROGRAMS_OVER_VCUBE = """
seed: 1
duration_s: 10
stations:
  layout: {shape: points, points_m: [[0, 0], [200, 0], [400, 0]]}
  backbone: {kind: vcube_reliable, shape: full_mesh}
hosts: {count: 4, mobility: {model: random_waypoint, speed_mps: 5}}
protocol: {command: [python3, flood.py], promises: fifo}
workload: {interval_s: 2}
record: {programs: true, messages: true}
"""
TAKES_THE_SECOND = """
seed: 1
duration_s: 4
stations: {layout: {shape: points, points_m: [[0, 0]]}}
hosts: {count: 1, mobility: {model: static}}
protocol: {command: [python3, second.py], promises: best_effort}
workload: {arrivals: explicit, messages: [{host: h0, at_s: 2}, {host: h0, at_s: 2}, {host: h0, at_s: 3}]}
record: {programs: true}
"""
OUT_AT_THE_END = """
seed: 1
duration_s: 10
drain_s: 20
stations: {layout: {shape: points, points_m: [[0, 0]]}}
hosts: {mobility: {model: tracks, file: gone.csv, leave_before_end_s: 1}}
protocol: {command: [python3, second.py], promises: best_effort}
workload: {interval_s: 2}
record: {programs: true}
"""
FAR_AWAY = """
seed: 1
duration_s: 10
stations: {layout: {shape: points, points_m: [[0, 0]]}}
hosts: {mobility: {model: tracks, file: far.csv, leave_before_end_s: 1}}
protocol: {command: [python3, flood.py], promises: fifo}
workload: {arrivals: explicit, messages: [{host: h0, at_s: 5}, {host: h0, at_s: 6}]}
record: {programs: true}
"""
SECOND = """
import json, sys
told, member = 0, False
for line in sys.stdin:
    event, does = json.loads(line), []
    if event["ev"] == "join" and not member:
        member = True
        timer = {"do": "timer", "name": "late", "after_ns": 9_000_000_000}
        does = [{"do": "joined", "session": 1, "station": 0}, timer]
    elif event["ev"] == "leave":
        does = [{"do": "left", "session": 1}, {"do": "out", "value": True}]
    elif event["ev"] == "broadcast":
        told += 1
        does = [{"do": "refuse"} if told == 1 or not member else {"do": "deliver", "id": event["id"]}]
    for action in (*does, {"do": "done"}):
        print(json.dumps(action), flush=True)
"""
RUNS = {
    "a program that refuses a broadcast and takes the next of that nanosecond": (TAKES_THE_SECOND, (1,)),
    "a program that is out at the end of its track, with a timer to come": (OUT_AT_THE_END, (1,)),
    "a host of a track that is never in coverage": (FAR_AWAY, (1,)),
    "copies of a frame of which the first comes to a host out of coverage": (COPIES_AT_A_BORDER, (7,)),
    "frames of hosts that are given up, sent again since an acknowledgement was lost": (
        ACKNOWLEDGEMENTS_LOST,
        (1, 3, 5),
    ),
    "frames sent again to a host that was out of coverage": (ACKNOWLEDGEMENTS_LOST_AT_A_BORDER, (2, 3)),
    "an rbuffer that holds messages in both of its lanes": (IN_BOTH_LANES, (50,)),
    "programs whose messages VCube wraps on the wires": (PROGRAMS_OVER_VCUBE, (1,)),
    "messages that take far longer than the tests of a detector": (LONG_MESSAGES, (1,)),
    "hosts dragged to another cell at 0 s": (DRAGGED_AT_ONCE, range(1, 5)),
    "hosts that join and end handoffs out of coverage, where a lucky frame arrives": (HEARD_OUT_OF_COVERAGE, (1, 4)),
    "hosts that walk on before they are brought to a cell": (BROUGHT_BACK, (6,)),
    "hosts that are brought to a cell before their next position": (BROUGHT_TO_RECEPTION, (6, 8)),
    "many handoffs over VCube, and a table of lines without any": (OVER_VCUBE, (1,)),
    "a host brought to a station that is not the nearest": (BEHIND_A_WALL, range(1, 4)),
    "a host whose next position is told after it was brought to a station": (BETWEEN_POSITIONS, range(1, 4)),
    "a backlog of many windows": (SMALL_WINDOW, range(1, 3)),
    "a host out of reach between two ticks": (SELDOM_LOOKED_AT, (1, 3)),
    "a host out of reach for most of a tick": (VERY_SELDOM, (1, 2)),
    "a frame that lasts for a quarter of a second": (LONG_FRAMES, (2, 5)),
    "a host whose track ends before it was to join": (ENDS_BEFORE_IT_JOINS, range(1, 5)),
    "a host that appears in the nanosecond of a frame": (APPEARS_WITH_A_FRAME, range(1, 3)),
}


def files(folder: Path) -> None:
    shutil.copy(ROOT / "scenarios" / "programs" / "flood.py", folder)
    collection = {"type": "FeatureCollection", "crs": None}
    feature = {"type": "Feature", "properties": {}, "geometry": WALL}
    (folder / "walls.geojson").write_text(json.dumps({**collection, "features": [feature]}))
    (folder / "second.py").write_text(SECOND)
    tracks = {"gone": [(0, 10, 5), (1, 20, 20)], "far": [(0, 10, 10), (1, 5000, 3)], "short": [(0, 10, 13), (1, 20, 5)]}
    for name, walkers in tracks.items():
        rows = [f"{t},v{host},{x},0" for host, x, last in walkers for t in range(last + 1)]
        (folder / f"{name}.csv").write_text("\n".join(["t,id,x,y", *rows]) + "\n")
    rows = [f"{t},w{host},{10 * host},{t}" for host in range(5) for t in range(3, 20)]
    (folder / "tracks.csv").write_text("\n".join(["t,id,x,y", *rows]) + "\n")


@pytest.mark.parametrize(("what", "seed"), [(what, seed) for what, (_, seeds) in RUNS.items() for seed in seeds])
def test_correct_runs_that_were_once_called_violated_are_valid(what: str, seed: int, tmp_path: Path) -> None:
    files(tmp_path)
    (tmp_path / "scenario.yaml").write_text(RUNS[what][0])
    run = mobilenet.run(tmp_path / "scenario.yaml", seed=seed, out=tmp_path / "run", allow_code=True)
    assert run.verdict == "valid", {name: v for name, v in run.verdicts.items() if v.answer != "valid"}


def test_a_host_that_joins_after_its_track_ends_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stay_too_long(*of: Any) -> Stay:
        stay = stay_of(*of)
        return stay if stay.joins_ns is not None else stay._replace(joins_ns=3 * 10**9, leaves_ns=None)

    monkeypatch.setattr(lifecycle, "stay_of", stay_too_long)
    files(tmp_path)
    (tmp_path / "scenario.yaml").write_text(ENDS_BEFORE_IT_JOINS)
    run = mobilenet.run(tmp_path / "scenario.yaml", seed=3, out=tmp_path / "run")
    assert "h1 joins without being asked" in run.verdicts["membership"].explanation


@pytest.mark.parametrize(
    "scenario",
    [
        # Lists are sampled when a message is queued. Many messages are still waiting in the MACs of hosts when the run
        # ends.
        HOSTS_WITH_FULL_QUEUES,
        # A host ignores the first copy of a frame, although it accepted the same message in earlier frames.
        COPIES_AFTER_OTHER_FRAMES,
    ],
)
def test_a_run_that_does_not_come_to_rest_is_unknown(scenario: str, tmp_path: Path) -> None:
    run = mobilenet.run(Scenario.from_text(scenario), out=tmp_path / "run")
    assert run.verdict == "unknown", run.verdicts


def test_hidden_terminals_with_equal_timeouts_are_unknown(tmp_path: Path) -> None:
    """Two segments collide at each timeout of TCP, because each segment is sent only once."""
    run = mobilenet.run(Scenario.from_text(TIME_OUT_TOGETHER), out=tmp_path / "run")
    assert not run.manifest["quiescent"]
    assert {run.verdicts[check].answer for check in ("delivery", "drained")} == {"unknown"}
    assert run.verdict == "unknown" and "collide at each timeout of TCP" in run.verdicts["drained"].explanation


def test_a_run_of_stations_that_delay_messages_comes_to_rest(tmp_path: Path) -> None:
    run = mobilenet.run(Scenario.from_text(LONG_WAITS), out=tmp_path / "run")
    assert run.manifest["quiescent"] and run.verdict == "valid"

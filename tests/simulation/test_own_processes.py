"""Tests of custom simpy processes. They cover the shipped examples, their permissions, paired worlds, and errors that
end a run.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mobilenet
from mobilenet.engine.kernel import Kernel, Seconds
from mobilenet.lab.studies.claims.evaluation import CommonDelays
from mobilenet.lab.studies.claims.questions import Cell
from mobilenet.lab.studies.compare import findings
from mobilenet.lab.studies.configurations import Configuration
from mobilenet.lab.studies.declaration import Compare, Study
from mobilenet.lab.studies.level_names import LevelNames
from mobilenet.lab.studies.precedence import USES_RUN, Delivered, NotPaired
from mobilenet.lab.studies.sentences import pairing, sentence
from mobilenet.lab.studies.spark import local_master
from mobilenet.lab.studies.store import create
from mobilenet.lab.studies.study import run_study
from mobilenet.metrics.registry import OF_HOSTS
from mobilenet.parameters import ScenarioError
from mobilenet.scenario import Scenario
from mobilenet.scenario.plans.hosts import expectations
from mobilenet.simulation.mobile import Simulation
from mobilenet.verify.broadcasts.requests import obedience
from tests.cli.command import mobilenet as command
from tests.conftest import ROOT, SCENARIOS
from tests.lab.studies.directories import of_runs

FOLDER = SCENARIOS / "own_process"
EXAMPLES = ("bus", "bursts", "overload", "charging")
SCENARIO = """
duration_s: 20
stations: {layout: {shape: hexagon, rings: 1, spacing_m: 200}}
wireless: {range_m: 120}
hosts: {count: 4, mobility: {model: static}}
protocol: {name: mobile_causal}
workload: {interval_s: 2}
limits: {max_events: 100000}
"""


def write(folder: Path, code: str, entry: str = "", more: str = "") -> Path:
    """Write a scenario with the process `p`, which is defined in p.py."""
    (folder / "p.py").write_text(code, encoding="utf-8")
    entry = f"own_processes: [{{process: 'p.py:p'{', ' if entry else ''}{entry}}}]\n"
    (folder / "scenario.yaml").write_text(SCENARIO + more + entry, encoding="utf-8")
    return folder / "scenario.yaml"


def play(path: Path, *overrides: str) -> Simulation:
    simulation = Simulation(Scenario.load(path, overrides), allow_code=True)
    simulation.run()
    return simulation


def events(simulation: Simulation, *kinds: str) -> list[tuple[float, str, str]]:
    log = simulation.recording.events
    rows = zip(log.time_ns, log.node, log.event, strict=True)
    return [(at_ns / 1e9, node, event) for at_ns, node, event in rows if event in kinds]


@pytest.mark.parametrize("example", EXAMPLES)
def test_a_custom_process_example_is_short_valid_and_repeatable(example: str, tmp_path: Path) -> None:
    assert len((FOLDER / f"{example}.py").read_text(encoding="utf-8").splitlines()) <= 30
    run = mobilenet.run(FOLDER / f"{example}.yaml", out=tmp_path / "run", allow_code=True, check_simulator=True)
    assert run.verdict == "valid", run.verdicts
    assert (tmp_path / "run" / f"{example}.py").is_file()
    for options in ((), ("--repeat", "--allow-code")):
        assert command("verify", "run", *options, place=tmp_path).returncode == 0


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_page_on_custom_processes_has_the_shipped_example(example: str) -> None:
    code = (FOLDER / f"{example}.py").read_text(encoding="utf-8").split('"""\n\n', 1)[1]
    assert f"```python\n{code}```" in (ROOT / "docs" / "guide" / "simpy.md").read_text(encoding="utf-8")


def test_the_custom_process_examples_behave_as_described() -> None:
    bus = play(FOLDER / "bus.yaml")
    places = bus.recording.positions.lists
    at = {
        time_ns // 10**9: (x_m, y_m)
        for time_ns, node, x_m, y_m in zip(*(places[name] for name in ("time_ns", "node", "x_m", "y_m")), strict=True)
        if node == "h0"
    }
    stops = [(0.0, 0.0), (150.0, 80.0), (0.0, 160.0)]
    assert {place for place in at.values() if min(math.dist(place, stop) for stop in stops) < 1e-6} == set(stops)
    bursts = events(play(FOLDER / "bursts.yaml"), "broadcast", "refused")
    assert len(bursts) > 100
    overload = play(FOLDER / "overload.yaml")
    crashes = events(overload, "crash", "recover")
    assert len(crashes) > 10
    down = {}
    for at_s, node, event in crashes:
        if event == "recover":
            assert at_s - down.pop(node) == pytest.approx(5) or at_s == 60
        else:
            assert at_s % 0.1 == pytest.approx(0, abs=1e-6) or at_s % 0.1 == pytest.approx(0.1, abs=1e-6)
            down[node] = at_s
    charging = play(FOLDER / "charging.yaml")
    assert {node for _, node, _ in events(charging, "broadcast")} == {f"h{number}" for number in range(6)}


def test_example_results_do_not_depend_on_the_hash_seed() -> None:
    code = (
        "import sys; from mobilenet.scenario import Scenario; from mobilenet.simulation.mobile import Simulation\n"
        "for path in sys.argv[1:]:\n"
        "    print(Simulation(Scenario.load(path), allow_code=True).run().recording.fingerprint())\n"
    )
    paths = [str(FOLDER / f"{example}.yaml") for example in EXAMPLES]
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code, *paths], check=True, capture_output=True, text=True, cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("0", "1")
    }  # fmt: skip
    assert len(outputs) == 1
    assert len(set(outputs.pop().split())) == len(EXAMPLES)


@pytest.mark.long
@pytest.mark.spark
def test_custom_processes_do_not_depend_on_the_number_of_workers(tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(
        f"scenario: {FOLDER / 'overload.yaml'}\nset: {{duration_s: 5}}\nreplications: {{min: 2, max: 2}}\n"
        "factors: {workload.interval_s: [1, 2]}\n",
        encoding="utf-8",
    )
    tables = []
    for workers in (1, 2):
        out = tmp_path / f"study-{workers}"
        run_study(tmp_path / "study.yaml", out, local_master(workers), lambda standing: None, allow_code=True)
        tables.append((out / "tables" / "runs.csv").read_text(encoding="utf-8"))
    assert tables[0] == tables[1]


def test_scenarios_stay_paired_if_processes_do_not_use_the_run(tmp_path: Path) -> None:
    code = (
        "def p(env, host, draws):\n"
        "    while True:\n"
        "        yield host.go_to(draws.uniform(-150, 150), draws.uniform(-150, 150), 20)\n"
        "        host.broadcast()\n"
        "        if draws.random() < 0.3:\n"
        "            host.crash()\n"
        "            yield env.timeout(1)\n"
        "            host.recover()\n"
    )
    path = write(tmp_path, code, "speed_limit_mps: 20")
    one, other = (play(path, f"protocol={{name: {name}}}") for name in ("mobile_causal", "tcp_flooding"))
    active = [
        [rows for rows in zip(*run.recording.positions.lists.values(), strict=True) if rows[0] <= 20e9]
        for run in (one, other)
    ]
    assert active[0] == active[1]
    assert len({row[2] for row in active[0]}) > 50
    wishes = [[(at_s, node) for at_s, node, _ in events(run, "broadcast", "refused", "crash")] for run in (one, other)]
    assert wishes[0] == wishes[1]
    assert len(events(one, "crash")) > 2


def test_two_custom_processes_draw_from_separate_streams(tmp_path: Path) -> None:
    code = "def p(env, draws):\n    print(draws.random())\n    yield env.timeout(1)\n"
    path = write(tmp_path, code)
    text = path.read_text(encoding="utf-8").replace(
        "[{process: 'p.py:p'}]", "[{process: 'p.py:p'}, {process: 'p.py:p'}]"
    )
    path.write_text(text, encoding="utf-8")
    code = f"from tests.simulation.test_own_processes import *; play(Path({str(path)!r}))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=ROOT)
    assert len(set(done.stdout.split())) == 8


def test_requests_of_a_process_are_recorded_and_judged(tmp_path: Path) -> None:
    code = (
        "def p(env, host):\n"
        "    yield env.timeout(8)\n"
        "    host.leave()\n"
        "    yield env.timeout(4)\n"
        "    host.join()\n"
        "    yield env.timeout(4)\n"
        "    host.leave()\n"
    )
    path = write(tmp_path, code, "hosts: [h1]")
    run = mobilenet.run(path, out=tmp_path / "run", allow_code=True)
    assert run.verdict == "valid", run.verdicts
    asked = run.events[(run.events["event"] == "asked") & (run.events["node"] == "h1")]
    wishes = [(t, json.loads(d)["wish"]) for t, d in zip(asked["time_ns"], asked["detail"], strict=True)]
    assert wishes[0][1] == "join"
    assert wishes[1:] == [(8_000_000_000, "leave"), (12_000_000_000, "join"), (16_000_000_000, "leave")]


@pytest.mark.parametrize("protocol", ["gossip.py:Gossip", "mobile_causal"])
@pytest.mark.parametrize("at_s", [0, 5, 10])
def test_simultaneous_requests_are_judged_in_order(protocol: str, at_s: float, tmp_path: Path) -> None:
    code = f"def p(env, host):\n    yield env.timeout({at_s})\n    host.leave(); host.join(); host.leave()\n"
    code += "    yield env.timeout(3)\n    host.join()\n    host.leave()\n    host.join()\n"
    code = code.replace("    yield env.timeout(0)\n", "")
    more = "interventions: [{at_s: 5, do: leave, host: h0}, {at_s: 10, do: join, host: h0}]\n"
    (tmp_path / "gossip.py").write_bytes((SCENARIOS / "own_protocol" / "gossip.py").read_bytes())
    changes = ["protocol={class: 'gossip.py:Gossip', promises: best_effort}"] if protocol != "mobile_causal" else []
    run = mobilenet.run(write(tmp_path, code, "", more), overrides=changes, out=tmp_path / "run", allow_code=True)
    assert run.verdicts["membership"].answer == "valid", run.verdicts["membership"].explanation


def test_requests_are_accepted_only_from_declared_processes(tmp_path: Path) -> None:
    path = write(tmp_path, "def p(env, host):\n    yield env.timeout(8)\n    host.leave()\n", "hosts: [h1]")
    scenario = Scenario.load(path)
    events = Simulation(scenario, allow_code=True).run().recording.tables()["events"]
    expected = expectations(scenario)
    assert obedience(events, expected, at_rest=True) == (None, None)
    problem = obedience(events, expected._replace(processes_ask=False), at_rest=True).unasked
    assert problem is not None and "h1 leaves without being asked" in problem


def test_simultaneous_events_run_in_the_order_of_their_creation(tmp_path: Path) -> None:
    """The scheduled crash comes first, then the process, and then the intervention."""
    code = "def p(env, host):\n    yield env.timeout(5)\n    host.broadcast()\n"
    faults = "faults: {schedule: explicit, outages: [{host: h0, at_s: 5, duration_s: 1}]}\n"
    faults += "interventions: [{at_s: 5, do: recover, host: h0}]\n"
    run = play(write(tmp_path, code, "hosts: [h0]", faults), "workload={arrivals: none}")
    assert [event for at_s, node, event in events(run, "crash", "refused", "recover") if at_s == 5] == [
        "crash", "refused", "recover"
    ]  # fmt: skip


def test_custom_processes_have_the_same_events_in_a_live_run(tmp_path: Path) -> None:
    live = mobilenet.live(FOLDER / "charging.yaml", allow_code=True)
    live.play(30)
    live.rewind(10)
    live.play(20)
    live.save(tmp_path / "run")
    live.close()
    again = mobilenet.run(FOLDER / "charging.yaml", out=tmp_path / "again", allow_code=True)
    saved = mobilenet.load(tmp_path / "run").events
    assert saved.equals(again.events.iloc[: len(saved)]) or saved.equals(again.events)


def test_a_process_sees_the_run_and_waits_for_deliveries(tmp_path: Path) -> None:
    code = (
        "def p(env, host, run):\n"
        "    before = run.deliveries(host)\n"
        "    name = yield run.next_delivery(host)\n"
        "    assert run.deliveries('h0')[: len(before) + 1] == [*before, name]\n"
        "    assert run.cell(host) in {f's{i}' for i in range(7)}\n"
        "    assert run.is_up(host) and run.is_member(host) and len(run.position(host)) == 2\n"
        "    assert run.buffer(host, 'sbuffer') >= 0 and run.buffer('s0', 'rbuffer') >= 0\n"
        "    host.crash()\n"
        "    assert not run.is_up(host)\n"
    )
    run = play(write(tmp_path, code, "hosts: [h0], uses_run: true"))
    first = next(at_s for at_s, node, _ in events(run, "deliver") if node == "h0")
    assert events(run, "crash") == [(first, "h0", "crash")]


def test_a_movement_pauses_while_its_host_is_down(tmp_path: Path) -> None:
    code = (
        "def p(env, host, run):\n"
        "    yield host.go_to(0, 0, 10)\n"
        "    begun_s = env.now\n"
        "    arrival = host.go_to(100, 0, 10)\n"
        "    yield env.timeout(1)\n"
        "    host.crash()\n"
        "    yield env.timeout(0.5)\n"
        "    assert abs(run.position(host)[0] - 10) < 1e-6\n"
        "    host.recover()\n"
        "    result = yield arrival | env.timeout(1)\n"
        "    assert arrival not in result\n"
        "    host.go_to(20, 0, 10)\n"
        "    yield env.timeout(3)\n"
        "    assert run.position(host) == (20, 0) and not arrival.triggered\n"
        "    host.crash()\n"
        "    arrival = host.go_to(20, 10, 5)\n"
        "    yield env.timeout(1)\n"
        "    assert run.position(host) == (20, 0)\n"
        "    host.recover()\n"
        "    since_s = env.now\n"
        "    yield arrival\n"
        "    assert abs(env.now - since_s - 2) < 1e-6 and run.position(host) == (20, 10)\n"
        "    host.leave()\n"
    )
    path = write(
        tmp_path, code, "hosts: [h2], speed_limit_mps: 60, uses_run: true", "record: {positions_interval_s: 5}\n"
    )
    path.write_text(path.read_text().replace("duration_s: 20", "duration_s: 60"), encoding="utf-8")
    assert [event for _, node, event in events(play(path), "asked") if node == "h2"] == ["asked", "asked"]


def test_a_host_added_by_hand_has_the_processes_of_all_hosts(tmp_path: Path) -> None:
    code = (
        "def p(env, host, run):\n"
        "    yield env.timeout(0.1)\n"
        "    assert run.is_up(host) and run.cell(host) is not None\n"
        "    while True:\n"
        "        yield env.timeout(2)\n"
        "        host.broadcast()\n"
        "        yield run.next_delivery(host)\n"
        "        host.leave()\n"
    )
    path = write(tmp_path, code, "uses_run: true")
    changes = ["interventions=[{at_s: 6, do: add, to_m: [1, 1]}]", "workload={arrivals: none}"]
    run = play(path, *changes)
    assert (8.1, "h4") in {(at_s, name) for at_s, name, _ in events(run, "broadcast", "refused")}
    assert "h4" in {name for _, name, _ in events(run, "asked")}
    assert mobilenet.run(path, overrides=changes, out=tmp_path / "run", allow_code=True).verdict == "valid"


def test_custom_processes_stop_acting_after_the_active_part(tmp_path: Path) -> None:
    code = (
        "def p(env, host):\n"
        "    try:\n"
        "        while True:\n"
        "            yield env.timeout(3)\n"
        "            host.broadcast()\n"
        "    finally:\n"
        "        host.crash()\n"
    )
    run = play(write(tmp_path, code), "duration_s=6", "workload={arrivals: none}")
    assert {at_s for at_s, _, _ in events(run, "broadcast", "refused", "crash")} == {3.0}


def test_custom_processes_can_use_all_of_simpy(tmp_path: Path) -> None:
    code = (
        "import simpy\n"
        "def p(env, world, settings):\n"
        "    store, tank = simpy.Store(env), simpy.Container(env, init=1)\n"
        "    def consumer():\n"
        "        item = yield store.get()\n"
        "        yield tank.get(1)\n"
        "        try:\n"
        "            yield env.timeout(100)\n"
        "        except simpy.Interrupt as reason:\n"
        "            return item, reason.cause, env.now\n"
        "    process = env.process(consumer())\n"
        "    yield env.timeout(0.5)\n"
        "    yield store.put(settings['item'])\n"
        "    yield env.timeout(0.25)\n"
        "    process.interrupt('enough')\n"
        "    assert (yield process) == ('box', 'enough', 0.75)\n"
        "    done = yield env.any_of([env.timeout(1), env.timeout(2)])\n"
        "    assert len(done.events) == 1 and len(world.hosts) == 4\n"
        "    world.hosts[3].crash()\n"
    )
    run = play(write(tmp_path, code, "hosts: none, settings: {item: box}"))
    assert events(run, "crash") == [(1.75, "h3", "crash")]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(0, 10, allow_nan=False), min_size=1, max_size=5))
def test_a_delay_is_converted_once_to_the_nearest_nanosecond(delays: list[float]) -> None:
    kernel = Kernel()
    env = Seconds(kernel, 10**12)
    times: list[int] = []

    def wait() -> Any:
        for delay_s in delays:
            yield env.timeout(delay_s)
            assert env.now == kernel.now / 1e9
            times.append(kernel.now)

    env.process(wait())
    kernel.run_until(10**12)
    expected, at_ns = [], 0
    for delay_s in delays:
        at_ns += round(delay_s * 1e9)
        expected.append(at_ns)
    assert times == expected


GENERATOR = "def p(env, host):\n    yield env.timeout(1)\n"
MALFORMED = {
    "a wrong yield": ("def p(env):\n    yield 5\n", "", r"p\.py:2: yields 5, expected an event of env"),
    "a wrong yield inside": (
        "def q(env):\n    yield env.timeout(1)\n    yield None\ndef p(env):\n    yield from q(env)\n", "",
        r"p\.py:3: yields None",
    ),
    "an event of elsewhere": (
        "import simpy\ndef p(env):\n    yield simpy.Environment().timeout(1)\n", "", r"p\.py:3: yields <Timeout",
    ),
    "an exception": (GENERATOR + "    {}['x']\n", "", r"p\.py:3: KeyError: 'x'"),
    "an exception in one that it waits for": (
        "def q(env):\n    yield env.timeout(1)\n    1 / 0\ndef p(env):\n    yield env.process(q(env))\n", "",
        r"p\.py:5: ZeroDivisionError",
    ),
    "delays of zero": (
        "def p(env):\n    while True:\n        yield env.timeout(0)\n", "",
        r"p\.py:3: 50,000 steps at 0 s, and time does not pass \(limits\.max_events\)",
    ),
    "one event again and again": (
        "def p(env):\n    done = env.timeout(0)\n    while True:\n        yield done\n", "", r"p\.py:4: 50,000 steps",
    ),
    "no yield any more": (
        GENERATOR + "    while True:\n        pass\n", "", r"p\.py:[34]: no yield within 0\.2 s of wall time",
    ),
    "a negative delay": (
        "def p(env):\n    yield env.timeout(-1)\n", "", r"p\.py:2: ValueError: timeout: the delay is -1, expected",
    ),
    "no number": (
        "def p(env):\n    yield env.timeout(float('nan'))\n", "", r"p\.py:2: ValueError: timeout: the delay is nan",
    ),
    "a callback that never ends": (
        "def p(env):\n    t = env.timeout(1)\n    t.callbacks.append(endless)\n    yield t\n"
        "def endless(event):\n    while True:\n        pass\n", "", r"p\.py:[67]: no yield within 0\.2 s",
    ),
    "one begun by simpy": (
        "import simpy\ndef q(env):\n    yield env.timeout(1)\n    while True:\n        pass\n"
        "def p(env):\n    yield simpy.Process(env, q(env))\n", "", r"p\.py:[45]: no yield within 0\.2 s",
    ),
    "callbacks without delay": (
        "def p(env):\n    yield env.timeout(again(env))\ndef again(env):\n    t = env.timeout(0)\n"
        "    t.callbacks.append(lambda event: again(env))\n    return 1\n", "", r"p\.py: 50,000 steps at 0 s",
    ),
    "no exception": (GENERATOR + "    raise BaseException('odd')\n", "", r"p\.py:3: BaseException: odd"),
    "its end in one that it waits for": (
        "def q(env):\n    yield env.timeout(1)\n    exit(3)\ndef p(env):\n    yield env.process(q(env))\n", "",
        r"p\.py:3: SystemExit: 3",
    ),
    "the end of an iterator": (GENERATOR + "    next(iter(()))\n", "", r"p\.py:3: RuntimeError: generator raised"),
    "an error of ours": (
        GENERATOR + "    from mobilenet import ScenarioError\n    raise ScenarioError('boo')\n", "",
        r"p\.py:4: ScenarioError: boo",
    ),
    "too slow": (
        GENERATOR + "    host.go_to(1, 2, 1e-300)\n", "speed_limit_mps: 2", r"p\.py:3: ValueError: go_to: speed",
    ),
    "no speed limit": (GENERATOR + "    host.go_to(1, 2, 3)\n", "", r"p\.py:3: ValueError: go_to needs the key"),
    "too fast": (
        GENERATOR + "    host.go_to(1, 2, 3)\n", "speed_limit_mps: 2", r"p\.py:3: ValueError: go_to: speed_mps is 3",
    ),
    "too large": (GENERATOR + "    host.broadcast(101)\n", "", r"p\.py:3: ValueError: broadcast: payload_bytes is 101"),
    "the environment is run": (GENERATOR + "    env.run(5)\n", "", r"p\.py:3: RuntimeError: the network runs this"),
    "no generator given to it": (
        "def p(env):\n    yield env.process(p)\n", "", r"p\.py:2: TypeError: env\.process\(.*expected a generator",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", MALFORMED)
def test_an_error_in_a_process_ends_the_run_with_one_line(kind: str, tmp_path: Path) -> None:
    code, entry, expected = MALFORMED[kind]
    # Other processes keep the usual limit, because they may have to wait for the CPU longer than this.
    limits = ["limits.process_s=0.2"] if "no yield within" in expected else []
    path = write(tmp_path, code, entry)
    line = (
        rf"^own_processes\.0\.process: {expected}.*, in process p of h0 \(at [01]\.000000 s\); the run up to that point"
    )
    with pytest.raises(ScenarioError, match=line) as caught:
        mobilenet.run(path, out=tmp_path / "run", overrides=limits, allow_code=True)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("code", "entry", "expected"),
    [
        ("def p(env):\n    return 5\n", "", r"p\.py:1: p is not a generator function"),
        ("class p:\n    pass\n", "", r"p\.py:1: p is not a generator function"),
        (
            "\ndef p(env, hots):\n    yield\n",
            "",
            r"p\.py:2: p takes 'hots', expected only env, host, draws, settings, run",
        ),
        ("def p(env, world):\n    yield\n", "", r"p\.py:1: p takes 'world'"),
        ("def p(env, host):\n    yield\n", "hosts: none", r"p\.py:1: p takes 'host', expected only env, world, draws"),
        ("def p(env, run):\n    yield\n", "", r"p\.py:1: p takes 'run', expected `uses_run: true` in the scenario"),
        ("q = 1\n", "", r"p\.py has no p"),
    ],
)
def test_an_object_that_is_not_a_process_is_rejected_early(
    code: str, entry: str, expected: str, tmp_path: Path
) -> None:
    path = write(tmp_path, code, entry)
    with pytest.raises(ScenarioError, match=rf"^own_processes\.0\.process: {expected}"):
        mobilenet.run(path, out=tmp_path / "run", allow_code=True)
    assert not (tmp_path / "run").exists()


def test_a_process_cannot_catch_an_error_of_the_protocol(tmp_path: Path) -> None:
    """Through such an error, a process could access the run even without the argument `run`."""
    source = (SCENARIOS / "own_protocol" / "gossip.py").read_text(encoding="utf-8")
    source = source.replace("        rumour = Rumour(message, body)\n", "        raise RuntimeError('busy')\n", 1)
    (tmp_path / "gossip.py").write_text(source, encoding="utf-8")
    code = (
        "def p(env, host):\n    yield env.timeout(1)\n    try:\n        host.broadcast()\n    except:\n        pass\n"
    )
    changes = ["protocol={class: 'gossip.py:Gossip', promises: best_effort}", "workload={arrivals: none}"]
    with pytest.raises(ScenarioError, match=r"gossip\.py:\d+: RuntimeError: busy \(in spread"):
        mobilenet.run(write(tmp_path, code), overrides=changes, out=tmp_path / "run", allow_code=True)


def test_cleanup_of_a_custom_process_prints_no_error(tmp_path: Path) -> None:
    code = "def p(env):\n    try:\n        yield env.timeout(99)\n    finally:\n        yield env.timeout(1)\n"
    path = write(tmp_path, code)
    words = f"from tests.simulation.test_own_processes import *; play(Path({str(path)!r}))"
    done = subprocess.run([sys.executable, "-c", words], check=True, capture_output=True, text=True, cwd=ROOT)
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ("hosts: [h9]", r"own_processes\.0\.hosts: h9 does not exist; there are 4 hosts"),
        (
            "hosts: [h1, h1]",
            r"own_processes\.0\.hosts: expected all, none, or a list of different hosts, got \[h1, h1\]",
        ),
        ("hosts: []", r"own_processes\.0\.hosts: expected all, none, or a list"),
        ("hosts: some", r"own_processes\.0\.hosts"),
        ("speed: 1", r"own_processes\.0\.speed: unknown key"),
    ],
)
def test_a_wrong_process_declaration_is_rejected_on_loading(entry: str, expected: str, tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=expected):
        Scenario.load(write(tmp_path, GENERATOR, entry))


def test_only_hosts_with_static_mobility_can_be_moved(tmp_path: Path) -> None:
    path = write(tmp_path, GENERATOR, "speed_limit_mps: 2")
    with pytest.raises(ScenarioError, match=r"own_processes\.0\.speed_limit_mps: only hosts of the model static"):
        Scenario.load(path, ["hosts.mobility={model: random_waypoint, speed_mps: [1, 2]}"])


@pytest.mark.lab
def test_levels_are_not_paired_if_their_processes_use_the_run() -> None:
    levels: list[dict[str, Any]] = [{"x": 1}, {"x": 2}]
    both = [Configuration(number, level, (), "") for number, level in enumerate(levels)]
    values = of_runs({(0, "deliveries"): {1: 10.0, 2: 20.0, 3: 31.0}, (1, "deliveries"): {1: 12.0, 2: 22.0, 3: 33.0}})
    comparison = Compare(factor="x", baseline=1, metrics=("deliveries",))
    paired = findings(comparison, both, values, set(), 0.95, Delivered({}, Path()))[0]
    apart = findings(comparison, both, values, set(), 0.95, Delivered({}, Path(), {1}))[0]
    assert (paired.verdict, apart.verdict) == ("different", "inconclusive")
    assert paired.result is not None and apart.result is not None
    apart_low, paired_low = (one.result.difference - one.result.difference_low for one in (apart, paired))
    assert apart_low > 10 * paired_low
    words = {"factor": "x", "baseline": 1, "confidence": 0.95, "equivalence_margin": None}
    text = sentence(apart.document(), words, LevelNames({"x": [1, 2]}))
    assert "3 runs of each, not paired" in text
    assert pairing(["", USES_RUN]) != pairing([USES_RUN]) != pairing([""]) == "paired over the same worlds"


def test_delivery_pairs_are_skipped_if_processes_depend_on_them(tmp_path: Path) -> None:
    overload = FOLDER / "overload.yaml"
    study = Study.of({"scenario": overload.name, "factors": {"wireless.loss": [0, 0.1]}}, overload.parent)
    store = create(study, tmp_path / "out", allow_code=True)
    assert store.observing() == {0, 1}
    both, delays = (Cell("e", 0), Cell("e", 1)), OF_HOSTS.of_delays("delivery_delay_mean_s")
    assert delays is not None
    with pytest.raises(NotPaired, match=USES_RUN):
        CommonDelays({"e": store})(*both, 1, delays)

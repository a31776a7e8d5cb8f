"""Tests of --twice, replay and shrink, whose output helps a user to inspect a run."""

import json
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner

from mobilenet.api import Run, run
from mobilenet.cli.main import app
from mobilenet.lab.hunt.swarm.reductions import Changes, OfHosts, fewer
from mobilenet.lab.hunt.swarm.shrink import Shrinking, _plain, ddmin
from mobilenet.lab.replay.transcript import first_difference, lines_of
from mobilenet.record.reader import RunError
from mobilenet.record.table import Table
from mobilenet.scenario import Scenario, load_scenario
from mobilenet.scenario.yaml_writer import inline
from tests.conftest import FIRST
from tests.lab.programs.own import answering, play

REFUSING = """print('{"do":"refuse"}') if e['ev'] == 'broadcast' else 0"""
SCENARIOS = Path(__file__).parents[3] / "scenarios"


def command(*words: object) -> tuple[int, str]:
    done = CliRunner().invoke(app, [str(word) for word in words])
    return done.exit_code, done.output + (done.stderr if done.stderr_bytes else "")


def test_the_twice_option_reveals_a_program_that_reads_the_clock(tmp_path: Path) -> None:
    code = """print('{"do":"log","text":"%d"}' % time.time_ns()) if e['ev'] == 'broadcast' else 0"""
    status, output = command("run", answering(tmp_path, code), "--allow-code", "--twice", "--out", tmp_path / "run")
    assert status == 2
    assert "two runs differ in line " in output and '{"do":"log","text":"' in output


def test_a_deterministic_program_behaves_the_same_twice(tmp_path: Path) -> None:
    status, output = command("run", answering(tmp_path, REFUSING), "--allow-code", "--twice", "--out", tmp_path / "run")
    assert (
        status == 4 and "both runs have the same events, and every program wrote the same lines" in output
    )  # The verdict is unknown, because some messages are not delivered.


KEYS_IN_ANY_ORDER = """
if e["ev"] in ("join", "broadcast"):
    value = {"a": 1, "b": {"c": [], "d": 2}}
    if os.path.exists("there"): value = {"b": {"d": 2, "c": []}, "a": 1}
    print(json.dumps({"do": "send", "to": 0, "message": value}))
    print('{"do":"refuse"}')
"""


def test_the_twice_option_ignores_the_order_of_json_keys(tmp_path: Path) -> None:
    file = answering(tmp_path, KEYS_IN_ANY_ORDER)
    changes = {"record.programs": True}
    one = play(file, "one", overrides=changes)
    (tmp_path / "there").touch()
    two = play(file, "two", overrides=changes)
    once, then = lines_of(one.path)[0], lines_of(two.path)[0]
    assert once != then and one.manifest["fingerprint"] == two.manifest["fingerprint"]
    assert first_difference(once, then) is None
    status, output = command("replay", one.path, "--node", "h1", "--allow-code")
    assert status == 0 and "all as recorded" in output
    last = next(line for line in once if line.said and line.line.startswith('{"do": "send"'))
    other = [last._replace(line=last.line.replace('"d": 2', '"d": 2.0'))]
    assert first_difference([last], other) is not None


def test_replay_repeats_the_recorded_dialogue_with_a_program(tmp_path: Path) -> None:
    file = answering(tmp_path, """print('{"do":"log","text":"a"}') if e['ev'] == 'broadcast' else 0""")
    path = play(file).path
    assert command("replay", path, "--node", "h1")[0] == 2  # Without --allow-code, replay must not run the programs.
    status, output = command("replay", path, "--node", "h1", "--allow-code")
    assert status == 0 and "the fingerprint is the same" in output and "all as recorded" in output
    other = tmp_path / "other.py"
    other.write_text((tmp_path / "host.py").read_text().replace('"a"', '"b"'))
    status, output = command("replay", path, "--node", "h1", "--allow-code", "--", sys.executable, other)
    assert status == 1 and '"text":"a"' in output and '"text":"b"' in output and '"ev":"broadcast"' in output
    status, output = command("replay", path, "--node", "h9", "--allow-code")
    assert status == 2 and "no program h9; expected one of h0, h1, s0, s1" in output
    status, output = command("replay", path, "--node", "h1", "--allow-code", "-o", tmp_path / "told.jsonl")
    event_names = [json.loads(line)["ev"] for line in (tmp_path / "told.jsonl").read_text().splitlines()]
    assert status == 0 and event_names[0] == "start" and "broadcast" in event_names


def test_replay_respects_its_time_limit(tmp_path: Path) -> None:
    path = play(answering(tmp_path, REFUSING)).path
    (tmp_path / "slow.py").write_text("import time; time.sleep(60)")
    words = ("replay", path, "--allow-code", "--within-s", 0.5, "--", sys.executable, tmp_path / "slow.py")
    status, output = command(*words)
    assert status == 3 and "h0: no answer within 0.5 s" in output
    status, output = command("replay", path, "--allow-code", "-o", tmp_path / "nowhere" / "told.jsonl")
    assert status == 2 and "told.jsonl: cannot be written: No such file or directory" in output


STRANGE = {
    "node": ("x", "lines.parquet: 'x' is not a node; the run is damaged"),
    "line": ("{no", "lines.parquet: contains a program's line that is not JSON; the run is damaged"),
}


@pytest.mark.parametrize("column", STRANGE)
def test_replay_rejects_lines_that_no_run_records(column: str, tmp_path: Path) -> None:
    changes = {"record.programs": True}
    done = play(answering(tmp_path, REFUSING), overrides=changes)
    value, complaint = STRANGE[column]
    table = done.lines
    table[column] = [value if output else was for output, was in zip(table["said"], table[column], strict=True)]
    columns = {name: table[name].tolist() for name in table.columns}
    Table.of(columns).write(done.path / "lines.parquet")
    status, output = command("replay", done.path, "--allow-code")
    assert status == 2 and complaint in output


@pytest.mark.parametrize("culprits", [{3}, {2, 9}, {0, 5, 11}, set()])
def test_ddmin_finds_the_minimal_failing_subset(culprits: set[int]) -> None:
    assert set(ddmin(range(12), lambda kept: culprits <= set(kept))) == culprits


@pytest.mark.long
def test_shrink_minimizes_a_violation_in_a_program(tmp_path: Path) -> None:
    bug = {"protocol.command": ["python3", "flood.py", "--bug"], "record.positions_interval_s": None}
    bug |= {"duration_s": 10, "hosts.count": 4, "wireless.loss": 0.2}
    done = run(SCENARIOS / "programs" / "flood.yaml", overrides=bug, out=tmp_path / "run", allow_code=True)
    assert done.verdicts["fifo_order"].answer == "violated" and (done.events["event"] == "broadcast").sum() > 12
    status, output = command("shrink", done.path, "--allow-code", "--trials", 24)
    assert status == 0 and "fifo_order is still violated with" in output
    small = Run(tmp_path / "run-small")
    assert small.verdicts["fifo_order"].answer == "violated"
    assert (small.events["event"] == "broadcast").sum() <= 6
    assert small.positions.node.str.startswith("h").any()  # Without hosts, the map would be empty.
    words = output.split("Next: mobilenet ")[-1].split()
    status, output = command(*words, "--out", tmp_path / "picture.svg")
    assert status == 0 and " 0 messages" not in output


@pytest.mark.long
def test_shrink_minimizes_a_violation_in_a_plug_in_class(tmp_path: Path) -> None:
    causal = {"protocol.promises": "causal", "duration_s": 20}
    done = run(SCENARIOS / "own_protocol" / "gossip.yaml", overrides=causal, out=tmp_path / "run", allow_code=True)
    search = Shrinking(done.path, allow_code=True, most=60, on_trial=lambda summary: None)
    search.run()
    assert search.scenario.duration_s < 20 and len(search.scenario.workload.messages) <= 20


def test_shrink_drops_references_to_removed_hosts(tmp_path: Path) -> None:
    """A scenario whose churn or interventions name a removed host would be refused."""
    lie = (
        """print('{"do":"joined","session":1,"station":0}\\n{"do":"deliver","id":[1,7]}') if e['ev'] == 'join' else 0"""
    )
    changes = [{"host": "h1", "at_s": 1, "kind": "leave"}, {"host": "h0", "at_s": 2, "kind": "leave"}]
    by_hand = [{"do": "crash", "host": "h1", "at_s": 3}, {"do": "loss", "loss": 0.1, "at_s": 3}]
    file = answering(tmp_path, lie, churn={"changes": changes}, interventions=by_hand)
    path = play(file).path
    search = Shrinking(path, allow_code=True, on_trial=lambda summary: None)
    thinned = OfHosts(search)._without_strangers(1)
    assert [one.host for one in thinned["churn.changes"]] == ["h0"]
    assert [one.do for one in thinned["interventions"]] == ["loss"]
    fewer(search, "hosts.count", 2, 1, OfHosts(search)._without_strangers)
    assert search.scenario.hosts.count == 1  # type: ignore[union-attr]


def test_shrink_rejects_a_run_without_a_violation(tmp_path: Path) -> None:
    path = play(answering(tmp_path, REFUSING)).path
    with pytest.raises(RunError, match="no property is violated"):
        Shrinking(path, allow_code=True)


def lies_as_h3_recovers(folder: Path) -> Path:
    """Write a scenario with five hosts. Only the fourth host matters: it crashes, and reports a false delivery when it
    recovers.
    """
    lie = """print('{"do":"deliver","id":[0,7]}') if e['ev'] == 'recover' else 0"""
    outages = [{"host": "h3", "at_s": 1, "duration_s": 1}]
    more = {
        "hosts": {"count": 5, "mobility": {"model": "static"}},
        "faults": {"schedule": "explicit", "outages": outages},
    }
    return answering(folder, lie, **more)


def test_shrink_removes_irrelevant_hosts_at_any_position(tmp_path: Path) -> None:
    path = play(lies_as_h3_recovers(tmp_path)).path
    search = Shrinking(path, allow_code=True)
    moved = OfHosts(search)._with_hosts({0: 0, 1: 1, 3: 2, 4: 3})
    assert [one.host for one in moved["faults.outages"]] == ["h2"]


@pytest.mark.long
def test_a_complete_shrink_removes_irrelevant_hosts(tmp_path: Path) -> None:
    search = Shrinking(play(lies_as_h3_recovers(tmp_path)).path, allow_code=True)
    search.run()
    assert isinstance(search.scenario, Scenario) and search.scenario.hosts.count == 1


def test_shrink_continues_until_its_time_limit(tmp_path: Path) -> None:
    path = play(lies_as_h3_recovers(tmp_path)).path
    search = Shrinking(path, allow_code=True)
    search.trials = 1000
    assert not search.is_over and Shrinking(path, allow_code=True, minutes=0).is_over


OVERTAKEN = "h1:1 overtook h1:0 at h0:\n  h1:0 was broadcast at 0.428698 s (event 4)"
SENT = pd.DataFrame({"event": ["broadcast"] * 6, "message": [f"h1:{number}" for number in range(6)]})


@pytest.mark.parametrize(
    ("explanation", "options"),
    [
        (OVERTAKEN, "--around message:h1:0,h1:1 --host h0"),
        ("h2 lacks h1:0, h1:1, h1:2, h1:3, h1:4", "--around message:h1:0,h1:1,h1:2,h1:3 --host h2"),
        ("h2 delivered h7:0 at 1.5 s, which was not broadcast", "--around 1.500000 --host h2 --margin-s 0.050"),
        ("nothing was delivered", ""),
    ],
)
def test_shrink_picks_the_spacetime_window_of_a_violation(explanation: str, options: str) -> None:
    assert OfHosts.around(explanation, SENT) == options


class Rare:
    """A search for a fault that occurs only with exactly two hosts, and not in the first 20 seeds."""

    is_over, events, explanation = False, pd.DataFrame(), ""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.asked: list[tuple[int, int, int]] = []

    def attempt(self, changes: Changes, seeds: int = 4, first: int = 0) -> bool:
        count = changes["hosts.count"]
        self.asked.append((count, seeds, first))
        if count == 2 and first + seeds > 20:
            overrides = [f"{key}={inline(_plain(value))}" for key, value in changes.items()]
            self.scenario = self.scenario.with_changes(overrides)
            return True
        return False

    def cut_list(self, key: str, items: Any) -> None: ...


def test_the_last_shrinking_step_removes_idle_hosts() -> None:
    messages = [{"host": "h4", "at_s": 1}, {"host": "h4", "at_s": 2}]
    workload = {"workload": {"arrivals": "explicit", "payload_bytes": 9, "messages": messages}, "hosts.count": 6}
    scenario = load_scenario(FIRST, [f"{key}={inline(value)}" for key, value in workload.items()])
    assert isinstance(scenario, Scenario)
    search = Rare(scenario)
    hosts = OfHosts(search)
    assert not hosts._those_who_act([1], 8, 0) and search.asked == [(2, 8, 0)]
    assert hosts._at_last()
    assert search.scenario.hosts.count == 2
    assert [one.host for one in search.scenario.workload.messages] == ["h1", "h1"]  # type: ignore[union-attr]


@pytest.mark.long
def test_shrink_removes_hosts_that_only_walk(shout: Path) -> None:
    """In the first program of the guide, one sender and one receiver are enough to violate the order."""
    causal = {"protocol.promises": "causal", "protocol.delivers_to_all": False}
    done = play(shout, overrides=causal)
    search = Shrinking(done.path, allow_code=True, most=60, on_trial=lambda summary: None)
    search.run()
    assert isinstance(search.scenario, Scenario) and search.scenario.hosts.count == 2

"""Tests of custom protocols in a swarm. They are judged by the promises that their classes declare, and faulty
protocols are detected.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

import mobilenet
from mobilenet.lab.hunt.swarm import plug_ins
from mobilenet.lab.hunt.swarm.campaign import Result, keep_run, network_of, run_campaign
from mobilenet.verify import verify_run
from mobilenet.verify.judge import overall
from tests.lab.hunt.swarm.test_campaign import GOSSIP, PLUG_INS, RING
from tests.tools import invoke

COURIER = f"{PLUG_INS / 'courier.py'}:Courier"
OF_VCUBE = """
from mobilenet.protocols.vcube.causal_reliable import CausalReliableBroadcast
from mobilenet.protocols.vcube.disjoint_paths import DisjointPathsBroadcast


class Causal(CausalReliableBroadcast):
    order, delivers, tolerates_crashes, tolerates_mistakes, may_hold = "causal", "agreement", True, True, "held"

    def __init__(self, port, n, settings):
        super().__init__(port, n, 1, 1)


class Paths(DisjointPathsBroadcast):
    order, delivers, tolerates_crashes = "none", "correct_source_below_dimension", True

    def __init__(self, port, n, settings):
        super().__init__(port, n, 1)
"""

SENDS = "self.port.send(self.cell, rumour)"
EVENTS = ("join", "leave", "broadcast", "deliver", "crash", "recover", "out_of_coverage", "in_coverage")
OF_MOBILE_CAUSAL = """
from mobilenet.protocols.mobile_causal import Host, MobileCausalParameters, Stable, Station


class OwnHost(Host):
    def __init__(self, port, stable, settings, stations):
        super().__init__(port, stable, MobileCausalParameters(), stations)


class OwnStation(Station):
    def __init__(self, port, wired, settings, stations):
        super().__init__(port, wired, MobileCausalParameters(), stations)


class Own:
    host, station, stable = OwnHost, OwnStation, Stable


class Forgetful(OwnHost):
    def __init__(self, port, stable, *more):
        stable.nxt = 0
        super().__init__(port, stable, *more)


class Forgets(Own):
    host = Forgetful
"""


def edit(file: str, folder: Path, old: str, new: str) -> str:
    """Copy a shipped plug-in, and replace `old` by `new` in the copy."""
    path, _, name = file.rpartition(":")
    text = Path(path).read_text(encoding="utf-8")
    assert old in text
    (folder / "edited.py").write_text(text.replace(old, new), encoding="utf-8")
    return f"{folder / 'edited.py'}:{name}"


def findings(results: list[Result]) -> list[str]:
    """Return the findings in the results. Findings of runs that raised an exception begin with ERROR."""
    ended = {"violated": "", "ended with an error": "ERROR "}
    return [ended[result.answer] + result.explanation for result in results if result.answer in ended]


# --- among processes


def test_the_ring_tolerates_reordering_links() -> None:
    results = list(run_campaign(range(40), 1, protocol=RING))
    assert {(result.network, result.answer) for result in results} == {("processes", "valid")}
    assert len({result.fingerprint for result in results}) == 40


@pytest.mark.parametrize(
    ("old", "new", "violated"),
    [
        ("self.port.send(self.next, Hop(message))", "message.ts or self.port.send(self.next, Hop(message))", "agreem"),
        ("self.port.deliver(message, None)", "[self.port.deliver(message, None) for _ in 'ab']", "duplication"),
        ("MessageId(hop.id.source, self.delivered[hop.id.source])", "min(self.pending, default=None)", "order"),
        ("self.pending.remove(first)", "self.pending.remove(None)", "ERROR "),
    ],
)
def test_the_swarm_finds_a_broken_ring(old: str, new: str, violated: str, tmp_path: Path) -> None:
    results = list(run_campaign(range(20), 1, protocol=edit(RING, tmp_path, old, new)))
    assert any(finding.startswith(violated) for finding in findings(results)), findings(results)
    assert violated != "ERROR " or all("edited.py:" in finding for finding in findings(results))


@pytest.mark.parametrize("name", ["Causal", "Paths"])
def test_swarms_give_plug_ins_the_faults_they_declare(name: str, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(OF_VCUBE, encoding="utf-8")
    results = list(run_campaign(range(30), 1, protocol=f"{tmp_path / 'own.py'}:{name}"))
    assert [result.explanation for result in results if result.answer == "violated"] == []
    assert sum(result.answer == "valid" for result in results) >= 27
    happened = {event: sum(result.happened.get(event, 0) for result in results) for event in ("crash", "trust")}
    assert happened["crash"] > 10 and (happened["trust"] > 60) == (name == "Causal")


def test_swarms_test_whether_a_plug_in_survives_crashes(tmp_path: Path) -> None:
    bold = edit(RING, tmp_path, "False", "True")
    results = list(run_campaign(range(20), 1, protocol=bold))
    assert any("crash" in result.happened for result in results)
    assert any(result.explanation.startswith("agreement") for result in results)


def test_a_swarm_experiment_of_a_plug_in_is_repeatable() -> None:
    for seed in range(20):
        drawn = plug_ins.experiment_of(seed, RING)
        assert drawn == plug_ins.experiment_of(seed, RING) and drawn.crashes == 0 and drawn.detector is None


# --- hosts and stations


def test_the_swarm_runs_mobile_plug_ins_on_both_networks() -> None:
    results = list(run_campaign(range(30), 1, protocol=GOSSIP))
    assert [(result.seed, result.explanation) for result in results if result.answer == "violated"] == []
    assert [result.network for result in results] == ["adversary", "radio"] * 15
    happened = {event: sum(result.happened.get(event, 0) for result in results[::2]) for event in EVENTS}
    assert all(number > 20 for number in happened.values()), happened


@pytest.mark.parametrize(
    ("old", "new", "violated"),
    [
        ("rumour.id not in self.stable.heard:", "rumour.id not in sorted(self.stable.heard)[-3:]:", "duplication"),
        ("rumour.id not in self.stable.heard:", "True:", "duplication"),
        ("if self.stable.member and", "if", "membership"),
        ('promises = "best_effort"', 'promises = "causal"', "causal_order"),
        ("self.port.deliver(rumour.id,", "self.port.deliver(str(rumour.id),", r"ERROR .*/edited.py:\d+: TypeError"),
        ("if self.cell is not None:", "if self.sell is not None:", r"ERROR .*/edited.py:\d+: AttributeError"),
    ],
)
def test_the_adversary_network_exposes_broken_gossip(old: str, new: str, violated: str, tmp_path: Path) -> None:
    results = list(run_campaign(range(0, 20, 2), 1, protocol=edit(GOSSIP, tmp_path, old, new)))
    assert any(re.match(violated, finding) for finding in findings(results)), findings(results)


def test_the_adversary_violates_only_a_broken_custom_broadcast(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(OF_MOBILE_CAUSAL, encoding="utf-8")
    whole, broken = (
        list(run_campaign(range(0, 24, 2), 1, protocol=f"{tmp_path / 'own.py'}:{n}")) for n in ("Own", "Forgets")
    )
    assert {result.answer for result in whole} == {"valid"}
    assert any(result.answer == "violated" and "duplication" in result.explanation for result in broken)


def test_a_stored_schedule_of_a_plug_in_is_judged_again(tmp_path: Path) -> None:
    keep_run(2, tmp_path / "kept", protocol=GOSSIP)
    assert mobilenet.Run(tmp_path / "kept").manifest["promises"]["broadcast"] == "best_effort"
    assert overall(verify_run(tmp_path / "kept")) == "valid" and (tmp_path / "kept" / "gossip.py").is_file()


def test_the_swarm_supports_plug_ins_whose_hosts_broadcast(tmp_path: Path) -> None:
    shouting = edit(GOSSIP, tmp_path, SENDS, "self.port.broadcast(rumour)")
    results = list(run_campaign(range(0, 20, 2), 1, protocol=shouting))
    assert {result.answer for result in results} == {"valid"}
    assert sum(result.happened["deliver"] for result in results) > 500


# --- the command


def call(*words: str) -> tuple[int, str]:
    result = invoke("swarm", "--count", "2", "--workers", "1", *words)
    return result.exit_code, result.output


def test_the_command_needs_permission_to_run_code(tmp_path: Path) -> None:
    code, output = call("--protocol", RING)
    assert code == 2 and "--allow-code" in output
    code, output = call("--protocol", RING, "--allow-code")
    assert code == 0 and "2 valid" in output
    code, output = call("--protocol", RING, "--allow-code", "--mac", "dcf")
    assert code == 2 and "is a broadcast among processes, which have no radio" in output
    code, output = call("--protocol", RING.replace(":Ring", ":Hop"), "--allow-code")
    assert code == 2 and "ring.py:Hop is not a protocol" in output


def test_each_kind_of_plug_in_runs_on_the_right_network() -> None:
    assert {network_of(seed, RING) for seed in range(4)} == {"processes"}
    assert {network_of(seed, COURIER) for seed in range(4)} == {"radio"}
    assert [network_of(seed, GOSSIP) for seed in range(2)] == ["adversary", "radio"]
    assert network_of(0, GOSSIP, "acking") == "radio"


def test_an_exception_in_a_plug_in_ends_its_schedule(tmp_path: Path) -> None:
    for protocol, old, new in (
        (GOSSIP, "if self.cell is not None:", "if self.sell is not None:"),
        (GOSSIP, SENDS, "raise type('Quiet', (Exception,), {'__str__': lambda error: exit(0)})"),
        (GOSSIP, SENDS, "raise SystemExit(0)"),
        (RING, "self.pending.remove(first)", "raise KeyError('x' * 100_000)"),
    ):
        code, output = call("--protocol", edit(protocol, tmp_path, old, new), "--allow-code", "--count", "4")
        assert code == 2 and "violated" not in output
        ended = re.findall(r"schedule \d+ \(.*\) ended with an error: (.*)\n", output)
        assert ended and all(re.match(r"\S*/edited\.py:\d+: \w+: .*\(in ", line) for line in ended)
        assert " ended with an error\n" in output and max(map(len, output.splitlines())) < 1000


NEVER_SETTLES = """
import json, sys
for line in sys.stdin:
    e = json.loads(line)
    if e["ev"] == "stop": break
    if e["ev"] == "start":
        cell = None
        print(json.dumps({"do": "settled", "value": e["role"] == "host" or e["me"] > 0}))
    elif e["ev"] == "cell": cell = e["station"]
    elif e["ev"] == "join" and cell is not None: print(json.dumps({"do": "joined", "session": 1, "station": cell}))
    elif e["ev"] == "leave": print(json.dumps({"do": "left", "session": 2}))
    elif e["ev"] == "broadcast": print(json.dumps({"do": "refuse"}))
    print('{"do":"done"}', flush=True)
"""


def test_the_swarm_command_lists_programs_that_have_not_settled(tmp_path: Path) -> None:
    (tmp_path / "node.py").write_text(NEVER_SETTLES)
    command = f"{sys.executable} {tmp_path / 'node.py'}"
    options = ("--command", command, "--promises", "best_effort", "--allow-code", "--count", "1", "--seed", "2")
    code, output = call(*options, "--keep", str(tmp_path / "kept"))
    assert code == 1
    assert "active part: s0 reports that it has not settled (promised within 60 s)" in " ".join(output.split())
    assert "s0 reports" in verify_run(tmp_path / "kept" / "swarm-s2")["drained"].explanation

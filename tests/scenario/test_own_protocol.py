"""Tests of custom protocols: they are loaded from a file or a package, run only if the user allows it, and are judged
like the built-in ones.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import mobilenet
from mobilenet.parameters import ScenarioError
from mobilenet.scenario import Scenario
from mobilenet.simulation.mobile import Simulation
from tests.cli.command import mobilenet as command
from tests.conftest import SCENARIOS

FOLDER = SCENARIOS / "own_protocol"
SMALL = ["duration_s=10", "hosts.count=8"]

QUIET = "type('Quiet', (Exception,), {'__str__': lambda error: __import__('sys').exit(0)})"
SILENT = "type('Silent', (Exception,), {'__str__': lambda error: 1 / 0})"
TWO_LINES = r"type('Two\nLines', (Exception,), {})"
LEAVING = "type('Leaving', (), {'__repr__': lambda value: __import__('sys').exit(0)})()"


@pytest.fixture
def gossip(tmp_path: Path) -> Path:
    return Path(shutil.copytree(FOLDER, tmp_path / "own", ignore=shutil.ignore_patterns("__pycache__")) / "gossip.yaml")


def edit(scenario: Path, old: str, new: str) -> None:
    file = scenario.with_name("gossip.py")
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def run(scenario: Path) -> mobilenet.Run:
    """Run a scenario for a short time. The results go to the folder `run`, next to the folder of the scenario."""
    return mobilenet.run(scenario, out=scenario.parents[1] / "run", overrides=SMALL, allow_code=True)


def test_the_gossip_plug_in_is_at_most_70_lines_long() -> None:
    assert len((FOLDER / "gossip.py").read_text().splitlines()) <= 70


def test_plug_in_code_runs_only_if_allowed(gossip: Path, tmp_path: Path) -> None:
    edit(gossip, "class Gossip:", f"open({str(tmp_path / 'ran')!r}, 'w').close()\nclass Gossip:")
    with pytest.raises(ScenarioError, match="--allow-code"):
        mobilenet.run(gossip, out=tmp_path / "run")
    done = run(gossip)
    (tmp_path / "ran").unlink()
    with pytest.raises(ScenarioError, match="--allow-code"):
        mobilenet.run(done.path / "scenario.yaml", out=tmp_path / "again")
    for arguments in (
        ("run", gossip),
        ("check", gossip),
        ("verify", done.path),
        ("show", done.path),
        ("spacetime", done.path),
    ):
        result = command(*map(str, arguments), place=tmp_path)
        assert "Traceback" not in result.stderr
    assert not (tmp_path / "ran").exists()


def test_a_plug_in_is_judged_by_the_promises_it_makes(gossip: Path, tmp_path: Path) -> None:
    done = run(gossip)
    assert done.verdict == "valid"
    assert done.metrics["deliveries"] > 50
    assert "causal_order" not in done.verdicts
    strict = mobilenet.run(gossip, out=tmp_path / "strict", overrides=["protocol.promises=causal"], allow_code=True)
    assert strict.verdict == "violated"
    assert strict.manifest["fingerprint"] != done.manifest["fingerprint"]


def test_best_effort_still_forbids_duplicate_deliveries(gossip: Path, tmp_path: Path) -> None:
    edit(gossip, "rumour.id not in self.stable.heard", "True")
    done = run(gossip)
    assert done.verdicts["duplication"].answer == "violated"


def test_a_run_of_a_plug_in_repeats_from_its_directory(gossip: Path, tmp_path: Path) -> None:
    first = run(gossip)
    again = mobilenet.run(first.path / "scenario.yaml", out=tmp_path / "again", allow_code=True)
    assert (first.path / "gossip.py").read_text() == gossip.with_name("gossip.py").read_text()
    assert again.manifest["fingerprint"] == first.manifest["fingerprint"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("protocol.settings.times=many", "times: expected a whole number"),
        ("protocol.settings.tims=2", "did you mean 'times'"),
        ('protocol.class="gossip.py:Nothing"', "gossip.py has no Nothing"),
        ('protocol.class="gossip.py:Rumour"', "expected a class with the attributes host and station"),
        ('protocol.class="other.py:Gossip"', "file 'other.py' not found"),
        ("protocol.class=gossip", "no installed package offers 'gossip'"),
        (
            'protocol.class="gossip.py"',
            "protocol.class: expected a file and a class, such as gossip.py:Gossip, .* got gossip.py",
        ),
        ("protocol.promises=much", "unknown value much"),
    ],
)
def test_a_class_that_is_not_a_protocol_is_rejected(gossip: Path, tmp_path: Path, change: str, message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        mobilenet.run(gossip, out=tmp_path / "run", overrides=[change], allow_code=True)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("class Gossip:", "class Gossip", r"gossip.py:\d+: SyntaxError"),
        ("class Gossip:", "import nothing_of_that_name\nclass Gossip:", r"gossip.py:\d+: ModuleNotFoundError"),
        (
            "self.port.send(self.cell, rumour)",
            "self.port.sent(self.cell, rumour)",
            r"gossip.py:\d+: AttributeError: .*\(in tell",
        ),
        (
            "def on_wired(self, source: int, rumour: Rumour)",
            "def on_wired(self)",
            r"gossip.py:\d+: Station.on_wired takes \(\), but is called with \(source, message\)",
        ),
        (
            "def __init__(self, *parts: object)",
            "def __init__(self)",
            r"gossip.py:\d+: Station takes \(\), but is called with \(port, wired, settings, stations\)",
        ),
        ("self.port.send(self.cell, rumour)", "raise SystemExit(0)", r"gossip.py:\d+: SystemExit: 0 \(in tell"),
        ("class Gossip:", "raise SystemExit(0)\nclass Gossip:", r"gossip.py:\d+: SystemExit"),
        (
            "self.port.send(self.cell, rumour)",
            "raise BaseException('odd')",
            r"gossip.py:\d+: BaseException: odd \(in tell",
        ),
        ("self.port.send(self.cell, rumour)", f"raise {QUIET}", r"gossip.py:\d+: Quiet: ? \(in tell"),
        ("self.port.send(self.cell, rumour)", f"raise {SILENT}", r"gossip.py:\d+: Silent: ? \(in tell"),
        ("self.port.send(self.cell, rumour)", f"raise {TWO_LINES}", r"gossip.py:\d+: Two Lines: ? \(in tell"),
        ("self.port.send(self.cell, rumour)", "raise GeneratorExit", r"gossip.py:\d+: GeneratorExit"),
        ('promises = "best_effort"', f"promises = {LEAVING}", "promises is a value of the class Leaving whose repr"),
        ('promises = "best_effort"', f"needs = {LEAVING}", "needs is a value of the class Leaving whose repr"),
        (
            "self.port.deliver(rumour.id, ",
            "self.port.deliver('x', ",
            r"gossip.py:\d+: TypeError: the message is 'x', expected a MessageId of two whole numbers",
        ),
        (
            "class Host(BaseHost):",
            "class Host(BaseHost):\n    BUFFERS = ('a',)\n    def buffer_sizes(self): return ('x',)\n",
            "gossip.py: TypeError",
        ),
        (
            "self.port.send(self.cell, rumour)",
            "self.port.send(True, rumour)",
            r"gossip.py:\d+: TypeError: send: the receiver is True, expected a whole number",
        ),
        (
            "self.port.send(self.cell, rumour)",
            "self.port.timer(print).start(0.5)",
            r"gossip.py:\d+: TypeError: a timer's delay in nanoseconds is 0.5, expected",
        ),
        (
            "class Host(BaseHost):",
            "class Host(BaseHost):\n    BUFFERS = ('a',)\n    def buffer_sizes(self): return (1, 2)\n",
            (
                r"gossip.py: ValueError: buffer_sizes\(\) returned \(1, 2\), expected a tuple of whole numbers, one for"
                r" each of BUFFERS"
            ),
        ),
        *(
            (
                "self.port.send(self.cell, rumour)",
                f"self.port.session_confirmed(1, 0, {detail})",
                rf"gossip.py:\d+: {error}",
            )
            for detail, error in {
                "{'recovered': object()}": "TypeError: session_confirmed: recovered is <object",
                "{'recovered': float('nan')}": "TypeError: session_confirmed: recovered is nan, expected a whole",
                "{'recovered': 10**400}": "ValueError: session_confirmed: recovered has more than 64 bits",
                "{'recovered': 'x'}": "TypeError: session_confirmed: recovered is 'x'",
                "{7: 1}": "TypeError: session_confirmed: a name is 7, expected a text",
                "[1]": r"TypeError: session_confirmed: detail is \[1\], expected a mapping",
            }.items()
        ),
        *(
            (
                "class Rumour(BaseMessage):",
                f"class Rumour(BaseMessage):\n    def list_sizes(self): return [({name}, 1)]\n",
                r"gossip.py:\d+: TypeError: list_sizes: a name is .*, expected a text of at most 100 printable",
            )
            for name in (r"'\ud800'", "10**9", "'x' * 101")
        ),
        ("Host, Station, Memory, Settings", "Host, Station, Memory, int", "settings is not derived from"),
        ("Host, Station, Memory, Settings", "Host, Station, 3, Settings", "stable is not a class"),
        (
            "class Host(BaseHost):",
            "class Host(BaseHost):\n    def join(self): self.port.joined('x', 99)\n",
            r"gossip.py:\d+: TypeError: join: the session is 'x'",
        ),
        (
            "self.port.send(self.cell, rumour)",
            "self.later(0, lambda: self.tell(rumour))",
            "limits.max_events: time stands still at .* s: 1,000,000 events",
        ),
    ],
)
def test_errors_in_plug_in_code_are_reported_with_their_line(
    gossip: Path, tmp_path: Path, old: str, new: str, message: str
) -> None:
    edit(gossip, old, new)
    with pytest.raises(ScenarioError, match=message):
        run(gossip)
    assert not (tmp_path / "run").exists() or mobilenet.load(tmp_path / "run").verdict == "unknown"


def test_a_plug_in_that_exceeds_the_event_limit_ends_the_run(gossip: Path, tmp_path: Path) -> None:
    edit(gossip, "self.port.send(self.cell, rumour)", "self.later(1e-9, lambda: self.tell(rumour))")
    with pytest.raises(ScenarioError, match=r"limits.max_events: 900,001 events at .* s, more than 900,000"):
        mobilenet.run(gossip, out=tmp_path / "run", overrides=[*SMALL, "limits.max_events=900000"], allow_code=True)
    sets = [word for change in (*SMALL, "limits.max_events=900000") for word in ("--set", change)]
    done = command("run", gossip, "--allow-code", *sets, "--out", tmp_path / "told", place=tmp_path)
    assert done.returncode == 2 and "limits.max_events: " in done.stderr
    kept = mobilenet.load(tmp_path / "told")
    assert kept.verdict == "unknown" and "limits.max_events" in kept.verdicts["record"].explanation
    assert command("verify", "told", "--repeat", "--allow-code", place=tmp_path).returncode == 4


def test_expired_timers_of_a_plug_in_are_reused(gossip: Path) -> None:
    simulation = Simulation(Scenario.load(gossip, SMALL), allow_code=True)
    simulation.run()
    most = max(len(node._timers) for node in simulation.hosts)
    assert 0 < most < 20  # There are several hundred waits, but far fewer timers.


def test_an_installed_package_can_provide_a_protocol(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(FOLDER / "gossip.py", tmp_path / "gossip_package.py")
    information = tmp_path / "gossip_package-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: gossip-package\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text("[mobilenet.protocols]\nrumours = gossip_package:Gossip\n")
    monkeypatch.syspath_prepend(tmp_path)
    changes = [*SMALL, "protocol.class=rumours"]
    done = mobilenet.run(FOLDER / "gossip.yaml", out=tmp_path / "run", overrides=changes, allow_code=True)
    assert done.verdict == "valid"

"""Tests that each option of each command has an effect.

Model     A case is a command on small inputs, called without the option and with it. The test compares the output, the
          exit code, and the names and contents of the files. Differences between two calls without the option, such as
          a wall time, do not count. WITHOUT_EFFECT lists the options that have no effect here, each with the reason.
          `make test` runs one case in eight. The slow tests run one case in three, or one in six if it starts Spark.
          `--repetitions 2` runs all cases.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text
from typer.main import get_command

from mobilenet.cli.main import app
from mobilenet.lab.studies.declaration import Study
from mobilenet.lab.studies.study import compare_study
from tests.cli.command import mobilenet
from tests.conftest import FIRST, ROOT, SCENARIOS
from tests.lab.studies.test_moved_studies import make

GOSSIP = str(SCENARIOS / "own_protocol" / "gossip.yaml")
FLOOD = str(SCENARIOS / "programs" / "flood.yaml")
WALK = str(ROOT / "data" / "formats" / "walk.csv")
SITES = str(ROOT / "data" / "formats" / "sites_lonlat.csv")
LONLAT = str(ROOT / "data" / "formats" / "walk_lonlat.csv")
NOWHERE = "spark://127.0.0.1:1"  # This address refuses connections, so a command that reads --master fails.
SPARK = ("study", "query", "capacity", "sensitivity", "robust", "claims")
DRAWN = 8  # `make test` runs one case in eight.
DRAWN_SLOW = 3  # `make test-rest` runs one slow case in three.
DRAWN_ON_SPARK = 6  # `make test-rest` runs one in six of the cases that start Spark.

STUDY = """
scenario: first.yaml
set: {duration_s: 5}
factors: {wireless.loss: [0, 0.2]}
replications: {min: 2}
compare: {factor: wireless.loss, baseline: 0, metrics: [delivery_delay_mean_s]}
"""
CLAIMS = """
rare: 0.5
replications: 14
experiments: {loss: {scenario: first.yaml, factors: {wireless.loss: [0, 0.2]}, set: {duration_s: 5}}}
claims:
  fast: {relation: within, metric: delivery_ratio, value: {experiment: loss, at: {wireless.loss: 0}}, at_least: 0.5}
  safe: {relation: no_violation, schedules: 4, protocol: best_effort}
"""


class Outcome(NamedTuple):
    code: int
    printed: tuple[str, ...]
    files: dict[str, str]  # name -> digest


class Case(NamedTuple):
    """Holds two calls of a command: `base` without the option and `words` with it."""

    base: str
    words: str


def more(base: str, words: str) -> Case:
    """Return a case whose second call appends `words` to the base."""
    return Case(base, f"{base} {words}")


def other(base: str, value: str, another: str) -> Case:
    """Return a case for a required option. The option has one value in the base and another value in the second
    call.
    """
    assert value in base
    return Case(base, base.replace(value, another))


SPARKLING = "--workers 2"
CAPACITY = (
    "capacity first.yaml --vary wireless.loss --from 0 --to 0.4 --require delivery_delay_mean_s<=0.5 --resolution 0.1"
    f" --rare 0.5 --set duration_s=4 --budget 60 --out new {SPARKLING}"
)
SENSITIVITY = (
    "sensitivity first.yaml --keys wireless.loss=0:0.3,workload.interval_s=1:3 --trajectories 4 --replications 2"
    f" --set duration_s=4 --out new {SPARKLING}"
)
SWARM = "swarm --count 2 --seed 1 --workers 1"
INSPECT = f"inspect-tracks {WALK} --range-m 120"
BASES = {  # command -> its usual call
    "run": "run first.yaml --set duration_s=4 --out new",
    "check": "check first.yaml",
    "show": "show study",
    "map": "map run",
    "figures": "figures study --out new",
    "report": "report run",
    "spacetime": "spacetime run",
    "why": "why run",
    "explain": "explain run/report.html",
    "study": f"study study.yaml --out new {SPARKLING}",
    "compare": "compare study",
    "query": f"query study SELECT*FROM(runs) {SPARKLING}",
    "capacity": CAPACITY,
    "sensitivity": SENSITIVITY,
    "robust": f"robust study.yaml --radios capture --out new {SPARKLING}",
    "claims": f"claims claims.yaml --out new {SPARKLING}",
    "diff": "diff run other",
    "verify": "verify run",
    "replay": "replay program --node h0 --allow-code",
    "swarm": SWARM,
    "exhaust": "exhaust --list",
    "reference": "reference wireless.loss",
    "schema": "schema",
    "inspect-tracks": INSPECT,
    "export": "export run --csv --out new",
    "artefact": "artefact study --out new.zip",
}
# Each value is either an option to append to the usual call of the command, or a case with two other calls.
CASES: dict[tuple[str, str], Case | str] = {
    ("run", "--seed"): "--seed 5",
    ("run", "--out"): more("run first.yaml --set duration_s=4", "--out elsewhere"),
    ("run", "--set"): "--set wireless.loss=0.3",
    ("run", "--allow-code"): more(f"run {GOSSIP} --set duration_s=3 --out new", "--allow-code"),
    ("run", "--force"): more("run first.yaml --out run", "--force"),
    ("run", "--twice"): "--twice",
    ("check", "--set"): "--set duration_s=7",
    ("show", "--metric"): "--metric gaps",
    ("show", "--all"): more("show run", "--all"),
    ("show", "--json"): "--json",
    ("map", "--out"): "--out elsewhere.html",
    ("map", "--tiles"): more("map lonlat", "--tiles"),
    ("map", "--losses"): "--losses",
    ("map", "--folium"): "--folium",
    ("map", "--allow-code"): more("map gossip --losses", "--allow-code"),
    ("figures", "--out"): "--out elsewhere",
    ("figures", "--format"): "--format png",
    ("figures", "--width"): "--width 3.5",
    ("figures", "--plain"): "--plain",
    ("figures", "--metric"): "--metric delivery_delay_p95_s",
    ("figures", "--x"): "--x nothing",  # The study has only one factor.
    ("figures", "--latex"): "--latex",
    ("figures", "--markdown"): "--markdown",
    ("figures", "--log-y"): "--log-y",
    ("report", "--out"): "--out elsewhere.html",
    ("spacetime", "--around"): "--around 2",
    ("spacetime", "--host"): Case("spacetime run --around 2 --host h1", "spacetime run --around 2 --host h2"),
    ("spacetime", "--margin-s"): "--margin-s 0.5",
    ("spacetime", "--out"): "--out elsewhere.svg",
    ("spacetime", "--allow-code"): more("spacetime gossip --around 1 --host h1", "--allow-code"),
    ("why", "--message"): "--message h4:0",
    ("why", "--at"): more("why run --message h4:0", "--at h4"),
    ("why", "--handoffs"): "--handoffs",
    ("why", "--handoff"): "--handoff h99:1",
    ("why", "--out"): "--out elsewhere.svg",
    ("why", "--json"): "--json",
    ("why", "--allow-code"): more("why gossip", "--allow-code"),
    ("explain", "--from"): "--from other",
    ("explain", "--json"): "--json",
    ("study", "--out"): "--out elsewhere",
    ("study", "--dry-run"): "--dry-run",
    ("study", "--set"): "--set duration_s=4",
    ("study", "--replications"): "--replications 3",
    ("study", "--seed"): "--seed 3",
    ("study", "--master"): more("study study.yaml --out new", f"--master {NOWHERE}"),
    ("study", "--allow-code"): more("study code.yaml --out new", "--allow-code"),
    ("compare", "--metric"): "--metric gaps",
    ("compare", "--json"): "--json",
    ("query", "--out"): "--out new.csv",
    ("query", "--master"): more("query study SELECT*FROM(runs)", f"--master {NOWHERE}"),
    ("query", "--explain"): "--explain",
    ("capacity", "--vary"): other(
        CAPACITY, "--vary wireless.loss --from 0 --to 0.4", "--vary workload.interval_s --from 1 --to 1.4"
    ),
    ("capacity", "--from"): other(CAPACITY, "--from 0 ", "--from 0.1 "),
    ("capacity", "--to"): other(CAPACITY, "--to 0.4", "--to 0.3"),
    ("capacity", "--require"): "--require delivery_ratio>=0.5",
    ("capacity", "--tolerance"): "--tolerance 0.2",
    ("capacity", "--resolution"): other(CAPACITY, "--resolution 0.1", "--resolution 0.2"),
    ("capacity", "--error"): "--error 0.2",
    ("capacity", "--rare"): other(CAPACITY, "--rare 0.5", "--rare 0.4"),
    ("capacity", "--budget"): other(CAPACITY, "--budget 60", "--budget 20"),
    ("capacity", "--minutes"): "--minutes 0.001",
    ("capacity", "--out"): "--out elsewhere",
    ("capacity", "--set"): "--set hosts.count=4",
    ("capacity", "--seed"): "--seed 3",
    ("capacity", "--master"): more(CAPACITY.replace(SPARKLING, ""), f"--master {NOWHERE}"),
    ("capacity", "--allow-code"): more(CAPACITY.replace("first.yaml", GOSSIP), "--allow-code"),
    ("capacity", "--json"): "--json",
    ("sensitivity", "--keys"): "--keys wireless.eifs",
    ("sensitivity", "--metric"): "--metric gaps",
    ("sensitivity", "--trajectories"): other(SENSITIVITY, "--trajectories 4", "--trajectories 5"),
    ("sensitivity", "--replications"): other(SENSITIVITY, "--replications 2", "--replications 3"),
    ("sensitivity", "--out"): "--out elsewhere",
    ("sensitivity", "--set"): "--set hosts.count=4",
    ("sensitivity", "--seed"): "--seed 3",
    ("sensitivity", "--master"): more(SENSITIVITY.replace(SPARKLING, ""), f"--master {NOWHERE}"),
    ("sensitivity", "--allow-code"): more(SENSITIVITY.replace("first.yaml", GOSSIP), "--allow-code"),
    ("sensitivity", "--json"): "--json",
    ("robust", "--radios"): more("robust study.yaml --out new --dry-run", "--radios capture"),
    ("robust", "--obstacles"): more("robust study.yaml --out new --dry-run", "--obstacles walls.geojson"),
    ("robust", "--out"): "--out elsewhere",
    ("robust", "--dry-run"): "--dry-run",
    ("robust", "--master"): more("robust study.yaml --radios capture --out new", f"--master {NOWHERE}"),
    ("robust", "--allow-code"): more("robust code.yaml --out new --dry-run", "--allow-code"),
    ("claims", "--dry-run"): "--dry-run",
    ("claims", "--out"): "--out elsewhere",
    ("claims", "--seed"): "--seed 3",
    ("claims", "--master"): more("claims claims.yaml --out new", f"--master {NOWHERE}"),
    ("claims", "--allow-code"): more("claims code_claims.yaml --out new --dry-run", "--allow-code"),
    ("claims", "--json"): "--json",
    ("verify", "--repeat"): "--repeat",
    ("verify", "--share"): more("verify study --repeat", "--share 0.3"),
    ("verify", "--allow-code"): more("verify gossip --repeat", "--allow-code"),
    ("replay", "--node"): Case("replay program --node h0 --allow-code", "replay program --node h1 --allow-code"),
    ("replay", "--life"): "--life 2",
    ("replay", "--out"): "--out elsewhere.txt",
    ("replay", "--allow-code"): more("replay program --node h0", "--allow-code"),
    ("shrink", "--out"): more("shrink wrong --trials 4 --allow-code", "--out elsewhere"),
    ("shrink", "--trials"): Case("shrink wrong --trials 60 --allow-code", "shrink wrong --trials 1 --allow-code"),
    ("shrink", "--minutes"): Case("shrink wrong --trials 60 --allow-code", "shrink wrong --minutes 0.001 --allow-code"),
    ("shrink", "--allow-code"): more("shrink wrong --trials 4", "--allow-code"),
    ("shrink", "--quiet"): more("shrink wrong --trials 4 --allow-code", "--quiet"),
    ("swarm", "--count"): other(SWARM, "--count 2", "--count 3"),
    ("swarm", "--seed"): other(SWARM, "--seed 1", "--seed 2"),
    ("swarm", "--keep"): "--keep elsewhere",
    ("swarm", "--protocol"): "--protocol tcp_flooding",
    ("swarm", "--command"): "--command nothing",
    ("swarm", "--station-command"): "--station-command nothing",
    ("swarm", "--promises"): "--promises fifo",
    ("swarm", "--backbone"): "--backbone vcube_reliable",
    ("swarm", "--mac"): "--mac acking",
    ("swarm", "--radio"): "--radio sinr",
    ("swarm", "--allow-code"): more("swarm --count 1 --protocol gossip.py:Gossip", "--allow-code"),
    ("exhaust", "--list"): more("exhaust three_stations --minutes 0.01", "--list"),
    ("reference", "--search"): more("reference", "--search loss"),
    ("reference", "--out"): more("reference", "--out elsewhere.md"),
    ("schema", "--out"): "--out elsewhere",
    ("inspect-tracks", "--stations"): more(f"inspect-tracks {LONLAT}", f"--stations {SITES}"),
    ("inspect-tracks", "--crop"): more(f"{INSPECT} --stations sites.csv", "--crop elsewhere.csv"),
    ("inspect-tracks", "--range-m"): other(f"{INSPECT} --stations sites.csv", "120", "30"),
    ("inspect-tracks", "--radio-of"): more(f"inspect-tracks {WALK} --stations sites.csv", "--radio-of town.yaml"),
    ("inspect-tracks", "--format"): "--format gpx",
    ("inspect-tracks", "--coordinates"): "--coordinates lonlat",
    ("inspect-tracks", "--id"): "--id bus",
    ("inspect-tracks", "--duplicates"): more("inspect-tracks twice.csv", "--duplicates keep-last"),
    ("inspect-tracks", "--origin"): more(f"inspect-tracks {LONLAT}", "--origin 52.5,13.4"),
    ("inspect-tracks", "--offset"): "--offset 100,200",
    ("inspect-tracks", "--out"): "--out elsewhere.svg",
    ("inspect-tracks", "--scenario"): more(f"{INSPECT} --stations sites.csv", "--scenario elsewhere.yaml"),
    ("export", "--csv"): Case("export run --geojson --out new.geojson", "export run --csv --out new"),
    ("export", "--geojson"): Case("export run --csv --out new", "export run --geojson --out new.geojson"),
    ("export", "--kepler"): Case("export run --csv --out new", "export run --kepler --out new"),
    ("export", "--shiviz"): Case("export run --csv --out new", "export run --shiviz --out new"),
    ("export", "--omnetpp"): Case("export run --csv --out new", "export run --omnetpp --out new"),
    ("export", "--pcap"): Case("export run --csv --out new", "export run --pcap --out new"),
    ("export", "--radio-pcap"): Case("export framed --csv --out new", "export framed --radio-pcap --out new.pcap"),
    ("export", "--node"): more("export framed --radio-pcap", "--node h1"),
    ("export", "--out"): "--out elsewhere",
    ("export", "--origin"): more("export run --geojson --out new.geojson", "--origin 52.5,13.4"),
    ("export", "--from-s"): more("export run --shiviz --out new.log", "--from-s 2"),
    ("export", "--to-s"): more("export run --shiviz --out new.log", "--to-s 2"),
    ("export", "--epoch-s"): more("export run --kepler --out new.geojson --origin 52.5,13.4", "--epoch-s 1000000"),
    ("export", "--allow-code"): more("export gossip --shiviz --out new", "--allow-code"),
    ("artefact", "--out"): "--out elsewhere.zip",
    ("artefact", "--title"): "--title Other",
    ("artefact", "--license"): "--license CC-BY-4.0",
    ("artefact", "--date"): "--date 2020-01-01",
    ("artefact", "--allow-code"): "--allow-code",
    ("artefact", "--workers"): "--workers 1",
}  # fmt: skip
SAME = "the number of processes changes nothing that a command prints or writes"
BY_HAND = "needs a browser or a person; tests/lab/live"
IN_REAL_TIME = "runs in real time; tests/lab/programs/realtime and tests/lab/programs/namespaces"
WITHOUT_EFFECT = {
    **dict.fromkeys([(name, "--workers") for name in (*SPARK, "swarm")], SAME),
    **dict.fromkeys(
        [
            ("live", option)
            for option in ("--set", "--seed", "--port", "--speed", "--out", "--no-browser", "--allow-code")
        ],
        BY_HAND,
    ),
    **dict.fromkeys(
        [
            ("serve", option)
            for option in (
                "--seed", "--out", "--set", "--hard-limit-ms", "--shell", "--join", "--exec", "--allow-code", "--force",
                "--quiet",
            )
        ],
        IN_REAL_TIME,
    ),
    **dict.fromkeys([("bench", option) for option in ("--repeat", "--csv", "--studies")], "takes minutes; make bench"),
    **dict.fromkeys([("exhaust", "--minutes"), ("exhaust", "--gib")], "a limit that small cases do not reach"),
    ("claims", "--quick"): "a limit of nine minutes, which small claims do not reach",
    ("run", "--check-simulator"): "a sound run is the same with it; tests/simulation/test_invariants.py",
    ("replay", "--within-s"): "a limit that a program which answers does not reach; tests/lab/programs",
}  # fmt: skip


def options() -> Iterator[tuple[str, str]]:
    for name, command in get_command(app).commands.items():  # type: ignore[attr-defined]
        yield from ((name, one.opts[0]) for one in command.params if one.opts[0].startswith("--"))


def case_of(name: str, option: str) -> Case:
    case = CASES.get((name, option))
    if case is None and option == "--quiet":
        case = "--quiet"
    assert case is not None, f"{name} {option}: neither a case nor a reason; add it to CASES or WITHOUT_EFFECT"
    return case if isinstance(case, Case) else Case(BASES[name], f"{BASES[name]} {case}")


EVERY = [pair for pair in options() if pair not in WITHOUT_EFFECT]


def number_of(name: str, option: str) -> int:
    return crc32(f"{name} {option}".encode())


def parameters() -> Iterator[Any]:
    for name, option in EVERY:
        marks = [pytest.mark.spark] if name in SPARK else []
        if marks or number_of(name, option) % DRAWN:
            marks.append(pytest.mark.long)
        yield pytest.param(name, option, marks=marks, id=f"{name} {option}")


def make_inputs(place: Path) -> None:
    for name in ("first.yaml", "own_protocol/gossip.py", "town.yaml"):
        shutil.copy(SCENARIOS / name, place)
    (place / "town.yaml").write_text((SCENARIOS / "town.yaml").read_text().replace("../data", str(ROOT / "data")))
    (place / "study.yaml").write_text(STUDY)
    (place / "claims.yaml").write_text(CLAIMS)
    (place / "code.yaml").write_text(STUDY.replace("first.yaml", GOSSIP))
    (place / "code_claims.yaml").write_text(CLAIMS.replace("first.yaml", GOSSIP))
    (place / "sites.csv").write_text("id,x_m,y_m\ns0,0,0\ns1,150,0\n")
    (place / "twice.csv").write_text("t,id,x,y\n0,a,1,2\n1,a,2,2\n1,a,3,2\n")
    shutil.copy(ROOT / "data" / "town" / "buildings.geojson", place / "walls.geojson")
    runs = {
        "run": f"run {FIRST} --set duration_s=6",
        "other": f"run {FIRST} --set duration_s=6 --set wireless.loss=0.3",
        "framed": f"run {FIRST} --set duration_s=3 --set record.frames=true",
        "gossip": f"run {GOSSIP} --set duration_s=3 --set record.messages=false --allow-code",
        "wrong": f"run {GOSSIP} --set duration_s=6 --set protocol.promises=causal --allow-code",
        "program": f"run {FLOOD} --set duration_s=3 --allow-code",
        "lonlat": f"run {SCENARIOS / 'town.yaml'} --set duration_s=15",
    }
    for name, words in runs.items():
        done = mobilenet(*words.split(), "--out", name, place=place)
        assert done.returncode == (name == "wrong"), done.stdout + done.stderr
    assert mobilenet("report", "run", place=place).returncode == 0
    make(Study.load(place / "study.yaml"), place / "study")
    compare_study(place / "study")


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("inputs")
    make_inputs(place)
    return place


@pytest.fixture(autouse=True)
def sketches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Instead of painting a figure, write a digest of its size, texts, curves and scales. Painting takes most of the
    time. The digest leaves out the command, which figures name as their origin, and other differences, so an option
    can only seem to have less effect.
    """

    def sketch(figure: Figure, name: Path, **options: Any) -> None:
        texts = [text.get_text() for text in figure.findobj(Text)]
        curves = [line.get_xydata().tolist() for axes in figure.axes for line in axes.lines]
        scales = [(axes.get_xscale(), axes.get_yscale()) for axes in figure.axes]
        content = repr((figure.get_size_inches().tolist(), texts, curves, scales))
        Path(name).write_text(f"<svg><!-- {hashlib.sha256(content.encode()).hexdigest()} --></svg>")

    monkeypatch.setattr(Figure, "savefig", sketch)


@cache  # Many options share the same base.
def call(words: str, inputs: Path, time: int = 1) -> Outcome:
    """Call a command in a fresh copy of the inputs. `time` distinguishes the first call from the second one."""
    place = inputs.parent / "place"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(inputs, place)
    done = mobilenet(*words.split(), place=place)
    assert "Traceback" not in done.stderr and "internal error" not in done.stderr, done.stderr
    files = {str(path.relative_to(place)): digest_of(path) for path in place.rglob("*") if path.is_file()}
    return Outcome(done.returncode, (without_times(done.stdout), without_times(done.stderr)), files)


def digest_of(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def without_times(text: str) -> str:
    """Replace values that depend on the wall clock."""
    return re.sub(r"[0-9.,]+(e-\d+)? (s|MB|times real time|frames|events)\b", "#", text)


def differences(a: Outcome, b: Outcome) -> set[str]:
    names = {name for name in a.files.keys() | b.files.keys() if a.files.get(name) != b.files.get(name)}
    names |= {f"stream {number}" for number in (0, 1) if a.printed[number] != b.printed[number]}
    return names | ({"code"} if a.code != b.code else set())


def test_each_option_has_a_test_case_or_a_documented_exception() -> None:
    every = set(options())
    assert not (CASES.keys() | WITHOUT_EFFECT.keys()) - every, "options that no longer exist"
    assert not CASES.keys() & WITHOUT_EFFECT.keys()
    for pair in EVERY:
        case = case_of(*pair)
        assert case.base != case.words and case.words.split()[0] == case.base.split()[0] == pair[0]


@pytest.mark.parametrize(("name", "option"), list(parameters()))
def test_each_option_changes_the_result_of_its_command(name: str, option: str, inputs: Path, repetitions: int) -> None:
    drawn = (DRAWN_ON_SPARK,) if name in SPARK else (DRAWN, DRAWN_SLOW)
    if repetitions == 1 and all(number_of(name, option) % each for each in drawn):
        pytest.skip("on demand: pytest tests/cli/test_option_effects.py --repetitions 2")
    case = case_of(name, option)
    base = call(case.base, inputs)
    changed = differences(base, call(case.words, inputs))
    if "code" not in changed and not changed & {"stream 0", "stream 1"}:
        changed -= differences(base, call(case.base, inputs, 2))
    assert changed, f"{case.words}: nothing is different without {option}"

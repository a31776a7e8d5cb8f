"""Tests that a reader based on the published grammar finds the recorded numbers in result files for OMNeT++."""

from __future__ import annotations

import json
import math
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest
from ruamel.yaml import YAML

from mobilenet import __version__, api
from mobilenet.lab.export.omnetpp import Place, open_run, write_run
from mobilenet.lab.export.omnetpp_names import camel_case, line, of_receptions
from mobilenet.lab.studies.configurations import plan_runs
from mobilenet.lab.studies.declaration import Study
from mobilenet.lab.studies.store import Store, create
from mobilenet.lab.studies.task import perform_runs
from mobilenet.scenario import Scenario
from tests.cli.command import mobilenet, one_line
from tests.conftest import FIRST, SCENARIOS

from .omnetpp_reader import Malformed, Results, read_index, read_results, tokens

MODULES = {"h": "Net.host[{}]", "s": "Net.accessPoint[{}]", "p": "Net.process[{}]"}
KEYS = ("warmup_s=4", "duration_s=16", "wireless.loss=0.1", "record.frames=true", "record.messages=true")
RUNS = {
    "hosts": (FIRST, (*KEYS, "record.causes=true")),
    "sinr": (FIRST, (*KEYS, "wireless.model=sinr")),
    "tcp": (FIRST, ("protocol={name: tcp_flooding}", "duration_s=10", "wireless.loss=0.1", "record.frames=true")),
    "crashes": (SCENARIOS / "faults.yaml", ("duration_s=40",)),
    "vcube": (SCENARIOS / "vcube" / "causal.yaml", ("processes=16",)),
    "detector": (SCENARIOS / "vcube" / "reliable.yaml", ()),
}


def module(node: str) -> str:
    return MODULES[node[0]].format(node[1:])


def table(run: Path, name: str) -> pd.DataFrame:
    return pq.read_table(run / f"{name}.parquet").to_pandas()


def document(run: Path, name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((run / f"{name}.json").read_text())
    return content


@pytest.fixture(scope="module", params=RUNS)
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp(request.param)
    scenario, changes = RUNS[request.param]
    api.run(scenario, overrides=changes, out=place / "run")
    done = mobilenet("export", "run", "--omnetpp", place=place)
    assert done.returncode == 0, done
    return place / "run"


@pytest.fixture(scope="module")
def scalars(run: Path) -> Results:
    return read_results(run / "omnetpp" / "General-#0.sca")


@pytest.fixture(scope="module")
def vectors(run: Path) -> Results:
    return read_results(run / "omnetpp" / "General-#0.vec")


def test_exported_scalars_match_metrics_and_counters(run: Path, scalars: Results) -> None:
    scalars.of("scalar")
    metrics = document(run, "metrics")
    assert len(metrics) > 10
    for metric, value in metrics.items():
        item = scalars.with_key("Net", metric)
        assert item.value == value or (value is None and math.isnan(item.value or 0)), metric
        assert item.attributes["title"] and (
            metric[-2:] != "_s" or item.attributes["unit"] in ("s", "1/s", "B/s", "t.u.")
        )
        statistic = re.fullmatch(r".*_(mean|max|p\d\d)(_s)?", metric)
        assert (statistic is None) == (":" not in item.name) and (statistic is None or item.name.endswith(statistic[1]))
    assert scalars.of("scalar")["Net", "deliveryDelay:mean"].value == metrics["delivery_delay_mean_s"]
    counters = [*leaves({k: v for k, v in document(run, "counters").items() if k != "rows" and v})]
    named = {i.attributes["key"]: i.value for i in scalars.items if "[" not in i.module and "key" in i.attributes}
    assert len(counters) > 5 and {key: named[key] for key, _ in counters} == dict(counters)


def leaves(values: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, int]]:
    for key, value in values.items():
        if isinstance(value, dict):
            yield from leaves(value, f"{path}{key}.")
        elif value is not None:
            yield path + key, value


def test_exported_event_counts_cover_the_measurement_period(run: Path, scalars: Results) -> None:
    manifest, events = document(run, "manifest"), table(run, "events")
    begin, end = (
        (0, manifest["simulated_s"]) if "processes" in manifest else (manifest["warmup_s"], manifest["duration_s"])
    )
    inside = events[(events.time_ns >= begin * 1e9) & (events.time_ns < end * 1e9)]
    names = {"broadcast": ".app[0] packetSent:count", "deliver": ".app[0] packetReceived:count"}
    named = {f"{m} {name}": item.value for (m, name), item in scalars.of("scalar").items()}
    for node, kind in {*zip(events.node, events.event, strict=True)}:
        name = module(node) + names.get(kind, f" {camel_case(kind)}:count")
        assert named[name] == ((inside.node == node) & (inside.event == kind)).sum(), name
    sent = sum(value or 0 for name, value in named.items() if name.endswith("app[0] packetSent:count"))
    assert sent == document(run, "metrics")["broadcasts"] > 0


def test_exported_receptions_match_the_frame_table(run: Path, scalars: Results) -> None:
    named = {i.attributes.get("key", i.name): i.value for i in scalars.items if i.module.endswith(".wlan[0].radio")}
    if not (run / "frames.parquet").exists():
        assert not named
        return
    frames = table(run, "frames")
    frames = frames[frames.kind != "mac_ack"]
    for (node, fate), own in frames.groupby(["receiver", "fate"]):
        assert scalars.with_key(f"{module(node)}.wlan[0].radio", fate).value == len(own)
    incorrect = "packetDropIncorrectlyReceived:count"
    each = [item.value for (m, name), item in scalars.of("scalar").items() if name == incorrect and "[" in m]
    is_one = frames.fate.isin(["collision", "random", "bit_errors"])
    whole = scalars.of("scalar")["Net.radioMedium", incorrect].value
    assert sum(value or 0 for value in each) == is_one.sum() == whole and is_one.any()


def test_three_outcomes_count_as_incorrectly_received() -> None:
    outcomes = {"received": 1, "bit_errors": 2, "collision": 4, "random": 8, "half_duplex": 16, "receiver_down": 32}
    counts = {named.name: count for named, count in of_receptions("h3", outcomes)}
    assert counts["packetDropIncorrectlyReceived:count"] == 2 + 4 + 8 and len(counts) == len(outcomes) + 1


def test_exported_vectors_match_samples_and_delays(run: Path, scalars: Results, vectors: Results) -> None:
    samples, named = table(run, "samples"), vectors.of("vector")
    assert len(samples) > 30
    curves = 0
    for (node, quantity), own in samples.groupby(["node", "quantity"], sort=False):
        part = "backbone" if quantity.startswith("wired_") else "radioMedium"
        name = f"Net.{part}" if node == "network" else f"{module(node)}.protocol"
        item = vectors.with_key(name, quantity)
        assert [(int(t * 10**9), v) for t, v in item.rows] == [*zip(own.time_ns, own.value, strict=True)]
        curves += item.attributes["interpolationmode"] == "sample-hold"
    assert curves > 2 and len(named) == samples.groupby(["node", "quantity"]).ngroups + len(scalars.of("statistic"))

    delays = [value for (_, name), item in named.items() if name == "endToEndDelay:vector" for _, value in item.rows]
    assert len(delays) > 40
    assert math.fsum(delays) / len(delays) == pytest.approx(
        document(run, "metrics")["delivery_delay_mean_s"], rel=1e-12
    )
    events = table(run, "events")
    sent = events[events.event == "broadcast"].set_index("message").time_ns
    delivered = events[events.event == "deliver"].assign(delay=lambda of: of.time_ns - of.message.map(sent))
    for (name, _), statistic in scalars.of("statistic").items():
        rows = named[name, "endToEndDelay:vector"].rows
        own = delivered[delivered.node.map(module) + ".app[0]" == name]
        recorded = {*zip(own.time_ns, own.delay / 1e9, strict=True)}
        assert {(int(time * 10**9), value) for time, value in rows} <= recorded
        values = pd.Series([value for _, value in rows])
        expected = {"count": len(values), "mean": values.mean(), "stddev": values.std(), "sum": values.sum()}
        expected |= {"sqrsum": (values**2).sum(), "min": values.min(), "max": values.max()}
        assert statistic.fields == pytest.approx(expected, rel=1e-9, nan_ok=True)


def test_the_vector_index_locates_every_value(run: Path, vectors: Results) -> None:
    check_index(run / "omnetpp" / "General-#0.vec", vectors)


def check_index(path: Path, vectors: Results) -> None:
    file, declared, blocks = read_index(path.with_suffix(".vci"))
    assert file == (path.stat().st_size, path.stat().st_mtime)
    assert (declared.run, declared.attributes, declared.configuration) == (
        vectors.run, vectors.attributes, vectors.configuration,
    )  # fmt: skip
    assert declared.of("vector").keys() == vectors.of("vector").keys()
    covered = dict.fromkeys(vectors.vectors, 0)
    for block in blocks:
        vector = vectors.vectors[block.vector]
        rows = vector.rows[covered[block.vector] :][: block.count]
        places = vector.offsets[covered[block.vector] :][: block.count]
        assert (block.offset, block.offset + block.length) == (places[0][0], places[-1][1])
        assert block.times == (rows[0][0], rows[-1][0])
        values = [value for _, value in rows]
        sums = min(values), max(values), math.fsum(values), math.fsum(value**2 for value in values)
        assert block.statistics == pytest.approx(sums, rel=1e-12)
        covered[block.vector] += block.count
    assert covered == {number: len(vector.rows) for number, vector in vectors.vectors.items()}


def test_a_vector_with_many_rows_is_split_into_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    api.run(FIRST, overrides=["duration_s=10"], out=tmp_path / "run")
    monkeypatch.setattr("mobilenet.lab.export.omnetpp.BLOCK", 3)
    write_run(open_run(tmp_path / "run"), tmp_path, "a")
    _, _, blocks = read_index(tmp_path / "a.vci")
    assert max(block.count for block in blocks) == 3 and len(blocks) > 50
    check_index(tmp_path / "a.vec", read_results(tmp_path / "a.vec"))


def test_omnetpp_results_include_every_value_of_the_scenario(run: Path, scalars: Results, vectors: Results) -> None:
    assert scalars.run == vectors.run and scalars.attributes == vectors.attributes
    assert scalars.configuration == vectors.configuration
    manifest = document(run, "manifest")
    assert scalars.attributes["seed"] == scalars.configuration["seed"] == str(manifest["seed"])
    assert {name: scalars.attributes[name] for name in ("network", "configname", "repetition", "iterationvars")} == {
        "network": "Net", "configname": "General", "repetition": "0", "iterationvars": "",
    }  # fmt: skip
    written = YAML(typ="safe").load(run / "scenario.yaml")
    for key, text in scalars.configuration.items():
        value = written
        for part in key.split("."):
            value = value[int(part) if isinstance(value, list) else part]
        assert (text if isinstance(value, str) else YAML(typ="safe").load(text)) == value, key
    assert {key.split(".")[0] for key in scalars.configuration} == written.keys()


def test_the_same_run_gives_the_same_bytes(run: Path, tmp_path: Path) -> None:
    shutil.copytree(run, tmp_path / "run", ignore=shutil.ignore_patterns("omnetpp"))
    assert mobilenet("export", "run", "--omnetpp", place=tmp_path).returncode == 0
    again = {path.name: path.read_bytes() for path in (tmp_path / "run" / "omnetpp").iterdir()}
    assert again == {path.name: path.read_bytes() for path in (run / "omnetpp").iterdir()} and len(again) == 5


# --- strings from users

HOSTILE = 'a "b" \\ c\n\td\x07 # é \u202e'


@pytest.mark.parametrize("text", [HOSTILE, "", " ", "#", '"', "\\", "a\\", "x y", "=1", "\x7f\x1b[31m", "\u00a0"])
def test_any_text_is_written_as_one_token_in_a_result_file(text: str) -> None:
    written = line("attr", text, "end")
    assert not any(ord(c) < 32 or c == "\x7f" for c in written[:-1]) and tokens(written) == ["attr", text, "end"]


@pytest.mark.parametrize("text", ['a "b', '"a"b', 'attr "a', "attr a\\"])
def test_the_result_file_reader_rejects_malformed_lines(text: str) -> None:
    with pytest.raises(Malformed):
        tokens(text)


def test_result_files_hold_names_and_lists_of_any_length(tmp_path: Path) -> None:
    text = FIRST.read_text().replace("seed: 1\n", f"seed: 1\nname: {json.dumps(HOSTILE)}\n")
    text = text.replace("duration_s: 30", "duration_s: 2")
    points = [[200 * i, 0] for i in range(120)]
    text = text.replace("[[0, 0], [200, 0], [400, 0]]", json.dumps(points))
    scenario = Scenario.from_text(text, folder=tmp_path)
    api.run(scenario, out=tmp_path / "run")
    done = mobilenet("export", "run", "--omnetpp", place=tmp_path)
    assert done.returncode == 0, done
    (file,) = (tmp_path / "run" / "omnetpp").glob("*.sca")
    results = read_results(file)
    assert results.attributes["configname"] == results.configuration["name"] == HOSTILE
    assert results.configuration["stations.layout.points_m.119"] == "[23800, 0]"


# --- studies

LEVELS = {
    "wireless.loss": [0, 0.25],
    "protocol": [{"label": "ours/1", "name": "mobile_causal"}, {"name": "tcp_flooding"}],
}


def study_in(place: Path, factors: Mapping[str, Any], done: Any = lambda run: True, name: str | None = "Loss") -> Store:
    keys = {"name": name, "scenario": str(FIRST), "set": {"duration_s": 4}, "replications": {"min": 2}}
    study = Study.of(keys | {"factors": factors}, place, "study")
    store = create(study, place / "study")
    runs = plan_runs(study, [2] * len(store.configurations))
    made = [run for run in runs if done(run)]
    perform_runs(store.path, study.kind, made)
    store.write_runs(runs, {run.id for run in made})
    return store


def test_a_study_can_be_exported_as_an_omnetpp_experiment(tmp_path: Path) -> None:
    store = study_in(tmp_path, LEVELS)
    done = mobilenet("export", "study", "--omnetpp", place=tmp_path)
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.startswith("study/omnetpp: 24 files. Next: "), done
    folder = store.path / "omnetpp"
    tcp = "tcp_flooding"
    expected = [
        f"Loss-wireless.loss={loss},protocol={protocol}-#{repetition}"
        for loss in ("0", "0.25") for protocol in ("ours-1", tcp) for repetition in range(2)
    ]  # fmt: skip
    files = {path.name for path in folder.iterdir()}
    assert files == {f"{name}.{kind}" for name in expected for kind in ("sca", "vec", "vci")} | {"contents.json"}
    seeds = {}
    runs = {}
    for number, name in enumerate(expected):
        results = read_results(folder / f"{name}.sca")
        loss, protocol = ("0", "0.25")[number // 4], ("ours/1", "tcp_flooding")[number // 2 % 2]
        variables = f"$wireless.loss={loss}, $protocol={protocol}"
        assert results.variables == {"wireless.loss": loss, "protocol": protocol}
        of_run = api.Run(store.path / "runs" / f"c{number // 2:03d}-r{number % 2 + 1:04d}")
        assert results.attributes == {
            "configname": "Loss", "experiment": "Loss", "iterationvars": variables, "measurement": variables,
            "iterationvarsf": name.removeprefix("Loss-").partition("#")[0], "network": "Net",
            "replication": f"#{number % 2}", "repetition": str(number % 2), "runnumber": str(number),
            "seed": str(of_run.manifest["seed"]), "seedset": str(number % 2), "mobilenet": __version__,
        }  # fmt: skip
        assert results.configuration["wireless.loss"] == loss
        assert results.with_key("Net", "delivery_delay_mean_s").value == of_run.metrics["delivery_delay_mean_s"]
        assert read_results(folder / f"{name}.vec").run == read_index(folder / f"{name}.vci")[1].run == results.run
        runs[results.run] = name
        seeds[number % 2] = results.attributes["seed"]
    assert len(runs) == 8 and seeds[0] != seeds[1]


@pytest.mark.parametrize("levels", [["é" * 50 + "a" * 50, "é" * 50 + "b" * 50], ["a/b", "a:b"], ["A", "a"]])
def test_levels_that_are_not_valid_file_names_can_be_exported(levels: list[str], tmp_path: Path) -> None:
    """A level can be too long for a file name, contain a separator, or differ from another level only in case."""
    store = study_in(tmp_path, {"description": levels, "name": [f"{level}2" for level in levels]}, name=None)
    done = mobilenet("export", "study", "--omnetpp", place=tmp_path)
    assert done.returncode == 0, done
    results = [read_results(path) for path in (store.path / "omnetpp").glob("*.sca")]
    assert len(results) == len({one.run for one in results}) == 8
    pairs = {(one.variables["description"], one.variables["name"], one.attributes["repetition"]) for one in results}
    assert pairs == {(a, f"{b}2", repetition) for a in levels for b in levels for repetition in "01"}


def test_export_of_an_unfinished_study_has_its_finished_runs(tmp_path: Path) -> None:
    study_in(tmp_path, {"wireless.loss": [0, 0.25]}, done=lambda run: run.replication == 1)
    done = mobilenet("export", "study", "--omnetpp", "--out", "new", place=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    first, last = done.stdout.splitlines()
    assert first == "study: unfinished: these numbers cover 2 of 4 runs" and last.startswith("new: 6 files. Next: ")
    assert sorted(path.name for path in (tmp_path / "new").glob("*.sca")) == [
        "Loss-wireless.loss=0-#0.sca", "Loss-wireless.loss=0.25-#0.sca",
    ]  # fmt: skip


# --- what cannot be exported


def test_the_omnetpp_export_rejects_what_it_cannot_export(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    export = ("export", "empty", "--omnetpp")
    assert one_line(mobilenet(*export, place=tmp_path), 2) == "empty: neither a run directory nor a study directory"
    api.run(FIRST, overrides=["duration_s=3"], out=tmp_path / "run")
    assert "exists" in one_line(mobilenet("export", "run", "--omnetpp", "-o", "empty", place=tmp_path), 2)
    (tmp_path / "run" / "metrics.json").write_text("{")
    refusal = one_line(mobilenet("export", "run", "--omnetpp", place=tmp_path), 2)
    assert refusal.startswith("run/metrics.json:1: ") and not (tmp_path / "run" / "omnetpp").exists()
    study_in(tmp_path, {"wireless.loss": [0]}, done=lambda run: False)
    refusal = one_line(mobilenet("export", "study", "--omnetpp", place=tmp_path), 2)
    assert refusal.startswith("study/tables/runs.parquet: missing; the study is not finished"), refusal


def test_result_file_names_are_made_from_levels_and_repetition() -> None:
    place = Place("My study", {"a b": "x/y", "c": "1.5"}, 3)
    assert place.file_name == "My-study-a-b=x-y,c=1.5-#3" and Place("").file_name == "General-#0"

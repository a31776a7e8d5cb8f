"""Tests that a resumed study reuses a result from its directory only if the result is complete and passes a check."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import mobilenet
from mobilenet.lab.studies import StudyError
from mobilenet.lab.studies.batch import Standing
from mobilenet.lab.studies.configurations import PlannedRun
from mobilenet.lab.studies.declaration import Study
from mobilenet.lab.studies.parts import planned_targets
from mobilenet.lab.studies.store import create, with_replications_so_far
from mobilenet.lab.studies.study import Result, default_directory
from mobilenet.lab.studies.tables import tables_of_what_is_there, write_tables
from mobilenet.lab.studies.task import perform_runs
from mobilenet.parameters import ScenarioError
from mobilenet.scenario.yaml_reader import parse
from tests.conftest import FIRST, SCENARIOS
from tests.lab.studies.directories import run, study_in, tables_of

pytestmark = pytest.mark.spark

GOSSIP = SCENARIOS / "own_protocol"
EVIL = "from pathlib import Path\nPath('{mark}').write_text('run')\n"


def gossip_study(folder: Path, old: str, new: str, more: str = "") -> Path:
    """Write a study of the gossip protocol, in whose code `old` is replaced by `new`."""
    shutil.copy(GOSSIP / "gossip.yaml", folder)
    code = (GOSSIP / "gossip.py").read_text()
    assert old in code
    (folder / "gossip.py").write_text(code.replace(old, new))
    return study_in(folder, more, "gossip.yaml")


def test_tables_computed_with_and_without_spark_are_identical(finished: Result, tmp_path: Path) -> None:
    shutil.copytree(finished.store.path, tmp_path / "copy")
    store = create(finished.store.study, tmp_path / "copy")
    shutil.rmtree(store.tables)
    write_tables(store, planned_targets(store.path, len(store.configurations)))
    assert tables_of(store.path) == tables_of(finished.store.path)


def test_tables_of_an_unfinished_study_cover_its_finished_runs(finished: Result, tmp_path: Path) -> None:
    path = Path(shutil.copytree(finished.store.path, tmp_path / "half"))
    first, *others = sorted((path / "measured").glob("*.parquet"))
    for part in others:
        part.unlink()
    shutil.rmtree(path / "tables")
    note = tables_of_what_is_there(path)
    there = len(pd.read_parquet(first))
    assert note is not None and f"{there} of 16 runs" in note
    assert len(pd.read_csv(path / "tables" / "runs.csv")) == there


def test_a_scenario_smuggled_into_a_study_is_rejected_unexecuted(tmp_path: Path) -> None:
    file, mark = study_in(tmp_path), tmp_path / "mark"
    planted = tmp_path / "out" / "configurations" / "c000"
    planted.mkdir(parents=True)
    text = FIRST.read_text().replace("{name: mobile_causal}", '{class: "evil.py:Evil"}')
    (planted / "scenario.yaml").write_text(text)
    (planted / "evil.py").write_text(EVIL.format(mark=mark))
    (tmp_path / "out" / "runs" / "c000-r0001").mkdir(parents=True)
    with pytest.raises(StudyError, match="is not a study"):
        run(file, tmp_path / "out")
    begun = tmp_path / "begun"
    create(Study.load(file), begun)
    shutil.rmtree(begun / "configurations")
    shutil.copytree(planted.parent, begun / "configurations")
    (begun / "runs" / "c000-r0001").mkdir()
    with pytest.raises(StudyError, match=r"c000/scenario.yaml: belongs to another study: .*evil.py:Evil"):
        run(file, begun)
    # The study has not used this configuration yet, so the configuration may be replaced.
    (begun / "runs" / "c000-r0001").rmdir()
    assert run(file, begun).done == 2
    assert not mark.exists()


@pytest.mark.parametrize("left", [b"", b"seed: 5\nhosts: {count: [", b"\xff\xfe", b"no keys", None])
def test_a_study_rewrites_a_damaged_configuration(left: bytes | None, tmp_path: Path) -> None:
    """The study writes a configuration again if the file is truncated, empty or not valid YAML. It keeps existing runs
    and checks them separately.
    """
    file, messages = study_in(tmp_path), list[str]()
    store = create(Study.load(file), tmp_path / "out")
    scenario = store.scenario_of(0)
    whole = scenario.read_bytes()
    (store.runs / "c000-r0001").mkdir()
    scenario.write_bytes(whole[: len(whole) // 2] if left is None else left)
    create(Study.load(file), tmp_path / "out", say=messages.append)
    assert scenario.read_bytes() == whole and len(messages) == 1 and (store.runs / "c000-r0001").is_dir()
    assert messages[0].startswith(f"{scenario}: was ") and messages[0].endswith("; written again from the study")
    scenario.write_bytes(whole.replace(b"loss: 0", b"loss: 0.5"))
    assert scenario.read_bytes() != whole
    with pytest.raises(StudyError, match=r"belongs to another study: wireless.loss of the scenario was 0.5, and is"):
        create(Study.load(file), tmp_path / "out")


@pytest.mark.parametrize("left", ["", "seed: 5\n"])
def test_a_study_rewrites_truncated_configurations(left: str, tmp_path: Path) -> None:
    """An older version did not rename finished files, so it could leave an incomplete configuration when it was killed.
    Such files are written again.
    """
    file = study_in(tmp_path, "factors: {wireless.loss: [0, 0.1]}\n")
    store = create(Study.load(file), tmp_path / "out")
    whole = store.scenario_of(1).read_text()
    store.scenario_of(1).write_text(left)
    create(Study.load(file), tmp_path / "out")
    assert store.scenario_of(1).read_text() == whole
    names = sorted(path.name for path in (tmp_path / "out" / "configurations").iterdir())
    assert names == ["c000", "c001", "factors.yaml"]


def test_a_study_ignores_runs_of_another_scenario(finished: Result, study_file: Path, tmp_path: Path) -> None:
    path = Path(shutil.copytree(finished.store.path, tmp_path / "mixed"))
    shutil.rmtree(path / "runs" / "c001-r0002")
    # This run has the same seed as the run that it replaces, but another loss.
    shutil.copytree(path / "runs" / "c000-r0002", path / "runs" / "c001-r0002")
    assert run(study_file, path).failed == []
    assert tables_of(path) == tables_of(finished.store.path)


def test_a_study_resumes_with_a_plug_in_unless_it_was_edited(tmp_path: Path) -> None:
    code = tmp_path / "protocols" / "gossip.py"
    code.parent.mkdir()
    shutil.copy(GOSSIP / "gossip.py", code)
    text = (GOSSIP / "gossip.yaml").read_text().replace("gossip.py:", "protocols/gossip.py:")
    (tmp_path / "scenario.yaml").write_text("\n".join(line for line in text.splitlines() if not line.startswith("#")))
    file = study_in(tmp_path, scenario="scenario.yaml")
    for _ in range(2):
        result = run(file, tmp_path / "out", allow_code=True)
        assert (result.done, result.failed) == (2, [])
    code.write_text(code.read_text() + "\n# edited\n")
    with pytest.raises(StudyError, match=r"gossip.py: belongs to another study"):
        run(file, tmp_path / "out", allow_code=True)


def test_a_study_reports_a_run_that_kills_its_process(tmp_path: Path) -> None:
    begins = "        rumour = Rumour("
    dies = "        import os\n        os.kill(os.getpid(), 9) if self.settings.times == 4 else None\n"
    file = gossip_study(tmp_path, begins, dies + begins, "factors: {protocol.settings.times: [3, 4]}\n")
    result = run(file, tmp_path / "out", allow_code=True)
    assert result.done == 2 and len(result.failed) == 2
    for name, failed in zip(("c001-r0001", "c001-r0002"), result.failed, strict=True):
        assert failed.startswith(f"{name}: the process of this run ended without a message, 2 times")


def test_a_study_reports_that_none_of_its_runs_succeeded(tmp_path: Path) -> None:
    """The study's rule asks for more replications, but the tables are empty, so the precision cannot be computed."""
    rule = "replications: {min: 2, max: 4, until: {metric: delivery_delay_mean_s, relative_half_width: 0.1}}\n"
    file = gossip_study(tmp_path, "self.heard: set[MessageId] = set()", "raise RuntimeError('no')", rule)
    result = run(file, tmp_path / "out", allow_code=True)
    assert result.done == 0 and len(result.failed) == 2 and all("RuntimeError: no" in why for why in result.failed)
    assert list((tmp_path / "out" / "starting").iterdir()) == []


def test_sufficiently_precise_configurations_get_no_more_runs(tmp_path: Path) -> None:
    rule = "{min: 3, max: 9, step: 3, until: {metric: delivery_delay_mean_s, relative_half_width: 0.2}}"
    file = study_in(tmp_path, f"factors: {{wireless.loss: [0, 0.3]}}\nreplications: {rule}\n", duration_s=20)
    standings: list[Standing] = []
    out = tmp_path / "out"
    result = run(file, out, standings.append)
    n = pd.read_csv(out / "tables" / "runs.csv").groupby("configuration").size()
    assert result.failed == [] and n.min() < n.max() <= 9
    whole = tables_of(out)  # The first rounds of a resumed study must not use the results of later rounds.
    run(file, out)
    assert tables_of(out) == whole
    later = [standing for standing in standings if standing.round == n.max() // 3]
    note = f"least precise: loss {[0, 0.3][n.idxmax()]:g}: delivery_delay_mean_s ± "
    assert later and all(standing.note.startswith(note) for standing in later)
    assert max(standing.done for standing in standings) <= n.sum()


def test_studies_can_be_run_from_python(finished: Result, tmp_path: Path) -> None:
    scenario = parse(FIRST.read_bytes(), "first.yaml").plain()
    study_frames = mobilenet.study(
        {"scenario": scenario, "set": {"duration_s": 5}, "replications": {"min": 2}},
        out=tmp_path / "out",
        workers=1,
    )
    assert (
        study_frames.unfinished is None
        and len(study_frames.runs) == 2
        and "delivery_delay_mean_s" in set(study_frames.summary["metric"])
    )
    with pytest.raises(StudyError, match=r"out: no comparison, since the study has no `compare`"):
        _ = study_frames.comparison
    there = mobilenet.StudyFrames(finished.store.path)
    assert len(there.comparison) == 4 and set(there.planned["state"]) == {"done"} and "16 of 16 runs" in repr(there)
    with pytest.raises(StudyError, match="not a study directory"):
        mobilenet.StudyFrames(tmp_path)
    with pytest.raises(ScenarioError, match="study: scenari: unknown key"):
        mobilenet.study({"scenari": "x.yaml"}, out=tmp_path / "other")


def test_a_failed_run_keeps_its_reason_after_a_retry(tmp_path: Path) -> None:
    file = study_in(tmp_path)
    store = create(Study.load(file), tmp_path / "out")
    (store.runs / "c000-r0001").write_text("in the way")
    for _ in range(3):
        perform_runs(store.path, "terminating", [PlannedRun(0, 1, 1)])
    assert "already exists" in json.loads((store.failed / "c000-r0001.json").read_text())["error"]


def test_a_worker_freezes_imported_objects_only_once() -> None:
    code = (
        "import gc\nfrom mobilenet.lab.studies.task import perform\nfound = []\nfor _ in range(2):\n"
        "    list(perform('.', 'terminating', ()))\n    found.append(gc.get_freeze_count())\n"
        "print(found[0] > 1000, found[0] == found[1])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "True True\n", done


def test_a_study_keeps_its_larger_number_of_replications(tmp_path: Path) -> None:
    """A study that was extended by `--replications 3` keeps its replications, although its file asks for fewer."""
    file, out, messages = study_in(tmp_path), tmp_path / "out", list[str]()
    assert with_replications_so_far(Study.load(file), out, messages.append).replications.min == 2
    create(Study.load(file, replications=3), out)
    assert with_replications_so_far(Study.load(file), out, messages.append).replications.min == 3
    sentence = "keeps its 3 replications, although the study file asks for 2; use --replications 2"
    sentence += " to keep only the first 2"
    assert messages == [f"{out}: {sentence}"]
    assert with_replications_so_far(Study.load(file, replications=2), out).replications.min == 2
    # This is a different study.
    assert with_replications_so_far(Study.load(file, ["duration_s=6"]), out).replications.min == 2


def test_a_study_loaded_from_its_directory_resumes_there(tmp_path: Path) -> None:
    out = tmp_path / "out"
    create(Study.load(study_in(tmp_path)), out)
    for named in (out, out / "study.yaml"):
        kept = Study.load(named, replications=4)
        assert default_directory(kept, named) == out
    create(kept, out)
    assert Study.load(out).replications.min == 4

"""Tests that study.yaml gives the same configurations, runs and tables after its directory has been moved.

Source    ours: docs/guide/studies.md
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from mobilenet.lab.studies.configurations import plan_runs
from mobilenet.lab.studies.declaration import Replications, Study
from mobilenet.lab.studies.store import Store, create
from mobilenet.lab.studies.tables import write_tables
from mobilenet.lab.studies.task import perform_runs
from mobilenet.parameters import ScenarioError
from tests.conftest import ROOT, SCENARIOS

SHIPPED = sorted((SCENARIOS / "studies").glob("*.yaml"))
ALIKE = (  # These studies are left out, because they resemble repair_against_tcp, repair_sparse and repair_elsewhere.
    "repair_standing",
    "repair_walking",
    "repair_load",
    "repair_retries",
    "repair_elsewhere_sinr",
)
SHORT = {"warmup_s": 1, "duration_s": 4}
OF_TRACKS = {"warmup_s": 1, "duration_s": 17}  # In the town, hosts are present for 5 s only after the first 15 s.
TWO = Replications(min=2)
EVERY_KIND = f"""
scenario: scenario.yaml
set: {{duration_s: 12}}
factors:
  what:
    - {{protocol: {{command: [python3, flood.py], promises: fifo}}}}
    - {{protocol: {{class: "gossip.py:Gossip", promises: best_effort}}}}
    - {{wireless: {{model: sinr, obstacles: {{file: walls/town.geojson}}}}}}
    - {{hosts: {{mobility: {{model: tracks, file: {ROOT / "data/formats/walk.csv"}}}}}}}
    - {{stations.layout: {{shape: points, points_m: [[0, 0], [150, 0]]}}}}
replications: {{min: 2}}
"""


def make(study: Study, out: Path, replications: int = 2) -> Store:
    """Run a study in the same way as `mobilenet study`, but without Spark."""
    store = create(study, out, allow_code=True)
    targets = [replications] * len(store.configurations)
    runs = plan_runs(study, targets)
    perform_runs(out, study.kind, runs)
    assert not list(store.failed.iterdir()), [path.read_text() for path in store.failed.iterdir()]
    store.write_runs(runs, {run.id for run in runs})
    write_tables(store, targets)
    return store


def files_of(store: Store) -> dict[str, bytes]:
    """Return the contents of configurations and tables, and the fingerprint of each run."""
    files = [*(store.path / "configurations").rglob("*"), *store.tables.glob("*.csv"), store.path / "study.yaml"]
    content_of = {
        str(path.relative_to(store.path)): path.read_bytes()
        for path in files
        if path.is_file() and path.suffix != ".pyc"
    }
    for manifest in store.runs.glob("*/manifest.json"):
        content_of[manifest.parent.name] = json.loads(manifest.read_text())["fingerprint"].encode()
    return content_of


def handed_on(study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, replications: int = 2) -> None:
    before = files_of(make(study, tmp_path / "first" / "study", replications))
    shutil.rmtree(tmp_path / "own", ignore_errors=True)
    moved = Path(shutil.move(tmp_path / "first", tmp_path / "elsewhere")) / "study"
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    after = files_of(make(Study.load(moved / "study.yaml"), tmp_path / "empty" / "again", replications))
    assert {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)} == set()


@pytest.mark.long
@pytest.mark.parametrize("file", [file for file in SHIPPED if file.stem not in ALIKE], ids=lambda path: path.stem)
def test_each_shipped_study_can_be_reproduced_from_its_directory(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = Study.load(file)
    short = {"processes": 8} if "vcube" in study.scenario else OF_TRACKS if "town" in study.scenario else SHORT
    if Path(study.scenario).name in ("static.yaml", "dynamic.yaml") and "hosts.count" not in file.read_text():
        short = {**SHORT, "hosts.count": 12}  # Without this override, the scenario has 70 hosts.
    study = study.model_copy(
        update={
            "replications": TWO,
            "set": {**short, **{key: value for key, value in study.set.items() if key not in short}},
        }
    )
    handed_on(study, tmp_path, monkeypatch, 1)


@pytest.mark.long
def test_a_study_directory_contains_everything_to_reproduce_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "own"
    (own / "walls").mkdir(parents=True)
    shutil.copy(SCENARIOS / "first.yaml", own / "scenario.yaml")
    shutil.copy(SCENARIOS / "programs" / "flood.py", own)
    shutil.copy(SCENARIOS / "own_protocol" / "gossip.py", own)
    square = [[20, 20], [40, 20], [40, 40], [20, 40], [20, 20]]
    walls = {"type": "Polygon", "coordinates": [square], "crs": None}
    (own / "walls" / "town.geojson").write_text(json.dumps(walls))
    (own / "study.yaml").write_text(EVERY_KIND)
    handed_on(Study.load(own / "study.yaml"), tmp_path, monkeypatch)


def test_a_saved_study_with_modified_factors_is_rejected(tmp_path: Path) -> None:
    study = Study.load(SCENARIOS / "studies" / "loss.yaml")
    create(study, tmp_path / "study")
    file = tmp_path / "study" / "study.yaml"
    file.write_text(file.read_text().replace("0.3", "0.4"))
    with pytest.raises(ScenarioError, match=r"study.yaml:.*: factors: the study file in a study.s directory repeats"):
        create(Study.load(file), tmp_path / "again")


def test_a_factor_cannot_be_named_like_a_table_column(tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(
        f"scenario: {SCENARIOS / 'first.yaml'}\nfactors: {{configuration: [{{wireless.loss: 0}}]}}\n"
    )
    with pytest.raises(ScenarioError, match=r"factors.configuration: the tables already have a column with this name"):
        create(Study.load(tmp_path / "study.yaml"), tmp_path / "study")

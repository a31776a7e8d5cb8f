"""Tests of programs that consist of several files and folders. Their runs can be repeated from the run directory, even
after it has been moved.

Source    ours: docs/guide/programs.md
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import mobilenet
from mobilenet.lab.hunt.swarm.shrink import Shrinking
from mobilenet.lab.live.repetition import divergence
from mobilenet.lab.studies.declaration import Study
from mobilenet.parameters import ScenarioError
from mobilenet.scenario import load_scenario
from tests.conftest import SCENARIOS
from tests.lab.studies.test_moved_studies import handed_on

NODE = """#!/usr/bin/env python3
import os, sys
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import maelstrom  # the node's own module, not the adapter
assert open("data/words.txt").read() == "as it was"
exec(maelstrom.code())
"""
SCENARIO = """
processes: 4
network: {{kind: abstract}}
workload: {{sources: 2, messages: 3, instants: {{kind: uniform, latest: 20}}}}
protocol:
  command: [{words}]
  files: [lib, "data/*.txt"]
  settings: {{topology: line}}
  order: none
  delivers: agreement
"""


def write_program(folder: Path, samples: Path, words: str = "python3, maelstrom.py, ./bin/node") -> Path:
    """Write a node to `bin`, its module to `lib` and its data to `data`. The adapter lies next to the scenario."""
    for name in ("bin", "lib/deep", "data"):
        (folder / name).mkdir(parents=True)
    shutil.copy(samples / "maelstrom.py", folder / "maelstrom.py")
    (folder / "bin" / "node").write_text(NODE)
    (folder / "bin" / "node").chmod(0o755)
    node = (samples / "maelstrom_node.py").read_text()
    (folder / "lib" / "maelstrom.py").write_text("from deep.text import TEXT\ndef code(): return TEXT\n")
    (folder / "lib" / "deep" / "text.py").write_text(f"TEXT = {node!r}\n")
    (folder / "data" / "words.txt").write_text("as it was")
    (folder / "data" / "large.bin").write_text("not asked for")
    path = folder / "scenario.yaml"
    path.write_text(SCENARIO.format(words=words))
    return path


@pytest.fixture
def program(samples: Path, tmp_path: Path) -> Path:
    return write_program(tmp_path / "own", samples)


def run_again(done: mobilenet.Run, tmp_path: Path) -> mobilenet.Run:
    """Move a run and repeat it after deleting the folder of its program."""
    shutil.rmtree(tmp_path / "own")
    moved = Path(shutil.move(done.path, tmp_path / "moved"))
    assert divergence(moved, allow_code=True) is None
    again = mobilenet.run(moved / "scenario.yaml", out=tmp_path / "again", allow_code=True)
    assert again.manifest["fingerprint"] == done.manifest["fingerprint"]
    return again


@pytest.mark.parametrize("words", ["python3, maelstrom.py, ./bin/node", "env, python3, ./maelstrom.py, bin/node"])
def test_a_saved_run_can_be_repeated_from_another_directory(words: str, samples: Path, tmp_path: Path) -> None:
    done = mobilenet.run(write_program(tmp_path / "own", samples, words), out=tmp_path / "run", allow_code=True)
    assert done.verdict == "valid" and done.metrics["deliveries"] > 8
    assert not (done.path / "data" / "large.bin").exists()
    run_again(done, tmp_path)


@pytest.mark.parametrize(
    ("files", "complaint"),
    [
        ("[nothing]", "protocol.files.0: 'nothing' does not match any file next to the scenario"),
        ("[lib, ../x]", "protocol.files.1: expected a path, relative to the scenario's folder, of a file or folder"),
        ("[lib, events.parquet]", "protocol.files.1: 'events.parquet' is the name of a file in a run directory"),
        ("['*']", "protocol.files.0: 'events.parquet' is the name of a file in a run directory"),
        ("[/etc]", "protocol.files.0: expected a path, relative to the scenario's folder, of a file or folder"),
    ],
)
def test_missing_program_files_are_reported_in_one_line(
    files: str, complaint: str, program: Path, tmp_path: Path
) -> None:
    (tmp_path / "own" / "events.parquet").write_text("")
    with pytest.raises(ScenarioError) as caught:
        mobilenet.run(program, out=tmp_path / "run", allow_code=True, overrides=[f"protocol.files={files}"])
    assert complaint in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("files", ['[lib, "data/*.txt", "*.json", "*.parq*", "*.txt"]', '[lib, data, "*"]', '["**/*"]'])
def test_file_patterns_never_match_output_of_a_run(files: str, program: Path, tmp_path: Path) -> None:
    (tmp_path / "own" / "words.json").write_text("[]")
    (tmp_path / "own" / "p0.parquets").write_text("")
    (tmp_path / "own" / "p1.stderr.txt").write_text("of another run")
    (tmp_path / "own" / "a[1].txt").write_text("")
    (tmp_path / "own" / "other.txt").symlink_to("a[1].txt")
    done = mobilenet.run(program, out=tmp_path / "run", allow_code=True, overrides=[f"protocol.files={files}"])
    assert done.verdict == "valid"
    # In the run directory, this file would look like the standard error of a program.
    assert not (done.path / "p1.stderr.txt").exists()
    kept = {path.name for path in done.path.iterdir()}
    assert {"words.json", "a[1].txt", "other.txt"} <= kept
    (done.path / "words.txt").write_text("left by someone")
    again, moved = run_again(done, tmp_path), tmp_path / "moved"
    assert {path.name for path in again.path.iterdir()} == kept
    assert (again.path / "scenario.yaml").read_text() == (moved / "scenario.yaml").read_text()


def test_a_study_with_file_patterns_can_be_repeated_elsewhere(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program.write_text(program.read_text().replace("files: [lib,", 'files: [lib, "*.json", "*.yaml",'))
    (tmp_path / "own" / "words.json").write_text("[]")
    study = program.with_name("study.yml")
    study.write_text("scenario: scenario.yaml\nfactors: {processes: [3, 4]}\nreplications: {min: 2}\n")
    (tmp_path / "own" / "own.yaml").write_text("")
    handed_on(Study.load(study), tmp_path, monkeypatch)


@pytest.mark.long
def test_shrinking_supports_programs_with_file_patterns(tmp_path: Path) -> None:
    own = tmp_path / "own"
    (own / "lib").mkdir(parents=True)
    (own / "lib" / "words.txt").write_text("1")
    (own / "a.json").write_text("1")
    shutil.copy(SCENARIOS / "programs" / "flood.py", own / "lib" / "flood.py")
    code = "import runpy\nopen('a.json')\nrunpy.run_path('lib/flood.py', run_name='__main__')\n"
    (own / "node.py").write_text(code)
    (own / "flood.yaml").write_text((SCENARIOS / "programs" / "flood.yaml").read_text())
    overrides = ["protocol.command=[python3, node.py, --bug]", 'protocol.files=[lib, "*.*"]']
    done = mobilenet.run(own / "flood.yaml", out=tmp_path / "run", allow_code=True, overrides=overrides)
    assert done.verdict == "violated"
    shutil.rmtree(own)
    search = Shrinking(tmp_path / "run", allow_code=True, most=3, on_trial=lambda line: None)
    search.run()
    assert search.trials == 3


def test_check_warns_of_a_folder_that_a_pattern_leaves_out(program: Path, tmp_path: Path) -> None:
    scenario = load_scenario(program)
    warnings = [line for line in scenario.with_changes(['protocol.files=[lib, "*"]']).warnings() if "files" in line]
    assert warnings == ["protocol.files.1: * leaves out 3 folders, such as bin; a pattern matches only files"]


def test_too_many_program_files_are_reported_in_one_line(program: Path, tmp_path: Path) -> None:
    for number in range(1001):
        (tmp_path / "own" / "data" / f"{number}.txt").touch()
    with pytest.raises(ScenarioError, match="matches 1002 files, expected at most 1000; name their folder instead"):
        mobilenet.run(program, out=tmp_path / "run", allow_code=True)


def test_a_saved_run_with_missing_files_mentions_protocol_files(program: Path, tmp_path: Path) -> None:
    done = mobilenet.run(program, out=tmp_path / "run", allow_code=True, overrides=["protocol.files=[]"])
    hint = "; if the program loads other files, name them in protocol.files of the original scenario and run it again"
    with pytest.raises(ScenarioError) as caught:
        mobilenet.run(done.path / "scenario.yaml", out=tmp_path / "again", allow_code=True, keep_early_end=False)
    assert hint in str(caught.value)
    (tmp_path / "own" / "lib" / "maelstrom.py").unlink()
    with pytest.raises(ScenarioError) as caught:
        mobilenet.run(program, out=tmp_path / "other", allow_code=True, keep_early_end=False)
    assert hint not in str(caught.value)

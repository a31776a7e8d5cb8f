"""Tests that a replay finds where frames were lost, exactly as the run would have recorded these losses."""

from __future__ import annotations

from pathlib import Path

from mobilenet.viz.map.data import document

import mobilenet
from mobilenet.lab.replay.rerun import write_frames
from tests.tools import invoke

FIRST = Path(__file__).parents[2] / "scenarios" / "first.yaml"


def test_a_replay_recreates_the_frames_that_were_not_recorded(tmp_path: Path) -> None:
    plain = mobilenet.run(FIRST, out=tmp_path / "plain", overrides=["duration_s=12"]).path
    recorded = mobilenet.run(FIRST, out=tmp_path / "recorded", overrides=["duration_s=12", "record.frames=true"]).path
    write_frames(plain, tmp_path)
    assert document(plain)["places"]["losses"] is None
    assert document(plain, frames_in=tmp_path)["places"] == document(recorded)["places"]
    before = sorted(path.name for path in plain.iterdir())
    done = invoke("map", plain, "--losses", "-o", tmp_path / "map.html", "--quiet")
    assert done.exit_code == 0 and (tmp_path / "map.html").stat().st_size > 100_000
    assert sorted(path.name for path in plain.iterdir()) == before

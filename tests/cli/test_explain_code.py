"""Tests that the commands printed for files of a study with a plug-in include `--allow-code`."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest

from tests.conftest import ROOT

from .command import mobilenet

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

CLAIMS = """\
rare: 0.5
experiments:
  aloha: {scenario: aloha.yaml, set: {duration_s: 1}}
claims:
  lost: {relation: within, metric: collision_ratio_addressed, value: {experiment: aloha}, at_most: 0.9}
"""


def aloha(place: Path) -> None:
    for name in ("aloha.py", "aloha.yaml"):
        shutil.copy(ROOT / "tests" / "lab" / "studies" / "capacity" / name, place / name)


def last_line(file: str, place: Path) -> str:
    done = mobilenet("explain", file, place=place)
    assert done.returncode == 0, done
    return done.stdout.splitlines()[-1]


def test_explain_adds_allow_code_for_claims_and_their_studies(tmp_path: Path) -> None:
    aloha(tmp_path)
    (tmp_path / "claims.yaml").write_text(CLAIMS)
    done = mobilenet("claims", "claims.yaml", "--out", "out", "--allow-code", "--workers", "1", place=tmp_path)
    assert done.returncode == 0, done
    for name in ("claims.json", "claims.md", "claims.csv", "claims.parquet"):
        again = last_line(f"out/{name}", tmp_path)
        assert again == "Next: mobilenet claims out/claims.yaml --allow-code --out out-again"
    again = last_line("out/aloha/tables/summary.csv", tmp_path)
    assert again == "Next: mobilenet claims out/claims.yaml --allow-code --out out-again"
    assert last_line("out/aloha/study.yaml", tmp_path) == last_line("out/claims.json", tmp_path) == again
    assert mobilenet(*shlex.split(again)[2:], "--workers", "1", "-q", place=tmp_path).returncode == 0
    assert (tmp_path / "out-again" / "claims.json").read_bytes() == (tmp_path / "out" / "claims.json").read_bytes()


def test_explain_adds_allow_code_for_capacity_and_sensitivity(tmp_path: Path) -> None:
    aloha(tmp_path)
    bare = "aloha.yaml --set duration_s=1 --allow-code --workers 1 --out out"
    asked = "--vary hosts.count --from 2 --to 4 --require 'collision_ratio_addressed <= 0.9' --rare 0.5"
    done = mobilenet("capacity", *shlex.split(f"{bare} {asked}"), place=tmp_path)
    assert done.returncode == 0, done
    for name in ("capacity.json", "capacity.svg", "capacity.md", "capacity.csv"):
        again = last_line(f"out/{name}", tmp_path)
        assert again.startswith("Next: mobilenet capacity out/configurations/c000/scenario.yaml "), again
        assert again.endswith(" --allow-code --out out-again")
    shutil.rmtree(tmp_path / "out")
    keys = "--keys hosts.count=2:5,protocol.settings.probability=0.01:0.05 --trajectories 4 --replications 2"
    words = shlex.split(f"{bare} {keys} --metric collision_ratio_addressed")
    done = mobilenet("sensitivity", *words, place=tmp_path)
    assert done.returncode == 0, done
    again = last_line("out/sensitivity.csv", tmp_path)
    assert again.startswith("Next: mobilenet sensitivity out/configurations/c000/scenario.yaml "), again

"""Tests that an algorithm produces the same run as a class and as a program, in every language that is installed on
this machine.
"""

import shutil
from pathlib import Path

import pytest

from mobilenet.api import run
from tests.lab.programs.languages import COMMANDS, those_here

ROOT = Path(__file__).parents[3]
WORLDS = {
    "first": ("first.yaml", {}),
    "dynamic": (
        "dynamic.yaml",
        {"duration_s": 4, "warmup_s": 0, "drain_s": 3, "hosts.count": 20, "hosts.mobility.speed_mps": 5},
    ),
    "crashes": (
        "first.yaml",
        {
            "duration_s": 20,
            "drain_s": 10,
            "faults": {"schedule": "random", "rate_per_host_per_min": 10, "mean_duration_s": 1},
        },
    ),
}


@pytest.fixture(scope="module")
def of_the_class(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("class")
    shutil.copy(Path(__file__).with_name("flood_class.py"), folder)
    return {world: fingerprint(folder, world, {"class": "flood_class.py:Flood"}) for world in WORLDS}


def fingerprint(folder: Path, world: str, protocol: dict[str, object]) -> str:
    name, changes = WORLDS[world]
    shutil.copy(ROOT / "scenarios" / name, folder / f"{world}.yaml")
    done = run(
        folder / f"{world}.yaml", overrides={**changes, "protocol": protocol}, out=folder / world, allow_code=True
    )
    assert done.verdict == "valid" and done.metrics["deliveries"] > 100
    return str(done.manifest["fingerprint"])


@pytest.mark.long
@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("language", those_here(COMMANDS))
def test_a_program_produces_the_same_events_as_the_class(
    language: str, world: str, of_the_class: dict[str, str], samples: Path, tmp_path: Path
) -> None:
    shutil.copytree(samples, tmp_path, dirs_exist_ok=True)
    protocol = {"command": COMMANDS[language], "promises": "fifo"}
    assert fingerprint(tmp_path, world, protocol) == of_the_class[world]

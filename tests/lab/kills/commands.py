"""The commands that write files, called with small inputs, and the commands that read their results."""

from __future__ import annotations

from typing import NamedTuple

from tests.cli.test_option_effects import CAPACITY, GOSSIP, SENSITIVITY, SPARKLING, WALK

RUN = ("show new", "verify new", "export new --csv --out ../read")
STUDY = ("show new", "compare new", "report new --out ../read.html")
CLAIMS = ("explain new/claims.md",)


class Command(NamedTuple):
    words: str  # arguments of the command, which writes to `new` unless it replaces existing files
    readers: tuple[str, ...] = ()  # commands that read the files that a killed command has left
    is_slow: bool = False  # whether the command starts Spark or takes more than a few seconds


def on_one_worker(words: str) -> str:
    return words.replace(SPARKLING, "--workers 1").replace("--workers 2", "--workers 1")


COMMANDS = {
    "run": Command("run first.yaml --set duration_s=4 --out new", RUN),
    "run --force": Command("run first.yaml --set duration_s=4 --out run --force", ("show run", "verify run")),
    "run --twice": Command("run first.yaml --set duration_s=4 --out new --twice", RUN),
    "map": Command("map run --out new.html", ("explain new.html",)),
    "figures": Command("figures run --out new", ("explain new/delays.svg",)),
    "figures of a study": Command("figures study --out new --format pdf --latex --markdown"),
    "report": Command("report run --out new.html", ("explain new.html",)),
    "report of a study": Command("report study --out new.html", ("explain new.html",)),
    "spacetime": Command("spacetime run --out new.svg", ("explain new.svg",)),
    "why": Command("why run --out new.svg", ("explain new.svg",)),
    "compare": Command("compare study", ("show study", "compare study")),
    "verify --repeat": Command("verify run --repeat"),
    "replay": Command("replay program --node h0 --allow-code --out new.txt"),
    "shrink": Command("shrink wrong --trials 6 --allow-code --out new", RUN),
    "swarm": Command(
        "swarm --count 6 --protocol gossip.py:Gossip --promises causal --allow-code --keep new --workers 1",
        ("show new/swarm-s1", "verify new/swarm-s1"),
    ),
    "examples": Command("examples new"),
    "reference": Command("reference --out new.md"),
    "schema": Command("schema --out new"),
    "inspect-tracks": Command(
        f"inspect-tracks {WALK} --range-m 120 --stations sites.csv --out new.png --scenario new.yaml",
        ("check new.yaml",),
    ),
    "export --csv": Command("export run --csv --out new"),
    "export --csv of a study": Command("export study --csv --out new"),
    "export --geojson": Command("export lonlat --geojson --out new.geojson"),
    "export --kepler": Command("export lonlat --kepler --out new.json"),
    "export --omnetpp": Command("export run --omnetpp --out new"),
    "export --omnetpp of a study": Command("export study --omnetpp --out new"),
    "export --shiviz": Command("export run --shiviz --out new.log"),
    "artefact": Command("artefact study --out new.zip", ("explain new.zip",)),
    "artefact check": Command("artefact check study.zip --workers 1 --out new", is_slow=True),
    "study": Command("study study.yaml --out new --workers 1", STUDY, is_slow=True),
    "capacity": Command(on_one_worker(CAPACITY), STUDY, is_slow=True),
    "sensitivity": Command(on_one_worker(SENSITIVITY), STUDY, is_slow=True),
    "robust": Command("robust study.yaml --radios capture --out new --workers 1", is_slow=True),
    "claims": Command("claims claims.yaml --out new --workers 1", CLAIMS, is_slow=True),
    "study in a study": Command("study study.yaml --out study --replications 3 --workers 1", STUDY, is_slow=True),
}
MORE_INPUTS = ("artefact study --out study.zip",)
__all__ = ["COMMANDS", "GOSSIP", "MORE_INPUTS", "Command"]

"""Play random live sessions, which play, pause, step, intervene, go back and continue as a user could.

    python -m tests.lab.live.sessions --count 200

Model     All actions of a session depend only on its random stream, so a session can be repeated. At the end, the
          session plays to the end of the run, and `mobilenet run` runs its scenario. Both must have the same events,
          samples and verdict.
Source    ours: docs/guide/live.md
"""

from __future__ import annotations

import argparse
import random
import resource
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import mobilenet
from mobilenet.lab.live.commands import STEPS
from mobilenet.lab.live.session import LiveSession
from mobilenet.parameters import ScenarioError

SCENARIOS = {  # scenario -> duration in a session, in seconds
    "first.yaml": 30,
    "dynamic.yaml": 20,
    "faults.yaml": 30,
    "town.yaml": 20,
    "vcube/dynamic_on_vcube.yaml": 15,
    "programs/flood.yaml": 15,
}
KINDS = (
    "crash", "crash", "recover", "join", "leave", "broadcast", "drag", "drag", "loss", "interval", "add", "cut", "cut",
    "mend", "radio_off", "radio_on",
)  # fmt: skip
ROOT = Path(__file__).parents[3] / "scenarios"

# Each text is part of an error about an action that the live page does not offer.
REFUSED = ("can be added", "has no effect", "is down, so it cannot")


def intervention(draw: random.Random, live: LiveSession) -> dict[str, Any]:
    """Draw an intervention, which may be invalid at this moment."""
    host = f"h{draw.randrange(len(live.simulation.hosts))}"
    sites = live.simulation.coverage.stations_m.tolist()
    x, y = draw.choice(sites)
    kind = draw.choice(KINDS)
    to_m = [x + draw.uniform(-80, 80), y + draw.uniform(-80, 80)]
    if kind == "drag":
        return {"what": kind, "host": host, "to_m": to_m}
    if kind == "add":
        return {"what": kind, "to_m": to_m}
    if kind in ("radio_off", "radio_on"):
        return {"what": kind, "station": f"s{draw.randrange(len(sites))}"}
    if kind in ("cut", "mend"):
        stations = range(len(sites))
        pairs = live.simulation.outcome_now().facts["station_links"] or [
            (a, b) for a in stations for b in stations if a < b
        ]
        return {"what": kind, "link": [f"s{end}" for end in draw.choice(pairs)]}
    if kind == "loss":
        return {"what": kind, "loss": draw.choice((0, 0.05, 0.3))}
    if kind == "interval":
        return {"what": kind, "interval_s": draw.choice((1.0, 3.0, 8.0))}
    return {"what": kind, "host": host}


def play(seed: int, scenario: str) -> LiveSession:
    """Take up to three dozen random actions in a session, and then play to the end."""
    draw = random.Random(seed)
    lasts_s = SCENARIOS[scenario]
    live = mobilenet.live(ROOT / scenario, seed, {"duration_s": lasts_s, "warmup_s": 1}, allow_code=True)
    for _ in range(draw.randrange(8, 36)):
        choice = draw.random()
        try:
            if choice < 0.3:
                live.play(live.now_s + draw.choice((0.001, 0.1, 1.0, 4.0)) * draw.random())
            elif choice < 0.55:
                live.step(draw.choice(STEPS[:-1]))
            elif choice < 0.93:
                asked = intervention(draw, live)
                live.do(asked.pop("what"), **asked)
            elif choice < 0.98:
                live.rewind(live.now_s * draw.random())
            else:
                live.switch(draw.randrange(len(live.branches)))
        except ScenarioError as error:
            if any(words in str(error) for words in REFUSED):
                continue  # Programs do not support the action, or the host is already down or already up.
            if "after the active part" not in str(error):
                raise
            live.rewind(live.now_s * draw.random())
    while not live.is_over:
        live.play()
    return live


def repeats(live: LiveSession, folder: Path) -> mobilenet.Run:
    """Run the scenario of a session, and raise AssertionError if this run differs from the session."""
    run = live.save(folder / "run")
    assert run.manifest["fingerprint"] == live.fingerprint
    outcome = live.outcome
    assert outcome is not None
    ours, its = outcome.recording.tables()["samples"], run.samples
    assert list(ours["value"]) == its["value"].tolist()
    assert list(ours["time_ns"]) == its["time_ns"].tolist()
    return run


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--count", type=int, default=200)
    options.add_argument("--first", type=int, default=1)
    options.add_argument("--scenario", choices=sorted(SCENARIOS))
    asked = options.parse_args()
    verdicts: dict[str, int] = {}
    begun_s = time.monotonic()
    for number in range(asked.first, asked.first + asked.count):
        scenario = asked.scenario or list(SCENARIOS)[number % len(SCENARIOS)]
        folder = Path(tempfile.mkdtemp(prefix="sessions-"))
        live = play(number, scenario)
        run = repeats(live, folder)
        verdicts[run.verdict] = verdicts.get(run.verdict, 0) + 1
        if run.verdict == "violated":
            print(f"session {number} of {scenario}: violated; its run is in {folder}")
            for check, verdict in run.verdicts.items():
                if verdict.answer == "violated":
                    print(f"  {check}: {verdict.explanation}")
        else:
            shutil.rmtree(folder)
        if sys.stderr.isatty() or number % 10 == 0:
            memory_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
            print(f"{number}: {verdicts}, {time.monotonic() - begun_s:.0f} s, at most {memory_mb} MB", flush=True)
    print(f"{asked.count} sessions, each repeated to the bit: {verdicts}")


if __name__ == "__main__":
    main()

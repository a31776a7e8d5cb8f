"""Plan the runs of the reproduction of the mobile paper.

Model     each experiment is a study of one preset (scenarios/paper/) on consecutive seeds from FIRST_SEED on, which
          the search for the presets never saw; next to it, if wanted, one of the scenario with the engineering
          defaults. Replications are added until the delay is known to 10 %, or there are `most` of them
Source    Wilhelm, Arantes, Sens (2020), section V; ours: docs/validation/paper.md
"""

from __future__ import annotations

from typing import Any, NamedTuple

from mobilenet.lab.shipped import SCENARIOS
from mobilenet.lab.studies.declaration import Study

PRESETS = SCENARIOS / "paper"
FIRST_SEED = 2000
KNOWN_TO = 0.1  # half of the interval over the mean
LEAST = 20
MOST = 40
STEP = 10
LONG_S = 400.0
LENGTHS_S = (60.0, 100.0, 250.0, LONG_S)  # that a reader might assume


class Experiment(NamedTuple):
    name: str
    preset: str  # file below PRESETS, without its suffix
    words: str
    least: int = LEAST  # replications
    most: int = LEAST  # more than least: until the delay is known to KNOWN_TO
    changes: tuple[tuple[str, Any], ...] = ()

    def study(self) -> Study:
        rule: dict[str, Any] = {"min": self.least}
        if self.most > self.least:
            rule |= {"max": self.most, "step": STEP}
            rule["until"] = {"metric": "delivery_delay_mean_s", "relative_half_width": KNOWN_TO}
        values = {
            "name": f"Wilhelm et al. (2020): {self.words}",
            "scenario": f"{self.preset}.yaml",
            "first_seed": FIRST_SEED,
            "set": dict(self.changes),
            "replications": rule,
        }
        return Study.of(values, PRESETS)


EXPERIMENTS = (
    Experiment("static", "static", "static, 5.6 messages a second", most=MOST),
    Experiment("static_25", "static_25", "static, 25 messages a second", most=MOST),
    Experiment("static_heavy", "static_heavy", "static, 35 messages a second", most=MOST),
    Experiment("dynamic", "dynamic", "walking, 25 messages a second"),
    Experiment("faults", "faults", "walking, with crashes in the cell of s3"),
    Experiment("tcp_static", "tcp_static", "flooding over TCP, 5.6 messages a second", most=MOST),
    Experiment("tcp_heavy", "tcp_heavy", "flooding over TCP, 35 messages a second"),
    Experiment(
        "tcp_long",
        "tcp_static",
        f"flooding over TCP, {LONG_S:g} s",
        least=10,
        most=10,
        changes=(("duration_s", LONG_S),),
    ),
)
WORDS = {experiment.name: experiment.words for experiment in EXPERIMENTS}


ENGINEERING = (  # the same with the settings that all other scenarios have, on the same seeds
    Experiment("static", "../static", "static, 5.6 messages a second", 10, 10, (("duration_s", 100.0),)),
    Experiment(
        "static_25",
        "../static",
        "static, 25 messages a second",
        10,
        10,
        (("duration_s", 100.0), ("workload.interval_s", 2.8)),
    ),
    Experiment("static_heavy", "../static_heavy", "static, 35 messages a second", 10, 10, (("duration_s", 100.0),)),
    Experiment("dynamic", "../dynamic", "walking, 25 messages a second", 10, 10, (("duration_s", 250.0),)),
    Experiment(
        "tcp_static", "../tcp_static", "flooding over TCP, 5.6 messages a second", 10, 10, (("duration_s", 100.0),)
    ),
    Experiment(
        "tcp_heavy",
        "../tcp_static",
        "flooding over TCP, 35 messages a second",
        10,
        10,
        (("duration_s", 100.0), ("workload.interval_s", 2.0)),
    ),
)

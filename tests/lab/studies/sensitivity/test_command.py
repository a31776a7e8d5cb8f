"""Tests of `mobilenet sensitivity` on a real Spark: its output, refused arguments, and whether it finds planted
keys.
"""

from __future__ import annotations

import json
import random
import shlex
from pathlib import Path

import pandas as pd
import pytest

import mobilenet as mobilenet_package
from mobilenet.lab.studies import StudyError
from mobilenet.lab.studies.sensitivity.sensitivity import Question, plan, run
from mobilenet.lab.studies.spark import local_master, spark_session
from mobilenet.lab.studies.table_files import read_rows
from mobilenet.parameters import ScenarioError
from tests.cli.command import FIRST, mobilenet, one_line

KEYS = "workload.interval_s=1:5,wireless.loss=0:0.3,protocol.repair,stations.backbone.delay_ms"
ASKED = (
    "sensitivity", str(FIRST), "--keys", KEYS, "--trajectories", "4", "--replications", "2", "--set", "duration_s=4",
)  # fmt: skip


@pytest.mark.spark
@pytest.mark.timeout(900)
def test_sensitivity_prints_its_ranking_and_leaves_a_study(tmp_path: Path) -> None:
    done = mobilenet(*ASKED, "--workers", "1", place=tmp_path)
    assert done.returncode == 0, done
    lines, out = done.stdout.splitlines(), tmp_path / "studies" / "first-sensitivity"
    assert lines[0].startswith("4 keys, ") and lines[0].endswith("; studies/first-sensitivity")
    every = pd.read_csv(out / "sensitivity.csv")
    table = every[every["metric"] == "delivery_delay_mean_s"].reset_index()
    assert "messages_sent_per_delivery" in set(every["metric"])
    assert sorted(table["key"]) == sorted(part.partition("=")[0] for part in KEYS.split(","))
    assert table["size"].is_monotonic_decreasing and (table["p_adjusted"] <= 1).all()
    assert any(line.startswith(table["range"][0]) for line in lines)
    assert lines[-1] == "Next: mobilenet report studies/first-sensitivity"
    assert mobilenet(*shlex.split(lines[-1].removeprefix("Next: mobilenet ")), place=tmp_path).returncode == 0
    page = (out / "report.html").read_text()
    assert "scaled to the whole range" in page and "Which setting matters most?" in page and "<img alt=" in page
    assert "mobilenet sensitivity first-sensitivity/configurations/c000/scenario.yaml --keys" in page
    compared = mobilenet("compare", out, place=tmp_path).stdout
    assert table["range"][0] in compared and "Average change of mean delay (s)" in compared
    drawn = mobilenet("figures", out, place=tmp_path).stdout
    assert "effects.svg" in drawn and "bootstrap" in (out / "figures" / "effects.svg").read_text()
    again = mobilenet(*ASKED, "--workers", "2", "--json", place=tmp_path)
    assert [row["key"] for row in json.loads(again.stdout)] == table["key"].tolist()
    screening = mobilenet_package.sensitivity(
        FIRST, KEYS, trajectories=4, replications=2, overrides={"duration_s": 4}, out=out, workers=1
    )
    assert screening.order() == table["key"].tolist() and screening.study.path == out
    assert screening.ranking["size"].tolist() == pytest.approx(table["size"].tolist())
    assert screening.plot().axes and screening.sentences() and table["key"][0] in screening._repr_html_()


def test_sensitivity_from_python_rejects_bad_arguments(tmp_path: Path) -> None:
    ask, keys = mobilenet_package.sensitivity, ["wireless.loss=0:0.3", "workload.interval_s"]
    with pytest.raises(ScenarioError, match=r"^keys wireless.loss: overrides gives it a fixed value"):
        ask(FIRST, keys, overrides={"wireless.loss": 0.1}, out=tmp_path)
    with pytest.raises(ScenarioError, match=r"^keys: only wireless.loss; expected at least two keys"):
        ask(FIRST, keys[0], out=tmp_path)
    with pytest.raises(StudyError, match=r"^out: missing"):
        ask({"seed": 1}, keys)
    with pytest.raises(StudyError, match=r"^metrics delay: unknown metric 'delay'"):
        ask(FIRST, keys, "delay", out=tmp_path)
    with pytest.raises(StudyError, match=r"exists and is not a study; choose another directory for out$"):
        ask(FIRST, keys, out=Path(__file__).parent, workers=1)


@pytest.mark.parametrize(
    ("keys", "more", "complaint"),
    [
        ("", (), "--keys: missing; expected keys such as workload.interval_s=1:10,protocol.repair"),
        ("workload.interval_s", (), "--keys: only workload.interval_s; expected at least two keys to rank"),
        (
            "wireless.loss,protocol.repair",
            (),
            "its value is 0, so no range from half to twice this value can be formed; expected wireless.loss",
        ),
        ("wireless.nope,protocol.repair", (), "this scenario has no such key, or the key is not a declared one"),
        ("wireless.mode,protocol.repair", (), "has 5 values; name 2 to 4 of them"),
        ("wireless.loss=0.3:0,protocol.repair", (), "expected a lower end before the colon"),
        ("wireless.loss=0:x,protocol.repair", (), "expected KEY=LOW:HIGH with two numbers, or KEY=A|B"),
        ("hosts.count=3:5,protocol.repair", (), "takes whole numbers; expected at least 4 of them in the range"),
        ("wireless.eifs,protocol.repair=none|foo", (), "unknown value foo; expected one of: none, selective"),
        ("workload.interval_s=-1:5,wireless.eifs", (), "should be at least 0.001, got -1"),
        ("wireless.eifs,wireless.eifs", (), "--keys: wireless.eifs is given twice"),
        ("wireless.eifs,protocol.repair", ("--set", "wireless.eifs=true"), "--set gives it a fixed value"),
        ("wireless.eifs,protocol.repair", ("--metric", "delay"), "--metric delay: unknown metric 'delay'"),
        ("seed=1:9,protocol.repair", (), "--keys seed: runs take their seeds from the seed of the study; expected"),
        ("wireless.los=0:1,protocol.repair", (), "--keys wireless.los: unknown key; did you mean 'loss'?"),
        ("wireless.los,protocol.repair", (), "--keys wireless.los: unknown key; did you mean 'loss'?"),
    ],
)
def test_the_sensitivity_command_rejects_bad_questions(
    keys: str, more: tuple[str, ...], complaint: str, tmp_path: Path
) -> None:
    done = mobilenet("sensitivity", str(FIRST), "--keys", keys, *more, place=tmp_path)
    assert complaint in one_line(done, 2)
    assert not list(tmp_path.iterdir())


@pytest.mark.spark
@pytest.mark.long
@pytest.mark.timeout(900)
def test_most_screenings_find_the_three_effective_keys(repetitions: int, tmp_path: Path) -> None:
    """Three of the settings of a plug-in have an effect. At least 85 % of the screenings must find them."""
    right = 0
    with spark_session(local_master(2)) as spark:
        for repetition in range(repetitions):
            important = random.Random(repetition).sample(range(10), 3)
            seconds = [0.02] * 10
            for key, weight in zip(important, (0.3, 0.25, 0.2), strict=True):
                seconds[key] = weight
            question = Question(
                scenario(seconds), tuple(f"protocol.settings.x{number}=0:1" for number in range(10)),
                trajectories=8, replications=2, seed=repetition,
            )  # fmt: skip
            out = tmp_path / str(repetition)
            planned = plan(question, True)
            run(planned, out, spark, lambda standing: None, allow_code=True)
            largest_keys = [row["key"] for row in read_rows(out, "sensitivity")[:3]]
            right += set(largest_keys) == {f"protocol.settings.x{number}" for number in important}
    assert right >= 0.85 * repetitions


def scenario(seconds: list[float]) -> dict[str, object]:
    planted = Path(__file__).with_name("ten_settings.py")
    return {
        "seed": 1, "duration_s": 4,
        "stations": {"layout": {"shape": "points", "points_m": [[0, 0]]}},
        "hosts": {"count": 2, "mobility": {"model": "static"}},
        "protocol": {"class": f"{planted}:PlantedEffect", "settings": {"seconds": seconds}},
        "workload": {"interval_s": 0.5, "payload_bytes": 10},
        "record": {"positions_interval_s": None},
    }  # fmt: skip

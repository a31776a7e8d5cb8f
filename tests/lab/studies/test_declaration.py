"""Tests of study files: the error for each invalid file, and the table of runs for a valid one."""

from __future__ import annotations

from pathlib import Path

import pytest

from mobilenet.lab.studies import StudyError
from mobilenet.lab.studies.configurations import configurations, plan_runs, seed_of
from mobilenet.lab.studies.declaration import Study
from mobilenet.lab.studies.store import create
from mobilenet.parameters import ScenarioError
from mobilenet.scenario.yaml_reader import parse
from mobilenet.scenario.yaml_writer import to_yaml
from tests.conftest import SCENARIOS

FIRST = Path(__file__).parents[3] / "scenarios" / "first.yaml"
GOOD = f"""scenario: {FIRST}
factors:
  workload.interval_s: [1, 2.5]
  hosts.count: {{from: 4, to: 8, step: 2}}
  load: [{{duration_s: 20, drain_s: 30}}, {{duration_s: 25, drain_s: 40}}]
set: {{wireless.loss: 0.1}}
replications: {{min: 3, max: 9, until: {{metric: delivery_delay_mean_s, relative_half_width: 0.05}}}}
compare: {{factor: workload.interval_s, baseline: 1, metrics: [delivery_delay_mean_s], equivalence_margin: 0.05}}
"""


def study(folder: Path, text: str) -> Study:
    file = folder / "study.yaml"
    file.write_text(text)
    return Study.load(file)


def test_every_combination_of_levels_is_a_configuration(tmp_path: Path) -> None:
    all_configurations = configurations(study(tmp_path, GOOD))
    assert len(all_configurations) == 2 * 3 * 2 and [c.number for c in all_configurations] == list(range(12))
    assert all_configurations[0].levels == {
        "workload.interval_s": 1,
        "hosts.count": 4,
        "load": {"duration_s": 20, "drain_s": 30},
    }
    assert all_configurations[1].overrides == (
        "wireless.loss=0.1",
        "workload.interval_s=1",
        "hosts.count=4",
        "duration_s=25",
        "drain_s=40",
    )


def test_run_seeds_depend_only_on_the_study_and_replication() -> None:
    def with_seed(seed: int, first: int | None = None) -> Study:
        return Study.of({"scenario": "first.yaml", "seed": seed, "first_seed": first}, FIRST.parent)

    seventh = with_seed(7)
    runs = plan_runs(seventh, [4, 4, 4])
    assert [run.seed for run in runs if run.replication == 2] == [seed_of(seventh, 2)] * 3
    assert len({seed_of(with_seed(seed), r) for seed in range(5) for r in range(1, 200)}) == 5 * 199
    assert len({run.id for run in runs}) == 12
    assert [run.id for run in plan_runs(seventh, [1, 3])] == ["c000-r0001", "c001-r0001", "c001-r0002", "c001-r0003"]
    assert [run.seed for run in plan_runs(with_seed(7, 2000), [3, 3])] == [2000, 2000, 2001, 2001, 2002, 2002]


def test_an_exported_study_loads_as_the_same_study(tmp_path: Path) -> None:
    first = study(tmp_path, GOOD)
    again = study(tmp_path, to_yaml(first.model_dump(by_alias=True)))
    assert again.model_dump(exclude={"factors"}) == first.model_dump(exclude={"factors"})
    assert [again.levels(f) for f in again.factors] == [first.levels(f) for f in first.factors]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            "[1, 2.5]",
            "[1, -2.5]",
            (
                "study.yaml:3: factors.workload.interval_s: level -2.5: workload.interval_s: should be at least 0.001,"
                " got -2.5"
            ),
        ),
        ("[1, 2.5]", "[]", "study.yaml:3: factors.workload.interval_s: expected at least 1 entry, got 0"),
        ("[1, 2.5]", "soon", "study.yaml:3: factors.workload.interval_s: expected a list in [ ], got soon"),
        ("workload.interval_s: [", "workload.intervall_s: [", "compare"),
        ("to: 8, step: 2", "to: 8", "study.yaml:4: factors.hosts.count.step: expected either step or count"),
        ("from: 4", "form: 4", "study.yaml:4: factors.hosts.count.from: missing"),
        ("to: 8", "to: 2", "factors.hosts.count.to: should be more than `from` (4), got 2"),
        ("step: 2", "step: 0.5", "factors.hosts.count: level 4.5: hosts.count: expected a whole number, got 4.5"),
        (
            "load: [{duration_s: 20, drain_s: 30}, {duration_s: 25, drain_s: 40}]",
            "load: [1, 2]",
            "factors.load: not a key of a scenario",
        ),
        (
            "{duration_s: 20,",
            "{duration: 20,",
            "factors.load: level {duration: 20, drain_s: 30}: duration: unknown key",
        ),
        (
            "wireless.loss: 0.1",
            "wireless.lost: 0.1",
            ("study.yaml:6: set.wireless.lost: wireless.lost=0.1: wireless.lost: unknown key; did you mean 'loss'?"),
        ),
        ("wireless.loss: 0.1", "hosts.count: 7", "set: hosts.count is also a factor"),
        ("min: 3", "min: 1", "replications.min: should be at least 2, got 1"),
        ("max: 9", "max: 90000", "expected at most 1000000 runs"),
        ("max: 9", "max: 2", "replications.max: should be at least `min` (3), got 2"),
        ("min: 3, max: 9", "min: 3", "replications.until: needs `max`"),
        ("baseline: 1", "baseline: 3", "study.yaml:8: compare: baseline 3 is not a level of workload.interval_s"),
        (
            "compare: {factor: workload.interval_s",
            "compare: {factor: seed",
            "compare: factor 'seed' is not one of the factors",
        ),
        ("set:", "sett:", "study.yaml:6: sett: unknown key; did you mean 'set'?"),
        (str(FIRST), "nowhere.yaml", "study.yaml:1: scenario: file "),
        ("step: 2}", "step: 1e-300}", "factors.hosts.count.step: more than 1000 levels"),
        ("[1, 2.5]", "[1, 2.5, 1]", "factors.workload.interval_s: level 1 is listed twice"),
        (
            "{duration_s: 20,",
            "{hosts.count: 5, duration_s: 20,",
            "factors.load: hosts.count is also set by factors.hosts.count",
        ),
        ("wireless.loss: 0.1", "seed: 4", "study.yaml:6: set.seed: runs take their seeds from the seed of the study"),
    ],
)
def test_errors_in_a_study_file_state_where_they_are(tmp_path: Path, old: str, new: str, expected: str) -> None:
    assert old in GOOD
    with pytest.raises(ScenarioError) as caught:
        configurations(study(tmp_path, GOOD.replace(old, new)))
    assert expected in str(caught.value).splitlines()[0]


def test_the_scenario_of_a_study_can_be_a_dictionary(tmp_path: Path) -> None:
    """A study of such a scenario can be resumed like a study of a file."""
    scenario = parse(FIRST.read_bytes(), "first.yaml").plain()
    assert isinstance(scenario, dict)
    levels = {"wireless.loss": [0, 0.1]}
    study = Study.of({"scenario": scenario, "factors": levels}, tmp_path)
    store = create(study, tmp_path / "out")
    of_a_file = create(Study.of({"scenario": FIRST.name, "factors": levels}, FIRST.parent), tmp_path / "file")
    for number in (0, 1):
        assert store.scenario_of(number).read_text() == of_a_file.scenario_of(number).read_text()
    (store.runs / "c000-r0001").mkdir()
    create(study, tmp_path / "out")
    assert len(configurations(Study.load(tmp_path / "out" / "study.yaml"))) == 2
    with pytest.raises(StudyError, match="duration_s of the scenario was"):
        create(Study.of({"scenario": scenario | {"duration_s": 7}, "factors": levels}, tmp_path), tmp_path / "out")
    with pytest.raises(ScenarioError, match=r"scenario: hots"):
        configurations(Study.of({"scenario": scenario | {"hots": 7}}, tmp_path))


def test_command_line_values_override_the_study_file(tmp_path: Path) -> None:
    file = tmp_path / "study.yaml"
    file.write_text(GOOD)
    study = Study.load(file, ["record.frames=true", "wireless.loss=0.2"], replications=4, seed=7)
    assert study.set == {"wireless.loss": 0.2, "record.frames": True} and study.seed == 7
    assert (study.replications.min, study.replications.most, study.replications.until) == (4, 4, None)
    for overrides, complaint in (
        (["wireless.loss"], r"--set wireless.loss: expected key=value"),
        (["hosts.count=5"], r"set: hosts.count is also a factor"),
    ):
        with pytest.raises(ScenarioError, match=complaint):
            Study.load(file, overrides)
    with pytest.raises(ScenarioError, match=r"^--replications 1: replications.min: "):
        Study.load(file, replications=1)


def test_overrides_in_a_study_are_validated_together() -> None:
    """The warm-up in the file takes 10 s. A shorter duration is valid only if the warm-up is also shortened."""
    values = {"scenario": str(SCENARIOS / "static.yaml"), "replications": {"min": 2}}
    study = Study.of(values | {"set": {"duration_s": 4, "warmup_s": 0}}, Path())
    assert len(configurations(study)) == 1
    with pytest.raises(ScenarioError, match=r"set\.duration_s"):
        configurations(Study.of(values | {"set": {"duration_s": 4}}, Path()))


def test_errors_refer_to_a_plug_in_level_by_its_label(tmp_path: Path) -> None:
    """The message fits on one line and does not contain the level itself."""
    (tmp_path / "scenarios").mkdir()
    (tmp_path / "scenarios" / "first.yaml").write_text(FIRST.read_text())
    text = "scenario: scenarios/first.yaml\nfactors:\n  protocol:\n    - {name: mobile_causal}\n"
    text += '    - {label: mine, class: "own.py:Own"}\n'
    expected = "yaml:5: factors.protocol: level mine: protocol.class: file 'own.py' not found next to the scenario"
    with pytest.raises(ScenarioError, match=f"{expected}$"):
        configurations(study(tmp_path, text))
    (tmp_path / "own.py").write_text("")
    with pytest.raises(
        ScenarioError, match=f"{expected}; the folder of the study contains this file: copy .*own.py to .*scenarios$"
    ):
        configurations(study(tmp_path, text))
    with pytest.raises(ScenarioError, match=r"level mine: protocol.promise: unknown key; did you mean 'promises'\?"):
        configurations(study(tmp_path, text.replace("class:", "promise: fifo, class:")))


def test_an_error_in_the_code_of_a_level_mentions_the_level(tmp_path: Path) -> None:
    """The error appears only when the code of the level is loaded."""
    (tmp_path / "own.py").write_text("")
    (tmp_path / "first.yaml").write_text(FIRST.read_text())
    text = "scenario: first.yaml\nfactors:\n  protocol:\n    - {name: mobile_causal}\n"
    text += '    - {label: mine, class: "own.py:Nope"}\n'
    with pytest.raises(ScenarioError, match=r"yaml:2: factors: protocol\.class: own\.py has no Nope \(with mine\)$"):
        create(study(tmp_path, text), tmp_path / "out", allow_code=True)

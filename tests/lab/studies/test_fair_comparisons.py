"""Tests that comparisons do not mislead readers: sentences, tables and figures must not favour a configuration that
loses deliveries.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from mobilenet.viz.figures import study_figure
from mobilenet.viz.means_table import head_and_rows
from mobilenet.viz.study_tables import study_tables

from mobilenet.cli.study_results import compare as compare_command
from mobilenet.lab.studies.batch import _relative_half_width
from mobilenet.lab.studies.compare import Finding, findings
from mobilenet.lab.studies.configurations import Configuration
from mobilenet.lab.studies.declaration import Compare, Replications, Study, Until
from mobilenet.lab.studies.effects import study_effects
from mobilenet.lab.studies.level_names import LevelNames
from mobilenet.lab.studies.precedence import Delivered, Share, mean_shares
from mobilenet.lab.studies.robust.verdicts import Claim, claims, shares_of_levels
from mobilenet.lab.studies.robust.words import totals
from mobilenet.lab.studies.sensitivity.sensitivity import Question, plan
from mobilenet.lab.studies.sentences import conclusions, sentence
from mobilenet.lab.studies.statistics import compare_means
from mobilenet.lab.studies.store import Store
from mobilenet.lab.studies.study import compare_study
from mobilenet.lab.studies.table_files import read_rows, write_table
from mobilenet.metrics.registry import OF_HOSTS
from mobilenet.parameters import ScenarioError
from mobilenet.quoting import percentage
from tests.lab.studies.directories import of_runs
from tests.lab.studies.test_moved_studies import make
from tests.lab.studies.test_precedence import (
    COMPARISON,
    DELAY,
    GOSSIP,
    LOSES,
    P95,
    PAIRS,
    known_shares,
    study_without_spark,
    verdicts_on,
)

P50 = "delivery_delay_survival_p50_s"
NAMES = LevelNames({})


@pytest.fixture(scope="module")
def factorial(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Return a study with two factors. One of them is the loss of the radio, which reduces the number of deliveries."""
    values = {
        "scenario": str(GOSSIP), "factors": {"wireless.loss": [0, 0.4], "workload.payload_bytes": [100, 200]},
        "replications": {"min": 3}, "set": {"duration_s": 8, "hosts.count": 8, "protocol.settings.times": 1},
    }  # fmt: skip
    return make(Study.of(values, GOSSIP.parent), tmp_path_factory.mktemp("factorial") / "study", 3)


def test_quiet_prints_each_finding_in_full(lossy: Store, capsys: pytest.CaptureFixture[str]) -> None:
    compare_command(lossy.path, quiet=True)
    first, *lines = capsys.readouterr().out.splitlines()
    assert first.startswith("Delivered of what was owed to members: ours 100 %, gossip ")
    tables = study_tables(lossy.path)
    assert tables.comparison is not None
    for line, finding in zip(lines, tables.comparison["findings"], strict=True):
        words = [sentence(finding, tables.comparison, tables.levels, with_opening=opens) for opens in (True, False)]
        full, short = (f"{finding['metric']}: {one}" for one in words)
        ratio = finding.get("delivery_ratio")
        delivered = "" if ratio in (None, 1) else f"delivered {percentage(ratio)}; "
        assert line in (full, f"{delivered}{short}"), line


def test_comparisons_take_infinite_percentiles_into_account(lossy: Store) -> None:
    rows = [row for row in read_rows(lossy.path, "tables/summary") if row["metric"] == P95]
    assert [(row["n"], row["mean"] is None, row["infinite"]) for row in rows] == [(4, False, 0), (4, True, 4)]
    assert sum(row[P95] == math.inf for row in read_rows(lossy.path, "tables/runs")) == PAIRS
    finding = next(one for one in compare_study(lossy.path) or [] if one.metric == P95)
    assert finding.row()["infinite_runs"] == 4 and finding.row()["baseline_infinite_runs"] == 0
    line = sentence(finding.document(), COMPARISON | {"factor": "protocol"}, NAMES)
    assert "infinite in 4 of 4 runs, and " in line and "(infinite in 0 of 4 runs)" in line and "not judged" in line
    assert head_and_rows(study_tables(lossy.path), [P95])[1][1][-1] == "∞ (in 4 of 4 runs)"
    figure = study_figure(lossy.path, (P95,))
    assert [text.get_text() for text in figure.axes[0].texts] == ["∞"]


def of_values(metric: str, own: list[float], base: list[float]) -> Finding:
    values = {(number, metric): dict(enumerate(each, 1)) for number, each in enumerate((base, own))}
    configurations = [Configuration(n, {"p": p}, ()) for n, p in enumerate("ab")]
    return findings(
        Compare(factor="p", baseline="a", metrics=(metric,)),
        configurations,
        of_runs(values),
        set(),
        0.95,
        Delivered({}, Path()),
    )[0]


def test_a_ratio_requires_all_runs_to_be_finite() -> None:
    finding = of_values(P50, [0.1, 0.2, math.inf, 0.1], [1.9, 2.0, 2.1, 2.0])
    assert finding.verdict == "infinite" and finding.result is None and finding.row()["pairs"] == 4
    line = sentence(finding.document(), COMPARISON, NAMES)
    assert (
        line
        == "b: infinite in 1 of 4 runs, and 2 s (infinite in 0 of 4 runs) for a; not judged, because not every"
        + (" value is finite")
    )


def test_a_stopping_rule_takes_infinite_runs_into_account() -> None:
    until = Until(metric=P50, relative_half_width=0.1)
    runs = [{P50: 1.0, "broadcasts_undelivered": 1.0}, {P50: 1.0}, {"broadcasts_undelivered": 9.0}]
    assert _relative_half_width(runs[:2], until, 0.95) == 0 and _relative_half_width(runs, until, 0.95) is None
    assert Replications(min=2, max=3, until=until).most == 3


def test_identical_values_in_every_pair_are_judged_the_same() -> None:
    finding = of_values("gaps", [0.0, 0.0, 0.0], [0.0, 0.0, 0.0])
    assert (finding.verdict, finding.more) == ("same", None)


def test_every_effect_states_the_change_in_the_delivery_ratio(factorial: Store) -> None:
    effects = study_effects(factorial.path, list(factorial.study.factors), [DELAY], 0.95)
    row = next(one for one in (effect.row() for effect in effects) if one["level_1"] == "0.4" and not one["factor_2"])
    assert row["delivery_ratio_change"] < -0.1 and row["delivery_ratio_change_high"] < 0
    words = conclusions(effects, NAMES, 0.95, OF_HOSTS)[DELAY]
    assert words.startswith(
        f"loss 0.4 changes the delivery ratio by {row['delivery_ratio_change']:.4g} (95 % interval -"
    )
    texts = [text.get_text() for text in study_figure(factorial.path, (DELAY,), kind="effects").axes[0].texts]
    assert texts[0] == "delivery ratio" and any(f"{row['delivery_ratio_change']:+.3g} " in text for text in texts)


def test_compare_prints_the_change_of_the_delivery_ratio(factorial: Store, capsys: pytest.CaptureFixture[str]) -> None:
    compare_command(factorial.path, [DELAY])
    lines = capsys.readouterr().out.splitlines()
    assert "delivery ratio" in lines[1] and next(line for line in lines if line.startswith("loss 0.4 ")).count("-") >= 3
    assert "delivery_ratio_change_low" in (factorial.path / "effects.csv").read_text()


def test_a_screening_reports_signed_changes_in_deliveries(tmp_path: Path) -> None:
    head = ("metric", "key", "range", "size", "low", "high", "mean", "spread", "p_adjusted", "trajectories")
    rows = (
        (DELAY, "wireless.loss", "loss 0 to 0.5", 0.15, 0.126, 0.17, 0.15, 0.03, 0.47, 4),
        ("delivery_ratio", "wireless.loss", "loss 0 to 0.5", 0.2083, 0.0949, 0.3218, -0.2083, 0.1, 0.01, 4),
    )
    write_table(tmp_path, "sensitivity", [dict(zip(head, row, strict=True)) for row in rows])
    words = conclusions(study_effects(tmp_path, ["point"], [DELAY], 0.95), NAMES, 0.95, OF_HOSTS)[DELAY]
    assert words.startswith("loss 0 to 0.5 changes the delivery ratio by -0.2083 (95 % interval -0.3674 to -0.04918)")
    assert "size 0.15" in words and "not the interval of a size" in words


def unsettled_findings() -> Iterator[tuple[str, list[Finding]]]:
    """Yield findings on two radios. They favour the baseline, which also broadcasts more on average, but the difference
    in broadcasts is not significant.
    """
    for radio in ("disk", "fading"):
        own, base = np.array([1.0, 1.1, 1.2, 1.1]), np.array([0.1, 0.12, 0.13, 0.12])
        result = compare_means(own, base)
        finding = Finding({}, 0.3, 0, DELAY, "different", result)
        finding.shares = (Share("broadcast_ratio", 0.62, 0.87, -0.69, 0.19),)
        yield radio, [finding]


def test_more_broadcasts_are_not_reported_as_fewer_deliveries() -> None:
    claim: Claim = claims(dict(unsettled_findings()), 0.95)[0]
    why = "it is not settled whether 0 is behind in the share of broadcasts by more than 1 percentage point"
    assert claim.verdict_in_full(("0.3", "0")) == (
        f"survives; neither is called better under disk, fading, because {why}"
    )
    assert totals([claim]).endswith("in 1 of them, neither level is called better on at least one radio")
    row = claim.rows()[0]
    assert row["broadcast_ratio"] == 0.62 and row["because"] == why.replace("whether 0", "whether the baseline")
    assert shares_of_levels([claim], "loss", NAMES) == ["broadcast of what was offered: 0 87 %, 0.3 62 %"]


def test_levels_with_different_workloads_are_never_ranked(tmp_path: Path) -> None:
    metrics = [P50, DELAY, "collision_loss_ratio", "messages_sent_per_delivery"]
    compare = {"factor": "workload.interval_s", "baseline": 5, "metrics": metrics}
    protocol = {key: value for key, value in LOSES.items() if key != "label"}
    settings = {"protocol": protocol, "wireless.loss": 0.1}
    store = study_without_spark(tmp_path / "study", {"workload.interval_s": [5, 1]}, compare, **settings)
    for finding in compare_study(store.path) or []:
        line = sentence(finding.document(), COMPARISON | {"factor": "interval", "baseline": 5}, NAMES)
        assert not line.endswith(("better", "worse")) and finding.unpaired, line
        if finding.metric in (P50, DELAY):
            assert finding.verdict in ("not paired", "infinite") and "not judged" in line and "more repl" not in line
        if finding.metric == DELAY:
            assert finding.judged is None and finding.result is not None
            assert "because their hosts planned different broadcasts" in line


@pytest.mark.parametrize(
    ("metric", "words"),
    [
        ("delivery_ratio", "worse, although a is behind in the share of broadcasts"),
        ("broadcasts_undelivered", "better"),
        ("collision_loss_ratio", "better"),
    ],
)
def test_delivery_counts_are_judged_directly(metric: str, words: str) -> None:
    known = known_shares({0: [1.0] * 4, 1: [1.0] * 4}, broadcast_ratio={0: [0.5, 0.6, 0.5, 0.6], 1: [1.0] * 4})
    assert list(verdicts_on(metric, known)) == [words]


def test_fewer_missing_deliveries_do_not_outweigh_a_lower_ratio() -> None:
    known = known_shares({0: [1.0] * 4, 1: [0.5, 0.6, 0.5, 0.6]})
    (verdict,) = verdicts_on("broadcasts_undelivered", known)
    assert verdict == "lower, but not called better, because b is behind in the delivery ratio"


def test_the_comparison_table_contains_shares_and_judgement(lossy: Store) -> None:
    row = next(one.row() for one in compare_study(lossy.path) or [] if one.metric == DELAY)
    assert row["verdict"] == "different" and row["baseline_broadcast_ratio"] < 1 and row["valid_ratio"] == 1
    assert row["judgement"] == "lower, but not called better, because the level is behind in the delivery ratio"


def test_a_ratio_that_differs_from_the_means_is_explained() -> None:
    result = compare_means(np.array([1.0, 2.0, 12.0]), np.array([1.0, 1.9, 9.0]))
    line = sentence(Finding({}, "b", "a", DELAY, "inconclusive", result).document(), COMPARISON, NAMES)
    assert line.startswith("b: 5 s, 12 % higher than for a (3.967 s) by the geometric mean of the ratios; 95 %")


def test_average_shares_are_computed_per_run() -> None:
    runs = [{"broadcasts": 1.0, "broadcasts_offered": 1.0}, {"broadcasts": 0.0, "broadcasts_offered": 9.0}]
    assert mean_shares(runs) == (None, 0.5)


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("protocol.settings.times=1:3", "takes whole numbers; expected at least 4 of them in the range, or protocol"),
        (
            "protocol.settings.times=1|2.5",
            "--keys protocol.settings.times=2.5: protocol.settings: times: expected a whole",
        ),
    ],
)
def test_screening_requires_integer_levels_for_integer_settings(key: str, words: str) -> None:
    with pytest.raises(ScenarioError, match=words.replace("|", r"\|")):
        plan(Question(GOSSIP, (f"wireless.loss=0:0.5,{key}",)), allow_code=True)
    made = plan(Question(GOSSIP, ("wireless.loss=0:0.5,protocol.settings.times=1:4",), trajectories=4), allow_code=True)
    assert made.ranges[1].values == (1, 2, 3, 4)

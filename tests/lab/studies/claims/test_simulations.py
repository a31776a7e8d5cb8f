"""Tests of complete claims files over plug-ins whose answers are known: an M/M/1 queue and slotted ALOHA."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest

from mobilenet.lab.studies.claims.declaration import Answer, Claims
from mobilenet.lab.studies.claims.evaluation import Means, answer
from mobilenet.lab.studies.claims.questions import plan
from mobilenet.lab.studies.spark import local_master
from tests.lab.studies.directories import MODELS
from validation.capacity import most_wrong

pytestmark = [pytest.mark.spark, pytest.mark.long, pytest.mark.timeout(3000)]

WORKERS = 2
# The queue serves 10 messages per second, so a message stays for 1 / (10 - 1 / interval) seconds on average (Kleinrock,
# Queueing Systems 1, 3.2). A frame of slotted ALOHA is lost if one of the n - 1 other hosts sends in the same slot,
# each with a probability of 5 % (Abramson 1977). `expect` contains the correct answer, which is at least 1.3 margins
# away from each bound.
TEXT = """\
rare: 0.5  # both laws have no rare outcomes
experiments:
  queue: {scenario: queue.yaml, factors: {workload.interval_s: [0.15, 0.2, 0.3]}}
  aloha: {scenario: aloha.yaml, factors: {hosts.count: [5, 10, 20]}}
claims:
  stay: {relation: within, metric: delivery_delay_mean_s, value: {experiment: queue, at: {workload.interval_s: 0.2}},
         at_most: 0.23, margin: 0.02}                                     # 0.2
  stay_less: {relation: within, metric: delivery_delay_mean_s, expect: does not hold,
         value: {experiment: queue, at: {workload.interval_s: 0.2}}, at_most: 0.17, margin: 0.02}
  stay_near: {relation: near, metric: delivery_delay_mean_s, number: 0.15, percent: 20, margin: 0.02,
         value: {experiment: queue, at: {workload.interval_s: 0.3}}}      # 0.15
  load: {relation: ratio, metric: delivery_delay_mean_s, at_least: 1.6, margin: 0.2,
         value: {experiment: queue, at: {workload.interval_s: 0.15}},     # 2
         to: {experiment: queue, at: {workload.interval_s: 0.3}}}
  load_more: {relation: ratio, metric: delivery_delay_mean_s, at_least: 2.5, margin: 0.3, expect: does not hold,
         value: {experiment: queue, at: {workload.interval_s: 0.15}},
         to: {experiment: queue, at: {workload.interval_s: 0.3}}}
  shorter: {relation: falls, metric: delivery_delay_mean_s, value: {experiment: queue}, along: workload.interval_s}
  lost: {relation: within, metric: collision_ratio_addressed, value: {experiment: aloha, at: {hosts.count: 10}},
         at_most: 0.4, margin: 0.02}                                      # 0.370
  lost_less: {relation: within, metric: collision_ratio_addressed, at_most: 0.34, margin: 0.02, expect: does not hold,
         value: {experiment: aloha, at: {hosts.count: 10}}}
  more: {relation: grows, metric: collision_ratio_addressed, value: {experiment: aloha}, along: hosts.count}
  fewer: {relation: falls, metric: collision_ratio_addressed, value: {experiment: aloha}, along: hosts.count,
         expect: does not hold}
  apart: {relation: difference, metric: collision_ratio_addressed, at_most: 0.2, margin: 0.02, expect: does not hold,
         value: {experiment: aloha, at: {hosts.count: 20}}, to: {experiment: aloha, at: {hosts.count: 10}}}  # 0.253
  twice: {relation: below, metric: collision_ratio_addressed, value: {experiment: aloha, at: {hosts.count: 5}},
         than: {experiment: aloha, at: {hosts.count: 10}}}                # 0.185 and 0.370
"""


def test_claims_about_known_models_are_answered_correctly(repetitions: int, tmp_path: Path) -> None:
    for name in ("queue.py", "queue.yaml", "aloha.py", "aloha.yaml"):
        shutil.copy(MODELS / name, tmp_path)
    (tmp_path / "claims.yaml").write_text(TEXT)
    wrong = runs = 0
    counts = Counter[Answer]()
    for seed in range(1, repetitions + 1):
        planned = plan(Claims.load(tmp_path / "claims.yaml", seed), allow_code=True)
        means = Means(tmp_path / str(seed), WORKERS, allow_code=True)
        outcome = answer(planned, means, local_master(WORKERS))
        assert not outcome.failed
        counts += outcome.counts
        wrong += bool(outcome.unexpected)
        runs += outcome.runs
    print(
        f"{wrong} of {repetitions} files with a wrong answer, {dict(counts)}, {runs / repetitions:.0f} runs on average"
    )
    assert wrong <= most_wrong(repetitions)
    assert counts[Answer.UNDECIDED] <= 0.1 * counts.total()

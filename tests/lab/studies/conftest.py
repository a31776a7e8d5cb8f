"""A fixture for tests of several packages: a study that compares gossip, which loses messages, with a protocol that
delivers all messages.
"""

from __future__ import annotations

import pytest

from mobilenet.lab.studies.store import Store
from mobilenet.lab.studies.study import compare_study
from tests.lab.studies.test_precedence import DELAY, LOSES, P95, study_without_spark


@pytest.fixture(scope="session")
def lossy(tmp_path_factory: pytest.TempPathFactory) -> Store:
    metrics = [DELAY, P95, "delivery_delay_p95_s", "radio_bytes", "delivery_ratio", "gaps"]
    compare = {"factor": "protocol", "baseline": "ours", "metrics": [*metrics, "handoff_interruption_mean_s"]}
    levels = [{"label": "ours", "name": "mobile_causal"}, LOSES]
    store = study_without_spark(tmp_path_factory.mktemp("lossy") / "study", {"protocol": levels}, compare)
    compare_study(store.path)
    return store

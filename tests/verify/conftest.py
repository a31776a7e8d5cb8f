"""The runs that a module lists by name in RUNS, worlds as in on_air_worlds.py, recorded once; all are sound."""

from __future__ import annotations

from pathlib import Path

import pytest

from mobilenet.verify import verify_run

from .on_air_worlds import accusations, record


@pytest.fixture(scope="module")
def runs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    place = tmp_path_factory.mktemp("runs")
    for name, scenario in request.module.RUNS.items():
        record(scenario, place / name)
        assert not accusations(verify_run(place / name)), name
    return {name: place / name for name in request.module.RUNS}

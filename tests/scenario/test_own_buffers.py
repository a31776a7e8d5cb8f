"""Tests that the measurements of a plug-in appear everywhere under the names that the plug-in gives them. A missing
measurement is shown as absent, never as 0.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from mobilenet.viz.figures import run_figures
from mobilenet.viz.figures.studies import _buffers_to_show
from mobilenet.viz.map.data import document
from mobilenet.viz.report import run_page

import mobilenet
from mobilenet.lab.studies import StudyError
from mobilenet.lab.studies.declaration import Study
from mobilenet.lab.studies.measure import measure
from mobilenet.lab.studies.study import require_metric
from mobilenet.metrics.registry import OF_HOSTS
from mobilenet.record.reader import read_columns, read_json, read_manifest
from mobilenet.verify import Evidence, verify

from .test_plug_in_classes import FOLDER, refusal

SETTINGS = ("duration_s=6", "warmup_s=2", "hosts.count=6", "workload.interval_s=1")
OWN = """
class Waits:
    BUFFERS = ("waiting",)

    def buffer_sizes(self):
        return (self._waiting,)


class OwnHost(Waits, Host): ...


class OwnStation(Waits, Station):
    BUFFERS = ("waiting", "known")

    def buffer_sizes(self):
        return (self._waiting, 0)


class Own(Gossip):
    host, station = OwnHost, OwnStation
"""


def write_scenario(folder: Path, more: str = "") -> Path:
    (folder / "own.py").write_text((FOLDER / "gossip.py").read_text("utf-8") + OWN + more, "utf-8")
    text = (FOLDER / "gossip.yaml").read_text("utf-8").replace("gossip.py:Gossip", "own.py:Own")
    (folder / "own.yaml").write_text(text, "utf-8")
    return folder / "own.yaml"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> mobilenet.Run:
    folder = tmp_path_factory.mktemp("own")
    return mobilenet.run(write_scenario(folder), out=folder / "run", overrides=SETTINGS, allow_code=True)


def test_buffers_of_a_plug_in_have_metrics_of_the_same_name(run: mobilenet.Run) -> None:
    assert run.verdict == "valid"
    assert run.manifest["buffers"] == {"hosts": ["waiting"], "stations": ["waiting", "known"]}
    own = {name for name in run.metrics if name.startswith(("host_", "station_"))}
    assert own == {
        f"{what}_{kind}" for what in ("host_waiting", "station_waiting", "station_known") for kind in ("mean", "max")
    }
    assert run.metrics["host_waiting_mean"] > 0 and run.metrics["station_known_max"] == 0
    samples = run.samples
    of_hosts = samples[(samples.quantity == "waiting") & samples.node.str.startswith("h")]
    assert run.metrics["host_waiting_max"] <= of_hosts.value.max()
    meaning = OF_HOSTS.meaning
    assert meaning("host_waiting_mean") == "mean number of messages in the buffer waiting of a host (messages)"
    assert meaning("station_waiting_max") == "maximum number of messages in the buffer waiting of a station (messages)"


def test_a_plug_in_that_measures_nothing_has_no_buffers(tmp_path: Path) -> None:
    for change in ("protocol={name: beacon}", "protocol={class: 'gossip.py:Gossip'}"):
        other_run = mobilenet.run(
            FOLDER / "gossip.yaml", out=tmp_path / str(len(change)), overrides=(*SETTINGS, change), allow_code=True
        )
        assert other_run.manifest["buffers"] == []
        assert not [name for name in other_run.metrics if name.startswith(("host_", "station_"))]
        assert "backlog_slope" not in measure(other_run.path, "terminating").metrics


def test_studies_have_plug_in_buffers_over_time(run: mobilenet.Run) -> None:
    measurements = measure(run.path, "terminating")
    assert list(measurements.buffers) == ["station_waiting", "station_known", "host_waiting"]
    assert np.nansum(np.array(measurements.buffers["host_waiting"], dtype=float)) > 0
    assert "backlog_slope" in measurements.metrics and "host_rbuffer_mean" not in measurements.metrics


def test_studies_draw_each_plug_in_buffer_under_its_name() -> None:
    table = pd.DataFrame({"buffer": ["station_sbuffer", "host_rbuffer", "host_sbuffer", "station_a/b", "host_waiting"]})
    assert _buffers_to_show(table)[2:] == [
        ("host_waiting", "host_waiting_buffer", "What hosts keep (waiting)"),
        ("station_a/b", "station_a_b_buffer", "What stations keep (a/b)"),
    ]


def test_a_study_can_use_metrics_of_plug_in_buffers(tmp_path: Path) -> None:
    """The names of a plug-in's measurements are known only after its run, while those of a built-in protocol are known
    before it.
    """
    text = "scenario: {}\nreplications: {{min: 2}}\nfactors: {{seed: [1, 2]}}\n"
    file = tmp_path / "study.yaml"
    file.write_text(text.format(write_scenario(tmp_path)), "utf-8")
    require_metric(Study.load(file), "host_waiting_mean")
    with pytest.raises(StudyError, match="unknown metric 'host_waited'"):
        require_metric(Study.load(file), "host_waited")


@pytest.mark.long
def test_maps_and_figures_show_plug_in_buffers(run: mobilenet.Run, tmp_path: Path) -> None:
    buffers = document(run.path)["buffers"]
    assert buffers["hosts"]["names"] == ["waiting"] and buffers["stations"]["names"] == ["waiting", "known"]
    drawn = {each.path.stem for each in run_figures(run.path, tmp_path)}
    assert {"station_buffers", "host_buffers"} <= drawn
    svg = (tmp_path / "host_buffers.svg").read_text("utf-8")
    assert "waiting" in svg and "RBuffer" not in svg
    page = run_page(run.path)
    assert "mean number of messages in the buffer waiting of a host" in page
    assert "a host holds back (RBuffer)" not in page


def test_undelivered_plug_in_buffers_at_rest_are_a_violation(run: mobilenet.Run) -> None:
    tables = {name: read_columns(run.path, name) for name in ("events", "samples", "positions")}
    counters, manifest = read_json(run.path, "counters.json"), read_manifest(run.path)
    last = max(
        row
        for row, pair in enumerate(zip(tables["samples"]["node"], tables["samples"]["quantity"], strict=True))
        if pair == ("h2", "waiting")
    )
    tables["samples"]["value"][last] = 3.0
    verdicts = verify(Evidence.of_columns(tables, counters, manifest))
    assert verdicts["drained"].explanation == "h2 still holds 3 messages in its waiting after quiescence"


def test_the_saved_buffers_allow_the_run_to_be_repeated(run: mobilenet.Run, tmp_path: Path) -> None:
    """The saved scenario names the buffers, so the run can be repeated from it."""
    again = mobilenet.run(run.path / "scenario.yaml", out=tmp_path / "again", allow_code=True)
    assert again.manifest["fingerprint"] == run.manifest["fingerprint"]


def test_a_plug_in_has_to_measure_the_buffers_it_declares(tmp_path: Path) -> None:
    declared = '    buffers = ("waiting",)\n'
    complaint = refusal(write_scenario(tmp_path, declared))
    assert "buffers is ('waiting',), but its host and station name ('known', 'waiting') in BUFFERS" in complaint
    assert "protocol.buffers: the parties of own.py:Own have the buffers" in refusal(
        write_scenario(tmp_path), "protocol.buffers={hosts: [other], stations: []}"
    )

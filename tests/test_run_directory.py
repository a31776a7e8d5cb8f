"""Tests that docs/run-directory.md describes every file, column and counter of a run directory."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from mobilenet import api
from mobilenet.network.radio.frame import SINR_OUTCOMES
from mobilenet.network.wired.link import LINK_CUT
from mobilenet.record.reader import read_json
from mobilenet.record.schema import COLUMNS, DERIVED_FILES, NULLABLE, OPTIONAL_TABLES, REQUIRED_FILES
from mobilenet.simulation.counters import OUT_OF_RANGE
from tests.conftest import ROOT, SCENARIOS

PAGE = (ROOT / "docs" / "run-directory.md").read_text(encoding="utf-8")
SEVERAL = {
    "by_message_type": 2,
    "lost": 1,
    "by_kind": 1,
    "rows": 2,
    "packets_by_messages": 1,
    "packets_by_bytes_from": 1,
}


def rows(heading: str) -> list[list[str]]:
    section = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line[:1] == "|"]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def explained_names(heading: str) -> set[str]:
    """Return the names in the first cells of the rows whose last cell contains a description."""
    return {name for row in rows(heading) if row[-1] for name in re.findall(r"`([\w.]+)`", row[0])}


def test_every_file_of_a_run_directory_is_documented() -> None:
    files = {*REQUIRED_FILES, *DERIVED_FILES, *(f"{table}.parquet" for table in OPTIONAL_TABLES)}
    assert files <= explained_names("Files")


def test_every_recorded_column_is_documented_with_its_type() -> None:
    columns_of: dict[str, dict[str, str]] = {}
    table = ""
    for row in rows("Tables")[2:]:
        table = row[0].strip("`") or table
        names, types = re.findall(r"`(\w+)`( \?)?", row[1]), row[2].split(", ")
        assert row[3], row
        for (name, is_nullable), kind in zip(names, types * len(names) if len(types) == 1 else types, strict=True):
            columns_of.setdefault(table, {})[name] = kind
            assert bool(is_nullable) == (name in NULLABLE and table in ("events", "messages")), (table, name)
    assert {name: columns_of.get(name) for name in COLUMNS} == COLUMNS


def test_every_frame_outcome_is_documented() -> None:
    assert explained_names("Reception outcomes") == {*SINR_OUTCOMES, OUT_OF_RANGE, LINK_CUT}


def counters_in(value: dict[str, Any]) -> set[str]:
    """Return the names of the counters, without the classes, outcomes and events by which some of them are
    subdivided.
    """
    inside = (counters_in(each) for name, each in value.items() if isinstance(each, dict) and name not in SEVERAL)
    return set(value).union(*inside)


@pytest.mark.parametrize(
    ("scenario", "changes"),
    [
        ("first.yaml", {}),
        ("tcp_static.yaml", {"duration_s": 5, "warmup_s": 1}),
        ("vcube/reliable.yaml", {}),
        ("vcube/bundling.yaml", {}),
    ],
)
def test_every_counter_of_a_run_is_documented(scenario: str, changes: dict[str, Any], tmp_path: Path) -> None:
    overrides = [f"{key}={value}" for key, value in changes.items()]
    done = api.run(SCENARIOS / scenario, out=tmp_path / "run", overrides=overrides)
    counters = read_json(done.path, "counters.json")
    assert counters_in(counters) - explained_names("counters.json") == set()


def test_rarely_recorded_counters_are_documented() -> None:
    assert {"mac_given_up", "suspicions", "in_flight", "duplicated", "by_kind"} <= explained_names("counters.json")

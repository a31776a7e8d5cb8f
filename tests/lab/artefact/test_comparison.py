"""Tests of the comparison of results, which may be bitwise identical, numerically equal, or different."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mobilenet.lab.artefact.comparison import Sameness, compare_claims, compare_study

TABLE = "run,fingerprint,delay_s\nc000-r0001,ab,0.125\nc000-r0002,cd,0\n"


def study(folder: Path, table: str = TABLE, parquet: bytes = b"PAR1") -> Path:
    (folder / "tables").mkdir(parents=True)
    (folder / "runs.csv").write_text("run\nc000-r0001\nc000-r0002\n")
    (folder / "tables" / "runs.csv").write_text(table)
    (folder / "tables" / "runs.parquet").write_bytes(parquet)
    return folder


CHANGES = {
    "nothing": (TABLE, Sameness.BITS, Sameness.BITS, "2 runs"),
    "the last digit": (TABLE.replace("0.125", "0.12500000000000003"), Sameness.DIFFERS, Sameness.NUMBERS, ""),
    "close to 0": (TABLE.replace("cd,0", "cd,1e-15"), Sameness.DIFFERS, Sameness.NUMBERS, ""),
    "a digit": (TABLE.replace("0.125", "0.126"), Sameness.DIFFERS, Sameness.DIFFERS, "row 1, delay_s: 0.126 here"),
    "a fingerprint": (TABLE.replace("ab", "ac"), Sameness.DIFFERS, Sameness.DIFFERS, "row 1, fingerprint: ac here"),
    "a column": (TABLE.replace("delay_s", "delay_ms"), Sameness.DIFFERS, Sameness.DIFFERS, "other columns"),
    "a row": (TABLE + "c000-r0003,ef,1\n", Sameness.DIFFERS, Sameness.DIFFERS, "3 rows here, 2 in the archive"),
    "half a row": (TABLE.replace(",cd,0", ""), Sameness.DIFFERS, Sameness.DIFFERS, "row 2 is incomplete"),
    "everything": ("", Sameness.DIFFERS, Sameness.DIFFERS, "other columns"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_reproduced_study_tables_are_compared(name: str, tmp_path: Path) -> None:
    table, promised, otherwise, why = CHANGES[name]
    kept, again = study(tmp_path / "kept"), study(tmp_path / "again", table)
    for is_promised, expected in ((True, promised), (False, otherwise)):
        line = compare_study("studies/a", kept, again, is_promised)
        assert line.sameness is expected and why in line.why, line


def test_parquet_files_are_compared_only_if_bits_must_match(tmp_path: Path) -> None:
    kept, again = study(tmp_path / "kept"), study(tmp_path / "again", parquet=b"PAR2")
    assert compare_study("a", kept, again, False).sameness is Sameness.BITS
    line = compare_study("a", kept, again, True)
    assert line.sameness is Sameness.DIFFERS and line.why == "tables/runs.parquet: the bytes differ"
    (again / "tables" / "runs.csv").unlink()
    assert compare_study("a", kept, again, False).why == "tables/runs.csv: cannot be read"


def row(**changes: Any) -> dict[str, Any]:
    first = {"claim": "fast", "answer": "holds", "value": 0.5, "high": "inf", "command": "mobilenet report a"}
    return first | changes


@pytest.mark.parametrize(
    ("again", "promised", "otherwise", "why"),
    [
        ([row()], Sameness.BITS, Sameness.BITS, "holds"),
        ([row(command="mobilenet report b")], Sameness.DIFFERS, Sameness.DIFFERS, "command: mobilenet report b"),
        ([row(value=0.5 + 1e-15)], Sameness.DIFFERS, Sameness.NUMBERS, ""),
        ([row(value=0.6)], Sameness.DIFFERS, Sameness.DIFFERS, "value: 0.6 here, 0.5 in the archive"),
        ([row(answer="undecided", value=1)], Sameness.DIFFERS, Sameness.DIFFERS, "answer: undecided here, holds in"),
        ([row(high=1.0)], Sameness.DIFFERS, Sameness.DIFFERS, "high: 1.0 here, inf in the archive"),
        ([row(value=10**400)], Sameness.DIFFERS, Sameness.DIFFERS, "value: 1000"),
        ([row(value=None)], Sameness.DIFFERS, Sameness.DIFFERS, "value: None here"),
        ([], Sameness.DIFFERS, Sameness.DIFFERS, "missing in claims.yaml"),
    ],
)
def test_reproduced_claims_are_compared(
    again: list[dict[str, Any]], promised: Sameness, otherwise: Sameness, why: str
) -> None:
    for is_promised, expected in ((True, promised), (False, otherwise)):
        (line,) = compare_claims("claims/c", [row()], again, is_promised)
        assert line.what == "claims/c: fast" and line.sameness is expected and why in line.why, line


def test_a_claim_missing_from_the_archive_is_a_difference(tmp_path: Path) -> None:
    lines = compare_claims("c", [row()], [row(), row(claim="slow")], True)
    assert [line.sameness for line in lines] == [Sameness.BITS, Sameness.DIFFERS]
    assert lines[1].why == "not among the answers of the archive"

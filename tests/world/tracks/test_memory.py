"""Tests that a file of 20 MB takes little more memory than Python with numpy. The script `python -m validation.tracks`
reads 100 MB.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from validation.tracks import peak_mb, write


@pytest.mark.long
def test_a_big_track_file_takes_little_memory(tmp_path: Path) -> None:
    write(tmp_path / "some.xml", 1)
    write(tmp_path / "big.xml", 20)
    hosts, little = peak_mb(tmp_path / "some.xml")
    _, much = peak_mb(tmp_path / "big.xml")
    # `python -m validation.tracks` reads 100 MB with less than 500 MB of memory
    assert hosts == 1000 and much < little + 80

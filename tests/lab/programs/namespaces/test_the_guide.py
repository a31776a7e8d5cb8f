"""Tests that run the commands of the guide to real software in order."""

from __future__ import annotations

from pathlib import Path

from tests.lab.programs.namespaces.own import USUAL, skip_without
from tests.test_docs import REAL_SOFTWARE, Reader

pytestmark = USUAL


def test_commands_in_the_real_software_guide_run(tmp_path: Path) -> None:
    skip_without("curl")
    tmp_path.chmod(0o755)  # The tests may run as root, but the programs do not.
    reader = Reader(tmp_path)
    reader.follow(REAL_SOFTWARE)
    for made in ("map.html", "figures/connections.svg"):
        assert (tmp_path / "runs" / "download" / made).stat().st_size > 10_000
    for capture in ("packets.pcap", "h0.pcap"):
        assert (tmp_path / capture).stat().st_size > 10_000

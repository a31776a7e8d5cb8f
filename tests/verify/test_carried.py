"""A plug-in whose hosts share more than messages is caught, whatever the run records."""

from __future__ import annotations

from pathlib import Path

import pytest

import mobilenet
from tests.conftest import SCENARIOS

FOLDER = SCENARIOS / "own_protocol"
HONEST = "        self.on_receive(self.port.me, rumour)\n"
# the other hosts deliver it a second later, although no frame reaches them
CHEATS = f"""{HONEST}        for other in HOSTS:
            other.later(1.0, lambda host=other: host.on_receive(0, rumour))
"""
GLOBAL = "HOSTS = []\n\n\nclass Host(BaseHost):\n    def __init__(self, *parts):\n        super().__init__(*parts)\n"
GLOBAL += "        HOSTS.append(self)\n\n"


@pytest.mark.parametrize("cheats", [False, True])
@pytest.mark.parametrize("record", ["", "record.frames=true", "record.messages=true"])
def test_a_host_delivers_only_what_has_reached_it(record: str, cheats: bool, tmp_path: Path) -> None:
    source = (FOLDER / "gossip.py").read_text(encoding="utf-8")
    assert HONEST in source
    if cheats:
        source = source.replace(HONEST, CHEATS).replace("class Host(BaseHost):\n", GLOBAL)
    (tmp_path / "gossip.py").write_text(source, encoding="utf-8")
    (tmp_path / "gossip.yaml").write_text((FOLDER / "gossip.yaml").read_text(encoding="utf-8"), encoding="utf-8")
    changes = ["duration_s=6", f"wireless.loss={1.0 if cheats else 0.3}", *([record] if record else [])]
    run = mobilenet.run(tmp_path / "gossip.yaml", out=tmp_path / "run", overrides=changes, allow_code=True)
    verdict = run.verdicts["creation"]
    assert (verdict.answer == "violated") == cheats, verdict
    assert not cheats or "received" in verdict.explanation

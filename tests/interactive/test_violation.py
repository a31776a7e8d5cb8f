"""Time stands at the event that violates a property, and the verifier says the same of the whole run."""

from __future__ import annotations

from pathlib import Path

import mobilenet
from mobilenet.interactive.session import LiveSession

ROOT = Path(__file__).parents[2] / "scenarios"


def flood(program: str) -> LiveSession:
    changes = {"protocol.command": ["python3", program]}
    return mobilenet.live(ROOT / "programs" / "flood.yaml", 1, changes, allow_code=True)


def test_a_planted_bug_stops_time_at_its_event(tmp_path: Path) -> None:
    live = flood("flood_bug.py")
    try:
        live.play()
        found = live.violation
        assert found is not None
        assert found.check == "fifo_order"
        assert "overtook" in found.explanation
        log = live.simulation.recording.events
        assert (len(log), log.time_ns[found.row]) == (found.row + 1, live.now_ns)
        run = live.save(tmp_path / "run")
        assert run.verdict == "violated"
        assert run.verdicts["fifo_order"].explanation == found.explanation
        live.play()  # it was told once
        assert live.is_over
        assert live.fingerprint == run.manifest["fingerprint"]
    finally:
        live.close()


def test_the_sound_program_stops_nobody() -> None:
    live = flood("flood.py")
    try:
        live.play()
        assert live.violation is None
        assert live.is_over
    finally:
        live.close()

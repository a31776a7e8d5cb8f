"""Tests of the figures and the map of real software: a connection stalls during a handoff, and then continues.

Source    ours: docs/guide/real-software.md
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mobilenet.viz.connections import connections_in
from mobilenet.viz.figures import run_figures
from mobilenet.viz.map import draw
from mobilenet.viz.style import Look

from mobilenet.api import Run
from mobilenet.viz import style
from tests.browser import Page, chromium, is_required
from tests.lab.programs.namespaces.own import USUAL, play, scenario, skip_without, until_success
from tests.viz.overlap import legends_on_curves, overlapping

pytestmark = USUAL
CARD = "document.querySelector('.mn-right-side').textContent"


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """Run a download. After half a second without reception, h0 is carried to the other cell."""
    skip_without("curl")
    folder = tmp_path_factory.mktemp("handoff")
    (folder / "page").write_bytes(bytes(700_000))
    yield play(
        scenario(
            folder,
            {
                "h0": f"{until_success('curl -s http://s0/page')} | wc -c",
                "h1": ["true"],
                "s0": ["python3", "-m", "http.server", "80"],
            },
            duration_s=16.0,  # The download takes about 8 s, and must also finish on a busy machine.
            stations={"layout": {"shape": "points", "points_m": [[0, 0], [200, 0]]}, "backbone": {"kind": "tree"}},
            wireless={"unicast_rate_mbps": 1},
            interventions=[
                {"at_s": 3.5, "do": "impair", "host": "h0", "loss": 1},
                {"at_s": 4, "do": "impair", "host": "h0", "delay_s": 0.05},
                {"at_s": 4.1, "do": "drag", "host": "h0", "to_m": [200, 5]},
            ],
        )
    )


def test_the_example_connection_survives_a_handoff_with_a_stall(done: Run) -> None:
    assert done.verdict == "valid", done.verdicts
    (one,) = (each for each in connections_in(done.path) if each.carried > 700_000)
    (near,) = one.near
    assert near.survived and near.before_s is not None and near.after_s is not None
    assert near.handoff.node == "h0" and one.sent_again_share > 0
    assert one.longest_stall_s > 0.4 and any(
        stall.since_ns < 4e9 < stall.since_ns + stall.took_ns for stall in one.stalls
    )
    assert one.longest_stall_s == done.metrics["tcp_stall_max_s"]


def test_figures_of_real_software_have_no_overlaps(done: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def look(figure: Any, target: Path) -> None:
        assert overlapping(figure) == [] and legends_on_curves(figure) == [], target
        seen.append(target.stem)

    monkeypatch.setattr(style, "save", look)
    notes = {figure.path.stem: figure.note for figure in run_figures(done.path, tmp_path / "figures", Look((".svg",)))}
    assert {"connections", "round_trips"} <= set(seen) & notes.keys()
    assert "Handoffs survived: 1 of 1." in notes["connections"] and "a lane is " in notes["connections"]
    assert "both are known for 1. On average over these handoffs: " in notes["round_trips"]


@pytest.mark.browser
@pytest.mark.skipif(chromium() is None and not is_required(), reason="no browser")
def test_the_map_shows_the_stall_of_a_connection(done: Run, tmp_path: Path) -> None:
    draw(done.path, tmp_path / "map.html")
    (one,) = (each for each in connections_in(done.path) if each.carried > 700_000)
    stall = max(one.stalls, key=lambda each: each.took_ns)
    with Page() as page:
        page.open(tmp_path / "map.html")
        page.until("typeof Mobilenet !== 'undefined' && Mobilenet.app !== undefined")
        page.evaluate("Mobilenet.app.select({kind: 'host', id: 0}), 1")
        page.evaluate(f"Mobilenet.app.clock.seek({(stall.since_ns + stall.took_ns / 2) / 1e9}), 1")
        page.until(f"{CARD}.includes('↔ s0:80') && {CARD}.includes('stalled for')")
        page.until(f"{CARD}.includes('survived 1 of 1 handoff') && {CARD}.includes('on average over handoffs')")
        page.evaluate("Mobilenet.app.clock.seek(Mobilenet.app.run.end_s), 1")
        page.until(f"/over(?! handoffs)/.test({CARD})")
        page.evaluate("Mobilenet.app.select({kind: 'station', id: 0}), 1")
        page.until(f"{CARD}.includes('TCP 80 ↔ h0:')")
        assert page.evaluate("document.querySelector('[data-layer=stalls]').checked") is True
        assert page.complaints == []

"""Draw the pictures of `mobilenet why`: the deliveries of a message, interruptions, or the delays of runs.

Errors    RecordError for another file type, or a file that cannot be written
Source    ours: docs/models/causes.md
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mobilenet.lab.replay.rerun import needs_code
from mobilenet.record.kinds import run_kind
from mobilenet.record.provenance import stamping_of
from mobilenet.record.reader import read_manifest
from mobilenet.record.stamp import normal_command
from mobilenet.why.handoffs import Interruption, Interruptions
from mobilenet.why.stories import Stories

from .figures.stretches import MOST_ROWS, Bar, bars_of_run, draw_bars, draw_deliveries, draw_interruptions
from .files import whole_file
from .style import caption, entitle, in_words, page, save


def draw(
    runs: Sequence[Path], stories: Sequence[Stories], target: Path, message: str | None = None, at: str | None = None
) -> None:
    """Write the figure as SVG, PNG or PDF, according to the suffix. Draw the deliveries of `message`, or only its
    delivery at the node `at`. Without `message`, draw all deliveries of the measurement period.
    """
    replays_code = any(needs_code(run, "causes") for run in runs)
    command = normal_command("why", *["RUN"] * len(runs), message=message, at=at, allow_code=replays_code)
    with whole_file(target) as partial, stamping_of(runs, command):
        if message is None:
            _bars(
                [bar for run, own in zip(runs, stories, strict=True) for bar in _bars_of(run, own, len(runs))], partial
            )
        else:
            _waterfall(runs[0], stories[0], partial, message, at)


def draw_handoffs(run: Path, walk: Interruptions, interruptions: Sequence[Interruption], target: Path) -> None:
    """Draw a row for each interruption by a handoff, with the longest one first."""
    size = 8, 1.4 + 0.24 * min(len(interruptions), MOST_ROWS)
    command = normal_command("why", "RUN", handoffs=True, allow_code=needs_code(run, "causes"))
    stamped = stamping_of(run, command)
    with whole_file(target) as partial, stamped, page(*size) as (figure, axes):
        if interruptions:
            note = draw_interruptions(axes, interruptions, walk)
        else:
            note = "No handoff of the measurement period lies between two deliveries at its host."
            in_words(axes, note)
        entitle(figure, "Parts of the interruptions by handoffs")
        if interruptions:
            caption(figure, note)
        save(figure, partial)


def _bars_of(run: Path, stories: Stories, runs: int) -> list[Bar]:
    bars = bars_of_run(stories, *run_kind(manifest := read_manifest(run)).window_ns(manifest))
    name = f"{run.resolve().name}, " if runs > 1 else ""
    return [bar._replace(label=name + bar.label) for bar in bars]


def _bars(bars: Sequence[Bar], target: Path) -> None:
    with page(8, 1.2 + 0.9 * max(1, len(bars))) as (figure, axes):
        if bars:
            draw_bars(axes, bars)
        else:
            in_words(axes, "No message broadcast during the measurement period was delivered.")
        entitle(figure, "Parts of the delay")
        own = " Each bar covers its run's own deliveries." if len(bars) > 1 else ""
        caption(figure, f"From left to right: uplink, backbone, cell and receiver; on the right, the mean delay.{own}")
        save(figure, target)


def _waterfall(run: Path, stories: Stories, target: Path, message: str, at: str | None) -> None:
    rows = sum(one.message == message and at in (None, one.node) for one in stories.record.deliveries)
    with page(8, 1.4 + 0.24 * min(rows, MOST_ROWS)) as (figure, axes):
        note = draw_deliveries(axes, stories, message, at)
        entitle(figure, f"Where {message} spent its time")
        caption(figure, note)
        save(figure, target)

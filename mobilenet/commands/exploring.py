"""Look into a run: the messages of a handoff, what two runs have apart, tables for other tools."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mobilenet.commands.options import AllowCode, Quiet, RunDirectory
from mobilenet.console import Exit, fail, progress, quoted, reporting, say


def spacetime(
    run: RunDirectory,
    around: Annotated[
        str, typer.Option("--around", metavar="WHAT", help="handoff:N, crash:N (from 1), message:h3:5, or seconds of simulated time.")
    ] = "handoff:1",
    host: Annotated[
        str | None, typer.Option("--host", metavar="HOST", help="Whose, as in h12; by default whoever it happened to.")
    ] = None,
    margin_s: Annotated[
        float | None, typer.Option("--margin-s", min=0, metavar="S", help="Seconds before and after; by default a fifth.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="SVG, PNG or PDF; by default RUN/spacetime-....svg.")
    ] = None,
    allow_code: AllowCode = False,
    quiet: Quiet = False,
) -> None:
    """Draw the messages around a handoff as a space-time diagram: lines, arrows, sessions."""
    with reporting():
        import pandas as pd

        from mobilenet.replay import protocol_messages
        from mobilenet.rundir import read_events, read_manifest
        from viz.files import whole_file
        from viz.spacetime import WindowError, draw, window_around

        read_manifest(run)
        events = pd.DataFrame(read_events(run))
        try:
            window = window_around(events, around, host, margin_s)
        except WindowError as error:
            fail(str(error), Exit.BAD_INPUT)
        target = out or run / f"spacetime-{window.host}-{around.replace(':', '-')}.svg"
        with progress(quiet, "replaying") as update:
            messages, replayed = protocol_messages(run, update, allow_code)
        with whole_file(target) as partial:
            arrows = draw(messages, events, window, partial, run.resolve().name)
        if replayed:
            say("The run had not recorded its messages (record.messages), so it was replayed: same fingerprint.")
        say(f"{window.title}: {len(arrows)} messages. Next: open {quoted(target)}")

"""The command that shows a run in a browser, where users can watch, step, change and rewind it.

Source    ours: docs/guide/live.md
"""

from __future__ import annotations

import os
import shlex
import signal
import threading
import webbrowser
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Annotated, Any, Literal

import typer

from mobilenet.cli.console import SIGNALS, Exit, fail, reporting, say
from mobilenet.cli.options import AllowCode, Overrides, ScenarioFile, Seed
from mobilenet.quoting import cut, pluralize, quote


def live(
    scenario: ScenarioFile,
    overrides: Overrides = None,
    seed: Seed = None,
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, metavar="P", help="Local port; 0 selects any free port.")
    ] = 0,
    speed: Annotated[
        str, typer.Option("--speed", metavar="X", help="Initial speed in simulated seconds per second, or max.")
    ] = "1",
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="DIR", help="Directory for the first saved run; by default a new one in runs/."
        ),
    ] = None,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Print the URL without opening a browser.")] = False,
    allow_code: AllowCode = False,
) -> None:
    """Watch a run in a browser and intervene in it."""
    with reporting():
        from mobilenet.lab.live.desk import Desk
        from mobilenet.lab.live.page import page_of
        from mobilenet.lab.live.server import LiveError, Server
        from mobilenet.lab.live.start import live as opened
        from mobilenet.lab.live.stopped_run import require_room
        from mobilenet.scenario.loader import as_options

        if out is not None and os.path.lexists(out):
            fail(f"{out}: already exists; remove it, or name another directory", Exit.BAD_INPUT)
        pace = _speed(speed)
        session = opened(scenario, None, as_options(overrides, seed), allow_code)
        if session.is_real_time and pace != 1:
            fail(f"--speed {speed}: a run in real time always has speed 1", Exit.BAD_INPUT)
        require_room(session, out)
        desk = Desk(session, allow_code, out)
        desk.player.speed = pace
        server = Server(desk, lambda: page_of(desk, server.token), port)
        try:
            server.start()
        except LiveError as error:
            fail(str(error), Exit.BAD_INPUT)
        desk.tell_all = server.tell_all
        say(f"{scenario} is live at\n{server.address}")
        say("Open this URL in a browser on this machine. Press Ctrl-C to end the run.")
        if not no_browser:
            threading.Thread(target=webbrowser.open, args=(server.address,), daemon=True).start()
        _end_by_signals(desk.player.end)
        again = "".join(f" --set {shlex.quote(override)}" for override in overrides or ())
        ending: list[str] = []
        try:
            try:
                desk.player.run()
            finally:
                desk.jobs.close()
                session.close()
            _end(desk, scenario, out, again + ("" if seed is None else f" --seed {seed}"), ending)
        finally:
            server.close("; ".join(ending))


def _speed(text: str) -> float | Literal["max"]:
    if text == "max":
        return "max"
    try:
        speed = float(text)
    except ValueError:
        speed = 0.0
    if not 0.01 <= speed <= 1000:
        fail(f"--speed: got {cut(repr(text), 60)}, expected a number from 0.01 to 1000, or max", Exit.BAD_INPUT)
    return speed


def _end_by_signals(end: Callable[[], None]) -> None:
    """Let the first signal end the run after its current step, so that the record is complete. A second signal ends the
    command at once.
    """
    usual = {number: signal.getsignal(number) for number in SIGNALS}

    def stop(number: int, frame: FrameType | None) -> None:
        for each, handler in usual.items():
            signal.signal(each, handler)
        end()

    for number, handler in usual.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, stop)


def _end(desk: Any, scenario: Path, out: Path | None, again: str, ending: list[str]) -> None:
    """Save the runs with interventions, unless they have been saved already. `again` contains the options of the
    command. The final lines for the pages are appended to `ending`.
    """

    def report(line: str) -> None:
        ending.append(line)
        say(line)

    from mobilenet.lab.live.branch import plain
    from mobilenet.lab.live.stopped_run import keep_branch, keep_unfinished
    from mobilenet.record.writer import RecordError
    from mobilenet.scenario.yaml_writer import inline

    session = desk.session
    report(f"stopped at {session.now_s:.6g} s")
    unsaved = [one for one in session.branches if one.interventions not in desk.jobs.saved]
    left = [one for one in unsaved if session.manual_interventions(one) or session.is_real_time]
    next_scenario = scenario
    for branch in left:
        count = pluralize(len(session.manual_interventions(branch)), "intervention")
        if branch.number == session.branch.number:
            try:
                directory = keep_unfinished(session, None if out is None or out.exists() else out)
            except RecordError as error:
                interventions = inline([plain(one) for one in branch.interventions])
                say(
                    "the run could not be saved. To repeat it, add this line to its"
                    f" scenario:\ninterventions: {interventions}"
                )
                fail(str(error), Exit.BAD_INPUT)
            marked = "" if session.is_over else ", marked as ended early"
            report(f"the run up to that point, with {count}, is in {quote(directory)}{marked}")
            next_scenario = directory / "scenario.yaml"
            if session.is_real_time:  # a real-time run cannot be repeated, so the page plays back its record
                say(f"Next: mobilenet map {quote(directory)}")
                return
        else:
            directory = keep_branch(session, branch)
            report(f"the scenario of branch {branch.number}, with {count}, is in {quote(directory)}")
            next_scenario = next_scenario if next_scenario != scenario else directory / "scenario.yaml"
    if not left:
        were_any = any(map(session.manual_interventions, session.branches))
        report("all interventions are already saved" if were_any else "no interventions to save")
    options = again if next_scenario == scenario else ""
    if session.is_real_time:
        say(f"Next: mobilenet serve {quote(next_scenario)}{options} --allow-code")
        return
    allow = " --allow-code" if any(session.scenario.code()) else ""
    say(f"Next: mobilenet run {quote(next_scenario)}{options}{allow}")

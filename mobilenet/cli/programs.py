"""Commands that replay one program of a run, or shrink a scenario to a smaller one with the same violation."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any

import typer

from mobilenet.cli.console import Exit, fail, reporting, say, writing
from mobilenet.cli.options import AllowCode, Quiet, RunDirectory
from mobilenet.cli.progress import error_console, progress
from mobilenet.quoting import cut, pluralize, quote, spell_out
from mobilenet.record.atomic_files import write_whole

LONGEST = 2000  # the maximum length of a line, in characters
REPEATED = (
    "The run did not record the lines of its programs (record.programs), so it was repeated;"
    " the fingerprint is the same."
)

Program = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[-- COMMAND ...]", help="Program to replay; by default the program of the run.", show_default=False
    ),
]
Input = Annotated[
    Path | None,
    typer.Option("--out", "-o", metavar="FILE", help="Write the input to a file, without running the program."),
]


def replay(
    run: RunDirectory,
    command: Program = None,
    node: Annotated[str, typer.Option("--node", metavar="NODE", help="Node to replay, such as h12.")] = "h0",
    life: Annotated[
        int, typer.Option("--life", min=1, metavar="N", help="Life of the node; a crash begins a new one.")
    ] = 1,
    out: Input = None,
    within_s: Annotated[
        float | None,
        typer.Option("--within-s", min=0.01, metavar="S", help="Wall time limit for an answer; by default as in RUN."),
    ] = None,
    allow_code: AllowCode = False,
    quiet: Quiet = False,
) -> None:
    """Replay the recorded input of one program.

    The command prints the first answer that differs from the run.
    """
    with reporting(quiet, reads=[run]):
        from mobilenet.lab.replay.single_program import exchanges, feed
        from mobilenet.lab.replay.transcript import lines_of, lines_of_node
        from mobilenet.parameters import ScenarioError
        from mobilenet.record.reader import RunError
        from mobilenet.scenario import load_scenario

        with progress(quiet, "replaying") as update:
            lines, again = lines_of(run, update, allow_code)
        if again:
            say(REPEATED)
        node_lines = lines_of_node(lines, node, life, run)
        events = [event for event, _ in exchanges(node_lines)]
        if out is not None:
            _write(out, events, f"the events of life {life} of {node}")
            return
        protocol: Any = load_scenario(run / "scenario.yaml").protocol
        if not hasattr(protocol, "answer_within_s"):
            raise RunError(f"{run}: contains lines of programs, but its scenario has no programs in virtual time")
        words = _resolve_files(command) if command else _command_of(protocol, node)
        if not allow_code:
            raise ScenarioError(
                f"{cut(' '.join(words), 200)}: runs a program with your full permissions; if you trust it, pass"
                " --allow-code"
            )
        parting = feed(node_lines, words, run, protocol.answer_within_s if within_s is None else within_s)
        if parting is None:
            many = pluralize(len(events), "answer")
            say(f"{node}, life {life}: {many}, all as recorded. Next: mobilenet show {quote(run)}")
            return
        say(f"{node}, life {life}: the answer to event {parting.number} of {len(events)} differs")
        for title, texts in (("told", [parting.event]), ("recorded", parting.recorded), ("now", parting.answered)):
            for text in texts:
                say(f"  {title:9} {spell_out(cut(text, LONGEST))}")
        played = " --allow-code" if again else ""  # the replay needs this option as well
        say(f"Next: mobilenet replay {quote(run)} --node {node} --life {life} -o told.jsonl{played}, to debug it")
        raise typer.Exit(Exit.VIOLATED)


def _write(out: Path, events: list[str], what: str) -> None:
    with writing(out):
        write_whole(out, "".join(f"{line}\n" for line in events))
    say(f"{out}: {what}, {pluralize(len(events), 'event')}. Next: PROGRAM < {quote(out)}")


def _resolve_files(command: list[str]) -> list[str]:
    """Return the command with absolute paths for files in the current folder. The run has copies of its own files."""
    return [str(Path(word).resolve()) if Path(word).is_file() else word for word in command]


def _command_of(protocol: Any, node: str) -> list[str]:
    command = protocol.command
    return list(command if isinstance(command, tuple) else command.station if node[0] == "s" else command.host)


def shrink(
    run: RunDirectory,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="DIR", help="Directory of the smaller run; by default RUN-small."),
    ] = None,
    most: Annotated[
        int | None, typer.Option("--trials", min=1, metavar="N", help="Maximum number of runs to try.")
    ] = None,
    minutes: Annotated[
        float, typer.Option("--minutes", min=0.001, metavar="M", help="Maximum wall time of these runs.")
    ] = 10.0,
    allow_code: AllowCode = False,
    quiet: Quiet = False,
) -> None:
    """Shrink a scenario that violates a property.

    The command tries shorter scenarios with fewer broadcasts, crashes, hosts and stations, as long as they become
    smaller.
    """
    with reporting(quiet, reads=[run]):
        from mobilenet import api
        from mobilenet.lab.hunt.swarm.shrink import Shrinking

        target = out or run.with_name(f"{run.resolve().name}-small")
        if target.exists():
            fail(f"{target}: already exists; name another directory with --out", Exit.BAD_INPUT)
        with error_console().status("repeating the original run") as status:
            search = Shrinking(
                run, allow_code, most or math.inf, minutes, lambda summary: status.update(f"smallest so far: {summary}")
            )
            search.run()
        small = api.run(search.scenario, out=target, overrides=search.to_look_at, allow_code=allow_code)
        tried = pluralize(search.trials, "run")
        if search.is_over:
            tried += f" in at most {minutes:g} min; a smaller one may exist, with higher --trials or --minutes"
        say(f"{search.violated} is still violated with {search.summary()}; tried: {tried}")
        verdict = small.verdicts[search.violated]
        say(f"{search.violated} {verdict.answer}: {verdict.explanation}")
        allow = " --allow-code" if allow_code else ""
        say(f"Repeat: mobilenet run {quote(target / 'scenario.yaml')}{allow}")
        around = search.around(small)
        say(
            f"Next: mobilenet spacetime {quote(target)} {around}" if around else f"Next: mobilenet show {quote(target)}"
        )

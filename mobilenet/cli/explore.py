"""Commands that explore a run: the messages of a handoff, differences of two runs, and all keys."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from mobilenet.cli.console import REPEATED, Exit, conclude, fail, print_table, reporting, say, writing
from mobilenet.cli.options import AllowCode, Quiet, RunDirectory
from mobilenet.cli.progress import progress
from mobilenet.quoting import format_number, pluralize, quote

Around = Annotated[
    str | None,
    typer.Option(
        "--around",
        metavar="WHAT",
        help=(
            "Moment to draw: handoff:N or crash:N (counted from 1), message:h3:5 or message:h3:5,h4:2, or a simulated"
            " time in seconds; by default the error that ended the run, or else the first handoff, crash or broadcast."
        ),
    ),
]


def spacetime(
    run: RunDirectory,
    around: Around = None,
    host: Annotated[
        str | None, typer.Option("--host", metavar="HOST", help="Host, such as h12; by default the host of the event.")
    ] = None,
    margin_s: Annotated[
        float | None,
        typer.Option(
            "--margin-s",
            min=0,
            max=1e9,
            metavar="S",
            help="Seconds to show before and after the event; by default a fifth of its duration.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="SVG, PNG or PDF; by default RUN/spacetime-....svg."),
    ] = None,
    allow_code: AllowCode = False,
    quiet: Quiet = False,
) -> None:
    """Draw a space-time diagram of part of a run."""
    with reporting(quiet, reads=[run]):
        import pandas as pd

        from mobilenet.lab.replay.rerun import needs_code, protocol_messages
        from mobilenet.record.kinds import run_kind
        from mobilenet.record.provenance import stamping_of
        from mobilenet.record.reader import read_events, read_manifest
        from mobilenet.record.stamp import normal_command
        from mobilenet.viz.files import whole_file
        from mobilenet.viz.spacetime import WindowError, default_moment, draw, window_around

        manifest = read_manifest(run)
        run_kind(manifest).require_hosts(run, "only runs with hosts and stations have space-time diagrams")
        events = pd.DataFrame(read_events(run))
        end_ns = round(manifest["simulated_s"] * 1e9)
        if around is None:
            around, host = default_moment(events, manifest.get("ended_by_error"), end_ns, host)
        try:
            window = window_around(events, around, host, margin_s, end_ns)
        except WindowError as error:
            fail(str(error), Exit.BAD_INPUT)
        target = out or run / f"spacetime-{window.host}-{around.replace(':', '-').replace(',', '-')}.svg"
        with progress(quiet, "replaying") as update:
            messages, replayed = protocol_messages(run, update, allow_code)
        options = {"margin_s": margin_s, "allow_code": needs_code(run, "messages")}
        command = normal_command("spacetime", "RUN", around=around, host=window.host, **options)
        with whole_file(target) as partial, stamping_of(run, command):
            called = {**(manifest.get("host_names") or {}), **(manifest.get("station_names") or {})}
            arrows = draw(messages, events, window, partial, run.resolve().name, called)
        if replayed:
            say(REPEATED)
        if not arrows:
            say(f"{window.host} sends and receives nothing in this period; --margin-s 1 shows a longer period")
        say(f"{window.title}. The diagram shows {pluralize(len(arrows), 'message')}. Next: open {quote(target)}")


def diff(
    one: Annotated[Path, typer.Argument(metavar="RUN", help="A run directory.")],
    other: Annotated[Path, typer.Argument(metavar="RUN", help="The run directory to compare with.")],
    quiet: Quiet = False,
) -> None:
    """Show where two runs first differ.

    The command prints the first event that differs, and the keys, metrics and verdicts that differ.
    """
    with reporting(quiet, reads=[one, other]):
        from mobilenet.record.compare import difference

        comparison = difference(one, other)
        _print_apart("scenario", comparison.scenario, _or_dash)
        if comparison.same:
            conclude(f"the same {pluralize(comparison.common, 'event')}")
            say(f"both runs have the same {pluralize(comparison.common, 'event')}, to the nanosecond")
        else:
            is_one = comparison.common == 1
            ends = ("no more events" if event is None else _event(event) for event in comparison.events)
            conclude(f"the same {pluralize(comparison.common, 'event')}, then {' and '.join(ends)}")
            say(f"the first {'event is' if is_one else f'{comparison.common} events are'} the same; then")
            for event in comparison.before:
                say(f"    both     {_event(event)}")
            for path, parting in zip((one, other), comparison.events, strict=True):
                say(f"    {path}  {'has no more events' if parting is None else _event(parting)}")
        _print_apart("metric", comparison.metrics, format_number)
        _print_apart("verdict", comparison.verdicts, _or_dash)
        parted = [event for event in comparison.events if event is not None and event["node"].startswith("h")]
        if parted:
            moment = f"--host {parted[0]['node']} --around {parted[0]['time_ns'] / 1e9:.6f}"
            say(f"Next: mobilenet spacetime {quote(one)} {moment}")
        else:
            say(f"Next: mobilenet show {quote(one)}")


def _or_dash(value: Any) -> str:
    return "–" if value is None else str(value)


def _event(event: dict[str, Any]) -> str:
    words = [f"{event['time_ns'] / 1e9:.9f} s", event["node"], event["event"]]
    words += [str(event[name]) for name in ("message", "station", "detail") if event[name] is not None]
    return " ".join([*words, *([f"session {event['session']:.0f}"] if event["session"] is not None else [])])


def _print_apart(kind: str, rows: list[tuple[str, Any, Any]], show: Callable[[Any], str]) -> None:
    if not rows:
        say(f"the {kind}s are the same")
        return
    print_table((kind, "first run", "second run"), [(name, show(a), show(b)) for name, a, b in rows])


def reference(
    keys: Annotated[
        list[str] | None, typer.Argument(metavar="[KEY]...", help="Keys or metrics, such as wireless.loss.")
    ] = None,
    search: Annotated[
        str,
        typer.Option(
            "--search",
            metavar="WORDS",
            help="Print only keys and metrics with these words in their names or descriptions.",
        ),
    ] = "",
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="Write all keys to this file, as Markdown tables."),
    ] = None,
) -> None:
    """Print all keys and metrics.

    The command prints the type, unit, range, default and meaning of each key. The Markdown tables also contain
    the sources.
    """
    with reporting():
        from mobilenet.cli.key_reference import listing, reference
        from mobilenet.record.atomic_files import write_whole

        if out is not None:
            if keys or search:
                fail("--out writes all keys; omit KEY and --search", Exit.BAD_INPUT)
            with writing(out):
                write_whole(out, reference())
            say(f"Next: read {quote(out)}")
            return
        try:
            text = listing(keys or (), search)
        except LookupError as error:
            fail(str(error.args[0]), Exit.BAD_INPUT)
        if not text:
            fail(f"--search {search!r}: no key or metric has these words in its name or description", Exit.BAD_INPUT)
        say(text)
        # This line goes to stderr because stdout may be redirected to a file.
        print("Next: mobilenet check SCENARIO", file=sys.stderr)


def schema(
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FOLDER", help="Write to this folder instead of printing.")
    ] = None,
) -> None:
    """Print JSON Schemas for editors.

    Editors use these schemas to complete and check scenario, study and claims files.
    """
    with reporting():
        from mobilenet.cli.json_schema import schemas, text_of

        if out is None:
            say(text_of(dict(schemas())).rstrip())
            print(
                "Next: mobilenet schema --out FOLDER", file=sys.stderr
            )  # stderr, because stdout may be redirected to a file
            return
        from mobilenet.viz.files import together

        with together(out) as place:
            for name, document in schemas().items():
                (place / name).write_text(text_of(document), encoding="utf-8")
        say(f"Written to {quote(out)}: {', '.join(schemas())}")
        say("Next: begin a scenario with  # yaml-language-server: $schema=FOLDER/scenario.schema.json")

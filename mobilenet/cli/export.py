"""The command that exports runs and studies for other programs."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Annotated, Any

import typer

from mobilenet.cli.anchors import parse_origin
from mobilenet.cli.console import REPEATED, Exit, fail, reporting, say
from mobilenet.cli.options import AllowCode, Quiet
from mobilenet.cli.progress import progress
from mobilenet.quoting import pluralize, quote

MOST_LISTED = 5


At = Annotated[
    str | None,
    typer.Option("--origin", metavar="LON,LAT", help="Position of (0, 0) on Earth; overrides the scenario's origin."),
]
Out = Annotated[
    Path | None,
    typer.Option("--out", "-o", metavar="PLACE", help="New folder or file to write; by default inside the directory."),
]
Begin = Annotated[
    float, typer.Option("--from-s", min=0, metavar="S", help="ShiViz: start of the excerpt in simulated time.")
]
End = Annotated[
    float | None, typer.Option("--to-s", min=0, metavar="S", help="ShiViz: end of the excerpt in simulated time.")
]
Epoch = Annotated[
    float,
    typer.Option(
        "--epoch-s",
        min=0,
        max=1e11,
        metavar="S",
        help="kepler.gl: start of the run in seconds since 1970; by default 2024-01-01.",
    ),
]

Omnetpp = Annotated[
    bool, typer.Option("--omnetpp", help="Write result files and an eventlog of OMNeT++; for a study, of each run.")
]
Pcap = Annotated[bool, typer.Option("--pcap", help="Write the IP packets of real software to one capture file.")]
RadioPcap = Annotated[
    bool,
    typer.Option("--radio-pcap", help="Write the recorded frames of the radio to one capture file, with a dissector."),
]
Node = Annotated[
    str | None,
    typer.Option(
        "--node", metavar="NODE", help="PCAP: only the packets of one node; radio: what it sent, and could hear."
    ),
]
EPOCH_S = 1_704_067_200
FORMATS_OF = {  # option -> the formats that use it
    "--node": ("pcap", "radio-pcap"), "--origin": ("csv", "geojson", "kepler"), "--from-s": ("shiviz",),
    "--to-s": ("shiviz",), "--epoch-s": ("kepler",), "--allow-code": ("shiviz",),
}  # fmt: skip


def export(
    directory: Annotated[
        Path,
        typer.Argument(metavar="RUN|STUDY", help="The directory of a run or, with --csv or --omnetpp, of a study."),
    ],
    csv: Annotated[
        bool,
        typer.Option(
            "--csv",
            help="Write tables: tracks, handoffs, stations, events, samples and metrics; for a study, its tables.",
        ),
    ] = False,
    geojson: Annotated[
        bool, typer.Option("--geojson", help="Write stations, tracks and handoffs to one GeoJSON file.")
    ] = False,
    kepler: Annotated[bool, typer.Option("--kepler", help="Write tracks to one file, as trips for kepler.gl.")] = False,
    shiviz: Annotated[
        bool, typer.Option("--shiviz", help="Write messages and events with vector clocks, as a ShiViz log.")
    ] = False,
    omnetpp: Omnetpp = False,
    pcap: Pcap = False,
    radio_pcap: RadioPcap = False,
    node: Node = None,
    out: Out = None,
    origin: At = None,
    from_s: Begin = 0.0,
    to_s: End = None,
    epoch_s: Epoch = EPOCH_S,
    allow_code: AllowCode = False,
    quiet: Quiet = False,
) -> None:
    """Export a run or a study for other tools.

    The formats are CSV, GeoJSON, kepler.gl, ShiViz, OMNeT++ and PCAP, of packets or of a radio.
    """
    with reporting(quiet, reads=[directory]):
        kind = _require_one({
            "csv": csv, "geojson": geojson, "kepler": kepler, "shiviz": shiviz, "omnetpp": omnetpp, "pcap": pcap,
            "radio-pcap": radio_pcap,
        })  # fmt: skip
        values = {
            "--node": node, "--origin": origin, "--from-s": from_s or None, "--to-s": to_s,
            "--epoch-s": None if epoch_s == EPOCH_S else epoch_s, "--allow-code": allow_code or None,
        }  # fmt: skip
        _require_effects(kind, [name for name, value in values.items() if value is not None])
        at = None if origin is None else parse_origin(origin)
        if not directory.is_dir():
            fail(f"{directory}: no such run directory", Exit.BAD_INPUT)
        if csv:
            _export_csv(directory, out or directory / "csv", at)
        elif omnetpp:
            _export_omnetpp(directory, out or directory / "omnetpp")
        elif pcap:
            _export_pcap(directory, out or directory / f"{node or 'packets'}.pcap", node)
        elif radio_pcap:
            _export_radio(directory, out or directory / f"{'-'.join(filter(None, ('radio', node)))}.pcap", node)
        elif shiviz:
            _export_shiviz(directory, out or directory / "shiviz.log", (from_s, to_s), allow_code, quiet)
        else:
            _export_places(directory, out or directory / f"{kind}.geojson", at, epoch_s if kepler else None)


def _require_one(selection: dict[str, bool]) -> str:
    """Return the selected format. Exit with an error unless exactly one is selected."""
    kinds = [name for name, is_selected in selection.items() if is_selected]
    if len(kinds) != 1:
        *others, last = (f"--{name}" for name in selection)
        fail(f"expected one of {', '.join(others)} or {last}", Exit.BAD_INPUT)
    return kinds[0]


def _require_effects(kind: str, options: list[str]) -> None:
    """Exit with an error if an option has no effect on this format."""
    if ignored := [name for name in options if kind not in FORMATS_OF[name]]:
        formats = " or ".join(f"--{name}" for name in FORMATS_OF[ignored[0]])
        fail(f"{ignored[0]}: has no effect on --{kind}; expected {formats}", Exit.BAD_INPUT)


def _export_csv(directory: Path, target: Path, origin: Any) -> None:
    from mobilenet.lab.export.source import source
    from mobilenet.lab.export.tables import run_tables, study_tables
    from mobilenet.lab.studies.tables import tables_of_what_is_there
    from mobilenet.record.provenance import stamping_of
    from mobilenet.record.reader import read_manifest
    from mobilenet.record.stamp import normal_command
    from mobilenet.record.writer import run_directory

    is_run = (directory / "manifest.json").is_file()
    opened = source(directory, origin) if is_run and "station_positions_m" in read_manifest(directory) else None
    # The inputs are opened before the target is created, so that an unreadable input leaves the target unchanged.
    if not is_run and (directory / "study.yaml").is_file() and (note := tables_of_what_is_there(directory)):
        say(note)
    at = None if origin is None else f"{origin.lon},{origin.lat}"
    command = normal_command("export", "RUN" if is_run else "STUDY", csv=True, origin=at)
    with run_directory(target) as folder, stamping_of(directory, command):
        if is_run:
            run_tables(opened, directory, folder)
        else:
            study_tables(directory, folder)
        names = ", ".join(sorted(path.name for path in folder.iterdir()))
    say(f"{quote(target)}: {names}. Next: open them in a program that reads CSV")


def _export_omnetpp(directory: Path, target: Path) -> None:
    from mobilenet.lab.export.eventlog import write_eventlog
    from mobilenet.lab.export.omnetpp import open_run, write_contents, write_run, write_study
    from mobilenet.lab.export.tables import require_study
    from mobilenet.lab.studies.tables import tables_of_what_is_there
    from mobilenet.record.provenance import stamping_of
    from mobilenet.record.stamp import normal_command
    from mobilenet.record.writer import run_directory

    is_run = (directory / "manifest.json").is_file()
    if not is_run:
        require_study(directory)
        if note := tables_of_what_is_there(directory):
            say(note)
    lacking = None
    command = normal_command("export", "RUN" if is_run else "STUDY", omnetpp=True)
    with run_directory(target) as folder, stamping_of(directory, command):
        if is_run:
            run = open_run(directory)
            write_run(run, folder, run.file_name)
            lacking = write_eventlog(run, folder / f"{run.file_name}.elog")
        else:
            write_study(directory, _places(directory), folder)
        count = write_contents(folder, directory, "run" if is_run else "study")
    if lacking is not None:
        say(f"the .elog has no sends and arrivals: the run was recorded without {lacking}")
    say(f"{quote(target)}: {pluralize(count, 'file')}. Next: open them in OMNeT++, or list them with opp_scavetool")


def _places(study: Path) -> dict[str, Any]:
    """Map each finished run to its position in the OMNeT++ experiment that represents the study."""
    from mobilenet.lab.export.omnetpp import UNNAMED, Place
    from mobilenet.lab.studies.level_names import LevelNames
    from mobilenet.lab.studies.store import open_store
    from mobilenet.lab.studies.table_files import read_rows

    opened = open_store(study).study
    of_levels = LevelNames(opened.factors)
    names = {factor: of_levels.distinct(factor, opened.levels(factor)) for factor in opened.factors}
    # `itertools.product` yields the levels in the order of `combinations`.
    levels = [dict(zip(names, row, strict=True)) for row in itertools.product(*names.values())]
    return {
        row["run"]: Place(opened.name or UNNAMED, levels[row["configuration"]], row["replication"] - 1, number)
        for number, row in enumerate(read_rows(study, "tables/runs"))
    }


def _export_places(directory: Path, target: Path, origin: Any, epoch_s: float | None) -> None:
    from mobilenet.lab.export.geojson import without_trip, write_geojson, write_kepler
    from mobilenet.lab.export.source import source
    from mobilenet.record.provenance import stamping_of
    from mobilenet.record.stamp import normal_command
    from mobilenet.viz.files import whole_file

    opened = source(directory, origin)
    opened.require_origin()
    kind = "geojson" if epoch_s is None else "kepler"
    at = None if origin is None else f"{origin.lon},{origin.lat}"
    command = normal_command("export", "RUN", **{kind: True, "origin": at, "epoch_s": epoch_s})
    with whole_file(target, (".geojson", ".json")) as partial, stamping_of(directory, command):
        count = write_geojson(opened, partial) if epoch_s is None else write_kepler(opened, partial, epoch_s)
    left = [] if epoch_s is None else without_trip(opened)
    if left:
        say(
            f"left out {pluralize(len(left), 'track')} with only one position:"
            f" {', '.join(left[:MOST_LISTED])}{', ...' if len(left) > MOST_LISTED else ''}"
        )
    say(
        f"{quote(target)}: {pluralize(count, 'feature')}. Next: "
        + ("open it in a map program (QGIS, geojson.io)" if epoch_s is None else "open it at kepler.gl and press play")
    )


def _export_pcap(directory: Path, target: Path, node: str | None) -> None:
    from mobilenet.lab.export.pcap import write_pcap
    from mobilenet.record.provenance import stamping_of
    from mobilenet.record.stamp import normal_command, write_sidecar
    from mobilenet.viz.files import whole_file

    with whole_file(target, (".pcap",)) as partial:
        count = write_pcap(directory, partial, node)
    with stamping_of(directory, normal_command("export", "RUN", pcap=True, node=node)):
        write_sidecar(target)
    say(f"{quote(target)}: {pluralize(count, 'packet')}. Next: open it in Wireshark")


def _export_radio(directory: Path, target: Path, node: str | None) -> None:
    from mobilenet.lab.export.radio_pcap import DISSECTOR, write_radio_pcap
    from mobilenet.record.atomic_files import write_whole
    from mobilenet.record.provenance import stamping_of
    from mobilenet.record.stamp import normal_command, write_sidecar
    from mobilenet.viz.files import whole_file

    with whole_file(target, (".pcap",)) as partial:
        count = write_radio_pcap(directory, partial, node)
    dissector = target.with_name(DISSECTOR.name)
    write_whole(dissector, DISSECTOR.read_text(encoding="utf-8"))
    with stamping_of(directory, normal_command("export", "RUN", radio_pcap=True, node=node)):
        write_sidecar(target)
    command = f"tshark -X lua_script:{quote(dissector)} -r {quote(target)}"
    say(f"{quote(target)}: {pluralize(count, 'frame')}. Next: {command}")


def _export_shiviz(
    directory: Path, target: Path, slice_s: tuple[float, float | None], allow_code: bool, quiet: bool
) -> None:
    import pandas as pd

    from mobilenet.lab.export.shiviz import write_shiviz
    from mobilenet.lab.replay.rerun import needs_code, protocol_messages
    from mobilenet.record.provenance import stamping_of
    from mobilenet.record.reader import read_events, read_manifest
    from mobilenet.record.stamp import normal_command, write_sidecar
    from mobilenet.viz.files import whole_file

    _check_slice(*slice_s, read_manifest(directory).get("simulated_s"))
    with progress(quiet, "replaying") as update:
        messages, replayed = protocol_messages(directory, update, allow_code)
    events = pd.DataFrame(read_events(directory))
    with whole_file(target, (".log", ".txt")) as partial:
        count = write_shiviz(messages, events, partial, *slice_s)
    options = {"from_s": slice_s[0] or None, "to_s": slice_s[1], "allow_code": needs_code(directory, "messages")}
    command = normal_command("export", "RUN", shiviz=True, **options)
    with stamping_of(directory, command):
        write_sidecar(target)
    if replayed:
        say(REPEATED)
    say(f"{quote(target)}: {pluralize(count, 'event')}. Next: open it in ShiViz (bestchai.bitbucket.io/shiviz)")


def _check_slice(from_s: float, to_s: float | None, ends_s: float | None) -> None:
    for option, value in (("--from-s", from_s), ("--to-s", to_s)):
        if value is None:
            continue
        if not math.isfinite(value):
            fail(f"{option} {value:g}: expected a finite number of seconds", Exit.BAD_INPUT)
        if ends_s is not None and value > ends_s:
            fail(f"{option} {value:g}: after the end of the run at {ends_s:g} s", Exit.BAD_INPUT)
    if to_s is not None and from_s > to_s:
        fail(f"--from-s {from_s:g} is after --to-s {to_s:g}", Exit.BAD_INPUT)

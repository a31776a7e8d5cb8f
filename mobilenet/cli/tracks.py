"""The command that inspects a user's tracks and sites before a simulation."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from mobilenet.cli.anchors import At, OffsetOption, anchor_of, chosen_anchor
from mobilenet.cli.console import Exit, fail, reporting, say, writing
from mobilenet.cli.inspection_table import print_inspection
from mobilenet.quoting import pluralize, quote
from mobilenet.record.atomic_files import write_whole

RANGE_M = 120.0


TracksFile = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help=(
            "Tracks: a table (CSV; its columns: t, t_s, time, time_s or timestamp; id, host, node, host_id,"
            " node_id, vehicle or person; x and y or x_m and y_m in metres, or lon and lat), SUMO's FCD (XML, CSV),"
            " ns-2, BonnMotion, GPX, GeoJSON, ONE, Cabspotting, or one walker's t x y; may be gzipped (.gz)."
        ),
    ),
]
Sites = Annotated[
    Path | None,
    typer.Option(
        "--stations",
        metavar="SITES.csv",
        help="Station sites: a table with columns name,x_m,y_m or name,lon,lat, or one in OpenCelliD's format.",
    ),
]
Crop = Annotated[
    Path | None,
    typer.Option(
        "--crop",
        metavar="SITES.csv",
        help="New table for the stations within whose range a host comes (OpenCelliD's range, or --range-m).",
    ),
]
Range = Annotated[float, typer.Option("--range-m", min=1, max=100_000, metavar="M", help="Range of each station.")]
RadioOf = Annotated[
    Path | None,
    typer.Option(
        "--radio-of",
        metavar="FILE.yaml",
        help="Scenario whose stations, radio, walls and attachment rule determine the coverage.",
    ),
]
Format = Annotated[
    str,
    typer.Option(
        "--format",
        metavar="F",
        help="Format of the tracks: auto, csv, sumo_fcd, sumo_fcd_csv, ns2, bonnmotion, gpx, one, cabspotting,"
        " walker or geojson.",
    ),
]
Coordinates = Annotated[
    str, typer.Option("--coordinates", metavar="C", help="Coordinates of the tracks: auto, metres or lonlat.")
]
Id = Annotated[
    str | None, typer.Option("--id", metavar="NAME", help="Name of the only host, for a table without names.")
]
Duplicates = Annotated[
    str,
    typer.Option(
        "--duplicates",
        metavar="D",
        help="Several samples of a host at the same time: refuse, or keep-last uses the last.",
    ),
]
Picture = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        metavar="FILE",
        help="Picture to write (SVG, PNG or PDF); by default next to the new scenario, or in the current folder.",
    ),
]
NewScenario = Annotated[
    Path | None,
    typer.Option("--scenario", metavar="FILE.yaml", help="Also write a scenario with these tracks and sites."),
]


def inspect_tracks(
    file: TracksFile,
    stations: Sites = None,
    crop: Crop = None,
    range_m: Range = RANGE_M,
    radio_of: RadioOf = None,
    format: Format = "auto",
    coordinates: Coordinates = "auto",
    id: Id = None,
    duplicates: Duplicates = "refuse",
    origin: At = None,
    offset: OffsetOption = None,
    out: Picture = None,
    scenario: NewScenario = None,
) -> None:
    """Inspect tracks before you simulate them.

    The command prints extent, speeds, gaps, coverage and expected handoffs, and draws the tracks.
    """
    with reporting():
        from mobilenet.world.inspection import inspect
        from mobilenet.world.track_mobility import doubt_about_metres
        from mobilenet.world.tracks.read import read_tracks
        from mobilenet.world.tracks.sites import read_sites, sites_near

        read_as = _reading(format, coordinates, duplicates) | ({} if id is None else {"id": id})
        _require_new(scenario, crop)
        if crop is not None and stations is None:
            fail("--crop: expected --stations, the table to take stations from", Exit.BAD_INPUT)
        if radio_of is not None:
            _refuse_beside_a_scenario(stations=stations, range_m=range_m != RANGE_M, scenario=scenario)
        recorded = read_tracks(file, **read_as)  # type: ignore[arg-type]
        at, sites = None, None
        if radio_of is not None:
            inspection = _by_scenario(radio_of, recorded, origin, offset)
        else:
            if stations is not None:
                around = None if crop is None else anchor_of(origin, offset, recorded, None)
                sites = read_sites(stations) if crop is None else sites_near(stations, recorded, around, range_m)
                stations = crop or stations
            at = anchor_of(origin, offset, recorded, sites)
            inspection = inspect(recorded.on_plane(at), None if sites is None else _positions(sites, at), range_m)
        print_inspection(inspection, sites, _is_exchanged(recorded, inspection), at)
        if coordinates == "auto" and (doubt := doubt_about_metres(recorded, range_m)):
            say(f"warning: {doubt}", always=True)
        again = _again(file, stations, radio_of, range_m, {"origin": origin, "offset": offset}, read_as)
        folder = Path() if scenario is None else scenario.parent
        _draw(inspection, out or folder / f"{_stem(file)}_tracks.png", file, again)
        if crop is not None:
            _write_sites(crop, sites)
        if _is_impossible(inspection, scenario, again):
            return
        if radio_of is not None:
            say(f"Next: mobilenet check {quote(radio_of)}")
        elif scenario is None:
            say(f"Next: {again} --scenario own.yaml")
        else:
            _write_scenario(scenario, file, stations, inspection, range_m, at, read_as)
            say(f"Next: mobilenet run {quote(scenario)}")


def _require_new(*targets: Path | None) -> None:
    for target in targets:
        if target is not None and os.path.lexists(target):
            fail(f"{target}: already exists; remove it, or name another file", Exit.BAD_INPUT)


def _write_sites(target: Path, near: Any) -> None:
    """Write the stations that have a host within range at some time."""
    with writing(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        write_whole(target, near.as_table())
    ranges = "" if (median_m := near.median_range_m) is None else f"; their ranges there: median {median_m:,.0f} m"
    say(f"Written: {quote(target)}: {pluralize(len(near.names), 'station')} within whose range a host comes{ranges}")


def _draw(inspection: Any, target: Path, file: Path, command: str) -> None:
    from mobilenet.record.provenance import inputs_of_file
    from mobilenet.record.stamp import new_provenance, stamping
    from mobilenet.viz.files import whole_file
    from mobilenet.viz.tracks_figure import draw

    replaced = ", replacing the existing file" if target.exists() else ""
    made_by = new_provenance(command.replace(quote(file), "FILE", 1), inputs_of_file(file))
    with whole_file(target) as partial, stamping(made_by):
        draw(inspection, partial, file.name)
    say(f"Drawn: {quote(target)}{replaced}")


def _reading(format: str, coordinates: str, duplicates: str) -> dict[str, str]:
    """Return the options for reading tracks whose values differ from the defaults."""
    from mobilenet.world.tracks import read

    chosen = {
        "format": (format, read.FORMATS), "coordinates": (coordinates, get_args(read.Coordinates)),
        "duplicates": (duplicates, get_args(read.Duplicates)),
    }  # fmt: skip
    for option, (value, values) in chosen.items():
        if value not in values:
            fail(f"--{option}: unknown value {value[:40]!r}; expected one of {', '.join(values)}", Exit.BAD_INPUT)
    return {option: value for option, (value, values) in chosen.items() if value != values[0]}


def _again(
    file: Path,
    stations: Path | None,
    radio_of: Path | None,
    range_m: float,
    anchors: dict[str, str | None],
    read_as: dict[str, Any],
) -> str:
    """Return the command that repeats the inspection. `read_as` contains the options for reading the tracks."""
    options = {
        "stations": stations and quote(stations),
        "radio-of": radio_of and quote(radio_of),
        "range-m": None if range_m == RANGE_M else f"{range_m:g}",
        **{name: text and "".join(text.split()) for name, text in anchors.items()},
        **{name: quote(value) for name, value in read_as.items()},
    }
    arguments = (f" --{name}{'=' if name in anchors else ' '}{value}" for name, value in options.items() if value)
    return f"mobilenet inspect-tracks {quote(file)}" + "".join(arguments)


def _is_impossible(inspection: Any, scenario: Path | None, again: str) -> bool:
    """Return whether no run can use these tracks. If so, print the reason and a remedy."""
    from mobilenet.scenario.starter import LONGEST_S
    from mobilenet.world.inspection import no_run

    impossible = no_run(inspection, LONGEST_S)
    if impossible is None:
        return False
    why, helps = impossible
    if scenario is None:
        say(f"Cannot write a scenario for these tracks: {why}")
    say(f"Next: {helps}, then {again}")
    if scenario is not None:
        fail(f"{scenario}: not written: {why}", Exit.BAD_INPUT)
    return True


def _refuse_beside_a_scenario(**options: Any) -> None:
    for name, is_given in options.items():
        if is_given:
            fail(
                f"--{name.replace('_', '-')} and --radio-of: the scenario already sets this value; omit one option",
                Exit.BAD_INPUT,
            )


def _by_scenario(file: Path, recorded: Any, origin: str | None, offset: str | None) -> Any:
    """Return an inspection of the tracks with the stations, radio and attachment rule of a scenario."""
    from mobilenet.network.radio.service import Place
    from mobilenet.network.radio_models import model_of
    from mobilenet.scenario import Scenario, load_scenario
    from mobilenet.world.inspection import LONG_GAP_S, AttachmentRule, inspect
    from mobilenet.world.layout import station_positions

    scenario = load_scenario(file)
    if not isinstance(scenario, Scenario):
        fail(f"--radio-of: {file} has processes and no radio; expected a scenario with stations", Exit.BAD_INPUT)
    for option, text in (("--origin", origin), ("--offset", offset)):
        if text is not None and scenario.anchor is not None:
            fail(
                f"{option} and --radio-of: {file} already has an origin or offset_m; leave {option} out", Exit.BAD_INPUT
            )
    at = scenario.anchor or chosen_anchor(origin, offset)
    if recorded.lonlat and at is None:
        fail(
            f"the stations of {file} are in metres, the tracks in longitude and latitude: specify the position of (0,"
            " 0) on Earth with --origin LON,LAT",
            Exit.BAD_INPUT,
        )
    sites = station_positions(scenario.stations.layout, scenario.folder, scenario.anchor)
    rule, model = scenario.hosts.attachment, model_of(scenario.wireless)
    service = model.service(sites, rule, Place(scenario.folder, scenario.anchor, scenario.seed))
    attached = AttachmentRule(service.attachment, model.attachment_words(rule))
    return inspect(recorded.on_plane(at), sites, model.cell_m, LONG_GAP_S, attached)


def _positions(sites: Any, origin: Any) -> Any:
    import numpy as np

    return np.column_stack(sites.on_plane(origin))


def _stem(file: Path) -> str:
    name = file.name.removesuffix(".gz").partition(".")[0] or "own"
    return "".join(c if c.isalnum() or c in "-_" else "-" for c in name)[:80]


def _is_exchanged(tracks: Any, inspection: Any) -> bool:
    """Return whether swapping longitude and latitude would remove most jumps between positions."""
    from mobilenet.parameters import ScenarioError
    from mobilenet.world.inspection import inspect

    if not tracks.lonlat or not inspection.jumps or abs(tracks.x).max() > 85:
        return False
    turned = replace(tracks, x=tracks.y, y=tracks.x)
    try:
        again = inspect(turned.on_plane(turned.origin()), None, 1)
    except ScenarioError:
        return False
    return 2 * len(again.jumps) < len(inspection.jumps)


def _write_scenario(
    target: Path, file: Path, stations: Path | None, inspection: Any, range_m: float, origin: Any, read: dict[str, str]
) -> None:
    from mobilenet.parameters import ScenarioError
    from mobilenet.scenario import load_scenario
    from mobilenet.scenario.starter import LONGEST_S, starter

    _require_new(target)
    folder = target.parent.resolve()
    tracks: dict[str, Any] = {
        "file": os.path.relpath(file.resolve(), folder),
        **read,
    }
    if inspection.gaps:
        tracks["max_gap_s"] = float(max(gap.value for gap in inspection.gaps)) + 1.0
    if inspection.speed_mps[3] > 150:
        tracks["max_speed_mps"] = float(inspection.speed_mps[3]) + 1.0
    sites = None if stations is None else os.path.relpath(stations.resolve(), folder)
    text = starter(tracks, sites, inspection.extent_m, inspection.window_s(LONGEST_S), range_m, origin)
    with writing(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        write_whole(target, text)
    try:
        load_scenario(target)
    except ScenarioError:
        target.unlink()
        raise
    say(f"Written: {quote(target)}")
    if inspection.gaps:
        say(
            f"In this scenario, hosts cross {pluralize(len(inspection.gaps), 'gap')} in a straight line"
            f" (max_gap_s {tracks['max_gap_s']:g}). The table and the picture leave out these gaps,"
            " so in a run, hosts are present for longer and may change cells more often"
        )

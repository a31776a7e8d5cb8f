"""Determine the position of (0, 0) in the plane, from options of a command or from files."""

from __future__ import annotations

import math
from typing import Annotated, Any

import typer

from mobilenet.cli.console import Exit, fail

At = Annotated[
    str | None,
    typer.Option("--origin", metavar="LON,LAT", help="Position of (0, 0) on Earth, if the sites do not determine it."),
]
OffsetOption = Annotated[
    str | None,
    typer.Option(
        "--offset",
        metavar="X,Y",
        help="Position of (0, 0) in metres that begin far away (UTM), if it is not to be found.",
    ),
]


def parse_origin(text: str) -> Any:
    """Parse the value of an option in the form LON,LAT."""
    from pydantic import ValidationError

    from mobilenet.world.tracks.projection import Origin

    try:
        lon, lat = (float(part) for part in text.split(","))
        return Origin(lon=lon, lat=lat)
    except (ValueError, ValidationError):
        fail(
            f"--origin {text[:40]!r}: expected LON,LAT in degrees, such as 13.4,52.5, with LAT between -85 and 85",
            Exit.BAD_INPUT,
        )


def chosen_anchor(origin: str | None, offset: str | None) -> Any:
    """Return the position of (0, 0) that an option specifies, or None."""
    from mobilenet.world.tracks.projection import Offset

    if origin is not None and offset is not None:
        fail("--offset: is for metres, --origin for longitudes and latitudes; leave one out", Exit.BAD_INPUT)
    if offset is None:
        return None if origin is None else parse_origin(origin)
    try:
        x_m, y_m = (float(part) for part in offset.split(","))
    except ValueError:
        x_m = y_m = math.nan
    if not math.isfinite(x_m) or not math.isfinite(y_m):
        fail(f"--offset {offset[:40]!r}: expected X,Y in metres, such as 532000,5261000", Exit.BAD_INPUT)
    return Offset(x_m, y_m)


def anchor_of(origin: str | None, offset: str | None, recorded: Any, sites: Any) -> Any:
    """Return the position of (0, 0) that an option specifies, or else the position from the files."""
    if (chosen := chosen_anchor(origin, offset)) is not None:
        return chosen
    if sites is not None and sites.lonlat != recorded.lonlat:
        which = ("stations", "tracks") if sites.lonlat else ("tracks", "stations")
        if (recorded if sites.lonlat else sites).offset is not None:
            fail(
                f"the {which[0]} are in longitude and latitude, the {which[1]} in metres that begin far away (UTM):"
                " convert one of the files; two kinds of coordinates are combined only around one position of (0, 0)",
                Exit.BAD_INPUT,
            )
        fail(
            f"the {which[0]} are in longitude and latitude, the {which[1]} in metres: specify the position of (0, 0)"
            " on Earth with --origin LON,LAT",
            Exit.BAD_INPUT,
        )
    if sites is not None and sites.lonlat:
        return sites.origin()
    if recorded.lonlat:
        return recorded.origin()
    return recorded.offset or (None if sites is None else sites.offset)

"""The table that inspect-tracks prints."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from mobilenet.cli.console import print_table, say
from mobilenet.quoting import pluralize

MOST_LISTED = 5
# format -> the kind of entry that is skipped, and what such an entry lacks
SKIPPED = {"geojson": ("feature", "times"), "gpx": ("track", "times")}


def print_inspection(inspection: Any, sites: Any, exchanged: bool, at: Any) -> None:
    """Print the table. `exchanged` means that longitude and latitude seem to be swapped, and `at` is the anchor."""
    from mobilenet.world.tracks.projection import Offset

    of_cells = [] if inspection.cells is None else _of_cells(inspection, sites)
    print_table(("", ""), [*_of_tracks(inspection, exchanged), *of_cells])
    recorded = inspection.recorded
    if recorded.choice:
        say(f"Coordinates: {recorded.choice}")
    if isinstance(at, Offset):
        say(f"Offset: {at.x_m:.10g},{at.y_m:.10g} is subtracted from all metres (offset_m in a scenario)")
    if recorded.skipped:
        unit, lacks = SKIPPED.get(recorded.format, ("line", "movement"))
        say(f"Skipped: {pluralize(recorded.skipped, unit)} without {lacks}")


def _of_tracks(inspection: Any, exchanged: bool) -> list[tuple[str, str]]:
    recorded = inspection.recorded
    west, south, east, north = inspection.extent_m
    begins, since = float(recorded.t_s.min()), ""
    if recorded.begins_s:
        first = datetime.fromtimestamp(recorded.begins_s, UTC).replace(tzinfo=None)
        since = f", counted from {first.isoformat(' ', 'seconds')} UTC"
    interval, speed, gaps = "–", "–", f"{len(inspection.gaps)}{_findings(inspection.gaps, 's')}"
    if len(recorded.t_s) > len(recorded.names):
        interval = "p5 {:g}, median {:g}, p95 {:g} s".format(*inspection.interval_s)
    if len(inspection.speeds[0]):
        speed = "p5 {:.2f}, median {:.2f}, p95 {:.2f}, maximum {:.2f} m/s".format(*inspection.speed_mps)
    if recorded.waypoints:
        gaps = "none between waypoints by definition"
    exchange = "; are lon and lat swapped?" if exchanged else ""
    return [
        ("format", f"{recorded.format}{f': {recorded.why}' if recorded.why else ''}"),
        ("hosts", f"{len(recorded.names):,}"),
        ("samples", f"{len(recorded.t_s):,}"),
        ("time", f"{begins:g} to {float(recorded.t_s.max()):g} s{since}"),
        ("host time", f"{inspection.host_s / 3600:.3g} h"),
        (
            "extent",
            f"{east - west:,.0f} by {north - south:,.0f} m, x {west:.1f} to {east:.1f}, y {south:.1f} to {north:.1f}",
        ),
        ("sample interval", interval),
        ("speed", speed),
        ("gaps of more than 10 s", gaps),
        ("jumps above 70 m/s", f"{len(inspection.jumps)}{_findings(inspection.jumps, 'm/s')}{exchange}"),
    ]


def _of_cells(inspection: Any, sites: Any) -> list[tuple[str, str]]:
    cells, covered = inspection.cells, "–"
    merged = f" ({sites.merged} cells at the same positions merged)" if sites is not None and sites.merged else ""
    unused = f"{cells.unused} of them unused" if cells.unused else "all used"
    if inspection.host_s:
        out_of_reach = f"{cells.uncovered_host_s / 3600:.3g} h out of reach"
        covered = f"{100 * cells.covered_share:.1f} % of the hosts' time; {out_of_reach}"
    return [
        ("stations", f"{len(cells.stations_m):,}{merged}, {unused}"),
        ("covered", covered),
        ("served by", cells.rule),
        ("expected handoffs", f"{len(cells.handoffs_m):,} ({inspection.handoffs_per_host_hour:.1f} per host per hour)"),
        ("hosts in the fullest cell", f"{cells.busiest}"),
    ]


def _findings(findings: Any, unit: str) -> str:
    listed = [f"line {each.line} ({_short(each.host)}, {each.value:.0f} {unit})" for each in findings[:MOST_LISTED]]
    return (": " + ", ".join(listed) + (", ..." if len(findings) > MOST_LISTED else "")) if listed else ""


def _short(name: str) -> str:
    text = name if name.isprintable() else repr(name)
    return text if len(text) <= 24 else text[:23] + "…"

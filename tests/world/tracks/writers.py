"""Write tracks in every format as other programs do, for round trips and for the samples in data/formats.

    python -m tests.world.tracks.writers        rewrites the samples

A track is (name, [(t_s, x_m, y_m), ...]).
"""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from math import hypot
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

from mobilenet.world.tracks.projection import Origin, to_earth

DATA = Path(__file__).parents[3] / "data"
AT_SEA = Origin(lon=-30.0, lat=45.0)  # a fictitious town in the Atlantic
BEGAN = datetime(2024, 5, 1, 8, 0, 0, tzinfo=UTC)

Track = tuple[str, list[tuple[float, float, float]]]
Tracks = Sequence[Track]


def by_time(tracks: Tracks) -> list[tuple[float, list[tuple[str, float, float]]]]:
    moments: dict[float, list[tuple[str, float, float]]] = {}
    for name, samples in tracks:
        for t_s, x, y in samples:
            moments.setdefault(t_s, []).append((name, x, y))
    return sorted(moments.items())


def degrees(x: float, y: float) -> tuple[float, float]:
    lon, lat = to_earth([x], [y], AT_SEA)
    return round(float(lon[0]), 8), round(float(lat[0]), 8)  # The coordinates have a precision of 1 mm.


def sumo_fcd(tracks: Tracks) -> str:
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        "",
        "<!-- in the form of the output of Eclipse SUMO sumo 1.20.0 -->",
        "",
        (
            '<fcd-export xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
            ' xsi:noNamespaceSchemaLocation="http://sumo.dlr.de/xsd/fcd_file.xsd">'
        ),
    ]
    for t_s, hosts in by_time(tracks):
        lines.append(f'    <timestep time="{t_s:.3f}">')
        for i, (name, x, y) in enumerate(hosts):
            kind = "person" if i % 2 else "vehicle"
            lines.append(
                f'        <{kind} id={quoteattr(name)} x="{x:.3f}" y="{y:.3f}" angle="90.00" speed="1.30" pos="5.10"'
                ' slope="0.00"/>'
            )
        lines.append("    </timestep>")
    return "\n".join([*lines, "</fcd-export>", ""])


def sumo_fcd_csv(tracks: Tracks) -> str:
    """Write the CSV of SUMO as xml2csv.py does. All attributes are in alphabetical order, separated by semicolons, and
    vehicles and persons share one table.
    """
    lines = [
        "timestep_time;person_id;person_x;person_y;"
        "vehicle_id;vehicle_lane;vehicle_speed;vehicle_type;vehicle_x;vehicle_y"
    ]
    lines.append("0.000;;;;;;;;;")  # No hosts exist at this time.
    for t_s, hosts in by_time(tracks):
        for i, (name, x, y) in enumerate(hosts):
            place = f"{x:.3f};{y:.3f}"
            lines.append(
                f"{t_s:.3f};{name};{place};;;;;;"
                if i % 2
                else f"{t_s:.3f};;;;{name};1fi_0;1.30;DEFAULT_VEHTYPE;{place}"
            )
    return "\n".join([*lines, ""])


def table(tracks: Tracks, titles: str, place: Callable[[float, float], tuple[float, float]], digits: int) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(titles.split(","))
    for t_s, hosts in by_time(tracks):
        for name, x, y in hosts:
            a, b = place(x, y)
            writer.writerow([f"{t_s:.3f}", name, f"{a:.{digits}f}", f"{b:.{digits}f}"])
    return text.getvalue()


def metres(tracks: Tracks) -> str:
    return table(tracks, "t,id,x,y", lambda x, y: (x, y), 3)


def lonlat(tracks: Tracks) -> str:
    return table(tracks, "t,id,lon,lat", degrees, 8)


def ns2(tracks: Tracks) -> str:
    """Write ns-2 movement as SUMO's traceExporter.py does. Names become numbers, and each sample becomes a
    destination.
    """
    begins, sent = ["# in the form of ns-2's setdest"], []
    for node, (_, samples) in enumerate(tracks):
        _, x, y = samples[0]
        begins += [f"$node_({node}) set X_ {x:.4f}", f"$node_({node}) set Y_ {y:.4f}", f"$node_({node}) set Z_ 0.0"]
        for (ta, xa, ya), (tb, xb, yb) in pairwise(samples):
            speed = hypot(xb - xa, yb - ya) / (tb - ta)
            sent.append((ta, f'$ns_ at {ta:.4f} "$node_({node}) setdest {xb:.4f} {yb:.4f} {speed:.6f}"'))
    return "\n".join([*begins, *(line for _, line in sorted(sent)), '$ns_ at 60.0 "$god_ stop"', ""])


def bonnmotion(tracks: Tracks) -> str:
    return "".join(" ".join(f"{t_s:.4f} {x:.4f} {y:.4f}" for t_s, x, y in samples) + "\n" for _, samples in tracks)


def gpx(tracks: Tracks) -> str:
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<gpx version="1.1" creator="mobilenet" xmlns="http://www.topografix.com/GPX/1/1">',
    ]
    for name, samples in tracks:
        lines += ["  <trk>", f"    <name>{quoteattr(name)[1:-1]}</name>", "    <trkseg>"]
        for t_s, x, y in samples:
            lon, lat = degrees(x, y)
            when = (BEGAN + timedelta(seconds=t_s)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
            lines.append(f'      <trkpt lat="{lat:.8f}" lon="{lon:.8f}"><ele>0.0</ele><time>{when}</time></trkpt>')
        lines += ["    </trkseg>", "  </trk>"]
    return "\n".join([*lines, "</gpx>", ""])


def one(tracks: Tracks) -> str:
    """Write the format of ONE's ExternalMovement: first the limits, then all nodes at each time. Names become
    numbers.
    """
    every = [sample for _, samples in tracks for sample in samples]
    limits = [end(column) for column in zip(*every, strict=True) for end in (min, max)]
    numbers = {name: node for node, (name, _) in enumerate(tracks)}
    lines = [" ".join(f"{value:.4f}" for value in limits)]
    for t_s, hosts in by_time(tracks):
        lines += [f"{t_s:.4f} {numbers[name]} {x:.4f} {y:.4f}" for name, x, y in hosts]
    return "\n".join([*lines, ""])


def geojson(tracks: Tracks) -> str:
    """Write one point without times, and then a line with times for each host."""
    shapes: list[tuple[str, Any, dict[str, Any]]] = [("Point", degrees(0, 0), {"name": "the middle"})]
    for name, samples in tracks:
        way = [[round(degree, 8) for degree in degrees(x, y)] for _, x, y in samples]
        shapes.append(("LineString", way, {"name": name, "times": [t_s for t_s, _, _ in samples]}))
    features = [
        {"type": "Feature", "geometry": {"type": kind, "coordinates": positions}, "properties": own}
        for kind, positions, own in shapes
    ]
    return json.dumps({"type": "FeatureCollection", "features": features}, ensure_ascii=False) + "\n"


WRITERS: dict[str, tuple[str, Callable[[Tracks], str]]] = {
    "sumo_fcd": ("walk.fcd.xml", sumo_fcd),
    "sumo_fcd_csv": ("walk.fcd.csv", sumo_fcd_csv),
    "csv": ("walk.csv", metres),
    "lonlat": ("walk_lonlat.csv", lonlat),
    "ns2": ("walk.tcl", ns2),
    "bonnmotion": ("walk.movements", bonnmotion),
    "gpx": ("walk.gpx", gpx),
    "one": ("walk.one.txt", one),
    "geojson": ("walk.geojson", geojson),
}


def town(begin_s: int, end_s: int, hosts: int, whole: bool) -> list[Track]:
    """Return a part of streets_tracks.csv.gz. Its times start at 0, and the middle of the streets is at (0, 0)."""
    samples_of: dict[str, list[tuple[float, float, float]]] = {}
    with gzip.open(DATA / "streets_tracks.csv.gz", "rt", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            t_s = float(row["t"])
            if begin_s <= t_s <= end_s:
                samples_of.setdefault(row["id"], []).append(
                    (t_s - begin_s, float(row["x"]) - 240, float(row["y"]) - 240)
                )
    long = end_s - begin_s + 1 if whole else 30
    return [(name, samples) for name, samples in samples_of.items() if len(samples) >= long][:hosts]


def write_samples() -> None:
    folder = DATA / "formats"
    walk = town(100, 160, 6, whole=True)
    for name, write in WRITERS.values():
        (folder / name).write_text(write(walk), encoding="utf-8")
    packed = gzip.compress(lonlat(town(60, 180, 60, whole=False)).encode(), mtime=0)
    (folder / "town_lonlat.csv.gz").write_bytes(packed)
    sites, cells = (
        ["name,lon,lat"],
        ["radio,mcc,net,area,cell,unit,lon,lat,range,samples,changeable,created,updated,averageSignal"],
    )
    with (DATA / "streets_sites.csv").open(encoding="utf-8") as file:
        for number, row in enumerate(csv.DictReader(file)):
            lon, lat = degrees(float(row["x_m"]) - 240, float(row["y_m"]) - 240)
            sites.append(f"{row['name']},{lon:.8f},{lat:.8f}")
            for sector in (1, 2):
                cells.append(
                    f"LTE,1,1,100,{256 * (number + 1) + sector},0,{lon:.8f},{lat:.8f},1000,1,1,1714550400,1714550400,0"
                )
    (folder / "sites_lonlat.csv").write_text("\n".join([*sites, ""]), encoding="utf-8")
    (folder / "sites_opencellid.csv").write_text("\n".join([*cells, ""]), encoding="utf-8")


if __name__ == "__main__":
    write_samples()

"""A made-up town of 500 by 400 m: its buildings, who walks and drives in it, and where stations may stand.

Model     six streets northwards and five eastwards, their crossings moved a little; a block in each mesh: flats around
          a court, with a gate to it or without, detached houses, a church, a market and its hall, a park. People walk
          on the pavements and on the paths of park and market, cars keep to the right; at a crossing everybody turns
          where they like, but not back. Nobody goes through a wall: `main` looks, step by step
Units     metres, seconds, metres a second
Run       python data/town/make_town.py; the same files each time
Licence   CC0, as the files it writes: do with them what you like
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from random import Random

import shapely
from shapely.affinity import rotate, translate
from shapely.geometry import LineString, MultiPolygon, Polygon, box

HERE = Path(__file__).parent
SEED = 26
COLUMNS_M, ROWS_M = (0, 96, 198, 286, 392, 500), (0, 90, 184, 296, 400)
MOVED_M = 6.0
STREET_M = 14.0
DEEP_M = 12.0
BLOCKS = (  # from the north
    ("houses", "gate", "court", "houses", "houses"),
    ("court", "court", "church", "gate", "park"),
    ("gate", "houses", "market", "court", "houses"),
    ("houses", "gate", "court", "gate", "houses"),
)
STATIONS = {  # a lamp post at a corner: column and row of the crossing, and which corner
    "school": (1, 1, 1, 1),
    "hall": (3, 1, -1, 1),
    "depot": (5, 1, -1, 1),
    "church": (2, 3, 1, -1),
    "baker": (1, 3, -1, -1),
    "park": (4, 3, 1, -1),
    "mill": (2, 0, -1, 1),
    "bridge": (0, 2, 1, 1),
    "gate": (3, 4, 1, -1),
}
LAST_S = 180
WALKERS, CARS = 42, 15
PAVEMENT_M, LANE_M, CORNER_M = 5.0, 1.75, 7.5

Node = tuple[str, int, int]
Point = tuple[float, float]
Steps = list[tuple[float, float, float]]  # place, and how fast to there


class Town:
    """Crossings, ways and buildings."""

    def __init__(self) -> None:
        chance = Random(SEED)
        self.places: dict[Node, Point] = {}
        for j, y in enumerate(ROWS_M):
            for i, x in enumerate(COLUMNS_M):
                moved = (chance.uniform(-MOVED_M, MOVED_M), chance.uniform(-MOVED_M, MOVED_M))
                self.places["crossing", i, j] = (round(x + moved[0], 1), round(y + moved[1], 1))
        self.streets: dict[Node, list[Node]] = {node: [] for node in self.places}
        for kind, i, j in list(self.places):
            for other in ((kind, i + 1, j), (kind, i, j + 1)):
                if other in self.places:
                    self.streets[kind, i, j].append(other)
                    self.streets[other].append((kind, i, j))
        self.ways = {node: list(others) for node, others in self.streets.items()}  # the streets, and paths
        self.features: list[tuple[dict[str, str], Polygon]] = []
        for row, kinds in enumerate(reversed(BLOCKS)):
            for column, kind in enumerate(kinds):
                self._block(chance, kind, column, row)

    def _block(self, chance: Random, kind: str, column: int, row: int) -> None:
        corners: list[Node] = [
            ("crossing", column + i, row + j) for i, j in ((0, 0), (1, 0), (1, 1), (0, 1))
        ]  # fmt: skip
        ground = Polygon([self.places[node] for node in corners]).buffer(-STREET_M / 2, join_style="mitre")
        x, y = ground.centroid.x, ground.centroid.y
        if kind in ("court", "gate"):
            flats = ground - ground.buffer(-DEEP_M, join_style="mitre")
            if kind == "gate":
                side = chance.choice((-1, 1))
                flats -= box(x - 2.5, min(y, y + side * 200), x + 2.5, max(y, y + side * 200))
            self._add({"building": "apartments"}, flats)
        elif kind == "houses":
            for house in _houses(chance, ground.buffer(-3, join_style="mitre")):
                self._add({"building": "house"}, house)
        elif kind == "church":
            nave, aisle, tower = box(-18, -6, 18, 6), box(4, -12, 14, 12), box(-26, -4.5, -17, 4.5)
            church = shapely.union_all([nave, aisle, tower, shapely.Point(18, 0).buffer(6, quad_segs=2)])
            self._add({"building": "church", "name": "Church"}, rotate(translate(church, x, y), 8, origin=(x, y)))
        elif kind == "market":
            self._add({"place": "square", "name": "Market"}, ground)
            self._add({"building": "retail", "name": "Market hall"}, box(x - 13, y - 7, x + 13, y + 7))
            self._paths("market", corners, [(x - 18, y - 12), (x + 18, y - 12), (x + 18, y + 12), (x - 18, y + 12)])
        elif kind == "park":
            self._add({"leisure": "park", "name": "Park"}, ground)
            self._add({"building": "pavilion"}, shapely.Point(x + 22, y).buffer(5, quad_segs=2))
            self._paths("park", corners, [(x, y)])

    def _paths(self, name: str, corners: list[Node], inner: list[Point]) -> None:
        """From the corners of a block to the next place inside, and around those."""
        nodes: list[Node] = [(name, number, 0) for number in range(len(inner))]
        self.places |= {node: (round(x, 1), round(y, 1)) for node, (x, y) in zip(nodes, inner, strict=True)}
        self.ways |= {node: [] for node in nodes}
        ends = [(corner, nodes[number % len(nodes)]) for number, corner in enumerate(corners)]
        ends += list(pairwise([*nodes, nodes[0]])) if len(nodes) > 1 else []
        for a, b in ends:
            self.ways[a].append(b)
            self.ways[b].append(a)

    def _add(self, properties: dict[str, str], shape: Polygon | MultiPolygon) -> None:
        for polygon in getattr(shape, "geoms", [shape]):
            rounded = Polygon(
                [_round(point) for point in polygon.exterior.coords],
                [[_round(point) for point in hole.coords] for hole in polygon.interiors],
            )
            self.features.append((properties, shapely.normalize(rounded)))

    @property
    def buildings(self) -> list[Polygon]:
        return [shape for properties, shape in self.features if "building" in properties]

    @property
    def stations(self) -> dict[str, Point]:
        places = {}
        for name, (i, j, east, north) in STATIONS.items():
            x, y = self.places["crossing", i, j]
            places[name] = _round((x + 6 * east, y + 6 * north))
        return places


def _round(point: Point) -> Point:
    return round(point[0], 1), round(point[1], 1)


def _houses(chance: Random, ground: Polygon) -> Iterator[Polygon]:
    """Along the four sides, as many as there is room for."""
    taken: list[Polygon] = []
    corners = list(shapely.normalize(ground).exterior.reverse().coords)  # counterclockwise: the block is on the left
    for (ax, ay), (bx, by) in pairwise(corners):
        length = math.hypot(bx - ax, by - ay)
        angle = math.degrees(math.atan2(by - ay, bx - ax))
        along = 0.0
        while True:
            wide, deep, gap = (round(chance.uniform(*span), 1) for span in ((9, 14), (9, 11.5), (4, 8)))
            if along + wide > length:
                break
            house = rotate(translate(box(along, 0.5, along + wide, 0.5 + deep), ax, ay), angle, origin=(ax, ay))
            along += wide + gap
            if ground.covers(house) and all(house.distance(other) > 3 for other in taken):
                taken.append(house)
                yield house


def side_points(a: Point, b: Point, right_m: float, end_m: tuple[float, float]) -> tuple[Point, Point]:
    """The way from a to b, moved to the right, without so much at its ends."""
    length = math.hypot(b[0] - a[0], b[1] - a[1])
    ux, uy = (b[0] - a[0]) / length, (b[1] - a[1]) / length
    x, y = a[0] + uy * right_m, a[1] - ux * right_m
    first, last = end_m[0], length - end_m[1]
    return (x + ux * first, y + uy * first), (x + ux * last, y + uy * last)


def walk(town: Town, chance: Random) -> Steps:
    """From amid a street on and on."""
    speed, side = chance.uniform(1.0, 1.6), chance.choice((-PAVEMENT_M, PAVEMENT_M))
    here = chance.choice(sorted(town.ways))
    there = chance.choice(town.ways[here])
    steps: Steps = []
    while len(steps) < 60:
        is_street = there in town.streets.get(here, ())
        ends = tuple(CORNER_M if node[0] == "crossing" else 0.0 for node in (here, there))
        first, last = side_points(
            town.places[here], town.places[there], side if is_street else 0.0, (ends[0], ends[1])
        )  # fmt: skip
        if not steps:
            share = chance.random()
            first = (first[0] + share * (last[0] - first[0]), first[1] + share * (last[1] - first[1]))
        steps += [(*first, speed), (*last, speed)]
        onward = [node for node in town.ways[there] if node != here]
        here, there = there, chance.choice(onward)
    return steps


def drive(town: Town, chance: Random) -> Steps:
    """From a crossing at the rim until it comes to one again."""
    rim = [node for node in sorted(town.streets) if len(town.streets[node]) == 3]
    here = chance.choice(rim)
    there = next(node for node in town.streets[here] if len(town.streets[node]) == 4)
    steps: Steps = []
    while True:
        first, last = side_points(town.places[here], town.places[there], LANE_M, (CORNER_M, CORNER_M))
        steps += [(*first, 4.0), (*last, chance.uniform(6.5, 8.5)), (*last, chance.choice((0.0, 0.0, 2.0, 6.0)))]
        if there in rim:
            return steps
        onward = [node for node in town.streets[there] if node != here]
        here, there = there, chance.choice(onward)


def sample(steps: Steps, first_s: int, last_s: int) -> Iterator[tuple[int, float, float, float]]:
    """Time, place and speed each second. A step to the same place is a rest: its speed is how long."""
    moments, places, speeds = [float(first_s)], [steps[0][:2]], [steps[0][2]]
    for x, y, speed in steps[1:]:
        length = math.hypot(x - places[-1][0], y - places[-1][1])
        moments.append(moments[-1] + (length / speed if length else speed))
        places.append((x, y))
        speeds.append(speed if length else 0.0)
    i = 1
    for t in range(first_s, last_s + 1):
        while i < len(moments) and moments[i] < t:
            i += 1
        if i == len(moments):
            return
        apart = moments[i] - moments[i - 1]
        share = (t - moments[i - 1]) / apart if apart else 1.0
        (ax, ay), (bx, by) = places[i - 1], places[i]
        yield t, round(ax + share * (bx - ax), 2), round(ay + share * (by - ay), 2), round(speeds[i], 2)


def tracks(town: Town) -> dict[str, list[tuple[int, float, float, float]]]:
    """Two of three walkers are there from the first second to the last."""
    tracks_by_id = {}
    for number in range(WALKERS):
        chance = Random(f"{SEED} walker {number}")
        steps = walk(town, chance)
        begin, end = (0, LAST_S) if number % 3 else (chance.randint(0, 60), chance.randint(110, LAST_S))
        tracks_by_id[f"p{number}"] = list(sample(steps, begin, end))
    for number in range(CARS):
        chance = Random(f"{SEED} car {number}")
        tracks_by_id[f"c{number}"] = list(sample(drive(town, chance), number * LAST_S // CARS, LAST_S))
    return tracks_by_id


def geojson(town: Town) -> str:
    """One feature a line."""
    features = []
    for properties, shape in town.features:
        rings = [[[x, y] for x, y in ring.coords] for ring in (shape.exterior, *shape.interiors)]
        geometry = {"type": "Polygon", "coordinates": rings}
        features.append(json.dumps({"type": "Feature", "properties": properties, "geometry": geometry}))
    return '{"type": "FeatureCollection", "features": [\n' + ",\n".join(features) + "\n]}\n"


def tracks_csv(tracks_by_id: dict[str, list[tuple[int, float, float, float]]]) -> str:
    rows = sorted((t, id_, x, y, speed) for id_, track in tracks_by_id.items() for t, x, y, speed in track)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("t", "id", "x", "y", "speed"))
    writer.writerows((t, id_, f"{x:.2f}", f"{y:.2f}", f"{speed:.2f}") for t, id_, x, y, speed in rows)
    return text.getvalue()


def sites_csv(town: Town) -> str:
    return "name,x_m,y_m\n" + "".join(f"{name},{x:g},{y:g}\n" for name, (x, y) in town.stations.items())


def through_walls(town: Town, tracks_by_id: dict[str, list[tuple[int, float, float, float]]]) -> list[str]:
    """Return who goes through a building; there should be none."""
    walls = shapely.union_all(town.buildings)
    shapely.prepare(walls)
    lines = {id_: LineString([(x, y) for _, x, y, _ in track]) for id_, track in tracks_by_id.items()}
    return [id_ for id_, line in lines.items() if walls.intersects(line)]


def main() -> None:
    town = Town()
    tracks_by_id = tracks(town)
    assert not through_walls(town, tracks_by_id), through_walls(town, tracks_by_id)
    (HERE / "buildings.geojson").write_text(geojson(town), encoding="utf-8")
    (HERE / "sites.csv").write_text(sites_csv(town), encoding="utf-8")
    (HERE / "tracks.csv.gz").write_bytes(gzip.compress(tracks_csv(tracks_by_id).encode(), mtime=0))


if __name__ == "__main__":
    main()

"""Patrol: each host walks around its own square repeatedly. The centre and the direction are random."""

from collections.abc import Callable, Iterator
from math import hypot

from mobilenet.engine.random_streams import Stream
from mobilenet.parameters import Parameters
from mobilenet.world.ground import Ground
from mobilenet.world.trajectory import Leg, between


class Patrol(Parameters):
    """The fields are the keys that a scenario may set under hosts.mobility.settings."""

    side_m: float = 60.0
    speed_mps: float = 1.5

    def walk(self, ground: Ground) -> Callable[[Stream], Iterator[Leg]]:
        """Called once. The returned function is called for each host, with the host's own random stream."""
        return lambda stream: self.legs(ground, stream)

    def legs(self, ground: Ground, stream: Stream) -> Iterator[Leg]:
        x, y = ground.point(stream)
        half = self.side_m / 2
        corners = [(x - half, y - half), (x + half, y - half), (x + half, y + half), (x - half, y + half)]
        if stream.random() < 0.5:
            corners.reverse()
        while True:
            for (ax, ay), (bx, by) in zip(corners, corners[1:] + corners[:1], strict=True):
                seconds = hypot(bx - ax, by - ay) / self.speed_mps
                yield between(ax, ay, bx, by, round(seconds * 1e9))

"""ns-2 movement, as `setdest` and many other programs write it: Tcl commands that send nodes somewhere.

Model     `$node_(0) set X_ 150.0` is where a node begins, at 0 s; `$ns_ at 2.0 "$node_(0) setdest 250.0 90.0 1.5"`
          sends it straight to (250, 90) at 1.5 m/s from wherever it is at 2 s, and it stands there until it is sent
          elsewhere. Nodes are there from the beginning to the end. Heights, comments and other Tcl commands that are
          not about where nodes are do nothing
Units     seconds, metres, metres per second
Errors    ScenarioError with line and column
Source    The ns Manual, 16.1 (mobilenode); CMU's setdest
"""

from __future__ import annotations

import re
from array import array
from math import hypot
from typing import IO, NamedTuple

from mobilenet.parameters import ScenarioError
from mobilenet.world.tracks.samples import RecordedSamples, Sink
from mobilenet.world.tracks.source import lines, short
from mobilenet.world.tracks.table import as_number, no_number

PLACE = re.compile(r"\s*\$node_\(\s*([^()\s]+)\s*\)\s+set\s+([XYZ])_\s+(\S+)\s*;?\s*(?:#.*)?")
SENT = re.compile(
    r'\s*\$ns_?\s+at\s+(\S+)\s+"\s*\$node_\(\s*([^()\s]+)\s*\)'
    r'\s+setdest\s+(\S+)\s+(\S+)\s+([^\s"]+)\s*"\s*;?\s*(?:#.*)?'
)
EXAMPLE_LINES = 'expected $node_(0) set X_ 1.0 or $ns_ at 2.0 "$node_(0) setdest 3.0 4.0 1.5"'


class _Node(NamedTuple):
    begins: dict[str, tuple[float, int]]  # X or Y: where, and in which line
    commands: array[float]  # t, x, y, speed, line; t, ...


def read(stream: IO[bytes], file: str, lonlat: bool | None) -> RecordedSamples:
    nodes: dict[str, _Node] = {}

    def node(name: str) -> _Node:
        return nodes.setdefault(name, _Node({}, array("d")))

    def number(line: int, match: re.Match[str], group: int, name: str) -> float:
        try:
            return as_number(match[group])
        except ValueError:
            raise ScenarioError(f"{file}:{line}:{match.start(group) + 1}: {name}: {no_number(match[group])}") from None

    for line, text in enumerate(lines(stream, file), 1):
        if match := SENT.fullmatch(text.rstrip("\r\n")):
            t_s, x, y, speed = (
                number(line, match, group, name) for group, name in ((1, "t"), (3, "x"), (4, "y"), (5, "speed"))
            )
            if not 0 <= t_s <= 1e9:
                raise ScenarioError(f"{file}:{line}:{match.start(1) + 1}: t: {t_s:g} s is not between 0 and 1e9")
            if not 0 <= speed < 1e6:
                raise ScenarioError(
                    f"{file}:{line}:{match.start(5) + 1}: speed: got {speed:g} m/s, expected a number ≥ 0"
                )
            node(match[2]).commands.extend((t_s, x, y, speed, line))
        elif match := PLACE.fullmatch(text.rstrip("\r\n")):
            if match[2] != "Z":
                node(match[1]).begins[match[2]] = (number(line, match, 3, match[2].lower()), line)
        elif "$node_(" in text and not text.lstrip().startswith("#"):
            raise ScenarioError(f"{file}:{line}:{text.index('$node_(') + 1}: {short(text.strip())}: {EXAMPLE_LINES}")
        elif text.lstrip().startswith("$") and not text.endswith("\n"):
            raise ScenarioError(f"{file}:{line}:{len(text) + 1}: the file ends within a command, {short(text.strip())}")
    sink = Sink(file)
    for name, each in nodes.items():
        _walk(sink, name, each)
    return sink.finish("ns2", False, waypoints=True)


def _walk(sink: Sink, name: str, node: _Node) -> None:
    """The node's waypoints: where it is whenever it turns, sets off or arrives."""
    each = [tuple(node.commands[i : i + 5]) for i in range(0, len(node.commands), 5)]
    for axis in "XY":
        if axis not in node.begins:
            line = int(each[0][4]) if each else next(line for _, line in node.begins.values())
            raise sink.error(
                line,
                1,
                f"{axis.lower()}: the first position of node {short(name)} is missing; expected $node_({name[:20]})"
                f" set {axis}_ ...",
            )
    (x, line), (y, _) = node.begins["X"], node.begins["Y"]
    t_s = 0.0
    sink.add(t_s, name, x, y, line)
    goal: tuple[float, float, float, int] | None = None  # x, y, speed, line
    each.sort(key=lambda command: command[0])
    for begins_s, *to in [*each, (float("inf"), 0.0, 0.0, 0.0, 0.0)]:
        if goal is not None:
            goal_x, goal_y, speed, line = goal
            apart = hypot(goal_x - x, goal_y - y)
            arrives_s = t_s + apart / speed if apart and speed else t_s
            if arrives_s <= begins_s:
                if arrives_s > t_s:
                    t_s, x, y = arrives_s, goal_x, goal_y
                    sink.add(t_s, name, x, y, line)
            else:
                share = (begins_s - t_s) / (arrives_s - t_s)
                x, y = x + share * (goal_x - x), y + share * (goal_y - y)
        if begins_s == float("inf"):
            break
        if begins_s > t_s:
            t_s = begins_s
            sink.add(t_s, name, x, y, int(to[3]))
        goal = (to[0], to[1], to[2], int(to[3]))

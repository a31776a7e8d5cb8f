"""Read ns-2 movement files: Tcl commands that move nodes, as written by `setdest` and many other programs.

Model     `$node_(0) set X_ 150.0` sets the initial position of a node at 0 s. `$ns_ at 2.0 "$node_(0) setdest 250.0
          90.0 1.5"` moves the node at 1.5 m/s from its position at 2 s straight to (250, 90), where it waits for the
          next command. `$ns_ at 7.0 "$node_(0) set X_ 100.0"` moves the node there at 7 s, within JUMP_S. A node
          without a previous position appears there. A node whose first command is setdest comes from (0, 0), as in
          ns-2. Nodes never leave. Heights, and commands that do not concern positions, are counted and ignored. Tcl
          itself is not evaluated, so a command that moves nodes in another way is rejected.
Units     Distances are in metres, times in seconds, and speeds in metres per second.
Errors    ScenarioError with line and column.
Source    The ns Manual, 16.1 (mobilenode); CMU's setdest; ns-3, Ns2MobilityHelper
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from dataclasses import replace
from math import hypot, inf, isnan, nan
from typing import IO, NamedTuple

from mobilenet.parameters import ScenarioError
from mobilenet.world.tracks.samples import RecordedSamples, Sink
from mobilenet.world.tracks.source import lines, short
from mobilenet.world.tracks.table import as_number, no_number

PLACE = re.compile(r"\s*\$node_\(\s*([^()\s$]+)\s*\)\s+set\s+([XYZ])_\s+(\S+)\s*;?\s*(?:#.*)?")
SENT = re.compile(
    r'\s*\$ns_?\s+at\s+(\S+)\s+"\s*\$node_\(\s*([^()\s$]+)\s*\)'
    r'\s+setdest\s+(\S+)\s+(\S+)\s+([^\s"]+)\s*"\s*;?\s*(?:#.*)?'
)
PUT = re.compile(
    r'\s*\$ns_?\s+at\s+(\S+)\s+"\s*\$node_\(\s*([^()\s$]+)\s*\)\s+set\s+([XYZ])_\s+([^\s"]+)\s*"\s*;?\s*(?:#.*)?'
)
MOVES = re.compile(r'\$\w+(?:\([^)]*\))?\s+(?:setdest|set\s+[XYZ]_)(?!\w)|(?<=")\s*\$node_\([^)]*\)\s+[-+.\d]')
CUT = re.compile(
    r'\$(?:n?|no|nod|node_?|node_\([^)]*(?:\)\s*(?:s|se|set.*)?)?|ns_?(?:\s+(?:at?\b[^"{]*(?:"[^"]*)?)?)?)'
)  # the start of a command that moves a node, to detect a file that is cut off within a command
VARIABLE = re.compile(r"[(\s]\$")
JUMP_S = 0.001
EXAMPLE_LINES = 'expected $node_(0) set X_ 1.0 or $ns_ at 2.0 "$node_(0) setdest 3.0 4.0 1.5"'


class _Node(NamedTuple):
    begins: dict[str, tuple[float, int]]  # X or Y -> coordinate and line number
    # All commands in order, each as t, x, y, speed and line. The speed is nan for a command that places the node.
    commands: array[float]


def read(stream: IO[bytes], file: str, lonlat: bool | None) -> RecordedSamples:
    nodes: dict[str, _Node] = {}

    def node(name: str) -> _Node:
        return nodes.setdefault(name, _Node({}, array("d")))

    def number(line: int, match: re.Match[str], group: int, name: str) -> float:
        try:
            return as_number(match[group])
        except ValueError:
            raise ScenarioError(f"{file}:{line}:{match.start(group) + 1}: {name}: {no_number(match[group])}") from None

    def time(line: int, match: re.Match[str]) -> float:
        t_s = number(line, match, 1, "t")
        if not 0 <= t_s <= 1e9:
            raise ScenarioError(f"{file}:{line}:{match.start(1) + 1}: t: {t_s:g} s is not between 0 and 1e9")
        return t_s

    skipped = 0
    for line, text in enumerate(lines(stream, file), 1):
        if match := SENT.fullmatch(text.rstrip("\r\n")):
            t_s = time(line, match)
            x, y, speed = (number(line, match, group, name) for group, name in ((3, "x"), (4, "y"), (5, "speed")))
            if not 0 <= speed < 1e6:
                raise ScenarioError(
                    f"{file}:{line}:{match.start(5) + 1}: speed: got {speed:g} m/s, expected a number ≥ 0"
                )
            node(match[2]).commands.extend((t_s, x, y, speed, line))
        elif match := PUT.fullmatch(text.rstrip("\r\n")):
            t_s, value = time(line, match), number(line, match, 4, match[3].lower())
            if isnan(value):
                raise ScenarioError(f"{file}:{line}:{match.start(4) + 1}: {match[3].lower()}: not a finite number")
            if match[3] != "Z":
                place = (value, nan) if match[3] == "X" else (nan, value)
                node(match[2]).commands.extend((t_s, *place, nan, line))
        elif match := PLACE.fullmatch(text.rstrip("\r\n")):
            if match[2] != "Z":
                node(match[1]).begins[match[2]] = (number(line, match, 3, match[2].lower()), line)
        elif (moves := MOVES.search(text)) and not text.lstrip().startswith("#"):
            advice = "; variables of Tcl are not evaluated" if VARIABLE.search(text) else ""
            raise ScenarioError(f"{file}:{line}:{moves.start() + 1}: {short(text.strip())}: {EXAMPLE_LINES}{advice}")
        elif not text.endswith("\n") and CUT.fullmatch(text.strip()):
            raise ScenarioError(f"{file}:{line}:{len(text) + 1}: the file ends within a command, {short(text.strip())}")
        else:
            skipped += bool(text.strip()) and not text.lstrip().startswith("#")
    if not nodes:
        raise ScenarioError(f"{file}: contains no tracks; {EXAMPLE_LINES}")
    sink = Sink(file)
    _require_speed(sink, nodes)
    for name, each in nodes.items():
        _walk(sink, name, each)
    return replace(sink.finish("ns2", False, waypoints=True), skipped=skipped)


def _require_speed(sink: Sink, nodes: dict[str, _Node]) -> None:
    """Raise ScenarioError if every movement of the nodes has a speed of 0 m/s. CORE makes such nodes jump, but in ns-2
    they do not move.
    """
    if any(speed for node in nodes.values() for speed in node.commands[3::5]):
        return
    for node in nodes.values():
        begins = tuple(node.begins.get(axis, (0.0,))[0] for axis in "XY")
        for _, x, y, _, line in _in_order(node):
            if (x, y) != begins:
                what = "speed: 0 m/s in all lines, so no node would ever move; expected a speed > 0 in some of them"
                raise sink.error(int(line), 1, what)


def _walk(sink: Sink, name: str, node: _Node) -> None:
    """Convert the commands of a node to samples: its position whenever it starts, turns or arrives."""
    commands = list(_in_order(node))
    if len(node.begins) == 1:
        [(axis, (_, line))] = node.begins.items()
        raise sink.error(line, 1, f"node {short(name)} begins with {axis.lower()} only; expected both axes")
    t_s, x, y, line = 0.0, 0.0, 0.0, int(commands[0][4]) if commands else 0
    if node.begins:
        (x, line), (y, _) = node.begins["X"], node.begins["Y"]
    elif isnan(commands[0][3]):
        t_s, x, y = commands.pop(0)[:3]
        if isnan(x) or isnan(y):
            missing = "XY"[isnan(y)]
            raise sink.error(
                line, 1, f"{missing.lower()}: the first position of node {short(name)} is missing; expected"
                f" $node_({name[:20]}) set {missing}_ ... at the same time",
            )  # fmt: skip
    sink.add(t_s, name, x, y, line)
    goal: tuple[float, float, float, int] | None = None  # x, y, speed, line
    for begins_s, to_x, to_y, to_speed, to_line in [*commands, (inf, 0.0, 0.0, 0.0, 0.0)]:
        if goal is not None:
            goal_x, goal_y, speed, line = goal
            apart = hypot(goal_x - x, goal_y - y)
            arrives_s = t_s + apart / speed if apart and speed else t_s
            if arrives_s <= begins_s:
                if arrives_s > t_s:
                    t_s, x, y = arrives_s, goal_x, goal_y
                    sink.add(t_s, name, x, y, line)
            elif begins_s > t_s:
                share = (begins_s - t_s) / (arrives_s - t_s)
                x, y = x + share * (goal_x - x), y + share * (goal_y - y)
        if begins_s == inf:
            break
        if begins_s > t_s:
            t_s = begins_s
            sink.add(t_s, name, x, y, int(to_line))
        goal = (to_x, to_y, to_speed, int(to_line))
        if isnan(to_speed):
            t_s, x, y, goal = t_s + JUMP_S, x if isnan(to_x) else to_x, y if isnan(to_y) else to_y, None
            sink.add(t_s, name, x, y, int(to_line))


def _in_order(node: _Node) -> Iterator[tuple[float, ...]]:
    """Yield the commands of a node in chronological order. Simultaneous commands that place it are merged."""
    each = sorted(zip(*[iter(node.commands)] * 5, strict=True), key=lambda command: command[0])
    while each:
        t_s, x, y, speed, line = each.pop(0)
        while isnan(speed) and each and each[0][0] == t_s and isnan(each[0][3]):
            _, next_x, next_y, _, _ = each.pop(0)
            x, y = x if isnan(next_x) else next_x, y if isnan(next_y) else next_y
        yield t_s, x, y, speed, line

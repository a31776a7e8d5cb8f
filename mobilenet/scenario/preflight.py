"""Check a scenario for problems that involve several groups of keys.

Model     Named files, stations and hosts must exist, the backbone must connect the stations, and the run must not be
          far larger than the user could have intended. The estimated size is the sum of messages on links for the first
          joins, deliveries (each host receives each message), messages between stations, and a few small events per
          second for each node. If frames or messages are recorded, each frame adds a row for each node in range. The
          drain is estimated separately, because its length is not known here.
Units     events of the simulation, or rows that are written
Errors    ScenarioError, all problems at once
Source    ours: docs/guide/scenarios.md
"""

from __future__ import annotations

from collections.abc import Iterator
from math import pi

import numpy as np
from numpy.typing import NDArray

from mobilenet.engine.clock import ns
from mobilenet.network.radio.service import Place
from mobilenet.network.radio_models import model_of
from mobilenet.network.wired.network import adjacency
from mobilenet.network.wired.parameters import TEST_INTERVAL_S
from mobilenet.network.wired.tree import links, mean_hops, neighbours_of
from mobilenet.parameters import ScenarioError, number
from mobilenet.quoting import pluralize, there_are
from mobilenet.scenario import interventions_check, radio_preflight
from mobilenet.scenario.error_messages import line
from mobilenet.scenario.mobile_keys import MobileKeys
from mobilenet.scenario.protocol_groups import declaration_of
from mobilenet.scenario.real_time import RealTimePrograms
from mobilenet.scenario.yaml_reader import Node
from mobilenet.world.coverage import Coverage, solid
from mobilenet.world.faults import ExplicitFaults, PaperFaults
from mobilenet.world.interventions import added_hosts
from mobilenet.world.layout import FileLayout, HexagonLayout, station_positions
from mobilenet.world.mobility import Population, trajectories
from mobilenet.world.track_mobility import Tracks, doubt_about_metres
from mobilenet.world.tracks.projection import Origin
from mobilenet.world.tracks.read import is_lonlat
from mobilenet.world.tracks.sites import read_sites

ADVICE = "specify the position of (0, 0) on Earth with origin: {lon: ..., lat: ...}"
SMALL_MATTERS_PER_S = 4  # small events per second at each node: acknowledgements, heartbeats, samples
SENT_AGAIN = 1.5  # average number of transmissions of each message in each cell
HOSTS_LOOKED_AT_IN_ONE = 100  # checking this many hosts in a tick costs as much as one event


def origin_of(scenario: MobileKeys, root: Node) -> Origin | None:
    """Return the position of the plane's origin on Earth: the key `origin`, or an origin derived from sites or tracks
    with longitudes and latitudes.
    """
    layout, mobility = scenario.stations.layout, scenario.hosts.mobility
    if scenario.anchor is not None:
        return scenario.origin
    tracks_on_earth = isinstance(mobility, Tracks) and is_lonlat(
        scenario.folder / mobility.file, mobility.format, mobility.coordinates
    )
    sites = read_sites(scenario.folder / layout.file) if isinstance(layout, FileLayout) else None
    if sites is not None and sites.lonlat:
        if isinstance(mobility, Tracks) and not tracks_on_earth:
            raise ScenarioError(
                line(
                    root,
                    "stations.layout.file",
                    f"the stations are in longitude and latitude, the tracks in metres: {ADVICE}",
                )
            )
        return sites.origin()
    if not tracks_on_earth:
        return None
    if not isinstance(layout, HexagonLayout):
        raise ScenarioError(
            line(
                root,
                "hosts.mobility.file",
                f"the tracks are in longitude and latitude, the stations in metres: {ADVICE}",
            )
        )
    assert isinstance(mobility, Tracks)
    return mobility.read(scenario.folder).origin()


def check(scenario: MobileKeys, root: Node) -> None:
    problems = [line(root, path, what) for path, what in _objections(scenario)]
    if problems:
        raise ScenarioError("\n".join(problems[:20]))


def _objections(scenario: MobileKeys) -> Iterator[tuple[str, str]]:
    """Yield each problem as (dotted path, description)."""
    stations = scenario.stations
    sites = station_positions(stations.layout, scenario.folder, scenario.anchor)
    count = len(sites)
    if len(set(map(tuple, sites.tolist()))) < count:
        yield "stations.layout", "two stations are at the same position"
    if stations.names is not None and (len(stations.names) != count or len(set(stations.names)) != count):
        yield "stations.names", f"expected {count} different names, one for each station"
    yield from radio_preflight.objections(
        scenario.wireless, scenario.hosts.attachment, Place(scenario.folder, scenario.anchor, scenario.seed)
    )
    backbone = stations.backbone
    if backbone.edges is not None:
        try:
            (neighbours_of if backbone.kind == "tree" else adjacency)(backbone.edges, count)
        except ValueError as error:
            yield "stations.backbone.edges", str(error)
    if backbone.kind != "tree" and "connections" in declaration_of(scenario.protocol).needs:
        why = f"{scenario.protocol.name} uses connections between neighbours; expected tree"
        yield "stations.backbone.kind", why
    if isinstance(scenario.faults, PaperFaults) and number(scenario.faults.station) >= count:
        there = there_are(count, "station", "s")
        yield "faults.station", f"{scenario.faults.station} does not exist; {there}"
    yield from interventions_check.objections(scenario, sites)
    mobility = scenario.hosts.mobility.model
    for place, process in enumerate(scenario.own_processes):
        if process.speed_limit_mps is not None and mobility != "static":
            why = f"only hosts of the model static can be moved by processes, got hosts.mobility.model: {mobility}"
            yield f"own_processes.{place}.speed_limit_mps", why
    hosts = scenario.hosts.count
    if isinstance(scenario.protocol, RealTimePrograms):
        yield from _odd_programs(scenario, scenario.protocol, count)
    if hosts is not None:
        yield from _strangers(scenario, hosts)
        yield from _too_big(scenario, hosts + len(added_hosts(scenario.interventions)), sites)
        yield from _no_ground(scenario, hosts, sites)


def _odd_programs(scenario: MobileKeys, protocol: RealTimePrograms, stations: int) -> Iterator[tuple[str, str]]:
    """Yield the values that are unsuitable for programs that run in real time."""
    name, hosts = protocol.name, scenario.hosts.count
    if scenario.workload.arrivals != "none":
        yield "workload.arrivals", f"with {name}, only the programs start broadcasts; expected arrivals: none"
    if hosts is not None and hosts > protocol.most_hosts:
        yield "hosts.count", f"{hosts}, expected at most {protocol.most_hosts} with {name}, because {protocol.why_most}"
    there = {"h": hosts, "s": stations}
    for node in getattr(protocol, "commands", ()):
        if (limit := there[node[0]]) is not None and int(node[1:]) >= limit:
            kind = "host" if node[0] == "h" else "station"
            yield f"protocol.commands.{node}", f"{node} does not exist; {there_are(limit, kind, node[0])}"


def _strangers(scenario: MobileKeys, hosts: int) -> Iterator[tuple[str, str]]:
    """Yield the lists that name a missing host. `hosts` is the number of hosts at the beginning."""
    listed = {"workload.messages": {message.host for message in scenario.workload.messages}}
    if isinstance(scenario.faults, ExplicitFaults):
        listed["faults.outages"] = {outage.host for outage in scenario.faults.outages}
    if scenario.churn is not None:
        listed["churn.changes"] = {change.host for change in scenario.churn.changes}
    for place, process in enumerate(scenario.own_processes):
        listed[f"own_processes.{place}.hosts"] = set() if isinstance(process.hosts, str) else set(process.hosts)
    for path, names in listed.items():
        strangers = sorted((name for name in names if number(name) >= hosts), key=number)
        if strangers:
            yield path, f"{strangers[0]} does not exist; {there_are(hosts, 'host', 'h')}"


def _no_ground(scenario: MobileKeys, hosts: int, sites: NDArray[np.float64]) -> Iterator[tuple[str, str]]:
    """Yield a problem if hosts do not have any area to walk in. It is sufficient to check one cell."""
    mobility = scenario.hosts.mobility
    if hosts == 0 or isinstance(mobility, Tracks):
        return
    try:
        if mobility.area is not None:
            mobility.area.ground()
        else:
            solid(Coverage(sites[:1], model_of(scenario.wireless).ground_m).disks[0])
    except ScenarioError as error:
        yield model_of(scenario.wireless).range_key if mobility.area is None else "hosts.mobility.area", str(error)


def warnings(scenario: MobileKeys) -> list[str]:
    """Return warnings about settings that can run, but are probably not intended."""
    declaration = declaration_of(scenario.protocol)
    unicast = "connections" in declaration.needs or declaration.unicasts(scenario.protocol)
    return [
        *radio_preflight.warnings(scenario.wireless, scenario.workload.payload_bytes, unicast),
        *_separate_cell_warnings(scenario),
    ]


def doubts_about_tracks(scenario: MobileKeys) -> list[str]:
    """Return a warning if tracks in metres may be in degrees."""
    mobility = scenario.hosts.mobility
    if not isinstance(mobility, Tracks) or mobility.coordinates != "auto":
        return []
    doubt = doubt_about_metres(mobility.read(scenario.folder), model_of(scenario.wireless).cell_m)
    return [doubt] if doubt else []


def _separate_cell_warnings(scenario: MobileKeys) -> list[str]:
    """Return a warning if there are cells that do not touch."""
    mobility = scenario.hosts.mobility
    if isinstance(mobility, Tracks) or mobility.area is not None:
        return []
    model = model_of(scenario.wireless)
    if model.is_narrow:
        return []  # radio_preflight has reported this already
    sites = station_positions(scenario.stations.layout, scenario.folder, scenario.anchor)
    ground = Coverage(sites, model.ground_m).ground
    parts = len(ground.geoms) if hasattr(ground, "geoms") else 1
    if parts == 1:
        return []
    return [
        f"{model.range_key}: the cells of {len(sites)} stations form {parts} areas that do not touch, and hosts"
        " cannot walk from one to another; set hosts.mobility.area, or place stations less than"
        f" {2 * model.cell_m:g} m apart"
    ]


def check_world(scenario: MobileKeys) -> Population:
    """Check the world, including imported tracks, which take a long time to read. Return the trajectories of all
    hosts.
    """
    sites = station_positions(scenario.stations.layout, scenario.folder, scenario.anchor)
    coverage = Coverage(sites, model_of(scenario.wireless).ground_m)
    population = trajectories(
        scenario.hosts, scenario.seed, coverage, ns(scenario.duration_s), scenario.folder, scenario.anchor
    )
    require_size(scenario, len(population.trajectories))
    return population


def require_size(scenario: MobileKeys, hosts: int) -> None:
    """Refuse a run that exceeds its size limit, or that names hosts that never exist. `hosts` is the number of hosts at
    the beginning, which may be known only from the tracks.
    """
    if (objection := interventions_check.strangers(scenario, hosts)) is not None:
        raise ScenarioError(": ".join(objection))
    for path, what in _strangers(scenario, hosts):
        raise ScenarioError(f"{path}: {what}")
    sites = station_positions(scenario.stations.layout, scenario.folder, scenario.anchor)
    for path, what in _too_big(scenario, hosts + len(added_hosts(scenario.interventions)), sites):
        raise ScenarioError(f"{path}: {what}")


def estimated_events(scenario: MobileKeys) -> int:
    """Return the estimated size of the run in events. This reads imported tracks."""
    return round(_estimate(scenario, *_population(scenario)))


def events_of_joins(scenario: MobileKeys) -> int:
    """Return the number of estimated events that are link messages of the first joins."""
    return round(_hops_of_joins(scenario, *_population(scenario)))


def _population(scenario: MobileKeys) -> tuple[int, NDArray[np.float64]]:
    """Return the number of hosts, and the positions of the stations."""
    hosts = len(check_world(scenario).trajectories) + len(added_hosts(scenario.interventions))
    return hosts, station_positions(scenario.stations.layout, scenario.folder, scenario.anchor)


def drain_events(scenario: MobileKeys, drain_s: float) -> int:
    """Return an upper estimate of the additional events if the drain takes this long and stations send everything
    again. It never exceeds limits.max_events.
    """
    hosts, sites = _population(scenario)
    frames_per_s, others_per_s = _per_s(scenario, hosts, len(sites))
    again_per_s = declaration_of(scenario.protocol).most_sent_again_per_s(
        scenario.protocol, round(_broadcasts(scenario, hosts))
    )
    frames_per_s = SENT_AGAIN * frames_per_s + len(sites) * again_per_s
    per_s = frames_per_s * (1 + _rows(scenario, hosts, sites)) + others_per_s
    return round(min(scenario.limits.max_events, drain_s * per_s))


def _too_big(scenario: MobileKeys, hosts: int, sites: NDArray[np.float64]) -> Iterator[tuple[str, str]]:
    events = _estimate(scenario, hosts, sites)
    if events > scenario.limits.max_events:
        yield (
            "limits.max_events",
            (
                f"about {events:.1e} events for {pluralize(hosts, 'host')}, {pluralize(len(sites), 'station')} and"
                f" {scenario.duration_s:g} s, expected at most {scenario.limits.max_events:.1e}; raise this limit if"
                " this number is intended"
            ),
        )


def _estimate(scenario: MobileKeys, hosts: int, sites: NDArray[np.float64]) -> float:
    duration_s, stations, broadcasts = scenario.duration_s, len(sites), _broadcasts(scenario, hosts)
    frames_per_s, others_per_s = _per_s(scenario, hosts, stations)
    copies = declaration_of(scenario.protocol).frames_per_broadcast(scenario.protocol, hosts, stations)
    frames = broadcasts * copies * SENT_AGAIN + duration_s * frames_per_s
    rows = frames * _rows(scenario, hosts, sites)
    if scenario.record.positions_interval_s is not None:
        others_per_s += hosts / scenario.record.positions_interval_s
    on_the_wire, _ = _backbone(scenario, stations)
    joining = _hops_of_joins(scenario, hosts, sites)
    return joining + broadcasts * (hosts + on_the_wire) + duration_s * (frames_per_s + others_per_s) + rows


def _hops_of_joins(scenario: MobileKeys, hosts: int, sites: NDArray[np.float64]) -> float:
    stations = len(sites)
    try:
        edges = links(scenario.stations.backbone, sites.tolist())
        between = 1 - 1 / stations if edges is None else mean_hops(edges, stations)
    except ValueError:  # _objections reports such edges or positions
        return 0.0
    return hosts * declaration_of(scenario.protocol).hops_per_join(scenario.protocol, stations, between)


def _broadcasts(scenario: MobileKeys, hosts: int) -> float:
    workload = scenario.workload
    return len(workload.messages) or hosts * scenario.duration_s * workload.broadcasts_per_host_per_s


def _per_s(scenario: MobileKeys, hosts: int, stations: int) -> tuple[float, float]:
    """Return the rates of events that do not depend on broadcasts, per second: first small frames, then detector tests
    plus ticks.
    """
    frames_per_s = (hosts + stations) * float(SMALL_MATTERS_PER_S)
    frames_per_s += declaration_of(scenario.protocol).frames_per_s(scenario.protocol, hosts, stations)
    _, tests_per_s = _backbone(scenario, stations)
    ticks_per_s = (1 + hosts / HOSTS_LOOKED_AT_IN_ONE) * 1000 / scenario.hosts.attachment.tick_ms
    return frames_per_s, tests_per_s + ticks_per_s


def _rows(scenario: MobileKeys, hosts: int, sites: NDArray[np.float64]) -> float:
    """Return the number of rows that one frame adds to the recorded tables."""
    return _in_range(scenario, hosts, sites) * (scenario.record.frames + scenario.record.messages)


def _backbone(scenario: MobileKeys, stations: int) -> tuple[int, float]:
    """Return the number of link messages for each broadcast, and the number of failure detector tests per second. A
    path over several links counts as one link.
    """
    backbone = scenario.stations.backbone
    copies = 2 if backbone.acknowledges else 1
    if not backbone.detects:
        return copies * stations, 0.0
    tested = (stations - 1).bit_length()  # number of stations that each station tests in a round
    return copies * stations, 2 * stations * tested / (backbone.test_interval_s or TEST_INTERVAL_S)


def _in_range(scenario: MobileKeys, hosts: int, sites: NDArray[np.float64]) -> float:
    """Return the number of nodes within range of a station if hosts are spread evenly."""
    reach_m = model_of(scenario.wireless).cell_m
    area = getattr(scenario.hosts.mobility, "area", None)
    if area is None:
        width, height = np.ptp(sites, axis=0) + 2 * reach_m
        ground_m2 = min(width * height, len(sites) * pi * reach_m**2)
    else:
        west, south, east, north = area.box_m
        ground_m2 = (east - west) * (north - south)
    return 1 + (hosts + len(sites)) * min(1.0, pi * reach_m**2 / ground_m2 if ground_m2 else 1.0)

"""Draw a scenario from a seed. Any key of a scenario may be drawn.

Model     The area is small: the stations are close enough to affect each other, and there are a dozen hosts. All other
          values are drawn from the schema (values.py). Keys that the loader rejects are removed until it accepts the
          scenario. The duration, and after it the number of hosts, is then reduced until the run has at most the given
          number of events. Events at given times are drawn last, so that they lie within the run. The deadline is the
          default one in 97 of 100 scenarios.
Units     as documented for each key
Source    ours: docs/validation/trust.md
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import mobilenet
from mobilenet.parameters import ScenarioError
from mobilenet.protocols.mobile_causal.parameters import ONLY
from mobilenet.protocols.vcube.parameters import PARAMETERS
from mobilenet.scenario import AnyScenario, ProcessScenario, Scenario, load_scenario
from mobilenet.scenario.preflight import estimated_events
from mobilenet.scenario.protocol_groups import declaration_of
from mobilenet.scenario.yaml_writer import to_yaml

from .values import Values

SHIPPED = Path(mobilenet.__file__).parents[1] / "scenarios"
WILD = 0.03  # Fraction of scenarios with many non-default keys. The verdict on such a scenario is often unknown.
FEW = 0.015  # Fraction of the keys of each group that are drawn in all other scenarios.
SHARES = (0.05, 0.1, 0.2)  # Possible fractions of the keys that are drawn in such a scenario.
RADIO_SHARE = 0.02  # With more keys at an extreme value, no node would receive any frames.
# An extreme value of any of these keys can silence a radio.
LINK_BUDGET = ("tx_dbm", "station_tx_dbm", "preamble_rssi_dbm", "noise_figure_db")
MOST_REPAIRS = 60
ENOUGH = 40.0  # number of broadcasts
LONG_ENOUGH_S = 20.0
INTERVALS_S = (0.2, 0.5, 2.0, 2.8, 10.0)
WILD_INTERVALS_S = (0.05, *INTERVALS_S)  # At 50 ms, a cell of six hosts would be overloaded for minutes.
BROADCASTS = ("all_to_all", "best_effort", "causal", "causal_reliable", "disjoint_paths", "reliable")
GROUPS = {"mobile_causal": "MobileCausal", "tcp_flooding": "TcpFlooding"}
GROUPS |= {name: parameters.__name__ for name, parameters in PARAMETERS.items()}
REPAIR_SHARE = 0.15  # fraction of the repair keys that are drawn if messages are repaired
Document = dict[str, Any]


class NotDrawn(Exception):
    """Raised if no scenario can be drawn from the seed."""


def draw_scenario(seed: int, folder: Path, most_events: int, is_hostile: bool = False) -> AnyScenario:
    """Write the scenario of a seed to `folder`/scenario.yaml, and the files that the scenario names next to it. Raise
    NotDrawn if this fails.
    """
    of_hostility = Random(f"campaign hostility {seed}") if is_hostile else None
    try:
        return _draw(Random(f"campaign {seed}"), Random(f"campaign repairs {seed}"), of_hostility, folder, most_events)
    except ScenarioError as error:
        raise NotDrawn(str(error)) from None


def _draw(
    random: Random, of_repairs: Random, of_hostility: Random | None, folder: Path, most_events: int
) -> AnyScenario:
    is_wild = random.random() < WILD
    values = Values(random, random.choice(SHARES) if is_wild else FEW)
    if random.random() < 0.2:
        return _repair(_processes(random, values, folder, is_wild), folder)
    document = _mobile(random, values, folder, is_wild)
    if document["protocol"].get("name") == "mobile_causal":
        _add_repairs(of_repairs, document)
    if of_hostility is not None:
        _make_hostile(of_hostility, document)
    scenario = _cut(document, _repair(document, folder), folder, most_events)
    if not is_wild:
        _let_it_broadcast(document, scenario)
    document |= _at_times(random, values, scenario, is_wild, of_hostility is not None)
    if document["protocol"].get("repair") == "selective":
        _add_silences(of_repairs, document)
    if random.random() < 0.97:
        document.pop("drain_s", None)
    return _repair(document, folder)


def _repair(document: Document, folder: Path) -> AnyScenario:
    """Return the scenario after removing from `document` the keys that the loader rejects."""
    for _ in range(MOST_REPAIRS):
        (folder / "scenario.yaml").write_text(to_yaml(document), encoding="utf-8")
        try:
            return load_scenario(folder / "scenario.yaml")
        except ScenarioError as error:
            if not _take_out(document, str(error).splitlines()[0]):
                raise NotDrawn(str(error)) from None
    raise NotDrawn("too many repairs")


def _take_out(document: Document, line: str) -> bool:
    """Remove the key that an error names, another key in a rejected comparison, or the group that contains the key.
    Return False if there is nothing to remove.
    """
    match = re.search(r"scenario\.yaml:\d+: ([\w.]+): (.*)", line)
    if match is None:
        return False
    path, what = match.group(1).split("."), re.findall(r"\w+", match.group(2))
    while path:
        place: Any = document
        for key in path[:-1]:
            place = place[int(key)] if isinstance(place, list) else place.get(key) if isinstance(place, dict) else None
        last, group = path.pop(), place
        if isinstance(group, dict) and isinstance(group.get(last), dict):
            group = group[last]
            what = [word for word in what if word != "name"]
        if isinstance(group, dict) and (named := [key for key in (last, *what) if key in group]):
            if group is document and named[0] in ESSENTIAL:
                return False
            if "expected null" in line:
                group[named[0]] = None
            else:
                del group[named[0]]
            return True
        if isinstance(place, dict) and last in place and not (place is document and last in ESSENTIAL):
            del place[last]
            return True
        if isinstance(place, list) and last.isdigit() and int(last) < len(place):
            del place[int(last)]
            return True
    return False


ESSENTIAL = ("duration_s", "stations", "hosts", "protocol", "workload", "processes", "seed")


def _mobile(random: Random, values: Values, folder: Path, is_wild: bool) -> Document:
    apart_m = random.choice((30.0, 90.0, 150.0, 200.0, 260.0))
    count = random.choice((1, 1, 2, 3, 4, 5))
    layout: Document = {"shape": "points", "points_m": [[i % 3 * apart_m, i // 3 * apart_m] for i in range(count)]}
    hosts = random.choice((0, 1, 2, 3, 4, 6, 4, 5, 5, 6, 6, 3, 4, 6, 8, 12))
    few = Values(random, min(values.share, RADIO_SHARE))
    wireless = few.group("WirelessParameters", frozenset(("obstacles", "mac", "model", "range_m", "reception")))
    wireless["model"] = random.choice(("unit_disk", "unit_disk", "sinr", "distance_table"))
    if wireless["model"] == "distance_table":
        distances_m = sorted({round(random.uniform(0, 300), 1) for _ in range(random.choice((2, 3, 8)))})
        chances = sorted((random.choice((0, 0.3, 0.9, 1)) for _ in distances_m[1:]), reverse=True)
        wireless["reception"] = [list(row) for row in zip(distances_m, [1, *chances], strict=True)]
    wireless["mac"] = "dcf" if wireless["model"] == "sinr" else random.choice(("dcf",) * 7 + ("acking",))
    if random.random() < 0.7 and wireless["model"] == "unit_disk":
        wireless["range_m"] = random.choice(
            (values.number({"type": "number", "minimum": 1, "maximum": 3000}), 80.0, 120.0)
        )
    if wireless["model"] == "sinr":
        for key in ("shadowing", "fading"):
            if random.random() < 0.4:
                wireless[key] = values.group(f"{key.title()}Parameters")
        if random.random() < 0.4:
            wireless["obstacles"] = _walls(random, folder, apart_m)
    protocol = _protocol(random, values, folder)
    unusual = frozenset(("edges", "kind") if protocol.get("class", "").startswith("courier") else ("edges",))
    return {
        "seed": random.randrange(10**6),
        "duration_s": random.choice((10.0, 15.0, 30.0, 60.0, 120.0)),
        "warmup_s": random.choice((0.0, 1.0)),
        "stations": {"layout": layout, "backbone": values.group("BackboneParameters", unusual)},
        "wireless": wireless,
        "hosts": {
            "count": hosts,
            "mobility": _mobility(random, values, folder, apart_m),
            **({"attachment": values.group("AttachmentParameters")} if random.random() < 0.4 else {}),
        },
        "protocol": protocol,
        "workload": _workload(random, values, is_wild),
        "record": {
            key: random.random() < 0.3 for key in ("frames", "messages", "programs")
        } | ({"positions_interval_s": random.choice((None, 0.01, 0.3, 5.0, 1e6))} if random.random() < 0.2 else {}),
    }  # fmt: skip


def _walls(random: Random, folder: Path, apart_m: float) -> Document:
    features = []
    for _ in range(random.randint(1, 4)):
        x, y = (random.uniform(-apart_m, 2 * apart_m) for _ in range(2))
        wide, high = random.choice(((2.0, 80.0), (80.0, 2.0), (30.0, 30.0)))
        corners = [[x, y], [x + wide, y], [x + wide, y + high], [x, y + high], [x, y]]
        geometry = {"type": "Polygon", "coordinates": [corners]}
        features.append({"type": "Feature", "properties": {}, "geometry": geometry})
    collection = {"type": "FeatureCollection", "crs": None, "features": features}
    (folder / "walls.geojson").write_text(json.dumps(collection), encoding="utf-8")
    return {"file": "walls.geojson"}


def _mobility(random: Random, values: Values, folder: Path, apart_m: float) -> Document:
    kind = random.choice(
        ("random_waypoint", "random_waypoint", "gauss_markov", "manhattan", "group", "static", "tracks", "own")
    )
    if kind == "own":
        shutil.copyfile(SHIPPED / "own_mobility" / "patrol.py", folder / "patrol.py")
        speed = random.choice((0.5, 5.0, 30.0))
        return {
            "class": "patrol.py:Patrol",
            "speed_limit_mps": speed,
            "settings": {"side_m": random.choice((40, apart_m)), "speed_mps": speed},
        }
    if kind == "tracks":  # The run must last at least as long as these hosts have to be present.
        lines = ["t,id,x,y"]
        for host in range(random.randint(1, 8)):
            t, x, y = random.choice((0.0, 0.0, 3.0)), random.uniform(-20, 50), random.uniform(-20, 50)
            for _ in range(random.choice((60, 200))):
                lines.append(f"{t:g},w{host},{x:.2f},{y:.2f}")
                t, x, y = t + random.choice((0.5, 1, 4)), x + random.uniform(-9, 10), y + random.uniform(-9, 10)
        (folder / "tracks.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
        return {"model": "tracks", "file": "tracks.csv"}
    if kind == "static":
        return {"model": "static"}
    low = random.choice((0.1, 1.38, 8.0, 30.0))
    if kind == "manhattan":
        return {"model": kind, "block_m": [40, 30], "speed_mps": [low, 2 * low], "lanes": random.choice((1, 2))}
    if kind == "group":
        radii = {"group_radius_m": random.choice((0, 10)), "deviation_m": 5}
        return {"model": "reference_point_group", "groups": random.choice((1, 3)), "speed_mps": low, **radii}
    if kind == "gauss_markov":
        return values.group("GaussMarkov", frozenset(("area",)))
    mobility: Document = {"model": kind, "speed_mps": [low, low * random.choice((1, 2))]}
    if random.random() < 0.3:
        mobility["pause_s"] = random.choice((0.5, 5.0, 60.0))
    if random.random() < 0.3:
        box = [-random.choice((50, 300)), -100, 3 * random.choice((50, 300)), 200]
        mobility["area"] = {"box_m": box, "hole_boxes_m": [[10, 10, 40, 40]]}
    return mobility


def _protocol(random: Random, values: Values, folder: Path) -> Document:
    kind = random.choice(("mobile_causal",) * 6 + ("tcp_flooding",) * 3 + ("gossip", "courier", "program"))
    if kind in GROUPS:
        return values.group(GROUPS[kind]) | {"name": kind}
    if kind == "program":
        shutil.copyfile(SHIPPED / "programs" / "flood.py", folder / "flood.py")
        return {"command": ["python3", "flood.py"], "promises": random.choice(("fifo", "best_effort"))}
    shutil.copyfile(SHIPPED / "own_protocol" / f"{kind}.py", folder / f"{kind}.py")
    return {"class": f"{kind}.py:{kind.title()}", "promises": "best_effort"}


def _add_repairs(random: Random, document: Document) -> None:
    """Turn on repairs with probability 1/2, and draw some of their keys. With DCF, half of these scenarios also repeat
    group frames. A separate stream keeps all other draws unchanged.
    """
    if random.random() < 0.5:
        return
    some = Values(random, 1.0).group("MobileCausal")
    keys = [key for key in ONLY["selective"] if random.random() < REPAIR_SHARE]
    protocol = {key: value for key, value in document["protocol"].items() if key not in ONLY["none"]}
    document["protocol"] = protocol | {"repair": "selective"} | {key: some[key] for key in keys}
    if document["wireless"]["mac"] == "dcf" and random.random() < 0.5:
        document["wireless"] |= {"groupcast": "unsolicited_retry", "group_retries": random.choice((1, 1, 2, 7))}


def _add_silences(random: Random, document: Document) -> None:
    """With probability 1/2, set `expiry_s`, so that stations give up hosts after a long silence. Such a scenario also
    loses frames and acknowledgements, and its run records frames or messages.
    """
    if random.random() < 0.5:
        return
    expiry_s = random.choice((1.0, 3.0, 8.0))
    document["protocol"]["expiry_s"] = expiry_s
    document["wireless"]["loss"] = random.choice((0.1, 0.3, 0.4, 0.5))
    document["record"] |= random.choice(({"frames": True}, {"messages": True}, {"frames": True, "messages": True}))
    since_s = random.uniform(0, max(0.0, document["duration_s"] - 2 * expiry_s))
    for host in range(random.randint(1, max(1, document["hosts"].get("count", 1)))):
        cut_off = {"do": "impair", "host": f"h{host}", "loss": 1}
        document.setdefault("interventions", []).append({"at_s": since_s, **cut_off})
        if random.random() < 0.5:
            document["interventions"].append({"at_s": since_s + 1.5 * expiry_s, **cut_off, "loss": 0})


def _make_hostile(random: Random, document: Document) -> None:
    """Draw the kind of backbone and a random loss. A separate stream keeps all other draws unchanged."""
    backbone = document["stations"]["backbone"]
    if document["protocol"].get("name") == "mobile_causal":
        for key in ("shape", "edges"):
            backbone.pop(key, None)
        backbone["kind"] = random.choice(("tree", "vcube_best_effort", "vcube_reliable", "vcube_causal"))
        if backbone["kind"] == "vcube_reliable":
            backbone |= {"test_interval_s": random.choice((0.3, 1.0)), "timeout_s": random.choice((0.05, 0.5))}
    document["wireless"]["loss"] = random.choice((0.0, 0.0, 0.1, 0.3))


def _workload(random: Random, values: Values, is_wild: bool) -> Document:
    workload: Document = {
        "payload_bytes": values.number({"type": "integer", "minimum": 0, "maximum": 1400, "default": 100})
    }
    kind = random.choice(("exponential",) * 8 + ("periodic",) * 5 + ("none",))
    if kind == "none":
        return workload | {"arrivals": "none"}
    return workload | {"arrivals": kind, "interval_s": random.choice(WILD_INTERVALS_S if is_wild else INTERVALS_S)}


def _cut(document: Document, scenario: AnyScenario, folder: Path, most_events: int) -> Scenario:
    """Shorten the run, then remove hosts, until the expected number of events is within the limit."""
    assert isinstance(scenario, Scenario)
    while estimated_events(scenario) > most_events:
        if document["duration_s"] > 10:
            document["duration_s"] /= 2
        elif document["hosts"].get("count", 0) > 1:
            document["hosts"]["count"] //= 2
        elif document["workload"].get("interval_s", 10) < 10:
            document["workload"]["interval_s"] *= 2
        else:
            document.pop("record", None)
            document["hosts"].pop("attachment", None)
            if "backbone" not in document["stations"]:
                raise NotDrawn(f"about {estimated_events(scenario)} events")
            del document["stations"]["backbone"]
        document["warmup_s"] = 0.0
        cut = _repair(document, folder)
        assert isinstance(cut, Scenario)
        scenario = cut
    return scenario


def _let_it_broadcast(document: Document, scenario: Scenario) -> None:
    """Make most runs deliver messages, because the verdict on a run without deliveries is mostly unknown."""
    if scenario.hosts.count == 0:
        document["hosts"]["count"] = 3
    if document["wireless"].get("loss") == 1:
        document["wireless"]["loss"] = 0.9
    # Extreme values of these keys can prevent hosts from joining, or from joining in time.
    for key in ("first_join_spread_s", "cookie_lifetime_s"):
        document["protocol"].pop(key, None)
    for key in LINK_BUDGET:
        document["wireless"].pop(key, None)
    document["hosts"]["mobility"].pop("area", None)
    if "side_m" in document["hosts"]["mobility"].get("settings", {}):
        document["hosts"]["mobility"]["settings"]["side_m"] = 40
    if scenario.wireless.model == "unit_disk":
        document["wireless"]["range_m"] = max(80.0, scenario.wireless.range_m)
    hosts = scenario.hosts.count or 3
    document["duration_s"] = max(document["duration_s"], LONG_ENOUGH_S)
    if scenario.workload.broadcasts_per_host_per_s * hosts * scenario.duration_s < ENOUGH:
        interval_s = hosts * document["duration_s"] / ENOUGH
        document["workload"] = {"interval_s": interval_s} | {
            key: value for key, value in document["workload"].items() if key == "payload_bytes"
        }


def _at_times(random: Random, values: Values, scenario: Scenario, is_wild: bool, is_hostile: bool) -> Document:
    """Draw faults, changes of membership and interventions within the run. With `is_hostile`, there are more of them,
    and always some interventions.
    """
    is_rough = is_wild or is_hostile
    duration_s, sections = scenario.duration_s, Document()
    hosts = scenario.hosts.count or 1

    def when() -> float:
        return round(random.uniform(0, duration_s * 0.98), random.choice((0, 3, 9))) % duration_s

    def host() -> str:
        return f"h{random.randrange(max(1, hosts))}"

    def station() -> str:
        return f"s{random.randrange(scenario.station_count)}"

    def later() -> float:
        return random.choice((0, 0.001, 0.05, 2.0 if is_rough else 0.2))

    def place() -> list[float]:
        return [round(random.uniform(-300, 600), 2), round(random.uniform(-200, 300), 2)]

    if random.random() < 0.35:
        lasting = random.choice((0.01, 1.0, duration_s / 4, (2 if is_wild else 0.5) * duration_s))
        sections["faults"] = random.choice((
            {"schedule": "random", "rate_per_host_per_min": min(60, 30 / lasting), "mean_duration_s": lasting},
            {"schedule": "paper", "station": station(), "first_at_s": when(), "every_s": random.choice((1, 10)),
             "first_duration_s": lasting},
            {"schedule": "explicit", "outages": [{"host": f"h{i}", "at_s": when(), "duration_s": lasting}
                                                 for i in range(min(hosts, 3))]},
        ))  # fmt: skip
    if random.random() < 0.25:
        sections["churn"] = values.group("ChurnParameters", frozenset(("changes",)))
    if random.random() < 0.4 or is_hostile:
        makers: list[Callable[[], Document]] = [
            lambda: {"do": random.choice(("crash", "recover", "join", "leave", "broadcast")), "host": host()},
            lambda: {"do": "drag", "host": host(), "to_m": place()},
            lambda: {"do": random.choice(("radio_off", "radio_on")), "station": station()},
            lambda: {"do": "loss", "loss": random.choice((0.0, 0.1, 0.2, 0.5 if is_wild else 0.05))},
            lambda: {"do": "interval", "interval_s": random.choice((0.5, 3.0, 10.0))},
            lambda: {"do": random.choice(("cut", "mend")), "link": sorted({station(), station()})},
            lambda: {"do": "add", "to_m": place()},
            lambda: {"do": "impair", "host": host(), "loss": random.choice((0, 0.1, 0.5, 1)), "delay_s": later()},
            lambda: (
                {"do": "impair_link", "link": sorted({station(), station()}), "delay_s": later()}
                | ({"loss": 0.1} if "connections" in declaration_of(scenario.protocol).needs else {})
            ),
        ]
        count = random.randint(1, 8 if is_rough else 3)
        chosen = [{"at_s": when(), **random.choice(makers)()} for _ in range(count)]
        sections["interventions"] = [one for one in chosen if len(one.get("link", (1, 2))) == 2]
    return sections


def _processes(random: Random, values: Values, folder: Path, is_wild: bool) -> Document:
    kind = random.choice((*BROADCASTS, "ring"))
    document: Document = {
        "seed": random.randrange(10**6),
        "processes": random.choice((2, 4, 8, 16) if kind == "disjoint_paths" else (2, 3, 4, 5, 8, 16)),
        "workload": values.group("ProcessWorkload"),
    }
    if "messages" in document["workload"]:
        document["workload"]["messages"] %= 6
    if kind == "ring":
        shutil.copyfile(SHIPPED / "own_protocol" / "ring.py", folder / "ring.py")
        return document | {"protocol": {"class": "ring.py:Ring"}, "detector": None}
    document["protocol"] = values.group(GROUPS[kind]) | {"name": kind}
    if random.random() < 0.7:
        networks = ("PacketNetwork", "WiredNetwork") if kind == "causal" else ("AbstractNetwork", "WiredNetwork")
        name = random.choice(networks)
        document["network"] = values.group(name) | {"kind": name.removesuffix("Network").lower()}
    if random.random() < 0.6:
        document["detector"] = random.choice((None, values.group("DetectorParameters")))
    if random.random() < 0.4:
        document["faults"] = [
            {"process": f"p{random.randrange(document['processes'])}", "at": random.choice((0.0, 1.0, 50.0, 1e3))}
            for _ in range(random.randint(1, 3))
        ]
    if random.random() < 0.2:
        document["random_faults"] = values.group("RandomCrashes")
    if not is_wild:
        document.pop("random_faults", None)
        document["workload"] |= {"messages": 2, "sources": None}
        document["faults"] = document.get("faults", [])[: document["processes"] > 3]
    if kind == "causal" and "network" not in document:
        document["network"] = {"kind": random.choice(("packet", "wired"))}
    document["limits"] = {"max_events": 200_000}
    return document


__all__ = ["NotDrawn", "ProcessScenario", "draw_scenario"]

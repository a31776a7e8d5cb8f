"""Draw a small hostile experiment with a broadcast among processes from a seed.

Model     The broadcast is a built-in one over VCube, or a plug-in. There are 2-20 processes on the network of the
          protocol's paper, with several sources and messages. In half of the schedules, links do not preserve order.
          Most crashes hit a process in the middle of a send: soon after one of its broadcasts, or after a message has
          reached it. Protocols that allow false suspicions get planned false suspicions and, in some schedules,
          timeouts that are too short. Bundling delays, small bundles and packets, and single trees also occur.
Within    Each protocol is exposed only to what it allows. Best effort and VCube-RB run with any n, and DPath-RB with n
          that are powers of two. Best effort has a perfect detector, and DPath-RB has none. The causal broadcast has no
          crashes. The class of a plug-in declares what it allows. All protocols run on the network that does not
          preserve order, except the causal broadcast, which has the network of its paper
Units     time units of the papers, bytes
Source    ours: docs/validation/trust.md, docs/protocols/vcube.md
"""

from __future__ import annotations

from typing import Any

from mobilenet.engine.clock import SECOND
from mobilenet.engine.random_streams import Stream
from mobilenet.protocols.vcube.parameters import (
    PARAMETERS,
    BestEffortParameters,
    CausalParameters,
    DisjointPathsParameters,
)
from mobilenet.scenario import ProcessScenario
from mobilenet.scenario.plans.process_plans import broadcasts
from mobilenet.scenario.plans.processes import rest_within, surely_answered_within
from mobilenet.scenario.process_parameters import AbstractNetwork
from mobilenet.scenario.processes import OwnBroadcast

Values = dict[str, Any]
# This promise guarantees that a message is delivered if fewer than log2 n processes crash.
BELOW_DIMENSION = "correct_source_below_dimension"
HOP = 1.1  # approximate duration of a hop, in time units
PATIENCE = 3000.0  # duration of a run whose end cannot be predicted, in time units


def draw(seed: int, protocol: str, own: OwnBroadcast | None = None) -> ProcessScenario:
    """Return the scenario of a seed. If `protocol` is `own`, the argument `own` contains a plug-in's protocol and its
    declarations.
    """
    stream = Stream(seed, f"swarm/{protocol}")
    declared = own or PARAMETERS[protocol]
    below_dimension = declared.delivers == BELOW_DIMENSION
    n = stream.one_of(2, 4, 8, 16) if below_dimension else 2 + stream.below(19)
    values: Values = {
        "name": f"swarm_{protocol}",
        "seed": seed,
        "processes": n,
        "workload": {"sources": stream.one_of(None, None, 1, 1 + stream.below(n)), "messages": 1 + stream.below(4)},
        "detector": None,
        "record": {"buffers": stream.chance(0.2)},
    }
    if declared is CausalParameters:
        values |= _aggregation(stream, protocol)
        values["workload"]["instants"] = _instants(stream, stream.one_of(0.0, 50.0, 500.0, 500.0))
    else:
        latest = stream.one_of(0.0, 4.0, 12.0, stream.uniform(0, 40))
        network = AbstractNetwork(send=stream.one_of(0.1, 0.1, 0.4), jitter=_jitter(stream))
        drawn = _protocol(stream, protocol) if own is None else own.model_dump()
        values |= {"network": network.model_dump(), "protocol": drawn}
        values["workload"]["instants"] = _instants(stream, latest)
        may_crash, may_be_wrong = bool(declared.tolerates_crashes), bool(declared.tolerates_mistakes)
        if declared is not DisjointPathsParameters and (may_crash or may_be_wrong):
            values["detector"] = _detector(stream, n, network, latest, may_be_wrong)
        if may_crash:
            values["faults"] = _faults(stream, values, latest, below_dimension)
    scenario = ProcessScenario.model_validate(values)
    rest = rest_within(scenario)
    return scenario.model_copy(update={"duration": PATIENCE if rest is None else float(round(rest) + 10)})


def _instants(stream: Stream, latest: float) -> Values:
    return {"kind": "uniform", "latest": latest} if latest else {"kind": "at", "time": 0.0}


def _jitter(stream: Stream) -> float:
    return stream.one_of(0.0, 0.5, 4.0, stream.uniform(0, 20)) if stream.chance(0.7) else 0.0


def _protocol(stream: Stream, name: str) -> Values:
    if PARAMETERS[name] is not BestEffortParameters:
        return {"name": name}
    tree, ack = stream.one_of((1, 1), (24, 20), (80, 20), (500, 20))
    most = stream.one_of(1, tree, tree + ack, 2 * tree + ack - 1, 1460)
    return {
        "name": name,
        "tree_bytes": tree,
        "ack_bytes": ack,
        "max_payload_bytes": most,
        "max_delay": stream.one_of(0.0, 0.7, 2.0, 10.0),
    }


def _aggregation(stream: Stream, name: str) -> Values:
    mean, sd = stream.one_of((100.0, 25.0), (100.0, 80.0), (5.0, 20.0))
    return {
        "network": {"kind": "packet", "delay_mean": mean, "delay_sd": sd, "fixed_delays": stream.chance(0.2)},
        "protocol": {
            "name": name,
            "aggregate": stream.chance(0.85),
            "release": stream.one_of("packet", "message"),
            "trees": stream.one_of("per_source", "per_source", "single"),
            "mtu_bytes": stream.one_of(1500, 60, 100, 200),
        },
    }


def _detector(stream: Stream, n: int, network: AbstractNetwork, latest: float, may_be_wrong: bool) -> Values:
    interval, sure = stream.uniform(1, 10), surely_answered_within(n, network)
    if not may_be_wrong or stream.chance(0.2):
        return {"interval": interval, "timeout": sure, "mode": "perfect"}
    hasty = stream.chance(0.15)
    drawn = [
        {"at": stream.uniform(0, latest + 15), "by": f"p{stream.below(n)}", "about": f"p{stream.below(n)}"}
        for _ in range(stream.below(3 if hasty else 9))
    ]
    mistakes = tuple(mistake for mistake in drawn if mistake["by"] != mistake["about"])
    # Even the short timeout is sufficient for an answer that is sent immediately.
    timeout = 2 * (network.send + 1) + stream.uniform(0, n * network.send) if hasty else sure
    return {"interval": interval, "timeout": timeout, "mode": "unreliable", "mistakes": mistakes}


def _faults(stream: Stream, values: Values, latest: float, below_dimension: bool) -> tuple[Values, ...]:
    n = values["processes"]
    most = max(1, n // 3) if stream.chance(0.85) else n - 1
    if below_dimension and not stream.chance(0.05):
        most = (n - 1).bit_length() - 1
    free, crashes = list(range(n)), list[Values]()
    plan = [(time_ns / SECOND, i) for time_ns, i in broadcasts(ProcessScenario.model_validate(values))]
    for _ in range(stream.below(most + 1)):
        i = free.pop(stream.below(len(free)))
        crashes.append({"process": f"p{i}", "at": _instant(stream, i, plan, n, values["network"]["send"], latest)})
    return tuple(crashes)


def _instant(stream: Stream, i: int, plan: list[tuple[float, int]], n: int, send: float, latest: float) -> float:
    """Return the time at which process i crashes, usually while messages wait in its send server."""
    own = [time for time, source in plan if source == i]
    children = (n - 1).bit_length() * send
    if own and stream.chance(0.4):
        return stream.one_of(*own) + stream.uniform(0, children + send)
    if plan and stream.chance(0.7):
        return stream.one_of(*plan)[0] + (1 + stream.below(4)) * HOP + stream.uniform(0, children)
    return 0.0 if stream.chance(0.3) else stream.uniform(0, latest + 15)

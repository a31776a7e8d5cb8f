"""Plant each intervention and fault in random scenarios, and check that its kind has the largest share of the added
delay.

    python -m tests.why.random_faults 20          # draws of each fault in every setting; prints a table
    python -m tests.why.random_faults 20 cut      # draws of this fault only

Model     hosts stand near stations in a chain. Two runs have the same world, except that only one has the fault. Each
          delivery of one run is compared with the delivery of the other run that has the same sender, receiver and
          planned time of the broadcast. The added delay of a kind is the sum of its differences. A draw counts if the
          mean delay grows by more than 20 %. FAULTS lists what can delay a message, with the kinds that name it.
          HARMLESS lists all other faults, with the reason. A setting consists of a protocol, a kind of backbone and a
          model of the radio
Source    ours: docs/models/causes.md
"""

from __future__ import annotations

import itertools
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any, NamedTuple, get_args

from mobilenet.network.wired.parameters import BackboneParameters
from mobilenet.network.wireless import WirelessParameters
from mobilenet.scenario.yaml_writer import to_yaml
from mobilenet.why import kinds
from mobilenet.why.stories import Stories
from tests.lab.programs.own import AROUND
from tests.lab.programs.test_losses import AGAIN
from tests.why.random_causes import Document, World, stories_of

FAR_M = 5000.0  # far from all stations
DRAWS = 20
NEEDED = 0.95  # required share of the draws in which the fault is named
LEAST_DIFFERENCE = 0.2
MOST_SEEDS = 10  # maximum number of seeds to try for each draw that counts
LOSS = frozenset((kinds.LOST, kinds.RETRY, kinds.MAC_RETRY, kinds.RETRANSMISSION))
BACKBONES = get_args(BackboneParameters.model_fields["kind"].annotation)
BUNDLING = ("vcube_best_effort",)
# With these protocols, a station sends a message by radio immediately, and forwards it later.
ANSWERING = ("vcube_best_effort", "vcube_reliable")
MOBILE = ("mobile_causal", "tcp_flooding")
TCP = ("tcp_flooding",)
CAUSAL = ("mobile_causal",)  # Over TCP, a host that was down has a gap, so a crash does not delay messages.
# In these broadcasts, processes wait for answers from each other.
BROADCASTS = ("best_effort", "reliable", "causal_reliable")
PROGRAM = ("program",)  # Only programs may run on a network that loses messages.
PROCESSES = 8
LOAD = frozenset((kinds.QUEUE, kinds.CONTENTION, kinds.NAGLE, kinds.CONGESTION_WINDOW, kinds.RECEIVE_WINDOW))


class Setting(NamedTuple):
    protocol: str
    backbone: str
    radio: str


class Fault(NamedTuple):
    """A fault. `plant` draws a change of a scenario. `kinds` together must have the largest share of the added
    delay.
    """

    plant: Callable[[World], Document]
    kinds: frozenset[str]
    protocols: tuple[str, ...] = MOBILE
    backbones: tuple[str, ...] = BACKBONES


class Draw(NamedTuple):
    """The result of a draw. `added` is the added delay of each kind in nanoseconds, in decreasing order."""

    seed: int
    difference: float  # difference of the mean delays, divided by the mean without the fault
    added: dict[str, int]

    def names(self, named: frozenset[str]) -> bool:
        """Return whether these kinds together have a larger share than every other kind."""
        others = (ns for kind, ns in self.added.items() if kind not in named)
        return sum(self.added.get(kind, 0) for kind in named) > max(others, default=0)


def settings_of(fault: Fault) -> list[Setting]:
    """Return all settings of a fault. Mobile protocols use each kind of backbone with each model of the radio (TCP
    requires a tree). Processes use each network.
    """
    if fault.protocols == PROGRAM:
        return [Setting("program", "", "abstract")]
    if fault.protocols == BROADCASTS:
        return [Setting(protocol, "", network) for protocol in BROADCASTS for network in ("abstract", "wired")]
    radios = get_args(WirelessParameters.model_fields["model"].annotation)
    both = itertools.product(fault.protocols, fault.backbones, radios)
    return [Setting(*one) for one in both if one[0] != "tcp_flooding" or one[1] == "tree"]


def spell(world: World, least_s: float, most_s: float) -> tuple[float, float]:
    """Draw the time at which an intervention begins and the time at which it ends."""
    begin_s = world.random.uniform(8, 14)
    return begin_s, begin_s + world.random.uniform(least_s, most_s)


def interventions(*each: Document) -> Document:
    return {"interventions": list(each)}


def a_link(world: World) -> list[str]:
    a = world.random.randrange(world.stations - 1)
    return [f"s{a}", f"s{a + 1}"]


def crash(world: World) -> Document:
    (down_s, up_s), host = spell(world, 4, 12), f"h{world.host()}"
    return interventions({"do": "crash", "at_s": down_s, "host": host}, {"do": "recover", "at_s": up_s, "host": host})


def drag(world: World) -> Document:
    """Move a host out of coverage, and then back."""
    (away_s, back_s), host = spell(world, 4, 12), world.host()
    x, y = world.places_m[host]
    return interventions(
        {"do": "drag", "at_s": away_s, "host": f"h{host}", "to_m": [x, FAR_M]},
        {"do": "drag", "at_s": back_s, "host": f"h{host}", "to_m": [x, y]},
    )


def broadcasts(world: World) -> Document:
    """Let each host broadcast many messages at almost the same time."""
    hosts = range(len(world.cell))
    return interventions(
        *(
            {"do": "broadcast", "at_s": at_s + number * 0.01 + host * 0.001, "host": f"h{host}"}
            for at_s in (8, 14, 20)
            for number in range(15)
            for host in hosts
        )
    )


def loss(world: World) -> Document:
    return interventions({"do": "loss", "at_s": world.random.uniform(5, 8), "loss": world.random.uniform(0.4, 0.6)})


def impair_loss(world: World) -> Document:
    host, more = f"h{world.host()}", world.random.uniform(0.5, 0.7)
    return interventions({"do": "impair", "at_s": world.random.uniform(5, 8), "host": host, "loss": more})


def impair_delay(world: World) -> Document:
    host, delay_s = f"h{world.host()}", world.random.uniform(0.3, 2)
    return interventions({"do": "impair", "at_s": world.random.uniform(5, 8), "host": host, "delay_s": delay_s})


def cut(world: World, **more: Any) -> Document:
    (begin_s, end_s), link = spell(world, 4, 12), a_link(world)
    return interventions(
        {"do": "cut", "at_s": begin_s, "link": link} | more, {"do": "mend", "at_s": end_s, "link": link}
    )


def lossy_cut(world: World) -> Document:
    return cut(world, loses=True)


def impair_link_loss(world: World) -> Document:
    share = world.random.uniform(0.4, 0.6)
    return interventions(
        {"do": "impair_link", "at_s": world.random.uniform(5, 8), "link": a_link(world), "loss": share}
    )


def impair_link_delay(world: World) -> Document:
    delay_s = world.random.uniform(0.3, 2)
    return interventions(
        {"do": "impair_link", "at_s": world.random.uniform(5, 8), "link": a_link(world), "delay_s": delay_s}
    )


def radio_off(world: World) -> Document:
    (off_s, on_s), station = spell(world, 4, 12), f"s{world.random.randrange(world.stations)}"
    return interventions(
        {"do": "radio_off", "at_s": off_s, "station": station}, {"do": "radio_on", "at_s": on_s, "station": station}
    )


def explicit(world: World) -> Document:
    outage = {"host": f"h{world.host()}", "at_s": world.random.uniform(8, 14)}
    return {"faults": {"schedule": "explicit", "outages": [outage | {"duration_s": world.random.uniform(4, 10)}]}}


def paper(world: World) -> Document:
    first_s, station = world.random.uniform(6, 9), f"s{world.random.randrange(world.stations)}"
    return {
        "faults": {
            "schedule": "paper", "station": station, "first_at_s": first_s, "every_s": 10, "first_duration_s": 4,
        }
    }  # fmt: skip


def exponential(world: World) -> Document:
    return {"faults": {"schedule": "random", "rate_per_host_per_min": 2, "mean_duration_s": 5}}


def wireless_loss(world: World) -> Document:
    return {"wireless.loss": world.random.uniform(0.4, 0.6)}


def bundling(world: World) -> Document:
    return {"stations.backbone.max_delay_ms": world.random.uniform(300, 3000)}


def long_wires(world: World) -> Document:
    """Lengthen the wires. A test and its answer still take less time than the timeout of the failure detector."""
    return {"stations.backbone.delay_ms": world.random.uniform(30, 200)}


def slow_wires(world: World) -> Document:
    return {"stations.backbone.bandwidth_mbps": world.random.uniform(8, 20) / 1000}


def process_crash(world: World) -> Document:
    """Crash a process that does not broadcast, while the first message is in transit."""
    return {"faults": [{"process": f"p{world.random.randrange(1, PROCESSES)}", "at": world.random.uniform(0.2, 1.5)}]}


def process_crashes(world: World) -> Document:
    crashes = {"count": 2, "earliest": 0.2, "latest": 2, "whole_times": False, "spared": ["p0"]}
    return {"random_faults": crashes}


def partition(world: World) -> Document:
    since = world.random.uniform(3, 8)
    apart = [f"p{one}" for one in world.random.sample(range(PROCESSES), 2)]
    return {"network.partitions": [{"since": since, "until": since + world.random.uniform(10, 20), "apart": apart}]}


def process_loss(world: World) -> Document:
    return {"network.loss": world.random.uniform(0.3, 0.5)}


FAULTS: dict[str, Fault] = {
    "crash": Fault(crash, frozenset((kinds.DOWN,)), CAUSAL),
    "drag": Fault(drag, frozenset((kinds.OUT_OF_COVERAGE,))),
    "broadcast": Fault(broadcasts, LOAD | LOSS),
    "loss.loss": Fault(loss, LOSS),
    "impair.loss": Fault(impair_loss, LOSS),
    "impair.delay_s": Fault(impair_delay, frozenset((kinds.IMPAIRED_HOST,))),
    "cut": Fault(cut, frozenset((kinds.CUT,))),
    "cut.loses": Fault(lossy_cut, frozenset((kinds.CUT,)), TCP),
    "impair_link.loss": Fault(impair_link_loss, frozenset((kinds.IMPAIRED_LINK,)), TCP),
    "impair_link.delay_s": Fault(impair_link_delay, frozenset((kinds.IMPAIRED_LINK,))),
    "radio_off": Fault(radio_off, frozenset((kinds.OFF_AIR,))),
    "faults.explicit": Fault(explicit, frozenset((kinds.DOWN,)), CAUSAL),
    "faults.paper": Fault(paper, frozenset((kinds.DOWN,)), CAUSAL),
    "faults.random": Fault(exponential, frozenset((kinds.DOWN,)), CAUSAL),
    "wireless.loss": Fault(wireless_loss, LOSS),
    "backbone.max_delay_ms": Fault(bundling, frozenset((kinds.TIMER_WAIT,)), CAUSAL, BUNDLING),
    "backbone.delay_ms": Fault(long_wires, frozenset((kinds.WIRE_PROPAGATION,)), CAUSAL, ANSWERING),
    "backbone.bandwidth_mbps": Fault(
        slow_wires, frozenset((kinds.WIRE_TRANSMISSION, kinds.WIRE_QUEUE)), CAUSAL, ANSWERING
    ),
    "processes.faults": Fault(process_crash, frozenset((kinds.DOWN,)), BROADCASTS),
    "processes.random_faults": Fault(process_crashes, frozenset((kinds.DOWN,)), BROADCASTS),
    "network.partitions": Fault(partition, frozenset((kinds.PARTITION,)), PROGRAM),
    "network.loss": Fault(process_loss, frozenset((kinds.RETRY,)), PROGRAM),
}
HARMLESS = {
    "impair": "without a loss and a delay, it ends what another one began",
    "impair_link": "the same as `impair`",
    "recover": "it ends what `crash` began",
    "mend": "it ends what `cut` began",
    "radio_on": "it ends what `radio_off` began",
    "join": "a host is owed only what is broadcast while it is a member; its frames are a load as in `broadcast`",
    "leave": "a host that is not a member is owed nothing, and the others do not wait for it",
    "add": "the same as `join`",
    "interval.interval_s": "the broadcasts after it are other ones; their frames are a load as in `broadcast`",
    "churn": "the same as `join` and `leave`",
    "detector.mistakes": "a process that is suspected falsely still gets each message; only its way is another one",
}


def processes_of(world: World, folder: Path, setting: Setting) -> Document:
    document: Document = {
        "seed": world.random.randrange(10**6),
        "processes": PROCESSES,
        "workload": {"sources": 1, "messages": 3, "instants": {"kind": "uniform", "latest": 3}},
        "network": {"kind": setting.radio},
    }
    if setting.protocol != "program":
        return document | {"protocol": {"name": setting.protocol}}
    (folder / "node.py").write_text(AROUND.format(code=AGAIN))
    program = {"command": [sys.executable, "node.py"], "order": "none", "delivers": "agreement"}
    document["workload"] |= {"sources": None, "instants": {"kind": "uniform", "latest": 20}}
    return document | {"duration": 500, "protocol": program}


def document_of(world: World, folder: Path, setting: Setting) -> Document:
    if setting.protocol in (*BROADCASTS, *PROGRAM):
        return processes_of(world, folder, setting)
    document = world.document(folder, name=setting.protocol)
    document |= {"duration_s": 28, "drain_s": 200}
    if setting.backbone != "tree":
        document["stations"]["backbone"] = {"kind": setting.backbone, "bandwidth_mbps": 10, "delay_ms": 5}
    table = {"reception": [[0, 1], [120, 0.95]]} if setting.radio == "distance_table" else {}
    return document | {"wireless": {"model": setting.radio, **table}}


def delays_of(run: Stories) -> dict[tuple[str, int, str], Counter[str]]:
    """Sum the nanoseconds of each kind for each delivery. The keys are sender, planned time of the broadcast and
    receiver.
    """
    deliveries = {}
    for one in run.record.deliveries:
        sent = run.record.broadcasts.get(one.message)
        if sent is not None:
            own = deliveries[sent.node, sent.time_ns, one.node] = Counter[str]()
            for stretch in run.of(one.message, one.node):
                own[stretch.kind] += stretch.length_ns
    return deliveries


def draw(name: str, setting: Setting, seed: int, folder: Path) -> Draw | None:
    """Plant the fault in one random scenario. Return None if it makes no significant difference."""
    world = World(Random(f"{name} {seed}"))
    path = folder / "scenario.yaml"
    path.write_text(to_yaml(document_of(world, folder, setting)), encoding="utf-8")
    changes = FAULTS[name].plant(world)
    before, after = delays_of(stories_of(path, {})), delays_of(stories_of(path, changes))
    added: Counter[str] = Counter()
    without_ns = 0
    for key in before.keys() & after.keys():
        added.update(after[key])
        added.subtract(before[key])
        without_ns += before[key].total()
    if added.total() <= LEAST_DIFFERENCE * without_ns:
        return None
    return Draw(seed, added.total() / without_ns, dict(added.most_common()))


def draws(name: str, setting: Setting, first: int = 0) -> Iterator[Draw]:
    """Yield draws that count. Stop after MOST_SEEDS successive seeds without a significant difference."""
    without = 0
    for seed in itertools.count(first):
        with tempfile.TemporaryDirectory(prefix="mobilenet-planted-") as folder:
            one = draw(name, setting, seed, Path(folder))
        without = 0 if one is not None else without + 1
        if one is not None:
            yield one
        elif without >= MOST_SEEDS:
            return


def rotated_draws(name: str) -> Iterator[Draw]:
    """Yield draws that count, each in the next setting. Skip settings in which the fault does not delay messages."""
    each = [draws(name, setting, 1000 * number) for number, setting in enumerate(settings_of(FAULTS[name]))]
    while each:
        for own in list(each):
            one = next(own, None)
            if one is None:
                each.remove(own)
            else:
                yield one


def describe(one: Draw) -> str:
    total = sum(one.added.values())
    shares = ", ".join(f"{kind} {ns / total:.0%}" for kind, ns in list(one.added.items())[:4])
    return f"seed {one.seed}: +{one.difference:.0%}: {shares}"


def main(words: list[str]) -> int:
    wanted = int(words[0]) if words else 20
    failures = 0
    for name in words[1:] or FAULTS:
        for setting in settings_of(FAULTS[name]):
            cases = [one for one, _ in zip(draws(name, setting), range(wanted), strict=False)]
            wrong = [one for one in cases if not one.names(FAULTS[name].kinds)]
            is_good = len(cases) == wanted and len(wrong) <= (1 - NEEDED) * wanted
            failures += not is_good
            print(f"{name:20} {' '.join(setting):45} {len(cases) - len(wrong):3} of {len(cases)}", flush=True)
            for one in wrong:
                print(f"    {describe(one)}", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

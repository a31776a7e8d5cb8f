"""Mutants of the simulator. In each mutant, one expression of the code is edited, and a checked run must report the
fault.

Model     A mutant is a function in which one part of the source has been replaced. Compiled modules cannot be edited,
          so all mutants are interpreted, in a separate process:
              MOBILENET_COMPILED=0 python -m tests.simulation.simulator_mutants [name ...]
Prints    a JSON object that maps each mutant to the report of the run, or to null if the mutant survives
Source    ours: docs/validation/trust.md
"""

from __future__ import annotations

import inspect
import json
import sys
import textwrap
from typing import Any, NamedTuple

from mobilenet.api import simulate
from mobilenet.engine.native import in_use
from mobilenet.network.propagation.serving import Serving
from mobilenet.network.radio.dcf import Dcf
from mobilenet.network.radio.medium import Medium
from mobilenet.network.radio.neighbours import Neighbours
from mobilenet.network.radio.sinr.interference import Interference
from mobilenet.network.radio.sinr.medium import Sinr
from mobilenet.network.radio.unit_disk.medium import UnitDisk
from mobilenet.network.tcp.receive_stream import Incoming
from mobilenet.network.wired.link import Link
from mobilenet.scenario import load_scenario
from mobilenet.simulation.counters import Counters
from mobilenet.simulation.hosts import HostNode
from mobilenet.simulation.invariants.fault import SimulatorFault
from mobilenet.simulation.movement import Movement
from mobilenet.simulation.processes.abstract_network import Lane, SendServer
from mobilenet.simulation.processes.packets import PacketNetwork
from mobilenet.simulation.processes.wires import WireLane
from mobilenet.world.attachment import Attachment
from tests.conftest import SCENARIOS

FIRST, RELIABLE, CAUSAL = "first.yaml", "vcube/reliable.yaml", "vcube/causal.yaml"
TCP = "protocol={name: tcp_flooding}"
NO_CRASH = ["processes=8", "faults=[]", "detector=null"]
WITH_CRASH = ["processes=16", "faults=[{process: p8, at: 0.3}]", "workload.messages=4"]
# Frames from senders out of range disturb this scenario. One of these frames is sent in the nanosecond in which
# positions change.
DISTURBED = [
    "seed=926485439", "duration_s=5.466", "hosts.count=10", "workload={interval_s: 0.911}",
    "stations={layout: {shape: points, points_m: [[0, 65.8], [160.574, 44], [257.549, 50.4], [488.209, -41.4],"
    " [716.271, -59.3], [893.718, -48.6], [1129.904, -68]]}}",
    "hosts.mobility={model: random_waypoint, speed_mps: [0.5, 1.28], area: {box_m: [-80, -148, 1209.9, 145.8]}}",
    "wireless={mac: acking, range_m: 90, interference_range_m: 165.2}",
]  # fmt: skip
WORLDS: dict[str, tuple[str, list[str]]] = {  # name -> (scenario, overrides)
    "disk": (FIRST, ["duration_s=8", "hosts.count=12", "workload.interval_s=0.5"]),
    "crowd": (FIRST, ["duration_s=3", "hosts.count=30", "workload.interval_s=0.1"]),
    "crashes": (FIRST, ["duration_s=8", "faults={schedule: random, rate_per_host_per_min: 20, mean_duration_s: 1}"]),
    "sinr": (FIRST, ["duration_s=4", "hosts.count=20", "workload.interval_s=0.2", "wireless={model: sinr}"]),
    "disturbed": (FIRST, DISTURBED),
    "groupcast": (FIRST, ["duration_s=4", "wireless={groupcast: unsolicited_retry}"]),
    "tcp": (FIRST, ["duration_s=8", TCP, "wireless={loss: 0.3, retry_limit: 1}", "workload.interval_s=0.2"]),
    "steps": (RELIABLE, WITH_CRASH),
    "lanes": (RELIABLE, [*NO_CRASH, "workload={messages: 9, instants: {kind: uniform, latest: 20}}"]),
    "packets": (CAUSAL, ["processes=8", "network={kind: packet, delay_mean: 0, delay_sd: 0}"]),
    "wires": (RELIABLE, [*NO_CRASH, "network={kind: wired}"]),
}


class Mutant(NamedTuple):
    """A mutant of the simulator. The report of the run must contain the string `reports`."""

    owner: type
    function: str
    old: str
    new: str
    world: str
    reports: str


IS_LOUDEST = "power = tx - plain[int(distance_m * 100 + 0.5)]"
THERE = "self._calendar.at(self._last_ns, wire.next_arrives)"
ON_THE_WIRE = "(8 * size_bytes * SECOND + self._bits_per_s - 1) // self._bits_per_s"
MUTANTS: dict[str, Mutant] = {
    # These mutants affect the radio with reception by distance.
    "two_frames_at_once": Mutant(
        UnitDisk, "_disturb_lock", "not self._survives(node.lock_d2, d2)", "False", "crowd", "overlaps it"
    ),
    "receives_while_it_sends": Mutant(
        Medium, "_abort_reception", "self._lose(sender, HALF_DUPLEX)", "pass", "crowd", "while the node sends"
    ),
    "beyond_the_range": Mutant(
        UnitDisk, "start", "= self._reach2, self._range2,", "= 1.2 * self._reach2, 1.2 * self._range2,", "disk",
        "the range is",
    ),
    "too_short_a_range": Mutant(UnitDisk, "start", "if d2 > range2:", "if d2 > 0.9 * range2:", "disk", "the range is"),
    "lists_without_a_margin": Mutant(
        Neighbours, "candidates", "<= reach2 and", "<= 0.5 * reach2 and", "disk", "the range is"
    ),
    "slow_light": Mutant(UnitDisk, "start", "int(sqrt(d2) /", "int(2 * sqrt(d2) /", "disk", "ns over"),
    "collides_with_nothing": Mutant(
        UnitDisk, "start", "if node.free_from <= first and", "if node.free_from + 90_000 <= first and", "crowd",
        "nothing overlaps it",
    ),
    "collides_with_what_is_over": Mutant(
        UnitDisk, "start", "if node.free_from <= first and", "if node.free_from + 90_000 <= first and", "disturbed",
        "nothing overlaps it",
    ),
    "receives_when_down": Mutant(UnitDisk, "drop_out", "node.up = False", "pass", "crashes", "was down"),
    "hands_up_what_is_for_others": Mutant(
        Medium, "finish", "to is None or to is node", "True", "disk", "which it did not receive"
    ),
    "hands_up_no_unicast": Mutant(
        Medium, "finish", "(to is None or to is node) and", "to is None and", "disk",
        "did not hand it up",
    ),
    "counts_airtime_twice": Mutant(
        Medium, "_count", "+= frame.duration_ns", "+= 2 * frame.duration_ns", "disk", "the airtime is"
    ),
    "counts_all_as_addressed": Mutant(
        Medium, "_count", "receivers[i].serving is sender", "True", "disk", "addressed_pairs are"
    ),
    "records_half_of_the_bytes": Mutant(
        Counters, "sample_totals", '"radio_bytes", sum(', '"radio_bytes", 0.5 * sum(', "disk", "is recorded as"
    ),
    # These mutants affect the MAC.
    "does_not_wait_for_difs": Mutant(
        Dcf, "_after_idle", "self._rules.difs_ns", "self._rules.sifs_ns", "crowd", "before DIFS"
    ),
    "does_not_listen": Mutant(Dcf, "defer", "expiry <= first", "True", "crowd", "before DIFS"),
    "too_large_a_window": Mutant(
        Dcf, "take_turn", "[self._attempts] + 1)", "[self._attempts] + 400)", "crowd", "longer than its window"
    ),
    "acknowledges_too_late": Mutant(
        Dcf, "take_unicast", "max(end + self._rules.sifs_ns,", "max(end + 2 * self._rules.sifs_ns,", "tcp",
        "SIFS ago",
    ),
    "lets_repetitions_pass": Mutant(
        Dcf, "is_new", "self._last_heard.get(frame.sender.index) == frame.number", "False", "groupcast",
        "a repetition",
    ),
    # These mutants affect the radio with reception by power.
    "too_much_power": Mutant(Sinr, "start", IS_LOUDEST, IS_LOUDEST.replace("100", "95"), "sinr", "dBm, expected"),
    "no_interference": Mutant(Interference, "changes", "ends > first and", "False and", "sinr", "has an SINR of"),
    "changes_over_at_once": Mutant(Sinr, "_arrive", "node.lock_until > first", "False", "sinr", "and so is"),
    # These mutants affect the positions of hosts and the choice of their stations.
    "another_station": Mutant(Attachment, "look", "distances.argmin", "distances.argmax", "disk", "is in cell"),
    "looks_too_late": Mutant(Movement, "_look_at", "- NEARLY_M) *", "- NEARLY_M) * 9 *", "disk", "is in cell"),
    "no_hysteresis": Mutant(Attachment, "look", "< self._hysteresis)", "< 0)", "disk", "has to keep"),
    "no_hysteresis_by_power": Mutant(
        Serving, "cell", "strongest - own < hysteresis_cdb", "False", "sinr", "has to keep"
    ),
    "another_station_serves": Mutant(
        HostNode, "set_cell", "self._context.station(cell)", "self._context.station(0)", "disk", "has station"
    ),
    "walks_too_fast": Mutant(
        Movement, "_walk", "leg.vx_mps / SECOND", "leg.vx_mps * 1.01 / SECOND", "disk", "expected"
    ),
    "walks_while_it_is_down": Mutant(
        Movement, "pause", "self._set(host, x, y, 0.0, 0.0)", "self._set(host, x, y, vx, vy)", "crashes", "expected"
    ),
    # These mutants affect the wires.
    "sends_in_no_time": Mutant(Link, "send", ON_THE_WIRE, "0", "disk", "too early"),
    "overtakes_on_a_wire": Mutant(
        Link, "send", "arrivals.append(arrive)", "arrivals.appendleft(arrive)", "disk", "too early"
    ),
    "arrives_twice": Mutant(
        Link, "send", THERE, f"{THERE}; wire.arrivals.append(arrive); {THERE}", "disk", "two fates"
    ),
    "counts_bytes_wrongly": Mutant(Link, "send", "+= size_bytes", "+= size_bytes + 1", "disk", "bytes were put"),
    # These mutants affect TCP.
    "hands_up_out_of_order": Mutant(
        Incoming, "_release", "self._ends[0] <= self.nxt", "True", "tcp", "not the one sent"
    ),
    "hands_up_twice": Mutant(Incoming, "take", "if last > nxt", "", "tcp", "not the one sent"),
    # These mutants affect the network of processes.
    "sends_all_at_once": Mutant(
        SendServer, "send", "else now) + self._send_ns", "else now)", "steps", "receives a message"
    ),
    "overtakes": Mutant(
        SendServer, "send", "at = free_at + self._travel_ns",
        "at = free_at + self._travel_ns + lane.sent % 2 * 99 * self._send_ns", "lanes", "before an earlier one",
    ),
    "receives_after_a_crash": Mutant(
        Lane, "crash", "bucket[k] == receive", "False", "steps", "is down"
    ),
    "counts_other_bytes": Mutant(SendServer, "send", "+= message.size_bytes", "+= 2", "steps", "bytes is counted"),
    "queues_nothing": Mutant(PacketNetwork, "send", "+ self._queue_ns", "", "packets", "receives a message"),
    "delivers_twice": Mutant(
        WireLane, "arrive", "receive(sender, message)", "receive(sender, message); receive(sender, message)", "wires",
        "not on its way",
    ),
}  # fmt: skip


def with_edit(function: Any, old: str, new: str) -> Any:
    source = textwrap.dedent(inspect.getsource(function))
    assert source.count(old) == 1, (function, old)
    names: dict[str, Any] = {}
    exec(compile(source.replace(old, new), f"{function.__name__} edited", "exec"), function.__globals__, names)
    return names[function.__name__]


def report_of(mutant: Mutant) -> str | None:
    """Return what a checked run of the mutant reports, or None."""
    original = getattr(mutant.owner, mutant.function)
    setattr(mutant.owner, mutant.function, with_edit(original, mutant.old, mutant.new))
    try:
        play(mutant.world)
    except SimulatorFault as fault:
        return str(fault)
    finally:
        setattr(mutant.owner, mutant.function, original)
    return None


def play(world: str) -> None:
    name, overrides = WORLDS[world]
    simulate(load_scenario(SCENARIOS / name, overrides), check_simulator=True)


def main() -> int:
    if in_use():
        sys.exit("expected MOBILENET_COMPILED=0: compiled modules cannot be edited")
    print(json.dumps({name: report_of(MUTANTS[name]) for name in sys.argv[1:] or MUTANTS}))
    return 0


if __name__ == "__main__":
    sys.exit(main())

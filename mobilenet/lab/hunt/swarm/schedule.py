"""Draw a small scenario from a seed, run it with faults and then without, and check the final state.

Model     A schedule has 2-4 stations in a tree, 2-4 hosts, a mixture of faults (FLAVOURS), and a list of timed actions
          for each host. The last host stays in its cell and remains a member, so that at least one host broadcasts at
          the end. After the last action the faults stop: every host is up and in coverage, and late packets arrive. In
          some schedules, old packets arrive once more. Finally, each member broadcasts once more.
Units     integer nanoseconds; seconds in names that end in _s
Shapes    PlayedSchedule.recording: events, counters, and at the end a sample of every buffer
Errors    AssertionError from the self-checks of the protocol
Source    ours: docs/architecture.md
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mobilenet.engine.clock import MILLISECOND, SECOND, ns
from mobilenet.engine.kernel import Kernel
from mobilenet.engine.random_streams import Stream
from mobilenet.lab.hunt.swarm.adversary import CALM, Adversary, Air
from mobilenet.lab.hunt.swarm.plug_ins import PlugIn
from mobilenet.lab.hunt.swarm.scenes import selective
from mobilenet.lab.hunt.swarm.wire import Wires
from mobilenet.protocols.declaration import Declaration, declare
from mobilenet.protocols.mobile_causal import Host, MobileCausalParameters, Stable, Station
from mobilenet.protocols.mobile_causal.context import require_one_owner
from mobilenet.protocols.mobile_causal.declaration import MobileCausal
from mobilenet.protocols.vcube.backbone import Layer
from mobilenet.record.recorder import Recording
from mobilenet.simulation.outcome import first_few

PATIENCE_NS = 60 * SECOND  # The network must come to rest within this time after the end of the faults.


@dataclass(frozen=True, slots=True)
class Flavour:
    """The weights of the actions of a mobile host, and the quality of radio and wire."""

    broadcast: float = 8
    move: float = 4
    hole: float = 1  # weight of leaving coverage for some time
    crash: float = 0.7
    leave: float = 0.3
    hurry: float = 0.3  # probability that the next action follows within the duration of a handoff
    pause_s: float = 0.25  # mean pause between two actions
    outage_s: float = 0.4  # mean duration of a gap in coverage, a crash, or an absence from the group
    wire_s: float = 0.03  # longest delay of a link, in seconds
    loss: float = 0.5  # highest probability that a packet is lost
    late: float = 0.1  # highest probability of a late packet
    static: float = 0.5  # probability that a host only broadcasts
    replays: float = 1.0  # probability that old packets arrive again
    drop: float = 0.05  # highest probability that the queue of a sender is full
    expiry_s: tuple[float, float] | None = None  # range from which T is drawn
    heartbeat_s: float | None = None


FLAVOURS = {
    "mixed": Flavour(),
    "ping_pong": Flavour(move=10, hurry=0.6, crash=0.1, leave=0, loss=0.2),
    "slow_wire": Flavour(move=8, wire_s=0.4, hurry=0.4, crash=0.3, loss=0.2, late=0.02),
    "slow_talk": Flavour(broadcast=20, move=4, hole=0, crash=0, leave=0, wire_s=0.3, pause_s=0.08, loss=0.1, late=0),
    "crash": Flavour(crash=6, move=5, hurry=0.5, outage_s=0.2),
    "churn": Flavour(leave=5, move=2, outage_s=0.1, late=0.3, hurry=0.5),
    "slow_churn": Flavour(leave=5, move=3, crash=0, outage_s=0.05, wire_s=0.6, hurry=0.4, loss=0.1, late=0),
    "stale": Flavour(broadcast=1, leave=6, move=6, crash=0, outage_s=0.05, wire_s=0.3, hurry=0.7, loss=0.2, late=0.5),
    "late": Flavour(leave=2, move=6, late=0.4, loss=0.1, pause_s=0.15),
    "expiry": Flavour(expiry_s=(0.7, 1.5), heartbeat_s=0.4, hole=3, crash=3, outage_s=1.5, pause_s=0.4, move=3),
    "calm_expiry": Flavour(
        expiry_s=(1.1, 1.8),
        heartbeat_s=0.1,
        hole=3,
        crash=3,
        outage_s=2,
        pause_s=0.4,
        move=3,
        loss=0,
        late=0,
        drop=0,
        replays=0,
    ),
    "lossy": Flavour(loss=0.8, move=3, crash=0.3),
}


@dataclass(frozen=True, slots=True)
class Schedule:
    seed: int
    flavour: str
    parents: tuple[int, ...]
    slowest_ns: tuple[int, ...]
    parameters: MobileCausalParameters
    air: Air
    first_cells: tuple[int, ...]
    actions: tuple[tuple[int, int, str, int], ...]  # (time, host, action, cell), in chronological order
    replay_every_ns: int  # If 0, old packets do not arrive again.
    late_replays: int  # number of old packets to deliver again after the network has settled
    backbone: str = "tree"  # "tree", or the name of a broadcast over VCube, which plays the same schedule

    @property
    def active_ns(self) -> int:
        """The time at which the faults stop."""
        return self.actions[-1][0] + ns(0.2)


@dataclass(frozen=True, slots=True)
class PlayedSchedule:
    schedule: Schedule
    recording: Recording
    network: Adversary
    simulated_ns: int
    quiescent: bool
    not_at_rest: tuple[str, ...]  # reasons why the network is not at rest


def draw(seed: int, flavour: str | None = None, backbone: str = "tree", repairs: bool = False) -> Schedule:
    """Return the schedule of a seed. `repairs` adds the parameters of `repair: selective` and does not change any other
    value.
    """
    stream = Stream(seed, "swarm/schedule")
    name = list(FLAVOURS)[stream.below(len(FLAVOURS))]
    name = flavour or name
    f = FLAVOURS[name]
    stations, hosts = 2 + stream.below(3), 2 + stream.below(3)
    slow = [int(stream.random() * ns(f.wire_s)) + MILLISECOND for _ in range(stations - 1)]
    late = f.late * stream.random()
    air = Air(
        loss=f.loss * stream.random(),
        duplicate=0.2 * stream.random(),
        late=late,
        overhear=0.3 * stream.random(),
        drop=f.drop * stream.random(),
        delay_ns=int(stream.uniform(2, 60)) * MILLISECOND,
        late_ns=int(stream.uniform(0.2, 3) * SECOND),
    )
    actions: list[tuple[int, int, str, int]] = []
    budget = 30 + stream.below(50)
    mobiles = 0
    for h in range(hosts):
        mobile = h == 0 or (h < hosts - 1 and stream.random() >= f.static)
        mobiles += mobile
        count = budget // (1 if mobile else 3)
        actions += _timeline(stream, f, h, stations, count // (1 + mobiles // 2), mobile)
    actions.sort(key=lambda action: action[0])
    again = stream.random() < f.replays
    return Schedule(
        seed=seed,
        flavour=name,
        parents=tuple(stream.below(child) for child in range(1, stations)),
        slowest_ns=tuple(slow),
        parameters=_parameters(stream, f).model_copy(update=selective(seed) if repairs else {}),
        air=air,
        first_cells=tuple(stream.below(stations) for _ in range(hosts)),
        actions=tuple(actions),
        replay_every_ns=int(stream.uniform(0.02, 0.3) * SECOND) if again else 0,
        late_replays=stream.below(40) if again else 0,
        backbone=backbone,
    )


def _parameters(stream: Stream, f: Flavour) -> MobileCausalParameters:
    """Return parameters with shorter times than in a radio network, so that more events happen in a run. T is longer
    than the heartbeat interval.
    """
    return MobileCausalParameters(
        window=(150, 150, 8, 3)[stream.below(4)],
        mac_backlog=(20, 2)[stream.below(2)],
        resend_first_s=stream.uniform(0.2, 1.0),
        resend_full_s=stream.uniform(0.05, 0.2),
        ack_min_s=0.05,
        ack_max_s=stream.uniform(0.1, 0.75),
        heartbeat_s=f.heartbeat_s or stream.uniform(0.5, 2.0),
        silent_after_s=stream.uniform(1, 5),
        control_interval_s=stream.uniform(0.05, 0.25),
        forwarding_jitter_s=0.02 * stream.below(2),
        cookie_lifetime_s=stream.uniform(0.3, 10),
        expiry_s=stream.uniform(*f.expiry_s) if f.expiry_s else None,
        stub_lifetime_s=stream.uniform(0.3, 1) if f.expiry_s and stream.random() < 0.3 else None,
    )


def _timeline(
    stream: Stream, f: Flavour, host: int, stations: int, count: int, mobile: bool
) -> list[tuple[int, int, str, int]]:
    actions = []
    time = stream.exponential(0.05)
    actions.append((ns(time), host, "join", 0))
    verbs = ("broadcast", "move", "hole", "crash", "leave")
    weights = (f.broadcast, f.move, f.hole, f.crash, f.leave) if mobile else (1.0, 0.0, 0.0, 0.0, 0.0)
    for _ in range(count):
        hurry = stream.random() < f.hurry
        time += stream.uniform(0, 0.08 + 2 * f.wire_s * stream.random()) if hurry else stream.exponential(f.pause_s)
        verb = _choose(stream, verbs, weights)
        cell = stream.below(stations)
        if verb in ("broadcast", "move"):
            actions.append((ns(time), host, verb, cell))
            continue
        actions.append((ns(time), host, verb, cell))
        time += stream.exponential(f.outage_s)
        if verb == "crash" and stream.random() < 0.5:  # The host moves to another cell while it is down.
            actions.append((ns(time), host, "move", cell))
        actions.append((ns(time), host, {"hole": "move", "crash": "recover", "leave": "join"}[verb], cell))
    # The host finally leaves the group, and leaves coverage before it is notified of this.
    if mobile and f.leave and stream.random() < 0.5:
        time += stream.exponential(f.outage_s)
        actions.append((ns(time), host, "leave", 0))
        actions.append((ns(time + stream.exponential(f.outage_s)), host, "move", stream.below(stations)))
    return actions


def _choose(stream: Stream, verbs: tuple[str, ...], weights: tuple[float, ...]) -> str:
    left = stream.random() * sum(weights)
    for verb, weight in zip(verbs, weights, strict=True):
        left -= weight
        if left < 0:
            return verb
    return verbs[0]


def run(
    schedule: Schedule, host_class: type[Host] | None = None, station_class: type[Station] | None = None,
    check: bool = True,
    layer: Layer | None = None, own: PlugIn | None = None,
) -> PlayedSchedule:  # fmt: skip
    """Play a schedule with the mobile causal broadcast or with a plug-in. The given classes replace the built-in ones,
    and `layer` replaces the correct layer above VCube.
    """
    recording = Recording()
    network = Adversary(
        Kernel(),
        recording,
        schedule.seed,
        _mobile_causal(host_class, station_class, check) if own is None else own.declaration,
        schedule.parameters if own is None else own.settings,
        Wires(schedule.parents, schedule.slowest_ns, schedule.backbone, layer),
        len(schedule.first_cells),
        require_one_owner if check and own is None else None,
    )
    played = _Run(network, schedule)
    quiescent = played.play()
    network.sample_at_end()
    not_at_rest = () if quiescent else tuple(first_few(played.not_at_rest()))
    return PlayedSchedule(schedule, recording, network, network.kernel.now, quiescent, not_at_rest)


def _mobile_causal(
    host_class: type[Host] | None, station_class: type[Station] | None, check: bool
) -> type[Declaration]:
    """Return the declaration with these classes. None stands for the built-in class."""
    new_host, new_station = host_class or MobileCausal.host, station_class or MobileCausal.station
    return declare(
        lambda port, stable, parameters, stations: new_host(port, stable, parameters, stations, check),
        lambda port, wired, parameters, stations: new_station(port, wired, parameters, stations, check),
        Stable,
    )


class _Run:
    def __init__(self, network: Adversary, schedule: Schedule) -> None:
        self._network = network
        self._kernel = network.kernel
        self._schedule = schedule
        self._wants_in = [False] * len(schedule.first_cells)

    def play(self) -> bool:
        """Play the schedule, and return whether the network came to rest after the faults."""
        kernel, network, schedule = self._kernel, self._network, self._schedule
        network.air = schedule.air
        for h, cell in enumerate(schedule.first_cells):
            network.move(h, cell)
        end = schedule.active_ns
        if schedule.replay_every_ns:
            for time in range(schedule.replay_every_ns, end, schedule.replay_every_ns):
                kernel.at(time, network.replay)
        for time, host, what, cell in schedule.actions:
            kernel.run_until(time)
            self._act(host, what, cell)
        kernel.run_until(end)
        return self._complete()

    def _act(self, host: int, what: str, cell: int) -> None:
        network = self._network
        if what == "broadcast":
            network.co_broadcast(host)
        elif what == "move":
            network.move(host, cell)
        elif what == "hole":
            network.move(host, None)
        elif what == "crash":
            network.crash(host)
        elif what == "recover":
            network.recover(host)
        else:
            self._wants_in[host] = what == "join"
            self._insist(host)

    def _insist(self, host: int) -> None:
        """Ask a host to join or leave, and repeat the request until the host has joined or left."""
        network, wants_in = self._network, self._wants_in[host]
        protocol = network.hosts[host]
        if protocol is not None and protocol.is_out() == wants_in:
            if wants_in:
                network.join(host)
            else:
                network.leave(host)
        if protocol is None or not protocol.settled() or protocol.is_out() == wants_in:
            self._kernel.after(20 * MILLISECOND, lambda: self._insist(host))

    def _complete(self) -> bool:
        """End the faults, and return whether the network then comes to rest."""
        network, schedule = self._network, self._schedule
        network.air = CALM
        for host, cell in enumerate(network.cells):
            network.recover(host)
            network.move(host, schedule.first_cells[host] if cell is None else cell)
        self._kernel.run_until(self._kernel.now + schedule.air.late_ns)
        if not self._settle():
            return False
        for _ in range(schedule.late_replays):
            network.replay()
            self._kernel.run_until(self._kernel.now + 10 * MILLISECOND)
        if not self._settle():
            return False
        for host in range(len(network.hosts)):
            network.co_broadcast(host)
        self._kernel.run_until(self._kernel.now + 500 * MILLISECOND)
        return self._settle()

    def _settle(self) -> bool:
        kernel = self._kernel
        deadline = kernel.now + PATIENCE_NS
        while kernel.now < deadline:
            kernel.run_until(kernel.now + 250 * MILLISECOND)
            if self._rests():
                return True
        return False

    def _rests(self) -> bool:
        """Return whether every host has joined or left as requested, and the network is at rest."""
        hosts = zip(self._network.hosts, self._wants_in, strict=True)
        return all(host is not None and host.is_out() != wants_in for host, wants_in in hosts) and self._network.rests()

    def not_at_rest(self) -> Iterator[str]:
        """Yield the reasons why the network is not at rest, as readable text."""
        for number, (host, wants_in) in enumerate(zip(self._network.hosts, self._wants_in, strict=True)):
            if host is not None and host.is_out() == wants_in:
                yield f"h{number} still has to {'join' if wants_in else 'leave'}"
        yield from self._network.not_at_rest()

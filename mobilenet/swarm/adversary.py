"""A network that does its worst: what the mobile causal broadcast must survive, without any physics.

Model     radio: each receiver on its own loses, doubles and delays each packet; some arrive seconds late, in any order,
          also at a host that has left the cell; foreign cells are overheard; any old packet may come again.
          wire: a tree of FIFO links with random delays; broadcasts flood it, forwarded before they are handled,
          and messages for one station use the same links, so delivery is causal
Units     integer nanoseconds; probabilities
Errors    none: what the protocols raise passes through
Source    ours: DESIGN.md §3
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ..kernel import MILLISECOND, Kernel, Timer
from ..protocols.mobile_causal import Host, MobileCausalParameters, Stable, Station
from ..protocols.mobile_causal.context import State
from ..protocols.mobile_causal.messages import App
from ..protocols.port import MessageId
from ..streams import Stream


@dataclass(frozen=True, slots=True)
class Air:
    """How bad the radio is while the faults last."""

    loss: float = 0.0
    duplicate: float = 0.0
    late: float = 0.0  # probability that a packet takes up to late_ns instead of delay_ns
    overhear: float = 0.0
    drop: float = 0.0  # probability that the sender's own queue is full
    delay_ns: int = 5 * MILLISECOND
    late_ns: int = 2000 * MILLISECOND


CALM = Air()


class Log(Protocol):
    def add(
        self, time_ns: int, node: str, event: str, message: str | None = None, station: str | None = None,
        session: int | None = None, detail: dict[str, Any] | None = None,
    ) -> None: ...


class _Port:
    """The air, the clock and the dice of one node, for one of its lives."""

    def __init__(self, network: Adversary, me: int, dice: Stream) -> None:
        self.me = me
        self._network = network
        self._kernel = network.kernel
        self._timers: list[Timer] = []
        self.uniform = dice.uniform

    @property
    def now(self) -> int:
        return self._kernel._now

    def timer(self, action: Callable[[], None]) -> Timer:
        timer = Timer(self._kernel, action)
        self._timers.append(timer)
        return timer

    def die(self) -> None:
        for timer in self._timers:
            timer.stop()


class _StationPort(_Port):
    def broadcast(self, message: Any) -> None:
        self._network.from_station(self.me, None, message)

    def send(self, to: int, message: Any) -> None:
        self._network.from_station(self.me, to, message)


class _HostPort(_Port):
    def __init__(self, network: Adversary, me: int, dice: Stream) -> None:
        super().__init__(network, me, dice)
        self._name = f"h{me}"
        self._handoff = False

    def broadcast(self, message: Any) -> None:
        raise NotImplementedError("a host's frame has one addressee")

    def send(self, to: int, message: Any) -> None:
        self._network.from_host(self.me, to, message)

    def _add(self, event: str, **columns: Any) -> None:
        self._network.log.add(self.now, self._name, event, **columns)

    def deliver(self, message: MessageId, body: Any) -> None:
        self._add("deliver", message=f"h{message.host}:{message.seq}")

    def joined(self, session: int, station: int) -> None:
        self._add("join", session=session, station=f"s{station}")

    def left(self, session: int) -> None:
        self._add("leave", session=session)

    def gap(self, session: int, station: int) -> None:
        self._add("gap", session=session, station=f"s{station}")

    def session_opened(self, session: int, station: int | None, cause: str) -> None:
        if cause == "join":
            return
        self._handoff = True
        where = None if station is None else f"s{station}"
        self._add("handoff_start", session=session, station=where, detail={"cause": cause})

    def session_confirmed(self, session: int, station: int, detail: dict[str, int]) -> None:
        if self._handoff:
            self._handoff = False
            self._add("handoff_end", session=session, station=f"s{station}", detail=dict(detail))


class _Wired:
    def __init__(self, backbone: Backbone, me: int) -> None:
        self._backbone = backbone
        self._me = me

    def broadcast(self, message: Any) -> None:
        self._backbone.flood(self._me, self._me, self._me, message)

    def send(self, to: int, message: Any) -> None:
        self._backbone.forward(self._me, self._me, to, message)


class Backbone:
    """A tree of FIFO links."""

    def __init__(self, kernel: Kernel, dice: Stream, parents: Sequence[int], slowest_ns: Sequence[int]) -> None:
        """`parents[i]` is the neighbour of station i+1 towards station 0; `slowest_ns[i]` that link's longest delay."""
        self._kernel = kernel
        self._dice = dice
        count = len(parents) + 1
        self.handle: Callable[[int, int, Any], None] = lambda at, source, message: None
        self._neighbours: list[list[int]] = [[] for _ in range(count)]
        self._slowest: dict[tuple[int, int], int] = {}
        self._last: dict[tuple[int, int], int] = {}
        for child, (parent, slowest) in enumerate(zip(parents, slowest_ns, strict=True), 1):
            for a, b in ((child, parent), (parent, child)):
                self._neighbours[a].append(b)
                self._slowest[a, b] = slowest
                self._last[a, b] = 0
        self._next = [self._first_hops(at) for at in range(count)]
        self.in_flight = 0

    def _first_hops(self, start: int) -> dict[int, int]:
        hops: dict[int, int] = {}
        for first in self._neighbours[start]:
            stack = [(first, start)]
            while stack:
                at, before = stack.pop()
                hops[at] = first
                stack += [(n, at) for n in self._neighbours[at] if n != before]
        return hops

    def flood(self, at: int, before: int, source: int, message: Any) -> None:
        for n in self._neighbours[at]:
            if n != before:
                self._cross(at, n, source, None, message)

    def forward(self, at: int, source: int, to: int, message: Any) -> None:
        self._cross(at, self._next[at][to], source, to, message)

    def _cross(self, a: int, b: int, source: int, to: int | None, message: Any) -> None:
        when = self._kernel.now + int(self._dice.random() * self._slowest[a, b])
        when = self._last[a, b] = max(when, self._last[a, b])
        self.in_flight += 1
        self._kernel.at(when, lambda: self._arrive(a, b, source, to, message))

    def _arrive(self, before: int, at: int, source: int, to: int | None, message: Any) -> None:
        self.in_flight -= 1
        if to is None:
            self.flood(at, before, source, message)
        elif to != at:
            self.forward(at, source, to, message)
            return
        self.handle(at, source, message)


class Adversary:
    """Stations, hosts, and everything between them."""

    def __init__(
        self, kernel: Kernel, log: Log, seed: int, parameters: MobileCausalParameters, parents: Sequence[int],
        slowest_ns: Sequence[int], hosts: int, host_class: type[Host] = Host, station_class: type[Station] = Station,
        check: bool = True,
    ) -> None:
        self.kernel = kernel
        self.log = log
        self.air = CALM
        self._parameters = parameters
        self._host_class = host_class
        self._check = check
        self._dice = Stream(seed, "swarm/air")
        self._host_dice = [Stream(seed, "swarm/host", f"h{h}") for h in range(hosts)]
        self._old: list[tuple[Callable[..., None], tuple[Any, ...]]] = []  # packets that may come again
        count = len(parents) + 1
        self.backbone = Backbone(kernel, Stream(seed, "swarm/wire"), parents, slowest_ns)
        self.backbone.handle = self._handle_wired
        self.stations = [
            station_class(_StationPort(self, s, Stream(seed, "swarm/station", f"s{s}")), _Wired(self.backbone, s),
                          parameters, count, check)
            for s in range(count)
        ]
        self.stable = [Stable() for _ in range(hosts)]
        self.cells: list[int | None] = [None] * hosts
        self._ports: list[_HostPort] = []
        self.hosts: list[Host | None] = []  # None: crashed
        for h in range(hosts):
            self._ports.append(_HostPort(self, h, self._host_dice[h]))
            self.hosts.append(host_class(self._ports[h], self.stable[h], parameters, count, check))

    # --- what may happen to a host

    def join(self, h: int) -> None:
        if (host := self.hosts[h]) is not None:
            host.join()

    def leave(self, h: int) -> bool:
        host = self.hosts[h]
        return host is not None and host.leave()

    def co_broadcast(self, h: int, body: int = 1) -> bool:
        host = self.hosts[h]
        message = None if host is None else host.co_broadcast(body)
        if message is None:
            return False
        self.log.add(self.kernel.now, f"h{h}", "broadcast", f"h{message.host}:{message.seq}")
        return True

    def move(self, h: int, cell: int | None) -> None:
        before, self.cells[h] = self.cells[h], cell
        if before == cell:
            return
        if before is None or cell is None:
            self.log.add(self.kernel.now, f"h{h}", "out_of_coverage" if cell is None else "in_coverage")
        if (host := self.hosts[h]) is not None:
            host.on_cell(cell)

    def crash(self, h: int) -> None:
        if self.hosts[h] is not None:
            self.log.add(self.kernel.now, f"h{h}", "crash")
            self._ports[h].die()
            self.hosts[h] = None

    def recover(self, h: int) -> None:
        if self.hosts[h] is not None:
            return
        self.log.add(self.kernel.now, f"h{h}", "recover")
        self._ports[h] = _HostPort(self, h, self._host_dice[h])
        host = self._host_class(self._ports[h], self.stable[h], self._parameters, len(self.stations), self._check)
        self.hosts[h] = host
        if self.cells[h] is not None:
            host.on_cell(self.cells[h])
        host.on_recover()

    # --- the radio

    def from_host(self, h: int, to: int, message: Any) -> None:
        host = self.hosts[h]
        if self._leaves_the_queue(lambda dropped: self._tell_host(h, host, message, dropped)) and self.cells[h] == to:
            self._throw(self._at_station, (to, h, message))

    def from_station(self, s: int, to: int | None, message: Any) -> None:
        station = self.stations[s]
        if not self._leaves_the_queue(lambda dropped: (station.on_dropped if dropped else station.on_sent)(message)):
            return
        for h, cell in enumerate(self.cells):
            if to is not None and to != h:
                continue
            if cell == s or (self.air.overhear and self._dice.random() < self.air.overhear):
                self._throw(self._at_host, (h, s, message))

    def replay(self) -> None:
        """Some old packet comes again."""
        if self._old:
            receive, arguments = self._old[self._dice.below(len(self._old))]
            receive(*arguments)

    def _leaves_the_queue(self, done: Callable[[bool], None]) -> bool:
        dropped = self.air.drop > 0 and self._dice.random() < self.air.drop
        self.kernel.after(MILLISECOND, lambda: done(dropped))
        return not dropped

    def _tell_host(self, h: int, host: Host | None, message: Any, dropped: bool) -> None:
        if host is not None and self.hosts[h] is host:  # not a later life
            if dropped:
                host.on_dropped(message)
            else:
                host.on_sent(message)

    def _throw(self, receive: Callable[..., None], arguments: tuple[Any, ...]) -> None:
        air, dice = self.air, self._dice
        self._old.append((receive, arguments))
        for _ in range(2 if air.duplicate and dice.random() < air.duplicate else 1):
            if air.loss and dice.random() < air.loss:
                continue
            longest = air.late_ns if air.late and dice.random() < air.late else air.delay_ns
            self.kernel.after(int(dice.random() * longest), lambda: receive(*arguments))

    def _at_station(self, s: int, sender: int, message: Any) -> None:
        self.stations[s].on_receive(sender, message)
        if self._check:
            self._one_token(message.host)

    def _at_host(self, h: int, sender: int, message: Any) -> None:
        host = self.hosts[h]
        if host is not None:
            host.on_receive(sender, message)

    def _handle_wired(self, at: int, source: int, message: Any) -> None:
        self.stations[at].on_wired(source, message)
        if self._check and type(message) is not App:
            self._one_token(message.host)

    def _one_token(self, host: int) -> None:
        """At no instant do two stations own, or hand over, the same host."""
        holders = [s for s, station in enumerate(self.stations)
                   if (c := station.ctx.get(host)) is not None and c.state in (State.OWN, State.REL)]
        assert len(holders) <= 1, f"h{host} is owned at {holders}"

    def numbers_agree(self) -> bool:
        """When the wire is empty all stations have numbered the same messages."""
        return len({station.next_number for station in self.stations}) == 1

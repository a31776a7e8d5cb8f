"""The abstract network of the VCube papers: sending takes time, and links and receivers are never busy.

Model     A message waits for its sender's send server (first come, first served, t_s each), travels t_t, is received
          for t_r, and is handed to its handler t_h later. The papers measure the end of the reception. Broadcasts and
          the tests of the detector use separate lanes, each with its own send servers.
Jitter    In the papers, the jitter is 0. In a lane with jitter, each message takes longer by a random time of up to
          this value, so that a link does not keep the order
Crashes   A message is lost if it has not left the send server when its sender crashes, or if its receiver is down
          when the message would be handed over. Timers end with their process. A message that would leave at the
          instant of the crash is lost
Ties      Messages and timers of one instant occur in the order in which they were scheduled: an instant is one list,
          and one entry of the kernel's queue
Speed     A message is an entry (receive, sender, message) of its instant. The messages in flight are those in the
          calendar, so arrivals need not be counted. When a process crashes, which is rare, the calendar is searched
Units     integer nanoseconds; 1 time unit of the papers is 1 s
Source    Rodrigues et al. (LADC 2018), section 6.1; Jeanneau et al. (JBCS 2017), simulation parameters; t_h = 0.1 is
          inferred from their figures: docs/protocols/vcube.md
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any, Final

from mobilenet.engine.kernel import Kernel
from mobilenet.engine.random_streams import Stream

NEVER: Final = 1 << 62
Receive = Callable[[int, Any], None]
Send = Callable[[int, Any], None]
Bucket = list[Any]  # receive, sender, message, receive, sender, message, ...: a flat list saves memory


class StepNetwork:
    def __init__(
        self, kernel: Kernel, n: int, send_ns: int, link_ns: int, reception_ns: int, hand_over_ns: int
    ) -> None:
        self.kernel = kernel
        self.n = n
        self.send_ns = send_ns
        self.travel_ns = link_ns + reception_ns + hand_over_ns
        self.hand_over_ns = hand_over_ns
        self.up = [True] * n
        self.lanes: list[Lane] = []
        self.is_receiving = False
        self._calendar: dict[int, Bucket] = {}

    def lane(self, jitter_ns: int = 0, stream: Stream | None = None) -> Lane:
        lane = Lane(self) if stream is None else LaneWithoutOrder(self, jitter_ns, stream)
        self.lanes.append(lane)
        return lane

    @property
    def measured_ns(self) -> int:
        """The time that counts for measurements. Within a handler, this is the end of the reception, and otherwise the
        current time.
        """
        now = self.kernel.now
        return now - self.hand_over_ns if self.is_receiving else now

    def at(self, time_ns: int, action: Callable[[], None]) -> None:
        self.bucket(time_ns).extend((self._act, action, None))

    def bucket(self, time_ns: int) -> Bucket:
        """Return the list of the events of an instant. They take place in the order in which they are appended."""
        bucket = self._calendar.get(time_ns)
        if bucket is None:
            bucket = self._calendar[time_ns] = []
            self.kernel.at(time_ns, self._run_instant)
        return bucket

    def timer(self, i: int, action: Callable[[], None]) -> StepTimer:
        return StepTimer(self, i, action)

    def crash(self, i: int) -> None:
        self.up[i] = False
        for lane in self.lanes:
            lane.crash(i)

    def _run_instant(self) -> None:
        now = self.kernel.now
        self.is_receiving = True
        rest = iter(self._calendar[now])
        for receive, sender, message in zip(rest, rest, rest, strict=False):  # a handler may append to the list
            receive(sender, message)
        self.is_receiving = False
        del self._calendar[now]
        for lane in self.lanes:
            lane.close(now)

    def _act(self, action: Callable[[], None], _: None) -> None:
        """Call an action of a timer or of the plan. Such an action is not a reception."""
        self.is_receiving = False
        action()
        self.is_receiving = True


class Lane:
    """Carries the messages of one protocol. A lane has a send server and a receiver for each process."""

    def __init__(self, network: StepNetwork) -> None:
        self._network = network
        self._instants: dict[int, Bucket] = {}  # the instants of the network at which messages of this lane arrive
        self._receive: list[Receive] = [*[self._lose] * network.n, self._vanish]
        self._own: set[Any] = {self._lose, self._vanish}  # receive functions that identify the entries of this lane
        self.vanished = 0  # messages that the network lost
        self.lost = 0  # messages whose receiver was down
        self.unsent = 0  # messages whose sender crashed before they left
        self.last_ns = 0  # time at which the last message was handed over
        self.bytes = 0
        self.kinds: dict[type, int] = defaultdict(int)

    @property
    def sent(self) -> int:
        """The number of messages that were passed to the send servers."""
        return sum(self.kinds.values())

    @property
    def in_flight(self) -> int:
        return sum(receive in self._own for bucket in self._instants.values() for receive in bucket[::3])

    @property
    def is_empty(self) -> bool:
        return not self._instants

    @property
    def last_measured_ns(self) -> int:
        """The time at which the last reception ended."""
        return max(0, self.last_ns - self._network.hand_over_ns)

    def attach(self, i: int, receive: Receive) -> None:
        self._receive[i] = receive
        self._own.add(receive)

    def sender(self, i: int) -> Send:
        """Return the send function of process i."""
        return SendServer(self, i).send

    def close(self, now: int) -> None:
        """Remove an instant that is over."""
        if self._instants.pop(now, None) is not None:
            self.last_ns = now

    def crash(self, i: int) -> None:
        now, travel_ns, receive = self._network.kernel.now, self._network.travel_ns, self._receive[i]
        for at, bucket in list(self._instants.items()):
            left_before = at - travel_ns < now
            for k in range(0, len(bucket), 3):
                if bucket[k + 1] == i and not left_before and bucket[k] in self._own:
                    bucket[k] = _nothing
                    self.unsent += 1
                elif bucket[k] == receive:
                    bucket[k] = self._lose
            if not any(receive in self._own for receive in bucket[::3]):
                del self._instants[at]
        self._receive[i] = self._lose

    def _vanish(self, sender: int, message: Any) -> None:
        """Count a message that the network loses. Such messages are sent to process `n`, which does not exist."""
        self.vanished += 1

    def _lose(self, sender: int, message: Any) -> None:
        """Count a message whose receiver is down."""
        self.lost += 1


def _nothing(sender: Any, message: Any) -> None:
    """Ignore a message that never left its sender."""


class SendServer:
    """Sends the messages of one process, one after the other. This is the hot path."""

    def __init__(self, lane: Lane, i: int) -> None:
        network = lane._network
        self._calendar, self._network, self._lane = network.kernel.calendar, network, lane
        self._send_ns, self._travel_ns = network.send_ns, network.travel_ns
        self._i = i
        self._free_at = 0

    def send(self, to: int, message: Any) -> None:
        lane, now = self._lane, self._calendar.now
        free_at = (self._free_at if self._free_at > now else now) + self._send_ns
        self._free_at = free_at
        lane.kinds[type(message)] += 1
        lane.bytes += message.size_bytes
        at = free_at + self._travel_ns
        bucket = lane._instants.get(at)
        if bucket is None:
            bucket = lane._instants[at] = self._network.bucket(at)
        bucket.extend((lane._receive[to], self._i, message))


class LaneWithoutOrder(Lane):
    """A lane in which messages may overtake each other on a link."""

    def __init__(self, network: StepNetwork, jitter_ns: int, stream: Stream) -> None:
        super().__init__(network)
        self._jitter_ns = jitter_ns
        self._stream = stream
        self._own = {self._arrive}
        self._crashed_ns = [NEVER] * network.n  # messages that would leave at this instant or later are not sent

    def sender(self, i: int) -> Send:
        network = self._network
        free_at = 0

        def send(to: int, message: Any) -> None:
            nonlocal free_at
            free_at = max(free_at, network.kernel.now) + network.send_ns
            self.kinds[type(message)] += 1
            self.bytes += message.size_bytes
            at = free_at + network.travel_ns + self._stream.below(self._jitter_ns + 1)
            self._instants[at] = network.bucket(at)
            self._instants[at].extend((self._arrive, free_at, (i, to, message)))

        return send

    def crash(self, i: int) -> None:
        self._crashed_ns[i] = self._network.kernel.now
        self._receive[i] = self._lose

    def close(self, now: int) -> None:
        self._instants.pop(now, None)

    def _arrive(self, left: int, parcel: tuple[int, int, Any]) -> None:
        sender, to, message = parcel
        if left < self._crashed_ns[sender]:
            self.last_ns = self._network.kernel.now
            self._receive[to](sender, message)
        else:
            self.unsent += 1


class StepTimer:
    """A timer whose position among simultaneous events is fixed when it is started."""

    __slots__ = ("_action", "_network", "_number", "_owner", "running")

    def __init__(self, network: StepNetwork, owner: int, action: Callable[[], None]) -> None:
        self._network = network
        self._owner = owner
        self._action = action
        self._number = 0
        self.running = False

    def start(self, delay_ns: int) -> None:
        self._number += 1
        self.running = True
        number = self._number
        network = self._network
        network.at(network.kernel.now + delay_ns, lambda: self._come_up(number))

    def stop(self) -> None:
        self._number += 1
        self.running = False

    def _come_up(self, number: int) -> None:
        if number == self._number and self._network.up[self._owner]:
            self.running = False
            self._action()

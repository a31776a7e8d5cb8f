"""The abstract network of the papers on VCube: sending takes time, links and receivers never get busy.

Model     a message waits for its sender's send server (first come, first served, t_s each), travels t_t, is received for
          t_r, and is handed over t_h later, when the handler runs. The end of the reception is the instant that the papers
          measure. Each lane has send servers of its own: broadcasts on one, the tests of the detector on another
Jitter    0 in the papers. Otherwise each message of a lane that has jitter takes up to so much longer, drawn for each: a link keeps no order
Crashes   what has not left the send server is lost, and so is what reaches a process that is down by the time it would be
          handed over; timers die with their process. A message that would leave at the instant of the crash is lost
Ties      in order of scheduling, messages and timers alike: an instant is one list, and one entry of the kernel's queue
Units     integer nanoseconds; 1 time unit of the papers is 1 s
Source    Rodrigues et al. (LADC 2018), section 6.1; Jeanneau et al. (JBCS 2017), simulation parameters; t_h = 0.1 is inferred
          from their figures: DESIGN.md §16
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mobilenet.kernel import Kernel
from mobilenet.streams import Stream

Receive = Callable[[int, Any], None]
NEVER = 1 << 62


class StepNetwork:
    def __init__(self, kernel: Kernel, n: int, send_ns: int, link_ns: int, reception_ns: int, hand_over_ns: int) -> None:
        self.kernel = kernel
        self.n = n
        self.send_ns = send_ns
        self.travel_ns = link_ns + reception_ns + hand_over_ns
        self.hand_over_ns = hand_over_ns
        self.up = [True] * n
        self.lanes: list[Lane] = []
        self.is_receiving = False
        self.left_before = [NEVER] * n  # what leaves a process later than that, or then, does not leave
        self._calendar: dict[int, list[Any]] = {}

    def lane(self, jitter_ns: int = 0, dice: Stream | None = None) -> Lane:
        lane = Lane(self) if dice is None else LaneWithoutOrder(self, jitter_ns, dice)
        self.lanes.append(lane)
        return lane

    @property
    def measured_ns(self) -> int:
        """The instant that counts for what happens now: within a handler, the end of the reception."""
        now = self.kernel._now
        return now - self.hand_over_ns if self.is_receiving else now

    def at(self, time_ns: int, action: Callable[[], None]) -> None:
        self.bucket(time_ns).append(action)

    def bucket(self, time_ns: int) -> list[Any]:
        """What happens at an instant; whoever appends comes last."""
        found = self._calendar.get(time_ns)
        if found is None:
            found = self._calendar[time_ns] = []
            self.kernel.at(time_ns, self._happen)
        return found

    def timer(self, i: int, action: Callable[[], None]) -> StepTimer:
        return StepTimer(self, i, action)

    def crash(self, i: int) -> None:
        self.up[i] = False
        self.left_before[i] = self.kernel._now
        for lane in self.lanes:
            lane.receive[i] = lane.lose

    def _happen(self) -> None:
        now = self.kernel._now
        must_have_left = now - self.travel_ns
        left_before = self.left_before
        self.is_receiving = True
        bucket = self._calendar[now]
        for entry in bucket:  # it may grow
            if type(entry) is tuple:
                lane, to, sender, message = entry
                lane.arrived += 1
                if must_have_left < left_before[sender]:
                    lane.last_ns = now
                    lane.receive[to](sender, message)
                else:
                    lane.unsent += 1
            else:
                self.is_receiving = False
                entry()
                self.is_receiving = True
        self.is_receiving = False
        del self._calendar[now]


class Lane:
    """One send server for each process, and who receives."""

    __slots__ = (
        "_calendar", "_free_at", "_kernel", "_network", "arrived", "bytes", "kinds", "last_ns", "lost", "receive", "sent", "unsent",
    )  # fmt: skip

    def __init__(self, network: StepNetwork) -> None:
        self._network = network
        self._kernel = network.kernel
        self._calendar = network._calendar
        self._free_at = [0] * network.n
        self.receive: list[Receive] = [self.lose] * network.n
        self.sent = 0
        self.arrived = 0  # at the instant of the hand-over, lost and unsent ones included
        self.lost = 0  # their receiver was down
        self.unsent = 0  # their sender was, before they left
        self.last_ns = 0  # the last hand-over
        self.bytes = 0
        self.kinds: dict[type, int] = {}

    @property
    def in_flight(self) -> int:
        return self.sent - self.arrived

    @property
    def last_measured_ns(self) -> int:
        """The end of the last reception."""
        return max(0, self.last_ns - self._network.hand_over_ns)

    def attach(self, i: int, receive: Receive) -> None:
        self.receive[i] = receive

    def send(self, i: int, to: int, message: Any) -> None:
        network = self._network
        now = self._kernel._now
        free_at = self._free_at
        left = free_at[i]
        left = (left if left > now else now) + network.send_ns
        free_at[i] = left
        at = left + network.travel_ns
        self.sent += 1
        self.bytes += message.size_bytes
        kind = type(message)
        self.kinds[kind] = self.kinds.get(kind, 0) + 1
        entry = (self, to, i, message)
        try:
            self._calendar[at].append(entry)
        except KeyError:
            network.bucket(at).append(entry)

    def lose(self, sender: int, message: Any) -> None:
        """What a process that is down receives."""
        self.lost += 1


class LaneWithoutOrder(Lane):
    """Messages overtake each other on their link."""

    __slots__ = ("_dice", "_jitter_ns")

    def __init__(self, network: StepNetwork, jitter_ns: int, dice: Stream) -> None:
        super().__init__(network)
        self._jitter_ns = jitter_ns
        self._dice = dice

    def send(self, i: int, to: int, message: Any) -> None:
        network = self._network
        left = self._free_at[i] = max(self._free_at[i], self._kernel._now) + network.send_ns
        self.sent += 1
        self.bytes += message.size_bytes
        self.kinds[type(message)] = self.kinds.get(type(message), 0) + 1
        at = left + network.travel_ns + self._dice.below(self._jitter_ns + 1)
        network.bucket(at).append(lambda: self._arrive(left, i, to, message))

    def _arrive(self, left: int, sender: int, to: int, message: Any) -> None:
        network = self._network
        self.arrived += 1
        if left >= network.left_before[sender]:
            self.unsent += 1
            return
        self.last_ns = self._kernel._now
        network.is_receiving = True
        self.receive[to](sender, message)
        network.is_receiving = False


class StepTimer:
    """Takes its place among the events of its instant when it is started."""

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
        network.at(network.kernel._now + delay_ns, lambda: self._come_up(number))

    def stop(self) -> None:
        self._number += 1
        self.running = False

    def _come_up(self, number: int) -> None:
        if number == self._number and self._network.up[self._owner]:
            self.running = False
            self._action()

"""Control the pace of a live run, and carry out commands between its pieces.

Model     One thread owns the session. Commands enter a queue, and their results are futures. Simulated time advances
          with the clock, multiplied by the current speed. On a slow machine, the run plays without pauses, and a lag
          of more than MOST_BEHIND_S is dropped. States are sent 20 times per second (10 times with many hosts), and
          also immediately after a command
Units     seconds of the wall clock in names with _s, nanoseconds of simulated time
Errors    an exception of a command is stored in its future
Source    ours: docs/guide/live.md
"""

from __future__ import annotations

import queue
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Literal

from mobilenet.engine.clock import SECOND, ns
from mobilenet.lab.live.commands import is_step
from mobilenet.lab.live.session import LiveSession
from mobilenet.parameters import ScenarioError
from mobilenet.quoting import first_line

IDLE_S = 1.0  # The longest wait for a command. A signal that arrives just before a wait is only handled after it.
PIECE_S = 0.01  # target duration of a piece
TURN_S = 0.03  # The run plays for this long before tasks are handled and states are sent.
MOST_BEHIND_S = 0.5
LONGEST_PAUSE_S = 0.1  # maximum time between two state messages if listeners are slow
LONGEST_PIECE_NS = 10 * SECOND
MANY_HOSTS = 300  # A run with more hosts sends states half as often.
Task = Callable[[], Any]


class Player:
    """Plays a live run. When listeners should receive a state, the player calls `on_state` in its thread; the argument
    tells whether the state must be sent at once. `on_state` returns False if some listeners were not ready and need the
    state soon.
    """

    def __init__(
        self, session: LiveSession, on_state: Callable[[bool], bool], speed: float | Literal["max"] = 1.0
    ) -> None:
        self.session = session
        self.speed = speed
        self.is_playing = False
        self.is_held = False  # whether a listener holds the run
        self.rate = 0.0  # recent number of simulated seconds per second
        self.stopped_because = ""
        self.is_ending = False
        self.stepped: dict[str, Any] | None = None  # the number of the last step, and the event that ended it
        self._stepping: str | None = None  # the kind of event that ends the current step
        self._rows_before = 0
        self._on_state = on_state
        self._tasks: queue.SimpleQueue[tuple[Task, Future[Any]]] = queue.SimpleQueue()
        self._until_ns: int | None = None  # end time, if a `play` command specifies one
        self._since_wall_s, self._since_ns = 0.0, 0
        self.shortest_pause_s = 0.05 if len(session.simulation.hosts) <= MANY_HOSTS else 0.1
        self.pause_s = self.shortest_pause_s  # time between two state messages
        self._is_behind = False
        self._piece_ns = SECOND // 100
        self._reported_wall_s, self._reported_ns = 0.0, 0
        self._next_s = 0.0  # time of the next state, unless a command is carried out earlier
        self._is_due = True
        self._is_owed = False  # whether a listener still lacks the current state

    def ask(self, task: Task) -> Future[Any]:
        """Queue a task, to be run between two pieces of the simulation. Any thread may call this method."""
        answer: Future[Any] = Future()
        self._tasks.put((task, answer))
        return answer

    def tell_each(self, pause_s: float) -> None:
        """Set the time between two states, within the player's limits."""
        self.pause_s = max(self.shortest_pause_s, min(LONGEST_PAUSE_S, pause_s))

    def end(self) -> None:
        """End the run, so that `run` returns. Any thread or a signal handler may call this method."""
        self.is_ending = True
        self.ask(lambda: None)

    # --- in its own thread

    def run(self) -> None:
        """Play until `end` is called."""
        while not self.is_ending:
            now_s = time.monotonic()
            self._do_tasks(self._wait_s(now_s))
            if self.is_going:
                self._go_on()
            waits = self.is_going or self._is_owed
            if self._is_due or time.monotonic() >= self._next_s and waits:
                self._tell()
        self._do_tasks(0.0)  # carry out the requests that arrived before the end

    def play(self, speed: float | Literal["max"] | None = None, until_s: float | None = None) -> None:
        self._require_more()
        if until_s is not None:
            self.session.require_virtual_time("play: until_s")
        if speed is not None:
            self.set_speed(speed)
        self._until_ns = None if until_s is None else ns(until_s)
        self._stepping = None
        self._go()

    @property
    def is_going(self) -> bool:
        """Whether the run is playing and not held."""
        return self.is_playing and not self.is_held

    def hold(self, on: bool) -> None:
        """Hold the run while a listener views earlier times, or let it continue."""
        self.is_held = on
        self._from_here()
        self.send_state()

    def step(self, what: str) -> None:
        """Play to the next event of a kind at full speed, and then pause. The result is in `stepped`."""
        self._require_more()
        self.session.require_virtual_time("step")
        self._stepping = what
        self._rows_before = len(self.session.simulation.recording.events)
        self._go()

    def set_speed(self, speed: float | Literal["max"]) -> None:
        """Set the speed. If the run is paused, the speed applies when it continues."""
        if self.session.is_real_time and speed != 1:
            raise ScenarioError("speed: a run in real time always has speed 1")
        self.speed = speed
        self._from_here()
        self.send_state()

    def _require_more(self) -> None:
        if self.session.is_over:
            raise ScenarioError("the run is over; go back to an earlier time to play it again")
        self.session.require_sound()

    def _go(self) -> None:
        self.is_playing, self.is_held = True, False
        self.stopped_because = ""
        self.session.forget_violation()
        self._from_here()
        self.send_state()

    def ask_to_pause(self) -> None:
        """Pause because a listener requests it. Raise ScenarioError for an unfinished real-time run."""
        if self.session.is_real_time and not self.session.is_over:
            raise ScenarioError("pause: programs in real time cannot be paused")
        self.pause()

    def pause(self, because: str = "") -> None:
        self.is_playing = False
        self._stepping = None
        self.stopped_because = because
        self.rate = 0.0
        self.send_state()

    def note_change(self) -> None:
        """Record that the user changed the run, so that the reason for the last stop no longer applies."""
        if not self.is_playing:
            self.stopped_because = ""
            if self.session.violation is not None:  # the command caused a violation
                self._has_to_stop()
        self.send_state()

    def send_state(self) -> None:
        """Make the player send a state to the listeners as soon as possible."""
        self._is_due = True

    def _from_here(self) -> None:
        self._since_wall_s, self._since_ns = time.monotonic(), self.session.now_ns
        self._reported_wall_s, self._reported_ns = self._since_wall_s, self._since_ns

    def _wait_s(self, now_s: float) -> float:
        if self._is_due or self.is_going and (self.speed == "max" or self._stepping is not None or self._is_behind):
            return 0.0
        if not self.is_going and not self._is_owed:
            return IDLE_S
        return max(0.0, self._next_s - now_s)

    def _do_tasks(self, wait_s: float) -> None:
        """Wait for a task, then run all tasks in the queue."""
        try:
            task, answer = self._tasks.get(timeout=wait_s) if wait_s > 0 else self._tasks.get_nowait()
            while True:
                if answer.set_running_or_notify_cancel():
                    self._do(task, answer)
                task, answer = self._tasks.get_nowait()
        except queue.Empty:
            return

    def _do(self, task: Task, answer: Future[Any]) -> None:
        try:
            answer.set_result(task())
        except Exception as error:  # the caller receives the exception
            answer.set_exception(error)

    def _go_on(self) -> None:
        if self._stepping is not None:
            self._step_on(self._stepping)
            return
        if self.session.is_real_time:
            self._go_on_in_real_time()
            return
        session, began_s = self.session, time.monotonic()
        target_ns = 2**62
        if self.speed != "max":
            self._let_go(self.speed, began_s)
            target_ns = self._since_ns + int((began_s - self._since_wall_s) * self.speed * SECOND)
        if self._until_ns is not None:
            target_ns = min(target_ns, self._until_ns)
        now_s, self._is_behind = began_s, False
        try:
            while session.now_ns < target_ns and not self._has_to_stop():
                if now_s - began_s > TURN_S:
                    self._is_behind = True
                    break
                session.play_ns(min(target_ns, session.now_ns + self._piece_ns))
                took_s, now_s = time.monotonic() - now_s, time.monotonic()
                share = min(2.0, PIECE_S / max(took_s, 1e-6))
                self._piece_ns = min(LONGEST_PIECE_NS, max(1_000, int(self._piece_ns * share)))
        except Exception as error:  # an error of a program or a plug-in
            self.pause(first_line(error))
            return
        self._has_to_stop()

    def _go_on_in_real_time(self) -> None:
        """Play a piece for as long as its simulated time, unless input from programs ends the wait."""
        try:
            self.session.play_ns(self.session.now_ns + int(PIECE_S * SECOND))
        except Exception as error:  # an error of a program
            self.pause(first_line(error))
            return
        self._is_behind = True  # the next piece follows immediately
        self._has_to_stop()

    def _let_go(self, speed: float, now_s: float) -> None:
        """Drop the part of a lag that the machine cannot catch up on."""
        behind_s = now_s - self._since_wall_s - (self.session.now_ns - self._since_ns) / SECOND / speed
        if behind_s > MOST_BEHIND_S:
            self._since_wall_s, self._since_ns = now_s - MOST_BEHIND_S, self.session.now_ns

    def _step_on(self, what: str) -> None:
        try:
            is_there = self.session.step_for(what, TURN_S)
        except Exception as error:  # an error of a program or a plug-in
            self.pause(first_line(error))
            return
        if is_there:
            self.pause()
            self._has_to_stop()  # this call also sets the reason for the stop
            number = 0 if self.stepped is None else self.stepped["number"]
            self.stepped = {"number": number + 1, "what": what, "event": self._event_of(what)}

    def _event_of(self, what: str) -> dict[str, Any] | None:
        """Return the last event of this kind since the step began, or None if there is none."""
        columns = self.session.simulation.recording.events.columns()
        violation = self.session.violation
        rows = range(self._rows_before, len(columns["event"]))
        if what == "violation":
            rows = range(0) if violation is None else range(violation.row, violation.row + 1)
        row = next((row for row in reversed(rows) if is_step(what, columns["event"][row])), None)
        if row is None:
            return None
        return {name: columns[name][row] for name in ("event", "node", "message", "station", "session")}

    def _has_to_stop(self) -> bool:
        """Return whether the run must pause here, although no command requested a pause."""
        session = self.session
        if session.violation is not None and not session.is_real_time:
            self.pause(f"violated: {session.violation.check}")
        elif session.is_over:
            self.pause("the run is over")
        elif self._until_ns is not None and session.now_ns >= self._until_ns:
            self.pause()
        return not self.is_playing

    def _tell(self) -> None:
        now_s, now_ns = time.monotonic(), self.session.now_ns
        if self.is_going and now_s - self._reported_wall_s > 0.01:
            self.rate = (now_ns - self._reported_ns) / SECOND / (now_s - self._reported_wall_s)
        self._reported_wall_s, self._reported_ns = now_s, now_ns
        # The next state is scheduled relative to the scheduled time of this one, so that delays do not add up. The
        # bounds prevent two states in immediate succession and unusually long pauses.
        self._next_s = min(max(self._next_s + self.pause_s, now_s + self.pause_s / 4), now_s + self.pause_s)
        was_due, self._is_due = self._is_due, False
        self._is_owed = not self._on_state(was_due)

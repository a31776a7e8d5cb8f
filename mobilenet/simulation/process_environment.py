"""The environment of users' processes: its clock, its limits, and how an error in a process ends the run.

Units     seconds; the limit is in seconds of wall time
Errors    ProcessError, one line with file, line and process
Source    ours: docs/guide/simpy.md
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from mobilenet.engine.event_queue import Action
from mobilenet.engine.kernel import Kernel, Seconds
from mobilenet.engine.wall_limit import TooLong, WallLimit
from mobilenet.parameters import ScenarioError
from mobilenet.quoting import cut
from mobilenet.simulation.plugin_code import place_of


class ProcessError(ScenarioError):
    """An error of a process, in one line."""


class Origin(NamedTuple):
    """Describes where a process comes from, for error messages."""

    key: str  # key in the scenario
    path: Path
    owner: str  # such as `bus of h0`

    def problem(self, text: str) -> ProcessError:
        return ProcessError(f"{self.key}: {text}, in process {self.owner}")


class Steps:
    """Counts the steps of all processes in one nanosecond."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.total = 0
        self._now_ns, self._count = -1, 0

    def are_too_many(self, now_ns: int) -> bool:
        """Count one more step, and return whether there have been more than `most`."""
        self.total += 1
        self._count = self._count + 1 if now_ns == self._now_ns else 1
        self._now_ns = now_ns
        return self._count > self.most


class Ended(BaseException):
    """Raised in a process to end it because its action ended the run."""


class Environment(Seconds):
    """The environment of one process and of the processes that it begins. It checks each of their steps."""

    def __init__(self, kernel: Kernel, end_ns: int, origin: Origin, limit: WallLimit, steps: Steps) -> None:
        super().__init__(kernel, end_ns)
        self._origin = origin
        self._limit = limit
        self._steps = steps
        self._foreign: BaseException | None = None  # an error of the protocol, which processes must not catch
        self._alive: dict[Any, Any] = {}  # processes that have not ended, and their generators

    def process(self, generator: Any) -> Any:
        """Begin a process, as in simpy."""
        if not inspect.isgenerator(generator):
            raise TypeError(f"env.process({cut(repr(generator), 80)}): expected a generator such as f(env)")
        guarded: Any = self._guard(generator)
        guarded.__name__ = generator.__name__
        process: Any = super().process(guarded)
        self._alive[process] = generator
        process.callbacks.append(self._alive.pop)
        return process

    @property
    def is_over(self) -> bool:
        return super().is_over or self._limit.is_stopped

    def close(self) -> None:
        """End all processes after the run. What they do while they end has no effect."""
        for generator in self._alive.values():
            with suppress(BaseException):
                generator.close()

    def act(self, action: Callable[..., None], *words: Any) -> None:
        """Act on the network. An error in the action ends the run, and the process can neither catch it nor see it."""
        if self.is_over:
            return
        try:
            action(*words)
        except BaseException as error:
            self._foreign = error
            raise Ended from None

    def _handle(self, handling: Action) -> None:
        """Handle the next event. An error that processes do not catch is reported with file, line and process."""
        steps = self._steps.total
        try:
            with self._limit:
                super()._handle(handling)
            if steps == self._steps.total:  # the event had only callbacks, or processes that simpy itself began
                self._count_step()
        except (ProcessError, KeyboardInterrupt):
            raise
        except TooLong as error:
            raise self._too_long(error) from None
        except BaseException as error:
            if self._foreign is None:
                raise self._origin.problem(place_of(error, self._origin.path)) from error
        if self._foreign is not None:
            raise self._foreign

    def _count_step(self, generator: Any = None) -> None:
        if self._steps.are_too_many(self._kernel.now):
            place = self._origin.path.name if generator is None else _place(generator)
            what = f"{self._steps.most:,} steps at {self.now:g} s, and time does not pass (limits.max_events)"
            raise self._origin.problem(f"{place}: {what}")

    def _too_long(self, error: TooLong) -> ProcessError:
        what = f"no yield within {self._limit.limit_s:g} s of wall time (limits.process_s)"
        place = place_of(error, self._origin.path).removesuffix(f": {TooLong.__name__}")
        return self._origin.problem(f"{place}: {what}")

    def _guard(self, generator: Any) -> Generator[Any, Any, Any]:
        step, value = generator.send, None
        while True:
            self._count_step(generator)
            try:
                event = step(value)
            except StopIteration as end:
                return end.value
            except TooLong as error:
                raise self._too_long(error) from None
            if not self.is_own(event):
                what = f"yields {cut(repr(event), 80)}, expected an event of env, such as env.timeout(1.5)"
                raise self._origin.problem(f"{_place(generator)}: {what}")
            try:
                step, value = generator.send, (yield event)
            except Exception as error:  # the event failed, or the process was interrupted
                step, value = generator.throw, error


def _place(generator: Any) -> str:
    """Return file and line of the innermost `yield` at which the process waits."""
    while inspect.isgenerator(inner := generator.gi_yieldfrom):
        generator = inner
    return f"{Path(generator.gi_code.co_filename).name}:{generator.gi_frame.f_lineno}"

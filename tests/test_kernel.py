"""Tests of the event kernel: simulated time, events at the same time, timers and random streams."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import simpy
from hypothesis import given
from hypothesis import strategies as st
from simpy.events import EventPriority

from mobilenet.engine.clock import SECOND, ns
from mobilenet.engine.event_queue import BUCKET_BITS, SEQUENCE_BITS, Calendar, Runaway
from mobilenet.engine.kernel import Kernel, Process
from mobilenet.engine.random_streams import BLOCK, Stream, generator
from mobilenet.engine.timer import Timer


def test_simultaneous_events_run_in_the_order_of_scheduling() -> None:
    kernel = Kernel()
    seen: list[str] = []
    kernel.at(5, lambda: seen.append("first"))
    kernel.at(5, lambda: seen.append("second"))
    kernel.at(3, lambda: kernel.at(5, lambda: seen.append("third")))
    kernel.run_until(10)
    assert seen == ["first", "second", "third"]
    assert kernel.now == 10


@given(
    st.lists(
        st.tuples(st.integers(0, 5) | st.integers(0, 3 << BUCKET_BITS), st.integers(0, 2 << BUCKET_BITS)), max_size=30
    ),
    st.lists(st.integers(0, 5 << BUCKET_BITS), max_size=4),
)
def test_the_kernel_runs_events_in_sorted_order(plan: list[tuple[int, int]], stops: list[int]) -> None:
    """The plan schedules calls near and far in the future, each of which schedules another, and the kernel runs them in
    arbitrary slices of time.
    """
    kernel = Kernel()
    scheduled: list[tuple[int, int]] = []
    seen: list[tuple[int, int]] = []

    def schedule(at: int, delay: int | None) -> None:
        entry = (at, len(scheduled))
        scheduled.append(entry)

        def happens() -> None:
            assert kernel.now == at
            seen.append(entry)
            if delay is not None:
                schedule(kernel.now + delay, None)

        kernel.at(at, happens)

    for at, delay in plan:
        schedule(at, delay)
    for stop in sorted(stops):
        kernel.run_until(stop)
        assert seen == sorted(entry for entry in scheduled if entry[0] <= stop)
        schedule(stop, 1)
    kernel.run_until(10 << BUCKET_BITS)
    assert seen == sorted(scheduled) and kernel.peek() == math.inf


@given(
    st.lists(st.lists(st.integers(0, 2 << BUCKET_BITS), min_size=1, max_size=6), max_size=6),
    st.integers(0, 4 << BUCKET_BITS),
)
def test_simpy_processes_behave_as_in_simpy_itself(waits: list[list[int]], until: int) -> None:
    def play(environment: simpy.Environment) -> list[tuple[float, int, str]]:
        seen: list[tuple[float, int, str]] = []

        def process(number: int) -> simpy.events.ProcessGenerator:
            for wait in waits[number]:
                done = (
                    environment.timeout(wait)
                    if number % 2
                    else environment.timeout(wait) | environment.timeout(3 << BUCKET_BITS)
                )
                try:
                    yield done
                    seen.append((environment.now, number, "woke"))
                except simpy.Interrupt:
                    seen.append((environment.now, number, "interrupted"))

        processes = [environment.process(process(number)) for number in range(len(waits))]

        def disturber() -> simpy.events.ProcessGenerator:
            for process in processes:
                yield environment.timeout(1 << 18)
                if process.is_alive:
                    process.interrupt()

        environment.process(disturber())
        environment.run(until=until + 1)
        environment.run()
        return seen

    assert play(Kernel()) == play(simpy.Environment())


@pytest.mark.parametrize("environment", [Kernel, simpy.Environment])
def test_a_process_waiting_for_the_end_event_of_a_run_resumes(environment: type[simpy.Environment]) -> None:
    env = environment()
    seen: list[tuple[float, str]] = []

    def first() -> simpy.events.ProcessGenerator:
        yield env.timeout(10)

    def second(other: simpy.Process) -> simpy.events.ProcessGenerator:
        yield env.timeout(1)
        yield other
        seen.append((env.now, "goes on"))

    waited_for = env.process(first())
    env.process(second(waited_for))
    env.run(until=waited_for)
    env.run()
    assert seen == [(10, "goes on")]


def test_simpy_processes_can_be_mixed_with_plain_calls() -> None:
    kernel = Kernel()
    seen: list[tuple[int, str]] = []

    def process() -> simpy.events.ProcessGenerator:
        for _ in range(3):
            yield kernel.timeout(10)
            seen.append((kernel.now, "process"))

    kernel.process(process())
    kernel.at(15, lambda: seen.append((kernel.now, "call")))
    kernel.run_until(100)
    assert seen == [(10, "process"), (15, "call"), (20, "process"), (30, "process")]


def test_events_due_together_run_in_the_order_they_were_created() -> None:
    kernel, seen = Kernel(), []

    def process(name: str, *moments: int) -> Process:
        waits = [kernel.until(at_ns) for at_ns in moments]
        for wait in waits:
            yield wait
            seen.append((kernel.now, name))

    kernel.start(process("first", 3, 5))
    kernel.at(5, lambda: seen.append((kernel.now, "second")))
    kernel.start(process("third", 5))
    kernel.run_until(9)
    assert seen == [(3, "first"), (5, "first"), (5, "second"), (5, "third")]


def test_a_simpy_process_starts_at_once() -> None:
    kernel, seen = Kernel(), []

    def process() -> Process:
        seen.append("begun")
        yield kernel.timeout(0)
        seen.append("resumed")

    def end_at_once() -> Process:
        seen.append("ended")
        yield from ()

    kernel.start(process())
    kernel.start(end_at_once())
    seen.append("after")
    kernel.run_until(0)
    assert seen == ["begun", "ended", "after", "resumed"]


def test_a_failed_simpy_event_raises_its_exception() -> None:
    kernel = Kernel()
    kernel.event().fail(RuntimeError("lost"))
    with pytest.raises(RuntimeError, match="lost"):
        kernel.run_until(1)


def test_scheduling_in_the_past_is_rejected() -> None:
    kernel = Kernel()
    kernel.run_until(7)
    with pytest.raises(ValueError, match="already at 7 ns"):
        kernel.at(6, lambda: None)


def test_an_entry_scheduled_before_the_current_bucket_runs_first() -> None:
    kernel = Kernel()
    seen: list[int] = []
    far = 10_000 << BUCKET_BITS
    for at in (far, 1 << 70):
        kernel.at(at, lambda: seen.append(kernel.now))
    kernel.run_until(5)  # This call makes the kernel look ahead to the entries far in the future.
    for at in (far - 1, 7, 3 << BUCKET_BITS, far + 1):
        kernel.at(at, lambda: seen.append(kernel.now))
    kernel.run_until(1 << 71)
    assert seen == [7, 3 << BUCKET_BITS, far - 1, far, far + 1, 1 << 70]


def test_the_kernel_rejects_priorities_out_of_range() -> None:
    with pytest.raises(ValueError, match="the priority is 3, expected"):
        Kernel().schedule(simpy.Event(Kernel()), EventPriority(3))


def test_the_kernel_stops_when_its_sequence_numbers_run_out() -> None:
    kernel = Kernel()
    kernel.calendar._sequence = (1 << SEQUENCE_BITS) - 10

    def again() -> None:
        kernel.after(1, again)

    kernel.after(1, again)
    with pytest.raises(Runaway, match="their order can no longer be kept"):
        kernel.run_until(SECOND)


@pytest.mark.parametrize("slices", [1, 7])
def test_the_event_limit_applies_within_and_across_time_slices(slices: int) -> None:
    kernel = Kernel()
    kernel.calendar.max_events = 700
    seen: list[int] = []

    def again() -> None:
        seen.append(kernel.now)
        kernel.after(1, again)

    kernel.after(1, again)
    for end in range(1, slices + 1):
        kernel.run_until(700 * end // slices)
    assert len(seen) == kernel.calendar.handled == 700
    with pytest.raises(Runaway, match=r"701 events at .* s, more than 700"):
        kernel.run_until(SECOND)
    assert len(seen) == 701


@pytest.mark.parametrize("wrong", [1.0, math.inf, "1"])
def test_event_times_have_to_be_integers(wrong: Any) -> None:
    kernel = Kernel()
    seen: list[int] = []
    kernel.at(np.int64(2), lambda: seen.append(kernel.now))
    for schedule in (kernel.at, kernel.after):
        with pytest.raises(TypeError, match="integer"):
            schedule(wrong, lambda: seen.append(-1))
    with pytest.raises(TypeError, match="integer"):
        kernel.run_until(wrong)
    kernel.run_until(np.int64(3))
    assert seen == [2] and type(kernel.now) is int


def test_kernels_are_independent_of_each_other() -> None:
    a, b = Kernel(), Kernel()
    a.at(5, lambda: None)
    a.run_until(9)
    assert (b.now, b.calendar.handled) == (0, 0)


@given(st.lists(st.tuples(st.integers(0, 30), st.sampled_from(["start", "stop"]), st.integers(0, 20)), max_size=20))
def test_a_timer_fires_exactly_at_its_last_deadline(script: list[tuple[int, str, int]]) -> None:
    """The test compares the timer with a model that remembers only the deadline."""
    kernel = Kernel()
    fired: list[int] = []
    timer = Timer(kernel, lambda: fired.append(kernel.now))
    expected: list[int] = []
    deadline = -1
    for at, verb, delay in sorted(script, key=lambda step: step[0]):
        kernel.run_until(at)
        if 0 <= deadline <= at:
            expected.append(deadline)
            deadline = -1
        if verb == "start":
            timer.start(delay)
            deadline = at + delay
        else:
            timer.stop()
            deadline = -1
        assert timer.running == (deadline >= 0)
    kernel.run_until(1000)
    assert fired == expected + ([deadline] if deadline >= 0 else [])


def test_seconds_are_converted_to_whole_nanoseconds() -> None:
    assert ns(1.5) == 1_500_000_000
    assert ns(0.1 + 0.2) == 300_000_000
    assert isinstance(ns(2.0), int)


def test_random_streams_with_different_names_are_independent() -> None:
    a = Stream(1, "mobility", "h12")
    before = [a.random() for _ in range(100)]
    other = Stream(1, "mobility", "h13")
    again = Stream(1, "mobility", "h12")
    after = []
    for _ in range(100):
        other.random()
        after.append(again.random())
    assert before == after
    assert [Stream(2, "mobility", "h12").random(), Stream(1, "backoff", "h12").random()] != before[:2]
    assert len({Stream(seed, "x", "y").random() for seed in range(1000)}) == 1000


def test_a_stream_yields_the_same_draws_as_its_generator() -> None:
    """Draws from other streams in between do not change the result."""
    streams = [Stream(7, "mobility", f"h{host}") for host in range(5)]
    drawn = [[stream.random() for stream in streams] for _ in range(5 * BLOCK // 2)]
    for host, column in enumerate(zip(*drawn, strict=True)):
        assert list(column) == generator(7, "mobility", f"h{host}").random(len(drawn)).tolist()


def test_random_draws_follow_their_distributions() -> None:
    stream = Stream(3, "test")
    exponential = [stream.exponential(2.8) for _ in range(20_000)]
    assert abs(sum(exponential) / 20_000 - 2.8) < 4 * 2.8 / math.sqrt(20_000)
    counts = [0] * 32
    for _ in range(32_000):
        counts[stream.below(32)] += 1
    assert all(abs(count - 1000) < 5 * math.sqrt(1000) for count in counts)
    uniform = [stream.uniform(0.7, 1.3) for _ in range(10_000)]
    assert min(uniform) >= 0.7 and max(uniform) < 1.3
    assert SECOND == 10**9


@pytest.mark.parametrize("later_ns", [10, 10**9])
def test_an_action_advances_the_clock_up_to_the_next_entry(later_ns: int) -> None:
    """The packet network uses this for a chain of arrivals, if nothing else happens in between."""
    calendar, advanced = Calendar(), list[bool]()
    numbers = [calendar.sequence_number() for _ in range(2)]

    def act() -> None:
        advanced.append(calendar.advance_to(later_ns, numbers[0]))
        calendar.at(later_ns + 1, lambda: None)
        advanced.append(calendar.advance_to(later_ns + 2, numbers[1]))

    calendar.at(5, act)
    calendar.run_until(2 * 10**9)
    assert advanced == [True, False]

"""Time, ties, timers and streams."""

from __future__ import annotations

import math

import pytest
import simpy
from hypothesis import given
from hypothesis import strategies as st

from mobilenet.kernel import SECOND, Kernel, ns
from mobilenet.streams import BLOCK, Stream, generator
from mobilenet.timer import Timer


def test_ties_go_by_the_order_of_scheduling() -> None:
    kernel = Kernel()
    seen: list[str] = []
    kernel.at(5, lambda: seen.append("first"))
    kernel.at(5, lambda: seen.append("second"))
    kernel.at(3, lambda: kernel.at(5, lambda: seen.append("third")))
    kernel.run_until(10)
    assert seen == ["first", "second", "third"]
    assert kernel.now == 10


def test_simpy_processes_run_among_plain_calls() -> None:
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


def test_a_failed_simpy_event_is_not_swallowed() -> None:
    kernel = Kernel()
    kernel.event().fail(RuntimeError("lost"))
    with pytest.raises(RuntimeError, match="lost"):
        kernel.run_until(1)


def test_the_past_is_refused() -> None:
    kernel = Kernel()
    kernel.run_until(7)
    with pytest.raises(ValueError, match="already 7 ns"):
        kernel.at(6, lambda: None)


def test_two_kernels_do_not_see_each_other() -> None:
    a, b = Kernel(), Kernel()
    a.at(5, lambda: None)
    a.run_until(9)
    assert (b.now, b.handled) == (0, 0)


@given(st.lists(st.tuples(st.integers(0, 30), st.sampled_from(["start", "stop"]), st.integers(0, 20)), max_size=20))
def test_a_timer_fires_exactly_when_its_last_start_says(script: list[tuple[int, str, int]]) -> None:
    """Against a model that remembers only the deadline."""
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


def test_nanoseconds() -> None:
    assert ns(1.5) == 1_500_000_000
    assert ns(0.1 + 0.2) == 300_000_000
    assert isinstance(ns(2.0), int)


def test_streams_are_named_and_independent() -> None:
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


def test_a_stream_draws_what_its_generator_draws() -> None:
    """However many other streams took turns with it."""
    streams = [Stream(7, "mobility", f"h{host}") for host in range(5)]
    drawn = [[stream.random() for stream in streams] for _ in range(5 * BLOCK // 2)]
    for host, column in enumerate(zip(*drawn, strict=True)):
        assert list(column) == generator(7, "mobility", f"h{host}").random(len(drawn)).tolist()


def test_draws_have_their_distributions() -> None:
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

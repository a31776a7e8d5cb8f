"""Tests of the retransmission rule, its parameters, and the sizes of messages."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from mobilenet.engine.clock import MILLISECOND, SECOND
from mobilenet.engine.kernel import Kernel
from mobilenet.engine.random_streams import Stream
from mobilenet.engine.timer import Timer
from mobilenet.protocols.mobile_causal import MobileCausalParameters
from mobilenet.protocols.mobile_causal.messages import (
    ACKS_PER_FRAME,
    UDP_PAYLOAD,
    AckC,
    AckH,
    App,
    AppCo,
    AppHs,
    AppSh,
    InitAck,
    Item,
    Join,
    Request,
    Rsp2,
)
from mobilenet.protocols.mobile_causal.resend import Resender
from mobilenet.protocols.port import MessageId
from mobilenet.scenario import Scenario
from mobilenet.simulation.mobile import Simulation
from tests.conftest import SCENARIOS

HEAVY = SCENARIOS / "static_heavy.yaml"


class Radio:
    """A radio that accepts copies. Each copy occupies the air for `air_ns`."""

    def __init__(self, air_ns: int, **parameters: Any) -> None:
        self.kernel = Kernel()
        self.sent: list[tuple[int, int]] = []
        self.queued = 0
        self.most_queued = 0
        self._air_ns = air_ns
        self._free = 0
        self.uniform = Stream(1, "radio").uniform
        self.resender: Resender[int] = Resender(
            self, MobileCausalParameters(**parameters), lambda key: (key, object()), self.transmit
        )  # type: ignore[arg-type]

    @property
    def now(self) -> int:
        return self.kernel.now

    def timer(self, action: Any) -> Timer:
        return Timer(self.kernel, action)

    def transmit(self, copy: tuple[int, object]) -> None:
        self.queued += 1
        self.most_queued = max(self.queued, self.most_queued)
        self._free = max(self._free, self.now) + self._air_ns
        self.kernel.at(self._free, lambda: self._finish(copy))

    def _finish(self, copy: tuple[int, object]) -> None:
        self.queued -= 1
        self.sent.append((self.now, copy[0]))
        self.resender.on_sent(copy[0], copy)


@given(st.integers(1, 400), st.integers(1, 3))
def test_each_message_is_resent_once_in_its_interval(count: int, air_ms: int) -> None:
    radio = Radio(air_ms * MILLISECOND, resend_share=1)
    for key in range(count):
        radio.resender.soon(key)
    radio.kernel.run_until(3 * SECOND)
    assert radio.most_queued <= 20
    keys = [key for time, key in radio.sent]
    # No copy is due a second time before 140 ms.
    first_round = [key for time, key in radio.sent if time < 140 * MILLISECOND]
    assert first_round == list(range(len(first_round)))
    if count * air_ms < 140:
        assert first_round[:count] == list(range(count)) and set(keys) == set(range(count))
    for key in range(count):
        radio.resender.forget(key)
    before = len(radio.sent)
    radio.kernel.run_until(10 * SECOND)
    assert len(radio.sent) <= before + 20 and len(radio.resender) == 0


@given(st.integers(1, 400), st.integers(1, 5), st.sampled_from([0.1, 0.25, 0.5, 1]))
def test_resending_pauses_after_each_batch(count: int, air_ms: int, share: float) -> None:
    radio = Radio(air_ms * MILLISECOND, resend_share=share)
    for key in range(count):
        radio.resender.soon(key)
    radio.kernel.run_until(10 * SECOND)
    batch_ms = 20 * air_ms
    assert radio.most_queued <= 20
    assert len(radio.sent) * air_ms <= share * 10_000 + batch_ms
    times = [time for time, _ in radio.sent]
    for begin, end in zip(times, times[60:], strict=False):  # full batches and the pauses after them
        assert (end - begin) / MILLISECOND >= 60 * air_ms / share - 2 * batch_ms / share
    assert {key for _, key in radio.sent} >= set(range(min(count, 20)))


def test_resending_leaves_air_time_for_hosts_between_two_cells() -> None:
    """This counterexample led to resend_share. Without pauses, retransmissions fill both cells long after the last
    broadcast.
    """
    cell = ("duration_s=30", "seed=13", "drain_s=10", "record.positions_interval_s=null", "protocol.mac_backlog=100")
    assert Simulation(Scenario.load(HEAVY, cell)).run().quiescent
    assert not Simulation(Scenario.load(HEAVY, (*cell, "protocol.resend_share=1"))).run().quiescent


@given(st.integers(0, 1000))
def test_the_resend_interval_shrinks_with_more_messages(count: int) -> None:
    radio = Radio(1)
    for key in range(count):
        radio.resender._state[key] = 0
    mean = max(0.2, 1 - 0.8 * min(count, 150) / 150)
    assert 0.7 * mean <= radio.resender.interval_ns() / SECOND <= 1.3 * mean


def test_resending_sends_at_most_a_window_per_interval() -> None:
    radio = Radio(1000, window=10, mac_backlog=1000)
    for key in range(100):
        radio.resender.soon(key)
    radio.kernel.run_until(SECOND // 10)
    assert len(radio.sent) == 10
    radio.kernel.run_until(10 * SECOND)
    assert len(radio.sent) <= 10 * 10 / 0.14  # The shortest interval is 0.14 s.
    for oldest in range(0, 100, 10):  # later messages follow when the oldest ones are acknowledged
        for key in range(oldest):
            radio.resender.forget(key)
        radio.kernel.run_until(radio.kernel.now + 2 * SECOND)
        assert set(range(oldest, oldest + 10)) <= {key for _, key in radio.sent}


def test_first_transmissions_are_never_delayed() -> None:
    radio = Radio(MILLISECOND)
    for key in range(300):
        radio.resender.first(key, (key, object()))
    assert radio.queued == 300


@pytest.mark.parametrize(
    "wrong",
    [
        {"window": 0},
        {"window": 1.5},
        {"windows": 150},
        {"heartbeat_s": float("nan")},
        {"expiry_s": 2.5},
        {"heartbeat_s": "2"},
        {"ack_min_s": 0.8},
        {"resend_full_s": 1.1},
        {"expiry_s": 0.0},
    ],
)
def test_invalid_mobile_protocol_parameters_are_rejected(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        MobileCausalParameters(**wrong)


def test_protocol_parameters_are_described_and_immutable() -> None:
    assert all(field.description for field in MobileCausalParameters.model_fields.values())
    with pytest.raises(ValidationError):
        MobileCausalParameters().window = 3  # type: ignore[misc]


M = MessageId(1, 2)


@pytest.mark.parametrize(
    ("message", "size", "payload"),
    [
        (AppHs(1, 2, 100), 116, 100),
        (AppSh(5, M, 100, ()), 124, 100),
        (AppSh(5, M, 100, (1, 2)), 132, 100),
        (AppCo(1, 2, 3, M, 100), 136, 100),
        (AckH(1, 2, 3), 24, 0),
        (AckC({1: 2, 3: 4}), 28, 0),
        (Join(1, 2, 3, None), 25, 0),
        (Join(1, 2, 3, 4), 33, 0),
        (InitAck(1, 2, 3, 10, (), 0, False), 41, 0),
        (InitAck(1, 2, 3, 10, (10, 17), 0, False), 42, 0),
        (InitAck(1, 2, 3, 10, (18,), 0, False), 43, 0),
        (App(M, 100), 112, 100),
        (Rsp2(1, Request(1, 1), (Item(M, 100), Item(M, 50)), (M,)), 206, 150),
    ],
)
def test_messages_of_the_mobile_protocol_have_documented_sizes(message: Any, size: int, payload: int) -> None:
    assert (message.size_bytes, message.payload_bytes) == (size, payload)


def test_an_ack_c_message_fits_into_one_frame() -> None:
    full = AckC(dict.fromkeys(range(ACKS_PER_FRAME), 0))
    assert full.size_bytes <= UDP_PAYLOAD < full.size_bytes + 12
    assert full.list_sizes() == (("acks", ACKS_PER_FRAME),)

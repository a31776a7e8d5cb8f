"""Lose messages of the abstract network, at random or between the two sides of a partition.

Model     Whether a message is lost is decided when it is sent, in the order of sending, with a separate random stream.
          A message of a process to itself is never lost. A lost message occupies the send queue like any other, and
          is counted at the time when it would have arrived.
Units     integer nanoseconds
Source    ours: docs/guide/programs.md
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mobilenet.engine.clock import ns
from mobilenet.engine.random_streams import Stream
from mobilenet.parameters import number
from mobilenet.scenario.process_parameters import AbstractNetwork
from mobilenet.simulation.causes import CauseLog

Send = Callable[[int, Any], None]


def lossy(
    send: Send, me: int, nowhere: int, network: AbstractNetwork, chance: Stream, clock: Any, causes: CauseLog | None
) -> Send:
    """Return the send function of process `me`. Messages that are lost are sent to `nowhere`. `clock` is an object with
    the current time as `now`.
    """
    spans = [(ns(one.since), ns(one.until), frozenset(map(number, one.apart))) for one in network.partitions]
    loss = network.loss

    def sending(to: int, message: Any) -> None:
        is_lost = loss > 0 and to != me and chance.random() < loss
        now = clock.now
        for since, until, apart in spans:
            is_lost |= since <= now < until and (me in apart) != (to in apart)
        if is_lost and causes is not None:
            causes.note_loss(me, to, message)
        send(nowhere if is_lost else to, message)

    return sending

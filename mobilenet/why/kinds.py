"""The kinds of stretches into which a delay is divided, with their descriptions. docs/models/causes.md defines them.

Source    ours: docs/models/causes.md
"""

from __future__ import annotations

from typing import Final

QUEUE: Final = "queue"
CONTENTION: Final = "contention"
AIR: Final = "air"
LOST: Final = "lost"
MAC_RETRY: Final = "mac_retry"
RETRY: Final = "retry"
TIMER_WAIT: Final = "timer"
ORDER: Final = "order"
NAGLE: Final = "nagle"
CONGESTION_WINDOW: Final = "congestion_window"
RECEIVE_WINDOW: Final = "receive_window"
IN_FLIGHT: Final = "messages_in_flight"
RETRANSMISSION: Final = "retransmission"
HANDSHAKE: Final = "handshake"
HEAD_OF_LINE: Final = "head_of_line"
WIRE_QUEUE: Final = "wire_queue"
WIRE_TRANSMISSION: Final = "wire_transmission"
WIRE_PROPAGATION: Final = "wire_propagation"
CUT: Final = "cut"
IMPAIRED_LINK: Final = "impaired_link"
IMPAIRED_HOST: Final = "impaired_host"
PARTITION: Final = "partition"
DOWN: Final = "down"
OFF_AIR: Final = "off_air"
OUT_OF_COVERAGE: Final = "out_of_coverage"
HANDOFF: Final = "handoff"
ELSEWHERE: Final = "elsewhere"
PROGRAM: Final = "program"
UNEXPLAINED: Final = "not_explained"

TCP_TIMER: Final = "TCP retransmission"  # the name of TCP's retransmission timer
Part = tuple[str, str]  # kind of stretch, leg of the path
UPLINK, BACKBONE, CELL, HOST = "uplink", "backbone", "cell", "host"

KINDS: Final = {
    QUEUE: "in the queue of a radio, behind other frames",
    CONTENTION: "first in the queue, until the medium is free and the back-off is over",
    AIR: "on the air, in a frame that arrives",
    LOST: "on the air, in a frame that is lost",
    MAC_RETRY: "between two transmissions of one frame by the MAC",
    RETRY: "after a lost frame, until the protocol sends the message again",
    TIMER_WAIT: "waiting for a protocol timer that was not started by the loss of a frame with the message",
    ORDER: "waiting for another message, whose own delay is not on record",
    NAGLE: "waiting for Nagle's rule: a partial segment waits until those before it are acknowledged",
    CONGESTION_WINDOW: "waiting for TCP's congestion window",
    RECEIVE_WINDOW: "waiting for TCP's receive window",
    IN_FLIGHT: "waiting because the scenario limits the number of unacknowledged messages",
    RETRANSMISSION: "waiting for TCP's retransmission timeout",
    HANDSHAKE: "waiting until a TCP connection is open",
    HEAD_OF_LINE: "at the receiver, waiting for earlier bytes of the TCP connection",
    WIRE_QUEUE: "waiting until a wire is free",
    WIRE_TRANSMISSION: "being put on a wire",
    WIRE_PROPAGATION: "travelling on a wire",
    CUT: "waiting because a wire is cut",
    IMPAIRED_LINK: "delayed by the impairment of a wire",
    IMPAIRED_HOST: "delayed by the impairment of the host that sends it",
    PARTITION: "after a loss between the sides of a partition, until the message is sent again",
    DOWN: "the host is down, or the crash of a process is not detected yet",
    OFF_AIR: "the radio of its station is off",
    OUT_OF_COVERAGE: "the host is out of coverage",
    HANDOFF: "the host is between two sessions",
    ELSEWHERE: "the host is still with another station",
    PROGRAM: "held by a program or plug-in until another event makes it act",
    UNEXPLAINED: "not explained by the record",
}
LEGS: Final = {
    UPLINK: "host to station",
    BACKBONE: "backbone",
    CELL: "station to host",
    HOST: "at the receiver",
}

OLD_SESSION: Final = "old_session"
DETECTION: Final = "detection"
IDLE: Final = "idle"
OF_INTERRUPTIONS: Final = {  # the additional kinds for interruptions
    OLD_SESSION: "in an earlier session, after the last delivery",
    DETECTION: "between two attachment ticks, as the host entered the new cell",
    IDLE: "in the new session, until the next message to be delivered is broadcast",
}


def timer_kind(name: str, is_after_loss: bool = False) -> str:
    """Return the kind of a wait that this timer has ended."""
    return RETRANSMISSION if name == TCP_TIMER else RETRY if is_after_loss else TIMER_WAIT

"""Describe a stretch (an interval with one cause) in a sentence that names the events that show it.

Model     a sentence names only what the record shows: the outcome of a frame at its receiver and the frames that were
          on the air there at that time, the timer that fired, or the state of a host. The record does not show which of
          several frames destroyed another one
Source    ours: docs/models/causes.md
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

from mobilenet.protocols.names import RULE_OF_A_NEW_SESSION
from mobilenet.why import kinds
from mobilenet.why.record import ACKNOWLEDGED, NONE, OUT_OF_RANGE, SENT, Record
from mobilenet.why.stretches import Stretch

OUTCOMES = {  # outcome of a frame or message that was not received -> words
    "collision": "another frame overlapped it at the receiver",
    "never_attempted": "the receiver was receiving another frame",
    "preamble_missed": "its preamble was too weak compared with noise and other frames",
    "bit_errors": "the noise was too strong there for the frame's rate",
    "half_duplex": "the receiver was sending",
    "receiver_down": "the receiver was down, or its radio was off",
    "random": "random loss",
    "out_of_range": "the frame was too weak at the receiver, or the receiver was absent, or the sender's radio was off",
    "link_cut": "an intervention had cut the link",
}
NOT_LOST = {
    "received": "received, but not acknowledged in time",
    "never_sent": "never sent: the queue was full, or was emptied",
}
WITH_OTHERS = ("collision", "never_attempted", "preamble_missed")
RULES = {
    "nagle": "Nagle's rule: a segment that is not full waits for the acknowledgement of those before it",
    "congestion_window": "the congestion window is full",
    "receive_window": "the receiver's window is full",
    "messages_in_flight": "as many messages are unacknowledged as the scenario allows",
}
AT_A_PLACE = {  # states that are described by naming only the node
    kinds.ORDER: "{place} waits for another message",
    kinds.HANDSHAKE: "{place} waits until its connection is open",
    kinds.WIRE_QUEUE: "waits for the wire {place}",
    kinds.CUT: "the wire {wire} is cut",
    kinds.IMPAIRED_LINK: "the wire {wire} is impaired",
    kinds.IMPAIRED_HOST: "the impairment of {place} delays the frame",
    kinds.WIRE_TRANSMISSION: "is put on the wire {place}",
    kinds.WIRE_PROPAGATION: "travels along the wire {place}",
    kinds.PARTITION: "{place} waits for another attempt after a loss in a partition",
    kinds.OFF_AIR: "the radio of {place} is off",
    kinds.DOWN: "{place} is down",
    kinds.OUT_OF_COVERAGE: "{place} is out of coverage",
    kinds.HANDOFF: "{place} is between two sessions",
    kinds.DETECTION: "{place} enters the new cell; its attachment changes at the end of this period",
}
MOST_NAMED = 3  # the maximum number of frames in a sentence


class Words:
    """The sentences that describe the stretches of one run."""

    def __init__(self, record: Record, protocol: str) -> None:
        self._record, self._protocol = record, protocol
        self._on_air = sorted((record.start_ns[row], row) for row in record.steps.rows(SENT, ACKNOWLEDGED).tolist())
        self._longest_ns = max((record.end_ns[row] - start_ns for start_ns, row in self._on_air), default=0)

    def sentence(self, stretch: Stretch, receiver: str) -> str:
        """Return what happened in a stretch, without its times. `receiver`: the host that delivers the message."""
        text = self._text(stretch, receiver)
        return f"behind {stretch.held_by}: {text}" if stretch.held_by else text

    def _text(self, s: Stretch, receiver: str) -> str:
        place, record = s.place, self._record
        if s.kind in AT_A_PLACE:
            return AT_A_PLACE[s.kind].format(place=place, wire=place if "-" in place else f"of {place}")
        match s.kind:
            case kinds.QUEUE:
                return f"a frame waits in {place}'s radio behind other frames"
            case kinds.CONTENTION:
                return f"{place} waits until the medium is free and its back-off is over"
            case kinds.AIR:
                return f"{self._frame(s.row)} on the air"
            case kinds.LOST:
                at = record.to[s.row] or (receiver if s.leg == kinds.CELL else "")
                lost = f"{self._frame(s.row)} on the air, lost{f' at {at}' if at else ''}"
                return f"{lost}: {_outcome(s.reason)}{self._others(s.row, s.reason, at)}"
            case kinds.MAC_RETRY:
                why = f"({_outcome(s.reason)})" if s.reason else "for all hosts of its cell, without being asked"
                return f"{place}'s MAC sends the frame again {why}"
            case kinds.RETRY:
                timer = f"its timer {self._timer(s.row)!r}" if s.row != NONE else "another attempt"
                return f"{place} waits for {timer} after a lost frame ({_outcome(s.reason)}){self._since(s)}"
            case kinds.TIMER_WAIT:
                return f"{place} waits for its timer {self._timer(s.row)!r}{self._since(s)}"
            case kinds.NAGLE | kinds.CONGESTION_WINDOW | kinds.RECEIVE_WINDOW | kinds.IN_FLIGHT:
                return f"{place} may not send: {RULES[s.kind]}"
            case kinds.RETRANSMISSION:
                detail = RULES.get(s.reason) or (_outcome(s.reason) if s.reason else "")
                return f"{place} waits for TCP's retransmission timeout{f' ({detail})' if detail else ''}"
            case kinds.HEAD_OF_LINE:
                return f"{place} waits for earlier bytes of its connection with {record.node[s.row]}"
            case kinds.OLD_SESSION:
                source = RULE_OF_A_NEW_SESSION.get(self._protocol)
                rule = "" if source is None else f" ({source})"
                early_ns = s.end_ns - record.broadcasts[s.reason].time_ns
                when = f"{abs(early_ns) / 1e9:.3g} s {'before' if early_ns >= 0 else 'after'} that"
                return (
                    f"{place} is in its earlier session until its handoff starts{rule}; a delivery or an earlier"
                    f" handoff would have shortened this: {s.reason}, delivered next, was broadcast {when}"
                )
            case kinds.IDLE:
                if not s.reason:
                    return "no message is in transit"
                return f"the next message, {s.reason}, has not been broadcast yet"
            case kinds.PROGRAM:
                return f"the program of {place} has the message, but neither sends nor delivers anything"
            case kinds.ELSEWHERE:
                return f"{receiver} is still with {s.reason}"
        return "not explained by the record"

    def _since(self, s: Stretch) -> str:
        """Return when the timer was started, or an empty string if that was before the wait."""
        started_ns = s.begin_ns if s.row == NONE else self._record.start_ns[s.row]
        if started_ns <= s.begin_ns:
            return ""
        return f"; the timer was last started {(s.end_ns - started_ns) / 1e9:.3g} s before it fired"

    def _timer(self, row: int) -> str:
        return str(self._record.kind[row])

    def _frame(self, row: int) -> str:
        record = self._record
        to = f" to {record.to[row]}" if record.to[row] else ""
        return f"{record.kind[row]} from {record.node[row]}{to}"

    def _others(self, row: int, outcome: str, node: str) -> str:
        """Return the frames that were on the air at the same time and within the node's reach."""
        if outcome not in WITH_OTHERS or not node:
            return ""
        named = [f"{self._record.kind[one]} from {self._record.node[one]}" for one in self._overlapping_rows(row, node)]
        if not named:
            return ""
        more = f" and {len(named) - MOST_NAMED} more" if len(named) > MOST_NAMED else ""
        return f" (also on the air at that time: {', '.join(named[:MOST_NAMED])}{more})"

    def _overlapping_rows(self, row: int, node: str) -> Iterator[int]:
        record = self._record
        first = bisect_left(self._on_air, (record.start_ns[row] - self._longest_ns, NONE))
        for start_ns, one in self._on_air[first:]:
            if start_ns >= record.end_ns[row]:
                return
            if (
                one != row
                and record.end_ns[one] > record.start_ns[row]
                and record.outcome_at(one, node) != OUT_OF_RANGE
            ):
                yield one


def _outcome(name: str) -> str:
    return (OUTCOMES | NOT_LOST).get(name, name)

"""One end of a TCP connection.

Model     Sans-io: the connection acts only through its port, so it is as deterministic as its input. The stream carries
          messages: their bytes are counted, and the objects are passed by reference. The application takes messages as
          soon as they are ready, so the receiver's window is constant and is sent only in the SYN. Timers run only when
          needed: an idle connection sends no segments. After a timeout, all unacknowledged bytes count as lost. They
          are sent again as the window allows (go-back-N), perhaps in different segments. One round trip at a time is
          measured, as in BSD. A retransmission ends the measurement (Karn).
Left out  FIN (connections end with `reset`, or with `abort` if a node crashes), simultaneous open, keep-alive, probes
          of a closed window, data in a SYN, SACK, timestamps, ECN, path MTU, urgent data, and wrap-around of sequence
          numbers.
Units     Times are integer nanoseconds, and sizes are in bytes.
Errors    RuntimeError for a call in the wrong state, and ValueError for a message without bytes.
Source    RFC 9293 (3.10: events), RFC 5681, RFC 6298, RFC 6582 and RFC 1122, 4.2.3; where free: docs/models/tcp.md
"""

from __future__ import annotations

from enum import Enum, auto

from mobilenet.engine.clock import ns
from mobilenet.network.tcp.congestion import MAX_WINDOW, Congestion
from mobilenet.network.tcp.estimator import Estimator
from mobilenet.network.tcp.parameters import TcpParameters
from mobilenet.network.tcp.port import Counts, Port, Reason
from mobilenet.network.tcp.receive_stream import Incoming
from mobilenet.network.tcp.segment import (
    ACK,
    RST,
    SYN,
    SYN_ACK,
    UNKNOWN,
    HasSize,
    Segment,
    TcpAck,
    TcpData,
    TcpReset,
    TcpSyn,
    reset_of,
)
from mobilenet.network.tcp.send_stream import FIRST_BYTE, Outgoing, Piece
from mobilenet.protocols.port import timer_name


class State(Enum):
    CLOSED = auto()
    SYN_SENT = auto()
    SYN_RECEIVED = auto()
    ESTABLISHED = auto()


class Connection:
    """One end of a connection. Call `connect` or `accept`, then `send`, and pass each arriving segment to
    `on_segment`.
    """

    __slots__ = (
        "_ack_delay_ns", "_ack_every", "_ack_timer", "_attempts", "_deadline", "_last_sent", "_mss", "_nagle",
        "_owed",
        "_parameters", "_peer_window", "_port", "_timed_at", "_timed_end", "_timer", "_window", "backlog", "blocked_by",
        "congestion",
        "counts", "estimator", "incarnation", "incoming", "peer_incarnation", "state",
    )  # fmt: skip

    def __init__(self, port: Port, parameters: TcpParameters, incarnation: int, counts: Counts | None = None) -> None:
        """Set up a closed connection. `incarnation` is a positive number that is unique among all connections of this
        node, past and future.
        """
        if incarnation <= UNKNOWN:
            raise ValueError(f"an incarnation must be a positive number, got {incarnation}")
        self._port = port
        self._parameters = parameters
        self._mss = parameters.mss_bytes
        self._nagle = parameters.nagle
        self._window = MAX_WINDOW if parameters.window_bytes is None else parameters.window_bytes
        self._peer_window = 0
        self._ack_every = parameters.ack_every_segments
        self._ack_delay_ns = ns(parameters.delayed_ack_s)
        self._timer = port.timer(self._on_timeout)
        self._ack_timer = port.timer(self._send_ack)
        self._deadline = 0  # time at which the attempt to connect is abandoned
        self._attempts = 0  # number of consecutive timeouts
        self._owed = 0  # number of data segments received since the last acknowledgement was sent
        # The measurement of a round trip ends when all bytes below this one are acknowledged; 0 if there is no
        # measurement.
        self._timed_end = 0
        self._timed_at = 0
        self._last_sent = 0
        # The reason why the next bytes were not sent: a window, Nagle's rule, or the limit on messages.
        self.blocked_by = ""
        self.state = State.CLOSED
        self.incarnation = incarnation
        self.peer_incarnation = UNKNOWN
        self.backlog = Outgoing(parameters)
        self.incoming = Incoming()
        self.estimator = Estimator(parameters)
        self.congestion = Congestion(parameters, self._mss, False)
        self.counts = Counts() if counts is None else counts

    @property
    def is_open(self) -> bool:
        return self.state is State.ESTABLISHED

    # --- calls of the user

    def connect(self) -> None:
        """Request a connection to the other end: active OPEN. RFC 9293, 3.5, 3.10.1"""
        self._begin(State.SYN_SENT)

    def accept(self, syn: Segment) -> None:
        """Accept the SYN of the other end: passive OPEN. RFC 9293, 3.5, 3.10.7.2"""
        if syn.flags != SYN or syn.target != UNKNOWN:
            raise ValueError("only a SYN opens a connection")
        self._learn(syn)
        self._begin(State.SYN_RECEIVED)

    def send(self, message: HasSize) -> None:
        """Queue a message, and send as much as the windows allow: SEND. RFC 9293, 3.10.2"""
        if self.state is State.CLOSED:
            raise RuntimeError("the connection is closed")
        backlog = self.backlog
        backlog.append(message)
        if self.state is State.ESTABLISHED:
            if not backlog.flight and self._port.now - self._last_sent > self.estimator.rto_ns:
                self.congestion.on_idle()
            self._output()

    def abort(self) -> None:
        """Close the connection without notifying the other end, because the node crashed or the other end is out of
        reach.
        """
        self.state = State.CLOSED
        self._timer.stop()
        self._ack_timer.stop()

    def reset(self) -> None:
        """Close the connection, and notify the other end once: ABORT. RFC 9293, 3.10.5"""
        if self.state is State.CLOSED:
            return
        known = self.peer_incarnation != UNKNOWN
        self.abort()
        if known:
            self.counts.resets += 1
            self._emit(TcpReset(self.incarnation, self.peer_incarnation, RST, self.backlog.highest))

    # --- set-up

    def _begin(self, state: State) -> None:
        if self._deadline:
            raise RuntimeError("a connection can be opened only once")
        now = self._port.now
        self.state = state
        self._deadline = now + ns(self._parameters.connect_timeout_s)
        self._timed_at, self._timed_end = now, FIRST_BYTE
        self._send_syn()

    def _send_syn(self) -> None:
        """Send SYN or SYN-ACK. It is repeated after each timeout, until the deadline. RFC 9293, 3.5; RFC 1122,
        4.2.3.5
        """
        flags, ack = (SYN, 0) if self.state is State.SYN_SENT else (SYN_ACK, FIRST_BYTE)
        mss = self._parameters.mss_bytes
        self.counts.syns += 1
        self._emit(TcpSyn(self.incarnation, self.peer_incarnation, flags, 0, ack, window=self._window, mss=mss))
        if not self._timer.running:
            self._timer.start(min(self.estimator.rto_ns, self._deadline - self._port.now))

    def _learn(self, syn: Segment) -> None:
        """Store the parameters of the other end. A segment never exceeds the window of the other end. RFC 9293,
        3.7.1
        """
        self.peer_incarnation = syn.source
        self._peer_window = syn.window
        self._mss = min(self._mss, syn.mss, syn.window)

    def _establish(self) -> None:
        """Establish the connection, because the other end has answered the SYN of this end. RFC 9293, 3.10.7.3-4; RFC
        6298, 5.7; RFC 5681, 3.1
        """
        self._timer.stop()
        if self._attempts:
            self.estimator.wait(ns(self._parameters.rto_after_lost_syn_s))
        elif self._timed_end:
            self.estimator.sample(self._port.now - self._timed_at)
        self._timed_end = 0
        self.congestion = Congestion(self._parameters, self._mss, self._attempts > 0)
        self._attempts = 0
        self._last_sent = self._port.now
        self.state = State.ESTABLISHED
        self._port.on_open()
        if self.is_open:
            self._output()

    # --- segments

    def on_segment(self, segment: Segment) -> None:
        """Process a segment that has arrived: SEGMENT ARRIVES. RFC 9293, 3.10.7"""
        if segment.source != self.peer_incarnation or segment.target != self.incarnation or self.state is State.CLOSED:
            self._on_stranger(segment)
        elif segment.flags == ACK:
            if self.state is State.ESTABLISHED:
                self._on_ack(segment)
            else:
                self._establish()
            if segment.length and self.is_open:
                self._on_data(segment)
        elif segment.flags & RST:
            self._close("refused" if self.state is State.SYN_SENT else "reset")
        else:  # a repeated SYN-ACK: the other end did not receive the answer to the first one
            self._send_ack()

    def _on_stranger(self, segment: Segment) -> None:
        """Handle a segment that does not belong to the current connection, or that arrives when there is no connection.
        RFC 9293, 3.10.7.1-4, 3.5.3
        """
        if self.state is State.SYN_SENT and segment.target == self.incarnation:
            if segment.flags & RST:
                self._close("refused")
            elif segment.flags == SYN_ACK:
                self._learn(segment)
                self._owed = 1
                self._establish()
                if self._owed and self.is_open:
                    self._send_ack()
        elif segment.flags == SYN and segment.source == self.peer_incarnation and self.state is not State.CLOSED:
            if self.state is State.SYN_RECEIVED:  # the answer of this end was lost or is late
                self._timed_end = 0  # Karn: it is unknown which of the answers will be acknowledged
                self._send_syn()
            else:
                self._send_ack()  # RFC 5961, 4
        else:
            answer = reset_of(segment)
            if answer is not None:
                self.counts.resets += 1
                self.counts.segments += 1
                self._port.send(answer)

    def _on_ack(self, segment: Segment) -> None:
        """Process the ACK field of a segment. RFC 9293, 3.10.7.4; RFC 5681, 3; RFC 6298, 5.2-5.3; RFC 6582, 3.2"""
        backlog = self.backlog
        ack = segment.ack
        una = backlog.una
        if ack > una:
            if ack > backlog.highest:
                return
            backlog.acknowledge(ack)
            self._attempts = 0
            if self._timed_end and ack >= self._timed_end:
                self._timed_end = 0
                self.estimator.sample(self._port.now - self._timed_at)
            partial = self.congestion.on_ack(ack - una, ack, backlog.flight)
            if not backlog.flight:
                self._timer.stop()
            elif not partial or self.congestion.partials == 1:
                self._timer.start(self.estimator.rto_ns)
            if partial:
                self._retransmit()
        elif ack == una and not segment.length and backlog.flight:
            lost = self.congestion.on_duplicate_ack(una, backlog.flight, backlog.highest)
            if lost:
                self.counts.fast_retransmits += 1
                self._retransmit()
                # RFC 6298, 5: the next retransmission must not follow within a timeout of this one.
                self._timer.start(self.estimator.rto_ns)
        if not segment.length:
            self._output()

    def _on_data(self, segment: Segment) -> None:
        """Process the data of a segment: hand up the messages that are ready, and send an acknowledgement now or later.
        RFC 9293, 3.10.7.4; RFC 5681, 4.2
        """
        incoming = self.incoming
        before = incoming.nxt
        prompt = incoming.gap
        self._owed += 1
        if segment.seq + segment.length <= before + self._window:
            for message in incoming.take(segment.seq, segment.length, segment.messages):
                self._port.on_message(message)
                if not self.is_open:
                    return
        if segment.seq + segment.length <= before:
            self.counts.duplicates_received += 1
        self._output()
        if incoming.gap:
            self._send_ack()  # a duplicate acknowledgement must not carry data
        elif self._owed:
            if prompt or incoming.nxt == before or self._owed >= self._ack_every or not self._ack_delay_ns:
                self._send_ack()
            elif not self._ack_timer.running:
                self._ack_timer.start(self._ack_delay_ns)

    @timer_name("delayed acknowledgement")
    def _send_ack(self) -> None:
        """Acknowledge all bytes that have arrived in order, without sending data. RFC 5681, 4.2; RFC 1122, 4.2.3.2"""
        self.counts.pure_acks += 1
        self._emit(TcpAck(self.incarnation, self.peer_incarnation, ACK, self.backlog.highest, self.incoming.nxt))

    # --- sending

    def _output(self) -> None:
        """Send as much as the windows allow, in full segments, or with all remaining bytes in the last one. RFC 9293,
        3.7.4, 3.8.6.2.1; RFC 5681, 3.1
        """
        backlog = self.backlog
        mss = self._mss
        while True:
            length = backlog.available(mss)
            if length <= 0:
                self.blocked_by = "messages_in_flight" if backlog.nxt < backlog.end else ""
                return
            allowance = self.congestion.allowance
            if backlog.nxt + length > backlog.una + min(allowance, self._peer_window):
                self.blocked_by = "receive_window" if self._peer_window < allowance else "congestion_window"
                return
            fresh = backlog.nxt == backlog.highest
            if fresh and length < mss and self._nagle and backlog.flight:
                self.blocked_by = "nagle"
                return
            self._transmit(backlog.take(length), fresh)

    def _transmit(self, piece: Piece, fresh: bool) -> None:
        """Transmit data in a segment that also carries the acknowledgement. RFC 6298, 3, 5.1"""
        counts = self.counts
        counts.data_segments += 1
        now = self._port.now
        if not fresh:
            counts.retransmissions += 1
            self._timed_end = 0  # Karn's rule ends the measurement
        elif not self._timed_end:
            self._timed_end = piece.seq + piece.length
            self._timed_at = now
        self._last_sent = now
        if not self._timer.running:
            self._timer.start(self.estimator.rto_ns)
        seq, length, payload_bytes, messages = piece
        ack = self.incoming.nxt
        self._emit(TcpData(self.incarnation, self.peer_incarnation, ACK, seq, ack, length, payload_bytes, messages))

    def _retransmit(self) -> None:
        """Retransmit the first unacknowledged segment. RFC 5681, 3.2"""
        self._transmit(self.backlog.again(self._mss), fresh=False)

    def _emit(self, segment: Segment) -> None:
        self.counts.segments += 1
        if segment.flags & ACK:
            self._owed = 0
            self._ack_timer.stop()
        self._port.send(segment)

    # --- ends

    @timer_name("TCP retransmission")
    def _on_timeout(self) -> None:
        """Handle RETRANSMISSION TIMEOUT. RFC 9293, 3.10.8; RFC 6298, 5.4-5.6; RFC 5681, 3.1; RFC 1122, 4.2.3.5"""
        if self.state is not State.ESTABLISHED:
            if self._port.now >= self._deadline:
                self._close("connect_timeout")
                return
            self._attempts += 1
            self._timed_end = 0
            self.estimator.back_off()
            self._send_syn()
            return
        if self._attempts >= self._parameters.max_retransmissions:
            self._close("retransmissions")
            return
        self._attempts += 1
        self.counts.timeouts += 1
        backlog = self.backlog
        self.congestion.on_timeout(backlog.flight, backlog.highest)
        self.estimator.back_off()
        backlog.go_back()
        self._output()

    def _close(self, reason: Reason) -> None:
        self.abort()
        self._port.on_closed(reason)

"""Check that the TCP segments in `messages` can be what both ends of their connections sent.

Checks    a segment has the fields of its kind: flags, numbers and lengths fit together, and its size is theirs
          both ends of a connection know each other's port by then, and a port has one other end
          bytes sent again carry what they carried at first, and messages end where they ended; application messages
          are of one length and have their payload at their end
          a stream has no holes as it is sent, and stays within what the receiver is ready to hold; with Nagle a new
          segment that is not full waits until all before it is acknowledged
          an acknowledgement is of what was received before, and acknowledgements of an end never fall; over a wire
          each is of all that was received
          what only acknowledges is numbered behind all that its end has sent
Model     a segment does not change while it waits in the queue of a radio, so it may know less than its sender knows
          when it is in the air. Over a wire it leaves at once. Nodes send in the order in which they make segments;
          where a queue was full, or a wire lost messages, a segment may have no row, or rows another order
Units     integer nanoseconds, bytes
Shapes    over rows that are segments
Errors    none
Source    ours: docs/models/tcp.md, docs/verdicts-and-metrics.md
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mobilenet.expected.expectations import Expectations
from mobilenet.rundir.schema import MOST_LISTED
from mobilenet.verify.air import segment_fields as tcp
from mobilenet.verify.air.messages import LOST_ON_WIRE, Hops
from mobilenet.verify.air.nodes import Nodes, first
from mobilenet.verify.air.segment_fields import MOST, Ends, numbers_and_ends

KINDS = ("TcpSyn", "TcpData", "TcpAck", "TcpReset")
FIRST_BYTE = 1
NEVER = 1 << 62
APPLICATION = "App"  # what a segment calls a message of TCP-flooding that carries an application message


def tcp_segments_problem(hops: Hops, nodes: Nodes, expected: Expectations, queue_drops: int) -> str | None:
    """The first segment that cannot be; `queue_drops`: of all radios."""
    if expected.air is None or expected.air.segmenting is None:
        return None
    rows = hops.table.column("kind").rows(*KINDS)
    fields = {
        code: numbers_and_ends(hops.detail_by_code(code))
        for code in np.unique(hops.table.column("detail").codes[rows]).tolist()
    }
    codes = hops.table.column("detail").codes[rows]
    if odd := [code for code, each in fields.items() if each is None]:
        row = int(rows[np.isin(codes, odd)][0])
        return f"{hops.words(row)}: {hops.table['detail'][row]} is not the detail of a segment"
    if not len(rows):
        return None
    segments = _Segments(hops, nodes, rows, fields, expected, queue_drops)
    problems = (segments.form_problems, segments.port_problems, segments.content_problems, segments.order_problems)
    return next((problem for each in problems for problem in each()), None)


class _Segments:
    def __init__(
        self, hops: Hops, nodes: Nodes, rows: np.ndarray, fields: dict[int, Any], expected: Expectations,
        queue_drops: int,
    ) -> None:  # fmt: skip
        assert expected.air is not None and expected.air.segmenting is not None
        self._hops, self._rows = hops, rows
        codes = hops.table.column("detail").codes[rows].tolist()
        self._ends: list[Ends] = [fields[code][1] for code in codes]
        columns = np.array([fields[code][0] for code in codes], np.int64).T
        self.source, self.target, self.flags, self.seq, self.ack, self.length, self.payload, *options = columns
        self.window, self.mss = options
        self.end = self.seq + self.length
        self._is = {kind: hops.table.column("kind").among((kind,))[rows] for kind in KINDS}
        self._wired, self._send_ns = hops.is_wired[rows], hops.send_ns[rows]
        self._received, self._receive_ns = hops.is_received[rows], hops.receive_ns[rows]
        self._sender, self._receiver = hops.sender[rows], hops.receiver[rows]
        radio, wire = expected.air.segmenting
        self._most, self._holds, self._nagle = (
            np.where(self._wired, getattr(wire, name), getattr(radio, name))
            for name in ("mss_bytes", "window_bytes", "nagle")
        )
        self._payload_bytes = radio.payload_bytes
        cuts = bool((hops.is_wired & hops.table.column("fate").among(LOST_ON_WIRE)).any())
        self._whole = np.where(self._wired, not cuts, queue_drops == 0)
        medium = self._wired.astype(np.int64)
        here = (medium, self._sender, self._receiver, self.source, self.target)
        there = (medium, self._receiver, self._sender, self.target, self.source)
        opening = (*there[:4], np.zeros(len(rows), np.int64))
        keys = np.concatenate([np.column_stack(each) for each in (here, there, opening)])
        _, streams = np.unique(keys, axis=0, return_inverse=True)
        self._own, self._other, self._opening = streams.reshape(3, -1)
        times, ranks = np.unique(np.concatenate([self._send_ns, self._receive_ns]), return_inverse=True)
        self._sent_at, self._received_at = ranks.reshape(2, -1)
        self._moments = len(times) + 1

    def _say(self, at: int, what: str) -> str:
        return f"{self._hops.words(int(self._rows[at]))}: {what}"

    def form_problems(self) -> Iterator[str]:
        """Check each by itself."""
        syn, data, ack, reset = (self._is[kind] for kind in KINDS)
        bare = (self.length == 0) & (self.payload == 0)
        plain = (self.flags == tcp.ACK) & (self.seq >= FIRST_BYTE) & (self.ack >= FIRST_BYTE) & (self.target > 0)
        named, without = self.source > 0, (self.window == 0) & (self.mss == 0)
        opens = (self.flags == tcp.SYN) & (self.target == 0) & (self.ack == 0)
        answers = (self.flags == tcp.SYN_ACK) & (self.target > 0) & (self.ack == FIRST_BYTE)
        options = (self.window == self._holds) & (self.mss == self._most)
        ends = (self.flags == tcp.RST) & (self.ack == 0) & (self.seq >= FIRST_BYTE) & named
        refuses = (self.flags == tcp.RST | tcp.ACK) & (self.seq == 0) & (self.ack == FIRST_BYTE) & (self.source == 0)
        full = np.minimum(self._most, self._holds)
        right = syn & bare & named & (self.seq == 0) & (opens | answers) & options
        right |= data & plain & named & without & (self.length > 0) & (self.length <= full)
        right |= ack & plain & named & without & bare
        right |= reset & bare & without & (self.target > 0) & (ends | refuses)
        right &= self.payload <= self.length
        if (at := first(~right)) is not None:
            detail = self._hops.table["detail"][self._rows[at]]
            yield self._say(at, f"{self._hops.table['kind'][self._rows[at]]} with {detail}, which is impossible")
        sizes = tcp.HEADER_BYTES + self.length + np.where(syn, tcp.MSS_OPTION_BYTES, 0)
        if (at := first(sizes != self._hops.size_bytes[self._rows])) is not None:
            yield self._say(at, f"its bytes and headers add up to {sizes[at]}, but its size is different")

    def port_problems(self) -> Iterator[str]:
        """Check that the other end has sent its port, which only this connection has."""
        first_received_ns = np.full(int(max(self._own.max(), self._other.max(), self._opening.max())) + 1, NEVER)
        np.minimum.at(first_received_ns, self._own[self._received], self._receive_ns[self._received])
        known_ns = np.minimum(first_received_ns[self._other], first_received_ns[self._opening])
        if (at := first((self.target > 0) & (known_ns > self._send_ns))) is not None:
            yield self._say(at, f"it is for port {self.target[at]}, from which nothing had arrived")
        late = self._is["TcpSyn"] & (self.source > self._send_ns + len(self._rows))
        if (at := first(late)) is not None:
            yield self._say(at, f"port {self.source[at]} did not exist until after this message")
        stands = np.flatnonzero(~self._is["TcpReset"] & (self.target > 0))
        ours = np.column_stack([self._wired, self._sender, self.source])[stands]
        _, port = np.unique(ours, axis=0, return_inverse=True)
        head = np.full(len(stands), len(stands))
        np.minimum.at(head, port.reshape(-1), np.arange(len(stands)))
        if (at := first(self._own[stands] != self._own[stands[head[port.reshape(-1)]]])) is not None:
            yield self._say(int(stands[at]), f"port {self.source[stands[at]]} has two different peers")

    def content_problems(self) -> Iterator[str]:
        """What is sent again is the same."""
        data = np.flatnonzero(self._is["TcpData"])
        spans = np.column_stack([self._own, self.seq, self.length])[data]
        _, begins, which = np.unique(spans, axis=0, return_index=True, return_inverse=True)
        if (at := first(self.payload[data] != self.payload[data[begins[which.reshape(-1)]]])) is not None:
            yield self._say(int(data[at]), f"{self.payload[data[at]]} bytes of payload, which contradicts other rows")
        names: dict[tuple[int, int], str] = {}
        for at in data.tolist():
            for end, name in self._ends[at]:
                if names.setdefault((int(self._own[at]), end), name) != name:
                    yield self._say(at, f"{name} ends before byte {end}, but other rows name another message there")
        if not names:
            return
        ends = np.sort(np.array([stream * MOST + end for stream, end in names], np.int64))
        after, until = (
            np.searchsorted(ends, self._own[data] * MOST + mark[data], "right") for mark in (self.seq, self.end)
        )
        listed = np.array([len(self._ends[at]) for at in data.tolist()])
        wrong = (until - after != listed) & ((listed < MOST_LISTED) | (until - after < listed))
        if (at := first(wrong)) is not None:
            of_others = (until - after)[at]
            what = f"the number of messages that end in it is {listed[at]}, but {of_others} according to other rows"
            yield self._say(int(data[at]), what)
        yield from self._application_problems(data, names, ends)

    def _application_problems(
        self, data: np.ndarray, names: dict[tuple[int, int], str], ends: np.ndarray
    ) -> Iterator[str]:
        """Application messages are of one length, their payload last; of streams of which all ends are known."""
        cut = [at for at in data.tolist() if len(self._ends[at]) >= MOST_LISTED]
        known = ~np.isin(self._own, np.append(self._own[cut], self._own[data[~self._whole[data]]]))
        order = sorted(names)
        is_app = np.array([names[key] == APPLICATION for key in order] + [False])
        stream = ends // MOST
        begins = stream * MOST + FIRST_BYTE
        begins[1:] = np.where(stream[1:] == stream[:-1], ends[:-1], begins[1:])
        lengths = np.append(ends - begins, 0)
        carriers = np.flatnonzero(is_app[:-1] & np.isin(stream, self._own[known]))
        if not len(carriers):
            return
        each, counts = np.unique(lengths[carriers], return_counts=True)
        length = int(each[counts.argmax()])
        if (odd := first(lengths[carriers] != length)) is not None:
            owner, end = order[int(carriers[odd])]
            at = next(at for at in data.tolist() if self._own[at] == owner and (end, APPLICATION) in self._ends[at])
            odd_length = lengths[carriers[odd]]
            yield self._say(
                at, f"{APPLICATION} that ends at byte {end} has {odd_length} bytes, but others have {length}"
            )
        rows = data[known[data]]
        keys = self._own[rows] * MOST
        since = np.searchsorted(ends, keys + self.seq[rows], "right")  # the message of its first byte
        until = np.searchsorted(ends, keys + self.end[rows])  # that of its last
        others = np.append(0, np.cumsum(~is_app))
        all_known = (until < len(ends)) & (np.append(stream, -1)[until] == self._own[rows])
        alone = all_known & (others[np.minimum(until, len(ends)) + 1] == others[since])
        last = np.append(ends, 0)
        before, after = (
            np.clip(keys + mark - last[at] + self._payload_bytes, 0, None)
            for mark, at in ((self.seq[rows], since), (self.end[rows], until))
        )
        due = (until - since) * self._payload_bytes + after - before
        if (at := first(alone & (self.payload[rows] != due))) is not None:
            what = f"{self.payload[rows[at]]} bytes of payload, but the application messages in it have {due[at]}"
            yield self._say(int(rows[at]), what)

    def order_problems(self) -> Iterator[str]:
        """What an end has sent and received decides what it sends next."""
        order = np.lexsort((np.arange(len(self._rows)), self._send_ns, self._own))
        data, pure = self._is["TcpData"], self._is["TcpAck"]
        plain = data | pure
        highest = self._before(order, np.where(data, self.end, FIRST_BYTE))
        earlier_ack = self._before(order, np.where(plain, self.ack, FIRST_BYTE))
        got = self._latest(data, self.end, "right")
        acknowledged = self._latest(plain, self.ack, "right")
        at_least, surely = (
            self._latest(chosen, mark, "left") for chosen, mark in ((data, self.end), (plain, self.ack))
        )
        whole, wired = self._whole, self._wired & self._whole
        short = self.length < np.minimum(self._most, self._holds)
        fresh = data & (self.seq == highest) & whole
        for wrong, what in (
            (plain & (self.ack > got), "it acknowledges bytes that have not arrived"),
            (data & (self.seq > highest) & whole, "it skips bytes that were never sent"),
            (
                pure & (whole & (self.seq != highest) | ~self._wired & (self.seq < highest)),
                "its sequence number does not follow the last byte that was sent",
            ),
            (data & (self.end > acknowledged + self._holds), "it does not fit into the receive window"),
            (
                fresh & short & self._nagle & (self.seq > acknowledged),
                "it is not full, although some bytes are not acknowledged yet",
            ),
            (data & wired & (self.seq < surely), "it was already acknowledged"),
            (plain & wired & (self.ack < at_least), "it acknowledges less than has arrived"),
            (plain & (self.ack < earlier_ack) & (whole | ~self._wired), "an earlier one acknowledges more"),
        ):
            if (at := first(wrong)) is not None:
                numbers = f"{self.seq[at]} to {self.end[at]}, acknowledging {self.ack[at]}"
                yield self._say(at, f"{self._hops.table['kind'][self._rows[at]]} of {numbers}: {what}")

    def _before(self, order: np.ndarray, values: np.ndarray) -> np.ndarray:
        """The highest value before each row in its stream, or that of the first byte."""
        stream = self._own[order]
        tops = np.maximum.accumulate(np.append(0, values[order] + stream * MOST))[:-1] - stream * MOST
        highest = np.empty(len(order), np.int64)
        highest[order] = np.maximum(tops, FIRST_BYTE)
        return highest

    def _latest(self, chosen: np.ndarray, values: np.ndarray, side: Any) -> np.ndarray:
        """The highest value that has arrived from the other end when each row is sent; "left": surely."""
        rows = np.flatnonzero(chosen & self._received)
        rows = rows[np.lexsort((self._received_at[rows], self._own[rows]))]
        stream = self._own[rows]
        tops = np.maximum.accumulate(np.append(0, values[rows] + stream * MOST))
        keys = stream * self._moments + self._received_at[rows]
        place = np.searchsorted(keys, self._other * self._moments + self._sent_at, side)
        return np.maximum(tops[place] - self._other * MOST, FIRST_BYTE)

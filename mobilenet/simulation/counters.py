"""Count the frames and messages of a run by kind and outcome, on the radio and on wires.

Model     The medium and the links count continuously. This module turns their counts into samples and counters.json.
          Samples are running totals, so any window can be measured. If requested, a row is recorded for each frame or
          message and each of its receivers.
Units     integer nanoseconds, bytes
Source    ours: docs/run-directory.md
"""

from __future__ import annotations

from collections.abc import Callable
from math import nan
from typing import Any

from mobilenet.engine.kernel import Kernel
from mobilenet.network.radio.frame import DATA, RECEIVED, SINR_OUTCOMES, Frame
from mobilenet.network.radio.medium import Medium
from mobilenet.network.radio.transceiver import NEVER
from mobilenet.network.wired.network import RECEIVED as ARRIVED
from mobilenet.network.wired.network import WiredNetwork
from mobilenet.record.recorder import PlainRows, Recording
from mobilenet.record.schema import MAC_ACK
from mobilenet.simulation.causes import CauseLog
from mobilenet.simulation.message_fields import contents
from mobilenet.simulation.nodes import byte_count, list_sizes

FrameObserver = Callable[[Frame], None]
HopObserver = Callable[[int, int, Any], None]  # called for each message that is put on the link from a to b
OUT_OF_RANGE = "out_of_range"  # The only receiver is too far away. The medium does not count this case.


def both(first: FrameObserver | None, second: FrameObserver | None) -> FrameObserver | None:
    """Return an observer that passes each frame to the first observer and then to the second. Either may be None."""
    if first is None or second is None:
        return second if first is None else first

    def observe(frame: Frame) -> None:
        first(frame)
        second(frame)

    return observe


class Counters:
    """Counts the frames and messages of one run."""

    def __init__(self, kernel: Kernel, recording: Recording) -> None:
        self._kernel = kernel
        self._recording = recording
        self._wired_kinds: dict[type, list[int]] = {}  # message class -> hops, bytes, payload bytes
        self.on_hop: HopObserver | None = None  # observes each message on a link, for example for a live page
        self.causes = None if recording.causes is None else CauseLog(kernel, recording)

    def frame_observer(self) -> FrameObserver | None:
        """Return an observer of completed frames, or None if no table and no log of causes needs it."""
        on_sent = None if self.causes is None else self.causes.on_sent
        frames, messages, links = self._recording.frames, self._recording.messages, self._recording.links
        if frames is None and messages is None:
            return on_sent

        def observe(frame: Frame) -> None:
            start, end, sender = frame.start_ns, frame.start_ns + frame.duration_ns, frame.sender
            is_data = frame.kind == DATA
            kind = type(frame.message).__name__ if is_data else MAC_ACK
            about = contents(frame.message) if messages is not None and is_data else None
            to, attempt = "" if frame.to is None else frame.to.name, frame.retries + 1 if frame.number else 0
            receivers, outcomes = frame.receivers, [SINR_OUTCOMES[outcome] for outcome in frame.outcomes]
            to_it = [
                frame.to is node or (frame.to is None and (not sender.is_station or node.serving is sender))
                for node in receivers
            ]
            count, names = len(receivers), [node.name for node in receivers]
            if frames is not None:
                frames.extend(
                    [start] * count, [end] * count, [sender.name] * count, names, [kind] * count,
                    [frame.psdu_bytes] * count, to_it, outcomes, [to] * count, [frame.rate_mbps] * count,
                    [attempt] * count,
                )  # fmt: skip
            if links is not None:
                links.extend(
                    [start] * count, [sender.name] * count, names, [power / 100 for power in frame.powers_cdbm],
                    [nan if sinr == NEVER else sinr / 100 for sinr in frame.sinrs_cdb],
                )  # fmt: skip
            if messages is not None and about is not None:
                size = frame.message.size_bytes
                for name, outcome, delay, is_for_it in zip(names, outcomes, frame.delays_ns, to_it, strict=True):
                    if is_for_it or frame.to is None:
                        arrived = end + delay if outcome == SINR_OUTCOMES[RECEIVED] else None
                        messages.add(start, arrived, sender.name, name, "radio", kind, size, outcome, *about)
                if frame.to is not None and frame.to not in receivers:
                    messages.add(start, None, sender.name, to, "radio", kind, size, OUT_OF_RANGE, *about)

        return both(observe, on_sent)

    def wired_hop(self, a: int, b: int, message: Any, size_bytes: int) -> Callable[[str], None] | None:
        """Count a message that is put on the link from a to b. Return a function that must be called with the fate of
        the message, or None.
        """
        kind = message.__class__
        tally = self._wired_kinds.get(kind)
        if tally is None:
            tally = self._wired_kinds[kind] = [0, 0, 0]
        tally[0] += 1
        tally[1] += byte_count("size_bytes", message.size_bytes)
        tally[2] += byte_count("payload_bytes", message.payload_bytes)
        kernel = self._kernel
        for quantity, length in list_sizes(message):
            self._recording.samples.add(kernel.now, f"s{a}", quantity, length)
        if self.on_hop is not None:
            self.on_hop(a, b, message)
        noted = None if self.causes is None else self.causes.wire(a, b, message, size_bytes)
        messages = self._recording.messages
        return noted if messages is None else self._record_message(messages, a, b, message, noted)

    def _record_message(
        self, messages: PlainRows, a: int, b: int, message: Any, noted: Callable[[str], None] | None
    ) -> Callable[[str], None]:
        """Return a function that records the message when its fate is known, and then calls `noted`."""
        kernel = self._kernel
        sent, name, size, about = kernel.now, type(message).__name__, message.size_bytes, contents(message)

        def note(fate: str) -> None:
            arrived = kernel.now if fate == ARRIVED else None
            messages.add(sent, arrived, f"s{a}", f"s{b}", "wired", name, size, fate, *about)
            if noted is not None:
                noted(fate)

        return note

    def sample_totals(self, medium: Medium, wires: WiredNetwork) -> None:
        """Sample the running totals of the network."""
        now = self._kernel.now
        add = self._recording.samples.add
        sent = medium.by_kind.values()
        add(now, "network", "radio_frames", medium.frames)
        if medium.retries:  # Only acknowledged frames are retransmitted.
            add(now, "network", "radio_mac_retries", medium.retries)
        if medium.group_retries:
            add(now, "network", "radio_group_retries", medium.group_retries)
        add(now, "network", "radio_bytes", sum(tally[1] for tally in sent))
        add(now, "network", "radio_airtime_ns", medium.airtime_ns)
        acknowledging = [tally for (_, kind), tally in medium.by_kind.items() if getattr(kind, "acknowledges", False)]
        add(now, "network", "radio_acknowledgements", sum(tally[0] for tally in acknowledging))
        add(now, "network", "radio_payload_bytes", sum(tally[2] for tally in sent))
        add(now, "network", "radio_control_bytes", sum(tally[1] - tally[2] for tally in sent))
        every_pair = {"pairs_": medium.pairs, "addressed_pairs_": medium.addressed_pairs}
        if medium.acks:
            add(now, "network", "radio_mac_acks", medium.acks)
            add(now, "network", "radio_mac_ack_bytes", medium.ack_bytes)
            every_pair |= {"ack_pairs_": medium.ack_pairs, "addressed_ack_pairs_": medium.addressed_ack_pairs}
        for prefix, pairs in every_pair.items():
            for outcome, count in zip(medium.outcomes, pairs, strict=True):
                add(now, "network", prefix + outcome, count)
        add(now, "network", "wired_messages", sum(link.sent for link in wires.links.values()))
        add(now, "network", "wired_bytes", sum(link.bytes for link in wires.links.values()))
        # Messages are lost only on links that an intervention cut or impaired.
        if lost := sum(link.lost for link in wires.links.values()):
            add(now, "network", "wired_lost", lost)

    def counters(self, medium: Medium, wires: WiredNetwork, suspicions: int) -> dict[str, Any]:
        """Return the contents of counters.json for the whole run."""
        links = wires.links.values()
        lost = sum(link.lost for link in links)
        kinds: dict[str, dict[str, dict[str, int]]] = {"host": {}, "station": {}, "wired": {}}
        for (from_station, kind), tally in medium.by_kind.items():
            _add(kinds["station" if from_station else "host"], kind.__name__, _tally(tally))
        for kind, tally in self._wired_kinds.items():
            _add(kinds["wired"], kind.__name__, _tally(tally))
        of_acks = _pairs(medium.ack_pairs, medium.addressed_ack_pairs, medium.outcomes)
        acks = {"bytes": medium.ack_bytes, **of_acks}
        return {
            "radio": {
                "frames": medium.frames,
                "bytes": sum(tally[1] for tally in medium.by_kind.values()),
                **_pairs(medium.pairs, medium.addressed_pairs, medium.outcomes),
                "mac_acks": medium.acks,
                **({"acks": acks} if medium.acks else {}),
                "mac_retries": medium.retries,
                **({"mac_group_retries": medium.group_retries} if medium.group_retries else {}),
                # frames that were never acknowledged
                **({"mac_given_up": medium.given_up} if medium.given_up else {}),
                "queue_drops": medium.queue_drops,
            },
            "wired": {
                "sent": sum(link.sent for link in links),
                "delivered": sum(link.delivered for link in links),
                "bytes": sum(link.bytes for link in links),
                "in_flight": wires.in_flight,
                **({"lost": lost} if lost else {}),  # messages lost on links that an intervention cut or impaired
                # All suspicions are false, because stations never fail.
                **({"suspicions": suspicions} if suspicions else {}),
            },
            "by_message_type": kinds,
        }


def _pairs(pairs: list[int], addressed: list[int], outcomes: tuple[str, ...]) -> dict[str, Any]:
    return {**_outcomes(pairs, outcomes), "addressed": _outcomes(addressed, outcomes)}


def _outcomes(counts: list[int], outcomes: tuple[str, ...]) -> dict[str, Any]:
    lost = {name: counts[outcome] for outcome, name in enumerate(outcomes) if outcome != RECEIVED}
    return {"pairs_in_range": sum(counts), "received": counts[RECEIVED], "lost": lost}


def _add(kinds: dict[str, dict[str, int]], name: str, tally: dict[str, int]) -> None:
    """Add the counts of a message class. Classes of different modules may have the same name."""
    before = kinds.get(name, {})
    kinds[name] = {key: before.get(key, 0) + count for key, count in tally.items()}


def _tally(counts: list[int]) -> dict[str, int]:
    return {"count": counts[0], "bytes": counts[1], "control_bytes": counts[1] - counts[2]}

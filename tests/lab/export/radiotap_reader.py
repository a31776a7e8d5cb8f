"""A reader of radio captures that shares no code with their writer.

Model     Files follow draft-ietf-opsawg-pcap and radiotap.org. Frames follow IEEE 802.11-2016 (9.2.4, 9.3.1.4, 9.3.2.1)
          and LLC/SNAP of IEEE 802.2. The header of mobilenet follows docs/guide/radio-capture.md.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

RADIOTAP = {0: "Q", 1: "B", 2: "B", 3: "HH", 4: "H", 5: "b", 6: "b"}  # bit -> struct format of its radiotap field
TYPES = {32: "power_dbm", 33: "sinr_db", 48: "host", 49: "session", 50: "message", 51: "held_back_by"}
TYPES |= {52: "seq", 53: "ack", 54: "window"}
OUTCOMES = (
    "received", "collision", "never_attempted", "half_duplex", "random", "receiver_down", "bit_errors",
    "preamble_missed", "out_of_range",
)  # fmt: skip


class Sniffed(NamedTuple):
    """A frame read from a capture."""

    at_ns: int
    on_air_bytes: int  # bytes from the MAC header to the FCS
    has_fcs: bool
    is_broken: bool
    rate_mbps: float | None
    signal_dbm: int | None
    kind: str  # one of data, qos and ack
    to_ds: bool
    from_ds: bool
    is_retry: bool
    duration_us: int
    addresses: list[str]
    sequence: int | None
    own: dict[str, Any]  # fields of the mobilenet header


def sniff(path: Path) -> list[Sniffed]:
    return list(_frames(path.read_bytes()))


def _frames(data: bytes) -> Iterator[Sniffed]:
    assert struct.unpack_from("<IHHiIII", data) == (0xA1B23C4D, 2, 4, 0, 0, 65_535, 127)
    place = 24
    while place < len(data):
        seconds, nanoseconds, captured, length = struct.unpack_from("<IIII", data, place)
        assert nanoseconds < 10**9 and captured <= length
        yield _frame(seconds * 10**9 + nanoseconds, data[place + 16 : place + 16 + captured], length)
        place += 16 + captured
    assert place == len(data)


def _frame(at_ns: int, data: bytes, length: int) -> Sniffed:
    version, _, header_bytes, present = struct.unpack_from("<BBHI", data)
    assert version == 0 and present < 1 << 7
    fields, place = {}, 8
    for bit, form in RADIOTAP.items():
        if present >> bit & 1:
            place += -place % struct.calcsize(form[0])
            fields[bit] = struct.unpack_from("<" + form, data, place)[0]
            place += struct.calcsize(form)
    assert place == header_bytes
    frame = data[header_bytes:]
    control, duration_us = struct.unpack_from("<HH", frame)
    assert control & 3 == 0 and duration_us < 1 << 15
    kind = {(2, 0): "data", (2, 8): "qos", (1, 13): "ack"}[control >> 2 & 3, control >> 4 & 15]
    count = 1 if kind == "ack" else 3
    addresses = [_name(frame[4 + 6 * i : 10 + 6 * i]) for i in range(count)]
    sequence, own = None, {}
    if kind != "ack":
        (word,) = struct.unpack_from("<H", frame, 22)
        assert word & 15 == 0  # The frame is not a fragment.
        sequence, end = word >> 4, 26 if kind == "qos" else 24
        assert frame[end : end + 8] == bytes.fromhex("aaaa03 000000 88b5")
        own = _own(frame[end + 8 :])
    else:
        assert len(frame) == 10
    flags = fields[1]
    return Sniffed(
        at_ns, length - header_bytes, bool(flags & 0x10), bool(flags & 0x40), fields[2] / 2 if 2 in fields else None,
        fields.get(5), kind, bool(control & 0x100), bool(control & 0x200), bool(control & 0x800), duration_us,
        addresses, sequence, own,
    )  # fmt: skip


def _name(address: bytes) -> str:
    if address == b"\xff" * 6:
        return "all"
    assert address[:2] == b"\x02\x00"
    return f"{chr(address[2])}{int.from_bytes(address[3:])}"


def _own(data: bytes) -> dict[str, Any]:
    version, outcome, attempt = data[:3]
    assert version == 1
    own: dict[str, Any] = {"attempt": attempt, "outcome": None if outcome == 255 else OUTCOMES[outcome]}
    own["airtime_ns"] = int.from_bytes(data[3:8])
    own["in_reach"], received, own["psdu_bytes"], size = struct.unpack_from(">HHIB", data, 8)
    own["class"] = data[17 : 17 + size].decode()
    own["nodes"] = {"received": received} if received else {}
    own["message"] = []
    data = data[17 + size :]
    while data:
        kind, size = data[:2]
        value, data = data[2 : 2 + size], data[2 + size :]
        assert len(value) == size
        number = int.from_bytes(value, signed=True)
        if kind < 32:
            own["nodes"][OUTCOMES[kind]] = number
        elif kind < 48:
            own[TYPES[kind]] = number / 100
        elif kind == 50:
            own["message"].append(value.decode())
        else:
            own[TYPES[kind]] = value.decode() if kind in (48, 51) else number
    return own

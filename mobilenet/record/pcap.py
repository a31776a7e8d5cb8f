"""Packet captures: files with the IP packets that one node sent and received, for use by other programs.

Model     the file grows during the run: each packet is added when it passes the node's device
Units     nanoseconds of emulated time, as if the run had begun at the epoch
Errors    OSError for a folder that cannot be written
Source    draft-ietf-opsawg-pcap (the format of libpcap), magic number for nanoseconds, LINKTYPE_RAW
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from mobilenet.engine.clock import SECOND
from mobilenet.record.reader import RunError

MAGIC_NS = 0xA1B23C4D
LINKTYPE_RAW = 101  # each packet begins with its IP header
LONGEST_PACKET = 65_535
RECORD = struct.Struct("<IIII")
CAPTURES = "packets"  # the folder of captures in a run directory


def file_header(link_type: int) -> bytes:
    """Return the header of a file. `link_type` is the type of the header with which each packet begins."""
    return struct.pack("<IHHiIII", MAGIC_NS, 2, 4, 0, 0, LONGEST_PACKET, link_type)


FILE_HEADER = file_header(LINKTYPE_RAW)


def as_record(at_ns: int, packet: bytes) -> bytes:
    """Return a packet as a record of a capture file."""
    return RECORD.pack(at_ns // SECOND, at_ns % SECOND, len(packet), len(packet)) + packet


class Capture:
    """A capture file that is being written."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("xb", buffering=0)
        self._file.write(FILE_HEADER)

    def add(self, at_ns: int, packet: bytes) -> None:
        self._file.write(as_record(at_ns, packet))

    def close(self) -> None:
        self._file.close()


class CapturedPacket(NamedTuple):
    """A packet in a capture file, and the time of its capture."""

    at_ns: int
    packet: bytes


def read_captures(run: Path) -> dict[str, list[CapturedPacket]] | None:
    """Return the captures of a run by node, or None if the run has no captures. Raise RunError if a capture is
    damaged.
    """
    folder = run / CAPTURES
    if not folder.is_dir():
        return None
    try:
        return {path.stem: list(packets_in(path)) for path in sorted(folder.glob("*.pcap"))}
    except (OSError, ValueError) as error:
        raise RunError(f"{folder}: {error}") from None


def packets_in(path: Path) -> Iterator[CapturedPacket]:
    """Yield the packets of a capture that mobilenet has written. Raise ValueError for any other file, and for an
    incomplete capture.
    """
    data = path.read_bytes()
    if data[: len(FILE_HEADER)] != FILE_HEADER:
        raise ValueError(f"{path.name}: not a capture that mobilenet wrote")
    place = len(FILE_HEADER)
    while place < len(data):
        if place + RECORD.size > len(data):
            raise ValueError(f"{path.name}: cut off at byte {place}")
        seconds, nanoseconds, length, _ = RECORD.unpack_from(data, place)
        place += RECORD.size
        if place + length > len(data):
            raise ValueError(f"{path.name}: cut off at byte {place}")
        yield CapturedPacket(seconds * SECOND + nanoseconds, data[place : place + length])
        place += length

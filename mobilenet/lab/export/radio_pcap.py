"""Export the frames of an emulated radio, which contain no real packets, as a capture for Wireshark.

Model     Each transmission occurs once in the capture, at the time at which it began. If a node is given, the capture
          contains only transmissions that the node sent or was in range of, with their outcome at this node. Everything
          comes from the record, except the sequence numbers of 802.11, which this module assigns. Instead of a
          packet, a frame contains a header of mobilenet, which mobilenet.lua dissects: a fixed part, the class of the
          message, and any other known properties as type, length and value
Errors    RunError for a run without a radio, without recorded frames, or without that node
Source    IEEE 802.11-2016, 9.2 and 9.3 (headers, the duration of an acknowledged frame); radiotap.org; ours:
          docs/guide/radio-capture.md
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mobilenet.engine.clock import MICROSECOND, SECOND
from mobilenet.lab.export.radio_frames import ALL, LINKS, OUT_OF_RANGE, OUTCOMES, address, read_frames
from mobilenet.lab.export.radio_messages import known_of
from mobilenet.metrics.network import INCORRECT
from mobilenet.record.pcap import file_header
from mobilenet.record.schema import MAC_ACK
from mobilenet.scenario import load_scenario

if TYPE_CHECKING:
    import pyarrow as pa

DISSECTOR = Path(__file__).with_name("mobilenet.lua")
LINKTYPE_RADIOTAP = 127
AT_ONCE = 50_000  # number of transmissions that are encoded together
FCS_BYTES = 4
HAS_FCS, BAD_FCS = 0x10, 0x40  # flags of radiotap
FLAGS, RATE, SIGNAL = 1 << 1, 1 << 2, 1 << 5  # radiotap's presence bits for these fields
DATA, QOS_DATA, ACK = 0x08, 0x88, 0xD4  # values of the first frame control byte
TO_STATION, FROM_STATION, RETRY = 0x01, 0x02, 0x08  # bits of the second frame control byte
SNAP = b"\xaa\xaa\x03\x00\x00\x00\x88\xb5"  # SNAP header with an EtherType for local experiments
LOCAL = 0x0200  # prefix of locally administered addresses
VERSION = 1  # version of the mobilenet header
NODE = [("prefix", ">u2"), ("number", ">u4")]
HEADERS = np.dtype(
    [
        ("seconds", "<u4"), ("nanoseconds", "<u4"), ("captured_bytes", "<u4"), ("length_bytes", "<u4"),
        ("radiotap", "<u2"), ("radiotap_bytes", "<u2"), ("present", "<u4"),
        ("flags", "u1"), ("rate", "u1"), ("signal_dbm", "i1"),
        ("type", "u1"), ("bits", "u1"), ("duration_us", "<u2"), ("receiver", NODE),
        ("transmitter", NODE), ("third", NODE), ("sequence", "<u2"), ("qos", "<u2"),
        ("snap", "S8"),
        ("version", "u1"), ("outcome", "u1"), ("attempt", "u1"), ("airtime_high", "u1"), ("airtime_ns", ">u4"),
        ("in_reach", ">u2"), ("received", ">u2"), ("psdu_bytes", ">u4"), ("class_bytes", "u1"),
    ]
)  # fmt: skip
# offsets of the header fields, in bytes
PLACES = {name: place for name, (_, place, *_) in (HEADERS.fields or {}).items()}
# Codes of the other properties. Smaller codes represent outcomes, whose value is a number of nodes.
TYPES = {
    "power_dbm": 32, "sinr_db": 33, "host": 48, "session": 49, "message": 50, "held_back_by": 51, "seq": 52, "ack": 53,
    "window": 54,
}  # fmt: skip


class Mac(NamedTuple):
    """The MAC parameters that determine the headers."""

    is_dcf: bool
    is_qos: bool
    reserved_us: int

    @staticmethod
    def of(run: Path) -> Mac:
        wireless = load_scenario(run / "scenario.yaml").wireless
        assert wireless is not None
        return Mac(wireless.mac == "dcf", wireless.groupcast != "none", -(-wireless.reservation_ns // MICROSECOND))


class Part(NamedTuple):
    """Bytes that follow the headers. `codes` contains, for each transmission, the index of its bytes; code 0 adds no
    bytes.
    """

    words: pa.LargeBinaryArray
    sizes: np.ndarray
    codes: np.ndarray

    @staticmethod
    def of(words: list[bytes], codes: np.ndarray) -> Part:
        import pyarrow as pa

        words = [b"", *words]
        return Part(
            pa.array(words, pa.large_binary()), np.array([len(word) for word in words]),
            codes.astype(np.min_scalar_type(len(words))),
        )  # fmt: skip


def write_radio_pcap(run: Path, target: Path, node: str | None = None) -> int:
    """Write the transmissions, and return how many there are."""
    frames = read_frames(run, node)
    rows = frames.rows
    if node is not None:
        rows = rows[rows["heard"] | (rows["sender"] == address(node))]
    is_ack = rows["kind"] == (frames.kinds.index(MAC_ACK) if MAC_ACK in frames.kinds else -1)
    classes = [word.encode()[:255] for word in frames.kinds]
    parts = [Part.of(classes, np.where(is_ack, 0, rows["kind"] + 1))]
    for code in range(1, OUT_OF_RANGE):
        counts = rows["counts"][:, code]
        most = int(counts.max(initial=0))
        parts.append(Part.of([_tlv(code, _whole(n)) for n in range(1, most + 1)], counts * ~is_ack))
    if frames.has_power:
        for name in LINKS:
            parts.append(_hundredths(name, rows[name], rows["heard"] & ~is_ack & ~np.isnan(rows[name])))
    for name, (words, codes) in known_of(run, rows).items():
        parts.append(Part.of([_spell(name, word) for word in words], np.where(is_ack, 0, codes + 1)))
    mac = Mac.of(run)
    with target.open("wb") as file:
        file.write(file_header(LINKTYPE_RADIOTAP))
        for first in range(0, len(rows), AT_ONCE):
            few = slice(first, first + AT_ONCE)
            own = [part._replace(codes=part.codes[few]) for part in parts]
            file.write(_records(rows[few], own, is_ack[few], mac, frames.has_power))
    return len(rows)


def _whole(number: int) -> bytes:
    """Return the shortest representation of a signed number in bytes."""
    return number.to_bytes(max(number, ~number).bit_length() // 8 + 1, "big", signed=True)


def _tlv(kind: int, value: bytes) -> bytes:
    return bytes((kind, min(len(value), 255))) + value[:255]


def _spell(name: str, word: Any) -> bytes:
    if isinstance(word, int):
        return _tlv(TYPES[name], _whole(word))
    return b"".join([_tlv(TYPES[name], each.encode()) for each in word.split()])  # one frame may carry many messages


def _hundredths(name: str, values: np.ndarray, is_there: np.ndarray) -> Part:
    """Return the part for a measured quantity, in hundredths of its unit, as it is recorded."""
    different, places = np.unique(np.rint(100 * values[is_there]).astype(np.int64), return_inverse=True)
    codes = np.zeros(len(values), np.int64)
    codes[is_there] = places + 1
    return Part.of([_tlv(TYPES[name], _whole(value)) for value in different.tolist()], codes)


def _records(rows: np.ndarray, parts: list[Part], is_ack: np.ndarray, mac: Mac, has_power: bool) -> Any:
    """Return the bytes that represent these transmissions in the file."""
    import pyarrow as pa
    import pyarrow.compute as pc

    has_signal = rows["heard"] & has_power
    heads = np.zeros(len(rows), HEADERS)
    is_kept = np.ones((len(rows), HEADERS.itemsize), bool)
    for name, ones in (("rate", mac.is_dcf), ("signal_dbm", has_signal), ("qos", mac.is_qos)):
        is_kept[:, PLACES[name] : PLACES[name] + HEADERS[name].itemsize] &= np.reshape(ones, (-1, 1))
    is_kept[is_ack, PLACES["transmitter"] :] = False

    sizes = np.sum([part.sizes[part.codes] for part in parts], axis=0) + is_kept.sum(axis=1)
    before_radio = PLACES["radiotap"]
    heads["radiotap_bytes"] = is_kept[:, before_radio : PLACES["type"]].sum(axis=1)
    heads["captured_bytes"] = sizes - before_radio
    heads["length_bytes"] = np.maximum(
        heads["captured_bytes"] + FCS_BYTES * mac.is_dcf, heads["radiotap_bytes"] + rows["psdu_bytes"]
    )
    heads["seconds"], heads["nanoseconds"] = np.divmod(rows["start_ns"], SECOND)
    _fill_radiotap(heads, rows, mac.is_dcf, has_signal)
    _fill_mac(heads, rows, is_ack, mac)
    heads["snap"] = SNAP
    heads["version"] = VERSION
    heads["airtime_high"], heads["airtime_ns"] = np.divmod(rows["airtime_ns"], 1 << 32)
    heads["in_reach"], heads["received"] = rows["counts"].sum(axis=1), rows["counts"][:, 0]
    for name in ("outcome", "attempt", "psdu_bytes"):
        heads[name] = rows[name]
    heads["class_bytes"] = parts[0].sizes[parts[0].codes]

    ends = np.concatenate([[0], np.cumsum(is_kept.sum(axis=1))])
    flat = heads.view(np.uint8).reshape(is_kept.shape)[is_kept]
    first = pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), len(rows), [None, pa.py_buffer(ends), pa.py_buffer(flat)]
    )
    rest = [part.words.take(pa.array(part.codes)) for part in parts]
    return pc.binary_join_element_wise(first, *rest, pa.scalar(b"", pa.large_binary())).buffers()[2]


def _fill_radiotap(heads: np.ndarray, rows: np.ndarray, is_dcf: bool, has_signal: np.ndarray) -> None:
    is_broken = rows["heard"] & np.isin(rows["outcome"], [OUTCOMES.index(word) for word in INCORRECT])
    heads["present"] = FLAGS | RATE * is_dcf | SIGNAL * has_signal
    heads["flags"] = HAS_FCS * is_dcf | BAD_FCS * is_broken
    if is_dcf:
        heads["rate"] = 2 * rows["rate_mbps"]
    heads["signal_dbm"] = np.rint(rows["power_dbm"])


def _fill_mac(heads: np.ndarray, rows: np.ndarray, is_ack: np.ndarray, mac: Mac) -> None:
    sender, to = rows["sender"], rows["to"]
    is_station, for_station = (node >> 24 == ord("s") for node in (sender, to))
    heads["type"] = np.where(is_ack, ACK, QOS_DATA if mac.is_qos else DATA)
    bits = np.where(is_station, FROM_STATION, TO_STATION * for_station)
    heads["bits"] = np.where(is_ack, 0, bits | RETRY * (rows["attempt"] > 1))
    is_acknowledged = (rows["attempt"] > 0) & (to != ALL)
    heads["duration_us"] = is_acknowledged * mac.reserved_us
    # The third address is the station, or ALL if neither end of the frame is a station.
    third = np.where(is_station, sender, np.where(for_station, to, ALL))
    for name, node in (("receiver", to), ("transmitter", sender), ("third", third)):
        heads[name]["prefix"] = np.where(node == ALL, 0xFFFF, LOCAL)
        heads[name]["number"] = node
    heads["sequence"] = rows["sequence"] << 4

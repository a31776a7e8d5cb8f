"""Tests that compare the kernel's counters of a device with the record. The verifier finds every damaged, additional or
missing packet.

Source    ours: docs/guide/real-software.md
"""

from __future__ import annotations

import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mobilenet.lab.programs.realtime.tunnels import OVERFLOW_ID, users_for
from mobilenet.record.packets.checksums import wrong_checksum
from mobilenet.record.packets.packet_order import PassedPacket
from mobilenet.verify.packets.devices import devices_problem

A, B = bytes((10, 77, 0, 1)), bytes((10, 77, 0, 2))
ICMP, TCP, UDP = 1, 6, 17
BEFORE_CHECKSUM = {ICMP: 2, TCP: 16, UDP: 6}


def checksum(data: bytes) -> int:
    """Compute the checksum of RFC 1071 word by word."""
    total = sum(struct.unpack(f">{(len(data) + 1) // 2}H", data + bytes(len(data) % 2)))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def packet(protocol: int, payload: bytes) -> bytes:
    head = {
        ICMP: struct.pack(">BBHHH", 8, 0, 0, 1, 1),
        TCP: struct.pack(">HHIIBBHHH", 5, 6, 7, 0, 5 << 4, 2, 1000, 0, 0),
        UDP: struct.pack(">HHHH", 5, 6, 8 + len(payload), 0),
    }[protocol]
    pseudo = b"" if protocol == ICMP else A + B + struct.pack(">HH", protocol, len(head) + len(payload))
    own = checksum(pseudo + head + payload) or (0xFFFF if protocol == UDP else 0)
    place = BEFORE_CHECKSUM[protocol]
    body = head[:place] + struct.pack(">H", own) + head[place + 2 :] + payload
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(body), 1, 0x4000, 64, protocol, 0, A, B)
    return ip[:10] + struct.pack(">H", checksum(ip)) + ip[12:] + body


protocols = st.sampled_from([ICMP, TCP, UDP])


@given(protocols, st.binary(max_size=200))
def test_correct_packet_checksums_are_accepted(protocol: int, payload: bytes) -> None:
    assert wrong_checksum(packet(protocol, payload)) is None


@given(protocols, st.binary(min_size=1, max_size=200), st.data())
def test_each_changed_bit_of_a_packet_is_detected(protocol: int, payload: bytes, data: st.DataObject) -> None:
    sound = packet(protocol, payload)
    place = data.draw(st.sampled_from([i for i in range(len(sound)) if i not in (0, 2, 3, 6, 7, 9)]))
    damaged = bytearray(sound)
    damaged[place] ^= 1 << data.draw(st.integers(0, 7))
    # A UDP checksum of 0 means that the sender did not compute a checksum.
    is_off = protocol == UDP and bytes(damaged[26:28]) == b"\0\0"
    assert is_off or wrong_checksum(bytes(damaged)) is not None


def test_checksums_of_packet_fragments_are_not_checked() -> None:
    fragment = bytearray(packet(UDP, b"abc"))
    fragment[6:8] = b"\x20\0"
    fragment[10:12] = b"\0\0"
    fragment[10:12] = struct.pack(">H", checksum(bytes(fragment[:20])))
    fragment[-1] ^= 1
    assert wrong_checksum(bytes(fragment)) is None
    assert wrong_checksum(bytes([0x45, *bytes(19)])) is None  # The header states a length of 0.
    # A hostile capture file may contain such packets.
    assert wrong_checksum(b"") is None and wrong_checksum(b"\x45\0\0") is None


PACKETS = [
    PassedPacket(0, "h0", True, "h0:0", packet(UDP, b"x")), PassedPacket(1, "h1", False, "h0:0", packet(UDP, b"x")),
    PassedPacket(2, "h0", True, "h0:1", packet(TCP, b"x")),
]  # fmt: skip
SOUND: dict[str, Any] = {
    "devices": {"h0": {"out": 3}, "h1": {"in": 1}, "h2": None}, "packets_spoofed": {"h0": 1},
}  # fmt: skip


@pytest.mark.parametrize(
    ("real_time", "expected"),
    [
        (SOUND, None),
        ({}, None),
        ({"devices": {"h0": None, "h1": None}}, None),
        (SOUND | {"devices": {"h0": {"out": 4}}}, "4 packets left h0 through its device, but in the record it sends 2"),
        (SOUND | {"packets_spoofed": {}}, "3 packets left h0 through its device, but in the record it sends 2"),
        (
            SOUND | {"devices": {"h1": {"in": 2}}},
            "2 packets entered h1 through its device, but in the record it",
        ),
        (SOUND | {"devices": {"h1": {"in": 1, "damaged": 1}}}, "the kernel of h1 discarded 1 packet with wrong check"),
    ],
)
def test_capture_sizes_are_checked_against_kernel_counters(real_time: dict[str, Any], expected: str | None) -> None:
    problem = devices_problem(PACKETS, real_time)
    assert (problem is None) if expected is None else (problem is not None and expected in problem)


def test_a_packet_damaged_before_its_capture_is_detected() -> None:
    damaged = PACKETS[0]._replace(packet=PACKETS[0].packet[:-1] + b"y")
    problem = devices_problem([damaged], {"devices": {}})
    assert problem == "packets: h0 sends h0:0 with a wrong UDP checksum; the kernel makes right ones"


@pytest.mark.parametrize("is_root", [False, True])
def test_programs_cannot_gain_root_privileges_on_the_system(is_root: bool) -> None:
    """In this test, mobilenet runs as root. A program that is root inside its host can become any user that is mapped
    there.
    """
    users = users_for(0, is_root)
    outside = dict(users["users"])
    assert outside[users["become"]] == OVERFLOW_ID
    assert 0 not in outside.values() or not is_root

"""The verifier reads the packets at all devices, and finds what a faulty emulator would do to them.

Source    ours: docs/guide/real-software.md
"""

from __future__ import annotations

import shutil
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mobilenet.api import Run
from mobilenet.rundir.pcap import FILE_HEADER, RECORD, Captured, packets_in
from mobilenet.verify import verify_run
from mobilenet.verify.packets.captures import Passed
from mobilenet.verify.packets.tcp import ACK, FIN, SYN, connections_problem
from tests.namespaces.own import need, played, scenario

A, B = bytes((10, 77, 0, 1)), bytes((10, 77, 0, 2))


@pytest.fixture(scope="module")
def download(tmp_path_factory: pytest.TempPathFactory) -> Run:
    need("curl")
    folder = tmp_path_factory.mktemp("download")
    (folder / "file").write_bytes(bytes(range(256)) * 100)
    commands = {"h0": ["python3", "-m", "http.server", "80"], "h1": "sleep 0.7; curl -s http://h0/file | wc -c"}
    return played(scenario(folder, commands))


def rewritten(run: Run, copy: Path, node: str, change: Callable[[list[Captured]], list[Captured]]) -> str:
    """The problem that the verifier finds where the capture of a node was changed; empty: none."""
    shutil.copytree(run.path, copy)
    path = copy / "packets" / f"{node}.pcap"
    packets = change(list(packets_in(path)))
    records = (RECORD.pack(*divmod(at, 10**9), len(data), len(data)) + data for at, data in packets)
    path.write_bytes(FILE_HEADER + b"".join(records))
    verdict = verify_run(copy)["conservation"]
    return verdict.explanation if verdict.answer == "violated" else ""


def longest(packets: list[Captured]) -> int:
    return max(range(len(packets)), key=lambda place: len(packets[place].packet))


def with_byte_changed(packets: list[Captured]) -> list[Captured]:
    place = longest(packets)
    at_ns, data = packets[place]
    return [*packets[:place], Captured(at_ns, data[:-1] + bytes((data[-1] ^ 1,))), *packets[place + 1 :]]


def with_two_exchanged(packets: list[Captured]) -> list[Captured]:
    place = longest(packets)
    other = next(i for i, each in enumerate(packets) if i > place and each.packet != packets[place].packet)
    exchanged = list(packets)
    exchanged[place] = Captured(packets[place].at_ns, packets[other].packet)
    exchanged[other] = Captured(packets[other].at_ns, packets[place].packet)
    return exchanged


@pytest.mark.programs
@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda packets: packets, ""),
        (with_byte_changed, "with byte"),
        (with_two_exchanged, "with byte"),
        (lambda packets: packets[:-1], "ends before event"),
        (lambda packets: [*packets, packets[-1]], "more packets than the record has events"),
        (lambda packets: [packets[0], *packets], "ns, but event"),
    ],
)
def test_a_changed_capture_is_found(
    change: Callable[[list[Captured]], list[Captured]], expected: str, download: Run, tmp_path: Path
) -> None:
    assert download.verdict == "valid"
    found = rewritten(download, tmp_path / "copy", "h1", change)
    assert expected in found and bool(expected) == bool(found)


def segment(source: bytes, to: bytes, number: int, flags: int, payload: bytes = b"", acknowledged: int = 0) -> bytes:
    tcp = struct.pack(">HHIIBBHHH", 5, 6, number % 2**32, acknowledged % 2**32, 5 << 4, flags, 1000, 0, 0) + payload
    if source == B:
        tcp = tcp[2:4] + tcp[:2] + tcp[4:]
    return struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(tcp), 0, 0x4000, 64, 6, 0, source, to) + tcp


class Talk:
    """Segments between A and B, each of which leaves one device and reaches the other, unless it is lost."""

    def __init__(self, first: int) -> None:
        self.first = first
        self.packets: list[Passed] = []
        for source, flags in ((A, SYN), (B, SYN | ACK)):
            self.say(source, -1, flags, acknowledged=0)

    def say(
        self, source: bytes, offset: int, flags: int, payload: bytes = b"", acknowledged: int = 0,
        lost: bool = False, arrives: bytes | None = None,
    ) -> None:  # fmt: skip
        nodes = ("h0", "h1") if source == A else ("h1", "h0")
        number, peer = self.first + 1 + offset, B if source == A else A
        sent = segment(source, peer, number, flags, payload, self.first + 1 + acknowledged)
        name = f"{nodes[0]}:{len(self.packets)}"
        self.packets.append(Passed(len(self.packets), nodes[0], True, name, sent))
        if not lost:
            got = sent if arrives is None else segment(source, peer, number, flags, arrives, self.first + 1)
            self.packets.append(Passed(len(self.packets), nodes[1], False, name, got))


FIRST = st.integers(0, 2**32 - 1)


@given(FIRST, st.lists(st.tuples(st.integers(0, 40), st.integers(1, 20), st.booleans()), max_size=30))
def test_any_order_of_retransmissions_is_sound(first: int, sends: list[tuple[int, int, bool]]) -> None:
    """A sends parts of one stream, again and in any order; B acknowledges what has come without a gap."""
    stream, talk, got, sent_to = bytes(range(80)), Talk(first), [False] * 80, 0
    for start, length, is_lost in sends:
        start = min(start, sent_to)
        end = start + length
        sent_to = max(sent_to, end)
        talk.say(A, start, ACK, stream[start:end], lost=is_lost)
        if not is_lost:
            got[start:end] = [True] * length
        talk.say(B, 0, ACK, acknowledged=(got + [False]).index(False))
    assert connections_problem(talk.packets) is None


@given(FIRST, st.integers(0, 9))
def test_faults_of_tcp_are_found(first: int, more: int) -> None:
    def problem(*says: tuple[object, ...], **last: object) -> str:
        talk = Talk(first)
        for each in says[:-1]:
            talk.say(*each)  # type: ignore[arg-type]
        talk.say(*says[-1], **last)  # type: ignore[arg-type]
        return connections_problem(talk.packets) or ""

    data = (A, 0, ACK, b"0123456789")
    assert problem(data, (B, 0, ACK, b"", 10)) == ""
    assert f"acknowledges {1 + more} bytes too many" in problem(data, (B, 0, ACK, b"", 11 + more))
    assert "never sent" in problem(data, arrives=b"0123456780")
    assert "never sent" in problem(data, arrives=b"0123456789" + b"x" * (1 + more))
    assert "other bytes" in problem(data, (A, 0, ACK, b"0123456788"))
    assert problem(data, (A, 10, ACK | FIN), (B, 0, ACK, b"", 11)) == ""
    assert "1 bytes too many" in problem(data, (B, 0, ACK, b"", 11))
    assert "acknowledges" in problem((*data, 0, True), (B, 0, ACK, b"", 10 - more))

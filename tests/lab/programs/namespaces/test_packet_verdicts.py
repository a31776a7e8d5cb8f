"""Tests that the verifier reads the packets at all devices, and finds the changes that a faulty emulator makes.

Source    ours: docs/guide/real-software.md
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from mobilenet.api import Run
from mobilenet.record.pcap import FILE_HEADER, RECORD, CapturedPacket, packets_in
from mobilenet.verify import verify_run
from tests.lab.programs.namespaces.own import output_of, play, scenario, skip_without, until_success
from tests.tools import sign


@pytest.fixture(scope="module")
def download(tmp_path_factory: pytest.TempPathFactory) -> Run:
    skip_without("curl")
    folder = tmp_path_factory.mktemp("download")
    (folder / "file").write_bytes(bytes(range(256)) * 100)
    commands = {
        "h0": ["python3", "-m", "http.server", "80"],
        "h1": f"{until_success('curl -s http://h0/file')} | wc -c",
    }
    done = play(scenario(folder, commands, duration_s=8.0))
    assert output_of(done, "h1").strip() == "25600"
    return done


def rewritten(run: Run, copy: Path, node: str, change: Callable[[list[CapturedPacket]], list[CapturedPacket]]) -> str:
    """Change the capture of a node in a copy of the run. Return the explanation of the violation that the verifier
    finds, or an empty string.
    """
    shutil.copytree(run.path, copy)
    path = copy / "packets" / f"{node}.pcap"
    packets = change(list(packets_in(path)))
    records = (RECORD.pack(*divmod(at, 10**9), len(data), len(data)) + data for at, data in packets)
    path.write_bytes(FILE_HEADER + b"".join(records))
    sign(copy, run.manifest)
    verdict = verify_run(copy)["conservation"]
    return verdict.explanation if verdict.answer == "violated" else ""


def longest(packets: list[CapturedPacket]) -> int:
    return max(range(len(packets)), key=lambda place: len(packets[place].packet))


def with_byte_changed(packets: list[CapturedPacket]) -> list[CapturedPacket]:
    place = longest(packets)
    at_ns, data = packets[place]
    return [*packets[:place], CapturedPacket(at_ns, data[:-1] + bytes((data[-1] ^ 1,))), *packets[place + 1 :]]


def with_two_exchanged(packets: list[CapturedPacket]) -> list[CapturedPacket]:
    place = longest(packets)
    other = next(i for i, each in enumerate(packets) if i > place and each.packet != packets[place].packet)
    exchanged = list(packets)
    exchanged[place] = CapturedPacket(packets[place].at_ns, packets[other].packet)
    exchanged[other] = CapturedPacket(packets[other].at_ns, packets[place].packet)
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
def test_a_modified_capture_is_detected(
    change: Callable[[list[CapturedPacket]], list[CapturedPacket]], expected: str, download: Run, tmp_path: Path
) -> None:
    assert download.verdict == "valid"
    problem = rewritten(download, tmp_path / "copy", "h1", change)
    assert expected in problem and bool(expected) == bool(problem)

"""Tests that a radio capture contains each recorded transmission once, with the recorded values, and no other
transmissions.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import struct
import subprocess
from collections import Counter
from collections.abc import Callable
from math import ceil
from pathlib import Path
from typing import Any
from unittest import mock

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mobilenet import api
from mobilenet.lab.export import radio_frames, radio_pcap
from mobilenet.network.radio.frame import SINR_OUTCOMES
from mobilenet.record import reader
from mobilenet.record.reader import RunError
from tests.cli.command import mobilenet, one_line
from tests.conftest import FIRST, ROOT
from tests.lab.export.radiotap_reader import OUTCOMES, Sniffed, sniff

PAGE = ROOT / "docs" / "guide" / "radio-capture.md"
KNOWN = ["record.messages=true", "record.causes=true"]
RUNS = {  # overrides of the keys of first.yaml
    "first": [],
    "known": KNOWN,
    "tcp": ["protocol.name=tcp_flooding", *KNOWN],
    "sinr": ["wireless.model=sinr"],
    "lossy": ["wireless.loss=0.3", "wireless.groupcast=unsolicited_retry"],
    "acking": ["wireless.mac=acking"],
}
Make = Callable[[str], Path]


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory) -> Make:
    """Return a function that makes each run of RUNS only once, and returns the same run on later calls."""
    place = tmp_path_factory.mktemp("runs")

    def make(name: str) -> Path:
        if not (place / name).exists():
            api.run(FIRST, out=place / name, overrides=["record.frames=true", *RUNS[name]])
        return place / name

    return make


def transmissions(run: Path) -> list[pd.DataFrame]:
    """Return the rows of each transmission, ordered by the start of the transmission."""
    table = pd.read_parquet(run / "frames.parquet")
    if (run / "links.parquet").exists():
        links = pd.read_parquet(run / "links.parquet")
        table = table.assign(power_dbm=links.power_dbm, sinr_db=links.sinr_db)
    groups = [rows for _, rows in table.groupby(["start_ns", "sender"], sort=False)]
    return sorted(groups, key=lambda rows: int(rows.start_ns.iloc[0]))


def export_radio(run: Path, *words: str) -> list[Sniffed]:
    target = run.parent / f"{run.name}{'-'.join(words)}.pcap"
    done = mobilenet("export", run, "--radio-pcap", "--out", target, *words, place=run.parent)
    assert done.returncode == 0, done.stderr
    return sniff(target)


@pytest.mark.parametrize("name", RUNS)
def test_each_transmission_appears_once_in_the_radio_capture(name: str, make: Make) -> None:
    sniffed, recorded = export_radio(make(name)), transmissions(make(name))
    assert len(sniffed) == len(recorded) > 500
    is_dcf = name != "acking"
    for frame, rows in zip(sniffed, recorded, strict=True):
        first = rows.iloc[0]
        assert (frame.at_ns, frame.on_air_bytes) == (first.start_ns, first.psdu_bytes)
        assert frame.rate_mbps == (first.rate_mbps if is_dcf else None)
        assert (frame.has_fcs, frame.is_broken, frame.signal_dbm) == (is_dcf, False, None)
        assert frame.is_retry == (first.attempt > 1)
        if first.kind == "mac_ack":
            assert (frame.kind, frame.addresses, frame.own) == ("ack", [first.to], {})
            continue
        assert frame.kind == ("qos" if name == "lossy" else "data")
        is_down, is_up = first.sender[0] == "s", first.sender[0] == "h" and first.to[:1] == "s"
        assert (frame.to_ds, frame.from_ds) == (is_up, is_down)
        station = first.sender if is_down else first.to if is_up else "all"
        assert frame.addresses == [first.to or "all", first.sender, station]
        assert frame.own["class"] == first.kind
        assert frame.own["airtime_ns"] == first.end_ns - first.start_ns
        assert (frame.own["psdu_bytes"], frame.own["attempt"]) == (first.psdu_bytes, first.attempt)
        assert (frame.own["in_reach"], frame.own["nodes"]) == (len(rows), dict(Counter(rows.fate)))
        fates = dict(zip(rows.receiver, rows.fate, strict=True))
        assert frame.own["outcome"] == (fates.get(first.to, "out_of_range") if first.to else None)


def test_exported_retries_and_reservations_match_the_mac(make: Make) -> None:
    """In 802.11, a retry has the sequence number of the first attempt. A frame that needs an acknowledgement reserves
    the medium for SIFS and the ACK.
    """
    sniffed = export_radio(make("tcp"))
    counters = json.loads((make("tcp") / "counters.json").read_text())["radio"]
    assert sum(frame.is_retry for frame in sniffed) == counters["mac_retries"] > 40
    symbols = ceil((16 + 8 * 14 + 6) / (4 * 24))
    assert {frame.duration_us for frame in sniffed if frame.kind == "data"} == {10 + 20 + 4 * symbols + 6}
    assert {frame.duration_us for frame in sniffed if frame.kind == "ack"} == {0}
    before: dict[str, Sniffed] = {}
    for frame in sniffed:
        if frame.kind == "data" and (last := before.get(frame.addresses[1])) is not None:
            assert last.sequence is not None
            assert frame.sequence == (last.sequence + (0 if frame.is_retry else 1)) % 4096
        if frame.kind == "data":
            before[frame.addresses[1]] = frame


def test_exported_group_frame_copies_are_marked_as_retries(make: Make) -> None:
    sniffed = export_radio(make("lossy"))
    counters = json.loads((make("lossy") / "counters.json").read_text())["radio"]
    assert sum(frame.is_retry for frame in sniffed) == counters["mac_group_retries"] > 100
    assert {frame.duration_us for frame in sniffed} == {0}


@pytest.mark.parametrize("name", ["sinr", "lossy", "tcp"])
def test_the_capture_of_one_node_has_what_it_sent_and_could_hear(name: str, make: Make) -> None:
    sniffed, whole = export_radio(make(name), "--node", "h3"), export_radio(make(name))
    of_whole = {(frame.at_ns, tuple(frame.addresses), frame.kind): frame for frame in whole}
    recorded = [rows for rows in transmissions(make(name)) if "h3" in {*rows.sender, *rows.receiver}]
    assert len(whole) > len(sniffed) == len(recorded) > 100
    outcomes: Counter[str] = Counter()
    for frame, rows in zip(sniffed, recorded, strict=True):
        same = of_whole[frame.at_ns, tuple(frame.addresses), frame.kind]
        assert frame.sequence == same.sequence
        if rows.sender.iloc[0] == "h3":
            assert frame == same
            continue
        here = rows[rows.receiver == "h3"].iloc[0]
        outcomes[here.fate] += 1
        assert frame.is_broken == (here.fate in ("collision", "random", "bit_errors"))
        assert frame.signal_dbm == (round(here.power_dbm) if name == "sinr" else None)
        if frame.kind == "ack":
            continue
        assert frame.own["outcome"] == here.fate
        if name == "sinr":
            assert frame.own["power_dbm"] == pytest.approx(here.power_dbm, abs=1e-6)
            sinr_db = frame.own.get("sinr_db")
            assert sinr_db is None if pd.isna(here.sinr_db) else sinr_db == pytest.approx(here.sinr_db, abs=1e-6)
    assert outcomes["received"] > 100 and (len(outcomes) > 1) == (name != "tcp")


@pytest.mark.parametrize("name", ["known", "tcp"])
def test_captured_frames_contain_the_recorded_message_fields(name: str, make: Make) -> None:
    messages = pd.read_parquet(make(name) / "messages.parquet").query("medium == 'radio'")
    message = {(row.send_ns, row.sender): row for row in messages.itertuples()}
    causes = pd.read_parquet(make(name) / "causes.parquet")
    sent = {(row.start_ns, row.node): row for row in causes[causes.step == "sent"].itertuples()}
    noted: Counter[str] = Counter()
    for frame in export_radio(make(name)):
        if frame.kind == "ack":
            continue
        key = frame.at_ns, frame.addresses[1]
        row: Any = message[key]
        detail = json.loads(row.detail) if isinstance(row.detail, str) else {}
        expected = {field: detail[field] for field in ("seq", "ack", "window") if field in detail}
        expected |= {field: getattr(row, field) for field in ("host", "session") if pd.notna(getattr(row, field))}
        cause = sent[key]
        if kept_back := causes.window[cause.cause]:
            expected["held_back_by"] = kept_back
        assert {field: frame.own[field] for field in expected} == expected
        assert frame.own["message"] == cause.messages.split()
        noted.update(field for field in (*expected, *(["message"] if cause.messages else [])))
    assert noted["message"] > 50 and noted["session"] > 20
    assert (noted["seq"] > 100) == (name == "tcp")


def test_captured_frames_state_their_message_without_causes(tmp_path: Path) -> None:
    changes = ["record.frames=true", "record.messages=true", "duration_s=10"]
    api.run(FIRST, out=tmp_path / "run", overrides=changes)
    messages = pd.read_parquet(tmp_path / "run" / "messages.parquet").query("medium == 'radio'")
    known = {(row.send_ns, row.sender): row.message for row in messages.itertuples()}
    sniffed = export_radio(tmp_path / "run")
    names = [known[frame.at_ns, frame.addresses[1]] for frame in sniffed]
    assert [" ".join(frame.own["message"]) for frame in sniffed] == [name or "" for name in names]
    assert sum(map(bool, names)) > 20


def test_the_radio_export_accepts_hosts_from_tracks(tmp_path: Path) -> None:
    """A scenario with tracks does not state the number of hosts."""
    tracks = FIRST.parent / "own_tracks.yaml"
    api.run(tracks, out=tmp_path / "run", overrides=["record.frames=true", "duration_s=10", "warmup_s=0"])
    assert len(export_radio(tmp_path / "run", "--node", "h1")) > 10


@pytest.mark.parametrize(("name", "node"), [("tcp", None), ("sinr", "h3")])
def test_writing_a_capture_in_parts_does_not_change_it(name: str, node: str | None, make: Make, tmp_path: Path) -> None:
    """The boundaries between the parts of a table or of the capture do not affect the result."""
    target, again = tmp_path / "a.pcap", tmp_path / "b.pcap"
    radio_pcap.write_radio_pcap(make(name), target, node)
    with mock.patch.object(reader, "AT_ONCE", 97), mock.patch.object(radio_pcap, "AT_ONCE", 50):
        radio_pcap.write_radio_pcap(make(name), again, node)
    assert target.read_bytes() == again.read_bytes()


def test_radio_export_writes_the_dissector_next_to_the_capture(make: Make, tmp_path: Path) -> None:
    shutil.copytree(make("first"), tmp_path / "run")
    done = mobilenet("export", "run", "--radio-pcap", place=tmp_path)
    count = len(transmissions(tmp_path / "run"))
    assert done.stdout == (
        f"run/radio.pcap: {count} frames. Next: tshark -X lua_script:run/mobilenet.lua -r run/radio.pcap\n"
    )
    assert (tmp_path / "run/mobilenet.lua").read_bytes() == radio_pcap.DISSECTOR.read_bytes()
    once = (tmp_path / "run/radio.pcap").read_bytes()
    assert mobilenet("export", "run", "--radio-pcap", "--node", "s1", place=tmp_path).returncode == 0
    # This call replaces the first capture.
    assert mobilenet("export", "run", "--radio-pcap", place=tmp_path).returncode == 0
    assert (tmp_path / "run/radio.pcap").read_bytes() == once
    assert 0 < (tmp_path / "run/radio-s1.pcap").stat().st_size < len(once)
    explained = mobilenet("explain", "run/radio-s1.pcap", "--json", place=tmp_path)
    assert json.loads(explained.stdout)["command"] == "mobilenet export RUN --radio-pcap --node s1"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("plain --radio-pcap", "plain: did not record its frames; expected a run with --set record.frames=true"),
        ("processes --radio-pcap", "processes: a run of processes; only hosts and stations have a radio"),
        ("run --radio-pcap --node h6", "run: has no node h6; expected a host or a station of the run, such as "),
        ("run --radio-pcap --node S1", "run: has no node S1; expected a host or a station of the run, such as "),
        ("run --radio-pcap --out a.txt", "a.txt: expected a name that ends in .pcap"),
        ("run --radio-pcap --out folder.pcap", "folder.pcap: is a directory, expected a file"),
        ("run --radio-pcap --origin 1,2", "--origin: has no effect on --radio-pcap; expected --csv or --geojson"),
        ("run --radio-pcap --csv", "expected one of --csv, --geojson, --kepler, --shiviz, --omnetpp, --pcap or"),
        (
            "cut --radio-pcap --node h3",
            "cut/links.parquet: changed since the run wrote it",
        ),
    ],
)
def test_the_pcap_export_rejects_bad_requests_in_one_line(words: str, expected: str, make: Make, inputs: Path) -> None:
    before = sorted(inputs.rglob("*"))
    done = mobilenet("export", *words.split(), place=inputs)
    assert expected in one_line(done, 2)
    assert sorted(inputs.rglob("*")) == before


@pytest.fixture(scope="module")
def inputs(make: Make, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("inputs")
    shutil.copytree(make("first"), place / "run")
    shutil.copytree(make("sinr"), place / "cut")
    links = pq.read_table(place / "cut" / "links.parquet")
    pq.write_table(links.slice(1), place / "cut" / "links.parquet")
    (place / "folder.pcap").mkdir()
    api.run(FIRST, out=place / "plain", overrides=["duration_s=3"])
    api.run(FIRST.parent / "vcube" / "bundling.yaml", out=place / "processes", overrides=["processes=8"])
    return place


@pytest.mark.parametrize(
    ("table", "column", "value", "expected"),
    [
        ("links", "start_ns", 1, "links.parquet: its rows are not those of frames.parquet"),
        ("frames", "sender", "x", "frames.parquet: sender has 'x', expected a node"),
        ("frames", "to", "h-1", "frames.parquet: to has 'h-1', expected a node"),
        ("frames", "receiver", "p1", "frames.parquet: receiver has 'p1', expected a node"),
        ("frames", "fate", "out_of_range", "frames.parquet: fate has an outcome that no radio has"),
    ],
)
def test_the_pcap_export_does_not_trust_large_tables(
    table: str, column: str, value: object, expected: str, make: Make, tmp_path: Path
) -> None:
    """Checksums protect only the beginning and the end of a large table, so the export must check the values itself."""
    shutil.copytree(make("sinr"), tmp_path / "run")
    path = tmp_path / "run" / f"{table}.parquet"
    data = pq.read_table(path)
    place, kind = data.column_names.index(column), data.schema.field(column)
    changed = data.set_column(place, kind, pa.array([*data[column].to_pylist()[:-1], value], kind.type))
    pq.write_table(changed, path)
    with mock.patch.object(reader, "SMALL_BYTES", 0), pytest.raises(RunError, match=expected):
        radio_pcap.write_radio_pcap(tmp_path / "run", tmp_path / "a.pcap", "h3")


def test_each_radio_outcome_has_an_export_number() -> None:
    assert set(SINR_OUTCOMES) == set(OUTCOMES) - {"out_of_range"} and radio_frames.OUTCOMES == OUTCOMES


# --- tshark


def tshark(capture: Path, *words: str) -> str:
    """Return what tshark prints for a capture with the dissector of mobilenet."""
    if shutil.which("tshark") is None:
        pytest.fail("no tshark") if os.environ.get("MOBILENET_REQUIRE_LANGUAGES") else pytest.skip("no tshark")
    script = f"lua_script:{radio_pcap.DISSECTOR}"
    command = ["tshark", "-X", script, "-r", str(capture), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout


@pytest.mark.programs
@pytest.mark.parametrize("name", RUNS)
def test_wireshark_reads_a_capture_as_mobilenet_wrote_it(name: str, make: Make) -> None:
    """Wireshark reports no malformed frames and counts the same number of frames in each class. At the rates of 802.11,
    it also computes the same airtime.

    Wireshark computes the airtime from rate and length, without the 6 us extension of an ERP-OFDM frame.
    """
    export_radio(make(name))
    capture = make(name).parent / f"{name}.pcap"
    fields = (
        "frame.time_epoch", "mobilenet.class", "mobilenet.sender", "mobilenet.receiver", "wlan.fc.retry",
        "wlan_radio.duration", "_ws.malformed", "_ws.short",
    )  # fmt: skip
    printed = tshark(capture, "-T", "fields", *(word for field in fields for word in ("-e", field))).splitlines()
    rows = [dict(zip(fields, line.split("\t"), strict=True)) for line in printed]
    first = [rows.iloc[0] for rows in transmissions(make(name))]
    assert Counter(row["mobilenet.class"] for row in rows) == Counter(row.kind for row in first)
    for row, recorded in zip(rows, first, strict=True):
        assert not row["_ws.malformed"] and not row["_ws.short"]
        assert row["frame.time_epoch"] == f"{recorded.start_ns // 10**9}.{recorded.start_ns % 10**9:09d}"
        assert row["mobilenet.receiver"] == (recorded.to or "all")
        assert row["mobilenet.sender"] == ("" if recorded.kind == "mac_ack" else recorded.sender)
        assert (row["wlan.fc.retry"] in ("1", "True")) == (recorded.attempt > 1)
        if name != "acking":
            extension_us = 6 if name == "tcp" else 0
            assert 1000 * (int(row["wlan_radio.duration"]) + extension_us) == recorded.end_ns - recorded.start_ns
    assert not re.search(r"^(Errors|Warns) ", tshark(capture, "-q", "-z", "expert"), re.MULTILINE)


@pytest.mark.programs
@pytest.mark.parametrize("name", ["sinr", "known", "tcp"])
def test_the_dissector_shows_every_header_field(name: str, make: Make) -> None:
    numbers = ("attempt", "airtime_ns", "in_reach", "psdu_bytes", "session", "seq", "ack", "window")
    measured, texts = ("power_dbm", "sinr_db"), ("class", "outcome", "host", "held_back_by")
    counted = OUTCOMES[:-1]
    fields = [*numbers, *measured, *texts, "message", *(f"nodes.{outcome}" for outcome in counted)]
    capture, sniffed = make(name).parent / f"{name}--node-h3.pcap", export_radio(make(name), "--node", "h3")
    printed = tshark(capture, "-T", "json", *(word for field in fields for word in ("-e", f"mobilenet.{field}")))
    for packet, frame in zip(json.loads(printed), sniffed, strict=True):
        fields_there = packet["_source"].get("layers", {})
        layers = {name.removeprefix("mobilenet."): values for name, values in fields_there.items()}
        if frame.kind == "ack":
            assert layers == {"class": ["mac_ack"]}
            continue
        own = dict(frame.own)
        nodes = own.pop("nodes")
        assert {outcome: int(layers.get(f"nodes.{outcome}", ["0"])[0]) for outcome in counted} == (
            dict.fromkeys(counted, 0) | nodes
        )
        assert layers.get("message", []) == own.pop("message")
        for field in (*numbers, *texts):
            assert layers.get(field, [None])[0] == (None if own.get(field) is None else str(own[field])), field
        for field in measured:
            assert (field in layers) == (field in own)
            assert field not in own or float(layers[field][0]) == pytest.approx(own[field])


@pytest.mark.programs
@pytest.mark.parametrize("most_bytes", [50, 60, 70, 80])
def test_the_dissector_accepts_frames_that_are_cut_off(most_bytes: int, make: Make, tmp_path: Path) -> None:
    export_radio(make("known"))
    data, place = (make("known").parent / "known.pcap").read_bytes(), 24
    cut = [data[:place]]
    while place < len(data):
        captured, length = struct.unpack_from("<II", data, place + 8)
        few = min(captured, most_bytes)
        cut.append(data[place : place + 8] + struct.pack("<II", few, length) + data[place + 16 : place + 16 + few])
        place += 16 + captured
    (tmp_path / "cut.pcap").write_bytes(b"".join(cut))
    printed = tshark(tmp_path / "cut.pcap", "-V")
    assert "Lua" not in printed and "Malformed" not in printed
    assert ("Class of the message: AckH" in printed) == (most_bytes > 63)


@pytest.mark.programs
def test_filters_in_the_wireshark_guide_answer_their_questions(tmp_path: Path) -> None:
    """The test runs the commands of the guide in order, as a reader would."""
    shutil.copytree(FIRST.parent, tmp_path / "scenarios")
    text = re.sub(r" \\\n\s+", " ", PAGE.read_text(encoding="utf-8"))
    answers: list[list[str]] = []
    for command in re.findall(r"^ {4}((?:mobilenet|tshark) .*)$", text, re.MULTILINE):
        if command.startswith("mobilenet "):
            words = shlex.split(command)[1:]
            assert mobilenet(*words, place=tmp_path).returncode == 0, command
            continue
        if shutil.which("tshark") is None:
            pytest.fail("no tshark") if os.environ.get("MOBILENET_REQUIRE_LANGUAGES") else pytest.skip("no tshark")
        done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0 and len(done.stdout.splitlines()) > 1, command
        answers.append(done.stdout.splitlines())
    classes, airtimes, retries, at_h3 = ([line.split() for line in answer] for answer in answers)
    for count, _ in classes:
        assert f" {int(count):,} " in text
    airtime_s = {name: float(s) for name, s in airtimes}
    acks_s = airtime_s["TcpAck"] + airtime_s["mac_ack"]
    assert f"Data takes {airtime_s['TcpData']:.2f} s, and acknowledgements of both kinds take {acks_s:.2f} s" in text
    of_stations = sum(int(count) for count, node in retries if node[0] == "s")
    in_all = sum(int(count) for count, _ in retries)
    assert f"Stations sent {of_stations} of the {in_all} retries, {retries[0][0]} of them by {retries[0][1]}." in text
    lost = sum(int(count) for count, _, outcome in at_h3 if outcome != "received")
    assert f"h3 lost {lost} of the {sum(int(count) for count, *_ in at_h3):,} frames of others" in text

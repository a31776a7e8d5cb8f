"""Tests that eventlogs for OMNeT++ contain every row of the record, and no other events."""

from __future__ import annotations

from collections import Counter, defaultdict
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest

from mobilenet import api
from tests.cli.command import mobilenet
from tests.conftest import FIRST, SCENARIOS

from .omnetpp_reader import LoggedEvent, Malformed, read_eventlog

RECORDS = {"messages": "record.messages=true", "frames": "record.frames=true", "causes": "record.causes=true"}
KEYS = (
    "duration_s=12",
    "wireless.loss=0.1",
    "faults={schedule: explicit, outages: [{host: h1, at_s: 5, duration_s: 2}]}",
)


def export(place: Path, scenario: Path, *changes: str) -> tuple[Path, list[LoggedEvent], str]:
    """Make a run and export it. Return the run, its eventlog, and the output of the export."""
    api.run(scenario, overrides=changes, out=place / "run")
    done = mobilenet("export", "run", "--omnetpp", place=place)
    assert done.returncode == 0, done
    return place / "run", read_eventlog(place / "run" / "omnetpp" / "General-#0.elog"), done.stdout


def table(run: Path, name: str) -> pd.DataFrame:
    return pq.read_table(run / f"{name}.parquet").to_pandas()


def ns(time: Decimal | str) -> int:
    return int(Decimal(time) * 10**9)


def node_of(log: list[LoggedEvent]) -> dict[int, str]:
    """Return the name of each node by module ID, as created in the first event."""
    (network, *nodes) = log[0].of("MC")
    assert (network["n"], network["cm"]) == ("Net", "1") and all(one["pid"] == network["id"] for one in nodes)
    letters = {"host": "h", "accessPoint": "s", "process": "p"}
    return {int(one["id"]): letters[one["n"].partition("[")[0]] + one["n"].partition("[")[2][:-1] for one in nodes}


def hops_of(log: list[LoggedEvent]) -> Counter[tuple[str, str, int, int | None, str, int]]:
    """Count the sends in the log by sender, receiver, send time, arrival time, class and size in bytes."""
    nodes, ends = node_of(log), {event.message: event for event in log if event.message >= 0}
    hops: Counter[tuple[str, str, int, int | None, str, int]] = Counter()
    for event in log:
        kinds = [kind for kind, _ in event.entries if kind != "MC"]
        assert kinds[::3] == ["BS"] * (len(kinds) // 3) and kinds[1::3] == ["SD"] * (len(kinds) // 3)
        sends = [values for kind, values in event.entries if kind != "MC"]
        for begin, direct, end, kind in zip(sends[::3], sends[1::3], sends[2::3], kinds[2::3], strict=True):
            assert (begin["id"], begin["tid"], begin["c"]) == (end["id"], end["tid"], end["c"])
            assert int(begin["sm"]) == int(direct["sm"]) == event.module
            assert Decimal(begin["st"]) == event.time + Decimal(begin.get("sd", "0"))
            arrival = ends.get(int(begin["id"]))
            assert (kind == "ES") == (arrival is not None) and (kind == "DM" or kind == "ES")
            if arrival is not None:
                assert arrival.time == Decimal(end["at"]) and arrival.module == int(direct["dm"])
                assert arrival.cause == event.number
            hops[
                nodes[int(begin["sm"])], nodes[int(direct["dm"])], ns(begin["st"]),
                None if arrival is None else ns(arrival.time), begin["c"], int(begin.get("l", -8)) // 8,
            ] += 1  # fmt: skip
    return hops


@pytest.mark.parametrize("also", [(), ("frames",), ("causes",), ("frames", "causes")])
def test_exported_sends_and_arrivals_match_the_message_table(also: tuple[str, ...], tmp_path: Path) -> None:
    run, log, printed = export(tmp_path, FIRST, *KEYS, *(RECORDS[name] for name in ("messages", *also)))
    messages = table(run, "messages")
    columns = ["sender", "receiver", "send_ns", "receive_ns", "kind", "size_bytes"]
    rows = messages[columns].astype(object).where(messages[columns].notna(), None).itertuples(index=False, name=None)
    assert hops_of(log) == Counter(rows) and len(printed.splitlines()) == 1
    arrived = [event for event in log if event.message >= 0]
    assert len(arrived) == messages.receive_ns.notna().sum() > 300 and messages.receive_ns.isna().any()
    lost = Counter(
        text.removeprefix("not received: ")
        for event in log
        for text in event.texts
        if text.startswith("not received: ")
    )
    assert lost == Counter(messages.fate[messages.fate != "received"])


def test_copies_of_one_broadcast_share_an_event_number(tmp_path: Path) -> None:
    run, log, _ = export(tmp_path, FIRST, *KEYS, RECORDS["messages"])
    trees: dict[str, list[int]] = defaultdict(list)
    for event in log:
        for begin in event.of("BS"):
            trees[begin["tid"]].append(int(begin["id"]))
    messages = table(run, "messages")
    assert max(map(len, trees.values())) > 1
    for rows in trees.values():
        same = messages.iloc[rows][["send_ns", "sender", "medium", "kind", "message"]]
        assert len(same.drop_duplicates()) == 1
    alike = messages.groupby(["send_ns", "sender", "medium", "kind", "message"], dropna=False)
    assert len(trees) == alike.ngroups


@pytest.mark.parametrize("scenario", [FIRST, SCENARIOS / "vcube" / "reliable.yaml"])
def test_eventlog_text_lines_match_the_recorded_events(scenario: Path, tmp_path: Path) -> None:
    run, log, printed = export(tmp_path, scenario)
    nodes, events = node_of(log), table(run, "events")
    lines = [(ns(event.time), nodes[event.module], text) for event in log[1:] for text in event.texts]
    rows = [
        (row.time_ns, row.node, " ".join(word for word in row[3:] if isinstance(word, str)))
        for row in events[["time_ns", "node", "event", "message", "station", "detail"]].itertuples(index=True)
    ]
    assert Counter(lines) == Counter(rows) and len(lines) > 100
    assert all(not event.of("BS") and event.message == -1 for event in log)
    key = "record.messages" if scenario == FIRST else "record.causes"
    assert printed.splitlines()[0] == f"the .elog has no sends and arrivals: the run was recorded without {key}"


def test_an_eventlog_of_frames_has_a_send_for_each_frame(tmp_path: Path) -> None:
    run, log, _ = export(tmp_path, FIRST, *KEYS, RECORDS["frames"])
    frames = table(run, "frames")
    ends = [end if fate == "received" else None for end, fate in zip(frames.end_ns, frames.fate, strict=True)]
    rows = zip(frames.sender, frames.receiver, frames.start_ns, ends, frames.kind, frames.psdu_bytes, strict=True)
    assert hops_of(log) == Counter(rows) and None in ends


@pytest.mark.parametrize("scenario", [FIRST, SCENARIOS / "vcube" / "reliable.yaml"])
def test_an_eventlog_made_from_causes_contains_their_sends(scenario: Path, tmp_path: Path) -> None:
    changes = KEYS if scenario == FIRST else ()
    run, log, printed = export(tmp_path, scenario, *changes, RECORDS["causes"])
    causes, expected = table(run, "causes"), Counter[tuple[str, str, int, int | None, str]]()
    arrived = {row.cause: row.time_ns for row in causes.itertuples() if row.step == "arrived"}
    for row in causes.itertuples():
        if row.step in ("sent", "acknowledged"):
            for receiver, _, outcome in (word.partition(":") for word in row.heard.split()):
                expected[row.node, receiver, row.start_ns, None if outcome else row.end_ns, row.kind] += 1
        elif row.step == "wire":
            expected[row.node, row.to, row.time_ns, arrived.get(row.Index), row.kind] += 1
    hops = Counter({hop[:5]: count for hop, count in hops_of(log).items()})
    assert hops == expected and len(expected) > 60 and len(printed.splitlines()) == 1


def test_each_send_is_nested_in_the_event_that_caused_it(tmp_path: Path) -> None:
    run, log, _ = export(tmp_path, FIRST, *KEYS, RECORDS["messages"], RECORDS["causes"])
    causes, messages = [*table(run, "causes").itertuples()], [*table(run, "messages").itertuples()]
    sent = {(row.start_ns, row.node): row for row in causes if row.step == "sent"}
    wires = {(row.time_ns, row.node, row.to, row.kind): row for row in causes if row.step == "wire"}
    of_frame = {(m.send_ns, m.sender, m.receiver): m.Index for m in messages if m.medium == "radio"}
    of_wire = {(m.send_ns, m.sender, m.receiver, m.kind): m.Index for m in messages if m.medium == "wired"}
    events = {int(begin["id"]): event for event in log for begin in event.of("BS")}
    led: Counter[str] = Counter()
    for m in messages:
        event = events[m.Index]
        if m.medium == "radio":
            queued = sent[m.send_ns, m.sender].cause
            reason = causes[queued].cause if queued >= 0 else -1
        else:
            reason = wires[m.send_ns, m.sender, m.receiver, m.kind].cause
        cause = causes[reason] if reason >= 0 else None
        step = "none" if cause is None else cause.step
        led[step] += 1
        if step == "timer":
            assert f"timer {cause.kind}" in event.texts and ns(event.time) == cause.time_ns and event.message == -1
        elif step == "sent":
            assert event.message == of_frame[cause.start_ns, cause.node, m.sender]
        elif step == "arrived":
            wire = causes[cause.cause]
            assert event.message == of_wire[wire.time_ns, wire.node, wire.to, wire.kind]
        else:
            assert ns(event.time) == m.send_ns and event.message == -1
    assert min(led.values()) > 5 and led.keys() >= {"timer", "sent", "arrived"}
    timers = [row for row in causes if row.step == "timer"]
    assert sum(text.startswith("timer ") for event in log for text in event.texts) == len(timers)


def test_an_instant_arrival_is_logged_after_its_send(tmp_path: Path) -> None:
    network = [f"network.{key}=0" for key in ("send", "link", "reception", "hand_over")]
    _, log, _ = export(tmp_path, SCENARIOS / "vcube" / "reliable.yaml", *network, RECORDS["causes"])
    hops = hops_of(log)
    assert sum(count for (_, _, sent_ns, arrived_ns, *_), count in hops.items() if sent_ns == arrived_ns) > 1000
    assert sum(len(event.of("BS")) for event in log if event.message >= 0) > 1000


def test_each_event_of_the_eventlog_has_a_row_in_the_record(tmp_path: Path) -> None:
    run, log, _ = export(tmp_path, FIRST, *KEYS, *RECORDS.values())
    nodes, messages, events = node_of(log), table(run, "messages"), table(run, "events")
    timers = table(run, "causes").query("step == 'timer'")
    moments = {*zip(events.time_ns, events.node, strict=True), *zip(timers.time_ns, timers.node, strict=True)}
    moments |= {*zip(messages.send_ns, messages.sender, strict=True)}
    for event in log[1:]:
        if event.message < 0:
            assert (ns(event.time), nodes[event.module]) in moments and (event.texts or event.entries)
    assert len([event for event in log if event.message >= 0]) == messages.receive_ns.notna().sum()
    assert sorted(nodes.values()) == [*(f"h{i}" for i in range(6)), *(f"s{i}" for i in range(3))]


BEGIN = "SB ov 1537 ev 2 rid a\n\nE # 0 t 0 m 1 ce -1 msg -1\n"


@pytest.mark.parametrize(
    "text",
    [
        "E # 0 t 0 m 1 ce -1 msg -1\n\n", BEGIN + "\nE # 0 t 0 m 1 ce -1 msg -1\n\n", BEGIN + "XX id 1\n\n",
        BEGIN + "BS id 0\n\n", BEGIN + "SD sm 1 dm 2 dg x\n\n", BEGIN + "SD sm 1 dm 2 dg\n\n",
        BEGIN + "\nE # 1 t 1 m 1 ce 2 msg 5\n\n",
    ],
)  # fmt: skip
def test_the_eventlog_reader_rejects_malformed_lines(text: str, tmp_path: Path) -> None:
    (tmp_path / "a.elog").write_text(text)
    with pytest.raises((Malformed, ValueError)):
        read_eventlog(tmp_path / "a.elog")

"""Tests that the arrows of a space-time diagram are exactly the recorded messages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pytest
from mobilenet.viz.spacetime import WindowError, default_moment, draw, window_around
from mobilenet.viz.spacetime.drawing import compose
from mobilenet.viz.spacetime.legend import MARKS
from mobilenet.viz.spacetime.window import Window, handoffs, messages_to_show
from mobilenet.viz.style import page

import mobilenet
from mobilenet.lab.replay.rerun import protocol_messages
from mobilenet.record.reader import RunError

SCENARIO = """
seed: 1
duration_s: 14
stations: {layout: {shape: points, points_m: [[0, 0], [150, 0], [75, 130]]}}
wireless: {loss: 0.1}
hosts: {count: 4, mobility: {model: random_waypoint, speed_mps: 14}}
protocol: {name: mobile_causal}
workload: {interval_s: 1}
"""


def expected_rows(messages: pd.DataFrame, events: pd.DataFrame, host: str, begin: int, end: int) -> set[int]:
    """Return the rows that the diagram should show. This function checks the rows one by one."""
    delivered = {
        e.message for e in events.itertuples() if e.event == "deliver" and e.node == host and begin <= e.time_ns <= end
    }
    inside = []
    for row in messages.itertuples():
        arrives = row.send_ns if pd.isna(row.receive_ns) else row.receive_ns
        if row.send_ns <= end and arrives >= begin:
            inside.append(row)
    direct = [row for row in inside if host in (row.sender, row.receiver)]
    heard = {row.sender for row in direct} | {row.receiver for row in direct}
    rows = {row.Index for row in direct}
    for row in inside:
        if row.medium == "wired" and row.host == host:
            rows.add(row.Index)
        if (
            row.medium == "wired"
            and row.host is None
            and row.message in delivered
            and {row.sender, row.receiver} <= heard
        ):
            rows.add(row.Index)
    return rows


@pytest.mark.long
@pytest.mark.parametrize("seed", range(20))
def test_diagram_arrows_match_the_recorded_messages(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "small.yaml"
    path.write_text(SCENARIO)
    run = mobilenet.run(path, seed=seed, out=tmp_path / "run", overrides=["record.messages=true"])
    all_handoffs = handoffs(run.events)
    assert len(all_handoffs)
    for number in range(1, len(all_handoffs) + 1):
        window = window_around(run.events, f"handoff:{number}")
        target = tmp_path / f"{number}.svg"
        arrows = draw(run.messages, run.events, window, target, "run")
        assert set(arrows) == expected_rows(run.messages, run.events, window.host, window.begin_ns, window.end_ns)
        drawn = re.findall(r'id="message-(\d+)"', target.read_text(encoding="utf-8"))
        assert sorted(map(int, drawn)) == sorted(arrows)
        kinds = set(run.messages.loc[arrows].kind)
        assert "Init" in kinds
        assert "InitAck" in kinds


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> mobilenet.Run:
    folder = tmp_path_factory.mktemp("plain")
    (folder / "small.yaml").write_text(SCENARIO)
    return mobilenet.run(folder / "small.yaml", seed=3, out=folder / "run")


@pytest.fixture(scope="module")
def messages(plain: mobilenet.Run) -> pd.DataFrame:
    return protocol_messages(plain.path)[0]


class ComposedDiagram(NamedTuple):
    """A diagram that was composed but not saved."""

    window: Window
    selection: pd.DataFrame
    figure: Any
    axes: Any
    labels: Any

    @property
    def words(self) -> list[str]:
        return [text.get_text() for text in self.labels.texts]

    @property
    def lanes(self) -> list[str]:
        return [label.get_text() for label in self.axes.get_yticklabels()]


@contextmanager
def compose_around(
    run: mobilenet.Run, messages: pd.DataFrame, around: str, host: str | None = None, **names: str
) -> Iterator[ComposedDiagram]:
    window = window_around(run.events, around, host)
    selection = messages_to_show(messages, run.events, window)
    with page(13, 4, layout="none") as (figure, axes):
        yield ComposedDiagram(
            window, selection, figure, axes, compose(figure, axes, selection, run.events, window, "run", names)
        )


def test_a_host_is_down_until_it_recovers(plain: mobilenet.Run, messages: pd.DataFrame) -> None:
    """No `join` follows the recovery, because programs keep their session."""
    row = plain.events[plain.events.event == "join"].iloc[:1]
    host, at = row.node.iloc[0], int(2e9)
    outage = [row.assign(event=event, time_ns=at + later) for event, later in (("crash", 0), ("recover", 40_000_000))]
    events = pd.concat([plain.events[plain.events.node != host], row, *outage]).sort_values("time_ns", kind="stable")
    window = window_around(events, "crash:1", margin_s=0.1)
    with page(13, 4, layout="none") as (figure, axes):
        compose(figure, axes, messages_to_show(messages, events, window), events, window, "run", {})
        spans = [band.get_paths()[0].get_extents() for band in axes.collections]
        ends_ms = [round((at - window.begin_ns) / 1e6 + later) for later in (0, 40)]
        assert ends_ms in [[round(span.x0), round(span.x1)] for span in spans]


def test_spacetime_replays_messages_that_were_not_recorded(plain: mobilenet.Run, tmp_path: Path) -> None:
    again = mobilenet.run(plain.path / "scenario.yaml", out=tmp_path / "again", overrides=["record.messages=true"])
    messages, replayed = protocol_messages(plain.path)
    assert replayed
    recorded, from_record = protocol_messages(again.path)
    assert not from_record
    pd.testing.assert_frame_equal(messages, recorded, check_dtype=False)


def test_a_replay_rejects_a_modified_scenario(plain: mobilenet.Run) -> None:
    scenario = plain.path / "scenario.yaml"
    text = scenario.read_text()
    scenario.write_text(text.replace("seed: 3", "seed: 4"))
    try:
        with pytest.raises(RunError, match="changed since the run wrote it"):
            protocol_messages(plain.path)
    finally:
        scenario.write_text(text)


def test_the_spacetime_margin_extends_on_both_sides(plain: mobilenet.Run) -> None:
    window = window_around(plain.events, "5", "h1", margin_s=0.02)
    assert (window.begin_ns, window.end_ns) == (4_980_000_000, 5_020_000_000)


def test_a_message_diagram_ends_at_the_last_delivery(plain: mobilenet.Run, messages: pd.DataFrame) -> None:
    events = plain.events
    names = list(events[(events.event == "deliver") & (events.node == "h1")].message[:2])
    sent, received = (
        events[(events.event == event) & events.message.isin(names)] for event in ("broadcast", "deliver")
    )
    window = window_around(events, f"message:{','.join(names)}", "h1", margin_s=0)
    first = received[received.node == "h1"].drop_duplicates("message").time_ns
    assert (window.begin_ns, window.end_ns) == (sent.time_ns.min(), first.max())
    assert set(messages_to_show(messages, events, window).message.dropna()) == set(names)


@pytest.mark.parametrize(
    ("around", "host", "message"),
    [
        ("handoff:0", None, "no such handoff"),
        ("handoff:999", "h1", "of h1"),
        ("handoff:999", None, r"there are \d+ handoffs in this run, counted from 1"),
        ("handoff", None, "no such handoff"),
        ("crash:1", None, r"none in this run; expected message:h\d:0 or seconds with a host, for example --around 1.5"),
        ("message:h1:99", None, r"unknown message; expected message:h\d:0 or seconds"),
        ("message:h1:99", "h2", r"expected message:h2:0 or seconds with a host, for example --around 1.5 --host h2"),
        ("5", None, "for example --host h0"),
        ("900", "h1", "lasts from 0"),
        ("nan", "h1", "expected handoff:N"),
        ("soon", "h1", "expected handoff:N"),
        ("handoff:1", "h77", "host 'h77' is not in this run; hosts are h0, h1, h2, h3"),
    ],
)
def test_spacetime_rejects_a_window_around_unknown_items(
    plain: mobilenet.Run, around: str, host: str | None, message: str
) -> None:
    with pytest.raises(WindowError, match=message):
        window_around(plain.events, around, host)


def test_a_diagram_window_can_extend_past_the_last_event(plain: mobilenet.Run) -> None:
    last_ns = int(plain.events.time_ns.max())
    end_ns = last_ns + 400_000_123
    # The time has the same format as in an error message.
    window = window_around(plain.events, f"{end_ns / 1e9:.6f}", "h1", end_ns=end_ns)
    assert window.begin_ns < end_ns - 100_000_000 and window.end_ns >= end_ns and window.title.startswith("h1 around")
    with pytest.raises(WindowError, match=f"lasts from 0 to {end_ns / 1e9:.10g}"):
        window_around(plain.events, f"{end_ns / 1e9 + 0.1:.6f}", "h1", end_ns=end_ns)


def test_spacetime_has_a_default_moment(plain: mobilenet.Run) -> None:
    events, end_ns = plain.events, 3_399_978_000
    assert default_moment(events, None, end_ns, None) == ("handoff:1", None)
    calm = events[~events.event.str.startswith("handoff")]
    first = calm[calm.event == "broadcast"].iloc[0]
    assert default_moment(calm, None, end_ns, None) == (f"message:{first.message}", None)
    crash = pd.concat([calm, calm.iloc[[20]].assign(event="crash", node="h2")], ignore_index=True)
    assert default_moment(crash, None, end_ns, None) == ("crash:1", None)
    assert default_moment(crash, None, end_ns, "h1")[0].startswith("message:h1:")
    assert default_moment(calm[calm.event != "broadcast"], None, end_ns, None) == ("0", "h0")
    for where, host in (
        ("h1, handling a timer", "h1"), ("s0, handling Rumour from h2", "h2"), ("s0, handling Rumour from s1", None)
    ):  # fmt: skip
        moment = default_moment(events, f"x.py:3: KeyError: 4 (in tell, at 3.399978 s at {where}; more", end_ns, None)
        assert moment[0] == "3.399978" and moment[1] == (host or events[events.node.str.startswith("h")].node.iloc[-1])
        assert default_moment(events, "x.py:3: KeyError: 4", end_ns, "h3") == ("3.399978", "h3")


@pytest.fixture(scope="module")
def sent(plain: mobilenet.Run) -> Any:
    return plain.events[plain.events.event == "broadcast"].iloc[5]


@pytest.fixture(scope="module")
def other(sent: Any) -> str:
    return next(node for node in ("h0", "h1", "h2", "h3") if node != sent.node)


def test_spacetime_shows_the_path_of_a_message(
    plain: mobilenet.Run, messages: pd.DataFrame, sent: Any, other: str, tmp_path: Path
) -> None:
    window = window_around(plain.events, f"message:{sent.message}", other)
    selection = messages.loc[draw(messages, plain.events, window, tmp_path / "way.png", "run")]
    assert set(selection.message) == {sent.message}
    assert {sent.node, other} <= set(selection.sender) | set(selection.receiver)


def windows(run: mobilenet.Run) -> list[str]:
    sent = run.events[run.events.event == "broadcast"].message
    return [
        *(f"handoff:{number}" for number in range(1, len(handoffs(run.events)) + 1)),
        *(f"message:{name}" for name in sent[5:8]),
    ]


def test_labels_in_a_spacetime_diagram_do_not_overlap(plain: mobilenet.Run, messages: pd.DataFrame) -> None:
    for around in windows(plain):
        with compose_around(plain, messages, around, h0="walker $0$", s1="Mast 1") as (_, _, figure, axes, labels):
            figure.canvas.draw()
            assert labels.texts
            legend = figure.legends[0].get_window_extent()
            boxes = [text.get_window_extent() for text in labels.texts] + [axes.xaxis.label.get_window_extent(), legend]
            # The title, and the lines below the diagram, are checked, too.
            boxes += [text.get_window_extent() for text in figure.texts]
            for number, box in enumerate(boxes):
                assert not any(box.overlaps(other) for other in boxes[:number]), (around, number)
                assert box.x0 >= 0 and box.y0 >= 0 and box.x1 <= figure.bbox.x1 and box.y1 <= figure.bbox.y1


def test_the_spacetime_legend_has_exactly_what_is_drawn(plain: mobilenet.Run, messages: pd.DataFrame) -> None:
    for around in windows(plain):
        with compose_around(plain, messages, around) as (window, selection, figure, _, _):
            legend = [text.get_text() for text in figure.legends[0].get_texts()]
            caption = " ".join(" ".join(text.get_text() for text in figure.texts).split())  # Lines may be wrapped.
        inside = plain.events[plain.events.time_ns.between(window.begin_ns, window.end_ns)]
        own = inside[(inside.node == window.host) | inside.message.isin(window.messages)]
        assert ("broadcast" in legend) == bool((own.event == "broadcast").any())
        assert ("delivery" in legend) == bool((own.event == "deliver").any())
        assert not around.startswith("handoff") or "session not confirmed yet" in legend
        if (selection.kind == "Nothing").any():
            assert "Nothing: answer to Req1" in caption
        for fate in set(selection.fate) - {"received"}:
            assert f"{fate.replace('_', ' ')}: " in caption and f"lost: {fate.replace('_', ' ')}" in legend
    assert len(set(MARKS.values())) == len(MARKS)  # Each outcome has a different mark.


def test_the_diagram_labels_a_message_at_its_sender(
    plain: mobilenet.Run, messages: pd.DataFrame, sent: Any, other: str
) -> None:
    with compose_around(plain, messages, f"message:{sent.message}", other) as diagram:
        assert sent.message in diagram.words  # The name of the message is below the star in the lane of the sender.
        assert sent.node in diagram.lanes
        assert any(text.startswith("App ") for text in diagram.words)  # Arrows of wired messages have labels, too.


def test_identical_messages_share_a_label_in_the_diagram(plain: mobilenet.Run, messages: pd.DataFrame) -> None:
    """Six answers are sent between the same nodes at the same time."""
    with compose_around(plain, messages, "handoff:1") as (_, selection, _, _, _):
        answer = selection[(selection.kind == "Nothing") | (selection.kind == "Rsp1")].iloc[[0]]
    with compose_around(plain, pd.concat([messages, *[answer] * 5], ignore_index=True), "handoff:1") as diagram:
        assert f"{answer.kind.iloc[0]} ×6" in diagram.words


def test_the_lanes_of_a_spacetime_diagram_show_names(plain: mobilenet.Run, messages: pd.DataFrame) -> None:
    host = window_around(plain.events, "handoff:1").host
    with compose_around(plain, messages, "handoff:1", **{host: "walker"}) as diagram:
        assert f"{host} walker" in diagram.lanes
        assert any(text.get_text().startswith(f"{host} (walker): session") for text in diagram.figure.texts)


def test_spacetime_diagrams_are_byte_for_byte_reproducible(
    plain: mobilenet.Run, messages: pd.DataFrame, tmp_path: Path
) -> None:
    for suffix in ("svg", "png", "pdf"):
        for name in ("a", "b"):
            draw(messages, plain.events, window_around(plain.events, "handoff:1"), tmp_path / f"{name}.{suffix}", "run")
        assert (tmp_path / f"a.{suffix}").read_bytes() == (tmp_path / f"b.{suffix}").read_bytes(), suffix

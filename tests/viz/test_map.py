"""Tests that a map contains exactly the data of the run directory."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from mobilenet.viz.map import draw
from mobilenet.viz.map.data import document, edges

import mobilenet
from mobilenet.network.wired.tree import SHAPES
from mobilenet.record.reader import RunError
from mobilenet.record.writer import RecordError
from tests.viz.conftest import document_in
from tests.viz.synthetic import unpack_column, write_run


def table(run: Path, name: str) -> pd.DataFrame:
    return pd.read_parquet(run / f"{name}.parquet")


def host_names(data: dict[str, Any]) -> list[str]:
    return [f"h{number}" for number in unpack_column(data["hosts"]["number"])]


def tracks(data: dict[str, Any]) -> dict[tuple[str, int], tuple[float, float]]:
    """Return the position of each host at each time, as the scripts of the page decode it."""
    t, moments = data["tracks"], unpack_column(data["moments_ns"])
    first, count, dx, dy = (unpack_column(t[name]).astype(int) for name in ("first", "count", "x_cm", "y_cm"))
    moment = None if t["moment"] is None else unpack_column(t["moment"])
    starts = iter(zip(unpack_column(t["x_cm_start"]), unpack_column(t["y_cm_start"]), strict=True))
    place_at, at = {}, 0
    for host, begin, n in zip(host_names(data), first, count, strict=True):
        if not n:
            continue
        x0, y0 = next(starts)
        xs, ys = x0 + np.cumsum(dx[at : at + n]), y0 + np.cumsum(dy[at : at + n])
        for i in range(n):
            when = moments[begin + i if moment is None else moment[at + i]]
            place_at[host, int(when)] = (xs[i] / 100, ys[i] / 100)
        at += n
    return place_at


def same_places(run: Path, data: dict[str, Any]) -> None:
    ours, record = tracks(data), table(run, "positions")
    record = record[record.node.str.startswith("h")]
    assert len(ours) == len(record)
    for row in record.itertuples():
        x, y = ours[row.node, row.time_ns]
        # Positions are rounded to a centimetre.
        assert abs(x - row.x_m) <= 0.005 + 1e-9 and abs(y - row.y_m) <= 0.005 + 1e-9


def test_map_positions_match_the_record_to_half_a_centimetre(run: Path, page: Path) -> None:
    same_places(run, document_in(page))


def test_map_positions_handle_gaps_in_time_and_jumps(run: Path, tmp_path: Path) -> None:
    shutil.copytree(run, tmp_path / "run")
    positions = table(run, "positions")
    positions.loc[positions.index % 7 == 3, "x_m"] += 900.0  # This jump exceeds the range of 16 bits in centimetres.
    positions[(positions.index % 5 != 1) | (positions.time_ns == 0)].to_parquet(tmp_path / "run" / "positions.parquet")
    same_places(tmp_path / "run", document(tmp_path / "run"))


def test_a_map_contains_every_event_of_the_record(run: Path, page: Path) -> None:
    data, record = document_in(page), table(run, "events")
    e, names = data["events"], host_names(data)
    columns = (unpack_column(e[name]) for name in ("time_ns", "kind", "host", "station", "session"))
    ours = [
        (int(t), e["kinds"][k], names[h], f"s{s}" if s >= 0 else None, int(c))
        for t, k, h, s, c in zip(*columns, strict=True)
    ]
    record = record[~record.event.isin(["broadcast", "deliver"])]
    theirs = [
        (r.time_ns, r.event, r.node, r.station, -1 if pd.isna(r.session) else int(r.session))
        for r in record.itertuples()
    ]
    assert ours == theirs
    assert {"crash", "recover", "handoff_start", "out_of_coverage"} <= set(record.event)


def test_the_map_shows_the_recorded_handoffs(run: Path, page: Path) -> None:
    data, record = document_in(page), table(run, "events")
    h = data["handoffs"]
    columns = (
        unpack_column(h[name])
        for name in ("start_ns", "host", "to", "session", "end_ns", "cause", "recovered", "skipped")
    )
    names = host_names(data)
    ours = [
        (int(a), names[n], f"s{to}", int(c), int(b), h["causes"][k], int(r), int(s))
        for a, n, to, c, b, k, r, s in zip(*columns, strict=True)
    ]
    ends = {(r.node, r.session): r for r in record[record.event == "handoff_end"].itertuples()}
    theirs = []
    for row in record[record.event == "handoff_start"].itertuples():
        end = ends.get((row.node, row.session))
        detail = {"recovered": -1, "skipped": -1} if end is None else json.loads(end.detail)
        cause = json.loads(row.detail)["cause"]
        theirs.append(
            (
                row.time_ns,
                row.node,
                row.station,
                int(row.session),
                -1 if end is None else end.time_ns,
                cause,
                detail["recovered"],
                detail["skipped"],
            )
        )
    assert ours == theirs and len(ours) > 10


def test_map_handoff_times_agree_with_the_metrics(run: Path, page: Path) -> None:
    h, metrics = document_in(page)["handoffs"], json.loads((run / "metrics.json").read_text())
    start, end, before, after, cause = (
        unpack_column(h[name]) for name in ("start_ns", "end_ns", "last_before_ns", "first_after_ns", "cause")
    )
    counted = (end >= 0) & (cause == h["causes"].index("cell")) & (start >= 2e9) & (start < 25e9)
    assert counted.sum() == metrics["handoffs"]
    assert np.mean((end - start)[counted]) / 1e9 == pytest.approx(metrics["handoff_duration_mean_s"])
    both = counted & (before >= 0) & (after >= 0)
    assert np.mean((after - before)[both]) / 1e9 == pytest.approx(metrics["handoff_interruption_mean_s"])


def deliveries(data: dict[str, Any]) -> dict[tuple[str, str], float]:
    m, names = data["messages"], host_names(data)
    ids = [f"{names[h]}:{n}" for h, n in zip(unpack_column(m["host"]), unpack_column(m["number"]), strict=True)]
    ends, sent, to, delay = (unpack_column(m[name]) for name in ("ends", "time_ns", "to", "delay_s"))
    return {
        (ids[i], names[to[k]]): sent[i] / 1e9 + float(delay[k])
        for i in range(len(ids))
        for k in range(ends[i - 1] if i else 0, ends[i])
    }


def test_a_small_map_includes_every_message(run: Path, page: Path) -> None:
    data, record = document_in(page), table(run, "events")
    record = record[record.event == "deliver"]
    ours = deliveries(data)
    assert data["messages"]["every"] == 1 and len(ours) == len(record)
    assert all(ours[r.message, r.node] == pytest.approx(r.time_ns / 1e9, abs=1e-5) for r in record.itertuples())


def test_a_sample_of_messages_includes_their_predecessors(run: Path) -> None:
    whole, part = document(run), document(run, deliveries=1500)
    m = part["messages"]
    assert m["every"] > 1 and m["total"] == whole["messages"]["total"] and len(unpack_column(m["to"])) <= 1500
    ours, all_ = deliveries(part), deliveries(whole)
    assert ours.keys() < all_.keys() and all(all_[key] == value for key, value in ours.items())
    picked, unknown = unpack_column(m["picked"]).astype(bool), unpack_column(m["before_unknown"])
    assert picked.sum() == -(-m["total"] // m["every"]) and not unknown[picked].any()
    assert (
        part["handoffs"] == whole["handoffs"]
        and part["events"] == whole["events"]
        and part["tracks"] == whole["tracks"]
    )


def test_predecessors_are_the_maximal_messages_of_the_past(run: Path) -> None:
    """The test compares the map with the complete happened-before relation."""
    data, record = document(run), table(run, "events")
    knows: dict[str, set[str]] = {}
    past: dict[str, set[str]] = {}
    for r in record.itertuples():
        if r.event == "broadcast":
            past[r.message] = set(knows.setdefault(r.node, set()))
            knows[r.node].add(r.message)
        elif r.event == "deliver":
            knows.setdefault(r.node, set()).update(past[r.message] | {r.message})
    m, names = data["messages"], host_names(data)
    ids = [f"{names[h]}:{n}" for h, n in zip(unpack_column(m["host"]), unpack_column(m["number"]), strict=True)]
    ends, before = unpack_column(m["before_ends"]), unpack_column(m["before"])
    late = 0
    for i, name in enumerate(ids):
        ours = {ids[p] for p in before[ends[i - 1] if i else 0 : ends[i]]}
        maximal = {a for a in past[name] if not any(a in past[b] for b in past[name])}
        late += ours != maximal
        assert maximal <= ours <= past[name], name
    # A host that joins late delivers some messages without their predecessors. For its later messages, the map may list
    # more than the maximal ones.
    assert late <= len(ids) // 20


def test_the_map_shows_the_wires_of_the_run(run: Path, tmp_path: Path) -> None:
    data = document(run)
    assert data["stations"]["edges"] == SHAPES["breadth_first"](
        [[x, y] for x, y in zip(data["stations"]["x_m"], data["stations"]["y_m"], strict=True)]
    )
    mesh = mobilenet.run(
        "scenarios/first.yaml",
        overrides=["duration_s=1", "stations.backbone={kind: vcube_causal}"],
        out=tmp_path / "mesh",
    )
    assert document(mesh.path)["stations"]["edges"] == [(a, b) for a in range(3) for b in range(a)]
    assert edges({"station_links": None}, 17) == []  # Invalid edges are left out.
    assert edges({"station_links": [[0, 1], [0, 9], "no", [1], [0, None]]}, 2) == [(0, 1)]
    assert edges({"station_links": 3}, 2) == edges({}, 2) == []


def test_the_map_places_losses_at_their_receivers(run: Path) -> None:
    data, frames = document(run), table(run, "frames")
    grid = data["places"]["losses"]
    mean, count = unpack_column(grid["mean"]), unpack_column(grid["count"])
    assert count.sum() == grid["total"] == len(frames)
    assert (mean * count).sum() == pytest.approx(frames.fate.isin(["collision", "never_attempted"]).sum(), rel=1e-5)
    delays = data["places"]["delays"]
    metrics_of_all = table(run, "events")
    assert delays["total"] == (metrics_of_all.event == "deliver").sum()


def test_a_map_shows_the_largest_buffer_in_each_bin(run: Path) -> None:
    data, samples = document(run), table(run, "samples")
    own = data["buffers"]["stations"]
    assert own["names"] == ["SBuffer", "RBuffer"]
    ours = unpack_column(own["sizes"][0]).reshape(4, own["bins"])
    for s in range(4):
        steps = samples[(samples.node == f"s{s}") & (samples.quantity == "sbuffer")]
        assert ours[s].max() == steps.value.max()
        for b in (0, own["bins"] // 3, own["bins"] - 1):
            inside = steps[
                (steps.time_ns / 1e9 >= b * own["bin_s"]) & (steps.time_ns / 1e9 < (b + 1) * own["bin_s"])
            ].value.tolist()
            carried = steps[steps.time_ns / 1e9 < b * own["bin_s"]].value.tolist()[-1:]
            assert ours[s, b] == max(inside + carried, default=0)


@pytest.mark.long
def test_a_map_of_2000_hosts_for_ten_minutes_is_below_25_mb(tmp_path: Path) -> None:
    run = write_run(tmp_path / "big", hosts=2000, seconds=600)
    size = draw(run, tmp_path / "big.html")
    assert size < 25_000_000
    data = document_in(tmp_path / "big.html")
    assert len(unpack_column(data["tracks"]["x_cm"])) == 2000 * 601
    assert len(unpack_column(data["handoffs"]["start_ns"])) == 2000 * 10
    assert data["messages"]["every"] > 1 and data["messages"]["total"] == 600


def damage(text: str) -> Callable[[Path], None]:
    return lambda path: path.write_text(text)


@pytest.mark.parametrize(
    ("file", "change"),
    [
        ("events.parquet", damage("no table")),
        ("positions.parquet", damage("")),
        ("samples.parquet", Path.unlink),
        ("manifest.json", damage("{}")),
        ("manifest.json", damage('{"format_version": 4}')),
        ("manifest.json", damage('{"format_version": 4, "station_positions_m": [[1e400, 0]], "range_m": 1}')),
        ("scenario.yaml", damage("a: [")),
        ("frames.parquet", damage("no table")),
    ],
)
def test_map_rejects_a_damaged_run_in_one_line_without_a_file(
    run: Path, tmp_path: Path, file: str, change: Callable[[Path], None]
) -> None:
    shutil.copytree(run, tmp_path / "run")
    change(tmp_path / "run" / file)
    with pytest.raises(RunError) as caught:
        draw(tmp_path / "run", tmp_path / "map.html")
    assert "\n" not in str(caught.value) and file.partition(".")[0] in str(caught.value)
    assert [p.name for p in tmp_path.iterdir()] == ["run"]


def test_map_rejects_an_impossible_output_path(run: Path, tmp_path: Path) -> None:
    (tmp_path / "file.html").write_text("old")
    for target in (tmp_path, tmp_path / "file.html" / "map.html", tmp_path / "map.png", Path("/proc/map.html")):
        with pytest.raises(RecordError):
            draw(run, target)
    for no_run in (tmp_path, tmp_path / "nothing"):
        with pytest.raises(RunError):
            draw(no_run, no_run / "map.html")
    with pytest.raises(RunError, match="origin"):
        draw(run, tmp_path / "file.html", tiles=True)
    assert (tmp_path / "file.html").read_text() == "old" and len(list(tmp_path.iterdir())) == 1

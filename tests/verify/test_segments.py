"""What segments of TCP say: sound runs pass, edits are caught.

Source    ours: docs/models/tcp.md, docs/verdicts-and-metrics.md
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mobilenet.verify import verify_run

from .damage import Copy, Runs, verdicts_after
from .on_air_worlds import WORLDS, accusations, draw, record
from .test_message_causes import of_kind

RUNS = {"tcp": WORLDS["tcp"], "only_messages": WORLDS["tcp"] | {"record": {"messages": True}}}
VARIANTS: list[dict[str, Any]] = [
    {},
    {"tcp": {"nagle": False, "aggregation": False}},
    {"tcp": {"window_bytes": 300, "mss_bytes": 100}},
    {"tcp": {"messages_in_flight": 2, "recovery": "none", "delayed_ack_s": 0}},
    {"spacing_ms": 0},
]


@pytest.mark.parametrize("seed", range(5000, 5010))
def test_drawn_runs_are_not_accused(seed: int, tmp_path: Path) -> None:
    scenario = draw(seed)
    scenario["protocol"] = {"name": "tcp_flooding", **VARIANTS[seed % len(VARIANTS)]}
    scenario["stations"].pop("backbone", None)
    scenario["record"]["messages"] = True
    record(scenario, tmp_path / "run")
    assert not accusations(verify_run(tmp_path / "run"))


EDITS: dict[str, tuple[str, str, dict[str, int]]] = {  # kind, words of the explanation, what is added to numbers
    "flags": ("TcpData", "which is impossible", {"flags": 2}),
    "window": ("TcpAck", "which is impossible", {"window": 1}),
    "a_port_of_nobody": ("TcpData", "from which nothing had arrived", {"target": 1}),
    "a_length": ("TcpAck", "which is impossible", {"length": 4}),
    "an_ack_of_what_never_came": ("TcpAck", "bytes that have not arrived", {"ack": 100_000}),
    "a_number_not_reached": ("TcpAck", "does not follow the last byte", {"seq": 500}),
    "payload": ("TcpData", "bytes of payload", {"payload_bytes": -1}),
}


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("medium", ["radio", "wired"])
@pytest.mark.parametrize("how", EDITS)
def test_a_number_is_caught(how: str, medium: str, name: str, runs: Runs, tmp_path: Path) -> None:
    kind, words, added = EDITS[how]

    def edit(copy: Copy) -> None:
        rows = of_kind(copy, kind, medium=medium)
        late = ((row, copy.messages.detail_of(row)) for row in rows[len(rows) // 2 :])
        row, detail = next((row, detail) for row, detail in late if kind == "TcpAck" or detail["payload_bytes"])
        copy.messages.say(row, **{key: detail[key] + number for key, number in added.items()})

    assert_caught(runs[name], tmp_path, edit, words)


def assert_caught(run: Path, tmp_path: Path, edit: Any, words: str) -> None:
    explanations = [each.explanation for each in verdicts_after(run, tmp_path / "edited", edit).values()]
    assert any(words in one for one in explanations), explanations


def test_acks_that_fall_are_caught(runs: Runs, tmp_path: Path) -> None:
    def edit(copy: Copy) -> None:
        for row in of_kind(copy, "TcpAck"):
            copy.messages.say(row, ack=1)

    assert_caught(runs["tcp"], tmp_path, edit, "acknowledg")


def test_ends_of_messages_that_move_are_caught(runs: Runs, tmp_path: Path) -> None:
    def edit(copy: Copy) -> None:
        for row in of_kind(copy, "TcpData")[60:]:
            detail = copy.messages.detail_of(row)
            end, kind = detail["messages"][0][:2] if detail["messages"] else (0, None)
            if kind == "App" and end > detail["seq"] + 1:
                detail["messages"][0][0] -= 1
                return copy.messages.say(row, **detail)

    assert_caught(runs["tcp"], tmp_path, edit, "messages: row")


@pytest.mark.parametrize("name", RUNS)
def test_samples_of_other_numbers_are_caught(name: str, runs: Runs, tmp_path: Path) -> None:
    def edit(copy: Copy) -> None:
        for row in copy.samples.where(quantity="segment_messages"):
            copy.samples.value[row] += 3

    assert_caught(runs[name], tmp_path, edit, "segment_messages")


def test_messages_left_out_of_all_segments_are_caught(runs: Runs, tmp_path: Path) -> None:
    def edit(copy: Copy) -> None:
        for medium in ("radio", "wired"):
            for row in of_kind(copy, "TcpData", medium=medium):
                copy.messages.say(row, messages=[])

    assert_caught(runs["tcp"], tmp_path, edit, "segment_messages")

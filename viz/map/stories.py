"""Explain what delayed the slowest deliveries, if the run recorded its causes.

Model     The delay of a delivery is divided into intervals, one for each cause. A page explains only the slowest
          deliveries, with at most MOST intervals, and states that it does not explain the others.
Units     milliseconds since the broadcast
Shapes    `of`: message -> host -> intervals [begin, length, kind, sentence, whether the message waited for another one]
Errors    RunError for tables that cannot be read
Source    ours: docs/models/causes.md
"""

from __future__ import annotations

from typing import Any

from mobilenet.why.shares import delay_ns
from mobilenet.why.stories import recorded_stories
from mobilenet.why.words import Words

from ..style import KIND_COLOURS
from .record import Record, harmless_text

MOST = 20_000


def stories(run: Record, most: int = MOST) -> dict[str, Any]:
    """Return the colours of all causes, and explanations of delays with at most `most` intervals."""
    has_causes = most > 0 and (run.folder / "causes.parquet").is_file()
    return {"colours": KIND_COLOURS, "of": _stories(run, most) if has_causes else {}}


def _stories(run: Record, most: int) -> dict[str, dict[str, list[list[Any]]]]:
    run_stories = recorded_stories(run.folder)
    # The map shows the messages that programs report, but the record does not show which frames carried them.
    if run_stories.record.of_datagrams:
        return {}
    words = Words(run_stories.record, run_stories.protocol)
    known = [
        one
        for one in run_stories.record.deliveries
        if one.message in run_stories.record.broadcasts and one.node[0] == "h"
    ]
    by_message: dict[str, dict[str, list[list[Any]]]] = {}
    count = 0
    for one in sorted(known, key=lambda one: -delay_ns(run_stories, one)):
        story = run_stories.of(one.message, one.node)
        count += len(story)
        if count > most:
            break
        sent_ns = run_stories.record.broadcasts[one.message].time_ns
        by_message.setdefault(one.message, {})[one.node] = [
            [
                (s.begin_ns - sent_ns) / 1e6, s.length_ns / 1e6, s.kind, harmless_text(words.sentence(s, one.node)),
                bool(s.held_by),
            ]
            for s in story
        ]  # fmt: skip
    return by_message

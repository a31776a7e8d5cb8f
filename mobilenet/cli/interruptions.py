"""Print tables of the interruptions that handoffs cause, for one handoff or for all handoffs of a run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from mobilenet.cli.console import Exit, conclude, fail, print_table, say
from mobilenet.cli.delays import (
    in_s,
    kind_name,
    largest_part,
    milli,
    parts_as_json,
    percent,
    print_as_json,
    print_stretches,
    say_drawn,
    stretch_rows,
    window_ns,
)
from mobilenet.quoting import cut, pluralize, quote

if TYPE_CHECKING:
    from mobilenet.why.handoffs import Interruption, Interruptions
    from mobilenet.why.kinds import Part
    from mobilenet.why.stories import Stories

MOST_NAMED = 10


def interruptions(run: Path, stories: Stories, name: str | None, out: Path | None, as_json: bool, allowed: str) -> None:
    """Print what interrupts deliveries at handoffs, and draw it into `out`. `name` selects one handoff as
    HOST:SESSION.
    """
    from mobilenet.scenario import load_scenario
    from mobilenet.why.handoffs import Interruptions

    if stories.record.of_datagrams:
        what = "the record does not show which datagrams carried the messages that programs deliver"
        fail(f"{quote(run)}: {what}; expected a run in virtual time", Exit.BAD_INPUT)
    handoffs = interrupting_handoffs(run)
    walk = Interruptions(stories, load_scenario(run / "scenario.yaml"))
    if name is None:
        _draw(run, walk, handoffs, out, as_json)
        _print_all(run, walk, handoffs, as_json, allowed)
        return
    one = next((one for one in handoffs if one.name == name), None)
    if one is None:
        known = f"; expected a handoff of this run, such as {handoffs[0].name}" if handoffs else ""
        fail(f"--handoff: {cut(name, 40)} is not a confirmed handoff between two deliveries{known}", Exit.BAD_INPUT)
    _draw(run, walk, [one], out, as_json)
    _one(run, stories, walk, one, as_json, allowed)


def _draw(run: Path, walk: Interruptions, handoffs: list[Interruption], out: Path | None, as_json: bool) -> None:
    if out is not None:
        from mobilenet.viz.delays import draw_handoffs

        draw_handoffs(run, walk, handoffs, out)
        say_drawn(out, as_json)


def _handoffs_begun(run: Path) -> int:
    """Return how many station changes began in the measurement period and were not superseded by a later one."""
    from mobilenet.metrics.fold import EventFold
    from mobilenet.record.reader import read_coded

    return EventFold(read_coded(run, "events"), *window_ns(run)).cell_changes()[0]


def interrupting_handoffs(run: Path) -> list[Interruption]:
    """Return the confirmed handoffs that interrupt deliveries in the measurement period, with the same rules as the
    metric.
    """
    from mobilenet.metrics.fold import EventFold
    from mobilenet.metrics.mobile import interruptions
    from mobilenet.record.reader import read_coded
    from mobilenet.why.handoffs import Interruption

    return [
        Interruption(row.handoff.node, row.handoff.session, last, row.handoff.begin_ns, row.handoff.end_ns, first)
        for row in interruptions(EventFold(read_coded(run, "events"), *window_ns(run)))
        if row.between_ns is not None and row.handoff.cause == "cell"
        for last, first in [row.between_ns]
    ]


def _print_all(run: Path, walk: Interruptions, handoffs: list[Interruption], as_json: bool, allowed: str) -> None:
    from mobilenet.why.handoffs import parts_of

    total_ns = sum(one.length_ns for one in handoffs)
    parts = parts_of(stretch for one in handoffs for stretch in walk.of(one))
    if as_json:
        print_as_json({"handoffs": len(handoffs), "interruption_ns": total_ns, "parts": parts_as_json(parts)})
        return
    if not handoffs:
        say(
            f"{quote(run)}: no handoff confirmed during the measurement period falls between two deliveries at its host"
        )
        say(f"Next: mobilenet show {quote(run)}")
        return
    node = handoffs[0].host
    line = f"{pluralize(len(handoffs), 'handoff')}, mean interruption {in_s(total_ns / len(handoffs), node)}"
    if (others := _handoffs_begun(run) - len(handoffs)) > 0:
        line += f"; {others} more were not confirmed, or their hosts delivered nothing before or after, or crashed"
    conclude(line)
    say(line)
    _print_parts(parts, total_ns, len(handoffs), node)
    longest = sorted(handoffs, key=lambda one: -one.length_ns)[:MOST_NAMED]
    say("\nThe longest interruptions:")
    rows = [
        (one.name, in_s(one.length_ns, node), largest_part(parts_of(walk.of(one)), one.length_ns)) for one in longest
    ]
    print_table(("handoff", "interruption", "mostly"), rows, right=[1])
    say(f"Next: mobilenet why {quote(run)} --handoff {longest[0].name}{allowed}")


def _print_parts(parts: Mapping[Part, int], total_ns: int, count: int, node: str) -> None:
    from mobilenet.why.kinds import KINDS, LEGS, OF_INTERRUPTIONS

    meanings = KINDS | OF_INTERRUPTIONS
    rows = [
        (milli(length / count, node), percent(length / total_ns), LEGS[leg], f"{kind_name(kind)}: {meanings[kind]}")
        for (kind, leg), length in parts.items()
    ]
    print_table(("mean (ms)", "share", "where", "what"), rows, right=[0, 1])


def _one(run: Path, stories: Stories, walk: Interruptions, one: Interruption, as_json: bool, allowed: str) -> None:
    rows = stretch_rows(stories, walk.of(one), one.host)
    if as_json:
        print_as_json({"handoff": one.name, "interruption_ns": one.length_ns, "stretches": rows})
        return
    conclude(f"{one.name}: an interruption of {in_s(one.length_ns, one.host, '.9g')}")
    say(
        f"{one.host} delivered nothing for {in_s(one.length_ns, one.host, '.9g')}, beginning at"
        f" {in_s(one.last_ns, one.host, '.9g')}. The handoff began at {in_s(one.begin_ns, one.host, '.9g')} and was"
        f" confirmed {in_s(one.end_ns - one.begin_ns, one.host, '.9g')} later:"
    )
    print_stretches(rows, one.host)
    say(f"Next: mobilenet spacetime {quote(run)} --host {one.host} --around {one.begin_ns / 1e9:.9g}{allowed}")

"""Explain why deliveries were late: one of them, one message, a run, or the difference between two runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mobilenet.cli.console import Exit, fail, print_table, reporting, say
from mobilenet.cli.delays import exactly, in_s, kind_name, mostly, print_as_json, two_runs, whole_run
from mobilenet.cli.options import AllowCode, AsJson, Quiet, RunDirectory
from mobilenet.cli.progress import progress
from mobilenet.quoting import counted, cut, quoted

if TYPE_CHECKING:
    from mobilenet.why.record import Delivery
    from mobilenet.why.stories import Stories

MOST_NODES = 10


def why(
    run: RunDirectory,
    other: Annotated[
        Path | None,
        typer.Argument(metavar="RUN2", help="A run of the same world: explain how its mean delay differs."),
    ] = None,
    message: Annotated[
        str | None, typer.Option("--message", metavar="MESSAGE", help="Explain this message, as in h3:17.")
    ] = None,
    at: Annotated[
        str | None, typer.Option("--at", metavar="NODE", help="Explain its delivery at this node, as in h12.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="Also draw the parts of the delay: SVG, PNG or PDF."),
    ] = None,
    as_json: AsJson = False,
    allow_code: AllowCode = False,
    quiet: Quiet = False,
) -> None:
    """Explain why deliveries were late.

    The delay is divided into stretches: queues, the air, lost frames, timers, wires, handoffs, other messages. A run
    that did not record its causes (record.causes) is replayed.
    """
    with reporting(quiet or as_json, reads=[run] if other is None else [run, other]):
        from mobilenet.replay.rerun import stories_of

        if at is not None and message is None:
            fail("--at: expected --message as well, as in --message h3:17 --at h12", Exit.BAD_INPUT)
        if other is not None and message is not None:
            fail("--message: explains a delivery of one run; expected no second run", Exit.BAD_INPUT)
        found = []
        for directory in (run,) if other is None else (run, other):
            with progress(quiet or as_json, "replaying") as update:
                found.append(stories_of(directory, update, allow_code))
        if message is not None:
            _require_delivery(found[0], message, at)
        if out is not None:
            from mobilenet.viz.delays import draw

            draw([run] if other is None else [run, other], found, out, message, at)
            if not as_json:
                say(f"The parts of the delay: {quoted(out)}")
        allowed = " --allow-code" if allow_code else ""  # a replay needs it, so the next command does
        if message is not None:
            _one_message(run, found[0], message, at, as_json, allowed)
        elif other is None:
            whole_run(run, found[0], as_json, allowed)
        else:
            two_runs((run, other), (found[0], found[1]), as_json, allowed)


def _require_delivery(stories: Stories, message: str, at: str | None) -> None:
    """End with one line for a message, or a delivery, that is not on record."""
    if message not in stories.record.broadcasts:
        example = next(iter(stories.record.broadcasts), None)
        known = f"; expected one that was, as in {example}" if example else ""
        fail(f"--message: {cut(message, 40)} was not broadcast in this run{known}", Exit.BAD_INPUT)
    nodes = [one.node for one in stories.record.deliveries if one.message == message]
    if at is not None and at not in nodes:
        where = ", ".join(nodes[:MOST_NODES]) or "no node"
        fail(f"--at: {cut(at, 40)} did not deliver {message}; it was delivered at {where}", Exit.BAD_INPUT)


def _one_message(run: Path, stories: Stories, message: str, at: str | None, as_json: bool, allowed: str) -> None:
    deliveries = [one for one in stories.record.deliveries if one.message == message]
    if at is None:
        _its_deliveries(run, stories, message, deliveries, as_json, allowed)
    else:
        _one_delivery(run, stories, next(one for one in deliveries if one.node == at), as_json, allowed)


def _one_delivery(run: Path, stories: Stories, one: Delivery, as_json: bool, allowed: str) -> None:
    sent = stories.record.broadcasts[one.message]
    rows = _rows(stories, one)
    delay = one.time_ns - sent.time_ns
    if as_json:
        print_as_json({"message": one.message, "at": one.node, "delay_ns": delay, "stretches": rows})
        return
    say(
        f"{one.message} was broadcast by {sent.node} at {in_s(sent.time_ns, one.node, '.9g')} and delivered at"
        f" {one.node} {in_s(delay, one.node, '.9g')} later:"
    )
    print_table(
        ("from (ms)", "for (ms)", "kind", "what happened"),
        [(exactly(r["from_ns"]), exactly(r["length_ns"]), kind_name(r["kind"]), r["sentence"]) for r in rows],
        right=[0, 1],
    )
    if one.node[0] == "h":
        say(f"Next: mobilenet spacetime {quoted(run)} --host {one.node} --around message:{one.message}{allowed}")
    else:
        say(f"Next: mobilenet show {quoted(run)}")


def _rows(stories: Stories, one: Delivery) -> list[dict[str, Any]]:
    from mobilenet.why.words import Words

    words, sent_ns = Words(stories.record), stories.record.broadcasts[one.message].time_ns
    return [
        {
            "from_ns": s.begin_ns - sent_ns,
            "length_ns": s.length_ns,
            "kind": s.kind,
            "leg": s.leg,
            "place": s.place,
            "held_by": s.held_by or None,
            "sentence": words.sentence(s, one.node),
        }
        for s in stories.of(one.message, one.node)
    ]


def _its_deliveries(
    run: Path, stories: Stories, message: str, deliveries: Sequence[Delivery], as_json: bool, allowed: str
) -> None:
    from mobilenet.why.shares import delay_ns

    ranked = sorted(deliveries, key=lambda one: -delay_ns(stories, one))
    if as_json:
        listed = [{"at": one.node, "delay_ns": delay_ns(stories, one)} for one in ranked]
        print_as_json({"message": message, "deliveries": listed})
        return
    say(f"{message}: {counted(len(ranked), 'delivery')}{', the slowest first:' if ranked else ''}")
    if not ranked:
        say(f"Next: mobilenet show {quoted(run)}")
        return
    print_table(
        ("at", "delay", "mostly"),
        [(one.node, in_s(delay_ns(stories, one), one.node), mostly(stories, one)) for one in ranked[:MOST_NODES]],
        right=[1],
    )
    say(f"Next: mobilenet why {quoted(run)} --message {message} --at {ranked[0].node}{allowed}")

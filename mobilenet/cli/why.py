"""The command that explains why deliveries were late, for one delivery, a message, or one or two runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mobilenet.cli.console import Exit, conclude, fail, print_table, reporting, say
from mobilenet.cli.delays import (
    in_s,
    mostly,
    print_as_json,
    print_stretches,
    say_drawn,
    stretch_rows,
    two_runs,
    whole_run,
)
from mobilenet.cli.interruptions import interruptions
from mobilenet.cli.options import AllowCode, AsJson, Quiet, RunDirectory
from mobilenet.cli.progress import progress
from mobilenet.quoting import cut, pluralize, quote

if TYPE_CHECKING:
    from mobilenet.why.record import Delivery
    from mobilenet.why.stories import Stories

MOST_NODES = 10


Other = Annotated[
    Path | None,
    typer.Argument(
        metavar="RUN2", help="A second run in the same world; explain how its mean delay differs from that of RUN."
    ),
]
Message = Annotated[
    str | None, typer.Option("--message", metavar="MESSAGE", help="Explain this message, such as h3:17.")
]
At = Annotated[
    str | None,
    typer.Option(
        "--at", metavar="NODE", help="With --message: explain the delivery of that message at this node, such as h12."
    ),
]
AllHandoffs = Annotated[
    bool, typer.Option("--handoffs", help="Explain the interruptions caused by handoffs instead of the delays.")
]
OneHandoff = Annotated[
    str | None,
    typer.Option(
        "--handoff", metavar="HOST:SESSION", help="Explain the interruption caused by this handoff, such as h3:2."
    ),
]
Picture = Annotated[
    Path | None,
    typer.Option("--out", "-o", metavar="FILE", help="Also save a figure of the parts to this file (SVG, PNG or PDF)."),
]


def why(
    run: RunDirectory,
    other: Other = None,
    message: Message = None,
    at: At = None,
    handoffs: AllHandoffs = False,
    handoff: OneHandoff = None,
    out: Picture = None,
    as_json: AsJson = False,
    allow_code: AllowCode = False,
    quiet: Quiet = False,
) -> None:
    """Explain why deliveries were late.

    The delay is divided into stretches: queues, the air, lost frames, timers, wires, handoffs, other messages. A run
    that did not record its causes (record.causes) is replayed.
    """
    with reporting(quiet, reads=[run] if other is None else [run, other], as_json=as_json):
        from mobilenet.lab.replay.rerun import stories_of

        if at is not None and message is None:
            fail("--at: expected --message as well, for example --message h3:17 --at h12", Exit.BAD_INPUT)
        if other is not None and message is not None:
            fail("--message: expected only one run, because the option explains a delivery of that run", Exit.BAD_INPUT)
        of_handoffs = handoffs or handoff is not None
        if handoffs and handoff is not None:
            fail("--handoffs, --handoff: expected only one of these options", Exit.BAD_INPUT)
        if of_handoffs and (other is not None or message is not None):
            fail("--handoffs, --handoff: expected one run, without --message", Exit.BAD_INPUT)
        if other is not None and run.resolve() == other.resolve():
            fail("RUN2: the same run as RUN; expected another run in the same world", Exit.BAD_INPUT)
        runs = [run] if other is None else [run, other]
        stories = []
        for directory in runs:
            with progress(quiet or as_json, "replaying") as update:
                stories.append(stories_of(directory, update, allow_code))
        # both the replay and the printed command need this option
        allowed = " --allow-code" if allow_code else ""
        if message is not None:
            _require_delivery(stories[0], message, at)
        if out is not None and not of_handoffs:
            from mobilenet.viz.delays import draw

            draw(runs, stories, out, message, at)
            say_drawn(out, as_json)
        if of_handoffs:
            interruptions(run, stories[0], handoff, out, as_json, allowed)
        elif message is not None:
            _one_message(run, stories[0], message, at, as_json, allowed)
        elif other is None:
            whole_run(run, stories[0], as_json, allowed)
        else:
            two_runs((run, other), (stories[0], stories[1]), as_json, allowed)


def _require_delivery(stories: Stories, message: str, at: str | None) -> None:
    """Exit with an error unless the record contains the message, or the delivery."""
    if message not in stories.record.broadcasts:
        example = next(iter(stories.record.broadcasts), None)
        known = f"; expected a message of this run, such as {example}" if example else ""
        fail(f"--message: {cut(message, 40) or 'an empty name'} was not broadcast in this run{known}", Exit.BAD_INPUT)
    nodes = [one.node for one in stories.record.deliveries if one.message == message]
    if at is not None and at not in nodes:
        where = ", ".join(nodes[:MOST_NODES]) or "no node"
        fail(f"--at: {cut(at, 40)} did not deliver {message}; the message was delivered at {where}", Exit.BAD_INPUT)


def _one_message(run: Path, stories: Stories, message: str, at: str | None, as_json: bool, allowed: str) -> None:
    deliveries = [one for one in stories.record.deliveries if one.message == message]
    if at is None:
        _its_deliveries(run, stories, message, deliveries, as_json, allowed)
    else:
        _one_delivery(run, stories, next(one for one in deliveries if one.node == at), as_json, allowed)


def _one_delivery(run: Path, stories: Stories, one: Delivery, as_json: bool, allowed: str) -> None:
    sent = stories.record.broadcasts[one.message]
    rows = stretch_rows(stories, stories.of(one.message, one.node), one.node)
    delay = one.time_ns - sent.time_ns
    if as_json:
        print_as_json({"message": one.message, "at": one.node, "delay_ns": delay, "stretches": rows})
        return
    say(
        f"{one.message} was {'sent' if stories.record.of_datagrams else 'broadcast'} by {sent.node} at"
        f" {in_s(sent.time_ns, one.node, '.9g')} and delivered at {one.node} {in_s(delay, one.node, '.9g')} later:"
    )
    print_stretches(rows, one.node)
    conclude(f"{one.message} at {one.node}: {in_s(delay, one.node, '.9g')}, {mostly(stories, one)}")
    if one.node[0] == "h" and not stories.record.of_datagrams:
        say(f"Next: mobilenet spacetime {quote(run)} --host {one.node} --around message:{one.message}{allowed}")
    else:
        say(f"Next: mobilenet show {quote(run)}")


def _its_deliveries(
    run: Path, stories: Stories, message: str, deliveries: Sequence[Delivery], as_json: bool, allowed: str
) -> None:
    from mobilenet.why.shares import delay_ns

    ranked = sorted(deliveries, key=lambda one: -delay_ns(stories, one))
    if as_json:
        listed = [{"at": one.node, "delay_ns": delay_ns(stories, one)} for one in ranked]
        print_as_json({"message": message, "deliveries": listed})
        return
    most = f" ({MOST_NODES} of {len(ranked)} are listed)" if len(ranked) > MOST_NODES else ""
    say(f"{message}: {pluralize(len(ranked), 'delivery')}{f', slowest first{most}:' if ranked else ''}")
    slowest = ranked[0] if ranked else None
    late = f", the slowest at {slowest.node}: {in_s(delay_ns(stories, slowest), slowest.node)}" if slowest else ""
    conclude(f"{message}: {pluralize(len(ranked), 'delivery')}{late}")
    if not ranked:
        say(f"Next: mobilenet show {quote(run)}")
        return
    print_table(
        ("at", "delay", "mostly"),
        [(one.node, in_s(delay_ns(stories, one), one.node), mostly(stories, one)) for one in ranked[:MOST_NODES]],
        right=[1],
    )
    say(f"Next: mobilenet why {quote(run)} --message {message} --at {ranked[0].node}{allowed}")

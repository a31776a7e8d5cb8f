"""Print tables that show where the time of deliveries goes, for one run or for a comparison of two runs."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mobilenet.cli.console import Exit, conclude, fail, print_table, say
from mobilenet.quoting import percentage, pluralize, quote

if TYPE_CHECKING:
    from mobilenet.why.kinds import Part
    from mobilenet.why.record import Delivery
    from mobilenet.why.shares import Shares
    from mobilenet.why.stories import Stories
    from mobilenet.why.stretches import Stretch

MOST_PARTS = 12  # the maximum number of rows in a table of delay parts
LONGEST = 10  # the number of slowest deliveries that are listed
MOST_NODES = 8


def whole_run(run: Path, stories: Stories, as_json: bool, allowed: str = "") -> None:
    """Print the parts of a run's mean delivery delay, over all deliveries and over the slowest ones. `allowed` is the
    permission option for the suggested command.
    """
    from mobilenet.why.shares import add, counted_deliveries, shares_by, slowest

    deliveries = counted_deliveries(stories, *window_ns(run))
    late = slowest(stories, deliveries)
    tail_events = {one.event for one in late}
    groups = shares_by(stories, deliveries, lambda one: (one.event in tail_events, one.station, one.node))
    whole, tail = add(groups.values()), add(own for (is_late, *_), own in groups.items() if is_late)
    if as_json:
        print_as_json({"all": _document(whole), "slowest": _document(tail)})
        return
    if not deliveries:
        line = f"{quote(run)}: no message broadcast during the measurement period was delivered"
        conclude(line)
        say(line)
        say(f"Next: mobilenet show {quote(run)}")
        return
    node, one = deliveries[0].node, "datagram" if stories.record.of_datagrams else "delivery"
    line = (
        f"{_lacking(run)}{pluralize(whole.deliveries, one)}, mean delay {_mean(whole, node)};"
        f" the slowest 5 % ({pluralize(tail.deliveries, one)}) have a mean delay of {_mean(tail, node)}"
    )
    conclude(f"{line}; mostly {largest_part(whole.by_part, whole.delay_ns)}")
    say(line)
    if stories.record.of_datagrams:
        say(
            "Deliveries reported by programs are not explained, because the record does not show which datagrams"
            " carried which message."
        )
    _print_parts(whole, tail, node)
    say(f"{percent(whole.held_ns / max(1, whole.delay_ns))} of the delay was spent waiting behind other messages.")
    for title, place in (("cell", 1), ("receiver", 2)):
        _print_groups(title, groups, place, node)
    _print_longest(stories, late[:LONGEST])
    say(f"Next: mobilenet why {quote(run)} --message {late[0].message} --at {late[0].node}{allowed}")


def window_ns(run: Path) -> tuple[int, int]:
    """Return the start and end of the measurement period. For processes, the period is the whole run."""
    from mobilenet.record.kinds import run_kind
    from mobilenet.record.reader import read_manifest

    manifest = read_manifest(run)
    return run_kind(manifest).window_ns(manifest)


def _document(totals: Shares) -> dict[str, Any]:
    return {
        "deliveries": totals.deliveries,
        "delay_ns": totals.delay_ns,
        "held_ns": totals.held_ns,
        "parts": parts_as_json(totals.by_part),
    }


def parts_as_json(parts: Mapping[Part, int]) -> list[dict[str, Any]]:
    """Return the parts in the form that `--json` prints."""
    return [{"kind": kind, "leg": leg, "ns": length} for (kind, leg), length in parts.items()]


def _print_parts(whole: Shares, tail: Shares, node: str) -> None:
    from mobilenet.why.kinds import KINDS, LEGS

    parts = list(whole.by_part.items())
    rows = [
        (
            milli(length / whole.deliveries, node),
            percent(whole.share(part)),
            percent(tail.share(part)),
            LEGS[part[1]],
            f"{kind_name(part[0])}: {KINDS[part[0]]}",
        )
        for part, length in parts[:MOST_PARTS]
    ]
    print_table((f"mean ({small_unit(node)})", "share", "slowest", "where", "what"), rows, right=[0, 1, 2])
    if len(parts) > MOST_PARTS:
        rest = sum(length for _, length in parts[MOST_PARTS:])
        say(f"... and {pluralize(len(parts) - MOST_PARTS, 'smaller part')}, {percent(rest / whole.delay_ns)} in total")


def _print_groups(title: str, shares_of: Mapping[tuple[Any, ...], Shares], place: int, node: str) -> None:
    """Print the cells or receivers with the largest mean delays. `place` is the index of the name in each key of
    `shares_of`.
    """
    from mobilenet.why.shares import add

    groups: dict[str, list[Shares]] = defaultdict(list)
    for key, shares in shares_of.items():
        if key[place] is not None:
            groups[key[place]].append(shares)
    if len(groups) < 2:
        return
    ranking = sorted(
        ((name, add(own)) for name, own in groups.items()),
        key=lambda item: (-item[1].delay_ns / item[1].deliveries, _in_order(item[0])),
    )
    note = f" ({MOST_NODES} of {len(ranking)})" if len(ranking) > MOST_NODES else ""
    say(f"\nBy {title}, slowest first{note}:")
    rows = [(name, _mean(own, node), largest_part(own.by_part, own.delay_ns)) for name, own in ranking[:MOST_NODES]]
    print_table((title, "mean delay", "mostly"), rows, right=[1])


def _print_longest(stories: Stories, late: Sequence[Delivery]) -> None:
    from mobilenet.why.shares import delay_ns

    say("\nThe longest delays:")
    rows = [(one.message, one.node, in_s(delay_ns(stories, one), one.node), mostly(stories, one)) for one in late]
    print_table(("message", "at", "delay", "mostly"), rows, right=[2])


def mostly(stories: Stories, one: Delivery) -> str:
    """Return the largest part of a delay. If waiting behind other messages caused more than half of the delay, also
    return the last of these messages.
    """
    from mobilenet.why.shares import shares

    parts = shares(stories, [one])
    held = [s.held_by for s in stories.of(one.message, one.node) if s.held_by]
    behind = f", behind {held[-1]}" if 2 * parts.held_ns > parts.delay_ns else ""
    return largest_part(parts.by_part, parts.delay_ns) + behind


def largest_part(parts: Mapping[Part, int], total_ns: int) -> str:
    """Return the first part, which is the largest, and its percentage of the total time."""
    from mobilenet.why.kinds import LEGS

    if not total_ns:
        return "no delay"
    (kind, leg), length = next(iter(parts.items()))
    return f"{percent(length / total_ns)} {kind_name(kind)}, {LEGS[leg]}"


# --- one story


def stretch_rows(stories: Stories, story: Sequence[Stretch], receiver: str) -> list[dict[str, Any]]:
    """Return the parts of a delay in the form that `--json` prints. Times are relative to the beginning of the first
    part.
    """
    from mobilenet.why.words import Words

    words = Words(stories.record, stories.protocol)
    return [
        {
            "from_ns": s.begin_ns - story[0].begin_ns,
            "length_ns": s.length_ns,
            "kind": s.kind,
            "leg": s.leg,
            "place": s.place,
            "held_by": s.held_by or None,
            "sentence": words.sentence(s, receiver),
        }
        for s in story
    ]


def print_stretches(rows: Sequence[dict[str, Any]], node: str) -> None:
    unit = small_unit(node)
    columns = ("from_ns", "length_ns")
    print_table(
        (f"from ({unit})", f"for ({unit})", "kind", "what happened"),
        [(*(exactly(r[column], node) for column in columns), kind_name(r["kind"]), r["sentence"]) for r in rows],
        right=[0, 1],
    )


# --- two runs


def two_runs(runs: tuple[Path, Path], stories: tuple[Stories, Stories], as_json: bool, allowed: str = "") -> None:
    """Print why the mean delays of two runs differ, for the deliveries that occur in both."""
    from mobilenet.why.shares import counted_deliveries, shares

    deliveries = [
        {_planned_delivery(own, one): one for one in counted_deliveries(own, *window_ns(run))}
        for run, own in zip(runs, stories, strict=True)
    ]
    common = [key for key in deliveries[0] if key in deliveries[1]]
    if not common:
        fail(
            f"{quote(runs[0])} and {quote(runs[1])} have no delivery in common; expected runs in the same world, with"
            " the same seed, hosts and workload",
            Exit.BAD_INPUT,
        )
    first, second = (
        shares(own, sorted(of[key] for key in common)) for own, of in zip(stories, deliveries, strict=True)
    )
    rows = _changes(first, second)
    if as_json:
        listed = [{"kind": kind, "leg": leg, "ns": [a, b]} for (kind, leg), a, b in rows]
        difference_ns = second.delay_ns - first.delay_ns
        print_as_json({"deliveries": len(common), "difference_ns": difference_ns, "parts": listed})
        return
    node = common[0].receiver
    for run, of in zip(runs, deliveries, strict=True):
        if other := len(of) - len(common):
            say(f"{pluralize(other, 'delivery')} of {quote(run)} left out, because the other run did not make them")
    line = (
        f"{_answers(runs)}{pluralize(len(common), 'delivery')} in both runs: mean delay {_mean(first, node)} in"
        f" {quote(runs[0])}, {_mean(second, node)} in {quote(runs[1])}"
    )
    (kind, leg), first_ns, second_ns = rows[0]
    largest = f"{kind_name(kind)} ({leg}) by {milli((second_ns - first_ns) / len(common), node, '+.4g')}"
    conclude(f"{line}; the largest change is in {largest} {small_unit(node)}")
    say(line)
    _print_changes(rows, len(common), node)
    changes = _by_message(stories, deliveries, common)
    most = ", ".join(f"{name} ({in_s(change, node, '+.3g')})" for name, change in changes)
    say(f"\nMessages whose delays changed most, summed over their receivers: {most}")
    say(f"Next: mobilenet why {quote(runs[1])} --message {changes[0][0]}{allowed}")


class Planned(NamedTuple):
    """Identifies a delivery that occurs in both runs. Message numbers are not used, because they shift after a refused
    broadcast.
    """

    receiver: str
    sender: str
    broadcast_ns: int


def _planned_delivery(stories: Stories, one: Delivery) -> Planned:
    sent = stories.record.broadcasts[one.message]
    return Planned(one.node, sent.node, sent.time_ns)


def _lacking(run: Path) -> str:
    """Return the delivery ratio as text, or an empty string if the run made all required deliveries."""
    from mobilenet.api import Run

    share = Run(run).metrics.get("delivery_ratio")
    return "" if share in (None, 1) else f"delivered {percentage(share)} of what was owed; "


def _answers(runs: Sequence[Path]) -> str:
    """Return the delivery ratios of the runs as text, or an empty string if both runs made all required deliveries."""
    from mobilenet.api import Run

    one, other = (Run(run).metrics.get("delivery_ratio") for run in runs)
    if one is None or other is None or one == other == 1:
        return ""
    first, second = (f"{quote(run)} delivered {percentage(s)}" for run, s in zip(runs, (one, other), strict=True))
    return f"{first} of what was owed, {second}; "


def _changes(first: Shares, second: Shares) -> list[tuple[Part, int, int]]:
    """Return each part with its time in both runs, sorted by change, largest first."""
    rows = [
        (part, first.by_part.get(part, 0), second.by_part.get(part, 0)) for part in {**first.by_part, **second.by_part}
    ]
    return sorted(rows, key=lambda row: (-abs(row[2] - row[1]), row[0]))


def _print_changes(rows: Sequence[tuple[Part, int, int]], deliveries: int, node: str) -> None:
    from mobilenet.why.kinds import KINDS, LEGS

    unit = small_unit(node)
    print_table(
        (f"change ({unit})", f"first ({unit})", f"second ({unit})", "where", "what"),
        [
            (
                milli((b - a) / deliveries, node, "+.4g"),
                milli(a / deliveries, node),
                milli(b / deliveries, node),
                LEGS[leg],
                f"{kind_name(kind)}: {KINDS[kind]}",
            )
            for (kind, leg), a, b in rows[:MOST_PARTS]
        ],
        right=[0, 1, 2],
    )


def _by_message(
    stories: Sequence[Stories], deliveries: Sequence[dict[Planned, Delivery]], common: Sequence[Planned]
) -> list[tuple[str, int]]:
    """Return the change of delay for each message. The names are those in the second run."""
    from mobilenet.why.shares import delay_ns

    change: dict[str, int] = defaultdict(int)
    for key in common:
        first, second = (of[key] for of in deliveries)
        change[second.message] += delay_ns(stories[1], second) - delay_ns(stories[0], first)
    return sorted(change.items(), key=lambda item: (-abs(item[1]), _in_order(item[0])))[:MOST_NODES]


# --- numbers


def say_drawn(out: Path, as_json: bool) -> None:
    if not as_json:
        say(f"The parts are drawn in {quote(out)}")


def print_as_json(value: dict[str, Any]) -> None:
    say(json.dumps(value, indent=1), always=True)


def _in_order(name: str) -> list[int]:
    return [int(digits) for digits in re.findall(r"\d+", name)]


def kind_name(kind: str) -> str:
    return kind.replace("_", " ")


def exactly(time_ns: int, node: str) -> str:
    """Return a time with nanosecond precision, in milliseconds, or in time units for processes."""
    digits = 9 if node[0] == "p" else 6
    return f"{time_ns // 10**digits:,}.{time_ns % 10**digits:0{digits}d}"


def in_s(time_ns: float, node: str, form: str = ".4g") -> str:
    """Return a time with its unit: seconds, or time units for processes."""
    return f"{time_ns / 1e9:{form}} {'t.u.' if node[0] == 'p' else 's'}"


def small_unit(node: str) -> str:
    return "t.u." if node[0] == "p" else "ms"


def milli(time_ns: float, node: str, form: str = ".4g") -> str:
    return f"{time_ns / (1e9 if node[0] == 'p' else 1e6):{form}}"


def _mean(totals: Shares, node: str) -> str:
    return in_s(totals.delay_ns / totals.deliveries, node)


def percent(share: float) -> str:
    return f"{share * 100:.1f} %"

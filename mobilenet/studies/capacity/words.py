"""A capacity in words: one sentence with the answer, and a report in Markdown.

Model     the answer comes first, then what supports it at the values on both sides, then what is not known. Numbers of
          metrics have their intervals, which hold at all looks together
Units     those of the key and of the metrics
Source    ours: docs/guide/capacity.md
"""

from __future__ import annotations

import math
from typing import Any

from mobilenet.metrics.registry import unit_of
from mobilenet.quoting import counted, shown
from mobilenet.studies.capacity.answer import Asked, Found, Number, shown_value
from mobilenet.studies.capacity.feasibility import Estimate, Judged, State
from mobilenet.studies.capacity.requirements import Requirement
from mobilenet.studies.capacity.search import Verdict, first_values
from mobilenet.studies.rare import assumption

HEAD = ("requirement", "runs", "mean", "interval", "decision")
TOGETHER = "all requirements"


def answer(found: Found) -> str:
    """Return the answer as one sentence."""
    key, over = found.asked.key, span(found.asked)
    if found.verdict is Verdict.EVERYWHERE:
        return f"holds everywhere: the requirements hold at {_tried(found)}, and therefore for {over}{_some(found)}"
    if found.verdict is Verdict.NOWHERE:
        return f"holds nowhere: the requirements fail at {_tried(found)}, and therefore for {over}{_some(found)}"
    if found.verdict is Verdict.NOT_MONOTONE:
        states = ", ".join(
            f"{one.state.value} at {shown_value(value)}" for value, one in found.points.items() if one.is_clear
        )
        turns = "the requirements change between holding and failing more than once"
        return f"not monotone here: for {over}, {turns}: {states}"
    if found.value is not None:
        holds, fails = shown_value(found.holds_at), shown_value(found.fails_at)
        said = f"the requirements hold at {holds} and fail at {fails}{_within(found)}"
        return f"the {found.verdict.value} {key} is {holds}: {said}"
    return f"undecided: {_so_far(found)}"


def headline(found: Found) -> str:
    """Return the answer for the title of a figure."""
    if found.value is None:
        return answer(found)
    return answer(found).partition(":")[0] + (" (decided within the tolerance)" if _within(found) else "")


def _within(found: Found) -> str:
    """Return where the values next to the threshold are decided only with the help of the tolerance."""
    ends = [value for value in (found.holds_at, found.fails_at) if value is not None]
    unclear = [shown_value(value) for value in ends if not found.points[value].is_clear]
    if not unclear:
        return ""
    where = "both" if len(unclear) > 1 else f"at {unclear[0]}"
    return f" ({where} only within the tolerance)"


def _some(found: Found) -> str:
    unclear = [shown_value(value) for value, one in found.points.items() if one.n and not one.is_clear]
    return f" (at {', '.join(unclear)} only within the tolerance)" if unclear else ""


def head(asked: Asked) -> tuple[str, ...]:
    """Return the head of the table of all points: with several requirements, also what is known of all of them."""
    return (asked.key, *HEAD, *([TOGETHER] if len(asked.requirements) > 1 else ()))


def span(asked: Asked) -> str:
    """Return the key and its ends: `wireless.loss from 0 to 0.4`."""
    return f"{asked.key} from {shown_value(asked.values[0])} to {shown_value(asked.values[-1])}"


def _tried(found: Found) -> str:
    return f"all {counted(sum(one.n > 0 for one in found.points.values()), 'value')} that were tried"


def _so_far(found: Found) -> str:
    key = found.asked.key
    why = f"the budget of {counted(found.asked.budget, 'run')} is used up"
    if found.failed:
        why = f"{counted(found.failed, 'run')} failed"
    elif empty := _empty(found):
        return empty
    elif any(one.bounds is None for value in found.open_points for one in found.points[value].estimates):
        why += ", and too few runs have a value for the metric"
    if found.interval is None:
        return f"{why}; not known: a value of {key} at which the requirements hold, and another at which they fail"
    return (
        f"{why}; the requirements hold at {key} {shown_value(found.holds_at)} and fail at {shown_value(found.fails_at)}"
    )


def _empty(found: Found) -> str | None:
    """At which value the runs hardly ever have a metric."""
    for value, judged in found.points.items():
        for one in judged.estimates if judged.state is State.NO_DATA else ():
            if one.bounds is None:
                seldom = f"in under {found.asked.rare * 100:g} % of the runs"
                return f"at {shown_value(value)}, {one.requirement.metric} has a value {seldom}"
    return None


def support(found: Found) -> list[str]:
    """What is known at the values that the answer rests on, one line for each requirement."""
    values = [value for value in (found.holds_at, found.fails_at) if value is not None]
    lines = []
    for value in dict.fromkeys([*values, *found.open_points]) if values or found.is_undecided else []:
        judged = found.points[value]
        lines += [
            f"at {shown_value(value)} ({_decision(judged, one)}): {_estimated(found.asked, one)}"
            for one in judged.estimates
        ]
    return lines


def assurance(found: Found) -> str:
    """What the error means."""
    asked = found.asked
    tolerances = ", ".join(f"{one.metric} ± {_with_unit(asked, one, one.tolerance)}" for one in asked.requirements)
    had = "".join(f"; {one}" for one in _had(found))
    return (
        f"probability of a wrong answer: at most {asked.error * 100:g} %, not counting values within the"
        f" tolerance ({tolerances}){had};"
        f" {counted(found.runs, 'run')}"
    )


def assumptions(found: Found) -> list[str]:
    """What the answer takes for granted."""
    asked, last = found.asked, len(found.asked.values) - 1
    lines = []
    if any(judged.assumes for judged in found.points.values()):
        lines.append(assumption(asked.rare))
    if found.verdict not in (Verdict.NOT_MONOTONE, Verdict.UNDECIDED):
        checked = ", ".join(shown_value(asked.values[place]) for place in first_values(last))
        lines.append(f"assumed: the requirements are monotone in {asked.key}; this was checked at {checked}")
    return lines


def sentences(found: Found) -> list[str]:
    """Return the answer, what supports it, and what it assumes."""
    return [answer(found), *support(found), assurance(found), *assumptions(found)]


def _had(found: Found) -> list[str]:
    """Return how many runs had each metric that not all of them had."""
    lines = []
    for place, one in enumerate(found.asked.requirements):
        own = [judged.estimates[place] for judged in found.points.values() if judged.estimates]
        if any(each.is_of_some for each in own):
            have, runs = sum(each.n for each in own), sum(each.runs for each in own)
            total = counted(runs, "run")
            lines.append(f"only {have:,} of {total} have a value for {one.metric}, and its means are taken over these")
    return lines


def document(found: Found) -> dict[str, Any]:
    """Return capacity.json: the numbers, and the same in sentences."""
    return found.json() | {"sentences": sentences(found)}


def more_runs(found: Found) -> int:
    """Estimate how many runs the values that are not decided would need in addition."""
    return sum(_needed(found.points[value]) for value in found.open_points)


def _needed(judged: Judged) -> int:
    """An interval shrinks with the square root of the runs."""
    factor = 1.0
    for one in judged.estimates:
        if one.bounds is not None and math.isfinite(one.bounds.high - one.bounds.low):
            half = (one.bounds.high - one.bounds.low) / 2
            room = one.requirement.tolerance + abs(one.requirement.lacks(one.bounds.mean))
            factor = max(factor, (half / room) ** 2)
    return math.ceil(judged.n * (factor - 1))


def progress_note(asked: Asked, value: Number, judged: Judged | None) -> str:
    """What is being decided now."""
    name = f"{asked.key.rpartition('.')[2]} {shown_value(value)}"
    if judged is None or not judged.estimates or judged.estimates[0].bounds is None:
        return name
    return f"{name}: {_estimated(asked, judged.estimates[0])}"


def markdown(found: Found) -> str:
    """Return the report."""
    asked = found.asked
    wanted = "\n".join(f"- {one}, tolerance {_with_unit(asked, one, one.tolerance)}" for one in asked.requirements)
    parts = [
        f"# How far can {asked.key} be pushed?",
        f"**{answer(found)[0].upper()}{answer(found)[1:]}.**",
        f"Requirements on the mean over runs, with {span(asked)}:",
        wanted,
        *(["\n".join(f"- {line}" for line in support(found))] if support(found) else []),
        " ".join(f"{one[0].upper()}{one[1:]}." for one in (assurance(found), *assumptions(found))),
        _table(
            head(asked),
            [_cells(asked, value, one, each) for value, one in found.points.items() for each in one.estimates],
        ),
        "A value holds if every interval lies entirely within its limit, relaxed by the tolerance. It fails if an"
        " interval lies entirely beyond its limit, tightened by the tolerance, or if the backlog grows without bound."
        " If an interval does both, its mean decides."
        " Each value is examined after 10, 14, 20, 28, …"
        " runs, and the intervals take all looks into account. Percentiles are computed for each run, and"
        " then averaged over runs."
        f" All values were run in the same worlds. Seed of the study: {asked.seed}.",
    ]
    return "\n\n".join(parts) + "\n"


def _cells(asked: Asked, value: Number, judged: Judged, one: Estimate) -> tuple[str, ...]:
    b = one.bounds
    mean, interval = ("–", "–") if b is None else (shown(b.mean), f"{shown(b.low)} to {shown(b.high)}")
    together = (judged.state.value,) if len(asked.requirements) > 1 else ()
    return (shown_value(value), str(one.requirement), _n(one), mean, interval, _decision(judged, one), *together)


def _n(one: Estimate) -> str:
    return f"{one.n} of {one.runs}" if one.is_of_some else str(one.n)


def _decision(judged: Judged, one: Estimate) -> str:
    """Return what is known about a requirement: `holds`, `fails, within the tolerance`, ..."""
    state, is_clear = judged.of(one)
    if judged.runs_away:
        return f"{state.value}, backlog grows without bound"
    if judged.may_run_away:
        return f"{state.value}, backlog may grow without bound"
    is_decided = state in (State.HOLDS, State.FAILS)
    return f"{state.value}{', within the tolerance' if is_decided and not is_clear else ''}"


def point_rows(found: Found) -> list[tuple[str, ...]]:
    """Return the table of all points for the screen."""
    return [_cells(found.asked, value, one, each) for value, one in found.points.items() for each in one.estimates]


def _table(head: tuple[str, ...], lines: list[tuple[str, ...]]) -> str:
    rule = tuple("---" for _ in head)
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in (head, rule, *lines))


def _estimated(asked: Asked, one: Estimate) -> str:
    metric = one.requirement.metric
    if one.bounds is None:
        return f"{metric} has a value in {one.n} of {counted(one.runs, 'run')}, too few for an interval"
    if math.isinf(one.bounds.mean):
        return f"{metric} is infinite: in some runs, too large a share of the messages never arrives"
    low, high = shown(one.bounds.low), _with_unit(asked, one.requirement, one.bounds.high)
    side = "at most" if one.requirement.at_most else "at least"
    some = f" in {one.n} of {counted(one.runs, 'run')}" if one.is_of_some else ""
    return f"{metric} {shown(one.bounds.mean)}{some} ({low} to {high}), required {side} {one.requirement.limit:g}"


def _with_unit(asked: Asked, one: Requirement, value: float) -> str:
    unit = unit_of(one.metric, asked.of_processes)
    return f"{shown(value)} {unit}" if unit else shown(value)

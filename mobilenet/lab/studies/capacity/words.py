"""Describe the result of a capacity search in words: one sentence with the answer, and a report in Markdown.

Model     The answer comes first, then the evidence on both sides of the threshold, and then what remains unknown. The
          intervals of metrics are valid for all looks together.
Units     Values have the unit of the key; means have the unit of their metric.
Source    ours: docs/guide/capacity.md
"""

from __future__ import annotations

import math
from typing import Any

from mobilenet.lab.studies.capacity.answer import Number, SearchQuestion, SearchResult, format_value
from mobilenet.lab.studies.capacity.feasibility import Estimate, State, ValueJudgement
from mobilenet.lab.studies.capacity.requirements import Requirement
from mobilenet.lab.studies.capacity.search import Verdict, first_values
from mobilenet.lab.studies.precedence import DELIVERED, shares_in_words
from mobilenet.lab.studies.statistics import assumption
from mobilenet.quoting import format_number, pluralize

HEAD = ("requirement", "runs", "mean", "interval", "decision")
TOGETHER = "all requirements"


def answer(result: SearchResult) -> str:
    """Return the answer as a sentence. It begins with the delivery ratio if some messages were not delivered."""
    return _delivery_ratios(result) + _answer(result)


def _delivery_ratios(result: SearchResult) -> str:
    """Return the delivery and broadcast ratios at the values that determine the answer, or at all values that were
    run.
    """
    ends = [value for value in (result.holds_at, result.fails_at) if value in result.points]
    points = {f"at {format_value(value)}": result.points[value] for value in ends or result.points}
    delivered = {name: one.delivery_ratio for name, one in points.items() if one.delivery_ratio is not None}
    accepted = {name: one.broadcast_ratio for name, one in points.items() if one.broadcast_ratio is not None}
    return "".join(f"{line}; " for line in shares_in_words({} if _requires_delivery(result) else delivered, accepted))


def _requires_delivery(result: SearchResult) -> bool:
    return any(one.metric == DELIVERED for one in result.question.requirements)


def _answer(result: SearchResult) -> str:
    key, over = result.question.key, span(result.question)
    if result.verdict is Verdict.EVERYWHERE:
        return (
            f"holds everywhere: the requirements hold at {_values_tried(result)}, and therefore for"
            f" {over}{_some(result)}"
        )
    if result.verdict is Verdict.NOWHERE:
        return (
            f"holds nowhere: the requirements fail at {_values_tried(result)}, and therefore for {over}{_some(result)}"
        )
    if result.verdict is Verdict.NOT_MONOTONE:
        states = ", ".join(
            f"{one.state.value} at {format_value(value)}" for value, one in result.points.items() if one.is_clear
        )
        turns = "the requirements change between holding and failing more than once"
        return f"not monotone here: for {over}, {turns}: {states}"
    if result.value is not None:
        holds, fails = format_value(result.holds_at), format_value(result.fails_at)
        threshold = f"the requirements hold at {holds} and fail at {fails}{_within(result)}"
        return f"the {result.verdict.value} {key} is {holds}: {threshold}"
    return f"undecided: {_so_far(result)}"


def headline(result: SearchResult) -> str:
    """Return a short form of the answer as the title of a figure."""
    if result.value is None:
        return answer(result)
    return (
        _delivery_ratios(result)
        + _answer(result).partition(":")[0]
        + (" (decided within the tolerance)" if _within(result) else "")
    )


def _within(result: SearchResult) -> str:
    """Return a note that names the values next to the threshold whose decision depends on the tolerance."""
    ends = [value for value in (result.holds_at, result.fails_at) if value is not None]
    unclear = [format_value(value) for value in ends if not result.points[value].is_clear]
    if not unclear:
        return ""
    where = "both" if len(unclear) > 1 else f"at {unclear[0]}"
    return f" ({where} only within the tolerance)"


def _some(result: SearchResult) -> str:
    unclear = [format_value(value) for value, one in result.points.items() if one.n and not one.is_clear]
    return f" (at {', '.join(unclear)} only within the tolerance)" if unclear else ""


def head(question: SearchQuestion) -> tuple[str, ...]:
    """Return the column headings of the table of all points. If there are several requirements, an additional column
    combines them.
    """
    return (question.key, *HEAD, *([TOGETHER] if len(question.requirements) > 1 else ()))


def span(question: SearchQuestion) -> str:
    """Return the key and the ends of its range, as in `wireless.loss from 0 to 0.4`."""
    return f"{question.key} from {format_value(question.values[0])} to {format_value(question.values[-1])}"


def _values_tried(result: SearchResult) -> str:
    return f"all {pluralize(sum(one.n > 0 for one in result.points.values()), 'value')} that were tried"


def _so_far(result: SearchResult) -> str:
    key = result.question.key
    why = f"after {pluralize(result.runs, 'run')}"
    if result.failed:
        why = f"{pluralize(result.failed, 'run')} failed"
    elif empty := _empty(result):
        return empty
    elif any(one.bounds is None for value in result.open_points for one in result.points[value].estimates):
        why += ", and too few runs have a value for the metric"
    ends = {"hold": result.holds_at, "fail": result.fails_at}
    known = " and ".join(f"{word} at {key} {format_value(end)}" for word, end in ends.items() if end is not None)
    missing = " and ".join(f"a value at which they {word}" for word, end in ends.items() if end is None)
    return "; ".join(
        [why, *([f"the requirements {known}"] if known else []), *([f"not known: {missing}"] * bool(missing))]
    )


def _empty(result: SearchResult) -> str | None:
    """Return a note on the first value at which almost all runs lack a required metric, or None if there is no such
    value.
    """
    for value, judged in result.points.items():
        for one in judged.estimates if judged.state is State.NO_DATA else ():
            if one.bounds is None:
                seldom = f"in under {result.question.rare * 100:g} % of the runs"
                return f"at {format_value(value)}, {one.requirement.metric} has a value {seldom}"
    return None


def support(result: SearchResult) -> list[str]:
    """Return the evidence at the values that determine the answer, with one line for each requirement."""
    values = [value for value in (result.holds_at, result.fails_at) if value is not None]
    lines = []
    for value in dict.fromkeys([*values, *result.open_points]) if values or result.is_undecided else []:
        judged = result.points[value]
        lines += [
            f"at {format_value(value)} ({_decision(judged, one)}): {_estimate_text(result.question, one)}"
            for one in judged.estimates
        ]
    return lines


def assurance(result: SearchResult) -> str:
    """Return a sentence that explains what the error probability means."""
    question = result.question
    tolerances = ", ".join(
        f"{one.metric} ± {_with_unit(question, one, one.tolerance)}" for one in question.requirements
    )
    had = "".join(f"; {one}" for one in _had(result))
    return (
        f"probability of a wrong answer: at most {question.error * 100:g} %, not counting values within the"
        f" tolerance ({tolerances}){had};"
        f" {pluralize(result.runs, 'run')}"
    )


def assumptions(result: SearchResult) -> list[str]:
    """Return the assumptions that the answer makes."""
    question, last = result.question, len(result.question.values) - 1
    lines = []
    if _delivery_ratios(result):
        lines.append(
            "the requirements do not cover messages that were refused or not delivered; a requirement such as"
            f" '{DELIVERED} >= 0.99', or one on a delivery_delay_survival metric, does"
        )
    if any(judged.assumes for judged in result.points.values()):
        lines.append(assumption(question.rare))
    if result.verdict not in (Verdict.NOT_MONOTONE, Verdict.UNDECIDED):
        checked = ", ".join(format_value(question.values[place]) for place in first_values(last))
        lines.append(f"assumed: the requirements are monotone in {question.key}; this was checked at {checked}")
    return lines


def sentences(result: SearchResult) -> list[str]:
    """Return the answer, its evidence and its assumptions as sentences."""
    return [answer(result), *support(result), assurance(result), *assumptions(result)]


def _had(result: SearchResult) -> list[str]:
    """For each metric that some runs lacked, return a line that states how many runs had it."""
    lines = []
    for place, one in enumerate(result.question.requirements):
        own = [judged.estimates[place] for judged in result.points.values() if judged.estimates]
        if any(each.is_of_some for each in own):
            have, runs = sum(each.n for each in own), sum(each.runs for each in own)
            total = pluralize(runs, "run")
            lines.append(f"only {have:,} of {total} have a value for {one.metric}, and its means are taken over these")
    return lines


def document(result: SearchResult) -> dict[str, Any]:
    """Return the document capacity.json, which contains the numbers and the same facts in sentences."""
    return result.json() | {"sentences": sentences(result)}


def more_runs(result: SearchResult) -> int:
    """Estimate how many more runs the undecided values need."""
    return sum(result.points[value].runs_needed() for value in result.open_points)


def progress_note(question: SearchQuestion, value: Number, judged: ValueJudgement | None) -> str:
    """Return a note on the value that the search examines now, and on the precision reached so far."""
    name = f"{question.key.rpartition('.')[2]} {format_value(value)}"
    one = next((one for one in judged.estimates if judged.of(one)[0] is State.OPEN), None) if judged else None
    if judged is None or one is None:
        return name
    if judged.may_run_away:
        return f"{name}: the backlog may grow without bound"
    least, most = (format_number(one.requirement.limit + sign * one.requirement.tolerance) for sign in (-1, 1))
    above, below = ("fails", "holds") if one.requirement.at_most else ("holds", "fails")
    return f"{name}: {_estimate_text(question, one)}; {above} if all of it is above {least}, {below} if below {most}"


def markdown(result: SearchResult) -> str:
    """Return the report of a search in Markdown."""
    question = result.question
    requirements = "\n".join(
        f"- {one}, tolerance {_with_unit(question, one, one.tolerance)}" for one in question.requirements
    )
    parts = [
        f"# How far can {question.key} be pushed?",
        f"**{answer(result)[0].upper()}{answer(result)[1:]}.**",
        f"Requirements on the mean over runs, with {span(question)}:",
        requirements,
        *(["\n".join(f"- {line}" for line in support(result))] if support(result) else []),
        " ".join(f"{one[0].upper()}{one[1:]}." for one in (assurance(result), *assumptions(result))),
        _table(
            head(question),
            [_cells(question, value, one, each) for value, one in result.points.items() for each in one.estimates],
        ),
        "A value holds if every interval lies entirely within its limit, relaxed by the tolerance. It fails if an"
        " interval lies entirely beyond its limit, tightened by the tolerance, or if the backlog grows without bound."
        " If an interval does both, its mean decides."
        " Each value is examined after 10, 14, 20, 28, …"
        " runs, and the intervals take all looks into account. Percentiles are computed for each run, and"
        " then averaged over runs."
        f" All values were run in the same worlds. Seed of the study: {question.seed}.",
    ]
    return "\n\n".join(parts) + "\n"


def _cells(question: SearchQuestion, value: Number, judged: ValueJudgement, one: Estimate) -> tuple[str, ...]:
    b = one.bounds
    mean, interval = (
        ("–", "–") if b is None else (format_number(b.mean), f"{format_number(b.low)} to {format_number(b.high)}")
    )
    together = (judged.state.value,) if len(question.requirements) > 1 else ()
    return (format_value(value), str(one.requirement), _n(one), mean, interval, _decision(judged, one), *together)


def _n(one: Estimate) -> str:
    return f"{one.n} of {one.runs}" if one.is_of_some else str(one.n)


def _decision(judged: ValueJudgement, one: Estimate) -> str:
    """Return the decision on a requirement, such as `holds` or `fails, within the tolerance`."""
    state, is_clear = judged.of(one)
    if judged.runs_away:
        return f"{state.value}, backlog grows without bound"
    if judged.may_run_away:
        return f"{state.value}, backlog may grow without bound"
    is_decided = state in (State.HOLDS, State.FAILS)
    return f"{state.value}{', within the tolerance' if is_decided and not is_clear else ''}"


def point_rows(result: SearchResult) -> list[tuple[str, ...]]:
    """Return the table of all points for the terminal."""
    return [_cells(result.question, value, one, each) for value, one in result.points.items() for each in one.estimates]


def _table(head: tuple[str, ...], lines: list[tuple[str, ...]]) -> str:
    rule = tuple("---" for _ in head)
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in (head, rule, *lines))


def _estimate_text(question: SearchQuestion, one: Estimate) -> str:
    metric = one.requirement.metric
    if one.bounds is None:
        return f"{metric} has a value in {one.n} of {pluralize(one.runs, 'run')}, too few for an interval"
    if math.isinf(one.bounds.mean):
        return (
            f"{metric} is infinite: in {one.infinite} of {pluralize(one.runs, 'run')}, too large a share of the"
            " messages never arrives"
        )
    low, high = format_number(one.bounds.low), _with_unit(question, one.requirement, one.bounds.high)
    side = "at most" if one.requirement.at_most else "at least"
    some = f" in {one.n} of {pluralize(one.runs, 'run')}" if one.is_of_some else ""
    return (
        f"{metric} {format_number(one.bounds.mean)}{some} ({low} to {high}), required {side} {one.requirement.limit:g}"
    )


def _with_unit(question: SearchQuestion, one: Requirement, value: float) -> str:
    unit = question.words.unit_of(one.metric)
    return f"{format_number(value)} {unit}" if unit else format_number(value)

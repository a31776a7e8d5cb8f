"""Describe the answers to claims in words: a line for each claim, a summary, and a Markdown report.

Units     Values have the unit of their metric.
Source    ours: docs/guide/claims.md
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from mobilenet.lab.studies.claims.answer import AnsweredClaim, Outcome, command_in
from mobilenet.lab.studies.claims.declaration import Answer
from mobilenet.lab.studies.precedence import DELIVERED, LOSS_MARGIN
from mobilenet.lab.studies.statistics import assumption
from mobilenet.quoting import format_number, percentage, pluralize
from mobilenet.record.stamp import PLACE

HEAD = ("claim", "answer", "value", "interval", "required", "runs")


def cells(one: AnsweredClaim) -> tuple[str, ...]:
    """Return the table cells of a claim, in the order of HEAD."""
    return (one.question.name, _answer(one), *_numbers(one), one.required, f"{one.replications:,}")


def decision(one: AnsweredClaim) -> str:
    """Return the decision, such as `holds`, `does not hold (as expected)` or `undecided (left)`."""
    notes = []
    if one.is_left:
        notes.append("left")
    elif one.answer is not Answer.UNDECIDED and not one.is_clear:
        notes.append("within the margin")
    if one.question.claim.expect != Answer.HOLDS.value or not one.is_expected:
        notes += [] if one.answer is Answer.UNDECIDED else ["as expected" if one.is_expected else "not as expected"]
    return one.answer.value + (f" ({', '.join(notes)})" if notes else "")


def _numbers(one: AnsweredClaim) -> tuple[str, str]:
    if one.bounds is None:
        return "–", "–"
    unit = f" {one.unit}" if one.unit else ""
    if math.isinf(one.bounds.mean):  # The interval is then infinite as well.
        return format_number(one.bounds.mean), "–"
    return f"{format_number(one.bounds.mean)}{unit}", " to ".join(map(format_number, one.bounds[1:])) + unit


def sentence(one: AnsweredClaim, out: Path | None = None) -> str:
    """Return the answer to a claim and its evidence in one line. `out` is the directory that the command of the claim
    refers to.
    """
    value, interval = _numbers(one)
    words = one.question.claim.says or ""
    says = f" {words}{'' if words.endswith(('.', '!', '?')) else '.'}" if words else ""
    common = " Over the deliveries that both made:" if one.delivery is not None and one.delivery.is_common else ""
    interval = "" if interval == "–" else f" ({interval})"
    numbers = "" if one.bounds is None else f" {one.what} {value}{interval}, required {one.required};"
    numbers += f" {infinite};" if (infinite := _infinite(one)) else ""
    runs = f" {_replications(one)};" if one.replications and one.question.tests else ""
    why = f" {one.why};" if one.why else ""
    command = one.command if out is None else command_in(one.command, out)
    return f"{one.question.name}: {_answer(one)}.{says}{common}{numbers}{runs}{why} {command}"


def _infinite(one: AnsweredClaim) -> str:
    """Return a note on how many runs of each place have an infinite metric, or an empty string if there are no such
    runs.
    """
    counts = one.delivery.infinite if one.delivery is not None else ()
    total = pluralize(one.replications, "run")
    return f"infinite in {' and in '.join(f'{count} of {total}' for count in counts)}" if any(counts) else ""


def _opening(one: AnsweredClaim) -> str:
    """Return the delivery and broadcast ratios and the number of violating runs, if they are noteworthy."""
    parts = []
    if (delivery := one.delivery) is not None:
        ratios = [share for share in (delivery.value, delivery.other) if share is not None]
        if min(ratios, default=1.0) < 1 and one.question.metric != DELIVERED:
            parts.append(f"delivered {' and '.join(map(percentage, ratios))} of what was owed")
        least, most = (end(delivery.broadcast, default=1.0) for end in (min, max))
        if least < (most if len(delivery.broadcast) > 1 else 1.0) - LOSS_MARGIN:
            parts.append(f"broadcast {' and '.join(map(percentage, delivery.broadcast))} of what was offered")
    if one.violated:
        parts.append(f"{pluralize(one.violated, 'run')} violated")
    return ", ".join(parts)


def _answer(one: AnsweredClaim) -> str:
    """Return the decision and the delivery ratio for a table."""
    return f"{opening}: {decision(one)}" if (opening := _opening(one)) else decision(one)


def _replications(one: AnsweredClaim) -> str:
    total = pluralize(one.replications, "replication")
    if one.had is None or one.had == one.replications:
        return total
    return f"{total}, of which {one.had:,} {'has' if one.had == 1 else 'have'} {one.question.metric}"


def summary(outcome: Outcome) -> str:
    """Return a summary such as `12 claims hold, 3 do not hold, 1 is undecided; ...`."""
    counts = outcome.counts
    holds, fails, open_ = (counts[answer] for answer in Answer)
    hold, do = "holds" if holds == 1 else "hold", "does" if fails == 1 else "do"
    text = f"{pluralize(len(outcome.answers), 'claim')}: {holds} {hold}, {fails} {do} not hold, {open_} undecided"
    if outcome.left:
        text += f" ({len(outcome.left)} left by --quick)"
    return (
        f"{text}; probability that any answer is wrong: at most {outcome.error * 100:g} %, not counting values within"
        f" the margins; {pluralize(outcome.runs, 'run')}"
    )


def summary_with_names(outcome: Outcome) -> str:
    """Return the answers in one line, such as `12 claims: fast holds, small does not hold, ...`."""
    return f"{pluralize(len(outcome.answers), 'claim')}: " + ", ".join(
        f"{one.question.name} {_answer(one)}" for one in outcome.answers
    )


def closing_lines(outcome: Outcome) -> list[str]:
    """Return the summary and the assumptions of the answers."""
    assumes = sum(one.assumes for one in outcome.answers)
    about = f"{assumption(outcome.rare)}, for {assumes} of {pluralize(len(outcome.answers), 'claim')}"
    return [summary(outcome), *([about] if assumes else [])]


def markdown(outcome: Outcome) -> str:
    """Return the report of the answers in Markdown."""
    parts = [
        f"# {outcome.name or 'Claims'}",
        " ".join(f"{one[0].upper()}{one[1:]}." for one in closing_lines(outcome)),
        markdown_table(HEAD, [[cell.replace("|", "\\|") for cell in cells(one)] for one in outcome.answers]).rstrip(),
        "\n".join(f"- {sentence(one)}" for one in outcome.answers),
        "Means are taken over runs. The intervals of all claims hold jointly, at all looks. A claim holds if its value"
        " is within the bound and its interval ends before the bound plus the margin. It does not hold if its value is"
        " beyond the bound and its interval begins beyond the bound minus the margin."
        f" Seed: {outcome.seed}. In commands, {PLACE} stands for the directory with this file.",
    ]
    return "\n\n".join(parts) + "\n"


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table. `head` and each row contain one string per column."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)

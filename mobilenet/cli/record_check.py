"""Judge the record of a run, or of the runs of a study, again, optionally after repeating them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mobilenet.cli.console import DAMAGED, DIFFERS, say
from mobilenet.cli.progress import progress
from mobilenet.quoting import quote

if TYPE_CHECKING:
    from mobilenet.verify import Verdict


def judge_recorded(
    directory: Path, repeat: bool, allow_code: bool, quiet: bool
) -> tuple[str, dict[str, Verdict], list[str], list[str]]:
    """Return the overall answer, the verdicts, the notes, and the errors in verdict.json and metrics.json."""
    from mobilenet.api import judge_anew
    from mobilenet.verify.judge import overall

    wrong_again = _compare_with_repeat(directory, allow_code, quiet) if repeat else {}
    if wrong_again is None:
        return DIFFERS, {}, [], []
    verdicts, notes, wrong = judge_anew(directory, allow_code)
    wrong = [*wrong_again.values(), *(line for line in wrong if not line.startswith((*wrong_again,)))]
    answer = overall(verdicts)
    return DAMAGED if wrong and answer != "violated" else answer, verdicts, notes, wrong


def _compare_with_repeat(directory: Path, allow_code: bool, quiet: bool) -> dict[str, str] | None:
    """Repeat the run, and return the errors in verdict.json and metrics.json, by path. If the new record differs, print
    the first difference and return None.
    """
    from mobilenet.lab.live.repetition import NO_REPEAT, can_be_repeated, divergence
    from mobilenet.lab.replay.comparison import DerivedFilesDiffer

    if not can_be_repeated(directory):
        say(f"{quote(directory)}: {NO_REPEAT}", always=True)
        return {}
    try:
        with progress(quiet, "repeating") as update:
            where = divergence(directory, update, allow_code)
    except DerivedFilesDiffer as error:
        return error.lines
    if where:
        say(f"{quote(directory)}: the repeated run differs: {where}", always=True)
        return None
    derived = (("verdict.json", "verdict"), ("metrics.json", "metric"))
    compared = ", ".join(["row", "counter", "packet", *(what for name, what in derived if (directory / name).exists())])
    say(f"repeated: the two records are the same in every {compared}, manifest entry and scenario value")
    return {}

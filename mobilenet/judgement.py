"""Judge and measure a run, including a plug-in's promises and metrics, when the run ends or later from its record.

Model     verdict.json and metrics.json are computed from the record. If a user's metric raises an error or returns
          something other than a number, the run does not fail. The metric has no value, and `own_metrics_failed` of the
          manifest states the reason. If the function of a promise raises an error, the promise is unknown for that
          reason. `own_checks` of the manifest lists the promises, so that they are also reported where their code may
          not run.
Errors    ScenarioError for something that is not a metric or a promise, RunError for a directory that is not a run.
Source    ours: docs/run-directory.md, docs/guide/plug-ins.md
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from inspect import isfunction
from pathlib import Path
from typing import Any

from mobilenet import __version__
from mobilenet.metrics import OwnMetric, as_measured, metrics
from mobilenet.metrics.custom import Record, measure, own_metric
from mobilenet.metrics.declaration import Row, as_whole
from mobilenet.parameters import ScenarioError
from mobilenet.quoting import cut, percentage
from mobilenet.record.packets.packet_order import Captures
from mobilenet.record.pcap import read_captures
from mobilenet.record.reader import AGAIN, RunError, read_derived, read_manifest
from mobilenet.record.recorder import Recording
from mobilenet.record.table import Columns
from mobilenet.record.writer import as_text, write_json
from mobilenet.scenario import AnyScenario
from mobilenet.scenario.plans.by_kind import AnyRecorded, plans_of
from mobilenet.simulation.plugin_code import load_named, place_of, repr_of
from mobilenet.verify import Evidence, Verdict, verify
from mobilenet.verify.check import Check
from mobilenet.verify.declarations import scenario_of, warnings_by
from mobilenet.verify.judge import NEEDS_CODE, judging, known_properties, overall, read_run


def own_metrics(scenario: AnyScenario, allow_code: bool = False) -> list[OwnMetric]:
    """Return the custom metrics of a scenario. Their code runs only with permission."""
    custom_metrics: list[OwnMetric] = []
    for i, reference in enumerate(scenario.metrics):
        if reference.rpartition(":")[2] in (metric.name for metric in custom_metrics):
            raise ScenarioError(f"metrics.{i}: {reference}: another metric has the same name; expected different names")
        try:
            function = load_named(f"metrics.{i}", reference, scenario.folder, allow_code)
            custom_metrics.append(own_metric(function, reference, scenario.folder))
        except ValueError as error:
            raise ScenarioError(f"metrics.{i}: {error}") from None
    return custom_metrics


def own_checks(protocol: Any, folder: Path, allow_code: bool = False) -> list[Check]:
    """Return a check for each promise of the scenario's plug-in. The code of the plug-in runs only with permission."""
    if protocol.name != "own":
        return []
    reference = protocol.reference
    plugin = load_named("protocol.class", reference, folder, allow_code)
    functions = getattr(plugin, "checks", ())
    if not isinstance(functions, tuple) or not all(map(_is_promise, functions)):
        raise ScenarioError(
            f"protocol.class: {reference}: checks is {cut(repr_of(functions), 80)}, expected a tuple of functions"
            " decorated with @promise(words)"
        )
    names = [function.__name__ for function in functions]
    for i, name in enumerate(names):
        if name in known_properties() or name in names[:i]:
            raise ScenarioError(
                f"protocol.class: {reference}: there is already a property {name}; expected another name in checks"
            )
    return [
        Check(one.__name__, one.words, partial(_answer, one), tables=("events", "samples"), waits=True)
        for one in functions
    ]


def _is_promise(function: Any) -> bool:
    return isfunction(function) and isinstance(getattr(function, "words", None), str)


def _answer(function: Any, run: Evidence) -> Verdict | None:
    try:
        answer = function(Record(run.events, run.samples, run.counters, as_measured(run.manifest)))
        if isinstance(answer, str):
            return Verdict("violated", answer)
        if answer is None or isinstance(answer, Verdict):
            return answer
        raise ValueError(f"returned {cut(repr(answer), 80)}, expected a sentence or None")
    except (MemoryError, KeyboardInterrupt):
        raise
    except BaseException as error:
        return Verdict("unknown", place_of(error, Path(function.__code__.co_filename), function))


def own_checks_of(directory: Path, allow_code: bool = False) -> list[Check]:
    """Return a check for each promise of a run's plug-in, or an empty list if its code may not run."""
    if not allow_code or "own_checks" not in read_manifest(directory):
        return []
    return own_checks(scenario_of(directory).protocol, directory, allow_code)


def with_own_metrics(
    events: Columns,
    samples: Columns,
    counters: dict[str, Any],
    facts: dict[str, Any],
    own: Sequence[OwnMetric],
    captures: Captures | None = None,
) -> tuple[Row, dict[str, str]]:
    """Return one row with mobilenet's metrics and the user's metrics. Also return why each failed metric of the user
    failed, with file and line.
    """
    row = metrics(events, samples, counters, facts, captures)
    values, errors = measure(own, Record(events, samples, counters, as_measured(facts))) if own else ({}, {})
    failed = {m.name: place_of(errors[m.name], m.path, m.function) for m in own if m.name in errors}
    return row | values, failed


def judge(
    directory: Path,
    scenario: AnyRecorded,
    recording: Recording,
    facts: dict[str, Any],
    own: Sequence[OwnMetric] = (),
    checks: Sequence[Check] = (),
) -> dict[str, str]:
    """Write verdict.json and metrics.json from the record. Return the user's metrics that failed, with the reasons."""
    tables, counters = recording.tables(), recording.document()
    events, samples = tables["events"], tables["samples"]
    captures = read_captures(directory)
    evidence = Evidence(tables, counters, facts, plans_of(scenario).expectations(scenario), captures)
    verdicts = verify(evidence, checks)
    evidence.forget()
    row, failed = with_own_metrics(events, samples, counters, facts, own, captures)
    write_json(directory / "verdict.json", verdict_document(verdicts, warnings_by(scenario)))
    write_json(directory / "metrics.json", row)
    return failed


def judge_anew(directory: Path, allow_code: bool = False) -> tuple[dict[str, Verdict], list[str], list[str]]:
    """Judge a run again from its record. Return the verdicts, notes, and errors in verdict.json and metrics.json.

    Missing files are written again. Existing files are not changed, but are reported as wrong if they differ from the
    new results. `allow_code` permits the code of a plug-in to judge its own promises.
    """
    run = read_run(directory)
    facts = run.manifest
    notes: list[str] = []
    wrong: list[str] = []
    with judging(directory):
        verdicts = verify(run, own_checks_of(directory, allow_code))
        run.forget()
        named = dict(facts.get("own_metrics", {}))
        own = own_metrics(scenario_of(directory), True) if named and allow_code else []
        fresh_metrics, _ = with_own_metrics(run.events, run.samples, run.counters, facts, own, run.captures)
    is_ours = facts.get("mobilenet_version") == __version__
    path, warnings = directory / "verdict.json", warnings_by(scenario_of(directory))
    if not path.exists():
        notes.append(_restore(path, verdict_document(verdicts, warnings)))
    else:
        try:
            stored_verdicts = verdicts_of(directory)
            judged = {name: stored_verdicts.get(name, v) if v == NEEDS_CODE else v for name, v in verdicts.items()}
            if overall(stored_verdicts) != overall(judged):
                wrong.append(
                    f"{path} has the verdict {overall(stored_verdicts)}, which contradicts the record; {AGAIN}"
                )
            elif is_ours and path.read_bytes() != as_text(verdict_document(judged, warnings)).encode():
                wrong.append(f"{path}: changed since the run wrote it; {AGAIN}")
        except RunError as error:
            wrong.append(str(error))
    path = directory / "metrics.json"
    stored: dict[str, Any] | None = None
    if path.exists():
        try:
            stored = read_derived(directory, "metrics.json")
        except RunError as error:
            return verdicts, notes, [*wrong, str(error)]
    if named and not own:
        notes.append(f"{', '.join(named)}: metrics of plug-ins are not computed again without --allow-code")
        fresh_metrics |= {name: (stored or {}).get(name) for name in named}
    if stored is None:
        notes.append(_restore(path, fresh_metrics))
    elif differing := [
        name for name in stored.keys() | fresh_metrics.keys() if _differs(stored, fresh_metrics, name, is_ours)
    ]:
        wrong.append(f"{path}: {min(differing)} contradicts the record; {AGAIN}")
    elif is_ours and path.read_bytes() != as_text(stored).encode():
        wrong.append(f"{path}: changed since the run wrote it; {AGAIN}")
    return verdicts, notes, wrong


def verdicts_of(directory: Path) -> dict[str, Verdict]:
    """Return the content of verdict.json."""
    checks = read_derived(directory, "verdict.json", "checks")["checks"]
    try:
        return {name: Verdict(check["answer"], check["explanation"]) for name, check in checks.items()}
    except (AttributeError, KeyError, TypeError, ValueError):
        raise RunError(f"{directory / 'verdict.json'}: garbled; {AGAIN}") from None


def read_warnings(directory: Path) -> list[str]:
    """Return the warnings in verdict.json."""
    warnings = read_derived(directory, "verdict.json").get("warnings", [])
    return [line for line in warnings if isinstance(line, str)] if isinstance(warnings, list) else []


def _differs(stored: dict[str, Any], fresh_metrics: dict[str, Any], name: str, is_ours: bool) -> bool:
    """Return whether a stored metric contradicts the metric computed from the record. `is_ours` is true if this version
    wrote the file. Earlier versions lack newer metrics, and wrote 0 or null for metrics that a protocol does not have.
    """
    if name not in stored:
        return is_ours
    if name not in fresh_metrics:
        return is_ours or bool(stored[name])
    # 0 == False in Python, but not in JSON
    return json.dumps(as_whole(stored[name])) != json.dumps(as_whole(fresh_metrics[name]))


def _restore(path: Path, document: dict[str, Any]) -> str:
    if path.is_symlink():
        return f"{path} is a dangling symbolic link, and is left unchanged"
    try:
        write_json(path, document)
    except OSError as error:
        return f"{path} was missing, and cannot be written: {error.strerror}"
    return f"{path} was missing, and has been restored"


def answer_in_words(verdicts: dict[str, Verdict], delivery_ratio: float | int | None) -> str:
    """Return the verdict, followed by the delivery ratio. The ratio is omitted if it is 1 and a checked property covers
    deliveries.
    """
    answer = overall(verdicts)
    if delivery_ratio is None or (delivery_ratio == 1 and verdicts.keys() & {"delivery", "validity", "agreement"}):
        return answer
    return f"{answer}; delivered {percentage(delivery_ratio)} of what was owed"


def verdict_document(verdicts: dict[str, Verdict], warnings: Sequence[str] = ()) -> dict[str, Any]:
    return {
        "verdict": overall(verdicts),
        **({"warnings": list(warnings)} if warnings else {}),
        "checks": {name: {"answer": v.answer, "explanation": v.explanation} for name, v in verdicts.items()},
    }

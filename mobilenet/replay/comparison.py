"""Is a record what its scenario gives? The run is repeated and compared with it, row by row.

Model     the scenario decides everything that happens, so the repeat has the same tables, counters, packets, verdict,
          metrics and manifest. Only how long it took, the command, the version of mobilenet, and whether its modules
          were compiled may differ. A run of a swarm is played by its seed, and one that was stopped by hand up to there
Errors    RunError for a run in real time; ScenarioError where its code may not run
Source    ours: docs/verdicts-and-metrics.md
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from mobilenet import __version__
from mobilenet.api import run
from mobilenet.clock import Progress
from mobilenet.interactive.keeping import keep_unfinished
from mobilenet.interactive.session import LiveSession
from mobilenet.parameters import ScenarioError
from mobilenet.quoting import cut, spell_out
from mobilenet.rundir.pcap import read_captures
from mobilenet.rundir.reader import RunError, read_json, read_manifest, read_table, require_files
from mobilenet.rundir.schema import COLUMNS, DERIVED_FILES
from mobilenet.scenario.mobile import Scenario
from mobilenet.scenario.real_time import REAL_TIME
from mobilenet.scenario.run_source import AdversarySchedule, read_source
from mobilenet.scratch import scratch_folder
from mobilenet.simulation.plugin_code import PluginError
from mobilenet.swarm import plug_ins
from mobilenet.swarm.campaign import keep_run

OF_THE_MOMENT = ("wall_s", "command", "mobilenet_version", "compiled", "files", "manifest_sha256")
NO_REPEAT = "a run in real time cannot be repeated; its verdict rests on the promises and on the accounting of packets"


def difference(directory: Path, progress: Progress | None = None, allow_code: bool = False) -> str | None:
    """The first difference between the record and a repeat of its run; None: they are the same."""
    manifest = read_manifest(directory)
    require_files(directory, manifest)
    with scratch_folder("repeat") as folder:
        _repeat(directory, manifest, folder / "repeat", progress, allow_code)
        found = next(_differences(directory, folder / "repeat"), None)
        return None if found is None else f"{found}{_versions(manifest, read_manifest(folder / 'repeat'))}"


def can_be_repeated(directory: Path) -> bool:
    """Whether the scenario decides all that happens in the run."""
    scenario = read_source(directory / "scenario.yaml")
    return isinstance(scenario, AdversarySchedule) or scenario.protocol.name not in REAL_TIME


def _repeat(directory: Path, manifest: dict[str, Any], out: Path, progress: Progress | None, allow_code: bool) -> None:
    scenario, error = read_source(directory / "scenario.yaml"), str(manifest.get("ended_by_error"))
    if isinstance(scenario, AdversarySchedule):
        _play_schedule(scenario, manifest["command"], out, allow_code)
    elif scenario.protocol.name in REAL_TIME:
        raise RunError(f"{directory}: {NO_REPEAT}")
    elif isinstance(scenario, Scenario) and error.startswith("stopped by hand"):
        _play_until(directory, scenario, round(manifest["simulated_s"] * 1e9), out, allow_code)
    else:
        try:
            run(scenario, out=out, progress=progress, allow_code=allow_code)
        except PluginError as failure:
            if "ended_by_error" not in manifest or failure.directory is None:
                raise


def _play_schedule(scenario: AdversarySchedule, command: str, out: Path, allow_code: bool) -> None:
    """Play what belongs to the seed; only the command names a plug-in."""
    protocol = plug_ins.protocol_in(command, scenario.protocol.name)
    if plug_ins.is_plug_in(protocol) and not allow_code:
        raise ScenarioError(f"{protocol}: the repeat runs its code, with your full permissions; expected --allow-code")
    keep_run(scenario.seed, out, scenario.backbone, protocol)


def _play_until(directory: Path, scenario: Scenario, end_ns: int, out: Path, allow_code: bool) -> None:
    """Play a run to the end of its last nanosecond or, if it was stopped amid that, until it has counted as much."""
    counters = read_json(directory, "counters.json")
    for is_amid in (False, True):
        session, until_ns = LiveSession(scenario, allow_code), end_ns - is_amid
        while session.now_ns < until_ns and not session.is_over:  # it stops at each violation
            session.play_ns(until_ns)
        while is_amid and session.now_ns <= end_ns and not session.is_over and not _has_counted(session, counters):
            session.step_once()
        if is_amid or _has_counted(session, counters):
            break
        session.close()
    keep_unfinished(session, out)
    session.close()


def _has_counted(session: LiveSession, counters: dict[str, Any]) -> bool:
    document = session.simulation.outcome_now().recording.document()
    rows = [counts["rows"]["events"] for counts in (document, counters)]
    return rows[0] == rows[1] and all(document[key] == counters[key] for key in document if key != "rows")


def _versions(recorded: dict[str, Any], repeated: dict[str, Any]) -> str:
    """With what each side was made, unless it is the same."""
    one, other = ((facts.get("mobilenet_version"), facts.get("compiled")) for facts in (recorded, repeated))
    if one == other:
        return ""
    sides = [f"{version} ({'compiled' if compiled else 'interpreted'})" for version, compiled in (one, other)]
    return (
        f". The run was recorded with mobilenet {sides[0]} and repeated with {sides[1]}: where only these differ, the"
        " difference shows a change of the simulator, and not an edit"
        if one[0] != __version__
        else f". The run was recorded with mobilenet {sides[0]} and repeated with {sides[1]}"
    )


def _differences(directory: Path, repeat: Path) -> Iterator[str]:
    for name in COLUMNS:
        files = [(folder / f"{name}.parquet").exists() for folder in (directory, repeat)]
        if files[0] != files[1]:
            which = ("record", "repeat") if files[0] else ("repeat", "record")
            yield f"{name}.parquet: the {which[0]} has it, but the {which[1]} does not"
        elif all(files):
            yield from _of_tables(name, read_table(directory, name), read_table(repeat, name))
    yield from _of_values("counters.json", *(read_json(folder, "counters.json") for folder in (directory, repeat)))
    yield from _of_values("manifest.json", *(_facts(folder) for folder in (directory, repeat)))
    yield from _of_values("packets", *(_packets(folder) for folder in (directory, repeat)))
    for name in DERIVED_FILES:
        if (directory / name).exists() and (repeat / name).exists():
            yield from _of_values(name, read_json(directory, name), read_json(repeat, name))


def _facts(folder: Path) -> dict[str, Any]:
    facts = {key: value for key, value in read_manifest(folder).items() if key not in OF_THE_MOMENT}
    for name in ("ended_by_error", "own_metrics_failed"):
        if name in facts:
            facts[name] = True  # its words name the file that failed, which is another one
    return facts


def _packets(folder: Path) -> dict[str, Any]:
    """Of each node, by their numbers."""
    return {node: dict(enumerate(packets)) for node, packets in (read_captures(folder) or {}).items()}


def _of_tables(name: str, record: pa.Table, repeat: pa.Table) -> Iterator[str]:
    rows = min(len(record), len(repeat))
    differ = np.zeros(rows, bool)
    for column in COLUMNS[name]:
        one, other = (table[column][:rows].to_numpy() for table in (record, repeat))
        differ |= (one != other) & ((one == one) | (other == other))  # only NaN is not itself
    if differ.any():
        row = int(np.argmax(differ))
        one, other = ({c: table[c][row].as_py() for c in COLUMNS[name]} for table in (record, repeat))
        column = next(c for c in COLUMNS[name] if repr(one[c]) != repr(other[c]))
        yield (
            f"{name}: row {row}{_where(one)} has {column} {_short(one[column])}, but the repeat has"
            f" {_short(other[column])}"
        )
    elif len(record) != len(repeat):
        yield f"{name}: {len(record)} rows, but the repeat has {len(repeat)}"


def _where(row: dict[str, Any]) -> str:
    """The time and the node of a row."""
    time_ns = next((row[name] for name in ("time_ns", "start_ns", "send_ns") if name in row), None)
    node = row.get("node") or row.get("sender")
    return "" if time_ns is None or node is None else f" ({node} at {time_ns / 1e9:.9f} s)"


def _of_values(path: str, record: Any, repeat: Any) -> Iterator[str]:
    if isinstance(record, dict) and isinstance(repeat, dict):
        for key in (*repeat, *(key for key in record if key not in repeat)):
            yield from _of_values(f"{path}: {key}", record.get(key), repeat.get(key))
    elif record != repeat:
        yield f"{path}: {_short(record)}, but the repeat has {_short(repeat)}"


def _short(value: Any) -> str:
    return cut(spell_out(repr(value)), 80)

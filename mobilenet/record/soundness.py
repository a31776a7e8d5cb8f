"""Find the fault in the files of a run after a program failed to read them correctly.

Model     this is used only after an error, because it reads everything. It compares the record with the digests in the
          manifest and the manifest with its schema and its scenario, and checks the form of derived files. If it finds
          nothing, the error is in the reader
Errors    none, because faults are returned as text
Source    ours: docs/run-directory.md
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mobilenet.record.kinds import run_kind
from mobilenet.record.reader import AGAIN, RunError, read_derived, read_json, read_manifest, require_files
from mobilenet.record.schema import DERIVED_FILES
from mobilenet.scenario import ScenarioError
from mobilenet.scenario.plans.by_kind import plans_of
from mobilenet.scenario.run_source import read_source

NUMBER = (int, float)
LARGE = 1e12  # larger than any number in a manifest
FACTS: dict[str, Any] = {
    "mobilenet_version": str, "fingerprint": str, "simulated_s": NUMBER, "wall_s": NUMBER, "command": str,
    "quiescent": bool, "files": dict, "promises": dict,
}  # fmt: skip
OF_PLUG_INS: dict[str, Any] = {"own_metrics": dict, "own_checks": dict}
OF_MOBILE: dict[str, Any] = {
    "range_m": NUMBER, "payload_bytes": int, "station_positions_m": list, "station_links": (list, type(None)),
    "station_names": dict, "host_names": dict, "skipped_tracks": int,
}  # fmt: skip


def fault(directory: Path) -> str | None:
    """Return the first fault as one line that names the file. Return None if no file has a fault."""
    if not directory.is_dir() or (directory / "study.yaml").exists():
        return None
    try:
        manifest = read_manifest(directory)
        require_files(directory, manifest)
        scenario = read_source(directory / "scenario.yaml")
        derived = derived_fault(directory)
        counters = read_json(directory, "counters.json")
    except RunError as error:
        return str(error)
    except ScenarioError as error:
        return f"{str(error).splitlines()[0]}; the run is damaged"
    wrong = _in_manifest(manifest, plans_of(scenario).declared_manifest(scenario))
    if wrong is not None:
        return f"{directory / 'manifest.json'}: {wrong}; the run is damaged"
    if derived is not None:
        return derived
    for key in ("rows", run_kind(manifest).carried_in[0]):
        if key not in counters:
            return f"{directory / 'counters.json'}: {key} is missing; the run is damaged"
    return None


def derived_fault(directory: Path) -> str | None:
    """Return what is wrong with the derived files that exist. Raise RunError if one of them is not readable."""
    derived = {name: read_derived(directory, name) for name in DERIVED_FILES if (directory / name).exists()}
    if not all(isinstance(value, (*NUMBER, type(None))) for value in derived.get("metrics.json", {}).values()):
        name = next(n for n, value in derived["metrics.json"].items() if not isinstance(value, (*NUMBER, type(None))))
        return f"{directory / 'metrics.json'}: {name[:60]}: expected a number or null; {AGAIN}"
    checks = derived.get("verdict.json", {"checks": {}}).get("checks")
    if not isinstance(checks, dict) or not all(
        isinstance(check, dict) and isinstance(check.get("answer"), str) and isinstance(check.get("explanation"), str)
        for check in checks.values()
    ):
        return f"{directory / 'verdict.json'}: expected an answer and an explanation for each check; {AGAIN}"
    return None


def _in_manifest(manifest: dict[str, Any], promised: dict[str, Any]) -> str | None:
    expected = FACTS | OF_PLUG_INS | (OF_MOBILE if "station_positions_m" in manifest else {})
    for key, kind in expected.items():
        if key in FACTS and key not in manifest:
            return f"{key} is missing"
        entry = manifest.get(key)
        is_of_kind = isinstance(entry, kind) and (kind is bool or not isinstance(entry, bool))
        if key in manifest and not (is_of_kind and (not isinstance(entry, float) or abs(entry) < LARGE)):
            return f"{key} is {str(entry)[:40]!r}, which no run writes there"
    for key, value in promised.items():
        if key == "hosts" and value is None:
            continue  # With tracks, the number of hosts depends on the tracks.
        if key not in manifest or str(manifest[key])[:5000] != str(_as_json(value))[:5000]:
            return f"{key} is {str(manifest.get(key))[:40]!r}, but according to scenario.yaml it is {str(value)[:40]!r}"
    return None


def _as_json(value: Any) -> Any:
    import json

    return json.loads(json.dumps(value))

"""Export a run or a study as result files of OMNeT++, for opp_scavetool and its Analysis Tool.

Model     NAME.sca     metrics.json and counters.json; the number of events at each node and, if frames were
                       recorded, of receptions at each node; a statistic of the delays at each node
          NAME.vec     every quantity of samples over time, and the delays of the deliveries at each node
          NAME.vci     the index of NAME.vec: where the values of each vector are, and their sums
          Metrics, numbers of events and delays cover the measurement period, as in metrics.json; everything else
          covers the whole run. Each file begins with the same description of its run, by which OMNeT++ groups runs
          into experiments. The files of a run have the same bytes whenever they are written: they do not contain a
          date, and the modification time of NAME.vec, which is part of the index, is always the same
Units     seconds with nine decimals; other numbers as in the record
Errors    RunError for a run that cannot be read
Source    OMNeT++ 6.1, Simulation Manual, appendix "Result File Formats"
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from math import fsum, nan, sqrt
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mobilenet.engine.clock import SECOND
from mobilenet.lab.export import omnetpp_names as names
from mobilenet.lab.export.geojson import EPOCH_S
from mobilenet.metrics.deliveries import Deliveries
from mobilenet.quoting import as_file_name
from mobilenet.record.kinds import run_kind
from mobilenet.record.reader import read_coded, read_derived, read_json, read_manifest
from mobilenet.record.schema import MAC_ACK
from mobilenet.record.stamp import in_document
from mobilenet.record.table import Table, by_code
from mobilenet.record.writer import write_json
from mobilenet.scenario.yaml_reader import read

BLOCK = 5000  # the number of rows of a vector that a reader loads at a time
UNNAMED = "General"  # the configuration name for a scenario or study without a name
LONGEST_FILE_NAME = 200  # maximum length in bytes, without the suffix


class Place(NamedTuple):
    """The position of a run within its experiment."""

    configuration: str  # name of the study, or of the scenario of a single run
    levels: Mapping[str, str] = {}  # factor -> level
    repetition: int = 0
    number: int = 0  # run number within the experiment

    @property
    def levels_in_name(self) -> str:
        return ",".join(f"{as_file_name(factor)}={as_file_name(level)}" for factor, level in self.levels.items())

    @property
    def file_name(self) -> str:
        levels = f"{self.levels_in_name}-" if self.levels else ""
        return f"{as_file_name(self.configuration) or UNNAMED}-{levels}#{self.repetition}"


class OpenRun(NamedTuple):
    """A run that has been opened, and the description that begins each of its files."""

    folder: Path
    manifest: dict[str, Any]
    events: Table
    id: str
    file_name: str  # name of the run's files, without the suffix
    head: str


def open_run(folder: Path, place: Place | None = None) -> OpenRun:
    """Read the parts of a run that all its files need. `place` is None for a run outside a study."""
    manifest = read_manifest(folder)
    scenario = read(folder / "scenario.yaml").plain()
    place = place or Place(scenario.get("name") or UNNAMED)
    run_id = f"{as_file_name(place.configuration) or UNNAMED}-{place.number}-{str(manifest['fingerprint'])[:12]}"
    variables = ", ".join(f"${factor}={level}" for factor, level in place.levels.items())
    attributes = {
        "configname": place.configuration,
        "experiment": place.configuration,
        "iterationvars": variables,
        "iterationvarsf": f"{place.levels_in_name}-" if place.levels else "",
        "measurement": variables,
        "network": names.NETWORK,
        "repetition": place.repetition,
        "replication": f"#{place.repetition}",
        "runnumber": place.number,
        "seed": manifest["seed"],
        "seedset": place.repetition,
        "mobilenet": manifest["mobilenet_version"],
    }
    head = "".join(
        (
            names.line("run", run_id),
            *(names.line("attr", name, value) for name, value in attributes.items()),
            *(names.line("itervar", factor, level) for factor, level in place.levels.items()),
            *(names.line("config", key, value) for key, value in names.configuration(scenario)),
            "\n",
        )
    )
    return OpenRun(folder, manifest, read_coded(folder, "events"), run_id, place.file_name, head)


def write_run(run: OpenRun, target: Path, name: str) -> None:
    """Write the result files of a run into a folder."""
    delays = list(_delays(run))
    with (target / f"{name}.sca").open("w", encoding="utf-8", newline="\n") as file:
        file.write("version 3\n" + run.head)
        for named, value in _scalars(run):
            file.write(names.line("scalar", named.module, named.name, names.number(value)))
            file.write(names.attributes(named.attributes))
        for node, _, delays_ns in delays:
            file.write(_statistic(node, delays_ns))
    with VectorFile(target / f"{name}.vec", run.head) as vectors:
        for named, times, values in _samples(run):
            vectors.add(named, times, list(map(names.number, values.tolist())), values)
        for node, times, delays_ns in delays:
            texts = list(map(names.seconds, delays_ns.tolist()))
            vectors.add(_delay_of(node, "vector"), times, texts, delays_ns / SECOND)


def write_study(study: Path, places: Mapping[str, Place], target: Path) -> None:
    """Write the result files of a study's runs into a folder. `places` maps the name of each run to its position."""
    alike = Counter(place.file_name.casefold() for place in places.values())
    for run, place in places.items():
        is_usable = len(place.file_name.encode()) <= LONGEST_FILE_NAME and alike[place.file_name.casefold()] == 1
        write_run(open_run(study / "runs" / run, place), target, place.file_name if is_usable else run)


def write_contents(folder: Path, directory: Path, kind: str) -> int:
    """Write contents.json, which contains the provenance of the other files, and return the number of these files."""
    files = sorted(path.name for path in folder.iterdir())
    write_json(folder / "contents.json", in_document({kind: directory.resolve().name, "files": files}))
    return len(files)


def _scalars(run: OpenRun) -> Iterator[tuple[names.Named, float | None]]:
    metrics = read_derived(run.folder, "metrics.json")
    own = run.manifest.get("own_metrics") or {}
    for metric, named in names.of_metrics(metrics, run_kind(run.manifest).name, own):
        yield named, metrics[metric]
    for section, counters in read_json(run.folder, "counters.json").items():
        if isinstance(counters, dict) and section != "rows":
            yield from names.of_counters(section, counters)
    yield from _event_counts(run)
    if (run.folder / "frames.parquet").exists():
        yield from _reception_counts(run)


def _event_counts(run: OpenRun) -> Iterator[tuple[names.Named, int]]:
    """Yield the number of events of each kind at each node in the measurement period. If a kind of event occurs at any
    node of a type, it is listed for all nodes of this type.
    """
    begin, end = run_kind(run.manifest).window_ns(run.manifest)
    times, nodes, events = (run.events.numbers("time_ns"), *map(run.events.column, ("node", "event")))
    counts = _crosstab(nodes.codes, len(nodes.words), events.codes, len(events.words), (begin <= times) & (times < end))
    everywhere = _crosstab(nodes.codes, len(nodes.words), events.codes, len(events.words))
    rows = {node: row for row, node in enumerate(nodes.words)}
    for node in names.nodes_of(run.manifest):
        alike = [row for other, row in rows.items() if other[:1] == node[:1]]
        for column, event in sorted(enumerate(events.words), key=lambda item: str(item[1])):
            if everywhere[alike, column].any():
                yield names.of_events(node, event), int(counts[rows[node], column]) if node in rows else 0


def _reception_counts(run: OpenRun) -> Iterator[tuple[names.Named, int]]:
    """Yield the number of receptions with each outcome, for each node in range of a frame. MAC acknowledgements are not
    counted.
    """
    frames = read_coded(run.folder, "frames", ["receiver", "kind", "fate"])
    nodes, kinds, fates = map(frames.column, ("receiver", "kind", "fate"))
    is_counted = ~kinds.among([MAC_ACK])
    counts = _crosstab(nodes.codes, len(nodes.words), fates.codes, len(fates.words), is_counted)
    for row, node in sorted(enumerate(nodes.words), key=lambda item: names.index_of(item[1])):
        yield from names.of_receptions(node, dict(zip(fates.words, counts[row].tolist(), strict=True)))


def _crosstab(rows: np.ndarray, height: int, columns: np.ndarray, width: int, which: Any = slice(None)) -> np.ndarray:
    """Return how often each pair of codes occurs, as an array of shape (height, width)."""
    pairs = rows[which].astype(np.int64) * width + columns[which]
    return np.bincount(pairs, minlength=height * width).reshape(height, width)


def _delays(run: OpenRun) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield each node with the times and delays of its deliveries, in nanoseconds. metrics.json averages the same
    delays.
    """
    begin, end = run_kind(run.manifest).window_ns(run.manifest)
    deliveries = Deliveries(run.events)
    is_one = deliveries.was_broadcast & (begin <= deliveries.sent_ns) & (deliveries.sent_ns < end)
    if run_kind(run.manifest).delivers_at_once:
        is_one &= ~deliveries.is_own
    delays_ns, words = deliveries.delay_ns, run.events.column("node").words
    for node in sorted(words, key=names.index_of):
        places = deliveries.places_of(node)
        places = places[is_one[places]]
        if len(places):
            yield node, deliveries.time_ns[places], delays_ns[places]


def _delay_of(node: str, kind: str) -> names.Named:
    values = {"title": "delay from broadcast to delivery", "unit": "s"}
    values |= {"interpolationmode": "none"} if kind == "vector" else {}
    return names.Named(names.module_of(node, names.APPLICATION), f"endToEndDelay:{kind}", values)


def _statistic(node: str, delays_ns: np.ndarray) -> str:
    named, values, count = _delay_of(node, "stats"), (delays_ns / SECOND).tolist(), len(delays_ns)
    mean = fsum(values) / count
    fields: dict[str, float] = {
        "count": count,
        "mean": mean,
        "stddev": sqrt(fsum((value - mean) ** 2 for value in values) / (count - 1)) if count > 1 else nan,
        "sum": fsum(values),
        "sqrsum": fsum(value * value for value in values),
        "min": min(values),
        "max": max(values),
    }
    lines = (names.line("field", name, names.number(value)) for name, value in fields.items())
    return names.line("statistic", named.module, named.name) + "".join(lines) + names.attributes(named.attributes)


def _samples(run: OpenRun) -> Iterator[tuple[names.Named, np.ndarray, np.ndarray]]:
    """Yield each quantity of each node over time, as (name, times in nanoseconds, values)."""
    samples = read_coded(run.folder, "samples")
    nodes, quantities = samples.column("node"), samples.column("quantity")
    times, values = samples.numbers("time_ns"), samples.numbers("value")
    rows = by_code(nodes.codes.astype(np.int64) * len(quantities.words) + quantities.codes)
    keys = np.stack((nodes.codes[rows], quantities.codes[rows]))
    edges = [0, *(np.flatnonzero((np.diff(keys) != 0).any(axis=0)) + 1).tolist(), len(rows)] if len(rows) else [0]
    parts = [(nodes.words[keys[0, a]], quantities.words[keys[1, a]], rows[a:b]) for a, b in pairwise(edges)]
    for node, quantity, places in sorted(parts, key=lambda part: (*names.index_of(part[0]), part[1])):
        yield names.of_samples(node, quantity), times[places], values[places]


class VectorFile:
    """Writes NAME.vec and, if no error occurs, its index NAME.vci."""

    def __init__(self, path: Path, head: str) -> None:
        self._path, self._file = path, path.open("wb")
        self._count, self._offset = 0, 0
        self._index = ["version 3\n" + head]
        self._write("version 3\n" + head)

    def __enter__(self) -> VectorFile:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self._file.close()
        if kind is None:
            os.utime(self._path, (EPOCH_S, EPOCH_S))
            first = f"file {self._offset} {EPOCH_S}\n"
            self._path.with_suffix(".vci").write_text(first + "".join(self._index), encoding="utf-8", newline="\n")

    def add(self, named: names.Named, times_ns: np.ndarray, texts: Sequence[str], values: np.ndarray) -> None:
        """Add a non-empty vector. `texts` contains its values as they are written."""
        number, self._count = self._count, self._count + 1
        declaration = names.line("vector", number, named.module, named.name, "TV") + names.attributes(named.attributes)
        self._write(declaration)
        self._index.append(declaration)
        for first in range(0, len(times_ns), BLOCK):
            block = slice(first, first + BLOCK)
            stamps, numbers = list(map(names.seconds, times_ns[block].tolist())), values[block].tolist()
            begin = self._offset
            self._write("".join(f"{number}\t{t}\t{v}\n" for t, v in zip(stamps, texts[block], strict=True)))
            sums = min(numbers), max(numbers), fsum(numbers), fsum(value * value for value in numbers)
            self._index.append(
                f"{number}\t{begin} {self._offset - begin} {stamps[0]} {stamps[-1]} {len(numbers)}"
                f" {' '.join(map(names.number, sums))}\n"
            )

    def _write(self, text: str) -> None:
        data = text.encode()
        self._file.write(data)
        self._offset += len(data)

"""Describe an archive as an RO-Crate: its files, and the command that made each study and each set of answers.

Model     The metadata conforms to RO-Crate 1.3 without a further profile. The root data set contains a data set for
          each part, which contains the files of the part. A CreateAction links the study file or claims file to its
          results, with mobilenet as the instrument.
Units     contentSize is in bytes, as text.
Source    https://w3id.org/ro/crate/1.3
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import PurePosixPath
from typing import Any, NamedTuple
from urllib.parse import quote

from mobilenet.lab.artefact.parts import CLAIMS, STUDIES
from mobilenet.lab.artefact.readme import CRATE, Summary, contents
from mobilenet.quoting import pluralize

VERSION = "https://w3id.org/ro/crate/1.3"
KINDS = {
    ".csv": "text/csv", ".json": "application/json", ".md": "text/markdown",
    ".parquet": "application/vnd.apache.parquet", ".pdf": "application/pdf", ".png": "image/png",
    ".py": "text/x-python", ".svg": "image/svg+xml",
    ".txt": "text/plain", ".lock": "text/plain", ".yaml": "application/yaml", ".geojson": "application/geo+json",
}  # fmt: skip
TABLES = {
    "runs": "Metrics of each run", "summary": "Means with intervals", "buffers": "Buffers over time",
    "delays": "Percentiles of delays", "distribution": "Distribution of delays", "handoffs": "Handoffs",
}  # fmt: skip
DESCRIPTIONS = {
    "README.md": "Contents, claims with their answers, and how to check them", "requirements.lock": "Dependencies",
    "installed.txt": "Installed packages", "study.yaml": "Study file", "claims.yaml": "Claims file",
    "claims": "Answers to the claims", "runs": "Planned runs and their states", "comparison": "Comparison of levels",
    "effects": "Effects of levels", "capacity": "Answer of the capacity search", "sensitivity": "Ranking of the keys",
}  # fmt: skip
MADE = (".csv", ".parquet", ".svg", ".png", ".pdf", "claims.json", "capacity.json", "capacity.md")
NO_LICENSE = "No licence is stated"
Entity = dict[str, Any]


class About(NamedTuple):
    """The information that the author of the archive provides."""

    title: str
    date: str  # ISO 8601
    license: str | None  # an SPDX identifier, such as CC-BY-4.0


def metadata(about: About, parts: Sequence[Summary], files: Mapping[str, bytes], made_by: Mapping[str, Any]) -> bytes:
    """Return the content of ro-crate-metadata.json. `files` contains all other files by name, except checksums.json."""
    top_folders = [f"{one.part.place}/" for one in parts]
    loose = [name for name in sorted(files) if not name.startswith((f"{STUDIES}/", f"{CLAIMS}/"))]
    graph: list[Entity] = [
        {"@id": CRATE, "@type": "CreativeWork", "conformsTo": {"@id": VERSION}, "about": {"@id": "./"}},
        {
            "@id": "./", "@type": "Dataset", "name": about.title, "description": _description(parts),
            "datePublished": about.date, "license": {"@id": _license(about)["@id"]},
            "hasPart": _links([*top_folders, *loose]), "mentions": _links(f"#{one.part.place}" for one in parts),
        },
        _license(about),
        _program(made_by),
    ]  # fmt: skip
    for one, top in zip(parts, top_folders, strict=True):
        inside = [name for name in sorted(files) if name.startswith(top)]
        what = "Evaluated claims" if one.part.kind == CLAIMS else one.kind
        graph.append(
            {
                "@id": _id(top), "@type": "Dataset", "name": f"{what}: {one.part.name}", "hasPart": _links(inside),
                "description": f"{what}, {pluralize(one.configurations, 'configuration')} and"
                f" {pluralize(one.runs, 'run')}",
            }
        )  # fmt: skip
        graph.append(_action(one, inside))
    graph += [_file(name, files[name]) for name in sorted(files)]
    document = {"@context": f"{VERSION}/context", "@graph": graph}
    return (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode()


def _description(parts: Sequence[Summary]) -> str:
    return (
        f"{contents(parts)} about simulated mobile networks, with all scenarios, tables and figures;"
        " `mobilenet artefact check` runs them again"
    )


def _license(about: About) -> Entity:
    if about.license is None:
        text = "The authors of this archive have not stated a licence."
        return {"@id": "#license", "@type": "CreativeWork", "name": NO_LICENSE, "description": text}
    place = f"https://spdx.org/licenses/{quote(about.license)}"
    return {"@id": place, "@type": "CreativeWork", "name": about.license, "description": f"Licence {about.license}"}


def _program(made_by: Mapping[str, Any]) -> Entity:
    """Return mobilenet as an entity. It is not a SoftwareApplication, because that requires a `url`, which mobilenet
    does not have.
    """
    entity: Entity = {
        "@id": "#mobilenet", "@type": "CreativeWork", "name": "mobilenet", "version": made_by["mobilenet"],
        "description": "Emulator of mobile networks and of the broadcast protocols that run on them",
    }  # fmt: skip
    if made_by["commit"] is not None:
        entity["version"] = f"{made_by['mobilenet']}, commit {made_by['commit']}"
    return entity


def _action(one: Summary, inside: Sequence[str]) -> Entity:
    command, source = ("claims", "claims.yaml") if one.part.kind == CLAIMS else ("study", "study.yaml")
    files = [name for name in inside if name.endswith(MADE)]
    name = f"mobilenet {command} {one.part.place}/{source}"
    return {
        "@id": f"#{one.part.place}", "@type": "CreateAction",
        "name": name if one.search is None else one.search.command_in(one.part.place),
        "instrument": {"@id": "#mobilenet"}, "object": _links([f"{one.part.place}/{source}"]), "result": _links(files),
    }  # fmt: skip


def _file(name: str, data: bytes) -> Entity:
    path = PurePosixPath(name)
    entity: Entity = {
        "@id": _id(name), "@type": "File", "name": path.name, "contentSize": str(len(data)),
        "sha256": sha256(data).hexdigest(), "description": _description_of(path),
    }  # fmt: skip
    if (kind := KINDS.get(path.suffix.lower())) is not None:
        entity["encodingFormat"] = kind
    return entity


def _links(names: Iterable[str]) -> list[Entity] | Entity:
    """Return references to entities. Return a single reference without a list."""
    links = [{"@id": name if name.startswith("#") else _id(name)} for name in names]
    return links[0] if len(links) == 1 else links


def _description_of(path: PurePosixPath) -> str:
    if path.parent.name == "figures":
        return "Figure of the study"
    if path.parent.name == "tables":
        return f"{TABLES.get(path.stem, 'Table of the study')}, as {path.suffix[1:]}"
    if "configurations" in path.parts:
        number = path.parts[path.parts.index("configurations") + 1]
        return f"File of configuration {number}" if path.name != "factors.yaml" else "Levels of all factors"
    return DESCRIPTIONS.get(path.name) or DESCRIPTIONS.get(path.stem, "File of the archive")


def _id(name: str) -> str:
    return quote(name)

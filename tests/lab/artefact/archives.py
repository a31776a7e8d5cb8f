"""Archives for tests: small ones of any content, right and wrong."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mobilenet.lab.artefact.archive import CHECKSUMS
from mobilenet.lab.artefact.making import versions
from mobilenet.lab.artefact.writing import checksums

FILES = {"README.md": b"# A study\n", "studies/a/study.yaml": b"scenario: configurations/c000/scenario.yaml\n"}


def zip_files(
    target: Path,
    files: Mapping[str, bytes] = FILES,
    more: Mapping[str, bytes] | None = None,
    listed: Mapping[str, Any] | None = None,
) -> Path:
    """Write an archive with correct checksums of `files`, then `more` files; `listed`: replaces parts of the list."""
    document = json.loads(checksums(files, versions())) | (listed or {})
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in {**files, CHECKSUMS: json.dumps(document).encode(), **(more or {})}.items():
            file.writestr(name, data)
    return target


def unzip(path: Path) -> dict[str, bytes]:
    """Return all files but checksums.json."""
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist() if name != CHECKSUMS}

"""Helpers for the tests of several packages: call the command in this process, edit files, and copy directories."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typer.testing import CliRunner

from mobilenet.cli.main import app
from mobilenet.record.writer import write_manifest

if TYPE_CHECKING:
    from click.testing import Result


def invoke(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


def refusal(*words: object) -> str:
    """Return the single line that a command prints when it rejects its input."""
    result = invoke(*words)
    assert result.exit_code == 2, result.output
    assert len(result.stderr.strip().splitlines()) == 1
    return result.stderr


@contextmanager
def editing(path: Path) -> Iterator[Any]:
    """Yield the value in a JSON file for editing, and write it back in the format of a run."""
    value = json.loads(path.read_text())
    yield value
    if path.name == "manifest.json":
        sign(path.parent, value)
    else:
        path.write_text(json.dumps(value))


def between_marks(page: str, begin: str, end: str, text: str) -> str:
    """Replace the text between two marks of the page. Raise ValueError unless each mark occurs exactly once."""
    if page.count(begin) != 1 or page.count(end) != 1:
        raise ValueError(f"expected {begin} and {end} once")
    before, _, rest = page.partition(begin)
    return f"{before}{begin}\n\n{text}\n\n{end}{rest.partition(end)[2]}"


def copy_run(directory: Path, target: Path, *without: str) -> Path:
    return Path(shutil.copytree(directory, target, ignore=shutil.ignore_patterns(*without)))


def sign(directory: Path, manifest: dict[str, Any]) -> None:
    """Write the manifest again, as if a run had written the files as they are now."""
    write_manifest(directory, {key: manifest[key] for key in manifest if key not in ("files", "manifest_sha256")})

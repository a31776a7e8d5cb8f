"""The provenance of a file: the version, the scenario, the runs and the command that made the file.

Model     the provenance is one line of JSON: in the metadata of SVG, PNG, PDF and Parquet, in a <meta> of pages, in a
          comment of LaTeX and Markdown, and as a member of JSON. For CSV and logs it is in a separate file,
          NAME.provenance.json. The command has a normal form: RUN or STUDY stands for the directory, and options that
          do not change the content are left out (such as paths, times and the number of workers). The same study,
          repeated elsewhere with the same version, therefore yields the same bytes
Source    ours: docs/run-directory.md, Provenance
"""

from __future__ import annotations

import html
import json
import shlex
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from mobilenet import __version__
from mobilenet.record.atomic_files import write_whole

KEY = "mobilenet-provenance"
SIDECAR = ".provenance.json"
COMMIT = "commit.txt"  # This file exists only in an installed package.
PACKAGE = Path(__file__).parents[1]
PLACE = "CLAIMS"  # the placeholder in commands for the directory with the answers to claims
# The kinds of input from which a file can be made.
RUN, RUNS, STUDY, STUDIES, CLAIMS, FILE = "run", "runs", "study", "studies", "claims", "file"


class Inputs(NamedTuple):
    """The inputs of a file. `scenario_sha256` is the digest of scenario.yaml or study.yaml in the directory, or of the
    file itself. `fingerprint` is the fingerprint of the run, or of all runs in order.
    """

    kind: str
    scenario_sha256: str
    fingerprint: str | None = None
    runs: int = 0


class Provenance(NamedTuple):
    command: str  # the command, with RUN, STUDY or FILE in place of the input
    inputs: Inputs
    version: str
    commit: str | None  # the commit of the source, if it is known, followed by + if files were changed after it

    def document(self) -> dict[str, Any]:
        return {
            "mobilenet": self.version,
            "commit": self.commit,
            "command": self.command,
            **{name: value for name, value in self.inputs._asdict().items() if value is not None},
        }

    def text(self) -> str:
        """Return the provenance as one line of ASCII."""
        return json.dumps(self.document())


def parse_provenance(text: str) -> Provenance:
    """Parse a line, and raise ValueError for anything else. Files may come from untrusted sources, and users may paste
    their commands into a shell.
    """
    document = json.loads(text)
    if not isinstance(document, dict):
        raise ValueError("not a provenance")
    texts = ("mobilenet", "command", "kind", "scenario_sha256")
    if not all(isinstance(document.get(name), str) for name in texts) or not isinstance(document.get("runs", 0), int):
        raise ValueError("not a provenance")
    if not all(isinstance(document.get(name), str | None) for name in ("commit", "fingerprint")):
        raise ValueError("not a provenance")
    command = document["command"]
    if not command.startswith("mobilenet ") or _quote_again(command) != command:
        raise ValueError("not exactly one mobilenet command")
    inputs = Inputs(document["kind"], document["scenario_sha256"], document.get("fingerprint"), document.get("runs", 0))
    return Provenance(command, inputs, document["mobilenet"], document.get("commit"))


def _quote_again(command: str) -> str:
    """Quote each word of a command, so that a shell does not run a second command or a redirection in it."""
    return shlex.join(shlex.split(command))


def new_provenance(command: str, inputs: Inputs) -> Provenance:
    """Return the provenance of a file that this version of mobilenet writes now."""
    return Provenance(command, inputs, __version__, commit())


def normal_command(verb: str, *words: str, **options: Any) -> str:
    """Return `mobilenet VERB WORDS --option VALUE ...`, without options that are None, False or empty."""
    parts = ["mobilenet", verb, *words]
    for name, value in options.items():
        option = f"--{name.replace('_', '-')}"
        if value is None or value is False or value == ():
            continue
        values = value if isinstance(value, tuple | list) else (value,)
        parts += [option] if value is True else [word for one in values for word in (option, _word(one))]
    return " ".join(parts)


def _word(value: Any) -> str:
    return shlex.quote(f"{value:g}" if isinstance(value, float) else str(value))


@cache
def commit() -> str | None:
    """Return the commit of the clone from which this code runs, or from which the package was built."""
    built = PACKAGE / COMMIT
    if built.is_file():
        return built.read_text(encoding="ascii").strip()
    if not (PACKAGE.parent / ".git").exists():
        return None
    words = ("git", "-C", str(PACKAGE.parent), "describe", "--always", "--abbrev=12", "--exclude=*", "--dirty=+")
    try:
        process = subprocess.run(words, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return process.stdout.strip() or None


@contextmanager
def keeping_commit() -> Iterator[None]:
    """Write the commit to a file of the package while it is being built."""
    known, file = commit(), PACKAGE / COMMIT
    try:
        if known is not None:
            file.write_text(known + "\n", encoding="ascii")
        yield
    finally:
        file.unlink(missing_ok=True)


# --- what is written now

_PRESENT: ContextVar[Provenance | None] = ContextVar("provenance", default=None)


@contextmanager
def stamping(provenance: Provenance) -> Iterator[None]:
    """Add this provenance to all files that are written in the block. In nested blocks, the provenance of the outermost
    block applies.
    """
    token = _PRESENT.set(_PRESENT.get() or provenance)
    try:
        yield
    finally:
        _PRESENT.reset(token)


def present() -> Provenance | None:
    """Return the provenance that the outermost block has set, or None outside all blocks."""
    return _PRESENT.get()


def stamp() -> str | None:
    """Return the current provenance as a line, or None."""
    here = present()
    return None if here is None else here.text()


def in_page(content: str) -> str:
    """Return an HTML page with its provenance."""
    if (line := stamp()) is None:
        return content
    return content.replace("<head>", f'<head>\n<meta name="{KEY}" content="{html.escape(line)}">', 1)


def in_text(content: str, before: str, after: str = "") -> str:
    """Return the content, followed by its provenance in a comment. `before` and `after` delimit a comment."""
    line = stamp()
    return content if line is None else f"{content}{before}{KEY}: {line}{after}\n"


def in_document(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a JSON document with its provenance."""
    here = present()
    return {**document, **({} if here is None else {KEY: here.document()})}


def as_member() -> str:
    """Return the provenance as the last member of a JSON document, with a comma before it."""
    line = stamp()
    return "" if line is None else f', "{KEY}": {line.replace("<", chr(92) + "u003c")}'


def write_sidecar(path: Path) -> None:
    """Write NAME.provenance.json next to a file whose format has no metadata."""
    if (line := stamp()) is not None:
        write_whole(path.with_name(path.name + SIDECAR), line + "\n")


def for_tables() -> dict[str, str]:
    """Return the provenance as metadata of a Parquet file."""
    line = stamp()
    return {} if line is None else {KEY: line}

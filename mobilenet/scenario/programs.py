"""The keys of a scenario for programs as nodes: commands, and facts that must be known before the programs run.

Model     There is one command for each role. If a command names files next to the scenario, they are copied with it.
Units     seconds
Errors    pydantic.ValidationError, which the scenario reports as one line for each problem
Source    ours: docs/guide/programs.md
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from mobilenet.parameters import Parameters
from mobilenet.quoting import cut, quote
from mobilenet.scenario.base import is_file, is_pattern

SAYS_HOW = (
    "expected a binary for this machine, or a first line that names an installed interpreter, such as #!/usr/bin/env"
    " python3"
)
RUN_BY = {".py": "python3", ".js": "node", ".pl": "perl", ".rb": "ruby", ".sh": "sh", ".lua": "lua"}
# A word with one of these endings can only name a program file.
OF_PROGRAMS = (".py", ".js", ".mjs", ".cjs", ".ts", ".pl", ".rb", ".sh", ".lua", ".php", ".jar", ".jl", ".tcl", ".r")


def _without_nul(value: str) -> str:
    if "\0" in value:
        raise ValueError("expected text without NUL characters")
    return value


WITHOUT_NUL = AfterValidator(_without_nul)
Word = Annotated[str, Field(max_length=10_000), WITHOUT_NUL]


def _names_a_program(value: tuple[str, ...]) -> tuple[str, ...]:
    if not value[0]:
        raise ValueError("expected a program as the first word, got an empty string")
    return value


CommandLine = Annotated[tuple[Word, ...], Field(min_length=1, max_length=1000), AfterValidator(_names_a_program)]


def _require_inside(value: str) -> str:
    if os.path.isabs(value) or os.pardir in Path(value).parts or not Path(value).parts:
        expected = "expected a path, relative to the scenario's folder, of a file or folder inside it"
        raise ValueError(f"{expected}, got {value!r}"[:200])
    return value


LoadedFiles = Annotated[
    tuple[Annotated[str, Field(min_length=1, max_length=1000), WITHOUT_NUL, AfterValidator(_require_inside)], ...],
    Field(
        default=(),
        max_length=10_000,
        description="other files that programs load, copied with a run: files, folders, or patterns such as lib/*.lua",
    ),
]


def _for_both(value: Any) -> Any:
    """Use a single command for both hosts and stations."""
    if isinstance(value, (list, tuple)):
        return {"host": value, "station": value}
    if value is None or isinstance(value, (str, int, float)):
        raise ValueError("expected a list of words, such as [python3, host.py], or {host: [...], station: [...]}")
    return value


class Commands(Parameters):
    """The commands of hosts and stations: a program and its arguments."""

    host: CommandLine = Field(description="command of each host, as a list of words")
    station: CommandLine = Field(description="command of each station, as a list of words")


CommandsOfHosts = Annotated[Commands, BeforeValidator(_for_both, json_schema_input_type=CommandLine | Commands)]


def command_in_words(command: tuple[str, ...]) -> str:
    """Return a command as a user would type it."""
    return " ".join(command)


def files_of(command: tuple[str, ...], key: str, folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield each word that names a file next to the scenario, as (dotted path of the word, path of the file)."""
    for place, word in enumerate(command):
        path = Path(word)
        if not path.is_absolute() and ":" not in word and is_file(folder / path):
            yield f"{key}.{place}", folder / path


def names_file(word: str) -> bool:
    """Return whether a word of a command must be the name of a file next to the scenario, even if the file does not
    exist. A word with a placeholder does not count, because it differs from node to node.
    """
    return word.lower().endswith(OF_PROGRAMS) and not word.startswith(("-", "/")) and not {":", "{"} & {*word}


def warnings_of(protocol: Any, folder: Path) -> Iterator[str]:
    """Yield the problems that a program would have on this machine. Another machine may be able to run it."""
    command = getattr(protocol, "command", None)
    for place, pattern in enumerate(getattr(protocol, "files", ())):
        left = sorted(path.name for path in folder.glob(pattern) if path.is_dir() and path.name != "__pycache__")
        if left and is_pattern(folder, pattern) and "**" not in pattern:
            them = "folder " if len(left) == 1 else f"{len(left)} folders, such as "
            them += cut(left[0], 200)
            yield f"protocol.files.{place}: {cut(pattern, 200)} leaves out {them}; a pattern matches only files"
    if isinstance(command, Commands):
        if command.host == command.station:
            command = command.host
        else:
            yield from _warnings(command.host, "protocol.command.host", folder)
            yield from _warnings(command.station, "protocol.command.station", folder)
    if isinstance(command, tuple):
        yield from _warnings(command, "protocol.command", folder)


def _warnings(command: tuple[str, ...], key: str, folder: Path) -> Iterator[str]:
    first, *others = command
    own = folder / first
    if is_file(own):
        if (why := _not_executable(own)) is not None:
            yield f"{key}.0: {first}: {why}"
    elif shutil.which(first) is None:
        yield f"{key}.0: program {cut(first, 200)} not found next to the scenario or on the PATH"
    for place, word in enumerate(others, 1):
        if word.lower().endswith(OF_PROGRAMS) and not word.startswith("-") and not is_file(folder / word):
            yield f"{key}.{place}: file {cut(word, 200)} not found next to the scenario"


def why_not_started(program: Path) -> str:
    """Return what a command that failed to start should contain instead."""
    if not is_file(program):
        return "expected a program on the PATH, or a file next to the scenario"
    return _not_executable(program) or SAYS_HOW


def _not_executable(program: Path) -> str | None:
    """Return why an existing file is not executable, and a remedy. Return None if it is executable."""
    if os.access(program, os.X_OK):
        return None
    what = RUN_BY.get(program.suffix)
    such = "" if what is None else f", as in [{what}, {program.name}]"
    return f"it is not executable; run chmod +x {quote(program)}, or put its interpreter first{such}"


class Program(Parameters):
    """The keys for programs. Both kinds of scenarios have them."""

    name: Literal["program"] = "program"
    files: LoadedFiles
    settings: dict[str, Any] = Field(default={}, description="values that programs receive when they start")
    answer_within_s: float = Field(
        default=10.0,
        ge=0.01,
        le=86_400,
        description="wall time limit for an answer; if it is exceeded, the run ends with exit code 3",
    )

    def commands_by_role(self) -> dict[str, tuple[str, ...]]:
        """Return the commands of hosts and stations, or of processes."""
        raise NotImplementedError

    def named_buffers(self, by_role: Mapping[str, tuple[str, ...]]) -> Any:
        """Return the buffers that programs have named, in the form of the key `buffers`."""
        raise NotImplementedError

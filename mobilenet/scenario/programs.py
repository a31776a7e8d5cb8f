"""What a scenario says of programs that are its nodes: commands, and what nobody can ask them without running them.

Model     one command for each role. Words that are files beside the scenario go where the scenario goes
Units     seconds, as the names say
Errors    pydantic.ValidationError, which the scenario turns into lines
Source    ours: docs/guide/programs.md
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from mobilenet.parameters import Parameters
from mobilenet.scenario.base import is_file

Word = Annotated[str, Field(min_length=1, max_length=10_000, pattern=r"^[^\x00]*$")]
CommandLine = Annotated[tuple[Word, ...], Field(min_length=1, max_length=1000)]


def _for_both(value: Any) -> Any:
    """One command stands for hosts and stations."""
    return {"host": value, "station": value} if isinstance(value, (list, tuple)) else value


class Commands(Parameters):
    """What hosts and stations run: a program and its arguments."""

    host: CommandLine = Field(description="the program of each host, a list of words")
    station: CommandLine = Field(description="the program of each station, a list of words")


CommandsOfHosts = Annotated[Commands, BeforeValidator(_for_both, json_schema_input_type=CommandLine | Commands)]


def shown(command: tuple[str, ...]) -> str:
    """For people."""
    return " ".join(command)


def files_of(command: tuple[str, ...], key: str, folder: Path) -> Iterator[tuple[str, Path]]:
    """Its words that are files beside the scenario: the dotted path of each, and where the file is."""
    for place, word in enumerate(command):
        path = Path(word)
        if not path.is_absolute() and ":" not in word and is_file(folder / path):
            yield f"{key}.{place}", folder / path


class Program(Parameters):
    """What scenarios of both kinds say of programs."""

    name: Literal["program"] = "program"
    settings: dict[str, Any] = Field(default={}, description="keys and values that programs are told at their start")
    answer_within_s: float = Field(
        default=10.0, ge=0.01, le=86_400, description="wall time for one answer; past it the run ends, exit code 3"
    )

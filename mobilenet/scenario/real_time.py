"""The keys of a scenario for programs that run in real time, on any network.

Model     Two regular expressions select the lines of a program's output that report its broadcasts and deliveries
Errors    pydantic.ValidationError, which the scenario reports as one line for each problem
Source    ours: docs/guide/real-time.md
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import AfterValidator, Field, model_validator

from mobilenet.parameters import Parameters
from mobilenet.protocols.declaration import Promise
from mobilenet.scenario.programs import WITHOUT_NUL, CommandLine, LoadedFiles, files_of

LONGEST_NAME_BYTES = 200  # maximum number of bytes in a file name, without the values of placeholders
LONGEST_PATTERN = 500


def _expression(*groups: str) -> AfterValidator:
    """Return a validator for a regular expression with these groups, to be applied to the bytes of a line."""

    def check(value: str) -> str:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # reject a pattern whose meaning will change in the future
                pattern = re.compile(value.encode())
        except (re.error, RecursionError, OverflowError, ValueError, Warning) as error:
            raise ValueError(f"not a regular expression over bytes: {error}") from None
        if missing := [group for group in groups if group not in pattern.groupindex]:
            raise ValueError(f"expected the group (?P<{missing[0]}>...), such as (?P<{missing[0]}>[0-9]+)")
        return value

    return AfterValidator(check)


class Lines(Parameters):
    """Regular expressions for the lines in which a program reports its actions. A match may begin anywhere in a
    line.
    """

    broadcast: Annotated[str, _expression("number")] = Field(
        default=r"broadcast (?P<number>[0-9]+)",
        max_length=LONGEST_PATTERN,
        description="expression for a line that reports a broadcast; number: the program's number for the message",
    )
    deliver: Annotated[str, _expression("sender", "number")] = Field(
        default=r"deliver (?P<sender>[0-9]+) (?P<number>[0-9]+)",
        max_length=LONGEST_PATTERN,
        description="expression for a line that reports a delivery; sender: the host that broadcast the message",
    )
    first_number: int = Field(
        default=0,
        ge=0,
        le=1_000_000,
        description="number that programs use for h0, also in {me}; h1 has the next number",
    )


class Stop(Parameters):
    """How to stop programs that still run after the active part."""

    after_s: float | None = Field(
        default=None, ge=0, le=1e6,
        description="time after duration_s of SIGTERM; null: 0 without `promises`, otherwise never",
    )  # fmt: skip
    grace_s: float = Field(default=2.0, ge=0, le=1e6, description="time from SIGTERM to SIGKILL")


class RealTimePrograms(Parameters):
    """Programs that run in real time, under mobilenet serve."""

    places: ClassVar[tuple[str, ...]]  # placeholders that a command may contain
    most_hosts: ClassVar[int]
    why_most: ClassVar[str]
    name: str

    command: CommandLine | None = Field(
        default=None,
        description="command of each host, with placeholders (docs/guide/real-time.md); null: you start the programs",
    )
    files: LoadedFiles
    logs: Annotated[str, WITHOUT_NUL] | None = Field(
        default=None,
        min_length=1,
        max_length=1000,
        description="files that programs write lines to, such as log{me}.txt; null: their standard output",
    )
    lines: Lines | None = Field(
        default=None, description="lines that are read from the log files or standard outputs; null: none"
    )
    promises: Promise | None = Field(
        default=None, description="property that the verifier checks; null: none, and only datagrams have metrics"
    )
    delivers_to_all: bool | None = Field(
        default=None,
        description="whether every member must receive every message; null: true only if `promises` is causal",
    )

    stop: Stop = Field(default=Stop(), description="how programs end that still run after duration_s")

    @model_validator(mode="after")
    def _agrees(self) -> RealTimePrograms:
        for key, command in self.commands_by_key():
            self._require_places(key, command)
        if self.promises is not None and self.lines is None:
            raise ValueError("lines: missing; promises are judged from lines that programs write; expected `lines: {}`")
        if self.promises is None and self.delivers_to_all is not None:
            raise ValueError("delivers_to_all: has no effect without `promises`")
        if self.lines is None and self.logs is not None:
            raise ValueError("logs: has no effect without `lines`")
        if self.logs is not None and "{me}" not in self.logs:
            raise ValueError("logs: expected {me}, which is replaced by the host's number")
        if self.logs is not None and max(len(name.encode()) for name in self.logs.split("/")) > LONGEST_NAME_BYTES:
            raise ValueError(
                f"logs: expected a path in which each component is at most {LONGEST_NAME_BYTES} bytes long"
            )
        return self

    def _require_places(self, key: str, command: CommandLine) -> None:
        for word in command:
            for place in re.findall(r"\{\w*\}", word):
                if place not in self.places:
                    raise ValueError(
                        f"{key}: {place} is not a known placeholder; expected one of {', '.join(self.places)}"
                    )

    @property
    def first_number(self) -> int:
        """The number that stands for h0 in commands, logs and lines."""
        return 0 if self.lines is None else self.lines.first_number

    def commands_by_key(self) -> Iterator[tuple[str, CommandLine]]:
        """Yield each command with its key below `protocol`."""
        if self.command is not None:
            yield "command", self.command

    def named_files(self, folder: Path) -> Iterator[tuple[str, Path]]:
        for key, command in self.commands_by_key():
            yield from files_of(command, f"protocol.{key}", folder)

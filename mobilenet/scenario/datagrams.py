"""The keys of a scenario for programs that use UDP and run in real time.

Model     host A reaches host B at an address of that pair, whatever program runs on it. What programs broadcast and
          deliver is read from lines that they write: two regular expressions select them
Units     ports
Errors    pydantic.ValidationError, which the scenario turns into lines
Source    ours: docs/guide/real-time.md
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from mobilenet.parameters import Parameters
from mobilenet.protocols.declaration import Promise
from mobilenet.scenario.programs import WITHOUT_NUL, CommandLine, LoadedFiles, files_of

MOST_HOSTS = 256  # one octet of an address each
LONGEST_NAME_BYTES = 200  # of a file; what is filled in has its room besides that
LONGEST_PATTERN = 500
NETWORK = r"^127\.([1-9][0-9]{0,2})\.0\.0/16$"
PLACES = ("{me}", "{address}", "{own_port}", "{peers}", "{hosts_file}")  # of a command, filled in for each host


def _expression(*groups: str) -> AfterValidator:
    """A regular expression with these groups, over the bytes of a line."""

    def checked(value: str) -> str:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # what will mean something else one day
                found = re.compile(value.encode())
        except (re.error, RecursionError, OverflowError, ValueError, Warning) as error:
            raise ValueError(f"not a regular expression over bytes: {error}") from None
        if missing := [group for group in groups if group not in found.groupindex]:
            raise ValueError(f"expected the group (?P<{missing[0]}>...), such as (?P<{missing[0]}>[0-9]+)")
        return value

    return AfterValidator(checked)


class Lines(Parameters):
    """Regular expressions for the lines in which a program reports what it does, searched anywhere in a line."""

    broadcast: Annotated[str, _expression("number")] = Field(
        default=r"broadcast (?P<number>[0-9]+)",
        max_length=LONGEST_PATTERN,
        description="expression for a line that reports a broadcast; number: the program's number of the message",
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


class Datagrams(Parameters):
    """Programs that use UDP, in real time: mobilenet serve."""

    name: Literal["datagrams"]
    command: CommandLine | None = Field(
        default=None,
        description="command of each host, with placeholders (docs/guide/real-time.md); null: you start the programs",
    )
    files: LoadedFiles
    network: str = Field(
        default="127.77.0.0/16",
        json_schema_extra={"pattern": NETWORK},
        description="127.1.0.0/16 to 127.254.0.0/16; host A reaches host B at address A.B, and A's own address is A.A",
    )
    flat: bool = Field(
        default=False,
        description="all hosts reach host B at the same address, B.B; programs must send from their own address",
    )
    port: int = Field(
        default=7000, ge=1024, le=65_535, description="port to which programs send, the same for all addresses"
    )
    own_port: int | None = Field(
        default=None,
        ge=1024,
        le=65_535,
        description="port on which programs listen at their own address; null: the port from which they last sent",
    )
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

    @model_validator(mode="after")
    def _makes_sense(self) -> Datagrams:
        if not re.fullmatch(NETWORK, self.network) or not 1 <= int(self.network.split(".")[1]) <= 254:
            raise ValueError(
                f"network: {self.network} is not one of 127.1.0.0/16 to 127.254.0.0/16; expected for example"
                " 127.77.0.0/16"
            )
        for word in self.command or ():
            for place in re.findall(r"\{\w*\}", word):
                if place not in PLACES:
                    raise ValueError(
                        f"command: {place} is not a known placeholder; expected one of {', '.join(PLACES)}"
                    )
        if self.own_port is None and any("{hosts_file}" in word for word in self.command or ()):
            raise ValueError("own_port: missing; {hosts_file} names the port on which each program listens")
        if self.promises is not None and self.lines is None:
            raise ValueError("lines: missing; promises are judged from lines that programs write; expected `lines: {}`")
        if self.promises is None and self.delivers_to_all is not None:
            raise ValueError("delivers_to_all: has no effect without `promises`")
        if self.lines is None and self.logs is not None:
            raise ValueError("logs: has no effect without `lines`")
        if self.command is None and self.lines is not None and self.logs is None:
            raise ValueError("logs: missing; the standard output of programs that you start yourself is not available")
        if self.logs is not None and "{me}" not in self.logs:
            raise ValueError("logs: expected {me}, which is replaced by the host's number")
        if self.logs is not None and max(len(name.encode()) for name in self.logs.split("/")) > LONGEST_NAME_BYTES:
            raise ValueError(
                f"logs: expected a path in which each component is at most {LONGEST_NAME_BYTES} bytes long"
            )
        if self.own_port == self.port:
            raise ValueError(f"own_port: the network listens on port {self.port}; expected a different port")
        return self

    @property
    def first_number(self) -> int:
        """The number of h0 in commands, logs and lines."""
        return 0 if self.lines is None else self.lines.first_number

    @property
    def prefix(self) -> str:
        """The first two octets, as in 127.77."""
        return ".".join(self.network.split(".")[:2])

    def named_files(self, folder: Path) -> Iterator[tuple[str, Path]]:
        if self.command is not None:
            yield from files_of(self.command, "protocol.command", folder)

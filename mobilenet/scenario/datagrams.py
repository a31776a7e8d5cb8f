"""The keys of a scenario for programs that use UDP and run in real time.

Model     Host A reaches host B at an address that is specific to this pair and independent of the program on B
Units     ports
Errors    pydantic.ValidationError, which the scenario reports as one line for each problem
Source    ours: docs/guide/real-time.md
"""

from __future__ import annotations

import re
from typing import ClassVar, Literal

from pydantic import Field, model_validator

from mobilenet.scenario.real_time import RealTimePrograms

NETWORK = r"^127\.([1-9][0-9]{0,2})\.0\.0/16$"


class Datagrams(RealTimePrograms):
    """Programs that use UDP and run in real time, under mobilenet serve."""

    places: ClassVar[tuple[str, ...]] = ("{me}", "{address}", "{own_port}", "{peers}", "{hosts_file}")
    most_hosts: ClassVar[int] = 256
    why_most: ClassVar[str] = "a host's number is one octet of an address"

    name: Literal["datagrams"]
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

    @model_validator(mode="after")
    def _makes_sense(self) -> Datagrams:
        if not re.fullmatch(NETWORK, self.network) or not 1 <= int(self.network.split(".")[1]) <= 254:
            raise ValueError(
                f"network: {self.network} is not one of 127.1.0.0/16 to 127.254.0.0/16; expected a network such"
                " as 127.77.0.0/16"
            )
        if self.own_port is None and any("{hosts_file}" in word for word in self.command or ()):
            raise ValueError("own_port: missing; {hosts_file} names the port on which each program listens")
        if self.command is None and self.lines is not None and self.logs is None:
            raise ValueError("logs: missing; the standard output of programs that you start yourself is not available")
        if self.own_port == self.port:
            raise ValueError(f"own_port: the network listens on port {self.port}; expected a different port")
        return self

    @property
    def prefix(self) -> str:
        """The first two octets of all addresses, such as 127.77."""
        return ".".join(self.network.split(".")[:2])

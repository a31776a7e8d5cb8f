"""The declaration of a user's process: a generator function in a file, and the hosts on which it acts.

Model     `check` and the verifier do not load code. They learn from the declaration how fast hosts may move, and
          whether the process observes the run.
Units     Speeds are in metres per second.
Source    ours: docs/guide/simpy.md
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import Field, field_validator

from mobilenet.parameters import CODE_PATTERN, HostName, Parameters


class OwnProcess(Parameters):
    """A custom simpy process: a generator function in a file next to the scenario."""

    process: str = Field(
        max_length=200,
        pattern=CODE_PATTERN,
        description="generator function in a file next to the scenario, such as bus.py:bus",
    )
    hosts: Literal["all", "none"] | tuple[HostName, ...] = Field(
        default="all",
        description="hosts that have such a process: all, a list, or none for one process of the world",
    )
    settings: dict[str, Any] = Field(default={}, description="values that the function receives as `settings`")
    speed_limit_mps: float | None = Field(
        default=None, ge=0, le=1000,
        description="upper bound on the speed of hosts that it moves; null: it moves none",
    )  # fmt: skip
    uses_run: bool = Field(
        default=False,
        description="whether the process observes the run; such runs have no paired worlds",
    )

    @field_validator("hosts")
    @classmethod
    def _are_different(cls, value: Any) -> Any:
        if isinstance(value, tuple) and (not value or len({*value}) < len(value)):
            raise ValueError(f"expected all, none, or a list of different hosts, got [{', '.join(value)}]")
        return value

    @property
    def file(self) -> str:
        return self.process.rpartition(":")[0]

    @property
    def function(self) -> str:
        return self.process.rpartition(":")[2]


def fastest_mps(processes: Sequence[OwnProcess], host: str | None = None) -> float:
    """Return the highest speed that these processes may give to `host`, or to any host if `host` is None. A process of
    the world may move every host.
    """
    acting = [one for one in processes if host is None or isinstance(one.hosts, str) or host in one.hosts]
    return max((one.speed_limit_mps or 0.0 for one in acting), default=0.0)


def names(processes: Sequence[OwnProcess]) -> list[str]:
    """Return a unique name for each process: the name of its function, followed by a number if several processes have
    the same function.
    """
    functions = [one.function for one in processes]
    repeats = [functions[:place].count(function) for place, function in enumerate(functions)]
    return [f"{one}-{count + 1}" if count else one for one, count in zip(functions, repeats, strict=True)]

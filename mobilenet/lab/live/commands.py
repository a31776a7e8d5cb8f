"""Parse the JSON requests of a page or a script to a live run into checked commands.

Errors    ScenarioError with one line for an invalid request
Source    ours: docs/guide/live-messages.md
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal, get_args

from pydantic import Field, ValidationError

from mobilenet.parameters import Parameters, ScenarioError
from mobilenet.quoting import cut
from mobilenet.scenario.error_messages import problems
from mobilenet.scenario.yaml_reader import Node

LONGEST_BYTES = 65_536  # maximum size of a message
Id = Annotated[int | None, Field(ge=0, le=2**53)]
Speed = Annotated[float, Field(ge=0.01, le=1000)] | Literal["max"]


class _Command(Parameters):
    id: Id = None  # repeated in the reply


class Play(_Command):
    """Play at this number of simulated seconds per second, or as fast as possible. Without a speed, use the previous
    one.
    """

    command: Literal["play"]
    speed: Speed | None = None
    until_s: Annotated[float, Field(ge=0, le=1e7)] | None = None


class SetSpeed(_Command):
    """Set the speed. If the run is paused, the speed applies when it continues."""

    command: Literal["speed"]
    speed: Speed


class Pause(_Command):
    command: Literal["pause"]


class Hold(_Command):
    """Hold the run while this listener views earlier times. The run continues when the listener releases it or
    disconnects, or when any listener plays.
    """

    command: Literal["hold"]
    on: bool


class Step(_Command):
    """Play to the next event of this kind, then pause."""

    command: Literal["step"]
    what: Literal["event", "frame", "handoff", "delivery", "violation"] = "event"


class Do(_Command):
    """Intervene now, or rewind to an earlier time and intervene then. The keys are the same as for an intervention in a
    scenario.
    """

    command: Literal["do"]
    what: dict[str, Any] = Field(max_length=10)
    back_to_s: Annotated[float, Field(ge=0, le=1e7)] | None = None


class Rewind(_Command):
    command: Literal["rewind"]
    to_s: float = Field(ge=0, le=1e7)


class Switch(_Command):
    command: Literal["switch"]
    branch: int = Field(ge=0)


class Watch(_Command):
    """Choose the node whose card and messages each state contains, or null for no node. With `deliveries`, the reply
    contains the node's deliveries so far.
    """

    command: Literal["watch"]
    node: Annotated[str, Field(max_length=10)] | None = None
    deliveries: bool = False


class Pace(_Command):
    """Limit the number of states per second that this listener receives while the run plays."""

    command: Literal["pace"]
    states_per_s: float = Field(ge=0.1, le=20)


class Message(_Command):
    """Ask which hosts have delivered a message, and when."""

    command: Literal["message"]
    message: str = Field(max_length=30)


class Save(_Command):
    """In the background, run the branch from its beginning to its end, and store it as a run."""

    command: Literal["save"]
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$")] | None = None


class Effect(_Command):
    """In the background, compare runs with and without this intervention. Both use the same random worlds."""

    command: Literal["effect"]
    intervention: int = Field(ge=0)
    worlds: int = Field(default=30, ge=2, le=1000)


class Why(_Command):
    """In the background, explain why a host delivered a message when it did."""

    command: Literal["why"]
    message: str = Field(max_length=30)
    host: str = Field(pattern=r"^h[0-9]{1,6}$")


class Cancel(_Command):
    """Cancel a background job."""

    command: Literal["cancel"]
    job: int = Field(ge=0)


BinS = Annotated[float, Field(ge=0.01, le=1e9, allow_inf_nan=False)]


class Since(_Command):
    """Tell the server which events the page has. A page sends this message first, and the reply contains the later
    events.
    """

    command: Literal["since"]
    generation: int
    row: int = Field(ge=0)
    point_ns: int = Field(default=-1, ge=-1)  # time of the last curve point that the page has
    sample: int = Field(default=0, ge=0)  # number of the first sample that the page does not have
    # bin widths of the page's buffer curves
    bins_s: Annotated[list[BinS], Field(min_length=2, max_length=2)] | None = None


Command = (
    Play
    | SetSpeed
    | Pause
    | Hold
    | Step
    | Do
    | Rewind
    | Switch
    | Watch
    | Pace
    | Message
    | Save
    | Effect
    | Why
    | Cancel
    | Since
)
WORDS = {  # descriptions of the expected values, which replace pydantic's error messages
    "speed": "expected a number from 0.01 to 1000, or max",
    "name": "expected at most 80 letters, digits, dots, dashes and underscores, beginning with a letter or digit",
}
KINDS: dict[str, type[Command]] = {
    get_args(kind.model_fields["command"].annotation)[0]: kind for kind in get_args(Command)
}


def parse_command(text: str | bytes) -> Command:
    """Parse one message. Raise ScenarioError if it is invalid."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise ScenarioError('not JSON; expected an object such as {"command": "pause"}') from None
    if not isinstance(value, dict):
        raise ScenarioError('expected an object such as {"command": "pause"}')
    name = value.get("command")
    if not isinstance(name, str) or name not in KINDS:
        raise ScenarioError(f"command: got {cut(repr(name), 60)}, expected one of {', '.join(KINDS)}")
    try:
        return KINDS[name].model_validate(value)
    except ValidationError as error:
        key = str(error.errors(include_url=False)[0]["loc"][0])
        reason = (
            f"{name}: {key}: {WORDS[key]}" if key in WORDS else problems(error, Node.of(value, name), KINDS[name])[0]
        )
        raise ScenarioError(cut(reason, 300)) from None


def id_of(text: str | bytes) -> int | None:
    """Return the id of a message, even if the rest of the message is invalid."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    number = value.get("id") if isinstance(value, dict) else None
    return number if isinstance(number, int) and not isinstance(number, bool) and 0 <= number <= 2**53 else None


STEPS = ("event", "frame", "handoff", "delivery", "violation")


def is_step(what: str, event: str) -> bool:
    """Return whether a step of this kind ends at an event of the record."""
    kinds = {"delivery": ("deliver",), "handoff": ("handoff_start", "handoff_end")}
    return what not in kinds or event in kinds[what]

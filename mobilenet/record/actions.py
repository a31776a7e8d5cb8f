"""The actions that a program may request, and the check of each line that requests one.

Model     an action is an object with the key `do`. Each action has required and optional keys, and each key accepts one
          kind of value. The allowed actions depend on the role of the program. Everything else is refused
Units     nanoseconds, bytes
Errors    ValueError, which states what is wrong with a line and what was expected
Source    ours: docs/guide/programs.md
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

from mobilenet.record.schema import LONGEST_NAME

Role = Literal["host", "station", "process"]
MOST = 10**18 - 1  # the largest number that may occur in the names of messages and stations
MOST_FRAME_BYTES = 65_507  # the maximum size of a datagram
CAUSES = ("join", "cell", "recovery", "reinit")


class Kind(NamedTuple):
    """Describes and checks one kind of value for keys of actions."""

    fits: Callable[[Any], bool]
    words: str


def _is_whole(value: Any) -> bool:
    return type(value) is int and 0 <= value <= MOST


def _is_pair(value: Any) -> bool:
    return type(value) is list and len(value) == 2 and all(map(_is_whole, value))


def _is_text(value: Any) -> bool:
    return type(value) is str and 0 < len(value) <= 200 and not any("\ud800" <= sign <= "\udfff" for sign in value)


def _is_plain(value: Any) -> bool:
    if type(value) is str:
        return not any("\ud800" <= sign <= "\udfff" for sign in value)
    return type(value) in (bool, int) or type(value) is float and math.isfinite(value)


WHOLE = Kind(_is_whole, "a whole number ≥ 0")
WHOLE_OR_NULL = Kind(lambda value: value is None or _is_whole(value), "a whole number ≥ 0, or null")
FRAME_BYTES = Kind(
    lambda value: _is_whole(value) and value <= MOST_FRAME_BYTES, f"a whole number from 0 to {MOST_FRAME_BYTES}"
)
TEXT = Kind(_is_text, "text of 1 to 200 characters")
FREE_TEXT = Kind(lambda value: type(value) is str, "text")
FLAG = Kind(lambda value: type(value) is bool, "true or false")
ANY = Kind(lambda value: True, "any value")
MESSAGE = Kind(_is_pair, "[sender, number], as in the broadcast event")
RANGE = Kind(
    lambda value: _is_pair(value) and value[0] <= value[1], "[a, b] in nanoseconds, whole numbers with 0 <= a <= b"
)
CAUSE = Kind(lambda value: value in CAUSES, f"one of {', '.join(CAUSES)}")
SIZES = Kind(
    lambda value: (
        type(value) is dict
        and all(len(name) <= LONGEST_NAME and name.isprintable() for name in value)
        and all(type(size) is int and abs(size) <= MOST for size in value.values())
    ),
    f"an object of whole numbers, with printable names of at most {LONGEST_NAME} characters",
)
STATE = Kind(
    lambda value: type(value) is dict and all(map(_is_plain, (*value, *value.values()))),
    "an object of finite numbers, strings without lone surrogates, true and false",
)


class Action(NamedTuple):
    needs: Mapping[str, Kind]
    may: Mapping[str, Kind]
    roles: tuple[Role, ...]
    keys: frozenset[str]


def _action(needs: Mapping[str, Kind], may: Mapping[str, Kind], *roles: Role) -> Action:
    return Action(needs, may, roles, frozenset({"do", *needs, *may}))


_SIZES = {"bytes": FRAME_BYTES, "payload_bytes": FRAME_BYTES}
_WIRE_SIZES = {"bytes": WHOLE, "payload_bytes": WHOLE}
ACTIONS: Mapping[str, Action] = {
    "send": _action({"to": WHOLE, "message": ANY}, {**_SIZES, "tag": ANY}, "host", "station", "process"),
    "broadcast": _action({"message": ANY}, {**_SIZES, "tag": ANY}, "host", "station"),
    "wire": _action({"to": WHOLE_OR_NULL, "message": ANY}, _WIRE_SIZES, "station"),
    "timer": _action({"name": TEXT}, {"after_ns": WHOLE, "between_ns": RANGE}, "host", "station", "process"),
    "cancel": _action({"name": TEXT}, {}, "host", "station", "process"),
    "deliver": _action({"id": MESSAGE}, {}, "host", "process"),
    "joined": _action({"session": WHOLE, "station": WHOLE}, {}, "host"),
    "gap": _action({"session": WHOLE, "station": WHOLE}, {}, "host"),
    "left": _action({"session": WHOLE}, {}, "host"),
    "refuse": _action({}, {}, "host"),
    "session_opened": _action({"session": WHOLE, "station": WHOLE_OR_NULL, "cause": CAUSE}, {}, "host"),
    "session_confirmed": _action({"session": WHOLE, "station": WHOLE}, {"detail": SIZES}, "host"),
    "expired": _action({"host": WHOLE}, {}, "station"),
    "out": _action({"value": FLAG}, {}, "host"),
    "serves": _action({"host": WHOLE, "value": FLAG}, {}, "station"),
    "store": _action({"stable": ANY}, {}, "host"),
    "buffer": _action({"name": TEXT, "size": WHOLE}, {}, "host", "station", "process"),
    "settled": _action({"value": FLAG}, {}, "host", "station", "process"),
    "complete": _action({"id": MESSAGE}, {}, "process"),
    "show": _action({"state": STATE}, {}, "host", "station", "process"),
    "log": _action({"text": FREE_TEXT}, {}, "host", "station", "process"),
}


def _as_json(value: Any) -> str:
    """Return the value in JSON, as the program wrote it."""
    return repr(value[:60]) if type(value) is str else json.dumps(value)[:60]


def require(action: Mapping[str, Any], role: Role) -> None:
    """Raise ValueError unless programs with this role may request the action, and its keys and values are valid."""
    name = action["do"]
    known = ACTIONS.get(name)
    if known is None or role not in known.roles:
        names = ", ".join(each for each, one in ACTIONS.items() if role in one.roles)
        whose = "" if known is None else f" of a {known.roles[0]}, not of a {role}"
        what = f"an action{whose}" if known is not None else "not an action"
        raise ValueError(f"{name!r} is {what}; expected {names} or done")
    if not action.keys() <= known.keys:
        stranger = next(key for key in action if key not in known.keys)
        expected = ", ".join(sorted(known.keys - {"do"})) or "none besides do"
        raise ValueError(f"unknown key {stranger!r}; expected keys of {name}: {expected}")
    for key, kind in known.needs.items():
        if key not in action:
            raise ValueError(f"{name} needs the key {key!r}: {kind.words}")
        if not kind.fits(action[key]):
            raise ValueError(f"{key} is {_as_json(action[key])}, expected {kind.words}")
    if len(action) > len(known.needs) + 1:
        for key, kind in known.may.items():
            if key in action and not kind.fits(action[key]):
                raise ValueError(f"{key} is {_as_json(action[key])}, expected {kind.words}")
    if name == "timer" and ("after_ns" in action) == ("between_ns" in action):
        raise ValueError("a timer needs either after_ns or between_ns")
    if action.get("payload_bytes", 0) > action.get("bytes", MOST):
        raise ValueError(
            f"payload_bytes is {action['payload_bytes']}, expected at most the value of `bytes`, {action['bytes']}"
        )

"""The valid lines between emulator and programs: events and actions, with the keys for each role.

Source    ours: docs/guide/programs.md
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mobilenet.record.actions import Role, require

DONE = {"do": "done"}
# the first letter of a node's name -> its role
ROLES: Mapping[str, Role] = {"h": "host", "s": "station", "p": "process"}
EVENTS: Mapping[str, tuple[str, str]] = {  # event -> the roles that receive it, and its additional keys
    "start": ("hsp", "v role me stations hosts seed settings stable"),
    "cell": ("h", "station"),
    "join": ("h", ""),
    "leave": ("h", ""),
    "recover": ("h", ""),
    "broadcast": ("hp", "id payload_bytes"),
    "receive": ("hsp", "from message"),
    "wire": ("s", "from message"),
    "timer": ("hsp", "name"),
    "sent": ("hsp", "tag"),
    "dropped": ("hsp", "tag"),
    "suspect": ("p", "process"),
    "trust": ("p", "process"),
}
KEYS = {name: {"ev", "t", *keys.split()} for name, (_, keys) in EVENTS.items()}
OF_PROCESSES = KEYS["start"] - {"stations", "hosts"} | {"n"}


def has_form(what: dict[str, Any], role: Role, is_action: bool) -> bool:
    """Return whether a program of that role can receive, or send, this line."""
    if is_action:
        return what == DONE or _is_action(what, role)
    event = what.get("ev")
    if not isinstance(event, str) or event not in EVENTS or role[0] not in EVENTS[event][0]:
        return False
    return what.keys() == (OF_PROCESSES if event == "start" and role == "process" else KEYS[event])


def _is_action(what: dict[str, Any], role: Role) -> bool:
    try:
        require(what, role)
    except (ValueError, TypeError, KeyError):
        return False
    return True

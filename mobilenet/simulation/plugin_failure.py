"""Find out what a plug-in was doing when it failed: the simulated time, the node, and the message or timer.

Model     Everything is read from the traceback, so runs without a failure have no overhead. The outermost frame in a
          plug-in's file, or in a class that plug-ins derive from, is the hook that was called. Its arguments show what
          it handled.
Units     integer nanoseconds inside, seconds in texts
Source    ours: docs/guide/plug-ins.md
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from mobilenet.engine.clock import SECOND
from mobilenet.protocols import base
from mobilenet.simulation import movement
from mobilenet.simulation.plugin_classes import HOOKS
from mobilenet.simulation.plugin_code import class_of

# hook -> first letter of the receiver's name -> first letter of the sender's name
CARRYING = {"on_receive": {"h": "s", "s": "h", "p": "p"}, "on_wired": {"s": "s"}, "on_message": {}}
OTHERS = ("__init__", "spread", "accepts", "on_open", "on_taken", "on_closed")

WORDS = {
    "__init__": "its start",
    "co_broadcast": "a broadcast of its application",
    "on_cell": "a change of cell",
    "on_associated": "an association",
    "on_disassociated": "the end of an association",
}


def moment(error: BaseException, now_ns: int, nodes: Iterable[Any], files: Sequence[Path]) -> str:
    """Return when and where an error was raised, and what was being handled, as in `at 12.5 s at h3, handling Rumour
    from s1`.
    """
    text = f"at {now_ns / SECOND:.6f} s"
    if not files:
        return text
    frames = list(_frames(error))
    own = [frame for frame in frames if frame.f_code.co_filename in {base.__file__, *map(str, files)}]
    names = _names(nodes)
    node = _node(own, names) or _walker(frames) or _node(frames[::-1], names)
    if node is not None:
        text += f" at {node}"
    return f"{text}, handling {_what(own[0], frames[: frames.index(own[0])], node)}" if own else text


def _frames(error: BaseException) -> Iterable[FrameType]:
    place = error.__traceback__
    while place is not None:
        yield place.tb_frame
        place = place.tb_next


def _names(nodes: Iterable[Any]) -> dict[int, str]:
    """Return the names of nodes by the ids of the nodes and of objects that belong to them."""
    names = {}
    for node in nodes:
        parts = (node, node.protocol, *getattr(node, "_channels", ()))
        names.update({id(part): str(node.name) for part in parts if part is not None})
    return names


def _node(frames: Iterable[FrameType], names: dict[int, str]) -> str | None:
    for frame in frames:
        for value in list(frame.f_locals.values()):
            inside = getattr(value, "__dict__", {}) if type(value).__module__ != "builtins" else {}
            for part in (value, inside.get("port"), inside.get("_port")):
                if id(part) in names:
                    return names[id(part)]
    return None


def _walker(frames: Iterable[FrameType]) -> str | None:
    """Return the host for which a mobility model was computing the next leg."""
    for frame in frames:
        if frame.f_code.co_filename == movement.__file__ and isinstance(frame.f_locals.get("host"), int):
            return f"h{frame.f_locals['host']}"
    return None


def _what(frame: FrameType, before: list[FrameType], node: str | None) -> str:
    code = frame.f_code
    hook = code.co_name
    if hook in CARRYING:
        arguments = [frame.f_locals.get(name) for name in code.co_varnames[1 : code.co_argcount]]
        message = class_of(arguments[-1]) if arguments else "a message"
        kind = CARRYING[hook].get((node or "")[:1])
        sender = arguments[0] if arguments else None
        return f"{message} from {kind}{sender}" if kind and type(sender) is int else message
    if hook in HOOKS or hook in OTHERS:
        return WORDS.get(hook, hook)
    return "its next leg" if any(outer.f_code.co_filename == movement.__file__ for outer in before) else "a timer"

"""Represent a message from one program to another: any JSON value, with a size.

Model     The sender may specify the size. Otherwise the size is that of the emulator's compact UTF-8 encoding of the
          value, plus the payload that is declared with it. All receivers share one object. The first item of a list,
          or `type` or `kind` of an object, is the name of the message's kind in counters, tables and pictures
Units     bytes
Source    ours: docs/guide/programs.md
"""

from __future__ import annotations

import json
import re
from typing import Any, ClassVar

encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


def text_of(key: str, value: Any) -> str:
    """Return the JSON text of a program's value, as other programs receive it. Raise ValueError if the value cannot be
    written as JSON.
    """
    try:
        text = encode(value)
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(
            f"{key} contains a lone surrogate (half a character), expected text that can be encoded in UTF-8"
        ) from None
    except ValueError:
        raise ValueError(f"{key} contains a number that is too large, expected at most 1.8e308") from None
    except RecursionError:
        raise ValueError(f"{key} is too deeply nested") from None
    return text


class Says:
    """A message of a program. `text` is the JSON text that the receivers read. `tag` is the JSON value by which the
    sender identifies the frame.
    """

    __slots__ = ("payload_bytes", "size_bytes", "tag", "text", "value")
    # The emulator cannot see the application messages in the contents. They are counted in packets.py.
    messages: ClassVar[tuple[()]] = ()

    def __init__(self, value: Any, size_bytes: int | None, payload_bytes: int, tag: str | None = None) -> None:
        """Create a message. Raise ValueError for a value that cannot be written as JSON."""
        self.value = value
        self.text = text_of("message", value)
        self.payload_bytes = payload_bytes
        self.size_bytes = len(self.text.encode()) + payload_bytes if size_bytes is None else size_bytes
        self.tag = tag

    def list_sizes(self) -> tuple[tuple[str, int], ...]:
        return ()

    def _asdict(self) -> dict[str, Any]:
        """Return the contents for the record of messages."""
        return {"says": self.value}


MOST_KINDS = 100  # Only this many kinds of messages have separate counters.


def message_class(value: Any, kinds: dict[str, type[Says]]) -> type[Says]:
    """Return the message class for the kind of this value, and create it if necessary. `kinds` contains the classes of
    the run by name.
    """
    name: Any = value[0] if type(value) is list and value else None
    if type(value) is dict:
        name = value.get("type", value.get("kind"))
    if type(name) is not str:
        return Says
    kind = kinds.get(name)
    if kind is None:
        if len(kinds) >= MOST_KINDS or not re.fullmatch(r"[A-Za-z][\w-]{0,39}", name):
            return Says
        kind = kinds[name] = type(name, (Says,), {"__slots__": ()})
    return kind

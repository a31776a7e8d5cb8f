"""Extract the host and the application message that a protocol's message refers to, for the record.

Model     Protocols name the fields of their messages freely. Only the names `host`, `ses` (or the `ses` of a request
          `rq`) and `id` have a meaning here. All other fields, and fields with such a name but another type, are
          recorded as detail. An envelope (a segment, a bundle, a stamped message) that contains a single message has
          the same host and message as its content. A class with `has_no_body` names other messages without carrying
          them. The detail shows nested lists and envelopes up to a depth of 10. Deeper values, lists that contain
          themselves, and oversized lists are shown only by their class.
Shapes    host 'h12' or None, session int or None, message 'h12:5' or None, detail JSON or None
Source    ours: docs/run-directory.md
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from numbers import Integral
from types import NoneType
from typing import Any, NamedTuple

from mobilenet.protocols.port import MessageId
from mobilenet.record.schema import MOST_LISTED, names_in

DEEPEST = 10  # maximum depth of nested lists and of nested envelopes
MOST_WRITTEN = 20**3  # maximum number of values in the detail of one message, and of characters in a string
SHORTEST_CUT = 100  # strings up to this number of characters are never cut
Subject = tuple[str | None, int | None, str | None]
NOTHING: Subject = (None, None, None)


class Contents(NamedTuple):
    host: str | None
    session: int | None
    message: str | None  # the application message that the message carries
    detail: str | None


def contents(message: Any) -> Contents:
    """Return everything that is recorded about a message except its kind and size."""
    about, fields = _read(message)
    detail = {name: _plain(value) for name, value in fields.items() if value is not None}
    return Contents(*_subject(about, fields), json.dumps(detail) if detail else None)


def _subject(about: Subject, fields: dict[str, Any]) -> Subject:
    """Return the subject of a message with these fields. An envelope has the subject of the message in it."""
    for _ in range(DEEPEST):
        if about != NOTHING:
            break
        inside = [value for value in _spread(fields.values()) if hasattr(value, "size_bytes")]
        if len(inside) != 1:
            break
        about, fields = _read(inside[0])
    return about


def _read(message: Any) -> tuple[Subject, dict[str, Any]]:
    """Return the subject of a message, and its other fields. Ignore any message inside it. A field that has a subject's
    name but another type is one of the other fields.
    """
    fields = _fields(message)
    host = fields.pop("host") if _fits(fields.get("host")) else None
    if _fits(getattr(fields.get("rq"), "ses", None)):
        fields.setdefault("ses", fields.pop("rq").ses)
    session = fields.pop("ses") if _fits(fields.get("ses")) else None
    carried = fields.pop("id", None)
    if carried is None and host is not None and _fits(fields.get("seq")) and "body" in fields:
        carried = MessageId(host, fields.pop("seq"))  # a host's own message, on its way to the station
    fields.pop("body", None)
    return (None if host is None else f"h{host}", session, _name(carried) if _is_id(carried) else None), fields


def _fits(value: Any) -> bool:
    """Return whether a column of the record can hold this value as a whole number."""
    return isinstance(value, Integral) and not isinstance(value, bool) and -(2**63) <= int(value) < 2**63


def _is_id(value: Any) -> bool:
    return isinstance(value, MessageId) and _is_pair(value)


def _is_pair(value: Any) -> bool:
    """Return whether this value can identify a message of a host or of a process."""
    return isinstance(value, tuple) and len(value) == 2 and _fits(value[0]) and _fits(value[1])


def carried_messages(message: Any) -> list[str]:
    """Return the names of the application messages whose bodies are in a message. An application message is an object
    with `id` and a body or a payload, or with a host (`host`, `origin`), `seq` and `body`. It may be the message
    itself, or be nested in its lists at any depth. An object that occurs twice counts once. In a program's message,
    every pair of whole numbers may be such a name, and is returned.
    """
    names, inside = _way(message)(message)
    left = [value for value in inside if type(value) is not int][::-1]
    if not left:
        return names
    names = [*names]
    # holds references, so that ids of objects are not reused
    seen: dict[int, Any] = {id(message): message}
    while left:
        value = left.pop()
        is_list = type(value) in (tuple, list)
        if id(value) in seen or not (is_list or _is_message(value)):
            continue
        seen[id(value)] = value
        if is_list:
            left += reversed(value)
            continue
        here, inside = _way(value)(value)
        names += here
        left += reversed([one for one in inside if type(one) is not int])
    return names


def _is_message(value: Any) -> bool:
    has_fields = hasattr(value, "size_bytes") or hasattr(value, "_fields") or dataclasses.is_dataclass(value)
    return has_fields and not isinstance(value, type)


Look = tuple[list[str], Iterable[Any]]  # names of messages, and objects that may contain further messages
_KINDS: dict[type, Callable[[Any], Look]] = {}


def _way(message: Any) -> Callable[[Any], Look]:
    """Return the function that reads messages of this class. The function is chosen once per class."""
    if (known := _KINDS.get(type(message))) is not None:
        return known
    if getattr(message, "has_no_body", False):  # an acknowledgement names a message, but does not contain its body
        return _KINDS.setdefault(type(message), lambda m: ([], ()))
    names = _parts(message).keys()
    ways: list[Callable[[Any], Look | None]] = []
    if "id" in names and ("body" in names or hasattr(message, "payload_bytes")):
        ways.append(_by_id)
    if {"source", "number", "data"} <= names:
        ways.append(_as_datagram)
    if {"body", "seq"} <= names and ("host" in names or "origin" in names):
        ways.append(_by_number)
    if "says" in names and hasattr(message, "text") and hasattr(message, "value"):
        ways.append(lambda m: (names_in(m.value), ()))  # a message of a program

    def look(m: Any) -> Look:
        return next((answer for way in ways if (answer := way(m)) is not None), ([], _parts(m).values()))

    return _KINDS.setdefault(type(message), look)


def _by_id(message: Any) -> Look | None:
    """Read a broadcast between stations. If its body is a message of stations, it carries the messages in that body."""
    if not _is_pair(getattr(message, "id", None)):
        return None
    body = getattr(message, "body", None)
    return ([], [body]) if hasattr(body, "size_bytes") else ([_name(message.id)], ())


def _as_datagram(message: Any) -> Look | None:
    source = message.source
    node = source if isinstance(source, str) and source[1:].isdecimal() else f"h{source}" if _fits(source) else None
    return None if node is None or not _fits(message.number) else ([f"{node}:{message.number}"], ())


def _by_number(message: Any) -> Look | None:
    source = message.host if hasattr(message, "host") else message.origin
    return ([f"h{source}:{message.seq}"], ()) if _is_pair((source, message.seq)) else None


def _parts(message: Any) -> dict[str, Any]:
    """Return the fields of a message, or the contents of its slots."""
    slots = getattr(type(message), "__slots__", ())
    return _fields(message) or {name: getattr(message, name, None) for name in slots}


def _fields(message: Any) -> dict[str, Any]:
    if isinstance(message, type):
        return {}
    if hasattr(message, "_asdict"):
        return dict(message._asdict())
    return (
        {field.name: getattr(message, field.name, None) for field in dataclasses.fields(message)}
        if dataclasses.is_dataclass(message)
        else {}
    )


def _spread(values: Iterable[Any]) -> Iterator[Any]:
    """Yield each value, and each value in nested tuples. A tuple that occurs twice counts once."""
    left, seen = [*values][::-1], set()
    while left:
        value = left.pop()
        if not isinstance(value, tuple) or hasattr(value, "size_bytes"):
            yield value
        elif id(value) not in seen:
            seen.add(id(value))
            left += reversed(value)


def _name(message: MessageId) -> str:
    return f"{'h' if isinstance(message, MessageId) else 'p'}{message[0]}:{message[1]}"


def _plain(value: Any, outer: tuple[int, ...] = (), room: int = MOST_WRITTEN) -> Any:
    """Return the value as far as JSON can represent it. `outer` contains the ids of the enclosing lists, and `room` is
    the maximum number of values to write.
    """
    if _is_id(value):
        return _name(value)
    if _is_id(getattr(value, "id", None)):
        return _name(value.id)
    is_list = isinstance(value, (tuple, list, set, frozenset)) and not hasattr(value, "size_bytes")
    if is_list or isinstance(value, Mapping):
        # every item gets the same limit, so that the result does not depend on the order of a set
        room //= min(len(value), MOST_LISTED) or 1
        if id(value) in outer or len(outer) == DEEPEST or not room:
            return type(value).__name__
        outer = (*outer, id(value))
    if isinstance(value, Mapping):
        named = sorted(((_key(key), _plain(item, outer, room)) for key, item in value.items()), key=json.dumps)
        return dict(named[:MOST_LISTED])  # sorted, because the mapping may have been made from a set
    if isinstance(value, (set, frozenset)) and is_list:
        return _in_order(value, outer, room)[:MOST_LISTED]
    if is_list:
        return [_plain(item, outer, room) for item in value[:MOST_LISTED]]
    if isinstance(value, int) and not isinstance(value, bool) and not _fits(value):
        return _text(hex(value), room)
    if isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, str):
        return _text(value, room)
    host, _, message = _subject(*_read(value))
    return " ".join(part for part in (type(value).__name__, message or host) if part)


def _key(key: Any) -> str:
    """Return the key of a mapping as text. Only simple values are passed to `str`, because the text of an object may
    contain an address in memory.
    """
    written = str(key) if isinstance(key, (str, bool, float, NoneType)) else _plain(key)
    return _text(written if isinstance(written, str) else json.dumps(written), 0)


def _text(text: str, room: int) -> str:
    """Return the text, shortened if it has too many characters."""
    longest = max(room, SHORTEST_CUT)
    return text if len(text) <= longest else f"{text[:longest]}... ({len(text)} characters)"


def _in_order(values: Iterable[Any], outer: tuple[int, ...], room: int) -> list[Any]:
    """Return the values of a set in a fixed order. Numbers, strings and identifiers are sorted directly. All other
    values are sorted by their text, because some values (such as NaN) cannot be compared, and `<` between sets only
    tests for a subset.
    """
    kinds = {type(value) for value in values}
    if kinds == {str} or (kinds <= {bool, int, float} and all(value == value for value in values)):
        return [_plain(value, outer, room) for value in sorted(values)]
    if all(map(_is_id, values)):
        return [_name(value) for value in sorted(values)]
    return sorted((_plain(value, outer, room) for value in values), key=json.dumps)

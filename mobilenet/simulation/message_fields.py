"""Read from a protocol's message what the record notes: the host it is about, and the application message it
carries.

Model     protocols name the fields of their messages freely; only by their names `host`, `ses` (or the `ses` of a
          request `rq`) and `id` are distinguished; everything else is detail. An envelope (a segment, a bundle, a
          stamped message) with one message in it is about the subject of that message. A class with `has_no_body`
          names other messages and carries none
Shapes    host 'h12' or None, session int or None, message 'h12:5' or None, detail JSON or None
Source    ours: docs/run-directory.md
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from mobilenet.protocols.port import MessageId
from mobilenet.record.schema import MOST_LISTED, names_in


class Contents(NamedTuple):
    host: str | None
    session: int | None
    message: str | None  # the application message it carries
    detail: str | None


def contents(message: Any) -> Contents:
    """What the record notes of a message besides its kind and size."""
    fields = _fields(message)
    host = fields.pop("host", None)
    request = fields.pop("rq", None)
    session = fields.pop("ses", None if request is None else request.ses)
    carried = fields.pop("id", None)
    if carried is None and host is not None and isinstance(fields.get("seq"), int) and "body" in fields:
        carried = MessageId(host, fields.pop("seq"))  # a host's own message, on its way to the station
    fields.pop("body", None)
    detail = {name: _plain(value) for name, value in fields.items() if value is not None}
    about = Contents(
        None if host is None else f"h{host}",
        session,
        _name(carried) if isinstance(carried, MessageId) else None,
        json.dumps(detail) if detail else None,
    )
    inside = [value for value in _spread(fields.values()) if hasattr(value, "size_bytes")]
    if len(inside) == 1 and about[:3] == (None, None, None):
        return contents(inside[0])._replace(detail=about.detail)
    return about


def carried_messages(message: Any) -> list[str]:
    """Return the names of the application messages whose bodies are in a message: objects with `id` and a body or a
    payload, or with a host (`host`, `origin`), `seq` and `body`, in it or in its lists. A pair of whole numbers in the
    message of a program may be such a name, so each is returned.
    """
    kind = type(message)
    how = _KINDS.get(kind)
    if how is None:
        how = _KINDS[kind] = _way(message)
    return how(message)


_KINDS: dict[type, Callable[[Any], list[str]]] = {}


def _way(message: Any) -> Callable[[Any], list[str]]:
    """How messages of this class are looked at; it is worked out once. A broadcast between stations has a message of
    stations as its body, and carries what that one carries.
    """
    if getattr(message, "has_no_body", False):
        return lambda m: []  # an acknowledgement names a message, and does not have its body
    names = _parts(message).keys()
    if "id" in names and isinstance(message.id, tuple) and ("body" in names or hasattr(message, "payload_bytes")):
        return lambda m: _messages_in([m.body]) if hasattr(getattr(m, "body", None), "size_bytes") else [_name(m.id)]
    if "source" in names and "number" in names and "data" in names:
        return lambda m: [f"{m.source if isinstance(m.source, str) else f'h{m.source}'}:{m.number}"]  # a datagram
    if "body" in names and "seq" in names and ("host" in names or "origin" in names):
        return lambda m: [f"h{m.host if 'host' in names else m.origin}:{m.seq}"]
    if hasattr(message, "text") and hasattr(message, "value"):
        return lambda m: names_in(m.value)
    return lambda m: _messages_in(_parts(m).values())


def _parts(message: Any) -> dict[str, Any]:
    """Return the fields of a message, or what is in its slots."""
    slots = getattr(type(message), "__slots__", ())
    return _fields(message) or {name: getattr(message, name, None) for name in slots}


def _messages_in(values: Iterable[Any]) -> list[str]:
    return [
        name
        for value in values
        for name in (
            _messages_in(value)
            if type(value) in (tuple, list)
            else carried_messages(value)
            if hasattr(value, "size_bytes") or hasattr(value, "_fields") or dataclasses.is_dataclass(value)
            else ()
        )
    ]


def _fields(message: Any) -> dict[str, Any]:
    if hasattr(message, "_asdict"):
        return dict(message._asdict())
    return (
        {field.name: getattr(message, field.name) for field in dataclasses.fields(message)}
        if dataclasses.is_dataclass(message)
        else {}
    )


def _spread(values: Iterable[Any]) -> Iterator[Any]:
    """Each value, and each of those in lists of values or of pairs."""
    for value in values:
        if isinstance(value, tuple) and not hasattr(value, "size_bytes"):
            yield from _spread(value)
        else:
            yield value


def _name(message: MessageId) -> str:
    return f"{'h' if isinstance(message, MessageId) else 'p'}{message[0]}:{message[1]}"


def _plain(value: Any) -> Any:
    if isinstance(value, MessageId):
        return _name(value)
    if isinstance(getattr(value, "id", None), MessageId):
        return _name(value.id)
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in list(value.items())[:MOST_LISTED]}
    if isinstance(value, (tuple, list, set, frozenset)) and not hasattr(value, "size_bytes"):
        listed = sorted(value) if isinstance(value, (set, frozenset)) else value
        return [_plain(item) for item in listed[:MOST_LISTED]]
    if isinstance(value, (bool, int, float, str)):
        return value
    inner = contents(value)
    return " ".join(part for part in (type(value).__name__, inner.message or inner.host) if part)

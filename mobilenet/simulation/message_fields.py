"""Read from a protocol's message what the record notes: the host it is about, and the application message it
carries.

Model     protocols name the fields of their messages freely; only by their names `host`, `ses` (or the `ses` of a
          request `rq`) and `id` are distinguished; everything else is detail. An envelope (a segment, a bundle, a
          stamped message) with one message in it is about the subject of that message. No protocol is known here
Shapes    host 'h12' or None, session int or None, message 'h12:5' or None, detail JSON or None
Source    ours: docs/run-directory.md
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from mobilenet.protocols.port import MessageId
from mobilenet.rundir.schema import MOST_LISTED


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
    return f"h{message.host}:{message.seq}"


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

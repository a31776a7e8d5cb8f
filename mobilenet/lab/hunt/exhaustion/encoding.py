"""Encode the state of a protocol's objects for comparison, without clock readings.

Model     The graph of objects is written as nested tuples, which are equal if and only if the graphs are equal.
          Dictionaries and lists keep their order, because a protocol may iterate over them; sets are sorted. An object
          that occurs again is written as a reference, so cycles end. All clock readings, which are recognised by their
          size (EPOCH and the years after it), are replaced by one placeholder; local.py explains why no information is
          lost.
Units     integer nanoseconds
Errors    TypeError for an object whose contents are not visible (a generator, an open file)
Source    ours; hashing of states as in Holzmann, The SPIN model checker (2003)
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Container
from enum import Enum
from functools import partial
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

from mobilenet.lab.hunt.controlled.port import ControlledPort, ControlledWire, Timer

# Clocks start at this time. Protocols do not contain other numbers of this size. Sentinels are far larger.
EPOCH = 10**15
SPAN = 10**13
PLAIN = frozenset((str, float, bool, type(None), bytes))


Forget = Callable[[Any], Container[str]]


def nothing(value: Any) -> Container[str]:
    return ()


def encode(value: Any, opaque: Any = None, forget: Forget = nothing) -> Any:
    """Return a value as nested tuples.

    `opaque` is an object that never changes (the parameters of the protocol), so its contents are not encoded. `forget`
    returns, for an object, the names of the attributes whose values no longer matter.
    """
    return _Encoder(opaque, forget).encode(value)


def attributes(kind: type) -> tuple[str, ...]:
    """Return the names of the attributes in the slots of a class and of its bases."""
    names: list[str] = []
    for base in kind.__mro__:
        slots = base.__dict__.get("__slots__", ())
        names += [slots] if isinstance(slots, str) else slots
    return tuple(sorted(name for name in set(names) if name not in ("__dict__", "__weakref__")))


class _Encoder:
    slots: dict[type, tuple[str, ...]] = {}  # noqa: RUF012

    def __init__(self, opaque: Any, forget: Forget) -> None:
        self._forget = forget
        self._seen: dict[int, int] = {id(opaque): 0}
        self._objects: list[Any] = [opaque]  # The list keeps the objects alive, so that no id is used twice.

    def encode(self, value: Any) -> Any:
        kind = type(value)
        if kind is int:
            return "time" if EPOCH <= value < EPOCH + SPAN else value
        if kind in PLAIN:
            return value
        if kind is tuple:
            return ("tuple", *map(self.encode, value)) if value else ()
        if isinstance(value, tuple):
            return self._tuple(value, kind)
        if isinstance(value, Enum):
            return (kind.__qualname__, value.name)
        if isinstance(value, frozenset):
            return ("set", *sorted(map(self.encode, value), key=repr))
        if isinstance(value, type | BuiltinFunctionType):
            return value.__qualname__
        return self._reference(value) or self._object(value, kind)

    def _tuple(self, value: tuple[Any, ...], kind: type) -> Any:
        forgotten = self._forget(value)
        if not forgotten:
            return (kind.__qualname__, *map(self.encode, value))
        names: tuple[str, ...] = getattr(kind, "_fields", ())
        return (
            kind.__qualname__,
            *(self.encode(item) for name, item in zip(names, value, strict=True) if name not in forgotten),
        )

    def _reference(self, value: Any) -> Any:
        number = self._seen.get(id(value))
        if number is not None:
            return ("seen", number)
        self._seen[id(value)] = len(self._objects)
        self._objects.append(value)
        return None

    def _object(self, value: Any, kind: type) -> Any:
        if isinstance(value, dict):
            return ("dict", *((self.encode(k), self.encode(v)) for k, v in value.items()))
        if isinstance(value, list | deque):
            return ("list", *map(self.encode, value))
        if isinstance(value, set):
            return ("set", *sorted(map(self.encode, value), key=repr))
        if isinstance(value, Timer):
            return ("timer", value.number, value.running)
        if isinstance(value, ControlledPort | ControlledWire):
            return ("port",)
        if isinstance(value, MethodType):
            # Each access to a method creates a new object, so a method is identified by its function and its owner.
            return ("method", value.__func__.__qualname__, self.encode(value.__self__))
        if isinstance(value, FunctionType):
            cells = value.__closure__ or ()
            return ("function", value.__qualname__, *(self.encode(cell.cell_contents) for cell in cells))
        if isinstance(value, partial):
            return ("partial", *map(self.encode, (value.func, value.args, value.keywords)))
        return self._instance(value, kind)

    def _instance(self, value: Any, kind: type) -> Any:
        names = self.slots.get(kind)
        if names is None:
            names = self.slots[kind] = attributes(kind)
        inside: dict[str, Any] | None = getattr(value, "__dict__", None)
        if inside is None and not names:
            if hasattr(value, "__next__") or hasattr(value, "fileno"):
                raise TypeError(f"the contents of {value!r} are not visible, so its states cannot be distinguished")
            return (kind.__qualname__,)
        forgotten = self._forget(value)
        fields = [
            (name, self.encode(getattr(value, name)))
            for name in names
            if name not in forgotten and hasattr(value, name)
        ]
        if inside:
            fields += [(name, self.encode(inside[name])) for name in sorted(inside) if name not in forgotten]
        return (kind.__qualname__, *fields)

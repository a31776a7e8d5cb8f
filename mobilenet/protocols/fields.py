"""Field declarations of messages. Sizes, payloads and list lengths are derived from them.

Model     a message is a NamedTuple decorated with `@message`, and the type of a field determines its size. An
          identifier takes 4 bytes, a number 8 and a flag 1. A body takes its declared size, a tuple the sum of its
          items, and a nested NamedTuple the sum of its fields. An optional field takes one more byte, as a flag. `head`
          bytes precede the first field
Units     bytes
Errors    TypeError for a field whose type has no size
Source    ours: docs/architecture.md
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

M = TypeVar("M", bound=type)


@dataclass(frozen=True, slots=True)
class Bytes:
    """A field of constant size."""

    count: int


@dataclass(frozen=True, slots=True)
class Declared:
    """A field whose value is the number of payload bytes. The simulator never inspects the payload."""


@dataclass(frozen=True, slots=True)
class BitsFrom:
    """A field of ascending numbers that is sent as a bit map. The map begins at the number in another field and ends at
    the last number.
    """

    field: str


@dataclass(frozen=True, slots=True)
class Listed:
    """A list field whose length is sampled under this name."""

    name: str


Id = Annotated[int, Bytes(4)]
Number = Annotated[int, Bytes(8)]
Flag = Annotated[bool, Bytes(1)]
Body = Annotated[int, Declared()]
FLAG = 1


def message(head: int = 0, acknowledges: bool = False) -> Callable[[M], M]:
    """Add `size_bytes`, `payload_bytes` and `list_sizes()` to a NamedTuple. Set `acknowledges` for a message whose only
    purpose is to acknowledge.
    """

    def declare(cls: M) -> M:
        hints = get_type_hints(cls, include_extras=True)
        fixed, variable, payload = head, [], []
        lists = []
        for name, hint in hints.items():
            size, expression, carried = _size(hint, f"self.{name}")
            fixed += size
            variable += expression
            payload += carried
            lists += [(mark.name, name) for mark in _marks(hint) if isinstance(mark, Listed)]
        cls.size_bytes = _sum_property([str(fixed), *variable]) if variable else fixed  # type: ignore[attr-defined]
        cls.payload_bytes = _sum_property(payload) if payload else 0  # type: ignore[attr-defined]
        cls.list_sizes = _lengths(lists)  # type: ignore[attr-defined]
        cls.acknowledges = acknowledges  # type: ignore[attr-defined]
        return cls

    return declare


def _marks(hint: Any) -> tuple[Any, ...]:
    return get_args(hint)[1:] if get_origin(hint) is Annotated else ()


def _size(hint: Any, value: str) -> tuple[int, list[str], list[str]]:
    """Return the constant size of `value`, the expressions for its variable size, and which of these expressions are
    payload.
    """
    for mark in _marks(hint):
        if isinstance(mark, Bytes):
            return mark.count, [], []
        if isinstance(mark, Declared):
            return 0, [value], [value]
        if isinstance(mark, BitsFrom):
            return 0, [f"(({value}[-1] - self.{mark.field} + 8) // 8 if {value} else 0)"], []
    if get_origin(hint) is Annotated:
        return _size(get_args(hint)[0], value)
    arguments = get_args(hint)
    if get_origin(hint) in (Union, UnionType) and len(arguments) == 2 and NoneType in arguments:
        inside, expressions, _ = _size(next(a for a in arguments if a is not NoneType), value)
        if not expressions:
            return FLAG, [f"(0 if {value} is None else {inside})"], []
    elif get_origin(hint) is tuple and arguments[1:] == (...,):
        return _size_of_each(arguments[0], value)
    elif get_origin(hint) is tuple:
        return sum(_size(each, "")[0] for each in arguments), [], []
    elif get_origin(hint) is Mapping:
        return 0, [f"{sum(_size(each, '')[0] for each in arguments)} * len({value})"], []
    elif isinstance(hint, type) and hasattr(hint, "_fields"):
        total: tuple[int, list[str], list[str]] = (0, [], [])
        for name, each in get_type_hints(hint, include_extras=True).items():
            size, expressions, payload = _size(each, f"{value}.{name}")
            total = (total[0] + size, total[1] + expressions, total[2] + payload)
        return total
    raise TypeError(f"{hint} has no size in bytes")


def _size_of_each(hint: Any, value: str) -> tuple[int, list[str], list[str]]:
    size, expressions, payload = _size(hint, "item")
    terms = [f"{size} * len({value})"] if size else []
    carried = [f"sum([{' + '.join(payload)} for item in {value}])"] if payload else []
    if expressions != payload:
        raise TypeError(f"items of {hint} differ in more than their bodies")
    return 0, terms + carried, carried


def _sum_property(terms: list[str]) -> property:
    """Return a property that sums these expressions over `self`. It is compiled, and therefore as fast as handwritten
    code.
    """
    return property(eval(f"lambda self: {' + '.join(terms)}"))


def _lengths(lists: list[tuple[str, str]]) -> Callable[[Any], tuple[tuple[str, int], ...]]:
    inside = "".join(f"({name!r}, len(self.{field}))," for name, field in lists)
    return eval(f"lambda self: ({inside})")  # type: ignore[no-any-return]

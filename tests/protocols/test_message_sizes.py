"""Tests that the declared size of each message equals the length of the output of an independent encoder."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from types import NoneType, UnionType
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mobilenet.protocols.fields import BitsFrom, Body, Declared, Id, Listed, Number, message
from mobilenet.protocols.mobile_causal import messages as mobile
from mobilenet.protocols.port import MessageId
from mobilenet.protocols.tcp_flooding import messages as flooding

STATION = (
    mobile.AppHs, mobile.AckH, mobile.Join, mobile.Init, mobile.Leave, mobile.AppSh, mobile.AppOne, mobile.AppCo,
    mobile.AckC, mobile.Chal, mobile.InitAck, mobile.LeaveAck, mobile.Reinit, mobile.Reset,
)  # fmt: skip
CLASSES = [
    cls
    for module in (mobile, flooding)
    for _, cls in inspect.getmembers(module, inspect.isclass)
    if hasattr(cls, "size_bytes")
]


def encode(value: Any, hint: Any, around: Any) -> bytes:
    """Encode the value according to its type. `around` is the message that contains the value."""
    if get_origin(hint) is Annotated:
        plain, *marks = get_args(hint)
        for mark in marks:
            if isinstance(mark, Declared):
                return bytes(value)
            if isinstance(mark, BitsFrom):
                bits = 0
                for number in value:
                    bits |= 1 << (number - getattr(around, mark.field))
                return bits.to_bytes((bits.bit_length() + 7) // 8, "big")
            if not isinstance(mark, Listed):
                return int(value).to_bytes(mark.count, "big", signed=mark.count == 8)
        return encode(value, plain, around)
    if get_origin(hint) in (Union, UnionType):
        inside = next(each for each in get_args(hint) if each is not NoneType)
        return b"\0" if value is None else b"\1" + encode(value, inside, around)
    if get_origin(hint) is Mapping:
        return b"".join(
            encode(x, h, around) for pair in value.items() for x, h in zip(pair, get_args(hint), strict=True)
        )
    if get_origin(hint) is tuple and get_args(hint)[1:] == (...,):
        return b"".join(encode(item, get_args(hint)[0], around) for item in value)
    if get_origin(hint) is tuple:
        return b"".join(encode(item, each, around) for item, each in zip(value, get_args(hint), strict=True))
    hints = get_type_hints(hint, include_extras=True)
    return b"".join(encode(getattr(value, name), each, value) for name, each in hints.items())


def values_of(hint: Any, cls: type) -> st.SearchStrategy[Any]:
    if get_origin(hint) is Annotated:
        plain, *marks = get_args(hint)
        if any(isinstance(mark, BitsFrom) for mark in marks):
            return st.sets(st.integers(1000, 1400)).map(lambda numbers: tuple(sorted(numbers)))
        if plain is int:
            return st.integers(0, 1000)
        return st.booleans() if plain is bool else values_of(plain, cls)
    if get_origin(hint) in (Union, UnionType):
        return st.none() | values_of(next(each for each in get_args(hint) if each is not NoneType), cls)
    if get_origin(hint) is Mapping:
        return st.dictionaries(*(values_of(each, cls) for each in get_args(hint)), max_size=20)
    if get_origin(hint) is tuple and get_args(hint)[1:] == (...,):
        return st.lists(values_of(get_args(hint)[0], cls), max_size=9).map(tuple)
    if get_origin(hint) is tuple:
        return st.tuples(*(values_of(each, cls) for each in get_args(hint)))
    hints = get_type_hints(hint, include_extras=True)
    return st.builds(hint, **{name: values_of(each, hint) for name, each in hints.items()})


def test_the_message_size_test_covers_all_message_classes() -> None:
    assert len(CLASSES) == 23 + 13


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: f"{cls.__module__.split('.')[-2]}.{cls.__name__}")
@given(data=st.data())
def test_the_size_of_a_message_is_that_of_its_encoding(cls: type, data: st.DataObject) -> None:
    one = data.draw(values_of(cls, cls))
    head = 4 if cls in STATION else 1 if cls is flooding.Here else 0
    assert one.size_bytes == head + len(encode(one, cls, one))
    fields = [getattr(one, name) for name in getattr(cls, "_fields", ())]
    listed = [len(field) for field in fields if isinstance(field, (tuple, dict)) and not hasattr(field, "_fields")]
    if cls in STATION or cls in (mobile.Rsp1, mobile.Req2, mobile.Rsp2):
        assert [length for _, length in one.list_sizes()] == listed
    body = getattr(one, "body", 0) + sum(item.body for item in getattr(one, "bodies", ()))
    assert one.payload_bytes == body


def test_a_message_field_without_a_size_is_rejected() -> None:
    with pytest.raises(TypeError, match="has no size in bytes"):

        @message()
        class Vague(NamedTuple):
            host: Id
            what: str


def test_a_custom_message_has_a_computed_size() -> None:
    @message(head=2)
    class Rumour(NamedTuple):
        id: MessageId
        hops: Number
        body: Body

    rumour = Rumour(MessageId(1, 2), 3, 100)
    assert (rumour.size_bytes, rumour.payload_bytes, rumour.list_sizes()) == (2 + 12 + 8 + 100, 100, ())

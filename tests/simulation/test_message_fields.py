"""Tests of the record of messages with arbitrary fields. Each protocol chooses the names and contents of the fields."""

from __future__ import annotations

import json
from dataclasses import dataclass, make_dataclass
from pathlib import Path
from typing import Any

import pytest

import mobilenet
from mobilenet.protocols.base import BaseMessage
from mobilenet.protocols.port import MessageId
from mobilenet.protocols.vcube.port import MessageId as ProcessMessage
from mobilenet.simulation.message_fields import DEEPEST, MOST_WRITTEN, carried_messages, contents
from mobilenet.simulation.plugin_code import PluginError
from tests.conftest import SCENARIOS

CHAIN = 5000  # exceeds Python's recursion limit


def message(**fields: Any) -> Any:
    return make_dataclass("Message", fields, bases=(BaseMessage,))(**fields)


@dataclass(eq=False)
class Block(BaseMessage):
    before: Any
    also: Any = None


def chain(length: int, first: Any = None) -> Any:
    """Return a chain of blocks in which each block refers twice to the previous one."""
    for _ in range(length):
        first = Block(first, [first])
    return first


def lists_in_lists(kind: type, depth: int) -> Any:
    value = kind()
    for _ in range(depth):
        value = kind([value])
    return value


class Odd(str):
    def __lt__(self, other: object) -> bool:
        return True


CYCLE: list[Any] = [1]
CYCLE.append(CYCLE)
RING = Block(None)
RING.before = RING


@pytest.mark.parametrize(
    ("fields", "detail"),
    [
        ({"ses": "abc"}, {"ses": "abc"}),
        ({"ses": 2**70}, {"ses": hex(2**70)}),
        ({"ses": 1.5}, {"ses": 1.5}),
        ({"rq": 5}, {"rq": 5}),
        ({"rq": message(ses="abc")}, {"rq": "Message"}),
        ({"host": "x", "seq": 1, "body": 2}, {"host": "x", "seq": 1}),
        ({"id": (7,)}, None),
        ({"id": MessageId("a", 0)}, None),
        ({"kinds": frozenset({1, "a"})}, {"kinds": ["a", 1]}),
        ({"kinds": frozenset({None, 3})}, {"kinds": ["NoneType", 3]}),
        ({"kinds": frozenset(frozenset({a}) for a in "abcdefgh")}, {"kinds": [[a] for a in "abcdefgh"]}),
        ({"kinds": {3, 1, 2}}, {"kinds": [1, 2, 3]}),
        ({"kinds": {10, 9.5, True}}, {"kinds": [True, 9.5, 10]}),
        ({"kinds": {"b", Odd("a")}}, {"kinds": ["a", "b"]}),
        ({"kinds": {3.0, float("inf"), 0.5, None}}, {"kinds": ["NoneType", 0.5, 3.0, float("inf")]}),
        ({"at": dict.fromkeys(["b", Odd("a"), 3])}, {"at": {"3": "NoneType", "a": "NoneType", "b": "NoneType"}}),
        ({"at": {Block(None): 1, frozenset("ba"): 2}}, {"at": {"Block": 1, '["a", "b"]': 2}}),
        ({"kind": Block}, {"kind": "type"}),
        ({"ref": RING}, {"ref": "Block"}),
        ({"ref": CYCLE}, {"ref": [1, "list"]}),
        ({"ref": chain(CHAIN)}, {"ref": "Block"}),
        ({"number": 10**5000}, {"number": hex(10**5000)}),
    ],
)
def test_fields_of_unexpected_types_go_to_detail_or_are_dropped(fields: dict[str, Any], detail: Any) -> None:
    *about, text = contents(message(**fields))
    assert about == [None, None, None] and (None if text is None else json.loads(text)) == detail


@pytest.mark.parametrize("kind", [list, tuple])
def test_nested_lists_are_recorded_up_to_a_maximum_depth(kind: type) -> None:
    for depth in (DEEPEST - 1, CHAIN):
        text = contents(message(ref=lists_in_lists(kind, depth))).detail
        assert text is not None and text.count("[") == min(depth + 1, DEEPEST)
        assert (kind.__name__ in text) == (depth >= DEEPEST)


def test_a_wrapped_message_is_described_by_its_inner_message() -> None:
    inner = message(host=1, rq=message(ses=4))
    assert contents(message(a=message(b=inner)))[:3] == contents(inner)[:3] == ("h1", 4, None)
    assert contents(message(host=3, seq=5, body=8))[:3] == ("h3", None, "h3:5")


@pytest.mark.parametrize("identifier", [(), (7,), (1, 2, 3), ("a", "b"), MessageId("a", 0), [1, 2], None])
def test_a_message_with_a_malformed_identifier_is_not_recorded(identifier: Any) -> None:
    whole = message(id=ProcessMessage(1, 2))
    assert carried_messages(whole) == ["p1:2"]
    odd = type(whole)(identifier)
    assert carried_messages(odd) == [] and contents(odd).message is None
    assert carried_messages(message(id=identifier, inside=(odd, whole))) == ["p1:2"]


@pytest.mark.parametrize(
    "odd",
    [
        message(source="a b", number=1, data="x"),
        message(host="a", seq=1, body=3),
        message(text="a", value=CYCLE),
        message(kind=Block),
        RING,
        message(ref=CYCLE),
    ],
)
def test_objects_with_matching_field_names_are_not_messages(odd: Any) -> None:
    assert carried_messages(odd) == []


def test_messages_nested_at_any_depth_are_found() -> None:
    for kind in (list, tuple):
        assert carried_messages(message(ref=lists_in_lists(kind, CHAIN))) == []
    both = [message(id=MessageId(host, 7)) for host in range(2)]
    assert carried_messages(message(ref=chain(CHAIN, both))) == ["h0:7", "h1:7"]


@pytest.mark.parametrize("kind", [lambda part: (part,) * 20, lambda part: frozenset({part, (part, 1)}), Block])
def test_deeply_shared_fields_are_written_in_bounded_space(kind: Any) -> None:
    shared: Any = (1,)
    for _ in range(CHAIN):
        shared = kind(shared)
    text = contents(message(ref=shared)).detail
    assert text is not None and len(text) < 20 * MOST_WRITTEN


def test_sets_that_contain_nan_are_written_in_a_fixed_order() -> None:
    nan = [float("nan") for _ in range(9)]
    texts = {contents(message(values={*order, 1.0, 0.25})).detail for order in (nan, nan[::-1], nan[3:] + nan[:3])}
    assert len(texts) == 1


@pytest.mark.parametrize("payload", ["'7'", "float('nan')", "0.5", "-1", "2**53", "None"])
@pytest.mark.parametrize("send", ["self.port.broadcast(rumour)", "self.wired.broadcast(rumour)"])
def test_an_oversized_payload_is_reported_with_its_line_of_code(send: str, payload: str, tmp_path: Path) -> None:
    code = (SCENARIOS / "own_protocol/gossip.py").read_text()
    assert send in code
    code = code.replace(send, send.replace("rumour", "Odd()"))
    code += f"\n\nclass Odd(BaseMessage):\n    payload_bytes = {payload}\n    size_bytes = 20\n"
    (tmp_path / "gossip.py").write_text(code)
    (tmp_path / "gossip.yaml").write_text((SCENARIOS / "own_protocol/gossip.yaml").read_text())
    with pytest.raises(PluginError, match=r"^.*gossip.py:\d+: .*payload_bytes"):
        mobilenet.run(tmp_path / "gossip.yaml", out=tmp_path / "run", allow_code=True)


@pytest.mark.parametrize("changes", [["record.causes=true"], ["record.causes=false"], ["network={kind: wired}"]])
@pytest.mark.parametrize("size", ["'7'", "{}", "7.0", "1.5", "-1", "2**63", "True", "float('nan')"])
def test_an_oversized_message_is_reported_with_its_line_of_code(size: str, changes: list[str], tmp_path: Path) -> None:
    code = (SCENARIOS / "own_protocol/ring.py").read_text()
    (tmp_path / "ring.py").write_text(code.replace("    id: M", f"    size_bytes = {size}\n    id: M", 1))
    (tmp_path / "ring.yaml").write_text((SCENARIOS / "own_protocol/ring.yaml").read_text())
    with pytest.raises(PluginError, match=r"^.*ring.py:\d+: .*size_bytes"):
        mobilenet.run(tmp_path / "ring.yaml", out=tmp_path / "run", overrides=changes, allow_code=True)


@pytest.mark.parametrize("size", ["float('nan')", "1.5", "'x'", "2**63"])
def test_a_huge_buffer_size_is_reported_with_its_line_of_code(size: str, tmp_path: Path) -> None:
    code = (SCENARIOS / "own_protocol/ring.py").read_text()
    (tmp_path / "ring.py").write_text(code.replace("return (len(self.pending),)", f"return ({size},)", 1))
    (tmp_path / "ring.yaml").write_text((SCENARIOS / "own_protocol/ring.yaml").read_text())
    with pytest.raises(PluginError, match=r"^.*ring.py: .*buffer_sizes: one "):
        mobilenet.run(tmp_path / "ring.yaml", out=tmp_path / "run", allow_code=True)


@pytest.mark.parametrize("payload", ["2**70", "True", "1.5", "float('nan')", "-1"])
def test_a_bad_tcp_payload_is_reported_with_its_line_of_code(payload: str, tmp_path: Path) -> None:
    code = (SCENARIOS / "own_protocol/courier.py").read_text()
    (tmp_path / "courier.py").write_text(code.replace("Parcel(message, body)", f"Parcel(message, {payload})"))
    (tmp_path / "courier.yaml").write_text((SCENARIOS / "own_protocol/courier.yaml").read_text())
    with pytest.raises(PluginError, match=r"^.*courier.py:\d+: ValueError: cannot send a message with size_bytes"):
        mobilenet.run(tmp_path / "courier.yaml", out=tmp_path / "run", allow_code=True)


def test_a_long_text_in_a_message_is_truncated_in_the_record() -> None:
    for value in ("x" * 3_000_000, ["x" * 3_000_000] * 20, {"x" * 3_000_000: 16**3_000_000}):
        detail = contents(message(values=value)).detail
        assert detail is not None and len(detail) < 10_000
    assert contents(message(values="x" * 5_000)).detail == json.dumps({"values": "x" * 5_000})


@pytest.mark.parametrize(
    ("name", "field", "changes"),
    [
        ("gossip", "payload_bytes: int", ["duration_s=5", "hosts.count=4", "record.causes=true"]),
        ("ring", "id: MessageId", ["processes=4"]),
    ],
)
def test_message_fields_of_any_type_do_not_invalidate_a_run(
    name: str, field: str, changes: list[str], tmp_path: Path
) -> None:
    code = (SCENARIOS / f"own_protocol/{name}.py").read_text()
    odd = "ses: object = 'a'\n    rq: object = 5\n    kinds: object = frozenset({1, 'a', None})\n    host: object = 'x'"
    code = code.replace("hop.id", "hop.mid").replace("rumour.id", "rumour.mid").replace("    id: ", "    mid: ")
    field = field.replace("id: M", "mid: M")
    assert field in code
    (tmp_path / f"{name}.py").write_text(code.replace(field, f"{field}\n    id: object = ()\n    {odd}", 1))
    (tmp_path / f"{name}.yaml").write_text((SCENARIOS / f"own_protocol/{name}.yaml").read_text())
    run = mobilenet.run(tmp_path / f"{name}.yaml", out=tmp_path / "run", overrides=changes, allow_code=True)
    assert run.verdict == "valid"

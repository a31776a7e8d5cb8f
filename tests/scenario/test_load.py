"""Tests of the strict subset of YAML: valid files are read, and everything else is refused with a one-line error."""

from __future__ import annotations

import re
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mobilenet.parameters import ScenarioError
from mobilenet.scenario.yaml_reader import MOST_BYTES, MOST_DEPTH, parse
from mobilenet.scenario.yaml_writer import as_scalar, inline


def refusal(data: bytes) -> str:
    with pytest.raises(ScenarioError) as caught:
        parse(data, "f.yaml")
    message = str(caught.value)
    assert "\n" not in message and re.match(r"f\.yaml(:\d+)?: ", message), message
    return message


def test_yaml_values_follow_the_core_schema() -> None:
    text = b"""
a: [1, -2, +3, 0, 1.5, .5, 1e3, -2E-2]
b: [true, False, null, ~, ]
c: [word, two words, h3, 1.38 m, 'on', "010", 'a''b', "x\\ty"]
d: {e: {}, f: []}
g: |
  kept
"""
    assert parse(text, "f.yaml").plain() == {
        "a": (1, -2, 3, 0, 1.5, 0.5, 1000.0, -0.02),
        "b": (True, False, None, None),
        "c": ("word", "two words", "h3", "1.38 m", "on", "010", "a'b", "x\ty"),
        "d": {"e": {}, "f": ()},
        "g": "kept\n",
    }


def test_yaml_values_know_the_line_of_their_key() -> None:
    root = parse(b"# first line\na: 1\nb:\n  c: 2\n  d:\n    - 3\n    - 4\n", "f.yaml")
    assert root.value["a"].where == "f.yaml:2"
    assert root.value["b"].where == "f.yaml:3"
    assert root.value["b"].value["c"].where == "f.yaml:4"
    assert root.value["b"].value["d"].value[1].where == "f.yaml:7"


@pytest.mark.parametrize(
    "data, line, part",
    [
        (b"", None, "empty"),
        (b"# only a remark\n", None, "empty"),
        (b"a: 1\nb: 2\na: 3\n", 3, "duplicate key 'a', first at f.yaml:1"),
        (b"a: {b: 1, b: 2}", 1, "duplicate key 'b'"),
        (b"a: &x [1]\nb: *x\n", 1, "anchor &x"),
        (b"a: *x\n", 1, "alias *x"),
        (b"&a a: 1\n", 1, "anchor &a"),
        (b"a: 1\n<<: {b: 2}\n", 2, "merge key"),
        (b"a: !!python/object:os.system x", 1, "tag"),
        (b"a: !!int 3", 1, "tag"),
        (b"a: 1\n---\nb: 2\n", 2, "second document"),
        (b"a: 1\n...\nb: 2\n", 3, "second document"),
        (b"? [1, 2]\n: 3\n", 1, "the key is a list"),
        (b"a: on", 1, "true or false"),
        (b"a: 1\nb: Yes", 2, "true or false"),
        (b"a: 010", 1, "leading zeros"),
        (b"a: 12:30:45", 1, "seconds as one number"),
        (b"a: 1_000", 1, "underscores"),
        (b"a: 0x1F", 1, "decimal"),
        (b"a: 2020-01-01", 1, "dates are not supported"),
        (b"a: .nan", 1, "finite"),
        (b"a: NaN", 1, "finite"),
        (b"a: -.INF", 1, "finite"),
        (b"a: 1e999", 1, "finite"),
        (b"a: " + b"9" * 5000, 1, "5000 characters"),
        (b"%YAML 1.1\n---\na: on\n", 3, "true or false"),
        (b"\xff\xfe\x00a", 1, "UTF-8"),
        (b"a: 1\nb: \xc3\x28\n", 2, "UTF-8"),
        (b"a: 1\nb: \x00\n", 2, "control character"),
        (bytes(range(128)) * 9, 1, "control character"),
        (b'a: "\\ud83d"', 1, "a lone surrogate"),
        (b"a: [1, 2", 1, "not YAML"),
        (b"a: b: c", 1, "not YAML"),
        (b"a:\n\t- 1", 2, "not YAML"),
        (b"a: @b", 1, "not YAML"),
        (b"[" * 1000 + b"]" * 1000, 1, f"{MOST_DEPTH} levels"),
        (b"{a: " * 1000, 1, f"{MOST_DEPTH} levels"),
        (b"x" * (MOST_BYTES + 1), None, "bytes"),
    ],
)
def test_malformed_yaml_is_rejected_in_one_line(data: bytes, line: int | None, part: str) -> None:
    message = refusal(data)
    assert part in message
    if line is not None:
        assert message.startswith(f"f.yaml:{line}: ")


def test_yaml_bombs_are_rejected_quickly() -> None:
    laughs = b"a: &a [x, x, x, x, x, x, x, x, x]\n" + b"".join(
        b"%c: &%c [%s]\n" % (c + 1, c + 1, b", ".join([b"*%c" % c] * 9)) for c in range(ord("a"), ord("i"))
    )
    deep = b"[" * 400_000
    tracemalloc.start()
    try:
        refusal(laughs)
        refusal(deep)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes < 20 * len(deep)


@given(st.binary(max_size=200))
def test_any_bytes_are_parsed_or_rejected_with_one_line(data: bytes) -> None:
    try:
        parse(data, "f.yaml")
    except ScenarioError as error:
        assert len(str(error).splitlines()) == 1


@given(st.text(alphabet="ab:,-[]{}#&*!|>'\"%@ \n\t0.1~?", max_size=60))
def test_any_text_is_parsed_or_rejected_in_one_line(text: str) -> None:
    try:
        parse(text.encode(), "f.yaml")
    except ScenarioError as error:
        assert len(str(error).splitlines()) == 1


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(st.from_regex(r"[a-z_]{1,8}", fullmatch=True), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(VALUES)
def test_written_yaml_values_are_read_back(value: object) -> None:
    text = "v: " + inline(value)
    assert parse(text.encode(), "f.yaml").plain() == {"v": value}


@given(st.text())
def test_any_text_can_be_quoted_in_yaml(text: str) -> None:
    assert parse(as_scalar(text).encode(), "f.yaml").plain() == text

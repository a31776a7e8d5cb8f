"""Read YAML strictly into nodes with their line numbers, and change the values of nodes.

Model     Only a small part of YAML 1.2 is accepted: mappings, lists and scalars of the core schema. The reader
          refuses duplicate keys, anchors, aliases, merge keys, tags, several documents, depth above 20, files above 1
          MB, NaN, infinity, and values that YAML 1.1 reads differently: yes, on, 010, 12:30:45, 1_000.
Errors    ScenarioError, `file.yaml:14: what is wrong`; lines are counted from 1
Source    YAML 1.2.2, chapter 10.3 (core schema); ruamel.yaml cuts the text into events
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from mobilenet.parameters import ScenarioError

MOST_BYTES = 1_000_000
MOST_DEPTH = 20
MOST_VALUES = 100_000  # maximum number of keys and values; reading this many takes three to four seconds
MOST_DIGITS = 40

NULL = re.compile(r"~|null|Null|NULL|")
TRUTH = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]*)")
FLOAT = re.compile(r"[-+]?(\.[0-9]+|(0|[1-9][0-9]*)(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
SURPRISES = (
    (re.compile(r"yes|no|on|off|y|n", re.IGNORECASE), "write true or false, or put this word in quotes"),
    (re.compile(r"[-+]?0[0-9_]+(\.[0-9_]*)?"), "write a number without leading zeros, or put this value in quotes"),
    (re.compile(r"[-+]?0[xob][0-9a-fA-F_]+"), "write a decimal number, or put this value in quotes"),
    (re.compile(r"[-+]?[0-9][0-9_]*(\.[0-9_]*)?(:[0-5]?[0-9])+(\.[0-9_]*)?"),
    "write seconds as one number, or put this value in quotes"),
    (re.compile(r"[-+]?[0-9][0-9_]*_[0-9_.]*([eE][-+]?[0-9]+)?"),
    "write a number without underscores, or put this value in quotes"),
    (re.compile(r"[-+]?\.(inf|nan)|[-+]?(inf|nan|infinity)", re.IGNORECASE), "expected a finite number"),
    (re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}.*"), "dates are not supported; put this value in quotes"),
)  # fmt: skip


@dataclass(slots=True)
class Node:
    """A value and its location in the file. The items of a mapping or list are nodes as well."""

    value: Any
    where: str  # such as `dynamic.yaml:14` or `--set seed=5`

    @classmethod
    def of(cls, value: Any, where: str) -> Node:
        """Convert values to nodes, all of which have this location."""
        if isinstance(value, dict):
            return cls({key: cls.of(inside, where) for key, inside in value.items()}, where)
        if isinstance(value, (list, tuple)):
            return cls([cls.of(inside, where) for inside in value], where)
        return cls(value, where)

    def at_place(self, where: str) -> Node:
        """Return the same values with this one location. Use it for values that do not come from a file."""
        return Node.of(self.plain(), where)

    def plain(self) -> Any:
        """Return the values without their locations. Lists become tuples."""
        if isinstance(self.value, dict):
            return {key: node.plain() for key, node in self.value.items()}
        if isinstance(self.value, list):
            return tuple(node.plain() for node in self.value)
        return self.value


def read(path: Path, changes: Sequence[str] | None = None) -> Node:
    """Return the nodes of a file. If there are `changes`, the file is a scenario, and they are applied to it."""
    if "\0" in str(path):
        raise ScenarioError(f"{str(path)[:80]!r}: cannot be read: its name contains a NUL character")
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise ScenarioError(f"{path}: cannot be read: {error.strerror}") from None
    root = parse(data, str(path))
    return root if changes is None else override(root, changes)


def parse(data: bytes, name: str) -> Node:
    """Return the only document in the bytes of a file or in the value of an option. `name` identifies it in
    messages.
    """
    if len(data) > MOST_BYTES:
        raise ScenarioError(f"{name}: {len(data)} bytes, more than {MOST_BYTES}")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ScenarioError(f"{name}:{line}: not UTF-8 text") from None
    return _Reader(name, numbered=True).read(text)


def parse_value(text: str, option: str) -> Node:
    """Return the value of an option. `option` identifies it in messages."""
    if len(text) > MOST_BYTES:
        raise ScenarioError(f"{option[:80]}: too long")
    return _Reader(option, numbered=False).read(text)


class _Reader:
    def __init__(self, name: str, numbered: bool) -> None:
        self._name = name
        self._numbered = numbered

    def read(self, text: str) -> Node:
        try:
            return self._document(YAML(typ="safe", pure=True).parse(text))
        except MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            explanation = " ".join(str(part) for part in (error.context, error.problem) if part)
            raise ScenarioError(f"{self._where(mark)}: not YAML: {' '.join(explanation.split())}") from None
        # the text contains control characters, or bytes that are not UTF-8
        except (YAMLError, ValueError, UnicodeError) as error:
            position = getattr(error, "position", None)
            line = text.count("\n", 0, position) + 1 if isinstance(position, int) else 1
            raise ScenarioError(
                f"{self._name}{f':{line}' if self._numbered else ''}: not YAML: contains a control character"
            ) from None

    def _where(self, mark: Any) -> str:
        return f"{self._name}:{mark.line + 1}" if self._numbered and mark is not None else self._name

    def _refuse(self, event: Any, what: str) -> ScenarioError:
        return ScenarioError(f"{self._where(event.start_mark)}: {what}")

    def _document(self, events: Iterator[Any]) -> Node:
        root: Node | None = None
        open_nodes: list[Node] = []
        keys: list[tuple[str, Any] | None] = []  # for each open mapping, the key whose value comes next
        for number, event in enumerate(events):
            if number > MOST_VALUES and hasattr(event, "start_mark"):
                raise self._refuse(event, f"more than {MOST_VALUES} keys and values")
            if isinstance(event, (MappingEndEvent, SequenceEndEvent)):
                open_nodes.pop()
                keys.pop()
                continue
            if isinstance(event, DocumentStartEvent) and root is not None:
                raise self._refuse(event, "contains a second document; expected only one")
            if isinstance(event, AliasEvent):
                what = f"alias *{event.anchor}: aliases are not supported; write out the value instead"
                raise self._refuse(event, what)
            if not isinstance(event, (ScalarEvent, MappingStartEvent, SequenceStartEvent)):
                continue
            if event.anchor:
                what = f"anchor &{event.anchor}: anchors are not supported; write out each value instead"
                raise self._refuse(event, what)
            if event.tag:
                raise self._refuse(event, f"tag {event.tag}: tags are not supported")
            parent = open_nodes[-1] if open_nodes else None
            if parent is not None and isinstance(parent.value, dict) and keys[-1] is None:
                keys[-1] = (self._key(event, parent.value), event)
                continue
            where = self._where(event.start_mark)
            if isinstance(event, ScalarEvent):
                node = Node(self._scalar(event), where)
            else:
                if len(open_nodes) == MOST_DEPTH:
                    raise self._refuse(event, f"nested more than {MOST_DEPTH} levels deep")
                node = Node({} if isinstance(event, MappingStartEvent) else [], where)
            if parent is None:
                root = node
            elif isinstance(parent.value, list):
                parent.value.append(node)
            else:
                key = keys[-1]
                assert key is not None
                node.where = self._where(key[1].start_mark)  # error messages name the line of the key
                parent.value[key[0]] = node
                keys[-1] = None
            if not isinstance(event, ScalarEvent):
                open_nodes.append(node)
                keys.append(None)
        if root is None:
            raise ScenarioError(f"{self._name}: empty")
        return root

    def _key(self, event: Any, mapping: dict[str, Node]) -> str:
        if not isinstance(event, ScalarEvent):
            raise self._refuse(event, "the key is a list or mapping; expected a word")
        key: str = event.value
        self._refuse_halves(event)
        if key == "<<":
            what = "merge key <<: merge keys are not supported; write out each key and value instead"
            raise self._refuse(event, what)
        if key in mapping:
            raise self._refuse(event, f"duplicate key {key[:40]!r}, first at {mapping[key].where}")
        return key

    def _refuse_halves(self, event: Any) -> None:
        if any("\ud800" <= character <= "\udfff" for character in event.value):
            raise self._refuse(event, "a lone surrogate (\\ud800 to \\udfff); write the character itself")

    def _scalar(self, event: Any) -> Any:
        text: str = event.value
        self._refuse_halves(event)
        if event.style is not None and event.style != "":  # quoted text, or a block of text
            return text
        if NULL.fullmatch(text):
            return None
        if text in TRUTH:
            return TRUTH[text]
        if len(text) <= MOST_DIGITS:
            if INTEGER.fullmatch(text):
                return int(text)
            if FLOAT.fullmatch(text):
                value = float(text)
                if value in (float("inf"), float("-inf")):
                    raise self._refuse(event, f"{text}: expected a finite number")
                return value
        elif INTEGER.fullmatch(text) or FLOAT.fullmatch(text):
            raise self._refuse(
                event, f"{text[:20]}...: a number with {len(text)} characters, expected at most {MOST_DIGITS}"
            )
        for surprise, advice in SURPRISES:
            if surprise.fullmatch(text):
                raise self._refuse(event, f"{text[:40]}: {advice}")
        return text


DEFAULT = "default"  # this word is not a valid value of any key


class Change(str):
    """A change `a.b=value` with the form in which messages name it. Messages name a plain string as the option `--set
    a.b=value`.
    """

    where: str

    def __new__(cls, text: str, where: str) -> Change:
        change = super().__new__(cls, text)
        change.where = where
        return change

    def __reduce__(self) -> tuple[type[Change], tuple[str, str]]:
        return Change, (str(self), self.where)  # keeps `where` when a change is sent to another process


def in_python(overrides: Sequence[str]) -> list[Change]:
    """Return the `overrides` of a caller in Python as changes. Existing Change objects are kept."""
    return [one if isinstance(one, Change) else Change(one, f"overrides: {one}") for one in overrides]


def override(root: Node, changes: Sequence[str]) -> Node:
    """Set values in the nodes of a scenario by `a.b=value`, and return the root. `a.b=default` removes the key."""
    if not isinstance(root.value, dict):
        raise ScenarioError(f"{root.where}: expected keys with values, such as `seed: 1`")
    for change in changes:
        _set(root, change)
    return root


def _set(root: Node, change: str) -> None:
    option = change.where if isinstance(change, Change) else f"--set {change}"
    label = option if len(option) <= 80 else option[:77] + "..."
    path, equals, text = change.partition("=")
    keys = path.strip().split(".")
    if not equals or not all(keys):
        raise ScenarioError(f"{label}: expected key=value, such as wireless.range_m=100")
    node = root
    is_left_out = text.strip() == DEFAULT
    for place, key in enumerate(keys):
        inside: Any = node.value
        if inside is None and place:
            inside = node.value = {}
        last = place == len(keys) - 1
        if isinstance(inside, list) and key.isdecimal() and int(key) < len(inside):
            index: Any = int(key)
        elif isinstance(inside, dict):
            index = key
            if is_left_out and (last or key not in inside):
                inside.pop(key, None)
                return
            inside.setdefault(key, Node(None, label))
        else:
            kind = f"a list of {len(inside)}" if isinstance(inside, list) else "a single value"
            raise ScenarioError(f"{label}: {'.'.join(keys[:place])} is {kind}, which does not contain {key!r}")
        if last:
            inside[index] = parse_value(text, label) if text.strip() else Node(None, label)
        node = inside[index]

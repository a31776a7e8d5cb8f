"""Write a scenario as YAML, with all defaults filled in.

Model     The strict loader reads equal values back. Short mappings and lists take one line, and every string is quoted
          unless it is a plain word.
Source    ours: docs/guide/scenarios.md
"""

from __future__ import annotations

import re
from typing import Any

WORD = re.compile(r"[A-Za-z][A-Za-z0-9_]*([./-][A-Za-z0-9_]+)*")
NO_WORDS = {"y", "n", "yes", "no", "on", "off", "true", "false", "null", "inf", "nan", "infinity"}
WIDTH = 110
FIRST = ("name", "shape", "model", "kind", "schedule")  # keys on which the other keys of a group depend


def to_yaml(values: dict[str, Any]) -> str:
    return "".join(_block(values, ""))


def _block(values: dict[str, Any], indent: str) -> list[str]:
    lines = []
    for key, value in sorted(values.items(), key=lambda item: item[0] not in FIRST) if indent else values.items():
        line = f"{indent}{key}: {inline(value)}\n"
        if isinstance(value, dict) and value and (len(line) > WIDTH or not indent):
            lines += [f"{indent}{key}:\n", *_block(value, indent + "  ")]
        else:
            lines.append(line)
    return lines


def inline(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return value if WORD.fullmatch(value) and value.lower() not in NO_WORDS else as_scalar(value)
    if isinstance(value, dict):
        items = sorted(value.items(), key=lambda item: item[0] not in FIRST)
        return "{" + ", ".join(f"{key}: {inline(item)}" for key, item in items) + "}"
    return "[" + ", ".join(inline(item) for item in value) + "]"


def as_scalar(text: str) -> str:
    return '"' + "".join(_character(character) for character in text) + '"'


def _character(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    if character.isprintable():
        return character
    return f"\\U{ord(character):08x}"

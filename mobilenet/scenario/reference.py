"""All keys of scenario and study files, as they are declared: type, unit, default, range, meaning, and who declares them.

Model     the declarations are walked, nothing is written twice; scenarios/REFERENCE.md is this text, and a test holds it to that
Source    ours: DESIGN.md §13
"""

from __future__ import annotations

import inspect
import re
import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from mobilenet.scenario.text import inline

UNITS = {  # by the last part of a name
    "s": "s", "ms": "ms", "ns": "ns", "m": "m", "mps": "m/s", "mbps": "Mb/s", "bytes": "bytes", "db": "dB", "frames": "frames",
    "segments": "segments", "share": "share",
}  # fmt: skip
PLAIN = {bool: "true or false", int: "whole number", float: "number", str: "text", Any: "any", type(None): "null"}
BOUNDS = {"ge": "≥ {}", "gt": "> {}", "le": "≤ {}", "lt": "< {}", "min_length": "at least {} long", "max_length": "at most {} long"}


@dataclass(frozen=True, slots=True)
class Key:
    """One line of the reference."""

    path: str
    kind: str
    unit: str
    default: str
    bounds: str
    meaning: str
    module: str


def keys(model: type[BaseModel], prefix: str = "") -> Iterator[Key]:
    """The keys of a group and of the groups in it, in the order of the file."""
    for name, field in model.model_fields.items():
        key = field.alias or name
        groups = list(_groups(field.annotation))
        if _is_tag(field):
            continue
        path = f"{prefix}{key}"
        if groups:
            yield Key(path, _kind(field), "", _default(field), "", field.description or _about(groups), model.__module__)
            for group in groups:
                tag = next((f"{n}: {get_args(f.annotation)[0]}" for n, f in group.model_fields.items() if _is_tag(f)), None)
                inside = f"{path}[]" if _is_list(field.annotation) else path
                yield from keys(group, f"{inside}{{{tag}}}." if tag and len(groups) > 1 else f"{inside}.")
        else:
            yield Key(path, _kind(field), _unit(key), _default(field), _bounds(field), field.description or "", model.__module__)


def _is_tag(field: FieldInfo) -> bool:
    return get_origin(field.annotation) is Literal and len(get_args(field.annotation)) == 1


def _parts(annotation: Any) -> Iterator[Any]:
    """What a type is made of, without its ornaments."""
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from _parts(get_args(annotation)[0])
    elif origin in (Union, types.UnionType):
        for argument in get_args(annotation):
            yield from _parts(argument)
    else:
        yield annotation


def _is_list(annotation: Any) -> bool:
    return any(get_origin(part) in (tuple, list) for part in _parts(annotation))


def _groups(annotation: Any) -> Iterator[type[BaseModel]]:
    for part in _parts(annotation):
        if isinstance(part, type) and issubclass(part, BaseModel):
            yield part
        elif get_origin(part) in (tuple, list):
            for argument in get_args(part):
                if argument is not Ellipsis:
                    yield from _groups(argument)


def _kind(field: FieldInfo) -> str:
    return " or ".join(dict.fromkeys(_word(part) for part in _parts(field.annotation)))


def _word(part: Any) -> str:
    origin = get_origin(part)
    if part in PLAIN:
        return PLAIN[part]
    if origin is Literal:
        return " or ".join(f"`{choice}`" for choice in get_args(part))
    if origin is dict:
        return "keys with values"
    if origin in (tuple, list):
        arguments = [argument for argument in get_args(part) if argument is not Ellipsis]
        words = [" or ".join(dict.fromkeys(_word(inner) for inner in _parts(argument))) for argument in arguments]
        return f"[{', '.join(words)}]" if len(arguments) > 1 else f"list of {words[0] if words else 'values'}"
    return "keys with values"


def _default(field: FieldInfo) -> str:
    value = field.get_default(call_default_factory=True, validated_data={})
    if value is PydanticUndefined:
        return "must be given"
    if isinstance(value, BaseModel):
        return "as below"
    text = inline(value)
    return text if len(text) <= 40 else "see the declaration"


def _unit(name: str) -> str:
    return UNITS.get(name.rpartition("_")[2], "") if "_" in name else ""


def _bounds(field: FieldInfo) -> str:
    """Of the field itself, and of what its type is declared with."""
    found: list[str] = []
    metadata = [*field.metadata, *_ornaments(field.annotation)]
    for item in metadata:
        for holder in (item, *getattr(item, "metadata", ())):
            for name, words in BOUNDS.items():
                value = getattr(holder, name, None)
                if value is not None and not callable(value):
                    shown = f"{value:g}" if isinstance(value, float) or isinstance(value, int) and abs(value) < 10**7 else f"{value:.3g}"
                    found.append(words.format(shown))
    return ", ".join(dict.fromkeys(found))


def _ornaments(annotation: Any) -> Iterator[Any]:
    if get_origin(annotation) is Annotated:
        yield from get_args(annotation)[1:]
        yield from _ornaments(get_args(annotation)[0])
    elif get_origin(annotation) in (Union, types.UnionType):
        for argument in get_args(annotation):
            yield from _ornaments(argument)


def _about(groups: list[type[BaseModel]]) -> str:
    words = " or ".join(dict.fromkeys(inspect.getdoc(group).partition("\n")[0] for group in groups if group.__doc__))  # type: ignore[union-attr]
    return "" if len(groups) > 2 else words


def source_of(module: str) -> str:
    """What a module says of its source, in one line."""
    found = re.search(r"^Source +(.*?)(?=^\S|\Z)", sys.modules[module].__doc__ or "", re.MULTILINE | re.DOTALL)
    return " ".join(found[1].split()) if found else ""


def reference() -> str:
    """The whole text, in Markdown."""
    from mobilenet.scenario.processes import ProcessScenario
    from mobilenet.scenario.schema import Scenario
    from mobilenet.study.declaration import Study

    parts = [
        "# All keys of scenarios and studies\n\nMade from the declarations by `mobilenet reference`; `a.b` is key `b` inside `a`, `a[]` stands for each "
        "entry of a list,\n`a{name: x}.b` for a key that is there when `a` has `name: x`. What is wrong in a file is told with line and key "
        "by `mobilenet check`.\n"
    ]
    for title, model in (
        ("Scenarios of hosts and stations", Scenario), ("Scenarios of processes (VCube)", ProcessScenario), ("Studies", Study),
    ):  # fmt: skip
        rows = list(dict.fromkeys(keys(model)))
        parts.append(f"\n## {title}\n\n| key | type | unit | default | range | meaning |\n|---|---|---|---|---|---|\n")
        parts += [f"| `{k.path}` | {k.kind} | {k.unit} | {_cell(k.default)} | {_cell(k.bounds)} | {_cell(k.meaning)} |\n" for k in rows]
        sources: dict[str, list[str]] = {}
        for row in rows:
            sources.setdefault(row.module, []).append(row.path)
        parts.append("\nDeclared in, and taken from:\n\n")
        parts += [f"- `{module}`: {source_of(module)}\n" for module in sources]
    return "".join(parts)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")

"""A reference of all keys in scenario, study and claims files: type, unit, default, range, meaning and source.

Model     the text is generated from the declarations. scenarios/REFERENCE.md contains it, and a test ensures that it is
          up to date. The source of a key is the source of the module that declares it, unless the meaning of the key
          names another
Source    ours: docs/guide/scenarios.md
"""

from __future__ import annotations

import inspect
import re
import sys
import types
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from textwrap import fill
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from mobilenet.parameters import KeyNotes, Within
from mobilenet.scenario.yaml_writer import inline

UNITS = {  # last part of a key's name -> unit
    "s": "s", "ms": "ms", "ns": "ns", "m": "m", "mps": "m/s", "mbps": "Mb/s", "bytes": "bytes", "db": "dB",
    "frames": "frames",
    "segments": "segments", "share": "share",
}  # fmt: skip
WHOLE_UNITS = {
    "lon": "degrees",
    "lat": "degrees",
    "max_delay": "t.u.",
    "leave_rate_per_host_per_min": "1/min",
    "rate_per_host_per_min": "1/min",
}
PLAIN = {bool: "true or false", int: "whole number", float: "number", str: "text", Any: "any", type(None): "null"}
COLUMNS = 100  # the width of the list in characters
INDENTED: Any = {"initial_indent": "    ", "subsequent_indent": "    ", "break_on_hyphens": False}
BOUNDS = {
    "ge": "≥ {}",
    "gt": "> {}",
    "le": "≤ {}",
    "lt": "< {}",
    "min_length": "at least {} long",
    "max_length": "at most {} long",
}


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


def keys(model: type[BaseModel], prefix: str = "", is_chosen: bool = False) -> Iterator[Key]:
    """Yield the keys of a group and of the groups in it, in the order of the file. `is_chosen` means that the group is
    one of several alternatives.
    """
    for name, field in model.model_fields.items():
        key = field.alias or name
        if is_chosen and _is_tag(field):  # the entry for the enclosing group includes this key
            continue
        path = f"{prefix}{key}"
        groups = list(_groups(field.annotation))
        unit = "" if groups else _unit(key, field)
        meaning = field.description or _about(groups[0] if len(groups) == 1 else None)
        yield Key(path, _kind(field), unit, _default(field), _bounds(field), meaning, _declaring_module(model, name))
        inside = path + _inside(field.annotation)
        for group in groups:
            tag = _tag(group) if len(groups) > 1 else None
            if tag:
                place = f"{inside}{{{tag[0]}: {tag[1]}}}."
                yield Key(
                    f"{place}{tag[0]}", f"`{tag[1]}`", "", "must be given", "", _about(group), _about_module(group)
                )
                yield from keys(group, place, is_chosen=True)
            else:
                yield from keys(group, f"{inside}.")


def _declaring_module(model: type[BaseModel], name: str) -> str:
    """Return the module of the class that declares the key."""
    return next(cls.__module__ for cls in model.__mro__ if name in inspect.get_annotations(cls))


def _tag(group: type[BaseModel]) -> tuple[str, str] | None:
    """Return the key whose value selects a group, and that value."""
    return next(
        ((name, get_args(field.annotation)[0]) for name, field in group.model_fields.items() if _is_tag(field)), None
    )


def _is_tag(field: FieldInfo) -> bool:
    return get_origin(field.annotation) is Literal and len(get_args(field.annotation)) == 1


def _parts(annotation: Any) -> Iterator[Any]:
    """Yield the parts of a type, without their annotations."""
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from _parts(get_args(annotation)[0])
    elif origin in (Union, types.UnionType):
        for argument in get_args(annotation):
            yield from _parts(argument)
    else:
        yield annotation


def _inside(annotation: Any) -> str:
    """Return the suffix, `[]` or `.*`, that follows the name of a key with a list or mapping."""
    for part in _parts(annotation):
        if get_origin(part) in (tuple, list):
            return "[]"
        if get_origin(part) is dict:
            return ".*"
    return ""


def _groups(annotation: Any) -> Iterator[type[BaseModel]]:
    for part in _parts(annotation):
        if isinstance(part, type) and issubclass(part, BaseModel):
            yield part
        elif get_origin(part) in (tuple, list, dict):
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
        tag = _tag(type(value))
        return f"{tag[0]}: {tag[1]}" if tag else "as below"
    text = inline(value)
    return text if len(text) <= 40 else "see the declaration"


def _unit(name: str, field: FieldInfo) -> str:
    unit = next((item.unit for item in field.metadata if isinstance(item, KeyNotes)), "")
    return unit or WHOLE_UNITS.get(name) or (UNITS.get(name.rpartition("_")[2], "") if "_" in name else "")


def _bounds(field: FieldInfo) -> str:
    """Return the bounds of the field, of its type, or of the elements of a list or pair."""
    return "; ".join(
        filter(None, (_own_bounds([*field.metadata, *_ornaments(field.annotation)]), _of_elements(field.annotation)))
    )


def _own_bounds(metadata: list[Any]) -> str:
    bounds: list[str] = []
    for item in metadata:
        if isinstance(item, Within):
            bounds.append(str(item))
        elif isinstance(item, KeyNotes) and item.bounds:
            return item.bounds
        for holder in (item, *getattr(item, "metadata", ())):
            for name, words in BOUNDS.items():
                value = getattr(holder, name, None)
                if isinstance(value, (int, float)):
                    bounds.append(
                        words.format(f"{value:g}" if isinstance(value, float) or abs(value) < 10**7 else f"{value:.3g}")
                    )
            pattern = getattr(holder, "pattern", None)
            if isinstance(pattern, str):  # a pattern for node names: a letter and a number
                bounds.append(f"{pattern[1]}0, {pattern[1]}1, ...")
    return ", ".join(dict.fromkeys(bounds))


def _of_elements(annotation: Any) -> str:
    """Return the bounds of a list's elements, which may themselves be lists."""
    for part in _parts(annotation):
        if get_origin(part) in (tuple, list):
            for element in dict.fromkeys(argument for argument in get_args(part) if argument is not Ellipsis):
                own, within = _own_bounds(list(_ornaments(element))), _of_elements(element)
                return "; ".join(
                    filter(None, (f"each {own}" if own else "", f"in it {within}" if own and within else within))
                )
    return ""


def _ornaments(annotation: Any) -> Iterator[Any]:
    if get_origin(annotation) is Annotated:
        yield from get_args(annotation)[1:]
        yield from _ornaments(get_args(annotation)[0])
    elif get_origin(annotation) in (Union, types.UnionType):
        for argument in get_args(annotation):
            yield from _ornaments(argument)


def _with_docstring(group: type[BaseModel] | None) -> type[BaseModel] | None:
    """Return the group if it has a docstring, or otherwise its nearest base class with a docstring."""
    classes = [] if group is None else [cls for cls in group.__mro__ if issubclass(cls, BaseModel) and cls.model_fields]
    return next((cls for cls in classes if cls.__dict__.get("__doc__")), None)


def _about(group: type[BaseModel] | None) -> str:
    """Return the first sentence of the group's docstring as the meaning of its key."""
    model = _with_docstring(group)
    if model is None:
        return ""
    words = " ".join((inspect.getdoc(model) or "").split()).partition(". ")[0].rstrip(".")
    first = words.partition(" ")[0]
    return words[:1].lower() + words[1:] if first[1:].islower() or len(first) == 1 else words


def _about_module(group: type[BaseModel]) -> str:
    model = _with_docstring(group)
    return (model or group).__module__


def source_of(module: str) -> str:
    """Return the `Source` entry of a module's docstring on one line."""
    match = re.search(r"^Source +(.*?)(?=^\S|\Z)", sys.modules[module].__doc__ or "", re.MULTILINE | re.DOTALL)
    return " ".join(match[1].split()) if match else ""


def reference() -> str:
    """Return the complete reference in Markdown."""
    parts = [
        "# All keys of scenarios, studies and claims\n\nGenerated from the declarations by `mobilenet reference`."
        " `a.b` is key `b` inside `a`, `a[]` stands for each entry of a list,\n`a.*` for each key that you name,"
        " and `a{name: x}.b` for a key that exists when `a` has `name: x`. [1], [2], ... are the sources at the"
        " end.\n`mobilenet check` reports errors in a file by line and key.\n"
    ]
    sources: dict[str, int] = {}  # module -> number of its source
    for title, model in _models().items():
        parts.append(
            f"\n## {title}\n\n| key | type | unit | default | range | meaning | source"
            " |\n|---|---|---|---|---|---|---|\n"
        )
        for k in dict.fromkeys(keys(model)):
            source = f"[{sources.setdefault(k.module, len(sources) + 1)}]"
            parts.append(
                f"| `{k.path}` | {k.kind} | {k.unit} | {_cell(k.default)} | {_cell(k.bounds)} | {_cell(k.meaning)} |"
                f" {source} |\n"
            )
    parts += _metrics()
    parts.append("\n## Sources\n\nWhere the keys are declared, and where their values come from:\n\n")
    parts += [f"- [{number}] `{module}`: {source_of(module)}\n" for module, number in sources.items()]
    return "".join(parts)


def listing(keys: Sequence[str] = (), search: str = "") -> str:
    """Return the keys and metrics as a list for a terminal. `keys` selects keys, including those within them, and
    `search` selects entries whose name or meaning contains all of its words. Raise LookupError for a key that does not
    exist.
    """
    entries = dict.fromkeys((*_entries_of_keys(), *_entries_of_metrics()))
    names = {re.sub(r"\{[^}]*\}|\[\]", "", path) for path, _, _ in entries}
    for key in keys:
        if not any(_is_in(name, key) for name in names):
            close = get_close_matches(key, names, 3, 0.5)
            hint = f"did you mean {' or '.join(close)}?" if close else "try --search with a word"
            raise LookupError(f"{key}: neither a key nor a metric; {hint}")
    parts = []
    for path, facts, meaning in entries:
        name = re.sub(r"\{[^}]*\}|\[\]", "", path)
        text = f"{path} {meaning}".lower()
        if (not keys or any(_is_in(name, key) for key in keys)) and all(w in text for w in search.lower().split()):
            lines = [line for line in (facts, meaning) if line]
            parts.append("\n".join([path, *(fill(line, COLUMNS, **INDENTED) for line in lines)]))
    return "\n".join(parts)


def _is_in(name: str, key: str) -> bool:
    return name == key or name.startswith(f"{key}.") or name.endswith(f".{key}") or f".{key}." in name


def _entries_of_keys() -> Iterator[tuple[str, str, str]]:
    """Yield the path, the facts (type, unit, bounds and default) and the meaning of each key."""
    for model in _models().values():
        for k in keys(model):
            default = k.default if k.default == "must be given" else f"default {k.default}"
            yield k.path, ", ".join(filter(None, (k.kind.replace("`", ""), k.unit, k.bounds, default))), k.meaning


def _entries_of_metrics() -> Iterator[tuple[str, str, str]]:
    from mobilenet.lab.studies.tables import OF_STUDIES
    from mobilenet.metrics.registry import OF_HOSTS, OF_PROCESSES

    for metric in (*OF_HOSTS.declared.values(), *OF_PROCESSES.declared.values(), *OF_STUDIES):
        yield metric.name, f"metric{f', {metric.unit}' if metric.unit else ''}", metric.words


def _models() -> dict[str, type[BaseModel]]:
    """Return the models of all files that users write, by title."""
    from mobilenet.lab.studies.claims.declaration import Claims
    from mobilenet.lab.studies.declaration import Study
    from mobilenet.scenario.mobile import Scenario
    from mobilenet.scenario.processes import ProcessScenario

    return {
        "Scenarios of hosts and stations": Scenario, "Scenarios of processes (VCube)": ProcessScenario,
        "Studies": Study, "Claims": Claims,
    }  # fmt: skip


def _metrics() -> Iterator[str]:
    """Yield the metrics that studies can compare or use as a stopping criterion."""
    from mobilenet.lab.studies.tables import OF_STUDIES
    from mobilenet.metrics.registry import OF_HOSTS, OF_PROCESSES

    yield (
        "\n## Metrics\n\nFor `compare.metrics` and `replications.until.metric` of studies. They count what happens"
        " between `warmup_s` and `duration_s`, and\ndelays are those of messages broadcast in that time;"
        " docs/verdicts-and-metrics.md defines each. A metric of a plug-in has the name of its function.\n"
    )
    groups = (
        ("hosts and stations", OF_HOSTS.declared.values()),
        ("processes", OF_PROCESSES.declared.values()),
        ("studies only", OF_STUDIES),
    )
    for title, metrics in groups:
        yield f"\n### Metrics of {title}\n\n| metric | what it is | unit |\n|---|---|---|\n"
        yield from (f"| `{metric.name}` | {_cell(metric.words)} | {metric.unit} |\n" for metric in metrics)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")

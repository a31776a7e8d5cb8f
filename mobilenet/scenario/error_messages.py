"""Turn each of pydantic's errors into one readable line: the position, the key, the reason, and the expected value.

Model     An error's location is followed through the nodes of the file. The elements of the location that only name a
          branch of a union are skipped.
Source    ours: docs/guide/scenarios.md
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from mobilenet.quoting import pluralize
from mobilenet.scenario.yaml_reader import DEFAULT, Node
from mobilenet.scenario.yaml_writer import inline

MOST_WORDED = 500  # maximum number of problems that are described in full; suggestions take time to compute
MOST_LINES = 20
KINDS = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "int_parsing_size": "a whole number",
    "string_unicode": "text",
    "float_type": "a number",
    "float_parsing": "a number",
    "bool_type": "true or false",
    "string_type": "text",
    "tuple_type": "a list in [ ]",
    "model_type": "keys with values in { }",
    "model_attributes_type": "keys with values in { }",
    "dict_type": "keys with values in { }",
    "finite_number": "a finite number",
}
BOUNDS = {
    "greater_than": "more than {gt}",
    "greater_than_equal": "at least {ge}",
    "less_than": "less than {lt}",
    "less_than_equal": "at most {le}",
}


def problems(error: ValidationError, root: Node, model: type[BaseModel]) -> list[str]:
    errors = [problem for problem in error.errors(include_url=False) if not _is_long_enough(problem)]
    lines = list(dict.fromkeys(_line(problem, root, model) for problem in errors[:MOST_WORDED]))
    more = len(lines) - MOST_LINES + len(errors[MOST_WORDED:])
    if more > 0:
        lines[MOST_LINES:] = [f"... and {pluralize(more, 'other problem')}"]
    return lines


def _is_long_enough(problem: Any) -> bool:
    """Return whether a list counts as too short only because it has invalid entries, which are reported separately."""
    return problem["type"] == "too_short" and bool(len(problem["input"]) >= problem["ctx"]["min_length"])


def line(root: Node, path: str, what: str) -> str:
    """Return the line for a problem that mobilenet itself has found, at a dotted path of keys."""
    node = root
    for key in path.split("."):
        inside, part = node.value, int(key) if key.isdecimal() else key
        if part not in (inside if isinstance(inside, dict) else range(len(inside)) if isinstance(inside, list) else ()):
            break
        node = inside[part]
    return f"{node.where}: {path}: {what}"


def _line(problem: Any, root: Node, model: type[BaseModel]) -> str:
    kind, location, context = problem["type"], problem["loc"], problem.get("ctx", {})
    node, path = root, []
    for place, part in enumerate(location):
        inside = node.value
        if part in (inside if isinstance(inside, dict) else range(len(inside)) if isinstance(inside, list) else ()):
            node = inside[part]
            path.append(str(part))
        elif place == len(location) - 1 and kind == "missing":
            path.append(str(part))
    if kind == "value_error":
        what = str(context["error"])
        named = re.match(r"(\w+): ", what)
        if named and isinstance(node.value, dict):
            path.append(named[1])
            node = node.value.get(named[1], node)
            what = what[named.end() :]
    elif kind == "extra_forbidden":
        what = f"unknown key; {_suggestion(str(location[-1]), sorted(_fields(model, location[:-1])), 'known here')}"
    elif kind == "missing":
        what = "missing: the list is too short" if isinstance(location[-1], int) else "missing; this key has no default"
    elif kind == "union_tag_not_found":
        key = context["discriminator"].strip("'")
        path.append(key)
        what = f"missing; expected one of {', '.join(sorted(_tags(model, location, key)))}"
    elif kind == "union_tag_invalid":
        key = context["discriminator"].strip("'")
        path.append(key)
        node = node.value.get(key, node)
        choices = re.findall(r"'([^']*)'", context["expected_tags"])
        what = f"unknown {key} {_short(node)}; {_suggestion(str(node.value), choices, 'expected one of')}"
    elif kind == "literal_error":
        choices = re.findall(r"'([^']*)'", context["expected"])
        what = f"unknown value {_short(node)}; {_suggestion(str(node.value), choices, 'expected one of')}"
    elif kind in KINDS or kind in BOUNDS:
        what = f"{_requirement(problem)}, got {_short(node)}"
    elif kind == "string_pattern_mismatch":
        first = re.findall(r"[a-z]", context["pattern"].partition("(")[0])  # the pattern is ^h(0|...)$ or ^[hs](0|...)$
        what = f"expected a name such as {first[0]}0 or {first[-1]}12, got {_short(node)}"
    elif kind in ("too_short", "too_long"):
        bound = context.get("min_length", context.get("max_length"))
        at = "at least" if kind == "too_short" else "at most"
        what = f"expected {at} {pluralize(bound, 'entry')}, got {len(node.value)}"
    else:
        what = f"{problem['msg'][0].lower()}{problem['msg'][1:]}, got {_short(node)}"
    name = ".".join(_key(key) for key in path) or "the whole scenario"
    return f"{node.where}: {name}: {what.replace('leave it out', f'leave it out (--set {name}={DEFAULT})')}"


def option_problem(error: ValidationError) -> str | None:
    """Return what is wrong with the value of an option, or None for a problem that keys of a scenario cannot have."""
    problem: Any = error.errors(include_url=False)[0]
    if problem["type"] not in KINDS and problem["type"] not in BOUNDS:
        return None
    value = str(problem["input"])
    is_plain = value.isprintable() and value.strip() and len(value) <= 60
    return f"{_requirement(problem)}, got {value if is_plain else _short(Node(value, ''))}"


def _requirement(problem: Any) -> str:
    if problem["type"] in KINDS:
        return f"expected {KINDS[problem['type']]}"
    context = problem["ctx"]
    bounds = {key: f"{value:g}" if abs(value) < 1e6 else str(value) for key, value in context.items()}
    return f"should be {BOUNDS[problem['type']].format(**bounds)}"


def _key(key: str) -> str:
    return key if re.fullmatch(r"\w{1,60}", key) else inline(key[:60])


def _short(node: Node) -> str:
    text = inline(node.plain())
    return text if len(text) <= 60 else text[:57] + "..."


def _suggestion(name: str, choices: Sequence[str], otherwise: str) -> str:
    """Return the choice that was probably meant, or all choices if it is unclear."""
    close = get_close_matches(name, choices, 1, cutoff=0.7)
    close = close or [choice for choice in choices if name and choice.startswith(name + "_")]
    if not choices:
        return "no settings are defined here"
    return f"did you mean {close[0]!r}?" if close else f"{otherwise}: {', '.join(choices)}"


def _fields(annotation: Any, location: Sequence[Any]) -> set[str]:
    """Return the keys of the group at this location."""
    return {field for model in _models(annotation, location) for field in model.model_fields}


def _tags(annotation: Any, location: Sequence[Any], key: str) -> set[str]:
    return {
        str(tag)
        for model in _models(annotation, location)
        if key in model.model_fields
        for tag in _names(model.model_fields[key])
    }


def _names(field: FieldInfo) -> tuple[Any, ...]:
    """Return the possible values of the key that selects a branch of a union."""
    return get_args(field.annotation) if get_origin(field.annotation) is Literal else (field.default,)


def _models(annotation: Any, location: Sequence[Any]) -> Iterator[type[BaseModel]]:
    if get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        if not location:
            yield annotation
        elif location[0] in annotation.model_fields:
            yield from _models(annotation.model_fields[location[0]].annotation, location[1:])
        elif any(location[0] in _names(field) for field in annotation.model_fields.values()):
            yield from _models(annotation, location[1:])  # this element of the location only names a branch of a union
    else:
        rest = location[1:] if get_origin(annotation) in (tuple, dict) and location else location
        for argument in get_args(annotation):
            yield from _models(argument, rest)

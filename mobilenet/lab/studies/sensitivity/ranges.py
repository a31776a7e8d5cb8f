"""Determine the values of each key in a screening, from the user's range or from the scenario.

Model     `KEY=LOW:HIGH` stands for LEVELS evenly spaced values, which are whole if the key takes only whole numbers.
          `KEY=A|B` lists the values. Without a range, a choice or a flag takes all declared values, and a number ranges
          from half to twice its current value, within the declared limits. The limits alone do not make a range,
          because they show what is possible (3 km), not what is plausible.
Units     Values have the unit of their key.
Errors    ScenarioError for a range that is invalid.
Source    ours: docs/guide/sensitivity.md
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin

from mobilenet.parameters import ScenarioError
from mobilenet.scenario.yaml_reader import parse_value
from mobilenet.scenario.yaml_writer import inline

LEVELS = 4  # number of levels of each key; four are usual in Morris' method, where a step is half of the range


class Range(NamedTuple):
    """The values that a key takes in a screening."""

    key: str
    # LEVELS ascending numbers, or 2 to LEVELS other values that are distributed over the levels
    values: tuple[Any, ...]
    is_number: bool

    @property
    def words(self) -> str:
        """The range in words, such as `interval_s 1 to 10` or `repair none or selective`."""
        name = self.key.rpartition(".")[2]
        if self.is_number:
            return f"{name} {self.values[0]:.10g} to {self.values[-1]:.10g}"
        return f"{name} {' or '.join(map(inline, self.values))}"

    @property
    def given(self) -> str:
        """The range in command-line form, such as `workload.interval_s=1:10` or `protocol.repair=none|selective`."""
        if self.is_number:
            return f"{self.key}={self.values[0]!r}:{self.values[-1]!r}"
        return f"{self.key}={'|'.join(map(inline, self.values))}"


def ranges(
    texts: Sequence[str], scenario: Any, option: str, settings: Mapping[str, Any] = MappingProxyType({})
) -> tuple[Range, ...]:
    """Parse the ranges. `texts` have the form of the command line, with keys separated by commas. `option` is the name
    of the option in error messages. `settings` contains the settings of custom code in the scenario, by key. If they
    are unknown because code must not run, a number without a decimal point counts as whole, as in the normal form of
    the command.
    """
    parts = [part.strip() for text in texts for part in text.split(",") if part.strip()]
    if not parts:
        raise ScenarioError(f"{option}: missing; expected keys such as workload.interval_s=1:10,protocol.repair")
    all_ranges = tuple(_range(part, scenario, settings, f"{option} {part}") for part in parts)
    keys = [one.key for one in all_ranges]
    for key in keys:
        if keys.count(key) > 1:
            raise ScenarioError(f"{option}: {key} is given twice")
    if len(all_ranges) < 2:
        raise ScenarioError(f"{option}: only {keys[0]}; expected at least two keys to rank")
    return all_ranges


def _range(part: str, scenario: Any, settings: Mapping[str, Any], where: str) -> Range:
    key, equals, text = (word.strip() for word in part.partition("="))
    if not equals:
        return _declared_range(key, scenario, settings, where)
    if "|" in text:
        values = tuple(parse_value(word, where).plain() for word in text.split("|"))
        if not 2 <= len(values) <= LEVELS or len(set(map(inline, values))) < len(values):
            raise ScenarioError(f"{where}: expected 2 to {LEVELS} different values, such as none|selective")
        return Range(key, values, False)
    low, colon, high = text.partition(":")
    try:
        ends = float(low), float(high)
    except ValueError:
        ends = (math.nan, math.nan)
    if not colon or not all(map(math.isfinite, ends)):
        raise ScenarioError(f"{where}: expected KEY=LOW:HIGH with two numbers, or KEY=A|B")
    if ends[0] >= ends[1]:
        raise ScenarioError(f"{where}: expected a lower end before the colon, and a higher one after it")
    return _between(key, *ends, is_whole=_takes_only_whole(key, scenario, settings, text), where=where)


def _between(key: str, low: float, high: float, is_whole: bool, where: str) -> Range:
    values = [low + (high - low) * level / (LEVELS - 1) for level in range(LEVELS)]
    if is_whole:
        whole = [round(value) for value in values]
        if len(set(whole)) < LEVELS:
            raise ScenarioError(
                f"{where}: {key} takes whole numbers; expected at least {LEVELS} of them in the range, or {key}=A|B"
            )
        return Range(key, tuple(whole), True)
    return Range(key, tuple(float(f"{value:.12g}") for value in values), True)


def _declared_range(key: str, scenario: Any, settings: Mapping[str, Any], where: str) -> Range:
    annotation, limits, value = _declaration(key, scenario, settings, where)
    if bool in _alternatives(annotation):
        return Range(key, (False, True), False)
    if choices := [one for kind in _alternatives(annotation) for one in get_args(kind) if get_origin(kind) is Literal]:
        if not 2 <= len(choices) <= LEVELS:
            raise ScenarioError(f"{where}: has {len(choices)} values; name 2 to {LEVELS} of them, as in {key}=A|B")
        return Range(key, tuple(choices), False)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value == 0:
        raise ScenarioError(
            f"{where}: its value is {inline(value)[:60]}, so no range from half to twice this value can be formed;"
            f" expected {key}=LOW:HIGH"
        )
    ends = sorted((value / 2, value * 2))
    low, high = max(ends[0], limits[0]), min(ends[1], limits[1])
    if low >= high:
        raise ScenarioError(
            f"{where}: its value is {value:g}, which leaves no room for a range around it; expected {key}=LOW:HIGH"
        )
    return _between(key, low, high, int in _alternatives(annotation) and isinstance(value, int), where)


def _declaration(
    key: str, scenario: Any, settings: Mapping[str, Any], where: str
) -> tuple[Any, tuple[float, float], Any]:
    """Return the type, the limits and the current value of a key."""
    group, _, name = key.rpartition(".")
    parent = settings.get(group, scenario)
    if group not in settings:
        for part in filter(None, group.split(".")):
            parent = getattr(parent, part, None)
    fields = getattr(type(parent), "model_fields", {})
    if name not in fields:
        if close := get_close_matches(name, fields, 1, cutoff=0.7):
            raise ScenarioError(f"{where}: unknown key; did you mean {close[0]!r}?")
        raise ScenarioError(
            f"{where}: this scenario has no such key, or the key is not a declared one; expected {key}=LOW:HIGH"
        )
    limits = [-math.inf, math.inf]
    for rule in fields[name].metadata:
        limits[0] = max(limits[0], _number(rule, "ge", "gt", -math.inf))
        limits[1] = min(limits[1], _number(rule, "le", "lt", math.inf))
    return fields[name].annotation, (limits[0], limits[1]), getattr(parent, name)


def _number(rule: Any, *names: Any) -> float:
    *attributes, otherwise = names
    candidates = (getattr(rule, name, None) for name in attributes)
    return next((float(value) for value in candidates if isinstance(value, (int, float))), otherwise)


def _alternatives(annotation: Any) -> tuple[Any, ...]:
    """Return the alternative types of a key, such as both sides of `float | None`."""
    origin = get_origin(annotation)
    return get_args(annotation) if origin is Union or str(origin) == "<class 'types.UnionType'>" else (annotation,)


def _takes_only_whole(key: str, scenario: Any, settings: Mapping[str, Any], text: str) -> bool:
    try:
        annotation, _, value = _declaration(key, scenario, settings, key)
    except ScenarioError:
        return key.rpartition(".")[0].endswith(".settings") and text.replace(":", "").replace("-", "").isdecimal()
    kinds = _alternatives(annotation)
    return (int in kinds and float not in kinds) or (isinstance(value, int) and not isinstance(value, bool))

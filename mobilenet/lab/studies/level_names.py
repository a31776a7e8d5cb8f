"""Choose readable names for the levels of factors, for sentences, legends and tables.

Model     A level is named by its label in the study. Without a label, a number follows the last part of its factor's
          name (`loss 0.05`). A mapping has its own name, or the name of its only key (`{wireless.loss: 0.05}` is `loss
          0.05`). Tables for programs contain the levels themselves.
Source    ours: docs/guide/studies.md
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from mobilenet.lab.studies.declaration import split_label
from mobilenet.scenario.yaml_writer import inline

LONGEST = 40
UNCHANGED = "unchanged"
# These values are unclear without the name of their factor.
WORDS = ("true", "false", "null", UNCHANGED)
_NAMED = re.compile(r"""\{['"]?(?:name|class|schedule|model|shape|kind)['"]?: ["']?([^"',}]+)""")
_ONLY_KEY = re.compile(r"""\{['"]?([\w.]+)['"]?: ["']?([^"',{}\[\]]+)["']?\}""")


def table_level(level: Any) -> Any:
    """Return the value of a level for tables, as a number or a string."""
    if isinstance(level, float) and level.is_integer():
        return int(level)
    return level if isinstance(level, (int, float)) and not isinstance(level, bool) else format_level(level)


def format_level(level: Any) -> str:
    return level if isinstance(level, str) else inline(level)


def short_level(level: Any) -> str:
    """Return a short name of a level, without the name of its factor."""
    text = _plain(format_level(level))
    if text == "{}":
        return UNCHANGED
    if named := _NAMED.match(text):
        text = named[1]
    elif only := _ONLY_KEY.fullmatch(text):
        text = f"{only[1].rpartition('.')[2]} {only[2]}"
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


class LevelNames:
    """Maps the levels of a study to their names. `factors` has the form of the study file."""

    def __init__(self, factors: Mapping[str, Any]) -> None:
        self._labels: dict[tuple[str, str], str] = {}
        for factor, levels in factors.items():
            for level, label in map(split_label, levels if isinstance(levels, (list, tuple)) else ()):
                if label is not None:
                    self._labels[factor, _key(level)] = str(label)

    def has_labels(self, factor: str) -> bool:
        """Return whether any level of the factor has a label."""
        return any(labelled == factor for labelled, _ in self._labels)

    def name(self, factor: str, level: Any) -> str:
        """Return the label of a level, or a short name such as `0.05`."""
        return self._labels.get((factor, _key(level))) or short_level(level)

    def distinct(self, factor: str, levels: Sequence[Any]) -> list[str]:
        """Return different names for all levels of a factor. The complete levels are used if their short names are not
        distinct.
        """
        short = [self.name(factor, level) for level in levels]
        return short if len({*short}) == len(short) else [format_level(table_level(level)) for level in levels]

    def in_words(self, factor: str, level: Any) -> str:
        """Return a name of the level that is clear without its factor, such as `loss 0.05`."""
        label = self._labels.get((factor, _key(level)))
        if label is not None:
            return label
        short = short_level(level)
        return f"{factor.rpartition('.')[2]} {short}" if _is_number(short) or short in WORDS else short


def _key(level: Any) -> str:
    return _plain(str(level if isinstance(level, str) else table_level(level)))


def _plain(text: str) -> str:
    """Return a number in its shortest form (0 for 0.0), and any other string unchanged."""
    return f"{float(text):.10g}" if _is_number(text) else text


def _is_number(text: str) -> bool:
    with suppress(ValueError):
        return isinstance(float(text), float)
    return False

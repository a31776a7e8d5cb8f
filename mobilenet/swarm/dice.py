"""Dice for drawing schedules: a named stream, and choices."""

from __future__ import annotations

from typing import TypeVar

from ..streams import Stream

T = TypeVar("T")


class Dice(Stream):
    __slots__ = ()

    def one_of(self, *choices: T) -> T:
        return choices[self.below(len(choices))]

    def chance(self, probability: float) -> bool:
        return self.random() < probability

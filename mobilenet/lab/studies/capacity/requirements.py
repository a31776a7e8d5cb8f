"""Parse the requirements of a capacity search, which limit the means of metrics.

Model     A requirement is METRIC <= LIMIT or METRIC >= LIMIT, where `<` and `>` mean the same. It limits the mean over
          replications. So a limit on a p95 applies to the mean of the p95 values of the runs, and not to the p95 of all
          deliveries together. `+- T` sets an absolute tolerance; otherwise the tolerance is a share of the limit.
Units     Limits and tolerances have the unit of the metric.
Errors    ScenarioError with one line that states what was found and what was expected.
Source    ours: docs/guide/capacity.md
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import NamedTuple

from mobilenet.metrics.registry import limits
from mobilenet.parameters import ScenarioError
from mobilenet.quoting import format_number

FORM = "expected METRIC <= NUMBER or METRIC >= NUMBER, such as 'delivery_delay_p95_s <= 1.0'"
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_FORM = re.compile(rf"\s*([A-Za-z_]\w*)\s*(<=|>=|<|>|≤|≥)\s*({_NUMBER})\s*(?:(?:\+-|\+/-|±)\s*({_NUMBER})\s*)?")
_AT_MOST = ("<=", "<", "≤")


class Requirement(NamedTuple):
    """A limit on the mean of a metric. The requirement is certain to hold if the mean is better than the limit by
    `tolerance`, and certain to fail if the mean is worse by `tolerance`.
    """

    metric: str
    at_most: bool
    limit: float
    tolerance: float  # in the unit of the metric

    def __str__(self) -> str:
        return f"{self.metric} {'<=' if self.at_most else '>='} {self.limit:g}"

    def lacks(self, value: float) -> float:
        """Return the amount by which a mean misses the limit. It is negative if the mean is better than the limit."""
        return value - self.limit if self.at_most else self.limit - value


def requirements(texts: Sequence[str], share: float, option: str) -> list[Requirement]:
    """Parse all requirements. `share` is the tolerance relative to each limit, and `option` is the name of the option
    or argument in error messages. Raise ScenarioError for a malformed requirement.
    """
    if not texts:
        raise ScenarioError(f"{option}: missing; {FORM}")
    all_requirements = [_requirement(text, share, f"{option} {text!r}") for text in texts]
    for place, one in enumerate(all_requirements):
        if any((one.metric, one.at_most) == (other.metric, other.at_most) for other in all_requirements[:place]):
            raise ScenarioError(f"{option} {texts[place]!r}: {one.metric} is limited twice; keep the stricter limit")
    return all_requirements


def _require_decidable(one: Requirement, where: str) -> None:
    """Reject a limit outside the range of the metric, because either every value or no value would meet it."""
    least, most = limits(one.metric)
    end, words = (most, f"ends at {most:g}") if one.limit >= most else (least, f"begins at {least:g}")
    if not (one.limit >= most or one.limit <= least):
        return
    is_always_met = one.at_most is (end == most)
    if is_always_met or one.limit != end:
        what = "every value meets this limit" if is_always_met else "no value meets this limit"
        raise ScenarioError(f"{where}: {one.metric} {words}, so {what}")


def _requirement(text: str, share: float, where: str) -> Requirement:
    match = _FORM.fullmatch(text)
    if match is None:
        raise ScenarioError(f"{where[:200]}: cannot be read; {FORM}")
    metric, sign, number, own = match.groups()
    limit, tolerance = float(number), share * abs(float(number)) if own is None else float(own)
    if not math.isfinite(limit) or not math.isfinite(tolerance):
        raise ScenarioError(f"{where}: too large a number; {FORM}")
    _require_decidable(Requirement(metric, sign in _AT_MOST, limit, 0.0), where)
    if tolerance <= 0 and own is not None:
        raise ScenarioError(f"{where}: tolerance {format_number(tolerance)}, expected more than 0")
    if tolerance <= 0:
        raise ScenarioError(
            f"{where}: a limit of 0 has no relative tolerance; give an absolute one, such as '{metric} {sign} 0 +- 0.1'"
        )
    return Requirement(metric, sign in _AT_MOST, limit, tolerance)

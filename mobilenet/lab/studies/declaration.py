"""Define the format of a study file: the scenario, its factors, the number of replications, and the comparison.

Model     A study is frozen and strict like a scenario. Every combination of the levels of its factors is a
          configuration (configurations.py).
Units     The last part of each name states the unit.
Errors    ScenarioError with one line for each problem, such as `study.yaml:4: factors.workload.interval_s: ...`.
Source    ours: docs/guide/studies.md
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Discriminator, Field, PrivateAttr, Tag, ValidationError, model_validator

from mobilenet.metrics.registry import VOCABULARIES, Vocabulary
from mobilenet.parameters import Parameters, ScenarioError
from mobilenet.quoting import quote
from mobilenet.scenario import AnyScenario, load_scenario
from mobilenet.scenario.error_messages import problems
from mobilenet.scenario.loader import from_nodes
from mobilenet.scenario.yaml_reader import Change, Node, parse, parse_value, read
from mobilenet.scenario.yaml_writer import inline, to_yaml

MOST_LEVELS = 1_000
LONGEST_LABEL = 40  # maximum number of characters that fit into a legend
KEPT = "configurations/c{:03d}/scenario.yaml"  # path of the scenario of a configuration in the directory of a study
KEPT_FACTORS = "configurations/factors.yaml"  # path of the factors from which these scenarios were created


class Span(Parameters):
    """A range of levels: `from`, `from + step`, ... up to `to`, or `count` evenly spaced levels."""

    first: float = Field(alias="from", description="first level, instead of a list of levels")
    last: float = Field(
        alias="to", description="last level, if the steps reach it exactly; must be greater than `from`"
    )
    step: float | None = Field(
        default=None, gt=0, description="difference between consecutive levels; specify either step or count"
    )
    count: int | None = Field(
        default=None, ge=2, le=MOST_LEVELS, description="number of evenly spaced levels; specify either step or count"
    )

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.step is None) == (self.count is None):
            raise ValueError("step: expected either step or count")
        if self.last <= self.first:
            raise ValueError(f"to: should be more than `from` ({self.first:g}), got {self.last:g}")
        if len(self.levels()) > MOST_LEVELS:
            raise ValueError(f"step: more than {MOST_LEVELS} levels")
        return self

    def levels(self) -> tuple[float | int, ...]:
        width = self.last - self.first
        if self.step is not None:
            number = math.floor(min(width / self.step, MOST_LEVELS) * (1 + 1e-12)) + 1
            values = [self.first + i * self.step for i in range(number)]
        else:
            assert self.count is not None
            values = [self.first + width * i / (self.count - 1) for i in range(self.count)]
        return tuple(int(value) if value.is_integer() else float(f"{value:.12g}") for value in values)


class Until(Parameters):
    """A rule that determines when a configuration has enough replications."""

    metric: str = Field(
        min_length=1,
        description="metric to be estimated precisely; once it is, a configuration gets no more replications",
    )
    relative_half_width: float = Field(
        gt=0,
        le=10,
        description="replications stop once the half-width of the confidence interval, over the mean, is this small",
    )


class Replications(Parameters):
    """Determines how often each configuration is run."""

    min: int = Field(default=10, ge=2, le=100_000, description="minimum number of replications of each configuration")
    max: int | None = Field(
        default=None,
        ge=2,
        le=100_000,
        description="maximum number of replications per configuration, at least `min`; only with `until`; null: `min`",
    )
    step: int = Field(
        default=5,
        ge=1,
        le=100_000,
        description="number of replications added in a round if the stopping rule is not met",
    )
    until: Until | None = Field(default=None, description="stopping rule; null: exactly `min` replications")

    @model_validator(mode="after")
    def _require_order(self) -> Self:
        if self.max is not None and self.max < self.min:
            raise ValueError(f"max: should be at least `min` ({self.min}), got {self.max}")
        if self.until is not None and self.max is None:
            raise ValueError("until: needs `max`, the maximum number of replications")
        if self.until is None and self.max is not None and self.max != self.min:
            raise ValueError("max: needs `until`, the rule for stopping earlier")
        return self

    @property
    def most(self) -> int:
        return self.max if self.max is not None else self.min


class Compare(Parameters):
    """Selects the factor and the baseline of a comparison."""

    factor: str = Field(
        min_length=1, description="factor whose levels are compared; must be one of the study's factors"
    )
    baseline: Any = Field(description="level with which the others are compared, or its label")
    metrics: tuple[str, ...] = Field(min_length=1, description="metrics that are compared")
    equivalence_margin: float | None = Field(
        default=None,
        gt=0,
        lt=1,
        description="relative difference below which two levels count as equivalent; null: no test of equivalence",
    )


def split_label(level: Any) -> tuple[Any, str | None]:
    """Return a level and its label. Examples are a mapping in `{label: TCP, name: tcp_flooding}` and a number in
    `{label: 1, value: 1}`.
    """
    if not isinstance(level, dict) or "label" not in level:
        return level, None
    rest = {key: value for key, value in level.items() if key != "label"}
    return (rest["value"] if rest.keys() == {"value"} else rest), level["label"]


def _with_good_labels(levels: tuple[Any, ...]) -> tuple[Any, ...]:
    labels = [label for _, label in map(split_label, levels) if label is not None]
    for label in labels:
        if not isinstance(label, str) or not 0 < len(label.strip()) <= LONGEST_LABEL:
            raise ValueError(f"label: expected text of at most {LONGEST_LABEL} characters, got {label!r}"[:200])
        if labels.count(label) > 1:
            raise ValueError(f"label {label!r}: given to two levels")
    return levels


Levels = Annotated[
    Annotated[
        tuple[Any, ...], AfterValidator(_with_good_labels), Field(min_length=1, max_length=MOST_LEVELS), Tag("list")
    ]
    | Annotated[Span, AfterValidator(Span.levels), Tag("span")],
    Discriminator(lambda value: "span" if isinstance(value, dict) else "list"),
]


class Study(Parameters):
    """A study: a scenario, its factors, and how often each configuration is run."""

    name: str | None = Field(default=None, min_length=1, max_length=200, description="name of the study, for readers")
    description: str | None = Field(
        default=None, max_length=10_000, description="description of the study, for readers"
    )
    scenario: str = Field(min_length=1, description="scenario file, relative to the folder of the study file")
    seed: int = Field(
        default=1,
        ge=0,
        le=2**63 - 1,
        description="seed from which the seeds of all runs are derived, unless first_seed is given",
    )
    first_seed: int | None = Field(
        default=None,
        ge=0,
        le=2**62,
        description="seed of replication 1; each further replication has the next seed; null: derived from seed",
    )
    factors: dict[str, Levels] = Field(
        default={},
        description="scenario key -> up to 1000 levels; a mapping changes several keys; label: name in figures",
    )
    set: dict[str, Any] = Field(default={}, description="scenario key -> value that applies to every run")
    replications: Replications = Replications()
    kind: Literal["terminating", "steady_state"] = Field(
        default="terminating", description="steady_state: MSER-5 determines the warm-up of each run"
    )
    compare: Compare | None = Field(default=None, description="comparison of the levels of a factor; null: none")
    confidence: float = Field(default=0.95, gt=0.5, lt=1, description="confidence level of all intervals")

    _folder: Path = PrivateAttr(default=Path("."))
    _scenario_text: str | None = PrivateAttr(default=None)  # YAML text of a scenario that was not read from a file
    _has_given_replications: bool = PrivateAttr(default=False)
    _root: Node = PrivateAttr(default=Node({}, "study"))
    _place: tuple[str, ...] = PrivateAttr(default=())  # location of this study within a larger file, as a path of keys

    @model_validator(mode="after")
    def _comparable(self) -> Self:
        if self.compare is not None:
            if self.compare.factor not in self.factors:
                known = ", ".join(self.factors) or "none"
                raise ValueError(f"compare: factor {self.compare.factor!r} is not one of the factors: {known}")
            levels = self.levels(self.compare.factor)
            labelled = dict(zip(self.labels(self.compare.factor), levels, strict=True))
            if self.compare.baseline not in levels and str(self.compare.baseline) in labelled:
                baseline = labelled[str(self.compare.baseline)]
                object.__setattr__(self, "compare", self.compare.model_copy(update={"baseline": baseline}))
            if self.compare.baseline not in levels:
                raise ValueError(f"compare: baseline {self.compare.baseline!r} is not a level of {self.compare.factor}")
            if len(levels) < 2:
                raise ValueError(f"compare: {self.compare.factor} has only one level")
        both = sorted(self.factors.keys() & self.set.keys())
        if both:
            raise ValueError(f"set: {both[0]} is also a factor")
        return self

    @classmethod
    def load(
        cls, path: str | Path, overrides: Sequence[str] = (), replications: int | None = None, seed: int | None = None
    ) -> Self:
        """Read a study file, or the study file in the directory of a study. `overrides` (KEY=VALUE) are added to `set`.
        `replications` replaces the rule of the file.
        """
        path = Path(path)
        if (path / "study.yaml").is_file():
            path = path / "study.yaml"
        root = read(path)
        if not isinstance(root.value, dict):
            raise ScenarioError(f"{root.where}: expected keys with values, such as `scenario: static.yaml`")
        if {"stations", "processes"} & root.value.keys() and "scenario" not in root.value:
            raise ScenarioError(f"{path}: a scenario, not a study; `mobilenet run {quote(path)}` runs it")
        _change(root, overrides, replications, seed)
        study = cls._check(root)
        study._folder = path.parent
        study._root = root
        study._has_given_replications = replications is not None
        return study

    @classmethod
    def _check(cls, root: Node) -> Self:
        try:
            return cls.model_validate(root.plain())
        except ValidationError as error:
            raise ScenarioError("\n".join(problems(error, root, cls))) from None

    @property
    def can_be_compared(self) -> bool:
        """Whether the study has levels to compare, because it declares a comparison or because several factors vary."""
        return self.compare is not None or sum(len(self.levels(factor)) > 1 for factor in self.factors) > 1

    @property
    def has_given_replications(self) -> bool:
        """Whether the caller has set the number of replications."""
        return self._has_given_replications

    @property
    def folder(self) -> Path:
        """The folder that contains the study file."""
        return self._folder

    @property
    def scenario_path(self) -> Path:
        return self._folder / self.scenario

    def scenario_with(self, overrides: Sequence[str] = ()) -> AnyScenario:
        """Return the scenario with changes of the form `a.b=value`. Raise ScenarioError if the result is invalid."""
        # Plain strings are changes from the study file, so messages cannot name a command-line option for them.
        changes = [each if isinstance(each, Change) else Change(each, each) for each in overrides]
        if self._scenario_text is None:
            return load_scenario(self.scenario_path, changes)
        root = parse(self._scenario_text.encode(), "scenario").at_place("scenario")
        return from_nodes(root, changes, self._folder)

    @property
    def is_kept(self) -> bool:
        """Whether this is the study.yaml in the directory of a study, where each configuration is stored as a complete
        scenario.
        """
        return (
            self._scenario_text is None and self.scenario == KEPT.format(0) and (self._folder / KEPT_FACTORS).is_file()
        )

    def base(self) -> AnyScenario:
        """Return the scenario that the factors vary, with the changes of `set`. For a study that was read from its
        directory, return the scenario of the first configuration.
        """
        return self.scenario_with(() if self.is_kept else [f"{key}={inline(value)}" for key, value in self.set.items()])

    @property
    def words(self) -> Vocabulary:
        return VOCABULARIES[self.base().kind]

    def scenario_of(self, number: int, overrides: Sequence[str]) -> AnyScenario:
        """Return the scenario of a configuration. `overrides` are the changes of its levels. Raise ScenarioError if the
        scenario is invalid.
        """
        if self.is_kept:
            return load_scenario(self._folder / KEPT.format(number), overrides)
        return self.scenario_with(overrides)

    def kept_factors(self) -> str:
        """Return the factors and fixed values of the study as YAML. Together with the scenario, they determine the
        configurations.
        """
        return to_yaml({"factors": {factor: self.levels(factor) for factor in self.factors}, "set": self.set})

    def has_changed_factors(self) -> bool:
        """Return whether the factors in study.yaml differ from the factors that created the stored configurations."""
        return (self._folder / KEPT_FACTORS).read_bytes() != self.kept_factors().encode()

    def has_scenario(self) -> bool:
        return self._scenario_text is not None or self.scenario_path.is_file()

    def levels(self, factor: str) -> tuple[Any, ...]:
        return tuple(split_label(level)[0] for level in self.factors[factor])

    def labels(self, factor: str) -> tuple[str | None, ...]:
        """Return the label of each level, or None for a level without a label."""
        return tuple(split_label(level)[1] for level in self.factors[factor])

    @classmethod
    def of(cls, values: dict[str, Any], folder: Path, name: str = "study") -> Self:
        """Return a study that is not read from a file. Its scenario is a file in `folder`, or a mapping whose files are
        in `folder`. Error messages call the study `name`. Raise ScenarioError if the study is invalid.
        """
        scenario = values.get("scenario")
        scenario_text = to_yaml(scenario) if isinstance(scenario, dict) else None
        if scenario_text is not None:
            values = values | {"scenario": "scenario.yaml"}
        study = cls._check(parse(to_yaml(values).encode(), "study").at_place("study"))
        study._folder, study._scenario_text, study._root = folder, scenario_text, Node({}, name)
        return study

    def take_place(self, root: Node, place: tuple[str, ...]) -> None:
        """Make errors refer to the keys below `root`, which is located at `place` within a larger file."""
        self._root, self._place = root, place

    def problem(self, path: tuple[str, ...], what: str, place: int | None = None) -> ScenarioError:
        """Return an error for a key of the file. `path` is a tuple, because the names of factors may contain dots.
        `place` is the index in a list.
        """
        node = self._root
        for key in path:
            if not isinstance(node.value, dict) or key not in node.value:
                break
            node = node.value[key]
        if place is not None and isinstance(node.value, list):
            node = node.value[place]
        return ScenarioError(f"{node.where}: {'.'.join((*self._place, *path))}: {what}")


def _change(root: Node, overrides: Sequence[str], replications: int | None, seed: int | None) -> None:
    """Replace values of the file by values from the command line."""
    if changes := given_values(overrides):
        group = root.value.setdefault("set", Node({}, next(iter(changes.values())).where))
        if isinstance(group.value, dict):
            group.value.update(changes)
    if replications is not None:
        where = f"--replications {replications}"
        root.value["replications"] = Node({"min": Node(replications, where)}, where)
    if seed is not None:
        root.value["seed"] = Node(seed, f"--seed {seed}")


def given_values(overrides: Sequence[str], option: str = "--set") -> dict[str, Node]:
    """Parse the KEY=VALUE entries of the caller. Error messages name the `option`. Raise ScenarioError for a malformed
    entry.
    """
    nodes = {}
    for override in overrides:
        key, equals, text = override.partition("=")
        where = f"{option} {override}"[:80]
        if not equals or not key.strip():
            raise ScenarioError(f"{where}: expected key=value, such as wireless.range_m=100")
        nodes[key.strip()] = parse_value(text, where) if text.strip() else Node(None, where)
    return nodes

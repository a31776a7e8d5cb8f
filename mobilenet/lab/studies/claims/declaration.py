"""Define the format of a claims file: experiments, and claims about them as relations between numbers.

Model     The models are frozen and strict like those of a study. An experiment is a study that does not set its number
          of replications, and a place is one of its configurations. The key `relation` selects the kind of a claim.
Units     Bounds and margins have the unit of the metric, a ratio is dimensionless, and `near` takes a percentage.
Errors    ScenarioError with one line for each problem, such as `claims.yaml:9: claims.fast.at_most: ...`.
Source    ours: docs/guide/claims.md
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, PrivateAttr, ValidationError, model_validator

from mobilenet.lab.studies.declaration import Levels, Study
from mobilenet.lab.studies.statistics import FIRST_LOOK, LEAST_RARE, MOST_RARE, RARE
from mobilenet.parameters import Parameters, ScenarioError
from mobilenet.protocols.names import DEFAULT
from mobilenet.quoting import quote
from mobilenet.scenario.error_messages import problems
from mobilenet.scenario.yaml_reader import Node, read
from mobilenet.scenario.yaml_writer import to_yaml

MARGIN = 0.05  # default margin, as a share of the bound
MOST_CLAIMS = 1_000
# Experiments may not have these names, because the directory of answers already uses them for files and folders.
RESERVED = (
    "claims.json", "claims.yaml", "claims.csv", "claims.parquet", "claims.md", "claims.csv.provenance.json",
    "schedules.jsonl", "reliable.jsonl", "causal.jsonl", "study.yaml", "manifest.json", "figures",
)  # fmt: skip
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,59}")


class Answer(Enum):
    """The possible answers to a claim."""

    HOLDS = "holds"
    FAILS = "does not hold"
    UNDECIDED = "undecided"


class Experiment(Parameters):
    """The runs that claims refer to, declared by a study file or by a scenario with its factors."""

    study: str | None = Field(
        default=None, min_length=1, description="study file that supplies the configurations, instead of `scenario`"
    )
    scenario: str | None = Field(
        default=None, min_length=1, description="scenario file, relative to the folder of the claims file"
    )
    factors: dict[str, Levels] = Field(default={}, description="scenario key -> levels, as in a study")
    set: dict[str, Any] = Field(default={}, description="scenario key -> value that applies to every run")
    first_seed: int | None = Field(
        default=None,
        ge=0,
        le=2**62,
        description="seed of replication 1; each further replication has the next seed; null: derived from seed",
    )
    deterministic: bool = Field(
        default=False, description="whether all replications give the same numbers; two runs then suffice"
    )

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.study is None) == (self.scenario is None):
            raise ValueError("scenario: expected either scenario or study")
        if self.study is not None:
            for name in ("factors", "set", "first_seed"):
                if getattr(self, name) not in ({}, None):
                    raise ValueError(f"{name}: belongs in the study file; leave it out here")
        return self


class Place(Parameters):
    """Selects one configuration of an experiment."""

    experiment: str = Field(min_length=1, description="name of one of the experiments")
    at: dict[str, Any] = Field(
        default={}, description="factor -> its level or label; factors with a single level may be left out"
    )


class Claim(Parameters):
    """The fields that all kinds of claims have in common."""

    says: str | None = Field(default=None, min_length=1, max_length=500, description="the sentence, for readers")
    expect: Literal["holds", "does not hold"] = Field(
        default="holds", description="expected answer; any other answer is reported and leads to exit code 1"
    )


class OfMetric(Claim):
    """Claims something about the mean of a metric over all runs."""

    metric: str = Field(min_length=1, description="metric, as listed by `mobilenet reference`")
    value: Place
    margin: float | None = Field(
        default=None,
        ge=0,
        description="distance from the bound within which either answer is right; null: 5 % of the bound",
    )


class Bounded(OfMetric):
    """Claims that a quantity lies within bounds."""

    at_least: float | None = Field(default=None, description="lower bound; null: none")
    at_most: float | None = Field(default=None, description="upper bound; null: none")

    @model_validator(mode="after")
    def _require_bounds(self) -> Self:
        if self.at_least is None and self.at_most is None:
            raise ValueError("at_most: missing; expected at_most, at_least or both")
        if self.at_least is not None and self.at_most is not None and self.at_least > self.at_most:
            raise ValueError(f"at_most: should be at least at_least ({self.at_least:g}), got {self.at_most:g}")
        if self.margin is None and 0 in (self.at_least, self.at_most):
            raise ValueError("margin: missing; the default, 5 % of the bound, is 0; expected a number, such as 0.1")
        return self


class Within(Bounded):
    """Claims that the mean of a metric lies within bounds."""

    relation: Literal["within"]


class Ratio(Bounded):
    """Claims that the mean at one place, divided by the mean at another place, lies within bounds."""

    relation: Literal["ratio"]
    to: Place = Field(description="configuration whose mean is the denominator")


class Difference(Bounded):
    """Claims that the mean at one place, minus the mean at another place, lies within bounds."""

    relation: Literal["difference"]
    to: Place = Field(description="configuration whose mean is subtracted")


class Near(OfMetric):
    """Claims that the mean differs from a number, such as a published one, by at most a given percentage."""

    relation: Literal["near"]
    number: float = Field(description="number that the mean is compared with")
    percent: float = Field(ge=0, le=1000, description="largest distance from the number, as a percentage of the number")

    @model_validator(mode="after")
    def _has_a_distance(self) -> Self:
        if self.number == 0:
            raise ValueError("number: a percentage of 0 is 0; expected relation `within` with at_least and at_most")
        return self


class Below(OfMetric):
    """Claims that the mean at one place is below the mean at another place."""

    relation: Literal["below"]
    than: Place = Field(description="configuration with the larger mean")
    margin: float | None = Field(
        default=None,
        ge=0,
        lt=1,
        description="share of the larger mean within which either answer is right; null: 0.05",
    )


class Grows(OfMetric):
    """Claims that the mean grows from each level of a factor to the next."""

    relation: Literal["grows"]
    along: str = Field(min_length=1, description="factor whose levels are compared, in their order; not in `value.at`")
    margin: float | None = Field(
        default=None, ge=0, lt=1, description="share of the mean within which either answer is right; null: 0.05"
    )


class Falls(Grows):
    """Claims that the mean falls from each level of a factor to the next."""

    relation: Literal["falls"]  # type: ignore[assignment]


class NoViolation(Claim):
    """Claims that no schedule of the swarm violates the properties that a protocol promises."""

    relation: Literal["no_violation"]
    schedules: int = Field(ge=1, le=10_000_000, description="number of schedules")
    seed: int = Field(
        default=1, ge=0, le=2**62, description="seed of the first schedule; each further schedule has the next seed"
    )
    protocol: str = Field(
        default=DEFAULT, min_length=1, description="protocol, as for `mobilenet swarm`; plug-ins are not supported"
    )


class Published(Claim):
    """Claims that a published number or sentence is reproduced, by the rule that belongs to the paper. The `error` of
    the file does not cover these claims.
    """

    relation: Literal["published"]
    paper: Literal["reliable", "causal"] = Field(
        description="reliable: Jeanneau et al. (2017); causal: Rodrigues, Duarte, Arantes"
    )
    id: str = Field(
        min_length=1, description="id of the sentence, or TABLE/SIZE/QUANTITY, as in the files of data/papers/"
    )
    largest: int = Field(default=128, ge=8, le=1024, description="largest number of processes; 8, 16, 32, ... are run")


AnyClaim = Annotated[
    Within | Ratio | Difference | Near | Below | Grows | Falls | NoViolation | Published,
    Field(discriminator="relation"),
]


class Claims(Parameters):
    """All claims of a file, and the experiments that they refer to."""

    name: str | None = Field(default=None, min_length=1, max_length=200, description="name of the file, for readers")
    description: str | None = Field(default=None, max_length=10_000, description="description, for readers")
    seed: int = Field(default=1, ge=0, le=2**63 - 1, description="seed from which the seeds of all runs are derived")
    error: float = Field(
        default=0.05, ge=0.0001, le=0.5, description="maximum probability that any answer of the file is wrong"
    )
    rare: float = Field(
        default=RARE,
        ge=LEAST_RARE,
        le=MOST_RARE,
        description="share of the runs; outcomes in a smaller share may be missed. A larger share needs fewer runs",
    )
    replications: int = Field(
        default=400, ge=FIRST_LOOK, le=100_000, description="maximum number of replications of each configuration"
    )
    experiments: dict[str, Experiment] = Field(default={}, description="name -> experiment")
    claims: dict[str, AnyClaim] = Field(min_length=1, max_length=MOST_CLAIMS, description="name -> claim")

    _folder: Path = PrivateAttr(default=Path("."))
    _root: Node = PrivateAttr(default=Node({}, "claims"))

    @classmethod
    def load(cls, path: str | Path, seed: int | None = None) -> Self:
        """Read a claims file. If `seed` is given, it replaces the seed of the file. Raise ScenarioError if the file is
        invalid.
        """
        path = Path(path)
        root = read(path)
        if not isinstance(root.value, dict):
            raise ScenarioError(f"{root.where}: expected keys with values, such as `claims:`")
        if "claims" not in root.value and {"stations", "processes", "scenario"} & root.value.keys():
            kind = "study" if "scenario" in root.value else "scenario"
            command = "study" if kind == "study" else "run"
            raise ScenarioError(f"{path}: a {kind}, not a claims file; `mobilenet {command} {quote(path)}` runs it")
        if seed is not None:
            root.value["seed"] = Node(seed, f"--seed {seed}")
        return cls.of_nodes(root, path.parent)

    @classmethod
    def of_nodes(cls, root: Node, folder: Path) -> Self:
        """Create the claims from the parsed nodes of a file in `folder`. Raise ScenarioError if they are invalid."""
        try:
            claims = cls.model_validate(root.plain())
        except ValidationError as error:
            raise ScenarioError("\n".join(problems(error, root, cls))) from None
        claims._folder, claims._root = folder, root
        for group in ("experiments", "claims"):
            for name in getattr(claims, group):
                if not NAME.fullmatch(name):
                    raise claims.problem(
                        (group, name), "expected a name of up to 60 letters, digits, dots, dashes and underscores"
                    )
        for name in claims.experiments:
            if name.casefold() in RESERVED:
                what = "`mobilenet claims` writes a file or folder of this name; expected another name"
                raise claims.problem(("experiments", name), what)
        return claims

    def problem(self, path: tuple[str, ...], what: str) -> ScenarioError:
        """Return an error for a key of the file. `path` is a tuple, because names may contain dots."""
        node = self._root
        for key in path:
            if not isinstance(node.value, dict) or key not in node.value:
                break
            node = node.value[key]
        return ScenarioError(f"{node.where}: {'.'.join(path)}: {what}")

    def file_text(self, experiments: Iterable[str]) -> str:
        """Return the text of the claims file for a directory of answers. There, each of these experiments refers to its
        study in the same directory.
        """
        values = {key: value for key, value in self._root.plain().items() if key != "experiments"}
        studies = {
            name: {"study": f"{name}/study.yaml", "deterministic": self.experiments[name].deterministic}
            for name in experiments
        }
        return to_yaml({**values, "experiments": studies} if studies else values)

    def study(self, name: str) -> Study:
        """Return the study of an experiment. It does not set the number of replications. Raise ScenarioError if the
        study is invalid.
        """
        experiment = self.experiments[name]
        place = ("experiments", name)
        if experiment.study is not None:
            file = self._folder / experiment.study
            if not file.is_file():
                raise self.problem((*place, "study"), f"file {experiment.study!r} not found next to the claims file")
            return Study.load(
                file, replications=FIRST_LOOK, seed=self.seed if "seed" in self.model_fields_set else None
            )
        assert experiment.scenario is not None
        if not (self._folder / experiment.scenario).is_file():
            what = f"file {experiment.scenario!r} not found next to the claims file"
            raise self.problem((*place, "scenario"), what)
        values: dict[str, Any] = {
            "scenario": experiment.scenario, "seed": self.seed, "first_seed": experiment.first_seed,
            "set": experiment.set, "replications": {"min": FIRST_LOOK},
            "factors": experiment.factors,
        }  # fmt: skip
        study = Study.of(values, self._folder, name)
        study.take_place(self._root.value["experiments"].value[name], place)
        return study

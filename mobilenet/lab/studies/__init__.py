"""Studies: many runs of one scenario under different factors, on Spark, and their joint results."""

from mobilenet.parameters import ScenarioError


class StudyError(ScenarioError):
    """A study's directory, or the Spark that should run it, cannot be used."""


class OutError(StudyError):
    """The directory for a study holds something else. `what` is the message without a remedy."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what}; name another directory with --out")
        self.what = what

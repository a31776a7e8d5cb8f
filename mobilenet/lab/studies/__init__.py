"""Studies: many runs of one scenario under different factors, on Spark, and their joint results."""

from mobilenet.parameters import ScenarioError


class StudyError(ScenarioError):
    """A study's directory, or the Spark that it is to run on, cannot be used."""


class OutError(StudyError):
    """The directory that a study was given holds something else; `what` is the message without a way out."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what}; name another directory with --out")
        self.what = what

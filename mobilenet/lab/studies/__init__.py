"""Run studies: many runs of one scenario with different factors, distributed by Spark, and their combined results."""

from mobilenet.parameters import ScenarioError


class StudyError(ScenarioError):
    """Raised when the directory of a study, or the Spark session that should run the study, cannot be used."""


class OutError(StudyError):
    """Raised when the directory for a study already contains something else. `what` is the message without the
    suggested solution.
    """

    def __init__(self, what: str) -> None:
        super().__init__(f"{what}; name another directory with --out")
        self.what = what

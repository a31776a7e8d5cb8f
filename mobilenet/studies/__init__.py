"""Studies: many runs of one scenario under different factors, on Spark, and their joint results."""

from mobilenet.parameters import ScenarioError


class StudyError(ScenarioError):
    """A study's directory, or the Spark that it is to run on, cannot be used."""

"""What can be wrong with a study beyond its file.

Source    ours: docs/guide/studies.md
"""

from __future__ import annotations

from mobilenet.parameters import ScenarioError


class StudyError(ScenarioError):
    """What is wrong with a study's directory, or with the Spark it is to run on."""

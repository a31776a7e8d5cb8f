"""Artefacts: one archive with all that a reviewer needs, and its check by running it again."""

from __future__ import annotations

from mobilenet.parameters import ScenarioError


class ArtefactError(ScenarioError):
    """An archive, or something that should go into one, cannot be used."""

"""Artefacts: archives that contain everything a reviewer needs, and that are checked by running everything again."""

from __future__ import annotations

from mobilenet.parameters import ScenarioError


class ArtefactError(ScenarioError):
    """Raised when an archive, or something to be packed into one, cannot be used."""

"""Find the model of reception that a scenario names.

Source    ours: docs/models/radio.md
"""

from __future__ import annotations

from importlib import import_module

from mobilenet.network.radio.model import RadioModel
from mobilenet.network.wireless import WirelessParameters


def model_of(wireless: WirelessParameters) -> RadioModel:
    """Return the model of reception for these keys. A model's code is in the folder of the same name."""
    model: RadioModel = import_module(f"mobilenet.network.radio.{wireless.model}.model").Model(wireless)
    return model

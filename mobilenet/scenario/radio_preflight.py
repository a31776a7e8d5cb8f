"""Check the radio's keys together with those of attachment and workload.

Source    ours: docs/models/radio.md
"""

from __future__ import annotations

from collections.abc import Iterator

from mobilenet.network.radio.model import Fault
from mobilenet.network.radio.service import Place
from mobilenet.network.radio_models import model_of
from mobilenet.network.wireless import HYSTERESES, MODELS, WirelessParameters
from mobilenet.world.attachment import AttachmentParameters


def objections(wireless: WirelessParameters, attachment: AttachmentParameters, place: Place) -> Iterator[Fault]:
    """Yield each problem as (dotted path, description)."""
    read = MODELS[wireless.model].hysteresis
    for key in HYSTERESES:
        if key != read and key in attachment.model_fields_set and getattr(attachment, key) is not None:
            yield (
                f"hosts.attachment.{key}",
                f"has no effect with wireless.model: {wireless.model}; set {read}, and leave this key out or set it to"
                " null",
            )
    yield from model_of(wireless).faults(place)


def warnings(wireless: WirelessParameters, payload_bytes: int, sends_unicast: bool) -> Iterator[str]:
    """Yield warnings about settings that can run, but are probably not intended."""
    if wireless.groupcast != "none" and payload_bytes == 0:
        yield (
            "wireless.groupcast: has no effect with workload.payload_bytes: 0, because the MAC repeats only frames with"
            " payload"
        )
    yield from model_of(wireless).warnings(payload_bytes, sends_unicast)

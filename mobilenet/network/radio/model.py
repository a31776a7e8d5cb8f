"""The interface of a model of reception: everything that the rest of the program asks of it.

Model     a model is a folder in radio/: keys.py (its keys, entered in MODELS of network/wireless.py), medium.py (what
          becomes of a frame at each node; compiled) and model.py, whose Model is a subclass of RadioModel
Units     metres
Errors    ScenarioError for files that the keys name and that cannot be used
Source    ours: docs/models/radio.md
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from mobilenet.network.radio.keys import RadioKeys
from mobilenet.network.radio.service import Place, Service
from mobilenet.world.attachment import AttachmentParameters

if TYPE_CHECKING:
    from mobilenet.engine.kernel import Kernel
    from mobilenet.network.radio.medium import Medium, Observer
    from mobilenet.network.radio.neighbours import Neighbours

Fault = tuple[str, str]  # dotted path of a key, what is wrong there


class RadioModel(ABC):
    """A model of reception with the keys of one scenario."""

    keys: ClassVar[type[RadioKeys]]
    is_certain: ClassVar[bool]
    """Whether each node within range receives what nothing overlaps."""

    def __init__(self, wireless: RadioKeys) -> None:
        self.wireless = wireless

    @property
    @abstractmethod
    def cell_m(self) -> float:
        """The distance up to which a station serves hosts, without obstacles in the way."""

    @property
    def ground_m(self) -> float:
        """The distance from a station within which hosts walk if the scenario gives no area."""
        return self.cell_m

    @property
    def serving_reach_m(self) -> float:
        """The distance beyond which no station serves a host."""
        return self.cell_m

    @property
    def half_heard_m(self) -> float:
        """The distance at which half of a station's frames are noticed in silence, without obstacles in the way."""
        return self.cell_m

    @property
    @abstractmethod
    def reach_m(self) -> float:
        """The distance beyond which a frame affects no node."""

    @property
    @abstractmethod
    def range_key(self) -> str:
        """The key that decides first how far stations are received."""

    @property
    def surely_heard(self) -> bool:
        """Whether a node in range is heard again and again under load, so that silence means something."""
        return False

    @abstractmethod
    def words(self, place: Place) -> Iterator[str]:
        """Yield how frames are received, in parts of a line that can be quoted in a paper."""

    @abstractmethod
    def attachment_words(self, rule: AttachmentParameters) -> str:
        """Return which station a host uses."""

    def faults(self, place: Place) -> Iterator[Fault]:
        """Yield what prevents the model from running with these keys."""
        return iter(())

    def warnings(self, payload_bytes: int, sends_unicast: bool) -> Iterator[str]:
        """Yield warnings of what can run, but is probably not meant."""
        return iter(())

    @property
    def is_narrow(self) -> bool:
        """Whether hardly any nodes hear each other, which `warnings` reports."""
        return False

    @abstractmethod
    def service(self, sites: NDArray[np.float64], rule: AttachmentParameters, place: Place) -> Service:
        """Return the service of stations at `sites`, float64 (m, 2)."""

    @abstractmethod
    def medium(
        self, kernel: Kernel, neighbours: Neighbours, service: Service, seed: int, observer: Observer | None,
        listens: bool,
    ) -> Medium:  # fmt: skip
        """Return the medium of one run. `observer`: sees each frame when all have it; `listens`: see Medium."""

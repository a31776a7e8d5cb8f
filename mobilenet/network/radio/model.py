"""The interface between a model of reception and the rest of the program.

Model     A model is a folder in radio/ with three modules: keys.py (the keys of a scenario, and the words for reports),
          medium.py (which decides outcomes) and model.py, whose class Model is a subclass of RadioModel. The name of
          the folder is the value of `wireless.model`, by which radio_models.py finds it. To add a model, register its
          keys in network/wireless.py (MODELS, and WirelessParameters with its list of names) and its medium in
          engine/native.py (MODULES, which are compiled), and write scenarios/REFERENCE.md again with `mobilenet
          reference -o`.
Units     Distances are in metres.
Errors    ScenarioError if a file that a key names cannot be used.
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

Fault = tuple[str, str]  # the dotted path of a key, and a description of the error


class RadioModel(ABC):
    """A model of reception with the values of its keys in one scenario."""

    keys: ClassVar[type[RadioKeys]]
    is_certain: ClassVar[bool]
    """Whether each node within range receives what nothing overlaps."""

    def __init__(self, wireless: RadioKeys) -> None:
        self.wireless = wireless

    @property
    @abstractmethod
    def cell_m(self) -> float:
        """The distance up to which a station serves hosts if there are no obstacles."""

    @property
    def ground_m(self) -> float:
        """The maximum distance of hosts from a station if the scenario does not define an area."""
        return self.cell_m

    @property
    def serving_reach_m(self) -> float:
        """The distance beyond which hosts are not served by a station."""
        return self.cell_m

    @property
    def half_heard_m(self) -> float:
        """The distance at which half of a station's frames are detected if the medium is silent and there are no
        obstacles.
        """
        return self.cell_m

    @property
    @abstractmethod
    def reach_m(self) -> float:
        """The distance beyond which a frame does not affect other nodes."""

    @property
    @abstractmethod
    def range_key(self) -> str:
        """The key that primarily determines how far stations are received."""

    @property
    def surely_heard(self) -> bool:
        """Whether a station is certain to hear every node in range repeatedly, even under load. Only then does silence
        mean that a node is gone.
        """
        return False

    @abstractmethod
    def words(self, place: Place) -> Iterator[str]:
        """Yield the parts of a one-line description of reception that is suitable for a paper."""

    @abstractmethod
    def attachment_words(self, rule: AttachmentParameters) -> str:
        """Return a description of the rule by which a host chooses its station."""

    def faults(self, place: Place) -> Iterator[Fault]:
        """Yield errors in these keys that prevent the model from running."""
        return iter(())

    def warnings(self, payload_bytes: int, sends_unicast: bool) -> Iterator[str]:
        """Yield warnings about settings that are valid but probably not intended."""
        return iter(())

    @property
    def is_narrow(self) -> bool:
        """Whether hardly any two nodes hear each other. `warnings` reports this."""
        return False

    @abstractmethod
    def service(self, sites: NDArray[np.float64], rule: AttachmentParameters, place: Place) -> Service:
        """Return where the stations at `sites`, a float64 array (m, 2), serve hosts."""

    @abstractmethod
    def medium(
        self, kernel: Kernel, neighbours: Neighbours, service: Service, seed: int, observer: Observer | None,
        listens: bool,
    ) -> Medium:  # fmt: skip
        """Return the medium of one run. `observer` is called with each frame when it has ended at all receivers. For
        `listens`, see Medium.
        """
